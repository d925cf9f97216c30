"""Semantics 28 and 29: open options, context, shared and exclusive input."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from model.answers import bodies, drain, fails
from qmgr.small import EVERYTHING
from quaestor.mqi.descriptors import APPL_TYPE_QMGR, MQMD
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import Reason
from quaestor.mqi.reports import Report

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT
OUT, IN, BROWSE = OpenOptions.OUTPUT, OpenOptions.INPUT_SHARED, OpenOptions.BROWSE
SAVES = EVERYTHING | OpenOptions.SAVE_ALL_CONTEXT | OpenOptions.PASS_ALL_CONTEXT


@pytest.mark.parametrize(
    ("opened", "call", "reason"),
    [
        (OUT, lambda q: q.get(), Reason.NOT_OPEN_FOR_INPUT),
        (BROWSE, lambda q: q.get(), Reason.NOT_OPEN_FOR_INPUT),
        (IN, lambda q: q.browse(), Reason.NOT_OPEN_FOR_BROWSE),
        (OUT, lambda q: q.browse(), Reason.NOT_OPEN_FOR_BROWSE),
        (OUT, lambda q: q.get(GetOptions.MSG_UNDER_CURSOR), Reason.NOT_OPEN_FOR_BROWSE),
        (OUT, lambda q: q.get(GetOptions.UNLOCK), Reason.NOT_OPEN_FOR_BROWSE),
        (OUT, lambda q: q.get(GetOptions.BROWSE_FIRST, wait_ms=0), Reason.NOT_OPEN_FOR_BROWSE),
        (OUT, lambda q: q.get(GetOptions.NO_SYNCPOINT), Reason.NOT_OPEN_FOR_INPUT),
        (IN, lambda q: q.put("x"), Reason.NOT_OPEN_FOR_OUTPUT),
        (OUT, lambda q: q.inquire("CURDEPTH"), Reason.NOT_OPEN_FOR_INQUIRE),
        (OUT, lambda q: q.set(PUT="DISABLED"), Reason.NOT_OPEN_FOR_SET),
        (OUT, lambda q: q.put("x", None, PutOptions.PASS_ALL_CONTEXT), Reason.NOT_OPEN_FOR_PASS_ALL),
        (OUT, lambda q: q.put("x", None, PutOptions.PASS_IDENTITY_CONTEXT), Reason.NOT_OPEN_FOR_PASS_IDENT),
        (OUT, lambda q: q.put("x", None, PutOptions.SET_ALL_CONTEXT), Reason.NOT_OPEN_FOR_SET_ALL),
        (OUT, lambda q: q.put("x", None, PutOptions.SET_IDENTITY_CONTEXT), Reason.NOT_OPEN_FOR_SET_IDENT),
    ],
)
def test_28_a_handle_does_what_it_was_opened_for(qm, app, opened, call, reason):
    qm.queue("ORDERS")
    with fails(reason):
        call(app.open("ORDERS", opened))


@pytest.mark.parametrize("options", [0, 1 | 2, 2 | 4, 8192, 1 << 21, OUT | OpenOptions.SAVE_ALL_CONTEXT, IN | 1024])
def test_28_open_options_that_mean_nothing(qm, app, options):
    qm.queue("ORDERS")
    with fails(Reason.OPTIONS_ERROR):
        app.open("ORDERS", options)


@pytest.mark.parametrize("options", [2 | 4, 32 | 256, 1, 1 << 22])
def test_28_put_options_that_mean_nothing(orders, options):
    with fails(Reason.OPTIONS_ERROR):
        orders.put("x", None, options)


@pytest.mark.parametrize("options", [2 | 4, 16 | 32, 16 | 2, 512, 1024 | 16, 256 | 16, 1 << 25, 2 | 4096])
def test_28_get_options_that_mean_nothing(orders, options):
    with fails(Reason.OPTIONS_ERROR):
        orders.get(options)


def test_28_context_is_passed_from_a_message_that_was_got(qm, app, other):
    for name in ("IN", "OUT"):
        qm.queue(name)
    setter = app.open("IN", OUT | OpenOptions.SET_ALL_CONTEXT)
    setter.put("x", MQMD(user_identifier="CAROL", put_appl_name="payroll"), NOW | PutOptions.SET_ALL_CONTEXT)
    source = other.open("IN", IN | OpenOptions.SAVE_ALL_CONTEXT)
    sink = other.open("OUT", OUT | OpenOptions.PASS_ALL_CONTEXT)
    for options in (PutOptions.PASS_IDENTITY_CONTEXT, PutOptions.PASS_ALL_CONTEXT):
        with fails(Reason.CONTEXT_NOT_AVAILABLE):
            sink.put("y", None, options, context=source)
    with fails(Reason.CONTEXT_HANDLE_ERROR):
        sink.put("y", None, PutOptions.PASS_ALL_CONTEXT)
    source.get()
    sink.put("all", None, NOW | PutOptions.PASS_ALL_CONTEXT, context=source)
    sink.put("identity", None, NOW | PutOptions.PASS_IDENTITY_CONTEXT, context=source)
    sink.put("default", None, NOW)
    sink.put("none", None, NOW | PutOptions.NO_CONTEXT)
    got = [(m.text, m.descriptor.user_identifier, m.descriptor.put_appl_name) for m in drain(app.open("OUT", IN))]
    assert got == [
        ("all", "CAROL", "payroll"),
        ("identity", "CAROL", "test"),
        ("default", "BOB", "test"),
        ("none", "", ""),
    ]


def test_28_context_is_that_of_an_open_queue_of_the_same_connection(qm, app, other, orders):
    """HA8: what is no such queue is refused where context is to be passed, and not looked at elsewhere."""
    passing = NOW | PutOptions.PASS_ALL_CONTEXT
    mine, theirs, gone = other.open("ORDERS", SAVES), app.open("ORDERS", SAVES), other.open("ORDERS", SAVES)
    for handle in (mine, theirs, gone):
        orders.put("x", None, NOW)
        handle.get(GET_NOW)
    gone.close()
    for context in (theirs, gone, other.open("ORDERS", OUT), 42):
        with fails(Reason.CONTEXT_HANDLE_ERROR):
            mine.put("passed", None, passing, context=context)
        mine.put("own", None, NOW, context=context)
    with fails(Reason.CONTEXT_HANDLE_ERROR):
        other.put1("ORDERS", "passed", None, passing)
    assert ["own"] * 4 == bodies(drain(orders))
    mine.put("passed", None, passing, context=mine)


LONG_NAMES = {"user_identifier": "administrator", "put_appl_name": "a program with a rather long name"}


def test_28_longer_names_than_there_is_room_for_are_passed_and_answered(qm, orders):
    """J5: the queue manager itself said them; what an application sets has the length of the field."""
    user, name = LONG_NAMES.values()
    long = qm.connections.connect(user, name)
    source = long.open("ORDERS", SAVES | OUT | OpenOptions.SET_ALL_CONTEXT | OpenOptions.PASS_ALL_CONTEXT)
    source.put("x", None, NOW)
    got = source.get(GET_NOW).descriptor
    source.put("passed", None, NOW | PutOptions.PASS_ALL_CONTEXT, context=source)
    orders.put("answered", got, NOW)
    assert [(user, name), ("ALICE", "test")] == [
        (m.envelope.user_identifier, m.envelope.put_appl_name) for m in drain(orders)
    ]
    for field, said in LONG_NAMES.items():
        with fails(Reason.MD_ERROR):
            source.put("set", MQMD(**{field: said}), NOW | PutOptions.SET_ALL_CONTEXT)


def test_28_the_time_of_a_put_goes_with_its_context(qm, app):
    """J5, G5: passed or set it is the original's, refused there is none; else it is that of this put."""
    qm.queue("IN")
    every = app.open("IN", SAVES | OpenOptions.SET_ALL_CONTEXT)
    dated = MQMD(put_date="20200229", put_time="23595999")
    every.put("set", dated, NOW | PutOptions.SET_ALL_CONTEXT)
    assert ("20200229", "23595999") == when(every.get(GetOptions.NO_SYNCPOINT))
    every.put("passed", None, NOW | PutOptions.PASS_ALL_CONTEXT, context=every)
    assert ("20200229", "23595999") == when(every.get(GetOptions.BROWSE_FIRST))
    every.get(GetOptions.NO_SYNCPOINT)
    for options, expected in (
        (PutOptions.PASS_ALL_CONTEXT, ("20200229", "23595999")),
        (PutOptions.PASS_IDENTITY_CONTEXT, today(qm)),
        (PutOptions.NO_CONTEXT, ("", "")),
        (PutOptions.NONE, today(qm)),
    ):
        passes = options & (PutOptions.PASS_ALL_CONTEXT | PutOptions.PASS_IDENTITY_CONTEXT)
        sent = every.put("x", dated, NOW | options, context=every if passes else None)
        got = app.get("IN", GetOptions.NO_SYNCPOINT)
        assert [expected, expected] == [when(sent), when(got)], options
    every.put("blank", None, NOW | PutOptions.SET_ALL_CONTEXT)
    assert ("", "") == when(app.get("IN", GetOptions.NO_SYNCPOINT))
    for wrong in ({"put_date": "2020-02-29"}, {"put_time": 7}):
        with fails(Reason.MD_ERROR):
            every.put("x", MQMD(**wrong), NOW | PutOptions.SET_ALL_CONTEXT)


