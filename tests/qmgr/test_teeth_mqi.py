"""Each rule here is taken away, and a scenario that needs it must notice. A test that cannot fail proves nothing."""

from contextlib import nullcontext
from threading import Thread

import pytest

from model.answers import bodies, drain
from qmgr.small import EVERYTHING, memory_queue_manager
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import AliasQueue, LocalQueue
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.message import catalogue, consequences, describing, finding, manager, put_lookup, waiting

pytestmark = pytest.mark.plain

WOKEN_WITHIN_S = 1
NOW = PutOptions.NO_SYNCPOINT


def getter(qm, **asked):
    """A thread that waits for a message; its outcome comes when it is joined."""
    handle = qm.connect().open("ORDERS", OpenOptions.INPUT_SHARED | OpenOptions.BROWSE)
    outcome = []

    def run():
        try:
            outcome.append(handle.get(**{"wait_ms": -1, "options": GetOptions.NONE} | asked).text)
        except MQError as error:
            outcome.append(error.reason)

    thread = Thread(target=run, daemon=True)
    before = len(qm.messages.catalogue.state("ORDERS").waiters)
    thread.start()
    while thread.is_alive() and len(qm.messages.catalogue.state("ORDERS").waiters) == before:
        thread.join(0.001)

    def result():
        """The outcome; None for one that nobody woke in time."""
        thread.join(WOKEN_WITHIN_S)
        return outcome[0] if outcome else None

    return result


def passes_the_wake_on(qm, app, orders):
    picky, modest = getter(qm, max_length=2), getter(qm)
    orders.put("too long", None, NOW)
    assert picky() is Reason.TRUNCATED_MSG_FAILED
    assert modest() == "too long"


def wakes_after_a_commit(qm, app, orders):
    waits = getter(qm)
    orders.put("x")
    app.commit()
    assert waits() == "x"


def wakes_after_a_backout(qm, app, orders):
    orders.put("x", None, NOW)
    orders.get()
    waits = getter(qm)
    app.backout()
    assert waits() == "x"


def sees_definitions_change(qm, app, orders):
    app.define(AliasQueue("FRONT", target="ORDERS"))
    front = app.open("FRONT", EVERYTHING)
    app.alter(AliasQueue, "FRONT", put_allowed=False)
    with pytest.raises(MQError):
        front.put("x")


def never_returns_what_has_expired(qm, app, orders):
    orders.put("old", MQMD(expiry=1), NOW)
    qm.clock.advance(seconds=1)
    assert [] == drain(orders)


def hides_what_is_locked(qm, app, orders):
    orders.put("x", None, NOW)
    orders.browse(GetOptions.BROWSE_FIRST | GetOptions.LOCK)
    assert [] == drain(qm.connect().open("ORDERS", EVERYTHING))


def keeps_the_order_under_fifo(qm, app, orders):
    qm.queue("FIFO", fifo=True)
    fifo = app.open("FIFO", EVERYTHING)
    for text, priority in (("1", 1), ("2", 9)):
        fifo.put(text, MQMD(priority=priority), NOW)
    assert ["1", "2"] == bodies(drain(fifo))


def triggers_at_the_end_of_the_unit(qm, app, orders):
    qm.queue("INIT")
    monitor = app.open("INIT", EVERYTHING)
    app.define(LocalQueue("XMIT", xmit=True, trigger=True, initiation_queue="INIT"))
    app.open("XMIT", OpenOptions.OUTPUT).put("x")
    assert [] == drain(monitor)
    app.commit()
    assert len(drain(monitor)) == 1


def one_change_at_a_time(qm, app, orders):
    with qm.messages.catalogue._change(LocalQueue, "ORDERS"), pytest.raises(MQError):
        qm.messages.catalogue.alter(LocalQueue, "ORDERS", max_depth=1)


def nothing(*_, **__):
    return None


SCENARIOS = {
    "Y3 a woken getter that leaves the message wakes the next": (
        passes_the_wake_on,
        lambda patch: patch.setattr(waiting.Waiters, "pass_on", nothing),
    ),
    "MM1 a commit wakes getters": (
        wakes_after_a_commit,
        lambda patch: patch.setattr(manager.MessageManager, "committed", nothing),
    ),
    "MM1 a back out wakes getters": (
        wakes_after_a_backout,
        lambda patch: patch.setattr(manager.MessageManager, "_wake", nothing),
    ),
    "V1 a change of a definition raises the version": (
        sees_definitions_change,
        lambda patch: patch.setattr(put_lookup.LookedUpOutput, "_refresh", once(put_lookup.LookedUpOutput._refresh)),
    ),
    "GE2 an expired message is never returned": (
        never_returns_what_has_expired,
        lambda patch: patch.setattr(finding.FindingPath, "_live", lambda self, arrival, find: arrival),
    ),
    "GE4 a locked message is hidden": (
        hides_what_is_locked,
        lambda patch: patch.setattr(finding.FindingPath, "_stand_on", nothing),
    ),
    "J4 MSGDLVSQ(FIFO) queues at one priority": (
        keeps_the_order_under_fifo,
        lambda patch: patch.setattr(put_lookup, "describe", by_priority),
    ),
    "Z1 a trigger message waits for the end of the unit": (
        triggers_at_the_end_of_the_unit,
        lambda patch: patch.setattr(consequences.Consequences, "unit_ended", nothing),
    ),
    "V5 one object is changed by one application at a time": (
        one_change_at_a_time,
        lambda patch: patch.setattr(catalogue.Catalogue, "_change", lambda *_: nullcontext()),
    ),
}


def once(method):
    """The method, but only the first time for each object."""
    seen = set()

    def first_only(self):
        if id(self) not in seen:
            seen.add(id(self))
            method(self)
        self._version = self._catalogue.version

    return first_only


def by_priority(md, path, *more, travels):
    described = describing.describe(md, path, *more, travels=travels)
    return described._replace(rank=described.priority)


def play(scenario):
    qm = memory_queue_manager()
    qm.queue("ORDERS")
    app = qm.connect()
    try:
        scenario(qm, app, app.open("ORDERS", EVERYTHING))
    finally:
        qm.connections.stop()


@pytest.mark.parametrize("rule", SCENARIOS)
def test_the_scenario_holds(rule):
    play(SCENARIOS[rule][0])


@pytest.mark.parametrize("rule", SCENARIOS)
def test_the_scenario_notices_when_the_rule_is_gone(rule, monkeypatch):
    scenario, take_away = SCENARIOS[rule]
    take_away(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception, MQError)):
        play(scenario)
