"""Faults below the MQI: a full page set, a full disk, an I/O error, an interrupt. What is acknowledged is kept."""

import errno
from threading import Event, Thread

import pytest

from model.answers import bodies, drain, fails
from qmgr.small import EVERYTHING, page_queue_manager
from quaestor.clock import SystemClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue, QueueManagerAttributes
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.buffer import TornPageError
from quaestor.qmgr.resource_manager import Task
from quaestor.testing import FaultyDisk

NOW = PutOptions.NO_SYNCPOINT
KEPT = MQMD(persistence=1)


@pytest.fixture
def disk():
    return FaultyDisk()


@pytest.fixture
def qm(disk):
    qm = page_queue_manager(disk=disk)
    qm.queue("ORDERS", max_msg_length=104857600)
    return qm


def after_restart(disk):
    return bodies(drain(page_queue_manager(disk=disk.after_power_cut()).connect().open("ORDERS", EVERYTHING)))


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_the_log_cannot_be_written(disk, qm, code):
    app = qm.connect()
    orders = app.open("ORDERS", EVERYTHING)
    orders.put("acknowledged", KEPT, NOW)
    orders.put("not acknowledged", KEPT)
    disk.fail_at = dict.fromkeys(range(disk.operations + 1, disk.operations + 50), code)
    with fails(Reason.CONNECTION_BROKEN):
        app.commit()
    for call in (app.commit, lambda: orders.put("x"), orders.get, lambda: app.open("ORDERS")):
        with fails(Reason.CONNECTION_BROKEN):
            call()
    with fails(Reason.Q_MGR_NOT_AVAILABLE):
        qm.connect()
    qm.manager.stop()
    assert after_restart(disk)[:1] == ["acknowledged"]


def test_a_failure_ends_the_waits_of_others(disk, qm):
    outcome = []

    def wait():
        with pytest.raises(MQError) as caught:
            qm.connect().open("ORDERS", EVERYTHING).get(wait_ms=-1)
        outcome.append(caught.value.reason)

    app = qm.connect()
    app.put1("ORDERS", "x", KEPT)
    thread = Thread(target=wait)
    thread.start()
    while not qm.messages.catalogue.state("ORDERS").waiters:
        thread.join(0.001)
    disk.fail_at = dict.fromkeys(range(disk.operations + 1, disk.operations + 50), errno.EIO)
    with fails(Reason.CONNECTION_BROKEN):
        app.commit()
    thread.join(5)
    assert outcome in [[Reason.Q_MGR_STOPPING], [Reason.CONNECTION_BROKEN]]


def test_a_broken_invariant_stops_everything(qm):
    app = qm.connect()
    orders = app.open("ORDERS", EVERYTHING)

    def broken(*_):
        raise Abend("B3", "stole a page in use", page=7)

    orders._output._store_put = broken
    with fails(Reason.CONNECTION_BROKEN) as caught:
        orders.put("x")
    assert "B3: stole a page in use" in caught.value.facts["why"]
    with fails(Reason.CONNECTION_BROKEN):
        app.commit()


def test_a_message_on_a_page_that_is_not_whole_is_refused_and_stays(qm):
    app = qm.connect()
    orders = app.open("ORDERS", EVERYTHING)
    orders.put("x", KEPT, NOW)

    def torn(_):
        raise TornPageError(1, 17)

    read, orders._input._read = orders._input._read, torn
    with fails(Reason.PAGESET_ERROR) as caught:
        orders.get()
    assert caught.value.facts == {"page_set": 1, "page": 17}
    orders._input._read = read
    assert ["x"] == bodies(drain(orders))


def test_an_interrupt_in_the_middle_of_a_change_stops_everything(disk, qm):
    app = qm.connect()
    orders = app.open("ORDERS", EVERYTHING)
    orders.put("kept", KEPT, NOW)

    def interrupted(*_):
        raise KeyboardInterrupt

    orders._output._store_put = interrupted
    with pytest.raises(KeyboardInterrupt):
        orders.put("x")
    with fails(Reason.CONNECTION_BROKEN):
        app.commit()
    assert after_restart(disk) == ["kept"]


def stop_in(monkeypatch, log, where):
    """The next thread to come there stays until it is let go, and is interrupted then; gives the two events."""
    there, go = Event(), Event()

    def interrupted(*_):
        there.set()
        assert go.wait(5)
        raise KeyboardInterrupt

    monkeypatch.setattr(log, where, interrupted)
    return there, go


