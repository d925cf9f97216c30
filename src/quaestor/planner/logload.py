"""LOGLOAD: how it sets the time between checkpoints, and by that the longest restart.

Rules
  G1  LOGLOAD counts writes to log buffers between two checkpoints; 200 to 16,000,000.
  G2  Restart grows linearly with the transactions since the last checkpoint; the worst case is all that LOGLOAD allows.
      The slope is one old measurement: a time for each transaction that one measures oneself is better.
  G3  4 to 16 million is best for CPU and throughput, unless a restart target or ordered replication asks for less.

Called by whoever plans checkpoints.  Calls source, bounds.
"""

from dataclasses import dataclass
from enum import Enum

from quaestor.planner.bounds import above, at_least, within
from quaestor.planner.source import OutOfRangeError, Source, Table, formula

LOGLOAD_MIN, LOGLOAD_MAX = 200, 16_000_000  # [1660]
STARTUP_S = 7.0  # until CSQR001I [1602]
FINISH_S = 0.2  # from CSQR002I to CSQY022I [1602]
RECOVERY_FIXED_S = 1.0  # [1602]
RECOVERY_S_PER_TRANSACTION = 0.0058  # (59 - 1) / 10,000 [1602-1606]
LARGE_MESSAGE_BYTES = 100 * 1024  # [1702-1704]
WRITES_PER_MESSAGE = 15.5  # 31 for a request and its reply [1617]

RESTART_BY_TRANSACTIONS = Table(
    "restart seconds by transactions since the checkpoint",
    Source("mp16-ch1", "T-17", "1602-1604"),
    ("transactions", "startup_s", "recovery_s", "finish_s"),
    ((0, 7, 1, 0.2), (10_000, 7, 59, 0.2)),
)
RESTART_BY_OBJECTS = Table(
    "restart seconds by objects defined",
    Source("mp16-ch1", "T-18", "1625-1628"),
    ("objects", "startup_s", "recovery_s", "finish_s"),
    ((140, 7, 1, 0.2), (4140, 7, 3.6, 0.2), (14484, 7, 7.6, 0.2)),
)


class Shape(Enum):
    """How queues behave over time: the planner has to be told."""

    LOW_DEPTH = "low depth"
    HIGH_DEPTH = "high depth"
    HIGH_VARIANCE = "high variance"


@dataclass(frozen=True, slots=True)
class LogloadRange:
    """A recommended LOGLOAD from and to, and the lines that recommend it."""

    low: int
    high: int
    lines: str


GENERAL = LogloadRange(4_000_000, LOGLOAD_MAX, "1669, 1710, 1722")
LARGE_AT_LOW_DEPTH = LogloadRange(1_000_000, LOGLOAD_MAX, "1704")
ANY = LogloadRange(LOGLOAD_MIN, LOGLOAD_MAX, "1702")
ORDERED_REPLICATION = LogloadRange(100_000, 100_000, "1676-1677, 1724")


@formula("mp16-ch1", "F-46", "1650-1665")
def check_logload(logload: int) -> None:
    """Refuse a LOGLOAD outside what the queue manager takes (G1)."""
    within(LOGLOAD_MIN, LOGLOAD_MAX, LOGLOAD=logload)


@formula("mp16-ch1", "F-45", "1612-1617")
def transactions_between_checkpoints(logload: int, log_writes_per_transaction: float) -> int:
    """Whole transactions between two checkpoints that LOGLOAD brings about."""
    check_logload(logload)
    above(0, log_writes_per_transaction=log_writes_per_transaction)
    return int(logload // log_writes_per_transaction)


@formula("mp16-ch1", "F-44", "1602-1606")
def recovery_s(
    transactions: int,
    s_per_transaction: float = RECOVERY_S_PER_TRANSACTION,
    fixed_s: float = RECOVERY_FIXED_S,
) -> float:
    """Seconds from CSQR001I to CSQR002I for transactions since the last checkpoint (G2)."""
    at_least(0, transactions=transactions, s_per_transaction=s_per_transaction, fixed_s=fixed_s)
    return fixed_s + s_per_transaction * transactions


@formula("mp16-ch1", "F-44, F-45", "1617")
def restart_s_max(
    logload: int,
    log_writes_per_transaction: float,
    s_per_transaction: float = RECOVERY_S_PER_TRANSACTION,
    startup_s: float = STARTUP_S,
    finish_s: float = FINISH_S,
) -> float:
    """The longest restart under a LOGLOAD: a failure just before its checkpoint (G2)."""
    at_least(0, startup_s=startup_s, finish_s=finish_s)
    transactions = transactions_between_checkpoints(logload, log_writes_per_transaction)
    return startup_s + recovery_s(transactions, s_per_transaction) + finish_s


@formula("mp16-ch1", "F-44, F-45", "1617, 1675")
def logload_for_restart(
    restart_limit_s: float,
    log_writes_per_transaction: float,
    s_per_transaction: float = RECOVERY_S_PER_TRANSACTION,
    startup_s: float = STARTUP_S,
    finish_s: float = FINISH_S,
) -> int:
    """The highest LOGLOAD whose longest restart keeps a limit; refused where even the lowest does not."""
    above(0, log_writes_per_transaction=log_writes_per_transaction, s_per_transaction=s_per_transaction)
    at_least(0, restart_limit_s=restart_limit_s, startup_s=startup_s, finish_s=finish_s)
    fixed_s = startup_s + recovery_s(0) + finish_s
    transactions = (restart_limit_s - fixed_s) / s_per_transaction
    logload = min(LOGLOAD_MAX, int(transactions * log_writes_per_transaction))
    if logload < LOGLOAD_MIN:
        lowest_s = fixed_s + LOGLOAD_MIN / log_writes_per_transaction * s_per_transaction
        raise OutOfRangeError(f"restart_limit_s {restart_limit_s:g} is not valid: {lowest_s:.4g} or more")
    return logload


@formula("mp16-ch1", "T-18", "1621-1630")
def recovery_s_by_objects(objects: int) -> float:
    """Seconds from CSQR001I to CSQR002I by objects defined; an old release, of use for its shape alone."""
    return RESTART_BY_OBJECTS.between(objects, "recovery_s")


@formula("mp16-ch1", "T-19", "1669-1724")
def recommended_logload(shape: Shape, message_bytes: int, *, ordered_replication: bool = False) -> LogloadRange:
    """The recommended range (G3); low depth and small messages take any value, with little effect."""
    at_least(0, message_bytes=message_bytes)
    if ordered_replication:
        return ORDERED_REPLICATION
    if shape is not Shape.LOW_DEPTH:
        return GENERAL
    return LARGE_AT_LOW_DEPTH if message_bytes > LARGE_MESSAGE_BYTES else ANY
