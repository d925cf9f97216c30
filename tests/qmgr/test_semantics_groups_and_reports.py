"""Semantics 19 to 25: index types, groups, segments, expiry, reports, dead letters, triggering."""

import pytest

from model.answers import bodies, drain, fails, warns
from qmgr.small import EVERYTHING, HeldForce, page_queue_manager
from quaestor.mqi.descriptors import APPL_TYPE_QMGR, MQMD, NO_ID, REPORT, REQUEST, Target
from quaestor.mqi.headers import MQDLH, MQXQH, TriggerMessage
from quaestor.mqi.objects import IndexType, LocalQueue, ModelQueue, Process, QueueManagerAttributes, TriggerType
from quaestor.mqi.options import GetOptions, MsgFlags, OpenOptions, PutOptions
from quaestor.mqi.reasons import CompCode, Reason
from quaestor.mqi.reports import Feedback, Report

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT
LOGICAL, IN_ORDER = NOW | PutOptions.LOGICAL_ORDER, GET_NOW | GetOptions.LOGICAL_ORDER
MEMBER, LAST = MsgFlags.MSG_IN_GROUP, MsgFlags.LAST_MSG_IN_GROUP


@pytest.fixture
def groups(qm, app):
    qm.queue("GROUPS", index_type=IndexType.GROUPID)
    return app.open("GROUPS", EVERYTHING)


def put_group(handle, *texts, options=LOGICAL, **described):
    flags = [MEMBER] * (len(texts) - 1) + [LAST]
    return [
        handle.put(text, MQMD(msg_flags=flag, **described), options) for text, flag in zip(texts, flags, strict=True)
    ]


# -- 19, 20, 21


def test_20_logical_order_gives_a_group_its_identifier_and_numbers(groups):
    made = put_group(groups, "1", "2", "3")
    assert {made[0].envelope.group_id} == {message.envelope.group_id for message in made} != {NO_ID}
    assert [1, 2, 3] == [message.envelope.msg_seq_number for message in made]
    assert put_group(groups, "next")[0].envelope.group_id != made[0].envelope.group_id


def test_20_a_group_is_got_in_order_at_the_place_of_its_first(qm, app, groups):
    second = app.open("GROUPS", EVERYTHING)
    groups.put("a1", MQMD(msg_flags=MEMBER), LOGICAL)
    second.put("b1", MQMD(msg_flags=MEMBER), LOGICAL)
    second.put("b2", MQMD(msg_flags=LAST), LOGICAL)
    groups.put("a2", MQMD(msg_flags=LAST), LOGICAL)
    second.put("single", None, NOW)
    assert ["a1", "a2", "b1", "b2", "single"] == bodies(drain(groups, IN_ORDER))


UNIT_PUT, UNIT_GET = PutOptions.LOGICAL_ORDER, GetOptions.LOGICAL_ORDER


def test_20_backout_takes_the_place_in_a_group_of_puts_back(app, groups):
    """A group may be spread over units; the one that failed is done again."""
    groups.put("1", MQMD(msg_flags=MEMBER), UNIT_PUT)
    app.commit()
    groups.put("2", MQMD(msg_flags=MEMBER), UNIT_PUT)
    groups.put("3", MQMD(msg_flags=LAST), UNIT_PUT)
    app.backout()
    groups.put("2 again", MQMD(msg_flags=MEMBER), UNIT_PUT)
    groups.put("3 again", MQMD(msg_flags=LAST), UNIT_PUT)
    app.commit()
    assert ["1", "2 again", "3 again"] == bodies(drain(groups, IN_ORDER | GetOptions.ALL_MSGS_AVAILABLE))


def test_20_a_group_begun_in_a_unit_is_not_there_after_backout(app, groups):
    began = groups.put("1", MQMD(msg_flags=MEMBER), UNIT_PUT)
    app.backout()
    anew = groups.put("1", MQMD(msg_flags=MEMBER), UNIT_PUT)
    assert anew.envelope.msg_seq_number == 1
    assert anew.envelope.group_id != began.envelope.group_id
    app.backout()
    groups.put("no group", None, UNIT_PUT)
    assert app.warning is None


