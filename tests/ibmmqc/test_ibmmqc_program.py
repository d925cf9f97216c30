"""Programs written for IBM's Python API, unmodified, on a queue manager of ours."""

import threading

import pytest
from programs_of_ibm import reason_of

import ibmmqc
import quaestor
from quaestor import embedded
from quaestor.mqi.messages import encoded
from quaestor.qmgr.queue_manager import QueueManager

mq = pytest.importorskip("ibmmq", reason="IBM's package is not installed")
CMQC = mq.CMQC
IN_SYNCPOINT = CMQC.MQPMO_SYNCPOINT


def test_put_and_get(orders):
    said = mq.MD(Format=CMQC.MQFMT_STRING, Priority=3, ReplyToQ=b"ANSWERS", Persistence=CMQC.MQPER_PERSISTENT)
    orders.put(b"one order", said)
    got = mq.MD()
    assert b"one order" == orders.get(None, got)
    assert (said.MsgId, 3, 1) == (got.MsgId, got.Priority, got.Persistence)
    assert (b"ANSWERS", b"MQSTR") == (got.ReplyToQ.rstrip(), got.Format.rstrip())
    assert CMQC.MQRC_NO_MSG_AVAILABLE == reason_of(orders.get)


def test_a_long_message_is_asked_for_again(orders):
    """The package first asks with a small buffer and learns the length (2080)."""
    orders.put(b"x" * 50_000)
    assert b"x" * 50_000 == orders.get()


def test_a_message_shortened(orders):
    orders.put(b"0123456789")
    assert CMQC.MQRC_TRUNCATED_MSG_FAILED == reason_of(orders.get, 4)
    shortened = mq.GMO(Options=CMQC.MQGMO_ACCEPT_TRUNCATED_MSG)
    with pytest.raises(mq.MQMIError) as warned:
        orders.get(4, mq.MD(), shortened)
    assert (CMQC.MQRC_TRUNCATED_MSG_ACCEPTED, b"0123", 10) == (
        warned.value.reason, warned.value.message, warned.value.original_length
    )  # fmt: skip


def test_commit_and_back_out(qmgr, orders):
    orders.put(b"kept", mq.MD(), mq.PMO(Options=IN_SYNCPOINT))
    qmgr.commit()
    orders.put(b"taken back", mq.MD(), mq.PMO(Options=IN_SYNCPOINT))
    qmgr.backout()
    assert b"kept" == orders.get(None, mq.MD(), mq.GMO(Options=CMQC.MQGMO_SYNCPOINT))
    qmgr.backout()
    again = mq.MD()
    assert b"kept" == orders.get(None, again, mq.GMO(Options=CMQC.MQGMO_SYNCPOINT))
    qmgr.commit()
    assert 1 == again.BackoutCount
    assert CMQC.MQRC_NO_MSG_AVAILABLE == reason_of(orders.get)


def test_without_an_option_a_call_stands_for_itself(qmgr, orders):
    orders.put(b"there at once")
    qmgr.backout()
    assert 1 == orders.inquire(CMQC.MQIA_CURRENT_Q_DEPTH)


def test_browse_then_get_what_is_under_the_cursor(orders):
    for body in (b"1", b"2", b"3"):
        orders.put(body)
    browse = mq.GMO(Options=CMQC.MQGMO_BROWSE_NEXT)
    assert [b"1", b"2"] == [orders.get(None, mq.MD(), browse), orders.get(None, mq.MD(), browse)]
    assert b"2" == orders.get(None, mq.MD(), mq.GMO(Options=CMQC.MQGMO_MSG_UNDER_CURSOR))
    assert [b"1", b"3"] == [orders.get(), orders.get()]


def test_get_by_correlation(orders):
    for at in range(5):
        orders.put(b"%d" % at, mq.MD(CorrelId=b"order-%d" % at))
    wanted = mq.MD(CorrelId=b"order-3".ljust(24, b"\0"))
    assert b"3" == orders.get(None, wanted, mq.GMO(MatchOptions=CMQC.MQMO_MATCH_CORREL_ID))


def test_get_waits(orders):
    threading.Timer(0.2, orders.put, [b"late"]).start()
    assert b"late" == orders.get(None, mq.MD(), mq.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=5000))


