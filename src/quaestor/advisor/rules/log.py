"""Rules of the log manager: what QJST counts.

Cut-offs that the papers leave open: what a large number of reads from buffers is, from when on log I/O is slow.
"""

import numpy as np

from quaestor.advisor.rows import Floats, Groups, ratio
from quaestor.advisor.rule import Columns, Cutoff, Figure, Row, Rule, Severity
from quaestor.advisor.rules.log_definitions import DUAL_LOGS
from quaestor.pipeline.hours import hourly
from quaestor.pipeline.thresholds import LOG_READS_PER_HOUR
from quaestor.planner import dasd
from quaestor.planner.geometry import PAGE_BYTES
from quaestor.planner.log_flow import WRITE_THRESHOLD_PAGES, log_buffers
from quaestor.planner.logload import GENERAL
from quaestor.planner.quantity import MIB

OUTBUFF_MAX_KB = 4000.0
IOS_MIN = 100
READS_PER_HOUR_MAX = LOG_READS_PER_HOUR


def per_hour(name: str) -> Figure:
    def rate(at: Columns) -> Floats:
        managers = Groups([at.system, at.queue_manager]).of_row
        return hourly(getattr(at, name), managers, at.local_time, at.seconds)

    return rate


def of_queue_manager(name: str) -> Figure:
    """The sum of a column over all intervals of the queue manager."""

    def summed(at: Columns) -> Floats:
        group = Groups([at.system, at.queue_manager])
        return group.sum(getattr(at, name))[group.of_row]

    return summed


def log_mb_per_s(at: Columns) -> Floats:
    """Log data created, MiB a second: CIs filled, not CIs written, which count rewrites and copies."""
    return ratio(at.buffers_filled * PAGE_BYTES / MIB, at.seconds)


def io_us(at: Columns) -> Floats:
    """Mean time of a log I/O on the slower copy; there may be one copy only."""
    return np.asarray(np.fmax(at.io_us_copy_1, at.maybe("io_us_copy_2")), np.float64)


def outbuff_wanted(at: Columns) -> Floats:
    """The most that OUTBUFF takes; not known where it has that already."""
    return np.asarray(np.where(at.maybe("outbuff_kb") >= OUTBUFF_MAX_KB, np.nan, OUTBUFF_MAX_KB), np.float64)


def logload_wanted(at: Columns) -> Floats:
    """The least that is recommended, the most where it has that already, and nothing where it has the most."""
    now = at.maybe("logload")
    more = np.where(now >= GENERAL.high, np.nan, GENERAL.high)
    return np.asarray(np.where(now >= GENERAL.low, more, GENERAL.low), np.float64)


def _more_buffers(row: Row) -> str:
    if row.outbuff_wanted is None:
        return ""
    now = f" instead of {log_buffers(row.outbuff_kb):,}" if row.outbuff_kb else ""
    return f"OUTBUFF {row.outbuff_wanted:.0f} gives {log_buffers(row.outbuff_wanted):,} log buffers{now}"


def _longer_between_checkpoints(row: Row) -> str:
    if not row.writes_per_hour or row.logload_wanted is None:
        return ""
    now_min, then_min = 60 / row.checkpoints_per_hour, 60 * row.logload_wanted / row.writes_per_hour
    return (
        f"LOGLOAD {row.logload_wanted:.0f} takes a checkpoint every {then_min:,.0f} minutes at this load, now it is"
        f" {now_min:,.1f}"
    )


