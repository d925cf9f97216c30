"""Rules of task accounting: WTAS with the sums over the task's queues, and applications from day to day.

Channels have units of recovery by batch, not by application: rules on units pass them over, for what a batch costs
depends on how many messages came (T-12). CICS and IMS keep their connections over transactions: the rule on connections
passes them over.
"""

from types import SimpleNamespace

import numpy as np

from quaestor.advisor.accounting_views import CICS, IMS
from quaestor.advisor.rows import Mask, ratio
from quaestor.advisor.rule import Columns, Cutoff, Row, Rule, Severity
from quaestor.advisor.rules.log import READS_PER_HOUR_MAX
from quaestor.planner.applications import UNIT_OF_WORK_MESSAGES_ADVISED, failed_get_ms
from quaestor.planner.coupling_facility import crossing_structures
from quaestor.planner.shared_access import undefined_open_us
from quaestor.planner.tiers import SHORT_LIVED_BELOW_MESSAGES, connection_cost

UNITS_MIN = Cutoff("commits_min", 100, "units of recovery of either day from which on a mean says something", ours=True)


def _rises(at: Columns, cut: SimpleNamespace) -> Mask:
    """Whether a mean over the units of a day is so much above that of the day before, and both say something."""
    enough = (at.commits > cut.commits_min) & (at.commits_before > cut.commits_min)
    return np.asarray((at.rise > cut.times) & enough & (at.is_channel == 0), bool)


def _crossing(row: Row) -> str:
    change = crossing_structures(persistent=bool(row.log_bytes))
    if change.cpu_percent is None:
        return ""
    return f"one structure instead of two saves about {change.cpu_percent.high:.0f} % of the CPU"


def _connections(row: Row) -> str:
    cost = connection_cost()
    many, few = cost.us_per_message(50), cost.us_per_message(max(1.0, row.messages_per_connection))
    return f"a message of a client costs {many:,.0f} microseconds at 50 to a connection, {few:,.0f} at this number"


def _scans(row: Row) -> str:
    return f"a get that fails behind so many uncommitted messages takes {failed_get_ms(int(row.held_per_unit)):.1f} ms"


