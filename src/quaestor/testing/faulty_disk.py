"""Faulty disk: a disk in memory that loses power, refuses and cannot be read.

Rules
  Q1  A `FaultyDisk` keeps two images of a file: what programs see, and what a power cut leaves. A write moves to the
      second image when its file is synced. At a cut each write that was not synced is kept, lost, or torn between
      sectors, by a seeded choice; writes need not be kept in order.
  Q2  Power goes at the n-th operation that changes something (`cut_after`); that operation itself may be torn. From
      then on every call raises `PowerCut`, until the survivor (`after_power_cut`) is used in its place.
  Q3  `fail_at` makes one operation raise an OSError instead: no space, or an I/O error. What lies in a range of a file
      that is `unreadable` cannot be read (EIO) until it is not, is written again, or the file is deleted. A write of a
      part of a page that cannot be read fails likewise: the system would have to read the rest of it.
  Q4  A write-through that is started is two operations: handing it over, and its end. A cut between them keeps, loses
      or tears it. Until its end it may take what was put into its memory after it was handed over, sector by sector.
      While the disk is `held` it is not over, unless one waits for it; a disk that is not `asynchronous` starts none.
      One that fails (Q3) is over too: some of its sectors are written, and nobody takes any more of its memory. When
      its file is opened again, whoever started it is gone: it was finished or dropped.

Called by tests and by anybody who wants to prove the same of their own programs.
"""

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from threading import RLock

from quaestor.storage.asynchronous_write import Announcement
from quaestor.storage.disk import InUseError, Request, outcome

SECTOR = 512
PAGE = 4096
Bytes = bytes | bytearray | memoryview


class PowerCut(Exception):  # noqa: N818 - what happens, not an error of anybody
    """The power has gone (Q2)."""


class _Image:
    """A file's two images, and the writes between them (Q1)."""

    __slots__ = ("durable", "in_flight", "pending", "seen")

    def __init__(self, contents: bytes) -> None:
        self.durable, self.seen = bytearray(contents), bytearray(contents)
        self.pending: list[tuple[int, bytes]] = []
        self.in_flight: list[tuple[int, bytes, memoryview]] = []

    def write(self, offset: int, data: bytes) -> None:
        _overlay(self.seen, offset, data)
        self.pending.append((offset, data))

    def sync(self) -> None:
        for offset, data in self.pending:
            _overlay(self.durable, offset, data)
        self.pending.clear()

    def end_flight(self, offset: int, handed_over: bytes, memory: memoryview, choose: Random) -> None:
        """A write that was started is durable, with what came into its memory or without (Q4)."""
        self.in_flight.remove((offset, handed_over, memory))
        written = _mixed(handed_over, memory, choose)
        _overlay(self.seen, offset, written)
        _overlay(self.durable, offset, written)

    def fail_flight(self, offset: int, handed_over: bytes, memory: memoryview, choose: Random) -> None:
        """A write that was started has failed: some of its sectors are written, none of them durably (Q4)."""
        self.in_flight.remove((offset, handed_over, memory))
        before = self.seen[offset : offset + len(handed_over)]
        _tear(before, 0, _mixed(handed_over, memory, choose), choose)
        self.write(offset, bytes(before))

    def forget_flights(self, choose: Random) -> None:
        """Whoever started writes is gone: each was finished by the system, or dropped."""
        for flight in self.in_flight.copy():
            if choose.random() < 0.5:
                self.end_flight(*flight, choose)
        self.in_flight.clear()

    def cut(self, choose: Random) -> bytes:
        """What the power cut leaves."""
        survived = bytearray(self.durable)
        in_flight = [(offset, _mixed(before, memory, choose)) for offset, before, memory in self.in_flight]
        for offset, data in [*self.pending, *in_flight]:
            fate = choose.random()
            if fate < 0.4:
                _overlay(survived, offset, data)
            elif fate < 0.7:
                _tear(survived, offset, data, choose)
        return bytes(survived)


def _overlay(image: bytearray, offset: int, data: bytes) -> None:
    if len(image) < offset:
        image.extend(bytes(offset - len(image)))
    image[offset : offset + len(data)] = data


