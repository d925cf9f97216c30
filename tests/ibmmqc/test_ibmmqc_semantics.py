"""Rows of the table of MQI semantics, as a program for IBM's API meets them."""

import struct

import pytest
from programs_of_ibm import reason_of

import quaestor
from quaestor.mqi.objects import IndexType, TriggerType

mq = pytest.importorskip("ibmmq", reason="IBM's package is not installed")
CMQC = mq.CMQC
IN, OUT = mq.PMO(Options=CMQC.MQPMO_SYNCPOINT), mq.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT)
WAYS = CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT | CMQC.MQOO_BROWSE | CMQC.MQOO_INQUIRE


@pytest.fixture
def queue(qmgr, tmp_path):
    """A way to further queues, with these attributes."""

    def made(name, **attributes):
        with quaestor.connect("QM1", tmp_path / "QM1") as admin:
            admin.define(quaestor.LocalQueue(name, share=True, def_exclusive=False, **attributes))
        return mq.Queue(qmgr, name, WAYS)

    return made


def nothing(queue, *args):
    return CMQC.MQRC_NO_MSG_AVAILABLE == reason_of(queue.get, *args)


def test_03_04_what_a_unit_has_put_is_there_for_nobody(qmgr, orders):
    """Neither for the program itself, by identifier or out of syncpoint, nor for another."""
    another = mq.connect("QM1")
    elsewhere = mq.Queue(another, "ORDERS", WAYS)
    put = mq.MD()
    orders.put(b"in a unit", put, IN)
    for options in (CMQC.MQGMO_SYNCPOINT, CMQC.MQGMO_NO_SYNCPOINT, CMQC.MQGMO_BROWSE_FIRST):
        assert nothing(orders, None, mq.MD(), mq.GMO(Options=options))
        assert nothing(orders, None, mq.MD(MsgId=put.MsgId), mq.GMO(Options=options))
        assert nothing(elsewhere, None, mq.MD(), mq.GMO(Options=options))
    assert 1 == orders.inquire(CMQC.MQIA_CURRENT_Q_DEPTH)
    qmgr.commit()
    assert b"in a unit" == elsewhere.get()
    elsewhere.close()
    another.disconnect()


def test_06_put1_and_get_without_an_option_stand_for_themselves(qmgr, orders):
    """Out of syncpoint, as elsewhere than on z/OS: what the packages' programs are written for."""
    qmgr.put1("ORDERS", b"x")
    qmgr.backout()
    assert b"x" == orders.get()
    qmgr.backout()
    assert nothing(orders)


def test_07_08_a_backout_count_and_a_threshold_that_the_program_looks_at(qmgr, queue):
    """The queue manager only counts; the program moves the message, and says why in its header (2362)."""
    rejects, work = queue("REJECTS"), queue("WORK", backout_threshold=2, backout_queue="REJECTS", harden_backout=True)
    work.put(b"poison", mq.MD(Format=CMQC.MQFMT_STRING))
    threshold, to = work.inquire(CMQC.MQIA_BACKOUT_THRESHOLD), work.inquire(CMQC.MQCA_BACKOUT_REQ_Q_NAME)
    counts = []
    while True:
        got = mq.MD()
        body = work.get(None, got, mq.GMO(Options=CMQC.MQGMO_SYNCPOINT))
        counts.append(got.BackoutCount)
        if got.BackoutCount >= threshold:
            break
        qmgr.backout()
    why = mq.DLH(Reason=CMQC.MQRC_BACKOUT_THRESHOLD_REACHED, DestQName=b"WORK", DestQMgrName=b"QM1", Format=got.Format)
    got.Format = CMQC.MQFMT_DEAD_LETTER_HEADER
    qmgr.put1(to.rstrip(), why.pack() + body, got, IN)
    qmgr.commit()
    assert [0, 1, 2] == counts
    assert nothing(work)
    header, moved = mq.DLH(), rejects.get()
    header.unpack(moved[:172])
    assert (2362, b"WORK", b"poison") == (header.Reason, header.DestQName.rstrip(b"\0 "), moved[172:])


