"""The columns every row begins with: computed once per record, then repeated for its sections.

Rules
  H2, H3, H4 of `header`, for all records of a block at once, and
  E1  A column is made when it is first asked for and kept: narrow readings pay for what they read.
  E2  The interval began at QWHSTIME, which is local: minus the record's own zone offset it is UTC.

Called by columns.  Calls gather, and header for what a release is called.
"""

from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quaestor.clock import TOD_UNITS_PER_MICROSECOND
from quaestor.smf.arrow_schema import LOCAL_TIME, UTC_TIME
from quaestor.smf.catalog import CATALOG
from quaestor.smf.gather import Ints, Mask, Reading, Rows, dictionary, field_column, gather, primitive, texts, unix_us
from quaestor.smf.header import release_of
from quaestor.smf.locate import Located
from quaestor.smf.sections.headers import CommonHeader, ExtensionHeader, Smf115Header

_QUARTER_US = 15 * 60 * 1_000_000
_MINUTE_US = 60 * 1_000_000
_NO_RELEASE = b"\0" * 6
_BUILT_AT = CommonHeader.LAYOUT["built_at"]
_INTERVAL_START = CommonHeader.LAYOUT["interval_start_local"]
_INTERVAL_LENGTH = CommonHeader.LAYOUT["interval_length"]


