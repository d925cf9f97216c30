"""Rows out of a buffer, and plain columns out of rows: where the bytes of many sections become numbers at once.

Rules
  G1  Sections are copied one under another by one overlapping view of the buffer and one take: a memory copy per
      section, no index matrix, no Python per record.
  G2  Sections of different lengths share one gather. A row is as long as the longest section needs; what lies behind a
      shorter section's end is not its own and is masked (L2), so rows stay in the order of the dump.
  G3  Fields that are read alike are converted together: one pick of all of them out of a tile of rows that fits the
      cache, one conversion. Most tables have few rows in a block, so the cost per column decides.
  G4  A value its column cannot hold is null (S4), and so are an instant of zero and a figure that was never set.

Called by cells, record_columns, columns and locate.  Calls arrays.  Knows no structure and no field by name.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quaestor.clock import TOD_UNITS_PER_MICROSECOND, UNIX_EPOCH_IN_TOD_MICROSECONDS
from quaestor.smf.arrays import Bytes, Ints, Mask, bitmap, both

_WORD = 4  # numbers of four and eight bytes begin at multiples of this
_TILE_BYTES = 1 << 19  # of rows picked from at a time (G3)


@dataclass(slots=True)
class Rows:
    """Sections one under another: row i begins at `i * stride` and only its first `lengths[i]` bytes are its own."""

    data: NDArray[np.void]
    stride: int
    lengths: Ints
    shortest: int
    _reach: dict[int, tuple[Mask, pa.Buffer | None]] = field(default_factory=dict)
    _distinct: list[int] | None = None

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
            self._distinct = np.unique(self.lengths).tolist()
        step = bisect_left(self._distinct, end)
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
    if int(offsets.max()) <= len(buffer) - size:
        return _overlapping(buffer, size)[offsets]
    beyond = offsets > len(buffer) - size
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
    """Number fields of one structure that are read alike, in the order of their offsets.

    `kind` is the type of their columns: int64, int32 (codes), double (intervals in TOD units) or timestamp.
    """

    wire: str
    kind: pa.DataType
    ends: tuple[int, ...]
    unset: tuple[int | None, ...]
    step: int  # offsets are counted in
    places: NDArray[np.intp]
    width: int  # bytes of a value in its column
    is_instant: bool
    is_interval: bool
    may_not_fit: bool  # an unsigned number goes into a signed column of its own width

    @classmethod
    def of(cls, wire: str, kind: pa.DataType, fields: Sequence[tuple[int, int, int | None]]) -> "Bulk":
        """From (offset, end, unset) of each field."""
        offsets, ends, unset = zip(*fields, strict=True)
        step = _WORD if all(offset % _WORD == 0 for offset in offsets) and int(wire[1]) >= _WORD else 1
        width = int(kind.bit_width) // 8
        return cls(
            wire,
            kind,
            ends,
            unset,
            step,
            np.array(offsets, np.intp) // step,
            width,
            is_instant=bool(pa.types.is_timestamp(kind)),
            is_interval=bool(pa.types.is_floating(kind)),
            may_not_fit=wire == f"u{width}" and bool(pa.types.is_integer(kind)),
        )


def bulk_columns(rows: Rows, bulk: Bulk, leap_seconds: int = 0) -> list[pa.Array]:
    """One column for each field, in order."""
    inside = bisect_right(bulk.ends, rows.stride)  # fields are in order, so those inside come first
    values = _picked(rows, bulk, inside)
    nulls = _nulls(values, bulk)
    if bulk.is_instant:
        unix_us(values, leap_seconds)
    whole, count, size = pa.py_buffer(values), len(rows), len(rows) * bulk.width
    if not nulls and (not inside or bulk.ends[inside - 1] <= rows.shortest):
        joined = pa.Array.from_buffers(bulk.kind, inside * count, [None, whole])
        made = [joined.slice(begin, count) for begin in range(0, inside * count, count)]
    else:
        made = []
        for index, end in enumerate(bulk.ends[:inside]):
            valid = bitmap(both(rows.reach(end), nulls[index])) if index in nulls else rows.reach_bitmap(end)
            made.append(pa.Array.from_buffers(bulk.kind, count, [valid, whole.slice(index * size, size)]))
    return made + [pa.nulls(count, bulk.kind) for _ in bulk.ends[inside:]]


def _picked(rows: Rows, bulk: Bulk, inside: int) -> NDArray[Any]:
    """The numbers of the first `inside` fields, one row per field, native and as wide as their column."""
    letter = "u" if bulk.may_not_fit or bulk.is_instant or bulk.is_interval else "i"
    made: NDArray[Any] = np.empty((inside, len(rows)), f"{letter}{bulk.width}")
    if not made.size:
        return made
    shape = (len(rows), (rows.stride - int(bulk.wire[1])) // bulk.step + 1)
    view: NDArray[Any] = np.ndarray(shape, f">{bulk.wire}", rows.data, 0, (rows.stride, bulk.step))
    places, tile = bulk.places[:inside], max(64, _TILE_BYTES // rows.stride)
    for begin in range(0, len(rows), tile):
        made[:, begin : begin + tile] = view[begin : begin + tile, places].T
    return microseconds(made) if bulk.is_interval else made


def _nulls(values: NDArray[Any], bulk: Bulk) -> dict[int, Mask]:
    """For each field that holds nulls of its own: where it does not (G4)."""
    found: dict[int, Mask] = {}
    if bulk.is_instant and values.size:
        found = {index: values[index] != 0 for index in np.flatnonzero(values.min(axis=1) == 0).tolist()}
    if bulk.may_not_fit and values.size:
        signed = values.view(f"i{bulk.width}")
        found = {index: signed[index] >= 0 for index in np.flatnonzero(signed.min(axis=1) < 0).tolist()}
    for index, unset in enumerate(bulk.unset[: len(values)]):
        if unset is not None:
            found[index] = both(found.get(index), values[index] != unset)
    return found


def microseconds(raw: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Microseconds of intervals in TOD units (C4). Signed numbers are converted several times as quickly."""
    signed = raw.view(np.int64)
    made = (signed if not raw.size or signed.min() >= 0 else raw).astype(np.float64)
    made *= 1 / TOD_UNITS_PER_MICROSECOND
    return made


def unix_us(raw: NDArray[np.uint64], leap_seconds: int) -> Ints:
    """TOD values become microseconds since the UNIX epoch, in place (C2, C3)."""
    raw >>= np.uint64(12)
    made = raw.view(np.int64)
    made -= UNIX_EPOCH_IN_TOD_MICROSECONDS + leap_seconds * 1_000_000
    return made
