"""Disk: the only module that opens, writes and syncs the queue manager's files.

Rules
  K1  A write is volatile until `sync` of the same file returns, or it was a `write_through`. Nothing above may
      assume an order among volatile writes; a power cut may lose any of them or tear one between sectors.
  K2  A failed sync is final: the system may have dropped the data it could not write, so a second sync that
      succeeds proves nothing. The error is raised and the caller stops.
  K3  Creating and deleting a file is durable when the call returns (the directory is synced).
  K4  A read past the end gives fewer bytes than asked for; the caller knows what it expected.
  K5  One process owns a directory: `own` takes a file lock that the system gives up when the process ends.
  K6  A write-through of whole blocks from memory that is aligned to them goes past the system's page cache where the
      file system allows it: nobody reads the log back, so a copy of it in memory is only work.
  K7  Where several processes share a directory, `exclusive` lets one of them at a time do what must not be done by two;
      the system gives the right back when a process ends.
  K8  Requests made `together` are overlapped: while one thread waits for the first, another waits for the second.

Called by log_files, page_set, log_stream and the log manager.  Calls the operating system.
The power-cut tests use `FaultyDisk` (quaestor.testing) in its place.
"""

import errno
import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

OWNER_FILE = "in-use"
FORMAT_CHUNK = bytes(1 << 20)
IOV_MAX = 1024
WRITE_THROUGH = getattr(os, "RWF_DSYNC", 0)
DIRECT = getattr(os, "O_DIRECT", 0)
BLOCK = 4096
NOT_TRIED, NOT_POSSIBLE = -1, -2


class InUseError(OSError):
    """Another process owns the directory (K5)."""


Request = Callable[[], None]


def outcome(request: Request) -> OSError | None:
    """What a request failed with, if it did."""
    try:
        request()
    except OSError as error:
        return error
    return None


class File(Protocol):
    """An open file (K1, K2, K4)."""

    name: str

    def read(self, offset: int, size: int) -> bytes: ...

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None: ...

    def write_many(self, offset: int, parts: Sequence[bytes | bytearray | memoryview]) -> None:
        """Write parts one after the other, as one request."""

    def write_through(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """Write and sync these bytes; earlier volatile writes may stay volatile."""

    def extend(self, size: int) -> None:
        """Make the file longer with zeros whose space is set aside, so that a later write there cannot fail."""

    def sync(self) -> None: ...

    def size(self) -> int: ...

    def close(self) -> None: ...


class Disk(Protocol):
    """A directory of files (K3, K5)."""

    def create(self, name: str, size: int) -> File:
        """A new file of `size` zero bytes, formatted and synced, so that later writes change no metadata."""

    def open(self, name: str) -> File: ...

    def exists(self, name: str) -> bool: ...

    def names(self, prefix: str = "") -> list[str]: ...

    def delete(self, name: str) -> None: ...

    def together(self, requests: Sequence[Request]) -> list[OSError | None]:
        """Make requests at the same time (K8); gives what each failed with."""

    def own(self) -> None:
        """Take ownership, or raise `InUseError`."""

    def disown(self) -> None: ...


class SharedDisk(Disk, Protocol):
    """A directory that several processes use at once (K7)."""

    def exclusive(self, name: str) -> AbstractContextManager[None]:
        """Alone among all who ask for the same name, threads and processes, while the block runs."""


class RealFile:
    """A file of the operating system."""

    __slots__ = ("_direct", "_fd", "_path", "name")

    def __init__(self, path: Path, flags: int) -> None:
        self.name, self._path = path.name, path
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | flags, 0o600)
        self._direct = NOT_TRIED if DIRECT and WRITE_THROUGH else NOT_POSSIBLE

    def read(self, offset: int, size: int) -> bytes:
        return os.pread(self._fd, size, offset)

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        written = os.pwrite(self._fd, data, offset)
        if written != len(data):
            self.write(offset + written, memoryview(data)[written:])

    def write_many(self, offset: int, parts: Sequence[bytes | bytearray | memoryview]) -> None:
        for at in range(0, len(parts), IOV_MAX):
            some = parts[at : at + IOV_MAX]
            total = sum(map(len, some))
            written = os.pwritev(self._fd, some, offset)
            if written != total:
                self.write(offset + written, memoryview(b"".join(some))[written:])
            offset += total

    def write_through(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        length, written = len(data), 0
        if self._direct != NOT_POSSIBLE and not (offset | length) % BLOCK:
            try:
                if self._direct == NOT_TRIED:
                    self._direct = os.open(self._path, os.O_RDWR | os.O_CLOEXEC | DIRECT)
                written = os.pwritev(self._direct, (data,), offset, WRITE_THROUGH)  # K6
            except OSError as error:
                if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                    raise
                self._close_direct()
        elif WRITE_THROUGH:
            written = os.pwritev(self._fd, (data,), offset, WRITE_THROUGH)
        if written != length:
            self.write(offset + written, memoryview(data)[written:])
            os.fdatasync(self._fd)

    def _close_direct(self) -> None:
        if self._direct >= 0:
            os.close(self._direct)
        self._direct = NOT_POSSIBLE

    def extend(self, size: int) -> None:
        present = self.size()
        if size > present:
            os.posix_fallocate(self._fd, present, size - present)

    def sync(self) -> None:
        os.fdatasync(self._fd)

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def close(self) -> None:
        self._close_direct()
        os.close(self._fd)


class RealDisk:
    """A directory of the operating system."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self._owner: int | None = None
        self._others: ThreadPoolExecutor | None = None

    def create(self, name: str, size: int) -> RealFile:
        file = RealFile(self.directory / name, os.O_CREAT | os.O_EXCL)
        try:
            for at in range(0, size, len(FORMAT_CHUNK)):
                file.write(at, memoryview(FORMAT_CHUNK)[: min(len(FORMAT_CHUNK), size - at)])
            file.sync()
        except OSError:
            file.close()
            (self.directory / name).unlink()
            raise
        self._sync_directory()
        return file

    def open(self, name: str) -> RealFile:
        return RealFile(self.directory / name, 0)

    def exists(self, name: str) -> bool:
        return (self.directory / name).exists()

    def names(self, prefix: str = "") -> list[str]:
        return sorted(path.name for path in self.directory.iterdir() if path.name.startswith(prefix))

    def delete(self, name: str) -> None:
        (self.directory / name).unlink()
        self._sync_directory()

    def together(self, requests: Sequence[Request]) -> list[OSError | None]:
        if len(requests) == 1:
            return [outcome(requests[0])]
        if self._others is None:
            self._others = ThreadPoolExecutor(1, "overlapped-io")
        others = [self._others.submit(outcome, request) for request in requests[1:]]
        first = outcome(requests[0])
        return [first, *(other.result() for other in others)]

    def own(self) -> None:
        fd = os.open(self.directory / OWNER_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.pread(fd, 64, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(fd)
            raise InUseError(error.errno, f"in use by process {owner}", str(self.directory)) from error
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode("ascii"), 0)
        self._owner = fd

    def disown(self) -> None:
        if self._others is not None:
            self._others.shutdown()
            self._others = None
        if self._owner is not None:
            os.close(self._owner)
            self._owner = None

    @contextmanager
    def exclusive(self, name: str) -> Iterator[None]:
        fd = os.open(self.directory / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _sync_directory(self) -> None:
        fd = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
