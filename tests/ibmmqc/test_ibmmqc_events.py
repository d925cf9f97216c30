"""Event handlers: functions that are told what becomes of a connection (EV1-EV3)."""

import threading

import pytest
from programs_of_ibm import reason_of

from quaestor import embedded

mq = pytest.importorskip("ibmmq", reason="IBM's package is not installed")
CMQC = mq.CMQC
QUIET_S = 0.5


class Told:
    """What a function is told, and by which handle."""

    def __init__(self):
        self.calls, self.once = [], threading.Event()

    def __call__(self, cbc, msg, queue, **_):
        self.calls.append((cbc.CallType, cbc.Reason, cbc.Hobj, msg, queue))
        self.once.set()


def handler(told, **more):
    return mq.CBD(CallbackType=CMQC.MQCBT_EVENT_HANDLER, CallbackFunction=told, **more)


def event(reason):
    return (CMQC.MQCBCT_EVENT_CALL, reason, CMQC.MQHO_NONE, None, None)


@pytest.fixture
def manager(qmgr, tmp_path):
    """The queue manager itself, which is in this process."""
    yield embedded._RUNNING._managers[(tmp_path / "QM1").resolve()]
    embedded._RUNNING._managers.pop((tmp_path / "QM1").resolve()).stop()


def fail(manager):
    with manager.engine.recovery.latch:
        manager.connections.failed(OSError("EIO"))


def test_nothing_is_got_for_an_event_handler(qmgr, orders):
    """EV1: it was called with 2019, as one whose queue is not open."""
    told, brought = Told(), Told()
    qmgr.cb(operation=CMQC.MQOP_REGISTER, cbd=handler(told))
    orders.cb(operation=CMQC.MQOP_REGISTER, cbd=mq.CBD(CallbackFunction=brought))
    qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
    orders.put(b"a message")
    assert brought.once.wait(10)
    qmgr.ctl(CMQC.MQOP_STOP, mq.CTLO())
    qmgr.cb(operation=CMQC.MQOP_DEREGISTER, cbd=mq.CBD())
    assert [] == told.calls
    assert [b"a message"] == [msg for _, _, _, msg, _ in brought.calls]


@pytest.mark.parametrize("started", [False, True])
def test_it_is_told_that_the_connection_is_broken(qmgr, manager, started):
    """EV2: once, whether or not the connection is started."""
    told = Told()
    qmgr.cb(operation=CMQC.MQOP_REGISTER, cbd=handler(told))
    if started:
        qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
    fail(manager)
    assert told.once.wait(10)
    threading.Event().wait(QUIET_S)
    assert [event(CMQC.MQRC_CONNECTION_BROKEN)] == told.calls


def test_it_is_told_once_that_the_queue_manager_quiesces(qmgr, orders, manager):
    told, consumer = Told(), Told()
    qmgr.cb(operation=CMQC.MQOP_REGISTER, cbd=handler(told))
    asks = mq.GMO(Options=CMQC.MQGMO_FAIL_IF_QUIESCING)
    orders.cb(operation=CMQC.MQOP_REGISTER, gmo=asks, cbd=mq.CBD(CallbackFunction=consumer))
    qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
    manager.connections.quiesce()
    assert told.once.wait(10)
    threading.Event().wait(QUIET_S)
    assert [event(CMQC.MQRC_Q_MGR_QUIESCING)] == told.calls
    assert CMQC.MQRC_Q_MGR_QUIESCING == consumer.calls[0][1]


def test_what_is_of_one_consumer_it_is_not_told(qmgr, orders):
    told, consumer = Told(), Told()
    qmgr.cb(operation=CMQC.MQOP_REGISTER, cbd=handler(told))
    orders.cb(operation=CMQC.MQOP_REGISTER, cbd=mq.CBD(CallbackFunction=consumer))
    qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
    orders.set(CMQC.MQIA_INHIBIT_GET, CMQC.MQQA_GET_INHIBITED)
    assert consumer.once.wait(10)
    qmgr.ctl(CMQC.MQOP_STOP, mq.CTLO())
    assert CMQC.MQRC_GET_INHIBITED == consumer.calls[0][1]
    assert [] == told.calls


def test_what_happens_while_it_is_suspended_it_is_not_told(qmgr, manager):
    """EV3."""
    told = Told()
    qmgr.cb(operation=CMQC.MQOP_REGISTER, cbd=handler(told))
    qmgr.cb(operation=CMQC.MQOP_SUSPEND, cbd=handler(told))
    fail(manager)
    threading.Event().wait(QUIET_S)
    qmgr.cb(operation=CMQC.MQOP_RESUME, cbd=handler(told))
    threading.Event().wait(QUIET_S)
    assert [] == told.calls


def test_of_control_it_is_told_its_own_end_only(qmgr, orders):
    """EV1: START and STOP are for those who want messages."""
    told = Told()
    wants = CMQC.MQCBDO_START_CALL | CMQC.MQCBDO_STOP_CALL | CMQC.MQCBDO_DEREGISTER_CALL
    qmgr.cb(operation=CMQC.MQOP_REGISTER, cbd=handler(told, Options=wants))
    qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
    qmgr.ctl(CMQC.MQOP_STOP, mq.CTLO())
    qmgr.cb(operation=CMQC.MQOP_DEREGISTER, cbd=handler(told))
    assert [(CMQC.MQCBCT_DEREGISTER_CALL, 0, CMQC.MQHO_NONE, None, None)] == told.calls


def test_the_next_takes_the_place_of_the_one_before(qmgr, manager):
    before, told = Told(), Told()
    qmgr.cb(operation=CMQC.MQOP_REGISTER, cbd=handler(before))
    qmgr.cb(operation=CMQC.MQOP_REGISTER, cbd=handler(told))
    fail(manager)
    assert told.once.wait(10)
    assert ([], [event(CMQC.MQRC_CONNECTION_BROKEN)]) == (before.calls, told.calls)


@pytest.mark.parametrize("operation", ["DEREGISTER", "SUSPEND", "RESUME"])
def test_one_that_is_not_there(qmgr, operation):
    for cbd in (mq.CBD(), handler(Told())):
        change = getattr(CMQC, f"MQOP_{operation}")
        assert CMQC.MQRC_CALLBACK_NOT_REGISTERED == reason_of(lambda c=cbd, o=change: qmgr.cb(operation=o, cbd=c))


@pytest.mark.parametrize("kind", [0, 3, -1])
def test_a_function_of_another_kind(qmgr, orders, kind):
    for where in (qmgr, orders):
        cbd = mq.CBD(CallbackType=kind, CallbackFunction=Told())
        assert CMQC.MQRC_CALLBACK_TYPE_ERROR == reason_of(
            lambda w=where, c=cbd: w.cb(operation=CMQC.MQOP_REGISTER, cbd=c)
        )


def test_one_for_messages_needs_a_queue(qmgr):
    cbd = mq.CBD(CallbackFunction=Told())
    assert CMQC.MQRC_HOBJ_ERROR == reason_of(lambda: qmgr.cb(operation=CMQC.MQOP_REGISTER, cbd=cbd))
