"""Descriptors: the MQMD between IBM's C layout and the native message, and the conversion of text.

Rules
  DS1 What an application said comes through unchanged; identifiers and context fields that the queue manager fills in
      come back in the structure it passed. Of a descriptor of version 1 the fields of version 2 are not looked at, and
      left as they are.
  DS2 With CONVERT a message of format MQSTR is given in the coded character set that was asked for. Another format
      comes as it is, with the warning 2110; a character set nobody knows, or a text it cannot express, with 2111; one
      that has become too long for its room, where shortening was not accepted, with 2120.
  DS3 With CONVERT the numbers of a dead-letter header and of a trigger message come in the byte order that was asked
      for: the queue manager writes them as on z/OS.

Called by calls, consumers.  Calls structures, the message classes.
"""

from typing import Any

from ibmmqc.structures import MD
from quaestor.mqi.descriptors import CCSID_UTF8, FORMAT_DEAD_LETTER, FORMAT_STRING, FORMAT_TRIGGER, MQMD
from quaestor.mqi.messages import Message, decoded, encoded

FORMAT_ERROR, SOURCE_CCSID_ERROR, CONVERTED_MSG_TOO_BIG = 2110, 2111, 2120
_OURS = (0, -3)  # MQCCSI_Q_MGR, MQCCSI_APPL
_IN_GROUP, _LAST_IN_GROUP = 8, 16
_VERSION_WITH_GROUPS = 2


def envelope(fields: dict[str, Any]) -> MQMD:
    """What an application says of a message it puts (DS1)."""
    return MQMD(
        report=fields["Report"] & 0xFFFFFFFF,
        msg_type=fields["MsgType"],
        expiry=fields["Expiry"],
        feedback=fields["Feedback"],
        encoding=fields["Encoding"],
        ccsid=max(fields["CodedCharSetId"], 0),
        format=fields["Format"],
        priority=fields["Priority"],
        persistence=fields["Persistence"],
        msg_id=fields["MsgId"],
        correl_id=fields["CorrelId"],
        reply_to_q=fields["ReplyToQ"],
        reply_to_qmgr=fields["ReplyToQMgr"],
        user_identifier=fields["UserIdentifier"],
        accounting_token=fields["AccountingToken"],
        appl_identity_data=fields["ApplIdentityData"],
        put_appl_type=fields["PutApplType"],
        put_appl_name=fields["PutApplName"],
        put_date=fields["PutDate"],
        put_time=fields["PutTime"],
        appl_origin_data=fields["ApplOriginData"],
        **_of_version_2(fields),
    )


def _of_version_2(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields that a descriptor of version 1 does not have, whatever stands there (DS1)."""
    if fields["Version"] < _VERSION_WITH_GROUPS:
        return {}
    return {
        "group_id": fields["GroupId"],
        "msg_seq_number": fields["MsgSeqNumber"],
        "offset": fields["Offset"],
        "msg_flags": fields["MsgFlags"],
        "original_length": fields["OriginalLength"],
    }


def returned(packed: bytes, message: Message) -> bytes:
    """The structure with everything that a message's descriptor says (DS1)."""
    md = message.descriptor
    return MD.write(
        packed,
        Report=_signed(md.report),
        MsgType=md.msg_type,
        Expiry=md.expiry,
        Feedback=md.feedback,
        Encoding=md.encoding,
        CodedCharSetId=md.ccsid or CCSID_UTF8,
        Format=md.format,
        Priority=md.priority,
        Persistence=md.persistence,
        MsgId=md.msg_id,
        CorrelId=md.correl_id,
        BackoutCount=md.backout_count,
        ReplyToQ=md.reply_to_q,
        ReplyToQMgr=md.reply_to_qmgr,
        UserIdentifier=md.user_identifier,
        AccountingToken=md.accounting_token,
        ApplIdentityData=md.appl_identity_data,
        PutApplType=md.put_appl_type,
        PutApplName=md.put_appl_name,
        PutDate=md.put_date,
        PutTime=md.put_time,
        ApplOriginData=md.appl_origin_data,
        **_in_version_2(MD.read(packed)["Version"], md),
    )


def _in_version_2(version: int, md: MQMD) -> dict[str, Any]:
    if version < _VERSION_WITH_GROUPS:
        return {}
    return {
        "GroupId": md.group_id,
        "MsgSeqNumber": md.msg_seq_number,
        "Offset": md.offset,
        "MsgFlags": _signed(md.msg_flags),
        "OriginalLength": -1,
    }


def _signed(number: int) -> int:
    return number - (1 << 32) if number >= 1 << 31 else number


def group_status(flags: int) -> int:
    """The character that says where in a group a message stands."""
    return ord("L" if flags & _LAST_IN_GROUP else "G" if flags & _IN_GROUP else " ")


_NUMBERS_AT = {FORMAT_DEAD_LETTER: (4, 8, 108, 112, 124), FORMAT_TRIGGER: (4, 168)}
_INTEGERS = 0xF
"""The part of an encoding that says the byte order of integers: 1 as on z/OS, 2 as here."""


def in_byte_order(body: bytes, message_format: str, encoding: int, wanted: int) -> tuple[bytes, int]:
    """A body, and how it is encoded, for a get that asked for an encoding (DS3)."""
    at = _NUMBERS_AT.get(message_format)
    if at is None or {encoding & _INTEGERS, wanted & _INTEGERS} != {1, 2} or len(body) < at[-1] + 4:
        return body, encoding
    turned = bytearray(body)
    for first in at:
        turned[first : first + 4] = body[first : first + 4][::-1]
    return bytes(turned), encoding & ~_INTEGERS | wanted & _INTEGERS


def converted(
    body: bytes, message_format: str, ccsid: int, wanted: int, room: int | None = None
) -> tuple[bytes, int, int]:
    """Body, its coded character set and the reason, for a get that asked for `wanted`, with so much room (DS2)."""
    source, target = ccsid or CCSID_UTF8, CCSID_UTF8 if wanted in _OURS else wanted
    if source == target:
        return body, source, 0
    if message_format != FORMAT_STRING:
        return body, source, FORMAT_ERROR
    try:
        text = encoded(decoded(body, source), target)
    except (LookupError, UnicodeError):
        return body, source, SOURCE_CCSID_ERROR
    if room is not None and len(text) > room:
        return body, source, CONVERTED_MSG_TOO_BIG
    return text, target, 0
