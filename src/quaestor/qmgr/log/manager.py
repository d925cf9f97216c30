"""The log manager itself: records, ends of data sets, reading back. The rules (J1-J17) are the package's."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from google_crc32c import extend as checksum_on
from google_crc32c import value as checksum_of

from quaestor.clock import Clock, SystemClock
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.log.forcing import END_OF_LOG, LogWriter
from quaestor.qmgr.log.reading import LogReader
from quaestor.qmgr.resource_manager import Served, Task, Unit
from quaestor.smf.sections.log import LogStatistics
from quaestor.storage.archiving import DamagedLogError
from quaestor.storage.log_files import CI, FIRST_RBA, LogFiles
from quaestor.storage.log_record import (
    HEADER_LENGTH,
    RECORD_MAX,
    Kind,
    LogRecord,
    PageChange,
    pack_checked,
    pack_run,
    pack_sum,
    parse,
    record_length,
)

NOT_ARCHIVED = "a log could not be archived; it is tried again, and new work is refused when no other log is left"
NO_LOG_LEFT = (
    "the log is full and the next active log cannot be used: nothing is lost; "
    "make space for an archive of it, or, but for media recovery, give the buffer pools more buffers, and start again"
)
ENDS_SHARE: Final = 8
"""The last eighth of the log is for ending units, and starts (J6): undoing stops before it, shunting leaves another one
(V12)."""

AGAIN_NS = 200_000_000
"""As often as the background tries (J15)."""


class LogManager(LogWriter):
    """The log (J1-J17)."""

    name = "log"

    def __init__(
        self,
        files: LogFiles,
        *,
        outbuff_kb: int = 4000,
        wrthrsh: int = 20,
        ci_per_io: int = 128,
        clock: Clock | None = None,
        served: Served | None = None,
    ) -> None:
        clock = clock or SystemClock()
        super().__init__(files, outbuff_kb, ci_per_io, clock)
        self.records = self.records_checkpointed = 0
        self.served = served or Served()
        self.switched = False
        self._wrthrsh = min(wrthrsh, self.buffers)
        self._reader = LogReader(files, self._stats)
        self.archive_error: OSError | None = None
        self._again_ns = 0  # before which nobody who is refused tries to archive (J15)
        self._cis_offloaded = self._archives_made = 0
        self.ready = False
        self.made_to = 0
        """Up to where all changes are made on their pages, 0 when all there are: an image says so (`previous`, B4)."""

        self.redoing = False
        """While a restart redoes nobody ends a unit."""

        self.epoch = 0
        self._stop = self.noted_end = FIRST_RBA
        self.short_at = self._copied_at = 0
        """While the next active log waits for a checkpoint: from where on it is short, is copied; 0 otherwise (J14)."""

        self.in_steps: Callable[[], bool] = _whole_ones
        """Whether checkpoints are taken in steps."""

    @property
    def stats(self) -> LogStatistics:
        """What has been counted, all forces that have ended included (LM4)."""
        self._meter.settle()
        self._meter.logged(self.records)
        return self._stats

    @property
    def since_checkpoint(self) -> int:
        """Records logged since the last checkpoint."""
        return self.records - self.records_checkpointed

    # --- writing ------------------------------------------------------------------------------------------------------

    def resume(self, end: int, read_from: int, epoch: int) -> None:
        """Go on at `end`, in a new epoch that is durable before anything is written. The log was read from an RBA on.

        Its last record is of `epoch`: an older bootstrap data set knows an earlier one only (L1). What was read may
        still be volatile: a process that was killed leaves written, unsynced bytes behind.
        """
        self._reader.make_alike(read_from, end)  # LR3
        partial = end % CI
        self._reader.make_readable(end - partial, partial)  # LR4
        self.files.sync()
        self.files.make_bootstrap_good()
        self.base, self.end, self.written, self._sent = end - partial, end, end, end
        self._synced = self.hardened = end
        self._buffer[:partial] = self._reader.beginning_of_ci(self.base, partial)
        self.epoch = max(self.files.inventory.epoch, epoch) + 1
        self.files.inventory.epoch = self.epoch
        self.files.inventory.written_rba = end
        self._save_bootstrap()
        self._meter.begin(end)
        self._set_stop()
        if not self._reader.alike(self.base, partial):
            self._leave_ci()

    def _leave_ci(self) -> None:
        """The log goes on in another CI; this one is not written again (LR4)."""
        left = -self.end % CI
        length = left if left >= HEADER_LENGTH else left + CI
        self.append(Kind.FILLER, 0, 0, 0, 0, 0, bytes(length - HEADER_LENGTH))
        with self._guarded_io():
            self._write(self.end)
            self._harden()
        self._set_stop()

    def append(
        self,
        kind: int,
        flags: int,
        urid: int,
        previous: int,
        page_set: int,
        page: int,
        body: bytes | bytearray,
        rest: bytes = b"",
    ) -> int:
        """Put a record in the buffers and give its RBA (J1), which is where the log ends before.

        The record's body is `body` and `rest`; a FIRST record's ends with its identity.
        """
        rba = self.end
        length = HEADER_LENGTH + len(body) + len(rest)
        end = rba + length
        if end > self._stop:
            self._before(length)
        at = rba - self.base
        checked = pack_checked(length, rba, urid, previous, page, self.epoch, page_set, kind, flags) + body
        self._buffer[at : at + length] = pack_sum(checksum_on(checksum_of(checked), rest)) + checked + rest
        self.end = end
        self.records += 1
        task = self.served.task
        if task is not None:
            logged = task.logged  # R6
            logged.records += 1
            logged.octets += length
        return rba

    def append_run(
        self, kind: int, flags: int, urid: int, previous: int, page_set: int, changes: Iterable[PageChange]
    ) -> list[int]:
        """Records of one unit, each the next one's `previous`; gives the RBAs of those that are appended (J12)."""
        start = self.end
        rbas, packed = pack_run(kind, flags, urid, previous, page_set, changes, start, self._stop, self.epoch)
        at = start - self.base
        self._buffer[at : at + len(packed)] = packed
        self.end = start + len(packed)
        self.records += len(rbas)
        task = self.served.task
        if task is not None:
            task.logged.records += len(rbas)
            task.logged.octets += len(packed)
        return rbas

    def check_space(self) -> None:
        """Refuse new work while the next active log cannot be made ready: the rest is for ending units (J6, J14)."""
        if not self.ready and self.end >= max(self._copied_at, self.files.start):
            if self._now_ns() >= self._again_ns or not self.files.archives_next():
                self._make_ready()
            if not self.ready:
                raise MQError(Reason.Q_SPACE_NOT_AVAILABLE, log_rba=self.end, why=str(self.archive_error))

    def _before(self, length: int) -> None:
        """The slow side of `append`: a threshold write, a full ring, the end of a data set."""
        if length > RECORD_MAX:
            raise Abend("L1", "a log record is too long", length=length)
        if self.end + length > self.files.start + self.files.size:
            self._switch()
        if self.end + length > self.base + len(self._buffer):
            self._slide(length)
        if self.end // CI - self._sent // CI >= self._wrthrsh:
            self._write_threshold()
        if self.end + length > (self.written // CI + self.buffers) * CI:
            self._wait_for_buffers(length)
        self._set_stop(length)

    def _write_threshold(self) -> None:
        """Start to write the full buffers (J4). While another write is under way it is looked at again a CI later."""
        if not self._io.acquire(False):
            return
        try:
            landed = self._land(wait=False)
            upto = (self.end // CI) * CI  # up to the previous CI
            if landed and upto > self._sent:
                self._stats.threshold_writes += 1
                self._stats.logger_calls += 1
                if self._failed is None and not self._take_off(upto, force=False):
                    self._write(upto)
        except OSError as error:
            self._failed = error
        finally:
            self._io.release()
        self.raise_if_failed()

    def _wait_for_buffers(self, length: int) -> None:
        """Every buffer holds what is not yet written (OUTBUFF): wait for the write in flight, or write (J4)."""
        self._stats.waits_no_buffer += 1
        with self._guarded_io():  # what was in flight has landed
            if self.end + length > (self.written // CI + self.buffers) * CI:
                self._write(self.end)

    def _set_stop(self, length: int = 0) -> None:
        """The RBA at which `append` must look again; never in front of the record that is being appended."""
        end = self.end + length
        threshold = (self._sent // CI + self._wrthrsh) * CI
        if self._flight is not None:  # look again when another CI is full
            threshold = max(threshold, (end // CI + 1) * CI)
        full = (self.written // CI + self.buffers) * CI
        stop = min(self.base + len(self._buffer), self.files.start + self.files.size, threshold, full)
        self._stop = max(stop, end)

    def _slide(self, length: int) -> None:
        """The buffers are used up: begin them again with what is not yet written; if that is all, it is written now."""
        with self._guarded_io():
            if self.end - self.written + CI + length > len(self._buffer):
                self._stats.waits_no_buffer += 1
                self._write(self.end)
            start = (self.written // CI) * CI
            at, kept = start - self.base, self.end - start
            self._buffer[:kept] = self._buffer[at : at + kept]
            self.base = start

    def _switch(self) -> None:
        """Go on in the next active log; recovery takes a checkpoint because of it."""
        with self._guarded_io():
            self._write(self.end)
            self._harden()
            self._enter_next()
            self.ready = False
            self._stats.bsds_accesses += 1
        self.switched = True
        if self.in_steps() and self.files.awaits_checkpoint():
            start, eighth = self.files.start, self.files.size // 8
            self.short_at, self._copied_at = start + 5 * eighth, start + 6 * eighth  # J14
        else:
            self.freed()

    def _enter_next(self) -> None:
        """Where there is none, nothing is lost, and what there was no log for is done by the next start (J5)."""
        try:
            self.files.switch()
        except OSError as error:
            raise Abend("J5", NO_LOG_LEFT, error=str(error)) from error

    def check_redo(self, size: int) -> None:
        """Redo leaves the log that ends a start: one with more buffers, which may come to that, finds it (J6)."""
        if self.redoing and self.files.limit - self.end - size < self.files.size // ENDS_SHARE:
            raise Abend("J5", NO_LOG_LEFT, error=str(self.archive_error))

    @property
    def is_short(self) -> bool:
        """Whether a checkpoint must be over now, so that the next active log need not be copied (J14)."""
        return 0 < self.short_at <= self.end and not self.ready

    def freed(self) -> None:
        """The checkpoint of the last switch is over: what is still needed is copied (J14)."""
        self.short_at = self._copied_at = 0

    @property
    def wrthrsh(self) -> int:
        """How many full buffers are written without being asked for (J4)."""
        return self._wrthrsh

    @wrthrsh.setter
    def wrthrsh(self, buffers: int) -> None:
        self._wrthrsh = min(buffers, self.buffers)
        self._set_stop()

    def truncate(self) -> None:
        """Go on in the next active log before this one is full; what is left of it is filled with a record (J9)."""
        self.freed()
        self._again_ns = 0
        self.check_space()
        ends = self.files.start + self.files.size
        while ends - self.end >= HEADER_LENGTH:
            length = min(ends - self.end, RECORD_MAX)
            if 0 < ends - self.end - length < HEADER_LENGTH:
                length -= HEADER_LENGTH
            self.append(Kind.TRUNCATED, 0, 0, 0, 0, 0, bytes(length - HEADER_LENGTH))
        self._switch()
        self._set_stop()

    def _make_ready(self) -> None:
        """Make the next active log ready; if that fails, only what is left may be used (J6)."""
        if self.hardened < self.files.start == self.files.next_end():
            self._end_left_log()
        try:
            self.files.make_ready()
        except OSError as error:
            self._not_archived(error)
        else:
            self.ready = True
        self._count_archives()

    def _end_left_log(self) -> None:
        """Of two active logs the one that was just left is next: its last record is written before it is (J15)."""
        with self._guarded_io():
            self._write(self.end)
            self._harden()

    def _not_archived(self, error: OSError) -> None:
        """An archive could not be made: told once, and tried again (J15)."""
        if not isinstance(error, DamagedLogError):  # F6 has told of that
            self._again_ns = self._now_ns() + AGAIN_NS
            if self.archive_error is None:
                self.files.tell("CSQJ128E", NOT_ARCHIVED, error=str(error))
        self.archive_error = error

    def _count_archives(self) -> None:
        files, stats = self.files, self._stats
        if files.archives_made > self._archives_made:
            self.archive_error, self._again_ns = None, 0
        stats.cis_offloaded += files.archived_cis - self._cis_offloaded
        stats.archive_write_allocations += files.archives_made - self._archives_made
        self._cis_offloaded, self._archives_made = files.archived_cis, files.archives_made

    def make_ready_step(self) -> bool:
        """Background: archive what is due and make the next active log ready before it is wanted."""
        if self.hardened < self.files.start or self.end < self._copied_at:
            return False
        more = failed = False
        try:
            more = self.files.offload_step()
        except OSError as error:
            self._not_archived(error)
            failed = True
        self._count_archives()
        if not (more or (failed and self.files.archives_next())):
            self._make_ready()
        return more

    def _save_bootstrap(self) -> None:
        self.files.save()
        self._stats.bsds_accesses += 1

    def note_checkpoint(self, rba: int) -> Callable[[], None]:
        """Note a checkpoint that is durable; restart begins there when the caller has made the note so too."""
        self.files.inventory.add_checkpoint(rba)
        self._stats.bsds_accesses += 1
        return self.note_end()

    def note_end(self) -> Callable[[], None]:
        """Note how far the log is durable (J16); what is given makes the note so too."""
        self.files.inventory.written_rba = self.noted_end = self.hardened
        return self.files.saving()

    # --- reading ------------------------------------------------------------------------------------------------------

    def read(self, rba: int) -> LogRecord:
        """The record at an RBA, to undo it (J1: latch held)."""
        if self.base <= rba < self.end:
            self._stats.reads_from_buffer += 1
            at = rba - self.base
            length = record_length(self._buffer[at : at + 8])
            record = (parse(bytes(self._buffer[at : at + length]), rba) if length else None) or self._reader.record(rba)
        else:
            record = self._reader.record(rba)
            if record is None:
                self.force(self.end - 1)  # J13
                record = self._reader.record(rba)
        if record is None:
            text = "a log record that is needed cannot be read; use the log's other copy or its archive"
            raise Abend("L1", text, rba=f"{rba:012X}")
        return record

    def scan(self, rba: int, end: int = END_OF_LOG, *, repair: bool = True) -> Iterator[LogRecord]:
        """Every good record from `rba` on, to an RBA or to the end of the log (L2)."""
        return self._reader.scan(rba, end, repair=repair)

    def goes_on(self, rba: int, epoch: int) -> bool:
        """Whether the log goes on behind a last record of this epoch, where the bootstrap data set knows none (F8)."""
        return self._reader.goes_on(rba, epoch)

    # --- as a manager -------------------------------------------------------------------------------------------------

    def tasks(self) -> Sequence[Task]:
        return (Task("offload", self.make_ready_step, every_ms=200),)

    def committed(self, unit: Unit) -> None:
        """A unit's end means nothing to the log but its records."""

    def backed_out(self, unit: Unit) -> None:
        """See `committed`."""

    def close(self) -> None:
        self.force(self.end - 1)
        self.files.close()


def _whole_ones() -> bool:
    """Nobody takes steps."""
    return False
