"""What is known once per record and repeated for each of its sections: what wrote it, when, where it stands.

Rules
  H2, H3, H4 of `header`, for all records of a block at once, and
  E1  A column is made when it is first asked for and kept: narrow readings pay for what they read.
  E2  The interval began at QWHSTIME, which is local: minus the record's own zone offset it is UTC.
  E3  Columns of equal width are repeated together, one take for all of them.

Called by columns.  Calls gather, cells and arrays, and header for what a release is called.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quaestor.clock import TOD_UNITS_PER_MICROSECOND
from quaestor.layout import Field
from quaestor.smf.arrays import Ints, Mask, Stack, Values, numbers, primitive, strings, texts
from quaestor.smf.arrow_schema import Column
from quaestor.smf.catalog import CATALOG
from quaestor.smf.cells import Reading, field_column
from quaestor.smf.gather import Rows, gather, unix_us
from quaestor.smf.header import NO_INTERVAL_US, NO_ZONE, release_of
from quaestor.smf.locate import Located
from quaestor.smf.sections.headers import CommonHeader, ExtensionHeader, Smf115Header

_QUARTER_US = 15 * 60 * 1_000_000
_NO_ZONE_US = NO_ZONE // timedelta(microseconds=1)
_MINUTE_US = 60 * 1_000_000
_BUILT_AT = CommonHeader.LAYOUT["built_at"]
_INTERVAL_START = CommonHeader.LAYOUT["interval_start_local"]
_INTERVAL_LENGTH = CommonHeader.LAYOUT["interval_length"]


class RecordColumns:
    """What is known of each MQ record of a block; a record column is made by the method of its name."""

    def __init__(self, located: Located, reading: Reading) -> None:
        self._located = located
        self._reading = reading
        self._made: dict[str, Values] = {}
        self._stacks: dict[tuple[str, ...], list[Stack]] = {}

    def repeat(self, columns: tuple[Column, ...], owner: Ints) -> Iterator[tuple[str, pa.Array]]:
        """The columns, one value for each section: that of the record that owns it (E3)."""
        key = tuple(each.name for each in columns)
        if key not in self._stacks:
            self._stacks[key] = Stack.of((each.name, each.type, self.column(each.name)) for each in columns)
        for stack in self._stacks[key]:
            yield from stack.repeat(owner)

    def column(self, name: str) -> Values:
        """A record column, one value per record (E1)."""
        if name not in self._made:
            maker: Callable[[], Values] = getattr(self, f"_{name}")
            self._made[name] = maker()
        return self._made[name]

    # --- inventory ---------------------------------------------------------------------------------------------------

    def inventory(self) -> Counter[tuple[str, str]]:
        """How many records of which kind and release; other SMF types bear no release."""
        located = self._located
        release = self.column("release")
        names = release.names
        keys = (located.types << 48) | (located.subtypes << 32) | release.values.astype(np.int64)
        counted: Counter[tuple[str, str]] = Counter()
        for key, count in (each.values() for each in primitive(pa.int64(), keys).value_counts().to_pylist()):
            kind = CATALOG.get((key >> 48, key >> 32 & 0xFFFF))
            counted[kind.name if kind else f"{key >> 48}", names[key & 0xFFFFFFFF]] += count
        for record_type, count in located.others.items():
            counted[f"{record_type}", ""] += count
        return counted

    # --- what stands in the SMF header -------------------------------------------------------------------------------

    def _record_type(self) -> Values:
        return Values(self._located.types.astype(np.int32))

    def _subtype(self) -> Values:
        return Values(self._located.subtypes.astype(np.int32))

    def _position(self) -> Values:
        return Values(self._located.positions)

    def _system(self) -> Values:
        return self._header_text(Smf115Header.LAYOUT["system"])

    def _queue_manager(self) -> Values:
        return self._header_text(Smf115Header.LAYOUT["queue_manager"])

    def _header_text(self, each: Field) -> Values:
        packed = self._header_bytes(each.offset, each.size).reshape(-1).view(f"V{each.size}")
        return Values.of(texts(packed, each.size, self._reading.page))

    def _header_bytes(self, offset: int, size: int) -> NDArray[np.uint8]:
        return np.ascontiguousarray(self._located.area[:, offset : offset + size])

    def _local_time(self) -> Values:
        return Values(*self._local_us)

    @cached_property
    def _local_us(self) -> tuple[Ints, Mask]:
        """Local time of the SMF header in microseconds since the UNIX epoch, and whether it can be true (C5)."""
        hundredths, packed = (
            self._header_bytes(offset, 4).view(">u4").reshape(-1).astype(np.int64) for offset in (6, 10)
        )
        digits = [packed >> shift & 0xF for shift in (28, 24, 20, 16, 12, 8, 4, 0)]
        year = 1900 + 100 * digits[1] + 10 * digits[2] + digits[3]
        day_of_year = 100 * digits[4] + 10 * digits[5] + digits[6]
        good = (digits[0] == 0) & (digits[7] == 0xF) & (hundredths < 8_640_000) & (day_of_year > 0)
        good &= day_of_year <= _days(year + 1) - _days(year)
        for digit in digits[1:7]:
            good &= digit < 10
        return (_days(year) + day_of_year - 1) * 86_400_000_000 + hundredths * 10_000, good

    # --- what stands in QWHS -----------------------------------------------------------------------------------------

    @cached_property
    def _common(self) -> Rows:
        headers = self._located.headers
        return gather(self._located.data, headers.common_at, headers.common, CommonHeader.LAYOUT.size)

    def _common_numbers(self, each: Field) -> tuple[NDArray[np.uint64], Mask]:
        """An 8-byte field of QWHS, and which records have it."""
        count = len(self._located)
        if each.end > self._common.stride:
            return np.zeros(count, np.uint64), np.zeros(count, np.bool_)
        reach = self._common.reach(each.end)
        there = np.ones(count, np.bool_) if reach is None else reach
        return self._common.view(each.offset, ">u8").astype(np.uint64), there

    @cached_property
    def _utc_us(self) -> tuple[Ints, Mask]:
        raw, there = self._common_numbers(_BUILT_AT)
        good = there & (raw != 0)
        return unix_us(raw, self._reading.leap_seconds), good

    def _utc_time(self) -> Values:
        return Values(*self._utc_us)

    @cached_property
    def _zone_us(self) -> tuple[Ints, Mask]:
        """Local minus UTC to the nearest quarter of an hour (H2)."""
        (local, local_good), (utc, utc_good) = self._local_us, self._utc_us
        zone = np.rint((local - utc) / _QUARTER_US).astype(np.int64) * _QUARTER_US
        return zone, local_good & utc_good & (np.abs(zone) < _NO_ZONE_US)

    def _zone_minutes(self) -> Values:
        zone, good = self._zone_us
        return Values((zone // _MINUTE_US).astype(np.int32), good)

    def _interval_start(self) -> Values:
        raw, there = self._common_numbers(_INTERVAL_START)
        zone, good = self._zone_us
        good = good & there & (raw != 0)
        return Values(unix_us(raw, self._reading.leap_seconds) - zone, good)  # E2

    def _interval_us(self) -> Values:
        raw, there = self._common_numbers(_INTERVAL_LENGTH)
        values = raw.astype(np.float64)
        values[self._located.headers.tod_interval] /= TOD_UNITS_PER_MICROSECOND  # H4
        return Values(values, there & (values < NO_INTERVAL_US))

    # --- what stands in QWHX -----------------------------------------------------------------------------------------

    @cached_property
    def _extension(self) -> Rows:
        headers = self._located.headers
        return gather(self._located.data, headers.extension_at, headers.extension, ExtensionHeader.LAYOUT.size)

    def _queue_sharing_group(self) -> Values:
        """Null without a QWHX, and where QWHX leaves it blank."""
        each = ExtensionHeader.LAYOUT["queue_sharing_group"]
        return Values.of(field_column(self._extension, each, self._reading)).blank_is_null()

    def _release(self) -> Values:
        """The releases, each combination of SMF header and QWHX looked at once (H3)."""
        seen = np.zeros((len(self._located), 10), np.uint8)
        seen[:, :3] = self._located.area[:, 24:27]
        true = ExtensionHeader.LAYOUT["release"]
        there = self._located.headers.extension > 0
        if there.any():
            flat = np.frombuffer(self._extension.data, np.uint8).reshape(len(seen), -1)
            seen[:, 3:9] = flat[:, true.offset : true.end]
            seen[:, 9] = 1
            seen[~there, 3:] = 0
        encoded = pa.Array.from_buffers(pa.binary(10), len(seen), [None, pa.py_buffer(seen)]).dictionary_encode()
        names = [self._release_name(each) for each in encoded.dictionary.to_pylist()]
        distinct = list(dict.fromkeys(names))
        places = np.array([distinct.index(name) for name in names], np.int32)
        return Values(places[numbers(encoded.indices, np.int32)], None, strings(distinct))

    def _release_name(self, seen: bytes) -> str:
        page = self._reading.page
        extension = ExtensionHeader(release=page.decode(seen[3:9])) if seen[9] else None
        return release_of(Smf115Header(release=page.decode(seen[:3])), extension)


def _days(year: Ints) -> Ints:
    """Days from the UNIX epoch to the first of January."""
    days: Ints = (year - 1970).astype("datetime64[Y]").astype("datetime64[D]").astype(np.int64)
    return days
