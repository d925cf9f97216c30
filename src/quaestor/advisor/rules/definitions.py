"""Rules of definitions: what the queue manager and its objects are set to, whatever the load.

They read settings only: a TOML file, or what DISPLAY commands print. Those of the log are in `log_definitions`.
"""

import numpy as np

from quaestor.advisor.rows import Mask, begins_with, ratio
from quaestor.advisor.rule import NO, YES, Columns, Cutoff, Row, Rule, Severity
from quaestor.planner.backup import CopyMethod
from quaestor.planner.cfrm import ADMIN_UNIT_MESSAGES_MAX
from quaestor.planner.channel_costs import trace_change
from quaestor.planner.coupling_facility import BUSY_LIMIT_PERCENT, BUSY_LIMIT_PERCENT_ONE_ENGINE
from quaestor.planner.indexing import rebuild_s
from quaestor.planner.page_sets import EXPANSION_PERCENT
from quaestor.planner.tracing import GlobalTrace, global_trace_cpu_us

SYSTEM = "settings.system"


def unasked_in_production(at: Columns) -> Mask:
    """Whether nobody asked for a trace and the system matters; it does unless the settings say otherwise."""
    return np.asarray((at.maybe("trace_asked_for") != 1) & (at.maybe("production") != 0), bool)


def _traced(_: Row) -> str:
    resident, gtf = global_trace_cpu_us(GlobalTrace.RES), global_trace_cpu_us(GlobalTrace.GTF)
    return f"what costs 100 microseconds of CPU untraced costs {resident:,.0f} traced to storage and {gtf:,.0f} to GTF"


def _chinit_traced(_: Row) -> str:
    change = trace_change(busy=True)
    return f"at high load the trace costs up to {change.cpu_percent.high:.0f} % CPU" if change.cpu_percent else ""


def _rebuild(row: Row) -> str:
    return f"restart waits about {rebuild_s([int(row.curdepth)]):.1f} s for this index"


def _copies(_: Row) -> str:
    return f"DFDSS copies at {CopyMethod.DFDSS.value / CopyMethod.REPRO.value:.1f} times the rate of REPRO"


