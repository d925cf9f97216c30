"""Log archives: full active logs are kept as archives, read where no active log is good, and pruned.

Rules
  F5  Archives are kept until somebody prunes them; what restart, a unit, or recovering a page set from its image copy
      may need is never pruned.
  F6  An active log that is damaged where no copy is good is not archived, and not used again while anything may need it
      (F2); the operator is told once (CSQJ124E). The ring goes on until it comes round to that one; then new work is
      refused (J6). Once every page set has an image copy that is newer, and neither restart nor a unit needs the
      range, it is used again without an archive (CSQJ001I).
  F7  An active log that has been archived has one copy more. What no copy has good, or can be read of, is taken from
      the archive, and the operator is told once (CSQJ106E); an archive that is missing or cannot be read has nothing.

Called by log_files, whose `LogFiles` is one of these, and through it by log and the command that prunes.  Calls disk,
bootstrap, archiving.
"""

import errno
from collections.abc import Callable
from contextlib import suppress

from quaestor.mqi.reasons import Abend
from quaestor.storage.archiving import Archiving, DamagedLogError, Read
from quaestor.storage.bootstrap import Bootstrap
from quaestor.storage.disk import Disk


class LogArchives:
    """The archives of a log, and what is known of its active logs (F5-F7)."""

    def __init__(self, disk: Disk, bootstrap: Bootstrap, held: Read, *, archive: bool) -> None:
        self._disk, self._bootstrap, self._archive = disk, bootstrap, archive
        self._held_bytes = held
        self.inventory = bootstrap.inventory
        self.copies = self.inventory.copies
        self.sources = range(2 * self.copies)
        """Where a record may be read: in each copy, then in the archive and, where there is none, in each copy (F7)."""

        self.size = self.inventory.log_bytes
        self.start = max(self.inventory.starts)
        """The RBA at which the active log begins that is being written."""

        self.tell: Callable[..., None] = _nobody
        """Says something to the operator: a message identifier, a text, facts."""

        self.needed_rba: Callable[[], int] = lambda: 0
        self.archives_made = 0
        self._archiving: Archiving | None = None
        self._damaged: dict[int, DamagedLogError] = {}
        self._told_damaged: set[int] = set()

    def save(self) -> None:
        """Make the inventory durable."""
        self._bootstrap.save()

    @property
    def archives(self) -> bool:
        """Whether full active logs are archived."""
        return self._archive

    def not_archived(self) -> int:
        """How many full active logs have no archive."""
        return len(self._not_archived())

    def _archived(self) -> set[int]:
        return {first for first, _, _ in self.inventory.archives}

    def _not_archived(self) -> set[int]:
        """Starts of full active logs without an archive."""
        return {start for start in self.inventory.starts if 0 <= start < self.start} - self._archived()

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
        self.archives_made += 1
        self.save()
        if making.from_other_copy:
            text = "records of a log are damaged: its archive has them from the other copy"
            rba, records = making.from_other_copy[0], len(making.from_other_copy)
            self.tell("CSQJ106E", text, log=log_name(0, number), first_rba=f"{rba:012X}", records=records)
        return False

    def _begin_archive(self, start: int) -> Archiving:
        if not self._bootstrap.has_room():
            raise OSError(errno.ENOSPC, "the bootstrap data set is full of archives; prune them (S4)")
        return Archiving(self._disk, f"archive-{start:016x}", start, self.size, self.sources, self._held_bytes)

    def _offload_failed(self, number: int, error: OSError) -> None:
        if self._archiving is not None:
            self._archiving.give_up()
            self._archiving = None
        if isinstance(error, DamagedLogError):
            self._damaged[self.inventory.starts[number]] = error
            remedy = "take an image copy of every page set" if self._archive else "end the units that need it"
            text = f"a log is damaged and not archived: it is kept until nobody needs it; {remedy}"
            self.tell("CSQJ124E", text, log=log_name(0, number), rba=f"{error.rba:012X}")

    def _keep(self, number: int) -> None:
        """Archive an active log before it is used again; one that is damaged may go when nobody needs it (F6)."""
        try:
            self.offload(number)
        except DamagedLogError as error:
            start = self.inventory.starts[number]
            if not self._archive or start + self.size > min(self.needed_rba(), self.inventory.media_rba()):
                raise
            text = "a damaged log that nobody needs any more is used again: there is no archive of it"
            self.tell("CSQJ001I", text, log=log_name(0, number), rba=f"{error.rba:012X}")
            del self._damaged[start]

    def _is_kept(self, start: int) -> bool:
        """Whether an active log goes on as an archive when it is used again (F2)."""
        return self._archive or start + self.size > self.needed_rba()

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

    def _drop_archives(self) -> None:
        """Where archives are not kept, those that nothing needs any more go (F2)."""
        if self._archive:
            return
        needed = self.needed_rba()
        for entry in [entry for entry in self.inventory.archives if entry[1] <= needed]:
            self.inventory.archives.remove(entry)
            if self._disk.exists(entry[2]):
                self._disk.delete(entry[2])

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

    def read_from_archive(self, rba: int) -> None:
        """No copy of an active log has this good: the operator knows that its archive has (F7)."""
        number = next((n for n, start in enumerate(self.inventory.starts) if 0 <= start <= rba < start + self.size), -1)
        if number >= 0 and self.inventory.starts[number] not in self._told_damaged:
            self._told_damaged.add(self.inventory.starts[number])
            text = "a log is damaged or cannot be read: its archive is read in its place"
            self.tell("CSQJ106E", text, log=log_name(0, number), rba=f"{rba:012X}")


def _nobody(_identifier: str, _text: str, **_facts: object) -> None:
    """Told where there is no operator."""


def log_name(copy: int, number: int) -> str:
    """The data set of a copy of an active log."""
    return f"log{copy + 1}-{number + 1:02d}"
