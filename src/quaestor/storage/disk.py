"""Disk: what the queue manager asks of the files it opens, writes and syncs. `real_disk` and `real_file` do it.

Rules
  K1  A write is volatile until `sync` of the same file returns, or it was a `write_through`. Nothing above may
      assume an order among volatile writes; a power cut may lose any of them or tear one between sectors.
  K2  A failed sync is final: the system may have dropped the data it could not write, so a second sync that
      succeeds proves nothing. The error is raised and the caller stops.
  K3  Creating, deleting and renaming a file is durable when the call returns (the directory is synced), and so is the
      directory, where it was made for the files. A file that is renamed takes the place of one that has the name:
      whenever power goes, the name has the one or the other.
  K4  A read past the end gives fewer bytes than asked for; the caller knows what it expected.
  K5  One process owns a directory: `own` takes a file lock that the system gives up when the process ends. Who only
      asks (`owner_of`) shares it for a moment; `own` can tell that from an owner, and waits until it is over. A child
      made by fork owns nothing, or it would keep the lock for as long as it lives.
  K6  A write-through of whole blocks from memory that is aligned to them goes past the system's page cache where the
      file system allows it: nobody reads the log back, so a copy of it in memory is only work.
  K7  Where several processes share a directory, `exclusive` lets one of them at a time do what must not be done by two;
      the system gives the right back when a process ends.
  K8  Requests made `together` are overlapped: while one thread waits for the first, another waits for the second. All
      are over when the call is, however it ends.
  K9  A write-through may be started and waited for later (`start_write_through`), where K6 applies and the kernel
      offers it. It is volatile until `over` says otherwise, whatever has happened to the disk meanwhile; its memory
      stays where it is until then. What is written over while it is under way may or may not be in it.
  K10 An error of the system names the file: whoever reads it in a log looks for the disk.
  K11 A write may be handed over at once (`write_soon`) and made durable later (`sync_written`): its caller works while
      the disk does. It is volatile until then. That the disk begins with it is a hint to the system (these pages are
      not wanted any more), and the sync is handed over behind it (`handed_sync`); where neither is to be had nothing is
      different but the time.
  K12 A file that cannot be extended is as long as it was: a system that has less space than it is asked for may set
      aside all that there is, and nobody else would have any.
  K13 Pages (`write_many`) are written past the system's cache, where the system has a way (Linux 6.14): the disk begins
      with them at once, and their memory serves the next. They were in a buffer pool long enough; the system would keep
      them by the gigabyte, and write them when it likes. They are volatile like any other write.

Called by log_files, page_set, log_stream and the log manager.
The power-cut tests use `FaultyDisk` (quaestor.testing) in its place.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from quaestor.storage.asynchronous_write import Announcement


class InUseError(OSError):
    """Another process owns the directory (K5)."""


Request = Callable[[], object]


def outcome(request: Request) -> OSError | None:
    """What a request failed with, if it did."""
    try:
        request()
    except OSError as error:
        return error
    return None


class Started(Protocol):
    """A write-through that is under way (K9)."""

    def over(self, *, wait: bool) -> bool:
        """Whether it is over, and durable; waits until it is, if asked. Raises what it failed with."""


class File(Protocol):
    """An open file (K1, K2, K4)."""

    name: str

    def read(self, offset: int, size: int) -> bytes: ...

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None: ...

    def write_many(self, offset: int, parts: Sequence[bytes | bytearray | memoryview]) -> None:
        """Write parts one after the other, as one request."""

    def write_through(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """Write and sync these bytes; earlier volatile writes may stay volatile."""

    def start_write_through(self, offset: int, data: memoryview) -> Started | None:
        """Begin a write-through and return (K9); None where it must be waited for."""

    def write_soon(self, offset: int, data: memoryview) -> None:
        """Write, and have the disk begin with it (K11)."""

    def sync_written(self) -> None:
        """Return when what was written soon is durable."""

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

    def rename(self, name: str, to: str) -> None:
        """Give a file another name, in the place of a file that has it (K3)."""

    def together(self, requests: Sequence[Request]) -> list[OSError | None]:
        """Make requests at the same time (K8); gives what each failed with."""

    def announce(self) -> Announcement | None:
        """Says from now on when a write that was started is over; None where none can be (K9)."""

    def own(self) -> None:
        """Take ownership, or raise `InUseError`."""

    def disown(self) -> None: ...


class SharedDisk(Disk, Protocol):
    """A directory that several processes use at once (K7)."""

    def exclusive(self, name: str) -> AbstractContextManager[None]:
        """Alone among all who ask for the same name, threads and processes, while the block runs."""
