"""Queues: how many messages a second pass through one, private or shared, persistent or not, alone or in groups.

Rules
  Q1  Measured rates belong to the machine that was measured; it stands in the table's name.
  Q2  Request/reply makes two messages for each transaction.  Where a printed row breaks that, `consistent` says so.
  Q3  A strictly ordered queue has one getter, and its rate is 1 / (get + put + commit).
  Q4  Shared queue cost is relative to a private queue whose messages stay in the buffer pool.
  Q5  Few large messages move a volume faster than many small ones.

Called by the plan and by the advisor (Q-1 to Q-6, SHQ-7, APP-8).  Calls source, bounds, hardware.
"""

import math
from dataclasses import dataclass

from quaestor.planner.bounds import above, at_least, one_of, within
from quaestor.planner.hardware import processors_busy
from quaestor.planner.source import Source, Table, formula

EXTRACT = "mp16-ch4-11"

PRIVATE_QUEUE_RATE = Table(
    "rate through one private queue, non-persistent, 3 processors of 2827-7A1",
    Source(EXTRACT, "7.3 ORACLE 41", "5153-5159"),
    ("message_bytes", "messages_per_sec"),
    ((1_000, 79_090), (5_000, 72_260), (10_000, 66_820), (30_000, 52_450), (100_000, 27_330)),
)
"""Four putters and four getters, one message for each commit, depth stays small.  Between rows: `between`."""


@dataclass(frozen=True, slots=True)
class RequestReplyRun:
    """One row of the request/reply table: non-persistent messages of 1,000 bytes on private queues, 2827-7A1."""

    processors: int
    queue_pairs: int
    repliers_per_pair: int
    requesters_per_pair: int
    messages_per_sec: int
    transactions_per_sec: int
    cpu_us_per_transaction: int

    @property
    def consistent(self) -> bool:
        """Whether two messages make a transaction, fractions dropped (Q2)."""
        return self.messages_per_sec // 2 == self.transactions_per_sec

    @property
    def processors_busy(self) -> float:
        return processors_busy(self.transactions_per_sec, self.cpu_us_per_transaction)


REQUEST_REPLY_SOURCE = Source(EXTRACT, "7.4 ORACLE 42", "5179-5194")
REQUEST_REPLY = (
    RequestReplyRun(8, 1, 1, 1, 41_375, 20_687, 55),
    RequestReplyRun(8, 1, 4, 1, 38_673, 19_336, 57),
    RequestReplyRun(8, 1, 4, 2, 58_420, 29_210, 67),
    RequestReplyRun(8, 1, 4, 3, 76_052, 38_026, 73),
    RequestReplyRun(8, 1, 4, 4, 87_212, 43_406, 79),
    RequestReplyRun(8, 1, 1, 4, 60_886, 30_443, 57),
    RequestReplyRun(8, 2, 2, 4, 92_587, 46_293, 66),
    RequestReplyRun(8, 3, 3, 4, 98_487, 49_243, 72),
    RequestReplyRun(8, 4, 4, 4, 90_003, 45_001, 76),
    RequestReplyRun(3, 1, 1, 1, 29_272, 19_912, 49),
    RequestReplyRun(3, 2, 1, 1, 52_428, 36_062, 53),
    RequestReplyRun(3, 3, 1, 1, 73_601, 49_953, 57),
    RequestReplyRun(3, 4, 1, 1, 72_667, 49_413, 57),
)

QUEUE_PAIRS_PEAK_PROCESSORS = 6


@formula(EXTRACT, "7.4", "5205")
def queue_pairs_at_peak(processors: int) -> int:
    """Queue pairs, each with one requester and one replier, at which throughput peaks; marked up to 6 processors."""
    within(1, QUEUE_PAIRS_PEAK_PROCESSORS, processors=processors)
    return processors


@dataclass(frozen=True, slots=True)
class SingleGetter:
    """The rate of the one instance that may serve a strictly ordered queue (Q3), from its class 3 accounting."""

    get_us: float
    put_us: float
    commit_us: float

    def __post_init__(self) -> None:
        at_least(0, get_us=self.get_us, put_us=self.put_us, commit_us=self.commit_us)
        above(0, elapsed_us=self.elapsed_us)

    @property
    def elapsed_us(self) -> float:
        return self.get_us + self.put_us + self.commit_us

    @property
    def transactions_per_sec_max(self) -> float:
        return 1e6 / self.elapsed_us

    @property
    def messages_per_sec_max(self) -> float:
        return 2 * self.transactions_per_sec_max

    @property
    def commit_share(self) -> float:
        return self.commit_us / self.elapsed_us


@formula(EXTRACT, "7.5 ORACLE 43", "5255-5267")
def single_getter_is_the_limit(
    accounting: SingleGetter,
    transactions_per_sec: float,
    *,
    used_share_min: float = 0.95,
    commit_share_min: float = 0.5,
) -> bool:
    """Whether the one instance is used up and waits mostly for the log (Q-4).  Both cut-offs are ours."""
    at_least(0, transactions_per_sec=transactions_per_sec)
    used = transactions_per_sec / accounting.transactions_per_sec_max
    return used >= used_share_min and accounting.commit_share >= commit_share_min


