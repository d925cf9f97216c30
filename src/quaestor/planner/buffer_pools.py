"""Buffer pools: which pool for which queues, how large to begin, and whether what is there is right.

Rules
  B1  Four usage classes, four pools, unless class of service or behaviour over time asks for more.
  B2  Free pages below 15% begin the deferred write: never in the pools of system and of short-lived messages.
  B3  A pool that had no stealable page, had to wait for one, or wrote synchronously is too small.
  B4  A pool that always kept more than half its pages free is wasteful.
  B5  Below the bar (before V8.0) long-lived messages get 50,000 pages at most: more bunches checkpoint I/O.
  B6  Pages above the size of the page set are of no use.

Called by whoever sizes or judges a pool.  Calls geometry, release, source, bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from quaestor.planner.bounds import at_least, within
from quaestor.planner.geometry import PAGE_BYTES, pages
from quaestor.planner.release import Release
from quaestor.planner.source import OutOfRangeError, Source, Table, formula

SUPPLIED_SIZES = Table(
    "buffers of the supplied samples",
    Source("mp16-ch1", "T-12", "918-923"),
    ("buffer_pool", "test_buffers", "production_buffers"),
    ((0, 1050, 50_000), (1, 1050, 20_000), (2, 1050, 50_000), (3, 1050, 20_000)),
)
FREE_PERCENT_MIN = 15  # [951, 973, 979-981]
FREE_PERCENT_WASTEFUL = 50  # [983]
LONG_LIVED_PAGES_MAX_31_BIT = 50_000  # B5 [963-965]
QUEUE_OBJECT_BYTES = 2660  # F-60 [2245]


class Usage(Enum):
    """What a pool is for (B1); the number is the paper's."""

    SYSTEM = 1
    LONG_LIVED = 2
    SHORT_LIVED = 3
    EVERYTHING_ELSE = 4


class Verdict(Enum):
    """What the counts of a pool say."""

    TOO_SMALL = "too small"
    RIGHT = "right"
    WASTEFUL = "wasteful"


@dataclass(frozen=True, slots=True)
class UsageClass:
    """A row of the usage table: where to begin, and whether free pages may fall below 15%."""

    usage: Usage
    start_pages: int
    may_cross_15_percent: bool
    contents: str


USAGE_SOURCE = Source("mp16-ch1", "T-13", "929-983")
USAGE_CLASSES = {
    each.usage: each
    for each in (
        UsageClass(Usage.SYSTEM, 50_000, False, "objects on page set 0, SYSTEM.CLUSTER.*, SYSTEM.CHANNEL.SYNCQ"),
        UsageClass(Usage.LONG_LIVED, 20_000, False, "important messages that stay for two checkpoints or more"),
        UsageClass(Usage.SHORT_LIVED, 50_000, False, "performance-critical messages that stay for moments"),
        UsageClass(Usage.EVERYTHING_ELSE, 20_000, True, "dead-letter queue, SYSTEM.COMMAND.*, SYSTEM.ADMIN.*"),
    )
}


@dataclass(frozen=True, slots=True)
class PoolInterval:
    """What one pool counted in one interval, under the names of the buffer manager's statistics."""

    buffers: int  # QPSTNBUF
    stealable_lowest: int  # QPSTCBSL
    no_stealable: int = 0  # QPSTSOS
    stealable_waits: int = 0  # QPSTSTLA
    synchronous_writes: int = 0  # QPSTDMC


@formula("mp16-ch1", "F-21", "927")
def buffer_pool_highest(release: Release) -> int:
    """The highest pool number: 15 before V8.0, 99 from then on, one for each page set."""
    return 99 if release >= Release.V8_0 else 15


@formula("mp16-ch1", "T-13", "929-983")
def start_pages(usage: Usage, release: Release = Release.V9_0, wanted_pages: int | None = None) -> int:
    """Pages to begin with; `wanted_pages` where the backlog is known, within what the release allows (B1, B5)."""
    start = USAGE_CLASSES[usage].start_pages if wanted_pages is None else wanted_pages
    at_least(1, wanted_pages=start)
    if usage is Usage.LONG_LIVED and release < Release.V8_0:
        return min(start, LONG_LIVED_PAGES_MAX_31_BIT)
    return start


@formula("mp16-ch1", "T-12", "918-923")
def supplied_buffers(buffer_pool: int, *, production: bool = True) -> int:
    """Buffers the supplied sample defines for pools 0 to 3."""
    return int(SUPPLIED_SIZES.exactly(buffer_pool, "production_buffers" if production else "test_buffers"))


@formula("mp16-ch1", "F-22", "943")
def object_pages_crude(objects: int) -> int:
    """Pages of pool 0 for objects, by the crude rule of two to a page."""
    at_least(0, objects=objects)
    return -(-objects // 2)


@formula("mp16-ch1", "F-60", "2243-2247")
def queue_object_pages(queues: int, active_queues: int | None = None) -> int:
    """Pages of pool 0 for local queues at 2660 bytes; `active_queues` where storage is short: those and 20%."""
    at_least(0, queues=queues)
    if active_queues is None:
        return pages(queues * QUEUE_OBJECT_BYTES)
    within(0, queues, active_queues=active_queues)
    return -(-active_queues * QUEUE_OBJECT_BYTES * 12 // (PAGE_BYTES * 10))


@formula("mp16-ch1", "F-23", "979")
def lowest_free_percent(interval: PoolInterval) -> float:
    """The lowest share of stealable buffers in an interval."""
    at_least(1, buffers=interval.buffers)
    within(0, interval.buffers, stealable_lowest=interval.stealable_lowest)
    return 100 * interval.stealable_lowest / interval.buffers


@formula("mp16-ch1", "F-23", "951, 973, 979-983")
def judge(intervals: Sequence[PoolInterval], usage: Usage) -> Verdict:
    """Whether a pool is too small, right or wasteful over the intervals given (B2, B3, B4)."""
    if not intervals:
        raise OutOfRangeError("intervals 0 is not valid: 1 or more")
    lowest = [lowest_free_percent(each) for each in intervals]
    if any(each.no_stealable or each.stealable_waits or each.synchronous_writes for each in intervals):
        return Verdict.TOO_SMALL
    if min(lowest) < FREE_PERCENT_MIN and not USAGE_CLASSES[usage].may_cross_15_percent:
        return Verdict.TOO_SMALL
    return Verdict.WASTEFUL if min(lowest) > FREE_PERCENT_WASTEFUL else Verdict.RIGHT


@formula("mp16-ch1", "A-49", "1036, 2224")
def useful_pages_max(page_set_bytes: Sequence[int]) -> int:
    """Pages beyond which a pool for these page sets gains nothing (B6)."""
    return sum(pages(size) for size in page_set_bytes)


@formula("mp16-ch1", "A-48", "934-937, 2220")
def may_lie_above_the_bar(release: Release) -> bool:
    """Whether LOCATION(ABOVE) exists, which frees 31-bit storage for handles and the like."""
    return release >= Release.V8_0


@formula("mp16-ch1", "A-47", "991-995")
def may_be_page_fixed(pool_pages: int, free_real_bytes: int) -> bool:
    """Whether PAGECLAS(FIXED4KB) is safe: the whole pool within real storage that is free."""
    at_least(1, pool_pages=pool_pages)
    at_least(0, free_real_bytes=free_real_bytes)
    return pool_pages * PAGE_BYTES <= free_real_bytes
