"""A workload: what a queue manager is to carry, on what, and what is asked of it.

Rules
  W1  One queue manager is planned.  Private flows and channels are its own; the rate of a shared flow is that of the
      whole queue-sharing group, and each of its `members` takes an equal part.
  W2  A rate is the average of a working day's busy hours; times `peak` it is the highest that must be carried.
  W3  A flow is put and got at the same rate, but for an outage of its getters as long as `outage` says: then messages
      gather.  `life` is how long a message stays otherwise.
  W4  What is defined today (`log`, `page_set`, `buffer_pool`, `structure`) is optional: with it head-room is known.
  W5  A channel adds its batches to the log.  The transmission queue of a sender, and the queue a receiver puts to, are
      flows like any other.
  W6  A value that cannot be is refused with its place, the value, the reason and the valid range; nothing is guessed.

Called by workload_file, which reads one, and by the questions.  Calls workload_keys for the ranges.
"""

from dataclasses import dataclass, field
from math import ceil

from quaestor.planner.channel_tls import TLS_START
from quaestor.planner.coupling_facility import LINK_KINDS
from quaestor.planner.dasd import LOG_RATES
from quaestor.planner.geometry import PAGE_BYTES
from quaestor.planner.hardware import MACHINES
from quaestor.planner.log_space import QueueKind
from quaestor.planner.logs import LOG_BYTES_MAX, Medium
from quaestor.planner.quantity import DAY_S, GIB, HOUR_S, KIB, MIB
from quaestor.planner.release import Release
from quaestor.planner.tracing import Accounting
from quaestor.planner.workload_keys import choice, duration, flag, number, rate, release, size, text, whole

