"""Log manager arithmetic: pages, calls, I/Os and time that puts, gets and commits cost.

Rules
  L1  A log buffer, a page of the log and a control interval are 4,096 bytes; OUTBUFF is in KB.
  L2  Full buffers are written several to an I/O; the current buffer is always an I/O of its own.
  L3  The limit of pages for each I/O is an argument: 128 is the product's, 15 is the one in the worked examples.
  L4  With dual logging both copies are written in parallel, except that the current buffer goes to the copies in
      series where it is a re-write and the DASD has no write cache.  The rule of thumb charges every current
      buffer two I/O times; `serial_rewrite` says whether it holds.
  L5  A commit is one log check, two under a two-phase coordinator.
  L6  Elapsed time is I/O times multiplied by the DASD response, which grows with the data in the I/O.

Called by the plan, by the advisor (LOG-1 to LOG-6) and by log_writer.  Calls source, bounds.
What happens when several applications overlap is not here: log_writer plays it through.
"""

import math
from dataclasses import dataclass

from quaestor.planner.bounds import above, at_least, within
from quaestor.planner.source import formula

EXTRACT = "mp16-ch4-11"
PAGE_BYTES = 4_096
PAGES_PER_IO_MAX = 128
WRITE_THRESHOLD_PAGES = 20


@formula(EXTRACT, "5.4 ORACLE 23", "4791")
def log_buffers(outbuff_kb: float) -> int:
    """How many log buffers OUTBUFF gives (L1)."""
    at_least(PAGE_BYTES / 1_024, outbuff_kb=outbuff_kb)
    return math.floor(outbuff_kb * 1_024 / PAGE_BYTES)


@formula(EXTRACT, "5.4 LOG-1", "4791")
def outbuff_kb_for(pages_waiting_at_most: int) -> int:
    """OUTBUFF that keeps an application from waiting for a buffer while this many pages wait to be written.

    One buffer more than that, because the page being filled needs one too.
    """
    at_least(0, pages_waiting_at_most=pages_waiting_at_most)
    return (pages_waiting_at_most + 1) * PAGE_BYTES // 1_024


@formula(EXTRACT, "5.4", "4714-4726")
def current_buffer_io_times(*, dual: bool = True, rewrite: bool = True, serial_rewrite: bool = True) -> int:
    """I/O times to write the current buffer once: 2 in series, else 1 (L4)."""
    return 2 if dual and rewrite and serial_rewrite else 1


@formula(EXTRACT, "5.4 ORACLE 20", "4708")
def full_page_ios(pages: float, *, pages_per_io_max: int = PAGES_PER_IO_MAX) -> int:
    """I/Os for full buffers (L2, L3)."""
    at_least(0, pages=pages)
    at_least(1, pages_per_io_max=pages_per_io_max)
    return math.ceil(pages / pages_per_io_max)


@formula(EXTRACT, "5.4 ORACLE 24", "4726, 4793-4802")
def unit_of_work_io_times(
    full_pages: float,
    *,
    log_checks: int = 1,
    pages_per_io_max: int = PAGES_PER_IO_MAX,
    current_io_times: int = 2,
) -> int:
    """I/O times of one unit of work: its full pages, then the current buffer for each log check (L2, L5)."""
    at_least(1, log_checks=log_checks)
    within(1, 2, current_io_times=current_io_times)
    return full_page_ios(full_pages, pages_per_io_max=pages_per_io_max) + log_checks * current_io_times


@formula(EXTRACT, "5.4 ORACLE 26", "4816-4822")
def elapsed_ms(io_times: float, response_ms: float) -> float:
    """Time to log a unit of work (L6)."""
    at_least(0, io_times=io_times, response_ms=response_ms)
    return io_times * response_ms


def is_log_bound(measured_ms: float, io_times: float, response_ms: float, *, within_percent: float = 15.0) -> bool:
    """Whether a measured put or get with its commit is explained by log I/O alone (LOG-6).  The margin is ours."""
    above(0, measured_ms=measured_ms)
    at_least(0, within_percent=within_percent)
    return abs(measured_ms - elapsed_ms(io_times, response_ms)) <= measured_ms * within_percent / 100


