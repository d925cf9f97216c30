"""Descriptors: what an application says about a message, and which object a call means.

Rules
  D1  `MQMD` has the fields of the MQMD and its defaults; it is a value and never changes.
  D2  Character fields are text without padding; identifiers are bytes of their full length.
  D3  The packed descriptor leaves out what every message has of its own (identifiers, priority, persistence,
      times, backout count: see `messages`). It is made once per descriptor object and remembered, and
      unpacking the same bytes gives the same object, so a stream of like messages pays for it once. A date and time
      of the put that it does say stand at its end.
  D4  Report options and message flags are bits: a number below zero, as C has it, means the same 32 bits above it.

Called by messages, the message manager, applications.  Calls reasons.
"""

import struct
from dataclasses import dataclass, field

from quaestor.mqi.reasons import MQError, Reason

ID_LENGTH = 24
NO_ID = bytes(ID_LENGTH)
NO_TOKEN = bytes(32)
UNLIMITED = -1
AS_Q_DEF = -1
PERSISTENCE_AS_Q_DEF = 2
NO_DATE = " "
"""Date or time of a put that a context has left blank; the empty text is the queue manager's own."""
ENCODING_NATIVE = 785  # big-endian integers, packed decimals and IBM floating point: the z/OS value
CCSID_Q_MGR = 0
CCSID_UTF8 = 1208

FORMAT_NONE = ""
FORMAT_STRING = "MQSTR"
FORMAT_DEAD_LETTER = "MQDEAD"
FORMAT_EVENT = "MQEVENT"
FORMAT_TRIGGER = "MQTRIG"
FORMAT_XMIT = "MQXMIT"

DATAGRAM, REQUEST, REPLY, REPORT = 8, 1, 2, 4
MSG_TYPE_APPL_FIRST, MSG_TYPE_APPL_LAST = 65536, 999999999

APPL_TYPE_NO_CONTEXT, APPL_TYPE_QMGR, APPL_TYPE_UNIX, APPL_TYPE_MVS = 0, 7, 6, 2


def identifier(value: object) -> bytes:
    """An identifier of exactly 24 bytes (D2)."""
    if not isinstance(value, bytes) or len(value) > ID_LENGTH:
        raise MQError(Reason.MD_ERROR, identifier=value)
    return value if len(value) == ID_LENGTH else value.ljust(ID_LENGTH, b"\0")


def unsigned(bits: int) -> int:
    """32 bits as a number that is not below zero (D4)."""
    return bits if bits >= 0 else bits + (1 << 32)


@dataclass(frozen=True, slots=True)
class MQMD:
    """The message descriptor (D1)."""

    report: int = 0
    msg_type: int = DATAGRAM
    expiry: int = UNLIMITED  # tenths of a second
    feedback: int = 0
    encoding: int = ENCODING_NATIVE
    ccsid: int = CCSID_Q_MGR
    format: str = FORMAT_NONE
    priority: int = AS_Q_DEF
    persistence: int = PERSISTENCE_AS_Q_DEF
    msg_id: bytes = NO_ID
    correl_id: bytes = NO_ID
    backout_count: int = 0
    reply_to_q: str = ""
    reply_to_qmgr: str = ""
    user_identifier: str = ""
    accounting_token: bytes = NO_TOKEN
    appl_identity_data: str = ""
    put_appl_type: int = APPL_TYPE_NO_CONTEXT
    put_appl_name: str = ""
    put_date: str = ""
    put_time: str = ""
    appl_origin_data: str = ""
    group_id: bytes = NO_ID
    msg_seq_number: int = 1
    offset: int = 0
    msg_flags: int = 0
    original_length: int = -1
    _packed: bytes = field(default=b"", init=False, repr=False, compare=False)

    def packed(self) -> bytes:
        """The stored form of what does not change from message to message (D3)."""
        if not self._packed:
            object.__setattr__(self, "_packed", _pack_descriptor(self))
        return self._packed

    @staticmethod
    def unpacked(packed: bytes) -> "MQMD":
        """The descriptor that `packed()` gave these bytes (D3)."""
        descriptor = _REMEMBERED.get(packed)
        return descriptor if descriptor is not None else _unpack_descriptor(packed)


