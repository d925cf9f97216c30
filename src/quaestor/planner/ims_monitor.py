"""IMS monitor reports: how their figures hang together, and what the regions had to do.

Rules
  I1  Averages and rates are cut, not rounded; region occupancy is rounded.  `cut` prints the former so.
  I2  The trace ran 60.0 s where it prints 59.9: rates and occupancy use the interval asked for.
  I3  Occupancy is the time a region was scheduled for execution over the interval; with WFI it is also one minus
      the time spent in WFI waits.
  I4  Elapsed less not-wait time is the time in waits.
  I5  Few WFI waits and full occupancy mean that regions limit; many and moderate occupancy mean that they do not.

Called by ims_bridge and by the advisor.  Calls source, bounds.  Times in microseconds as the reports have them.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from itertools import pairwise

from quaestor.planner.bounds import above, at_least, within
from quaestor.planner.quantity import DAY_S, HOUR_S, MINUTE_S
from quaestor.planner.source import formula

EXTRACT = "mp16-ch4-11"
OCCUPANCY_FULL_PERCENT = 99.0
OCCUPANCY_MODERATE_PERCENT = 90.0
CHECKPOINT_MINUTES = (10.0, 20.0)


def cut(value: float, decimals: int = 0) -> str:
    """A figure as the monitor prints it: digits beyond `decimals` dropped (I1)."""
    scale: int = 10**decimals
    return f"{math.floor(value * scale) / scale:.{decimals}f}"


@dataclass(frozen=True, slots=True)
class RunProfile:
    """The run profile: what all regions did in the interval."""

    interval_sec: float
    messages_dequeued: int
    schedules: int
    dli_calls: int

    def __post_init__(self) -> None:
        above(0, interval_sec=self.interval_sec)
        at_least(1, messages_dequeued=self.messages_dequeued, schedules=self.schedules)

    @property
    def transactions_per_sec(self) -> float:
        return self.messages_dequeued / self.interval_sec

    @property
    def dli_calls_per_transaction(self) -> float:
        return self.dli_calls / self.messages_dequeued

    @property
    def dequeued_per_schedule(self) -> float:
        return self.messages_dequeued / self.schedules


@dataclass(frozen=True, slots=True)
class Calls:
    """One line of the call summary."""

    function: str
    calls: int
    iwaits: int
    mean_us: int


@formula(EXTRACT, "9.5 ORACLE 58", "5835-5850")
def mean_call_us_range(calls: Sequence[Calls]) -> tuple[float, float]:
    """Where the mean over several lines must lie, since each printed mean was cut (I1)."""
    total = sum(line.calls for line in calls)
    above(0, calls=total)
    low = sum(line.calls * line.mean_us for line in calls) / total
    return low, low + 1


@dataclass(frozen=True, slots=True)
class RegionTime:
    """One line of the region summary: elapsed and not-wait time of a region in one section."""

    occurrences: int
    elapsed_us: int
    not_wait_us: int

    def __post_init__(self) -> None:
        at_least(1, occurrences=self.occurrences)
        within(0, self.elapsed_us, not_wait_us=self.not_wait_us)

    @property
    def mean_us(self) -> float:
        return self.elapsed_us / self.occurrences

    @property
    def iwait_us(self) -> int:
        return self.elapsed_us - self.not_wait_us  # I4


@formula(EXTRACT, "9.5 ORACLE 59", "5854-5878")
def occupancy_percent(execution_us: float, interval_sec: float) -> float:
    """Share of the interval in which a region executed (I3)."""
    above(0, interval_sec=interval_sec)
    within(0, interval_sec * 1e6, execution_us=execution_us)
    return 100 * execution_us / (interval_sec * 1e6)


@dataclass(frozen=True, slots=True)
class Wait:
    """One line of the program I/O report: WFI waits of one region, or waits for a data set."""

    iwaits: int
    total_us: int

    @property
    def mean_us(self) -> float:
        above(0, iwaits=self.iwaits)
        return self.total_us / self.iwaits


@formula(EXTRACT, "9.5 ORACLE 63", "5950-5960")
def occupancy_percent_from_wfi(wfi: Wait, interval_sec: float) -> float:
    """Occupancy of a WFI region from what it spent waiting for input (I3)."""
    return 100 - occupancy_percent(wfi.total_us, interval_sec)


class RegionVerdict(Enum):
    """What the message processing regions could still do (I5)."""

    FULL = "nearly always busy: one more region may help"
    SOME_SPARE = "some spare capacity, not much"
    NOT_THE_LIMIT = "regions wait for work: look at the bridge task, the CPU and the coupling facility"


@formula(EXTRACT, "9.5 ORACLE 64", "5962-5997")
def region_verdict(
    occupancy_percents: Iterable[float],
    *,
    full_percent: float = OCCUPANCY_FULL_PERCENT,
    moderate_percent: float = OCCUPANCY_MODERATE_PERCENT,
) -> RegionVerdict:
    """Verdict over all regions by the least occupied one (IMS-2, IMS-3).  Both cut-offs are ours."""
    percents = list(occupancy_percents)
    at_least(1, regions=len(percents))
    within(0, 100, **{f"occupancy_percent of region {n + 1}": percent for n, percent in enumerate(percents)})
    within(0, full_percent, moderate_percent=moderate_percent)
    least = min(percents)
    if least >= full_percent:
        return RegionVerdict.FULL
    return RegionVerdict.NOT_THE_LIMIT if least < moderate_percent else RegionVerdict.SOME_SPARE


_CHECKPOINT = re.compile(r"\bDFS994I\s+\*CHKPT\s+(\d{5})/(\d{2})(\d{2})(\d{2})\b")


@formula(EXTRACT, "9.5 ORACLE 60", "5880-5909")
def checkpoint_seconds(console: Iterable[str]) -> tuple[int, ...]:
    """Seconds, counted from the first day's midnight, of the checkpoints a console log reports (DFS994I)."""
    found = [tuple(map(int, match.groups())) for line in console if (match := _CHECKPOINT.search(line))]
    days = [_day(date_of) for date_of, *_ in found]
    return tuple(
        (day - days[0]) * DAY_S + h * HOUR_S + m * MINUTE_S + s for day, (_, h, m, s) in zip(days, found, strict=True)
    )


