"""Semantics 23 and 24: reports, dead letters; flags and report options for another queue manager."""

import pytest

from model.answers import bodies, drain, fails, warns
from qmgr.small import EVERYTHING
from quaestor.mqi.descriptors import APPL_TYPE_QMGR, MQMD, NO_ID, REPORT, REQUEST, Target
from quaestor.mqi.headers import MQDLH, MQXQH
from quaestor.mqi.objects import LocalQueue, ModelQueue, QueueManagerAttributes
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import Reason
from quaestor.mqi.reports import Feedback, Report

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT


@pytest.mark.parametrize("flags", [0x1000, 0x80000])
def test_21_flags_for_another_queue_manager_are_taken_on_the_way_to_it(app, orders, distant, flags):
    distant.put("x", MQMD(msg_flags=flags), NOW)
    assert app.warning is None
    header, _ = MQXQH.unpack(app.get("QM2", GET_NOW).body)
    assert flags == header.descriptor.msg_flags
    for name in ("QM2", orders.name):
        with fails(Reason.MSG_FLAGS_ERROR):
            app.put1(name, "x", MQMD(msg_flags=flags), NOW)


@pytest.mark.parametrize("flags", [0x1, 0x800])
def test_21_flags_that_no_release_may_ignore_are_refused_on_the_way_too(distant, flags):
    with fails(Reason.MSG_FLAGS_ERROR):
        distant.put("x", MQMD(msg_flags=flags), NOW)


@pytest.fixture
def replies(qm, app):
    qm.queue("REPLIES")
    return app.open("REPLIES", EVERYTHING)


def test_23_confirm_on_arrival_comes_with_the_commit(app, orders, replies):
    made = orders.put("x" * 200, MQMD(report=Report.COA, reply_to_q="REPLIES", priority=3))
    assert [] == drain(replies)
    app.commit()
    (report,) = drain(replies)
    md = report.descriptor
    assert (REPORT, Feedback.COA, 3, b"") == (md.msg_type, md.feedback, md.priority, report.body)
    assert (made.msg_id, True) == (md.correl_id, md.msg_id not in {NO_ID, made.msg_id})


def test_23_confirm_on_delivery_is_in_the_unit_of_the_get(app, orders, replies):
    orders.put("x", MQMD(report=Report.COD_WITH_FULL_DATA, reply_to_q="REPLIES", persistence=1), NOW)
    orders.get()
    app.backout()
    assert [] == drain(replies)
    orders.get()
    app.commit()
    (report,) = drain(replies)
    assert (b"x", Feedback.COD, 1) == (report.body, report.descriptor.feedback, report.persistence)


@pytest.mark.parametrize(
    ("asked", "length"),
    [(Report.EXPIRATION, 0), (Report.EXPIRATION_WITH_DATA, 100), (Report.EXPIRATION_WITH_FULL_DATA, 250)],
)
def test_23_an_expired_message_is_reported(qm, orders, replies, asked, length):
    orders.put("x" * 250, MQMD(report=asked, reply_to_q="REPLIES", expiry=1), NOW)
    qm.clock.advance(seconds=1)
    qm.scan()
    (report,) = drain(replies)
    assert (length, Feedback.EXPIRATION) == (len(report.body), report.descriptor.feedback)


def test_23_a_report_of_a_message_got_short_has_all_of_it(orders, replies):
    orders.put("x" * 200, MQMD(report=Report.COD_WITH_FULL_DATA, reply_to_q="REPLIES"), NOW)
    assert orders.get(GET_NOW | GetOptions.ACCEPT_TRUNCATED_MSG, max_length=5).text == "x" * 5
    assert [b"x" * 200] == [report.body for report in drain(replies)]


def test_23_identifiers_can_be_passed(orders, replies):
    asked = Report.COA | Report.PASS_MSG_ID | Report.PASS_CORREL_ID
    made = orders.put("x", MQMD(report=asked, reply_to_q="REPLIES", correl_id=b"C" * 24), NOW)
    (report,) = drain(replies)
    assert (made.msg_id, b"C" * 24) == (report.msg_id, report.correl_id)


PASS_EXPIRY = Report.PASS_DISCARD_AND_EXPIRY


@pytest.mark.parametrize(
    ("asked", "expiry", "passed"),
    [
        (PASS_EXPIRY | Report.DISCARD_MSG, 100, (60, Report.DISCARD_MSG)),
        (PASS_EXPIRY, 100, (60, Report.NONE)),
        (PASS_EXPIRY | Report.PASS_MSG_ID, -1, (-1, Report.NONE)),
        (Report.DISCARD_MSG, 100, (-1, Report.NONE)),
    ],
)
def test_23_a_report_is_passed_what_is_left_of_the_expiry(qm, orders, replies, asked, expiry, passed):
    orders.put("x", MQMD(report=Report.COD | asked, reply_to_q="REPLIES", expiry=expiry), NOW)
    qm.clock.advance(seconds=4)
    orders.get(GET_NOW)
    (report,) = drain(replies)
    assert passed == (report.expiry, report.envelope.report)


