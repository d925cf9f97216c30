"""Semantics 30 to 36: inhibits, lengths, truncation, handles, identifiers; inquire and set."""

import pytest

from model.answers import bodies, drain, fails, warns
from qmgr.small import EVERYTHING
from quaestor.mqi.descriptors import MQMD, NO_ID, Target
from quaestor.mqi.objects import (
    AliasQueue,
    IndexType,
    LocalQueue,
    Namelist,
    Process,
    QueueManagerAttributes,
    StorageClass,
    TriggerType,
)
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import CompCode, Reason
from quaestor.mqi.reports import Report

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT
OUT, IN = OpenOptions.OUTPUT, OpenOptions.INPUT_SHARED
INQUIRE = OpenOptions.INQUIRE


def test_30_setting_by_an_alias_sets_the_alias(qm, app, orders):
    """As inquiring asks the alias; the queue goes on for those who name it."""
    app.define(AliasQueue("FRONT", target="ORDERS"))
    front = app.open("FRONT", EVERYTHING)
    front.set(PUT="DISABLED", GET="DISABLED")
    assert front.inquire("PUT", "GET") == {"PUT": False, "GET": False}
    assert orders.inquire("PUT", "GET") == {"PUT": True, "GET": True}
    with fails(Reason.PUT_INHIBITED):
        front.put("x", None, NOW)
    orders.put("x", None, NOW)
    with fails(Reason.GET_INHIBITED):
        front.get(GET_NOW)
    with fails(Reason.SELECTOR_NOT_FOR_TYPE):
        front.set(TRIGDPTH=5)
    with fails(Reason.INHIBIT_VALUE_ERROR):
        front.set(PUT="SOMETIMES")


def test_30_inhibited_on_any_definition_of_the_path(qm, app, orders):
    app.define(AliasQueue("FRONT", target="ORDERS"))
    front = app.open("FRONT", EVERYTHING)
    front.put("x", None, NOW)
    app.alter(AliasQueue, "FRONT", put_allowed=False, get_allowed=False)
    with fails(Reason.PUT_INHIBITED):
        front.put("x")
    with fails(Reason.PUT_INHIBITED):
        app.put1("FRONT", "x")
    with fails(Reason.GET_INHIBITED):
        front.get()
    assert orders.get().text == "x"
    app.alter(AliasQueue, "FRONT", put_allowed=True, get_allowed=True)
    orders.set(PUT="DISABLED", GET=False)
    with fails(Reason.PUT_INHIBITED):
        front.put("x")
    with fails(Reason.GET_INHIBITED):
        front.browse()


def test_31_longer_than_the_queue_or_the_queue_manager_allows(qm, app):
    qm.queue("SHORT", max_msg_length=10)
    qm.queue("LONG", max_msg_length=104857600)
    app.alter(QueueManagerAttributes, max_msg_length=40000)
    short, long = app.open("SHORT", EVERYTHING), app.open("LONG", EVERYTHING)
    short.put(bytes(10))
    with fails(Reason.MSG_TOO_BIG_FOR_Q) as caught:
        short.put(bytes(11))
    assert caught.value.facts == {"queue": "SHORT", "length": 11, "max_length": 10}
    long.put(bytes(40000))
    for handle in (short, long):
        with fails(Reason.MSG_TOO_BIG_FOR_Q_MGR):
            handle.put(bytes(40001))


def test_32_too_long_for_the_buffer_stays(orders):
    orders.put("0123456789", None, NOW)
    for options in (GetOptions.NONE, GetOptions.BROWSE_FIRST):
        with fails(Reason.TRUNCATED_MSG_FAILED, CompCode.WARNING) as caught:
            orders.get(options, max_length=4)
        assert (b"0123", 10) == (caught.value.facts["message"].body, caught.value.facts["length"])
    assert orders.inquire("CURDEPTH") == {"CURDEPTH": 1}


def test_32_truncation_accepted_takes_it(app, orders):
    orders.put("0123456789", None, NOW)
    message = orders.get(GET_NOW | GetOptions.ACCEPT_TRUNCATED_MSG, max_length=4)
    assert (b"0123", 10, True) == (message.body, message.original_length, message.truncated)
    assert warns(app, Reason.TRUNCATED_MSG_ACCEPTED)
    assert [] == drain(orders)


