"""How fast a workload fills the log: by the charts, by the formula, and what channels add.

Rules
  L1  Two models stand side by side in the paper and are not reconciled: the charts of log_space and the formula here.
      For 1 KB put and got the charts say 11% more.  The charts are the default; an estimate says which it used.
  L2  Formula: user data + headers + 1000 bytes, and 150 bytes a page for a message of two pages or more.  The paper's
      examples imply headers of 300 bytes [719, 727] and no page term for a single page.
  L3  A channel batch adds its own records, except a batch wholly of non-persistent messages on an NPMSPEED(FAST)
      channel; `achieved_batch` is what the channel reached, not BATCHSZ.
  L4  A get logs 500 bytes up to 10,000 bytes of user data, 1300 at 100,000, linear between; the rest is of the put.
  L5  Non-persistent messages log nothing.

Called by throughput and whoever plans a log.  Calls log_space, geometry, source, bounds.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from quaestor.planner.bounds import at_least
from quaestor.planner.geometry import pages
from quaestor.planner.log_space import Action, QueueKind, Scope, log_bytes_per_message
from quaestor.planner.source import OutOfRangeError, Source, Table, formula

HEADER_BYTES = 300  # all headers, implied [719, 727]
FIXED_BYTES = 1000  # [716]
LONG_PAGE_BYTES = 150  # per page, for messages of two pages and more [723]


class Path(Enum):
    """How a message travels; the value names the column pair of T-8 and T-9."""

    LOCAL = "local"
    SENDER = "sender"
    RECEIVER = "receiver"


class Model(Enum):
    """Which of the paper's two models gave an estimate (L1)."""

    CHARTS = "charts"
    FORMULA = "formula"


PUT_AND_GET = Table(
    "log bytes of a put and a get, each committed",
    Source("mp16-ch1", "T-8", "704-711"),
    ("message_bytes", "local", "sender_1", "sender_50", "receiver_1", "receiver_50"),
    (
        (500, 1_700, 4_300, 1_950, 2_750, 1_450),
        (1_000, 2_300, 4_850, 2_450, 3_300, 2_000),
        (5_000, 6_550, 9_150, 6_750, 7_600, 6_250),
        (10_000, 11_750, 14_300, 11_900, 12_800, 11_500),
        (30_000, 32_800, 35_400, 33_000, 33_900, 32_550),
        (100_000, 105_800, 108_400, 106_000, 106_900, 105_555),  # as printed; 105,550 by every other cell
    ),
)

BATCH_KIB = Table(
    "log KiB of a channel batch",
    Source("mp16-ch1", "T-9", "729-736"),
    ("achieved_batch", "sender", "receiver"),
    ((1, 2.5, 1.3), (50, 3.7, 1.3)),
)

GET_SHARE = Table(
    "log bytes of the get alone",
    Source("mp16-ch1", "F-13d", "742"),
    ("user_bytes", "log_bytes"),
    ((0, 500), (10_000, 500), (100_000, 1_300)),
)


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """One MQI call on a persistent message; `log_bytes` when it was measured, else the charts say."""

    action: Action
    message_bytes: int
    scope: Scope = Scope.COMMIT_EACH
    queue: QueueKind = QueueKind.LOCAL
    log_bytes: float | None = None

    def logged_bytes(self) -> float:
        if self.log_bytes is not None:
            return self.log_bytes
        return log_bytes_per_message(self.message_bytes, self.action, self.queue, self.scope, extrapolate=True)


@dataclass(frozen=True, slots=True)
class LogEstimate:
    """Log bytes of one put and one get, and the model that gave them (L1)."""

    log_bytes: float
    model: Model


@formula("mp16-ch1", "F-11", "668-679")
def log_bytes_per_transaction(calls: Iterable[LoggedCall]) -> float:
    """Bytes all calls of one transaction log; messages beyond the charts by the slope of their last rows."""
    return sum(call.logged_bytes() for call in calls)


@formula("mp16-ch1", "F-11", "668-679")
def log_rate_bytes_per_s(transactions_per_s: float, calls: Iterable[LoggedCall]) -> float:
    """Log bytes a second: transactions a second times what one logs."""
    at_least(0, transactions_per_s=transactions_per_s)
    return transactions_per_s * log_bytes_per_transaction(calls)


