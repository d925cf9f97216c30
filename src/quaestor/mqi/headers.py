"""Headers: structures that travel at the front of a message body.

Rules
  H1  Each is laid out byte for byte as IBM MQ lays it out: big-endian, character fields blank padded, text in
      UTF-8. A header that is too short, has another eye-catcher or an unknown version is refused.
  H2  The descriptor of a message that begins with one says so (`begun_with`); how the data behind it are encoded is in
      the header.

Called by the message manager, trigger monitors, dead-letter handlers, the mover.  Calls descriptors.
"""

import struct
from dataclasses import dataclass, replace

from quaestor.mqi.descriptors import (
    APPL_TYPE_NO_CONTEXT,
    CCSID_UTF8,
    ENCODING_NATIVE,
    FORMAT_NONE,
    MQMD,
    NO_ID,
    unsigned,
)
from quaestor.mqi.reasons import MQError, Reason


def text_field(text: str, length: int) -> bytes:
    """Text as a blank-padded character field of exactly `length` bytes (H1)."""
    encoded = text.encode()[:length]
    return encoded + b" " * (length - len(encoded))


def begun_with(header_format: str, envelope: MQMD) -> MQMD:
    """The descriptor of a message in front of which a header is put (H2)."""
    return replace(envelope, format=header_format, encoding=ENCODING_NATIVE, ccsid=CCSID_UTF8)


def field_text(stored: bytes) -> str:
    """The text of a blank-padded (or zero-ended) character field (H1)."""
    return stored.split(b"\0", 1)[0].decode(errors="replace").rstrip(" ")


@dataclass(frozen=True, slots=True)
class MQDLH:
    """The dead-letter header: why a message could not be delivered, and where it was going."""

    reason: int
    dest_q_name: str
    dest_qmgr_name: str
    encoding: int = ENCODING_NATIVE
    ccsid: int = CCSID_UTF8
    format: str = FORMAT_NONE
    put_appl_type: int = APPL_TYPE_NO_CONTEXT
    put_appl_name: str = ""
    put_date: str = ""
    put_time: str = ""

    def pack(self) -> bytes:
        return _DLH.pack(
            b"DLH ",
            1,
            self.reason,
            text_field(self.dest_q_name, 48),
            text_field(self.dest_qmgr_name, 48),
            self.encoding,
            self.ccsid,
            text_field(self.format, 8),
            self.put_appl_type,
            text_field(self.put_appl_name, 28),
            text_field(self.put_date, 8),
            text_field(self.put_time, 8),
        )

    @staticmethod
    def unpack(body: bytes) -> "tuple[MQDLH, bytes]":
        """The header at the start of `body`, and the message behind it."""
        if len(body) < _DLH.size or body[:4] != b"DLH ":
            raise MQError(Reason.DLH_ERROR, length=len(body), begins=body[:4])
        _, version, reason, queue, qmgr, encoding, ccsid, fmt, kind, appl, date, time = _DLH.unpack_from(body)
        if version != 1:
            raise MQError(Reason.DLH_ERROR, version=version)
        texts = [field_text(part) for part in (fmt, appl, date, time)]
        header = MQDLH(reason, field_text(queue), field_text(qmgr), encoding, ccsid, texts[0], kind, *texts[1:])
        return header, body[_DLH.size :]


_DLH = struct.Struct(">4sii48s48sii8si28s8s8s")
assert _DLH.size == 172  # noqa: S101 - the manual's length, held at import


@dataclass(frozen=True, slots=True)
class TriggerMessage:
    """MQTM: what a trigger monitor reads to start the application that serves a queue."""

    q_name: str
    process_name: str = ""
    trigger_data: str = ""
    appl_type: int = APPL_TYPE_NO_CONTEXT
    appl_id: str = ""
    env_data: str = ""
    user_data: str = ""

    def pack(self) -> bytes:
        return _TM.pack(
            b"TM  ",
            1,
            text_field(self.q_name, 48),
            text_field(self.process_name, 48),
            text_field(self.trigger_data, 64),
            self.appl_type,
            text_field(self.appl_id, 256),
            text_field(self.env_data, 128),
            text_field(self.user_data, 128),
        )

    @staticmethod
    def unpack(body: bytes) -> "TriggerMessage":
        if len(body) != _TM.size or body[:4] != b"TM  ":
            raise MQError(Reason.MD_ERROR, length=len(body), begins=body[:4])
        _, version, queue, process, data, kind, appl, env, user = _TM.unpack(body)
        if version != 1:
            raise MQError(Reason.MD_ERROR, version=version)
        return TriggerMessage(
            field_text(queue),
            field_text(process),
            field_text(data),
            kind,
            field_text(appl),
            field_text(env),
            field_text(user),
        )


