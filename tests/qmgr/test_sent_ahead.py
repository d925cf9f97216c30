"""One application alone: the disk begins before the call has done its work (V13, J17, CM8)."""

import asyncio
from dataclasses import replace
from threading import Event, Thread

import pytest

import quaestor
from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.log import LogManager
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.storage.log_files import LogFiles
from quaestor.storage.log_record import Kind
from quaestor.testing import SMALL, FaultyDisk, FaultyFile, SmallEngine

PERSISTENT, NOW, GET_NOW = MQMD(persistence=1), PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT


# --- the log (J17) ----------------------------------------------------------------------------------------------------


def a_log(disk, **files):
    log = LogManager(LogFiles.create(disk, log_bytes=256 << 10, **files))
    log.resume(log.end, log.end, 0)
    log.ready = True
    return log


def note(log, text):
    return log.append(Kind.FILLER, 0, 0, 0, 0, 0, text)


def found(disk):
    """The records that a restart reads."""
    log = LogManager(LogFiles.open(disk.after_power_cut(seed=3)))
    return [record.body for record in log.scan(4096)]


@pytest.fixture
def disk():
    return FaultyDisk()


def test_what_is_sent_is_written_once_and_durable_when_it_is_forced(disk):
    log = a_log(disk)
    rba = note(log, b"one")
    before = disk.operations
    assert log.send()
    assert before + 1 == disk.operations
    assert log.hardened <= rba
    log.force_sent(rba)
    assert before + 2 == disk.operations
    assert rba < log.hardened
    assert [b"one"] == found(disk)


def test_it_counts_as_the_force_that_it_is(disk):
    """J7, J17: the same figures as of a force that nobody sent ahead, times apart."""

    def counted(ahead):
        log = a_log(FaultyDisk())
        for number in range(40):
            rba = note(log, b"%d" % number * 300)
            if ahead:
                assert log.send()
            log.force_sent(rba)
        stats = log.stats
        return [
            (name, getattr(stats, name))
            for name in ("writes_nowait", "buffers_filled", "logger_calls", "log_ios", "cis_written", "serial_rewrites",
                         "suspensions", "bsds_accesses")
        ]  # fmt: skip

    assert counted(ahead=False) == counted(ahead=True)


def test_who_wants_more_than_was_sent_gets_it(disk):
    """J17: a record behind what was sent is not confirmed by it."""
    log = a_log(disk)
    note(log, b"one")
    assert log.send()
    two = note(log, b"two")
    log.force_sent(two)
    assert two < log.hardened
    assert [b"one", b"two"] == found(disk)


def test_a_record_behind_what_was_sent_is_left_for_the_next_force(disk):
    log = a_log(disk)
    one = note(log, b"one")
    assert log.send()
    two = note(log, b"two")
    log.force_sent(one)
    assert one < log.hardened <= two
    log.force_sent(two)
    assert [b"one", b"two"] == found(disk)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_was_sent_never_goes_over_what_came_later(asynchronous):
    """K1, J17: it stands in the system's cache, so a threshold write and a force behind it go there too."""
    disk = FaultyDisk()
    disk.asynchronous = asynchronous
    log = a_log(disk)
    log.wrthrsh = 2
    one = note(log, b"one")
    assert log.send()
    texts = [b"%d" % number * 4000 for number in range(5)]
    rest = [note(log, text) for text in texts]
    assert log._flight is None
    log.force_sent(one)
    assert one < log.hardened
    log.force_sent(rest[-1])
    assert rest[-1] < log.hardened
    assert [b"one", *texts] == found(disk)


class TakenFirst:
    """The lock of the data sets, which another takes just before us, to begin a force."""

    def __init__(self, log, rba):
        self._log, self._rba, self._lock = log, rba, log._io

    def acquire(self, *given):
        self._log._io = self._lock
        assert self._log.start_force(self._rba)
        return self._lock.acquire(*given)


def test_what_another_has_begun_to_write_is_not_sent_over_it(disk):
    """K9: of two writes of a CI that are under way at once the older may come last."""
    log = a_log(disk)
    rba = note(log, b"one")
    disk.held = True
    log._io = TakenFirst(log, rba)
    assert not log.send()
    log.force_sent(rba)
    assert [b"one"] == found(disk)


