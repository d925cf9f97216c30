"""Counters that no worked example of the papers moves: short pools and reads of the log, by the rules of the papers."""

from dataclasses import replace

import pytest

from quaestor.mqi.reasons import Abend
from quaestor.storage.log_files import CI
from quaestor.storage.log_record import HEADER_LENGTH, Kind
from quaestor.testing import SMALL, FaultyDisk, SmallEngine, since, snapshot

WRITES = ("deferred_write_starts", "immediate_writes", "synchronous_write_starts", "short_on_storage")
READS = ("reads_from_buffer", "reads_from_active", "reads_from_archive")
BEGIN = 1
"""The record with which a backout begins is read, too."""


def put(engine, count, size=100):
    unit = engine.begin()
    for _ in range(count):
        engine.put(unit, bytes(size))
    engine.commit(unit)
    return unit


def changed_pages(buffers):
    """An engine whose pool has so many buffers, and its pool: all of them clean."""
    engine = SmallEngine(FaultyDisk(), replace(SMALL, buffer_pools={0: 64, 1: buffers}, pages=400, logload=10**9))
    engine.buffers.write_all()
    return engine, engine.buffers.pools[1]


def test_the_deferred_writer_starts_once_and_whoever_puts_writes_above_95_percent():
    """M-19 and M-20 of MP1B, W2 and W3 of MP16: of 100 buffers 15 are left to steal, then 96 are changed."""
    engine, pool = changed_pages(100)
    before = snapshot(pool.stats)
    seen = {}
    for _ in range(95):
        changed = len(pool.changed())
        put(engine, 1)
        seen.setdefault(since(before, pool.stats, *WRITES), changed + 1)
    assert {(0, 0, 0, 0): 1, (1, 0, 0, 0): 85, (1, 1, 1, 0): 96} == seen
    assert len(pool.changed()) <= 75


def test_a_pool_without_a_buffer_to_steal_is_short_on_storage():
    """M-21: what is needed is written, whoever waits; QPSTSOS says how often."""
    engine, pool = changed_pages(20)
    put(engine, 10)
    page_set = engine.queue.page_set
    in_use = [pool.get(page_set, page) for page in range(100, 100 + pool.stealable)]
    before = snapshot(pool.stats)
    in_use.append(pool.get(page_set, 200))
    assert (1,) == since(before, pool.stats, "short_on_storage")
    assert since(before, pool.stats, "pages_written") >= (1,)


def test_a_pool_all_of_which_is_in_use_is_short_for_good():
    engine, pool = changed_pages(20)
    page_set = engine.queue.page_set
    in_use = [pool.get(page_set, page) for page in range(100, 120)]
    before = snapshot(pool.stats)
    with pytest.raises(Abend, match="B3"):
        pool.get(page_set, 200)
    assert (1,) == since(before, pool.stats, "short_on_storage")
    assert 20 == len(in_use)


def test_a_backout_reads_its_records_from_the_buffers():
    engine = SmallEngine()
    unit = engine.begin()
    for _ in range(7):
        engine.put(unit, b"x")
    before = snapshot(engine.log.stats)
    engine.back_out(unit)
    assert (BEGIN + 7, 0, 0) == since(before, engine.log.stats, *READS)


@pytest.mark.parametrize("archive", [False, True], ids=["active", "archive"])
def test_a_backout_reads_what_has_left_the_buffers_from_the_data_sets(archive):
    """QJSTRACT and QJSTRARH: 7 records in a log that is written, or archived; nothing shunts the unit meanwhile."""
    engine = SmallEngine(FaultyDisk(), replace(SMALL, log_bytes=512 << 10, archive=archive, logload=10**9, logs=4))
    unit = engine.begin()
    for _ in range(7):
        engine.put(unit, b"x")
    unit.born = 10**6
    switches = 4 if archive else 1
    first = engine.log.files.start
    while engine.log.files.start < first + switches * (512 << 10) or engine.log.base <= unit.last:
        put(engine, 10, 3000)
        others = engine.begin()
        for _ in range(10):
            engine.get(others)
        engine.commit(others)
    before = snapshot(engine.log.stats)
    engine.back_out(unit)
    assert ((BEGIN, 0, 7) if archive else (BEGIN, 7, 0)) == since(before, engine.log.stats, *READS)


def test_a_non_persistent_message_takes_a_new_page_and_its_place_in_the_space_map():
    """Taking a page looks at the map and changes it; a page that was got from is kept and taken again without that."""
    engine, pool = changed_pages(100)
    fields = ("get_page", "get_new_page", "set_writes", "steals")
    counted = []
    for _ in range(2):
        before = snapshot(pool.stats)
        for _ in range(5):
            engine.put(None, b"x", persistent=False)
        counted.append(since(before, pool.stats, *fields))
        while engine.get(None) is not None:
            pass
    assert [(5, 5, 10, 5), (0, 5, 5, 0)] == counted


def test_restart_begins_pages_anew_and_reads_none_of_them():
    """12 messages were put and their pages had not left the pool: 12 new ones, and page 0, which is stamped (ST1)."""
    engine, _ = changed_pages(100)
    put(engine, 12)
    again = SmallEngine(engine.disk.after_power_cut(), engine.engine.settings)
    stats = again.buffers.pools[1].stats
    space_map, page_0 = 1, 1
    assert (12 + page_0, space_map + page_0) == (stats.get_new_page, stats.page_reads)
    assert 12 == len(again.bodies())


def test_pages_that_are_read_ahead_are_pages_read():
    """R2 of MP16: the first get reads its page and the sixteen behind it, the next sixteen find theirs."""
    engine, _ = changed_pages(200)
    put(engine, 60, 2000)
    engine.recovery.latch.release()
    engine.engine.stop()
    again = SmallEngine(engine.disk, engine.engine.settings)
    pool = again.buffers.pools[1]
    unit, reads = again.begin(), []
    for _ in range(18):
        before = snapshot(pool.stats)
        assert again.get(unit) is not None
        reads += since(before, pool.stats, "page_reads")
    assert [17, *[0] * 16, 17] == reads


def test_the_bootstrap_data_set_hears_of_starts_checkpoints_and_switches():
    """M-34, beside the last buffer of the ring (mp1b/26): a request each."""
    engine = SmallEngine(FaultyDisk(), replace(SMALL, log_bytes=256 << 10, outbuff_kb=4000, logload=10**9))
    started, checkpoint = 1, 1
    assert started + checkpoint == engine.log.stats.bsds_accesses
    before = snapshot(engine.log.stats)
    engine.recovery.checkpoint()
    assert (1,) == since(before, engine.log.stats, "bsds_accesses")
    before = snapshot(engine.log.stats)
    engine.log.truncate()
    assert (1,) == since(before, engine.log.stats, "bsds_accesses")


def test_buffers_that_are_used_up_before_any_is_written_wait_once():
    """QJSTWTB where all memory of the log holds what is not written: OUTBUFF and WRTHRSH are both 150 buffers."""
    log = SmallEngine(FaultyDisk(), replace(SMALL, log_bytes=4 << 20, outbuff_kb=600, wrthrsh=150)).log
    before, waits = snapshot(log.stats), []
    for _ in range(200):
        log.append(Kind.TRUNCATED, 0, 0, 0, 0, 0, bytes(CI - HEADER_LENGTH))
        waits += since(before, log.stats, "waits_no_buffer")
    assert {0, 1} == set(waits)
    assert 148 <= waits.index(1) <= 150
