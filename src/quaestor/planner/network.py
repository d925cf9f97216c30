"""Networks: which traffic suits a link, and which part of a path is to blame.

Rules
  N1  Bandwidth and latency together say whether request/reply, large batches or compression fit.
  N2  A part is suspect while every slow run used it and no healthy run did.  Direction is part of a part's name:
      a cable may be sound from C to A and bad from A to C.
  N3  Two runs that differ in one part only settle that part; runs that differ in more leave several suspects.
  N4  The papers give words, not figures, for "high" and "low": the cut-offs are the caller's.

Called by the plan and by the advisor (NET-1 to NET-5).  Calls source, bounds.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from quaestor.planner.bounds import above, at_least
from quaestor.planner.source import OutOfRangeError, formula

EXTRACT = "mp16-ch4-11"


class Traffic(Enum):
    """What a link suits (N1)."""

    REQUEST_REPLY = "request/reply; good response can be expected"
    LARGE_BATCHES = "large batches held open, over several channels; avoid request/reply"
    COMPRESSED = "channel compression, paid for in CPU; ZLIBFAST with zEDC lowers that price"
    SMALL_VOLUME = "low latency but little room: the papers give no advice"


_SUITS = {
    (True, False): Traffic.REQUEST_REPLY,
    (True, True): Traffic.LARGE_BATCHES,
    (False, True): Traffic.COMPRESSED,
    (False, False): Traffic.SMALL_VOLUME,
}


@formula(EXTRACT, "4.6 NET-1..3", "4267-4273")
def traffic_that_suits(
    *, bandwidth_mb_per_sec: float, latency_ms: float, high_bandwidth_mb_per_sec: float, high_latency_ms: float
) -> Traffic:
    """What to send over a link of this bandwidth and latency (N1, N4)."""
    above(0, bandwidth_mb_per_sec=bandwidth_mb_per_sec)
    at_least(0, latency_ms=latency_ms, high_bandwidth_mb_per_sec=high_bandwidth_mb_per_sec)
    above(0, high_latency_ms=high_latency_ms)
    return _SUITS[bandwidth_mb_per_sec >= high_bandwidth_mb_per_sec, latency_ms >= high_latency_ms]


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement over a path: the parts it used, direction included, and whether the baseline rate was met."""

    name: str
    parts: frozenset[str]
    healthy: bool


@formula(EXTRACT, "4.6 ORACLE 7", "4277-4285")
def suspects(runs: Iterable[Run]) -> frozenset[str]:
    """The parts that alone explain every slow run (N2); empty when no single part does."""
    measured = tuple(runs)
    slow = [run.parts for run in measured if not run.healthy]
    if not slow:
        raise OutOfRangeError("runs: none is slow; at least 1 slow run is needed to suspect a part")
    cleared = frozenset[str]().union(*(run.parts for run in measured if run.healthy))
    return frozenset.intersection(*slow) - cleared


def next_change(runs: Iterable[Run]) -> str | None:
    """The one part to exchange next, by name, while more than one is suspect (N3)."""
    left = suspects(runs)
    return min(left) if len(left) > 1 else None
