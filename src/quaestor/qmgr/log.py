"""Log manager: every recoverable change in one sequence, and the promise that it is on disk.

Rules
  J1  `append` gives a record its RBA and puts it in the log buffers; it never waits for the disk unless no buffer
      is free. It is called with the engine latch held.
  J2  `force(rba)` returns when the record at that RBA is durable. It is called without the latch, so others go on.
  J3  One force serves everybody who waits (group commit): one thread leads, writes all that is in the buffers and
      syncs once; whoever comes meanwhile waits, and is either served or leads next. There is no timer.
  J4  When WRTHRSH buffers are full and unwritten they are written without being asked for (and without sync).
  J5  A write or sync that fails is final: nothing is confirmed any more, every force raises Abend.
  J6  New work is refused (2056) as soon as the active log after the current one cannot be made ready, so that the
      rest of the current one is left for ending the units there are.
  J7  Counting is that of the papers: a CI written again because it was part-filled is a rewrite; full CIs go in
      groups of at most `ci_per_io`, the current CI by itself; the operating system gets all of it as one request.
  J8  A force of one data set writes whole CIs from aligned memory, so that the disk can take them as they lie in the
      buffers. What stands behind the last record in its CI is no record: it has another RBA.
  J9  An active log may be left before it is full (ARCHIVE LOG): records that say nothing fill it, so that the log stays
      one sequence without a hole.

Called by recovery (append, force, read), buffer (force), the scheduler (offload).  Calls log_files.
Why forcing has no timer: a commit that waits for company is slow when alone; under load company comes by itself.
"""

from _thread import LockType, allocate_lock
from collections.abc import Iterator, Sequence
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from struct import Struct
from zlib import crc32

from quaestor.clock import Clock, SystemClock, tod_from_us, tod_of_ns
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.resource_manager import Task, Unit
from quaestor.smf.sections.log import LogStatistics
from quaestor.storage.log_files import CI, FIRST_RBA, LogFiles
from quaestor.storage.log_record import HEADER, HEADER_LENGTH, RECORD_MAX, Kind, LogRecord, parse, record_length

_CHECKSUM = Struct(">I")
SCAN_BYTES = 1 << 20
SINGLE, MULTIPLE = 0, 1
"""Kinds of log I/O: one CI, several CIs."""


class _Waiter:
    """A thread in `force` that another leads."""

    __slots__ = ("gate", "leads", "rba", "since_ns")

    def __init__(self, rba: int, since_ns: int) -> None:
        self.rba, self.since_ns, self.leads = rba, since_ns, False
        self.gate: LockType = allocate_lock()
        self.gate.acquire()


