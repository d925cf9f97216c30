"""A connection is ended from outside while its application makes a call (CM5): backed out is backed out."""

from _thread import allocate_lock

import pytest

from qmgr.moments import At
from qmgr.small import EVERYTHING, page_queue_manager
from qmgr.test_interrupts import CALLS, KEPT, NOW
from quaestor.mqi.objects import ModelQueue
from quaestor.mqi.options import OpenOptions
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.connection import Handle
from quaestor.qmgr.recovery import checkpointing
from quaestor.testing import FaultyDisk

OWN = OpenOptions.INPUT_EXCLUSIVE | OpenOptions.OUTPUT
GONE = {Reason.CONNECTION_BROKEN, Reason.HCONN_ERROR}
MADE = CALLS | {
    "get and commit": lambda orders, app: (orders.get(), app.commit()),
    "put and disconnect": lambda orders, app: (orders.put("x", KEPT), app.disconnect()),
}


class SeenLatch:
    """A latch that a profile sees being waited for."""

    def __init__(self):
        latch = allocate_lock()
        self.release, self.locked, self._acquire = latch.release, latch.locked, latch.acquire

    def acquire(self, *how):
        return self._acquire(*how)

    def __enter__(self):
        self._acquire()

    def __exit__(self, *_):
        self.release()


def at(qm, moment, act):
    """Somebody else acts, who ends or makes connections."""
    return At(qm.manager.engine.recovery.latch, moment, act, but="_count")


def ended_at(qm, thread, moment):
    """He ends a connection."""
    return at(qm, moment, lambda: qm.connections.end(thread))


@pytest.fixture
def qm(monkeypatch):
    monkeypatch.setattr(checkpointing, "allocate_lock", SeenLatch)
    qm = page_queue_manager(disk=FaultyDisk())
    qm.queue("ORDERS", max_depth=1_000_000)
    return qm


@pytest.mark.plain
@pytest.mark.parametrize("accounted", [False, True], ids=["plain", "accounted"])
@pytest.mark.parametrize("named", MADE)
def test_a_connection_that_is_ended_leaves_nothing_whatever_it_does(qm, named, accounted):
    recovery, state = qm.manager.engine.recovery, qm.messages.catalogue.state("ORDERS")
    _company = qm.connect()
    if accounted:
        qm.manager.statistics.start("ACCTG", (3,))
    ended, moment = True, 0
    while ended:
        moment += 1
        app = qm.connect()
        orders = app.open("ORDERS", EVERYTHING)
        orders.put("first", KEPT, NOW)
        reason, ended = ended_at(qm, app.thread, moment).during(lambda a=app, o=orders: MADE[named](o, a))
        assert reason in {None, Reason.NO_MSG_AVAILABLE, Reason.CONNECTION_BROKEN}, moment
        app.abandon()
        for xid in _company.in_doubt():
            _company.backout_prepared(xid)
        assert (0, 0, 1) == (len(recovery.units), state.handles, qm.connections.connections), moment
    assert moment > 3


@pytest.mark.plain
@pytest.mark.parametrize("ends", ["commit", "disconnect"])
def test_a_commit_that_comes_after_the_end_is_not_answered(qm, ends):
    """Its unit has been backed out while it waited for the latch."""
    ended, moment, answered = True, 0, 0
    while ended:
        moment += 1
        app = qm.connect()
        orders = app.open("ORDERS", EVERYTHING)
        orders.put("x", KEPT)
        reason, ended = ended_at(qm, app.thread, moment).during(getattr(app, ends))
        answered += reason is None
        app.abandon()
        with qm.connect() as other, other.open("ORDERS", EVERYTHING) as left:
            assert answered == left.inquire("CURDEPTH")["CURDEPTH"], moment
    assert moment > 3


@pytest.mark.plain
def test_a_handle_that_is_closed_just_now_holds_up_no_failure(qm, monkeypatch):
    """What closes it lets go of it without the latch."""
    app, other = qm.connect(), qm.connect()
    handles = [app.open("ORDERS", EVERYTHING) for _ in range(3)]
    forget = Handle.forget

    def closed_meanwhile(handle):
        app.forget(handles[0])
        return forget(handle)

    monkeypatch.setattr(Handle, "forget", closed_meanwhile)
    with qm.manager.engine.recovery.latch:
        qm.connections.failed(Abend("J5", "for a test"))
    for lost in (app, other):
        with pytest.raises(MQError, match="2009"):
            lost.commit()


@pytest.mark.plain
@pytest.mark.parametrize("ends", ["disconnect", "abandon"])
def test_a_call_that_is_made_while_the_connection_ends_leaves_nothing(qm, ends):
    """SE8: by another task, while the log is waited for."""
    with qm.connect() as app:
        app.define(ModelQueue("MODEL"))
    _company = qm.connect()
    acted, moment, told = True, 0, set()
    while acted:
        moment += 1
        app = qm.connect()
        orders, own = app.open("ORDERS", EVERYTHING), app.open("MODEL", OWN)
        orders.put("x", KEPT)
        own.put("y")

        def put(orders=orders, own=own):
            for queue, descriptor in ((orders, KEPT), (own, None)):
                try:
                    queue.put("z", descriptor)
                except MQError as error:
                    told.add(error.reason)

        _, acted = at(qm, moment, put).during(getattr(app, ends))
        state = qm.messages.catalogue.state("ORDERS")
        assert (0, 0, 1) == (len(qm.manager.engine.recovery.units), state.handles, qm.connections.connections), moment
    assert moment > 3
    assert told <= GONE
