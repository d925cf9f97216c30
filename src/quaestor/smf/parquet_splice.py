"""One Parquet file out of several: row groups are copied as they are, only the footer is written anew.

Several processes encode parts of a table; nobody encodes anything twice. A Parquet file is a magic number, the column
chunks of its row groups, and a footer that says at which offset each of them lies. Copying the chunks behind each
other moves them by a known distance, and the footer (Thrift, compact protocol) is put together from the parts' own:
all of it byte by byte, except the offsets.

Rules
  Q1  The parts have one schema, compared byte by byte; they may hold any number of row groups, or none.
  Q2  Only offsets and ordinals change. Fields that this module does not know are copied unread.
  Q3  Row groups keep the order of the parts.

Called by export.  Calls nothing.  The field numbers are those of the format's `parquet.thrift`.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MAGIC = b"PAR1"
_TAIL = 8  # length of the footer, magic
_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)

_FILE_SCHEMA, _FILE_ROWS, _FILE_ROW_GROUPS = 2, 3, 4
_GROUP_COLUMNS, _GROUP_OFFSET, _GROUP_ORDINAL = 1, 5, 7
_CHUNK_META = 3
_CHUNK_OFFSETS = frozenset({2, 4, 6})  # file_offset, offset_index_offset, column_index_offset
_META_OFFSETS = frozenset({9, 10, 11, 14})  # data page, index page, dictionary page, bloom filter


class SpliceError(Exception):
    """The parts do not make one file."""


# --- Thrift, compact protocol ----------------------------------------------------------------------------------------


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned number and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _unsigned(value: int) -> bytes:
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _number(data: bytes, at: int) -> int:
    """A signed number, zigzag."""
    raw, _ = _varint(data, at)
    return raw >> 1 ^ -(raw & 1)


def _signed(value: int) -> bytes:
    return _unsigned(value << 1 ^ value >> 63)


def _list_head(data: bytes, at: int) -> tuple[int, int, int]:
    """Element type, size, and where the first element begins."""
    size, kind, at = data[at] >> 4, data[at] & 0x0F, at + 1
    if size == 0x0F:
        size, at = _varint(data, at)
    return kind, size, at


def _skip(data: bytes, at: int, kind: int) -> int:
    """Where a value ends."""
    if kind in (_I16, _I32, _I64):
        while data[at] >= 0x80:
            at += 1
        return at + 1
    if kind == _BINARY:
        size, at = _varint(data, at)
        return at + size
    if kind == _STRUCT:
        for _, inner, begin, _ in _fields(data, at):
            at = begin if inner == _STOP else at
        return at
    if kind in (_LIST, _SET):
        element, size, at = _list_head(data, at)
        for _ in range(size):
            at = at + 1 if element in (_TRUE, _FALSE) else _skip(data, at, element)
        return at
    if kind in (_TRUE, _FALSE):
        return at
    if kind in (_BYTE, _DOUBLE):
        return at + (1 if kind == _BYTE else 8)
    raise SpliceError(f"Thrift type {kind} in a Parquet footer")


def _fields(data: bytes, at: int) -> Iterator[tuple[int, int, int, int]]:
    """Number, type, begin and end of the value of each field of a struct; a stop field with its end comes last."""
    number = 0
    while data[at]:
        delta, kind, at = data[at] >> 4, data[at] & 0x0F, at + 1
        if not delta:
            number, at = _number(data, at), _varint(data, at)[1]
        number += delta
        end = _skip(data, at, kind)
        yield number, kind, at, end
        at = end
    yield 0, _STOP, at + 1, at + 1


def _edited(data: bytes, at: int, edit: Callable[[int, int, int], bytes | None]) -> bytes:
    """A struct with some values replaced: `edit(number, begin, end)` gives the new bytes, or None to keep them."""
    made = bytearray()
    copied = at
    for number, _, begin, end in _fields(data, at):
        new = edit(number, begin, end) if number else None
        if new is not None:
            made += data[copied:begin] + new
            copied = end
        at = end
    made += data[copied:at]
    return bytes(made)


def _elements(data: bytes, at: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each element of a list."""
    kind, size, at = _list_head(data, at)
    for _ in range(size):
        end = _skip(data, at, kind)
        yield at, end
        at = end


