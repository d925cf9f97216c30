"""A workload profile: which queue managers run, what is defined on them, who uses it, and what goes wrong.

The words are those of the definitions an installation has: buffer pools, page sets, structures, queues, channels.
A profile says what the *busiest hour* looks like; the rhythm says how far every other hour falls below it.

Rules
  P1  A figure that the source papers give a usual value for has that value as its default.
  P2  Rates are per hour at rhythm 1.0. `busy_percent` is how full a pool or page set is then.
  P3  A task is short (it starts, works and ends; one record each) or long-running (one record per interval and
      instance). Sender, receiver and client channels are long-running applications of the channel initiator.
  P4  Everything is a frozen value; nothing here draws a random number.

Called by every other module of synth; built by profile_file.  Calls catalog for levels.
"""

from dataclasses import dataclass, field
from datetime import date, timedelta

from quaestor.smf.catalog import CURRENT_LEVEL, version

CHANNEL_KINDS = ("sender", "receiver", "svrconn")
CONNECTION_TYPES = {"cics": 1, "batch": 2, "ims": 4, "rrs": 7, "sender": 6, "receiver": 6, "svrconn": 6}
CHANNEL_TYPES = {"sender": 1, "receiver": 3, "svrconn": 7}
INDEX_TYPES = {"none": 0, "msgid": 1, "correlid": 2, "msgtoken": 4, "groupid": 5}
PAGE_BYTES = 4096
SYNC_QUEUE = "SYSTEM.CHANNEL.SYNCQ"


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How busy each hour of the day and each day of the week is, 1.0 being the busiest."""

    name: str
    hours: tuple[float, ...] = (1.0,) * 24
    week: tuple[float, ...] = (1.0,) * 7  # Monday first


@dataclass(frozen=True, slots=True)
class SizeMix:
    """Message sizes in bytes and the share of each."""

    name: str
    sizes: tuple[int, ...] = (1000,)
    shares: tuple[float, ...] = (1.0,)

    @property
    def mean(self) -> float:
        return sum(size * share for size, share in zip(self.sizes, self.shares, strict=True))


@dataclass(frozen=True, slots=True)
class BufferPool:
    """A buffer pool; pools that hold short-lived messages are sized so that 15 % stay free at the peak."""

    number: int
    buffers: int = 50_000
    busy_percent: float = 60.0
    above_bar: bool = True


@dataclass(frozen=True, slots=True)
class PageSet:
    """A page set and the pool its pages pass through."""

    number: int
    buffer_pool: int
    pages: int = 250_000
    busy_percent: float = 40.0


@dataclass(frozen=True, slots=True)
class Log:
    """Log settings and how fast the log volumes answer."""

    copies: int = 2
    outbuff_kb: int = 4000
    wrthrsh: int = 20
    logload: int = 500_000
    active_log_mb: int = 2000
    io_us: float = 350.0


@dataclass(frozen=True, slots=True)
class ChannelInitiator:
    """Tasks and limits of the channel initiator."""

    dispatchers: int = 5
    adapters: int = 8
    ssl_tasks: int = 8
    max_channels: int = 400


@dataclass(frozen=True, slots=True)
class Structure:
    """A coupling facility list structure, with or without shared message data sets behind it."""

    name: str
    number: int
    entries: int = 200_000
    single_us: float = 12.0
    multiple_us: float = 40.0
    smds: bool = False


@dataclass(frozen=True, slots=True)
class Queue:
    """A local queue: on a page set, or in a structure."""

    name: str
    page_set: int = -1
    structure: str = ""
    index: str = "none"
    on_queue_ms: float = 20.0

    @property
    def shared(self) -> bool:
        return bool(self.structure)


@dataclass(frozen=True, slots=True)
class Use:
    """What one unit of recovery of an application does to one queue."""

    queue: str
    get: float = 0.0
    put: float = 0.0
    put1: float = 0.0
    browse: float = 0.0
    inquire: float = 0.0
    set: float = 0.0
    miss: float = 0.0  # gets that find nothing, per get that does: a get with wait is issued again
    specific: bool = False
    persistent: float = 0.0  # share of the messages
    sizes: str = ""
    opened_as: str = ""


@dataclass(frozen=True, slots=True)
class Application:
    """Tasks of one kind: a CICS or IMS transaction, a batch job, a channel (P3)."""

    name: str
    kind: str
    uses: tuple[Use, ...]
    connection: str = ""
    queue_managers: tuple[str, ...] = ()
    transactions: tuple[str, ...] = ()
    users: tuple[str, ...] = ("MQUSER",)
    rhythm: str = ""
    tasks_per_hour: float = 0.0
    instances: int = 0
    units_per_hour: float = 0.0
    units_per_task: float = 1.0
    think_ms: float = 5.0
    syncpoint: bool = True
    channel: str = ""  # of both ends; the application's name when not given
    partner: str = ""
    tls: bool = False
    batch_size: int = 50

    @property
    def is_channel(self) -> bool:
        return self.kind in CHANNEL_KINDS

    @property
    def channel_name(self) -> str:
        return (self.channel or self.name) if self.is_channel else ""

    @property
    def transaction_bytes(self) -> int:
        """How long the name of a transaction may be: eight characters of a PSB, four of CICS."""
        return 8 if self.kind == "ims" else 4

    @property
    def transaction_names(self) -> tuple[str, ...]:
        """The transactions that its tasks are; without any the application's name, as much as fits."""
        return self.transactions or (self.name[: self.transaction_bytes],)

    @property
    def long_running(self) -> bool:
        return self.instances > 0

    @property
    def busiest_units_per_hour(self) -> float:
        return self.units_per_hour if self.long_running else self.tasks_per_hour * self.units_per_task


