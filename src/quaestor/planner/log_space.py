"""Bytes a persistent message leaves on the log: the charts, and what else takes log space.

Rules
  G1  The charts give put and get apart, by queue kind, size and scope; between two sizes they are linear.
  G2  The charts end at 4096 bytes.  Beyond, the slope of the last two rows is used only when `extrapolate` is asked,
      and never lets the figure fall below the last row.
  G3  A unit of work of n messages costs a fixed part and n equal parts; the charts for 1 and 10 per commit fix both.
      (Ours: the paper prints 1 and 10 only.)
  G4  The charts are an argument: a queue manager measured by `bytes_per_transaction` brings its own.

Called by log_rate, deferred_write and whoever plans a log.  Calls source, bounds.
"""

from collections.abc import Mapping
from enum import Enum

from quaestor.planner.bounds import above, at_least, within
from quaestor.planner.source import OutOfRangeError, Source, Table, formula


class QueueKind(Enum):
    """Where the queue lives: on a page set, or in a coupling facility structure."""

    LOCAL = "local"
    SHARED = "shared"


class Action(Enum):
    """The call that logs."""

    PUT = "put"
    GET = "get"


class Scope(Enum):
    """How the call ends its unit of work; the value is the column of the charts."""

    OUT_OF_SYNCPOINT = "out_of_syncpoint"
    COMMIT_EACH = "commit_each"
    COMMIT_TEN = "commit_ten"


Charts = Mapping[tuple[QueueKind, Action], Table]


def _chart(name: str, item: str, lines: str, *rows: tuple[int, int, int, int]) -> Table:
    columns = ("message_bytes", *(scope.value for scope in Scope))
    return Table(f"log bytes of a {name}", Source("mp16-ch1", item, lines), columns, rows)


MP16_CHARTS: Charts = {
    (QueueKind.LOCAL, Action.PUT): _chart(
        "local put", "T-3", "635-640",
        (0, 1057, 1057, 751), (1, 1060, 1060, 751), (1024, 2088, 2088, 1789), (4096, 5331, 5331, 5052),
    ),
    (QueueKind.LOCAL, Action.GET): _chart(
        "local get", "T-4", "642-648",
        (0, 481, 481, 186), (1, 481, 481, 186), (1024, 492, 492, 178), (4096, 527, 527, 192),
    ),
    (QueueKind.SHARED, Action.PUT): _chart(
        "shared put", "T-5", "652-657",
        (0, 683, 1230, 768), (1, 683, 1230, 768), (1024, 1687, 2276, 1802), (4096, 4780, 5357, 4884),
    ),
    (QueueKind.SHARED, Action.GET): _chart(
        "shared get", "T-6", "659-664",
        (0, 62, 662, 188), (1, 62, 662, 188), (1024, 69, 650, 177), (4096, 76, 630, 185),
    ),
}  # fmt: skip

STRUCTURE_BACKUP = Table(
    "log bytes of a structure backup",
    Source("mp16-ch1", "T-7", "692-696"),
    ("message_bytes", "depth", "reported_mib", "backup_bytes", "overhead_bytes"),
    (
        (0, 50_000, 24, 505, 505),
        (1, 50_000, 24, 506, 505),
        (1024, 50_000, 73, 1538, 514),
        (4096, 50_000, 219, 4642, 546),
    ),
)

EIGHT_BYTE_RBA_GROWTH = Table(
    "log growth by the 8-byte RBA, 1 KB request",
    Source("mp16-ch1", "F-10", "606"),
    ("reply_bytes", "growth_percent"),
    ((4096, 7), (65536, 2)),
)


