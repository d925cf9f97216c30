"""Rows out of a buffer, and plain columns out of rows: where the bytes of many sections become Arrow arrays at once.

Rules
  G1  Sections are copied one under another by one overlapping view of the buffer and one take: a memory copy per
      section, no index matrix, no Python per record.
  G2  Sections of different lengths share one gather. A row is as long as the longest section needs; what lies behind a
      shorter section's end is not its own and is masked (L2), so rows stay in the order of the dump.
  G3  Fields that are read alike are converted together: one pick of all of them out of a tile of rows that fits the
      cache, one conversion. Most tables have few rows in a block, so the cost per column decides.
  G4  Text is dictionary-encoded first; only distinct values are decoded.
  G5  A value its column cannot hold is null (S4).
  G6  Arrow arrays lie over NumPy's memory, without a copy.

Called by cells, record_columns, columns and locate.  Knows no structure and no field by name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quaestor.clock import TOD_UNITS_PER_MICROSECOND, UNIX_EPOCH_IN_TOD_MICROSECONDS
from quaestor.layout import CodePage

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_WORD = 4  # every number of a structure but the shortest begins at a multiple of this
_TILE_BYTES = 1 << 20  # of rows picked from at a time (G3)


@dataclass(slots=True)
class Rows:
    """Sections one under another: row i begins at `i * stride` and only its first `lengths[i]` bytes are its own."""

    data: NDArray[np.void]
    stride: int
    lengths: Ints
    shortest: int
    _reach: dict[int, tuple[Mask, pa.Buffer | None]] = field(default_factory=dict)
    _distinct: Ints | None = None

    def __len__(self) -> int:
        return len(self.lengths)

    def reach(self, end: int) -> Mask | None:
        """Which rows reach `end`; None when all do (G2)."""
        return None if end <= self.shortest else self._step(end)[0]

    def reach_bitmap(self, end: int) -> pa.Buffer | None:
        """The same as Arrow's validity bits."""
        return None if end <= self.shortest else self._step(end)[1]

    def _step(self, end: int) -> tuple[Mask, pa.Buffer | None]:
        if self._distinct is None:
            self._distinct = np.unique(self.lengths)
        step = int(np.searchsorted(self._distinct, end))
        if step not in self._reach:
            mask = self.lengths >= end
            self._reach[step] = mask, bitmap(mask)
        return self._reach[step]

    def view(self, offset: int, dtype: str) -> NDArray[Any]:
        """One field of every row, as it lies there."""
        return np.ndarray((len(self),), dtype, self.data, offset, (self.stride,))


def gather(buffer: Bytes, offsets: Ints, lengths: Ints, known: int) -> Rows:
    """The sections at `offsets`, each `lengths` long, as far as `known` bytes of them mean something (G1, G2)."""
    if not len(offsets):
        return Rows(np.empty(0, "V1"), 1, lengths, 0)
    stride = max(1, min(known, int(lengths.max())))
    return Rows(_take(buffer, offsets, stride), stride, lengths, int(lengths.min()))


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
    return np.ndarray((len(buffer) - size + 1,), f"V{size}", buffer, 0, (1,))