def _structs(parts: Sequence[bytes]) -> bytes:
    """A list of structs."""
    size = len(parts)
    head = bytes([size << 4 | _STRUCT]) if size < 0x0F else bytes([0xF0 | _STRUCT]) + _unsigned(size)
    return head + b"".join(parts)


# --- footers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Footer:
    """The footer of a part: as it was, its schema, its rows, its row groups."""

    data: bytes
    begins: int  # at this offset of the file
    schema: bytes
    rows: int
    groups: tuple[bytes, ...]


def _read_footer(stream: BinaryIO) -> _Footer:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - _TAIL))
    tail = stream.read(_TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > size - _TAIL - len(MAGIC):
        raise SpliceError("not a Parquet file")
    stream.seek(size - _TAIL - length)
    data = stream.read(length)
    found = {number: (begin, end) for number, _, begin, end in _fields(data, 0)}
    begin, end = found[_FILE_SCHEMA]
    groups = tuple(data[a:b] for a, b in _elements(data, found[_FILE_ROW_GROUPS][0]))
    return _Footer(data, size - _TAIL - length, data[begin:end], _number(data, found[_FILE_ROWS][0]), groups)


def _moved_group(group: bytes, by: int, ordinal: int) -> bytes:
    """A row group whose bytes lie `by` further on (Q2)."""

    def edit(number: int, begin: int, _: int) -> bytes | None:
        if number == _GROUP_COLUMNS:
            return _structs([_moved_chunk(group, at, by) for at, _ in _elements(group, begin)])
        if number == _GROUP_OFFSET:
            return _moved(group, begin, by)
        return _signed(ordinal) if number == _GROUP_ORDINAL else None

    return _edited(group, 0, edit)


def _moved_chunk(data: bytes, at: int, by: int) -> bytes:
    def edit(number: int, begin: int, _: int) -> bytes | None:
        if number == _CHUNK_META:
            return _edited(data, begin, lambda inner, a, _: _moved(data, a, by) if inner in _META_OFFSETS else None)
        return _moved(data, begin, by) if number in _CHUNK_OFFSETS else None

    return _edited(data, at, edit)


def _moved(data: bytes, at: int, by: int) -> bytes:
    """An offset further on; zero means that there is none."""
    offset = _number(data, at)
    return _signed(offset + by if offset else 0)


class Splice:
    """A Parquet file that grows by the row groups of others; `close` writes its footer."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._target.write_bytes(MAGIC)
        self._first: _Footer | None = None
        self._groups: list[bytes] = []
        self._rows = 0

    def add(self, part: Path) -> None:
        """Append the row groups of a part (Q1, Q3)."""
        with part.open("rb") as stream, self._target.open("ab") as out:
            footer = _read_footer(stream)
            self._first = self._first or footer
            if footer.schema != self._first.schema:
                raise SpliceError(f"{part.name} has another schema than the parts before it")
            by = out.tell() - len(MAGIC)
            _copy(stream, out, len(MAGIC), footer.begins)
        for each in footer.groups:
            self._groups.append(_moved_group(each, by, len(self._groups)))
        self._rows += footer.rows

    def close(self) -> int:
        """Finish the file; the number of its rows."""
        if self._first is None:
            raise SpliceError("no parts")
        new = {_FILE_ROWS: _signed(self._rows), _FILE_ROW_GROUPS: _structs(self._groups)}
        data = _edited(self._first.data, 0, lambda number, _begin, _end: new.get(number))
        with self._target.open("ab") as out:
            out.write(data + len(data).to_bytes(4, "little") + MAGIC)
        return self._rows


def _copy(stream: BinaryIO, out: BinaryIO, begin: int, end: int, step: int = 8 << 20) -> None:
    stream.seek(begin)
    while begin < end:
        data = stream.read(min(step, end - begin))
        if not data:
            raise SpliceError("a part ends early")
        out.write(data)
        begin += len(data)