def test_32_a_negative_length(orders):
    for more in ({}, {"wait_ms": 0}):
        with fails(Reason.BUFFER_LENGTH_ERROR):
            orders.get(max_length=-1, **more)


def test_34_closed_handles_and_connections(app, orders):
    orders.close()
    orders.close()
    for call in (lambda: orders.put("x"), lambda: orders.put_all([]), orders.get, orders.inquire, orders.set):
        with fails(Reason.HOBJ_ERROR):
            call()
    handle = app.open("ORDERS", EVERYTHING)
    app.disconnect()
    app.disconnect()
    for call in (lambda: handle.put("x"), handle.get, app.commit, app.backout, app.begin, lambda: app.open("ORDERS")):
        with fails(Reason.HCONN_ERROR):
            call()


def test_34_a_warning_is_that_of_the_last_call(app, orders):
    """Whatever the next call is, it has its own warning or none."""
    others = (
        lambda: orders.inquire("CURDEPTH"),
        lambda: app.put1("ORDERS", "long", None, NOW),
        lambda: app.open("ORDERS", OUT),
        lambda: orders.set(PUT="ENABLED"),
        app.inquire,
        app.commit,
        app.backout,
    )
    for other_call in others:
        orders.put("long", None, NOW)
        orders.get(GET_NOW | GetOptions.ACCEPT_TRUNCATED_MSG, max_length=1)
        assert warns(app, Reason.TRUNCATED_MSG_ACCEPTED)
        other_call()
        assert app.warning is None


def test_34_too_many_handles(qm, app):
    qm.queue("ORDERS")
    app.alter(QueueManagerAttributes, max_handles=2)
    first = app.open("ORDERS", OUT)
    app.open("ORDERS", OUT)
    with fails(Reason.HANDLE_NOT_AVAILABLE):
        app.open("ORDERS", OUT)
    first.close()
    app.open("ORDERS", OUT)


def test_34_quiescing_and_stopping(qm, app, orders):
    qm.connections.quiesce()
    orders.put("work goes on")
    for call in (
        lambda: orders.put("x", None, PutOptions.FAIL_IF_QUIESCING),
        lambda: orders.get(GetOptions.FAIL_IF_QUIESCING),
        lambda: app.open("ORDERS", OUT | OpenOptions.FAIL_IF_QUIESCING),
        qm.connect,
    ):
        with fails(Reason.Q_MGR_QUIESCING):
            call()
    app.open("ORDERS", OUT)
    qm.connections.stop()
    for call in (lambda: orders.put("x"), lambda: app.open("ORDERS", OUT), app.commit):
        with fails(Reason.CONNECTION_BROKEN):
            call()
    with fails(Reason.Q_MGR_STOPPING):
        qm.connect()


def test_35_generated_identifiers_say_who_made_them_and_are_never_repeated(qm, orders):
    made = [orders.put("x", None, NOW).msg_id for _ in range(1000)]
    assert {b"CSQ QM1         "} == {identifier[:16] for identifier in made}
    assert (1000, made, {24}) == (len(set(made)), sorted(made), {len(identifier) for identifier in made})


def test_35_new_identifiers_on_request(orders):
    md = MQMD(msg_id=b"M" * 24, correl_id=b"C" * 24)
    kept = orders.put("x", md, NOW)
    made = orders.put("x", md, NOW | PutOptions.NEW_MSG_ID | PutOptions.NEW_CORREL_ID)
    assert (b"M" * 24, b"C" * 24) == (kept.msg_id, kept.correl_id)
    assert not {made.msg_id, made.correl_id} & {b"M" * 24, b"C" * 24, NO_ID}


def test_36_begin_without_participants_warns(app, orders):
    with app.begin():
        assert warns(app, Reason.NO_EXTERNAL_PARTICIPANTS)
        orders.put("x")
        with fails(Reason.UOW_IN_PROGRESS):
            app.begin()
    assert ["x"] == bodies(drain(orders))


def test_36_a_unit_of_work_backs_out_when_an_exception_leaves_it(app, orders):
    def work():
        with app.begin():
            orders.put("x")
            raise KeyError

    with pytest.raises(KeyError):
        work()
    assert [] == drain(orders)


