"""Values as bytes: what calls are made of that are not on the hot path.

Rules
  VA1 A value is one tag byte and its contents. There are None, booleans, integers of any size, floats, text, bytes,
      lists, tuples, maps with text keys, and messages. An enumeration travels as its number.
  VA2 Reading never trusts a length: what does not fit into what is there is a `ProtocolError`, and so is nesting deeper
      than `DEPTH_MAX`. A request has at most `REQUEST_VALUES` of them: to read as many as its bytes could hold would
      take so long that nobody else is served. An integer has at most `INTEGER_BYTES`: a longer one could not be written
      down, in an error or in the log.
  VA3 An object of another kind travels as its text: facts of an error may hold anything.

Called by calls and the client.  Calls wire for messages.
"""

from struct import Struct
from struct import error as StructError  # noqa: N812 - a class
from typing import Any

from quaestor.mqi.messages import Message
from quaestor.mqi.reasons import CompCode, MQError, Reason
from quaestor.server.protocol import ProtocolError
from quaestor.server.wire import pack_message, unpack_message

DEPTH_MAX = 8
REQUEST_VALUES = 4096
INTEGER_BYTES = 1024
_INT, _FLOAT, _LENGTH = Struct(">q"), Struct(">d"), Struct(">I")
_SMALL = 1 << 63
_PLAIN = {b"N"[0]: None, b"T"[0]: True, b"F"[0]: False}
_SEQUENCES = {b"l"[0]: list, b"t"[0]: tuple}


def pack(value: Any) -> bytes:
    """A value as bytes (VA1)."""
    parts: list[bytes] = []
    _pack(value, parts, 0)
    return b"".join(parts)


def _pack(value: Any, parts: list[bytes], depth: int) -> None:
    if depth > DEPTH_MAX:
        raise ValueError("a value is nested too deeply to be sent")
    if value is None or value is True or value is False:
        parts.append(b"N" if value is None else b"T" if value else b"F")
    elif isinstance(value, str):
        _pack_bytes(b"s", value.encode(), parts)
    elif isinstance(value, bytes | bytearray | memoryview):
        _pack_bytes(b"b", bytes(value), parts)
    elif isinstance(value, int):
        _pack_int(int(value), parts)
    elif isinstance(value, float):
        parts.append(b"d" + _FLOAT.pack(value))
    elif isinstance(value, Message):
        _pack_bytes(b"M", pack_message(value, 0, value.envelope.packed()) + value.body, parts)
    elif isinstance(value, list | tuple | set | frozenset):
        parts.append((b"l" if isinstance(value, list) else b"t") + _LENGTH.pack(len(value)))
        for one in value:
            _pack(one, parts, depth + 1)
    elif isinstance(value, dict):
        parts.append(b"m" + _LENGTH.pack(len(value)))
        for key, one in value.items():
            _pack_bytes(b"s", str(key).encode(), parts)
            _pack(one, parts, depth + 1)
    else:
        _pack_bytes(b"s", str(value).encode(), parts)  # VA3


def _pack_int(value: int, parts: list[bytes]) -> None:
    if -_SMALL <= value < _SMALL:
        parts.append(b"i" + _INT.pack(value))
    else:
        _pack_bytes(b"I", value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True), parts)


def _pack_bytes(tag: bytes, contents: bytes, parts: list[bytes]) -> None:
    parts.append(tag + _LENGTH.pack(len(contents)))
    parts.append(contents)


def unpack(packed: bytes, most: int = 0) -> Any:
    """The value these bytes are, all of them, and no more values in it than `most` if that is said (VA2)."""
    try:
        value, end = _unpack(packed, 0, 0, [most or len(packed)])
    except (StructError, IndexError, UnicodeDecodeError, ValueError) as error:
        raise ProtocolError(f"a value cannot be read: {error}") from error
    if end != len(packed):
        raise ProtocolError(f"{len(packed) - end} bytes behind a value")
    return value


def _unpack(packed: bytes, at: int, depth: int, left: list[int]) -> tuple[Any, int]:
    tag = packed[at]
    if depth > DEPTH_MAX:
        raise ProtocolError("a value is nested too deeply")
    if tag in _PLAIN:
        return _PLAIN[tag], at + 1
    if tag == b"i"[0]:
        return _INT.unpack_from(packed, at + 1)[0], at + 9
    if tag == b"d"[0]:
        return _FLOAT.unpack_from(packed, at + 1)[0], at + 9
    (length,) = _LENGTH.unpack_from(packed, at + 1)
    at += 5
    if length > len(packed) - at:
        raise ProtocolError("a value is longer than its frame")
    if tag in _SEQUENCES or tag == b"m"[0]:
        return _unpack_many(packed, at, length, tag, depth, left)
    return _unpack_bytes(tag, packed[at : at + length]), at + length


def _unpack_many(packed: bytes, at: int, length: int, tag: int, depth: int, left: list[int]) -> tuple[Any, int]:
    values = []
    left[0] -= length
    if left[0] < 0:
        raise ProtocolError("too many values")
    for _ in range(length if tag in _SEQUENCES else 2 * length):
        value, at = _unpack(packed, at, depth + 1, left)
        values.append(value)
    if tag in _SEQUENCES:
        return _SEQUENCES[tag](values), at
    keys = values[::2]
    if not all(isinstance(key, str) for key in keys):
        raise ProtocolError("a map's key is not text")
    return dict(zip(keys, values[1::2], strict=True)), at


def _unpack_bytes(tag: int, contents: bytes) -> Any:
    if tag == b"s"[0]:
        return contents.decode()
    if tag == b"b"[0]:
        return contents
    if tag == b"I"[0]:
        if len(contents) > INTEGER_BYTES:
            raise ProtocolError(f"an integer of {len(contents)} bytes")
        return int.from_bytes(contents, "big", signed=True)
    if tag == b"M"[0]:
        message, _, _ = unpack_message(contents, 0, len(contents), None)
        return message
    raise ProtocolError(f"unknown tag {tag}")


def pack_error(error: MQError) -> bytes:
    """A call's answer that is not success, with its facts."""
    return pack([int(error.reason), int(error.comp_code), error.facts])


def unpack_error(packed: bytes) -> MQError:
    found = unpack(packed)
    if not (isinstance(found, list) and len(found) == 3 and isinstance(found[0], int) and isinstance(found[2], dict)):
        raise ProtocolError("an error without reason, completion code and facts")
    number, comp_code, facts = found
    known = number in Reason._value2member_map_
    error = MQError(Reason._value2member_map_[number] if known else Reason.UNEXPECTED_ERROR)  # type: ignore[arg-type]
    error.comp_code = CompCode.WARNING if comp_code == CompCode.WARNING else CompCode.FAILED
    error.facts.update(facts if known else {"reason": number, **facts})
    return error
