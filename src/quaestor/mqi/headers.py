"""Headers: structures that travel at the front of a message body.

Rules
  H1  Each is laid out byte for byte as IBM MQ lays it out: big-endian, character fields blank padded, text in
      UTF-8. A header that is too short, has another eye-catcher or an unknown version is refused.

Called by the message manager, trigger monitors, dead-letter handlers, the mover.  Calls descriptors.
"""

import struct
from dataclasses import dataclass

from quaestor.mqi.descriptors import APPL_TYPE_NO_CONTEXT, CCSID_UTF8, ENCODING_NATIVE, FORMAT_NONE
from quaestor.mqi.reasons import MQError, Reason


def text_field(text: str, length: int) -> bytes:
    """Text as a blank-padded character field of exactly `length` bytes (H1)."""
    encoded = text.encode()[:length]
    return encoded + b" " * (length - len(encoded))


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
        _, _, queue, process, data, kind, appl, env, user = _TM.unpack(body)
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