def test_23_a_report_that_was_passed_an_expiry_expires(qm, orders, replies):
    orders.put("x", MQMD(report=Report.COA | PASS_EXPIRY, reply_to_q="REPLIES", expiry=10), NOW)
    qm.clock.advance(seconds=1)
    assert [] == drain(replies)


def test_23_the_report_of_an_expiration_has_a_minute(qm, orders, replies):
    orders.put("x", MQMD(report=Report.EXPIRATION | PASS_EXPIRY, reply_to_q="REPLIES", expiry=1), NOW)
    qm.clock.advance(seconds=1)
    assert [] == drain(orders)
    assert [600] == [report.expiry for report in drain(replies)]


def test_23_capexpry_of_the_reply_queue_holds_for_reports(qm, app, orders, replies):
    app.alter(LocalQueue, "REPLIES", max_expiry=20)
    orders.put("x", MQMD(report=Report.COA, reply_to_q="REPLIES"), NOW)
    assert [20] == [report.expiry for report in drain(replies)]


@pytest.mark.parametrize("described", [{"msg_type": REQUEST}, {"report": Report.COA}, {"report": Report.EXPIRATION}])
def test_23_a_reply_needs_a_queue(orders, described):
    with fails(Reason.MISSING_REPLY_TO_Q):
        orders.put("x", MQMD(**described), NOW)


def test_23_the_reply_queue_manager_is_filled_in(orders):
    assert orders.put("x", MQMD(reply_to_q="REPLIES"), NOW).envelope.reply_to_qmgr == "QM1"


@pytest.mark.parametrize("report", [0x200, 0x400, 0x600, 0x8000, 0x40000, 0x10000000])
def test_23_report_options_that_mean_nothing(orders, report):
    with fails(Reason.REPORT_OPTIONS_ERROR):
        orders.put("x", MQMD(report=report, reply_to_q="R"), NOW)


@pytest.mark.parametrize("report", [0x8, 0x40000000, 0x80000000, -(1 << 31)])
def test_23_a_report_option_of_a_later_release_is_taken_and_warned_of(app, orders, report):
    """The receiver finds it as it was said; a number below zero is the same 32 bits."""
    made = orders.put("x", MQMD(report=report), NOW)
    assert warns(app, Reason.UNKNOWN_REPORT_OPTION)
    assert report & 0xFFFFFFFF == made.envelope.report == orders.get(GET_NOW).envelope.report
    orders.put("y", None, NOW)
    assert app.warning is None


def test_23_known_report_options_are_not_warned_of(app, orders):
    orders.put("x", MQMD(report=Report.PASS_MSG_ID | Report.ACTIVITY | Report.DISCARD_MSG), NOW)
    assert app.warning is None


def test_23_a_priority_above_the_maximum_is_warned_of_first(app, orders):
    orders.put("x", MQMD(report=0x40000000, priority=10), NOW)
    assert warns(app, Reason.PRIORITY_EXCEEDS_MAXIMUM)


@pytest.fixture
def distant(app):
    """A queue of another queue manager, and the transmission queue on the way to it."""
    app.define(LocalQueue("QM2", xmit=True))
    return app.open(Target("FAR", "QM2"), OpenOptions.OUTPUT)


@pytest.mark.parametrize("report", [0x8000, 0x20000, 0x8000 | 0x40000000])
def test_23_options_for_another_queue_manager_are_taken_on_the_way_to_it(app, distant, report):
    distant.put("x", MQMD(report=report), NOW)
    assert warns(app, Reason.UNKNOWN_REPORT_OPTION)
    header, _ = MQXQH.unpack(app.get("QM2", GET_NOW).body)
    assert report == header.descriptor.report


def test_23_they_are_not_taken_on_a_transmission_queue_that_is_named(app, distant):
    with fails(Reason.REPORT_OPTIONS_ERROR):
        app.put1("QM2", "x", MQMD(report=0x8000), NOW)


def test_23_options_that_no_release_may_ignore_are_refused_on_the_way_too(distant):
    with fails(Reason.REPORT_OPTIONS_ERROR):
        distant.put("x", MQMD(report=0x40000), NOW)


def test_24_a_report_that_cannot_be_put_goes_to_the_dead_letter_queue(qm, app, orders):
    qm.queue("DEAD")
    app.alter(QueueManagerAttributes, dead_letter_queue="DEAD")
    orders.put("text", MQMD(report=Report.COA_WITH_FULL_DATA, reply_to_q="NOWHERE"), NOW)
    message = app.get("DEAD", GET_NOW)
    header, body = MQDLH.unpack(message.body)
    assert (Reason.UNKNOWN_OBJECT_NAME, "NOWHERE", "QM1", "MQSTR") == (
        header.reason,
        header.dest_q_name,
        header.dest_qmgr_name,
        header.format,
    )
    assert (b"text", "MQDEAD") == (body, message.descriptor.format)
    put = message.descriptor
    assert (APPL_TYPE_QMGR, "QM1", put.put_date) == (header.put_appl_type, header.put_appl_name, header.put_date)
    assert header.put_time[:6] == put.put_time[:6]


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"put_allowed": False}, Reason.PUT_INHIBITED),
        ({"max_depth": 0}, Reason.Q_FULL),
        ({"max_msg_length": 3}, Reason.MSG_TOO_BIG_FOR_Q),
    ],
)
def test_24_why_a_report_could_not_be_put(qm, app, orders, attributes, reason):
    qm.queue("DEAD")
    qm.queue("REPLIES", **attributes)
    app.alter(QueueManagerAttributes, dead_letter_queue="DEAD")
    orders.put("text", MQMD(report=Report.COA_WITH_FULL_DATA, reply_to_q="REPLIES"), NOW)
    assert MQDLH.unpack(app.get("DEAD", GET_NOW).body)[0].reason == reason


