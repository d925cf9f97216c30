"""Real disk: a directory of the operating system. K1 to K13 are of `disk`.

The only module that opens, writes and syncs the queue manager's files.

Called by whoever opens a queue manager's directory.  Calls the operating system, asynchronous_write, handed_sync,
overlapped.
"""

import errno
import fcntl
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

from quaestor.storage.asynchronous_write import Announcement, KernelWrites, kernel_writes
from quaestor.storage.disk import InUseError, Request, Started, outcome
from quaestor.storage.handed_sync import HandedSync, handed_sync
from quaestor.storage.overlapped import Overlapped, overlapped

OWNER_FILE = "in-use"
OWNER_WIDTH = 20
"""Written over in place: a disk that is full has no block for it otherwise, and could not be started from."""

LOOKS, LOOK_S = 100, 0.01
"""How often, and how long each time, `own` lets somebody ask who the owner is (K5)."""

FORMAT_CHUNK = bytes(1 << 20)
IOV_MAX = 1024
WRITE_THROUGH = getattr(os, "RWF_DSYNC", 0)
DIRECT = getattr(os, "O_DIRECT", 0)
PAST_CACHE = getattr(os, "RWF_DONTCACHE", 0x80) if sys.platform == "linux" else 0
"""Python 3.11 has no name for it."""

NOT_WANTED = getattr(os, "POSIX_FADV_DONTNEED", -1)
BLOCK = 4096
NOT_TRIED, NOT_POSSIBLE = -1, -2
REFUSED = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)
"""How a system says that it cannot do this here, whatever the state of the disk."""