def _tear(image: bytearray, offset: int, data: bytes, choose: Random) -> None:
    """Keep some sectors of a write and not others."""
    end = offset + len(data)
    at = offset
    while at < end:
        border = min(end, (at // SECTOR + 1) * SECTOR)
        if choose.random() < 0.5:
            _overlay(image, at, data[at - offset : border - offset])
        at = border


def _mixed(handed_over: bytes, memory: memoryview, choose: Random) -> bytes:
    """Every sector as it was when the write was handed over, or as it is now (Q4)."""
    later = bytes(memory)
    if later == handed_over:
        return later
    sectors = range(0, len(later), SECTOR)
    return b"".join((later if choose.random() < 0.5 else handed_over)[at : at + SECTOR] for at in sectors)


class StartedFaultyWrite:
    """A write-through of a `FaultyFile` that is under way (Q4)."""

    def __init__(self, file: "FaultyFile", disk: "FaultyDisk", flight: tuple[int, bytes, memoryview]) -> None:
        self._file, self._disk, self._flight = file, disk, flight

    def over(self, *, wait: bool) -> bool:
        self._disk.check_power()
        if self._disk.held and not wait:
            return False

        def sync() -> None:
            self._file.image.end_flight(*self._flight, self._disk.choose)
            self._file.written(self._flight[0], len(self._flight[1]))

        try:
            self._disk.operate(sync)
        except OSError:
            self._file.image.fail_flight(*self._flight, self._disk.choose)
            raise
        return True


class FaultyFile:
    """A file of a `FaultyDisk`."""

    def __init__(self, disk: "FaultyDisk", name: str) -> None:
        self._disk, self.name = disk, name

    @property
    def image(self) -> _Image:
        return self._disk.files[self.name]

    def read(self, offset: int, size: int) -> bytes:
        self._disk.check_power()
        lost = self._disk.unreadable.get(self.name)
        if lost is not None and offset < lost.stop and lost.start < offset + size:
            raise OSError(errno.EIO, "EIO", self.name)
        return bytes(self.image.seen[offset : offset + size])

    def write(self, offset: int, data: Bytes) -> None:
        self._disk.check_power()
        lost = self._disk.unreadable.get(self.name)
        for end in (offset, offset + len(data)):
            page = end - end % PAGE
            if lost is not None and end > page and page < lost.stop and lost.start < page + PAGE:
                raise OSError(errno.EIO, "EIO", self.name)
        self._disk.operate(lambda: self.image.write(offset, bytes(data)))
        self.written(offset, len(data))

    def written(self, offset: int, size: int) -> None:
        """What could not be read there can be (Q3)."""
        lost = self._disk.unreadable.get(self.name)
        if lost is not None and offset <= lost.start and lost.stop <= offset + size:
            del self._disk.unreadable[self.name]

    def write_many(self, offset: int, parts: Sequence[Bytes]) -> None:
        self.write(offset, b"".join(parts))

    def write_through(self, offset: int, data: Bytes) -> None:
        self.write(offset, data)
        self.sync()

    def write_soon(self, offset: int, data: memoryview) -> None:
        self.write(offset, data)

    def sync_written(self) -> None:
        self.sync()

    def start_write_through(self, offset: int, data: memoryview) -> StartedFaultyWrite | None:
        if not self._disk.asynchronous:
            return None
        flight = (offset, bytes(data), data)
        self._disk.operate(lambda: self.image.in_flight.append(flight))
        if not self._disk.held:
            self._disk.let_go()
        return StartedFaultyWrite(self, self._disk, flight)

    def extend(self, size: int) -> None:
        missing = size - len(self.image.seen)
        if missing > 0:
            self._disk.operate(lambda: self.image.write(len(self.image.seen), bytes(missing)))

    def sync(self) -> None:
        self._disk.operate(self.image.sync)

    def size(self) -> int:
        self._disk.check_power()
        return len(self.image.seen)

    def close(self) -> None:
        """Closing makes nothing durable."""


class FaultyDisk:
    """A disk whose power can be cut (Q1-Q4)."""

    asynchronous = True

    def __init__(self, cut_after: int | None = None, seed: int = 0) -> None:
        self.files: dict[str, _Image] = {}
        self.cut_after, self.seed = cut_after, seed
        self.operations = 0
        self.fail_at: dict[int, int] = {}
        self.unreadable: dict[str, range] = {}
        self.held = False
        self.choose = Random(seed)  # noqa: S311 - chance, not secrecy
        self._announcement: Announcement | None = None
        self._off = False
        self._owned = False
        self._alone = RLock()

    def check_power(self) -> None:
        if self._off:
            raise PowerCut

    def operate(self, effect: Callable[[], None]) -> None:
        """One operation that changes something (Q2, Q3)."""
        self.check_power()
        self.operations += 1
        if self.operations in self.fail_at:
            code = self.fail_at[self.operations]
            raise OSError(code, errno.errorcode[code])
        if self.cut_after is not None and self.operations > self.cut_after:
            if self.operations % 2 and effect.__name__ != "sync":
                effect()  # handed over before the power went, never synced: kept, lost or torn
            self._off = True
            raise PowerCut
        effect()

    def after_power_cut(self, seed: int | None = None, cut_after: int | None = None) -> "FaultyDisk":
        """The disk that is found when power is back."""
        choose = Random(self.seed if seed is None else seed)  # noqa: S311 - chance, not secrecy
        survivor = FaultyDisk(cut_after, self.seed + 1)
        survivor.files = {name: _Image(image.cut(choose)) for name, image in self.files.items()}
        survivor.unreadable = self.unreadable.copy()
        return survivor

    def create(self, name: str, size: int) -> FaultyFile:
        self.check_power()
        if name in self.files:
            raise FileExistsError(name)

        def effect() -> None:
            self.files[name] = _Image(bytes(size))

        self.operate(effect)
        return FaultyFile(self, name)

    def open(self, name: str) -> FaultyFile:
        self.check_power()
        if name not in self.files:
            raise FileNotFoundError(name)
        self.files[name].forget_flights(self.choose)
        return FaultyFile(self, name)

    def exists(self, name: str) -> bool:
        self.check_power()
        return name in self.files

    def names(self, prefix: str = "") -> list[str]:
        self.check_power()
        return sorted(name for name in self.files if name.startswith(prefix))

    def delete(self, name: str) -> None:
        def effect() -> None:
            del self.files[name]
            self.unreadable.pop(name, None)

        self.operate(effect)

    def rename(self, name: str, to: str) -> None:
        def effect() -> None:
            self.files[to] = self.files.pop(name)

        self.operate(effect)

    def together(self, requests: Sequence[Request]) -> list[OSError | None]:
        """One after the other, so that a run can be repeated."""
        return [outcome(request) for request in requests]

    def announce(self) -> Announcement | None:
        if self._announcement is None and self.asynchronous:
            self._announcement = Announcement()
        return self._announcement

    def let_go(self) -> None:
        """Writes that were held are over, and that is announced (Q4)."""
        self.held = False
        if self._announcement is not None:
            self._announcement.ring()

    def own(self) -> None:
        if self._owned:
            raise InUseError(errno.EAGAIN, "in use", "memory")
        self._owned = True

    def disown(self) -> None:
        self._owned = False

    @contextmanager
    def exclusive(self, _name: str) -> Iterator[None]:
        self.check_power()
        with self._alone:
            yield
