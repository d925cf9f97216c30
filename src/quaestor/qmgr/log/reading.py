"""Reading the log back: one record to undo it, or all of them from an RBA on.

Rules
  LR1 A record is taken from the first copy that has it good (L1); a copy that cannot be read has it not (AL5). Where no
      copy has, the archive of the log has it, if there is one (F7).
  LR2 A scan ends at the first record that is nowhere good (L2). One that cannot be read is no end: the RBA is told, and
      what helps. What is behind the end need not be readable, however long what is left there claims to be: it has
      another RBA. One that only a second copy has is put right in the first, unless nothing may be written; one that
      only an archive has stays as it is, for the log is used again soon.
  LR3 What a restart has read becomes the log, so both copies have it before that goes on: either may be stopped with
      the next write (AL2), and the other alone must do.
  LR4 What stands in front of that in the last CI was not read. If the copies have it differently, one of them may have
      it alone. That CI would be written with what the first copy has (J8): the log goes on behind it instead. A copy of
      which it cannot be read has nothing there, and is made good.

Called by the log manager.  Calls log_files.
"""

from collections.abc import Iterator

from quaestor.mqi.reasons import Abend, said
from quaestor.smf.sections.log import LogStatistics
from quaestor.storage.log_files import LogFiles
from quaestor.storage.log_record import CLAIM_LENGTH, HEADER_LENGTH, LogRecord, claimed_length, parse, record_length

SCAN_BYTES = 1 << 20
UNREADABLE = (
    "the log cannot be read here, and it may go on; put a copy of what can be read of the data set in its place, with "
    "zeros for the rest: the log ends there, if that can be; as a last resort give it up: quaestor log cold-start"
)


class LogReader:
    """The log as its data sets have it (LR1-LR4)."""

    def __init__(self, files: LogFiles, stats: LogStatistics) -> None:
        self._files, self._stats = files, stats

    def record(self, rba: int) -> LogRecord | None:
        """The record at an RBA, from the first source that has it (LR1)."""
        _, archived = self._files.read(rba, 1)
        if archived:
            self._stats.reads_from_archive += 1
        else:
            self._stats.reads_from_active += 1
        return self._good(rba, 0)

    def scan(self, rba: int, end: int, *, repair: bool) -> Iterator[LogRecord]:
        """Every good record from `rba` on, to an RBA or to the end of the log (LR2)."""
        epoch, start, chunk = 0, rba, b""
        while rba < end:
            at = rba - start
            length = record_length(chunk[at : at + 8])
            if at + max(length, HEADER_LENGTH) > len(chunk):
                start, at = rba, 0
                chunk = self._ahead(rba)
                length = record_length(chunk[:8])
            record = parse(chunk[at : at + length], rba, epoch) if length and at + length <= len(chunk) else None
            if record is None:
                record = self._good(rba, epoch, repair=repair)
                if record is None:
                    return
            epoch = record.epoch
            yield record
            rba = record.end

    def _ahead(self, rba: int) -> bytes:
        """What can be read at once from an RBA on; nothing where that fails: maybe behind the end of the log (LR2)."""
        try:
            return self._files.read(rba, SCAN_BYTES)[0]
        except OSError:
            return b""

    def _good(self, rba: int, epoch: int, *, repair: bool = False) -> LogRecord | None:
        """The record as the first source that has it good has it (LR1, LR2)."""
        files = self._files
        for source in files.sources:
            raw = self._raw(rba, source)
            record = parse(raw, rba, epoch) if raw else None
            if record is not None:
                if source >= files.copies:
                    files.read_from_archive(rba)
                elif repair and source:
                    files.repair(rba, memoryview(raw), 0)
                return record
        return None

    def make_alike(self, rba: int, end: int) -> None:
        """Have the second copy say what the first does, from one RBA to another (LR3)."""
        while self._files.copies > 1 and rba < end:
            size = min(SCAN_BYTES, end - rba)
            first = self.raw(rba, size)
            if first != self.raw(rba, size, 1):
                self._files.repair(rba, memoryview(first), 1)
            rba += size

    def make_readable(self, rba: int, size: int) -> None:
        """Have a copy that cannot be read there say what the other does (LR4)."""
        for copy in range(self._files.copies):
            found = self.raw(rba, size, 1 - copy)
            if len(self.raw(rba, size, copy)) < len(found):
                self._files.repair(rba, memoryview(found), copy)

    def _raw(self, rba: int, source: int) -> bytes:
        """As many bytes as the record at an RBA claims to have; none where there is no header of it (LR2)."""
        length = claimed_length(self.raw(rba, CLAIM_LENGTH, source), rba)
        raw = self.raw(rba, length, source) if length else b""
        return raw if len(raw) >= HEADER_LENGTH else b""

    def alike(self, rba: int, size: int) -> bool:
        """Whether every copy has the same there."""
        return len({self.raw(rba, size, copy) for copy in range(self._files.copies)}) == 1

    def beginning_of_ci(self, rba: int, size: int) -> bytes:
        """What stands before the end of the log in its CI, as the first copy has it that can be read."""
        for copy in range(self._files.copies):
            raw = self.raw(rba, size, copy)
            if len(raw) == size:
                return raw
        raise Abend("L1", "the end of the log cannot be read; use its other copy", rba=f"{rba:012X}")

    def goes_on(self, rba: int, epoch: int) -> bool:
        """Whether the record at the end of the log is in a data set of which nobody knows (F8)."""
        return any(self._unknown(rba, epoch, copy) for copy in range(self._files.copies))

    def _unknown(self, rba: int, epoch: int, copy: int) -> bool:
        """Whether a copy has a record there; no more is read than it claims, for what is behind it nobody needs."""
        length = claimed_length(self._beyond(rba, CLAIM_LENGTH, copy), rba)
        raw = self._beyond(rba, length, copy)
        return 0 < length == len(raw) and parse(raw, rba, epoch) is not None

    def _beyond(self, rba: int, size: int, copy: int) -> bytes:
        raw = self.raw(rba, size, copy)
        return raw + self._files.read_unknown(rba + len(raw), size - len(raw), copy)

    def raw(self, rba: int, size: int, source: int = 0) -> bytes:
        """Bytes of the log data sets, over their borders; fewer where the log has no more (LR2)."""
        parts = []
        while size:
            try:
                part, _ = self._files.read(rba, size, source)
            except OSError as error:
                raise Abend("LR2", UNREADABLE, rba=f"{rba:012X}", error=said(error)) from error
            if not part:
                break
            parts.append(part)
            rba, size = rba + len(part), size - len(part)
        return b"".join(parts)