def test_request_and_reply_over_a_dynamic_queue(qmgr, orders):
    od = mq.OD(ObjectName=b"REPLIES.MODEL", DynamicQName=b"REPLIES.*")
    replies = mq.Queue(qmgr, od, CMQC.MQOO_INPUT_EXCLUSIVE)
    request = mq.MD(MsgType=CMQC.MQMT_REQUEST, ReplyToQ=od.ObjectName)
    orders.put(b"how many?", request)
    asked = mq.MD()
    orders.get(None, asked)
    qmgr.put1(asked.ReplyToQ.rstrip(), b"seven", mq.MD(CorrelId=asked.MsgId, MsgType=CMQC.MQMT_REPLY))
    wanted = mq.MD(CorrelId=request.MsgId)
    assert b"seven" == replies.get(None, wanted, mq.GMO(MatchOptions=CMQC.MQMO_MATCH_CORREL_ID))
    replies.close()


def test_text_is_converted(orders):
    orders.put(encoded("grün", 1047), mq.MD(Format=CMQC.MQFMT_STRING, CodedCharSetId=1047))
    got = mq.MD(CodedCharSetId=1208)
    assert "grün" == orders.get(None, got, mq.GMO(Options=CMQC.MQGMO_CONVERT)).decode()
    assert 1208 == got.CodedCharSetId


def test_what_cannot_be_converted_comes_as_it_is(orders):
    orders.put(b"\x01\x02", mq.MD(CodedCharSetId=1047))
    with pytest.raises(mq.MQMIError) as warned:
        orders.get(None, mq.MD(CodedCharSetId=1208), mq.GMO(Options=CMQC.MQGMO_CONVERT))
    assert (CMQC.MQRC_FORMAT_ERROR, b"\x01\x02") == (warned.value.reason, warned.value.message)


def test_inquire_and_set(qmgr, orders):
    told = orders.inquire([CMQC.MQCA_Q_DESC, CMQC.MQIA_Q_TYPE, CMQC.MQIA_INHIBIT_PUT])
    assert b"what is wanted" == told[CMQC.MQCA_Q_DESC].rstrip()
    assert (CMQC.MQQT_LOCAL, CMQC.MQQA_PUT_ALLOWED) == (told[CMQC.MQIA_Q_TYPE], told[CMQC.MQIA_INHIBIT_PUT])
    orders.set(CMQC.MQIA_INHIBIT_PUT, CMQC.MQQA_PUT_INHIBITED)
    assert CMQC.MQRC_PUT_INHIBITED == reason_of(orders.put, b"x")
    assert b"QM1" == qmgr.inquire(CMQC.MQCA_Q_MGR_NAME).rstrip()


def test_an_object_that_is_no_queue(qmgr):
    process = mq.Queue(qmgr, mq.OD(ObjectName=b"BILLING", ObjectType=CMQC.MQOT_PROCESS), CMQC.MQOO_INQUIRE)
    assert b"bill.py" == process.inquire(CMQC.MQCA_APPL_ID).rstrip()
    assert CMQC.MQRC_HOBJ_ERROR == reason_of(process.get)
    process.close()


def test_message_properties(qmgr, orders):
    handle = mq.MessageHandle(qmgr)
    handle.properties.set("colour", "red")
    handle.properties.set("shop.size", 5, CMQC.MQTYPE_INT32)
    orders.put(b"a shirt", mq.MD(Format=CMQC.MQFMT_STRING), mq.PMO(OriginalMsgHandle=handle.msg_handle))
    empty, got = mq.MessageHandle(qmgr), mq.MD()
    wanted = mq.GMO(Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE, MsgHandle=empty.msg_handle)
    assert b"a shirt" == orders.get(None, got, wanted)
    assert ("red", 5, b"MQSTR") == (
        empty.properties.get("colour"),
        empty.properties.get("shop.size"),
        got.Format.rstrip(),
    )
    empty.properties.dlt("colour")
    assert CMQC.MQRC_PROPERTY_NOT_AVAILABLE == reason_of(empty.properties.get, "colour")
    empty.dlt()
    assert CMQC.MQRC_HMSG_ERROR == reason_of(handle.properties.__class__(0, 999_999).get, "colour")


def test_properties_are_in_front_of_the_body_for_who_does_not_ask(qmgr, orders):
    handle = mq.MessageHandle(qmgr)
    handle.properties.set("colour", "red")
    put = mq.PMO(OriginalMsgHandle=handle.msg_handle)
    orders.put(b"a shirt", mq.MD(), put)
    got = mq.MD()
    body = orders.get(None, got)
    assert (b"MQHRF2", b"RFH ", b"a shirt") == (got.Format.rstrip(), body[:4], body[-7:])
    orders.put(b"a shirt", mq.MD(), put)
    assert b"a shirt" == orders.get(None, mq.MD(), mq.GMO(Options=CMQC.MQGMO_NO_PROPERTIES))


