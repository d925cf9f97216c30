"""Expiry: what the scan for expired messages costs on shared queues.

Rules
  E1  EXPRYINT is 0, no scan, or 5 seconds and more.
  E2  Private queues cost nothing worth planning for while nothing on them can expire.  Shared queues are scanned whole,
      message by message, by one queue manager of the group.
  E3  Costs are ranges, and stay ranges: lowest and highest.
  E4  A message offloaded to a shared message data set costs twice as much to look at.

Called by whoever plans expiry.  Calls quantity, source, bounds.
"""

from quaestor.planner.bounds import at_least, within
from quaestor.planner.quantity import HOUR_S
from quaestor.planner.source import OutOfRangeError, Source, formula

EXPRYINT_MIN_S, EXPRYINT_MAX_S = 5, 99_999_999
COST_SOURCE = Source("mp16-ch1", "T-24", "2081-2083")
SCAN_US = (9.0, 12.0)  # 1 KB messages, 2817-703
SCAN_AND_DELETE_US = (10.0, 20.0)
OFFLOADED_FACTOR = 2


@formula("mp16-ch1", "M-50", "2068")
def check_expryint(expryint_s: int) -> None:
    """Refuse an EXPRYINT that the queue manager does not take (E1)."""
    if expryint_s != 0 and not EXPRYINT_MIN_S <= expryint_s <= EXPRYINT_MAX_S:
        raise OutOfRangeError(f"EXPRYINT {expryint_s} is not valid: 0, or {EXPRYINT_MIN_S} to {EXPRYINT_MAX_S}")


@formula("mp16-ch1", "T-24", "2074-2083")
def scan_cpu_us(depth: int, expired: int = 0, *, offloaded: bool = False) -> tuple[float, float]:
    """CPU microseconds of one scan of a shared queue, lowest and highest (E2, E3, E4)."""
    at_least(0, depth=depth)
    within(0, depth, expired=expired)
    factor = OFFLOADED_FACTOR if offloaded else 1
    low, high = (
        factor * ((depth - expired) * scan + expired * delete)
        for scan, delete in zip(SCAN_US, SCAN_AND_DELETE_US, strict=True)
    )
    return low, high


@formula("mp16-ch1", "F-56", "2068-2083")
def expiry_cpu_s_per_h(
    depth: int, expryint_s: int, expired: int = 0, *, offloaded: bool = False
) -> tuple[float, float]:
    """CPU seconds an hour that scans of a shared queue take, lowest and highest; nothing for EXPRYINT 0."""
    check_expryint(expryint_s)
    scans_per_h = HOUR_S / expryint_s if expryint_s else 0.0
    low, high = (us / 1_000_000 * scans_per_h for us in scan_cpu_us(depth, expired, offloaded=offloaded))
    return low, high
