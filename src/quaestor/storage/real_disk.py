"""Real disk: a directory of the operating system, and who owns it. K3, K5, K7 and K8 are of `disk`.

Called by whoever opens a queue manager's directory.  Calls the operating system, real_file, overlapped.
"""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

from quaestor.storage.asynchronous_write import Announcement
from quaestor.storage.disk import InUseError, Request, outcome
from quaestor.storage.overlapped import Overlapped, overlapped
from quaestor.storage.real_file import KernelQueues, RealFile

OWNER_FILE = "in-use"
OWNER_WIDTH = 20
"""Written over in place: a disk that is full has no block for it otherwise, and could not be started from."""

LOOKS, LOOK_S = 100, 0.01
"""How often, and how long each time, `own` lets somebody ask who the owner is (K5)."""

FORMAT_CHUNK = bytes(1 << 20)


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
    """Force the names in a directory to the disk; what fails names it."""
    fd = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(directory)) from error
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
