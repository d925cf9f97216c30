"""MP1B sections 11 and 12: the buffer pool and log examples, read off the managers' own SMF sections."""

import threading
from contextlib import suppress
from dataclasses import replace

import pytest

from quaestor.clock import SystemClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import IndexType, LocalQueue
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.buffer import BufferPool
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.storage.disk import RealDisk
from quaestor.testing import SMALL, FaultyDisk, SmallEngine, since, snapshot

V52 = replace(
    SMALL,
    packing=True,
    logs=3,
    log_bytes=4 << 20,
    dual_logs=True,
    outbuff_kb=400,
    wrthrsh=15,
    ci_per_io=15,
    logload=10**9,
    buffer_pools={0: 1000, 1: 1000},
    pages=4000,
    pages_per_io=4,
)


def engine_of_v52(**changes):
    engine = SmallEngine(FaultyDisk(), replace(V52, **changes))
    engine.pool = engine.buffers.pools[1]
    engine.pool.stats.stealable_low = engine.pool.buffers
    return engine


def put(engine, count, size=1000):
    for _ in range(count):
        unit = engine.begin()
        engine.put(unit, b"x" * size)
        engine.commit(unit)


def get(engine, count):
    for _ in range(count):
        unit = engine.begin()
        assert engine.get(unit) is not None
        engine.commit(unit)


PAGES = ("get_page", "get_new_page", "page_reads", "set_writes", "pages_written", "write_ios", "steals")
LOG = (
    "buffers_filled",
    "logger_calls",
    "suspensions",
    "log_ios",
    "cis_written",
    "serial_rewrites",
    "threshold_writes",
    "writes_force",
)


@pytest.mark.oracle("mp1b/16", kind="exact", lines="2145-2185")
def test_put_1000_messages_of_1000_bytes():
    """Two messages share a page: 500 new pages, and every page request of the put flow."""
    engine = engine_of_v52()
    before = snapshot(engine.pool.stats)
    put(engine, 1000)
    stats = engine.pool.stats
    assert (2498, 500, 0, 2499, 0, 0, 500) == since(before, stats, *PAGES)
    assert 499 == stats.stealable_low == engine.pool.stealable


@pytest.mark.oracle("mp1b/17", kind="exact-if", lines="2187-2202")
def test_get_1000_messages_of_1000_bytes():
    """1,000 gets mark messages deleted; the emptying task looks at each empty page and frees them in k = 3 runs.

    Where messages are is known without walking the pages, so the count is that of an indexed queue: P less (F-38).
    """
    engine = engine_of_v52()
    put(engine, 1000)
    before = snapshot(engine.pool.stats)
    runs = 3
    for _ in range(runs):
        get(engine, 330)
        engine.data.scavenge()
    get(engine, 10)
    emptied = 3 * 165
    assert (1000 + emptied + runs, 0, 0, 1000 + runs, 0, 0, 0) == since(before, engine.pool.stats, *PAGES)


@pytest.mark.oracle("mp1b/24", kind="exact", lines="2114-2120")
@pytest.mark.parametrize(
    ("buffers", "start", "stop", "synchronous"),
    [(1000, 850, 250, 950), (99000, 84150, 24750, 94050), (50000, 42500, 12500, 47500)],
)
def test_thresholds_of_the_deferred_writer(buffers, start, stop, synchronous):
    pool = BufferPool(1, buffers, None, None)
    assert (start, synchronous, stop) == (pool.start_at, pool.synchronous_at, pool.enough)
    assert buffers * 15 // 100 == pool.few


@pytest.mark.oracle("mp1b/26", kind="exact", lines="2523-2596")
def test_log_of_1000_puts_each_committed():
    """Each commit writes the part-filled page again: 1,000 rewrites per copy beside the pages filled."""
    engine = engine_of_v52()
    before = snapshot(engine.log.stats)
    put(engine, 1000)
    filled, calls, suspended, ios, cis, serial, threshold, forced = since(before, engine.log.stats, *LOG)
    assert (1000, 1000, 0, 0) == (calls, suspended, threshold, forced)
    assert 2 * 1000 == serial
    assert ios == cis == 2 * filled + serial


