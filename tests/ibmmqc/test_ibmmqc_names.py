"""Names in object descriptors, and what an open object says of itself."""

import pytest
from programs_of_ibm import reason_of

import ibmmqc
import quaestor
from quaestor.mqi.objects import AliasQueue, LocalQueue, Namelist, RemoteQueue

mq = pytest.importorskip("ibmmq", reason="IBM's package is not installed")
CMQC = mq.CMQC
LOOK, OUT = CMQC.MQOO_INQUIRE, CMQC.MQOO_OUTPUT


@pytest.fixture
def defined(qmgr, tmp_path):
    """An alias, a queue elsewhere, and a namelist; the queue manager that has them."""
    with quaestor.connect("QM1", tmp_path / "QM1") as admin:
        admin.define(AliasQueue("AL", target="ORDERS", descr="another name"))
        admin.define(LocalQueue("XQ", xmit=True))
        admin.define(RemoteQueue("REM", remote_name="THERE", remote_qmgr="QM2", xmit_queue="XQ"))
        admin.define(Namelist("LIST", descr="names", names=("A", "B")))
        yield qmgr


def text(field):
    return field.decode().rstrip(" \0")


@pytest.mark.parametrize(
    ("name", "queue_type", "described"),
    [
        ("ORDERS", CMQC.MQQT_LOCAL, "what is wanted"),
        ("AL", CMQC.MQQT_ALIAS, "another name"),
        ("REM", CMQC.MQQT_REMOTE, ""),
    ],
)
def test_a_queue_is_what_was_opened(defined, name, queue_type, described):
    """AT4."""
    queue = mq.Queue(defined, name, LOOK)
    told = queue.inquire([CMQC.MQIA_Q_TYPE, CMQC.MQCA_Q_NAME, CMQC.MQCA_Q_DESC])
    assert (queue_type, name, described) == (
        told[CMQC.MQIA_Q_TYPE], text(told[CMQC.MQCA_Q_NAME]), text(told[CMQC.MQCA_Q_DESC])
    )  # fmt: skip
    queue.close()


def test_a_dynamic_queue_is_itself_and_not_its_model(defined):
    descriptor = mq.OD(ObjectName=b"REPLIES.MODEL", DynamicQName=b"MINE.*")
    queue = mq.Queue(defined, descriptor, CMQC.MQOO_INPUT_EXCLUSIVE | LOOK)
    name = text(descriptor.ObjectName)
    assert name.startswith("MINE.")
    assert (CMQC.MQQT_LOCAL, name) == (queue.inquire(CMQC.MQIA_Q_TYPE), text(queue.inquire(CMQC.MQCA_Q_NAME)))
    assert CMQC.MQQDT_TEMPORARY_DYNAMIC == queue.inquire(CMQC.MQIA_DEFINITION_TYPE)
    assert (name, "QM1") == (text(descriptor.ResolvedQName), text(descriptor.ResolvedQMgrName))
    queue.close()


def test_a_dynamic_queue_with_a_name_of_its_own(defined):
    descriptor = mq.OD(ObjectName=b"REPLIES.MODEL", DynamicQName=b"ANSWERS")
    mq.Queue(defined, descriptor, CMQC.MQOO_INPUT_EXCLUSIVE).close()
    assert "ANSWERS" == text(descriptor.ObjectName)


@pytest.mark.parametrize(("name", "resolved"), [("ORDERS", "ORDERS"), ("AL", "ORDERS"), ("REM", "XQ")])
def test_a_descriptor_can_be_used_to_open_again(defined, name, resolved):
    """BO7: else the second handle would put to the transmission queue itself, past the alias, past its authority."""
    descriptor = mq.OD(ObjectName=name.encode())
    for _ in range(2):
        mq.Queue(defined, descriptor, OUT).close()
        assert (name, resolved, "QM1") == (
            text(descriptor.ObjectName), text(descriptor.ResolvedQName), text(descriptor.ResolvedQMgrName)
        )  # fmt: skip


