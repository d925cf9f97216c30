"""Where each name leads, and by which reason it leads nowhere; which reports can be asked for (L1-L4, F1-F5)."""

from dataclasses import replace

import pytest

from quaestor.mqi import reports
from quaestor.mqi.descriptors import DATAGRAM, MQMD, NO_ID, REPORT, REQUEST, Target
from quaestor.mqi.messages import Message
from quaestor.mqi.objects import AliasQueue, LocalQueue, ModelQueue, RemoteQueue, TriggerType
from quaestor.mqi.reasons import MQError, Reason
from quaestor.mqi.reports import Report
from quaestor.mqi.resolution import Resolver
from quaestor.mqi.triggering import Situation, due_on_change

DEFINED = {
    each.name: each
    for each in (
        LocalQueue("LOCAL"),
        ModelQueue("MODEL"),
        ModelQueue("QM.MODEL", xmit=True),
        LocalQueue("XMIT", xmit=True),
        LocalQueue("QM2", xmit=True),
        LocalQueue("QM.LOCAL"),
        AliasQueue("ALIAS", target="LOCAL"),
        AliasQueue("ALIAS.REMOTE", target="REMOTE"),
        AliasQueue("ALIAS.ALIAS", target="ALIAS"),
        AliasQueue("ALIAS.MODEL", target="MODEL"),
        AliasQueue("ALIAS.NOTHING", target="NOTHING"),
        RemoteQueue("REMOTE", remote_name="THERE", remote_qmgr="QM2"),
        RemoteQueue("REMOTE.XMIT", remote_name="THERE", remote_qmgr="QM2", xmit_queue="XMIT"),
        RemoteQueue("REMOTE.UNKNOWN", remote_name="THERE", remote_qmgr="QM9"),
        RemoteQueue("REMOTE.NO.XMIT", remote_name="THERE", remote_qmgr="QM2", xmit_queue="NOTHING"),
        RemoteQueue("REMOTE.NORMAL", remote_name="THERE", remote_qmgr="QM2", xmit_queue="LOCAL"),
        RemoteQueue("REMOTE.ALIAS", remote_name="THERE", remote_qmgr="QM2", xmit_queue="ALIAS"),
        RemoteQueue("REMOTE.MODEL", remote_name="THERE", remote_qmgr="QM2", xmit_queue="QM.MODEL"),
        RemoteQueue("REMOTE.USAGE", remote_name="THERE", remote_qmgr="QM.LOCAL"),
        RemoteQueue("HERE", remote_name="LOCAL", remote_qmgr="QM1"),
        RemoteQueue("HERE.XMIT", remote_name="LOCAL", remote_qmgr="QM1", xmit_queue="XMIT"),
        RemoteQueue("HERE.BLANK", remote_name="LOCAL", xmit_queue="XMIT"),
        AliasQueue("ALIAS.HERE", target="HERE"),
        RemoteQueue("QM.ALIAS", remote_qmgr="QM2"),
        RemoteQueue("QM.ALIAS.XMIT", remote_qmgr="QM7", xmit_queue="XMIT"),
        RemoteQueue("QM.ALIAS.HERE", remote_qmgr="QM1"),
    )
}


def resolved(name, qmgr="", default=""):
    return Resolver("QM1", DEFINED.get, default).resolve(Target(name, qmgr))


@pytest.mark.parametrize(
    ("name", "qmgr", "path", "remote"),
    [
        ("LOCAL", "", ["LOCAL"], None),
        ("LOCAL  ", "QM1  ", ["LOCAL"], None),
        ("MODEL", "", ["MODEL"], None),
        ("ALIAS", "", ["ALIAS", "LOCAL"], None),
        ("ALIAS.REMOTE", "", ["ALIAS.REMOTE", "REMOTE", "QM2"], ("THERE", "QM2")),
        ("REMOTE", "", ["REMOTE", "QM2"], ("THERE", "QM2")),
        ("REMOTE.XMIT", "", ["REMOTE.XMIT", "XMIT"], ("THERE", "QM2")),
        ("ANY", "QM2", ["QM2"], ("ANY", "QM2")),
        ("ANY", "QM.ALIAS", ["QM.ALIAS", "QM2"], ("ANY", "QM2")),
        ("ANY", "QM.ALIAS.XMIT", ["QM.ALIAS.XMIT", "XMIT"], ("ANY", "QM7")),
        ("LOCAL", "QM.ALIAS.HERE", ["LOCAL"], None),
        ("ALIAS", "QM.ALIAS.HERE", ["ALIAS", "LOCAL"], None),
    ],
)
def test_where_a_name_leads(name, qmgr, path, remote):
    """L1-L4: every definition passed, first to last, and where the message travels on to."""
    found = resolved(name, qmgr)
    assert (path, path[-1], remote) == ([each.name for each in found.path], found.queue.name, found.remote)
    assert (DEFINED["MODEL"] if name == "MODEL" else None) is found.model