@formula("mp16-ch1", "T-3 to T-6", "635-664")
def log_bytes_per_message(
    message_bytes: int,
    action: Action,
    queue: QueueKind = QueueKind.LOCAL,
    scope: Scope = Scope.COMMIT_EACH,
    *,
    extrapolate: bool = False,
    charts: Charts = MP16_CHARTS,
) -> float:
    """Bytes one call on one persistent message logs, the message included where it is a put (G1, G2)."""
    at_least(0, message_bytes=message_bytes)
    chart = charts[queue, action]
    (size_before, *_), (size_last, *_) = chart.rows[-2:]
    if message_bytes <= size_last:
        return chart.between(message_bytes, scope.value)
    if not extrapolate:
        raise OutOfRangeError(
            f"{chart.name}: message_bytes {message_bytes} is beyond the chart's {size_last:g}; "
            f"ask for extrapolation, or use the formula of log_rate"
        )
    before, last = chart.column(scope.value)[-2:]
    slope = max(0.0, (last - before) / (size_last - size_before))
    return last + slope * (message_bytes - size_last)


@formula("mp16-ch1", "T-3 to T-6", "631-664")
def log_bytes_per_unit_of_work(
    message_bytes: int,
    action: Action,
    queue: QueueKind = QueueKind.LOCAL,
    messages: int = 1,
    *,
    extrapolate: bool = False,
    charts: Charts = MP16_CHARTS,
) -> float:
    """Bytes a unit of work of `messages` equal calls and one commit logs (G3); exact for 1 and 10."""
    at_least(1, messages=messages)
    one, ten = (
        log_bytes_per_message(message_bytes, action, queue, scope, extrapolate=extrapolate, charts=charts)
        for scope in (Scope.COMMIT_EACH, Scope.COMMIT_TEN)
    )
    return one + (messages - 1) * (10 * ten - one) / 9


@formula("mp16-ch1", "M-7", "616-624")
def bytes_per_transaction(rba_before: int, rba_after: int, transactions: int) -> float:
    """What one transaction logged, from the RBA that DISPLAY LOG showed before and after a known workload (G4)."""
    at_least(1, transactions=transactions)
    at_least(0, rba_before=rba_before)
    at_least(rba_before, rba_after=rba_after)
    return (rba_after - rba_before) / transactions


@formula("mp16-ch1", "F-12", "692-698")
def structure_backup_bytes(depth: int, message_bytes: int) -> float:
    """Log bytes that BACKUP CFSTRUCT writes for `depth` messages: each message and its overhead."""
    at_least(0, depth=depth)
    return depth * (message_bytes + STRUCTURE_BACKUP.between(message_bytes, "overhead_bytes"))


@formula("mp16-ch1", "F-10", "604")
def rba_range_bytes(rba_bytes: int) -> int:
    """Bytes that can be logged before the RBA has to be reset: 6 bytes before V8.0, 8 from then on."""
    if rba_bytes not in {6, 8}:
        raise OutOfRangeError(f"rba_bytes {rba_bytes} is not valid: 6 or 8")
    return 1 << 8 * rba_bytes


@formula("mp16-ch1", "F-10", "604")
def time_to_rba_reset_s(log_rate_bytes_per_s: float, rba_bytes: int, current_rba: int = 0) -> float:
    """Seconds until the RBA runs out at a steady log rate."""
    above(0, log_rate_bytes_per_s=log_rate_bytes_per_s)
    range_bytes = rba_range_bytes(rba_bytes)
    within(0, range_bytes, current_rba=current_rba)
    return (range_bytes - current_rba) / log_rate_bytes_per_s


@formula("mp16-ch1", "F-10", "606")
def log_bytes_with_8_byte_rba(log_bytes_with_6_byte_rba: float, reply_bytes: int) -> float:
    """Log space after conversion: 7% more for small messages, 2% for large, linear between the two measured sizes."""
    at_least(0, log_bytes_with_6_byte_rba=log_bytes_with_6_byte_rba, reply_bytes=reply_bytes)
    smallest, *_, largest = EIGHT_BYTE_RBA_GROWTH.column("reply_bytes")
    measured = min(max(reply_bytes, smallest), largest)
    return log_bytes_with_6_byte_rba * (1 + EIGHT_BYTE_RBA_GROWTH.between(measured, "growth_percent") / 100)
