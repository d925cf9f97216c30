"""When a recovery that is under way will end, from two of its progress messages.

Rules
  P1  Two messages give the rate; the range of the recovery gives what is left.  Forward and backward alike.
  P2  The rate differs between active and archive logs, and waiting for archives comes on top.

Called by whoever watches a restart.  Calls source, bounds.
"""

from dataclasses import dataclass

from quaestor.planner.bounds import at_least
from quaestor.planner.source import OutOfRangeError, formula


@dataclass(frozen=True, slots=True)
class Progress:
    """One CSQR031I or CSQR033I: when, on any clock in seconds, and how far."""

    at_s: float
    rba: int


@formula("mp16-ch1", "F-32", "1482-1492")
def recovery_rate_bytes_per_s(earlier: Progress, later: Progress) -> float:
    """Log bytes a second between two messages, whichever way the log is read (P1)."""
    if later.at_s <= earlier.at_s:
        raise OutOfRangeError(f"later.at_s {later.at_s:g} is not valid: more than {earlier.at_s:g}")
    return abs(later.rba - earlier.rba) / (later.at_s - earlier.at_s)


@formula("mp16-ch1", "F-32", "1482-1492")
def remaining_s(end_rba: int, earlier: Progress, later: Progress, archive_wait_s: float = 0.0) -> float:
    """Seconds left after the later message until the far end of the range is reached (P1, P2)."""
    at_least(0, archive_wait_s=archive_wait_s, end_rba=end_rba)
    rate = recovery_rate_bytes_per_s(earlier, later)
    if rate == 0:
        raise OutOfRangeError("rba did not move between the two messages; valid: two different RBAs")
    if (later.rba - earlier.rba) * (end_rba - later.rba) < 0:
        raise OutOfRangeError(f"end_rba {end_rba:012X} is not valid: it lies behind {later.rba:012X}")
    return abs(end_rba - later.rba) / rate + archive_wait_s


@formula("mp16-ch1", "F-32", "1482-1492")
def end_s(end_rba: int, earlier: Progress, later: Progress, archive_wait_s: float = 0.0) -> float:
    """When the recovery ends, on the clock of the messages."""
    return later.at_s + remaining_s(end_rba, earlier, later, archive_wait_s)