def test_nothing_is_sent_twice(disk):
    log = a_log(disk)
    note(log, b"one")
    assert log.send()
    before = disk.operations
    assert log.send()
    assert before == disk.operations


def test_nothing_is_sent_where_all_is_written(disk):
    """At the end of a page it would be nothing at all, and the system refuses to be told of that."""
    log = a_log(disk)
    log.force(note(log, b"as when the log was switched within a unit"))
    before = disk.operations
    assert not log.send()
    assert before == disk.operations


def test_nothing_is_sent_to_one_of_two_copies(disk):
    """AL1: both are written by the force."""
    log = a_log(disk, dual=True)
    rba, before = note(log, b"one"), disk.operations
    assert not log.send()
    assert before == disk.operations
    log.force_sent(rba)
    assert [b"one"] == found(disk)


@pytest.mark.parametrize("busy", ["_io", "_sent", "_synced"])
def test_nothing_is_sent_while_there_is_more_to_do(disk, busy):
    """Somebody writes, a write is in flight, something volatile stands before."""
    log = a_log(disk)
    note(log, b"one")
    if busy == "_io":
        log._io.acquire()
    else:
        setattr(log, busy, getattr(log, busy) - 1)
    before = disk.operations
    assert not log.send()
    assert before == disk.operations


def test_a_disk_that_refuses_what_is_sent_ends_the_log(disk):
    """J5: the force says so, not the hint."""
    log = a_log(disk)
    rba = note(log, b"one")
    disk.fail_at[disk.operations + 1] = 5
    assert not log.send()
    assert not log.send()
    with pytest.raises(Abend, match="could not be written"):
        log.force_sent(rba)


def test_the_next_data_set_is_sent_to_when_the_log_has_gone_on_in_it(disk):
    """F4: what is sent goes where the log is now."""
    log = a_log(disk)
    bodies = [b"%03d" % number * 1000 for number in range(150)]
    for body in bodies:
        rba = note(log, body)
        log.send()
        log.force_sent(rba)
        if log.switched:
            log.switched = False
            log._make_ready()
    assert log.files.start > 4096
    assert bodies[-50:] == found(disk)[-50:]


def test_notes_are_reckoned_up_while_the_disk_writes(disk):
    """LM3: not by whoever comes back from a force."""
    log = a_log(disk)
    for number in range(200):
        rba = note(log, b"%d" % number)
        log.send()
        log.force_sent(rba)
        assert len(log._notes) <= 66
    assert 200 == log.stats.logger_calls


# --- recovery (V13) ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("log_space", ["least", "mp16"])
def test_a_commit_alone_leaves_the_same_log_and_pages(log_space):
    """V13: byte by byte, whichever way, but for what is durable a record earlier."""

    def played(*, single):
        engine = SmallEngine(FaultyDisk(), replace(SMALL, log_space=log_space))
        engine.recovery.alone = engine.recovery.single = single
        for number in range(12):
            unit = engine.begin()
            unit.alone = number % 3 == 0
            engine.put(unit, b"%d" % number * 200)
            engine.commit(unit)
            if number % 4 == 3:
                unit = engine.begin()
                unit.alone = number % 8 == 3
                engine.get(unit)
                engine.commit(unit)
        engine.log.force(engine.log.end - 1)
        return engine.bodies(), {name: bytes(image.durable) for name, image in engine.disk.files.items()}

    assert played(single=False) == played(single=True)


class SlowSync:
    """A disk whose syncs of what was sent wait until they may go on."""

    def __init__(self, monkeypatch):
        self.reached, self.go_on = Event(), Event()
        real = FaultyFile.sync_written

        def wait(file):
            self.reached.set()
            assert self.go_on.wait(10)
            real(file)

        monkeypatch.setattr(FaultyFile, "sync_written", wait)


def a_queue_manager(disk=None):
    manager = QueueManager("QM1", disk or FaultyDisk(), FakeClock(), SMALL)
    manager.start()
    app = manager.connect("ONE", "one")
    app.define(LocalQueue("Q", def_persistent=True, share=True, def_exclusive=False))
    return manager, app