@pytest.mark.parametrize("options", [64, 4096, -1])
def test_18_match_options_that_are_not_known_are_refused(orders, options):
    orders.put(b"x")
    assert CMQC.MQRC_MATCH_OPTIONS_ERROR == reason_of(orders.get, None, mq.MD(), mq.GMO(MatchOptions=options))
    known = CMQC.MQMO_MATCH_MSG_ID | CMQC.MQMO_MATCH_OFFSET
    assert b"x" == orders.get(None, mq.MD(), mq.GMO(MatchOptions=known))


def test_20_a_group_in_logical_order(queue):
    groups = queue("GROUPS", index_type=IndexType.GROUPID)
    in_order = mq.PMO(Options=CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_NO_SYNCPOINT)
    flags = [CMQC.MQMF_MSG_IN_GROUP, CMQC.MQMF_MSG_IN_GROUP, CMQC.MQMF_LAST_MSG_IN_GROUP]
    said = [mq.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=flag) for flag in flags]
    for number, md in enumerate(said, 1):
        groups.put(b"%d" % number, md, in_order)
    assert ([1, 2, 3], 1) == ([md.MsgSeqNumber for md in said], len({md.GroupId for md in said}))
    got = []
    for _ in said:
        md, gmo = mq.MD(Version=CMQC.MQMD_VERSION_2), mq.GMO(Version=CMQC.MQGMO_VERSION_2)
        gmo.Options = CMQC.MQGMO_LOGICAL_ORDER | CMQC.MQGMO_ALL_MSGS_AVAILABLE | CMQC.MQGMO_NO_SYNCPOINT
        gmo.MatchOptions = CMQC.MQMO_NONE
        body = groups.get(None, md, gmo)
        got.append((body, md.MsgSeqNumber, gmo.GroupStatus))
    assert [(b"1", 1, ord("G")), (b"2", 2, ord("G")), (b"3", 3, ord("L"))] == got


def test_20_a_queue_without_the_index_has_no_logical_order(orders):
    """2394, as on z/OS."""
    gmo = mq.GMO(Options=CMQC.MQGMO_LOGICAL_ORDER)
    assert CMQC.MQRC_Q_INDEX_TYPE_ERROR == reason_of(orders.get, None, mq.MD(), gmo)


@pytest.mark.parametrize("flag", ["SEGMENTATION_ALLOWED", "SEGMENT", "LAST_SEGMENT"])
def test_21_segments_are_refused(orders, flag):
    md = mq.MD(Version=CMQC.MQMD_VERSION_2, MsgFlags=getattr(CMQC, f"MQMF_{flag}"))
    assert CMQC.MQRC_MSG_FLAGS_ERROR == reason_of(orders.put, b"x", md)


@pytest.mark.parametrize("option", ["COMPLETE_MSG", "ALL_SEGMENTS_AVAILABLE"])
def test_21_gets_that_speak_of_segments_get_whole_messages(orders, option):
    """There are no others."""
    orders.put(b"whole")
    assert b"whole" == orders.get(None, mq.MD(), mq.GMO(Options=getattr(CMQC, f"MQGMO_{option}")))


def test_23_reports_of_arrival_and_delivery(orders, queue):
    replies = queue("REPLIES")
    asked = mq.MD(Report=CMQC.MQRO_COA_WITH_DATA | CMQC.MQRO_COD, ReplyToQ=b"REPLIES", Format=CMQC.MQFMT_STRING)
    orders.put(b"x" * 200, asked)
    orders.get()
    told = []
    for _ in range(2):
        md = mq.MD()
        told.append((len(replies.get(None, md)), md.Feedback))
        assert (CMQC.MQMT_REPORT, asked.MsgId, CMQC.MQAT_QMGR) == (md.MsgType, md.CorrelId, md.PutApplType)
        assert (b"MQSTR", b"QM1") == (md.Format.rstrip(), md.PutApplName.rstrip())
    assert [(100, CMQC.MQFB_COA), (0, CMQC.MQFB_COD)] == told
    assert nothing(replies)


