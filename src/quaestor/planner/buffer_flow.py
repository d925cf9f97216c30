"""Buffer manager arithmetic: when pages are written, how many buffers keep them in memory, what the counters say.

Rules
  P1  Stealable is unused, or unchanged and not in use.  Percentages are of all buffers of the pool.
  P2  Deferred write starts below 15 % stealable or above 85 % changed, and stops at 25 % stealable.
  P3  A page is written synchronously at release below 5 % stealable or above 95 % changed.
  P4  A page is written by a checkpoint when its first change is two checkpoints old.
  P5  A message starts on a new page, so a pool is sized by pages and not by bytes: peak pages / 0.85 keeps 15 % free.
  P6  A page changes on put and on destructive get, never on browse.

Called by the plan and by the advisor (BP-1 to BP-9).  Calls source, bounds, finding.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import Enum
from fractions import Fraction

from quaestor.planner.bounds import above, at_least, within
from quaestor.planner.finding import Finding, alarms_first
from quaestor.planner.source import OutOfRangeError, formula

EXTRACT = "mp16-ch4-11"

DEFERRED_WRITE_BELOW = Fraction(15, 100)
DEFERRED_WRITE_STOPS_AT = Fraction(25, 100)
SYNCHRONOUS_BELOW = Fraction(5, 100)
CHECKPOINTS_UNTIL_WRITTEN = 2
READS_PER_WRITE_HIGH = 2.0


class PageState(Enum):
    """What a buffer holds; `stealable` says whether it may be reassigned without a write (P1)."""

    UNUSED = "unused"
    CHANGED_IN_USE = "changed, in use"
    CHANGED = "changed, not in use"
    UNCHANGED_IN_USE = "unchanged, in use"
    UNCHANGED = "unchanged, not in use"

    @property
    def stealable(self) -> bool:
        return self in {PageState.UNUSED, PageState.UNCHANGED}

    @property
    def writable(self) -> bool:
        return self is PageState.CHANGED


class Request(Enum):
    """What the data manager asks of the buffer manager, and what the buffer manager does by itself."""

    GET_PAGE = "get page"
    GET_NEW_PAGE = "get new page"
    SET_WRITE = "set write"
    RELEASE = "release"
    WRITTEN = "page written"
    STEAL = "steal"


NEXT_STATE: dict[tuple[PageState, Request], PageState] = {
    (PageState.UNUSED, Request.GET_PAGE): PageState.UNCHANGED_IN_USE,
    (PageState.UNUSED, Request.GET_NEW_PAGE): PageState.UNCHANGED_IN_USE,
    (PageState.UNUSED, Request.STEAL): PageState.UNUSED,
    (PageState.UNCHANGED, Request.GET_PAGE): PageState.UNCHANGED_IN_USE,
    (PageState.UNCHANGED, Request.GET_NEW_PAGE): PageState.UNCHANGED_IN_USE,
    (PageState.UNCHANGED, Request.STEAL): PageState.UNUSED,
    (PageState.UNCHANGED_IN_USE, Request.GET_PAGE): PageState.UNCHANGED_IN_USE,
    (PageState.UNCHANGED_IN_USE, Request.SET_WRITE): PageState.CHANGED_IN_USE,
    (PageState.UNCHANGED_IN_USE, Request.RELEASE): PageState.UNCHANGED,
    (PageState.CHANGED_IN_USE, Request.GET_PAGE): PageState.CHANGED_IN_USE,
    (PageState.CHANGED_IN_USE, Request.SET_WRITE): PageState.CHANGED_IN_USE,
    (PageState.CHANGED_IN_USE, Request.RELEASE): PageState.CHANGED,
    (PageState.CHANGED, Request.GET_PAGE): PageState.CHANGED_IN_USE,
    (PageState.CHANGED, Request.GET_NEW_PAGE): PageState.CHANGED_IN_USE,
    (PageState.CHANGED, Request.WRITTEN): PageState.UNCHANGED,
}
"""Lines 4523-4557 for a page with one user.  A pair that is not here cannot happen."""


@formula(EXTRACT, "5.1.3", "4523-4557")
def next_state(state: PageState, request: Request) -> PageState:
    """The state after a request; a request that the state does not allow is refused."""
    try:
        return NEXT_STATE[state, request]
    except KeyError:
        allowed = ", ".join(r.value for s, r in NEXT_STATE if s is state)
        raise OutOfRangeError(f"a page {state.value} takes no {request.value}; it takes {allowed}") from None


@dataclass(frozen=True, slots=True)
class PoolThresholds:
    """The counts of buffers at which a pool of this size begins and stops writing (P2, P3)."""

    buffers: int
    deferred_write_starts_at_stealable: int
    deferred_write_starts_at_changed: int
    deferred_write_stops_at_stealable: int
    synchronous_at_stealable: int
    synchronous_at_changed: int


def _most_below(share: Fraction, buffers: int) -> int:
    """The largest count below this share of the buffers."""
    return math.ceil(share * buffers) - 1


def _least_above(share: Fraction, buffers: int) -> int:
    """The smallest count above this share of the buffers."""
    return math.floor(share * buffers) + 1


@formula(EXTRACT, "5.1.1 ORACLE 18", "4571-4577")
def pool_thresholds(buffers: int) -> PoolThresholds:
    at_least(1, buffers=buffers)
    return PoolThresholds(
        buffers,
        deferred_write_starts_at_stealable=_most_below(DEFERRED_WRITE_BELOW, buffers),
        deferred_write_starts_at_changed=_least_above(1 - DEFERRED_WRITE_BELOW, buffers),
        deferred_write_stops_at_stealable=math.ceil(DEFERRED_WRITE_STOPS_AT * buffers),
        synchronous_at_stealable=_most_below(SYNCHRONOUS_BELOW, buffers),
        synchronous_at_changed=_least_above(1 - SYNCHRONOUS_BELOW, buffers),
    )


@formula(EXTRACT, "5.2", "4502-4519")
def buffers_that_keep_messages(peak_pages: int) -> int:
    """Buffers with which 15 % stay free at the peak, so that nothing is read back from the page set (P5)."""
    at_least(0, peak_pages=peak_pages)
    return math.ceil(peak_pages / (1 - DEFERRED_WRITE_BELOW))


@formula(EXTRACT, "5.2", "4506")
def page_writes(pages: int, *, checkpoints_before_get: int, checkpoints_after_get: int, reused: bool = False) -> int:
    """Pages checkpoints write for persistent messages put, kept, and got, one message to a page (P4, P6).

    The change made by the put is written when it is two checkpoints old, and so is the change made by the get; if
    the page is reused before the second write, the write for the new message covers both.
    """
    at_least(0, pages=pages, checkpoints_before_get=checkpoints_before_get, checkpoints_after_get=checkpoints_after_get)
    put_written = checkpoints_before_get >= CHECKPOINTS_UNTIL_WRITTEN
    age_of_first_change = checkpoints_after_get + (0 if put_written else checkpoints_before_get)
    get_written = not reused and age_of_first_change >= CHECKPOINTS_UNTIL_WRITTEN
    return pages * (put_written + get_written)


@dataclass(frozen=True, slots=True)
class PoolInterval:
    """SMF 115 counters of one buffer pool over one interval, by their print names."""

    seconds: float
    buffers: int  # QPSTNBUF
    stealable_low: int  # QPSTCBSL
    stealable_now: int  # QPSTCBS
    get_pages: int  # QPSTGETP
    get_new_pages: int  # QPSTGETN
    read_ios: int  # QPSTRIO
    set_writes: int  # QPSTSTW
    pages_written: int  # QPSTTPW
    write_ios: int  # QPSTWIO
    synchronous_writes: int  # QPSTIMW
    deferred_write_starts: int  # QPSTDWT
    synchronous_thresholds: int  # QPSTDMC
    steals: int  # QPSTSTL
    steal_contentions: int  # QPSTSTLA
    short_on_storage: int  # QPSTSOS

    def __post_init__(self) -> None:
        above(0, seconds=self.seconds)
        at_least(1, buffers=self.buffers)
        within(0, self.buffers, stealable_low=self.stealable_low, stealable_now=self.stealable_now)
        at_least(0, **{each.name: getattr(self, each.name) for each in fields(self)})

    @property
    def stealable_low_percent(self) -> float:
        return 100 * self.stealable_low / self.buffers

    @property
    def steal_contention_percent(self) -> float:
        return 100 * self.steal_contentions / self.steals if self.steals else 0.0

    @property
    def reads_per_sec(self) -> float:
        return self.read_ios / self.seconds

    @property
    def ios_per_sec(self) -> float:
        """Reads and writes: what the page sets' volumes must bear (BP-7)."""
        return (self.read_ios + self.write_ios) / self.seconds

    @property
    def pages_per_write_io(self) -> float:
        return self.pages_written / self.write_ios if self.write_ios else 0.0

    @property
    def reads_per_page_written(self) -> float:
        return self.read_ios / self.pages_written if self.pages_written else math.inf if self.read_ios else 0.0

    @property
    def new_page_steals(self) -> int:
        """Steals that neither read a page nor met contention; derived from two intervals, not from the papers."""
        return max(0, self.steals - self.read_ios - self.steal_contentions)


