"""Rules of channels: QCST.

SENDS are the channel types that end batches: sender, server, cluster sender.
"""

import numpy as np

from quaestor.advisor.by_row import by_row
from quaestor.advisor.rows import Floats, Groups, Mask, ratio
from quaestor.advisor.rule import Columns, Cutoff, Row, Rule, Severity
from quaestor.pipeline.hours import hourly
from quaestor.planner.batches import (
    BATCHINT_BELOW_MS,
    BATCHLIM_UNIT_BYTES,
    BATCHSZ_DEFAULT,
    LARGE_BYTES,
    advised_batchsz_max,
    batchint_ms_for,
    synchronous_per_s,
)
from quaestor.planner.log_rate import Path, batch_log_bytes
from quaestor.planner.storage_use import channels_at_once

SENDS = (1, 2, 9)
CLIENT = 7


def sends(at: Columns) -> Mask:
    return np.isin(at.channel_type, SENDS)


def starts_per_hour(at: Columns) -> Floats:
    """Starts of all instances of the channel; each row has those of its interval, once for each instance."""
    own = ratio(at.starts, at.instances)
    channels = Groups([at.system, at.queue_manager, at.channel]).of_row
    return hourly(own, channels, at.local_time, at.seconds)


def _fuller_batches(row: Row) -> str:
    now = batch_log_bytes(Path.SENDER, max(1.0, row.achieved_batch)) / max(1.0, row.achieved_batch)
    then = batch_log_bytes(Path.SENDER, 10.0) / 10
    return f"at ten messages to a batch the sender logs {then:,.0f} bytes a message for its batches, now {now:,.0f}"


def batchint_wanted(at: Columns) -> Floats:
    """The BATCHINT in which BATCHSZ messages come; not known where that takes five minutes or more."""
    return by_row(lambda rate, size: batchint_ms_for(rate, int(size)), at.messages_per_s, at.batch_size)


def _filled(row: Row) -> str:
    if row.batchint_wanted is None:
        return ""
    return f"BATCHINT({row.batchint_wanted:.0f}) fills a batch of {row.batch_size:.0f} at this rate"


def _waiting(row: Row) -> str:
    now, then = synchronous_per_s(row.batch_interval), synchronous_per_s(0)
    return (
        f"a requester that waits for each reply has {now:.3g} a second at the most now, and {then:.0f} without BATCHINT"
    )


def _at_once(row: Row) -> str:
    return f"storage suffices for about {channels_at_once(int(row.bytes_per_message))} such channels at once"