def test_a_shortened_message_with_properties_keeps_its_body_whole(qmgr, orders):
    handle = mq.MessageHandle(qmgr)
    handle.properties.set("colour", "red" * 50)
    orders.put(b"0123456789", mq.MD(), mq.PMO(OriginalMsgHandle=handle.msg_handle))
    options = CMQC.MQGMO_NO_PROPERTIES | CMQC.MQGMO_ACCEPT_TRUNCATED_MSG
    with pytest.raises(mq.MQMIError) as warned:
        orders.get(4, mq.MD(), mq.GMO(Options=options))
    assert (b"0123", 10) == (warned.value.message, warned.value.original_length)


def test_messages_are_brought_to_a_function(qmgr, orders):
    brought, enough = [], threading.Event()

    def take(msg, cbc, **_):
        brought.append((cbc.CallType, cbc.Reason, msg))
        if len(brought) == 3:
            enough.set()

    consumer = mq.CBD(CallbackFunction=take, Options=CMQC.MQCBDO_START_CALL)
    orders.cb(operation=CMQC.MQOP_REGISTER, md=mq.MD(), gmo=mq.GMO(), cbd=consumer)
    qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
    orders.put(b"one")
    orders.put(b"two")
    assert enough.wait(10)
    qmgr.ctl(CMQC.MQOP_STOP, mq.CTLO())
    orders.put(b"after the stop")
    assert [(1, 0, None), (6, 0, b"one"), (6, 0, b"two")] == brought
    orders.cb(operation=CMQC.MQOP_DEREGISTER, cbd=consumer)
    assert b"after the stop" == orders.get()


def test_a_function_is_told_that_the_wait_is_over(qmgr, orders):
    told, over = [], threading.Event()

    def take(cbc, **_):
        told.append(cbc.Reason)
        over.set()

    waiting = mq.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=200)
    orders.cb(operation=CMQC.MQOP_REGISTER, md=mq.MD(), gmo=waiting, cbd=mq.CBD(CallbackFunction=take))
    qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
    assert over.wait(10)
    qmgr.ctl(CMQC.MQOP_STOP, mq.CTLO())
    assert {CMQC.MQRC_NO_MSG_AVAILABLE} == set(told)


def test_a_suspended_function_is_not_called(qmgr, orders):
    brought = []
    orders.cb(operation=CMQC.MQOP_REGISTER, cbd=mq.CBD(CallbackFunction=lambda msg, **_: brought.append(msg)))
    qmgr.ctl(CMQC.MQOP_SUSPEND, mq.CTLO())
    qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
    orders.put(b"waits")
    threading.Event().wait(0.4)
    assert [] == brought
    qmgr.ctl(CMQC.MQOP_STOP, mq.CTLO())
    assert b"waits" == orders.get()


@pytest.mark.parametrize("suspends", ["connection", "consumer", "gone"])
def test_what_comes_after_a_suspend_stays_on_the_queue(qmgr, orders, suspends):
    """CO2: also when a get was waiting at that moment."""
    brought, called = [], threading.Event()

    def take(msg, **_):
        brought.append(msg)
        called.set()

    orders.cb(operation=CMQC.MQOP_REGISTER, cbd=mq.CBD(CallbackFunction=take))
    qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
    orders.put(b"first")
    assert called.wait(10)
    if suspends == "connection":
        qmgr.ctl(CMQC.MQOP_SUSPEND, mq.CTLO())
    else:
        orders.cb(operation=CMQC.MQOP_SUSPEND if suspends == "consumer" else CMQC.MQOP_DEREGISTER, cbd=mq.CBD())
    orders.put(b"stays")
    threading.Event().wait(0.3)
    assert [b"first"] == brought
    qmgr.ctl(CMQC.MQOP_STOP, mq.CTLO())
    assert b"stays" == orders.get()


def test_a_function_may_suspend_itself(qmgr, orders):
    brought, called = [], threading.Event()

    def take(msg, **_):
        brought.append(msg)
        qmgr.ctl(CMQC.MQOP_SUSPEND, mq.CTLO())
        called.set()

    orders.put(b"first")
    orders.put(b"stays")
    orders.cb(operation=CMQC.MQOP_REGISTER, cbd=mq.CBD(CallbackFunction=take))
    qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
    assert called.wait(10)
    qmgr.ctl(CMQC.MQOP_STOP, mq.CTLO())
    assert ([b"first"], b"stays") == (brought, orders.get())