class RealFile:
    """A file of the operating system."""

    __slots__ = ("_direct", "_fd", "_kernel", "_path", "name")

    def __init__(self, path: Path, flags: int, kernel: "KernelQueues") -> None:
        self.name, self._path, self._kernel = path.name, path, kernel
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | flags, 0o600)
        self._direct = NOT_TRIED if DIRECT and WRITE_THROUGH else NOT_POSSIBLE

    def _failed(self, error: OSError) -> OSError:
        """What a request failed with, by the name of the file (K10)."""
        error.filename = self.name
        return error

    def read(self, offset: int, size: int) -> bytes:
        try:
            return os.pread(self._fd, size, offset)
        except OSError as error:
            raise self._failed(error) from None

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        try:
            written = os.pwrite(self._fd, data, offset)
        except OSError as error:
            raise self._failed(error) from None
        if written != len(data):
            self.write(offset + written, memoryview(data)[written:])

    def write_many(self, offset: int, parts: Sequence[bytes | bytearray | memoryview]) -> None:
        for at in range(0, len(parts), IOV_MAX):
            some = parts[at : at + IOV_MAX]
            total = sum(map(len, some))
            try:
                written = self._write_past_cache(offset, some)
            except OSError as error:
                raise self._failed(error) from None
            if written != total:
                self.write(offset + written, memoryview(b"".join(some))[written:])
            offset += total

    def _write_past_cache(self, offset: int, parts: Sequence[bytes | bytearray | memoryview]) -> int:
        """Write parts, past the cache until the system refuses that (K13)."""
        kernel = self._kernel
        if kernel.past_cache:
            try:
                return os.pwritev(self._fd, parts, offset, kernel.past_cache)
            except OSError as error:
                if error.errno not in REFUSED:
                    raise
                kernel.past_cache = 0
        return os.pwritev(self._fd, parts, offset)

    def write_through(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        length, direct, written = len(data), self._direct, 0
        if direct != NOT_POSSIBLE and not (offset | length) % BLOCK:
            try:
                if direct == NOT_TRIED:
                    direct = self._open_direct()
                written = os.pwritev(direct, (data,), offset, WRITE_THROUGH)  # K6
            except OSError as error:
                if error.errno not in REFUSED:
                    raise self._failed(error) from None
                self._close_direct()
        elif WRITE_THROUGH:
            try:
                written = os.pwritev(self._fd, (data,), offset, WRITE_THROUGH)
            except OSError as error:
                raise self._failed(error) from None
        if written != length:
            self.write_rest(offset, data, written)

    def write_rest(self, offset: int, data: bytes | bytearray | memoryview, written: int) -> None:
        """A write-through wrote less than it was given: the rest, durably."""
        self.write(offset + written, memoryview(data)[written:])
        self.sync()

    def start_write_through(self, offset: int, data: memoryview) -> Started | None:
        if self._direct == NOT_POSSIBLE or (offset | len(data)) % BLOCK:
            return None
        writes = self._kernel.writes()
        if writes is None:
            return None
        try:
            return StartedWrite(self, writes, writes.submit(self._open_direct(), offset, data), offset, data)  # K9
        except OSError as error:
            if error.errno in REFUSED:
                self._kernel.refused()
            elif error.errno != errno.EAGAIN:
                raise self._failed(error) from None
            return None

    def write_soon(self, offset: int, data: memoryview) -> None:
        fd, length, syncs = self._fd, len(data), self._kernel.syncs()
        try:
            if syncs is not None and syncs.under_way == fd:
                syncs.take()  # nobody has asked for it
            written = os.pwrite(fd, data, offset)
            if written != length:
                self.write(offset + written, data[written:])
            if NOT_WANTED >= 0:  # K11: of a page that is not wanted in part the system drops nothing, but writes all
                os.posix_fadvise(fd, offset + 1, length - 2, NOT_WANTED)
            if syncs is not None:
                syncs.hand_over(fd)
        except OSError as error:
            raise self._failed(error) from None

    def sync_written(self) -> None:
        fd, syncs = self._fd, self._kernel.handed
        try:
            if syncs is not None and syncs.under_way == fd:
                syncs.take()
            else:
                os.fdatasync(fd)
        except OSError as error:
            raise self._failed(error) from None

    def _open_direct(self) -> int:
        if self._direct == NOT_TRIED:
            self._direct = os.open(self._path, os.O_RDWR | os.O_CLOEXEC | DIRECT)
        return self._direct

    def _close_direct(self) -> None:
        if self._direct >= 0:
            os.close(self._direct)
        self._direct = NOT_POSSIBLE

    def extend(self, size: int) -> None:
        present = self.size()
        if size > present:
            try:
                os.posix_fallocate(self._fd, present, size - present)
            except OSError as error:
                with suppress(OSError):
                    os.ftruncate(self._fd, present)  # K12
                raise self._failed(error) from None

    def sync(self) -> None:
        try:
            self._take_handed()
            os.fdatasync(self._fd)
        except OSError as error:
            raise self._failed(error) from None

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def _take_handed(self) -> None:
        """What a sync that was handed over failed with, no other sync is told again (K2)."""
        syncs = self._kernel.handed
        if syncs is not None and syncs.under_way == self._fd:
            syncs.take()

    def close(self) -> None:
        with suppress(OSError):  # nobody has been promised anything of it
            self._take_handed()
        self._close_direct()
        os.close(self._fd)


class StartedWrite:
    """A write-through of a file of the operating system (K9)."""

    __slots__ = ("_data", "_file", "_number", "_offset", "_writes")

    def __init__(self, file: RealFile, writes: KernelWrites, number: int, offset: int, data: memoryview) -> None:
        self._file, self._writes, self._number, self._offset, self._data = file, writes, number, offset, data

    def over(self, *, wait: bool) -> bool:
        try:
            written = self._writes.take(self._number, wait=wait)
        except OSError as error:
            if error.errno not in REFUSED:
                error.filename = self._file.name  # K10
                raise
            written = 0
        if written is None:
            return False
        if written != len(self._data):
            self._file.write_rest(self._offset, self._data, written)
        return True


class KernelQueues:
    """The kernel's queues for what a disk starts; each is made with the first request (K9, K11).

    `past_cache` asks for a write past the cache, 0 where that is not to be had (K13).
    """

    def __init__(self) -> None:
        self._writes: KernelWrites | None = None
        self._has_writes = self._has_syncs = True
        self.handed: HandedSync | None = None
        self.past_cache = PAST_CACHE

    def writes(self) -> KernelWrites | None:
        """For writes; given up when it refuses one."""
        if self._writes is None and self._has_writes:
            self._writes = kernel_writes()
            self._has_writes = self._writes is not None
        return self._writes

    def syncs(self) -> HandedSync | None:
        """For the sync of what is written soon."""
        if self.handed is None and self._has_syncs:
            self.handed = handed_sync()
            self._has_syncs = self.handed is not None
        return self.handed

    def refused(self) -> None:
        self._close_writes()
        self._has_writes = False

    def _close_writes(self) -> None:
        if self._writes is not None:
            self._writes.close()
            self._writes = None

    def close(self) -> None:
        self._close_writes()
        if self.handed is not None:
            self.handed.close()
            self.handed = None


def owner_of(directory: Path) -> int | None:
    """The process that owns a directory now; None when nobody does, whatever one that is gone has left there."""
    try:
        fd = os.open(directory / OWNER_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return int(os.pread(fd, 64, 0) or 0)
    else:
        return None
    finally:
        os.close(fd)


def sync_directory(directory: Path) -> None:
    """Force the names in a directory to the disk."""
    fd = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_directory(directory: Path, mode: int = 0o777) -> None:
    """A directory, durably, with those above it that there are not (K3)."""
    made = [each for each in (directory, *directory.parents) if not each.exists()]
    directory.mkdir(parents=True, exist_ok=True, mode=mode)
    for each in made:
        sync_directory(each.parent)


def _lock_alone(fd: int) -> None:
    """Have the lock alone, or raise at once if somebody has it alone (K5)."""
    for _ in range(LOOKS):
        with suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(fd, fcntl.LOCK_UN)
        Event().wait(LOOK_S)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


class RealDisk:
    """A directory of the operating system."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        make_directory(self.directory)
        self._owner: int | None = None
        self._others: Overlapped | None = None
        self._kernel = KernelQueues()

    def create(self, name: str, size: int) -> RealFile:
        file = RealFile(self.directory / name, os.O_CREAT | os.O_EXCL, self._kernel)
        try:
            for at in range(0, size, len(FORMAT_CHUNK)):
                file.write(at, memoryview(FORMAT_CHUNK)[: min(len(FORMAT_CHUNK), size - at)])
            file.sync()
        except OSError:
            file.close()
            (self.directory / name).unlink()
            raise
        sync_directory(self.directory)
        return file

    def open(self, name: str) -> RealFile:
        return RealFile(self.directory / name, 0, self._kernel)

    def exists(self, name: str) -> bool:
        return (self.directory / name).exists()

    def names(self, prefix: str = "") -> list[str]:
        return sorted(path.name for path in self.directory.iterdir() if path.name.startswith(prefix))

    def delete(self, name: str) -> None:
        (self.directory / name).unlink()
        sync_directory(self.directory)

    def rename(self, name: str, to: str) -> None:
        (self.directory / name).replace(self.directory / to)
        sync_directory(self.directory)

    def together(self, requests: Sequence[Request]) -> list[OSError | None]:
        if len(requests) == 1:
            return [outcome(requests[0])]
        if self._others is None:
            self._others = overlapped()
        if self._others is None:
            return [outcome(request) for request in requests]
        asked = [self._others.ask(request) for request in requests[1:]]
        try:
            first = outcome(requests[0])
        finally:
            others = [each.wait() for each in asked]  # also who is interrupted: he may close the files
        return [first, *others]

    def announce(self) -> Announcement | None:
        writes = self._kernel.writes()
        return None if writes is None else writes.announce()

    def own(self) -> None:
        fd = self._owner = os.open(self.directory / OWNER_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        _OWNED.add(self)
        try:
            _lock_alone(fd)
        except OSError as error:
            owner = os.pread(fd, 64, 0).decode("ascii", "replace").strip() or "unknown"
            self._let_go()
            raise InUseError(error.errno, f"in use by process {owner}", str(self.directory)) from error
        try:
            os.pwrite(fd, f"{os.getpid():<{OWNER_WIDTH}}\n".encode("ascii"), 0)
        except OSError:
            os.ftruncate(fd, 0)  # the lock is what counts; who has it is a courtesy

    def disown(self) -> None:
        if self._others is not None:
            self._others.close()
            self._others = None
        self._kernel.close()
        self._let_go()

    def forsake(self) -> None:
        """In a child made by fork (K5); a thread of the parent's is waited for in vain (OV3)."""
        self._others = None
        self._let_go()

    def _let_go(self) -> None:
        fd, self._owner = self._owner, None
        _OWNED.discard(self)
        if fd is not None:
            os.close(fd)

    @contextmanager
    def exclusive(self, name: str) -> Iterator[None]:
        fd = os.open(self.directory / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


_OWNED: set[RealDisk] = set()


def _forsake_all() -> None:
    for disk in tuple(_OWNED):
        disk.forsake()


os.register_at_fork(after_in_child=_forsake_all)
