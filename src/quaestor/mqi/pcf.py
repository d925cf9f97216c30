"""PCF: commands, answers and events as structures in a message.

Rules
  PF1 A message is a header (MQCFH) and parameters one after the other, each a structure that says its type, its length,
      which parameter it is, and the value: a number (4 or 8 bytes), a text, bytes, lists of these, a filter, or a
      group that holds the parameters that follow it.
  PF2 Numbers are in the byte order that the message's encoding says; what answers uses the order of what asked.
  PF3 Texts are padded to a multiple of four with zeros; trailing blanks and zeros are not part of a text.
  PF4 What does not fit together is a `PCFError` with IBM MQ's reason (3001 to 3020): never a crash, never a guess.

Called by events (message), command and tools.  Calls nothing.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

COMMAND, RESPONSE, EVENT, COMMAND_XR = 1, 2, 7, 16
INTEGER, STRING, INTEGER_LIST, STRING_LIST, BYTES = 3, 4, 5, 6, 9
INTEGER_FILTER, STRING_FILTER, BYTES_FILTER = 13, 14, 15
GROUP, INTEGER64, INTEGER64_LIST = 20, 23, 25
NOT_LAST, LAST = 0, 1
FORMAT = "MQADMIN"
HEADER_LENGTH = 36
CCSID_UTF8 = 1208
LITTLE = 0x2
"""Bit of the MQMD's encoding that says that integers have their low byte first."""

TYPE_ERROR, LENGTH_ERROR, COUNT_ERROR, STRUCTURE_ERROR = 3001, 3002, 3006, 3013
DEPTH_MAX = 8


class PCFError(ValueError):
    """A message that is no PCF (PF4); `about` is what its answer says of it beside the reason."""

    def __init__(self, reason: int, why: str, about: "tuple[Parameter, ...]" = ()) -> None:
        super().__init__(f"MQRCCF {reason}: {why}")
        self.reason, self.about = reason, about


class Filter(NamedTuple):
    """A parameter that selects: operator (MQCFOP) and value."""

    operator: int
    value: "int | str | bytes"


class Parameter(NamedTuple):
    """One parameter (PF1)."""

    number: int
    value: "int | str | bytes | tuple[int, ...] | tuple[str, ...] | Filter | tuple[Parameter, ...]"
    kind: int = 0
    """Given only where the value does not say it: an empty list, a number of 8 bytes."""


@dataclass(frozen=True, slots=True)
class PCFMessage:
    """Header and parameters."""

    command: int
    parameters: tuple[Parameter, ...] = ()
    kind: int = COMMAND
    sequence: int = 1
    control: int = LAST
    comp_code: int = 0
    reason: int = 0
    version: int = 1

    def value(self, number: int) -> object | None:
        """The value of a parameter, None when it is not there."""
        return next((p.value for p in self.parameters if p.number == number), None)


# --- writing ---------------------------------------------------------------------------------------------------------


def pack(message: PCFMessage, *, little: bool = False) -> bytes:
    """The bytes of a message (PF1, PF2)."""
    order = "<" if little else ">"
    header = (message.kind, HEADER_LENGTH, message.version, message.command, message.sequence, message.control)
    counts = (message.comp_code, message.reason, len(message.parameters))
    return struct.pack(f"{order}9i", *header, *counts) + b"".join(_packed(order, p) for p in message.parameters)