@pytest.mark.parametrize(
    ("name", "qmgr", "reason"),
    [
        ("", "", Reason.OBJECT_NAME_ERROR),
        ("A B", "", Reason.OBJECT_NAME_ERROR),
        ("", "QM1", Reason.OBJECT_NAME_ERROR),
        ("", "QM2", Reason.REMOTE_Q_NAME_ERROR),
        ("LOCAL", "Q M", Reason.OBJECT_Q_MGR_NAME_ERROR),
        ("NOTHING", "", Reason.UNKNOWN_OBJECT_NAME),
        ("ALIAS.NOTHING", "", Reason.UNKNOWN_ALIAS_BASE_Q),
        ("ALIAS.ALIAS", "", Reason.ALIAS_BASE_Q_TYPE_ERROR),
        ("ALIAS.MODEL", "", Reason.ALIAS_BASE_Q_TYPE_ERROR),
        ("QM.ALIAS", "", Reason.REMOTE_Q_NAME_ERROR),
        ("HERE", "", Reason.UNKNOWN_REMOTE_Q_MGR),
        ("HERE.XMIT", "", Reason.UNKNOWN_REMOTE_Q_MGR),
        ("HERE.BLANK", "", Reason.UNKNOWN_REMOTE_Q_MGR),
        ("ALIAS.HERE", "", Reason.UNKNOWN_REMOTE_Q_MGR),
        ("MODEL", "QM2", Reason.Q_TYPE_ERROR),
        ("REMOTE.UNKNOWN", "", Reason.UNKNOWN_REMOTE_Q_MGR),
        ("ANY", "QM9", Reason.UNKNOWN_REMOTE_Q_MGR),
        ("ANY", "QM.MODEL", Reason.UNKNOWN_REMOTE_Q_MGR),
        ("ANY", "REMOTE", Reason.UNKNOWN_REMOTE_Q_MGR),
        ("REMOTE.NO.XMIT", "", Reason.UNKNOWN_XMIT_Q),
        ("REMOTE.NORMAL", "", Reason.XMIT_Q_USAGE_ERROR),
        ("REMOTE.ALIAS", "", Reason.XMIT_Q_TYPE_ERROR),
        ("REMOTE.MODEL", "", Reason.XMIT_Q_TYPE_ERROR),
        ("REMOTE.USAGE", "", Reason.XMIT_Q_USAGE_ERROR),
        ("ANY", "QM.LOCAL", Reason.XMIT_Q_USAGE_ERROR),
    ],
)
def test_why_a_name_leads_nowhere(name, qmgr, reason):
    with pytest.raises(MQError) as caught:
        resolved(name, qmgr)
    assert reason == caught.value.reason


@pytest.mark.parametrize(("name", "qmgr"), [("HERE", ""), ("ANY", "REMOTE"), ("ANY", "QM.MODEL")])
def test_what_names_no_other_queue_manager_has_no_default(name, qmgr):
    """L1, L2: DEFXMITQ is for queue managers of which nothing is known."""
    with pytest.raises(MQError) as caught:
        resolved(name, qmgr, default="XMIT")
    assert Reason.UNKNOWN_REMOTE_Q_MGR == caught.value.reason


@pytest.mark.parametrize(
    ("default", "reason"),
    [
        ("XMIT", None),
        ("NOTHING", Reason.UNKNOWN_DEF_XMIT_Q),
        ("ALIAS", Reason.DEF_XMIT_Q_TYPE_ERROR),
        ("QM.MODEL", Reason.DEF_XMIT_Q_TYPE_ERROR),
        ("LOCAL", Reason.DEF_XMIT_Q_USAGE_ERROR),
    ],
)
@pytest.mark.parametrize("target", [("ANY", "QM9"), ("REMOTE.UNKNOWN", "")])
def test_the_default_transmission_queue_must_be_one(default, reason, target):
    """L3."""
    if reason is None:
        assert "XMIT" == resolved(*target, default).queue.name
    else:
        with pytest.raises(MQError) as caught:
            resolved(*target, default)
        assert reason == caught.value.reason


# -- reports

BASES = (reports.COA, reports.COD, reports.EXPIRATION, reports.EXCEPTION)