def test_20_backout_takes_the_place_in_a_group_of_gets_back(app, groups):
    put_group(groups, "1", "2", "3")
    put_group(groups, "next")
    assert groups.get(UNIT_GET).text == "1"
    app.commit()
    assert ["2", "3", "next"] == [groups.get(UNIT_GET).text for _ in range(3)]
    app.backout()
    assert ["2", "3", "next"] == [groups.get(UNIT_GET).text for _ in range(3)]
    app.commit()


def test_20_backout_leaves_groups_of_earlier_units_alone(app, groups):
    put_group(groups, "1", "2")
    assert groups.get(UNIT_GET).text == "1"
    app.commit()
    app.put("GROUPS", "another unit")
    app.backout()
    assert groups.get(UNIT_GET).text == "2"


def test_20_physical_order_ignores_groups(app, groups):
    gid = b"G" * 24
    for number, text in [(2, "two"), (1, "one")]:
        groups.put(text, MQMD(group_id=gid, msg_seq_number=number, msg_flags=LAST if number == 2 else MEMBER), NOW)
    assert ["two", "one"] == bodies(drain(app.open("GROUPS", EVERYTHING)))


def test_20_out_of_order_arrival_is_put_right(groups):
    gid = b"G" * 24
    for number, text in [(3, "three"), (1, "one"), (2, "two")]:
        groups.put(text, MQMD(group_id=gid, msg_seq_number=number, msg_flags=LAST if number == 3 else MEMBER), NOW)
    assert ["one", "two", "three"] == bodies(drain(groups, IN_ORDER))


def test_20_all_messages_available_takes_complete_groups_only(app, groups):
    groups.put("1", MQMD(msg_flags=MEMBER), LOGICAL)
    whole = IN_ORDER | GetOptions.ALL_MSGS_AVAILABLE
    reader = app.open("GROUPS", EVERYTHING)
    with fails(Reason.NO_MSG_AVAILABLE):
        reader.get(whole)
    groups.put("2", MQMD(msg_flags=LAST), LOGICAL)
    assert ["1", "2"] == bodies(drain(reader, whole))


def test_20_a_group_is_complete_for_who_has_locked_one_of_it(other, groups):
    """U4, GE4: the lock hides the message from everybody but its handle."""
    put_group(groups, "a", "b")
    whole = IN_ORDER | GetOptions.ALL_MSGS_AVAILABLE
    groups.browse(GetOptions.BROWSE_FIRST | GetOptions.LOCK)
    with fails(Reason.NO_MSG_AVAILABLE):
        other.get("GROUPS", whole)
    assert ["a", "b"] == bodies([groups.get(whole), groups.get(whole)])


def test_20_a_group_of_which_a_message_has_expired_is_not_complete(qm, app, groups):
    """It would be begun, and never ended."""
    groups.put("a1", MQMD(msg_flags=MEMBER), LOGICAL)
    groups.put("a2", MQMD(msg_flags=LAST, expiry=10), LOGICAL)
    put_group(groups, "b1", "b2")
    qm.clock.advance(seconds=1)
    reader = app.open("GROUPS", EVERYTHING)
    assert ["b1", "b2"] == bodies(drain(reader, IN_ORDER | GetOptions.ALL_MSGS_AVAILABLE))
    assert ["a1"] == bodies(drain(reader))


def test_20_browsing_in_logical_order(app, groups):
    second = app.open("GROUPS", EVERYTHING)
    groups.put("a1", MQMD(msg_flags=MEMBER), LOGICAL)
    put_group(second, "b1", "b2")
    groups.put("a2", MQMD(msg_flags=LAST), LOGICAL)
    step = GetOptions.BROWSE_NEXT | GetOptions.LOGICAL_ORDER
    assert ["a1", "a2", "b1", "b2"] == bodies([groups.get(step) for _ in range(4)])
    with fails(Reason.NO_MSG_AVAILABLE):
        groups.get(step)
    assert groups.get(GetOptions.BROWSE_FIRST | GetOptions.LOGICAL_ORDER).text == "a1"


def test_20_a_browse_in_another_order_leaves_the_group(app, groups):
    put_group(groups, "1", "2", "3")
    groups.put("alone", None, NOW)
    first, step, in_order = GetOptions.BROWSE_FIRST, GetOptions.BROWSE_NEXT, GetOptions.LOGICAL_ORDER
    assert ["1", "2"] == bodies([groups.get(first | in_order), groups.get(step)])
    assert warns(app, Reason.INCOMPLETE_GROUP)
    assert "alone" == groups.get(step | in_order).text
    groups.get(first | in_order)
    assert "1" == groups.get(first).text
    assert app.warning is None
    assert "alone" == groups.get(step | in_order).text