def test_24_a_temporary_queue_takes_no_persistent_report(qm, app, orders):
    qm.queue("DEAD")
    app.alter(QueueManagerAttributes, dead_letter_queue="DEAD")
    app.define(ModelQueue("TEMP"))
    mine = app.open("TEMP", dynamic_name="MINE")
    orders.put("text", MQMD(report=Report.COA, reply_to_q="MINE", persistence=1), NOW)
    orders.put("text", MQMD(report=Report.COA, reply_to_q="MINE", persistence=0), NOW)
    assert MQDLH.unpack(app.get("DEAD", GET_NOW).body)[0].reason == Reason.PERSISTENT_NOT_ALLOWED
    assert [0] == [report.persistence for report in drain(mine)]


def test_24_a_model_takes_no_report(qm, app, orders):
    qm.queue("DEAD")
    app.alter(QueueManagerAttributes, dead_letter_queue="DEAD")
    app.define(ModelQueue("TEMP"))
    orders.put("text", MQMD(report=Report.COA, reply_to_q="TEMP"), NOW)
    assert MQDLH.unpack(app.get("DEAD", GET_NOW).body)[0].reason == Reason.Q_TYPE_ERROR


def test_24_a_dead_letter_says_how_its_header_is_encoded(qm, app, orders):
    """H2: the numbers of the message behind it may be of another machine, and the header says so."""
    qm.queue("DEAD")
    app.alter(QueueManagerAttributes, dead_letter_queue="DEAD")
    asked = MQMD(report=Report.COA_WITH_FULL_DATA, reply_to_q="NOWHERE", encoding=546, ccsid=819, format="PAYROLL")
    orders.put(b"data", asked, NOW)
    message = app.get("DEAD", GET_NOW)
    header, _ = MQDLH.unpack(message.body)
    assert (785, 1208, "MQDEAD") == (message.envelope.encoding, message.envelope.ccsid, message.envelope.format)
    assert (546, 819, "PAYROLL") == (header.encoding, header.ccsid, header.format)


def test_26_so_does_a_message_on_its_way_to_another_queue_manager(app):
    app.define(LocalQueue("QM2", xmit=True))
    app.put1(Target("FAR", "QM2"), b"data", MQMD(encoding=546, ccsid=819), NOW)
    message = app.get("QM2", GET_NOW)
    header, _ = MQXQH.unpack(message.body)
    assert (785, 1208) == (message.envelope.encoding, message.envelope.ccsid)
    assert (546, 819) == (header.descriptor.encoding, header.descriptor.ccsid)


def test_24_a_dead_letter_queue_that_is_full_itself(qm, app, orders):
    qm.queue("DEAD", max_depth=0)
    app.alter(QueueManagerAttributes, dead_letter_queue="DEAD")
    orders.put("x", MQMD(report=Report.COA, reply_to_q="NOWHERE"), NOW)
    assert qm.messages.consequences.given_up == 1


def test_23_a_report_travels_to_another_queue_manager(app, orders):
    app.define(LocalQueue("QM2", xmit=True))
    orders.put("x", MQMD(report=Report.COA, reply_to_q="REPLIES", reply_to_qmgr="QM2"), NOW)
    header, _ = MQXQH.unpack(app.get("QM2", GET_NOW).body)
    assert ("REPLIES", "QM2", REPORT) == (header.remote_q_name, header.remote_qmgr_name, header.descriptor.msg_type)


def test_24_without_a_dead_letter_queue_the_report_is_given_up_not_the_put(qm, orders):
    orders.put("x", MQMD(report=Report.COA, reply_to_q="NOWHERE"), NOW)
    assert qm.messages.consequences.given_up == 1
    assert ["x"] == bodies(drain(orders))


def test_24_a_put_that_fails_is_the_applications_own_affair(qm, app):
    qm.queue("DEAD")
    app.alter(QueueManagerAttributes, dead_letter_queue="DEAD")
    with fails(Reason.UNKNOWN_OBJECT_NAME):
        app.put1("NOWHERE", "x")
    with fails(Reason.NO_MSG_AVAILABLE):
        app.get("DEAD")


@pytest.mark.parametrize("body", [b"", b"DLH ", b"XXX " + bytes(168), b"DLH " + bytes(168)])
def test_24_a_bad_dead_letter_header(body):
    with fails(Reason.DLH_ERROR):
        MQDLH.unpack(body)