def reason_for(report, msg_type=DATAGRAM, reply_to="R", travels=False):
    try:
        reports.check(MQMD(report=report, msg_type=msg_type, reply_to_q=reply_to), travels=travels)
    except MQError as error:
        return error.reason
    return Reason.NONE


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("level", range(8))
def test_a_report_is_asked_for_without_data_with_some_or_with_all(base, level):
    """F1: what is asked for in between is nothing."""
    good = level in {0, 1, 3, 7}
    assert (Reason.NONE if good else Reason.REPORT_OPTIONS_ERROR) == reason_for(base * level)


REFUSED, TAKEN = Reason.REPORT_OPTIONS_ERROR, Reason.NONE


@pytest.mark.parametrize(
    ("bits", "here", "on_the_way"),
    [
        ((18, 19, 20, 28), REFUSED, REFUSED),  # MQRO_REJECT_UNSUP_MASK
        ((15, 16, 17), REFUSED, TAKEN),  # MQRO_ACCEPT_UNSUP_IF_XMIT_MASK
        ((3, 4, 5, 29, 30, 31), TAKEN, TAKEN),  # MQRO_ACCEPT_UNSUP_MASK
        ((0, 1, 2, 6, 7, 14, 27), TAKEN, TAKEN),  # known
    ],
)
def test_the_part_of_the_field_says_what_becomes_of_an_option(bits, here, on_the_way):
    """F6."""
    for bit in bits:
        assert (here, on_the_way) == (reason_for(1 << bit), reason_for(1 << bit, travels=True)), bit


def test_the_masks_of_report_options_leave_nothing_out():
    """F6: IBM's values; each option is in one of them."""
    masks = reports.REJECT_UNSUP_MASK, reports.ACCEPT_UNSUP_MASK, reports.ACCEPT_UNSUP_IF_XMIT_MASK
    assert (270270464, -270532353 & 0xFFFFFFFF, 261888) == masks
    assert 0xFFFFFFFF == sum(masks)


@pytest.mark.parametrize(("report", "unknown"), [(0x7, 0), (0x20000301, 0x20000000), (0x80008000, 0x80008000)])
def test_which_options_are_not_known(report, unknown):
    """F6."""
    assert unknown == reports.unknown(report)


@pytest.mark.parametrize("report", [0, 0x40, 0x80, 0x4000, 0x8000000, 0x20000000])
def test_options_that_ask_for_no_report_need_no_reply_to_queue(report):
    assert Reason.NONE == reason_for(report, reply_to="")


@pytest.mark.parametrize("report", [*BASES, Report.PAN, Report.NAN])
def test_a_report_needs_a_reply_to_queue(report):
    """F5."""
    assert (Reason.MISSING_REPLY_TO_Q, Reason.NONE) == (reason_for(report, reply_to=""), reason_for(report))


@pytest.mark.parametrize(("msg_type", "needs"), [(REQUEST, True), (DATAGRAM, False), (REPORT, False)])
def test_a_request_needs_a_reply_to_queue(msg_type, needs):
    expected = Reason.MISSING_REPLY_TO_Q if needs else Reason.NONE
    assert (expected, Reason.NONE) == (reason_for(0, msg_type, ""), reason_for(0, msg_type))


def test_the_whole_descriptor_of_a_report():
    """F2, F3."""
    md = MQMD(
        report=reports.COA, msg_type=REQUEST, expiry=50, format="MQSTR", ccsid=500, reply_to_q="R", reply_to_qmgr="QM2"
    )
    md = replace(md, group_id=b"G" * 24, msg_seq_number=4, msg_flags=8, user_identifier="ALICE")
    original = Message(b"body", md, b"M" * 24, b"C" * 24, 7, 1, 0)
    changed = {"report": 0, "msg_type": REPORT, "expiry": -1, "feedback": 259, "priority": 7, "persistence": 1}
    lost = {"reply_to_q": "", "reply_to_qmgr": "", "group_id": NO_ID, "msg_seq_number": 1, "msg_flags": 0}
    expected = replace(md, **changed, **lost, msg_id=NO_ID, correl_id=b"M" * 24)
    assert expected == reports.report_descriptor(reports.COA, original, 0)
    assert replace(expected, feedback=2053) == reports.report_descriptor(reports.COA, original, 0, 2053)


# -- triggering


@pytest.mark.parametrize(
    ("kind", "waiting", "due"),
    [
        (TriggerType.DEPTH, 2, False),
        (TriggerType.DEPTH, 3, True),
        (TriggerType.FIRST, 0, False),
        (TriggerType.FIRST, 1, True),
        (TriggerType.EVERY, 1, False),
    ],
)
def test_as_many_messages_as_it_takes_are_a_trigger_event(kind, waiting, due):
    """T5."""
    queue = LocalQueue("Q", trigger=True, trigger_type=kind, trigger_depth=3)
    assert due is due_on_change(queue, Situation(waiting, 0, True, 0.0, 1000))