def test_20_a_group_needs_an_index_by_group(orders):
    with fails(Reason.Q_INDEX_TYPE_ERROR):
        orders.get(GetOptions.LOGICAL_ORDER)


def test_20_a_message_outside_the_group_is_refused_inside_it(app, groups):
    groups.put("1", MQMD(msg_flags=MEMBER), LOGICAL)
    with fails(Reason.INCOMPLETE_GROUP, CompCode.FAILED):
        groups.put("x", None, LOGICAL)
    groups.put("y", None, NOW)
    assert warns(app, Reason.INCOMPLETE_GROUP)


@pytest.mark.parametrize("options", [NOW, LOGICAL])
def test_20_a_message_without_the_flag_is_in_no_group(app, groups, options):
    """Its identifier and number are not kept, or a get in logical order would wait for the rest of the group."""
    made = groups.put("alone", MQMD(group_id=b"G" * 24, msg_seq_number=3), options)
    assert (NO_ID, 1) == (made.envelope.group_id, made.envelope.msg_seq_number)
    groups.put("next", None, NOW)
    assert ["alone", "next"] == bodies(drain(groups, IN_ORDER))
    groups.close()
    assert app.warning is None


@pytest.mark.parametrize("flags", [0, MEMBER, LAST])
def test_20_put1_is_not_in_logical_order(app, groups, flags):
    """There is no handle that could know the group."""
    with fails(Reason.OPTIONS_ERROR):
        app.put1("GROUPS", "x", MQMD(msg_flags=flags), LOGICAL)
    assert [] == drain(groups)


def test_20_closing_or_leaving_inside_a_group_warns(app, groups):
    groups.put("1", MQMD(msg_flags=MEMBER), LOGICAL)
    groups.put("2", MQMD(msg_flags=LAST), LOGICAL)
    reader = app.open("GROUPS", EVERYTHING)
    reader.get(IN_ORDER)
    reader.close()
    assert warns(app, Reason.INCOMPLETE_GROUP)


def test_20_a_group_is_all_in_or_all_out_of_syncpoint(groups):
    groups.put("1", MQMD(msg_flags=MEMBER), LOGICAL)
    with fails(Reason.INCONSISTENT_UOW):
        groups.put("2", MQMD(msg_flags=LAST), PutOptions.LOGICAL_ORDER)


def test_20_a_get_in_a_group_is_all_in_or_all_out_too(groups):
    put_group(groups, "1", "2")
    groups.get(IN_ORDER)
    with fails(Reason.INCONSISTENT_UOW):
        groups.get(GetOptions.LOGICAL_ORDER)


def test_20_a_group_has_one_persistence(groups):
    groups.put("1", MQMD(msg_flags=MEMBER, persistence=1), LOGICAL)
    with fails(Reason.INCONSISTENT_PERSISTENCE):
        groups.put("2", MQMD(msg_flags=LAST, persistence=0), LOGICAL)


@pytest.mark.parametrize("step", [IN_ORDER, GetOptions.BROWSE_NEXT | GetOptions.LOGICAL_ORDER])
def test_20_a_group_is_got_to_its_end_by_its_identifier(groups, step):
    """Which message is next may be said; another one than that is refused, and the next one is next still."""
    put_group(groups, "before")
    group_id = put_group(groups, "1", "2", "3")[0].envelope.group_id
    assert "1" == groups.get(step, group_id=group_id).text
    for other in ({"group_id": b"G" * 24}, {"sequence": 3}, {"token": groups.token}):
        with fails(Reason.MATCH_OPTIONS_ERROR):
            groups.get(step, **other)
    assert "2" == groups.get(step, group_id=group_id, sequence=2).text
    assert "3" == groups.get(step, group_id=group_id).text


def test_20_inside_a_group_an_identifier_is_that_of_the_next_message():
    qm = page_queue_manager()
    qm.queue("GROUPS", index_type=IndexType.GROUPID)
    groups = qm.connect().open("GROUPS", EVERYTHING)
    made = put_group(groups, "1", "2", "3")
    groups.get(IN_ORDER)
    with fails(Reason.MATCH_OPTIONS_ERROR):
        groups.get(IN_ORDER, msg_id=made[2].msg_id)
    assert "2" == groups.get(IN_ORDER, msg_id=made[1].msg_id).text


