"""A member's own message data set, and those of the others (MD1, MD2, MD5, MD7). The rules are the package's."""

from collections.abc import Iterable
from zlib import crc32

from quaestor.clock import Clock, tod_of_ns
from quaestor.storage.disk import File
from quaestor.storage.message_data_set.buffers import Buffers
from quaestor.storage.message_data_set.figures import Figures
from quaestor.storage.message_data_set.place import PAGE, Place, read_place
from quaestor.storage.message_data_set.space_map import SpaceMap

BLOCK = 256 * 1024
BUFFERS = 100
SIZE_MAX = 16 << 40
"""A data set has at most 16 TB; with 31 members a structure has 496 TB."""


class DataSetFullError(Exception):
    """No room, and it may not expand (MD5)."""


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
        self._buffers = Buffers(buffers, block, self.stats)
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
