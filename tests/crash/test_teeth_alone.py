"""Teeth of rules that have a proof of their own, a short play: it holds, and fails when its rule is removed."""

import errno
import threading
from dataclasses import replace

import pytest

from crash.scenarios import TINY, World, message
from quaestor.mqi.reasons import Abend, MQError
from quaestor.qmgr.data import PrivateQueue
from quaestor.qmgr.lock import LockManager
from quaestor.qmgr.log import LogManager
from quaestor.qmgr.log.in_flight import Waiter
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.storage.active_log import ActiveLog
from quaestor.storage.log_record import Kind
from quaestor.storage.page import PAGE
from quaestor.storage.page_set import PageSet
from quaestor.testing import FaultyDisk, SmallEngine

pytestmark = [pytest.mark.crash, pytest.mark.plain]


def without_undoing(patch):
    """V3: a compensation record is also carried out."""
    patch.setattr(RecoveryManager, "_compensate", lambda self, page_set, page, kind, body, rba: None)


def without_lock_at_get(patch):
    """D3: a message that a unit has got is not there for others."""
    patch.setattr(PrivateQueue, "remove", lambda self, arrival: None)
    patch.setattr(LockManager, "lock", lambda self, resource, holder: True)
    patch.setattr(LockManager, "unlock", lambda self, resource, holder: None)


def a_message_is_got_once():
    engine = SmallEngine()
    unit = engine.begin()
    engine.put(unit, b"once")
    engine.commit(unit)
    one, other = engine.begin(), engine.begin()
    assert b"once" == engine.get(one)
    assert engine.get(other) is None


def test_a_message_is_got_once():
    a_message_is_got_once()


def test_without_the_lock_it_would_be_got_twice(monkeypatch):
    without_lock_at_get(monkeypatch)
    with pytest.raises((AssertionError, Abend)):
        a_message_is_got_once()


def without_the_second_copy(patch):
    """F4: with two copies every write goes to both."""
    patch.setattr(ActiveLog, "_each", lambda self, request: request(self._files[0]))
    patch.setattr(ActiveLog, "start_write_through", lambda self, at, data: self._files[0].start_write_through(at, data))


def a_backed_out_put_is_gone_from_its_page():
    """The page is written and the checkpoint passes the back out: restart has nothing left to undo it with."""
    engine = SmallEngine(FaultyDisk(), TINY)
    unit = engine.begin()
    engine.put(unit, b"never")
    engine.back_out(unit)
    engine.buffers.write_all()
    engine.recovery.checkpoint()
    assert [] == engine.again().bodies()


def the_second_copy_is_enough():
    settings = replace(TINY, dual_logs=True)
    world = World(FaultyDisk(), settings)
    world.unit(puts=[message(1)])
    disk = world.disk.after_power_cut()
    for name in disk.names("log1"):
        disk.files[name].seen[:] = bytes(len(disk.files[name].seen))
    assert [message(1)] == SmallEngine(disk, settings).bodies()


def without_hardened_backouts(patch):
    """D4: HARDENBO makes the backout count durable."""
    patch.setattr(RecoveryManager, "harden", lambda self: None)


def a_hardened_backout_is_counted():
    engine = SmallEngine(FaultyDisk(), TINY, harden_backout=True)
    unit = engine.begin()
    engine.put(unit, message(1))
    engine.commit(unit)
    unit = engine.begin()
    engine.get(unit)
    engine.back_out(unit)
    again = SmallEngine(engine.disk.after_power_cut(), TINY)
    assert [1] == [arrival.backout_count for arrival in again.data.browse(again.queue)]


def with_waiters_woken_early(patch):
    """J3: whoever waits is woken when the force that serves him is done, not before."""

    def unlocked(self, rba, since_ns):
        self.rba, self.since_ns, self.leads, self.gate = rba, since_ns, False, threading.Lock()

    patch.setattr(Waiter, "__init__", unlocked)


def a_force_returns_when_its_record_is_durable():
    """One thread leads and is held in its write; a second comes with a later record."""
    engine = SmallEngine(FaultyDisk(), TINY)
    log, entered, go_on, told = engine.log, threading.Event(), threading.Event(), []
    write = log.files.write_through

    def slow(rba, data):
        entered.set()
        go_on.wait(10)
        write(rba, data)

    log.files.write_through = slow
    first = log.append(Kind.COMMIT, 0, 0, 0, 0, 0, b"")
    leader = threading.Thread(target=log.force, args=(first,))
    leader.start()
    assert entered.wait(10)
    second = log.append(Kind.COMMIT, 0, 0, 0, 0, 0, b"")

    def wait():
        log.force(second)
        told.append(log.hardened > second)

    follower = threading.Thread(target=wait)
    follower.start()
    follower.join(0.1)
    go_on.set()
    leader.join()
    follower.join()
    assert [True] == told