@pytest.mark.oracle("mp1b/27", kind="exact", lines="2598-2635")
def test_log_of_1000_gets_each_committed():
    """A get logs no data, so the same page is written about eleven times."""
    engine = engine_of_v52()
    put(engine, 1000)
    before = snapshot(engine.log.stats)
    get(engine, 1000)
    filled, calls, suspended, ios, cis, serial, threshold, _ = since(before, engine.log.stats, *LOG)
    assert (1000, 1000, 0) == (calls, suspended, threshold)
    assert 2 * 1000 == serial
    assert ios == cis == 2 * filled + serial


@pytest.mark.oracle("mp1b/28", kind="exact", lines="2637-2680")
def test_log_of_100_puts_of_100000_bytes():
    """25 log pages a message: one write because WRTHRSH was reached, one because of the commit."""
    engine = engine_of_v52(log_bytes=12 << 20, buffer_pools={0: 1000, 1: 9000})
    before = snapshot(engine.log.stats)
    put(engine, 100, 100_000)
    filled, calls, suspended, ios, cis, serial, threshold, _ = since(before, engine.log.stats, *LOG)
    assert (200, 100, 100) == (calls, suspended, threshold)
    assert 200 == serial
    assert cis == 2 * filled + serial
    assert 2550 == pytest.approx(filled, rel=0.03)
    assert 844 == pytest.approx(ios, rel=0.06)


@pytest.mark.oracle("mp1b/29", kind="exact", lines="2682-2723")
def test_log_of_100_gets_of_100000_bytes():
    engine = engine_of_v52(log_bytes=12 << 20, buffer_pools={0: 1000, 1: 9000})
    put(engine, 100, 100_000)
    before = snapshot(engine.log.stats)
    get(engine, 100)
    filled, calls, suspended, ios, cis, serial, threshold, _ = since(before, engine.log.stats, *LOG)
    assert (100, 100, 0) == (calls, suspended, threshold)
    assert 200 == serial
    assert ios == cis == 2 * filled + serial


@pytest.mark.oracle("mp1b/25", kind="approx", lines="2582")
def test_records_of_a_put():
    """The formula is 4 + 6 a message; ours logs fewer records, and states its own count."""
    engine = engine_of_v52()
    before = snapshot(engine.log.stats)
    put(engine, 1000)
    (records,) = since(before, engine.log.stats, "writes_nowait")
    assert 1000 * 2 + 500 * 2 - 1 == records


def with_deferred_writes(engine, count, work):
    """So many units, with the deferred writer running beside them as the scheduler runs it."""
    for _ in range(count):
        work(engine, 1)
        engine.buffers.step()


@pytest.mark.oracle("mp1b/18", kind="identity", lines="2204-2240")
def test_put_2000_messages_into_a_pool_of_1000_buffers():
    """Twice what the pool holds: the writer starts at 15 % stealable; the printed counters are one page per message."""
    engine = engine_of_v52(log_bytes=16 << 20)
    before, start = snapshot(engine.pool.stats), engine.pool.stealable
    with_deferred_writes(engine, 2000, put)
    stats = engine.pool.stats
    getp, getn, reads, writes, written, ios, steals = since(before, stats, *PAGES)
    assert (4998, 1000, 4999, 0) == (getp, getn, writes, reads)
    assert 1000 == steals
    assert written <= 4 * ios < written + 4 * stats.deferred_write_starts * 4
    assert 149 <= stats.stealable_low <= 150
    updated_again = 2  # the space map and the last page: clean after a write, changed by the next put
    assert start - steals + written - updated_again <= engine.pool.stealable <= start - steals + written
    assert 1 < stats.deferred_write_starts <= 38


