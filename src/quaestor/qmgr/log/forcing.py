"""Writing the log: buffers, forces, the write in flight.

The rules (J2, J3, J5, J7, J8, J10, J11, J17) are the package's.
"""

import mmap as memory
from _thread import allocate_lock
from collections.abc import Callable

from quaestor.clock import Clock
from quaestor.mqi.reasons import Abend, said
from quaestor.qmgr.log.in_flight import Flight, Waiter
from quaestor.qmgr.log.meter import NOBODY, NOTES_MAX, LogMeter
from quaestor.smf.sections.log import LogStatistics
from quaestor.storage.asynchronous_write import Announcement
from quaestor.storage.log_files import CI, FIRST_RBA, LogFiles
from quaestor.storage.log_record import RECORD_MAX

END_OF_LOG = 1 << 63
LEADS_MAX = 8
"""How often a thread forces the log for others before one of them has to (J3)."""

MEMORY: int = memory.MAP_PRIVATE | memory.MAP_ANONYMOUS | getattr(memory, "MAP_POPULATE", 0)
"""Log buffers are real memory from the beginning: no put has to wait for a page of them."""


class LogWriter:
    """The buffers of the log and their way to the disk.

    `end` is the RBA of the next record, `hardened` that up to which the disk has it for good. Writes have ended up
    to `written` and have been started up to `_sent`.
    """

    def __init__(self, files: LogFiles, outbuff_kb: int, ci_per_io: int, clock: Clock) -> None:
        self.files = files
        self._stats = LogStatistics()
        self.buffers = outbuff_kb * 1024 // CI
        self._now_ns = clock.monotonic_ns
        self._meter = LogMeter(self._stats, files.copies, ci_per_io, self.buffers, clock)
        self._notes, self._note = self._meter.notes, self._meter.notes.append
        self._buffer = memory.mmap(-1, max(self.buffers * CI, 2 * RECORD_MAX), flags=MEMORY)  # J8
        self._view = memoryview(self._buffer)
        self._io, self._queue = allocate_lock(), allocate_lock()
        self._leading, self._waiting = False, list[Waiter]()
        self._flight: Flight | None = None  # guarded by _io
        self._left = False  # the lead is with nobody: its force was started and not yet finished
        self._started_ns = self._started_upto = 0
        self._announcement: Announcement | None = None
        self._failed: BaseException | None = None
        self.on_wait: Callable[[], None] | None = None  # who waits for another's force says so first
        self._soon = self._soon_ns = 0  # up to where the disk has begun to write, and since when (J17)
        self.base = self.end = self.written = self._sent = self._synced = self.hardened = FIRST_RBA

    def force(self, rba: int) -> None:
        """Return when the record at `rba` is durable (J2, J3)."""
        if rba < self.hardened:
            return
        since_ns = self._now_ns()
        with self._queue:
            if self._leading and not self._left:
                waiter = Waiter(rba, since_ns)
                self._waiting.append(waiter)
            else:
                self._leading, self._left, waiter = True, False, None  # J10: a lead that nobody has is taken
        try:
            if waiter is None:
                self._lead(rba, since_ns)
            else:
                if self.on_wait is not None:
                    self.on_wait()
                waiter.gate.acquire()
                if waiter.leads:
                    self._lead(rba, since_ns)
        except BaseException as error:
            self._break_off(error)
            raise
        if self._failed is not None:
            self.raise_if_failed()

    def _lead(self, rba: int, since_ns: int) -> None:
        """Force all there is, wake those it serves, and go on for those it does not (J3)."""
        leads = 1
        while True:
            try:
                with self._io:
                    if self._flight is not None and self._failed is None:
                        self._land(wait=True)
                    if self._failed is None and rba >= self.hardened:  # J5
                        since_ns = self._force_all(since_ns)
            except OSError as error:
                self._failed = error
            with self._queue:
                alone = not self._waiting
                if alone:
                    self._leading = False
            if alone:
                break
            led_on = self._serve(since_ns, hand_over=leads == LEADS_MAX)
            since_ns = NOBODY
            if not led_on:
                break
            rba, leads = END_OF_LOG, leads + 1
        if since_ns > 0 or len(self._notes) > NOTES_MAX:
            self._meter.suspended(since_ns)

    def _break_off(self, error: BaseException) -> None:
        """Who leads, or waits and may be chosen to, is interrupted: nobody else waits for him (J5)."""
        self._failed = self._failed or error
        with self._queue:
            waiting, self._waiting, self._leading = self._waiting, [], False
        for waiter in waiting:
            waiter.gate.release()

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
            if self._take_off(self.end, force=True):
                self._stats.logger_calls += 1
                self._started_ns, self._started_upto = self._now_ns(), self._sent
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
            if self.hardened < self._started_upto and self._failed is None and not self._land(wait=wait):
                return False
        with self._queue:
            mine, self._left = self._left, False
        since_ns, self._started_ns = self._started_ns, 0
        if mine:
            self._serve(since_ns, hand_over=True)
        else:
            self._meter.suspended(since_ns)
        if self._failed is not None:
            self.raise_if_failed()
        return True

    def _take_off(self, upto: int, *, force: bool) -> bool:
        """Start the write of the buffers up to an RBA, if it can be one (J8)."""
        start, files = self.written, self.files
        first, base = start - start % CI, self.base
        if upto <= start or self._synced != start or self._soon > start or first < files.start:
            return False
        since_ns, ends = self._now_ns(), files.start + files.size
        data = self._view[first - base : min(upto + -upto % CI, ends) - base]
        try:
            started = files.start_write_through(first, data)
            if started is None:
                return False
            self._flight, self._sent = Flight(started, start, upto, since_ns, force), upto
        except OSError as error:
            self._failed = error
            return False
        except BaseException as error:
            self.give_up(error)  # it may be under way, and nobody knows of it
            raise
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
            self._synced = flight.upto
            if flight.force:
                self.hardened = flight.upto  # a record ends there; where a threshold write ends, one may go on
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

    # --- writing to the data sets -------------------------------------------------------------------------------------

    def _force_all(self, since_ns: int) -> int:
        """Hand all there is in the buffers to the data sets, durably (J7).

        Gives since when the leader waits, if that has not been noted yet.
        """
        start, upto, files = self.written, self.end, self.files
        first, base = start - start % CI, self.base
        if self._synced != start or self._soon > start or first < files.start or upto <= start:
            self._stats.logger_calls += 1
            self._write(upto)
            self._harden()
            return since_ns
        began_ns = self._now_ns()  # J8: one data set, nothing volatile before
        last, ends = upto + -upto % CI, files.start + files.size
        if last > ends:  # noqa: PLR1730 - cheaper than a call
            last = ends
        files.write_through(first, self._view[first - base : last - base])
        self.hardened = self._synced = self.written = self._sent = upto
        self._note((start, upto, since_ns, began_ns, self._now_ns()))
        if upto > self._meter.bootstrap_at:
            self._meter.set_bootstrap_at(upto)
            self._tell_bootstrap()
        return NOBODY

    def send(self) -> bool:
        """Have the disk begin with all there is in the buffers: who calls this is about to force it (J17)."""
        start, upto, files = self.written, self.end, self.files
        if self._soon == upto:
            return True
        first, file, begins = start - start % CI, files.only, files.start
        quiet = self._synced == start == self._sent < upto and first >= begins
        if not quiet or file is None or not self._io.acquire(False):
            return False
        try:
            if self._failed is not None or self._sent != start:  # meanwhile another may have begun to write it
                return False
            self._soon_ns, base, last = self._now_ns(), self.base, min(upto + -upto % CI, begins + files.size)
            file.write_soon(first - begins, self._view[first - base : last - base])
            self._soon = upto
        except OSError as error:
            self._failed = error
            return False
        finally:
            self._io.release()
        if len(self._notes) > NOTES_MAX:
            self._meter.settle()
        return True

    def force_sent(self, rba: int) -> None:
        """Return when a record that was sent is durable (J17). Who comes meanwhile waits at the door, not for us."""
        since_ns, files = self._now_ns(), self.files
        try:
            with self._io, self._queue:
                start, upto, file = self.written, self._soon, files.only
                if file is not None and start == self._synced <= rba < upto and self._failed is None:
                    due = upto > self._meter.bootstrap_at
                    file.sync_written()
                    self.hardened = self._synced = self.written = self._sent = upto
                    self._note((start, upto, since_ns, self._soon_ns, self._now_ns()))
                    if due:
                        self._meter.set_bootstrap_at(upto)
                        self._tell_bootstrap()
                    return
        except OSError as error:
            self._failed = error
        except BaseException as error:
            self._break_off(error)
            raise
        self.force(rba)

    def _write(self, upto: int) -> None:
        """Hand the buffers up to an RBA to the data sets, with the rest of its CI, and note it (J7, J8)."""
        start, base, files = self.written, self.base, self.files
        if upto > start:
            began_ns, last = self._now_ns(), min(upto + -upto % CI, files.start + files.size)
            files.write(start, self._view[start - base : last - base])
            self._wrote(start, upto, began_ns)

    def _wrote(self, start: int, upto: int, since_ns: int) -> None:
        self.written = upto
        self._sent = max(self._sent, upto)
        if self._meter.wrote(start, upto, since_ns, self._now_ns()):
            self._tell_bootstrap()

    def _tell_bootstrap(self) -> None:
        """So many CIs are full again that the bootstrap data set hears of it."""
        self._stats.bsds_accesses += 1
        self.files.inventory.written_rba = self.hardened

    def _harden(self) -> None:
        """Sync what has been written; it ends with a record."""
        if self._synced < self.written:
            began_ns = self._now_ns()
            self.files.sync(self._synced)
            self._synced = self.written
            self._meter.synced(began_ns, self._now_ns())
        self.hardened = self.written

    def _guarded_io(self) -> "Guard":
        return Guard(self)

    def give_up(self, error: BaseException) -> None:
        """Confirm nothing any more, because of this (J5)."""
        self._failed = self._failed or error

    def raise_if_failed(self) -> None:
        if self._failed is not None:
            raise Abend("J5", "the log could not be written", error=said(self._failed)) from self._failed


class Guard:
    """Exclusive use of the log data sets; what fails or is interrupted inside is final (J5)."""

    __slots__ = ("_log",)

    def __init__(self, log: LogWriter) -> None:
        self._log = log

    def __enter__(self) -> None:
        log = self._log
        log._io.acquire()  # noqa: SLF001 - the manager's own guard
        try:
            log.raise_if_failed()
            log._land(wait=True)  # noqa: SLF001 - J10: what is in flight is waited for
            log.raise_if_failed()
        except BaseException as error:
            log.give_up(error)
            log._io.release()  # noqa: SLF001
            raise

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        log = self._log
        if error is not None:
            log.give_up(error)
        log._io.release()  # noqa: SLF001
        if isinstance(error, OSError):
            log.raise_if_failed()
