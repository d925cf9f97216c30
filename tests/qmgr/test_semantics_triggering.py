"""Semantics 25: triggering."""

import pytest

from model.answers import drain
from qmgr.small import EVERYTHING, HeldForce, page_queue_manager
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.headers import TriggerMessage
from quaestor.mqi.objects import LocalQueue, Process, QueueManagerAttributes, TriggerType
from quaestor.mqi.options import OpenOptions, PutOptions
from quaestor.mqi.reports import Report

NOW = PutOptions.NO_SYNCPOINT


def test_23_a_report_wakes_a_getter_and_triggers(app, orders, monitor):
    replies = triggering(app, TriggerType.EVERY)
    orders.put("x", MQMD(report=Report.COA, reply_to_q="WORK"), NOW)
    assert len(drain(monitor)) == 1
    assert replies.inquire("CURDEPTH") == {"CURDEPTH": 1}


@pytest.fixture
def monitor(qm, app):
    """A trigger monitor that reads the initiation queue."""
    qm.queue("INIT")
    app.define(Process("RUN", appl_id="serve", user_data="fast"))
    return app.open("INIT", EVERYTHING)


def triggering(app, kind, **attributes):
    attributes = {"initiation_queue": "INIT", "process": "RUN", "share": True} | attributes
    app.define(LocalQueue("WORK", trigger=True, trigger_type=kind, **attributes))
    return app.open("WORK", OpenOptions.OUTPUT | OpenOptions.INQUIRE | OpenOptions.SET)


def trigger_messages(monitor):
    return [TriggerMessage.unpack(message.body) for message in drain(monitor)]


def test_25_first_triggers_when_the_first_message_arrives(app, monitor):
    work = triggering(app, TriggerType.FIRST, trigger_data="D")
    for text in "abc":
        work.put(text, None, NOW)
    (message,) = drain(monitor)
    assert ("MQTRIG", 0) == (message.descriptor.format, message.persistence)
    assert TriggerMessage("WORK", "RUN", "D", 2, "serve", "", "fast") == TriggerMessage.unpack(message.body)


def test_25_every_triggers_each_time(app, monitor):
    work = triggering(app, TriggerType.EVERY)
    app.open("WORK", OpenOptions.INPUT_SHARED)
    for text in "abc":
        work.put(text, None, NOW)
    assert len(drain(monitor)) == 3


def test_25_depth_triggers_once_and_switches_itself_off(app, monitor):
    work = triggering(app, TriggerType.DEPTH, trigger_depth=3)
    counts = []
    for text in "abcd":
        work.put(text, None, NOW)
        counts.append(len(drain(monitor)))
    assert [0, 0, 1, 0] == counts
    assert work.inquire("TRIGGER") == {"TRIGGER": False}
    work.set(TRIGGER=True)
    assert len(drain(monitor)) == 1


@pytest.mark.plain
def test_25_depth_triggers_once_also_while_it_is_being_switched_off(monkeypatch):
    """Z2: that is logged, and the latch is not kept meanwhile."""
    qm = page_queue_manager()
    app, other = qm.connect(), qm.connect("BOB")
    qm.queue("INIT")
    app.define(Process("RUN"))
    reader, work = other.open("INIT", EVERYTHING), triggering(app, TriggerType.DEPTH, trigger_depth=2)
    work.put("a", None, NOW)
    with HeldForce(qm.manager.engine.log, monkeypatch, lambda: work.put("b", None, NOW)) as held:
        other.put1("WORK", "c", None, NOW)
    assert ("well", 1) == (held.ended, len(drain(reader)))


def test_25_a_low_priority_does_not_trigger_and_is_not_counted(app, monitor):
    work = triggering(app, TriggerType.FIRST, trigger_priority=5)
    work.put("low", MQMD(priority=4), NOW)
    assert [] == drain(monitor)
    work.put("high", MQMD(priority=5), NOW)
    work.put("high again", MQMD(priority=9), NOW)
    assert len(drain(monitor)) == 1


def test_25_an_open_input_handle_stops_first_and_its_close_makes_up_for_it(app, monitor):
    work = triggering(app, TriggerType.FIRST)
    server = app.open("WORK", OpenOptions.INPUT_SHARED)
    work.put("a", None, NOW)
    assert [] == drain(monitor)
    server.close()
    assert len(drain(monitor)) == 1


def test_25_uncommitted_messages_count_and_the_trigger_waits_for_the_end_of_the_unit(app, other, monitor):
    work = triggering(app, TriggerType.FIRST)
    work.put("a")
    other.put1("WORK", "b", options=NOW)  # the second message, though the first is not committed
    assert [] == drain(monitor)
    app.commit()
    assert len(drain(monitor)) == 1


