"""Message data set: where a member keeps the data of shared messages that are too long for their structure (SMDS).

Rules
  MD1 Each member has one data set for each structure. Only its owner writes it and gives out its space; every member
      reads it.
  MD2 Data is written before the entry that says where it is, and forced first when the message is persistent. So an
      entry never points at what is not there.
  MD3 The space map is only in memory: after a restart it is rebuilt from the entries of the structure. What was written
      and never entered in the structure is free again by that.
  MD4 The place of a message has a serial number that is never used again, its length and a check over its data. Data
      that does not fit has been freed and used again, or was not forced before the power went: DataGoneError, never
      wrong data.
  MD5 Space is given out in pages, together where that is possible and in few pieces where it is not. A data set that is
      full expands by a tenth if it may; else the message is refused (DataSetFullError).
  MD6 The last messages written or read stay in buffers of one block each; a get by the same member seldom reads.
  MD7 The file can be closed for a while and opened again, as it was or as it was brought back: what is in use of it is
      known meanwhile. Whoever reads or writes has asked before whether it is open.

Called by the coupling facility manager.  Calls disk (through the file it is given).
"""

import struct
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol
from zlib import crc32

from quaestor.clock import Clock, tod_of_ns
from quaestor.storage.disk import File

PAGE = 4096
BLOCK = 256 * 1024
BUFFERS = 100
SIZE_MAX = 16 << 40
"""A data set has at most 16 TB; with 31 members a structure has 496 TB."""

EXTENTS_MAX = 15
FREE, USED = b"\0", b"\1"
_HEAD, _EXTENT = struct.Struct(">BQIIB"), struct.Struct(">II")


class Figures(Protocol):
    """The figures that a data set counts into: the section QESD of the manager that owns it."""

    allocate_requests: int
    allocations_failed: int
    blocks_data: int
    blocks_free: int
    blocks_free_low: int
    blocks_total: int
    blocks_used: int
    blocks_used_high: int
    buffer_size: int
    buffers_discarded: int
    buffers_empty: int
    buffers_free_low: int
    buffers_saved: int
    buffers_total: int
    buffers_used_high: int
    ca_size: int
    ci_size: int
    format_io_elapsed: int
    format_ios: int
    format_pages: int
    free_requests: int
    get_buffer: int
    got_free: int
    got_none: int
    got_stolen: int
    got_valid: int
    high_allocated_ci: int
    high_used_ci: int
    messages: int
    messages_high: int
    other_read_io_elapsed: int
    other_read_ios: int
    other_read_pages: int
    pages_allocated: int
    pages_freed: int
    read_io_elapsed: int
    read_ios: int
    read_pages: int
    read_requests: int
    reads_saved: int
    write_io_elapsed: int
    write_ios: int
    write_pages: int
    write_requests: int


class DataSetFullError(Exception):
    """No room, and it may not expand (MD5)."""


class DataGoneError(Exception):
    """What a place says is not there any more (MD4)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the data of a message is: in whose data set, its number there, its length, its check, its extents."""

    member: int
    serial: int
    length: int
    check: int
    extents: tuple[tuple[int, int], ...]

    def pack(self) -> bytes:
        head = _HEAD.pack(self.member, self.serial, self.length, self.check, len(self.extents))
        return head + b"".join(_EXTENT.pack(*extent) for extent in self.extents)

    @staticmethod
    def unpack(data: bytes) -> "Place":
        member, serial, length, check, count = _HEAD.unpack_from(data)
        extents = tuple(_EXTENT.unpack_from(data, _HEAD.size + at * _EXTENT.size) for at in range(count))
        return Place(member, serial, length, check, extents)


