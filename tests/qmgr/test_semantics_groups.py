"""Semantics 19 to 22: index types, groups, segments, expiry."""

import pytest

from model.answers import bodies, drain, fails, warns
from qmgr.small import EVERYTHING, page_queue_manager
from quaestor.mqi.descriptors import MQMD, NO_ID
from quaestor.mqi.objects import IndexType, QueueManagerAttributes
from quaestor.mqi.options import GetOptions, MsgFlags, PutOptions
from quaestor.mqi.reasons import CompCode, Reason

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
