"""A checkpoint in steps: how much one does, when they are taken, and what the restart after it has to do."""

import errno
import threading
from dataclasses import replace

import pytest

from quaestor.mqi.reasons import Abend
from quaestor.qmgr.recovery.checkpointing import HELPING_PIECES, STEP_PAGES
from quaestor.storage.bootstrap import Bootstrap
from quaestor.storage.page_set import PageSet
from quaestor.testing import SMALL, FaultyDisk, SmallEngine, since, snapshot

LARGE = replace(SMALL, log_bytes=4 << 20, buffer_pools={0: 64, 1: 4000}, pages=2000, logload=10**6)


def put(engine, count, size=40):
    unit = engine.begin()
    for _ in range(count):
        engine.put(unit, b"x" * size)
    engine.commit(unit)


def aged(count, settings=LARGE):
    """An engine with so many pages that the next checkpoint writes."""
    engine = SmallEngine(FaultyDisk(), settings)
    put(engine, count)
    engine.recovery.checkpoint()
    return engine


def by_steps(engine):
    """Take the steps of a checkpoint as the scheduler does; gives for each how many pages it wrote."""
    stats, written = engine.buffers.pools[1].stats, []
    engine.recovery.logload = 0
    more = True
    while more or engine.recovery.checkpoint_due():
        before = stats.pages_written
        engine.recovery.latch.release()
        more = engine.recovery.checkpoint_step()
        engine.recovery.latch.acquire()
        written.append(stats.pages_written - before)
        engine.recovery.logload = 10**6
    return written


def test_no_step_writes_more_than_a_piece():
    engine = aged(300)
    written = by_steps(engine)
    assert 300 <= sum(written) <= 302
    assert STEP_PAGES == max(written)


def test_it_counts_what_a_whole_one_counts():
    fields = ("pages_written", "write_ios", "set_writes", "page_reads")
    counted = []
    for take in (by_steps, lambda engine: engine.recovery.checkpoint()):
        engine = aged(4 * STEP_PAGES)
        before, log_before = snapshot(engine.buffers.pools[1].stats), snapshot(engine.log.stats)
        take(engine)
        figures = engine.buffers.meter.page_sets[1]
        counted.append(
            (
                since(before, engine.buffers.pools[1].stats, *fields),
                since(log_before, engine.log.stats, "writes_nowait", "bsds_accesses"),
                (figures.deferred_write_pages, figures.deferred_write_ios, figures.checkpoint_pages),
            )
        )
    assert counted[0] == counted[1]


def test_a_run_of_pages_is_one_request_and_counted_by_sixteen():
    engine = aged(100)
    operations, stats = engine.disk.operations, engine.buffers.pools[1].stats
    ios = stats.write_ios
    pool = engine.buffers.pools[1]
    pool.write([frame for frame in pool.changed() if frame.whole])
    assert 7 == stats.write_ios - ios
    assert operations + 1 == engine.disk.operations


def test_restart_begins_where_a_checkpoint_in_steps_says():
    engine = aged(50)
    put(engine, 3)
    by_steps(engine)
    put(engine, 2)
    again = SmallEngine(engine.disk.after_power_cut(), LARGE)
    assert 55 == len(again.bodies())
    assert engine.log.files.inventory.checkpoints[-1] == again.restarted.checkpoint_rba
    assert again.restarted.changes_redone < 50


def test_a_page_that_is_started_again_is_never_old():
    """B10: one message after the other over many checkpoints, got before two have passed."""
    engine = aged(0)
    stats = engine.buffers.pools[1].stats
    message_pages = []
    for _ in range(6):
        put(engine, 20)
        unit = engine.begin()
        for _ in range(20):
            engine.get(unit)
        engine.commit(unit)
        before = stats.pages_written
        engine.recovery.checkpoint()
        message_pages.append(stats.pages_written - before)
    assert max(message_pages) <= 2  # space map and header
    again = SmallEngine(engine.disk.after_power_cut(), LARGE)
    assert [] == again.bodies()


def test_it_keeps_pace_with_the_log():
    """CP5: by the time half of what was between the last two is logged, every old page is written."""
    engine = aged(900)
    put(engine, 400, 3000)
    recovery, stats = engine.recovery, engine.buffers.pools[1].stats
    begun, before = engine.log.end, stats.pages_written
    recovery.logload, span = 0, None
    while span is None or recovery._under_way is not None:
        recovery.latch.release()
        while recovery.checkpoint_step():
            pass
        recovery.latch.acquire()
        recovery.logload = 10**6
        span = span or recovery._span
        share = (engine.log.end - begun) / (span / 2)
        if recovery._old is not None:
            assert recovery._old.share >= min(1, share)
        put(engine, 1, 3000)
    assert 900 <= stats.pages_written - before
    assert engine.log.end - begun <= span * 0.6