@pytest.mark.parametrize("operation", [CMQC.MQOP_START, CMQC.MQOP_START_WAIT])
def test_what_is_started_is_not_started_again(qmgr, orders, operation):
    """CO1: else two threads would call the functions of the connection."""
    before = threading.active_count()
    orders.cb(operation=CMQC.MQOP_REGISTER, cbd=mq.CBD(CallbackFunction=lambda **_: None))
    qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
    refused = {CMQC.MQOP_START: CMQC.MQRC_HCONN_ASYNC_ACTIVE, CMQC.MQOP_START_WAIT: CMQC.MQRC_OPERATION_NOT_ALLOWED}
    assert refused[operation] == reason_of(qmgr.ctl, operation, mq.CTLO())
    assert before + 1 == threading.active_count()
    qmgr.ctl(CMQC.MQOP_STOP, mq.CTLO())
    assert before == threading.active_count()


@pytest.mark.parametrize("who", ["itself", "another"])
def test_a_function_that_stopped_its_connection_is_called_on_one_thread_again(qmgr, orders, who):
    """CO1, CO2: by itself before it returns, or by another while it is still at it."""
    brought, stopped, started = [], threading.Event(), threading.Event()

    def take(msg, **_):
        brought.append((msg, threading.current_thread()))
        if msg == b"first":
            qmgr.ctl(CMQC.MQOP_STOP, mq.CTLO())
            stopped.set()
            if who == "itself":
                qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
            else:
                started.wait(10)

    orders.cb(operation=CMQC.MQOP_REGISTER, cbd=mq.CBD(CallbackFunction=take))
    qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
    orders.put(b"first")
    assert stopped.wait(10)
    if who == "another":
        qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
        started.set()
    for _ in range(5):
        orders.put(b"next")
    while len(brought) < 6:
        threading.Event().wait(0.01)
    qmgr.ctl(CMQC.MQOP_STOP, mq.CTLO())
    assert 1 == len({thread for _, thread in brought})


def test_a_function_is_called_again_after_a_message_that_came_with_a_warning(qmgr, orders):
    """CO3: 2120 says that the text was not converted, and the message has come; 2080 that it has not."""
    brought, enough = [], threading.Event()

    def take(msg, cbc, **_):
        brought.append((cbc.CallType, cbc.Reason, msg))
        if len(brought) == 3:
            enough.set()

    for body, ccsid in (("éééé".encode("latin-1"), 819), (b"", 1208), (b"too long", 1208)):
        orders.put(body, mq.MD(Format=CMQC.MQFMT_STRING, CodedCharSetId=ccsid))
    consumer = mq.CBD(CallbackFunction=take, MaxMsgLength=4)
    gmo = mq.GMO(Options=CMQC.MQGMO_CONVERT)
    orders.cb(operation=CMQC.MQOP_REGISTER, md=mq.MD(Version=2, CodedCharSetId=1208), gmo=gmo, cbd=consumer)
    qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
    assert enough.wait(10)
    qmgr.ctl(CMQC.MQOP_STOP, mq.CTLO())
    first = (CMQC.MQCBCT_MSG_REMOVED, CMQC.MQRC_CONVERTED_MSG_TOO_BIG, "éééé".encode("latin-1"))
    last = (CMQC.MQCBCT_MSG_NOT_REMOVED, CMQC.MQRC_TRUNCATED_MSG_FAILED, b"too ")
    assert [first, (CMQC.MQCBCT_MSG_REMOVED, 0, b""), last] == brought


@pytest.mark.parametrize("operation", ["RESUME", "REGISTER"])
def test_a_message_that_is_too_long_is_told_once_until_something_is_done(qmgr, orders, operation):
    """CO3: the function makes room, or takes the message away and goes on."""
    told, over = [], threading.Event()

    def take(msg, cbc, **_):
        told.append((cbc.Reason, cbc.State, cbc.DataLength))
        if cbc.Reason == 0:
            over.set()

    orders.put(b"too long", mq.MD())
    orders.put(b"fits", mq.MD())
    consumer = mq.CBD(CallbackFunction=take, MaxMsgLength=4)
    orders.cb(operation=CMQC.MQOP_REGISTER, md=mq.MD(), gmo=mq.GMO(), cbd=consumer)
    qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
    while not told:
        threading.Event().wait(0.01)
    assert not over.wait(0.3)
    assert [(CMQC.MQRC_TRUNCATED_MSG_FAILED, CMQC.MQCS_SUSPENDED_USER_ACTION, 8)] == told
    qmgr.ctl(CMQC.MQOP_STOP, mq.CTLO())
    if operation == "RESUME":
        assert b"too long" == orders.get()
        orders.cb(operation=CMQC.MQOP_RESUME, cbd=mq.CBD())
    else:
        consumer = mq.CBD(CallbackFunction=take, MaxMsgLength=8)
        orders.cb(operation=CMQC.MQOP_REGISTER, md=mq.MD(), gmo=mq.GMO(), cbd=consumer)
    qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
    assert over.wait(10)
    qmgr.ctl(CMQC.MQOP_STOP, mq.CTLO())
    assert (0, CMQC.MQCS_NONE, 4 if operation == "RESUME" else 8) == told[1]