def test_20_a_group_can_be_selected_by_identifier_and_number(groups):
    put_group(groups, "a", "b")
    made = put_group(groups, "1", "2", "3")
    assert groups.get(GET_NOW, group_id=made[0].envelope.group_id, sequence=2).text == "2"


@pytest.mark.parametrize("flags", [1, 2, 4, 6, 64])
def test_21_segments_are_not_supported(orders, flags):
    with fails(Reason.MSG_FLAGS_ERROR):
        orders.put("x", MQMD(msg_flags=flags), NOW)


@pytest.mark.parametrize("flags", [0x100000, 0x80000000, -(1 << 31)])
def test_21_a_flag_of_a_later_release_is_taken_without_a_warning(app, orders, flags):
    """It makes no group of the message."""
    orders.put("x", MQMD(msg_flags=flags), NOW)
    assert app.warning is None
    got = orders.get(GET_NOW).envelope
    assert (flags & 0xFFFFFFFF, NO_ID, 1) == (got.msg_flags, got.group_id, got.msg_seq_number)


def test_21_a_message_of_a_group_may_have_such_a_flag(groups):
    made = groups.put("x", MQMD(msg_flags=LAST | 0x100000), NOW)
    assert NO_ID != made.envelope.group_id
    assert LAST | 0x100000 == made.envelope.msg_flags


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


# -- 22


@pytest.mark.parametrize("expiry", [0, -2])
def test_22_a_bad_expiry(orders, expiry):
    with fails(Reason.EXPIRY_ERROR):
        orders.put("x", MQMD(expiry=expiry), NOW)


def test_22_what_is_left_is_returned_in_tenths(qm, orders):
    orders.put("x", MQMD(expiry=100), NOW)
    qm.clock.advance(seconds=3.25)
    assert orders.browse(GetOptions.BROWSE_FIRST).descriptor.expiry == 67
    qm.clock.advance(seconds=6.7)
    assert orders.get().descriptor.expiry == 1


def test_22_what_was_put_says_its_expiry(orders):
    assert [30, 30] == [put.expiry for put in orders.put_all(["a", "b"], MQMD(expiry=30), NOW)]
    assert [30, -1] == [orders.put("c", MQMD(expiry=expiry), NOW).expiry for expiry in (30, -1)]


def test_22_without_expiry_unlimited_is_returned(qm, orders):
    orders.put("x", None, NOW)
    qm.clock.advance(days=3000)
    assert orders.get().descriptor.expiry == -1


def test_22_the_clock_starts_at_the_put_not_at_the_commit(qm, app, orders):
    orders.put("x", MQMD(expiry=10))
    qm.clock.advance(seconds=2)
    app.commit()
    with fails(Reason.NO_MSG_AVAILABLE):
        orders.get()


@pytest.mark.parametrize("persistence", [0, 1])
@pytest.mark.parametrize("options", [GetOptions.NONE, GET_NOW, GetOptions.BROWSE_FIRST, GetOptions.BROWSE_NEXT])
def test_22_a_get_or_browse_that_would_return_it_discards_it(qm, app, orders, persistence, options):
    orders.put("old", MQMD(expiry=10, persistence=persistence), NOW)
    orders.put("fresh", None, NOW)
    qm.clock.advance(seconds=1)
    assert orders.get(options).text == "fresh"
    app.backout()
    assert orders.inquire("CURDEPTH")["CURDEPTH"] == (options != GET_NOW)


def test_22_a_get_that_would_not_return_it_leaves_it(qm, indexed):
    indexed.put("old", MQMD(expiry=10, correl_id=b"A"), NOW)
    indexed.put("fresh", MQMD(correl_id=b"B"), NOW)
    qm.clock.advance(seconds=1)
    assert indexed.get(GET_NOW, correl_id=b"B").text == "fresh"
    assert indexed.inquire("CURDEPTH") == {"CURDEPTH": 1}