def test_commits_leave_it_to_the_background_while_there_is_time():
    """CP6."""
    engine = SmallEngine(FaultyDisk(), replace(LARGE, logload=50))
    taken = engine.recovery.checkpoints
    put(engine, 60)
    assert taken + 1 == engine.recovery.checkpoints, "nobody runs steps"
    engine.recovery.in_steps = True
    put(engine, 60)
    assert taken + 1 == engine.recovery.checkpoints
    engine.run_tasks()
    assert taken + 2 == engine.recovery.checkpoints
    assert engine.recovery.checkpoint_due()
    put(engine, 60)
    assert taken + 3 == engine.recovery.checkpoints, "LOGLOAD again, and one was under way"
    assert not engine.recovery.checkpoint_due()


def test_commits_help_when_the_background_falls_behind():
    """CP5: the background only waits for the log and the disk; pages are written all the same, a few at each commit."""
    engine = aged(900)
    put(engine, 400, 3000)
    recovery, stats = engine.recovery, engine.buffers.pools[1].stats
    recovery.in_steps, recovery.logload = True, 0
    engine.run_tasks()
    recovery.logload = 10**6
    most, before, taken = 0, stats.pages_written, engine.log.files.inventory.checkpoints
    while recovery._old.share < 1:
        if not recovery._may_go_on():
            engine.run_tasks()
        written = stats.pages_written
        put(engine, 20, 3000)
        most = max(most, stats.pages_written - written)
    assert STEP_PAGES * HELPING_PIECES >= most > STEP_PAGES
    assert stats.pages_written - before >= 900 - STEP_PAGES
    assert taken == engine.log.files.inventory.checkpoints, "its record is the background's"


def test_a_log_that_is_needed_again_soon_does_not_wait_for_steps():
    """CP6: three active logs; each is used again as soon as the one before it is full."""
    engine = SmallEngine(FaultyDisk(), replace(SMALL, log_bytes=64 << 10, logload=10**6))
    engine.recovery.in_steps = True
    for _ in range(200):
        put(engine, 1, 3000)
        unit = engine.begin()
        engine.get(unit)
        engine.commit(unit)
    assert [] == engine.log.files.inventory.archives
    assert [] == SmallEngine(engine.disk.after_power_cut(), SMALL).bodies()


@pytest.mark.plain
@pytest.mark.parametrize("logload", [10**6, 160, 47])
@pytest.mark.parametrize("logs", [2, 3, 4])
def test_a_ring_leaves_time_for_steps(logs, logload, monkeypatch):
    """CP6, J14: over many turns of the ring, also where LOGLOAD is reached just before each switch; nothing is got."""
    settings = replace(LARGE, logs=logs, log_bytes=256 << 10, logload=logload)
    engine = SmallEngine(FaultyDisk(), settings)
    engine.recovery.in_steps = True
    finished = []
    monkeypatch.setattr(engine.recovery, "_finish", lambda: finished.append(engine.log.end))
    for number in range(1000):
        put(engine, 1, 3000)
        for _ in range(1 + number % 2):
            engine.run_tasks()
    assert [] == finished
    assert 0 == engine.log.files.archives_made
    assert engine.log.files.start > 10 * (256 << 10)
    assert 1000 == len(SmallEngine(engine.disk.after_power_cut(), settings).bodies())


def test_the_first_commit_after_the_switch_begins_what_the_log_waits_for():
    """CP5, J14: the background comes when it comes."""
    engine = SmallEngine(FaultyDisk(), replace(LARGE, log_bytes=256 << 10))
    recovery, log = engine.recovery, engine.log
    recovery.in_steps, started = True, 0
    for _ in range(4):
        start = log.files.start
        while log.files.start == start:
            put(engine, 1, 3000)
        if log.short_at:
            started += 1
            assert recovery._under_way is not None
            assert not log.switched
            recovery.checkpoint()
        assert 0 == log.short_at
    assert started


def test_a_log_that_archives_does_not_wait_for_a_checkpoint():
    """J14: it has to be copied anyhow."""
    engine = SmallEngine(FaultyDisk(), replace(SMALL, log_bytes=64 << 10, logload=10**6, archive=True))
    engine.recovery.in_steps = True
    while engine.log.files.start < 3 * (64 << 10):
        put(engine, 1, 3000)
        assert 0 == engine.log.short_at
    assert not engine.log.files.awaits_checkpoint()