def putting(qm, ended):
    def put():
        try:
            qm.connect().put1("ORDERS", "x", KEPT, NOW)
        except KeyboardInterrupt:
            ended.append(KeyboardInterrupt)
        except MQError as error:
            ended.append(error.reason)

    return Thread(target=put, daemon=True)


def waits(log, threads):
    """Return when so many threads wait for the one that forces the log."""
    while len(log._waiting) < threads:
        Event().wait(0.001)


@pytest.mark.plain
def test_an_interrupted_force_is_waited_for_by_nobody(qm, disk, monkeypatch):
    _company = qm.connect()  # so that the latch is given up for a force (V13)
    qm.connect().put1("ORDERS", "kept", KEPT, NOW)
    log, ended = qm.manager.engine.log, []
    there, go = stop_in(monkeypatch, log, "_force_all")
    threads = [putting(qm, ended) for _ in range(3)]
    threads[0].start()
    assert there.wait(5)
    for thread in threads[1:]:
        thread.start()
    waits(log, 2)
    go.set()
    for thread in threads:
        thread.join(5)
    assert [Reason.CONNECTION_BROKEN] * 2 == [end for end in ended if end is not KeyboardInterrupt]
    assert 3 == len(ended)
    qm.manager.stop()
    assert "kept" == after_restart(disk)[0]


@pytest.mark.plain
def test_who_is_interrupted_while_he_waits_for_a_force_is_not_chosen_to_lead(qm, monkeypatch):
    _company = qm.connect()
    log, ended = qm.manager.engine.log, []
    there, go = stop_in(monkeypatch, log, "_force_all")
    leader, waiter = putting(qm, ended), putting(qm, ended)
    leader.start()
    assert there.wait(5)
    at_gate, interrupt = Event(), Event()

    class Gate:
        def acquire(self):
            at_gate.set()
            assert interrupt.wait(5)
            raise KeyboardInterrupt

        def release(self):
            pass

    monkeypatch.setattr("quaestor.qmgr.log.forcing.Waiter", lambda rba, since: _Waiter(rba, since, Gate()))
    waiter.start()
    assert at_gate.wait(5)
    monkeypatch.undo()
    last = putting(qm, ended)
    last.start()
    waits(log, 2)
    interrupt.set()
    for thread in (waiter, last):
        thread.join(5)
    go.set()
    leader.join(5)
    assert 3 == len(ended)


class _Waiter:
    leads = False

    def __init__(self, rba, since_ns, gate):
        self.rba, self.since_ns, self.gate = rba, since_ns, gate


def full(*_):
    raise MQError(Reason.Q_SPACE_NOT_AVAILABLE)


@pytest.mark.plain
@pytest.mark.parametrize("options", [PutOptions.SYNCPOINT, NOW])
def test_a_put_of_many_that_the_log_has_no_room_for_says_how_many_were_put(qm, options, monkeypatch):
    """Whoever puts the rest again, by what he was told, puts nothing twice."""
    app, log = qm.connect(), qm.manager.engine.log
    orders, every = app.open("ORDERS", EVERYTHING), [b"%04d" % number * 500 for number in range(60)]
    asked, told = 0, []
    while not told or told[-1] < len(every):
        asked += 1
        room = iter(range(asked))
        with monkeypatch.context() as patch:
            patch.setattr(log, "ready", False)
            patch.setattr(log, "check_space", lambda room=room: next(room, None) is None and full())
            try:
                told.append(len(orders.put_all(every, KEPT, options)))
            except MQError as error:
                told.append(error.facts["put"])
        app.commit()
        assert every[: told[-1]] == [each.body for each in drain(orders)]
    assert len(set(told)) > 3


@pytest.mark.plain
def test_a_marked_get_that_the_log_has_no_room_for_marks_nothing(qm, monkeypatch):
    app, other = qm.connect(), qm.connect()
    orders, marked = app.open("ORDERS", EVERYTHING), GetOptions.SYNCPOINT | GetOptions.MARK_SKIP_BACKOUT
    for body in "abc":
        orders.put(body, KEPT, NOW)
    with monkeypatch.context() as patch:
        patch.setattr(qm.manager.engine.log, "ready", False)
        patch.setattr(qm.manager.engine.log, "check_space", full)
        with fails(Reason.Q_SPACE_NOT_AVAILABLE):
            orders.get(marked)
    assert "a" == other.get("ORDERS", GetOptions.NO_SYNCPOINT).text
    assert "b" == orders.get(marked).text
    app.backout()
    app.backout()
    assert ["b", "c"] == bodies(drain(orders))


