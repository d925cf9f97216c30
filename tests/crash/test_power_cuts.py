"""Power is cut at every operation of every scenario; what was confirmed is there, what was not is not."""

from dataclasses import replace

import pytest
from crash.scenarios import SCENARIOS, TINY, World, message, operations_of, run_until_cut

from quaestor.qmgr.checker import check
from quaestor.testing import FaultyDisk, PowerCut, SmallEngine

pytestmark = pytest.mark.crash


def found_after(disk, settings=TINY):
    engine = SmallEngine(disk, settings)
    assert [] == check(engine.data)
    return engine.bodies()


def cuts(script, settings=TINY, at_most=150):
    """Every operation, or evenly spread ones where there are very many."""
    operations = operations_of(script, settings)
    step = max(1, operations // at_most)
    return range(0, operations + 1, step)


@pytest.mark.parametrize("script", SCENARIOS, ids=lambda s: s.__name__)
def test_what_was_confirmed_is_there_and_nothing_else(script):
    for cut in cuts(script):
        disk = FaultyDisk(cut_after=cut, seed=cut)
        allowed = run_until_cut(script, disk)
        assert found_after(disk.after_power_cut()) in allowed, f"cut after {cut}"
