"""Adapters, dispatchers and SSL tasks: how many, how channels spread over them, how busy they are.

Rules
  T1  Adapters make the MQI calls; a call that waits for the log blocks its adapter.  8 is the default; heavy persistent
      work wants 30 up to four processors and 8 more for each further one, up to 120.  Too many do no harm.
  T2  A channel stays with its dispatcher until it stops.  The first MIN(MAXCHL / CHIDISPS, 10) channels go to the first
      dispatcher, the next so many to the second, and so on.  What happens after the last is not printed: here the
      groups go round again, which gives the paper's 50 channels each for 150 over 3.
  T3  SSL tasks: one more than dispatchers, and more than processors; each takes 1.3 MB.
  T4  Threads in OMVS: 3, and one for each dispatcher and SSL task.
  T5  A task's busy percent is request time over the interval; the MQSMF report divides by the nominal interval.

Called by the planner's answers.  Calls bounds, source.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from quaestor.planner.bounds import above, at_least, one_of, within
from quaestor.planner.source import Source, Table, formula

EXTRACT = "mp16-ch2-3"

ADAPTERS_DEFAULT = 8
ADAPTERS_PERSISTENT = 30
ADAPTERS_MAX = 120
DISPATCHERS_FOR_MANY_CHANNELS = 20
MANY_CHANNELS = 1000
GROUP_MAX = 10
FIXED_THREADS = 3  # CSQXJST, and CSQXRCTL twice (one is a listener)
RESTART_CHANNEL_BUSY_PERCENT = 90

DISPATCHER_REQUEST_US = {"none": 6, "zlibfast": 13, "zlibhigh": 219}  # 32 KB messages, about 40% compressible
DISPATCHER_REQUEST_SOURCE = Source(EXTRACT, "B4 ORACLE 56", "3468-3471")
PEAK_BY_DISPATCHERS = Table(
    "peak 2 KB request/reply transactions/s by dispatchers that share the busy channels",
    Source(EXTRACT, "B4 ORACLE 55", "3450-3462"),
    ("dispatchers", "transactions_per_s"),
    ((1, 40_000), (3, 60_000)),  # the second is printed as 50% higher
)
ADAPTERS_USED = Table(
    "adapters used by 2 KB request/reply over 10 channel pairs each way",
    Source(EXTRACT, "B3 ORACLE 52", "3422-3430"),
    ("persistent", "adapters_over_50_percent", "adapters_used"),
    ((0, 1, 8), (1, 10, 19)),
)


@dataclass(frozen=True, slots=True)
class TaskUse:
    """How one task spent an interval, in the columns of the MQSMF task report."""

    requests: int
    busy_percent: float
    cpu_percent: float
    cpu_us_mean: float


@formula(EXTRACT, "B3 adapters", "3414-3416, 3785")
def adapters(processors: int, heavy_persistent: bool = True) -> int:
    """CHIADAPS (T1)."""
    at_least(1, processors=processors)
    if not heavy_persistent:
        return ADAPTERS_DEFAULT
    return min(ADAPTERS_MAX, ADAPTERS_PERSISTENT + 8 * max(0, processors - 4))


@formula(EXTRACT, "B3 adapters short (CH-R8)", "3434")
def adapters_are_short(requests_by_adapter: Iterable[int]) -> bool:
    """Whether every adapter was used, so that calls may have waited for one."""
    counts = list(requests_by_adapter)
    for requests in counts:
        at_least(0, requests=requests)
    return bool(counts) and all(counts)


@formula(EXTRACT, "B4 group of channels", "3440")
def dispatcher_group(maxchl: int, dispatchers: int) -> int:
    """How many channels go to one dispatcher before the next gets any (T2)."""
    at_least(1, maxchl=maxchl, dispatchers=dispatchers)
    return max(1, min(maxchl // dispatchers, GROUP_MAX))


@formula(EXTRACT, "B4 spread over dispatchers (CH-M8)", "3438-3456")
def channels_by_dispatcher(channels: int, maxchl: int, dispatchers: int) -> tuple[int, ...]:
    """Channels on each dispatcher when so many have started one after the other (T2)."""
    within(0, maxchl, channels=channels)
    group = dispatcher_group(maxchl, dispatchers)
    rounds, rest = divmod(channels, group * dispatchers)
    return tuple(rounds * group + min(group, max(0, rest - group * at)) for at in range(dispatchers))


@formula(EXTRACT, "B4 dispatchers", "3448")
def dispatchers_for_channels(channels: int, enough_now: int) -> int:
    """CHIDISPS: 20 above 1000 channels unless more already serve; else as few as are enough, none at capacity."""
    at_least(0, channels=channels)
    at_least(1, enough_now=enough_now)
    many = channels > MANY_CHANNELS
    return max(enough_now, DISPATCHERS_FOR_MANY_CHANNELS) if many else enough_now


@formula(EXTRACT, "B4 cost of compression", "3464-3471")
def dispatcher_request_us(compression: str = "none") -> int:
    """Dispatcher CPU for one request of a 32 KB message; zlibfast with zEDC hardware (V8)."""
    one_of(tuple(DISPATCHER_REQUEST_US), compression=compression)
    return DISPATCHER_REQUEST_US[compression]


@formula(EXTRACT, "B4 requests a dispatcher can carry [D]", "3464-3471")
def dispatcher_requests_per_s_max(compression: str = "none", busy_percent_max: float = 100.0) -> float:
    """Requests per second that one dispatcher's CPU allows."""
    within(0, 100, busy_percent_max=busy_percent_max)
    return busy_percent_max / 100 * 1_000_000 / dispatcher_request_us(compression)