SHARED_PERSISTENT_RATE = {
    ("1KB", "zHPF"): 59_000,
    ("1KB", "no zHPF"): 45_000,
    ("5KB", "no zHPF"): 36_000,
}
"""More than this many messages a second, 3 queue managers on 3 images of 2827-7A1 (lines 5276, 5294-5295)."""

CF_MESSAGE_BYTES_MAX = 64_512
"""63KB: a longer message on a shared queue needs SMDS or Db2 besides the coupling facility (lines 5215-5234)."""

CF_LINKS_FASTEST_FIRST = ("ICP", "CBP", "CFP")
"""SHQ-1, line 4891."""

ONE_QUEUE_MANAGER_BUSY_PERCENT = {"shared": 62.0, "private": 43.0}
ARCHIVING_COST_PERCENT_MAX = 10.0
SHARED_SOURCE = Source(EXTRACT, "7.6 ORACLE 45", "5297-5298")


@dataclass(frozen=True, slots=True)
class SharedCost:
    """What a persistent message on a shared queue costs, for one message size; CF time with ICP links."""

    percent: float
    each_further_queue_manager_percent: float
    cf_us_per_message_printed: float
    cf_us_per_transaction: float

    @property
    def cf_us_per_message(self) -> float:
        return self.cf_us_per_transaction / 2


SHARED_COST = {"1,000 bytes": SharedCost(170, 5, 36, 72), "5,000 bytes": SharedCost(160, 2, 77, 77)}
"""For 5,000 bytes the papers print 77 for each message, which would make their 4 engines 69 % busy where they say
less than 50 %; 77 for each transaction fits, and is what `cf_us_per_message` uses."""
SHARED_COST_SOURCE = Source(EXTRACT, "7.6", "5312-5317, 5331-5333")


@formula(EXTRACT, "7.6", "5312-5317")
def shared_queue_cpu_factor(size: str, queue_managers: int, *, percent_is_extra: bool = True) -> float:
    """CPU cost of a persistent message on a shared queue over its best case on a private queue (Q4).

    The papers say "170 % more than" for one size and "160 %" for the other.  By default both are read as extra cost,
    the dearer reading; `percent_is_extra=False` reads them as the factor itself.  Each queue manager after the first
    adds its percentage to the factor.
    """
    one_of(SHARED_COST, size=size)
    at_least(1, queue_managers=queue_managers)
    cost = SHARED_COST[size]
    first = cost.percent / 100 + (1 if percent_is_extra else 0)
    return first * (1 + (queue_managers - 1) * cost.each_further_queue_manager_percent / 100)


@formula(EXTRACT, "7.6 ORACLE 46", "5329-5333")
def cf_busy_percent(messages_per_sec: float, cf_us_per_message: float, cf_engines: int) -> float:
    """How busy the coupling facility is with a message rate."""
    at_least(1, cf_engines=cf_engines)
    return 100 * processors_busy(messages_per_sec, cf_us_per_message) / cf_engines


@formula(EXTRACT, "7.6 SHQ-7", "5329")
def cf_engines_needed(messages_per_sec: float, cf_us_per_message: float, *, busy_percent_max: float = 50.0) -> int:
    """Engines that keep the coupling facility below this share; the papers name 50, 60 and, for one engine, 30 %."""
    above(0, busy_percent_max=busy_percent_max)
    within(0, 100, busy_percent_max=busy_percent_max)
    busy = processors_busy(messages_per_sec, cf_us_per_message)
    return max(1, math.ceil(100 * busy / busy_percent_max))


@dataclass(frozen=True, slots=True)
class GroupRun:
    """A logical group of about 5MB: message size, messages in the group, and the rate where one was printed."""

    message_kb: int
    messages: int
    groups_per_sec: float | None = None
    log_mb_per_sec: float | None = None

    @property
    def volume_mb(self) -> float:
        return self.message_kb * self.messages / 1_024

    @property
    def data_mb_per_sec(self) -> float | None:
        """Data moved each second; the printed log rate of the smallest size is ten times this."""
        return None if self.groups_per_sec is None else self.groups_per_sec * self.volume_mb


GROUPS = (
    GroupRun(1, 5_000, 0.3, 16.0),
    GroupRun(16, 320, 4.5),
    GroupRun(32, 160),
    GroupRun(64, 80),
    GroupRun(1_024, 5, 11.5, 70.0),
)
GROUPS_SOURCE = Source(EXTRACT, "7.7 ORACLE 47-49", "5383-5410")


@formula(EXTRACT, "7.7 ORACLE 48", "5394-5396")
def group_speed_up(messages_per_group: int) -> float:
    """How much faster groups of so many messages move 5MB than groups of 5,000 (Q5); measured groups only."""
    rates = {run.messages: run.groups_per_sec for run in GROUPS if run.groups_per_sec}
    one_of(map(str, rates), messages_per_group=str(messages_per_group))
    return rates[messages_per_group] / rates[5_000]


@formula(EXTRACT, "7.7", "5383-5388")
def messages_in_group(volume_mb: float, message_kb: float) -> int:
    """Messages of this size that a volume makes."""
    at_least(0, volume_mb=volume_mb)
    above(0, message_kb=message_kb)
    return math.ceil(volume_mb * 1_024 / message_kb)
