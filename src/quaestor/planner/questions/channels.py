"""Questions about the channel initiator: storage, tasks, batches, TLS and restart of channels.

Called by plan through the catalog.  Calls channels, channel_tasks, channel_buffers, channel_costs, channel_tls,
batches.
"""

from quaestor.planner import batches, channel_buffers, channel_costs, channel_tasks, channel_tls, channels
from quaestor.planner.answer import Figures, HeadRoom, Unit, each_apart, figure
from quaestor.planner.batches import Traffic
from quaestor.planner.channels import ChannelGroup
from quaestor.planner.questions.catalog import question
from quaestor.planner.questions.load import Load, needed
from quaestor.planner.release import Release
from quaestor.planner.source import OutOfRangeError
from quaestor.planner.workload import Channel

DISPATCHERS_DEFAULT = 5
FOOTPRINT_KB_MIN = 1
EARLIER_MESSAGE_KB_MAX = 32  # above it, a channel of version 6 takes more, and nobody says how much
PAIRS_KNOWN_MIN = 1000  # the fewest that starting was measured with
BATCHSZ_MEASURED = {True: (1,), False: (1, 50)}
TRAFFIC = {"delayed": Traffic.REQUEST_REPLY_DELAYED, "bulk": Traffic.BULK, "trickle": Traffic.TRICKLE}


def footprint_kb(load: Load, channel: Channel) -> float:
    """Storage of one channel at its release; many threads of a client hold as many conversations as SHARECNV allows."""
    message_kb = max(FOOTPRINT_KB_MIN, channel.message_bytes / 1024)
    if not shares_conversations(load):
        if message_kb > EARLIER_MESSAGE_KB_MAX:
            raise OutOfRangeError(f"message_kb {message_kb:g} has no figures before 7.0.1; valid is up to 32")
        return channels.earlier_footprint_kb(6, "channel")
    if channel.kind != "svrconn":
        return channels.mca_footprint_kb(message_kb)
    conversations = max(1, channel.sharecnv) if channel.threads == "many" else 1
    footprint = channels.svrconn_footprint_kb(message_kb, channel.sharecnv, conversations)
    if load.workload.queue_manager.version < Release.V8_0 and conversations == 10:
        return max(footprint, channels.earlier_footprint_kb(7, "sharecnv 10"))
    return footprint


def shares_conversations(load: Load) -> bool:
    """Whether the release knows SHARECNV."""
    return load.workload.queue_manager.version >= Release.V7_0_1


def channel_count(load: Load) -> int:
    return sum(channel.channels for channel in load.channels)


def adapters(load: Load) -> int:
    return channel_tasks.adapters(load.machine.processors, any(channel.persistent for channel in load.channels))


def dispatchers(load: Load) -> int:
    return channel_tasks.dispatchers_for_channels(channel_count(load), DISPATCHERS_DEFAULT)


def ssl_tasks(load: Load) -> int:
    secured = any(channel.cipher for channel in load.channels)
    return channel_tasks.ssl_tasks(dispatchers(load), load.machine.processors) if secured else 0


def free_kb(load: Load) -> float:
    return channels.free_storage_kb(channels.task_storage_kb(adapters(load), dispatchers(load), ssl_tasks(load)))


def groups(load: Load) -> tuple[ChannelGroup, ...]:
    return tuple(
        ChannelGroup(channel.channels, footprint_kb(load, channel), channel.cipher is not None)
        for channel in load.channels
    )


def traffic_of(channel: Channel) -> Traffic:
    if channel.traffic == "request/reply":
        return Traffic.REQUEST_REPLY if channel.persistent else Traffic.REQUEST_REPLY_NON_PERSISTENT
    return TRAFFIC[channel.traffic]


@question("ch2-19", "How much storage do the channels need, and how many can there be?")
def storage(load: Load) -> Figures:
    free = free_kb(load)

    def in_all(given: Load) -> Figures:
        yield figure(
            channels.storage_needed_kb,
            Unit.KB,
            what="in all",
            head_room=lambda kb: HeadRoom("storage of the channel initiator", kb, free),
            groups=groups(given),
        )

    def alone(channel: Channel) -> Figures:
        yield figure(
            channels.channels_max,
            Unit.COUNT,
            about=channel.name,
            what="of this kind alone",
            footprint_kb=footprint_kb(load, channel),
            tls=channel.cipher is not None,
            free_kb=free,
        )

    yield from each_apart([load], lambda _: "in all", in_all)
    yield from each_apart(load.channels, lambda channel: channel.name, alone)


@question("ch2-20", "How many adapters, dispatchers and SSL tasks?")
def tasks(load: Load) -> Figures:
    yield figure(
        channel_tasks.adapters,
        Unit.COUNT,
        what="CHIADAPS",
        processors=load.machine.processors,
        heavy_persistent=any(channel.persistent for channel in load.channels),
    )
    yield figure(
        channel_tasks.dispatchers_for_channels,
        Unit.COUNT,
        what="CHIDISPS",
        channels=channel_count(load),
        enough_now=DISPATCHERS_DEFAULT,
    )
    if any(channel.cipher for channel in load.channels):
        yield figure(
            channel_tasks.ssl_tasks,
            Unit.COUNT,
            what="SSLTASKS",
            dispatchers=dispatchers(load),
            processors=load.machine.processors,
        )
    yield figure(
        channel_tasks.omvs_threads,
        Unit.COUNT,
        what="OMVS threads",
        dispatchers=dispatchers(load),
        ssl_tasks=ssl_tasks(load),
    )