def test_puts_without_a_response_are_counted(qmgr, orders):
    without = mq.PMO(Options=CMQC.MQPMO_ASYNC_RESPONSE)
    orders.put(b"one", mq.MD(), without)
    orders.set(CMQC.MQIA_INHIBIT_PUT, CMQC.MQQA_PUT_INHIBITED)
    orders.put(b"two", mq.MD(), without)
    status = qmgr.stat(CMQC.MQSTAT_TYPE_ASYNC_ERROR)
    assert (1, 1) == (status.PutSuccessCount, status.PutFailureCount)
    assert (CMQC.MQCC_FAILED, CMQC.MQRC_PUT_INHIBITED) == (status.CompCode, status.Reason)


def test_refusals(qmgr, orders):
    assert CMQC.MQRC_UNKNOWN_OBJECT_NAME == reason_of(mq.Queue, qmgr, "NO.SUCH", CMQC.MQOO_OUTPUT)
    topic = mq.OD(ObjectName=b"NEWS", ObjectType=CMQC.MQOT_TOPIC)
    assert CMQC.MQRC_OBJECT_TYPE_ERROR == reason_of(mq.Queue, qmgr, topic, CMQC.MQOO_OUTPUT)
    assert CMQC.MQRC_OPTIONS_ERROR == reason_of(orders.get, None, mq.MD(), mq.GMO(Options=1 << 30))
    qmgr.disconnect()
    assert CMQC.MQRC_HCONN_ERROR == ibmmqc.MQCMIT(999_999)[1]


def test_a_queue_manager_that_is_not_there(monkeypatch):
    monkeypatch.delenv("QUAESTOR_EMBEDDED", raising=False)
    monkeypatch.delenv("MQSERVER", raising=False)
    assert CMQC.MQRC_Q_MGR_NOT_AVAILABLE == reason_of(mq.connect, "NOT.THERE")


def test_put1_sets_and_passes_context(qmgr, orders):
    """As a handler of dead letters does with what it has got."""
    there, said = mq.OD(ObjectName=b"ORDERS"), mq.MD(UserIdentifier=b"ZOE", PutDate=b"20200229", PutTime=b"23595999")
    qmgr.put1(there, b"set", said, mq.PMO(Options=CMQC.MQPMO_SET_ALL_CONTEXT))
    reader = mq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_SAVE_ALL_CONTEXT)
    reader.get()
    for options in (CMQC.MQPMO_PASS_ALL_CONTEXT, CMQC.MQPMO_PASS_IDENTITY_CONTEXT):
        qmgr.put1(there, b"passed", mq.MD(), mq.PMO(Options=options, Context=reader.get_handle()))
        got = mq.MD()
        orders.get(None, got)
        assert b"ZOE" == got.UserIdentifier.rstrip()
        kept = options == CMQC.MQPMO_PASS_ALL_CONTEXT
        assert kept is ((got.PutDate, got.PutTime) == (said.PutDate, said.PutTime) == (b"20200229", b"23595999"))


def test_a_number_that_inhibits_neither_nor_is_refused(orders):
    for selector, reason in (
        (CMQC.MQIA_INHIBIT_PUT, CMQC.MQRC_INHIBIT_VALUE_ERROR),
        (CMQC.MQIA_INHIBIT_GET, CMQC.MQRC_INHIBIT_VALUE_ERROR),
        (CMQC.MQIA_TRIGGER_CONTROL, CMQC.MQRC_TRIGGER_CONTROL_ERROR),
    ):
        assert reason == reason_of(orders.set, selector, 7)
    orders.put(b"allowed as before")
    assert b"allowed as before" == orders.get()


def test_waiting_says_nothing_under_the_cursor(orders):
    orders.put(b"x")
    orders.get(None, mq.MD(), mq.GMO(Options=CMQC.MQGMO_BROWSE_FIRST))
    under = mq.GMO(Options=CMQC.MQGMO_MSG_UNDER_CURSOR | CMQC.MQGMO_WAIT, WaitInterval=60_000)
    assert b"x" == orders.get(None, mq.MD(), under)
    assert CMQC.MQRC_NO_MSG_UNDER_CURSOR == reason_of(orders.get, None, mq.MD(), under)


def test_disconnecting_in_the_middle_of_a_group_is_no_error(qmgr, orders):
    first = mq.MD(Version=2, MsgFlags=CMQC.MQMF_MSG_IN_GROUP)
    orders.put(b"1", first, mq.PMO(Options=CMQC.MQPMO_LOGICAL_ORDER))
    qmgr.disconnect()