@pytest.mark.parametrize(
    ("described", "reason"),
    [
        ({"msg_type": 3}, Reason.MSG_TYPE_ERROR),
        ({"msg_type": 0}, Reason.MSG_TYPE_ERROR),
        ({"msg_type": 10**9}, Reason.MSG_TYPE_ERROR),
        ({"feedback": -1}, Reason.FEEDBACK_ERROR),
        ({"feedback": 10**9}, Reason.FEEDBACK_ERROR),
        ({"persistence": 3}, Reason.PERSISTENCE_ERROR),
        ({"persistence": -1}, Reason.PERSISTENCE_ERROR),
        ({"msg_id": b"x" * 25}, Reason.MD_ERROR),
        ({"correl_id": "text"}, Reason.MD_ERROR),
        ({"msg_seq_number": 0}, Reason.MSG_SEQ_NUMBER_ERROR),
        ({"offset": 1}, Reason.OFFSET_ERROR),
        ({"priority": "high"}, Reason.MD_ERROR),
        ({"priority": None}, Reason.MD_ERROR),
        ({"priority": 1.5}, Reason.MD_ERROR),
        ({"priority": 1 << 31}, Reason.MD_ERROR),
        ({"expiry": 1.5}, Reason.MD_ERROR),
        ({"expiry": 1 << 31}, Reason.MD_ERROR),
        ({"expiry": 10**14, "persistence": 1}, Reason.MD_ERROR),
        ({"feedback": 1 << 40}, Reason.MD_ERROR),
        ({"format": "TOO LONG FORMAT"}, Reason.MD_ERROR),
        ({"reply_to_q": "X" * 49}, Reason.MD_ERROR),
        ({"reply_to_q": b"BYTES"}, Reason.MD_ERROR),
        ({"accounting_token": "text"}, Reason.MD_ERROR),
        ({"accounting_token": bytes(33)}, Reason.MD_ERROR),
        ({"group_id": b"x" * 25}, Reason.MD_ERROR),
        ({"reply_to_q": "\ud800"}, Reason.MD_ERROR),
        ({"user_identifier": "\ud800"}, Reason.MD_ERROR),
        ({"put_appl_name": "x" * 256}, Reason.MD_ERROR),
    ],
)
def test_bad_descriptors(orders, described, reason):
    with fails(reason):
        orders.put("x", MQMD(**described), NOW)
    assert orders.inquire("CURDEPTH") == {"CURDEPTH": 0}


def test_other_bad_arguments(app, orders):
    for body in (42, "half \ud800"):
        for put in (orders.put, lambda body: app.put1("ORDERS", body), lambda body: orders.put_all(["x", body])):
            with fails(Reason.BUFFER_ERROR):
                put(body)
            app.backout()
    with fails(Reason.MD_ERROR):
        orders.put("x", {"priority": 3})
    for target in (42, Target("ORDERS", alternate_user="\ud800"), Target("ORDERS", alternate_user="x" * 13)):
        with fails(Reason.OD_ERROR):
            app.open(target, OUT | OpenOptions.ALTERNATE_USER_AUTHORITY)
    with fails(Reason.OBJECT_NAME_ERROR):
        app.open("\ud800", OUT)
    with fails(Reason.OBJECT_Q_MGR_NAME_ERROR):
        app.open("ORDERS", OUT, qmgr="\ud800")
    for correl_id in (b"x" * 30, "x" * 24, bytearray(b"x" * 24), 42):
        with fails(Reason.MD_ERROR):
            orders.put("x", correl_id=correl_id)
        with fails(Reason.MATCH_OPTIONS_ERROR):
            orders.get(correl_id=correl_id)
    assert orders.inquire("CURDEPTH") == {"CURDEPTH": 0}


def test_bodies_of_every_kind(app, orders):
    for body in (b"bytes", bytearray(b"bytes"), memoryview(b"bytes")):
        orders.put(body, None, NOW)
        message = orders.get(GET_NOW)
        assert (b"bytes", "", 0) == (message.body, message.envelope.format, message.envelope.ccsid)
    orders.put("Grüße", MQMD(), NOW)
    message = orders.get(GET_NOW)
    assert ("Grüße", "MQSTR", 1208) == (message.text, message.envelope.format, message.envelope.ccsid)


