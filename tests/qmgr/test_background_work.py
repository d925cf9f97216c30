"""A started queue manager does its background work by itself: each test waits for what only the scheduler can do."""

import time
from dataclasses import replace

import pytest

from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue, QueueManagerAttributes
from quaestor.mqi.options import OpenOptions, PutOptions
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.testing import SMALL, FaultyDisk

KEPT, LOST, NOW = MQMD(persistence=1), MQMD(persistence=0), PutOptions.NO_SYNCPOINT
PATIENCE_S = 10


CLOCK = FakeClock()


def eventually(holds):
    """Whether something comes true while time passes and this thread does nothing for it."""
    until = time.monotonic() + PATIENCE_S
    while not holds() and time.monotonic() < until:
        CLOCK.advance(milliseconds=100)
        time.sleep(0.005)  # noqa: TID251 - a test waits for another thread
    return holds()


@pytest.fixture
def started():
    """Start queue managers with their background work; they are stopped at the end."""
    managers = []

    def start(**changes):
        manager = QueueManager("QM1", FaultyDisk(), CLOCK, replace(SMALL, **changes))
        manager.start()
        managers.append(manager)
        with manager.connect("ALICE") as app:
            app.define(LocalQueue("ORDERS"))
        return manager

    yield start
    for manager in managers:
        manager.stop()
        assert manager.scheduler.failure is None


def test_deferred_write_makes_buffers_stealable(started):
    """Between 85 % and 95 % changed it is nobody's duty but the background's (B5)."""
    manager = started(buffer_pools={0: 64, 1: 200}, pages=400)
    pool = manager.engine.buffers.pools[1]
    with manager.connect("ALICE") as app:
        for _ in range(175):
            app.put1("ORDERS", "x", KEPT)
        assert eventually(lambda: pool.stats.pages_written > 0 and pool.stealable >= pool.enough)
        assert 0 == pool.stats.synchronous_write_starts
        app.commit()


def test_a_pool_that_is_defined_later_is_served_too(started):
    manager = started()
    with manager.engine.recovery.latch:
        pool = manager.engine.buffers.define_pool(7, 50)
        pool._writing = True
    assert eventually(lambda: not pool._writing)


def test_a_checkpoint_is_taken_when_logload_is_reached(started):
    """Nobody commits, so nobody else would take it (V5)."""
    manager = started(logload=50)
    with manager.connect("ALICE") as app:
        taken = manager.engine.recovery.checkpoints
        for _ in range(60):
            app.put1("ORDERS", "x", KEPT)
        assert eventually(lambda: manager.engine.recovery.checkpoints > taken)


def test_a_full_log_is_archived_before_it_is_wanted_again(started):
    manager = started(archive=True, log_bytes=64 << 10, logload=10**6)
    with manager.connect("ALICE") as app:
        while not manager.engine.log.files.start > 64 << 10:
            app.put1("ORDERS", b"x" * 3000, KEPT)
        assert eventually(lambda: manager.engine.log.files.inventory.archives)
        app.commit()


def test_expired_messages_go_without_being_asked_for(started):
    manager = started()
    with manager.connect("ALICE") as app:
        app.alter(QueueManagerAttributes, expiry_interval_s=1)
        orders = app.open("ORDERS", OpenOptions.INQUIRE | OpenOptions.OUTPUT)
        orders.put("x", MQMD(expiry=5), NOW)
        assert {"CURDEPTH": 1} == orders.inquire("CURDEPTH")
        assert eventually(lambda: orders.inquire("CURDEPTH") == {"CURDEPTH": 0})


def test_what_a_lost_application_left_is_backed_out(started):
    manager = started()
    app = manager.connect("ALICE")
    app.put1("ORDERS", "x", KEPT)
    units = manager.engine.recovery.units
    assert units
    del app
    assert eventually(lambda: not units)


def test_empty_pages_are_given_back_by_the_scavenger(started):
    manager = started(packing=True, buffer_pools={0: 64, 1: 400}, pages=400)
    with manager.connect("ALICE") as app:
        for _ in range(40):
            app.put1("ORDERS", b"x" * 1500, KEPT, NOW)
        for _ in range(40):
            app.get("ORDERS")
        app.commit()
        emptied = manager.engine.data._pages.emptied
        assert emptied[1]
        assert eventually(lambda: not emptied[1])


def test_an_idle_queue_manager_leaves_the_latch_alone():
    """W5: what is looked after many times a second is looked at without the latch."""
    manager = QueueManager("QM1", FaultyDisk(), CLOCK, SMALL)
    manager.start(background=False)
    often = [task for task in manager.scheduler.tasks if (task.latched or task.due) and task.every_ms <= 100]
    names = ["checkpoint", "commands that wait", "deferred write", "give kept pages back", "statistics interval"]
    assert names == sorted(task.name for task in often)
    assert not any(task.due() for task in often if task.due is not None)
    assert all(task.due is not None for task in often)
    manager.stop()