@formula(EXTRACT, "B4 OMVS threads", "3475-3481, 3500")
def omvs_threads(dispatchers: int, ssl_tasks: int = 0, channel_initiators: int = 1) -> int:
    """Threads of channel initiators that are all alike (T4)."""
    at_least(0, ssl_tasks=ssl_tasks)
    at_least(1, channel_initiators=channel_initiators, dispatchers=dispatchers)
    each = FIXED_THREADS + dispatchers + ssl_tasks
    return channel_initiators * each


@formula(EXTRACT, "B4 OMVS limits (CH-R16)", "3504")
def omvs_limit(limit_now: int, more_dispatchers: int, queue_managers: int) -> int:
    """MAXPROCSYS or MAXPROCUSER after CHIDISPS is raised on so many queue managers."""
    at_least(0, more_dispatchers=more_dispatchers, limit_now=limit_now)
    at_least(1, queue_managers=queue_managers)
    more = more_dispatchers * queue_managers
    return limit_now + more


@formula(EXTRACT, "B11 SSL tasks", "3934-3940")
def ssl_tasks(dispatchers: int, processors: int = 0) -> int:
    """SSLTASKS (T3)."""
    at_least(1, dispatchers=dispatchers)
    at_least(0, processors=processors)
    return max(dispatchers, processors) + 1


@formula(EXTRACT, "B11 task report (ORACLE 74)", "3963-3971")
def task_use(requests: int, cpu_s: float, elapsed_s: float, interval_s: float) -> TaskUse:
    """One row of the task report, from a task's counters (T5)."""
    at_least(0, elapsed_s=elapsed_s, cpu_s=cpu_s)
    above(0, interval_s=interval_s)
    at_least(0, requests=requests)
    return TaskUse(
        requests=requests,
        busy_percent=100 * elapsed_s / interval_s,
        cpu_percent=100 * cpu_s / interval_s,
        cpu_us_mean=1_000_000 * cpu_s / requests if requests else 0.0,
    )


@formula(EXTRACT, "B11 channel on a busy task (CH-R31)", "3960")
def restart_may_help(busy_percent: float) -> bool:
    """Whether the SSL task is so busy that a restart, which may move the channel, is worth it."""
    within(0, 100, busy_percent=busy_percent)
    return busy_percent > RESTART_CHANNEL_BUSY_PERCENT