@pytest.mark.plain
@pytest.mark.parametrize("out_of_syncpoint", [False, True])
def test_nobody_sees_a_message_before_it_is_durable(out_of_syncpoint, monkeypatch):
    """V13, V2: it is on its queue while the disk writes, and who comes meanwhile waits for the latch."""
    manager, app = a_queue_manager()
    queue = app.open("Q")
    queue.put(b"first", PERSISTENT, NOW)  # pages are at hand now
    queue.get(GET_NOW)
    slow = SlowSync(monkeypatch)

    def put():
        queue.put(b"order", PERSISTENT, NOW if out_of_syncpoint else PutOptions.NONE)
        app.commit()

    def browse():
        other = manager.connect("TWO", "two")
        seen.append(other.open("Q", OpenOptions.BROWSE).browse().body)

    seen = []
    threads = [Thread(target=put), Thread(target=browse)]
    threads[0].start()
    assert slow.reached.wait(10)
    threads[1].start()
    threads[1].join(0.2)
    assert [] == seen
    slow.go_on.set()
    for thread in threads:
        thread.join(10)
    assert [b"order"] == seen
    manager.stop()


@pytest.mark.plain
def test_that_has_teeth(monkeypatch):
    """Without the latch, the same browse sees what is not durable."""

    def without_the_latch(self, rba):
        self.latch.release()
        try:
            self.log.force_sent(rba)
        finally:
            self.latch.acquire()

    monkeypatch.setattr(RecoveryManager, "_force_latched", without_the_latch)
    manager, app = a_queue_manager()
    queue, slow, seen = app.open("Q"), SlowSync(monkeypatch), []
    queue.put(b"order", PERSISTENT)
    committing = Thread(target=app.commit)
    committing.start()
    assert slow.reached.wait(10)
    seen.append(manager.connect("TWO", "two").open("Q", OpenOptions.BROWSE).browse().body)
    assert [b"order"] == seen
    slow.go_on.set()
    committing.join(10)
    manager.stop()


@pytest.mark.plain
def test_an_error_of_the_sync_ends_the_queue_manager_and_confirms_nothing(monkeypatch):
    """J5, HA5: what the managers were told is seen by nobody."""
    manager, app = a_queue_manager()
    queue = app.open("Q")
    queue.put(b"order", PERSISTENT)

    def fail(file):
        raise OSError(5, "no")

    monkeypatch.setattr(FaultyFile, "sync_written", fail)
    with pytest.raises(MQError) as error:
        app.commit()
    assert Reason.CONNECTION_BROKEN is error.value.reason
    with pytest.raises(MQError) as error:
        manager.connect("TWO", "two")
    assert Reason.Q_MGR_NOT_AVAILABLE is error.value.reason


@pytest.mark.plain
def test_an_interrupted_wait_for_the_disk_ends_the_queue_manager_for_who_comes(monkeypatch):
    """J5, HA5: who waits for the latch meanwhile is told, and a restart decides by the log."""
    disk = FaultyDisk()
    manager, app = a_queue_manager(disk)
    queue = app.open("Q")
    queue.put(b"kept", PERSISTENT, NOW)
    reached, go_on, ends = Event(), Event(), []

    def interrupted(file):
        reached.set()
        assert go_on.wait(10)
        raise KeyboardInterrupt

    def end_of(call):
        try:
            call()
        except KeyboardInterrupt as error:
            ends.append(type(error))
        except MQError as error:
            ends.append(error.reason)

    monkeypatch.setattr(FaultyFile, "sync_written", interrupted)
    putting = Thread(target=end_of, args=[lambda: queue.put(b"perhaps", PERSISTENT, NOW)])
    putting.start()
    assert reached.wait(10)
    coming = Thread(target=end_of, args=[lambda: manager.connect("TWO", "two")])
    coming.start()
    coming.join(0.05)
    go_on.set()
    for thread in (putting, coming):
        thread.join(10)
    assert {KeyboardInterrupt, Reason.Q_MGR_NOT_AVAILABLE} == set(ends)
    assert 0 == manager.connections.connections
    manager.stop()
    monkeypatch.undo()
    again = QueueManager("QM1", disk.after_power_cut(), FakeClock(), SMALL)
    again.start()
    assert b"kept" == again.connect("ONE", "one").open("Q").get(GET_NOW).body
    again.stop()


