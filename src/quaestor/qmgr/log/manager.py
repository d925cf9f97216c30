"""The log manager itself: buffers, forcing, ends of data sets. The rules (J1-J12) stand in the package's docstring."""

import mmap as memory
from _thread import allocate_lock
from collections.abc import Iterable, Iterator, Sequence
from struct import Struct
from typing import Final
from zlib import crc32

from quaestor.clock import Clock, SystemClock
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.log.in_flight import Flight, Waiter
from quaestor.qmgr.log.meter import LogMeter
from quaestor.qmgr.log.reading import LogReader
from quaestor.qmgr.resource_manager import Task, Unit
from quaestor.smf.sections.log import LogStatistics
from quaestor.storage.asynchronous_write import Announcement
from quaestor.storage.log_files import CI, FIRST_RBA, LogFiles
from quaestor.storage.log_record import (
    HEADER,
    HEADER_LENGTH,
    RECORD_MAX,
    Kind,
    LogRecord,
    PageChange,
    pack_run,
    parse,
    record_length,
)

_pack_header: Final = HEADER.pack_into
_pack_checksum: Final = Struct(">I").pack_into
_checksum: Final = crc32
END_OF_LOG = 1 << 63
LEADS_MAX = 8
"""How often a thread forces the log for others before one of them has to (J3)."""

MEMORY: int = memory.MAP_PRIVATE | memory.MAP_ANONYMOUS | getattr(memory, "MAP_POPULATE", 0)
"""Log buffers are real memory from the beginning: no put has to wait for a page of them."""


