"""Shipped helpers for tests: a disk that loses power, a small engine, and counting since a moment.

Rules
  Q1  A `FaultyDisk` keeps two images of a file: what programs see, and what a power cut leaves. A write moves to the
      second image when its file is synced. At a cut each write that was not synced is kept, lost, or torn between
      sectors, by a seeded choice; writes need not be kept in order.
  Q2  Power goes at the n-th operation that changes something (`cut_after`); that operation itself may be torn. From
      then on every call raises `PowerCut`, until the survivor (`after_power_cut`) is used in its place.
  Q3  `fail_at` makes one operation raise an OSError instead: no space, or an I/O error. What lies in a range of a file
      that is `unreadable` cannot be read (EIO) until it is not, or is written again.
  Q4  A write-through that is started is two operations: handing it over, and its end. A cut between them keeps, loses
      or tears it. Until its end it may take what was put into its memory after it was handed over, sector by sector.
      While the disk is `held` it is not over, unless one waits for it; a disk that is not `asynchronous` starts none.
      When its file is opened again, whoever started it is gone: it was finished or dropped.

Called by tests and by anybody who wants to prove the same of their own programs.
"""

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from random import Random
from threading import RLock
from typing import Any

from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD, NO_ID
from quaestor.mqi.messages import Message
from quaestor.mqi.objects import LocalQueue
from quaestor.qmgr.data.engine import Engine, EngineSettings
from quaestor.qmgr.data.queue import PrivateQueue
from quaestor.qmgr.recovery import UnitOfRecovery
from quaestor.qmgr.resource_manager import Task
from quaestor.storage.asynchronous_write import Announcement
from quaestor.storage.disk import InUseError, Request, outcome

SECTOR = 512
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

        self._disk.operate(sync)
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
        self._disk.operate(lambda: self.image.write(offset, bytes(data)))
        lost = self._disk.unreadable.get(self.name)
        if lost is not None and offset <= lost.start and lost.stop <= offset + len(data):
            del self._disk.unreadable[self.name]

    def write_many(self, offset: int, parts: Sequence[Bytes]) -> None:
        self.write(offset, b"".join(parts))

    def write_through(self, offset: int, data: Bytes) -> None:
        self.write(offset, data)
        self.sync()

    def write_soon(self, offset: int, data: memoryview) -> None:
        self.write(offset, data)

    def sync_written(self, _offset: int, _length: int) -> None:
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


SMALL = EngineSettings(
    logs=3,
    log_bytes=1 << 20,
    outbuff_kb=64,
    logload=1000,
    buffer_pools={0: 64, 1: 64},
    page_sets={0: 0, 1: 1},
    pages=64,
    expansion=256,
)


DESCRIPTOR = MQMD()


class SmallEngine:
    """An engine with one queue, used as the papers' examples do: put, get, commit, back out."""

    def __init__(
        self, disk: Any = None, settings: EngineSettings = SMALL, queue: str = "ORDERS", **definition: Any
    ) -> None:
        self.disk = disk if disk is not None else FaultyDisk()
        self.clock = FakeClock()
        self.engine = Engine(self.disk, self.clock, settings)
        self.restarted = self.engine.start()
        self.log, self.buffers, self.recovery = self.engine.log, self.engine.buffers, self.engine.recovery
        self.data, self.locks = self.engine.data, self.engine.locks
        definition.setdefault("page_set", max(settings.page_sets))
        self.recovery.latch.acquire()
        self.queue: PrivateQueue = self.data.queue(LocalQueue(queue, **definition))

    def begin(self) -> UnitOfRecovery:
        return self.recovery.begin()

    def put(
        self,
        unit: UnitOfRecovery | None,
        body: bytes,
        *,
        persistent: bool = True,
        priority: int = 0,
        correl_id: bytes = NO_ID,
        queue: PrivateQueue | None = None,
    ) -> None:
        message = self._message(body, priority, correl_id, persistent=persistent)
        self.data.put(unit, queue or self.queue, message, priority)

    def put_express(self, body: bytes, *, priority: int = 0) -> bool:
        """Put and commit a persistent message in one step; whether it went so."""
        body, envelope, msg_id, correl_id, *_ = self._message(body, priority)
        now_us = self.clock.now_us()
        put = self.engine.express(
            self.queue, body, envelope, msg_id, correl_id, priority, priority, now_us, 0, -1, lambda _: None
        )
        return put is not None

    def _message(self, body: bytes, priority: int, correl_id: bytes = NO_ID, *, persistent: bool = True) -> Message:
        msg_id = (self.data.sequence + 1).to_bytes(24, "big")
        return Message(body, MQMD(), msg_id, correl_id, priority, int(persistent), self.clock.now_us())

    def put_all(self, unit: UnitOfRecovery, bodies: Sequence[bytes], *, priority: int = 0) -> int:
        """Put persistent messages together; gives how many were."""
        now_us, ids = self.clock.now_us(), range(self.data.sequence + 1, self.data.sequence + 1 + len(bodies))
        messages = [
            Message(body, DESCRIPTOR, number.to_bytes(24, "big"), NO_ID, priority, 1, now_us)
            for number, body in zip(ids, bodies, strict=True)
        ]
        return self.data.put_run(unit, self.queue, messages, priority)

    def get(self, unit: UnitOfRecovery | None, queue: PrivateQueue | None = None, **wanted: Any) -> bytes | None:
        arrival = self.data.locate(queue or self.queue, **wanted)
        if arrival is None:
            return None
        message = self.data.read(arrival)
        self.data.take(unit, arrival)
        return message.body

    def commit(self, unit: UnitOfRecovery) -> None:
        self.recovery.commit(unit)

    def back_out(self, unit: UnitOfRecovery) -> None:
        self.recovery.back_out(unit)

    def bodies(self, queue: PrivateQueue | None = None) -> list[bytes]:
        """Every message that is there for anybody, in order."""
        return [self.data.read(arrival).body for arrival in self.data.browse(queue or self.queue)]

    def run_tasks(self) -> None:
        """One step of every background task."""
        for manager in (self.log, self.buffers, self.recovery, self.data):
            for task in manager.tasks():
                self._run(task)

    def _run(self, task: Task) -> None:
        if task.latched:
            task.step()
            return
        self.recovery.latch.release()
        try:
            task.step()
        finally:
            self.recovery.latch.acquire()

    def again(self, settings: EngineSettings | None = None) -> "SmallEngine":
        """What a restart on the same disk finds, without anything having been told to stop."""
        return SmallEngine(self.disk, settings or self.engine.settings, self.queue.name)


def since(before: Any, now: Any, *fields: str) -> tuple[int, ...]:
    """How much counters of a section have grown."""
    return tuple(getattr(now, name) - getattr(before, name) for name in fields)


def snapshot(section: Any) -> Any:
    """A section as it is now, to count from."""
    return copy(section)