def test_a_name_that_leads_out_of_its_folder_is_refused(qmgr, tmp_path):
    for name in ("../QM1", "QM1/X"):
        assert CMQC.MQRC_Q_MGR_NAME_ERROR == reason_of(mq.connect, name)
    assert ["QM1"] == [found.name for found in tmp_path.iterdir()]


def test_administration_by_pcf(qmgr):
    """There is no server: requests are answered where they are put, or committed (BO6)."""
    pcf = mq.PCFExecute(qmgr, response_wait_interval=10_000)
    pcf.MQCMD_PING_Q_MGR()
    pcf.MQCMD_CREATE_Q({CMQC.MQCA_Q_NAME: b"MADE", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL, CMQC.MQIA_MAX_Q_DEPTH: 77})
    (row,) = pcf.MQCMD_INQUIRE_Q({CMQC.MQCA_Q_NAME: b"MADE"})
    assert (b"MADE", 77) == (row[CMQC.MQCA_Q_NAME].rstrip(), row[CMQC.MQIA_MAX_Q_DEPTH])
    with pytest.raises(mq.MQMIError) as refused:
        pcf.MQCMD_DELETE_Q({CMQC.MQCA_Q_NAME: b"NOT.THERE"})
    assert CMQC.MQRC_UNKNOWN_OBJECT_NAME == refused.value.reason
    pcf.disconnect()


def test_a_program_that_asks_nothing_starts_no_command_server(qmgr, orders, monkeypatch):
    """EM9: it would be a task of its own in the accounts, with every MQCONN."""
    monkeypatch.setattr(QueueManager, "command_server", None)
    mq.connect("QM1").disconnect()
    orders.put(b"x")
    assert b"x" == orders.get()


def test_a_pcf_request_in_syncpoint_is_answered_at_commit(qmgr, orders):
    ping = mq.CFH(Command=mq.CMQCFC.MQCMD_PING_Q_MGR).pack()
    asks = mq.MD(Format=CMQC.MQFMT_ADMIN, MsgType=CMQC.MQMT_REQUEST, ReplyToQ=b"ORDERS")
    qmgr.put1("SYSTEM.ADMIN.COMMAND.QUEUE", ping, asks, mq.PMO(Options=IN_SYNCPOINT))
    assert CMQC.MQRC_NO_MSG_AVAILABLE == reason_of(orders.get)
    qmgr.commit()
    answer = mq.MD()
    orders.get(None, answer)
    assert (b"MQADMIN", asks.MsgId) == (answer.Format.rstrip(), answer.CorrelId)


def test_who_reads_the_command_queue_alone_answers_himself(qmgr, orders):
    alone = mq.Queue(qmgr, "SYSTEM.ADMIN.COMMAND.QUEUE", CMQC.MQOO_INPUT_EXCLUSIVE)
    qmgr.put1("SYSTEM.ADMIN.COMMAND.QUEUE", b"a question of his own")
    mq.connect("QM1").disconnect()
    assert b"a question of his own" == alone.get()
    alone.close()


def test_an_alternate_user_of_the_object_descriptor(qmgr):
    """Without profiles everybody may act for everybody; what is put names the other."""
    described = mq.OD(ObjectName=b"ORDERS", AlternateUserId=b"ZOE")
    queue = mq.Queue(
        qmgr,
        described,
        CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT | CMQC.MQOO_ALTERNATE_USER_AUTHORITY | CMQC.MQOO_SAVE_ALL_CONTEXT,
    )
    put = [mq.MD() for _ in range(3)]
    queue.put(b"1", put[0])
    qmgr.put1(described, b"2", put[1], mq.PMO(Options=CMQC.MQPMO_ALTERNATE_USER_AUTHORITY))
    queue.get()
    passed = CMQC.MQPMO_ALTERNATE_USER_AUTHORITY | CMQC.MQPMO_PASS_IDENTITY_CONTEXT
    qmgr.put1(described, b"3", put[2], mq.PMO(Options=passed, Context=queue.get_handle()))
    assert [b"ZOE"] * 3 == [said.UserIdentifier.rstrip() for said in put]
    queue.close()