def with_space_that_counts_before_it_is_durable(patch):
    """T2, Y6: a put uses pages when their space is durable, whoever sees to it."""

    def hasty(self, pages):
        if self.reserved < pages:
            self.reserved = pages
            self.file.extend(pages * PAGE)
            self.sync()

    patch.setattr(PageSet, "reserve", hasty)


def a_put_waits_for_the_space_that_is_being_set_aside():
    """The background is in its sync when the last page is used."""
    engine = SmallEngine(FaultyDisk(), replace(TINY, expansion=16))
    space, page_set, latch = engine.data.space, engine.queue.page_set, engine.recovery.latch
    syncing, go_on, sync, pages = threading.Event(), threading.Event(), page_set.file.sync, page_set.pages

    def slow():
        syncing.set()
        go_on.wait(10)
        sync()

    unit = engine.begin()
    engine.put(unit, message(0))
    page_set.file.sync = slow
    background = threading.Thread(target=space.grow_step)
    latch.release()
    background.start()
    assert syncing.wait(10)
    latch.acquire()
    for n in range(len(space.at_hand(page_set)[0])):
        engine.put(unit, message(n))
    durable = []
    threading.Timer(0.1, lambda: (durable.append(page_set.pages), go_on.set())).start()
    engine.put(unit, message(99))
    assert [pages] == durable
    assert pages < page_set.pages <= len(engine.disk.files["pageset-01"].durable) // PAGE
    background.join(10)


def with_a_log_that_waits_until_it_is_full(patch):
    """J6, J14: when the next active log cannot be made ready, a quarter of the current one is left for ending units."""
    switch = LogManager._switch

    def patient(self):
        switch(self)
        if self.short_at:
            self._copied_at = self.files.start + self.files.size

    patch.setattr(LogManager, "_switch", patient)


def units_are_ended_in_what_is_left_of_the_log():
    """Steps are to free the next active log, and nobody takes them; nor is there space for a copy."""
    world = World(FaultyDisk(), replace(TINY, buffer_pools={0: 16, 1: 400}))
    world.unit(puts=[message(1)])
    engine = world.engine
    engine.recovery.in_steps, engine.log.files.offload = True, no_space
    unit = engine.begin()
    with pytest.raises(MQError, match="2056"):
        put_many(engine, unit)
    assert engine.log.files.start + engine.log.files.size - engine.log.end > engine.log.files.size // 5
    engine.back_out(unit)
    assert [message(1)] == engine.bodies() == SmallEngine(engine.disk.after_power_cut(), TINY).bodies()


def put_many(engine, unit):
    for n in range(200):
        engine.put(unit, message(n, 3500))


def no_space(_number):
    raise OSError(errno.ENOSPC, "no space")


def with_commits_that_leave_all_to_the_background(patch):
    """CP6, J14: a log that is short is freed by whoever commits."""
    patch.setattr(LogManager, "is_short", False)


def a_log_that_is_short_is_freed_by_a_commit():
    """Three active logs, and nobody runs steps."""
    engine = SmallEngine(FaultyDisk(), replace(TINY, logload=10**6))
    engine.recovery.in_steps = True
    for n in range(200):
        unit = engine.begin()
        engine.put(unit, message(n, 3000))
        engine.get(unit)
        engine.commit(unit)
    assert 0 == engine.log.files.archives_made


ALONE = [
    (with_space_that_counts_before_it_is_durable, a_put_waits_for_the_space_that_is_being_set_aside),
    (with_a_log_that_waits_until_it_is_full, units_are_ended_in_what_is_left_of_the_log),
    (with_commits_that_leave_all_to_the_background, a_log_that_is_short_is_freed_by_a_commit),
    (without_undoing, a_backed_out_put_is_gone_from_its_page),
    (without_the_second_copy, the_second_copy_is_enough),
    (without_hardened_backouts, a_hardened_backout_is_counted),
    (with_waiters_woken_early, a_force_returns_when_its_record_is_durable),
]


@pytest.mark.parametrize("proof", [proof for _, proof in ALONE], ids=lambda x: x.__name__)
def test_a_proof_of_its_own_holds(proof):
    proof()


@pytest.mark.parametrize(("remove", "proof"), ALONE, ids=lambda x: x.__name__)
def test_a_proof_of_its_own_fails_without_its_rule(remove, proof, monkeypatch):
    remove(monkeypatch)
    with pytest.raises((AssertionError, Abend)):
        proof()