def _packed(order: str, parameter: Parameter) -> bytes:
    number, value = parameter.number, parameter.value
    kind = parameter.kind or _kind_of(value)
    if kind == INTEGER:
        return struct.pack(f"{order}4i", kind, 16, number, value)
    if kind == INTEGER64:
        return struct.pack(f"{order}4iq", kind, 24, number, 0, value)
    if kind == STRING:
        raw = str(value).encode()
        return _sized(order, kind, (number, CCSID_UTF8, len(raw)), raw)
    if kind == BYTES:
        raw = bytes(value)  # type: ignore[arg-type] # the kind says what it is
        return _sized(order, kind, (number, len(raw)), raw)
    if kind in {INTEGER_LIST, INTEGER64_LIST}:
        numbers = tuple(value)  # type: ignore[arg-type] # as above
        raw = struct.pack(f"{order}{len(numbers)}{'i' if kind == INTEGER_LIST else 'q'}", *numbers)
        return _sized(order, kind, (number, len(numbers)), raw)
    if kind == STRING_LIST:
        return _packed_texts(order, number, tuple(value))  # type: ignore[arg-type] # as above
    if kind == GROUP:
        members: tuple[Parameter, ...] = tuple(value)  # type: ignore[arg-type] # as above
        return struct.pack(f"{order}4i", kind, 16, number, len(members)) + b"".join(_packed(order, m) for m in members)
    return _packed_filter(order, kind, number, value)  # type: ignore[arg-type] # the one kind that is left


def _packed_texts(order: str, number: int, texts: tuple[str, ...]) -> bytes:
    raw = [text.encode() for text in texts]
    longest = max(map(len, raw), default=0)
    return _sized(order, STRING_LIST, (number, CCSID_UTF8, len(raw), longest), b"".join(t.ljust(longest) for t in raw))


def _packed_filter(order: str, kind: int, number: int, value: Filter) -> bytes:
    if kind not in {INTEGER_FILTER, STRING_FILTER, BYTES_FILTER}:
        raise PCFError(STRUCTURE_ERROR, f"structure type {kind} is not known")
    if kind == INTEGER_FILTER:
        return struct.pack(f"{order}5i", kind, 20, number, value.operator, value.value)
    if kind == STRING_FILTER:
        raw = str(value.value).encode()
        return _sized(order, kind, (number, value.operator, CCSID_UTF8, len(raw)), raw)
    raw = bytes(value.value)  # type: ignore[arg-type] # the kind says what it is
    return _sized(order, kind, (number, value.operator, len(raw)), raw)


def _sized(order: str, kind: int, fields: tuple[int, ...], raw: bytes) -> bytes:
    padded = raw + bytes(-len(raw) % 4)  # PF3
    return struct.pack(f"{order}{2 + len(fields)}i", kind, 8 + 4 * len(fields) + len(padded), *fields) + padded


def _kind_of(value: object) -> int:
    if isinstance(value, Filter):
        of = {int: INTEGER_FILTER, str: STRING_FILTER}
        return of.get(type(value.value), BYTES_FILTER)
    if isinstance(value, bool | int):
        return INTEGER if -(1 << 31) <= value < 1 << 31 else INTEGER64
    if isinstance(value, str):
        return STRING
    if isinstance(value, bytes):
        return BYTES
    first = next(iter(value), None)  # type: ignore[call-overload] # a list of one of the others
    if isinstance(first, Parameter):
        return GROUP
    if isinstance(first, str):
        return STRING_LIST
    return INTEGER_LIST if all(-(1 << 31) <= n < 1 << 31 for n in value) else INTEGER64_LIST  # type: ignore[attr-defined]


# --- reading ---------------------------------------------------------------------------------------------------------


def unpack(raw: bytes, *, little: bool = False) -> PCFMessage:
    """The message in `raw`, or a `PCFError` (PF4)."""
    order = "<" if little else ">"
    if len(raw) < HEADER_LENGTH:
        raise PCFError(LENGTH_ERROR, "shorter than a header")
    kind, length, version, command, sequence, control, comp_code, reason, count = struct.unpack_from(f"{order}9i", raw)
    if kind not in {COMMAND, RESPONSE, EVENT, COMMAND_XR}:
        raise PCFError(TYPE_ERROR, f"type {kind} is neither a command nor a response nor an event")
    if length != HEADER_LENGTH:
        raise PCFError(LENGTH_ERROR, f"the header says that it has {length} bytes")
    reader = _Reader(raw, order)
    parameters = tuple(reader.parameters(count))
    if reader.at != len(raw):
        raise PCFError(COUNT_ERROR, f"{len(raw) - reader.at} bytes follow the last parameter")
    return PCFMessage(command, parameters, kind, sequence, control, comp_code, reason, version)


