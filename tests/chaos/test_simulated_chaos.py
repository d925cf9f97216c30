"""Chaos in one process, by seeds; then rules are taken away one by one, and the verdict notices each."""

import pytest

from chaos.simulated import Simulation
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.coupling_facility import manager, resolving, store, units
from quaestor.qmgr.coupling_facility.keys import COMMITTED_RANGE, UNCOMMITTED
from quaestor.qmgr.coupling_facility.manager import CouplingFacilityManager
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.storage.lists.facility import MemoryFacility

pytestmark = pytest.mark.crash
SEEDS, TRIED = range(12), range(60)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_nothing_is_twice_nothing_is_left(tmp_path, seed):
    assert [] == Simulation(tmp_path, seed).run()


def without_completion(patch):
    """PR2: a unit whose COMMIT record is on the log is completed by whoever recovers its member."""
    patch.setattr(resolving, "_outcome", lambda *_: False)


def without_the_uncommitted_keys(patch):
    """CK1: uncommitted puts stand where getters do not look."""
    patch.setattr(store, "COMMITTED_RANGE", (COMMITTED_RANGE[0], bytes([UNCOMMITTED]).ljust(16, b"\xff")))


def without_force(patch):
    """V2: the log is forced before the structures are told."""
    patch.setattr(RecoveryManager, "_force", lambda _self, _rba: None)


def without_fence(patch):
    """LS5: what a connector sent before it was replaced is not done."""
    patch.setattr(MemoryFacility, "fence", lambda *_: None)


def without_reconciling(patch):
    """PR8: what was done without an answer is undone."""
    patch.setattr(manager, "reconcile", lambda *_: set())


def without_resolving_later(patch):
    """CF2: what could not be resolved at the start is resolved when it can."""
    resolve_own = CouplingFacilityManager._resolve_own

    def once(self):
        done = resolve_own(self)
        self._own_left = False
        return done

    patch.setattr(CouplingFacilityManager, "_resolve_own", once)


def without_backout(patch):
    """CU6: gets of a unit that did not commit are given back."""

    def kept(gets, member, *, commit):
        return iter(()) if not commit else units_ending_gets(gets, member, commit=True)

    units_ending_gets = units.ending_gets
    patch.setattr(units, "ending_gets", kept)
    patch.setattr(resolving, "ending_gets", kept)


TEETH = [
    (without_completion, 30),
    (without_the_uncommitted_keys, 0),
    (without_force, 2),
    (without_fence, 0),
    (without_reconciling, 1),
    (without_resolving_later, 4),
    (without_backout, 0),
]
"""Each with the seed that notices first; others are tried when requests have changed."""


@pytest.mark.plain
@pytest.mark.parametrize(("remove", "first"), TEETH, ids=lambda each: getattr(each, "__name__", ""))
def test_chaos_notices_a_missing_rule(tmp_path, remove, first, monkeypatch):
    remove(monkeypatch)
    assert any(noticed(tmp_path / str(at), seed) for at, seed in enumerate([first, *TRIED]))


def noticed(folder, seed):
    folder.mkdir()
    try:
        return Simulation(folder, seed).run()
    except (AssertionError, Abend):
        return True