class SpaceMap:
    """Which pages of a data set are in use; known to its owner alone (MD3)."""

    def __init__(self, pages: int) -> None:
        self._uses = bytearray(pages)
        self.used = 0
        self._next = 0

    @property
    def pages(self) -> int:
        return len(self._uses)

    def allocate(self, pages: int) -> tuple[tuple[int, int], ...] | None:
        """So many pages in one piece or few (MD5); None when there are not enough."""
        if pages > self.pages - self.used:
            return None
        at = self._find(pages)
        extents = ((at, pages),) if at >= 0 else self._gather(pages)
        if extents is not None:
            self.mark(extents)
            last, count = extents[-1]
            self._next = last + count
        return extents

    def _find(self, pages: int) -> int:
        at = self._uses.find(FREE * pages, self._next)
        return at if at >= 0 else self._uses.find(FREE * pages)

    def _gather(self, pages: int) -> tuple[tuple[int, int], ...] | None:
        """The first free pieces, as they come; None when that takes too many."""
        found: list[tuple[int, int]] = []
        at = self._uses.find(FREE)
        while at >= 0 and pages and len(found) < EXTENTS_MAX:
            end = self._uses.find(USED, at)
            count = min((end if end >= 0 else self.pages) - at, pages)
            found.append((at, count))
            pages -= count
            at = self._uses.find(FREE, at + count)
        return None if pages else tuple(found)

    def mark(self, extents: Iterable[tuple[int, int]]) -> None:
        """These pages are in use."""
        for at, count in extents:
            if self._uses.count(USED, at, at + count):
                raise ValueError(f"pages {at} to {at + count - 1} are in use by two messages")
            self._uses[at : at + count] = USED * count
            self.used += count

    def free(self, extents: Iterable[tuple[int, int]]) -> None:
        for at, count in extents:
            if self._uses.count(USED, at, at + count) != count:
                raise ValueError(f"pages {at} to {at + count - 1} are freed twice")
            self._uses[at : at + count] = FREE * count
            self.used -= count

    def grow(self, pages: int) -> None:
        self._uses += FREE * pages

    def blocks_used(self, block_pages: int) -> int:
        return sum(USED in self._uses[at : at + block_pages] for at in range(0, self.pages, block_pages))


