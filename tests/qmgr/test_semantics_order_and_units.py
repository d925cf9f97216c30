"""Semantics 1 to 12 of the MQI: order, defaults, syncpoint, backout, depth, limits."""

import gc

import pytest

from model.answers import bodies, drain, fails, warns
from qmgr.small import EVERYTHING
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.headers import MQDLH
from quaestor.mqi.objects import AliasQueue, LocalQueue, Process, QueueManagerAttributes, TriggerType
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import Reason
from quaestor.mqi.reports import Report

NOW = PutOptions.NO_SYNCPOINT


def put(handle, body, options=NOW, **described):
    return handle.put(body, MQMD(**described), options)


def test_01_highest_priority_first_and_in_order_of_arrival_within(orders):
    for body, priority in [("a1", 1), ("b5", 5), ("c1", 1), ("d9", 9), ("e5", 5)]:
        put(orders, body, priority=priority)
    assert ["d9", "b5", "e5", "a1", "c1"] == bodies(drain(orders))


def test_01_fifo_ignores_priority_but_keeps_it_in_the_descriptor(qm, app):
    qm.queue("FIFO", fifo=True, def_priority=3)
    queue = app.open("FIFO", EVERYTHING)
    for body, priority in [("first", 1), ("second", 9), ("third", 4)]:
        put(queue, body, priority=priority)
    got = drain(queue)
    assert ["first", "second", "third"] == bodies(got)
    assert [1, 9, 4] == [message.descriptor.priority for message in got]


def test_01_position_is_fixed_at_arrival(qm, app, orders):
    put(orders, "low", priority=0)
    app.alter(LocalQueue, "ORDERS", fifo=True, def_priority=5)
    put(orders, "arrived under FIFO", priority=0)
    app.alter(LocalQueue, "ORDERS", fifo=False)
    put(orders, "four", priority=4)
    assert ["arrived under FIFO", "four", "low"] == bodies(drain(orders))


def test_01_priority_above_the_maximum_warns_and_queues_at_the_maximum(app, orders):
    put(orders, "nine", priority=9)
    put(orders, "twelve", priority=12)
    assert warns(app, Reason.PRIORITY_EXCEEDS_MAXIMUM)
    got = drain(orders)
    assert ["nine", "twelve"] == bodies(got)
    assert got[1].descriptor.priority == 12


@pytest.mark.parametrize("priority", [-2, -100])
def test_01_a_priority_below_as_queue_says_is_refused(orders, priority):
    with fails(Reason.PRIORITY_ERROR):
        put(orders, "x", priority=priority)


def test_02_defaults_come_from_the_first_definition_of_the_path(qm, app):
    qm.queue("BASE", def_priority=2, def_persistent=False)
    app.define(AliasQueue("FRONT", target="BASE", def_priority=7, def_persistent=True))
    for name, priority, persistence in [("BASE", 2, 0), ("FRONT", 7, 1)]:
        put(app.open(name, OpenOptions.OUTPUT), name)
        message = app.get("BASE", GetOptions.NO_SYNCPOINT)
        assert (priority, persistence) == (message.descriptor.priority, message.descriptor.persistence)


def test_02_defaults_are_those_in_force_at_the_put(app, orders):
    app.alter(LocalQueue, "ORDERS", def_priority=6)
    put(orders, "x")
    assert orders.get().priority == 6


def test_03_put_in_syncpoint_is_invisible_until_commit(app, other, orders):
    elsewhere = other.open("ORDERS", EVERYTHING)
    orders.put("x")
    with fails(Reason.NO_MSG_AVAILABLE):
        elsewhere.get()
    with fails(Reason.NO_MSG_AVAILABLE):
        elsewhere.browse()
    app.commit()
    assert elsewhere.get().text == "x"


def test_03_backout_removes_what_was_put(app, orders):
    orders.put("x")
    app.backout()
    assert [] == drain(orders)
    assert orders.inquire("CURDEPTH") == {"CURDEPTH": 0}


WAYS_TO_PUT = {
    "put": lambda _app, handle: handle.put("x"),
    "put many": lambda _app, handle: handle.put_all(["x"]),
    "put1": lambda app, _handle: app.put1("ORDERS", "x"),
}


@pytest.mark.parametrize("way", WAYS_TO_PUT.values(), ids=WAYS_TO_PUT)
@pytest.mark.parametrize("end", ["commit", "backout", "disconnect", "abandon"])
def test_03_the_end_of_the_unit_decides(app, other, orders, way, end):
    """Row 6 too: without an option each of them is in syncpoint."""
    way(app, orders)
    elsewhere = other.open("ORDERS", EVERYTHING)
    with fails(Reason.NO_MSG_AVAILABLE):
        elsewhere.browse()
    assert {"CURDEPTH": 1} == elsewhere.inquire("CURDEPTH")
    getattr(app, end)()
    assert (["x"] if end in {"commit", "disconnect"} else []) == bodies(drain(elsewhere))


