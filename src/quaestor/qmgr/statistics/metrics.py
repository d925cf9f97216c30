"""Metrics: the figures of a running queue manager as Prometheus text.

Rules
  ME1 Names are those that the exporters of MQ people give, behind a prefix that may be chosen: dashboards made for them
      work. Objects are labels (`qmgr`, `queue`, `bufferpool`, `pageset`).
  ME2 Counters are since the start of the queue manager; whoever scrapes them makes rates. Nothing is reset by looking.
  ME3 Nothing is counted for them: what a queue's calls remember only while it is monitored (EV6: times of the last put
      and get, time on the queue in microseconds, highest depth since then) is told of those queues alone.
  ME4 A pure function of what it is given; it is called with the engine latch held, so that the figures agree.

Called by the metrics endpoint.  Calls the managers' sections.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from quaestor.clock import TOD_UNITS_PER_MICROSECOND
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.message.catalogue import Catalogue
from quaestor.qmgr.message.events import Events, Watch
from quaestor.qmgr.statistics.collect import Managers, page_set_usage

PREFIX = "ibmmq_"
RUNNING = 2
CI_BYTES = 4096
US_PER_S = 1_000_000


@dataclass(frozen=True, slots=True)
class Sample:
    """One figure of one object."""

    name: str
    kind: str
    help: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Observed:
    """What the metrics are taken from."""

    managers: Managers
    catalogue: Catalogue
    connections: int
    uptime_s: float
    smf_written: int = 0
    smf_lost: int = 0
    events: Events | None = None
    now_us: int = 0


def exposition(observed: Observed, prefix: str = PREFIX) -> str:
    """The text that a scrape of the queue manager gives (ME1)."""
    qmgr = observed.catalogue.qmgr.name
    lines: list[str] = []
    seen: set[str] = set()
    for sample in sorted(samples(observed), key=lambda one: one.name):
        name = prefix + sample.name
        if name not in seen:
            seen.add(name)
            lines += [f"# HELP {name} {sample.help}", f"# TYPE {name} {sample.kind}"]
        labels = ",".join(f'{key}="{_escaped(value)}"' for key, value in (("qmgr", qmgr), *sample.labels))
        lines.append(f"{name}{{{labels}}} {sample.value:.15g}")
    return "\n".join([*lines, ""])


def samples(observed: Observed) -> Iterator[Sample]:
    """Every figure there is."""
    yield from _queue_manager(observed)
    yield from _log(observed.managers)
    yield from _buffer_pools(observed.managers)
    yield from _page_sets(observed.managers)
    for queue in observed.catalogue.local_queues():
        yield from _queue(observed, queue)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _queue_manager(observed: Observed) -> Iterator[Sample]:
    stats = observed.managers.messages.stats
    yield Sample("qmgr_status", "gauge", "Status: 2 is running", RUNNING)
    yield Sample("qmgr_connection_count", "gauge", "Connections", observed.connections)
    yield Sample("qmgr_uptime", "gauge", "Seconds since the start", observed.uptime_s)
    counters = (
        ("mqopen_count", "MQOPEN calls", stats.opens),
        ("mqclose_count", "MQCLOSE calls", stats.closes),
        ("mqinq_count", "MQINQ calls", stats.inquires),
        ("mqset_count", "MQSET calls", stats.sets),
        ("mqget_count", "MQGET calls", stats.gets),
        ("mqput_count", "MQPUT calls", stats.puts),
        ("mqput1_count", "MQPUT1 calls", stats.put1s),
        ("interval_mqput_mqput1_total_count", "MQPUT and MQPUT1 calls", stats.puts + stats.put1s),
        (
            "interval_mqput_mqput1_total_bytes",
            "Bytes put",
            stats.persistent_bytes_put + stats.nonpersistent_bytes_put,
        ),
        ("persistent_message_mqput_count", "Persistent messages put", stats.persistent_puts),
        ("non_persistent_message_mqput_count", "Non-persistent messages put", stats.nonpersistent_puts),
        (
            "interval_destructive_get_total_count",
            "Messages got",
            observed.managers.data.stats.message_gets,
        ),
        ("smf_records_written", "SMF records written", observed.smf_written),
        ("smf_records_lost", "SMF records lost", observed.smf_lost),
    )
    for name, text, value in counters:
        yield Sample(f"qmgr_{name}", "counter", text, value)


def _log(managers: Managers) -> Iterator[Sample]:
    stats = managers.log.stats
    elapsed = sum(kind.io_elapsed for kind in stats.copies[0].kinds) / TOD_UNITS_PER_MICROSECOND / US_PER_S
    yield Sample("qmgr_log_physical_written_bytes", "counter", "Bytes written to logs", stats.cis_written * CI_BYTES)
    yield Sample("qmgr_log_logical_written_bytes", "counter", "Bytes of log records", managers.log.end)
    yield Sample("qmgr_log_writes", "counter", "Writes to the logs", stats.log_ios)
    yield Sample("qmgr_log_checkpoints", "counter", "Checkpoints by LOGLOAD", stats.checkpoints)
    yield Sample(
        "qmgr_log_write_latency_seconds", "gauge", "Average time of a log write", elapsed / max(stats.logger_calls, 1)
    )


def _buffer_pools(managers: Managers) -> Iterator[Sample]:
    for number, pool in managers.buffers.pools.items():
        label = (("bufferpool", str(number)),)
        yield Sample("bufferpool_buffers_total", "gauge", "Buffers of the pool", pool.buffers, label)
        yield Sample("bufferpool_buffers_free", "gauge", "Stealable buffers", pool.stealable, label)
        percent = 100 * pool.stealable / max(pool.buffers, 1)
        yield Sample("bufferpool_buffers_free_percent", "gauge", "Stealable buffers in per cent", percent, label)
        for name, text, value in (
            ("page_reads", "Pages read", pool.stats.page_reads),
            ("pages_written", "Pages written", pool.stats.pages_written),
            ("immediate_writes", "Synchronous page writes", pool.stats.immediate_writes),
            ("short_on_storage", "Times no buffer was free", pool.stats.short_on_storage),
        ):
            yield Sample(f"bufferpool_{name}", "counter", text, value, label)


def _page_sets(managers: Managers) -> Iterator[Sample]:
    for number, page_set in managers.buffers.page_sets.items():
        label = (("pageset", str(number)), ("bufferpool", str(page_set.buffer_pool)))
        usage = page_set_usage(managers.buffers, managers.data.space, page_set)
        for name, text, value in (
            ("pages_total", "Pages", page_set.pages),
            ("pages_unused", "Unused pages", usage.unused),
            ("pages_persistent", "Pages with persistent data", usage.persistent),
            ("pages_nonpersistent", "Pages with non-persistent data", usage.nonpersistent),
            ("expansion_count", "Expansions", page_set.expansions),
        ):
            yield Sample(f"pageset_{name}", "gauge", text, value, label)


def _queue(observed: Observed, queue: LocalQueue) -> Iterator[Sample]:
    state, label = observed.catalogue.state(queue.name), (("queue", queue.name),)
    try:
        depth, uncommitted = state.stored.depth, state.stored.uncommitted
    except MQError:
        return  # a shared queue whose structure cannot be reached
    yield Sample("queue_depth", "gauge", "Current depth", depth, label)
    yield Sample("queue_attribute_max_depth", "gauge", "MAXDEPTH", queue.max_depth, label)
    yield Sample("queue_input_handles", "gauge", "Input handles", state.input_handles, label)
    yield Sample("queue_output_handles", "gauge", "Output handles", state.output_handles, label)
    yield Sample("queue_uncommitted_messages", "gauge", "Uncommitted puts and gets", uncommitted, label)
    oldest_us = state.oldest_us
    if oldest_us is not None:
        age_s = _since_s(observed.now_us, oldest_us)
        yield Sample("queue_oldest_message_age", "gauge", "Age of the oldest message in seconds", age_s, label)
    watch = None if observed.events is None else observed.events.watched(state)
    if watch is not None:
        yield from _monitored(watch, observed.now_us, label)


def _monitored(watch: Watch, now_us: int, label: tuple[tuple[str, str], ...]) -> Iterator[Sample]:
    """What is told of a monitored queue alone (ME3)."""
    yield Sample("queue_hi_depth", "gauge", "Highest depth since it is monitored", watch.depth_highest, label)
    for call, when_us in (("put", watch.last_put_us), ("get", watch.last_get_us)):
        if when_us:
            since_s = _since_s(now_us, when_us)
            yield Sample(f"queue_time_since_{call}", "gauge", f"Seconds since the last {call}", since_s, label)
    if watch.on_queue_us is not None:
        few_us, many_us = watch.on_queue_us
        yield Sample("queue_qtime_short", "gauge", "Microseconds on the queue, of few messages", few_us, label)
        yield Sample("queue_qtime_long", "gauge", "Microseconds on the queue, of many messages", many_us, label)


def _since_s(now_us: int, then_us: int) -> int:
    return max(0, now_us - then_us) // US_PER_S if then_us else 0
