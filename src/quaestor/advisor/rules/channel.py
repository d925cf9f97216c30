"""Rules of the channel initiator: its tasks and limits (QCCT, QCT), and channels (QCST).

SENDS are the channel types that end batches: sender, server, cluster sender.
"""

import numpy as np

from quaestor.advisor.rows import Mask, ratio
from quaestor.advisor.rule import Columns, Cutoff, Row, Rule, Severity
from quaestor.planner.batches import (
    BATCHINT_BELOW_MS,
    BATCHSZ_ADVISED_MAX,
    VERY_LARGE_BYTES,
    advised_batchsz_max,
    batchint_ms_for,
)
from quaestor.planner.channel_tasks import dispatchers_for_channels, ssl_tasks
from quaestor.planner.channels import EPVT_KB, SCAVENGER_PERCENT
from quaestor.planner.log_rate import Path, batch_log_bytes
from quaestor.planner.storage_use import channels_at_once

SENDS = (1, 2, 9)
CLIENT = 7


def sends(at: Columns) -> Mask:
    return np.isin(at.channel_type, SENDS)


def _fuller_batches(row: Row) -> str:
    now = batch_log_bytes(Path.SENDER, max(1.0, row.achieved_batch)) / max(1.0, row.achieved_batch)
    then = batch_log_bytes(Path.SENDER, 10.0) / 10
    return f"at ten messages to a batch the sender logs about {then:,.0f} bytes a message for its batches instead of {now:,.0f}"


def _interval(row: Row) -> str:
    return f"BATCHINT({batchint_ms_for(row.messages_per_s)}) would fill a batch of 50 at this rate"


def _dispatchers(row: Row) -> str:
    wanted = dispatchers_for_channels(int(row.channels_high), int(row.dispatchers))
    return f"CHIDISPS({wanted}) for {row.channels_high:,.0f} channels"


def _size(row: Row) -> str:
    return f"BATCHSZ({advised_batchsz_max(int(row.bytes_per_message))}) is the most for messages of this size"


def _at_once(row: Row) -> str:
    return f"storage suffices for about {channels_at_once(int(row.bytes_per_message))} such channels at once"


