"""A sheet: many records of one shape, filled column by column.

The shape comes from the writer: one record (or several that belong together) is built from empty section objects,
and its bytes are the template of every row. The columns are those of the section classes at the record's own lengths.
So there is one definition of the layout, and the bulk is written without an object per record.

Rules
  S1  A column that the level does not have is skipped, as the writer leaves it out.
  S2  Rows may hold several records (116-0, 116-1, its 116-2): `starts` says where each begins in a row.
  S3  `stamp` sets the header times of all records of a row; local time and UTC come from one moment (W5).

Called by accounting and statistics.  Calls layout, clock, catalog.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaestor.clock import TOD_UNITS_PER_MICROSECOND, UNIX_EPOCH_IN_TOD_MICROSECONDS, packed_date
from quaestor.layout import dtype_spec
from quaestor.smf.catalog import CATALOG, HEADER_SIZE, STRUCTURES, TRIPLET_SIZE
from quaestor.smf.header import header_lengths
from quaestor.smf.writer import RecordIdentity

Figures = dict[str, NDArray[Any]]
_DAY_US = 86_400_000_000
_EPOCH_DAY = np.datetime64("1970-01-01")


class Templates:
    """Templates by name: the same for every day, so built once."""

    def __init__(self) -> None:
        self._built: dict[object, list[bytes]] = {}

    def get(self, name: object, build: Callable[[], list[bytes]]) -> list[bytes]:
        if name not in self._built:
            self._built[name] = build()
        return self._built[name]


class Sheet:
    """Rows of one shape; `data` is rows x bytes."""

    def __init__(self, records: Sequence[bytes], rows: int) -> None:
        template = np.frombuffer(b"".join(records), np.uint8)
        lengths = [len(record) for record in records]
        self.starts = np.cumsum([0, *lengths[:-1]]).astype(np.int64)
        self.data: NDArray[np.uint8] = np.repeat(template[None, :], rows, axis=0)
        self._places: dict[str, list[NDArray[Any]]] = {}
        for record, start in zip(records, self.starts.tolist(), strict=True):
            self._find_sections(record, start)

    def __len__(self) -> int:
        return len(self.data)

    def _find_sections(self, record: bytes, start: int) -> None:
        """Note where every occurrence of every structure stands."""
        kind = CATALOG[record[5], int.from_bytes(record[22:24], "big")]
        header, header_length, _ = struct.unpack_from(">IHH", record, HEADER_SIZE)
        self._places.setdefault("SMF", []).append(self._view(_HEADER_DTYPE, start))
        if not kind.stub:
            common, _, _ = header_lengths(kind, header_length)
            self._places.setdefault("QWHS", []).append(self._view(_dtype("QWHS", common), start + header))
        first_section = min(header, HEADER_SIZE + kind.triplets.LAYOUT.size)
        for slot in kind.slots:
            at = HEADER_SIZE + TRIPLET_SIZE * slot.triplet
            if at + TRIPLET_SIZE > first_section:
                break
            structure = slot.section.LAYOUT.structure
            offset, length, count = struct.unpack_from(">IHH", record, at)
            first_section = min(first_section, offset) if count else first_section
            for occurrence in range(count):
                place = self._view(_dtype(structure, length), start + offset + occurrence * length)
                self._places.setdefault(structure, []).append(place)

    def _view(self, dtype: Any, offset: int) -> NDArray[Any]:
        """One structured value per row, lying at `offset` of each row."""
        return np.ndarray(
            (len(self.data),), dtype=dtype, buffer=self.data.data, offset=offset, strides=(self.data.shape[1],)
        )

    def places(self, structure: str) -> list[NDArray[Any]]:
        """The occurrences of a structure; empty when the level does not have it (S1)."""
        return self._places.get(structure, [])

    def fill(self, structure: str, figures: Mapping[str, Any], occurrence: int = 0) -> None:
        """Set columns of one occurrence of a structure (S1)."""
        places = self.places(structure)
        if occurrence < len(places):
            fill_columns(places[occurrence], figures)

    def stamp(self, when_us: NDArray[np.int64], identity: RecordIdentity) -> None:
        """Set the header times of every record (S3)."""
        local_us = when_us + identity.zone_minutes * 60_000_000
        days, of_day = np.divmod(local_us, _DAY_US)
        distinct, which = np.unique(days, return_inverse=True)
        packed = np.array([packed_date((_EPOCH_DAY + int(day)).astype(object)) for day in distinct], np.uint32)
        for header in self.places("SMF"):
            header["time"] = of_day // 10_000
            header["date"] = packed[which]
        for common in self.places("QWHS"):
            common["built_at"] = tod(when_us)

    def stamp_interval(self, start_us: NDArray[np.int64], identity: RecordIdentity) -> None:
        """Set the start of the interval that each row covers, in local time."""
        for common in self.places("QWHS"):
            fill_columns(common, {"interval_start_local": tod(start_us + identity.zone_minutes * 60_000_000)})


def fill_columns(place: NDArray[Any], figures: Mapping[str, Any]) -> None:
    """Set the columns that `place` has (S1)."""
    names = place.dtype.names or ()
    for name, values in figures.items():
        if name in names:
            place[name] = values


@cache
def _dtype(structure: str, length: int) -> np.dtype[Any]:
    spec: Any = dtype_spec(STRUCTURES[structure], length)
    made: np.dtype[Any] = np.dtype(spec)
    return made


def tod(unix_us: NDArray[np.int64]) -> NDArray[np.uint64]:
    """TOD values of UNIX times in microseconds."""
    return (unix_us.astype(np.uint64) + np.uint64(UNIX_EPOCH_IN_TOD_MICROSECONDS)) << np.uint64(12)


def tod_units(us: NDArray[Any]) -> NDArray[np.int64]:
    """Intervals in TOD units, from microseconds."""
    return np.asarray(np.rint(us * float(TOD_UNITS_PER_MICROSECOND)), np.int64)


_HEADER_DTYPE = np.dtype({"names": ["time", "date"], "formats": [">u4", ">u4"], "offsets": [6, 10], "itemsize": 28})