def test_22_the_scan_runs_once_after_start_and_then_every_expryint(qm, app, orders):
    def put_old():
        orders.put("old", MQMD(expiry=1), NOW)
        qm.clock.advance(seconds=1)

    def scan_all():
        qm.scan()
        return orders.inquire("CURDEPTH")["CURDEPTH"]

    put_old()
    assert scan_all() == 0
    put_old()
    assert scan_all() == 1  # EXPRYINT(OFF)
    app.alter(QueueManagerAttributes, expiry_interval_s=60)
    qm.clock.advance(seconds=61)
    assert scan_all() == 0
    put_old()
    assert scan_all() == 1
    qm.clock.advance(seconds=60)
    assert scan_all() == 0


def test_22_capexpry_shortens_expiry(qm, app):
    qm.queue("CAPPED", max_expiry=50)
    capped = app.open("CAPPED", EVERYTHING)
    for expiry, left in [(-1, 50), (20, 20), (80, 50)]:
        capped.put("x", MQMD(expiry=expiry), NOW)
        assert capped.get().descriptor.expiry == left


# -- 23


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


# -- 24


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


def test_23_a_report_wakes_a_getter_and_triggers(app, orders, monitor):
    replies = triggered(app, TriggerType.EVERY)
    orders.put("x", MQMD(report=Report.COA, reply_to_q="WORK"), NOW)
    assert len(drain(monitor)) == 1
    assert replies.inquire("CURDEPTH") == {"CURDEPTH": 1}


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


# -- 25


@pytest.fixture
def monitor(qm, app):
    """A trigger monitor that reads the initiation queue."""
    qm.queue("INIT")
    app.define(Process("RUN", appl_id="serve", user_data="fast"))
    return app.open("INIT", EVERYTHING)


def triggered(app, kind, **attributes):
    attributes = {"initiation_queue": "INIT", "process": "RUN", "share": True} | attributes
    app.define(LocalQueue("WORK", trigger=True, trigger_type=kind, **attributes))
    return app.open("WORK", OpenOptions.OUTPUT | OpenOptions.INQUIRE | OpenOptions.SET)


def trigger_messages(monitor):
    return [TriggerMessage.unpack(message.body) for message in drain(monitor)]


def test_25_first_triggers_when_the_first_message_arrives(app, monitor):
    work = triggered(app, TriggerType.FIRST, trigger_data="D")
    for text in "abc":
        work.put(text, None, NOW)
    (message,) = drain(monitor)
    assert ("MQTRIG", 0) == (message.descriptor.format, message.persistence)
    assert TriggerMessage("WORK", "RUN", "D", 2, "serve", "", "fast") == TriggerMessage.unpack(message.body)


def test_25_every_triggers_each_time(app, monitor):
    work = triggered(app, TriggerType.EVERY)
    app.open("WORK", OpenOptions.INPUT_SHARED)
    for text in "abc":
        work.put(text, None, NOW)
    assert len(drain(monitor)) == 3


def test_25_depth_triggers_once_and_switches_itself_off(app, monitor):
    work = triggered(app, TriggerType.DEPTH, trigger_depth=3)
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
    reader, work = other.open("INIT", EVERYTHING), triggered(app, TriggerType.DEPTH, trigger_depth=2)
    work.put("a", None, NOW)
    with HeldForce(qm.manager.engine.log, monkeypatch, lambda: work.put("b", None, NOW)) as held:
        other.put1("WORK", "c", None, NOW)
    assert ("well", 1) == (held.ended, len(drain(reader)))


def test_25_a_low_priority_does_not_trigger_and_is_not_counted(app, monitor):
    work = triggered(app, TriggerType.FIRST, trigger_priority=5)
    work.put("low", MQMD(priority=4), NOW)
    assert [] == drain(monitor)
    work.put("high", MQMD(priority=5), NOW)
    work.put("high again", MQMD(priority=9), NOW)
    assert len(drain(monitor)) == 1


def test_25_an_open_input_handle_stops_first_and_its_close_makes_up_for_it(app, monitor):
    work = triggered(app, TriggerType.FIRST)
    server = app.open("WORK", OpenOptions.INPUT_SHARED)
    work.put("a", None, NOW)
    assert [] == drain(monitor)
    server.close()
    assert len(drain(monitor)) == 1


def test_25_uncommitted_messages_count_and_the_trigger_waits_for_the_end_of_the_unit(app, other, monitor):
    work = triggered(app, TriggerType.FIRST)
    work.put("a")
    other.put1("WORK", "b", options=NOW)  # the second message, though the first is not committed
    assert [] == drain(monitor)
    app.commit()
    assert len(drain(monitor)) == 1