RULES = (
    Rule(
        id="mp16-ch1/A-1",
        also=("mp16-ch1/A-72",),
        title="Global trace is active",
        table=SYSTEM,
        when=lambda at, cut: (at.trace_global == cut.active) & unasked_in_production(at),
        measure="trace_global",
        cutoffs=(Cutoff("active", 1, "the trace is active"),),
        severity=Severity.WARNING,
        advice="TRACE(G) is active and service did not ask for it. Stop it; if it must be on, resident storage is"
        " cheaper than GTF.",
        command="STOP TRACE(G)",
        effect=_traced,
        lines="488, 1973",
    ),
    Rule(
        id="mp16-ch2-3/CH-R26",
        also=("mp16-ch1/A-1",),
        title="Channel initiator trace is active",
        table=SYSTEM,
        when=lambda at, cut: (at.trace_chinit == cut.active) & unasked_in_production(at),
        measure="trace_chinit",
        cutoffs=(Cutoff("active", 1, "the trace is active"),),
        advice="TRACE(CHINIT) is active and service did not ask for it. Stop it; class 4 accounting and statistics"
        " are affordable.",
        command="STOP TRACE(CHINIT)",
        effect=_chinit_traced,
        lines="488, 3707-3715",
    ),
    Rule(
        id="mp16-ch1/A-4",
        title="One image copy only",
        table=SYSTEM,
        when=lambda at, cut: at.image_copies < cut.copies_min,
        measure="image_copies",
        low_is_worse=True,
        cutoffs=(Cutoff("copies_min", 2, "image copies of a page set"),),
        advice="{image_copies} image copy of each page set: take two.",
        lines="517",
    ),
    Rule(
        id="mp16-ch1/A-35",
        title="Page sets are copied by REPRO",
        table=SYSTEM,
        when=lambda at, _: at.backup_method == "REPRO",
        measure="image_copies",
        advice="Backups use IDCAMS REPRO; DFDSS is about 1.7 times as fast, and does not starve as easily.",
        effect=_copies,
        lines="831, 852, 1323",
    ),
    Rule(
        id="mp16-ch1/A-52",
        title="Page set volumes without HyperPAV",
        table=SYSTEM,
        severity=Severity.NOTE,
        when=lambda at, cut: (at.page_set_hyperpav == cut.no) & (at.version >= 8),
        measure="version",
        cutoffs=(NO,),
        advice="From V8 on deferred write runs 64 I/Os for a pool at once: use HyperPAV for the page sets' volumes,"
        " and zHPF against bursts.",
        lines="1022, 1052",
    ),
    Rule(
        id="mp16-ch1/A-71",
        also=("mp16-ch1/A-70", "mp16-ch4-11/ZEDC-5"),
        title="Class 3 accounting goes to MAN data sets",
        table=SYSTEM,
        when=lambda at, cut: (at.accounting_class_3 == cut.yes) & (at.smf_recording == "MAN"),
        measure="accounting_class_3",
        cutoffs=(YES,),
        advice="Class 3 accounting is on all the time and SMF records to MAN data sets: at high rates data are lost"
        " (CSQW133E). Log streams are cheaper and hold more; or trace for a minute at a time.",
        command="START TRACE(ACCTG) CLASS(3) ... STOP TRACE(ACCTG)",
        lines="1866-1868, 1965, 4433-4457",
    ),
    Rule(
        id="mp16-ch1/A-79",
        title="User ids stay in the security cache for long",
        table=SYSTEM,
        severity=Severity.NOTE,
        when=lambda at, cut: at.security_timeout_min > cut.minutes_max,
        measure="security_timeout_min",
        cutoffs=(Cutoff("minutes_max", 60, "minutes an unused user id may stay", ours=True),),
        advice="A user id that is not used stays {security_timeout_min:.0f} minutes in the cache. Lower TIMEOUT if"
        " changes of authority come through too late.",
        command="ALTER SECURITY TIMEOUT(54) INTERVAL(12)",
        lines="2239",
    ),
    Rule(
        id="mp16-ch1/A-82",
        title="The cluster cache cannot grow",
        table=SYSTEM,
        severity=Severity.NOTE,
        when=lambda at, _: at.clcache == "STATIC",
        measure="version",
        advice="The cluster cache is STATIC: if the cluster grows much the queue manager must be restarted to extend"
        " it.",
        command="CSQ6SYSP CLCACHE=DYNAMIC",
        own_command="",
        lines="2285",
    ),
    Rule(
        id="mp16-ch1/A-77",
        title="Restart waits for an index to be built",
        table="settings.queue",
        settings=("qindxbld",),
        figures={"indexed": lambda at: ((at.indxtype != "NONE") & (at.indxtype != "")).astype(float)},
        when=lambda at, cut: (at.qindxbld == "WAIT") & (at.indexed == 1) & (at.curdepth > cut.depth_min),
        measure="curdepth",
        cutoffs=(Cutoff("depth_min", 10_000, "depth of an indexed queue", ours=True),),
        severity=Severity.NOTE,
        advice="{curdepth:,.0f} messages are indexed by {indxtype} and QINDXBLD is WAIT: applications wait at start"
        " until the index is built.",
        command="CSQ6SYSP QINDXBLD=NOWAIT",
        own_command="",
        shows=("curdepth",),
        effect=_rebuild,
        lines="2058-2060",
    ),
    Rule(
        id="mp16-ch1/A-43",
        also=("mp16-ch1/A-44",),
        title="Messages of system queues go to pool 0",
        table="settings.queue",
        figures={
            "administrative": lambda at: (
                begins_with(at.queue, "SYSTEM.COMMAND.", "SYSTEM.ADMIN.")
                | (at.maybe("is_dead_letter") == 1)
                | (at.queue_type == "QMODEL")
            ).astype(float)
        },
        when=lambda at, _: (at.administrative == 1) & (at.stgclass == "SYSTEM"),
        measure="curdepth",
        advice="This {queue_type} uses storage class SYSTEM, which is pool 0, where the objects live. Give it another.",
        command="ALTER {queue_type}({queue}) STGCLASS(REMOTE)",
        lines="949, 955, 977",
    ),
    Rule(
        id="mp16-ch1/A-30",
        title="The page set has no secondary extent",
        table="settings.page_set",
        when=lambda at, cut: at.secondary_extent == cut.no,
        measure="total_pages",
        cutoffs=(NO,),
        advice="No secondary extent is defined: when a server stops and messages build up the page set cannot grow.",
        lines="793",
    ),
    Rule(
        id="mp16-ch1/A-32",
        title="The page set is nearly full and cannot expand",
        table="settings.page_set",
        figures={"used_share": lambda at: ratio(at.total_pages - at.unused_pages, at.total_pages)},
        when=lambda at, cut: (at.used_share > cut.share_max) & (at.expand == "NONE"),
        measure="used_share",
        cutoffs=(Cutoff("share_max", EXPANSION_PERCENT / 100, "share of the pages in use"),),
        severity=Severity.ALERT,
        advice="{used_share:.0%} of {total_pages:,.0f} pages are in use and EXPAND is NONE: 2192 is near.",
        command="ALTER PSID({page_set}) EXPAND(SYSTEM)",
        lines="797, 872, 896",
    ),
    Rule(
        id="mp16-ch2-3/CF-R15",
        title="MAXUMSGS allows units that CSQ_ADMIN cannot carry",
        table=SYSTEM,
        when=lambda at, cut: (at.maxumsgs > cut.messages_max) & (at.queue_sharing_group != ""),
        measure="maxumsgs",
        cutoffs=(Cutoff("messages_max", ADMIN_UNIT_MESSAGES_MAX, "messages in a unit of recovery on shared queues"),),
        advice="MAXUMSGS is {maxumsgs:,.0f} in a queue-sharing group: a unit of more than {messages_max:,.0f}"
        " messages does not fit into CSQ_ADMIN (CSQE038E). Lower it, or enlarge CSQ_ADMIN.",
        command="ALTER QMGR MAXUMSGS(10000)",
        lines="2354-2356",
    ),
    Rule(
        id="mp16-ch2-3/CF-R31",
        title="Members wait while CSQ_ADMIN is rebuilt",
        table=SYSTEM,
        severity=Severity.NOTE,
        when=lambda at, cut: (at.shared_channels == 1) & (at.lowest_version_in_group < cut.version_min),
        measure="lowest_version_in_group",
        low_is_worse=True,
        cutoffs=(Cutoff("version_min", 7.01, "version from which on members rebuild for each other"),),
        advice="Shared channels are used and a member is at {lowest_version_in_group:g}: if CSQ_ADMIN is simplex and"
        " fails, work waits until every member has rebuilt its part.",
        lines="2599",
    ),
    Rule(
        id="mp16-ch2-3/CF-R32",
        also=("mp16-ch2-3/CF-R33", "mp16-ch4-11/SHQ-2", "mp16-ch4-11/SHQ-7"),
        title="The coupling facility is too busy",
        table=SYSTEM,
        figures={"limit": lambda at: np.where(at.cf_engines > 1, BUSY_LIMIT_PERCENT, BUSY_LIMIT_PERCENT_ONE_ENGINE)},
        when=lambda at, cut: at.cf_busy_percent > cut.share * at.limit,
        measure="cf_busy_percent",
        cutoffs=(Cutoff("share", 1.0, "share of 30 % with one engine and 60 % with several"),),
        advice="The coupling facility is {cf_busy_percent:.0f} % busy with {cf_engines:.0f} engines; above"
        " {limit:.0f} % response suffers. Add an engine.",
        lines="2714, 4892, 5329",
    ),
    Rule(
        id="mp16-ch2-3/CF-R34",
        title="Engines of the coupling facility are shared",
        table=SYSTEM,
        when=lambda at, cut: (at.cf_engines_shared == cut.yes) & (at.cf_response_critical == cut.yes),
        measure="cf_busy_percent",
        cutoffs=(YES,),
        advice="Response of the coupling facility is critical and its engines are shared. Dedicate them; otherwise"
        " review DYNDISP, which may be THIN from CFCC 19 on.",
        lines="2718-2728",
    ),
    Rule(
        id="mp16-ch4-11/Q-3",
        title="Charge-back without accounting for every queue",
        table=SYSTEM,
        when=lambda at, cut: (at.chargeback == cut.yes) & (at.acctq_everywhere == 0),
        measure="chargeback",
        cutoffs=(YES,),
        advice="Accounting is used for charge-back and some queues have ACCTQ(OFF). Keep ACCTQ(QMGR) everywhere.",
        command="ALTER QLOCAL(name) ACCTQ(QMGR)",
        lines="5099-5125",
    ),
)
