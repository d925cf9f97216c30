"""Rows out of a buffer, columns out of rows: where the bytes of many sections become Arrow arrays at once.

Rules
  G1  Sections are copied one under another by one overlapping view of the buffer and one take: a memory copy per
      section, no index matrix, no Python per record.
  G2  Sections of different lengths share one gather. A row is as long as the longest section needs; what lies behind a
      shorter section's end is not its own and is masked (L2), so rows stay in the order of the dump.
  G3  An array cut by the end of its section keeps the elements that lie wholly inside (L3). An element whose leading
      name is binary zero is an unused slot and is left out.
  G4  Text is dictionary-encoded first; only distinct values are decoded.
  G5  Figures of the coupling facility are zero for private queues: rows of such a block that hold only zeros are not
      converted again and again.
  G6  A value its column cannot hold is null (S4).

Called by columns.  Calls arrow_schema for types.  Knows no structure by name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quaestor.clock import TOD_UNITS_PER_MICROSECOND, UNIX_EPOCH_IN_TOD_MICROSECONDS
from quaestor.layout import CodePage, Field, Record
from quaestor.smf.arrow_schema import Names, element_type, list_type, shown, struct_type

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_SPARSE_FROM = 256  # bytes of a block per row from which looking for rows of zeros pays (G5)


@dataclass(frozen=True, slots=True)
class Reading:
    """How bytes are to be read: code page, leap seconds, names of the columns."""

    page: CodePage
    names: Names = "human"
    leap_seconds: int = 0


@dataclass(slots=True)
class Rows:
    """Sections one under another: row i begins at `i * stride` and only its first `lengths[i]` bytes are its own."""

    data: NDArray[np.void]
    stride: int
    lengths: Ints
    shortest: int
    _reach: dict[int, Mask] = field(default_factory=dict)
    _distinct: Ints | None = None

    def __len__(self) -> int:
        return len(self.lengths)

    def reach(self, end: int) -> Mask | None:
        """Which rows reach `end`; None when all do (G2)."""
        if end <= self.shortest:
            return None
        if self._distinct is None:
            self._distinct = np.unique(self.lengths)
        step = int(np.searchsorted(self._distinct, end))
        if step not in self._reach:
            self._reach[step] = self.lengths >= end
        return self._reach[step]

    def view(self, offset: int, dtype: str) -> NDArray[Any]:
        """One field of every row, as it lies there."""
        return np.ndarray((len(self),), dtype, self.data, offset, (self.stride,))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Cells:
    """Equal blocks in a regular grid inside rows; `live` lists the rows that hold more than zeros (G5)."""

    rows: Rows
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    live: NDArray[np.intp] | None = None

    def view(self, dtype: str) -> NDArray[Any]:
        return np.ndarray(self.shape, dtype, self.rows.data, self.offset, self.strides)  # type: ignore[arg-type]

    def at(self, offset: int) -> "Cells":
        return Cells(self.rows, self.offset + offset, self.shape, self.strides, self.live)

    def repeated(self, count: int, stride: int) -> "Cells":
        return Cells(self.rows, self.offset, (*self.shape, count), (*self.strides, stride), self.live)


def gather(buffer: Bytes, offsets: Ints, lengths: Ints, known: int) -> Rows:
    """The sections at `offsets`, each `lengths` long, as far as `known` bytes of them mean something (G1, G2)."""
    if not len(offsets):
        return Rows(np.empty(0, "V1"), 1, lengths, 0)
    stride = max(1, min(known, int(lengths.max())))
    made = _take(buffer, offsets, stride)
    return Rows(made, stride, lengths, int(lengths.min()))


def _take(buffer: Bytes, offsets: Ints, size: int) -> NDArray[np.void]:
    """`size` bytes from each offset; bytes behind the end of the buffer read as zero."""
    beyond = offsets > len(buffer) - size
    if not beyond.any():
        return _overlapping(buffer, size)[offsets]
    made = np.zeros(len(offsets), f"V{size}")
    if len(buffer) >= size:
        made[~beyond] = _overlapping(buffer, size)[offsets[~beyond]]
    tail_at = max(0, len(buffer) - size)
    tail = np.concatenate([buffer[tail_at:], np.zeros(size, np.uint8)])
    made[beyond] = _overlapping(tail, size)[offsets[beyond] - tail_at]
    return made


def _overlapping(buffer: Bytes, size: int) -> NDArray[np.void]:
    return np.ndarray((len(buffer) - size + 1,), f"V{size}", buffer, 0, (1,))  # type: ignore[arg-type]


# --- columns ---------------------------------------------------------------------------------------------------------


def field_column(rows: Rows, each: Field, reading: Reading) -> pa.Array:
    """The column of a field; text comes dictionary-encoded."""
    reach = rows.reach(each.end)
    if each.shape and (reach is not None or _has_slots(each)):
        return _ragged(rows, each, reading)
    if each.end > rows.stride:
        return pa.nulls(len(rows), _column_type(each, reading.names))
    cells = Cells(rows, each.offset, (len(rows),), (rows.stride,), _live_rows(rows, each))
    if each.shape:
        return _lists(cells, each, each.shape, reading)
    return _elements(cells, each, reading, reach)


def _column_type(each: Field, names: Names) -> pa.DataType:
    return pa.dictionary(pa.int32(), pa.string()) if each.wire == "text" else element_type(each, names)


def code_names(codes: pa.Array, names: Mapping[int, str]) -> pa.Array:
    """The texts of a column of codes, dictionary-encoded; null where nobody named the code."""
    low, high = min(names), max(names)
    table = np.full(high - low + 3, -1, dtype=np.int32)
    for index, code in enumerate(names):
        table[code - low + 1] = index
    values = codes.fill_null(low - 1).to_numpy(zero_copy_only=False)
    found = table[np.clip(values, low - 1, high + 1) - (low - 1)]
    return dictionary(found, list(names.values()), found >= 0)


def _live_rows(rows: Rows, each: Field) -> NDArray[np.intp] | None:
    """The rows in which a wide block holds anything but zeros; None when looking does not pay (G5)."""
    size = each.end - each.offset
    if each.of is None or size < _SPARSE_FROM or size % 8:
        return None
    words = np.ndarray((len(rows), size // 8), "u8", rows.data, each.offset, (rows.stride, 8))  # type: ignore[arg-type]
    live = np.flatnonzero(np.bitwise_or.reduce(words, axis=1))
    return live if len(live) < len(rows) * 0.8 else None


def _elements(cells: Cells, each: Field, reading: Reading, valid: Mask | None = None) -> pa.Array:
    """One Arrow value for each cell, in C order."""
    if each.of is not None:
        return _structs(cells, each.of, reading, valid)
    if each.wire == "text":
        return texts(np.ascontiguousarray(cells.view(f"V{each.size}")), each.size, reading.page, valid)
    if each.wire == "bytes":
        return _tokens(cells, each.size, valid)
    if each.kind.unit in ("utc", "local"):
        return _instants(cells, element_type(each, reading.names), reading.leap_seconds, valid)
    if each.is_tod_interval:
        values = _numbers(cells, f">{each.wire}", np.float64)
        values *= 1 / TOD_UNITS_PER_MICROSECOND
        return primitive(pa.float64(), values, valid)
    return _integers(cells, each, valid)


def _structs(cells: Cells, section: type[Record], reading: Reading, valid: Mask | None) -> pa.Array:
    arrays = []
    for each in shown(section):
        inner = cells.at(each.offset)
        array = _lists(inner, each, each.shape, reading) if each.shape else _elements(inner, each, reading)
        arrays.append(array.dictionary_decode() if pa.types.is_dictionary(array.type) else array)
    mask = None if valid is None else pa.array(~valid)
    return pa.StructArray.from_arrays(arrays, fields=list(struct_type(section, reading.names)), mask=mask)


def _lists(cells: Cells, each: Field, shape: Sequence[int], reading: Reading) -> pa.Array:
    """Lists of full length around the elements, one level for each dimension."""
    inner = cells.repeated(shape[0], each.element_size * prod(shape[1:]))
    values = _lists(inner, each, shape[1:], reading) if len(shape) > 1 else _elements(inner, each, reading)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    offsets = pa.array(_multiples(prod(cells.shape), shape[0]))
    return pa.ListArray.from_arrays(offsets, values, type=list_type(values.type))


def _has_slots(each: Field) -> bool:
    """Whether the elements of an array are slots that may be unused: blocks that begin with a name (G3)."""
    return each.of is not None and each.of.LAYOUT.fields[0].wire == "text"


def _ragged(rows: Rows, each: Field, reading: Reading) -> pa.Array:
    """Lists of those elements that lie wholly inside their section and are in use (G3)."""
    size = each.element_size * prod(each.shape[1:])
    count = max(0, min(each.shape[0], (rows.stride - each.offset) // size))
    inside = np.minimum((rows.lengths - each.offset) // size, count)
    keep = np.arange(count) < inside[:, None]
    if count and each.of is not None and _has_slots(each):
        name = each.of.LAYOUT.fields[0].size
        cells = np.ndarray((len(rows), count, name), "u1", rows.data, each.offset, (rows.stride, size, 1))  # type: ignore[arg-type]
        keep &= cells.any(axis=2)
    row, slot = np.nonzero(keep)
    flat = np.frombuffer(rows.data, np.uint8)
    elements = gather(flat, row * rows.stride + each.offset + slot * size, np.full(len(row), size), size)
    inner = Cells(elements, 0, (len(row),), (elements.stride,))
    values = _lists(inner, each, each.shape[1:], reading) if each.shape[1:] else _elements(inner, each, reading)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    offsets = np.zeros(len(rows) + 1, np.int32)
    np.cumsum(keep.sum(axis=1), out=offsets[1:])
    return pa.ListArray.from_arrays(
        pa.array(offsets), values, type=list_type(values.type), mask=pa.array(inside <= 0)
    )


# --- leaves ----------------------------------------------------------------------------------------------------------


def _numbers(cells: Cells, dtype: str, wide: type[np.generic]) -> NDArray[Any]:
    """The numbers of all cells, native and contiguous; rows of zeros stay as they were made (G5)."""
    view = cells.view(dtype)
    if cells.live is None:
        return view.astype(wide, order="C").reshape(-1)
    made = np.zeros(cells.shape, wide)
    if len(cells.live):
        made[cells.live] = view[cells.live]
    return made.reshape(-1)


def _integers(cells: Cells, each: Field, valid: Mask | None) -> pa.Array:
    """Whole numbers; unset ones, and those that do not fit, are null (G6)."""
    if each.wire == "u8":
        values = _numbers(cells, ">u8", np.uint64).view(np.int64)
        if len(values) and values.min() < 0:
            valid = _both(valid, values >= 0)
    else:
        values = _numbers(cells, f">{each.wire}", np.int64)
    if each.unset is not None:
        valid = _both(valid, values != each.unset)
    if each.kind.name != "code":
        return primitive(pa.int64(), values, valid)
    if each.wire == "u4" and len(values) and values.max() > 0x7FFFFFFF:
        valid = _both(valid, values <= 0x7FFFFFFF)
    return primitive(pa.int32(), values.astype(np.int32), valid)


def _instants(cells: Cells, kind: pa.DataType, leap_seconds: int, valid: Mask | None) -> pa.Array:
    """TOD stamps as timestamps; zero was never set."""
    raw = _numbers(cells, ">u8", np.uint64)
    return primitive(kind, unix_us(raw, leap_seconds), _both(valid, raw != 0))


def unix_us(raw: NDArray[np.uint64], leap_seconds: int) -> Ints:
    """Microseconds since the UNIX epoch of TOD values (C2, C3)."""
    made = (raw >> np.uint64(12)).view(np.int64)
    made -= UNIX_EPOCH_IN_TOD_MICROSECONDS + leap_seconds * 1_000_000
    return made


def _tokens(cells: Cells, size: int, valid: Mask | None) -> pa.Array:
    packed = np.ascontiguousarray(cells.view(f"V{size}"))
    count = prod(cells.shape)
    offsets = pa.py_buffer(_multiples(count, size))
    return pa.Array.from_buffers(pa.binary(), count, [bitmap(valid), offsets, pa.py_buffer(packed)])


def texts(packed: NDArray[np.void], size: int, page: CodePage, valid: Mask | None = None) -> pa.Array:
    """Text fields of `size` bytes as a dictionary of strings; each distinct value is decoded once (G4)."""
    fixed = pa.Array.from_buffers(pa.binary(size), packed.size, [bitmap(valid), pa.py_buffer(packed)])
    encoded = fixed.dictionary_encode()
    distinct = [page.decode(each) for each in encoded.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(*_merged(encoded.indices, distinct))


def _merged(indices: pa.Array, values: list[str]) -> tuple[pa.Array, pa.Array]:
    """Indices into distinct strings: different bytes may be one text, for fill differs."""
    numbers: dict[str, int] = {}
    places = [numbers.setdefault(value, len(numbers)) for value in values]
    if len(numbers) < len(values):
        indices = pa.array(places, pa.int32()).take(indices)
    return indices, pa.array(numbers, pa.string())


def dictionary(indices: NDArray[np.int32], values: Sequence[str], valid: Mask | None = None) -> pa.Array:
    """A dictionary-encoded text column from ready indices."""
    return pa.DictionaryArray.from_arrays(primitive(pa.int32(), indices, valid), pa.array(values, pa.string()))


def primitive(kind: pa.DataType, values: NDArray[Any], valid: Mask | None = None) -> pa.Array:
    """An Arrow array over NumPy's memory, without a copy."""
    return pa.Array.from_buffers(kind, len(values), [bitmap(valid), pa.py_buffer(values)])


def bitmap(valid: Mask | None) -> pa.Buffer | None:
    """Arrow's validity bits; None when nothing is null."""
    if valid is None or valid.all():
        return None
    return pa.py_buffer(np.packbits(valid, bitorder="little"))


def _both(one: Mask | None, other: Mask) -> Mask:
    return other if one is None else one & other


@lru_cache(maxsize=16)
def _multiples(count: int, step: int) -> NDArray[np.int32]:
    """0, step, 2 step ... count step: the offsets of values of equal length."""
    return np.arange(0, (count + 1) * step, step, dtype=np.int32)