MESSAGE_BYTES_MAX = 100 * MIB
RATE_MAX = 10_000_000
COUNT_MAX = 2**53  # an hour adds up intervals, each with counters of four bytes
ACTIVE_LOGS_MAX = 310
WRITES_PER_MESSAGE_MAX = 10_000
OUTBUFF_BYTES_MAX = 128 * MIB
STRUCTURE_BYTES_MAX = 1024 * GIB
MEDIA = {each.value: each for each in Medium}
TRAFFIC = {each: each for each in ("request/reply", "delayed", "bulk", "trickle")}
KINDS = {each: each for each in ("sender", "receiver", "svrconn")}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueManager:
    """The queue manager that is planned, and the group it belongs to (W1)."""

    name: str = text("name")
    version: Release = release("release", Release.V9_0)  # noqa: RUF009  a field, as dataclass fields go
    group: str | None = text("group", None)
    members: int = whole("members", 1, 32, 1)
    queues: int | None = whole("queues", 1, 1_000_000, None)
    objects: int | None = whole("objects", 1, 1_000_000, None)
    connections: int | None = whole("connections", 0, 100_000, None)
    queues_open_each: int = whole("queues_open_each", 1, 10_000, 3)
    users: int | None = whole("users", 1, 1_000_000, None)
    free_real_bytes: int | None = size("free_real_storage", MIB, 16_384 * GIB, None)
    cluster_bytes: int | None = size("cluster_configuration", 0, GIB, None)
    expryint_s: float | None = duration("expryint", 0, 99_999_999, None)
    maxumsgs: int = whole("maxumsgs", 1, 999_999_999, 10_000)
    product: str = choice("product", {"mq": "mq", "quaestor": "quaestor"}, "mq")
    """Whose log figures apply to private queues: the paper's product's, or this one's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The processor, and where a known cost was measured."""

    type: str | None = choice("type", {name: name for name in MACHINES}, None)
    processors: int = whole("processors", 1, 256, 3)
    cost_us: float | None = number("cost_us", 0, 10_000_000, None)
    measured_on: str | None = choice("measured_on", {name: name for name in MACHINES}, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dasd:
    """Where logs and page sets lie."""

    type: str = choice("type", {name: name for name in LOG_RATES})
    log_io_s: float | None = duration("log_io_time", 0.000_001, 1, None)
    many_pages_io_s: float | None = duration("log_io_time_128_pages", 0.000_001, 10, None)
    pav: bool = flag("pav", True)
    stripes: int = whole("stripes", 1, 16, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """How logs are written and archived, and how they are defined today (W4).

    `writes_per_message`: log buffer writes that a message put and got counts towards LOGLOAD; where none are written,
    half of the 31 that were measured for a request and its reply [1617], or this product's own.
    """

    copies: int = whole("copies", 1, 2, 2)
    archive: Medium = choice("archive", MEDIA, Medium.DASD)  # noqa: RUF009  a field, as dataclass fields go
    archive_time_s: float = duration("archive_time", 0, DAY_S, 600)
    archive_delay_s: float = duration("archive_delay", 0, DAY_S, 0)
    archive_primary: int | None = whole("archive_primary", 1, 65_535, None)
    archive_secondary: int = whole("archive_secondary", 0, 65_535, 0)
    archive_stripes: int | None = whole("archive_stripes", 1, 59, None)
    log_bytes: int | None = size("size", MIB, LOG_BYTES_MAX, None)
    active_logs: int | None = whole("active_logs", 2, ACTIVE_LOGS_MAX, None)
    logload: int = whole("logload", 200, 16_000_000, 500_000)
    writes_per_message: float | None = number("writes_per_message", 1, WRITES_PER_MESSAGE_MAX, None)
    outbuff_bytes: int = size("outbuff", 40 * KIB, OUTBUFF_BYTES_MAX, 4000 * KIB)


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What is asked: times within which things must be back."""

    restart_s: float = duration("restart", 10, DAY_S, 300)
    page_set_recovery_s: float = duration("page_set_recovery", 60, 7 * DAY_S, HOUR_S)
    structure_recovery_s: float = duration("structure_recovery", 60, DAY_S, 1800)
    reaction_s: float = duration("reaction", 0, DAY_S, 600)
    busy_hours: float = number("busy_hours", 0.1, 24, 24)
    longest_unit_s: float = duration("longest_unit_of_work", 0, DAY_S, 60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Messages that go through one queue (W2, W3)."""

    queue: str = text("queue")
    message_bytes: int = size("size", 0, MESSAGE_BYTES_MAX)
    average_per_s: float = rate("rate", 0, RATE_MAX)
    peak: float = number("peak", 1, 1000, 1.0)
    persistent: bool = flag("persistent")
    shared: bool = flag("shared", False)
    messages_per_commit: int = whole("messages_per_commit", 1, 999_999_999, 1)
    life_s: float = duration("life", 0, 3650 * DAY_S, 0)
    outage_s: float = duration("outage", 0, 3650 * DAY_S, 0)
    page_set: int | None = whole("page_set", 0, 99, None)
    structure: str | None = text("structure", None)
    indexed: bool = flag("indexed", False)
    strict_order: bool = flag("strict_order", False)

    @property
    def peak_per_s(self) -> float:
        return self.average_per_s * self.peak

    @property
    def kind(self) -> QueueKind:
        return QueueKind.SHARED if self.shared else QueueKind.LOCAL

    @property
    def backlog(self) -> int:
        """Messages on the queue at most: an outage at the peak, or what lives there, by Little's law (W3)."""
        return ceil(round(self.peak_per_s * max(self.life_s, self.outage_s), 6))


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferPool:
    """A buffer pool as it is defined today (W4)."""

    number: int = whole("number", 0, 99)
    buffers: int = whole("buffers", 1, 999_999_999)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedPool:
    """What a buffer pool counted in one interval (SMF 115); intervals of a pool are written in their order."""

    name: str = text("name")
    pool: int = whole("pool", 0, 99)
    seconds: float = duration("lasted", 0.000_001, DAY_S)
    buffers: int = whole("buffers", 1, 999_999_999)
    stealable_low: int = whole("stealable_low", 0, 999_999_999)
    stealable_now: int = whole("stealable_now", 0, 999_999_999)
    get_pages: int = whole("get_pages", 0, COUNT_MAX, 0)
    get_new_pages: int = whole("get_new_pages", 0, COUNT_MAX, 0)
    read_ios: int = whole("read_ios", 0, COUNT_MAX, 0)
    set_writes: int = whole("set_writes", 0, COUNT_MAX, 0)
    pages_written: int = whole("pages_written", 0, COUNT_MAX, 0)
    write_ios: int = whole("write_ios", 0, COUNT_MAX, 0)
    synchronous_writes: int = whole("synchronous_writes", 0, COUNT_MAX, 0)
    deferred_write_starts: int = whole("deferred_write_starts", 0, COUNT_MAX, 0)
    synchronous_thresholds: int = whole("synchronous_thresholds", 0, COUNT_MAX, 0)
    steals: int = whole("steals", 0, COUNT_MAX, 0)
    steal_contentions: int = whole("steal_contentions", 0, COUNT_MAX, 0)
    short_on_storage: int = whole("short_on_storage", 0, COUNT_MAX, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSet:
    """A page set as it is defined today (W4)."""

    number: int = whole("number", 0, 99)
    data_bytes: int = size("size", PAGE_BYTES, 64 * GIB)
    buffer_pool: int = whole("buffer_pool", 0, 99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """So many channels alike; `rate` is of one of them."""

    name: str = text("name")
    kind: str = choice("kind", KINDS)
    channels: int = whole("channels", 1, 9_999, 1)
    message_bytes: int = size("size", 0, MESSAGE_BYTES_MAX)
    average_per_s: float = rate("rate", 0, RATE_MAX)
    persistent: bool = flag("persistent")
    traffic: str = choice("traffic", TRAFFIC, "request/reply")
    batchsz: int = whole("batchsz", 1, 9_999, 50)
    batchint_s: float = duration("batchint", 0, 999_999.999, 0)
    sharecnv: int = whole("sharecnv", 0, 10, 0)
    cipher: str | None = choice("cipher", {name: name for name in TLS_START}, None)
    sslrkeyc_bytes: int = size("sslrkeyc", 0, 999_999_999, 0)
    threads: str = choice("threads", {"one": "one", "many": "many"}, "one")
    compression: str = choice("compression", {each: each for each in ("none", "zlibfast", "zlibhigh")}, "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class CouplingFacility:
    """Where shared queues live."""

    cfcc_level: int = whole("cfcc_level", 7, 25)
    engines: int = whole("engines", 1, 64, 1)
    busy_percent: float | None = number("busy_percent", 0, 100, None)
    link: str | None = choice("link", {kind: kind for kind in LINK_KINDS}, None)
    distance_m: float = number("distance_m", 0, 100_000, 0)
    duplexed: bool = flag("duplexed", False)
    auto_alter: bool = flag("auto_alter", True)
    scm_bytes: int | None = size("scm", MIB, 64 * 1024 * GIB, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """An application structure as it is defined today (W4)."""

    name: str = text("name")
    size_bytes: int = size("size", MIB, STRUCTURE_BYTES_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountingTrace:
    """Accounting that is on, or is to be."""

    accounting: Accounting = choice("class", {"1": Accounting.CLASS_1, "3": Accounting.CLASS_3})  # noqa: RUF009  a field, as dataclass fields go
    queues_per_transaction: int = whole("queues_per_transaction", 1, 10_000, 2)
    calls_per_transaction: int = whole("calls_per_transaction", 1, 1_000_000, 2)
    transactions_per_s: float = rate("transactions", 0, RATE_MAX)
    put_us: float | None = number("put_us", 0, 1_000_000, None)
    get_us: float | None = number("get_us", 0, 1_000_000, None)
    waiters: int = whole("waiters", 0, 100_000, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImsBridge:
    """Transactions to IMS, with what was measured of them."""

    rate_per_s: float = rate("rate", 0.001, RATE_MAX)
    region_us: float = number("region_us", 0.001, 60_000_000)
    bridge_task_per_s: float = rate("bridge_task_rate", 1, RATE_MAX)
    persistent: bool = flag("persistent")
    spare_regions: bool = flag("spare_regions", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """All of it.  Tables that are None or empty were not written."""

    title: str
    queue_manager: QueueManager
    flows: tuple[Flow, ...]
    log: Log = field(default_factory=Log)
    targets: Targets = field(default_factory=Targets)
    machine: Machine | None = None
    dasd: Dasd | None = None
    coupling_facility: CouplingFacility | None = None
    accounting: AccountingTrace | None = None
    ims_bridge: ImsBridge | None = None
    page_sets: tuple[PageSet, ...] = ()
    buffer_pools: tuple[BufferPool, ...] = ()
    counted_pools: tuple[CountedPool, ...] = ()
    structures: tuple[Structure, ...] = ()
    channels: tuple[Channel, ...] = ()

    @property
    def private(self) -> tuple[Flow, ...]:
        return tuple(flow for flow in self.flows if not flow.shared)

    @property
    def shared(self) -> tuple[Flow, ...]:
        return tuple(flow for flow in self.flows if flow.shared)

    @property
    def persistent(self) -> tuple[Flow, ...]:
        """Flows that log something."""
        return tuple(flow for flow in self.flows if flow.persistent and flow.average_per_s > 0)

    def page_set(self, number: int | None) -> PageSet | None:
        return next((each for each in self.page_sets if each.number == number), None)

    def share_of(self, flow: Flow) -> float:
        """The part of a flow's rate that the planned queue manager carries (W1)."""
        return 1 / self.queue_manager.members if flow.shared else 1.0
