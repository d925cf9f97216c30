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
  F5  Archives are kept until somebody prunes them; what restart, a unit, or recovering a page set from its image copy
      may need is never pruned.
  F6  An active log that is damaged where no copy is good is not archived, and not used again while anything may need it
      (F2); the operator is told once (CSQJ124E). The ring goes on until it comes round to that one; then new work is
      refused (J6). Once every page set has an image copy that is newer, and neither restart nor a unit needs the
      range, it is used again without an archive (CSQJ001I).
  F7  An active log that has been archived has one copy more. What no copy has good, or can be read of, is taken from
      the archive, and the operator is told once (CSQJ106E); an archive that is missing or cannot be read has nothing.
  F8  A data set of the ring is written only when the bootstrap data set knows its range, durably. So where the log goes
      on in one that it does not know, it is an older one: nothing starts with it, or all since then would be lost.

Called by log.  Calls disk, bootstrap, archiving.
"""

import errno
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from quaestor.mqi.reasons import Abend
from quaestor.storage.active_log import ActiveLog
from quaestor.storage.archiving import Archiving, DamagedLogError
from quaestor.storage.asynchronous_write import Announcement
from quaestor.storage.bootstrap import Bootstrap, Inventory
from quaestor.storage.disk import Disk, File, Started

CI: Final = 4096
FIRST_RBA: Final = CI
LOG_OR_BOOTSTRAP: Final = re.compile(r"log[12]-\d{2,3}|BSDS[12]")
ARCHIVE: Final = re.compile(r"archive-[0-9a-f]{16}")
"""Names of our files: whatever else is in the directory is somebody's."""


