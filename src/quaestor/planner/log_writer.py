"""The logger played through: which buffers go out in which I/O, and what is counted meanwhile.

Rules
  W1  A record is appended at the end of the log; a buffer is used from its first byte on.
  W2  Before a new buffer is begun: if WRTHRSH full buffers wait, the logger is called with the page before.
  W3  Before a new buffer is begun: if no buffer is free, the logger is called for all of them, unless it was, and
      the application waits until an I/O frees some.
  W4  A record that forces the log calls the logger with its own last byte.
  W5  The logger takes the highest page called for, writes the full buffers up to it, then the current buffer as an
      I/O of its own.  It looks again when that is done, or after each I/O where `looks_after_each_io`.
  W6  A buffer that was written while part-filled is written again alone; with dual logging and `serial_rewrite` that
      takes two I/O times.
  W7  Buffers are free once they were full and an I/O has written them.

Called by tests and by what compares plan and measurement.  Calls log_flow, bounds.
It has no clock: the times are the caller's, in ms, and one I/O takes `io_ms` whatever its length.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from quaestor.planner.bounds import above, at_least
from quaestor.planner.log_flow import (
    PAGE_BYTES,
    PAGES_PER_IO_MAX,
    WRITE_THRESHOLD_PAGES,
    current_buffer_io_times,
    log_buffers,
)
from quaestor.planner.source import OutOfRangeError, formula

EXTRACT = "mp16-ch4-11"


@dataclass(frozen=True, slots=True)
class Record:
    """A log record: when its application writes it, how long it is, and whether it forces the log.

    With `waits`, the records after it are written only when it is on disk: one application, alone.
    """

    at_ms: float
    length_bytes: int
    forces: bool = False
    waits: bool = False
    fill_ms_per_page: float = 0.0

    def __post_init__(self) -> None:
        at_least(1, length_bytes=self.length_bytes)
        at_least(0, at_ms=self.at_ms, fill_ms_per_page=self.fill_ms_per_page)
        if self.waits and not self.forces:
            raise OutOfRangeError("waits True is outside: only a record that forces the log can be waited for")


@dataclass(frozen=True, slots=True)
class LogSettings:
    """How the log is defined; OUTBUFF default as shipped."""

    outbuff_kb: int = 4_000
    write_threshold_pages: int = WRITE_THRESHOLD_PAGES
    pages_per_io_max: int = PAGES_PER_IO_MAX
    dual: bool = True
    serial_rewrite: bool = True
    looks_after_each_io: bool = False
    io_ms: float = 1.0

    def __post_init__(self) -> None:
        at_least(1, write_threshold_pages=self.write_threshold_pages, pages_per_io_max=self.pages_per_io_max)
        above(0, io_ms=self.io_ms)
        log_buffers(self.outbuff_kb)  # refuses what gives none


@dataclass(frozen=True, slots=True)
class LogIo:
    """One I/O to each copy: pages `first` to `last`, and whether it rewrote a part-filled page."""

    first: int
    last: int
    start_ms: float
    io_times: int

    @property
    def series(self) -> bool:
        return self.io_times > 1

    def __str__(self) -> str:
        pages = f"B{self.first}" if self.first == self.last else f"B{self.first}...B{self.last}"
        return f"{pages} in {'series' if self.series else 'parallel'}"


@dataclass(slots=True)
class LogRun:
    """What came of it: the I/Os in order, and the log manager's counters."""

    ios: list[LogIo] = field(default_factory=list)
    writes_nowait: int = 0  # QJSTWRNW
    buffers_filled: int = 0  # QJSTBFFL
    logger_calls: int = 0  # QJSTBFWR
    waited_before: list[int] = field(default_factory=list)  # pages for which an application waited
    end_ms: float = 0.0

    @property
    def buffer_waits(self) -> int:  # QJSTWTB
        return len(self.waited_before)

    @property
    def log_ios(self) -> int:  # QJSTLOGW
        return len(self.ios)

    @property
    def io_times(self) -> int:
        return sum(io.io_times for io in self.ios)


