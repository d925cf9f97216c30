"""Messages, descriptors and selections as bytes: the payloads of the hot calls.

Rules
  WI1 A descriptor travels without its correlation identifier, which a put carries beside it: replies under one
      descriptor differ in nothing else. The same bytes give the same `MQMD` object, so that the message manager finds
      what it decided for it before.
  WI2 A message travels as a fixed header, its envelope and its body. An envelope of length 0 is the one that the
      handle's last message had.
  WI3 Reading never trusts a length (`ProtocolError`).

Called by conversation and the client.  Calls mqi only.
"""

from dataclasses import replace
from struct import Struct
from struct import error as StructError  # noqa: N812 - a class
from typing import Any

from quaestor.mqi.descriptors import MQMD, NO_ID, NO_TOKEN, identifier
from quaestor.mqi.messages import Message
from quaestor.mqi.reasons import MQError, Reason
from quaestor.server.protocol import HEADER, ProtocolError

MESSAGE = Struct(">24s24sBBqqHiiQH")
"""msg and correl id, priority, persistence, put and expiry time, backouts, expiry left, true length, token, envelope:
a `Message` from its third field on, then what is not in it"""

MESSAGE_LENGTH = MESSAGE.size
ANSWER = Struct(HEADER.format + MESSAGE.format[1:])
"""The frame of an answer and the message in it, as far as its envelope."""

ANSWER_LENGTH = ANSWER.size

PUT = Struct(">HI")
GET = Struct(">HIiQ")
COUNT, LENGTH = Struct(">H"), Struct(">I")
UNIT = Struct(">Q")
new_message = tuple.__new__
_DESCRIPTOR = Struct(">iiiiB")
_NUMBERS = Struct(">qqi")
_DESCRIPTORS: dict[bytes, MQMD] = {}
_DESCRIPTORS_MAX = 1024
_SELECTORS = ("msg_id", "correl_id", "group_id", "sequence", "token", "match")


def pack_message(message: Message, token: int, envelope: bytes) -> bytes:
    """Everything of a message but its body (WI2)."""
    return MESSAGE.pack(*message[2:], token, len(envelope)) + envelope


def pack_answer(
    op: int, conversation: int, number: int, message: Message, body: bytes, token: int, envelope: bytes
) -> bytes:
    """The frame that carries a message (WI2); the answer to a put has no body."""
    described = len(envelope)
    length = ANSWER_LENGTH + described + len(body)
    return ANSWER.pack(length, op, 0, conversation, number, *message[2:], token, described) + envelope + body


def unpack_message(
    packed: bytes, at: int, end: int, last: MQMD | None, body: bytes | None = None
) -> tuple[Message, int, MQMD]:
    """A message, its token and its envelope; `body` when it does not travel (the answer to a put)."""
    try:
        fields = MESSAGE.unpack_from(packed, at)
        msg_id, correl_id, priority, persistence, put_us, expires_us, backouts, expiry, original, token, length = fields
        at += MESSAGE_LENGTH
        if length:
            if length > end - at:
                raise ProtocolError("an envelope is longer than its frame")
            last = MQMD.unpacked(packed[at : at + length])
    except (StructError, ValueError, MQError) as error:
        raise ProtocolError(f"a message cannot be read: {error}") from error
    if last is None:
        raise ProtocolError("a message without an envelope")
    if body is None:
        body = packed[at + length : end]
    known = (body, last, msg_id, correl_id, priority, persistence, put_us, expires_us, backouts, expiry, original)
    return new_message(Message, known), token, last


def message_end(packed: bytes, at: int) -> int:
    """Where a message without a body ends."""
    return at + MESSAGE_LENGTH + int.from_bytes(packed[at + MESSAGE_LENGTH - 2 : at + MESSAGE_LENGTH], "big")