@pytest.mark.parametrize("options", [GetOptions.SYNCPOINT, GetOptions.NO_SYNCPOINT, GetOptions.BROWSE_FIRST])
def test_04_the_putter_does_not_get_its_own_uncommitted_message(app, orders, options):
    """By no handle, by no identifier, in no mode; when it has committed, it does."""
    put = orders.put("x")
    another = app.open("ORDERS", EVERYTHING)
    for handle in (orders, another):
        with fails(Reason.NO_MSG_AVAILABLE):
            handle.get(options)
        with fails(Reason.NO_MSG_AVAILABLE):
            handle.get(options, msg_id=put.msg_id)
    app.commit()
    assert "x" == another.get(options, msg_id=put.msg_id).text


def test_05_get_in_syncpoint_hides_the_message_and_backout_restores_it_in_place(app, other, orders):
    for body in ("one", "two"):
        put(orders, body)
    elsewhere = other.open("ORDERS", EVERYTHING)
    assert orders.get().text == "one"
    assert elsewhere.browse(GetOptions.BROWSE_FIRST).text == "two"
    app.backout()
    assert ["one", "two"] == bodies(drain(elsewhere))


def test_05_each_backout_counts_and_browsing_does_not(app, orders):
    put(orders, "x")
    for count in range(3):
        orders.browse(GetOptions.BROWSE_FIRST)
        assert orders.get().descriptor.backout_count == count
        app.backout()
    assert orders.get(GetOptions.NO_SYNCPOINT).backout_count == 3


def test_05_the_count_stops_at_255(app, orders):
    put(orders, "x")
    for _ in range(260):
        orders.get()
        app.backout()
    assert orders.get().backout_count == 255


def test_06_no_syncpoint_option_means_in_syncpoint(app, orders):
    orders.put("x")
    app.backout()
    put(orders, "y")
    assert orders.get().text == "y"
    app.backout()
    assert ["y"] == bodies(drain(orders))


def test_06_syncpoint_if_persistent_looks_at_the_message(app, orders):
    put(orders, "lost", persistence=0)
    put(orders, "kept", persistence=1)
    for body in ("lost", "kept"):
        assert orders.get(GetOptions.SYNCPOINT_IF_PERSISTENT).text == body
    app.backout()
    assert ["kept"] == bodies(drain(orders))


def test_08_the_application_moves_what_was_backed_out_too_often(qm, app):
    """In one unit with its get, under a header that says why (2362); what it was and who put it goes with it."""
    qm.queue("REJECTS")
    qm.queue("WORK", backout_threshold=2, backout_queue="REJECTS")
    ways = EVERYTHING | OpenOptions.SAVE_ALL_CONTEXT
    work, rejects = app.open("WORK", ways), app.open("REJECTS", EVERYTHING | OpenOptions.PASS_ALL_CONTEXT)
    put(work, "poison", format="PAYROLL")
    limits = work.inquire("BOTHRESH", "BOQNAME")
    while (got := work.get()).backout_count < limits["BOTHRESH"]:
        app.backout()
    header = MQDLH(int(Reason.BACKOUT_THRESHOLD_REACHED), "WORK", "QM1", format=got.envelope.format)
    rejects.put(header.pack() + got.body, MQMD(format="MQDEAD"), PutOptions.PASS_ALL_CONTEXT, context=work)
    app.commit()
    (moved,) = drain(rejects)
    told, body = MQDLH.unpack(moved.body)
    assert (2362, "WORK", "PAYROLL", b"poison") == (told.reason, told.dest_q_name, told.format, body)
    assert got.envelope.user_identifier == moved.envelope.user_identifier
    assert [] == drain(work)


def test_08_the_queue_manager_does_nothing_at_the_backout_threshold(qm, app):
    qm.queue("REJECTS")
    qm.queue("WORK", backout_threshold=1, backout_queue="REJECTS")
    work = app.open("WORK", EVERYTHING)
    put(work, "x")
    for _ in range(5):
        assert work.get().text == "x"
        app.backout()
    assert work.inquire("CURDEPTH", "BOTHRESH", "BOQNAME") == {"CURDEPTH": 1, "BOTHRESH": 1, "BOQNAME": "REJECTS"}


def test_09_disconnecting_commits(qm, other, orders, app):
    orders.put("x")
    app.disconnect()
    assert other.get("ORDERS").text == "x"