def test_a_message_put_with_a_descriptor_used_again_goes_the_same_way(defined, tmp_path):
    descriptor = mq.OD(ObjectName=b"REM")
    for body in (b"first", b"second"):
        queue = mq.Queue(defined, descriptor, OUT)
        queue.put(body)
        queue.close()
    with quaestor.connect("QM1", tmp_path / "QM1") as app, app.open("XQ") as waiting:
        headers = [quaestor.mqi.headers.MQXQH.unpack(waiting.get().body) for _ in range(2)]
    assert [("THERE", "QM2", b"first"), ("THERE", "QM2", b"second")] == [
        (header.remote_q_name, header.remote_qmgr_name, body) for header, body in headers
    ]


def test_what_is_no_queue_has_no_name_resolved(defined):
    hobj, packed, *codes = ibmmqc.MQOPEN(
        defined.get_handle(), mq.OD(ObjectType=CMQC.MQOT_NAMELIST, ObjectName=b"LIST").pack(), LOOK
    )
    assert [0, 0] == codes
    descriptor = mq.OD().unpack(packed)
    assert ("LIST", "", "") == (
        text(descriptor.ObjectName), text(descriptor.ResolvedQName), text(descriptor.ResolvedQMgrName)
    )  # fmt: skip
    _, found, *codes = ibmmqc.MQINQ(defined.get_handle(), hobj, [2010, 2009], [], 0, 2, 48 + 64)
    assert [0, 0, "LIST", "names"] == [*codes, text(found[:48]), text(found[48:])]
    assert (0, 0) == ibmmqc.MQCLOSE(defined.get_handle(), hobj, 0)


@pytest.mark.parametrize(
    ("selector", "of_queue", "of_manager"),
    [
        ("MQCA_Q_MGR_NAME", 2068, 0),
        ("MQCA_Q_NAME", 0, 2068),
        ("MQIA_COMMAND_LEVEL", 2068, 0),
        ("MQIA_Q_TYPE", 0, 2068),
        ("MQIA_MAX_Q_DEPTH", 0, 2068),
        ("MQIA_TRIGGER_INTERVAL", 2068, 0),
        ("MQIA_MAX_MSG_LENGTH", 0, 0),
        ("MQIA_BASE_TYPE", 2067, 2067),
    ],
)
def test_each_object_answers_for_its_type(qmgr, orders, selector, of_queue, of_manager):
    number = getattr(CMQC, selector)
    for inquire, reason in ((orders.inquire, of_queue), (qmgr.inquire, of_manager)):
        if reason:
            assert reason == reason_of(inquire, number)
        else:
            inquire(number)


@pytest.mark.parametrize("name", [b"\xff\xfe", b"A" * 60, b"", b".", b"..", b"A/B", b"A B"])
def test_a_name_that_no_queue_manager_can_have(tmp_path, monkeypatch, name):
    """CA1: it is an answer; and nothing is made for it, here or above."""
    monkeypatch.setenv("QUAESTOR_EMBEDDED", str(tmp_path / "inner"))
    assert (-1, 2, CMQC.MQRC_Q_MGR_NAME_ERROR) == ibmmqc.MQCONN(name)
    assert [] == [path for path in tmp_path.rglob("*") if path.is_file()]


# --- puts without a response -----------------------------------------------------------------------------------------


def put_quietly(queue, **said):
    queue.put(b"x", mq.MD(**said), mq.PMO(Options=CMQC.MQPMO_ASYNC_RESPONSE))


def counted(qmgr):
    told = qmgr.stat(CMQC.MQSTAT_TYPE_ASYNC_ERROR)
    told = told if isinstance(told, mq.STS) else mq.STS().unpack(told)
    return (
        (told.PutSuccessCount, told.PutWarningCount, told.PutFailureCount),
        (told.CompCode, told.Reason),
        text(told.ObjectName),
    )


def test_a_put_without_a_response_that_warns_is_counted(qmgr, orders):
    put_quietly(orders, Priority=3)
    put_quietly(orders, Priority=12)
    assert ((1, 1, 0), (1, CMQC.MQRC_PRIORITY_EXCEEDS_MAXIMUM)) == counted(qmgr)[:2]
    assert ((0, 0, 0), (0, 0), "") == counted(qmgr), "asking begins anew"


def test_the_first_failure_is_told_rather_than_a_warning_before_it(qmgr, orders):
    put_quietly(orders, Priority=12)
    put_quietly(orders, Priority=-5)
    put_quietly(orders, Expiry=0)
    put_quietly(orders, Priority=12)
    assert ((0, 2, 2), (2, CMQC.MQRC_PRIORITY_ERROR)) == counted(qmgr)[:2]