@question("ch2-21", "How are the channels spread over dispatchers?")
def spread(load: Load) -> Figures:
    count = channel_count(load)
    yield figure(
        channel_tasks.channels_by_dispatcher,
        Unit.TEXT,
        pick=lambda by: ", ".join(map(str, by)),
        channels=count,
        maxchl=max(200, count),
        dispatchers=dispatchers(load),
    )


@question("ch2-22", "Is the channel initiator near scavenging, and what would it keep?")
def scavenging(load: Load) -> Figures:
    used = channels.storage_needed_kb(groups(load))
    yield figure(channel_buffers.scavenger_due, Unit.FLAG, what="scavenging", used_kb=used, available_kb=free_kb(load))
    yield figure(channel_buffers.scavenged_kb, Unit.KB, what="buffers that stay free", dispatchers=dispatchers(load))


@question("ch2-23", "Which batches are achieved, and which settings suit?")
def batching(load: Load) -> Figures:
    for channel in load.channels:
        if channel.kind == "svrconn":
            continue
        yield figure(
            batches.achieved_batch_size,
            Unit.MESSAGES,
            about=channel.name,
            what="a batch",
            **load.batch_inputs(channel),
        )
        yield figure(
            batches.recommended_settings,
            Unit.TEXT,
            about=channel.name,
            pick=lambda to: f"BATCHSZ({to.batchsz}) BATCHINT({to.batchint_ms}) NPMSPEED({to.npmspeed.value})",
            traffic=traffic_of(channel),
            message_bytes=channel.message_bytes,
        )


@question("ch2-24", "What CPU does it take to move a message?")
def moving(load: Load) -> Figures:
    for channel in load.channels:
        if channel.kind == "svrconn":
            continue
        achieved = load.achieved_batch(channel)
        batchsz = max(size for size in BATCHSZ_MEASURED[channel.persistent] if size <= max(1, achieved))
        yield figure(
            channel_costs.move_cpu_us,
            Unit.US,
            about=channel.name,
            what="both ends",
            message_bytes=channel.message_bytes,
            persistent=channel.persistent,
            batchsz=batchsz,
        )


@question("ch2-25", "What does TLS add?")
def tls(load: Load) -> Figures:
    for channel in load.channels:
        if channel.cipher is None:
            continue
        yield figure(
            channel_tls.tls_start,
            Unit.MS,
            about=channel.name,
            what="CPU of a start",
            pick=lambda start: start.cpu_ms,
            cipher=channel.cipher,
        )
        yield figure(
            channel_tls.renegotiations_per_s,
            Unit.PER_S,
            about=channel.name,
            what="key renegotiations, all channels",
            bytes_per_s=channel.average_per_s * channel.message_bytes * channel.channels,
            sslrkeyc_bytes=channel.sslrkeyc_bytes,
        )


@question("ch2-26", "How long does it take to restart the channels?")
def restart(load: Load) -> Figures:
    for channel in load.channels:
        if channel.cipher is None:
            known = max(PAIRS_KNOWN_MIN, channel.channels)
            yield figure(
                channel_costs.restart_s,
                Unit.SECONDS,
                about=channel.name,
                what=f"as if {known} pairs were known",
                channels=channel.channels,
                pairs_known=known,
            )
        else:
            yield figure(
                channel_tls.tls_restart_s,
                Unit.SECONDS,
                about=channel.name,
                channels=channel.channels,
                cipher=channel.cipher,
            )


@question("ch2-27", "What does compression cost the dispatcher?")
def compression(load: Load) -> Figures:
    for channel in load.channels:
        yield figure(
            channel_tasks.dispatcher_request_us,
            Unit.US,
            about=channel.name,
            what="a request of 32 KB",
            compression=channel.compression,
        )


@question("ch2-28", "What do trace and class(4) cost?")
def tracing(load: Load) -> Figures:
    busy = any(channel.average_per_s > 0 for channel in load.channels)
    for class_4_only in (False, True):
        yield figure(
            channel_costs.trace_change,
            Unit.PERCENT,
            what="CPU more, class(4) alone" if class_4_only else "CPU more, TRACE(CHINIT)",
            pick=lambda made: (made.cpu_percent.low, made.cpu_percent.high),
            busy=busy,
            class_4_only=class_4_only,
        )


@question("ch2-29", "Which SHARECNV suits the clients?")
def sharecnv(load: Load) -> Figures:
    needed(shares_conversations(load) or None, "[queue_manager] release 7.0.1 or later, for SHARECNV")
    for channel in load.channels:
        if channel.kind == "svrconn":
            yield figure(
                channels.recommended_sharecnv,
                Unit.COUNT,
                about=channel.name,
                uses_v7_functions=channel.sharecnv > 0,
                threads=channel.threads,
                persistent_or_busy=channel.persistent,
            )