def _day(yyddd: int) -> int:
    """A day of IMS, year and day of the year, as a number that goes up by one over New Year, too."""
    year, day = divmod(yyddd, 1000)
    return date(2000 + year, 1, 1).toordinal() + day


@formula(EXTRACT, "9.5 IMS-1", "5636, 5877")
def checkpoint_minutes_avg(seconds: Sequence[int]) -> float:
    """Average time between checkpoints; two are needed."""
    at_least(2, checkpoints=len(seconds))
    gaps = [after - before for before, after in pairwise(seconds)]
    return sum(gaps) / len(gaps) / 60


def checkpoints_too_often(minutes_avg: float, *, minutes_min: float = CHECKPOINT_MINUTES[0]) -> bool:
    """Whether CPLOG is too low: one checkpoint in 10 to 20 minutes is the aim (IMS-1)."""
    at_least(0, minutes_avg=minutes_avg)
    above(0, minutes_min=minutes_min)
    return minutes_avg < minutes_min


@dataclass(frozen=True, slots=True)
class Partition:
    """One line of the RMF LPAR cluster report, dedicated processors."""

    name: str
    processors: int
    lpar_busy_percent: float

    @property
    def at_capacity(self) -> bool:
        """At or near 100 %; the papers call 97.52 % near."""
        return self.lpar_busy_percent >= 97.0


@formula(EXTRACT, "9.4 ORACLE 56", "5744-5753")
def physical_busy_percent(partition: Partition, processors_of_machine: int) -> float:
    """What a partition takes of the whole machine."""
    at_least(partition.processors, processors_of_machine=processors_of_machine)
    return partition.lpar_busy_percent * partition.processors / processors_of_machine
