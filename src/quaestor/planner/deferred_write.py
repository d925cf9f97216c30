"""The deferred write process: when it writes, how much at a checkpoint, for how long.

Rules
  W1  It starts when stealable pages fall below 15% (or changed ones pass 85%) and stops at 25% stealable; below 5% the
      putting task writes by itself and waits.
  W2  Whole pages are written, whatever the message needs of them.
  W3  A checkpoint writes at most 85% of the pools, for beyond that they are written anyway.  From V8.0 pools may be so
      large that the log is the bound: the pages of as many messages as have the records of their puts in one log,
      counting whole records to a log page.
  W4  Before V8.0 an I/O takes up to 4 pages; from V8.0 16, with up to 64 I/Os in flight for each pool.

Called by whoever plans pools and checkpoints.  Calls geometry, page_sets, release, source, bounds.
"""

from enum import Enum

from quaestor.planner.bounds import above, at_least, within
from quaestor.planner.geometry import PAGE_BYTES
from quaestor.planner.page_sets import Design, pages_for_backlog
from quaestor.planner.quantity import MIB
from quaestor.planner.release import Release
from quaestor.planner.source import formula

START_STEALABLE_PERCENT = 15  # [1009, 4571]
STOP_STEALABLE_PERCENT = 25  # [1010, 4572]
SYNCHRONOUS_STEALABLE_PERCENT = 5  # [1011, 4573]
CHECKPOINT_SHARE_31_BIT = 0.85  # W3 [1034]
PAGES_PER_IO_BEFORE_V8 = 4  # W4 [1020]
PAGES_PER_IO, IOS_IN_FLIGHT = 16, 64  # W4 [1022]


class WriteRate(Enum):
    """Measured rates of one deferred write process in bytes per second (T-14 [1048-1050, 1685-1686])."""

    V7_1 = 25 * MIB
    SLOW_DASD = 100 * MIB
    V8_0_DS8870_LOW = 300 * MIB
    V8_0_DS8870_HIGH = 600 * MIB


class Writing(Enum):
    """What happens to changed pages at a given share of stealable ones."""

    IDLE = "idle"
    DEFERRED = "deferred"
    SYNCHRONOUS = "synchronous"


@formula("mp16-ch1", "M-23", "1009-1011")
def writing_at(stealable_percent: float, *, already_writing: bool = False) -> Writing:
    """The state of deferred write (W1); between 15% and 25% it goes on if it was on."""
    within(0, 100, stealable_percent=stealable_percent)
    if stealable_percent < SYNCHRONOUS_STEALABLE_PERCENT:
        return Writing.SYNCHRONOUS
    limit = STOP_STEALABLE_PERCENT if already_writing else START_STEALABLE_PERCENT
    return Writing.DEFERRED if stealable_percent < limit else Writing.IDLE


@formula("mp16-ch1", "M-24", "1020-1022")
def pages_in_flight_max(release: Release = Release.V9_0) -> int:
    """Pages one pool can have in flight; before V8.0 one I/O at a time (W4)."""
    return PAGES_PER_IO * IOS_IN_FLIGHT if release >= Release.V8_0 else PAGES_PER_IO_BEFORE_V8


@formula("mp16-ch1", "F-24", "1038")
def checkpoint_write_bytes(messages: int, message_bytes: int, design: Design = Design.ONE_PER_PAGE) -> int:
    """Bytes written for messages that stayed through two checkpoints (W2)."""
    return pages_for_backlog(messages, message_bytes, design) * PAGE_BYTES


@formula("mp16-ch1", "F-25", "1034")
def checkpoint_pages_max_31_bit(pool_bytes_total: int) -> int:
    """The most pages one checkpoint writes, 85% of all pools; before V8.0, less than 1 GB (W3)."""
    at_least(0, pool_bytes_total=pool_bytes_total)
    return int(pool_bytes_total * CHECKPOINT_SHARE_31_BIT) // PAGE_BYTES


@formula("mp16-ch1", "F-25", "1036-1044")
def checkpoint_pages_max(log_bytes: int, log_bytes_per_message: float, pages_per_message: float = 1.0) -> int:
    """From V8.0: the most pages that messages put can bring to a checkpoint from one log (W3).

    A record longer than a log page takes as many log pages as it needs, so it counts as part of a message.
    """
    at_least(0, log_bytes=log_bytes, pages_per_message=pages_per_message)
    above(0, log_bytes_per_message=log_bytes_per_message)
    if log_bytes_per_message > PAGE_BYTES:
        messages = int(log_bytes // log_bytes_per_message)
    else:
        messages = log_bytes // PAGE_BYTES * int(PAGE_BYTES // log_bytes_per_message)
    return int(messages * pages_per_message)


@formula("mp16-ch1", "F-26", "1046-1050")
def burst_s(data_bytes: float, write_rate_bytes_per_s: float) -> float:
    """Seconds a checkpoint keeps the deferred write busy."""
    at_least(0, data_bytes=data_bytes)
    above(0, write_rate_bytes_per_s=write_rate_bytes_per_s)
    return data_bytes / write_rate_bytes_per_s