@pytest.mark.parametrize(
    ("described", "asked", "found"),
    [
        ({"ObjectName": b"BILLING", "ObjectType": CMQC.MQOT_PROCESS}, CMQC.MQCA_APPL_ID, b"bill.py"),
        ({"ObjectType": CMQC.MQOT_Q_MGR}, CMQC.MQCA_Q_MGR_NAME, b"QM1"),
    ],
)
def test_an_object_that_is_no_queue_for_an_alternate_user(qmgr, tmp_path, described, asked, found):
    """ZOE may inquire; the program, which is DESK, may act for her and no more."""
    profiles = "connect QM1 * read\nprocess BILLING ZOE read\nqmgr * ZOE read\naltuser ZOE DESK update\n"
    (tmp_path / "QM1" / "profiles").write_text(profiles + "command * * control\n")
    options = CMQC.MQOO_INQUIRE | CMQC.MQOO_ALTERNATE_USER_AUTHORITY
    operator = embedded.operate("QM1", tmp_path / "QM1")
    assert operator.run("REFRESH SECURITY(*)").ok
    program = mq.QueueManager(None)
    program.connect_with_options("QM1", user="DESK", password="any")
    for_zoe = mq.Queue(program, mq.OD(AlternateUserId=b"ZOE", **described), options)
    assert found == for_zoe.inquire(asked).rstrip(b" \0")
    for_zoe.close()
    for user, how in ((b"ZOE", CMQC.MQOO_INQUIRE), (b"MAX", options)):
        refused = reason_of(mq.Queue, program, mq.OD(AlternateUserId=user, **described), how)
        assert CMQC.MQRC_NOT_AUTHORIZED == refused
    program.disconnect()
    operator.close()


def test_put1_in_logical_order_is_refused(qmgr, orders):
    passed = CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_PASS_ALL_CONTEXT
    for options in (CMQC.MQPMO_LOGICAL_ORDER, passed):
        asked = mq.PMO(Options=options, Context=orders.get_handle())
        assert CMQC.MQRC_OPTIONS_ERROR == reason_of(qmgr.put1, "ORDERS", b"x", mq.MD(), asked)


def test_fields_that_a_descriptor_of_version_1_does_not_have_say_nothing(orders):
    said = {"GroupId": b"G" * 24, "MsgSeqNumber": 7, "MsgFlags": CMQC.MQMF_MSG_IN_GROUP, "Offset": 5}
    orders.put(b"x", mq.MD(Version=CMQC.MQMD_VERSION_1, **said))
    got = mq.MD(Version=CMQC.MQMD_VERSION_2)
    assert b"x" == orders.get(None, got)
    assert (bytes(24), 1, 0) == (got.GroupId, got.MsgSeqNumber, got.MsgFlags)


@pytest.mark.parametrize(
    ("more", "room", "answer"),
    [
        (0, 4, (CMQC.MQRC_CONVERTED_MSG_TOO_BIG, encoded("zwölf", 1140)[:4], 1140)),
        (CMQC.MQGMO_ACCEPT_TRUNCATED_MSG, 4, (CMQC.MQRC_TRUNCATED_MSG_ACCEPTED, "zwö".encode(), 1208)),
    ],
)
def test_a_text_that_conversion_makes_too_long(orders, more, room, answer):
    """It fitted before: without leave to shorten it, it comes as it is, whole (2120)."""
    text = "zwöl"
    orders.put(encoded(text, 1140), mq.MD(Format=CMQC.MQFMT_STRING, CodedCharSetId=1140))
    got = mq.MD(CodedCharSetId=1208)
    with pytest.raises(mq.MQMIError) as warned:
        orders.get(room, got, mq.GMO(Options=CMQC.MQGMO_CONVERT | more))
    assert (CMQC.MQCC_WARNING, *answer) == (
        warned.value.comp,
        warned.value.reason,
        warned.value.message,
        got.CodedCharSetId,
    )
    assert CMQC.MQRC_NO_MSG_AVAILABLE == reason_of(orders.get)


def test_put1_to_a_model_is_refused(qmgr):
    assert CMQC.MQRC_Q_TYPE_ERROR == reason_of(qmgr.put1, "REPLIES.MODEL", b"x")


def test_a_descriptor_can_be_used_for_the_next_put_too(qmgr, orders, tmp_path):
    """What the program said of the message is still there: its expiry, and on the way to elsewhere its format."""
    with quaestor.connect("QM1", tmp_path / "QM1") as admin:
        admin.define(quaestor.LocalQueue("TO.QM2", xmit=True))
        admin.define(quaestor.RemoteQueue("FAR", remote_name="THERE", remote_qmgr="QM2", xmit_queue="TO.QM2"))
    said = mq.MD(Format=CMQC.MQFMT_STRING, Expiry=500, CorrelId=b"C" * 24)
    for name in ("ORDERS", "FAR"):
        qmgr.put1(name, b"x", said)
        assert (500, b"MQSTR   ", b"C" * 24) == (said.Expiry, said.Format, said.CorrelId)