def test_an_interrupted_wait_stops_nothing(qm, monkeypatch):
    class Interrupted:
        def acquire(self, timeout=None):
            if timeout is not None:
                raise KeyboardInterrupt

        def release(self):
            pass

    monkeypatch.setattr("quaestor.qmgr.connection.waiting_handle.allocate_lock", Interrupted)
    app = qm.connect()
    orders = app.open("ORDERS", EVERYTHING)
    with pytest.raises(KeyboardInterrupt):
        orders.get(wait_ms=1000)
    orders.put("work goes on", None, NOW)
    assert orders.get(GetOptions.NO_SYNCPOINT).text == "work goes on"
    assert not qm.messages.catalogue.anybody_waits


@pytest.mark.parametrize("persistence", [0, 1])
@pytest.mark.parametrize("others", [False, True], ids=["nobody else", "another waits"])
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, TimeoutError, LookupError])
def test_a_message_that_comes_straight_to_an_interrupted_wait_is_not_lost(
    qm, disk, monkeypatch, persistence, others, interrupt
):
    """Whatever the application's own signal handler raises."""
    qm.connect().alter(LocalQueue, "ORDERS", fifo=True)
    app, putter, woken = qm.connect(), qm.connect(), []
    orders, other = app.open("ORDERS", EVERYTHING), qm.connect().open("ORDERS", EVERYTHING)

    class Interrupted:
        def acquire(self, timeout=None):
            if timeout is not None:
                putter.put1("ORDERS", "acknowledged", MQMD(persistence=persistence, priority=7), NOW)
                assert 0 == orders.inquire("CURDEPTH")["CURDEPTH"]  # it went straight to the one who waits
                if others:
                    other.on_post(other.look(GetOptions.NO_SYNCPOINT, 1000, None), lambda: woken.append("other"))
                raise interrupt

        def release(self):
            pass

    monkeypatch.setattr("quaestor.qmgr.connection.waiting_handle.allocate_lock", Interrupted)
    with pytest.raises(interrupt):
        orders.get(GetOptions.NO_SYNCPOINT, wait_ms=1000)
    assert ["other"] * others == woken
    if persistence:
        assert ["acknowledged"] == after_restart(disk)
    assert "acknowledged" == other.get(GetOptions.NO_SYNCPOINT).text


@pytest.mark.plain
@pytest.mark.parametrize("persistence", [0, 1])
def test_a_full_page_set_fails_the_put_and_leaves_the_unit_as_it_was(qm, disk, persistence, monkeypatch):
    app = qm.connect()
    orders = app.open("ORDERS", EVERYTHING)
    orders.put("before", MQMD(persistence=persistence))
    depth = orders.inquire("CURDEPTH")
    monkeypatch.setattr(qm.manager.engine.data.space, "free_pages", _full)
    monkeypatch.setattr(qm.manager.engine.data.space, "volatile_page", _full)
    with fails(Reason.STORAGE_MEDIUM_FULL):
        orders.put(bytes(20000), MQMD(persistence=persistence))
    assert orders.inquire("CURDEPTH") == depth
    app.commit()
    assert ["before"] == bodies(drain(orders))


@pytest.mark.parametrize("persistence", [0, 1])
def test_33_a_page_set_that_may_not_grow_is_2192(qm, persistence):
    """What went before stands, how much of many was put is told, and the unit ends as the application says."""
    qm.manager.engine.storage.alter_page_set(1, "NONE")
    app = qm.connect()
    orders = app.open("ORDERS", EVERYTHING)
    orders.put("before", MQMD(persistence=persistence))
    with fails(Reason.STORAGE_MEDIUM_FULL) as refused:
        orders.put_all([bytes(3000)] * 500, MQMD(persistence=persistence))
    put = refused.value.facts["put"]
    for body in (bytes(3000), bytes(300_000)):
        with fails(Reason.STORAGE_MEDIUM_FULL):
            orders.put(body, MQMD(persistence=persistence))
    assert {"CURDEPTH": 1 + put} == orders.inquire("CURDEPTH")
    app.backout()
    assert 0 < put < 500
    orders.put_all([bytes(3000)] * put, MQMD(persistence=persistence))
    app.commit()
    assert put == len(drain(orders))


def _full(*_):
    raise MQError(Reason.STORAGE_MEDIUM_FULL)


@pytest.mark.parametrize("options", ["text", None, 1.5, True])
def test_options_of_the_wrong_type_stop_nobody(qm, options):
    app = qm.connect()
    orders = app.open("ORDERS", EVERYTHING)
    for call in (
        lambda: orders.put("x", None, options),
        lambda: orders.get(options),
        lambda: app.open("ORDERS", options),
    ):
        with fails(Reason.OPTIONS_ERROR):
            call()
    orders.put("x", None, NOW)
    assert ["x"] == bodies(drain(orders))


