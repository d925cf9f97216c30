"""Columns that are more than one plain number per row: text, tokens, arrays, blocks in blocks.

Rules
  N1  An array is a list, an array of blocks a list of structs; a block in a block is a struct. All elements of a
      nested array lie in a regular grid inside the rows, so each leaf is converted with one strided view.
  N2  An array cut by the end of its section keeps the elements that lie wholly inside (L3). An element whose leading
      name is binary zero is an unused slot and is left out: nobody wants 64 entries where three structures exist.
  N3  Figures of the coupling facility are zero for private queues: rows of such a block that hold only zeros are
      found first and not converted.

Called by columns and record_columns.  Calls gather and arrays, and arrow_schema for types.  Knows no structure by name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quaestor.layout import CodePage, Field, Layout
from quaestor.smf.arrays import Mask, bitmap, booleans, both, primitive, texts
from quaestor.smf.arrow_schema import DICTIONARY, Names, element_type, list_type, shown, struct_type
from quaestor.smf.gather import Rows, gather, microseconds, unix_us

_SPARSE_FROM = 256  # bytes of a block per row from which looking for rows of zeros pays (N3)
_SPARSE_UNTIL = 0.8  # share of rows with figures up to which it pays
_LARGEST_CODE = 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class Reading:
    """How bytes are to be read: code page, names of the columns, leap seconds."""

    page: CodePage
    names: Names = "human"
    leap_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Cells:
    """Equal blocks in a regular grid inside rows (N1).

    `spread` says that these rows are only those that hold more than zeros: which ones, out of how many (N3).
    """

    data: NDArray[np.void]
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    spread: tuple[NDArray[np.intp], int] | None = None

    @property
    def count(self) -> int:
        """How many cells there are, with those in rows of zeros."""
        return prod(self.shape if self.spread is None else (self.spread[1], *self.shape[1:]))

    def view(self, dtype: str) -> NDArray[Any]:
        if 0 in self.shape:
            return np.empty(self.shape, dtype)
        return np.ndarray(self.shape, dtype, self.data, self.offset, self.strides)

    def at(self, offset: int) -> "Cells":
        return Cells(self.data, self.offset + offset, self.shape, self.strides, self.spread)

    def repeated(self, count: int, stride: int) -> "Cells":
        return Cells(self.data, self.offset, (*self.shape, count), (*self.strides, stride), self.spread)


def field_column(rows: Rows, each: Field, reading: Reading) -> pa.Array:
    """The column of a field; text comes dictionary-encoded."""
    end = each.end
    reach = rows.reach(end)
    if each.shape and (reach is not None or _has_slots(each)):
        return _ragged(rows, each, reading)
    if end > rows.stride:
        return pa.nulls(len(rows), DICTIONARY if each.wire == "text" else element_type(each, reading.names))
    cells = _cells(rows, each, end - each.offset)
    if each.shape:
        return _lists(cells, each, each.shape, reading)
    return _elements(cells, each, reading, reach)


def _cells(rows: Rows, each: Field, size: int) -> Cells:
    """The cells of a field; those of a wide block of figures only where they are not all zero (N3)."""
    cells = Cells(rows.data, each.offset, (len(rows),), (rows.stride,))
    if each.of is None or size < _SPARSE_FROM or not _only_figures(each.of.LAYOUT):
        return cells
    words = np.ndarray((len(rows), size // 4), "u4", rows.data, each.offset, (rows.stride, 4))
    live = np.flatnonzero(np.bitwise_or.reduce(words, axis=1))
    if len(live) > len(rows) * _SPARSE_UNTIL:
        return cells
    return Cells(words[live].view(f"V{size}").reshape(-1), 0, (len(live),), (size,), (live, len(rows)))


@lru_cache(maxsize=64)
def _only_figures(layout: Layout) -> bool:
    """Whether a block holds 4-byte counters alone, so that its zeros can be told and made in bulk (N3)."""
    return all(
        _only_figures(each.of.LAYOUT) if each.of is not None else each.wire == "u4" and each.unset is None
        for each in layout.fields
    )


def _elements(cells: Cells, each: Field, reading: Reading, valid: Mask | None = None) -> pa.Array:
    """One Arrow value for each cell, in C order."""
    if each.of is not None:
        return _structs(cells, each.of.LAYOUT, reading, valid)
    if each.wire == "text":
        return texts(np.ascontiguousarray(cells.view(f"V{each.size}")), each.size, reading.page, valid)
    if each.wire == "bytes":
        return _tokens(cells, each.size, valid)
    if each.kind.unit in ("utc", "local"):
        return _instants(cells, element_type(each, reading.names), reading.leap_seconds, valid)
    if each.is_tod_interval:
        return primitive(pa.float64(), microseconds(_numbers(cells, ">u8", np.uint64)), valid)
    return _integers(cells, each, valid)


def _structs(cells: Cells, layout: Layout, reading: Reading, valid: Mask | None) -> pa.Array:
    arrays = []
    for each in shown(layout):
        inner = cells.at(each.offset)
        arrays.append(
            _lists(inner, each, each.shape, reading) if each.shape else _plain(_elements(inner, each, reading))
        )
    mask = None if valid is None else booleans(~valid)
    return pa.StructArray.from_arrays(arrays, fields=list(struct_type(layout, reading.names)), mask=mask)


def _lists(cells: Cells, each: Field, shape: Sequence[int], reading: Reading) -> pa.Array:
    """Lists of full length around the elements, one level for each dimension."""
    inner = cells.repeated(shape[0], each.element_size * prod(shape[1:]))
    values = _lists(inner, each, shape[1:], reading) if len(shape) > 1 else _plain(_elements(inner, each, reading))
    offsets = primitive(pa.int32(), _multiples(cells.count, shape[0]))
    return pa.ListArray.from_arrays(offsets, values, type=list_type(values.type, each))


def _plain(array: pa.Array) -> pa.Array:
    """Text inside arrays and blocks is plain string."""
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _has_slots(each: Field) -> bool:
    """Whether the elements of an array are slots that may be unused: blocks that begin with a name (N2)."""
    return each.of is not None and each.of.LAYOUT.fields[0].wire == "text"


def _ragged(rows: Rows, each: Field, reading: Reading) -> pa.Array:
    """Lists of those elements that lie wholly inside their section and are in use (N2)."""
    size = each.element_size * prod(each.shape[1:])
    count = max(0, min(each.shape[0], (rows.stride - each.offset) // size))
    inside = np.minimum((rows.lengths - each.offset) // size, count)
    keep = np.arange(count) < inside[:, None]
    if count and each.of is not None and _has_slots(each):
        name = each.of.LAYOUT.fields[0].size
        names = np.ndarray((len(rows), count, name), "u1", rows.data, each.offset, (rows.stride, size, 1))
        keep &= names.any(axis=2)
    row, slot = np.nonzero(keep)
    flat = np.frombuffer(rows.data, np.uint8)
    elements = gather(flat, row * rows.stride + each.offset + slot * size, np.full(len(row), size), size)
    inner = Cells(elements.data, 0, (len(row),), (elements.stride,))
    values = _lists(inner, each, each.shape[1:], reading) if each.shape[1:] else _plain(_elements(inner, each, reading))
    offsets = np.zeros(len(rows) + 1, np.int32)
    np.cumsum(keep.sum(axis=1), out=offsets[1:])
    return pa.ListArray.from_arrays(
        primitive(pa.int32(), offsets), values, type=list_type(values.type, each), mask=booleans(inside <= 0)
    )


# --- leaves ----------------------------------------------------------------------------------------------------------


def _numbers(cells: Cells, dtype: str, wide: type[np.generic]) -> NDArray[Any]:
    """The numbers of all cells, native and contiguous."""
    values = cells.view(dtype).astype(wide, order="C")
    if cells.spread is None:
        return values.reshape(-1)
    live, rows = cells.spread
    if not len(live):
        return _zeros(prod((rows, *cells.shape[1:])), np.dtype(wide).char)
    made = np.zeros((rows, *cells.shape[1:]), wide)
    made[live] = values
    return made.reshape(-1)


@lru_cache(maxsize=4)
def _zeros(count: int, wide: str) -> NDArray[Any]:
    """Zeros that columns share; Arrow changes nothing."""
    made = np.zeros(count, wide)
    made.setflags(write=False)
    return made


def _integers(cells: Cells, each: Field, valid: Mask | None) -> pa.Array:
    """Whole numbers; unset ones, and those that do not fit, are null (S4)."""
    if each.wire == "u8":
        values = _numbers(cells, ">u8", np.uint64).view(np.int64)
        valid = both(valid, values >= 0)
    else:
        values = _numbers(cells, f">{each.wire}", np.int64)
    if each.unset is not None:
        valid = both(valid, values != each.unset)
    if each.kind.name != "code":
        return primitive(pa.int64(), values, valid)
    if each.wire == "u4":
        valid = both(valid, values <= _LARGEST_CODE)
    return primitive(pa.int32(), values.astype(np.int32), valid)


def _instants(cells: Cells, kind: pa.DataType, leap_seconds: int, valid: Mask | None) -> pa.Array:
    """TOD stamps as timestamps; zero was never set."""
    raw = _numbers(cells, ">u8", np.uint64)
    valid = both(valid, raw != 0)
    return primitive(kind, unix_us(raw, leap_seconds), valid)


def _tokens(cells: Cells, size: int, valid: Mask | None) -> pa.Array:
    packed = np.ascontiguousarray(cells.view(f"V{size}"))
    offsets = pa.py_buffer(_multiples(cells.count, size))
    return pa.Array.from_buffers(pa.binary(), cells.count, [bitmap(valid), offsets, pa.py_buffer(packed)])


@lru_cache(maxsize=16)
def _multiples(count: int, step: int) -> NDArray[np.int32]:
    """0, step, 2 step ... count step: the offsets of values of equal length."""
    return np.arange(0, (count + 1) * step, step, dtype=np.int32)
