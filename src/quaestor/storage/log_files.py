"""Log data sets: a ring of active logs, the archives behind it, and the bytes of any RBA that still exist.

Rules
  F1  The log is one long byte address space. An active log holds a range of it as long as the data set; the next
      range goes to the next data set of the ring. Data sets are formatted when they are made and then only
      overwritten, so forcing the log changes no file metadata.
  F2  An active log is used again only when its range is archived, or nothing needs it (`needed_rba`): neither
      restart, nor a unit that may be backed out, nor media recovery where archives are kept.
  F3  The next data set of the ring is made ready soon after the current one is entered, so that the end of the
      current one is never a surprise: `limit` is the RBA up to which the ring can be written now. One that only a
      checkpoint keeps from being ready may wait for it (J14).
  F4  With two copies every write goes to both; a read takes the copy that is good. When one cannot be written the log
      goes on with the other, and the operator is told (CSQJ105E); the next data set of the ring has two again.
  F8  A data set of the ring is written only when the bootstrap data set knows its range, durably. So where the log goes
      on in one that it does not know, it is an older one: nothing starts with it, or all since then would be lost.

F5 to F7 are of `log_archives`.

Called by log.  Calls disk, bootstrap, active_log, log_archives.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Final

from quaestor.mqi.reasons import Abend
from quaestor.storage.active_log import ActiveLog
from quaestor.storage.asynchronous_write import Announcement
from quaestor.storage.bootstrap import Bootstrap, Inventory
from quaestor.storage.disk import Disk, File, Started
from quaestor.storage.log_archives import LogArchives, log_name

CI: Final = 4096
FIRST_RBA: Final = CI
LOG_OR_BOOTSTRAP: Final = re.compile(r"log[12]-\d{2,3}|BSDS[12]")
ARCHIVE: Final = re.compile(r"archive-[0-9a-f]{16}")
"""Names of our files: whatever else is in the directory is somebody's."""