def pack_descriptor(md: MQMD) -> bytes:
    """A descriptor as its application gave it, without the correlation identifier (WI1)."""
    if type(md) is not MQMD:
        raise MQError(Reason.MD_ERROR, descriptor=type(md).__name__)
    if len(md.accounting_token) > len(NO_TOKEN):  # its zeros would be lost on the way
        raise MQError(Reason.MD_ERROR, accounting_token=md.accounting_token)
    try:
        msg_id = b"" if md.msg_id == NO_ID else identifier(md.msg_id)
        fixed = _DESCRIPTOR.pack(md.expiry, md.priority, md.persistence, md.offset, len(msg_id))
        return fixed + msg_id + md.packed()
    except (StructError, TypeError, ValueError, AttributeError) as error:
        raise MQError(Reason.MD_ERROR, why=str(error)) from error


def unpack_descriptor(packed: bytes) -> MQMD:
    """The descriptor `pack_descriptor` packed: the same object for the same bytes (WI1)."""
    known = _DESCRIPTORS.get(packed)
    if known is not None:
        return known
    try:
        expiry, priority, persistence, offset, length = _DESCRIPTOR.unpack_from(packed)
        at = _DESCRIPTOR.size + length
        rest = MQMD.unpacked(packed[at:])
        msg_id = packed[_DESCRIPTOR.size : at] or NO_ID
        md = replace(rest, expiry=expiry, priority=priority, persistence=persistence, offset=offset, msg_id=msg_id)
    except (StructError, ValueError, MQError) as error:
        raise ProtocolError(f"a descriptor cannot be read: {error}") from error
    if len(_DESCRIPTORS) >= _DESCRIPTORS_MAX:
        _DESCRIPTORS.clear()
    _DESCRIPTORS[packed] = md
    return md


def pack_selection(selecting: dict[str, Any]) -> bytes:
    """What a get asks for: a bit for each thing named, then the identifiers, then the numbers."""
    named, parts, numbers = 0, [], [0, 0, 0]
    for place, name in enumerate(_SELECTORS):
        value = selecting.get(name)
        if value is None:
            continue
        named |= 1 << place
        if place >= 3:
            numbers[place - 3] = value
            continue
        if not isinstance(value, bytes) or len(value) > 255:
            raise MQError(Reason.MATCH_OPTIONS_ERROR, identifier=value)
        parts.append(bytes((len(value),)) + value)
    try:
        return bytes((named,)) + b"".join(parts) + (_NUMBERS.pack(*numbers) if named & 0b111000 else b"")
    except StructError as error:
        raise MQError(Reason.MATCH_OPTIONS_ERROR, why=str(error)) from error


def unpack_selection(packed: bytes, at: int, end: int) -> dict[str, Any]:
    selecting: dict[str, Any] = {}
    try:
        named = packed[at]
        at += 1
        for place in range(3):
            if named >> place & 1:
                stop = at + 1 + packed[at]
                selecting[_SELECTORS[place]] = packed[at + 1 : stop]
                at = stop
        if named & 0b111000:
            numbers = _NUMBERS.unpack_from(packed, at)
            at += _NUMBERS.size
            selecting.update({_SELECTORS[p]: numbers[p - 3] for p in range(3, 6) if named >> p & 1})
    except (StructError, IndexError) as error:
        raise ProtocolError(f"a selection cannot be read: {error}") from error
    if at != end or named & ~0b111111:
        raise ProtocolError("a selection does not fill its frame")
    return selecting


def unpack_bodies(packed: bytes, at: int, end: int) -> list[bytes]:
    """The bodies of a put of many: how many, then each with its length."""
    bodies = []
    (count,) = COUNT.unpack_from(packed, at)
    at += COUNT.size
    for _ in range(count):
        (length,) = LENGTH.unpack_from(packed, at)
        at += LENGTH.size
        if length > end - at:
            raise ProtocolError("a body is longer than its frame")
        bodies.append(packed[at : at + length])
        at += length
    if at != end:
        raise ProtocolError("bodies do not fill their frame")
    return bodies