def test_28_a_time_that_was_never_set_is_passed(qm, app):
    """What an application forwards keeps the moment at which it was put first."""
    qm.queue("IN")
    every = app.open("IN", SAVES)
    first = when(every.put("x", None, NOW))
    every.get(GetOptions.NO_SYNCPOINT)
    qm.clock.advance(seconds=90_000)
    forwarded = every.put("x", None, NOW | PutOptions.PASS_ALL_CONTEXT, context=every)
    assert first == when(forwarded) == when(every.get(GetOptions.NO_SYNCPOINT))
    assert first != today(qm)


def test_28_a_report_has_the_time_at_which_it_was_made(qm, app):
    for name in ("IN", "REPLIES"):
        qm.queue(name)
    setter = app.open("IN", OUT | OpenOptions.SET_ALL_CONTEXT)
    asking = MQMD(put_date="20200229", put_time="23595999", report=int(Report.COA), reply_to_q="REPLIES")
    setter.put("x", asking, NOW | PutOptions.SET_ALL_CONTEXT)
    assert today(qm) == when(app.get("REPLIES", GET_NOW))


def test_28_a_report_has_the_identity_of_the_original_and_an_origin_of_its_own(qm, app):
    for name in ("IN", "REPLIES"):
        qm.queue(name)
    setter = app.open("IN", OUT | OpenOptions.SET_ALL_CONTEXT)
    said = MQMD(user_identifier="CAROL", appl_identity_data="desk", put_appl_name="payroll", appl_origin_data="home")
    setter.put("x", replace(said, report=int(Report.COA), reply_to_q="REPLIES"), NOW | PutOptions.SET_ALL_CONTEXT)
    got = app.get("REPLIES", GET_NOW).envelope
    assert ("CAROL", "desk") == (got.user_identifier, got.appl_identity_data)
    assert (APPL_TYPE_QMGR, "QM1", "") == (got.put_appl_type, got.put_appl_name, got.appl_origin_data)


