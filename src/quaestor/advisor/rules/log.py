"""Rules of the log manager: QJST, alone and against the log's definitions.

Cut-offs that the papers leave open: what a large number of reads from buffers is, from when on log I/O is slow, how
near to its limits a log may run.
"""

import numpy as np

from quaestor.advisor.rows import Floats, Groups, ratio
from quaestor.advisor.rule import Columns, Cutoff, Figure, Row, Rule, Severity
from quaestor.planner import dasd
from quaestor.planner.log_flow import WRITE_THRESHOLD_PAGES, log_buffers
from quaestor.planner.logload import restart_s_max
from quaestor.planner.logs import active_log_size, active_logs_needed, fill_time_s
from quaestor.planner.source import OutOfRangeError

PAGE_BYTES = 4096
MIB = 1 << 20


def per_hour(name: str) -> Figure:
    return lambda at: ratio(3600 * getattr(at, name), at.seconds)


def of_queue_manager(name: str) -> Figure:
    """The sum of a column over all intervals of the queue manager."""

    def summed(at: Columns) -> Floats:
        group = Groups([at.queue_manager])
        return group.sum(getattr(at, name))[group.of_row]

    return summed


def log_mb_per_s(at: Columns) -> Floats:
    """Log data created, MiB a second: CIs filled, not CIs written, which count rewrites and copies."""
    return ratio(at.buffers_filled * PAGE_BYTES / MIB, at.seconds)


def fill_minutes(at: Columns) -> Floats:
    """How long one active log lasts at this interval's rate."""
    return ratio(at.active_log_mb / 60, at.log_mb_per_s)


def bytes_per_force(at: Columns) -> Floats:
    return ratio(at.buffers_filled * PAGE_BYTES, at.suspensions)


def dasd_limit_mb_per_s(at: Columns) -> Floats:
    """What chapter 4 sustains on this DASD with units of work of this size; not known for DASD it does not list."""
    made = [_limit(name, each) for name, each in zip(at.log_dasd, at.bytes_per_force, strict=True)]
    return np.array(made, np.float64)


def _limit(name: str | None, unit_bytes: float) -> float:
    if name is None or np.isnan(unit_bytes):
        return float("nan")
    try:
        return dasd.log_rate_mb_per_sec(name, min(max(unit_bytes, 1000.0), 1_048_576.0), interpolate=True)
    except OutOfRangeError:
        return float("nan")


def _more_buffers(row: Row) -> str:
    now = f" instead of {log_buffers(row.outbuff_kb):,}" if row.outbuff_kb else ""
    return f"OUTBUFF 4000 gives {log_buffers(4000):,} log buffers{now}"


def _longer_between_checkpoints(row: Row) -> str:
    now_min = row.seconds / row.checkpoints / 60
    then_min = now_min * 4_000_000 / (row.writes_nowait / row.checkpoints)
    return f"LOGLOAD 4000000 takes a checkpoint every {then_min:,.0f} minutes at this load, now it is {now_min:,.1f}"


def _larger_logs(row: Row) -> str:
    needed = active_log_size(row.log_mb_per_s * MIB)
    minutes = fill_time_s(needed.log_bytes, row.log_mb_per_s * MIB) / 60
    return f"active logs of {needed.log_bytes / MIB:,.0f} MiB last {minutes:,.0f} minutes at this rate"


def _more_logs(row: Row) -> str:
    wanted = active_logs_needed(int(row.active_log_mb * MIB), row.log_mb_per_s * MIB, row.archive_time_s)
    return f"{wanted} active logs of this size bridge an archive at this rate"


def _restart(row: Row) -> str:
    seconds = restart_s_max(4_000_000, row.writes_per_unit)
    return f"LOGLOAD 4000000 at this load means a restart of up to {seconds:,.0f} s"


def _restart_s(logload: Floats, writes: Floats) -> Floats:
    made = [_one_restart(int(load), float(each)) if load == load and each == each else np.nan for load, each in zip(logload, writes, strict=True)]
    return np.array(made, np.float64)


