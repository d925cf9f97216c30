"""Extensions: what a descriptor of version 1 has no room for, in front of the body (MQMDE).

Rules
  EX1 A put whose format says that an extension leads the body means its fields: group, number, offset, flags; format,
      encoding and character set behind it. The message is stored as if a descriptor of version 2 had said so.
  EX2 An extension that is not in the encoding and character set of the queue manager, or of another version than 2, or
      that comes with a descriptor whose own fields of version 2 are not the defaults, is part of the body.
  EX3 One with another eye-catcher or length, cut short, or without a character set for what follows is refused (2248).
      Its fields are checked as those of a descriptor are.
  EX4 A get with a descriptor of version 1 is given an extension where one of its fields is not the default. It counts
      as part of the message: in its length, and in what is shortened.

Called by bound.  Calls structures.
"""

import sys
from dataclasses import replace
from typing import Any

from ibmmqc.structures import MDE
from quaestor.mqi.descriptors import CCSID_UTF8, MQMD, NO_ID
from quaestor.mqi.reasons import MQError, Reason

FORMAT_EXTENSION = "MQHMDE"
ENCODING_NATIVE = 546 if sys.byteorder == "little" else 273
LENGTH = MDE.length
_VERSION = 2
_OURS = (0, CCSID_UTF8)  # MQCCSI_Q_MGR, and what that is here
_INHERIT = -2


def honoured(said: MQMD, body: bytes) -> tuple[MQMD, bytes]:
    """Descriptor and body of a put, without the extension in front of the body (EX1-EX3)."""
    if said.format != FORMAT_EXTENSION or said.encoding != ENCODING_NATIVE or said.ccsid not in _OURS:
        return said, body
    if len(body) < LENGTH or body[:4] != b"MDE ":
        raise MQError(Reason.MDE_ERROR, length=len(body), begins=body[:4])
    fields = MDE.read(body[:LENGTH])
    if fields["Version"] != _VERSION:
        return said, body
    ccsid = said.ccsid if fields["CodedCharSetId"] == _INHERIT else fields["CodedCharSetId"]
    if fields["StrucLength"] != LENGTH or (ccsid <= 0 and fields["CodedCharSetId"] != _INHERIT):
        raise MQError(Reason.MDE_ERROR, length=fields["StrucLength"], ccsid=ccsid)
    if _is_told(said):
        return said, body
    whole = replace(
        said,
        format=fields["Format"],
        encoding=fields["Encoding"],
        ccsid=ccsid,
        group_id=fields["GroupId"],
        msg_seq_number=fields["MsgSeqNumber"],
        offset=fields["Offset"],
        msg_flags=fields["MsgFlags"],
        original_length=fields["OriginalLength"],
    )
    return whole, body[LENGTH:]


def _is_told(said: MQMD) -> bool:
    """Whether a descriptor says something that version 1 has no room for (EX2, EX4)."""
    return said.group_id != NO_ID or said.msg_seq_number != 1 or bool(said.offset or said.msg_flags)


def needed(version: int, said: MQMD) -> bool:
    """Whether a message goes to a descriptor of this version with an extension in front (EX4)."""
    return version < _VERSION and _is_told(said)


def extension(said: MQMD, shape: tuple[str, int, int]) -> bytes:
    """The extension of a message whose body has this format, encoding and character set (EX4)."""
    fields: dict[str, Any] = {
        "StrucId": "MDE ",
        "Version": _VERSION,
        "StrucLength": LENGTH,
        "Format": shape[0],
        "Encoding": shape[1],
        "CodedCharSetId": shape[2],
        "GroupId": said.group_id,
        "MsgSeqNumber": said.msg_seq_number,
        "Offset": said.offset,
        "MsgFlags": said.msg_flags - (1 << 32) if said.msg_flags >= 1 << 31 else said.msg_flags,
        "OriginalLength": -1,
    }
    return MDE.write(MDE.blank(), **fields)