def test_inquire_every_attribute_by_keyword(app, orders):
    everything = orders.inquire()
    assert (0, 999_999_999, True, 1, 1) == tuple(
        everything[keyword] for keyword in ("CURDEPTH", "MAXDEPTH", "PUT", "IPPROCS", "OPPROCS")
    )
    with fails(Reason.SELECTOR_ERROR):
        orders.inquire("COLOUR")
    with fails(Reason.SELECTOR_NOT_FOR_TYPE):
        orders.inquire("RQMNAME")


def test_inquire_an_alias_answers_for_itself(app, orders):
    app.define(AliasQueue("FRONT", target="ORDERS", def_priority=8))
    front = app.open("FRONT", INQUIRE)
    assert front.inquire("TARGET", "DEFPRTY") == {"TARGET": "ORDERS", "DEFPRTY": 8}
    with fails(Reason.SELECTOR_NOT_FOR_TYPE):
        front.inquire("CURDEPTH")


def test_inquire_other_objects(app):
    app.define(Process("RUN", appl_id="serve"))
    app.define(Namelist("NAMES", names=("A", "B")))
    assert app.inquire(Process, "RUN", "APPLICID") == {"APPLICID": "serve"}
    assert app.inquire(Namelist, "NAMES", "NAMES") == {"NAMES": ("A", "B")}
    assert app.inquire(StorageClass, "DEFAULT", "PSID")["PSID"] in {0, 1}
    assert app.inquire()["MAXUMSGS"] == 10_000
    with fails(Reason.UNKNOWN_OBJECT_NAME):
        app.inquire(Process, "NOBODY")


def test_what_is_altered_or_set_is_what_it_is_called(app, orders):
    """A client sends numbers; the queue manager asks for the very kind."""
    app.define(Process("RUN"))
    app.define(LocalQueue("INIT"))
    app.alter(LocalQueue, "ORDERS", index_type=IndexType.GROUPID, process="RUN", initiation_queue="INIT")
    with fails(Reason.NO_MSG_AVAILABLE):
        orders.get(GetOptions.LOGICAL_ORDER)  # 2394 when the index is another
    monitor = app.open("INIT", IN)
    orders.set(TRIGTYPE=TriggerType.EVERY, TRIGGER=True)
    orders.put("x", None, NOW)
    assert len(drain(monitor)) == 1
    app.alter(LocalQueue, "ORDERS", trigger_type=TriggerType.DEPTH, trigger_depth=9)
    orders.put("y", None, NOW)
    assert [] == drain(monitor)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"PUT": "MAYBE"}, Reason.INHIBIT_VALUE_ERROR),
        ({"GET": 3}, Reason.INHIBIT_VALUE_ERROR),
        ({"TRIGGER": "PERHAPS"}, Reason.TRIGGER_CONTROL_ERROR),
        ({"TRIGDPTH": 0}, Reason.TRIGGER_DEPTH_ERROR),
        ({"TRIGMPRI": 10}, Reason.TRIGGER_MSG_PRIORITY_ERR),
        ({"TRIGTYPE": "LAST"}, Reason.TRIGGER_TYPE_ERROR),
        ({"MAXDEPTH": 5}, Reason.SELECTOR_ERROR),
    ],
)
def test_set_refuses_bad_values(orders, values, reason):
    with fails(reason):
        orders.set(**values)


def test_definitions_need_a_storage_class_and_a_free_name(app):
    with fails(Reason.STORAGE_CLASS_ERROR):
        app.define(LocalQueue("Q", storage_class="NONE"))
    app.define(AliasQueue("Q", target="ELSEWHERE"))
    with fails(Reason.OBJECT_ALREADY_EXISTS):
        app.define(LocalQueue("Q"))
    with fails(Reason.OBJECT_ALREADY_EXISTS):
        app.define(LocalQueue("Q"), replace=True)
    app.define(AliasQueue("Q", target="THERE"), replace=True)
    for call in (lambda: app.alter(LocalQueue, "NONE", descr="x"), lambda: app.delete(LocalQueue, "NONE")):
        with fails(Reason.UNKNOWN_OBJECT_NAME):
            call()


def test_a_report_to_a_waiting_getter_does_not_lose_the_report(qm, app, orders):
    """A message that asks for a report is never handed over past the queue."""
    qm.queue("REPLIES")
    orders.put("x", MQMD(report=Report.COA, reply_to_q="REPLIES"), NOW)
    assert len(drain(app.open("REPLIES", IN))) == 1