RULES = (
    Rule(
        id="mp1b/A-1",
        title="Units of recovery take long in the queue manager",
        table="tasks",
        figures={
            "ms_per_unit": lambda at: at.elapsed_us_per_unit / 1000,
            "latch_ms": lambda at: at.latch_longest_us / 1000,
        },
        when=lambda at, cut: (
            (at.elapsed_us_per_unit > cut.us_max) & (at.messages_per_unit <= cut.messages_max) & (at.is_channel == 0)
        ),
        measure="ms_per_unit",
        cutoffs=(
            Cutoff("us_max", 10_000, "microseconds in MQ of a unit of recovery; the paper's example"),
            Cutoff("messages_max", 10, "messages of a unit of recovery that is short", ours=True),
        ),
        shows=("commits", "messages_per_unit", "commit_elapsed_us"),
        advice="A unit of recovery with {messages_per_unit:.1f} messages took {ms_per_unit:.1f} ms ({commits} in the"
        " record); the longest latch wait was {latch_ms:.1f} ms. See which of CPU, log, page set and latch it"
        " is.",
        lines="1018-1034",
    ),
    Rule(
        id="mp1b/A-3",
        also=("mp16-ch4-11/LOG-6", "talks/A-1", "mp16-ch1/A-20"),
        title="The application waits for the log",
        table="tasks",
        figures={"force_ms": lambda at: at.force_us / 1000},
        when=lambda at, cut: (
            (at.log_wait_share > cut.share_max) & (at.force_us > cut.force_us_max) & (at.log_forces > cut.forces_min)
        ),
        measure="force_ms",
        cutoffs=(
            Cutoff("share_max", 0.5, "share of elapsed time that is log wait", ours=True),
            Cutoff("force_us_max", 1000, "microseconds of a force; below, nobody is slowed down", ours=True),
            Cutoff("forces_min", 0, "forces of the log in the interval", ours=True),
        ),
        advice="{log_wait_share:.0%} of the time in MQ was wait for the log, {force_ms:.2f} ms for each of"
        " {log_forces} forces. Move the log data sets to a less used volume, or split the work over queue"
        " managers.",
        lines="571",
    ),
    Rule(
        id="mp16-ch4-11/Q-4",
        also=("mp16-ch1/A-75", "talks/A-1"),
        title="One instance is at its limit, and the log is what limits it",
        table="tasks",
        figures={
            "busy": lambda at: ratio(at.elapsed_us / 1e6, at.seconds),
            "commit_share": lambda at: ratio(at.commit_elapsed_us, at.elapsed_us),
        },
        when=lambda at, cut: (
            (at.busy >= cut.busy_min) & (at.commit_share > cut.commit_share_min) & (at.commits > cut.commits_min)
        ),
        measure="busy",
        cutoffs=(
            Cutoff("busy_min", 0.95, "share of its time that the task is in MQ", ours=True),
            Cutoff("commit_share_min", 0.5, "share of that which is commit", ours=True),
            Cutoff("commits_min", 100, "commits from which on a rate means something", ours=True),
        ),
        advice="The task was in MQ {busy:.0%} of its time, {commit_share:.0%} of that in {commits} commits. If order"
        " allows run more instances; otherwise put more messages in a unit of recovery, or use faster log"
        " DASD.",
        lines="5236-5271",
    ),
    Rule(
        id="mp1b/A-14",
        title="The application backs out",
        table="tasks",
        when=lambda at, cut: (at.backouts > cut.backouts) & (at.log_reads_per_hour > cut.reads_per_hour_max),
        measure="backouts",
        cutoffs=(
            Cutoff("backouts", 0, "units backed out in an interval"),
            Cutoff("reads_per_hour_max", READS_PER_HOUR_MAX, "log reads from buffers that are still usual", ours=True),
        ),
        shows=("commits",),
        advice="Units of recovery backed out: {backouts}, beside {commits} committed, while the log was read"
        " {log_reads_from_buffer:,.0f} times for backout.",
        lines="2498",
    ),
    Rule(
        id="mp16-ch4-11/APP-1",
        also=("mp16-ch1/A-81",),
        title="Units of recovery are large",
        table="tasks",
        when=lambda at, cut: (at.held_per_unit > cut.messages_max) & (at.is_channel == 0),
        measure="held_per_unit",
        cutoffs=(Cutoff("messages_max", UNIT_OF_WORK_MESSAGES_ADVISED, "messages to a unit of recovery"),),
        shows=("held", "commits", "backouts"),
        advice="A unit of recovery holds {held_per_unit:,.0f} messages ({held:,.0f} put or got in {commits} commits and"
        " {backouts} backouts). Commit at least every 200: locks take storage, and searches pass over what is not"
        " committed.",
        effect=_scans,
        lines="1757-1776, 2263-2269, 4895-4922",
    ),
    Rule(
        id="mp16-ch1/A-68",
        title="A utility moves a queue in one unit of recovery",
        table="tasks",
        settings=("maxumsgs",),
        when=lambda at, cut: (
            (at.held_per_unit >= cut.messages_min) & (at.maxumsgs > cut.messages_min) & (at.is_channel == 0)
        ),
        measure="held_per_unit",
        cutoffs=(Cutoff("messages_min", 10_000, "messages to a unit of recovery: tens of thousands"),),
        advice="{held_per_unit:,.0f} messages in one unit of recovery, with MAXUMSGS {maxumsgs:,.0f}. Keep"
        " MAXUMSGS low, use a temporary queue and commit about every 50 messages.",
        command="ALTER QMGR MAXUMSGS(10000)",
        lines="1757, 1776",
    ),
    Rule(
        id="mp16-ch2-3/CF-R3",
        also=("mp16-ch2-3/CF-R30",),
        title="Units of recovery touch several structures",
        table="tasks",
        severity=Severity.NOTE,
        when=lambda at, cut: (at.structures_used > cut.structures_max) & (at.commits > 0),
        measure="structures_used",
        cutoffs=(Cutoff("structures_max", 1, "application structures that a task uses"),),
        shows=("log_bytes",),
        advice="The task uses queues in {structures_used:.0f} structures. Queues of one unit of recovery belong into"
        " one structure; with duplexed structures the loss is larger.",
        effect=_crossing,
        lines="2669, 2686, 3190",
    ),
    Rule(
        id="mp16-ch4-11/SHQ-5",
        title="Opens ask Db2 for queues that do not exist",
        table="tasks",
        severity=Severity.NOTE,
        figures={"db2_per_open": lambda at: ratio(at.db2_requests, at.opens)},
        when=lambda at, cut: (at.db2_requests > cut.requests_min) & (at.others > 0) & (at.db2_requests > at.opens),
        measure="db2_requests",
        cutoffs=(Cutoff("requests_min", 10, "Db2 requests of a task", ours=True),),
        shows=("db2_requests",),
        advice="{db2_requests} Db2 requests with {opens:.0f} good opens: each open of a queue that is not defined"
        " looks in Db2. Stop opening undefined queues.",
        effect=lambda _: f"each such open costs the queue manager about {undefined_open_us(1):.0f} microseconds",
        lines="4974-5012",
    ),
    Rule(
        id="mp1b/A-8",
        title="CPU of a unit of recovery rises",
        table="application_days",
        figures={"rise": lambda at: ratio(at.cpu_us_per_unit, at.cpu_us_per_unit_before)},
        when=_rises,
        measure="rise",
        cutoffs=(
            Cutoff("times", 1.5, "CPU of a unit against the day before", ours=True),
            UNITS_MIN,
        ),
        advice="A unit of recovery took {cpu_us_per_unit:,.0f} microseconds of CPU, {rise:.1f} times that of the day"
        " before. Find what changed.",
        severity=Severity.NOTE,
        lines="1155-1156",
    ),
    Rule(
        id="mp1b/A-6",
        title="Log data of a unit of recovery rises",
        table="application_days",
        severity=Severity.NOTE,
        figures={"rise": lambda at: ratio(at.log_bytes_per_unit, at.log_bytes_per_unit_before)},
        when=_rises,
        measure="rise",
        cutoffs=(
            Cutoff("times", 1.5, "log bytes of a unit against the day before", ours=True),
            UNITS_MIN,
        ),
        advice="A unit of recovery logs {log_bytes_per_unit:,.0f} bytes, {rise:.1f} times that of the day before."
        " Plan larger or more logs.",
        lines="575-577",
    ),
    Rule(
        id="mp16-ch4-11/TIER-1",
        also=("mp16-ch4-11/LLA-1", "mp16-ch4-11/LLA-3"),
        title="Connections are short-lived",
        table="application_days",
        severity=Severity.NOTE,
        figures={"connections_per_hour": lambda at: at.connections / 24},
        when=lambda at, cut: (
            (at.messages_per_connection < cut.messages_min)
            & (at.connections_per_hour > cut.connections_per_hour_min)
            & ~np.isin(at.task_connection_type, (CICS, *IMS))
        ),
        measure="connections_per_hour",
        cutoffs=(
            Cutoff("messages_min", SHORT_LIVED_BELOW_MESSAGES, "messages to a connection", ours=True),
            Cutoff("connections_per_hour_min", 100, "connections an hour that are many", ours=True),
        ),
        shows=("messages_per_connection",),
        advice="{connections:,.0f} connections a day with {messages_per_connection:.1f} messages each. Pool"
        " connections, or put a tier between; for batch jobs put SCSQAUTH in the LLA with FREEZE.",
        effect=_connections,
        lines="4849-4881, 5563-5571",
    ),
)