class LogFiles:
    """The active ring and the archives (F1-F8)."""

    def __init__(self, disk: Disk, bootstrap: Bootstrap, *, archive: bool) -> None:
        self._disk, self._bootstrap, self._archive = disk, bootstrap, archive
        self.inventory = bootstrap.inventory
        self.copies = self.inventory.copies
        self.sources = range(2 * self.copies)
        """Where a record may be read: in each copy, then in the archive and, where there is none, in each copy (F7)."""

        self.size = self.inventory.log_bytes
        self.tell: Callable[..., None] = _nobody
        """Says something to the operator: a message identifier, a text, facts."""

        bootstrap.told = self._bootstrap_lost
        self._active = [self._active_log(number) for number in range(len(self.inventory.starts))]
        self._current = max(range(len(self._active)), key=self.inventory.starts.__getitem__)
        self.start = self.inventory.starts[self._current]
        self.only = self._active[self._current].only
        """The file of the current data set, where there is one copy of it."""

        self._ready = False
        self.needed_rba: Callable[[], int] = lambda: 0
        self.archived_cis = 0
        self.archives_made = 0
        self._archiving: Archiving | None = None
        self._damaged: dict[int, DamagedLogError] = {}
        self._told_damaged: set[int] = set()

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
                disk.create(_name(copy, number), log_bytes).close()
        inventory = Inventory(log_bytes, copies, [first_rba] + [-1] * (logs - 1), page_sets=list(page_sets))
        return cls(disk, Bootstrap.create(disk, inventory, dual=dual), archive=archive)

    @classmethod
    def open(cls, disk: Disk, *, archive: bool = False) -> "LogFiles":
        return cls(disk, Bootstrap.open(disk), archive=archive)

    def save(self) -> None:
        """Make the inventory durable."""
        self._bootstrap.save()

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
        while len(data):
            number = self._number_of(rba)
            at = rba - self.inventory.starts[number]
            part = data[: self.size - at]
            self._active[number].write(at, part)  # F4
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

    def repair(self, rba: int, data: memoryview) -> None:
        """Write bytes that one copy lacks to both, where they are in active logs."""
        if rba >= self.oldest_active():
            self.write(rba, data)

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

    def read_from_archive(self, rba: int) -> None:
        """No copy of an active log has this good: the operator knows that its archive has (F7)."""
        number = next((n for n, start in enumerate(self.inventory.starts) if 0 <= start <= rba < start + self.size), -1)
        if number >= 0 and self.inventory.starts[number] not in self._told_damaged:
            self._told_damaged.add(self.inventory.starts[number])
            text = "a log is damaged or cannot be read: its archive is read in its place"
            self.tell("CSQJ106E", text, log=_name(0, number), rba=f"{rba:012X}")

    def holds(self, rba: int) -> bool:
        """Whether a copy or an archive has the byte at an RBA."""
        return any(self.read(rba, 1, source)[0] for source in self.sources)

    def oldest_active(self) -> int:
        """The first RBA that the active logs hold."""
        return min(start for start in self.inventory.starts if start >= 0)

    def prunable(self) -> list[str]:
        """Archives that nobody needs (F5)."""
        needed = min(self.needed_rba(), self.inventory.media_rba())
        return [name for _, end, name in self.inventory.archives if end <= needed]

    def prune(self) -> list[str]:
        """Delete the archives that nobody needs; the inventory forgets them first (F5)."""
        names = self.prunable()
        self.inventory.archives = [entry for entry in self.inventory.archives if entry[2] not in names]
        self.save()
        for name in names:
            if self._disk.exists(name):
                self._disk.delete(name)
        return names

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

    def _is_kept(self, start: int) -> bool:
        """Whether an active log goes on as an archive when it is used again (F2)."""
        return self._archive or start + self.size > self.needed_rba()

    def archives_next(self) -> bool:
        """Whether the next data set of the ring can be made ready only by making an archive of it."""
        start = self.inventory.starts[(self._current + 1) % len(self._active)]
        return not self._ready and start >= 0 and self._is_kept(start) and start not in self._archived()

    def _keep(self, number: int) -> None:
        """Archive an active log before it is used again; one that is damaged may go when nobody needs it (F6)."""
        try:
            self.offload(number)
        except DamagedLogError as error:
            start = self.inventory.starts[number]
            if not self._archive or start + self.size > min(self.needed_rba(), self.inventory.media_rba()):
                raise
            text = "a damaged log that nobody needs any more is used again: there is no archive of it"
            self.tell("CSQJ001I", text, log=_name(0, number), rba=f"{error.rba:012X}")
            del self._damaged[start]

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

    def offload(self, number: int) -> None:
        """Copy an active log to an archive, unless that was done; raises what it failed with (F6)."""
        start = self.inventory.starts[number]
        if start in self._damaged:
            raise self._damaged[start]
        if start not in self._archived():
            while self._offload_piece(number):
                pass

    def offload_step(self) -> bool:
        """A piece of the archive of the oldest full active log that has none; False when there is nothing to do."""
        if not self._archive:
            return False
        due = self._not_archived() - self._damaged.keys()
        if not due:
            return False
        more = self._offload_piece(self.inventory.starts.index(min(due)))
        return more or len(due) > 1

    def _offload_piece(self, number: int) -> bool:
        """One piece of an archive; False when it is complete, and known durably (AR3)."""
        start, making = self.inventory.starts[number], self._archiving
        try:
            if making is None or making.start != start:
                self._archiving = making = self._begin_archive(start)
            if making.piece():
                return True
        except OSError as error:
            self._offload_failed(number, error)
            raise
        self._archiving = None
        self.inventory.archives.append((start, making.end, making.name))
        self.archived_cis += self.size // CI
        self.archives_made += 1
        self.save()
        if making.from_other_copy:
            text = "records of a log are damaged: its archive has them from the other copy"
            rba, records = making.from_other_copy[0], len(making.from_other_copy)
            self.tell("CSQJ106E", text, log=_name(0, number), first_rba=f"{rba:012X}", records=records)
        return False

    def _begin_archive(self, start: int) -> Archiving:
        if not self._bootstrap.has_room():
            raise OSError(errno.ENOSPC, "the bootstrap data set is full of archives; prune them (S4)")
        return Archiving(self._disk, f"archive-{start:016x}", start, self.size, self.sources, self._held)

    def _offload_failed(self, number: int, error: OSError) -> None:
        if self._archiving is not None:
            self._archiving.give_up()
            self._archiving = None
        if isinstance(error, DamagedLogError):
            self._damaged[self.inventory.starts[number]] = error
            remedy = "take an image copy of every page set" if self._archive else "end the units that need it"
            text = f"a log is damaged and not archived: it is kept until nobody needs it; {remedy}"
            self.tell("CSQJ124E", text, log=_name(0, number), rba=f"{error.rba:012X}")

    def _held(self, rba: int, size: int, source: int) -> bytes:
        """Log bytes of a source, over the borders of data sets; fewer where it has no more or cannot be read (AR1)."""
        parts = []
        with suppress(OSError, Abend):
            while size and (part := self.read(rba, size, source)[0]):
                parts.append(part)
                rba, size = rba + len(part), size - len(part)
        return b"".join(parts)

    def _archived(self) -> set[int]:
        return {first for first, _, _ in self.inventory.archives}

    def _not_archived(self) -> set[int]:
        """Starts of full active logs without an archive."""
        return {start for start in self.inventory.starts if 0 <= start < self.start} - self._archived()

    @property
    def archives(self) -> bool:
        """Whether full active logs are archived."""
        return self._archive

    def current_name(self, copy: int) -> str:
        """The active log that is being written."""
        return _name(copy, self._current)

    def not_archived(self) -> int:
        """How many full active logs have no archive."""
        return len(self._not_archived())

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

    def _read_archive(self, name: str, at: int, size: int) -> bytes:
        if not self._disk.exists(name):
            raise Abend("F2", "an archive that restart needs is missing; put it back", archive=name)
        archive = self._disk.open(name)
        try:
            return archive.read(at, size)
        finally:
            archive.close()

    def _archived_bytes(self, rba: int, size: int) -> bytes:
        """What the archive of an active log has, if there is one and it can be read (F7)."""
        for start, end, name in self.inventory.archives:
            if start <= rba < end:
                with suppress(OSError, Abend):
                    return self._read_archive(name, rba - start, min(size, end - rba))
        return b""

    def _drop_archives(self) -> None:
        """Where archives are not kept, those that nothing needs any more go (F2)."""
        if self._archive:
            return
        needed = self.needed_rba()
        for entry in [entry for entry in self.inventory.archives if entry[1] <= needed]:
            self.inventory.archives.remove(entry)
            if self._disk.exists(entry[2]):
                self._disk.delete(entry[2])

    def _active_log(self, number: int) -> ActiveLog:
        files = [self._open(copy, number) for copy in range(self.copies)]
        stopped = [copy for active, copy in self.inventory.stopped if active == number]
        return ActiveLog(self._disk, files, stopped, partial(self._copy_stopped, number))

    def _copy_stopped(self, number: int, copy: int, error: OSError) -> None:
        """A copy of an active log is not used any more: known durably before anything is confirmed without it (F4)."""
        self.inventory.stopped.append((number, copy))
        self.save()
        text = "a log could not be written: its other copy alone is used"
        self.tell("CSQJ105E", text, log=_name(copy, number), error=str(error))

    def _use_again(self, number: int) -> None:
        """Another range begins in an active log: both copies are used (F4)."""
        for copy in self._active[number].use_again():
            self.tell("CSQJ001I", "both copies of the log are written again", log=_name(copy, number))
        self.inventory.stopped = [entry for entry in self.inventory.stopped if entry[0] != number]

    def _open(self, copy: int, number: int) -> File:
        name = _name(copy, number)
        if not self._disk.exists(name):
            raise Abend("F1", "an active log data set is missing; put it back or copy its twin", log=name)
        file = self._disk.open(name)
        if file.size() < self.size:
            text = "an active log data set is too short; put it back or copy its twin"
            raise Abend("F1", text, log=name, bytes=file.size(), expected=self.size)
        return file


def _nobody(_identifier: str, _text: str, **_facts: object) -> None:
    """Told where there is no operator."""


def _name(copy: int, number: int) -> str:
    return f"log{copy + 1}-{number + 1:02d}"
