"""Performance events: depth high, low and full, service interval high and OK; start and stop of the queue manager."""

import pytest

from qmgr.small import page_queue_manager
from quaestor.mqi.objects import ModelQueue, QueueManagerAttributes
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.mqi.pcf import EVENT, unpack
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.message import events
from quaestor.qmgr.message.events import PERFORMANCE_QUEUE, QUEUE_MANAGER_QUEUE

SHARED = {"share": True, "def_exclusive": False}
NOW = PutOptions.NO_SYNCPOINT


@pytest.fixture
def qm():
    made = page_queue_manager()
    made.queue(PERFORMANCE_QUEUE)
    with made.connect() as app:
        app.alter(QueueManagerAttributes, performance_event=True)
    return made


def told(app):
    """Every event that is there, as (reason, queue, highest depth, put, got)."""
    found = []
    while True:
        try:
            message = app.get(PERFORMANCE_QUEUE, GetOptions.NO_SYNCPOINT)
        except MQError:
            return found
        assert "MQEVENT" == message.envelope.format
        event = unpack(message.body)
        assert (EVENT, events.PERFM_EVENT, 1) == (event.kind, event.command, event.comp_code)
        assert "QM1" == event.value(events.Q_MGR_NAME)
        figures = (events.HIGH_Q_DEPTH, events.MSG_ENQ_COUNT, events.MSG_DEQ_COUNT)
        found.append((event.reason, event.value(events.BASE_OBJECT_NAME), *(event.value(n) for n in figures)))


def test_depth_high_then_low_then_high_again(qm):
    qm.queue("ORDERS", max_depth=10, depth_high_percent=50, depth_low_percent=20, depth_high_event=True)
    app = qm.connect()
    orders = app.open("ORDERS")
    for _ in range(4):
        orders.put(b"x", None, NOW)
    assert [] == told(app)
    for _ in range(3):
        orders.put(b"x", None, NOW)
    assert [(events.DEPTH_HIGH, "ORDERS", 5, 5, 0)] == told(app)
    for _ in range(6):
        orders.get(GetOptions.NO_SYNCPOINT)
    assert [(events.DEPTH_LOW, "ORDERS", 7, 2, 5)] == told(app)
    for _ in range(4):
        orders.put(b"x", None, NOW)
    assert [events.DEPTH_HIGH] == [event[0] for event in told(app)]


def test_names_have_their_whole_length(qm):
    """EV4: programs that lay a structure of MQ's own over the message find every field in its place."""
    qm.queue("ORDERS", max_depth=2, depth_high_percent=50, depth_high_event=True)
    app = qm.connect()
    app.put("ORDERS", b"x", None, NOW)
    body = app.get(PERFORMANCE_QUEUE, GetOptions.NO_SYNCPOINT).body
    for name in (b"QM1", b"ORDERS"):
        at = body.index(name)
        assert (48).to_bytes(4, "big") + name.ljust(48) == body[at - 4 : at + 48]


def test_full_is_told_once_until_the_depth_was_low(qm):
    qm.queue("ORDERS", max_depth=3, depth_low_percent=40)
    app = qm.connect()
    orders = app.open("ORDERS")
    for _ in range(3):
        orders.put(b"x", None, NOW)
    for _ in range(2):
        with pytest.raises(MQError) as full:
            orders.put(b"x", None, NOW)
        assert full.value.reason is Reason.Q_FULL
    assert [events.FULL] == [event[0] for event in told(app)]
    for _ in range(3):
        orders.get(GetOptions.NO_SYNCPOINT)
    assert [events.DEPTH_LOW] == [event[0] for event in told(app)]


def test_service_interval_high_and_ok_take_turns(qm):
    qm.queue("ORDERS", service_interval_ms=1000, service_interval_event=1, depth_max_event=False)
    app = qm.connect()
    orders = app.open("ORDERS")
    for _ in range(4):
        orders.put(b"x", None, NOW)
    qm.clock.advance(milliseconds=1500)
    orders.put(b"x", None, NOW)
    orders.put(b"x", None, NOW)
    assert [events.SERVICE_HIGH] == [event[0] for event in told(app)]
    orders.get(GetOptions.NO_SYNCPOINT)
    assert [] == told(app)
    qm.clock.advance(milliseconds=500)
    orders.get(GetOptions.NO_SYNCPOINT)
    assert [events.SERVICE_OK] == [event[0] for event in told(app)]


def test_nothing_is_told_unless_the_queue_manager_wants_it(qm):
    with qm.connect() as app:
        app.alter(QueueManagerAttributes, performance_event=False)
    qm.queue("ORDERS", max_depth=2, depth_high_percent=50, depth_high_event=True)
    app = qm.connect()
    app.put("ORDERS", b"x", None, NOW)
    assert [] == told(app)


def test_an_event_without_a_queue_for_it_is_lost_and_nobody_fails():
    qm = page_queue_manager()
    with qm.connect() as app:
        app.alter(QueueManagerAttributes, performance_event=True)
    qm.queue("ORDERS", max_depth=2, depth_high_percent=50, depth_high_event=True)
    app = qm.connect()
    app.put("ORDERS", b"x", None, NOW)
    assert 1 == qm.messages.consequences.given_up


def test_a_queue_that_is_no_more_is_watched_no_more():
    """EV8: each dynamic queue has a name of its own; who has one still open is told that it is gone."""
    qm = page_queue_manager()
    app, other = qm.connect(), qm.connect("BOB")
    app.alter(QueueManagerAttributes, monitoring=17)
    app.define(ModelQueue("REPLIES", monitoring=17))
    for _ in range(5):
        replies = app.open("REPLIES")
        second = other.open(replies.name, 16)
        second.put("x", None, PutOptions.NO_SYNCPOINT)
        replies.get(GetOptions.NO_SYNCPOINT)
        replies.close()
        with pytest.raises(MQError, match="2052"):
            second.put("x")
        qm.clock.advance(seconds=1)
    assert {} == qm.messages.events._watched


def test_start_and_stop_are_told_over_a_restart():
    qm = page_queue_manager()
    qm.queue(QUEUE_MANAGER_QUEUE)
    qm.manager.stop()
    again = page_queue_manager(disk=qm.manager._disk, clock=qm.clock)
    app = again.connect()
    queue = app.open(QUEUE_MANAGER_QUEUE)
    reasons = [unpack(queue.get().body).reason for _ in range(2)]
    assert [events.Q_MGR_NOT_ACTIVE, events.Q_MGR_ACTIVE] == reasons
