"""A queue that grows: pages begun in runs (B8, V1), their space map (Y1), what is kept of them once written (B12)."""

from dataclasses import replace

import pytest

from quaestor.qmgr.checker import check
from quaestor.storage.changes import MESSAGE_PAGE, map_page_of
from quaestor.storage.page import HEADER_LENGTH, PAGE, is_whole
from quaestor.storage.page import ROOM as SPAN
from quaestor.testing import SMALL, FaultyDisk, SmallEngine, since, snapshot

LARGE = replace(SMALL, log_bytes=4 << 20, buffer_pools={0: 64, 1: 4000}, pages=2000, logload=10**6)
BODIES = [b"%03d" % number * 100 for number in range(150)]


def grown(settings=LARGE):
    engine = SmallEngine(FaultyDisk(), settings)
    put_together(engine)
    return engine


def put_together(engine, bodies=BODIES):
    unit = engine.begin()
    assert len(bodies) == engine.put_all(unit, bodies)
    engine.commit(unit)


def message_frames(engine):
    return [frame for frame in engine.queue.page_set.frames.values() if frame.content is not None]


def written_by_checkpoints(engine):
    for _ in range(3):
        engine.recovery.checkpoint()
    frames = message_frames(engine)
    assert len(BODIES) == len(frames)
    assert not any(frame.changed for frame in frames)
    return frames


def test_a_page_that_was_written_keeps_no_bytes():
    """B12: what it was written from is lent to the next; what it is made of stays."""
    frames = written_by_checkpoints(grown())
    assert all(frame.raw is None and frame.starting is not None for frame in frames)


def test_each_page_is_written_with_its_own_bytes():
    engine = grown()
    on_disk = engine.disk.files["pageset-01"].durable
    for frame in written_by_checkpoints(engine):
        page = bytes(on_disk[frame.page * PAGE : (frame.page + 1) * PAGE])
        assert is_whole(page, 1, frame.page)
        assert frame.content.body in page


def test_a_written_page_is_changed_and_written_again():
    """B4, B12: the image that goes to the log first is made of what the page still is, the get included."""
    engine = grown()
    written_by_checkpoints(engine)
    unit = engine.begin()
    got = [engine.get(unit) for _ in range(60)]
    engine.commit(unit)
    assert BODIES[:60] == got
    for _ in range(3):
        engine.recovery.checkpoint()
    again = SmallEngine(engine.disk.after_power_cut(), LARGE)
    assert BODIES[60:] == again.bodies()
    assert [] == check(again.data)


@pytest.mark.parametrize("buffers", [48, 64, 155, 300, 420, 4000])
def test_runs_count_what_puts_one_by_one_count(buffers):
    """Also where the pool is smaller than the run, or the queue outgrows it, and pages are written in its midst."""
    settings = replace(LARGE, buffer_pools={0: 64, 1: buffers})
    counted = []
    for together in (True, False):
        engine = SmallEngine(FaultyDisk(), settings)
        stats = engine.buffers.pools[1].stats
        before, unit = snapshot(stats), engine.begin()
        for _ in range(3):
            if together:
                engine.put_all(unit, BODIES)
            else:
                for body in BODIES:
                    engine.put(unit, body)
        engine.commit(unit)
        changes = since(before, stats, "get_new_page", "set_writes", "pages_written", "immediate_writes")
        counted.append((changes, stats.stealable_low))
        assert BODIES * 3 == SmallEngine(engine.disk.after_power_cut(), settings).bodies()
    assert counted[0] == counted[1]


def test_a_run_over_the_end_of_a_space_map_is_in_both():
    """Y1, V1: the pages of one run are taken in two maps, and restart finds them so."""
    settings = replace(LARGE, pages=SPAN + 300, log_bytes=16 << 20, buffer_pools={0: 64, 1: 6000})
    engine = SmallEngine(FaultyDisk(), settings)
    for _ in range(SPAN // len(BODIES) + 1):
        put_together(engine)
    pages = sorted(frame.page for frame in message_frames(engine))
    assert pages[0] < SPAN < pages[-1]
    for start in (engine, SmallEngine(engine.disk.after_power_cut(), settings)):
        assert [] == check(start.data)
        for page in pages:
            uses = start.buffers.pools[1].peek(start.queue.page_set, map_page_of(page)).data
            assert MESSAGE_PAGE == uses[HEADER_LENGTH + page % SPAN]