def test_a_log_that_is_needed_after_the_checkpoint_is_copied_then():
    """J14: recovering a structure needs it (F2); work goes on."""
    engine = SmallEngine(FaultyDisk(), replace(SMALL, log_bytes=64 << 10, logload=10**6))
    engine.recovery.in_steps, engine.recovery.kept_rba = True, lambda: 0
    waited = 0
    for _ in range(60):
        put(engine, 1, 3000)
        waited += bool(engine.log.short_at)
        engine.run_tasks()
    assert waited
    assert engine.log.files.archives_made
    assert 60 == len(SmallEngine(engine.disk.after_power_cut(), SMALL).bodies())


def test_leaving_an_active_log_early_waits_for_nothing():
    """J9, J14: ARCHIVE LOG twice, each as soon as the log has switched."""
    engine = SmallEngine(FaultyDisk(), replace(SMALL, log_bytes=64 << 10, logload=10**6))
    engine.recovery.in_steps = True
    for _ in range(5):
        put(engine, 2, 3000)
        start = engine.log.files.start
        engine.log.truncate()
        assert start + (64 << 10) == engine.log.files.start
    assert 10 == len(SmallEngine(engine.disk.after_power_cut(), SMALL).bodies())


def test_a_switch_soon_after_a_checkpoint_makes_no_page_older():
    """CP8."""
    engine = aged(30)
    pool = engine.buffers.pools[1]
    for ages, soon in ((False, True), (True, False)):
        before, written = pool.checkpoint, pool.stats.pages_written
        if not soon:
            put(engine, 800, 3000)
        engine.log.switched = True
        put(engine, 1)
        assert ages == (pool.checkpoint > before)
        assert ages == (pool.stats.pages_written > written)
        assert not engine.log.switched


def test_a_whole_one_waits_where_the_one_under_way_waits():
    """CP3: the background syncs without the latch; meanwhile somebody takes a checkpoint with it."""
    engine = aged(40)
    page_set, recovery = engine.buffers.page_sets[1], engine.recovery
    syncing, go_on, sync = threading.Event(), threading.Event(), page_set.file.sync

    def slow():
        if threading.current_thread() is background:
            syncing.set()
            go_on.wait(10)
        sync()

    page_set.file.sync = slow
    recovery.logload = 0

    def steps():
        while recovery.checkpoint_step() or recovery._under_way is not None:
            pass

    background = threading.Thread(target=steps)
    recovery.latch.release()
    background.start()
    assert syncing.wait(10)
    recovery.latch.acquire()
    recovery.logload = 10**6
    threading.Timer(0.05, go_on.set).start()
    rba = recovery.checkpoint()
    recovery.latch.release()
    background.join(10)
    recovery.latch.acquire()
    assert [rba] == engine.log.files.inventory.checkpoints[-1:]
    assert 40 == len(SmallEngine(engine.disk.after_power_cut(), LARGE).bodies())


def test_a_sync_that_failed_for_one_has_failed_for_everybody():
    """T5, K2."""
    disk = FaultyDisk()
    page_set = PageSet.create(disk, 3, 8)
    disk.fail_at[disk.operations + 1] = errno.EIO
    for _ in range(2):
        with pytest.raises(OSError, match="EIO"):
            page_set.harden()
    assert 0 == page_set.unsynced_rba


def test_a_page_set_that_is_closed_is_not_synced_any_more():
    page_set = PageSet.create(FaultyDisk(), 3, 8)
    page_set.close()
    page_set.file = None
    page_set.sync()


def test_what_was_packed_before_something_newer_was_written_is_not_written():
    """S2."""
    engine = SmallEngine(FaultyDisk(), SMALL)
    files = engine.log.files
    files.inventory.written_rba = 1
    older = files.saving()
    files.inventory.written_rba = 2
    files.save()
    operations = engine.disk.operations
    older()
    assert operations == engine.disk.operations
    assert 2 == Bootstrap.open(engine.disk).inventory.written_rba


def test_a_checkpoint_that_fails_is_told():
    engine = aged(40)
    engine.buffers.page_sets[1].unsynced_rba = 1
    engine.disk.fail_at[engine.disk.operations + 2] = errno.EIO
    with pytest.raises((OSError, Abend)):
        by_steps(engine)