class LogManager:
    """The log (J1-J12). `end` is the RBA of the next record, `hardened` the RBA up to which the disk has it."""

    name = "log"

    def __init__(
        self,
        files: LogFiles,
        *,
        outbuff_kb: int = 4000,
        wrthrsh: int = 20,
        ci_per_io: int = 128,
        clock: Clock | None = None,
    ) -> None:
        self.files = files
        self._clock = clock or SystemClock()
        self._stats = LogStatistics()
        self.buffers = outbuff_kb * 1024 // CI
        self.records = self.records_checkpointed = 0
        self.switched = False
        self._wrthrsh = min(wrthrsh, self.buffers)
        self._now_ns = self._clock.monotonic_ns
        self._meter = LogMeter(self._stats, files.copies, ci_per_io, self.buffers, self._clock)
        self._reader = LogReader(files, self._stats)
        self._buffer = memory.mmap(-1, max(self.buffers * CI, 2 * RECORD_MAX), flags=MEMORY)  # J8
        self._view = memoryview(self._buffer)
        self._io, self._queue = allocate_lock(), allocate_lock()
        self._leading, self._waiting = False, list[Waiter]()
        self._flight: Flight | None = None  # guarded by _io
        self._left = False  # the lead is with nobody: its force was started and not yet finished
        self._started_ns = self._started_upto = 0
        self._announcement: Announcement | None = None
        self._failed: OSError | None = None
        self.archive_error: OSError | None = None
        self.ready = False
        self.epoch = 0
        self.base = self.end = self.written = self.hardened = self._stop = FIRST_RBA

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

    def resume(self, end: int) -> None:
        """Go on at `end`, in a new epoch that is durable before anything is written.

        What was read may still be volatile: a process that was killed leaves written, unsynced bytes behind.
        """
        self.files.sync()
        partial = end % CI
        self.base, self.end, self.written, self.hardened = end - partial, end, end, end
        self._buffer[:partial] = self._reader.raw(self.base, partial)
        self.epoch = self.files.inventory.epoch + 1
        self.files.inventory.epoch = self.epoch
        self.files.inventory.written_rba = end
        self._save_bootstrap()
        self._meter.begin(end)
        self._set_stop()

    def append(
        self, kind: int, flags: int, urid: int, previous: int, page_set: int, page: int, body: bytes | bytearray
    ) -> int:
        """Put a record in the buffers and give its RBA (J1). A FIRST record's body ends with its identity."""
        rba = self.end
        length = HEADER_LENGTH + len(body)
        end = rba + length
        if end > self._stop:
            self._before(length)
        buffer, at = self._buffer, rba - self.base
        to = at + length
        if flags & 1:
            urid = rba
        _pack_header(buffer, at, 0, length, rba, urid, previous, page, self.epoch, page_set, kind, flags)
        buffer[at + HEADER_LENGTH : to] = body
        _pack_checksum(buffer, at, _checksum(self._view[at + 4 : to]))
        self.end = end
        self.records += 1
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
        return rbas

    def check_space(self) -> None:
        """Refuse new work while the next active log cannot be made ready: what is left is for ending units (J6)."""
        if not self.ready:
            self._make_ready()
            if not self.ready:
                raise MQError(Reason.Q_SPACE_NOT_AVAILABLE, log_rba=self.end, why=str(self.archive_error))

    def force(self, rba: int) -> None:
        """Return when the record at `rba` is durable (J2, J3)."""
        if rba < self.hardened:
            return
        since_ns, waiter = self._now_ns(), None
        with self._queue:
            if rba < self.hardened:
                return
            if self._leading and not self._left:
                waiter = Waiter(rba, since_ns)
                self._waiting.append(waiter)
            else:
                self._leading, self._left = True, False  # J10: who has to wait takes the lead that nobody has
        if waiter is None:
            self._lead(rba, since_ns)
        else:
            waiter.gate.acquire()
            if waiter.leads:
                self._lead(rba, since_ns)
        if self._failed is not None:
            self._raise_if_failed()

    def _lead(self, rba: int, since_ns: int) -> None:
        """Force all there is, wake those it serves, and go on for those it does not (J3)."""
        leads = 1
        while True:
            try:
                with self._io:
                    if self._flight is not None:
                        self._land(wait=True)
                    if self._failed is None and rba >= self.hardened:  # J5
                        self._stats.logger_calls += 1
                        self._write(self.end, force=True)
            except OSError as error:
                self._failed = error
            with self._queue:
                if not self._waiting:
                    self._leading = False
                    self._meter.suspended(since_ns)
                    return
            if not self._serve(since_ns, hand_over=leads == LEADS_MAX):
                return
            rba, since_ns, leads = END_OF_LOG, 0, leads + 1

    # --- forces that are started and finished (J10) -------------------------------------------------------------------

    @property
    def force_ready_fd(self) -> int | None:
        """Readable when a force that was started is over; None where none can be."""
        if self._announcement is None:
            self._announcement = self.files.announce()
        return None if self._announcement is None else self._announcement.fd

    def start_force(self, rba: int) -> bool:
        """Begin to force all there is and return; False where `force` has to be used (J10)."""
        if not self._io.acquire(False):
            return False
        try:
            if not self._land(wait=False) or self._failed is not None:
                return False
            with self._queue:
                if self._leading or rba < self.hardened:
                    return False
                self._leading = self._left = True
            if self._take_off(self.end):
                self._stats.logger_calls += 1
                return True
            with self._queue:
                if self._left:  # nobody has taken the lead meanwhile
                    self._leading = self._left = False
            return False
        finally:
            self._io.release()

    def finish_force(self, *, wait: bool) -> bool:
        """Whether the force that was started is over, and durable; waits until it is, if asked (J10)."""
        if self._announcement is not None:
            self._announcement.clear()
        with self._io:
            if not self._land(wait=wait) and self.hardened < self._started_upto:
                return False
        with self._queue:
            mine, self._left = self._left, False
        since_ns, self._started_ns = self._started_ns, 0
        if mine:
            self._serve(since_ns, hand_over=True)
        else:
            self._meter.suspended(since_ns)
        if self._failed is not None:
            self._raise_if_failed()
        return True

    def _take_off(self, upto: int) -> bool:
        """Start the write of the buffers up to an RBA, if it can be one (J8)."""
        start, files = self.written, self.files
        first, base = start - start % CI, self.base
        if upto <= start or self.hardened != start or first < files.start:
            return False
        since_ns, ends = self._now_ns(), files.start + files.size
        data = self._view[first - base : min(upto + -upto % CI, ends) - base]
        try:
            started = files.start_write_through(first, data)
        except OSError as error:
            self._failed = error
            return False
        if started is None:
            return False
        self._flight = Flight(started, start, upto, since_ns)
        self._started_ns, self._started_upto = since_ns, upto
        return True

    def _land(self, *, wait: bool) -> bool:
        """Take the end of the write in flight; True when none is in flight any more."""
        flight = self._flight
        if flight is None:
            return True
        try:
            if not flight.started.over(wait=wait):
                return False
        except OSError as error:
            self._failed = error
        else:
            self.hardened = flight.upto
            self._wrote(flight.start, flight.upto, flight.since_ns)
        self._flight = None
        return True

    def _serve(self, since_ns: int, *, hand_over: bool) -> bool:
        """After a force: wake those it served, and one to lead if this thread has to go; True while it leads on."""
        with self._queue:
            waiting = self._waiting
            served = [waiter for waiter in waiting if waiter.rba < self.hardened or self._failed]
            self._waiting = waiting = [waiter for waiter in waiting if waiter.rba >= self.hardened and not self._failed]
            self._meter.suspended(since_ns, *(waiter.since_ns for waiter in served))
            self._leading = bool(waiting)
            if waiting and hand_over:
                successor = waiting.pop(0)
                successor.leads = True
                successor.gate.release()
        for waiter in served:
            waiter.gate.release()
        return bool(waiting) and not hand_over

    def _before(self, length: int) -> None:
        """The slow side of `append`: a threshold write, a full ring, the end of a data set."""
        if length > RECORD_MAX:
            raise Abend("L1", "a log record is too long", length=length)
        if self.end + length > self.files.start + self.files.size:
            self._switch()
        if self.end + length > self.base + len(self._buffer):
            self._slide(length)
        if self._full_cis(self.end + length) >= self._wrthrsh:
            self._write_threshold(length)
        self._set_stop(length)

    def _write_threshold(self, length: int) -> None:
        """Write the full buffers (J4), unless the write that was in flight has done so."""
        with self._guarded_io():
            if self._full_cis(self.end + length) >= self._wrthrsh:
                self._stats.threshold_writes += 1
                self._stats.logger_calls += 1
                self._write((self.end // CI) * CI)  # J4: up to the previous CI

    def _full_cis(self, end: int) -> int:
        return end // CI - self.written // CI

    def _set_stop(self, length: int = 0) -> None:
        """The RBA at which `append` must look again; never in front of the record that is being appended."""
        threshold = (self.written // CI + self._wrthrsh) * CI - 1
        stop = min(self.base + len(self._buffer), self.files.start + self.files.size, threshold)
        self._stop = max(stop, self.end + length)

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
            self.files.switch()
            self.ready = False
            self._stats.bsds_accesses += 1
        self.switched = True

    @property
    def wrthrsh(self) -> int:
        """How many full buffers are written without being asked for (J4)."""
        return self._wrthrsh

    @wrthrsh.setter
    def wrthrsh(self, buffers: int) -> None:
        self._wrthrsh = min(buffers, self.buffers)
        self._set_stop()

    def truncate(self) -> None:
        """Go on in the next active log before this one is full; what is left of it is filled with a record (J8)."""
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
        before = self.files.archived_cis
        made = self.files.archives_made
        try:
            self.files.make_ready()
        except OSError as error:
            self.archive_error = error
        else:
            self.ready = True
        self._stats.cis_offloaded += self.files.archived_cis - before
        self._stats.archive_write_allocations += self.files.archives_made - made

    def make_ready_step(self) -> bool:
        """Background: archive what is due and make the next active log ready before it is wanted."""
        if self.hardened >= self.files.start:
            self._make_ready()
            return self.files.offload_step()
        return False

    def _write(self, upto: int, *, force: bool = False) -> None:
        """Hand the buffers up to an RBA to the data sets, durably if it is a force, and note it (J7)."""
        start, files = self.written, self.files
        if upto > start:
            began_ns, first, base = self._now_ns(), start - start % CI, self.base
            if force and self.hardened == start and first >= files.start:  # J8: one data set, nothing volatile before
                last, ends = upto + -upto % CI, files.start + files.size
                files.write_through(first, self._view[first - base : min(last, ends) - base])
                self.hardened = upto
            else:
                files.write(start, self._view[start - base : upto - base])
            self._wrote(start, upto, began_ns)
        if force and self.hardened < upto:
            self._harden()

    def _wrote(self, start: int, upto: int, since_ns: int) -> None:
        self.written = upto
        if self._meter.wrote(start, upto, since_ns, self._now_ns()):
            self._stats.bsds_accesses += 1
            self.files.inventory.written_rba = self.hardened

    def _harden(self) -> None:
        """Sync what has been written."""
        if self.hardened < self.written:
            began_ns = self._now_ns()
            self.files.sync(self.hardened)
            self.hardened = self.written
            self._meter.synced(began_ns, self._now_ns())

    def _guarded_io(self) -> "_Guard":
        return _Guard(self)

    def _raise_if_failed(self) -> None:
        if self._failed is not None:
            raise Abend("J5", "the log could not be written", error=str(self._failed)) from self._failed

    def _save_bootstrap(self) -> None:
        self.files.save()
        self._stats.bsds_accesses += 1

    def note_checkpoint(self, rba: int) -> None:
        """Tell the bootstrap data set of a checkpoint that is durable."""
        self.files.inventory.add_checkpoint(rba)
        self.files.inventory.written_rba = self.hardened
        self._save_bootstrap()
        self.records_checkpointed = self.records
        self.switched = False

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
            raise Abend("L1", "a log record that is needed cannot be read", rba=rba)
        return record

    def scan(self, rba: int, end: int = END_OF_LOG, *, repair: bool = True) -> Iterator[LogRecord]:
        """Every good record from `rba` on, to an RBA or to the end of the log (L2)."""
        return self._reader.scan(rba, end, repair=repair)

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


class _Guard:
    """Exclusive use of the log data sets; an I/O error inside is final (J5)."""

    __slots__ = ("_log",)

    def __init__(self, log: LogManager) -> None:
        self._log = log

    def __enter__(self) -> None:
        log = self._log
        log._io.acquire()  # noqa: SLF001 - the manager's own guard
        if log._flight is not None:  # noqa: SLF001
            try:
                log._land(wait=True)  # noqa: SLF001 - J10: what is in flight is waited for
                log._raise_if_failed()  # noqa: SLF001
            except BaseException:
                log._io.release()  # noqa: SLF001
                raise

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        log = self._log
        if isinstance(error, OSError):
            log._failed = error  # noqa: SLF001
        log._io.release()  # noqa: SLF001
        if isinstance(error, OSError):
            log._raise_if_failed()  # noqa: SLF001