# --- numbers in bulk (G3) --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bulk:
    """Number fields of one structure that are read alike: wire form, column type, offsets, ends, values for unset."""

    wire: str
    kind: pa.DataType
    size: int
    words: NDArray[np.intp]
    ends: tuple[int, ...]
    unset: tuple[int | None, ...]

    @classmethod
    def of(cls, wire: str, kind: pa.DataType, fields: Sequence[tuple[int, int, int | None]]) -> "Bulk":
        """From (offset, end, unset) of each field; offsets must lie on words."""
        offsets, ends, unset = zip(*fields, strict=True)
        return cls(wire, kind, ends[0] - offsets[0], np.array(offsets, np.intp) // _WORD, ends, unset)


def on_words(offset: int, wire: str) -> bool:
    """Whether a number can be read in bulk."""
    return offset % _WORD == 0 and wire in ("u4", "i4", "u8", "i8")


def bulk_columns(rows: Rows, bulk: Bulk) -> Iterator[pa.Array]:
    """One column for each field, in order."""
    inside = sum(end <= rows.stride for end in bulk.ends)  # fields are in order, so those inside come first
    count = len(rows)
    values = _picked(rows, bulk, inside)
    fits = _fitting(values, bulk)
    whole = pa.py_buffer(values)
    for index in range(inside):
        valid = rows.reach_bitmap(bulk.ends[index])
        unset = bulk.unset[index]
        if not fits[index] or unset is not None:
            good = values[index] >= 0 if not fits[index] else values[index] != unset
            mask = rows.reach(bulk.ends[index])
            valid = bitmap(good if mask is None else good & mask)
        part = whole.slice(index * count * 8, count * 8)
        yield pa.Array.from_buffers(bulk.kind, count, [valid, part])
    for _ in bulk.ends[inside:]:
        yield pa.nulls(count, bulk.kind)


def _picked(rows: Rows, bulk: Bulk, inside: int) -> NDArray[Any]:
    """The numbers of the first `inside` fields, one row per field, native and 8 bytes wide."""
    intervals = bulk.kind == pa.float64()
    made: NDArray[Any] = np.empty((inside, len(rows)), np.float64 if intervals else np.int64)
    if not made.size:
        return made
    shape = (len(rows), (rows.stride - bulk.size) // _WORD + 1)
    view = np.ndarray(shape, f">{bulk.wire}", rows.data, 0, (rows.stride, _WORD))
    out = made.view(np.uint64) if bulk.wire == "u8" and not intervals else made
    words, tile = bulk.words[:inside], max(64, _TILE_BYTES // rows.stride)
    for begin in range(0, len(rows), tile):
        out[:, begin : begin + tile] = view[begin : begin + tile, words].T
    if intervals:
        made *= 1 / TOD_UNITS_PER_MICROSECOND
    return made


def _fitting(values: NDArray[Any], bulk: Bulk) -> list[bool]:
    """Which fields hold no value that a signed column cannot hold (G5)."""
    if bulk.wire != "u8" or bulk.kind == pa.float64() or not values.size:
        return [True] * len(values)
    fitting: list[bool] = (values.min(axis=1) >= 0).tolist()
    return fitting


def unix_us(raw: NDArray[np.uint64], leap_seconds: int) -> Ints:
    """Microseconds since the UNIX epoch of TOD values (C2, C3)."""
    made = (raw >> np.uint64(12)).view(np.int64)
    made -= UNIX_EPOCH_IN_TOD_MICROSECONDS + leap_seconds * 1_000_000
    return made


# --- text ------------------------------------------------------------------------------------------------------------


def texts(packed: NDArray[np.void], size: int, page: CodePage, valid: Mask | None = None) -> pa.Array:
    """Text fields of `size` bytes as a dictionary of strings; each distinct value is decoded once (G4)."""
    fixed = pa.Array.from_buffers(pa.binary(size), packed.size, [bitmap(valid), pa.py_buffer(packed)])
    encoded = fixed.dictionary_encode()
    numbers: dict[str, int] = {}
    places = [numbers.setdefault(text, len(numbers)) for text in _decoded(encoded.dictionary, size, page)]
    indices = encoded.indices
    if len(numbers) < len(places):  # different bytes may be one text, for fill differs
        indices = pa.array(places, pa.int32()).take(indices)
    return pa.DictionaryArray.from_arrays(indices, pa.array(numbers, pa.string()))


def _decoded(distinct: pa.Array, size: int, page: CodePage) -> list[str]:
    """All distinct values at once: a code page gives one character for each byte."""
    data = distinct.buffers()[1].to_pybytes()[: len(distinct) * size]
    joined = data.translate(page.permutation).decode(page.codec)
    return [joined[at : at + size].rstrip(" \0") for at in range(0, len(joined), size)]


def dictionary(indices: NDArray[np.int32], values: pa.Array, valid: Mask | None = None) -> pa.Array:
    """A dictionary-encoded text column from ready indices."""
    return pa.DictionaryArray.from_arrays(primitive(pa.int32(), indices, valid), values)


# --- Arrow over NumPy (G6) -------------------------------------------------------------------------------------------


def primitive(kind: pa.DataType, values: NDArray[Any], valid: Mask | None = None) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [bitmap(valid), pa.py_buffer(values)])


def bitmap(valid: Mask | None) -> pa.Buffer | None:
    """Arrow's validity bits; None when nothing is null."""
    if valid is None or valid.all():
        return None
    return pa.py_buffer(np.packbits(valid, bitorder="little"))