class Life(Enum):
    """How long messages of a pool live (lines 4498-4519)."""

    SHORT = "used within two checkpoints; pool 0 counts as short-lived"
    LONG = "kept for later; the pool cannot hold them all"


@formula(EXTRACT, "5.3 ORACLE 17", "4591-4658")
def findings(
    interval: PoolInterval,
    life: Life,
    *,
    restarted: bool = False,
    reads_per_write_high: float = READS_PER_WRITE_HIGH,
) -> tuple[Finding, ...]:
    """Which rules of the papers the counters of one interval meet.

    BP-9 is stated for long-lived pools; it is reported for short-lived ones too, because thrashing of pool 0 in the
    papers' own example shows nowhere else.  Its cut-off is ours.
    """
    above(0, reads_per_write_high=reads_per_write_high)
    found = [*_shortage(interval), *_thrashing(interval, reads_per_write_high)]
    if life is Life.SHORT:
        found += _short_lived(interval, restarted=restarted)
    else:
        found += _long_lived(interval)
    return alarms_first(found)


def _shortage(at: PoolInterval) -> Iterator[Finding]:
    counts = (("SOS", at.short_on_storage), ("STLA", at.steal_contentions), ("DMC", at.synchronous_thresholds))
    seen = [f"{name} {count}" for name, count in counts if count]
    if seen:
        share = f" ({at.steal_contention_percent:.1f} % of steals)" if at.steal_contentions else ""
        yield Finding("BP-1", True, "4593", ", ".join(seen) + share)