RULES = (
    Rule(
        id="mp16-ch2-3/CH-R17",
        also=("mp16-ch1/A-26", "mp16-ch2-3/CH-R20", "talks/A-4"),
        title="A batch ends after every message",
        table="channels",
        when=lambda at, cut: (
            sends(at)
            & (at.achieved_batch < cut.achieved_min)
            & (at.persistent_messages > 0)
            & (at.batches > cut.batches_min)
            & (at.batch_size > 1)
        ),
        measure="batches",
        cutoffs=(
            Cutoff("achieved_min", 1.5, "messages to a batch that are about one", ours=True),
            Cutoff("batches_min", 20, "batches from which on it matters", ours=True),
        ),
        figures={"batchint_wanted": batchint_wanted},
        shows=("messages", "achieved_batch", "messages_per_s"),
        advice="{messages} messages went in {batches} batches, {achieved_batch:.1f} each, with BATCHSZ {batch_size}."
        " Where response time matters set BATCHSZ(1) BATCHINT(0) and save the waiting; where it does not, a"
        " BATCHINT fills the batches.",
        command="ALTER CHANNEL({channel}) CHLTYPE({chltype}) BATCHINT({batchint_wanted:.0f})",
        effect=_fuller_batches,
        lines="704-711, 3602, 3679, 3698-3700",
    ),
    Rule(
        id="talks/A-3",
        title="A small BATCHSZ ends full batches",
        table="channels",
        severity=Severity.NOTE,
        figures={"full_share": lambda at: ratio(at.full_batches, at.batches)},
        when=lambda at, cut: (
            sends(at)
            & (at.full_share > cut.share_min)
            & (at.batch_size < cut.batch_size_max)
            & (at.batches > cut.batches_min)
            & (at.bytes_per_message < cut.bytes_max)
        ),
        measure="full_share",
        cutoffs=(
            Cutoff("share_min", 0.8, "share of batches that were full", ours=True),
            Cutoff("batch_size_max", BATCHSZ_DEFAULT, "BATCHSZ of a busy channel"),
            Cutoff("batches_min", 20, "batches from which on it matters", ours=True),
            Cutoff("bytes_max", LARGE_BYTES, "mean message from which on small batches are right"),
        ),
        advice="{full_share:.0%} of {batches} batches were full at BATCHSZ {batch_size}: the channel is busy. Leave"
        " it at 50 unless data must be visible early, or the link is unreliable, slow or costly.",
        command="ALTER CHANNEL({channel}) CHLTYPE({chltype}) BATCHSZ(50)",
        lines="002:121",
    ),
    Rule(
        id="mp16-ch2-3/CH-R19",
        title="BATCHINT holds every message back",
        table="channels",
        settings=("channel.npmspeed",),
        when=lambda at, cut: (
            sends(at)
            & (at.batch_interval > 0)
            & ((at.persistent_messages > 0) | (at.maybe("npmspeed") == "NORMAL"))
            & (at.achieved_batch < cut.achieved_min)
            & (at.batches > cut.batches_min)
        ),
        measure="batch_interval",
        cutoffs=(
            Cutoff("achieved_min", 2, "messages to a batch", ours=True),
            Cutoff("batches_min", 20, "batches from which on it matters", ours=True),
        ),
        advice="BATCHINT is {batch_interval} ms and a batch holds {achieved_batch:.1f} messages: a requester that"
        " waits for its reply waits for the interval too. Set BATCHINT(0).",
        command="ALTER CHANNEL({channel}) CHLTYPE({chltype}) BATCHINT(0)",
        effect=_waiting,
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
        advice="BATCHINT {batch_interval} ms holds a unit of recovery open for {ms_max:,.0f} ms or more: restart"
        " reads the log back to its begin. Shorten it.",
        command="ALTER CHANNEL({channel}) CHLTYPE({chltype}) BATCHINT(60000)",
        lines="818, 1608, 3705",
    ),
    Rule(
        id="mp16-ch2-3/CH-R21",
        also=("mp16-ch1/A-60",),
        title="BATCHSZ is too large for the messages",
        table="channels",
        figures={"batchsz_most": lambda at: by_row(advised_batchsz_max, at.bytes_per_message)},
        when=lambda at, cut: sends(at) & (at.batch_size > at.batchsz_most) & (at.messages > cut.messages_min),
        measure="batch_size",
        cutoffs=(Cutoff("messages_min", 10, "messages from which on an average means something", ours=True),),
        shows=("bytes_per_message",),
        advice="Messages average {bytes_per_message:,.0f} bytes and BATCHSZ is {batch_size}: at most"
        " {batchsz_most:.0f} is advised. A failure in mid-batch sends all of it again.",
        command="ALTER CHANNEL({channel}) CHLTYPE({chltype}) BATCHSZ({batchsz_most:.0f})",
        effect=lambda row: f"BATCHSZ({row.batchsz_most:.0f}) is the most for messages of this size",
        lines="1642, 3607, 3690-3693",
    ),
    Rule(
        id="mp16-ch2-3/CH-R24",
        title="BATCHLIM ends batches",
        table="channels",
        severity=Severity.NOTE,
        figures={"limit_share": lambda at: ratio(at.bytes_per_batch, BATCHLIM_UNIT_BYTES * at.batch_data_limit)},
        when=lambda at, cut: sends(at) & (at.limit_share > cut.share_min) & (at.batch_data_limit > 0),
        measure="limit_share",
        cutoffs=(Cutoff("share_min", 0.8, "bytes of a batch to BATCHLIM", ours=True),),
        shows=("bytes_per_batch",),
        advice="A batch carries {bytes_per_batch:,.0f} bytes, {limit_share:.0%} of BATCHLIM {batch_data_limit} KB:"
        " the limit ends it.",
        lines="3528",
    ),
    Rule(
        id="mp16-ch1/A-27",
        also=("mp16-ch2-3/CH-R22",),
        title="Non-persistent messages travel in syncpoint",
        table="channels",
        settings=("channel.npmspeed", "channel.order_matters"),
        when=lambda at, cut: (
            (at.npmspeed == "NORMAL")
            & (at.persistent_messages == 0)
            & (at.messages > cut.messages_min)
            & (at.maybe("order_matters") != 1)
        ),
        measure="messages",
        cutoffs=(Cutoff("messages_min", 100, "messages from which on it matters", ours=True),),
        advice="{messages} messages, none persistent, went with NPMSPEED(NORMAL). If loss and order rules allow,"
        " FAST needs no log data for its batches.",
        command="ALTER CHANNEL({channel}) CHLTYPE({chltype}) NPMSPEED(FAST)",
        lines="729, 844, 3654",
    ),
    Rule(
        id="mp16-ch2-3/CH-R18",
        title="A fast channel could fill its batches",
        table="channels",
        severity=Severity.NOTE,
        settings=("channel.npmspeed",),
        when=lambda at, cut: (
            sends(at)
            & (at.npmspeed == "FAST")
            & (at.persistent_messages == 0)
            & (at.batch_interval == 0)
            & (at.messages_per_s > cut.rate_min)
            & (at.achieved_batch < at.batch_size)
        ),
        measure="messages_per_s",
        cutoffs=(Cutoff("rate_min", 1, "messages a second from which on it matters", ours=True),),
        advice="Only non-persistent messages on a FAST channel, {messages_per_s:.1f} a second: they are delivered at"
        " once, and a BATCHINT saves ends of batches.",
        figures={"batchint_wanted": batchint_wanted},
        shows=("messages_per_s",),
        command="ALTER CHANNEL({channel}) CHLTYPE({chltype}) BATCHINT({batchint_wanted:.0f})",
        effect=_filled,
        lines="3682-3684",
    ),
    Rule(
        id="mp16-ch2-3/CH-R14",
        title="Busy channels share one dispatcher",
        table="channels",
        severity=Severity.NOTE,
        when=lambda at, cut: (
            (at.dispatcher_messages_share > cut.share_min)
            & (at.channels_on_dispatcher > 1)
            & (at.dispatchers_used > 1)
            & (at.messages_per_s > cut.rate_min)
        ),
        measure="dispatcher_messages_share",
        cutoffs=(
            Cutoff("share_min", 0.8, "share of all messages that one dispatcher moves", ours=True),
            Cutoff("rate_min", 1, "messages a second from which on it matters", ours=True),
        ),
        advice="Dispatcher {dispatcher:.0f} moves {dispatcher_messages_share:.0%} of the messages over"
        " {channels_on_dispatcher:.0f} channels. Restart some to move them.",
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
        advice="Messages are compressed by {compression_rate_percent} %. In software this runs on the dispatchers:"
        " more of them with fewer channels each, or zEDC.",
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
        when=lambda at, cut: (
            (at.channel_type == CLIENT) & (at.shared_conversations > 1) & (at.messages_per_s > cut.rate_min)
        ),
        measure="shared_conversations",
        cutoffs=(Cutoff("rate_min", 50, "MQI calls a second of an instance that make high volume", ours=True),),
        advice="{shared_conversations} conversations share an instance with {messages_per_s:.0f} calls a second:"
        " they wait for each other. Lower SHARECNV for them; many light ones from one process may keep 10.",
        lines="3730-3731",
    ),
    Rule(
        id="mp16-ch2-3/CH-R28",
        title="The channel starts and stops often",
        table="channels",
        figures={"starts_per_hour": starts_per_hour},
        when=lambda at, cut: (at.starts_per_hour > cut.starts_per_hour_max) & (at.channel_type != CLIENT),
        measure="starts_per_hour",
        cutoffs=(Cutoff("starts_per_hour_max", 10, "starts of a channel in an hour", ours=True),),
        advice="The channel started {starts_per_hour:.0f} times an hour. Raise DISCINT; with TLS every start shakes"
        " hands again.",
        command="ALTER CHANNEL({channel}) CHLTYPE({chltype}) DISCINT(6000)",
        lines="3571, 3811-3813",
    ),
    Rule(
        id="mp16-ch4-11/NET-2",
        title="Small batches over a slow network",
        table="channels",
        figures={"network_ms": lambda at: at.network_average_us / 1000},
        when=lambda at, cut: (
            sends(at)
            & (at.network_ms > cut.ms_min)
            & (at.achieved_batch < cut.achieved_min)
            & (at.batches > cut.batches_min)
        ),
        measure="network_ms",
        cutoffs=(
            Cutoff("ms_min", 20, "milliseconds of network time that are a high latency", ours=True),
            Cutoff("achieved_min", 10, "messages to a batch below which every few wait for the network", ours=True),
            Cutoff("batches_min", 20, "batches from which on it matters", ours=True),
        ),
        advice="A batch waits {network_ms:.0f} ms for the network and carries {achieved_batch:.1f} messages. Over"
        " such a link send large batches, and spread traffic over several channels.",
        lines="4271",
    ),
    Rule(
        id="mp16-ch4-11/APP-4",
        title="Many small messages over a channel",
        table="channels",
        severity=Severity.NOTE,
        when=lambda at, cut: (
            (at.bytes_per_message < cut.bytes_max) & (at.messages_per_s > cut.rate_min) & (at.channel_type != CLIENT)
        ),
        measure="messages_per_s",
        cutoffs=(
            Cutoff("bytes_max", 1000, "mean message that is small", ours=True),
            Cutoff("rate_min", 100, "messages a second that are many", ours=True),
        ),
        advice="{messages_per_s:.0f} messages a second of {bytes_per_message:,.0f} bytes. Combine them; 30 KB is a"
        " sensible size.",
        lines="4923",
    ),
)
