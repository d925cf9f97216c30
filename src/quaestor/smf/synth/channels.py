"""What the channel initiator counts: its tasks (115-231) and every channel (116-10).

Rules
  H1  Requests to the adapters are the MQI calls of all channel tasks, and their elapsed time is that of the calls.
      Adapters are taken from the front: the last ones are idle unless they were planted short.
  H2  Dispatchers share the channels evenly; a channel stays with its dispatcher. A starved one carries nearly all.
  H3  Wait = interval - elapsed, for every task; no task is busier than the interval is long.
  H4  Messages, batches and bytes of a channel are those of its accounting; achieved batch = messages / batches.

Called by statistics.  Calls ledger, incidents.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quaestor.smf.sections.channel import ChannelAccounting
from quaestor.smf.synth.incidents import Conditions
from quaestor.smf.synth.ledger import Ledger
from quaestor.smf.synth.profile import CHANNEL_TYPES, Application
from quaestor.smf.synth.sheet import Figures, tod, tod_units

Counts = NDArray[np.int64]
Numbers = NDArray[np.float64]

_BUSY = 0.97  # of the interval, for a task that was planted short
_IDLE_ADAPTERS = 2
_FLOW_BYTES = 480  # headers that travel with every message
_PRIVATE, _RUNNING, _HIGH = 4, 3, 65
_NO_TIME = 0x8FFFFFFF
_LONGEST_SSL_REQUEST = 900 * 4096  # in TOD units


@dataclass(frozen=True, slots=True)
class Channel:
    """One instance of a channel and the dispatcher that runs it."""

    application: Application
    instance: int
    dispatcher: int

    @property
    def key(self) -> tuple[str, int]:
        return self.application.name, self.instance


def channels_of(conditions: Conditions) -> list[Channel]:
    """Every instance of every channel, dealt to the dispatchers in turn (H2)."""
    manager = conditions.manager
    found = [
        (application, instance)
        for application in conditions.profile.applications_on(manager)
        if application.is_channel
        for instance in range(application.instances)
    ]
    dispatchers = manager.channel_initiator.dispatchers
    return [Channel(application, instance, n % dispatchers) for n, (application, instance) in enumerate(found)]


def initiator_figures(channels: list[Channel], conditions: Conditions, rng: np.random.Generator) -> Figures:
    """QCCT columns."""
    count = conditions.profile.intervals_per_day
    limit = conditions.manager.channel_initiator.max_channels
    near = conditions.severity("channels_near_limit")
    used = len(channels) + rng.integers(0, 3, count)
    used = np.where(near > 0, limit - rng.integers(0, 3, count), np.minimum(used, limit * 7 // 10))
    return {
        "channels_high": used,
        "max_channels": np.full(count, limit),
        "active_channels_high": used,
        "max_active_channels": np.full(count, limit),
        "max_tcp_channels": np.full(count, limit),
        "max_lu62_channels": np.full(count, limit),
        "storage_31_mb": 60 + used // 8,
        "storage_64": np.full(count, 200 << 20),
        "storage_64_limit": np.full(count, 2 << 30),
    }


def adapter_figures(conditions: Conditions, ledger: Ledger) -> list[Figures]:
    """QCT_ADP columns of every adapter (H1)."""
    adapters = conditions.manager.channel_initiator.adapters
    short = conditions.severity("adapters_short")
    used = max(1, adapters - _IDLE_ADAPTERS)
    shares = np.array([0.5**n for n in range(used)])
    shares = np.append(shares / shares.sum(), np.zeros(adapters - used))
    total = tuple(ledger.total("channel", name) for name in ("calls", "cpu", "elapsed"))
    return [
        _task(conditions, total, np.where(short > 0, 1 / adapters, share), first=n == 0, busy=short)
        for n, share in enumerate(shares)
    ]


def dispatcher_figures(channels: list[Channel], conditions: Conditions, ledger: Ledger) -> list[Figures]:
    """QCT_DSP columns of every dispatcher (H2)."""
    dispatchers = conditions.manager.channel_initiator.dispatchers
    used = min(dispatchers, len(channels))
    starved = conditions.severity("dispatcher_starved")
    total = tuple(ledger.total("channel", name) for name in ("calls", "cpu", "elapsed"))
    made = []
    for n in range(dispatchers):
        mine = sum(channel.dispatcher == n for channel in channels)
        uneven = 1.0 if n == 0 else 0.0
        busy = starved if n == 0 else 0 * starved
        even = 1 / used if n < used else 0.0
        figures = _task(conditions, total, np.where(starved > 0, uneven, even), first=n == 0, busy=busy)
        figures["channels"] = np.where(starved > 0, len(channels) * uneven, mine).astype(np.int64)
        made.append(figures)
    return made


def ssl_figures(channels: list[Channel], conditions: Conditions, ledger: Ledger, end_us: Counts) -> list[Figures]:
    """QCT_SSL columns: encryption of the channels that ask for it."""
    tasks, busy = conditions.manager.channel_initiator.ssl_tasks, conditions.severity("ssl_task_busy")
    encrypted = [channel.key for channel in channels if channel.application.tls]
    messages = sum((ledger.sum("channel", key, "messages") for key in encrypted), np.zeros(len(busy), np.int64))
    total = (messages, tod_units(messages * 18.0), tod_units(messages * 22.0))
    made = []
    for n in range(tasks):
        mine = busy if n == 0 else 0 * busy
        figures = _task(conditions, total, np.full(len(busy), 1 / tasks), first=n == 0, busy=mine)
        some = figures["requests"] > 0
        figures["longest_at"] = np.where(some, tod(end_us - 60_000_000), np.uint64(0))
        figures["longest_request"] = np.where(some, np.minimum(figures["request_elapsed"], _LONGEST_SSL_REQUEST), 0)
        made.append(figures)
    return made


def dns_figures(conditions: Conditions, rng: np.random.Generator) -> Figures:
    count = conditions.profile.intervals_per_day
    requests = rng.poisson(2.0, count)
    none = np.zeros(count)
    return _task(conditions, (requests, tod_units(requests * 60.0), tod_units(requests * 900.0)), none + 1, busy=none)


def _task(
    conditions: Conditions, total: tuple[Counts, ...], share: Numbers, *, busy: Numbers, first: bool = True
) -> Figures:
    """One task's part of the requests, CPU and elapsed time; the first takes what does not divide (H3)."""
    interval = conditions.profile.interval_us * 4096
    requests, cpu, elapsed = (np.floor(whole * share).astype(np.int64) + (first & (share > 0)) for whole in total)
    requests = np.where(total[0] > 0, requests, 0) + np.where(busy > 0, 1000, 0)
    worked = np.where(busy > 0, int(interval * _BUSY), np.minimum(elapsed, interval * 6 // 10))
    worked = np.where(requests > 0, worked, 0)
    return {
        "requests": requests,
        "cpu": np.minimum(cpu, worked),
        "request_elapsed": worked,
        "wait_elapsed": interval - worked,
    }


def channel_template(channel: Channel) -> ChannelAccounting:
    """QCST of one channel, as far as it never changes."""
    application = channel.application
    client = application.kind == "svrconn"
    return ChannelAccounting(
        channel=application.channel_name,
        disposition=_PRIVATE,
        channel_type=CHANNEL_TYPES[application.kind],
        channel_status=_RUNNING,
        statchl=_HIGH,
        connection_name=application.partner.format(channel.instance + 1),
        batch_size=1 if client else application.batch_size,
        batch_data_limit=5000,
        dispatcher=channel.dispatcher + 1,
        exit_shortest=_NO_TIME,
        cipher_spec=0xC02F if application.tls else 0,
        shared_conversations=10 if client else 0,
        remote_product="MQCC" if client else "MQMV",
        remote_version="09040500",
    )


def channel_figures(channel: Channel, conditions: Conditions, ledger: Ledger, end_us: Counts) -> Figures:
    """QCST columns of one channel (H4)."""
    messages = ledger.sum("channel", channel.key, "messages")
    persistent = ledger.sum("channel", channel.key, "persistent")
    batches = ledger.sum("channel", channel.key, "batches")
    moved = ledger.sum("channel", channel.key, "bytes")
    client = channel.application.kind == "svrconn"
    flow = moved + _FLOW_BYTES * messages
    sent, received = (flow // 20, flow) if channel.application.kind == "receiver" else (flow, flow // 20)
    some = messages > 0
    network = np.where(some, 320, 0)
    figures: Figures = {
        "collected_at": tod(end_us),
        "started_at": np.full(len(messages), int(tod(end_us[:1])[0]) - (3600 << 32), np.uint64),
        "last_message_at": np.where(some, tod(end_us - 250_000), np.uint64(0)),
        "messages": ledger.sum("channel", channel.key, "calls") if client else messages,
        "persistent_messages": persistent,
        "message_bytes": moved,
        "persistent_bytes": moved * persistent // np.maximum(1, messages),
        "buffers_sent": messages + batches,
        "buffers_received": messages + batches,
        "bytes_sent": sent,
        "bytes_received": received,
        "network_average": network,
        "network_shortest": np.where(some, 190, _NO_TIME),
        "network_longest": 8 * network,
        "transmission_queue_empty": batches if channel.application.kind == "sender" else 0 * batches,
    }
    if not client:
        full = batches * (messages >= batches * channel.application.batch_size)
        figures |= {"batches": batches, "full_batches": full}
    starved = conditions.severity("dispatcher_starved") > 0
    figures["dispatcher"] = np.where(starved, 1, channel.dispatcher + 1)
    return figures
