"""Active log: one data set of the ring in its one or two copies.

Rules
  AL1 With two copies every write and sync goes to both, overlapped where the disk can: the second costs no second wait.
  AL2 A copy that could not be written is stopped: what it holds may have a hole. The bootstrap data set knows of it
      before anything that was written without it is confirmed. Until another range begins in the data set it is neither
      written nor read: the log goes on with the other copy.
  AL3 When no copy can be written the error is the caller's: nothing is confirmed any more (J5).

Called by log_files.  Calls disk.
"""

from collections.abc import Callable
from functools import partial

from quaestor.storage.disk import Disk, File

Stopped = Callable[[int, OSError], None]
"""Told of a copy that is stopped, before anything is confirmed without it."""


class ActiveLog:
    """One active log (AL1-AL3)."""

    def __init__(self, disk: Disk, files: list[File], stopped: list[int], told: Stopped) -> None:
        self._disk, self._files, self._told = disk, files, told
        self._good = [copy for copy in range(len(files)) if copy not in stopped]
        self._only = files[0] if len(files) == 1 else None

    def write(self, at: int, data: memoryview) -> None:
        self._each(lambda file: file.write(at, data))

    def write_through(self, at: int, data: memoryview) -> None:
        if self._only is not None:
            self._only.write_through(at, data)
        else:
            self._each(lambda file: file.write_through(at, data))

    def sync(self) -> None:
        self._each(lambda file: file.sync())

    def read(self, at: int, size: int, copy: int = 0) -> bytes:
        """From a copy, or from the other when that one is stopped (AL2)."""
        return self._files[copy if copy in self._good else self._good[0]].read(at, size)

    def use_again(self) -> list[int]:
        """Another range begins: copies that were stopped are tried again; gives them (AL2)."""
        again = [copy for copy in range(len(self._files)) if copy not in self._good]
        self._good = list(range(len(self._files)))
        return again

    def close(self) -> None:
        for file in self._files:
            file.close()

    def _each(self, request: Callable[[File], None]) -> None:
        """The same request to every copy that is good (AL1)."""
        good = self._good
        errors = self._disk.together([partial(request, self._files[copy]) for copy in good])
        failed = {copy: error for copy, error in zip(good, errors, strict=True) if error is not None}
        if not failed:
            return
        if len(failed) == len(good):
            raise failed[good[0]]  # AL3
        self._good = [copy for copy in good if copy not in failed]
        for copy, error in failed.items():
            self._told(copy, error)