def test_28_a_browse_leaves_no_context(qm, app):
    """GE8."""
    qm.queue("IN")
    every = app.open("IN", SAVES)
    for _ in range(2):
        every.put("x", None, NOW)
    every.get(GetOptions.NO_SYNCPOINT)
    every.get(GetOptions.BROWSE_FIRST)
    with fails(Reason.CONTEXT_NOT_AVAILABLE):
        every.put("y", None, NOW | PutOptions.PASS_ALL_CONTEXT, context=every)


def when(message):
    return message.descriptor.put_date, message.descriptor.put_time


def today(qm):
    """Date and time of a put now."""
    now = datetime.fromtimestamp(qm.clock.now_us() / 1_000_000, UTC)
    return now.strftime("%Y%m%d"), now.strftime("%H%M%S00")


@pytest.mark.parametrize(
    ("share", "exclusive_default", "first", "second", "allowed"),
    [
        (True, False, OpenOptions.INPUT_SHARED, OpenOptions.INPUT_SHARED, True),
        (True, False, OpenOptions.INPUT_SHARED, OpenOptions.INPUT_EXCLUSIVE, False),
        (True, False, OpenOptions.INPUT_EXCLUSIVE, OpenOptions.INPUT_SHARED, False),
        (True, False, OpenOptions.INPUT_AS_Q_DEF, OpenOptions.INPUT_AS_Q_DEF, True),
        (True, True, OpenOptions.INPUT_AS_Q_DEF, OpenOptions.INPUT_SHARED, False),
        (False, False, OpenOptions.INPUT_SHARED, OpenOptions.INPUT_SHARED, False),
        (False, True, OpenOptions.INPUT_SHARED, OpenOptions.BROWSE, True),
        (True, True, OpenOptions.INPUT_EXCLUSIVE, OpenOptions.OUTPUT, True),
    ],
)
def test_29_shared_and_exclusive_input(qm, app, other, share, exclusive_default, first, second, allowed):
    qm.queue("Q", share=share, def_exclusive=exclusive_default)
    handle = app.open("Q", first)
    if allowed:
        other.open("Q", second).close()
    else:
        with fails(Reason.OBJECT_IN_USE):
            other.open("Q", second)
    handle.close()
    other.open("Q", second)


def test_29_zos_defaults_are_exclusive_and_not_shared(app, other):
    app.define(LocalQueue("Q"))
    app.open("Q")
    with fails(Reason.OBJECT_IN_USE):
        other.open("Q", IN)