class LogFiles(LogArchives):
    """The active ring, and the archives behind it (F1-F4, F8)."""

    def __init__(self, disk: Disk, bootstrap: Bootstrap, *, archive: bool) -> None:
        super().__init__(disk, bootstrap, self._held, archive=archive)
        bootstrap.told = self._bootstrap_lost
        with ExitStack() as opened:  # of a log that is not there as a whole, no file stays open
            opened.callback(bootstrap.close)
            self._active = [self._active_log(number, opened) for number in range(len(self.inventory.starts))]
            opened.pop_all()
        self._current = self.inventory.starts.index(self.start)
        self.only = self._active[self._current].only
        """The file of the current data set, where there is one copy of it."""

        self._ready = False

    @classmethod
    def create(
        cls,
        disk: Disk,
        *,
        logs: int = 4,
        log_bytes: int = 16 << 20,
        dual: bool = False,
        archive: bool = False,
        first_rba: int = FIRST_RBA,
        page_sets: Sequence[int] = (),
    ) -> "LogFiles":
        """Format a ring of `logs` active logs and a bootstrap data set; what a cut run left is removed first.

        A cold start goes on above every RBA there is on its page sets.
        """
        copies = 2 if dual else 1
        for name in disk.names():
            if LOG_OR_BOOTSTRAP.fullmatch(name):
                disk.delete(name)
        for number in range(logs):
            for copy in range(copies):
                disk.create(log_name(copy, number), log_bytes).close()
        starts, since = [first_rba] + [-1] * (logs - 1), dict.fromkeys(map(str, page_sets), first_rba)
        inventory = Inventory(log_bytes, copies, starts, page_sets=list(page_sets), since=since)
        return cls(disk, Bootstrap.create(disk, inventory, dual=dual), archive=archive)

    @classmethod
    def open(cls, disk: Disk, *, archive: bool = False) -> "LogFiles":
        return cls(disk, Bootstrap.open(disk), archive=archive)

    def make_bootstrap_good(self) -> None:
        """At start: copies of the bootstrap data set that are not good will be (S3)."""
        self._bootstrap.make_good(self.tell)

    def recover_bootstrap(self) -> str:
        """Have two copies of the bootstrap data set again; gives the good one, nothing where none is lost (S5)."""
        return self._bootstrap.recover()

    def _bootstrap_lost(self, name: str, error: OSError) -> None:
        text = "a copy of the bootstrap data set could not be written: the other is used alone; RECOVER BSDS or restart"
        self.tell("CSQJ126E", text, copy=name, error=str(error))

    def saving(self) -> Callable[[], None]:
        """The inventory as it is now, to be made durable by the caller."""
        return self._bootstrap.saving()

    def write(self, rba: int, data: memoryview) -> None:
        """Write log bytes; volatile until `sync`."""
        for number, at, part in self._parts(rba, data):
            self._active[number].write(at, part)  # F4

    def _parts(self, rba: int, data: memoryview) -> Iterator[tuple[int, int, memoryview]]:
        """Log bytes by active log: its number, where they stand in it, and those of them that do."""
        while len(data):
            number = self._number_of(rba)
            at = rba - self.inventory.starts[number]
            part = data[: self.size - at]
            yield number, at, part
            rba, data = rba + len(part), data[len(part) :]

    def write_through(self, rba: int, data: memoryview) -> None:
        """Write log bytes of the current data set, durably."""
        self._active[self._current].write_through(rba - self.start, data)  # F4

    def start_write_through(self, rba: int, data: memoryview) -> Started | None:
        """Begin to write log bytes of the current data set durably; None where that must be waited for (AL4)."""
        return self._active[self._current].start_write_through(rba - self.start, data)

    def announce(self) -> Announcement | None:
        """Says from now on when a write that was started is over, if any can be."""
        return self._disk.announce()

    def repair(self, rba: int, data: memoryview, copy: int) -> None:
        """Write bytes that a copy lacks to it, as far as they are in active logs (AL6)."""
        archived = max(self.oldest_active() - rba, 0)
        for number, at, part in self._parts(rba + archived, data[archived:]):
            self._active[number].mend(at, part, copy)

    def sync(self, since: int = 0) -> None:
        """Make durable what was written at or after RBA `since`."""
        for active, start in zip(self._active, self.inventory.starts, strict=True):
            if start >= 0 and start + self.size > since:
                active.sync()

    def read(self, rba: int, size: int, source: int = 0) -> tuple[bytes, bool]:
        """Up to `size` bytes from one data set, and whether they came from an archive; no bytes if nothing has them."""
        for active, start in zip(self._active, self.inventory.starts, strict=True):
            if 0 <= start <= rba < start + self.size:
                archived = self._archived_bytes(rba, size) if source >= self.copies else b""
                if archived:
                    return archived, True
                try:
                    return active.read(rba - start, min(size, start + self.size - rba), source % self.copies), False
                except OSError:
                    archived = self._archived_bytes(rba, size)
                    if not archived:
                        raise
                    self.read_from_archive(rba)
                    return archived, True
        for start, end, name in self.inventory.archives:
            if start <= rba < end:
                return self._read_archive(name, rba - start, min(size, end - rba)), True
        return b"", False

    def read_unknown(self, rba: int, size: int, copy: int) -> bytes:
        """Bytes of the data set after the current one, as if the log had gone on there (F8)."""
        at = rba - self.start - self.size
        with suppress(OSError):
            return self._active[(self._current + 1) % len(self._active)].read(at, size, copy) if at >= 0 else b""
        return b""

    def holds(self, rba: int) -> bool:
        """Whether a copy or an archive has the byte at an RBA."""
        return any(self.read(rba, 1, source)[0] for source in self.sources)

    def oldest_active(self) -> int:
        """The first RBA that the active logs hold."""
        return min(start for start in self.inventory.starts if start >= 0)

    @property
    def limit(self) -> int:
        """The RBA up to which the ring can be written now (F3)."""
        return self.start + (2 if self._ready else 1) * self.size

    def make_ready(self) -> None:
        """See that the next data set of the ring may be used again: archive it if anything may need it (F2)."""
        if self._ready:
            return
        number = (self._current + 1) % len(self._active)
        start = self.inventory.starts[number]
        if start >= 0:
            if self._is_kept(start):
                self._keep(number)
            self.inventory.starts[number] = -1
            self._drop_archives()
        self._ready = True

    def archives_next(self) -> bool:
        """Whether the next data set of the ring can be made ready only by making an archive of it."""
        start = self.inventory.starts[(self._current + 1) % len(self._active)]
        return not self._ready and start >= 0 and self._is_kept(start) and start not in self._archived()

    def awaits_checkpoint(self) -> bool:
        """Whether the next data set of the ring would have to be copied, unless a checkpoint comes before (F2)."""
        return not self._archive and not self._ready and self.next_end() > self.needed_rba()

    def next_end(self) -> int:
        """The RBA after the range of the active log that is to be used again next; 0 when it holds nothing."""
        return self._end_of(self._current + 1)

    def spare_end(self) -> int:
        """The RBA before which nothing should be needed any more, so that the next switch finds a log to make ready.

        That is the end of the one to be used again next, and of the one after it if that is a whole log back.
        """
        return max(self.next_end(), min(self._end_of(self._current + 2), self.start - self.size))

    def _end_of(self, number: int) -> int:
        start = self.inventory.starts[number % len(self._active)]
        return start + self.size if start >= 0 else 0

    def switch(self) -> None:
        """Enter the next data set of the ring."""
        self.make_ready()
        self._current = (self._current + 1) % len(self._active)
        self.only = self._active[self._current].only
        self.start += self.size
        self.inventory.starts[self._current] = self.start
        self._ready = False
        self._use_again(self._current)
        self.save()

    def _held(self, rba: int, size: int, source: int) -> bytes:
        """Log bytes of a source, over the borders of data sets; fewer where it has no more or cannot be read (AR1)."""
        parts = []
        with suppress(OSError, Abend):
            while size and (part := self.read(rba, size, source)[0]):
                parts.append(part)
                rba, size = rba + len(part), size - len(part)
        return b"".join(parts)

    @property
    def archived_cis(self) -> int:
        """Control intervals that have been archived: an archive is as long as an active log."""
        return self.archives_made * (self.size // CI)

    def current_name(self, copy: int) -> str:
        """The active log that is being written."""
        return log_name(copy, self._current)

    def close(self) -> None:
        for active in self._active:
            active.close()
        self._bootstrap.close()

    def _number_of(self, rba: int) -> int:
        if rba >= self.start:
            return self._current
        for number, start in enumerate(self.inventory.starts):
            if 0 <= start <= rba < start + self.size:
                return number
        raise Abend("F1", "no active log holds this RBA", rba=rba)

    def _active_log(self, number: int, opened: ExitStack) -> ActiveLog:
        files = [self._open(copy, number, opened) for copy in range(self.copies)]
        stopped = [copy for active, copy in self.inventory.stopped if active == number]
        return ActiveLog(self._disk, files, stopped, partial(self._copy_stopped, number))

    def _copy_stopped(self, number: int, copy: int, error: OSError) -> None:
        """A copy of an active log is not used any more: known durably before anything is confirmed without it (F4)."""
        self.inventory.stopped.append((number, copy))
        self.save()
        text = "a log could not be written: its other copy alone is used"
        self.tell("CSQJ105E", text, log=log_name(copy, number), error=str(error))

    def _use_again(self, number: int) -> None:
        """Another range begins in an active log: both copies are used (F4)."""
        for copy in self._active[number].use_again():
            self.tell("CSQJ001I", "both copies of the log are written again", log=log_name(copy, number))
        self.inventory.stopped = [entry for entry in self.inventory.stopped if entry[0] != number]

    def _open(self, copy: int, number: int, opened: ExitStack) -> File:
        name = log_name(copy, number)
        if not self._disk.exists(name):
            raise Abend("F1", "an active log data set is missing; put it back or copy its twin", log=name)
        file = self._disk.open(name)
        opened.callback(file.close)
        if file.size() < self.size:
            text = "an active log data set is too short; put it back or copy its twin"
            raise Abend("F1", text, log=name, bytes=file.size(), expected=self.size)
        return file