@pytest.mark.plain
def test_a_definition_that_cannot_be_saved_leaves_nothing(qm, monkeypatch):
    app = qm.connect()
    monkeypatch.setattr(qm.messages.catalogue._store, "save", _full)
    with fails(Reason.STORAGE_MEDIUM_FULL):
        app.define(LocalQueue("NEW"))
    with fails(Reason.STORAGE_MEDIUM_FULL):
        app.alter(LocalQueue, "ORDERS", max_depth=1)
    monkeypatch.undo()
    assert "NEW" not in {stored.name for stored in qm.messages.catalogue._store.stored()}
    with fails(Reason.UNKNOWN_OBJECT_NAME):
        app.open("NEW")
    app.define(LocalQueue("NEW"))
    assert app.open("ORDERS", EVERYTHING).inquire("MAXDEPTH") == {"MAXDEPTH": 999_999_999}


@pytest.mark.plain
def test_a_definition_that_cannot_be_deleted_stays(qm, monkeypatch):
    app = qm.connect()
    app.put1("ORDERS", "x", KEPT, NOW)
    monkeypatch.setattr(qm.messages.catalogue._store, "discard", _full)
    with fails(Reason.STORAGE_MEDIUM_FULL):
        app.delete(LocalQueue, "ORDERS", purge=True)
    assert ["x"] == bodies(drain(app.open("ORDERS", EVERYTHING)))


@pytest.mark.plain
def test_an_object_is_changed_by_one_application_at_a_time(qm, monkeypatch):
    """The log is forced without the latch: meanwhile another application tries the same object."""
    app, _company, recovery = qm.connect(), qm.connect(), qm.manager.engine.recovery
    force, meanwhile = recovery._force, []

    def slow_force(rba):
        monkeypatch.setattr(recovery, "_force", force)
        with fails(Reason.OBJECT_IN_USE):
            qm.messages.catalogue.alter(LocalQueue, "ORDERS", max_depth=2)
        meanwhile.append(qm.messages.catalogue.find(LocalQueue, "ORDERS").max_depth)
        force(rba)

    monkeypatch.setattr(recovery, "_force", slow_force)
    app.alter(LocalQueue, "ORDERS", max_depth=1)
    assert meanwhile == [999_999_999]
    assert qm.messages.catalogue.find(LocalQueue, "ORDERS").max_depth == 1


def test_background_work_that_fails_ends_every_connection(qm):
    app = qm.connect()

    def broken():
        raise Abend("B2", "a page went before its log record")

    qm.manager.scheduler._lanes[0].tasks[0] = Task("broken", broken)
    qm.manager.scheduler.start()
    for _ in range(5000):
        if not app.connected:
            break
        Event().wait(0.001)
    with fails(Reason.CONNECTION_BROKEN):
        app.commit()
    qm.manager.stop()


def test_background_work_runs_by_itself(disk):
    qm = page_queue_manager(disk=disk, clock=SystemClock())
    qm.manager.scheduler.start()
    qm.queue("ORDERS")
    app = qm.connect()
    orders = app.open("ORDERS", EVERYTHING)
    app.alter(QueueManagerAttributes, expiry_interval_s=1)
    orders.put("x", MQMD(expiry=1, persistence=1), NOW)
    for _ in range(8000):
        if orders.inquire("CURDEPTH") == {"CURDEPTH": 0}:
            break
        Event().wait(0.001)
    assert orders.inquire("CURDEPTH") == {"CURDEPTH": 0}
    qm.manager.stop()


@pytest.mark.plain
def test_a_disconnect_that_could_not_commit_has_ended_the_connection(qm, monkeypatch):
    app = qm.connect()
    app.open("ORDERS", OpenOptions.INPUT_EXCLUSIVE | OpenOptions.OUTPUT).put("x")
    before = qm.connections.connections

    def refuse(unit):
        recovery.back_out(unit)
        raise MQError(Reason.BACKED_OUT)

    recovery = qm.messages._recovery
    with monkeypatch.context() as patched:
        patched.setattr(recovery, "commit", refuse)
        with fails(Reason.BACKED_OUT):
            app.disconnect()
    assert (False, before - 1) == (app.connected, qm.connections.connections)
    qm.connect().open("ORDERS", OpenOptions.INPUT_EXCLUSIVE)