def test_25_a_unit_that_backs_out_leaves_its_trigger_message(app, monitor):
    work = triggering(app, TriggerType.FIRST)
    work.put("a")
    app.backout()
    assert len(drain(monitor)) == 1


def test_25_of_every_a_unit_that_backs_out_leaves_no_trigger_message(app, monitor):
    """What it would be for is not there."""
    work = triggering(app, TriggerType.EVERY)
    work.put("a")
    work.put("b")
    app.backout()
    assert [] == drain(monitor)
    work.put("c")
    app.commit()
    assert len(drain(monitor)) == 1


def test_25_a_trigger_message_says_what_held_at_the_event(qm, app, monitor):
    """Z1: not what was altered until its unit ended, nor where it would go now."""
    qm.queue("ELSEWHERE")
    elsewhere = app.open("ELSEWHERE", EVERYTHING)
    work = triggering(app, TriggerType.EVERY, trigger_data="then")
    work.put("a")
    app.alter(LocalQueue, "WORK", trigger=False, trigger_data="now", initiation_queue="ELSEWHERE")
    app.alter(Process, "RUN", appl_id="another")
    app.commit()
    assert [("then", "serve")] == [(said.trigger_data, said.appl_id) for said in trigger_messages(monitor)]
    assert [] == drain(elsewhere)


def test_25_the_trigger_interval_runs_from_the_event(qm, app, monitor):
    app.alter(QueueManagerAttributes, trigger_interval_ms=5000)
    work = triggering(app, TriggerType.FIRST)
    work.put("a")
    qm.clock.advance(seconds=4)
    app.commit()
    qm.clock.advance(seconds=1)
    work.put("b", None, NOW)
    assert len(drain(monitor)) == 2


def test_25_without_a_trigger_monitor_nothing_happens_until_one_comes(app, monitor):
    monitor.close()
    work = triggering(app, TriggerType.FIRST)
    work.put("a", None, NOW)
    assert len(drain(app.open("INIT", EVERYTHING))) == 1


@pytest.mark.parametrize("missing", [{"process": "NOBODY"}, {"initiation_queue": "NONE"}, {"get_allowed": False}])
def test_25_what_must_be_there_for_a_trigger(app, monitor, missing):
    triggering(app, TriggerType.EVERY, **missing).put("a", None, NOW)
    assert [] == drain(monitor)


def test_25_first_triggers_again_after_the_trigger_interval(qm, app, monitor):
    app.alter(QueueManagerAttributes, trigger_interval_ms=5000)
    work = triggering(app, TriggerType.FIRST)
    work.put("a", None, NOW)
    qm.clock.advance(seconds=4)
    work.put("b", None, NOW)
    assert len(drain(monitor)) == 1
    qm.clock.advance(seconds=1)
    work.put("c", None, NOW)
    assert len(drain(monitor)) == 1


def test_25_a_trigger_message_says_whose_it_is(app, monitor):
    triggering(app, TriggerType.FIRST).put("a", None, NOW)
    assert ["QM1"] == [message.envelope.reply_to_qmgr for message in drain(monitor)]


def test_25_a_trigger_message_has_the_priority_of_the_initiation_queue(app, monitor):
    app.alter(LocalQueue, "INIT", def_priority=5)
    triggering(app, TriggerType.EVERY).put("a", MQMD(priority=2), NOW)
    assert [5] == [message.priority for message in drain(monitor)]


@pytest.mark.parametrize("options", [NOW, PutOptions.SYNCPOINT])
def test_25_queues_that_trigger_each_other_do_not_go_on_for_ever(app, monitor, options):
    """WORK's trigger messages go to INIT, and INIT's to itself."""
    app.alter(LocalQueue, "INIT", initiation_queue="INIT", process="RUN", trigger=True, trigger_type=TriggerType.EVERY)
    triggering(app, TriggerType.EVERY).put("a", None, options)
    app.commit()
    assert ["WORK", "INIT"] == [TriggerMessage.unpack(message.body).q_name for message in drain(monitor)]


def test_25_a_dead_letter_queue_that_triggers_takes_one_trigger_message(app, monitor):
    """INIT is full, so the trigger message for DEAD goes to DEAD, where it would be the next reason for one."""
    app.define(LocalQueue("DEAD", trigger=True, trigger_type=TriggerType.EVERY, initiation_queue="INIT", process="RUN"))
    app.alter(QueueManagerAttributes, dead_letter_queue="DEAD")
    app.alter(LocalQueue, "INIT", max_depth=0)
    app.put1("DEAD", "a", None, NOW)
    assert len(drain(app.open("DEAD", OpenOptions.INPUT_AS_Q_DEF))) == 2
