"""Reports: what the queue manager tells the sender about the fate of a message. Pure rules.

Rules
  F1  A report is asked for in MQMD.Report: exception, expiration, confirm on arrival, confirm on delivery; each
      with no data, the first 100 bytes, or all of it.
  F2  A report is a message of type REPORT to the reply-to queue, with the persistence and priority of the
      original and a feedback that says which report it is.
  F3  By default it has a new message identifier and the original's message identifier as its correlation
      identifier; PASS_MSG_ID and PASS_CORREL_ID pass the original's instead.
  F4  It never expires. With PASS_DISCARD_AND_EXPIRY it has what is left of the original's expiry, the report of an
      expiration a minute, and DISCARD_MSG if the original has.
  F5  A report, or a request, needs a reply-to queue (2027).
  F6  An option that is not known here is refused or taken by the part of the field it stands in, as the MQMD's masks
      say: REJECT_UNSUP is refused (2061), ACCEPT_UNSUP is taken, ACCEPT_UNSUP_IF_XMIT is taken on the way to another
      queue manager, unless its transmission queue is named itself. What is taken is warned of (2104) and travels on.

Called by the message manager.  Calls descriptors, messages, expiry.
"""

from dataclasses import replace
from enum import IntFlag

from quaestor.mqi.descriptors import MQMD, NO_ID, REPORT, REQUEST, UNLIMITED
from quaestor.mqi.expiry import remaining
from quaestor.mqi.messages import Message
from quaestor.mqi.reasons import MQError, Reason

DATA_LENGTH = 100
MINUTE_TENTHS = 600


class Report(IntFlag):
    """MQRO: reports asked for, and how their identifiers are made."""

    NONE = 0
    PAN = 1
    NAN = 2
    ACTIVITY = 4
    PASS_CORREL_ID = 64
    PASS_MSG_ID = 128
    COA = 0x100
    COA_WITH_DATA = 0x300
    COA_WITH_FULL_DATA = 0x700
    COD = 0x800
    COD_WITH_DATA = 0x1800
    COD_WITH_FULL_DATA = 0x3800
    PASS_DISCARD_AND_EXPIRY = 0x4000
    EXPIRATION = 0x200000
    EXPIRATION_WITH_DATA = 0x600000
    EXPIRATION_WITH_FULL_DATA = 0xE00000
    EXCEPTION = 0x1000000
    EXCEPTION_WITH_DATA = 0x3000000
    EXCEPTION_WITH_FULL_DATA = 0x7000000
    DISCARD_MSG = 0x8000000


class Feedback:
    """MQFB: which report this is."""

    NONE = 0
    QUIT = 256
    EXPIRATION = 258
    COA = 259
    COD = 260


COA, COD, EXPIRATION, EXCEPTION = 0x100, 0x800, 0x200000, 0x1000000
_ANSWERED = COA | COD | EXPIRATION | EXCEPTION | 1 | 2
_KNOWN = 0x7 | 0xC0 | 0x700 | 0x3800 | 0x4000 | 0xE00000 | 0x7000000 | 0x8000000
REJECT_UNSUP_MASK, ACCEPT_UNSUP_MASK, ACCEPT_UNSUP_IF_XMIT_MASK = 0x101C0000, 0xEFE000FF, 0x0003FF00  # F6
_FEEDBACK = {COA: Feedback.COA, COD: Feedback.COD, EXPIRATION: Feedback.EXPIRATION}


def unknown(report: int) -> int:
    """The options that are not known here (F6)."""
    return report & ~_KNOWN


def check(md: MQMD, *, travels: bool = False) -> None:
    """Refuse report options that cannot be honoured, on the way to another queue manager or here (F5, F6)."""
    taken = ACCEPT_UNSUP_MASK | ACCEPT_UNSUP_IF_XMIT_MASK if travels else ACCEPT_UNSUP_MASK
    if unknown(md.report) & ~taken:
        raise MQError(Reason.REPORT_OPTIONS_ERROR, report=md.report)
    for kind in (COA, COD, EXPIRATION, EXCEPTION):
        if md.report & (7 * kind) not in (0, kind, 3 * kind, 7 * kind):
            raise MQError(Reason.REPORT_OPTIONS_ERROR, report=md.report)
    if (md.msg_type == REQUEST or md.report & _ANSWERED) and not md.reply_to_q:
        raise MQError(Reason.MISSING_REPLY_TO_Q, msg_type=md.msg_type, report=md.report)


def body(kind: int, original: Message) -> bytes:
    """The data that a report of `kind` carries (F1)."""
    asked = original.envelope.report
    if asked & (kind << 2):
        return original.body
    return original.body[:DATA_LENGTH] if asked & (kind << 1) else b""


def report_descriptor(kind: int, original: Message, now_us: int, feedback: int | None = None) -> MQMD:
    """The descriptor of the report of `kind` about `original` (F2-F4)."""
    envelope, asked = original.envelope, original.envelope.report
    left, discard = UNLIMITED, 0
    if asked & Report.PASS_DISCARD_AND_EXPIRY:  # F4
        left = MINUTE_TENTHS if kind == EXPIRATION else remaining(original.expires_us, now_us)
        discard = asked & int(Report.DISCARD_MSG)
    return replace(
        envelope,
        report=discard,
        msg_type=REPORT,
        expiry=left,
        feedback=_FEEDBACK[kind] if feedback is None else feedback,
        priority=original.priority,
        persistence=original.persistence,
        msg_id=original.msg_id if asked & Report.PASS_MSG_ID else NO_ID,
        correl_id=original.correl_id if asked & Report.PASS_CORREL_ID else original.msg_id,
        reply_to_q="",
        reply_to_qmgr="",
        group_id=NO_ID,
        msg_seq_number=1,
        msg_flags=0,
    )