@formula(EXTRACT, "5.4 ORACLE 24", "4801")
def logger_calls(full_pages: float, *, write_threshold_pages: int = WRITE_THRESHOLD_PAGES, log_checks: int = 1) -> int:
    """Calls to the logging task for one unit of work on a quiet system.

    One for each log check, and one each time WRTHRSH full buffers have gathered; on a quiet system the logger has
    written them before as many gather again.
    """
    at_least(0, full_pages=full_pages)
    at_least(1, write_threshold_pages=write_threshold_pages, log_checks=log_checks)
    return math.floor(full_pages / write_threshold_pages) + log_checks


@dataclass(frozen=True, slots=True)
class LogCounters:
    """What the log manager counted while `messages` were put or got, each with its commit."""

    messages: int
    writes_nowait: int  # QJSTWRNW
    buffers_filled: int  # QJSTBFFL
    logger_calls: int  # QJSTBFWR
    buffer_waits: int = 0  # QJSTWTB

    def __post_init__(self) -> None:
        at_least(1, messages=self.messages)
        at_least(
            0,
            writes_nowait=self.writes_nowait,
            buffers_filled=self.buffers_filled,
            logger_calls=self.logger_calls,
            buffer_waits=self.buffer_waits,
        )

    @property
    def pages_per_message(self) -> float:
        return self.buffers_filled / self.messages

    @property
    def whole_pages_bytes_per_message(self) -> int:
        """Bytes of the whole pages a message fills: log data, page and unit of work information included."""
        return math.floor(self.pages_per_message) * PAGE_BYTES

    @property
    def logger_calls_per_message(self) -> float:
        return self.logger_calls / self.messages

    @property
    def writes_per_page(self) -> float:
        """Calls for each page filled: above 1 the same part-filled page is written again and again (LOG-3)."""
        above(0, buffers_filled=self.buffers_filled)
        return self.logger_calls / self.buffers_filled

    def reaches_write_threshold(self, write_threshold_pages: int = WRITE_THRESHOLD_PAGES) -> bool:
        """Whether a message alone fills WRTHRSH buffers before its commit (LOG-2)."""
        return self.pages_per_message >= write_threshold_pages


@dataclass(frozen=True, slots=True)
class LogTime:
    """How long the log is busy with a batch of messages, step by step as the papers work it out."""

    messages: int
    parallel_pages: int
    parallel_ios: int
    parallel_ms: float
    current_ms: float

    @property
    def total_ms(self) -> float:
        return self.parallel_ms + self.current_ms

    @property
    def messages_per_sec_max(self) -> float:
        return 1_000 * self.messages / self.total_ms


@formula(EXTRACT, "5.4 ORACLE 27", "4824-4843")
def log_time(
    messages: int,
    *,
    pages: int,
    put_commits: int,
    get_commits: int,
    many_pages_io_ms: float,
    current_io_ms: float,
    pages_per_io_max: int = PAGES_PER_IO_MAX,
    current_io_times: int = 2,
    log_checks_per_commit: int = 1,
) -> LogTime:
    """Time the log needs for messages put and got, each with its commit; its inverse is the highest rate.

    Each put commit writes one of the pages as current buffer; the other pages go out in parallel.
    """
    at_least(1, messages=messages)
    at_least(0, put_commits=put_commits, get_commits=get_commits)
    at_least(put_commits, pages=pages)
    above(0, many_pages_io_ms=many_pages_io_ms, current_io_ms=current_io_ms)
    within(1, 2, current_io_times=current_io_times, log_checks_per_commit=log_checks_per_commit)
    parallel_pages = pages - put_commits
    ios = full_page_ios(parallel_pages, pages_per_io_max=pages_per_io_max)
    log_checks = (put_commits + get_commits) * log_checks_per_commit
    return LogTime(messages, parallel_pages, ios, ios * many_pages_io_ms, log_checks * current_io_times * current_io_ms)