def _short_lived(at: PoolInterval, *, restarted: bool) -> Iterator[Finding]:
    if at.deferred_write_starts or at.stealable_low_percent <= 100 * DEFERRED_WRITE_BELOW:
        low = f"lowest stealable {at.stealable_low} of {at.buffers}"
        yield Finding("BP-2", True, "4595", f"DWT {at.deferred_write_starts}, {low}")
    elif at.pages_written:
        yield Finding("BP-3", False, "4596", f"TPW {at.pages_written} with DWT 0: written by checkpoints")
    if at.read_ios and not restarted:
        yield Finding("BP-4", True, "4597", f"RIO {at.read_ios}, {at.reads_per_sec:.0f} a second")
    if at.steals:
        yield Finding("BP-5", False, "4598", f"STL {at.steals}: buffers not used before are being taken")


def _long_lived(at: PoolInterval) -> Iterator[Finding]:
    if at.read_ios or at.write_ios:
        yield Finding("BP-7", False, "4601", f"{at.ios_per_sec:.1f} page set I/Os a second")


def _thrashing(at: PoolInterval, high: float) -> Iterator[Finding]:
    if at.read_ios and at.reads_per_page_written > high:
        times = f"{at.reads_per_page_written:.0f} times" if at.pages_written else "with no page written"
        yield Finding("BP-9", True, "4603-4607", f"RIO {at.read_ios} over TPW {at.pages_written}: {times}")


@dataclass(frozen=True, slots=True)
class AccessShift:
    """How the use of a pool changed from one interval to the next: more looking, or more changing."""

    get_pages_ratio: float
    gets_per_new_page: tuple[float, float]
    set_writes_per_get: tuple[float, float]

    @property
    def more_browsing(self) -> bool:
        """More pages looked at while a smaller share of them is changed: browse or get by identifier."""
        return self.get_pages_ratio > 1 and self.set_writes_per_get[1] < self.set_writes_per_get[0]


@formula(EXTRACT, "5.3 ORACLE 17", "4640-4643")
def access_shift(before: PoolInterval, after: PoolInterval) -> AccessShift:
    for interval in (before, after):
        above(0, get_pages=interval.get_pages, get_new_pages=interval.get_new_pages)
    return AccessShift(
        after.get_pages / before.get_pages,
        (before.get_pages / before.get_new_pages, after.get_pages / after.get_new_pages),
        (before.set_writes / before.get_pages, after.set_writes / after.get_pages),
    )