RULES = (
    Rule(
        id="mp16-ch2-3/CH-R4",
        also=("mp16-ch2-3/CF-R55",),
        title="Channels approach their limit",
        table="initiator_tasks",
        figures={
            "current_share": lambda at: ratio(at.channels_high, at.max_channels),
            "active_share": lambda at: ratio(at.active_channels_high, at.max_active_channels),
            "share": lambda at: np.fmax(at.current_share, at.active_share),
            "maxchl_wanted": lambda at: np.minimum(9999, 2 * at.max_channels),
        },
        when=lambda at, cut: at.share > cut.share_max,
        grave=lambda at, cut: at.share >= cut.share_alert,
        measure="share",
        cutoffs=(
            Cutoff("share_max", 0.9, "share of MAXCHL or ACTCHL in use", ours=True),
            Cutoff("share_alert", 1.0, "share at which channels no longer start"),
        ),
        shows=("channels_high", "max_channels"),
        advice="{channels_high} of {max_channels} channels (MAXCHL) and {active_channels_high} of {max_active_channels} active"
        " (ACTCHL) were in use. Raise the limits within storage, or add a queue manager.",
        command="ALTER QMGR MAXCHL({maxchl_wanted:.0f}) ACTCHL({maxchl_wanted:.0f})",
        lines="3204-3205, 3308-3331",
    ),
    Rule(
        id="mp16-ch2-3/CH-R7",
        also=("mp16-ch2-3/CH-R1",),
        title="The channel initiator's storage is nearly used up",
        table="initiator_tasks",
        settings=("channel_storage_mb",),
        figures={
            "limit_mb": lambda at: np.where(
                np.isnan(at.maybe("channel_storage_mb")), EPVT_KB / 1024, at.maybe("channel_storage_mb")
            ),
            "used_percent": lambda at: ratio(100 * at.storage_31_mb, at.limit_mb),
        },
        when=lambda at, cut: at.used_percent >= cut.percent_max,
        measure="used_percent",
        cutoffs=(Cutoff("percent_max", SCAVENGER_PERCENT, "percent of storage at which buffers are scavenged"),),
        shows=("channels_high",),
        advice="{storage_31_mb:,.0f} MB ({used_percent:.0f} %) of 31-bit storage are in use with {channels_high} channels: buffers are"
        " scavenged from {percent_max:.0f} % on, and at 100 % channels do not start. Look for messages above 1 MB; plan"
        " another queue manager and channel initiator.",
        lines="3387-3400",
    ),
    Rule(
        id="mp16-ch2-3/CH-R8",
        title="All adapters are in use",
        table="initiator_tasks",
        figures={"adapters_wanted": lambda at: 2 * at.adapters},
        when=lambda at, cut: (at.adapter_requests_low > 0) & (at.adapter_busy_low > cut.busy_max),
        measure="adapter_busy_low",
        cutoffs=(Cutoff("busy_max", 0.5, "how busy the least busy adapter may be", ours=True),),
        shows=("adapters", "adapter_busy_high"),
        advice="The least busy of {adapters:.0f} adapters was busy {adapter_busy_low:.0%} of the time: requests wait for one. Raise"
        " CHIADAPS, above all with small batches, clients and persistent messages.",
        command="ALTER QMGR CHIADAPS({adapters_wanted:.0f})",
        lines="3414, 3434",
    ),
    Rule(
        id="mp16-ch2-3/CH-R12",
        also=("mp16-ch2-3/CH-R14",),
        title="One dispatcher is busy while others idle",
        table="initiator_tasks",
        figures={"maxchl_wanted": lambda at: 10 * np.ceil(at.channels_high / 10 + 1)},
        when=lambda at, cut: (at.dispatcher_busy_high > cut.busy_max) & (at.dispatchers_idle > 0),
        measure="dispatcher_busy_high",
        cutoffs=(Cutoff("busy_max", 0.8, "how busy a dispatcher may be beside idle ones", ours=True),),
        shows=("dispatchers",),
        advice="The busiest of {dispatchers:.0f} dispatchers was busy {dispatcher_busy_high:.0%} of the time and {dispatchers_idle:.0f}"
        " did nothing: channels are handed out in blocks of MAXCHL / CHIDISPS. Lower MAXCHL towards the number of channels,"
        " and restart some of the busy ones.",
        command="ALTER QMGR MAXCHL({maxchl_wanted:.0f})",
        lines="3442-3446, 3960",
    ),
    Rule(
        id="mp16-ch2-3/CH-R11",
        title="MAXCHL is far above the channels there are",
        table="initiator_tasks",
        severity=Severity.NOTE,
        when=lambda at, cut: at.max_channels > cut.times * at.channels_high,
        measure="max_channels",
        cutoffs=(Cutoff("times", 10, "MAXCHL over the most channels in use", ours=True),),
        shows=("channels_high", "dispatchers"),
        advice="MAXCHL is {max_channels} and {channels_high} channels were in use at the most. With a small fixed number of"
        " channels set MAXCHL to it, so that they spread over the dispatchers.",
        lines="3442",
    ),
    Rule(
        id="mp16-ch2-3/CH-R13",
        title="Many channels on few dispatchers",
        table="initiator_tasks",
        when=lambda at, cut: (at.channels_high > cut.channels_min) & (at.dispatchers < cut.dispatchers_min),
        measure="channels_high",
        cutoffs=(
            Cutoff("channels_min", 1000, "channels in use"),
            Cutoff("dispatchers_min", 20, "dispatchers for so many"),
        ),
        shows=("channels_high", "dispatchers"),
        advice="{channels_high} channels share {dispatchers:.0f} dispatchers.",
        command="ALTER QMGR CHIDISPS(20)",
        effect=_dispatchers,
        lines="3448",
    ),
    Rule(
        id="mp16-ch2-3/CH-R30",
        title="Fewer SSL tasks than dispatchers need",
        table="initiator_tasks",
        severity=Severity.NOTE,
        figures={"ssl_wanted": lambda at: at.dispatchers + 1},
        when=lambda at, cut: (at.ssls > 0) & (at.ssl_requests > cut.requests_min) & (at.ssls < at.ssl_wanted),
        measure="ssl_wanted",
        cutoffs=(Cutoff("requests_min", 0, "requests to SSL tasks in an interval"),),
        shows=("dispatchers",),
        advice="{ssls:.0f} SSL tasks for {dispatchers:.0f} dispatchers; at least one more than dispatchers is advised.",
        command="ALTER QMGR SSLTASKS({ssl_wanted:.0f})",
        effect=lambda row: f"SSLTASKS({ssl_tasks(int(row.dispatchers))}) lets every dispatcher have one at once",
        lines="3947-3958",
    ),
    Rule(
        id="mp16-ch2-3/CH-R31",
        title="An SSL task is busy nearly all the time",
        table="initiator_tasks",
        figures={"ssl_wanted": lambda at: 2 * at.ssls},
        when=lambda at, cut: at.ssl_busy_high > cut.busy_max,
        measure="ssl_busy_high",
        cutoffs=(Cutoff("busy_max", 0.9, "how busy an SSL task may be"),),
        shows=("ssls",),
        advice="The busiest of {ssls:.0f} SSL tasks was busy {ssl_busy_high:.0%} of the time: its channels wait. Restart a channel to"
        " move it to another dispatcher and SSL task; add SSL tasks.",
        command="ALTER QMGR SSLTASKS({ssl_wanted:.0f})",
        lines="3960",
    ),
    Rule(
        id="mp16-ch2-3/CH-R32",
        title="TLS takes much CPU",
        table="initiator_tasks",
        severity=Severity.NOTE,
        when=lambda at, cut: at.ssl_cpu_share > cut.share_max,
        measure="ssl_cpu_share",
        cutoffs=(Cutoff("share_max", 0.5, "CPU of all SSL tasks, in processors", ours=True),),
        advice="SSL tasks took {ssl_cpu_share:.0%} of a processor. Raise SSLRKEYC (this trades security), use a cheaper cipher where"
        " data allow, keep channels running, use a coprocessor or AT-TLS.",
        lines="3801-3822",
    ),
    Rule(
        id="mp16-ch2-3/CH-R33",
        title="TLS requests take tens of milliseconds",
        table="initiator_tasks",
        figures={"ssl_ms": lambda at: at.ssl_us_per_request / 1000},
        when=lambda at, cut: (at.ssl_ms > cut.ms_max) & (at.ssl_busy_high < cut.busy_max),
        measure="ssl_ms",
        cutoffs=(
            Cutoff("ms_max", 20, "milliseconds of a request to an SSL task", ours=True),
            Cutoff("busy_max", 0.9, "how busy an SSL task is when waiting explains the time"),
        ),
        advice="A request to an SSL task took {ssl_ms:.0f} ms: without ICSF or a coprocessor negotiations cost tens of"
        " milliseconds of CPU.",
        lines="3844, 3848",
    ),
    Rule(
        id="mp16-ch2-3/CH-R17",
        also=("mp16-ch1/A-26", "mp16-ch2-3/CH-R20", "talks/A-4"),
        title="A batch ends after every message",
        table="channels",
        when=lambda at, cut: sends(at)
        & (at.achieved_batch < cut.achieved_min)
        & (at.persistent_messages > 0)
        & (at.batches > cut.batches_min)
        & (at.batch_size > 1),
        measure="batches",
        cutoffs=(
            Cutoff("achieved_min", 1.5, "messages to a batch that are about one", ours=True),
            Cutoff("batches_min", 20, "batches from which on it matters", ours=True),
        ),
        shows=("messages", "achieved_batch", "messages_per_s"),
        advice="{messages} messages went in {batches} batches, {achieved_batch:.1f} each, with BATCHSZ {batch_size}. Where response"
        " time matters set BATCHSZ(1) BATCHINT(0) and save the waiting; where it does not, a BATCHINT fills the batches.",
        command="ALTER CHANNEL({channel}) CHLTYPE(SDR) BATCHINT(nnn)",
        effect=_fuller_batches,
        lines="704-711, 3602, 3679, 3698-3700",
    ),
    Rule(
        id="talks/A-3",
        title="A small BATCHSZ ends full batches",
        table="channels",
        severity=Severity.NOTE,
        figures={"full_share": lambda at: ratio(at.full_batches, at.batches)},
        when=lambda at, cut: sends(at)
        & (at.full_share > cut.share_min)
        & (at.batch_size < cut.batch_size_max)
        & (at.batches > cut.batches_min)
        & (at.bytes_per_message < cut.bytes_max),
        measure="full_share",
        cutoffs=(
            Cutoff("share_min", 0.8, "share of batches that were full", ours=True),
            Cutoff("batch_size_max", 50, "BATCHSZ of a busy channel"),
            Cutoff("batches_min", 20, "batches from which on it matters", ours=True),
            Cutoff("bytes_max", 100_000, "mean message from which on small batches are right"),
        ),
        advice="{full_share:.0%} of {batches} batches were full at BATCHSZ {batch_size}: the channel is busy. Leave it at 50 unless data"
        " must be visible early, or the link is unreliable, slow or costly.",
        command="ALTER CHANNEL({channel}) CHLTYPE(SDR) BATCHSZ(50)",
        lines="002:121",
    ),
    Rule(
        id="mp16-ch2-3/CH-R19",
        title="BATCHINT holds every message back",
        table="channels",
        when=lambda at, cut: sends(at) & (at.batch_interval > 0) & (at.achieved_batch < cut.achieved_min) & (at.batches > cut.batches_min),
        measure="batch_interval",
        cutoffs=(
            Cutoff("achieved_min", 2, "messages to a batch", ours=True),
            Cutoff("batches_min", 20, "batches from which on it matters", ours=True),
        ),
        shows=("messages_per_s",),
        advice="BATCHINT is {batch_interval} ms and a batch holds {achieved_batch:.1f} messages: a requester that waits for its reply"
        " waits for the interval too. Set BATCHINT(0).",
        command="ALTER CHANNEL({channel}) CHLTYPE(SDR) BATCHINT(0)",
        effect=_interval,
        lines="3677, 4099-4102",
    ),
    Rule(
        id="mp16-ch1/A-34",
        also=("mp16-ch2-3/CH-R20",),
        title="BATCHINT makes long units of recovery",
        table="channels",
        when=lambda at, cut: at.batch_interval >= cut.ms_max,
        measure="batch_interval",
        cutoffs=(Cutoff("ms_max", BATCHINT_BELOW_MS, "milliseconds a batch may be held open"),),
        advice="BATCHINT {batch_interval} ms holds a unit of recovery open for {ms_max:.0f} ms or more: restart reads the log back to"
        " its begin. Shorten it.",
        command="ALTER CHANNEL({channel}) CHLTYPE(SDR) BATCHINT(60000)",
        lines="818, 1608, 3705",
    ),
    Rule(
        id="mp16-ch2-3/CH-R21",
        also=("mp16-ch1/A-60",),
        title="BATCHSZ is too large for the messages",
        table="channels",
        figures={
            "batchsz_most": lambda at: np.where(
                at.bytes_per_message >= VERY_LARGE_BYTES, 1, np.where(at.bytes_per_message > 100_000, 10, BATCHSZ_ADVISED_MAX)
            ).astype(np.float64)
        },
        when=lambda at, cut: sends(at) & (at.batch_size > at.batchsz_most) & (at.messages > cut.messages_min),
        measure="batch_size",
        cutoffs=(Cutoff("messages_min", 10, "messages from which on an average means something", ours=True),),
        shows=("bytes_per_message",),
        advice="Messages average {bytes_per_message:,.0f} bytes and BATCHSZ is {batch_size}: at most {batchsz_most:.0f} is advised. A"
        " failure in mid-batch sends all of it again.",
        command="ALTER CHANNEL({channel}) CHLTYPE(SDR) BATCHSZ({batchsz_most:.0f})",
        effect=_size,
        lines="1642, 3607, 3690-3692",
    ),
    Rule(
        id="mp16-ch2-3/CH-R24",
        title="BATCHLIM ends batches",
        table="channels",
        severity=Severity.NOTE,
        figures={"limit_share": lambda at: ratio(at.bytes_per_batch, 1000 * at.batch_data_limit)},
        when=lambda at, cut: sends(at) & (at.limit_share > cut.share_min) & (at.batch_data_limit > 0),
        measure="limit_share",
        cutoffs=(Cutoff("share_min", 0.8, "bytes of a batch to BATCHLIM", ours=True),),
        shows=("bytes_per_batch",),
        advice="A batch carries {bytes_per_batch:,.0f} bytes, {limit_share:.0%} of BATCHLIM {batch_data_limit} KB: the limit ends it.",
        lines="3528",
    ),
    Rule(
        id="mp16-ch1/A-27",
        also=("mp16-ch2-3/CH-R22",),
        title="Non-persistent messages travel in syncpoint",
        table="channels",
        settings=("channel.npmspeed", "channel.order_matters"),
        when=lambda at, cut: (at.npmspeed == "NORMAL")
        & (at.persistent_messages == 0)
        & (at.messages > cut.messages_min)
        & (at.maybe("order_matters") != 1),
        measure="messages",
        cutoffs=(Cutoff("messages_min", 100, "messages from which on it matters", ours=True),),
        advice="{messages} messages, none persistent, went with NPMSPEED(NORMAL). If loss and order rules allow, FAST needs no log"
        " data for its batches.",
        command="ALTER CHANNEL({channel}) CHLTYPE(SDR) NPMSPEED(FAST)",
        lines="729, 844, 3654",
    ),
    Rule(
        id="mp16-ch2-3/CH-R18",
        title="A fast channel could fill its batches",
        table="channels",
        severity=Severity.NOTE,
        settings=("channel.npmspeed",),
        when=lambda at, cut: (at.npmspeed == "FAST")
        & (at.persistent_messages == 0)
        & (at.batch_interval == 0)
        & (at.messages_per_s > cut.rate_min)
        & (at.achieved_batch < at.batch_size),
        measure="messages_per_s",
        cutoffs=(Cutoff("rate_min", 1, "messages a second from which on it matters", ours=True),),
        advice="Only non-persistent messages on a FAST channel, {messages_per_s:.1f} a second: they are delivered at once, and a"
        " BATCHINT saves ends of batches.",
        shows=("messages_per_s",),
        effect=_interval,
        lines="3682-3684",
    ),
    Rule(
        id="mp16-ch2-3/CH-R14",
        title="Busy channels share one dispatcher",
        table="channels",
        severity=Severity.NOTE,
        when=lambda at, cut: (at.dispatcher_messages_share > cut.share_min)
        & (at.channels_on_dispatcher > 1)
        & (at.dispatchers_used > 1)
        & (at.messages_per_s > cut.rate_min),
        measure="dispatcher_messages_share",
        cutoffs=(
            Cutoff("share_min", 0.8, "share of all messages that one dispatcher moves", ours=True),
            Cutoff("rate_min", 1, "messages a second from which on it matters", ours=True),
        ),
        advice="Dispatcher {dispatcher:.0f} moves {dispatcher_messages_share:.0%} of the messages over {channels_on_dispatcher:.0f}"
        " channels. Restart some to move them.",
        lines="3446, 3960",
    ),
    Rule(
        id="mp16-ch2-3/CH-R15",
        title="Compression keeps dispatchers busy",
        table="channels",
        severity=Severity.NOTE,
        when=lambda at, cut: at.compression_rate_percent > cut.percent_min,
        measure="compression_rate_percent",
        cutoffs=(Cutoff("percent_min", 0, "compression rate in percent"),),
        advice="Messages are compressed by {compression_rate_percent} %. In software this runs on the dispatchers: more of them with"
        " fewer channels each, or zEDC.",
        lines="3464, 3556",
    ),
    Rule(
        id="mp16-ch1/A-61",
        title="Many channels with very large messages",
        table="channels",
        when=lambda at, cut: (at.channels_with_very_large > cut.channels_max) & (at.bytes_per_message >= cut.bytes_min),
        measure="channels_with_very_large",
        cutoffs=(
            Cutoff("channels_max", 15, "channels with messages of 100 MB at once"),
            Cutoff("bytes_min", 100 * 1024 * 1024, "mean message of such a channel"),
        ),
        shows=("bytes_per_message",),
        advice="{channels_with_very_large:.0f} channels move messages of 100 MB: virtual storage may run out.",
        effect=_at_once,
        lines="1642",
    ),
    Rule(
        id="mp16-ch2-3/CH-R27",
        title="Conversations that work hard share a channel instance",
        table="channels",
        severity=Severity.NOTE,
        when=lambda at, cut: (at.channel_type == CLIENT) & (at.shared_conversations > 1) & (at.messages_per_s > cut.rate_min),
        measure="shared_conversations",
        cutoffs=(Cutoff("rate_min", 50, "MQI calls a second of an instance that make high volume", ours=True),),
        advice="{shared_conversations} conversations share an instance with {messages_per_s:.0f} calls a second: they wait for each"
        " other. Lower SHARECNV for them; many light ones from one process may keep 10.",
        lines="3730-3731",
    ),
    Rule(
        id="mp16-ch2-3/CH-R28",
        title="The channel starts and stops often",
        table="channels",
        figures={"starts_per_hour": lambda at: ratio(3600 * at.starts, at.seconds)},
        when=lambda at, cut: (at.starts_per_hour > cut.starts_per_hour_max) & (at.channel_type != CLIENT),
        measure="starts_per_hour",
        cutoffs=(Cutoff("starts_per_hour_max", 10, "starts of a channel in an hour", ours=True),),
        advice="The channel started {starts_per_hour:.0f} times an hour. Raise DISCINT; with TLS every start shakes hands again.",
        command="ALTER CHANNEL({channel}) CHLTYPE(SDR) DISCINT(6000)",
        lines="3571, 3811-3813",
    ),
    Rule(
        id="mp16-ch4-11/NET-2",
        title="Small batches over a slow network",
        table="channels",
        figures={"network_ms": lambda at: at.network_average_us / 1000},
        when=lambda at, cut: sends(at) & (at.network_ms > cut.ms_min) & (at.achieved_batch < cut.achieved_min) & (at.batches > 0),
        measure="network_ms",
        cutoffs=(
            Cutoff("ms_min", 20, "milliseconds of network time that are a high latency", ours=True),
            Cutoff("achieved_min", 10, "messages to a batch below which every few wait for the network", ours=True),
        ),
        advice="A batch waits {network_ms:.0f} ms for the network and carries {achieved_batch:.1f} messages. Over such a link send"
        " large batches, and spread traffic over several channels.",
        lines="4271",
    ),
    Rule(
        id="mp16-ch4-11/APP-4",
        title="Many small messages over a channel",
        table="channels",
        severity=Severity.NOTE,
        when=lambda at, cut: (at.bytes_per_message < cut.bytes_max) & (at.messages_per_s > cut.rate_min) & (at.channel_type != CLIENT),
        measure="messages_per_s",
        cutoffs=(
            Cutoff("bytes_max", 1000, "mean message that is small", ours=True),
            Cutoff("rate_min", 100, "messages a second that are many", ours=True),
        ),
        advice="{messages_per_s:.0f} messages a second of {bytes_per_message:,.0f} bytes. Combine them; 30 KB is a sensible size.",
        lines="4923",
    ),
)