@formula("mp16-ch1", "F-13a, F-13b", "714-727")
def put_and_get_log_bytes(user_bytes: int, header_bytes: int = HEADER_BYTES) -> int:
    """Formula for one local put and get (L2); F-13b is its page term."""
    at_least(0, user_bytes=user_bytes, header_bytes=header_bytes)
    occupied = pages(user_bytes + header_bytes)
    return user_bytes + header_bytes + FIXED_BYTES + (LONG_PAGE_BYTES * occupied if occupied >= 2 else 0)


@formula("mp16-ch1", "F-13c", "729-736")
def batch_log_bytes(path: Path, achieved_batch: float, *, all_fast_non_persistent: bool = False) -> float:
    """Log bytes one channel batch adds at this end (L3), linear between the batches of 1 and 50 that were measured."""
    if path is Path.LOCAL:
        raise OutOfRangeError("path local has no batches; valid: sender, receiver")
    log_kib = BATCH_KIB.between(achieved_batch, path.value)
    return 0.0 if all_fast_non_persistent else log_kib * 1024


@formula("mp16-ch1", "F-13c", "729-736")
def channel_log_bytes_per_message(
    user_bytes: int, path: Path, achieved_batch: float, header_bytes: int = HEADER_BYTES
) -> float:
    """Formula for a persistent message put and sent, or received and got: its own bytes and its share of the batch."""
    own_bytes = put_and_get_log_bytes(user_bytes, header_bytes)
    return own_bytes if path is Path.LOCAL else own_bytes + batch_log_bytes(path, achieved_batch) / achieved_batch


@formula("mp16-ch1", "T-8", "704-711")
def measured_log_bytes_per_message(message_bytes: float, path: Path, achieved_batch: int = 1) -> float:
    """The measured table itself, linear between two sizes; channels for batches of 1 and of 50 alone."""
    if path is Path.LOCAL:
        return PUT_AND_GET.between(message_bytes, path.value)
    if achieved_batch not in {1, 50}:
        raise OutOfRangeError(f"{PUT_AND_GET.name}: achieved_batch {achieved_batch} was not measured; valid: 1, 50")
    return PUT_AND_GET.between(message_bytes, f"{path.value}_{achieved_batch}")


@formula("mp16-ch1", "F-13d", "742")
def get_log_bytes(user_bytes: float, *, hold_slope: bool = False) -> float:
    """The share of the get (L4).  Above 100,000 bytes the paper is silent: `hold_slope` goes on as before."""
    *_, (size_before, share_before), (size_last, share_last) = GET_SHARE.rows
    if hold_slope and user_bytes > size_last:
        slope = (share_last - share_before) / (size_last - size_before)
        return share_last + slope * (user_bytes - size_last)
    return GET_SHARE.between(user_bytes, "log_bytes")


@formula("mp16-ch1", "F-13e", "743-744")
def put_log_bytes(user_bytes: int, header_bytes: int = HEADER_BYTES, *, hold_slope: bool = False) -> float:
    """The share of the put: all but that of the get, since message and headers go on the log when put."""
    return put_and_get_log_bytes(user_bytes, header_bytes) - get_log_bytes(user_bytes, hold_slope=hold_slope)


@formula("mp16-ch1", "F-13f", "738")
def mixed_log_rate_bytes_per_s(
    user_bytes: int,
    puts_per_s: float,
    gets_per_s: float,
    header_bytes: int = HEADER_BYTES,
    *,
    hold_slope: bool = False,
) -> float:
    """Log rate where puts and gets peak at different times: each at its own rate with its own share."""
    at_least(0, puts_per_s=puts_per_s, gets_per_s=gets_per_s)
    put_bytes = put_log_bytes(user_bytes, header_bytes, hold_slope=hold_slope)
    return puts_per_s * put_bytes + gets_per_s * get_log_bytes(user_bytes, hold_slope=hold_slope)


@formula("mp16-ch1", "F-13a, T-3, T-4", "635-727")
def estimate_put_and_get(
    message_bytes: int, model: Model = Model.CHARTS, scope: Scope = Scope.COMMIT_EACH
) -> LogEstimate:
    """One local put and one get by the model asked for (L1)."""
    if model is Model.FORMULA:
        return LogEstimate(put_and_get_log_bytes(message_bytes), model)
    calls = (LoggedCall(action, message_bytes, scope) for action in Action)
    return LogEstimate(log_bytes_per_transaction(calls), model)