_DESCRIPTOR_VERSION = 1
_FIXED = struct.Struct(">BIiiiiiiI")
_REMEMBERED: dict[bytes, MQMD] = {}
_REMEMBERED_MAX = 1024


def _pack_descriptor(md: MQMD) -> bytes:
    texts = (
        md.format,
        md.reply_to_q,
        md.reply_to_qmgr,
        md.user_identifier,
        md.appl_identity_data,
        md.put_appl_name,
        md.appl_origin_data,
    )
    group = b"" if md.group_id == NO_ID else md.group_id
    dates = (md.put_date, md.put_time) if md.put_date or md.put_time else ()
    parts = [*(text.encode() for text in texts), md.accounting_token.rstrip(b"\0"), group, *map(str.encode, dates)]
    fixed = _FIXED.pack(
        _DESCRIPTOR_VERSION,
        unsigned(md.report),
        md.msg_type,
        md.feedback,
        md.encoding,
        md.ccsid,
        md.put_appl_type,
        md.msg_seq_number,
        unsigned(md.msg_flags),
    )
    return fixed + b"".join(bytes((len(part),)) + part for part in parts)


def _unpack_descriptor(packed: bytes) -> MQMD:
    version, report, msg_type, feedback, encoding, ccsid, appl_type, sequence, flags = _FIXED.unpack_from(packed)
    if version != _DESCRIPTOR_VERSION:
        raise MQError(Reason.MD_ERROR, stored_version=version, known_version=_DESCRIPTOR_VERSION)
    parts, at = [], _FIXED.size
    while at < len(packed):
        end = at + 1 + packed[at]
        parts.append(packed[at + 1 : end])
        at = end
    fmt, reply_q, reply_qmgr, user, identity, appl, origin, token, group, *dates = parts
    put_date, put_time = dates or (b"", b"")
    md = MQMD(
        report=report,
        msg_type=msg_type,
        feedback=feedback,
        encoding=encoding,
        ccsid=ccsid,
        put_appl_type=appl_type,
        msg_seq_number=sequence,
        msg_flags=flags,
        appl_origin_data=origin.decode(),
        accounting_token=token.ljust(32, b"\0"),
        group_id=group or NO_ID,
        format=fmt.decode(),
        reply_to_q=reply_q.decode(),
        reply_to_qmgr=reply_qmgr.decode(),
        user_identifier=user.decode(),
        appl_identity_data=identity.decode(),
        put_appl_name=appl.decode(),
        put_date=put_date.decode(),
        put_time=put_time.decode(),
    )
    object.__setattr__(md, "_packed", bytes(packed))
    if len(_REMEMBERED) >= _REMEMBERED_MAX:
        _REMEMBERED.clear()
    _REMEMBERED[md._packed] = md  # noqa: SLF001 - this module's own field
    return md


@dataclass(frozen=True, slots=True)
class Target:
    """The object descriptor: which object a call means."""

    name: str
    qmgr: str = ""
    dynamic_name: str = "CSQ.*"
    alternate_user: str = ""  # for whom authority is checked, with ALTERNATE_USER_AUTHORITY

    @staticmethod
    def of(target: object, qmgr: str, dynamic_name: str) -> "Target":
        """What a call means that names a queue, or gives the whole object descriptor."""
        if not isinstance(target, Target):
            target = Target(target, qmgr, dynamic_name)  # type: ignore[arg-type] # looked at in a moment
        for name in (target.name, target.qmgr, target.dynamic_name):
            if not isinstance(name, str):
                raise MQError(Reason.OD_ERROR, target=type(name).__name__)
        return target