def test_context_is_passed_from_a_queue_that_is_open(qmgr, orders):
    """BO1: 2019 is for the queue that is put to; a put that passes no context does not look at the handle."""
    passing = CMQC.MQPMO_PASS_ALL_CONTEXT
    target = mq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_PASS_ALL_CONTEXT)
    for context in (0, 4711, target.get_handle()):
        assert CMQC.MQRC_CONTEXT_HANDLE_ERROR == reason_of(
            target.put, b"x", mq.MD(), mq.PMO(Options=passing, Context=context)
        )
        assert CMQC.MQRC_CONTEXT_HANDLE_ERROR == reason_of(
            qmgr.put1, "ORDERS", b"x", mq.MD(), mq.PMO(Options=passing, Context=context)
        )
        target.put(b"own", mq.MD(), mq.PMO(Context=context))
    assert [b"own"] * 3 == [orders.get() for _ in range(3)]
    target.close()


def test_a_message_handle_ends_with_its_connection(qmgr):
    """CA5: the next call with it is 2018; another connection finds it gone, and one of no connection goes on."""
    another, unbound = mq.connect("QM1"), mq.MessageHandle()
    handle = mq.MessageHandle(another)
    handle.properties.set("COLOUR", "red")
    unbound.properties.set("COLOUR", "blue")
    another.disconnect()
    for call in (lambda: handle.properties.set("COLOUR", "red"), lambda: handle.properties.get("COLOUR"), handle.dlt):
        assert CMQC.MQRC_HCONN_ERROR == reason_of(call)
    assert CMQC.MQRC_HMSG_ERROR == reason_of(
        mq.MessageHandle(qmgr, dup_handle=handle.get_handle()).properties.get, "COLOUR"
    )
    assert "blue" == unbound.properties.get("COLOUR")
    assert (-1, CMQC.MQCC_FAILED, CMQC.MQRC_HCONN_ERROR) == ibmmqc.MQCRTMH(4711, mq.CMHO().pack())


def test_a_structure_of_a_version_that_nobody_knows(qmgr, orders):
    """BO9."""
    orders.put(b"x")
    for reason, call in (
        (CMQC.MQRC_MD_ERROR, lambda: orders.put(b"y", mq.MD(Version=3))),
        (CMQC.MQRC_PMO_ERROR, lambda: orders.put(b"y", mq.MD(), mq.PMO(Version=0))),
        (CMQC.MQRC_MD_ERROR, lambda: orders.get(None, mq.MD(Version=0))),
        (CMQC.MQRC_GMO_ERROR, lambda: orders.get(None, mq.MD(), mq.GMO(Version=5))),
        (CMQC.MQRC_OD_ERROR, lambda: mq.Queue(qmgr, mq.OD(ObjectName=b"ORDERS", Version=5), CMQC.MQOO_OUTPUT)),
        (CMQC.MQRC_OD_ERROR, lambda: qmgr.put1(mq.OD(ObjectName=b"ORDERS", Version=5), b"y")),
    ):
        assert reason == reason_of(call)
    hconn, hobj, others = qmgr.get_handle(), orders.get_handle(), mq.PMO().pack()
    assert (CMQC.MQCC_FAILED, CMQC.MQRC_MD_ERROR) == ibmmqc.MQPUT(hconn, hobj, bytes(364), others, b"y")[-2:]
    assert [b"x"] == [orders.get()]
    assert CMQC.MQRC_NO_MSG_AVAILABLE == reason_of(orders.get)


def test_a_function_is_registered_for_an_open_queue(qmgr, orders):
    """BO1: a bad number is told when the function is registered, not to the function when it is called."""

    def asked(operation, hobj):
        return ibmmqc.MQCB(qmgr.get_handle(), operation, mq.CBD().pack(), hobj, mq.MD().pack(), mq.GMO().pack())

    failed, queue = CMQC.MQCC_FAILED, orders.get_handle()
    assert (failed, CMQC.MQRC_HOBJ_ERROR) == asked(CMQC.MQOP_REGISTER, 4711)
    for operation in (CMQC.MQOP_SUSPEND, CMQC.MQOP_RESUME, CMQC.MQOP_DEREGISTER):
        assert (failed, CMQC.MQRC_CALLBACK_NOT_REGISTERED) == asked(operation, queue)
    for operation in (0, 7, CMQC.MQOP_REGISTER | CMQC.MQOP_START):
        assert (failed, CMQC.MQRC_OPERATION_ERROR) == asked(operation, queue)
    for operation in (CMQC.MQOP_REGISTER | CMQC.MQOP_SUSPEND, CMQC.MQOP_RESUME, CMQC.MQOP_DEREGISTER):
        assert (CMQC.MQCC_OK, CMQC.MQRC_NONE) == asked(operation, queue)