def test_other_kinds_of_status(qmgr):
    blank = mq.STS().pack()
    hconn = qmgr.get_handle()
    assert (blank, 0, 0) == ibmmqc.MQSTAT(hconn, CMQC.MQSTAT_TYPE_RECONNECTION, blank)
    assert (blank, 0, 0) == ibmmqc.MQSTAT(hconn, CMQC.MQSTAT_TYPE_RECONNECTION_ERROR, blank)
    for kind in (-1, 3, 99):
        assert (blank, 2, CMQC.MQRC_STAT_TYPE_ERROR) == ibmmqc.MQSTAT(hconn, kind, blank)
    assert (blank, 2, CMQC.MQRC_HCONN_ERROR) == ibmmqc.MQSTAT(-7, 0, blank)


# --- properties ------------------------------------------------------------------------------------------------------


@pytest.fixture
def properties(qmgr):
    made = mq.MessageHandle(qmgr)
    for name in ("a", "b", "c"):
        made.properties.set(name, name.upper())
    return made.properties


def test_a_property_is_deleted_by_its_name_or_under_the_cursor(properties):
    under = mq.DMPO(Options=CMQC.MQDMPO_DEL_PROP_UNDER_CURSOR)
    assert CMQC.MQRC_PROPERTY_NOT_AVAILABLE == reason_of(properties.dlt, "", under)
    properties.get("b")
    properties.dlt("", under)
    assert CMQC.MQRC_PROPERTY_NOT_AVAILABLE == reason_of(properties.dlt, "", under)
    with pytest.raises(mq.MQMIError) as warned:
        properties.dlt("b")
    assert (CMQC.MQCC_WARNING, CMQC.MQRC_PROPERTY_NOT_AVAILABLE) == (warned.value.comp, warned.value.reason)
    properties.dlt("c")
    assert ("A", "a") == tuple(map(str, properties.get("%")))


def test_a_property_is_inquired_under_the_cursor(properties):
    again = CMQC.MQIMPO_INQ_PROP_UNDER_CURSOR
    assert CMQC.MQRC_PROPERTY_NOT_AVAILABLE == reason_of(properties.get, "%", impo_options=again)
    properties.get("%")
    properties.get("%", impo_options=CMQC.MQIMPO_INQ_NEXT)
    assert ("B", "b") == tuple(map(str, properties.get("%", impo_options=again)))


def test_a_property_that_cannot_be_is_refused(properties):
    assert CMQC.MQRC_BUFFER_ERROR == reason_of(properties.set, "n", 300, property_type=CMQC.MQTYPE_INT8)
    assert CMQC.MQRC_BUFFER_ERROR == reason_of(properties.set, "n", "\x01")
    assert CMQC.MQRC_PROPERTY_TYPE_ERROR == reason_of(properties.set, "n", "x", property_type=3)
    assert CMQC.MQRC_PROPERTY_NAME_ERROR == reason_of(properties.set, "n n", "x")
    assert CMQC.MQRC_PROPERTY_NOT_AVAILABLE == reason_of(properties.get, "n")


@pytest.mark.parametrize(
    "call",
    [
        lambda: ibmmqc.MQDLTMH(0, 999_999, b""),
        lambda: ibmmqc.MQSETMP(0, 999_999, b"", b"a", b"", CMQC.MQTYPE_STRING, "x", -1),
        lambda: ibmmqc.MQINQMP(0, 999_999, b"", b"a", b"", 0, 10)[-2:],
        lambda: ibmmqc.MQDLTMP(0, 999_999, b"", b"a"),
    ],
)
def test_a_message_handle_that_is_none(call):
    assert (2, CMQC.MQRC_HMSG_ERROR) == call()


def test_a_value_that_is_longer_than_its_room_says_how_long_it_is(properties):
    properties.set("long", "x" * 100)
    with pytest.raises(mq.MQMIError) as refused:
        properties.get("long", max_value_length=10)
    assert (CMQC.MQRC_PROPERTY_VALUE_TOO_BIG, 100) == (refused.value.reason, refused.value.data_length)
    assert "x" * 100 == properties.get("long", max_value_length=100)
