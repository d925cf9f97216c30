"""Page sets with more than one space map page: each map speaks for its span, and never gives itself away."""

from dataclasses import replace

import pytest

from quaestor.qmgr.checker import check
from quaestor.qmgr.recovery.cold import cold_start
from quaestor.storage.changes import SPAN, SYSTEM_PAGE, map_page_of
from quaestor.storage.page import HEADER_LENGTH, PAGE
from quaestor.storage.page_set import PageSet, spans
from quaestor.testing import SMALL, FaultyDisk, SmallEngine


@pytest.mark.parametrize("pages", [64, SPAN, SPAN + 1, 3 * SPAN + 5])
def test_a_new_page_set_has_a_map_for_every_span(pages):
    page_set = PageSet.create(FaultyDisk(), 1, pages)
    for base in spans(pages):
        used = page_set.read(base or 1)[HEADER_LENGTH : HEADER_LENGTH + 2]
        assert (SYSTEM_PAGE, 0 if base else SYSTEM_PAGE) == tuple(used)
    assert page_set.file.size() == pages * PAGE


def filled(small, messages):
    """So many messages of a page each."""
    for at in range(0, messages, 100):
        unit = small.begin()
        for number in range(at, min(at + 100, messages)):
            small.put(unit, b"%06d" % number + bytes(2500))
        small.commit(unit)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"pages": SPAN + 200}, id="made so large"),
        pytest.param({"pages": SPAN, "expansion": 256}, id="grown from a whole span"),
        pytest.param({"pages": SPAN - 100, "expansion": 200}, id="grown across a span"),
    ],
)
def test_messages_across_two_spans_are_there_after_restart(settings):
    """Once, a message was written over the second map page, and restart refused the page set."""
    small = SmallEngine(settings=replace(SMALL, log_bytes=16 << 20, logload=100_000, **settings))
    filled(small, SPAN + 50)
    assert not any(arrival.page == map_page_of(arrival.page) for arrival in small.data.browse(small.queue))
    small.engine.recovery.latch.release()
    small.engine.stop()
    found = small.again()
    assert [b"%06d" % number for number in range(SPAN + 50)] == [body[:6] for body in found.bodies()]
    assert [] == check(found.data)


@pytest.mark.parametrize("pages", [SPAN, SPAN + 2, SPAN + 3, 2 * SPAN + 40])
def test_a_cold_start_looks_at_every_page_with_its_own_map(pages):
    """Once, free pages at the beginning of a span had the pages freed that stand so in the span before it."""
    settings = replace(SMALL, pages=pages)
    small = SmallEngine(settings=settings)
    filled(small, 60)
    small.engine.recovery.latch.release()
    small.engine.stop()
    assert 0 == cold_start(small.disk, logs=settings.logs, log_bytes=settings.log_bytes).freed
    found = small.again()
    assert [b"%06d" % number for number in range(60)] == [body[:6] for body in found.bodies()]
    assert [] == check(found.data)