class RecordColumns:
    """The record columns of all MQ records of a block."""

    def __init__(self, located: Located, reading: Reading) -> None:
        self._located = located
        self._reading = reading
        self._made: dict[str, pa.Array] = {}

    def column(self, name: str) -> pa.Array:
        """One value per record (E1); text comes dictionary-encoded."""
        if name not in self._made:
            self._made[name] = _MAKERS[name](self)
        return self._made[name]

    def inventory(self) -> Counter[tuple[str, str]]:
        """How many records of which kind and release; other SMF types bear no release."""
        located = self._located
        release = self.column("release")
        names = release.dictionary.to_pylist()
        keys = (located.types << 48) | (located.subtypes << 32) | release.indices.to_numpy().astype(np.int64)
        counted: Counter[tuple[str, str]] = Counter()
        for key, count in zip(*(each.tolist() for each in np.unique(keys, return_counts=True)), strict=True):
            kind = CATALOG.get((key >> 48, key >> 32 & 0xFFFF))
            counted[kind.name if kind else f"{key >> 48}", names[key & 0xFFFFFFFF]] += count
        for record_type, count in located.others.items():
            counted[f"{record_type}", ""] += count
        return counted

    # --- what stands in the SMF header -------------------------------------------------------------------------------

    def _record_type(self) -> pa.Array:
        return primitive(pa.int32(), self._located.types.astype(np.int32))

    def _subtype(self) -> pa.Array:
        return primitive(pa.int32(), self._located.subtypes.astype(np.int32))

    def _position(self) -> pa.Array:
        return primitive(pa.int64(), self._located.positions)

    def _header_bytes(self, offset: int, size: int) -> NDArray[np.uint8]:
        return np.ascontiguousarray(self._located.area[:, offset : offset + size])

    def _system(self) -> pa.Array:
        return self._header_text("system")

    def _queue_manager(self) -> pa.Array:
        return self._header_text("queue_manager")

    def _header_text(self, name: str) -> pa.Array:
        each = Smf115Header.LAYOUT[name]
        packed = self._header_bytes(each.offset, each.size).reshape(-1).view(f"V{each.size}")
        return texts(packed, each.size, self._reading.page)

    def _local_time(self) -> pa.Array:
        return primitive(LOCAL_TIME, *self._local_us)

    @cached_property
    def _local_us(self) -> tuple[Ints, Mask]:
        """Local time of the SMF header in microseconds since the UNIX epoch, and whether it can be true (C5)."""
        hundredths = self._header_bytes(6, 4).view(">u4").reshape(-1).astype(np.int64)
        packed = self._header_bytes(10, 4).view(">u4").reshape(-1).astype(np.int64)
        digits = [packed >> shift & 0xF for shift in (28, 24, 20, 16, 12, 8, 4, 0)]
        year = 1900 + 100 * digits[1] + 10 * digits[2] + digits[3]
        day_of_year = 100 * digits[4] + 10 * digits[5] + digits[6]
        year_begins, next_begins = _days(year), _days(year + 1)
        good = (digits[0] == 0) & (digits[7] == 0xF) & (hundredths < 8_640_000) & (day_of_year > 0)
        good &= day_of_year <= next_begins - year_begins
        for digit in digits[1:7]:
            good &= digit < 10
        return (year_begins + day_of_year - 1) * 86_400_000_000 + hundredths * 10_000, good

    # --- what stands in QWHS -----------------------------------------------------------------------------------------

    @cached_property
    def _common(self) -> Rows:
        headers = self._located.headers
        return gather(self._located.data, headers.common_at, headers.common, CommonHeader.LAYOUT.size)

    def _common_numbers(self, offset: int, end: int) -> tuple[NDArray[np.uint64], Mask]:
        """An 8-byte field of QWHS, and which records have it."""
        count = len(self._located)
        if end > self._common.stride:
            return np.zeros(count, np.uint64), np.zeros(count, np.bool_)
        reach = self._common.reach(end)
        there = np.ones(count, np.bool_) if reach is None else reach
        return self._common.view(offset, ">u8").astype(np.uint64), there

    @cached_property
    def _utc_us(self) -> tuple[Ints, Mask]:
        raw, there = self._common_numbers(_BUILT_AT.offset, _BUILT_AT.end)
        return unix_us(raw, self._reading.leap_seconds), there & (raw != 0)

    def _utc_time(self) -> pa.Array:
        return primitive(UTC_TIME, *self._utc_us)

    @cached_property
    def _zone_us(self) -> tuple[Ints, Mask]:
        """Local minus UTC to the nearest quarter of an hour (H2)."""
        (local, local_good), (utc, utc_good) = self._local_us, self._utc_us
        quarters = np.rint((local - utc) / _QUARTER_US).astype(np.int64)
        return quarters * _QUARTER_US, local_good & utc_good

    def _zone_minutes(self) -> pa.Array:
        zone, good = self._zone_us
        return primitive(pa.int32(), (zone // _MINUTE_US).astype(np.int32), good)

    def _interval_start(self) -> pa.Array:
        raw, there = self._common_numbers(_INTERVAL_START.offset, _INTERVAL_START.end)
        zone, good = self._zone_us
        return primitive(UTC_TIME, unix_us(raw, self._reading.leap_seconds) - zone, there & good & (raw != 0))  # E2

    def _interval_us(self) -> pa.Array:
        raw, there = self._common_numbers(_INTERVAL_LENGTH.offset, _INTERVAL_LENGTH.end)
        values = raw.astype(np.float64)
        values[self._located.headers.tod_interval] /= TOD_UNITS_PER_MICROSECOND  # H4
        return primitive(pa.float64(), values, there)

    # --- what stands in QWHX -----------------------------------------------------------------------------------------

    @cached_property
    def _extension(self) -> Rows:
        headers = self._located.headers
        return gather(self._located.data, headers.extension_at, headers.extension, ExtensionHeader.LAYOUT.size)

    def _queue_sharing_group(self) -> pa.Array:
        """Null without a QWHX, and where QWHX leaves it blank."""
        groups = field_column(self._extension, ExtensionHeader.LAYOUT["queue_sharing_group"], self._reading)
        names = groups.dictionary.to_pylist()
        if "" not in names:
            return groups
        indices = groups.indices.fill_null(-1).to_numpy()
        return dictionary(indices, names, (indices >= 0) & (indices != names.index("")))

    def _release(self) -> pa.Array:
        """The releases, each combination of SMF header and QWHX looked at once (H3)."""
        count = len(self._located)
        both = np.zeros((count, 10), np.uint8)
        both[:, :3] = self._located.area[:, 24:27]
        true = ExtensionHeader.LAYOUT["release"]
        there = self._located.headers.extension > 0
        if there.any():
            flat = np.frombuffer(self._extension.data, np.uint8).reshape(count, -1)
            both[there, 3:9] = flat[there, true.offset : true.end]
            both[there, 9] = 1
        encoded = pa.Array.from_buffers(pa.binary(10), count, [None, pa.py_buffer(both)]).dictionary_encode()
        names = [self._release_name(each) for each in encoded.dictionary.to_pylist()]
        distinct = list(dict.fromkeys(names))
        places = np.array([distinct.index(name) for name in names], np.int32)
        return dictionary(places[encoded.indices.to_numpy()], distinct)

    def _release_name(self, both: bytes) -> str:
        page = self._reading.page
        extension = ExtensionHeader(release=page.decode(both[3:9])) if both[9] else None
        return release_of(Smf115Header(release=page.decode(both[:3])), extension)


def _days(year: Ints) -> Ints:
    """Days from the UNIX epoch to the first of January."""
    made: Any = (year - 1970).astype("datetime64[Y]").astype("datetime64[D]").astype(np.int64)
    return made  # type: ignore[no-any-return]


_MAKERS: dict[str, Callable[[RecordColumns], pa.Array]] = {
    "record_type": RecordColumns._record_type,
    "subtype": RecordColumns._subtype,
    "system": RecordColumns._system,
    "queue_manager": RecordColumns._queue_manager,
    "release": RecordColumns._release,
    "queue_sharing_group": RecordColumns._queue_sharing_group,
    "local_time": RecordColumns._local_time,
    "utc_time": RecordColumns._utc_time,
    "zone_minutes": RecordColumns._zone_minutes,
    "interval_start": RecordColumns._interval_start,
    "interval_us": RecordColumns._interval_us,
    "position": RecordColumns._position,
}
