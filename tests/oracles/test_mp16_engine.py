"""MP16 section 5, how it works: the same examples, read off a running engine's own SMF sections."""

from dataclasses import replace

import pytest

from quaestor.qmgr.buffer import BufferPool
from quaestor.storage.log_files import CI
from quaestor.storage.log_record import HEADER_LENGTH, Kind
from quaestor.testing import SMALL, FaultyDisk, SmallEngine, since, snapshot


def loaded(count, **changes):
    settings = replace(SMALL, buffer_pools={0: 200, 1: 400}, pages=400, logload=10**9, **changes)
    engine = SmallEngine(FaultyDisk(), settings)
    unit = engine.begin()
    for _ in range(count):
        engine.put(unit, b"x" * 500)
    engine.commit(unit)
    return engine


def append(log, length):
    log.append(Kind.TRUNCATED, 0, 0, 0, 0, 0, bytes(length - HEADER_LENGTH))


def begin_page(log):
    """What is logged next begins a page of the log."""
    append(log, CI + -log.end % CI)
    log.force(log.end - 1)


@pytest.mark.oracle("mp16-ch4-11/19", kind="scenario", lines="4730-4737")
def test_two_gets_and_a_commit_are_three_records_and_one_io():
    """One application gets two persistent messages and commits; nothing else is running, and a log page begins."""
    engine = loaded(2)
    begin_page(engine.log)
    before = snapshot(engine.log.stats)
    unit = engine.begin()
    engine.get(unit)
    engine.get(unit)
    engine.commit(unit)
    fields = ("writes_nowait", "buffers_filled", "logger_calls", "log_ios", "suspensions")
    assert (3, 1, 1, 1, 1) == since(before, engine.log.stats, *fields)


@pytest.mark.oracle("mp16-ch4-11/20", kind="exact", lines="4708")
@pytest.mark.parametrize(("buffers", "ios"), [(128, 1), (129, 2), (256, 2), (257, 3)])
def test_129_log_buffers_take_two_ios(buffers, ios):
    """128 of them go in one I/O."""
    engine = loaded(0, outbuff_kb=4000, wrthrsh=1000, log_bytes=4 << 20)
    begin_page(engine.log)
    before = snapshot(engine.log.stats)
    for _ in range(buffers):
        append(engine.log, CI)
    engine.log.force(engine.log.end - 1)
    assert (buffers, ios) == since(before, engine.log.stats, "buffers_filled", "log_ios")


@pytest.mark.oracle("mp16-ch4-11/24", "mp16-ch4-11/25", kind="exact-if", lines="4793-4814")
def test_put_and_get_of_100_messages_of_100000_bytes():
    """Two calls of the logger for a put and its commit, one for a get and its commit; 25.5 log pages a message.

    The pages are those of a log that is filled (FL1). Its records are our own: 26 for a put, where the paper has two,
    and three for a get; what gets log is less than the paper's 0.29 pages.
    """
    sizes = {"buffer_pools": {0: 200, 1: 4000}, "pages": 4000, "log_bytes": 16 << 20, "outbuff_kb": 4000}
    engine = SmallEngine(FaultyDisk(), replace(SMALL, log_space="mp16", wrthrsh=20, logload=10**9, **sizes))
    fields = ("writes_nowait", "logger_calls", "threshold_writes", "suspensions")
    before = snapshot(engine.log.stats)
    for _ in range(100):
        unit = engine.begin()
        engine.put(unit, bytes(100_000))
        engine.commit(unit)
    assert (2600, 200, 100, 100) == since(before, engine.log.stats, *fields)
    (pages,) = since(before, engine.log.stats, "buffers_filled")
    assert 2550 == pytest.approx(pages, rel=0.02)
    before = snapshot(engine.log.stats)
    for _ in range(100):
        unit = engine.begin()
        engine.get(unit)
        engine.commit(unit)
    assert (300, 100, 0, 100) == since(before, engine.log.stats, *fields)
    pages, again, ios = since(before, engine.log.stats, "buffers_filled", "serial_rewrites", "log_ios")
    assert (100, 100 + pages) == (again, ios)
    assert 0 < pages <= 29


@pytest.mark.oracle("mp16-ch4-11/18", kind="exact", lines="4571-4573")
def test_a_pool_of_1050_buffers_writes_at_these_counts():
    pool = BufferPool(0, 1050, None, None)
    assert (157, 263) == (pool.few, pool.enough)
    assert (893, 998) == (pool.start_at + 1, pool.synchronous_at + 1)


@pytest.mark.oracle("mp16-ch4-11/15", kind="scenario", lines="4502-4504")
def test_short_lived_messages_cause_no_page_set_io():
    engine = loaded(0)
    before = snapshot(engine.buffers.pools[1].stats)
    for _ in range(500):
        unit = engine.begin()
        engine.put(unit, b"x" * 500)
        engine.commit(unit)
        unit = engine.begin()
        engine.get(unit)
        engine.commit(unit)
    fields = ("deferred_write_starts", "page_reads", "pages_written")
    assert (0, 0, 0) == since(before, engine.buffers.pools[1].stats, *fields)


@pytest.mark.oracle("mp16-ch4-11/16", kind="scenario", lines="4506")
def test_a_long_lived_message_is_written_after_its_put_and_after_its_get():
    """Held over two checkpoints, got, and two more checkpoints: every page is written twice and never read."""
    engine = loaded(100)
    stats = engine.buffers.pools[1].stats
    read_at_start = stats.page_reads
    for _ in range(3):
        engine.recovery.checkpoint()
    after_put = stats.pages_written
    unit = engine.begin()
    for _ in range(100):
        engine.get(unit)
    engine.commit(unit)
    for _ in range(3):
        engine.recovery.checkpoint()
    system_pages = 3  # the space map, page 0 at the start and at the checkpoint (ST1)
    assert 100 <= after_put <= 100 + system_pages
    assert 200 <= stats.pages_written <= 200 + 2 * system_pages
    assert read_at_start == stats.page_reads