class _Reader:
    def __init__(self, raw: bytes, order: str) -> None:
        self._raw, self._order, self.at = raw, order, HEADER_LENGTH

    def parameters(self, count: int, depth: int = 0) -> Iterator[Parameter]:
        if count < 0 or depth > DEPTH_MAX:
            raise PCFError(COUNT_ERROR, f"{count} parameters, {depth} groups deep")
        for _ in range(count):
            yield self._parameter(depth)

    def _parameter(self, depth: int) -> Parameter:
        start = self.at
        kind, length, number = self._ints(start, 3)
        if length < 16 or start + length > len(self._raw):
            raise PCFError(COUNT_ERROR, f"a parameter of {length} bytes at {start}")
        self.at = start + length
        if kind == GROUP:
            (count,) = self._ints(start + 12, 1)
            return Parameter(number, tuple(self.parameters(count, depth + 1)), GROUP)
        return Parameter(number, self._value(kind, start, length), kind)

    def _value(
        self, kind: int, start: int, length: int
    ) -> "int | str | bytes | tuple[int, ...] | tuple[str, ...] | Filter":
        body = start + 12
        if kind == INTEGER:
            return self._ints(body, 1)[0]
        if kind == INTEGER64:
            return self._many("q", body + 4, 1, start + length)[0]
        if kind == STRING:
            _, size = self._ints(body, 2)
            return _text(self._bytes(body + 8, size, start + length))
        if kind == BYTES:
            (size,) = self._ints(body, 1)
            return self._bytes(body + 4, size, start + length)
        if kind in {INTEGER_LIST, INTEGER64_LIST}:
            (count,) = self._ints(body, 1)
            return self._many("i" if kind == INTEGER_LIST else "q", body + 4, count, start + length)
        if kind == STRING_LIST:
            _, count, size = self._ints(body, 3)
            if count < 0 or size < 0 or count * max(size, 1) > len(self._raw):
                raise PCFError(COUNT_ERROR, f"{count} texts of {size} bytes")
            return tuple(_text(self._bytes(body + 12 + n * size, size, start + length)) for n in range(count))
        return self._filter(kind, body, start + length)

    def _filter(self, kind: int, body: int, end: int) -> Filter:
        if kind == INTEGER_FILTER:
            return Filter(*self._ints(body, 2))
        if kind == STRING_FILTER:
            operator, _, size = self._ints(body, 3)
            return Filter(operator, _text(self._bytes(body + 12, size, end)))
        if kind == BYTES_FILTER:
            operator, size = self._ints(body, 2)
            return Filter(operator, self._bytes(body + 8, size, end))
        raise PCFError(STRUCTURE_ERROR, f"structure type {kind} is not known")

    def _ints(self, at: int, count: int) -> tuple[int, ...]:
        return self._many("i", at, count, len(self._raw))

    def _many(self, kind: str, at: int, count: int, end: int) -> tuple[int, ...]:
        size = 4 if kind == "i" else 8
        if count < 0 or at + count * size > end:
            raise PCFError(COUNT_ERROR, f"{count} numbers at {at} go beyond the end")
        return struct.unpack_from(f"{self._order}{count}{kind}", self._raw, at)

    def _bytes(self, at: int, size: int, end: int) -> bytes:
        if size < 0 or at + size > end:
            raise PCFError(COUNT_ERROR, f"{size} bytes at {at} go beyond the end")
        return self._raw[at : at + size]


def _text(raw: bytes) -> str:
    """PF3."""
    return raw.decode("utf-8", "replace").rstrip(" \0")