def test_25_a_unit_that_backs_out_leaves_its_trigger_message(app, monitor):
    work = triggered(app, TriggerType.FIRST)
    work.put("a")
    app.backout()
    assert len(drain(monitor)) == 1


def test_25_of_every_a_unit_that_backs_out_leaves_no_trigger_message(app, monitor):
    """What it would be for is not there."""
    work = triggered(app, TriggerType.EVERY)
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
    work = triggered(app, TriggerType.EVERY, trigger_data="then")
    work.put("a")
    app.alter(LocalQueue, "WORK", trigger=False, trigger_data="now", initiation_queue="ELSEWHERE")
    app.alter(Process, "RUN", appl_id="another")
    app.commit()
    assert [("then", "serve")] == [(said.trigger_data, said.appl_id) for said in trigger_messages(monitor)]
    assert [] == drain(elsewhere)


def test_25_the_trigger_interval_runs_from_the_event(qm, app, monitor):
    app.alter(QueueManagerAttributes, trigger_interval_ms=5000)
    work = triggered(app, TriggerType.FIRST)
    work.put("a")
    qm.clock.advance(seconds=4)
    app.commit()
    qm.clock.advance(seconds=1)
    work.put("b", None, NOW)
    assert len(drain(monitor)) == 2


def test_25_without_a_trigger_monitor_nothing_happens_until_one_comes(app, monitor):
    monitor.close()
    work = triggered(app, TriggerType.FIRST)
    work.put("a", None, NOW)
    assert len(drain(app.open("INIT", EVERYTHING))) == 1


@pytest.mark.parametrize("missing", [{"process": "NOBODY"}, {"initiation_queue": "NONE"}, {"get_allowed": False}])
def test_25_what_must_be_there_for_a_trigger(app, monitor, missing):
    triggered(app, TriggerType.EVERY, **missing).put("a", None, NOW)
    assert [] == drain(monitor)


def test_25_first_triggers_again_after_the_trigger_interval(qm, app, monitor):
    app.alter(QueueManagerAttributes, trigger_interval_ms=5000)
    work = triggered(app, TriggerType.FIRST)
    work.put("a", None, NOW)
    qm.clock.advance(seconds=4)
    work.put("b", None, NOW)
    assert len(drain(monitor)) == 1
    qm.clock.advance(seconds=1)
    work.put("c", None, NOW)
    assert len(drain(monitor)) == 1


def test_25_a_trigger_message_says_whose_it_is(app, monitor):
    triggered(app, TriggerType.FIRST).put("a", None, NOW)
    assert ["QM1"] == [message.envelope.reply_to_qmgr for message in drain(monitor)]


def test_25_a_trigger_message_has_the_priority_of_the_initiation_queue(app, monitor):
    app.alter(LocalQueue, "INIT", def_priority=5)
    triggered(app, TriggerType.EVERY).put("a", MQMD(priority=2), NOW)
    assert [5] == [message.priority for message in drain(monitor)]


@pytest.mark.parametrize("options", [NOW, PutOptions.SYNCPOINT])
def test_25_queues_that_trigger_each_other_do_not_go_on_for_ever(app, monitor, options):
    """WORK's trigger messages go to INIT, and INIT's to itself."""
    app.alter(LocalQueue, "INIT", initiation_queue="INIT", process="RUN", trigger=True, trigger_type=TriggerType.EVERY)
    triggered(app, TriggerType.EVERY).put("a", None, options)
    app.commit()
    assert ["WORK", "INIT"] == [TriggerMessage.unpack(message.body).q_name for message in drain(monitor)]


def test_25_a_dead_letter_queue_that_triggers_takes_one_trigger_message(app, monitor):
    """INIT is full, so the trigger message for DEAD goes to DEAD, where it would be the next reason for one."""
    app.define(LocalQueue("DEAD", trigger=True, trigger_type=TriggerType.EVERY, initiation_queue="INIT", process="RUN"))
    app.alter(QueueManagerAttributes, dead_letter_queue="DEAD")
    app.alter(LocalQueue, "INIT", max_depth=0)
    app.put1("DEAD", "a", None, NOW)
    assert len(drain(app.open("DEAD", OpenOptions.INPUT_AS_Q_DEF))) == 2