@pytest.mark.plain
def test_a_unit_that_is_accounted_for_has_its_force_in_its_figures(monkeypatch):
    """V13: bytes and records of the log, and how often it waited for it, are those of the way with company."""

    def accounted(*, company):
        manager, app = a_queue_manager()
        _other = manager.connect("TWO", "two") if company else None
        manager.statistics.start("ACCTG", {3})
        queue = app.open("Q")
        for number in range(5):
            queue.put(b"%d" % number * 100, PERSISTENT)
            app.commit()
            queue.get(GET_NOW)
        assert manager.engine.recovery.single is not company
        task = app.task
        (tally,) = task.queues.values()
        figures = task.logged.octets, task.logged.records, task.commit.forces, tally.get.forces, tally.put.forces
        manager.stop()
        return figures

    alone = accounted(company=False)
    assert alone == accounted(company=True)
    assert (15, 5, 5, 0) == alone[1:]


# --- who is alone (CM8) -----------------------------------------------------------------------------------------------


def test_one_application_is_alone_until_another_comes_and_when_it_has_gone():
    manager, _one = a_queue_manager()
    recovery = manager.engine.recovery
    assert recovery.single
    two = manager.connect("TWO", "two")
    assert not recovery.single
    three = manager.connect("THREE", "three")
    two.disconnect()
    assert not recovery.single
    three.disconnect()
    assert recovery.single
    lost = manager.connect("LOST", "lost")
    assert not recovery.single
    del lost
    manager.connections.reap()
    assert recovery.single
    manager.stop()


def test_the_only_client_of_a_server_is_alone_beside_the_command_server():
    manager, one = a_queue_manager()
    recovery, _commands = manager.engine.recovery, manager.command_server()
    assert (True, True) == (recovery.alone, recovery.single)
    served = manager.connections.connect("CLIENT", "client", recovery=recovery)
    assert (False, False) == (recovery.alone, recovery.single)
    one.disconnect()
    assert (True, False) == (recovery.alone, recovery.single)
    served.disconnect()
    assert (False, False) == (recovery.alone, recovery.single)
    manager.stop()


@pytest.mark.plain
def test_a_client_has_the_express_way_while_it_is_alone(monkeypatch):
    """X5: with company its commits are collected, and there is a unit to collect."""
    (manager, one), units = a_queue_manager(), []
    recovery = manager.engine.recovery
    real = recovery.start_commit
    monkeypatch.setattr(recovery, "start_commit", lambda unit: units.append(unit) or real(unit))
    served = manager.connections.connect("CLIENT", "client", recovery=recovery)
    with served.open("Q", OpenOptions.OUTPUT) as queue:
        queue.put(b"with company", PERSISTENT, NOW)
        assert 1 == len(units)
        one.disconnect()
        queue.put(b"alone", PERSISTENT, NOW)
        assert 1 == len(units)
    manager.stop()


def test_tasks_of_asyncio_hold_up_nobody(tmp_path):
    """AS4: the latch is given up while a thread waits for the log."""

    async def application():
        async with await quaestor.connect_async("QM1", tmp_path) as app:
            return app._connection._recovery.single or app._connection._recovery.alone

    assert not asyncio.run(application())


def test_it_stays_so_when_an_application_of_asyncio_is_left_alone(tmp_path):
    async def application():
        async with await quaestor.connect_async("QM1", tmp_path) as app:
            other = await asyncio.to_thread(quaestor.connect, "QM1", tmp_path)
            await asyncio.to_thread(other.disconnect)
            return app._connection._recovery.single or app._connection._recovery.alone

    assert not asyncio.run(application())


# --- who is alone (CM8) -----------------------------------------------------------------------------------------------


class Connections(dict):
    """Who is connected; while somebody looks at that for the first time, another connects."""

    def __init__(self, other):
        super().__init__()
        self._other, self._looked = other, False

    def __iter__(self):
        found = list(super().__iter__())
        if not self._looked:
            self._looked = True
            self._other.start()
            self._other.join(0.1)
        return iter(found)


def test_of_two_who_connect_at_once_neither_is_taken_to_be_alone():
    """Or each would keep the latch from the other while it waits for the log, as long as both are there."""
    (manager, app), kept = a_queue_manager(), []
    app.disconnect()
    other = Thread(target=lambda: kept.append(manager.connect("TWO")), daemon=True)
    manager.connections._connections = Connections(other)
    kept.append(manager.connect("ONE"))
    other.join(5)
    assert (2, False) == (len(kept), manager.engine.recovery.single)
    manager.stop()
