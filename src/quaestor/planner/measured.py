"""What a measurement says about a change: so many percent more CPU, so many percent more throughput.

Rules
  M1  A change is signed percent of what was there before; a decrease is negative.
  M2  Where the paper prints a range, the change keeps both ends; what it does not print is None, never 0.
  M3  A projection is the measured percent applied to a figure of one's own; it says nothing about other machines.

Called by duplexing, coupling_facility, channel_costs, channel_tls.  Calls bounds, source.
"""

from dataclasses import dataclass

from quaestor.planner.bounds import above, at_least
from quaestor.planner.source import OutOfRangeError, Source


def percent_change(before: float, after: float) -> float:
    """Signed percent from `before` to `after` (M1)."""
    above(0, before=before)
    at_least(0, after=after)
    return 100 * (after - before) / before


@dataclass(frozen=True, slots=True)
class Range:
    """The two ends of a printed range; equal where the paper prints one figure (M2)."""

    low: float
    high: float

    @classmethod
    def at(cls, value: float) -> "Range":
        return cls(value, value)

    def times(self, factor: float) -> "Range":
        return Range(self.low * factor, self.high * factor)

    def raised_by_percent(self, base: float) -> "Range":
        """`base` changed by this many percent, at both ends (M3)."""
        return Range(base * (1 + self.low / 100), base * (1 + self.high / 100))


@dataclass(frozen=True, slots=True)
class MeasuredChange:
    """One measured comparison: what it changed, by how many percent, and where the paper says so."""

    what: str
    source: Source
    cpu_percent: Range | None = None
    throughput_percent: Range | None = None

    def cpu_after(self, before: float) -> Range:
        """CPU cost after the change, in the unit of `before` (M3)."""
        return self._known(self.cpu_percent, "CPU cost").raised_by_percent(before)

    def throughput_after(self, before: float) -> Range:
        """Throughput after the change, in the unit of `before` (M3)."""
        return self._known(self.throughput_percent, "throughput").raised_by_percent(before)

    def _known(self, percent: Range | None, name: str) -> Range:
        if percent is None:
            raise OutOfRangeError(f"{self.what}: {name} was not measured ({self.source})")
        return percent
