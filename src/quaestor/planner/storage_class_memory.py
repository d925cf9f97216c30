"""Storage class memory behind a structure: what it holds, what it takes of the facility, and whom it suits.

Rules
  V1  Using SCM takes augmented space from the facility's free storage, about 7.4% of the SCM used: 77,455 MB for 1 TB.
  V2  SCM is never over-committed: what structures may use together stays within what the facility has.
  V3  Pre-staging begins at 90% full and freezes the ratio of entries to elements until SCM is empty again, so
      system-initiated alter must have finished before (FULLTHRESHOLD well below 90).
  V4  It suits gets in priority order up to the measured rates.  Gets in random order fault on nearly every request.
  V5  Capacity counts entries and elements of 256 bytes at the best ratio.  The paper's 16.7 million messages of 62 KB
      in 1 TB count 64 KB a message; the units give 17.1 million.
  V6  The paper prints 14,310 million offloaded messages for 1 TB.  An entry and two elements are 768 bytes; 1 TB holds
      1,431 million of them.  The printed figure is ten times too large.

Called by the planner's answers.  Calls bounds, source, structures.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from quaestor.planner.bounds import above, at_least, one_of, within
from quaestor.planner.source import Source, Table, formula
from quaestor.planner.structures import (
    ELEMENT_BYTES,
    ELEMENTS_OFFLOADED,
    ENTRY_BYTES,
    LARGEST_WHOLE_BYTES,
    bytes_held,
)

EXTRACT = "mp16-ch2-3"

PRE_STAGE_PERCENT = 90
AUGMENTED_MB_PER_TB = 77_455
MB_PER_TB = 1_048_576

PEAK_MB_PER_S = Table(
    "peak MB/s of one task to and from SCM, priority order",
    Source(EXTRACT, "A13 ORACLE 36", "3064-3068"),
    ("message_bytes", "write", "read"),
    ((2048, 228, 177), (8192, 463, 382), (16_384, 460, 357), (63_488, 868, 608)),
)
DELAYED_PERCENT_AT_62_KB = 3  # of the writes at the last peak


@dataclass(frozen=True, slots=True)
class RandomAccess:
    """Microseconds of 2 KB puts and gets in random order."""

    put_elapsed_us: int
    put_cpu_us: int
    get_elapsed_us: int
    get_cpu_us: int

    @property
    def cf_us(self) -> int:
        """CF cost of a put and a get, about: elapsed less CPU."""
        return self.put_elapsed_us - self.put_cpu_us + self.get_elapsed_us - self.get_cpu_us


RANDOM_ACCESS_SOURCE = Source(EXTRACT, "A13 ORACLE 37", "3087-3091")
RANDOM_ACCESS = {
    "cf": RandomAccess(8, 8, 19, 19),
    "scm z13": RandomAccess(1700, 25, 3600, 80),
    "scm z14": RandomAccess(8, 8, 1210, 53),
}


@dataclass(frozen=True, slots=True)
class ScmSummary:
    """One structure of RMF's SCM structure summary; K, M and G are powers of 1000 there."""

    entries_max: float
    elements_max: float
    entries_now: float
    elements_now: float
    operations: int
    bytes_moved: float
    faults_percent: float

    @property
    def bytes_per_operation(self) -> float:
        above(0, operations=self.operations)
        return self.bytes_moved / self.operations

    @property
    def bytes_max(self) -> float:
        """What the estimated entries and elements add up to."""
        return self.entries_max * ENTRY_BYTES + self.elements_max * ELEMENT_BYTES

    @property
    def pattern_is_predictable(self) -> bool:
        """Fewer faults than requests: the order of gets is the one pre-fetching expects (V4)."""
        return self.faults_percent <= 100


@formula(EXTRACT, "A13 augmented space", "3033-3043")
def augmented_mb(scm_mb: float) -> float:
    """Free storage the facility needs before this much SCM can be used (V1)."""
    at_least(0, scm_mb=scm_mb)
    return scm_mb * AUGMENTED_MB_PER_TB / MB_PER_TB


@formula(EXTRACT, "A13 SCM that free storage allows (CF-R46) [D]", "3021-3026, 3056")
def usable_scm_mb(scm_mb: float, cf_free_mb: float) -> float:
    """SCM that can be used with so much free storage in the facility (V1)."""
    at_least(0, scm_mb=scm_mb, cf_free_mb=cf_free_mb)
    by_free = cf_free_mb * MB_PER_TB / AUGMENTED_MB_PER_TB
    return min(scm_mb, by_free)


@formula(EXTRACT, "A13 over-commitment (CF-R45)", "3055")
def over_committed_mb(scm_max_mb: Iterable[float], scm_assigned_mb: float) -> float:
    """How much the structures' SCMMAXSIZE together exceed what the facility has (V2); 0 is as it should be."""
    at_least(0, scm_assigned_mb=scm_assigned_mb)
    wanted = list(scm_max_mb)
    for mb in wanted:
        at_least(0, scm_max_mb=mb)
    return max(0.0, sum(wanted) - scm_assigned_mb)


@formula(EXTRACT, "A13 capacity without offload", "3130-3132")
def messages_in_scm(scm_bytes: int, message_bytes: int) -> int:
    """Whole messages that SCM holds at the ratio that suits them (V5)."""
    at_least(0, scm_bytes=scm_bytes)
    within(0, LARGEST_WHOLE_BYTES, message_bytes=message_bytes)
    return scm_bytes // bytes_held(message_bytes)


@formula(EXTRACT, "A13 capacity with offload", "3136-3140")
def offloaded_messages_in_scm(scm_bytes: int) -> int:
    """Offloaded messages whose entries and elements SCM holds at one to two (V6)."""
    at_least(0, scm_bytes=scm_bytes)
    return scm_bytes // (ENTRY_BYTES + ELEMENTS_OFFLOADED * ELEMENT_BYTES)


@formula(EXTRACT, "A13 which runs out first (CF-R47)", "3113")
def scm_exhausted_first(summary: ScmSummary) -> str:
    """Whether "entries" or "elements" of SCM run out if messages stay as they are; "both" if the ratios agree."""
    at_least(0, entries_now=summary.entries_now, elements_now=summary.elements_now)
    above(0, entries_max=summary.entries_max, elements_max=summary.elements_max)
    entries = summary.entries_now / summary.entries_max
    elements = summary.elements_now / summary.elements_max
    if entries == elements:
        return "both"
    return "elements" if elements > entries else "entries"


@formula(EXTRACT, "A13 rate within the peak (CF-R50)", "3060-3070")
def rate_is_absorbed(mb_per_s: float, message_bytes: float, direction: str) -> bool:
    """Whether the rate stays below what was moved at most; then SCM is not felt (V4)."""
    at_least(0, mb_per_s=mb_per_s)
    one_of(PEAK_MB_PER_S.columns[1:], direction=direction)
    return mb_per_s < PEAK_MB_PER_S.between(message_bytes, direction)


@formula(EXTRACT, "A13 alter before the freeze (CF-R52)", "3047-3051")
def ratio_can_settle(full_threshold_percent: int) -> bool:
    """Whether system-initiated alter begins before pre-staging freezes the ratio (V3)."""
    within(0, 100, full_threshold_percent=full_threshold_percent)
    return full_threshold_percent < PRE_STAGE_PERCENT


@formula(EXTRACT, "A13 access that suits SCM (CF-R48)", "3080-3097")
def random_access(medium: str) -> RandomAccess:
    """What random puts and gets cost in the facility's storage, and mostly in SCM."""
    one_of(tuple(RANDOM_ACCESS), medium=medium)
    return RANDOM_ACCESS[medium]