_TM = struct.Struct(">4si48s48s64si256s128s128s")
assert _TM.size == 684  # noqa: S101 - the manual's length, held at import


def pack_descriptor(md: MQMD) -> bytes:
    """The MQMD in its version 1 layout (H1); what version 2 adds goes into an extension."""
    return _MD.pack(
        b"MD  ",
        1,
        unsigned(md.report),
        md.msg_type,
        md.expiry,
        md.feedback,
        md.encoding,
        md.ccsid,
        text_field(md.format, 8),
        md.priority,
        md.persistence,
        md.msg_id,
        md.correl_id,
        md.backout_count,
        text_field(md.reply_to_q, 48),
        text_field(md.reply_to_qmgr, 48),
        text_field(md.user_identifier, 12),
        md.accounting_token,
        text_field(md.appl_identity_data, 32),
        md.put_appl_type,
        text_field(md.put_appl_name, 28),
        text_field(md.put_date, 8),
        text_field(md.put_time, 8),
        text_field(md.appl_origin_data, 4),
    )


def unpack_descriptor(stored: bytes) -> MQMD:
    """The MQMD of a version 1 layout (H1)."""
    if len(stored) < _MD.size or stored[:4] != b"MD  ":
        raise MQError(Reason.MD_ERROR, length=len(stored), begins=stored[:4])
    _, version, *values = _MD.unpack_from(stored)
    if version != 1:
        raise MQError(Reason.MD_ERROR, version=version)
    fields = [
        value if at in _MD_BYTES or isinstance(value, int) else field_text(value) for at, value in enumerate(values)
    ]
    return MQMD(*fields)  # type: ignore[arg-type] # the layout has the order of the fields


_MD = struct.Struct(">4siIiiiii8sii24s24si48s48s12s32s32si28s8s8s4s")
_MD_BYTES = frozenset({9, 10, 15})  # identifiers and accounting token stay bytes
assert _MD.size == 324  # noqa: S101 - the manual's length, held at import


@dataclass(frozen=True, slots=True)
class MQXQH:
    """The transmission header: where a message is going, and the descriptor it was put with.

    A message of a group carries what the version 1 descriptor lacks in an extension (MQMDE) behind it.
    """

    remote_q_name: str
    remote_qmgr_name: str
    descriptor: MQMD

    def pack(self) -> bytes:
        md = self.descriptor
        names = text_field(self.remote_q_name, 48) + text_field(self.remote_qmgr_name, 48)
        if md.group_id == NO_ID and not md.msg_flags and md.msg_seq_number == 1:
            return _XQH.pack(b"XQH ", 1, names) + pack_descriptor(md)
        extension = _MDE.pack(
            b"MDE ",
            2,
            _MDE.size,
            md.encoding,
            md.ccsid,
            text_field(md.format, 8),
            0,
            md.group_id,
            md.msg_seq_number,
            md.offset,
            unsigned(md.msg_flags),
            md.original_length,
        )
        return _XQH.pack(b"XQH ", 1, names) + pack_descriptor(replace(md, format=FORMAT_EXTENSION)) + extension

    @staticmethod
    def unpack(body: bytes) -> "tuple[MQXQH, bytes]":
        """The header at the start of `body`, and the message behind it."""
        behind = _XQH.size + _MD.size
        if len(body) < behind or body[:4] != b"XQH ":
            raise MQError(Reason.XQH_ERROR, length=len(body), begins=body[:4])
        _, version, names = _XQH.unpack_from(body)
        if version != 1:
            raise MQError(Reason.XQH_ERROR, version=version)
        md = unpack_descriptor(body[_XQH.size : behind])
        if md.format == FORMAT_EXTENSION:
            md, behind = _with_extension(md, body, behind)
        return MQXQH(field_text(names[:48]), field_text(names[48:]), md), body[behind:]


def _with_extension(md: MQMD, body: bytes, at: int) -> tuple[MQMD, int]:
    if len(body) < at + _MDE.size or body[at : at + 4] != b"MDE ":
        raise MQError(Reason.XQH_ERROR, length=len(body), begins=body[at : at + 4])
    _, version, length, _, _, fmt, _, group_id, sequence, offset, flags, original = _MDE.unpack_from(body, at)
    if (version, length) != (2, _MDE.size):
        raise MQError(Reason.XQH_ERROR, version=version, length=length)
    whole = replace(
        md,
        format=field_text(fmt),
        group_id=group_id,
        msg_seq_number=sequence,
        offset=offset,
        msg_flags=flags,
        original_length=original,
    )
    return whole, at + _MDE.size


FORMAT_EXTENSION = "MQHMDE"
_XQH = struct.Struct(">4si96s")
_MDE = struct.Struct(">4siiii8si24siiIi")
assert (_XQH.size + _MD.size, _MDE.size) == (428, 72)  # noqa: S101 - the manual's lengths, held at import