def _one_restart(logload: int, writes: float) -> float:
    try:
        return restart_s_max(logload, writes)
    except OutOfRangeError:
        return float("nan")


def _single(row: Row) -> str:
    low, high = dasd.single_logging_gain_percent_range()
    return f"single logging is worth {low:.0f} to {high:.0f} % throughput, the more the larger the messages"


RULES = (
    Rule(
        id="mp1b/A-36",
        also=("mp16-ch4-11/LOG-1", "mp16-ch1/A-59"),
        title="Tasks waited for a log buffer",
        table="QJST",
        when=lambda at, cut: at.waits_no_buffer > cut.waits,
        measure="waits_no_buffer",
        cutoffs=(Cutoff("waits", 0, "waits for a log buffer in an interval"),),
        severity=Severity.ALERT,
        settings=("outbuff_kb",),
        advice="{waits_no_buffer} requests found no free log buffer. Raise OUTBUFF until this stays 0, and look at the"
        " response time of the log volumes: buffers are freed as fast as they are written.",
        command="CSQ6LOGP OUTBUFF=4000",
        effect=_more_buffers,
        lines="2491-2515",
    ),
    Rule(
        id="mp1b/A-37",
        title="Units of recovery are backed out",
        table="QJST",
        figures={"reads_per_hour": per_hour("reads_from_buffer")},
        when=lambda at, cut: at.reads_per_hour > cut.reads_per_hour_max,
        measure="reads_per_hour",
        cutoffs=(Cutoff("reads_per_hour_max", 100, "log reads from buffers in an hour that are still usual", ours=True),),
        shows=("reads_from_buffer",),
        advice="The log was read {reads_from_buffer} times from its buffers: applications back out. Rule mp1b/A-14 names"
        " them where class 3 accounting is on.",
        lines="2491-2515",
    ),
    Rule(
        id="mp1b/A-38",
        title="Long-running tasks back out",
        table="QJST",
        when=lambda at, cut: at.reads_from_active > cut.reads,
        measure="reads_from_active",
        cutoffs=(Cutoff("reads", 0, "log reads from active logs in an interval"),),
        advice="{reads_from_active} log reads went to active log data sets: what is backed out had left the buffers."
        " Find the long units of recovery and let them commit more often.",
        lines="2491-2515",
    ),
    Rule(
        id="mp1b/A-39",
        title="Archive logs are read",
        table="QJST",
        when=lambda at, cut: at.reads_from_archive > cut.reads,
        measure="reads_from_archive",
        cutoffs=(Cutoff("reads", 0, "log reads from archives in an interval"),),
        severity=Severity.ALERT,
        shows=("reads_from_active", "archive_read_allocations"),
        advice="{reads_from_archive} log reads went to archives, {reads_from_active} to active logs. Find what reaches so"
        " far back, and consider larger or more active logs.",
        lines="2491-2515",
    ),
    Rule(
        id="mp1b/A-40",
        title="Log buffers were paged in",
        table="QJST",
        when=lambda at, cut: at.buffers_paged_in > cut.pages,
        measure="buffers_paged_in",
        cutoffs=(Cutoff("pages", 0, "log buffers paged in during an interval"),),
        shows=("waits_no_buffer",),
        advice="{buffers_paged_in} log buffers had been paged out: z/OS is short of real storage. OUTBUFF may"
        " be lowered if no task waited for a buffer; {waits_no_buffer} did.",
        lines="2491-2515",
    ),
    Rule(
        id="mp1b/A-41",
        title="Archive reads wait for MAXRTU",
        table="QJST",
        when=lambda at, cut: at.reads_delayed_tape_volume > cut.reads,
        measure="reads_delayed_tape_volume",
        cutoffs=(Cutoff("reads", 0, "archive reads delayed by MAXRTU in an interval"),),
        advice="{reads_delayed_tape_volume} archive reads waited because MAXRTU tape units were in use. Find why so many"
        " archives are needed; raise MAXRTU if they must be.",
        command="SET ARCHIVE MAXRTU(4)",
        lines="2491-2515",
    ),
    Rule(
        id="mp1b/A-42",
        title="Archive reads wait for tape units or operators",
        table="QJST",
        when=lambda at, cut: at.reads_delayed_unavailable > cut.reads,
        measure="reads_delayed_unavailable",
        cutoffs=(Cutoff("reads", 0, "archive reads delayed for other reasons in an interval"),),
        advice="{reads_delayed_unavailable} archive reads were delayed, and not by MAXRTU: too few tape units, or an"
        " operator's answer is outstanding.",
        lines="2487",
    ),
    Rule(
        id="mp1b/A-43",
        title="Checkpoints come too often",
        table="QJST",
        figures={"checkpoints_per_hour": per_hour("checkpoints")},
        when=lambda at, cut: at.checkpoints_per_hour > cut.checkpoints_per_hour_max,
        measure="checkpoints_per_hour",
        cutoffs=(Cutoff("checkpoints_per_hour_max", 10, "checkpoints by LOGLOAD in an hour"),),
        shows=("checkpoints", "writes_nowait", "seconds"),
        advice="LOGLOAD caused {checkpoints} checkpoints, {checkpoints_per_hour:.1f} an hour. Raise it, and see that the"
        " active logs are not so small that switches take checkpoints as well.",
        command="SET SYSTEM LOGLOAD(4000000)",
        effect=_longer_between_checkpoints,
        lines="2491-2515",
    ),
    Rule(
        id="mp1b/A-44",
        title="Log writes start at the write threshold",
        table="QJST",
        severity=Severity.NOTE,
        when=lambda at, cut: at.threshold_writes > cut.writes,
        measure="threshold_writes",
        cutoffs=(Cutoff("writes", 0, "writes started by WRTHRSH in an interval"),),
        advice="{threshold_writes} writes began because WRTHRSH buffers had filled. Large messages do this by nature;"
        " otherwise a higher WRTHRSH may raise throughput at the price of response time.",
        lines="2488",
    ),
    Rule(
        id="mp1b/A-45",
        title="Look-ahead mounts failed",
        table="QJST",
        figures={"mounts_failed": lambda at: at.tape_mounts_attempted - at.tape_mounts_successful},
        when=lambda at, cut: at.mounts_failed > cut.mounts,
        measure="mounts_failed",
        cutoffs=(Cutoff("mounts", 0, "look-ahead mounts that failed in an interval"),),
        advice="{mounts_failed} of {tape_mounts_attempted} look-ahead mounts of archives failed: no tape unit was free.",
        lines="2425",
    ),
    Rule(
        id="mp1b/A-46",
        title="Log writes carry one CI each",
        table="QJST",
        severity=Severity.NOTE,
        figures={"cis_per_io": lambda at: ratio(at.cis_written, at.log_ios), "ios_per_s": lambda at: ratio(at.log_ios, at.seconds)},
        when=lambda at, cut: (at.cis_per_io < cut.cis_per_io_min) & (at.ios_per_s > cut.ios_per_s_min),
        measure="ios_per_s",
        cutoffs=(
            Cutoff("cis_per_io_min", 1.1, "CIs to a log I/O below which nothing is grouped", ours=True),
            Cutoff("ios_per_s_min", 100, "log I/Os a second from which on the log is under load", ours=True),
        ),
        advice="{log_ios} log I/Os carried {cis_written} CIs: each unit of recovery forces the log for itself.",
        lines="2590, 2765",
    ),
    Rule(
        id="mp16-ch4-11/LOG-2",
        title="The write threshold is met before the commit",
        table="QJST",
        severity=Severity.NOTE,
        figures={
            "calls_per_force": lambda at: ratio(at.logger_calls, at.suspensions),
            "pages_per_force": lambda at: ratio(at.buffers_filled, at.suspensions),
        },
        when=lambda at, cut: (at.calls_per_force > cut.calls_min) & (at.pages_per_force > cut.pages_min),
        measure="calls_per_force",
        cutoffs=(
            Cutoff("calls_min", 1.8, "logger calls to a force", ours=True),
            Cutoff("pages_min", WRITE_THRESHOLD_PAGES, "pages to a force: the write threshold"),
        ),
        advice="{calls_per_force:.1f} logger calls for each force, with {pages_per_force:.0f} pages between forces: large"
        " messages reach WRTHRSH before their commit. This is expected.",
        lines="4801",
    ),
    Rule(
        id="mp16-ch4-11/LOG-3",
        also=("mp16-ch4-11/APP-3",),
        title="The same log page is written again and again",
        table="QJST",
        severity=Severity.NOTE,
        figures={"calls_per_page": lambda at: ratio(at.logger_calls, at.buffers_filled)},
        when=lambda at, cut: (at.calls_per_page > cut.calls_per_page_max) & (at.logger_calls > cut.calls_min),
        measure="calls_per_page",
        cutoffs=(
            Cutoff("calls_per_page_max", 3, "logger calls to a page filled; the example has 102 to 29", ours=True),
            Cutoff("calls_min", 100, "logger calls from which on it matters", ours=True),
        ),
        advice="{logger_calls} logger calls for {buffers_filled} pages filled: many small commits rewrite the current"
        " page. Let applications put or get several messages in a unit of recovery, up to about 200.",
        lines="4812-4814, 4921",
    ),
    Rule(
        id="mp16-ch4-11/LOG-4",
        also=("mp16-ch4-11/LOG-6", "mp1b/A-3", "mp16-ch1/A-20"),
        title="Log I/O is slow",
        table="QJST",
        figures={"io_us": lambda at: np.fmax(at.io_us_copy_1, at.io_us_copy_2), "log_mb_per_s": log_mb_per_s},
        when=lambda at, cut: at.io_us > cut.io_us_max,
        measure="io_us",
        cutoffs=(Cutoff("io_us_max", 1000, "microseconds for a log I/O; DASD with cache answers below", ours=True),),
        advice="A log I/O took {io_us:,.0f} microseconds on average, at {log_mb_per_s:.2f} MiB/s; copy 1"
        " {io_us_copy_1:,.0f}, copy 2 {io_us_copy_2:,.0f}. Every commit waits for it. Move the logs to the fastest DASD"
        " with the least contention, or spread the work over queue managers.",
        lines="4789, 4818-4822",
    ),
    Rule(
        id="mp16-ch4-11/DASD-1",
        also=("mp16-ch2-3/CF-R55", "talks/A-1"),
        title="The log runs near the limit of its DASD",
        table="QJST",
        settings=("log_dasd",),
        figures={
            "log_mb_per_s": log_mb_per_s,
            "bytes_per_force": bytes_per_force,
            "limit_mb_per_s": dasd_limit_mb_per_s,
            "share": lambda at: ratio(at.log_mb_per_s, at.limit_mb_per_s),
        },
        when=lambda at, cut: at.share > cut.share_max,
        measure="share",
        cutoffs=(Cutoff("share_max", dasd.PLANNING_SHARE, "share of the measured ceiling that may be planned"),),
        advice="{log_mb_per_s:.1f} MiB/s of log is {share:.0%} of what {log_dasd} sustains. Plan faster DASD, striping or"
        " zHPF, or more queue managers.",
        lines="4176, 4206",
    ),
    Rule(
        id="mp16-ch4-11/DASD-2",
        also=("mp16-ch1/A-21",),
        title="Striping would help the log",
        table="QJST",
        severity=Severity.NOTE,
        settings=("log_dasd", "active_logs_striped"),
        figures={
            "log_mb_per_s": log_mb_per_s,
            "bytes_per_force": bytes_per_force,
            "limit_mb_per_s": dasd_limit_mb_per_s,
            "share": lambda at: ratio(at.log_mb_per_s, at.limit_mb_per_s),
        },
        when=lambda at, cut: (at.share > cut.share_min)
        & (at.bytes_per_force > cut.bytes_min)
        & (at.active_logs_striped == 0),
        measure="share",
        cutoffs=(
            Cutoff("share_min", dasd.PLANNING_SHARE, "share of the ceiling from which on the log is the constraint"),
            Cutoff("bytes_min", PAGE_BYTES, "log bytes to a force; below, a stripe does not gain"),
        ),
        advice="The log is the constraint and {bytes_per_force:,.0f} bytes go with each force: striped active logs with"
        " HyperPAV write several pages at once.",
        lines="574, 4214, 4220",
    ),
    Rule(
        id="mp16-ch4-11/DASD-6",
        also=("mp16-ch1/A-6",),
        title="The log is written once only",
        table="QJST",
        figures={"ios_copy_2_in_all": of_queue_manager("ios_copy_2")},
        when=lambda at, cut: (at.ios_copy_1 > cut.ios_min) & (at.ios_copy_2_in_all == 0),
        measure="ios_copy_1",
        cutoffs=(Cutoff("ios_min", 0, "I/Os to copy 1 in an interval"),),
        advice="{ios_copy_1} I/Os went to log copy 1 and none to a second: the log is a single point of failure. Keep it"
        " so only on DASD with redundancy built in, and when throughput needs it.",
        command="CSQ6LOGP TWOACTV=YES",
        effect=_single,
        lines="523-525, 4210",
    ),
    Rule(
        id="mp16-ch4-11/DASD-8",
        title="zHPF is off under a persistent load",
        table="QJST",
        severity=Severity.NOTE,
        settings=("zhpf",),
        figures={"log_mb_per_s": log_mb_per_s},
        when=lambda at, cut: (at.zhpf == 0) & (at.log_mb_per_s > cut.log_mb_per_s_min),
        measure="log_mb_per_s",
        cutoffs=(Cutoff("log_mb_per_s_min", 10, "MiB/s of log that make a high-volume persistent load", ours=True),),
        advice="{log_mb_per_s:.1f} MiB/s of log with zHPF off: enable it where several queue managers of the system do so.",
        lines="4244",
    ),
    Rule(
        id="mp16-ch4-11/ZEDC-2",
        title="Log copy 2 is slower than copy 1",
        table="QJST",
        figures={"slowdown": lambda at: ratio(at.pages_io_us_copy_2, at.pages_io_us_copy_1)},
        when=lambda at, cut: (at.slowdown > cut.slowdown_min) & (at.pages_io_us_copy_2 > cut.io_us_min),
        measure="slowdown",
        cutoffs=(
            Cutoff("slowdown_min", 1.3, "copy 2 over copy 1; the examples are 1.59 and 1.11", ours=True),
            Cutoff("io_us_min", 500, "microseconds for an I/O of copy 2 below which nobody waits", ours=True),
        ),
        advice="I/Os of several pages took {pages_io_us_copy_2:,.0f} microseconds on copy 2 and {pages_io_us_copy_1:,.0f}"
        " on copy 1. See whether the control unit of copy 2 bypasses its cache (RMF DFWBP): archives written there may"
        " push the log aside; compress or move them.",
        lines="4396-4431",
    ),
    Rule(
        id="mp16-ch1/A-9",
        also=("mp16-ch1/A-10",),
        title="Active logs fill nearly as fast as they are archived",
        table="QJST",
        settings=("active_log_mb", "archive_time_s", "mount_time_s"),
        figures={
            "log_mb_per_s": log_mb_per_s,
            "fill_minutes": fill_minutes,
            "archive_minutes": lambda at: (at.archive_time_s + np.nan_to_num(at.maybe("mount_time_s"))) / 60,
        },
        when=lambda at, cut: at.fill_minutes < cut.times * at.archive_minutes,
        measure="fill_minutes",
        low_is_worse=True,
        cutoffs=(Cutoff("times", 1.25, "archive times that a log should last", ours=True),),
        shows=("active_log_mb", "archive_time_s", "log_mb_per_s"),
        severity=Severity.ALERT,
        advice="At {log_mb_per_s:.2f} MiB/s a log lasts {fill_minutes:.0f} minutes, and archiving it takes"
        " {archive_minutes:.0f}, the mount included. Add active logs before all of them wait for offload.",
        effect=_more_logs,
        lines="538",
    ),
    Rule(
        id="mp16-ch1/A-15",
        title="Active logs are too small",
        table="QJST",
        settings=("active_log_mb",),
        figures={"log_mb_per_s": log_mb_per_s, "fill_minutes": fill_minutes},
        when=lambda at, cut: at.fill_minutes < cut.minutes_min,
        measure="fill_minutes",
        low_is_worse=True,
        cutoffs=(Cutoff("minutes_min", 30, "minutes an active log should last at peak"),),
        advice="An active log of {active_log_mb:,.0f} MiB lasts {fill_minutes:.0f} minutes at {log_mb_per_s:.2f} MiB/s."
        " Frequent switches take checkpoints and leave many archives to manage.",
        shows=("log_mb_per_s",),
        effect=_larger_logs,
        lines="552-560",
    ),
    Rule(
        id="mp16-ch1/A-54",
        title="More log than the backups were planned for",
        table="QJST",
        settings=("planned_log_mb_per_hour",),
        figures={"log_mb_per_hour": lambda at: 3600 * log_mb_per_s(at)},
        when=lambda at, cut: at.log_mb_per_hour > cut.times * at.planned_log_mb_per_hour,
        measure="log_mb_per_hour",
        cutoffs=(Cutoff("times", 1.25, "measured over planned", ours=True),),
        advice="{log_mb_per_hour:,.0f} MiB of log an hour against {planned_log_mb_per_hour:,.0f} planned: page sets must be"
        " backed up {times:g} times as often or more for the same recovery time.",
        lines="1112-1114",
    ),
    Rule(
        id="mp16-ch1/A-56",
        also=("mp16-ch1/A-65",),
        title="Restart may take longer than is allowed",
        table="QJST",
        settings=("logload", "restart_limit_s"),
        figures={
            "writes_per_unit": lambda at: ratio(at.writes_nowait, at.suspensions),
            "restart_s": lambda at: _restart_s(at.logload, at.writes_per_unit),
        },
        when=lambda at, cut: at.restart_s > cut.share * at.restart_limit_s,
        measure="restart_s",
        cutoffs=(Cutoff("share", 1.0, "share of the limit that a restart may take"),),
        shows=("writes_per_unit",),
        advice="With LOGLOAD {logload:.0f} and {writes_per_unit:.1f} log records to a unit of recovery a restart may take"
        " {restart_s:,.0f} s, against a limit of {restart_limit_s:,.0f} s. Lower LOGLOAD.",
        effect=_restart,
        lines="1617, 1675",
    ),
    Rule(
        id="mp16-ch2-3/CF-R26",
        title="The group's persistent work is unevenly spread",
        table="QJST",
        severity=Severity.NOTE,
        when=lambda at, cut: (at.group_log_share > cut.share_max) & (at.buffers_filled > cut.pages_min),
        measure="group_log_share",
        cutoffs=(
            Cutoff("share_max", 1.5, "a member's log against an even spread", ours=True),
            Cutoff("pages_min", 10_000, "log pages in an interval below which it does not matter", ours=True),
        ),
        advice="This queue manager wrote {group_log_share:.1f} times its even share of the group's log. The longest log"
        " decides how long recovery of a structure takes.",
        lines="2566-2568",
    ),
)