class _Buffers:
    """The data of the last messages, up to so many blocks (MD6)."""

    def __init__(self, buffers: int, block: int, stats: Figures) -> None:
        self._most, self._block, self._stats = buffers, block, stats
        self._held: OrderedDict[int, bytes] = OrderedDict()
        self.used = 0
        stats.buffers_total, stats.buffer_size, stats.buffers_free_low = buffers, block, buffers

    def resize(self, buffers: int) -> None:
        """So many from now on; what no longer fits goes, oldest first."""
        self._most = buffers
        self._make_room(0)
        self._stats.buffers_total = buffers
        self._stats.buffers_free_low = min(self._stats.buffers_free_low, buffers - self.used)

    def clear(self) -> None:
        self._held.clear()
        self.used = 0

    def _make_room(self, needed: int) -> bool:
        """Give up the oldest until so many blocks are free; whether any was given up."""
        stolen = False
        while self.used + needed > self._most:
            _, old = self._held.popitem(last=False)
            self.used -= self._blocks(old)
            stolen = True
        return stolen

    def get(self, place: Place) -> bytes | None:
        self._stats.get_buffer += 1
        data = self._held.get(place.serial)
        if data is not None:
            self._held.move_to_end(place.serial)
            self._stats.got_valid += 1
        return data

    def keep(self, place: Place, data: bytes) -> None:
        needed = self._blocks(data)
        if needed > self._most:
            self._stats.got_none += 1
            return
        self.drop(place)
        stolen = self._make_room(needed)
        self._held[place.serial] = data
        self.used += needed
        stats = self._stats
        stats.got_stolen += stolen
        stats.got_free += not stolen
        stats.buffers_used_high = max(stats.buffers_used_high, self.used)
        stats.buffers_free_low = min(stats.buffers_free_low, self._most - self.used)
        self._show()

    def drop(self, place: Place) -> None:
        old = self._held.pop(place.serial, None)
        if old is not None:
            self.used -= self._blocks(old)
            self._stats.buffers_discarded += 1
            self._show()

    def _show(self) -> None:
        self._stats.buffers_saved, self._stats.buffers_empty = self.used, self._most - self.used

    def _blocks(self, data: bytes) -> int:
        return max(1, -(-len(data) // self._block))


class DataSetReader:
    """The data set of another member: it is only read (MD1)."""

    def __init__(self, file: File, stats: Figures, clock: Clock) -> None:
        self._file, self._stats, self._clock = file, stats, clock

    def read(self, place: Place) -> bytes:
        """The data of a message; DataGoneError when it is not what was written (MD4)."""
        began_ns = self._clock.monotonic_ns()
        data = read_place(self._file, place)
        self._stats.other_read_ios += len(place.extents)
        self._stats.other_read_pages += sum(count for _, count in place.extents)
        self._stats.other_read_io_elapsed += tod_of_ns(self._clock.monotonic_ns() - began_ns)
        return data

    def close(self) -> None:
        self._file.close()


def read_place(file: File, place: Place) -> bytes:
    """Data as it is in a file, checked (MD4)."""
    data = b"".join(file.read(at * PAGE, count * PAGE) for at, count in place.extents)[: place.length]
    if len(data) != place.length or crc32(data) != place.check:
        raise DataGoneError(f"{file.name}: the data of {place.length} bytes is not there any more")
    return data


class MessageDataSet:
    """The data set of this member for one structure (MD1 to MD6)."""

    def __init__(
        self,
        file: File,
        member: int,
        stats: Figures,
        clock: Clock,
        *,
        block: int = BLOCK,
        buffers: int = BUFFERS,
        expand: bool = True,
    ) -> None:
        self._file, self.member, self._clock = file, member, clock
        self._block, self.expand, self.open = block, expand, True
        self.expand_failed = False
        """An expansion was refused by the system: none is tried until somebody says so."""

        self.space = SpaceMap(file.size() // PAGE)
        self.stats = stats
        stats.ci_size, stats.ca_size = PAGE, block
        self._buffers = _Buffers(buffers, block, self.stats)
        self._live: dict[int, Place] = {}
        self._serial = clock.now_us()
        self.up_to_date()
        self.stats.blocks_free_low = self.stats.blocks_free

    def rebuild(self, places: Iterable[Place]) -> None:
        """The space map, from what the entries of the structure say (MD3)."""
        self.space, self._live = SpaceMap(self._file.size() // PAGE), {}
        for place in places:
            if place.member == self.member:
                self.space.mark(place.extents)
                self._live[place.serial] = place
        self.stats.messages = len(self._live)
        self.up_to_date()
        self.stats.blocks_free_low = self.stats.blocks_free

    def write(self, data: bytes, *, persistent: bool) -> Place:
        """Data of a message; the place that its entry is to say, forced first if the message is persistent (MD2)."""
        extents = self._allocated(-(-len(data) // PAGE))
        self._serial += 1
        place = Place(self.member, self._serial, len(data), crc32(data), extents)
        try:
            self._written(data, extents, forced=persistent)
        except BaseException:
            self.space.free(extents)
            raise
        self.stats.write_requests += 1
        self._live[place.serial] = place
        self.stats.messages = len(self._live)
        self.stats.messages_high = max(self.stats.messages_high, self.stats.messages)
        self._buffers.keep(place, data)
        return place

    def _written(self, data: bytes, extents: tuple[tuple[int, int], ...], *, forced: bool) -> None:
        began_ns, view = self._clock.monotonic_ns(), memoryview(data)
        for at, count in extents:
            self._file.write(at * PAGE, view[: count * PAGE])
            view = view[count * PAGE :]
        if forced:
            self._file.sync()
        self.stats.write_ios += len(extents)
        self.stats.write_pages += sum(count for _, count in extents)
        self.stats.write_io_elapsed += tod_of_ns(self._clock.monotonic_ns() - began_ns)

    def read(self, place: Place) -> bytes:
        """The data of a message of this member's own data set (MD4, MD6)."""
        self.stats.read_requests += 1
        data = self._buffers.get(place)
        if data is not None:
            self.stats.reads_saved += 1
            return data
        began_ns = self._clock.monotonic_ns()
        data = read_place(self._file, place)
        self.stats.read_ios += len(place.extents)
        self.stats.read_pages += sum(count for _, count in place.extents)
        self.stats.read_io_elapsed += tod_of_ns(self._clock.monotonic_ns() - began_ns)
        self._buffers.keep(place, data)
        return data

    def free(self, place: Place) -> None:
        """The message is gone from the structure; its space may be used again."""
        if self._live.pop(place.serial, None) is None:
            raise ValueError(f"the message {place.serial} is freed twice")
        self.space.free(place.extents)
        self._buffers.drop(place)
        self.stats.free_requests += 1
        self.stats.pages_freed += sum(count for _, count in place.extents)
        self.stats.messages = len(self._live)

    def holds(self, place: Place) -> bool:
        """Whether a message has its space still; what a peer said of one may be known already."""
        return place.serial in self._live

    def close(self) -> None:
        """Nobody reads or writes it until it is opened again (MD7)."""
        if self.open:
            self.open = False
            self._buffers.clear()
            self._file.close()

    def open_again(self, file: File) -> None:
        """The file, which may be another with the same data; it is at least as long as what is in use (MD7)."""
        self._file, self.open = file, True
        if file.size() < self.space.pages * PAGE:
            file.extend(self.space.pages * PAGE)

    def alter(self, *, buffers: int, expand: bool) -> None:
        """How many buffers, and whether it expands; one that may, tries again what was refused."""
        self._buffers.resize(buffers)
        self.expand, self.expand_failed = expand, False

    # -- space, rule MD5

    def _allocated(self, pages: int) -> tuple[tuple[int, int], ...]:
        self.stats.allocate_requests += 1
        extents = self.space.allocate(pages)
        if extents is None and self._grown(pages):
            extents = self.space.allocate(pages)
        if extents is None:
            self.stats.allocations_failed += 1
            raise DataSetFullError(f"{self._file.name}: no room for {pages} pages")
        self.stats.pages_allocated += pages
        used = -(-self.space.used * PAGE // self._block)
        self.stats.blocks_used_high = max(self.stats.blocks_used_high, used)
        self.stats.blocks_free_low = min(self.stats.blocks_free_low, self._blocks_total() - used)
        return extents

    def _grown(self, pages: int) -> bool:
        """A tenth more, and room for the message, in whole blocks."""
        size = self.space.pages * PAGE
        wanted = max(size // 10, pages * PAGE)
        wanted += -(size + wanted) % self._block
        if not self.expand or self.expand_failed or size + wanted > SIZE_MAX:
            return False
        began_ns = self._clock.monotonic_ns()
        try:
            self._file.extend(size + wanted)
        except OSError:
            self.expand_failed = True  # what was refused is said by the put that needed it
            return False
        self.space.grow(wanted // PAGE)
        self.stats.format_ios += 1
        self.stats.format_pages += wanted // PAGE
        self.stats.format_io_elapsed += tod_of_ns(self._clock.monotonic_ns() - began_ns)
        return True

    def _blocks_total(self) -> int:
        return self.space.pages * PAGE // self._block

    def up_to_date(self) -> Figures:
        """The section with what is now, not only what was counted."""
        stats, total = self.stats, self._blocks_total()
        used = self.space.blocks_used(self._block // PAGE)
        stats.blocks_total, stats.blocks_data, stats.blocks_used = total, total, used
        stats.blocks_free = total - used
        stats.high_allocated_ci, stats.high_used_ci = self.space.pages, self.space.used
        return stats
