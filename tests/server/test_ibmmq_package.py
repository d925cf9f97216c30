"""IBM's package against a server: over the local socket and over TCP, with messages, properties, callbacks and PCF."""

import threading

import pytest

from quaestor import LocalQueue

mq = pytest.importorskip("ibmmq", reason="IBM's package is not installed")
CMQC = mq.CMQC
BOTH_WAYS = CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT | CMQC.MQOO_BROWSE | CMQC.MQOO_INQUIRE


@pytest.fixture(params=["local", "tcp"])
def qmgr(request, server, tmp_path, monkeypatch):
    monkeypatch.delenv("QUAESTOR_EMBEDDED", raising=False)
    monkeypatch.setenv("QUAESTOR_HOME", str(tmp_path))
    if request.param == "tcp":
        host, _, port = server.address.rpartition(":")
        monkeypatch.setenv("MQSERVER", f"ANY.CHANNEL/TCP/{host}({port})")
    with server.connect() as admin:
        admin.define(LocalQueue("ORDERS", share=True, def_exclusive=False))
    connected = mq.connect("QM1")
    yield connected
    connected.disconnect()


@pytest.fixture
def orders(qmgr):
    queue = mq.Queue(qmgr, "ORDERS", BOTH_WAYS)
    yield queue
    queue.close()


def test_messages_and_units(qmgr, orders):
    said = mq.MD(Format=CMQC.MQFMT_STRING, Persistence=CMQC.MQPER_PERSISTENT)
    orders.put(b"kept" * 5000, said, mq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    qmgr.commit()
    orders.put(b"taken back", mq.MD(), mq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    qmgr.backout()
    browsed, got = mq.MD(), mq.MD()
    assert b"kept" * 5000 == orders.get(None, browsed, mq.GMO(Options=CMQC.MQGMO_BROWSE_FIRST))
    assert b"kept" * 5000 == orders.get(None, got)
    assert said.MsgId == browsed.MsgId == got.MsgId
    with pytest.raises(mq.MQMIError) as empty:
        orders.get()
    assert CMQC.MQRC_NO_MSG_AVAILABLE == empty.value.reason


def test_properties_and_callbacks(qmgr, orders):
    handle = mq.MessageHandle(qmgr)
    handle.properties.set("colour", "red")
    brought, came = [], threading.Event()

    def take(msg, **_):
        brought.append(msg)
        came.set()

    orders.cb(operation=CMQC.MQOP_REGISTER, cbd=mq.CBD(CallbackFunction=take))
    qmgr.ctl(CMQC.MQOP_START, mq.CTLO())
    qmgr.put1("ORDERS", b"a shirt", mq.MD(), mq.PMO(OriginalMsgHandle=handle.msg_handle))
    assert came.wait(10)
    qmgr.ctl(CMQC.MQOP_STOP, mq.CTLO())
    assert brought[0].endswith(b"a shirt")
    assert b"<colour>red</colour>" in brought[0]


def test_names_of_one_character_come_back(qmgr):
    """IBM's package reads a text of one character as none, unless blanks follow (PW3)."""
    pcf = mq.PCFExecute(qmgr, response_wait_interval=10_000)
    pcf.MQCMD_CREATE_Q({CMQC.MQCA_Q_NAME: b"A", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL, CMQC.MQCA_Q_DESC: b"x"})
    (row,) = pcf.MQCMD_INQUIRE_Q({CMQC.MQCA_Q_NAME: b"A"})
    assert (b"A".ljust(48), b"x".ljust(64)) == (row[CMQC.MQCA_Q_NAME], row[CMQC.MQCA_Q_DESC])
    pcf.MQCMD_CREATE_NAMELIST({CMQC.MQCA_NAMELIST_NAME: b"N", CMQC.MQCA_NAMES: [b"A", b"B"]})
    (row,) = pcf.MQCMD_INQUIRE_NAMELIST({CMQC.MQCA_NAMELIST_NAME: b"N"})
    assert [b"A".ljust(48), b"B".ljust(48)] == row[CMQC.MQCA_NAMES]
    (row,) = pcf.MQCMD_INQUIRE_Q_NAMES({CMQC.MQCA_Q_NAME: b"A"})
    assert [b"A".ljust(48)] == row[mq.CMQCFC.MQCACF_Q_NAMES]
    pcf.disconnect()


def test_administration_by_pcf(qmgr):
    pcf = mq.PCFExecute(qmgr, response_wait_interval=10_000)
    pcf.MQCMD_CREATE_Q({CMQC.MQCA_Q_NAME: b"MADE", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL, CMQC.MQIA_MAX_Q_DEPTH: 77})
    found = pcf.MQCMD_INQUIRE_Q({CMQC.MQCA_Q_NAME: b"M*", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL})
    assert [(b"MADE", 77)] == [(each[CMQC.MQCA_Q_NAME].rstrip(), each[CMQC.MQIA_MAX_Q_DEPTH]) for each in found]
    with pytest.raises(mq.MQMIError) as refused:
        pcf.MQCMD_DELETE_Q({CMQC.MQCA_Q_NAME: b"NOT.THERE"})
    assert CMQC.MQRC_UNKNOWN_OBJECT_NAME == refused.value.reason
    pcf.disconnect()


@pytest.mark.parametrize("name", ["", "*QM1", "*ANY"])
def test_whichever_queue_manager_is_there_is_found_and_says_its_name(server, monkeypatch, name):
    """DO1: of two addresses the first does not answer."""
    host, _, port = server.address.rpartition(":")
    monkeypatch.delenv("QUAESTOR_EMBEDDED", raising=False)
    monkeypatch.setenv("MQSERVER", f"ANY.CHANNEL/TCP/{host}(1), {host}({port})")
    connected = mq.QueueManager(None)
    connected.connect_with_options(name, user="alice", password="any")
    assert b"QM1" == connected.inquire(CMQC.MQCA_Q_MGR_NAME).rstrip()
    connected.disconnect()


def test_a_name_that_is_said_is_checked_and_no_address_may_be_left(server, monkeypatch):
    host, _, port = server.address.rpartition(":")
    monkeypatch.delenv("QUAESTOR_EMBEDDED", raising=False)
    for addresses, reason in (
        (f"{host}(1),{host}({port})", CMQC.MQRC_Q_MGR_NAME_ERROR),
        (f"{host}(1),{host}(2)", CMQC.MQRC_Q_MGR_NOT_AVAILABLE),
        (f"{host}({port}", CMQC.MQRC_Q_MGR_NOT_AVAILABLE),
    ):
        monkeypatch.setenv("MQSERVER", f"ANY.CHANNEL/TCP/{addresses}")
        with pytest.raises(mq.MQMIError) as refused:
            mq.QueueManager(None).connect_with_options("QM2", user="alice", password="any")
        assert reason == refused.value.reason