def test_09_ending_without_disconnecting_backs_out(qm, other):
    qm.queue("ORDERS")

    def application():
        with qm.connect() as app:
            app.put1("ORDERS", "x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        application()
    with fails(Reason.NO_MSG_AVAILABLE):
        other.get("ORDERS")


def test_09_an_application_that_is_simply_gone_is_backed_out(qm, other):
    qm.queue("ORDERS", share=False)
    app = qm.connect()
    handle = app.open("ORDERS", EVERYTHING)
    handle.put("x")
    del app, handle
    gc.collect()
    qm.connect()  # whoever comes next finds it cleaned up
    assert other.open("ORDERS", EVERYTHING).inquire("CURDEPTH", "IPPROCS") == {"CURDEPTH": 0, "IPPROCS": 1}


def test_09_stopping_the_queue_manager_backs_out(qm, app, orders):
    orders.put("x")
    qm.connections.stop()
    assert qm.messages.catalogue.state("ORDERS").stored.depth == 0
    with fails(Reason.CONNECTION_BROKEN):
        app.commit()


def test_10_depth_counts_uncommitted_puts_and_not_uncommitted_gets(app, orders):
    def depth():
        return orders.inquire("CURDEPTH")["CURDEPTH"]

    orders.put("x")
    assert depth() == 1
    app.commit()
    orders.get()
    assert depth() == 0
    app.backout()
    assert depth() == 1


def test_10_full_is_2053_and_backout_may_exceed_the_maximum(qm, app, other):
    qm.queue("SMALL", max_depth=2)
    small = app.open("SMALL", EVERYTHING)
    for body in ("1", "2"):
        put(small, body)
    with fails(Reason.Q_FULL) as caught:
        put(small, "3")
    assert caught.value.facts == {"queue": "SMALL", "depth": 2}
    small.get()
    other.put1("SMALL", "3", options=NOW)
    app.backout()
    assert small.inquire("CURDEPTH") == {"CURDEPTH": 3}


def test_10_expired_messages_count_until_they_are_discarded(qm, orders):
    put(orders, "x", expiry=10)
    qm.clock.advance(seconds=2)
    assert orders.inquire("CURDEPTH") == {"CURDEPTH": 1}
    with fails(Reason.NO_MSG_AVAILABLE):
        orders.get()
    assert orders.inquire("CURDEPTH") == {"CURDEPTH": 0}


MARKED = GetOptions.SYNCPOINT | GetOptions.MARK_SKIP_BACKOUT


@pytest.mark.parametrize("persistence", [0, 1])
def test_11_a_marked_get_stays_out_of_the_backout(app, orders, persistence):
    """The papers' use: a message that cannot be processed is reported, and not processed again."""
    for body in ("bad", "other"):
        put(orders, body, persistence=persistence)
    assert "bad" == orders.get(MARKED).text
    orders.get()
    orders.put("half done")
    app.backout()
    orders.put("report")
    app.commit()
    assert ["other", "report"] == bodies(drain(orders))


@pytest.mark.parametrize("persistence", [0, 1])
def test_11_the_second_backout_brings_a_marked_message_back_counted_once(app, orders, persistence):
    put(orders, "bad", persistence=persistence)
    orders.get(MARKED)
    app.backout()
    assert 0 == orders.inquire("CURDEPTH")["CURDEPTH"]
    app.backout()
    assert 1 == orders.get().backout_count


def test_11_one_get_of_a_unit_is_marked(app, orders):
    for body in ("one", "two", "three"):
        put(orders, body)
    orders.get(MARKED)
    with fails(Reason.SECOND_MARK_NOT_ALLOWED):
        orders.get(MARKED)
    app.commit()
    assert "two" == orders.get(MARKED).text
    app.backout()
    assert "three" == orders.get(MARKED).text  # in a unit of its own, another may be marked
    app.backout()
    assert "two" == orders.get(GetOptions.NO_SYNCPOINT).text


@pytest.mark.parametrize("other", [GetOptions.NO_SYNCPOINT, GetOptions.SYNCPOINT_IF_PERSISTENT, GetOptions.BROWSE_NEXT])
def test_11_only_a_get_in_syncpoint_is_marked(orders, other):
    with fails(Reason.OPTIONS_ERROR):
        orders.get(GetOptions.MARK_SKIP_BACKOUT | other)


def test_12_puts_and_gets_of_one_unit_are_limited(qm, app, orders):
    app.alter(QueueManagerAttributes, max_uncommitted=3)
    put(orders, "ready")
    orders.put("1")
    orders.put("2")
    orders.get()
    with fails(Reason.SYNCPOINT_LIMIT_REACHED):
        orders.put("4")
    with fails(Reason.SYNCPOINT_LIMIT_REACHED):
        put(orders, "ready too")
        orders.get()
    app.commit()
    orders.put("now there is room")


@pytest.mark.parametrize("there", [0, 1])
def test_12_a_report_of_arrival_counts_before_it_is_put(qm, app, orders, there):
    """The put that asks for it is refused as a whole."""
    qm.queue("REPLIES")
    app.alter(QueueManagerAttributes, max_uncommitted=there + 1)
    for _ in range(there):
        orders.put("before")
    with fails(Reason.SYNCPOINT_LIMIT_REACHED):
        orders.put("x", MQMD(report=Report.COA, reply_to_q="REPLIES"))
    orders.put("without a report there is room")
    app.commit()
    assert there + 1 == orders.inquire("CURDEPTH")["CURDEPTH"]
    app.alter(QueueManagerAttributes, max_uncommitted=2)
    orders.put("x", MQMD(report=Report.COA, reply_to_q="REPLIES"))
    with fails(Reason.SYNCPOINT_LIMIT_REACHED):
        orders.put("the third")


def test_12_a_report_of_delivery_counts_before_it_is_put(qm, app, indexed):
    """The message stays where it is; one that asks for no report is got."""
    qm.queue("REPLIES")
    put(indexed, "x", report=Report.COD, reply_to_q="REPLIES")
    app.alter(QueueManagerAttributes, max_uncommitted=1)
    with fails(Reason.SYNCPOINT_LIMIT_REACHED):
        indexed.get()
    indexed.put("there is room for one")
    app.backout()
    put(indexed, "y", correl_id=b"Y")
    assert "y" == indexed.get(correl_id=b"Y").text
    app.backout()
    app.alter(QueueManagerAttributes, max_uncommitted=2)
    assert "x" == indexed.get().text
    app.commit()
    assert 1 == len(drain(app.open("REPLIES", EVERYTHING)))


@pytest.fixture
def triggered(qm, app):
    """A queue each message of which is a trigger event; the queue that its trigger messages come to."""
    qm.queue("INIT")
    app.define(Process("BILLING"))
    qm.queue("WORK", trigger=True, trigger_type=TriggerType.EVERY, process="BILLING", initiation_queue="INIT")
    return app.open("WORK", EVERYTHING), app.open("INIT", EVERYTHING)


def test_12_a_trigger_message_counts_before_its_event(app, orders, triggered):
    """It waits for the end of the unit; the put that would make it is refused as a whole."""
    work, initiation = triggered
    app.alter(QueueManagerAttributes, max_uncommitted=3)
    work.put("1")
    with fails(Reason.SYNCPOINT_LIMIT_REACHED):
        work.put("2")
    orders.put("3")
    for handle in (work, orders):
        with fails(Reason.SYNCPOINT_LIMIT_REACHED):
            handle.put("4")
    app.commit()
    assert (1, 1, 1) == tuple(len(drain(handle)) for handle in (work, orders, initiation))


@pytest.mark.parametrize(("limit", "put"), [(3, 1), (4, 2)])
def test_12_trigger_messages_count_where_many_are_put(app, orders, triggered, limit, put):
    """NA4: as many as if they were put one by one."""
    work, initiation = triggered
    app.alter(QueueManagerAttributes, max_uncommitted=limit)
    work.put("an event")
    with fails(Reason.SYNCPOINT_LIMIT_REACHED) as refused:
        orders.put_all(["x"] * 5)
    assert put == refused.value.facts["put"]
    app.commit()
    assert 1 == len(drain(initiation))


def test_12_a_put_that_is_no_trigger_event_has_room(app, triggered, qm):
    """The last one that there is room for; nobody reads the initiation queue, say."""
    work, initiation = triggered
    initiation.close()
    app.alter(QueueManagerAttributes, max_uncommitted=1)
    work.put("1")
    app.commit()
    assert 1 == len(drain(work))


def test_12_the_end_of_a_unit_makes_room(app, triggered):
    work, initiation = triggered
    app.alter(QueueManagerAttributes, max_uncommitted=2)
    for end in (app.commit, app.backout, app.commit):
        work.put("1")
        end()
    assert (2, 2) == (len(drain(work)), len(drain(initiation)))


def test_12_out_of_syncpoint_a_report_is_not_limited(qm, app, orders):
    qm.queue("REPLIES")
    app.alter(QueueManagerAttributes, max_uncommitted=1)
    for persistence in (0, 1):
        put(orders, "x", report=Report.COA | Report.COD, reply_to_q="REPLIES", persistence=persistence)
        orders.get(GetOptions.NO_SYNCPOINT)
    assert 4 == len(drain(app.open("REPLIES", EVERYTHING)))


def test_12_work_out_of_syncpoint_is_not_limited(app, orders):
    app.alter(QueueManagerAttributes, max_uncommitted=1)
    orders.put("1")
    for _ in range(5):
        put(orders, "x", persistence=1)


def test_a_bad_number_leaves_the_unit_as_it_was(app, orders):
    """Only a connection with a client's name may number its units; the work can still be ended."""
    put(orders, "old")
    orders.get()
    orders.put("new")
    with fails(Reason.UOW_NOT_AVAILABLE):
        app.commit(1)
    app.backout()
    assert ["old"] == bodies(drain(orders))