_POOLS = tuple(BufferPool(number, buffers) for number, buffers in ((0, 50_000), (1, 20_000), (2, 50_000), (3, 20_000)))
_PAGE_SETS = tuple(PageSet(number, number) for number in range(4))


@dataclass(frozen=True, slots=True)
class QueueManager:
    """A queue manager and what is defined on it."""

    name: str
    system: str
    level: str = CURRENT_LEVEL
    zone_minutes: int = 0
    queue_sharing_group: str = ""
    accounting: tuple[int, ...] = (3, 4)
    cpu_factor: float = 0.4  # CPU time relative to the machine of MP1B's examples
    buffer_pools: tuple[BufferPool, ...] = _POOLS
    page_sets: tuple[PageSet, ...] = _PAGE_SETS
    log: Log = field(default_factory=Log)
    db2_servers: int = 4
    channel_initiator: ChannelInitiator = field(default_factory=ChannelInitiator)

    def at_least(self, level: str) -> bool:
        return version(self.level) >= version(level)

    def pool_of(self, page_set: int) -> int:
        return next(each.buffer_pool for each in self.page_sets if each.number == page_set)


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that goes wrong, planted: what, where, on which day and between which local hours."""

    kind: str
    queue_manager: str
    object: str = ""
    day: int = 0
    from_hour: float = 0.0
    to_hour: float = 24.0
    severity: float = 1.0


@dataclass(frozen=True, slots=True)
class Profile:
    """A whole installation over some days."""

    name: str
    title: str
    start: date
    queue_managers: tuple[QueueManager, ...]
    queues: tuple[Queue, ...]
    applications: tuple[Application, ...]
    days: int = 1
    interval_minutes: int = 30
    seed: int = 1
    growth_percent_per_week: float = 0.0
    rhythms: tuple[Rhythm, ...] = ()
    sizes: tuple[SizeMix, ...] = ()
    structures: tuple[Structure, ...] = ()
    incidents: tuple[Incident, ...] = ()

    @property
    def intervals_per_day(self) -> int:
        return 24 * 60 // self.interval_minutes

    @property
    def interval_us(self) -> int:
        return self.interval_minutes * 60_000_000

    def date_of(self, day: int) -> date:
        return self.start + timedelta(days=day)

    def queue(self, name: str) -> Queue:
        return next(each for each in self.queues if each.name == name)

    def structure(self, name: str) -> Structure:
        return next(each for each in self.structures if each.name == name)

    def mix(self, use: Use) -> SizeMix:
        return next((each for each in self.sizes if each.name == use.sizes), SizeMix(""))

    def rhythm(self, application: Application) -> Rhythm:
        return next((each for each in self.rhythms if each.name == application.rhythm), Rhythm(""))

    def applications_on(self, queue_manager: QueueManager) -> tuple[Application, ...]:
        """Who runs there: the applications that name the queue manager, and those that name none."""
        return tuple(
            each for each in self.applications if not each.queue_managers or queue_manager.name in each.queue_managers
        )

    def queues_on(self, queue_manager: QueueManager) -> tuple[Queue, ...]:
        """The queues that some application of the queue manager uses, in the order of their definition."""
        used = {use.queue for each in self.applications_on(queue_manager) for use in each.uses}
        return tuple(queue for queue in self.queues if queue.name in used)

    def structures_on(self, queue_manager: QueueManager) -> tuple[Structure, ...]:
        """The structures its queues live in; none without a queue-sharing group."""
        used = {queue.structure for queue in self.queues_on(queue_manager)}
        return tuple(each for each in self.structures if each.name in used)
