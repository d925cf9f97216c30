"""Active log: one data set of the ring in its one or two copies.

Rules
  AL1 With two copies every write and sync goes to both, overlapped where the disk can: the second costs no second wait.
  AL2 A copy that could not be written is stopped: what it holds may have a hole. The bootstrap data set knows of it
      before anything that was written without it is confirmed. Until another range begins in the data set it is neither
      written nor read: the log goes on with the other copy.
  AL3 When no copy can be written the error is the caller's: nothing is confirmed any more (J5).
  AL4 A write that is started is started on every good copy, and over when it is over on all of them; AL2 and AL3 are
      judged then. A copy that cannot start one while the first has is written at once.
  AL5 A copy that cannot be read has nothing good there, if another can be read. Where none can, less is read, as far as
      a block: each may be damaged at another place. Where no copy of a block can be, the error is the caller's: it is
      no end of the log.
  AL6 What one copy has not good is written to it in whole blocks, because a disk takes no part of one that it cannot
      read. What stands around it there is the copy's own or, where that cannot be read, the other's.

Called by log_files.  Calls disk.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from quaestor.storage.disk import Disk, File, Started, outcome

BLOCK: Final = 4096
"""What a disk reads as a whole."""

Stopped = Callable[[int, OSError], None]
"""Told of a copy that is stopped, before anything is confirmed without it."""


class ActiveLog:
    """One active log (AL1-AL6)."""

    def __init__(self, disk: Disk, files: list[File], stopped: list[int], told: Stopped) -> None:
        self._disk, self._files, self._told = disk, files, told
        self._good = [copy for copy in range(len(files)) if copy not in stopped]
        self.only = files[0] if len(files) == 1 else None
        """Its file, where there is one copy."""

        self.write_through: Callable[[int, memoryview], None] = (
            self._write_through_each if self.only is None else self.only.write_through
        )
        """Write bytes at an offset, durably."""

    def write(self, at: int, data: memoryview) -> None:
        self._each(lambda file: file.write(at, data))

    def _write_through_each(self, at: int, data: memoryview) -> None:
        self._each(lambda file: file.write_through(at, data))

    def start_write_through(self, at: int, data: memoryview) -> Started | None:
        """Begin a write-through to every good copy; None where it must be waited for (AL4)."""
        if self.only is not None:
            return self.only.start_write_through(at, data)
        under_way: dict[int, Started] = {}
        failed: dict[int, OSError] = {}
        for copy in self._good:
            file = self._files[copy]
            try:
                started = file.start_write_through(at, data)
            except OSError as error:
                failed[copy] = error
                continue
            if started is not None:
                under_way[copy] = started
                continue
            if not under_way and not failed:
                return None
            refused = outcome(partial(file.write_through, at, data))
            if refused is not None:
                failed[copy] = refused
        return StartedOnCopies(self, under_way, failed)

    def sync(self) -> None:
        self._each(lambda file: file.sync())

    def read(self, at: int, size: int, copy: int = 0) -> bytes:
        """From a copy, or from the other when that one is stopped (AL2); less of it where none has all (AL5)."""
        try:
            return self._read(at, size, copy)
        except OSError:
            less = (at + size // 2) // BLOCK * BLOCK - at
            least = BLOCK - at % BLOCK
            if size <= least:
                raise
        return self.read(at, max(less, least), copy)

    def _read(self, at: int, size: int, copy: int) -> bytes:
        good = self._good
        asked = copy if copy in good else good[0]
        try:
            return self._files[asked].read(at, size)
        except OSError:
            others = [self._files[other] for other in good if other != asked]
            if all(outcome(partial(file.read, at, size)) is not None for file in others):
                raise
            return b""

    def mend(self, at: int, data: memoryview, copy: int) -> None:
        """Have one copy say this, unless it is stopped (AL6)."""
        if copy in self._good:
            begin, end = at - at % BLOCK, at + len(data)
            last = end - end % BLOCK
            before, behind = self._around(begin, copy)[: at - begin], b""
            if last < end:
                behind = self._around(last, copy)[end - last :]
            error = outcome(partial(self._files[copy].write, begin, before + bytes(data) + behind))
            self.judge({} if error is None else {copy: error})

    def _around(self, at: int, copy: int) -> bytes:
        """A block as a copy has it or, where that cannot be read, as the other has it."""
        return self._read(at, BLOCK, copy) or self._read(at, BLOCK, 1 - copy)

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
        self.judge({copy: error for copy, error in zip(good, errors, strict=True) if error is not None})

    def judge(self, failed: dict[int, OSError]) -> None:
        """Copies that could not be written are stopped, unless none is left (AL2, AL3)."""
        if not failed:
            return
        good = self._good
        if len(failed) == len(good):
            raise failed[good[0]]  # AL3
        self._good = [copy for copy in good if copy not in failed]
        for copy, error in failed.items():
            self._told(copy, error)


class StartedOnCopies:
    """A write-through that is under way on several copies (AL4)."""

    def __init__(self, log: ActiveLog, under_way: dict[int, Started], failed: dict[int, OSError]) -> None:
        self._log, self._under_way, self._failed = log, under_way, failed

    def over(self, *, wait: bool) -> bool:
        for copy, started in list(self._under_way.items()):
            try:
                if not started.over(wait=wait):
                    return False
            except OSError as error:
                self._failed[copy] = error
            del self._under_way[copy]
        self._log.judge(self._failed)
        return True
