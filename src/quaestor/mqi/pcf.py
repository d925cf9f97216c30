"""PCF: programmable command format, the shape of event messages, commands and their replies.

Rules
  PC1 A PCF message is a header (MQCFH) and its parameters in order: integers (MQCFIN), strings (MQCFST), lists of
      either (MQCFIL, MQCFSL) and byte strings (MQCFBS). Everything is big-endian, text is UTF-8, and every structure
      is a multiple of four bytes long.
  PC2 What cannot be read is refused with where it went wrong; nothing is guessed.

Called by events (message), the command server.  Calls nothing.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

VERSION = 1
CCSID_UTF8 = 1208
_HEADER = struct.Struct(">9i")
_HEAD = struct.Struct(">2i")
_INTEGER = struct.Struct(">4i")
_STRING = struct.Struct(">5i")
_LIST = struct.Struct(">4i")
_STRING_LIST = struct.Struct(">6i")
_BYTES = struct.Struct(">4i")


class PcfType(IntEnum):
    """MQCFT: what a structure is."""

    COMMAND = 1
    RESPONSE = 2
    INTEGER = 3
    STRING = 4
    INTEGER_LIST = 5
    STRING_LIST = 6
    EVENT = 7
    BYTE_STRING = 9


class PcfError(ValueError):
    """The bytes are no PCF message (PC2)."""


Value = int | str | bytes | Sequence[int] | Sequence[str]
Parameter = tuple[int, Value]


@dataclass(frozen=True, slots=True)
class PcfMessage:
    """A PCF message (PC1). `last` says that no further message belongs to it."""

    kind: int
    command: int
    parameters: tuple[Parameter, ...] = ()
    comp_code: int = 0
    reason: int = 0
    sequence: int = 1
    last: bool = True

    def pack(self) -> bytes:
        head = _HEADER.pack(
            self.kind,
            _HEADER.size,
            VERSION,
            self.command,
            self.sequence,
            1 if self.last else 0,
            self.comp_code,
            self.reason,
            len(self.parameters),
        )
        return head + b"".join(_packed(number, value) for number, value in self.parameters)

    def get(self, parameter: int) -> Value | None:
        """The value of a parameter, None when it is not there."""
        return next((value for number, value in self.parameters if number == parameter), None)

    @staticmethod
    def unpack(body: bytes) -> "PcfMessage":
        if len(body) < _HEADER.size:
            raise PcfError(f"{len(body)} bytes are no MQCFH")
        kind, length, _, command, sequence, control, comp_code, reason, count = _HEADER.unpack_from(body)
        if length != _HEADER.size:
            raise PcfError(f"the MQCFH says {length} bytes, it has {_HEADER.size}")
        parameters, at = [], length
        for _ in range(count):
            parameter, at = _unpacked(body, at)
            parameters.append(parameter)
        return PcfMessage(kind, command, tuple(parameters), comp_code, reason, sequence, control == 1)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _packed(number: int, value: Value) -> bytes:
    if isinstance(value, int):
        return _INTEGER.pack(PcfType.INTEGER, _INTEGER.size, number, value)
    if isinstance(value, str):
        text = value.encode()
        body = _padded(text)
        return _STRING.pack(PcfType.STRING, _STRING.size + len(body), number, CCSID_UTF8, len(text)) + body
    if isinstance(value, bytes):
        body = _padded(value)
        return _BYTES.pack(PcfType.BYTE_STRING, _BYTES.size + len(body), number, len(value)) + body
    return _packed_list(number, value)


def _packed_list(number: int, values: Sequence[int] | Sequence[str]) -> bytes:
    if all(isinstance(one, int) for one in values):
        body = struct.pack(f">{len(values)}i", *values)
        return _LIST.pack(PcfType.INTEGER_LIST, _LIST.size + len(body), number, len(values)) + body
    texts = [str(one).encode() for one in values]
    longest = max(map(len, texts))
    body = _padded(b"".join(text.ljust(longest) for text in texts))
    size = _STRING_LIST.size + len(body)
    return _STRING_LIST.pack(PcfType.STRING_LIST, size, number, CCSID_UTF8, len(texts), longest) + body


def _unpacked(body: bytes, at: int) -> tuple[Parameter, int]:
    """The parameter at an offset, and where the next one begins."""
    if at + _HEAD.size > len(body):
        raise PcfError(f"a parameter is missing at {at}")
    kind, length = _HEAD.unpack_from(body, at)
    end = at + length
    if length < _INTEGER.size or end > len(body):
        raise PcfError(f"the parameter at {at} says {length} bytes, {len(body) - at} are left")
    data = body[at:end]
    try:
        return _READERS[kind](data), end
    except KeyError:
        raise PcfError(f"the parameter at {at} is of type {kind}, which is not known") from None
    except (struct.error, UnicodeDecodeError) as error:
        raise PcfError(f"the parameter at {at}: {error}") from None


def _integer(data: bytes) -> Parameter:
    return _INTEGER.unpack_from(data)[2:4]


def _string(data: bytes) -> Parameter:
    _, _, number, _, length = _STRING.unpack_from(data)
    return number, data[_STRING.size : _STRING.size + length].decode().rstrip(" ")


def _integer_list(data: bytes) -> Parameter:
    _, _, number, count = _LIST.unpack_from(data)
    return number, list(struct.unpack_from(f">{count}i", data, _LIST.size))


def _string_list(data: bytes) -> Parameter:
    _, _, number, _, count, length = _STRING_LIST.unpack_from(data)
    parts = (data[_STRING_LIST.size + n * length : _STRING_LIST.size + (n + 1) * length] for n in range(count))
    return number, [part.decode().rstrip(" ") for part in parts]


def _bytes(data: bytes) -> Parameter:
    _, _, number, length = _BYTES.unpack_from(data)
    return number, data[_BYTES.size : _BYTES.size + length]


_READERS = {
    PcfType.INTEGER: _integer,
    PcfType.STRING: _string,
    PcfType.INTEGER_LIST: _integer_list,
    PcfType.STRING_LIST: _string_list,
    PcfType.BYTE_STRING: _bytes,
}
