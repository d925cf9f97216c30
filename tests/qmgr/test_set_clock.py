"""The time of day is set while the queue manager runs: what happens every so often goes on doing so."""

import pytest

from model.answers import bodies, drain, fails
from qmgr.small import EVERYTHING, SetClock, page_queue_manager
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import ModelQueue, Process, QueueManagerAttributes, TriggerType
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.mqi.reasons import Reason

NOW = PutOptions.NO_SYNCPOINT
HOURS = pytest.mark.parametrize("hours", [-25, -1, 1, 25])


@pytest.fixture
def clock():
    return SetClock()


@pytest.fixture
def qm(clock):
    return page_queue_manager(clock=clock)


@HOURS
def test_what_has_expired_is_looked_for_as_often_as_before(qm, clock, hours):
    app, orders = qm.connect(), qm.connect().open(qm.queue("ORDERS"), EVERYTHING)
    app.alter(QueueManagerAttributes, expiry_interval_s=60)
    qm.scan()
    clock.set(hours=hours)
    orders.put("old", MQMD(expiry=10), NOW)
    for seconds, left in ((59, 1), (1, 0)):
        clock.advance(seconds=seconds)
        qm.scan()
        assert left == orders.inquire("CURDEPTH")["CURDEPTH"]


@HOURS
def test_the_trigger_interval_is_as_long_as_before(qm, clock, hours):
    app = qm.connect()
    app.alter(QueueManagerAttributes, trigger_interval_ms=5000)
    app.define(Process("RUN", appl_id="serve"))
    monitor = app.open(qm.queue("INIT"), EVERYTHING)
    qm.queue("WORK", trigger=True, trigger_type=TriggerType.FIRST, process="RUN", initiation_queue="INIT")
    told = []
    for seconds in (0, 4, 1):
        clock.advance(seconds=seconds)
        app.put1("WORK", "x", None, NOW)
        told.append(len(drain(monitor)))
        clock.set(hours=hours)
    assert [1, 0, 1] == told


@HOURS
def test_a_get_waits_as_long_as_it_was_told(qm, clock, hours, monkeypatch):
    """And a message keeps its place and its expiry, which is a time of day."""
    asked = []

    class Gate:
        def acquire(self, timeout=None):
            if timeout is not None:
                asked.append(timeout)
                clock.set(hours=hours)
                clock.advance(seconds=timeout)
            return False

        def release(self):
            pass

    orders = qm.connect().open(qm.queue("ORDERS"), EVERYTHING)
    monkeypatch.setattr("quaestor.qmgr.connection.waiting_handle.allocate_lock", Gate)
    with fails(Reason.NO_MSG_AVAILABLE):
        orders.get(GetOptions.NO_SYNCPOINT, wait_ms=3000)
    assert [3.0] == asked
    for body in "ab":
        orders.put(body, MQMD(persistence=1), NOW)
        clock.set(hours=hours)
    assert ["a", "b"] == bodies(drain(orders))


def test_dynamic_queues_of_the_same_time_have_names_of_their_own(qm, clock):
    app = qm.connect()
    app.define(ModelQueue("MODEL"))
    names = set()
    for _ in range(20):
        names.add(app.open("MODEL").name)
        clock.set(hours=-1)
        clock.advance(hours=1)
    assert 20 == len(names)
