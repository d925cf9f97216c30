"""One Parquet file out of several: row groups are copied as they are, only the footer is written anew.

Several processes encode parts of a table; nobody encodes anything twice. A Parquet file is a magic number, the column
chunks of its row groups, and a footer that says at which offset each of them lies. Copying the chunks behind each
other moves them by a known distance, and the footer (Thrift, compact protocol) is put together from the parts' own:
all of it byte by byte, except the offsets.

Rules
  Q1  The parts have one schema, compared byte by byte; they may hold any number of row groups, or none.
  Q2  Only offsets and ordinals change. Fields that this module does not know are copied unread.
  Q3  Row groups keep the order of the parts.
  Q4  A footer is gone through once, from its first byte to its last.

Called by parquet_tables.  Calls nothing.  The field numbers are those of the format's `parquet.thrift`.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

MAGIC = b"PAR1"
_TAIL = 8  # length of the footer, magic
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_LONG_LIST = 15

# a value at an offset is written to the output in another form; where it ended is given back
Edit = Callable[[bytes, int, bytearray], int]


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


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A signed number, zigzag, and where it ends."""
    raw, at = _varint(data, at)
    return raw >> 1 ^ -(raw & 1), at


def _signed(value: int) -> bytes:
    return _unsigned(value << 1 ^ value >> 63)


def _list_head(data: bytes, at: int) -> tuple[int, int, int]:
    """Element type, size, and where the first element begins."""
    size, kind, at = data[at] >> 4, data[at] & 0x0F, at + 1
    if size == _LONG_LIST:
        size, at = _varint(data, at)
    return kind, size, at


def _skip(data: bytes, at: int, kind: int) -> int:
    """Where a value ends."""
    if _I16 <= kind <= _I64:
        while data[at] >= 0x80:
            at += 1
        return at + 1
    if kind == _BINARY:
        size, at = _varint(data, at)
        return at + size
    if kind == _STRUCT:
        while data[at]:
            head, at = data[at], at + 1
            at = _skip(data, at if head >> 4 else _skip(data, at, _I16), head & 0x0F)
        return at + 1
    if kind in (_LIST, _SET):
        element, size, at = _list_head(data, at)
        for _ in range(size):
            at = at + 1 if element <= _FALSE else _skip(data, at, element)
        return at
    if kind <= _FALSE:
        return at  # the type is the value
    if kind == _MAP:
        raise SpliceError("a map in a Parquet footer")
    return at + (1 if kind == _BYTE else 8)


def _edited(data: bytes, at: int, out: bytearray, edits: Mapping[int, Edit]) -> int:
    """Copy a struct to `out`, some fields of it in another form (Q2, Q4); where it ends."""
    copied, number = at, 0
    while data[at]:
        head, at = data[at], at + 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _number(data, at)
        edit = edits.get(number)
        if edit is None:
            at = _skip(data, at, head & 0x0F)
        else:
            out += data[copied:at]
            copied = at = edit(data, at, out)
    out += data[copied : at + 1]
    return at + 1


# --- footers ---------------------------------------------------------------------------------------------------------


def _moved(by: int) -> Edit:
    """An offset further on; zero means that there is none."""

    def edit(data: bytes, at: int, out: bytearray) -> int:
        offset, at = _number(data, at)
        out += _signed(offset + by if offset else 0)
        return at

    return edit


def _chunks(by: int) -> Edit:
    """The column chunks of a row group, moved."""
    move = _moved(by)
    meta = {9: move, 10: move, 11: move, 14: move}  # data, index and dictionary page, bloom filter
    chunk = {2: move, 3: lambda data, at, out: _edited(data, at, out, meta), 4: move, 6: move}  # 4, 6: page indexes

    def edit(data: bytes, at: int, out: bytearray) -> int:
        _, size, begin = _list_head(data, at)
        out += data[at:begin]
        for _ in range(size):
            begin = _edited(data, begin, out, chunk)
        return begin

    return edit


def _written(new: bytes, kind: int) -> Edit:
    """Something else instead of the value."""

    def edit(data: bytes, at: int, out: bytearray) -> int:
        out += new
        return _skip(data, at, kind)

    return edit


class _Footer:
    """The footer of a part: its schema, its rows, and its row groups moved to where they will lie."""

    def __init__(self, data: bytes, by: int, ordinal: int) -> None:
        self.data = data
        self.schema = b""
        self.rows = 0
        self.groups: list[bytes] = []
        self._by = by
        self._ordinal = ordinal
        _edited(data, 0, bytearray(), {2: self._read_schema, 3: self._read_rows, 4: self._read_groups})

    def _read_schema(self, data: bytes, at: int, _: bytearray) -> int:
        end = _skip(data, at, _LIST)
        self.schema = data[at:end]
        return end

    def _read_rows(self, data: bytes, at: int, _: bytearray) -> int:
        self.rows, end = _number(data, at)
        return end

    def _read_groups(self, data: bytes, at: int, _: bytearray) -> int:
        _kind, size, at = _list_head(data, at)
        chunks, move = _chunks(self._by), _moved(self._by)
        for number in range(size):
            group = bytearray()
            at = _edited(data, at, group, {1: chunks, 5: move, 7: _written(_signed(self._ordinal + number), _I16)})
            self.groups.append(bytes(group))
        return at


def _footer_bytes(stream: BinaryIO) -> tuple[bytes, int]:
    """The footer of a Parquet file, and at which offset it begins."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - _TAIL))
    tail = stream.read(_TAIL)
    length = int.from_bytes(tail[:4], "little")
    begins = size - _TAIL - length
    if tail[4:] != MAGIC or begins < len(MAGIC):
        raise SpliceError("not a Parquet file")
    stream.seek(begins)
    return stream.read(length), begins


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
            data, begins = _footer_bytes(stream)
            footer = _Footer(data, out.tell() - len(MAGIC), len(self._groups))
            self._first = self._first or footer
            if footer.schema != self._first.schema:
                raise SpliceError(f"{part.name} has another schema than the parts before it")
            _copy(stream, out, len(MAGIC), begins)
        self._groups += footer.groups
        self._rows += footer.rows

    def close(self) -> int:
        """Finish the file; the number of its rows."""
        if self._first is None:
            raise SpliceError("no parts")
        size = len(self._groups)
        head = bytes([size << 4 | _STRUCT]) if size < _LONG_LIST else bytes([0xF0 | _STRUCT]) + _unsigned(size)
        groups, footer = head + b"".join(self._groups), bytearray()
        _edited(self._first.data, 0, footer, {3: _written(_signed(self._rows), _I64), 4: _written(groups, _LIST)})
        with self._target.open("ab") as out:
            out.write(footer + len(footer).to_bytes(4, "little") + MAGIC)
        return self._rows


def _copy(stream: BinaryIO, out: BinaryIO, begin: int, end: int, step: int = 1 << 20) -> None:
    stream.seek(begin)
    while begin < end:
        data = stream.read(min(step, end - begin))
        if not data:
            raise SpliceError("a part ends early")
        out.write(data)
        begin += len(data)
