"""Rules of the log's capacity: the log rate of QJST against its data sets, its DASD, its backups and its restart."""

import numpy as np

from quaestor.advisor.by_row import by_row
from quaestor.advisor.rows import Floats, ratio
from quaestor.advisor.rule import Columns, Cutoff, Row, Rule, Severity
from quaestor.advisor.rules.log import log_mb_per_s, per_hour
from quaestor.planner import dasd
from quaestor.planner.geometry import PAGE_BYTES
from quaestor.planner.logload import logload_for_restart, restart_s_max
from quaestor.planner.logs import FILL_TIME_MIN_S, active_log_size, active_logs_needed, fill_time_s
from quaestor.planner.quantity import MIB, MINUTE_S


def fill_minutes(at: Columns) -> Floats:
    """How long one active log lasts at this interval's rate."""
    return ratio(at.active_log_mb / 60, at.log_mb_per_s)


def bytes_per_force(at: Columns) -> Floats:
    return ratio(at.buffers_filled * PAGE_BYTES, at.suspensions)


def dasd_limit_mb_per_s(at: Columns) -> Floats:
    """What chapter 4 sustains on this DASD with units of work of this size; not known for DASD it does not list."""
    return by_row(_limit, at.log_dasd, at.bytes_per_force)


def _limit(name: str, unit_bytes: float) -> float:
    return dasd.log_rate_mb_per_sec(name, min(max(unit_bytes, 1000.0), 1_048_576.0), interpolate=True)


def _larger_logs(row: Row) -> str:
    needed = active_log_size(row.log_mb_per_s * MIB)
    minutes = fill_time_s(needed.log_bytes, row.log_mb_per_s * MIB) / 60
    return f"active logs of {needed.log_bytes / MIB:,.0f} MiB last {minutes:,.0f} minutes at this rate"


def _more_logs(row: Row) -> str:
    log_bytes, rate, mount_s = int(row.active_log_mb * MIB), row.log_mb_per_s * MIB, row.mount_time_s or 0.0
    wanted = active_logs_needed(log_bytes, rate, row.archive_time_s, mount_s)
    return f"{wanted} active logs of this size bridge an archive at this rate"


def _restart(row: Row) -> str:
    if row.logload_wanted is None:
        return ""
    seconds = restart_s_max(int(row.logload_wanted), row.writes_per_unit)
    return f"LOGLOAD {row.logload_wanted:,.0f} at this load means a restart of up to {seconds:,.0f} s"


def restart_s(at: Columns) -> Floats:
    return by_row(lambda logload, writes: restart_s_max(int(logload), writes), at.logload, at.writes_per_unit)


def logload_wanted(at: Columns) -> Floats:
    """The highest LOGLOAD that keeps the limit."""
    return by_row(logload_for_restart, at.restart_limit_s, at.writes_per_unit)


RULES = (
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
        advice="{log_mb_per_s:.1f} MiB/s of log is {share:.0%} of what {log_dasd} sustains. Plan faster DASD,"
        " striping or zHPF, or more queue managers.",
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
        when=lambda at, cut: (
            (at.share > cut.share_min) & (at.bytes_per_force > cut.bytes_min) & (at.active_logs_striped == 0)
        ),
        measure="share",
        cutoffs=(
            Cutoff(
                "share_min",
                dasd.PLANNING_SHARE,
                "share of the ceiling from which on the log is the constraint",
                ours=True,
            ),
            Cutoff("bytes_min", PAGE_BYTES, "log bytes to a force; below, a stripe does not gain"),
        ),
        advice="The log is the constraint and {bytes_per_force:,.0f} bytes go with each force: striped active logs"
        " with HyperPAV write several pages at once.",
        lines="574, 4214, 4220",
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
        advice="{log_mb_per_s:.1f} MiB/s of log with zHPF off: enable it where several queue managers of the system"
        " do so.",
        lines="4244",
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
        cutoffs=(Cutoff("minutes_min", FILL_TIME_MIN_S / MINUTE_S, "minutes an active log should last at peak"),),
        advice="An active log of {active_log_mb:,.0f} MiB lasts {fill_minutes:.0f} minutes at {log_mb_per_s:.2f}"
        " MiB/s. Frequent switches take checkpoints and leave many archives to manage.",
        shows=("log_mb_per_s",),
        effect=_larger_logs,
        not_ours="a log switch costs it next to nothing",
        lines="552-560",
    ),
    Rule(
        id="mp16-ch1/A-54",
        title="More log than the backups were planned for",
        table="QJST",
        settings=("planned_log_mb_per_hour",),
        figures={
            "log_mb_per_hour": lambda at: per_hour("buffers_filled")(at) * PAGE_BYTES / MIB,
            "as_often": lambda at: ratio(at.log_mb_per_hour, at.planned_log_mb_per_hour),
        },
        when=lambda at, cut: at.as_often > cut.times,
        measure="log_mb_per_hour",
        cutoffs=(Cutoff("times", 1.25, "measured over planned", ours=True),),
        advice="{log_mb_per_hour:,.0f} MiB of log an hour against {planned_log_mb_per_hour:,.0f} planned: page sets"
        " must be backed up {as_often:.1f} times as often for the same recovery time.",
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
            "restart_s": restart_s,
            "logload_wanted": logload_wanted,
        },
        when=lambda at, cut: at.restart_s > cut.share * at.restart_limit_s,
        measure="restart_s",
        cutoffs=(Cutoff("share", 1.0, "share of the limit that a restart may take"),),
        shows=("writes_per_unit",),
        advice="With LOGLOAD {logload:.0f} and {writes_per_unit:.1f} log records to a unit of recovery a restart may"
        " take {restart_s:,.0f} s, against a limit of {restart_limit_s:,.0f} s. Lower LOGLOAD.",
        command="SET SYSTEM LOGLOAD({logload_wanted:.0f})",
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
        advice="This queue manager wrote {group_log_share:.1f} times its even share of the group's log. The longest"
        " log decides how long recovery of a structure takes.",
        lines="2566-2568",
    ),
)