class LogManager:
    """The log (J1-J7). `end` is the RBA of the next record, `hardened` the RBA up to which the disk has it."""

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
        self.stats = LogStatistics()
        self.buffers = outbuff_kb * 1024 // CI
        self.since_checkpoint = 0
        self.switched = False
        self._wrthrsh, self._ci_per_io = min(wrthrsh, self.buffers), ci_per_io
        self._buffer = mmap(-1, max(self.buffers * CI, 2 * RECORD_MAX), flags=MAP_PRIVATE | MAP_ANONYMOUS)  # J8
        self._view = memoryview(self._buffer)
        self._io, self._queue = allocate_lock(), allocate_lock()
        self._leading, self._waiting = False, list[_Waiter]()
        self._failed: OSError | None = None
        self.archive_error: OSError | None = None
        self._cis_begun = 0
        self._last_kind = SINGLE
        self.ready = False
        self.epoch = 0
        self.base = self.end = self.written = self.hardened = self._stop = FIRST_RBA

    # --- writing ------------------------------------------------------------------------------------------------------

    def resume(self, end: int) -> None:
        """Go on at `end`, in a new epoch that is durable before anything is written.

        What was read may still be volatile: a process that was killed leaves written, unsynced bytes behind.
        """
        self.files.sync()
        partial = end % CI
        self.base, self.end, self.written, self.hardened = end - partial, end, end, end
        self._buffer[:partial] = self.read_bytes(self.base, partial)
        self.epoch = self.files.inventory.epoch + 1
        self.files.inventory.epoch = self.epoch
        self.files.inventory.written_rba = end
        self._save_bootstrap()
        self._cis_begun = (end + CI - 1) // CI
        self._set_stop()

    def append(
        self, kind: int, flags: int, urid: int, previous: int, page_set: int, page: int, body: bytes | bytearray
    ) -> int:
        """Put a record in the buffers and give its RBA (J1). A FIRST record's body ends with its identity."""
        rba = self.end
        length = HEADER_LENGTH + len(body)
        if rba + length > self._stop:
            self._before(length)
        at = rba - self.base
        buffer = self._buffer
        HEADER.pack_into(
            buffer, at, 0, length, rba, rba if flags & 1 else urid, previous, page, self.epoch, page_set, kind, flags
        )
        buffer[at + HEADER_LENGTH : at + length] = body
        _CHECKSUM.pack_into(buffer, at, crc32(self._view[at + 4 : at + length]))
        self.end = rba + length
        self.since_checkpoint += 1
        self.stats.writes_nowait += 1
        return rba

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
        waiter = None
        with self._queue:
            if rba < self.hardened:
                return
            if self._leading:
                waiter = _Waiter(rba, self._clock.monotonic_ns())
                self._waiting.append(waiter)
            else:
                self._leading = True
        if waiter is not None:
            waiter.gate.acquire()
            if not waiter.leads:
                self._raise_if_failed()
                return
        self._lead()
        self._raise_if_failed()

    def _lead(self) -> None:
        """Write and sync everything there is, wake those it serves, and hand over to one it does not (J3)."""
        began_ns = self._clock.monotonic_ns()
        try:
            with self._io:
                if self._failed is None:  # J5
                    self.stats.logger_calls += 1
                    self._write(self.end)
                    self._harden()
        except OSError as error:
            self._failed = error
        with self._queue:
            if not self._waiting:
                self._leading = False
                self.stats.suspensions += 1
                self._count_suspended([began_ns])
                return
            served = [w for w in self._waiting if w.rba < self.hardened or self._failed]
            self._waiting = [w for w in self._waiting if w.rba >= self.hardened and not self._failed]
            self._leading = bool(self._waiting)
            self.stats.suspensions += 1 + len(served)
            self._count_suspended([began_ns, *(waiter.since_ns for waiter in served)])
            if self._waiting:
                successor = self._waiting.pop(0)
                successor.leads = True
                served.append(successor)
        for waiter in served:
            waiter.gate.release()

    def _before(self, length: int) -> None:
        """The slow side of `append`: a threshold write, a full ring, the end of a data set."""
        if length > RECORD_MAX:
            raise Abend("L1", "a log record is too long", length=length)
        if self.end + length > self.files.start + self.files.size:
            self._switch()
        if self.end + length > self.base + len(self._buffer):
            self._slide(length)
        if self._full_cis(self.end + length) >= self._wrthrsh:
            with self._guarded_io():
                self.stats.threshold_writes += 1
                self.stats.logger_calls += 1
                self._write((self.end // CI) * CI)  # J4: up to the previous CI
        self._set_stop(length)

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
                self.stats.waits_no_buffer += 1
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
            self.stats.bsds_accesses += 1
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
        self.stats.cis_offloaded += self.files.archived_cis - before
        self.stats.archive_write_allocations += self.files.archives_made - made

    def make_ready_step(self) -> bool:
        """Background: archive what is due and make the next active log ready before it is wanted."""
        if self.hardened >= self.files.start:
            self._make_ready()
            return self.files.offload_step()
        return False

    def _write(self, upto: int) -> None:
        """Hand the buffers up to an RBA to the data sets, and count as the papers do (J7)."""
        start = self.written
        if upto <= start:
            return
        files, first = self.files, start - start % CI
        began_ns = self._clock.monotonic_ns()
        if self.hardened == start and self.end == upto and first >= files.start:
            last = min(upto + -upto % CI, files.start + files.size)  # J8: one data set, and nothing volatile is before
            files.write_through(first, self._view[first - self.base : last - self.base])
            self.hardened = upto
        else:
            files.write(start, self._view[start - self.base : upto - self.base])
        self.written = upto
        self._count_write(start, upto, self._clock.monotonic_ns() - began_ns)

    def _harden(self) -> None:
        """Sync what has been written."""
        if self.hardened < self.written:
            began_ns = self._clock.monotonic_ns()
            self.files.sync(self.hardened)
            self.hardened = self.written
            self._count_io(self._last_kind, 0, 0, self._clock.monotonic_ns() - began_ns)

    def _count_write(self, start: int, upto: int, took_ns: int) -> None:
        stats, copies = self.stats, self.files.copies
        first, last = start // CI, (upto - 1) // CI
        rewrites = 1 if first < self._cis_begun else 0
        new = last + 1 - max(first, self._cis_begun)
        partial = 1 if upto % CI and new else 0
        ios = rewrites + -(-(new - partial) // self._ci_per_io) + partial
        stats.buffers_filled += new
        stats.cis_written += copies * (rewrites + new)
        stats.serial_rewrites += copies * rewrites
        stats.log_ios += copies * ios
        many = new - partial
        self._last_kind = MULTIPLE if many else SINGLE
        self._count_io(SINGLE, rewrites + partial, rewrites + partial, 0 if many else took_ns)
        self._count_io(MULTIPLE, ios - rewrites - partial, many, took_ns if many else 0)
        self._cis_begun = max(self._cis_begun, last + 1)
        slot = self.buffers - 1
        if (last + 1) // self.buffers > first // self.buffers or last % self.buffers == slot:
            self.stats.bsds_accesses += 1
            self.files.inventory.written_rba = self.hardened

    def _count_io(self, kind: int, ios: int, cis: int, took_ns: int) -> None:
        """I/O by log copy; both copies are written by the same request, so each took as long (J7)."""
        took = tod_of_ns(took_ns)
        for copy in range(self.files.copies):
            figures = self.stats.copies[copy].kinds[kind]
            figures.ios += ios
            figures.cis += cis
            figures.io_elapsed += took
            if took > figures.longest_io:
                figures.longest_io, figures.longest_io_at = took, tod_from_us(self._clock.now_us())

    def _count_suspended(self, since_ns: list[int]) -> None:
        """How long those who waited for a force have waited."""
        now_ns, figures = self._clock.monotonic_ns(), self.stats.copies[0].kinds[self._last_kind]
        figures.suspended += sum(tod_of_ns(now_ns - since) for since in since_ns)
        longest = tod_of_ns(now_ns - min(since_ns))
        if longest > figures.longest_suspension:
            figures.longest_suspension, figures.longest_suspension_at = longest, tod_from_us(self._clock.now_us())

    def _guarded_io(self) -> "_Guard":
        return _Guard(self)

    def _raise_if_failed(self) -> None:
        if self._failed is not None:
            raise Abend("J5", "the log could not be written", error=str(self._failed)) from self._failed

    def _save_bootstrap(self) -> None:
        self.files.save()
        self.stats.bsds_accesses += 1

    def note_checkpoint(self, rba: int) -> None:
        """Tell the bootstrap data set of a checkpoint that is durable."""
        self.files.inventory.add_checkpoint(rba)
        self.files.inventory.written_rba = self.hardened
        self._save_bootstrap()
        self.since_checkpoint = 0
        self.switched = False

    # --- reading ------------------------------------------------------------------------------------------------------

    def read(self, rba: int) -> LogRecord:
        """The record at an RBA, to undo it (J1: latch held)."""
        if self.base <= rba < self.end:
            self.stats.reads_from_buffer += 1
            at = rba - self.base
            length = record_length(self._buffer[at : at + 8])
            record = parse(bytes(self._buffer[at : at + length]), rba) or self._read_from_files(rba)
        else:
            record = self._read_from_files(rba)
        if record is None:
            raise Abend("L1", "a log record that is needed cannot be read", rba=rba)
        return record

    def _read_from_files(self, rba: int) -> LogRecord | None:
        _, archived = self.files.read(rba, 1)
        if archived:
            self.stats.reads_from_archive += 1
        else:
            self.stats.reads_from_active += 1
        for copy in range(self.files.copies):
            length = record_length(self.read_bytes(rba, HEADER_LENGTH, copy))
            raw = self.read_bytes(rba, length, copy) if length else b""
            record = parse(raw, rba) if len(raw) >= HEADER_LENGTH else None
            if record is not None:
                return record
        return None

    def scan(self, rba: int, end: int = 1 << 63, *, repair: bool = True) -> Iterator[LogRecord]:
        """Every good record from `rba` on, to an RBA or to the end of the log (L2); one that only a second copy has is
        put right in the first, unless nothing may be written.
        """
        epoch, start, chunk = 0, rba, b""
        while rba < end:
            at = rba - start
            length = record_length(chunk[at : at + 8])
            if at + max(length, HEADER_LENGTH) > len(chunk):
                start, at = rba, 0
                chunk = self.read_bytes(rba, SCAN_BYTES)
                length = record_length(chunk[:8])
            record = parse(chunk[at : at + length], rba, epoch) if length and at + length <= len(chunk) else None
            if record is None:
                record = self._other_copy(rba, epoch, repair=repair)
                if record is None:
                    return
            epoch = record.epoch
            yield record
            rba = record.end

    def _other_copy(self, rba: int, epoch: int, *, repair: bool) -> LogRecord | None:
        """With two copies: the record as the second has it."""
        for copy in range(1, self.files.copies):
            length = record_length(self.read_bytes(rba, HEADER_LENGTH, copy))
            raw = self.read_bytes(rba, length, copy) if length else b""
            record = parse(raw, rba, epoch) if len(raw) >= HEADER_LENGTH else None
            if record is not None:
                if repair:
                    self.files.repair(rba, memoryview(raw))
                return record
        return None

    def read_bytes(self, rba: int, size: int, copy: int = 0) -> bytes:
        """Bytes of the log data sets, over their borders; fewer where the log has no more."""
        parts = []
        while size:
            part, _ = self.files.read(rba, size, copy)
            if not part:
                break
            parts.append(part)
            rba, size = rba + len(part), size - len(part)
        return b"".join(parts)

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
        self._log._io.acquire()  # noqa: SLF001 - the manager's own guard

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        log = self._log
        if isinstance(error, OSError):
            log._failed = error  # noqa: SLF001
        log._io.release()  # noqa: SLF001
        if isinstance(error, OSError):
            log._raise_if_failed()  # noqa: SLF001