@formula(EXTRACT, "5.4 ORACLE 19, 21-23", "4741-4791")
def play(records: Sequence[Record], settings: LogSettings | None = None) -> LogRun:
    """Play the records through the logger, in the order given, and let it finish what it was called for."""
    if any(after.at_ms < before.at_ms for before, after in pairwise(records)):
        raise OutOfRangeError("records: at_ms must not go back; each record's time is at least the one before it")
    logger = _Logger(settings or LogSettings())
    now_ms = 0.0
    for record in records:
        now_ms = logger.append(record, max(now_ms, record.at_ms))
    return logger.finish()


class _Logger:
    """State of the play.  An RBA here is a count of bytes from 0; pages are numbered from 1 as in the papers."""

    def __init__(self, settings: LogSettings) -> None:
        self.settings = settings
        self.buffers = log_buffers(settings.outbuff_kb)
        self.run = LogRun()
        self.end_rba = 0
        self.written_rba = 0
        self.target_rba = 0  # what the logger is writing up to
        self.called_rba = 0  # the highest RBA it was called with
        self.io: tuple[LogIo, int] | None = None  # under way, and the RBA it will have written

    def append(self, record: Record, now_ms: float) -> float:
        """Write the record buffer by buffer (W1); the answer is when its application goes on."""
        self._advance(now_ms)
        left = record.length_bytes
        while left:
            if self.end_rba % PAGE_BYTES == 0:
                now_ms = self._begin_buffer(now_ms)
            share = min(left, PAGE_BYTES - self.end_rba % PAGE_BYTES)
            now_ms += record.fill_ms_per_page * share / PAGE_BYTES
            self._advance(now_ms)
            self.end_rba += share
            left -= share
        self.run.writes_nowait += 1
        if record.forces:
            self._call(self.end_rba, now_ms)  # W4
        while record.waits and self.written_rba < self.end_rba:
            now_ms = self._complete()
        return now_ms

    def _begin_buffer(self, now_ms: float) -> float:
        waiting = (self.end_rba - self.written_rba) // PAGE_BYTES
        if waiting >= self.settings.write_threshold_pages:  # W2
            self._call(self.end_rba, now_ms)
        if self._buffers_in_use() >= self.buffers:  # W3
            self.run.waited_before.append(self.end_rba // PAGE_BYTES + 1)
            if self.called_rba < self.end_rba:
                self._call(self.end_rba, now_ms)
        while self._buffers_in_use() >= self.buffers:
            now_ms = self._complete()
        self.run.buffers_filled += 1
        return now_ms

    def _buffers_in_use(self) -> int:
        return self.end_rba // PAGE_BYTES - self.written_rba // PAGE_BYTES  # W7

    def _call(self, rba: int, now_ms: float) -> None:
        self.run.logger_calls += 1
        self.called_rba = rba
        if not self.io:
            self._start_io(now_ms)

    def _start_io(self, now_ms: float) -> None:
        """Begin the next I/O that the logger was called for, if there is one left (W5)."""
        if self.settings.looks_after_each_io or self.target_rba <= self.written_rba:
            self.target_rba = self.called_rba
        if self.target_rba <= self.written_rba:
            return
        rewrite = self.written_rba % PAGE_BYTES > 0
        first = self.written_rba // PAGE_BYTES + 1
        last_full = min(self.end_rba // PAGE_BYTES, math.ceil(self.target_rba / PAGE_BYTES))
        last = first if rewrite else max(first, min(last_full, first + self.settings.pages_per_io_max - 1))  # W6
        io_times = current_buffer_io_times(
            dual=self.settings.dual, rewrite=rewrite, serial_rewrite=self.settings.serial_rewrite
        )
        self.io = LogIo(first, last, now_ms, io_times), min(self.end_rba, last * PAGE_BYTES)

    def _complete(self) -> float:
        """Let the I/O under way end, and begin the next one; the answer is when it ended."""
        if self.io is None:
            raise RuntimeError("W3, W4: an application waits for a logger that nobody called")
        io, self.written_rba = self.io
        self.io = None
        self.run.ios.append(io)
        self.run.end_ms = io.start_ms + io.io_times * self.settings.io_ms
        self._start_io(self.run.end_ms)
        return self.run.end_ms

    def _advance(self, now_ms: float) -> None:
        while self.io and self.io[0].start_ms + self.io[0].io_times * self.settings.io_ms <= now_ms:
            self._complete()

    def finish(self) -> LogRun:
        self._advance(math.inf)
        return self.run