@pytest.mark.oracle("mp1b/19", kind="exact-if", lines="2242-2272")
def test_get_2000_messages_whose_pages_have_left_the_pool():
    """Every page is read once, and every read needs a buffer of another page."""
    engine = engine_of_v52(log_bytes=16 << 20)
    put(engine, 2000)
    engine.recovery.latch.release()
    engine.engine.stop()
    again = SmallEngine(engine.disk, engine.engine.settings)
    again.pool = again.buffers.pools[1]
    before = snapshot(again.pool.stats)
    with_deferred_writes(again, 2000, get)
    _, getn, reads, writes, _, _, steals = since(before, again.pool.stats, *PAGES)
    assert (0, 1000, 1000, 2000) == (getn, reads, steals, writes)
    assert 149 <= again.pool.stats.stealable_low <= 151


@pytest.mark.oracle("mp1b/23", kind="identity", lines="2362-2378")
@pytest.mark.parametrize("indexed", [True, False])
def test_put_and_get_by_identifier_on_a_queue_that_holds_1000(indexed):
    """Set writes are 5 for each two puts and one for each get; no page is looked at to find a message, index or not."""
    engine = SmallEngine(FaultyDisk(), replace(V52, log_bytes=16 << 20, buffer_pools={0: 1000, 1: 9000}),
                         index_type=IndexType.CORRELID if indexed else IndexType.NONE)  # fmt: skip
    engine.pool = engine.buffers.pools[1]
    put(engine, 1000)
    before = snapshot(engine.pool.stats)
    for n in range(1, 1001):
        key = n.to_bytes(24, "big")
        unit = engine.begin()
        engine.put(unit, b"x" * 1000, correl_id=key)
        engine.commit(unit)
        unit = engine.begin()
        assert engine.get(unit, correl_id=key)
        engine.commit(unit)
    getp, getn, reads, writes, *_ = since(before, engine.pool.stats, *PAGES)
    assert (500, 0, 2500 + 1000) == (getn, reads, writes)
    assert 2500 + 1000 == getp


@pytest.mark.oracle("mp1b/30", kind="identity", lines="2725-2766")
def test_log_of_ten_requesters_and_three_servers(tmp_path):
    """Threads at once, dual logs: the identities hold, and one write serves several commits."""
    settings = replace(V52, packing=False, log_bytes=16 << 20, buffer_pools={0: 1000, 1: 9000})
    manager = QueueManager("QM1", RealDisk(tmp_path), SystemClock(), settings)
    manager.start()
    with manager.connect("ADMIN") as app:
        for name in ("REQUEST", "REPLY"):
            app.define(LocalQueue(name, share=True, def_exclusive=False, index_type=IndexType.CORRELID))
    before, calls = snapshot(manager.engine.log.stats), 20
    body, kept = b"x" * 1000, MQMD(persistence=1)

    def requester():
        with manager.connect("REQ") as app:
            replies = app.open("REPLY", OpenOptions.INPUT_SHARED)
            for _ in range(calls):
                asked = app.put1("REQUEST", body, kept, PutOptions.NO_SYNCPOINT)
                replies.get(GetOptions.NO_SYNCPOINT, wait_ms=20_000, correl_id=asked.msg_id)

    def server():
        with manager.connect("SRV") as app:
            requests = app.open("REQUEST", OpenOptions.INPUT_SHARED)
            with suppress(MQError):
                while True:
                    asked = requests.get(wait_ms=2000)
                    app.put1("REPLY", body, MQMD(persistence=1, correl_id=asked.msg_id))
                    app.commit()

    work(*[requester] * 10, *[server] * 3)
    stats = manager.engine.log.stats
    filled, logger_calls, _, _, cis, serial, _, _ = since(before, stats, *LOG)
    commits = 10 * calls * 3
    assert cis == 2 * filled + serial
    assert logger_calls < commits
    assert serial // 2 <= logger_calls
    (waits,) = since(before, stats, "suspensions")
    assert waits >= commits
    manager.stop()


def work(*jobs):
    failures = []

    def guarded(job):
        try:
            job()
        except BaseException as error:  # noqa: BLE001 - raised again below
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == failures