def test_23_a_report_needs_a_queue_to_go_to(orders):
    assert CMQC.MQRC_MISSING_REPLY_TO_Q == reason_of(orders.put, b"x", mq.MD(Report=CMQC.MQRO_COD))
    assert CMQC.MQRC_MISSING_REPLY_TO_Q == reason_of(orders.put, b"x", mq.MD(MsgType=CMQC.MQMT_REQUEST))


@pytest.mark.parametrize("converted", [True, False])
def test_24_a_report_that_nobody_takes_is_a_dead_letter(orders, queue, tmp_path, converted):
    """DS3: its header is in the byte order of z/OS, and its descriptor says so, unless the program has it converted."""
    dead = queue("DEAD")
    with quaestor.connect("QM1", tmp_path / "QM1") as admin:
        admin.alter(quaestor.QueueManagerAttributes, dead_letter_queue="DEAD")
    orders.put(b"text", mq.MD(Report=CMQC.MQRO_COA_WITH_FULL_DATA, ReplyToQ=b"NOWHERE", Format=CMQC.MQFMT_STRING))
    md, header = mq.MD(), mq.DLH()
    body = dead.get(None, md, mq.GMO(Options=CMQC.MQGMO_CONVERT if converted else 0))
    header.unpack(body[:172])
    numbers = struct.unpack_from("=ii" if converted else ">ii", body, 4) + struct.unpack_from(
        "=ii" if converted else ">ii", body, 108
    )
    assert (1, CMQC.MQRC_UNKNOWN_OBJECT_NAME, CMQC.MQENC_NATIVE, 1208) == numbers
    integers = CMQC.MQENC_INTEGER_REVERSED if converted else CMQC.MQENC_INTEGER_NORMAL
    assert (CMQC.MQFMT_DEAD_LETTER_HEADER, integers) == (md.Format, md.Encoding & CMQC.MQENC_INTEGER_MASK)
    assert (b"NOWHERE", b"QM1") == (header.DestQName.rstrip(), header.DestQMgrName.rstrip())
    assert (CMQC.MQFMT_STRING, b"text") == (header.Format, body[172:])


def test_25_a_trigger_monitor_reads_a_trigger_message(qmgr, queue):
    """DS3: with CONVERT, as any program of another machine."""
    initiation = queue("INIT")
    work = queue("WORK", trigger=True, trigger_type=TriggerType.EVERY, process="BILLING", initiation_queue="INIT")
    work.put(b"x")
    md, told = mq.MD(), mq.TM()
    told.unpack(initiation.get(None, md, mq.GMO(Options=CMQC.MQGMO_CONVERT)))
    assert (CMQC.MQFMT_TRIGGER, 1, 2) == (md.Format, told.Version, told.ApplType)
    assert (b"WORK", b"BILLING", b"bill.py") == tuple(
        field.rstrip() for field in (told.QName, told.ProcessName, told.ApplId)
    )


def test_35_an_identifier_says_who_made_it(orders):
    made = [mq.MD(), mq.MD()]
    for md in made:
        orders.put(b"x", md, mq.PMO(Options=CMQC.MQPMO_NEW_CORREL_ID))
    ids = [one for md in made for one in (md.MsgId, md.CorrelId)]
    assert {b"CSQ QM1         "} == {one[:16] for one in ids}
    assert 4 == len(set(ids))


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("room", [None, 0, 100])
def test_unlocking_a_message_returns_none_of_it_and_warns_of_nothing(orders, room, version):
    """BO4: it is not that the message did not fit."""
    orders.put(b"browsed", mq.MD(Version=2, MsgFlags=CMQC.MQMF_LAST_MSG_IN_GROUP, GroupId=b"G" * 24))
    assert orders.get(None, mq.MD(), mq.GMO(Options=CMQC.MQGMO_BROWSE_FIRST | CMQC.MQGMO_LOCK)).endswith(b"browsed")
    assert b"" == orders.get(room, mq.MD(Version=version), mq.GMO(Options=CMQC.MQGMO_UNLOCK))
    assert orders.get().endswith(b"browsed")