def _single(_: Row) -> str:
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
        figures={"outbuff_wanted": outbuff_wanted},
        advice="{waits_no_buffer} requests found no free log buffer. Raise OUTBUFF until this stays 0, and look at"
        " the response time of the log volumes: buffers are freed as fast as they are written.",
        command="CSQ6LOGP OUTBUFF={outbuff_wanted:.0f}",
        own_command="outbuff_kb = {outbuff_wanted:.0f} under [engine] in server.toml",
        effect=_more_buffers,
        lines="2491-2515, 4791",
    ),
    Rule(
        id="mp1b/A-37",
        title="Units of recovery are backed out",
        table="QJST",
        figures={"reads_per_hour": per_hour("reads_from_buffer")},
        when=lambda at, cut: at.reads_per_hour > cut.reads_per_hour_max,
        measure="reads_per_hour",
        cutoffs=(
            Cutoff(
                "reads_per_hour_max",
                READS_PER_HOUR_MAX,
                "log reads from buffers in an hour that are still usual",
                ours=True,
            ),
        ),
        shows=("reads_from_buffer",),
        advice="The log was read {reads_per_hour:,.0f} times an hour from its buffers: applications back out."
        " Rule mp1b/A-14 names them where class 3 accounting is on.",
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
        advice="{reads_from_archive} log reads went to archives, {reads_from_active} to active logs. Find what"
        " reaches so far back, and consider larger or more active logs.",
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
        advice="{buffers_paged_in} log buffers had been paged out: z/OS is short of real storage. OUTBUFF may be"
        " lowered if no task waited for a buffer; {waits_no_buffer} did.",
        lines="2491-2515",
    ),
    Rule(
        id="mp1b/A-41",
        title="Archive reads wait for MAXRTU",
        table="QJST",
        when=lambda at, cut: at.reads_delayed_tape_volume > cut.reads,
        measure="reads_delayed_tape_volume",
        cutoffs=(Cutoff("reads", 0, "archive reads delayed by MAXRTU in an interval"),),
        advice="{reads_delayed_tape_volume} archive reads waited because MAXRTU tape units were in use. Find why so"
        " many archives are needed; raise MAXRTU if they must be.",
        command="SET ARCHIVE MAXRTU(4)",
        own_command="",
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
        settings=("logload",),
        figures={
            "checkpoints_per_hour": per_hour("checkpoints"),
            "writes_per_hour": per_hour("writes_nowait"),
            "logload_wanted": logload_wanted,
        },
        when=lambda at, cut: at.checkpoints_per_hour > cut.checkpoints_per_hour_max,
        measure="checkpoints_per_hour",
        cutoffs=(Cutoff("checkpoints_per_hour_max", 10, "checkpoints by LOGLOAD in an hour"),),
        shows=("checkpoints", "writes_per_hour"),
        advice="LOGLOAD caused {checkpoints_per_hour:.1f} checkpoints an hour. Raise it, and see that the active logs"
        " are not so small that switches take checkpoints as well.",
        command="SET SYSTEM LOGLOAD({logload_wanted:.0f})",
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
        advice="{threshold_writes} writes began because WRTHRSH buffers had filled. Large messages do this by"
        " nature; otherwise a higher WRTHRSH may raise throughput at the price of response time.",
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
        advice="{mounts_failed} of {tape_mounts_attempted} look-ahead mounts of archives failed: no tape unit was"
        " free.",
        lines="2425",
    ),
    Rule(
        id="mp1b/A-46",
        title="Log writes carry one CI each",
        table="QJST",
        severity=Severity.NOTE,
        figures={
            "cis_per_io": lambda at: ratio(at.cis_written, at.log_ios),
            "ios_per_s": lambda at: ratio(at.log_ios, at.seconds),
        },
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
        advice="{calls_per_force:.1f} logger calls for each force, with {pages_per_force:.0f} pages between forces:"
        " large messages reach WRTHRSH before their commit. This is expected.",
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
        advice="{logger_calls} logger calls for {buffers_filled} pages filled: many small commits rewrite the"
        " current page. Let applications put or get several messages in a unit of recovery, up to about 200.",
        lines="4812-4814, 4921",
    ),
    Rule(
        id="mp16-ch4-11/LOG-4",
        also=("mp16-ch4-11/LOG-6", "mp1b/A-3", "mp16-ch1/A-20"),
        title="Log I/O is slow",
        table="QJST",
        figures={"io_us": io_us, "log_mb_per_s": log_mb_per_s},
        when=lambda at, cut: (at.io_us > cut.io_us_max) & (at.ios_copy_1 > cut.ios_min),
        measure="io_us",
        cutoffs=(
            Cutoff("io_us_max", 1000, "microseconds for a log I/O; DASD with cache answers below", ours=True),
            Cutoff("ios_min", IOS_MIN, "I/Os of copy 1 from which on an average means something", ours=True),
        ),
        advice="A log I/O took {io_us:,.0f} microseconds on average, at {log_mb_per_s:.2f} MiB/s; copy 1"
        " {io_us_copy_1:,.0f}, copy 2 {io_us_copy_2:,.0f}. Every commit waits for it. Move the logs to the"
        " fastest DASD with the least contention, or spread the work over queue managers.",
        lines="4789, 4818-4822",
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
        advice="{ios_copy_1} I/Os went to log copy 1 and none to a second: the log is a single point of failure."
        " Keep it so only on DASD with redundancy built in, and when throughput needs it.",
        command="CSQ6LOGP TWOACTV=YES",
        own_command=DUAL_LOGS,
        effect=_single,
        lines="523-525, 4210",
    ),
    Rule(
        id="mp16-ch4-11/ZEDC-2",
        title="Log copy 2 is slower than copy 1",
        table="QJST",
        figures={"slowdown": lambda at: ratio(at.pages_io_us_copy_2, at.pages_io_us_copy_1)},
        when=lambda at, cut: (
            (at.slowdown > cut.slowdown_min)
            & (at.pages_io_us_copy_2 > cut.io_us_min)
            & (at.pages_ios_copy_2 > cut.ios_min)
        ),
        measure="slowdown",
        cutoffs=(
            Cutoff("slowdown_min", 1.3, "copy 2 over copy 1; the examples are 1.59 and 1.11", ours=True),
            Cutoff("io_us_min", 500, "microseconds for an I/O of copy 2 below which nobody waits", ours=True),
            Cutoff("ios_min", IOS_MIN, "such I/Os from which on an average means something", ours=True),
        ),
        advice="I/Os of several pages took {pages_io_us_copy_2:,.0f} microseconds on copy 2 and"
        " {pages_io_us_copy_1:,.0f} on copy 1. See whether the control unit of copy 2 bypasses its cache (RMF"
        " DFWBP): archives written there may push the log aside; compress or move them.",
        lines="4396-4431",
    ),
)
