"""Security: storage of cached users, and when an idle one is discarded.

Rules
  S1  With queue-level security on, a user takes 8.8 KB for the first queue and 405 bytes for each further one; storage
      comes in blocks of 1 MB, so this is an approximation.
  S2  An entry goes at the first timer tick at or after its last use and the timeout.

Called by whoever plans security.  Calls quantity, source, bounds.
"""

from math import ceil

from quaestor.planner.bounds import above, at_least
from quaestor.planner.quantity import KIB
from quaestor.planner.source import formula

USER_BYTES = 8.8 * KIB  # the first queue included [2160-2164, 2234]
USER_REAL_BYTES = 4.66 * KIB  # of these, backed in real storage [2234]
FURTHER_QUEUE_BYTES = 405  # [2160-2164, 2235]
TIMEOUT_MIN = 54  # default [2239]
INTERVAL_MIN = 12  # [2110-2122]


@formula("mp16-ch1", "F-57", "2160-2164, 2234-2235")
def security_bytes(users: int, queues_per_user: int = 1) -> float:
    """Auxiliary storage above the bar for cached users (S1)."""
    at_least(0, users=users)
    at_least(1, queues_per_user=queues_per_user)
    return users * (USER_BYTES + FURTHER_QUEUE_BYTES * (queues_per_user - 1))


@formula("mp16-ch1", "M-54", "2110-2139")
def discarded_at_min(
    last_use_min: float = 0, timeout_min: float = TIMEOUT_MIN, interval_min: float = INTERVAL_MIN
) -> float:
    """Minutes on the timer's clock at which an entry last used at `last_use_min` is discarded (S2)."""
    at_least(0, last_use_min=last_use_min, timeout_min=timeout_min)
    above(0, interval_min=interval_min)
    return ceil((last_use_min + timeout_min) / interval_min) * interval_min
