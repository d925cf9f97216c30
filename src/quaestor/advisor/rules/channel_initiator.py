"""Rules of the channel initiator: its limits (QCCT) and its tasks (QCT_DSP, QCT_ADP, QCT_SSL).

What is advised on MAXCHL leaves room for the most channels of all intervals read, not for those of a quiet hour.
"""

import numpy as np

from quaestor.advisor.rows import Floats, Groups, ratio
from quaestor.advisor.rule import Columns, Cutoff, Row, Rule, Severity
from quaestor.planner.channel_tasks import (
    DISPATCHERS_FOR_MANY_CHANNELS,
    MANY_CHANNELS,
    RESTART_CHANNEL_BUSY_PERCENT,
    dispatchers_for_channels,
    ssl_tasks,
)
from quaestor.planner.channels import EPVT_KB, MAXCHL_LIMIT, SCAVENGER_PERCENT

SSL_BUSY = RESTART_CHANNEL_BUSY_PERCENT / 100


def channels_most(at: Columns) -> Floats:
    """The most channels in use in any interval read."""
    group = Groups([at.system, at.queue_manager])
    return group.highest(at.channels_high)[group.of_row]


def maxchl_raised(at: Columns) -> Floats:
    """Twice MAXCHL, as far as it goes; not known where both limits are as high already."""
    at_most = np.minimum(at.max_channels, at.max_active_channels) >= MAXCHL_LIMIT
    return np.asarray(np.where(at_most, np.nan, np.minimum(MAXCHL_LIMIT, 2 * at.max_channels)), np.float64)


def maxchl_lowered(at: Columns) -> Floats:
    """A MAXCHL near the number of channels; not known where MAXCHL is as low already."""
    wanted = 10 * np.ceil(at.channels_most / 10 + 1)
    return np.asarray(np.where(wanted < at.max_channels, wanted, np.nan), np.float64)


def _dispatchers(row: Row) -> str:
    wanted = dispatchers_for_channels(int(row.channels_high), int(row.dispatchers))
    return f"CHIDISPS({wanted}) for {row.channels_high:,.0f} channels"


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
            "maxchl_wanted": maxchl_raised,
        },
        when=lambda at, cut: at.share > cut.share_max,
        grave=lambda at, cut: at.share >= cut.share_alert,
        measure="share",
        cutoffs=(
            Cutoff("share_max", 0.9, "share of MAXCHL or ACTCHL in use", ours=True),
            Cutoff("share_alert", 1.0, "share at which channels no longer start"),
        ),
        shows=("channels_high", "max_channels"),
        advice="{channels_high} of {max_channels} channels (MAXCHL) and {active_channels_high} of"
        " {max_active_channels} active (ACTCHL) were in use. Raise the limits within storage, or add a queue"
        " manager.",
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
        advice="{storage_31_mb:,.0f} MB ({used_percent:.0f} %) of 31-bit storage are in use with {channels_high}"
        " channels: buffers are scavenged from {percent_max:.0f} % on, and at 100 % channels do not start."
        " Look for messages above 1 MB; plan another queue manager and channel initiator.",
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
        advice="The least busy of {adapters:.0f} adapters was busy {adapter_busy_low:.0%} of the time: requests wait"
        " for one. Raise CHIADAPS, above all with small batches, clients and persistent messages.",
        command="ALTER QMGR CHIADAPS({adapters_wanted:.0f})",
        lines="3414, 3434",
    ),
    Rule(
        id="mp16-ch2-3/CH-R12",
        also=("mp16-ch2-3/CH-R14",),
        title="One dispatcher is busy while others idle",
        table="initiator_tasks",
        figures={"channels_most": channels_most, "maxchl_wanted": maxchl_lowered},
        when=lambda at, cut: (at.dispatcher_busy_high > cut.busy_max) & (at.dispatchers_idle > 0),
        measure="dispatcher_busy_high",
        cutoffs=(Cutoff("busy_max", 0.8, "how busy a dispatcher may be beside idle ones", ours=True),),
        shows=("dispatchers",),
        advice="The busiest of {dispatchers:.0f} dispatchers was busy {dispatcher_busy_high:.0%} of the time and"
        " {dispatchers_idle:.0f} did nothing: channels are handed out in blocks of MAXCHL / CHIDISPS. Lower"
        " MAXCHL towards the number of channels, and restart some of the busy ones.",
        command="ALTER QMGR MAXCHL({maxchl_wanted:.0f})",
        lines="3442-3446, 3960",
    ),
    Rule(
        id="mp16-ch2-3/CH-R11",
        title="MAXCHL is far above the channels there are",
        table="initiator_tasks",
        severity=Severity.NOTE,
        figures={"channels_most": channels_most},
        when=lambda at, cut: (at.max_channels > cut.times * at.channels_most) & (at.channels_most > 0),
        measure="max_channels",
        cutoffs=(Cutoff("times", 10, "MAXCHL over the most channels in use", ours=True),),
        shows=("dispatchers",),
        advice="MAXCHL is {max_channels} and {channels_most} channels were in use at the most. With a small fixed"
        " number of channels set MAXCHL to it, so that they spread over the dispatchers.",
        lines="3442",
    ),
    Rule(
        id="mp16-ch2-3/CH-R13",
        title="Many channels on few dispatchers",
        table="initiator_tasks",
        when=lambda at, cut: (at.channels_high > cut.channels_min) & (at.dispatchers < cut.dispatchers_min),
        measure="channels_high",
        cutoffs=(
            Cutoff("channels_min", MANY_CHANNELS, "channels in use"),
            Cutoff("dispatchers_min", DISPATCHERS_FOR_MANY_CHANNELS, "dispatchers for so many"),
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
        lines="3936-3948",
    ),
    Rule(
        id="mp16-ch2-3/CH-R31",
        title="An SSL task is busy nearly all the time",
        table="initiator_tasks",
        figures={"ssl_wanted": lambda at: 2 * at.ssls},
        when=lambda at, cut: at.ssl_busy_high > cut.busy_max,
        measure="ssl_busy_high",
        cutoffs=(Cutoff("busy_max", SSL_BUSY, "how busy an SSL task may be"),),
        shows=("ssls",),
        advice="The busiest of {ssls:.0f} SSL tasks was busy {ssl_busy_high:.0%} of the time: its channels wait."
        " Restart a channel to move it to another dispatcher and SSL task; add SSL tasks.",
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
        advice="SSL tasks took {ssl_cpu_share:.0%} of a processor. Raise SSLRKEYC (this trades security), use a"
        " cheaper cipher where data allow, keep channels running, use a coprocessor or AT-TLS.",
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
            Cutoff("busy_max", SSL_BUSY, "how busy an SSL task is when waiting explains the time", ours=True),
        ),
        advice="A request to an SSL task took {ssl_ms:.0f} ms: without ICSF or a coprocessor negotiations cost tens"
        " of milliseconds of CPU.",
        lines="3844, 3848",
    ),
)
