"""What is out of line, charge-back, trends, and the tables behind the pictures."""

from quaestor.pipeline.thresholds import LIMITS
from quaestor.reports.catalog.model import Column, Parameter, Report, Unit
from quaestor.reports.catalog.parameters import CHANNEL, JOB, PERIOD, PLAN, QUEUE, TRAN, limit

_EXCEPTION = (
    Column("severity", Unit.TEXT, "Severity"),
    Column("date", Unit.DATE, "Day"),
    Column("first_time", Unit.TIME, "From"),
    Column("last_time", Unit.TIME, "To"),
    Column("qmgr", Unit.TEXT, "QMGR"),
    Column("system", Unit.TEXT, "System", tells_apart="qmgr"),
    Column("rule", Unit.TEXT, "Rule"),
    Column("object", Unit.TEXT, "Object"),
    Column("message", Unit.TEXT, "What"),
    Column("worst", Unit.FIGURE, "Worst"),
    Column("unit", Unit.TEXT, "Unit"),
    Column("intervals", Unit.COUNT, "Times"),
    Column("advice", Unit.TEXT, "Advice"),
)
NOTHING_OUT_OF_LINE = "No threshold was crossed."


def _exceptions(name: str, title: str, *kinds: str) -> Report:
    limits = tuple(
        limit(each.name, each.default, each.about + (" (ours)" if each.ours else ""))
        for each in LIMITS
        if each.kind in kinds or not kinds
    )
    grain = "one row per day, queue manager, rule and object, the worst first"
    return Report(name, title, grain, _EXCEPTION, (*PERIOD, *limits), "mp1b A", "exceptions", NOTHING_OUT_OF_LINE)


EXCEPTIONS = (
    _exceptions("exceptions", "What is out of line"),
    _exceptions("db2-exceptions", "Db2 out of line", "db2"),
    _exceptions("cf-exceptions", "The coupling facility out of line", "cf"),
)

_CPU = Column("cpu_s", Unit.SECONDS, "CPU s")
_MEGABYTES = Column("megabytes", Unit.MEGABYTES, "MB")
_COMMITS = Column("commits", Unit.COUNT, "Commits")
_CHARGED = (
    _COMMITS,
    _CPU,
    Column("cpu_percent", Unit.PERCENT, "% CPU"),
    _MEGABYTES,
    Column("bytes_percent", Unit.PERCENT, "% bytes"),
    Column("charge", Unit.MONEY, "Charge"),
    Column("currency", Unit.TEXT, "Currency"),
)
_MONTH = Column("month", Unit.DATE, "Month")
_DEPARTMENT = Column("department", Unit.TEXT, "Department")
_WEEK = Column("week", Unit.DATE, "Week")
_APPLICATION = Column("application", Unit.TEXT, "Application")
_QMGR = Column("QMGR")
_MVS = Column("MVS", tells_apart="QMGR")
_HOUR = Column("hour", Unit.MOMENT, "Hour")


def _charge(name: str, title: str, grain: str, keys: tuple[Column, ...], *parameters: Parameter) -> Report:
    return Report(
        f"chargeback-{name}", title, grain, (_MONTH, *keys, *_CHARGED), (*PERIOD, *parameters, PLAN), "mp1b A-15",
        "charge-back", "No work in this period.",
    )  # fmt: skip


CHARGES = (
    _charge(
        "application", "CPU and bytes by application and user", "one row per month, job, transaction and user id",
        (
            Column("jobname", Unit.TEXT, "Job"), Column("jobtype", Unit.TEXT, "Type"),
            Column("transaction", Unit.TEXT, "Transaction"), Column("userid", Unit.TEXT, "User"), _DEPARTMENT,
        ),
        JOB, TRAN,
    ),
    _charge(
        "channel", "CPU and bytes by channel and partner", "one row per month, channel and partner",
        (
            Column("qmgr", Unit.TEXT, "QMGR"), Column("system", Unit.TEXT, "System", tells_apart="qmgr"),
            Column("channel", Unit.TEXT, "Channel"),
            Column("partner", Unit.TEXT, "Partner"), _DEPARTMENT,
        ),
        CHANNEL,
    ),
    _charge(
        "department", "CPU and bytes by department", "one row per month and department", (_DEPARTMENT,), JOB, TRAN,
    ),
)  # fmt: skip

TRENDS = (
    Report(
        "cpu-by-week", "CPU by application and week", "one row per week and application",
        (_WEEK, _APPLICATION, _CPU, Column("elapsed_s", Unit.SECONDS, "Elapsed s"), _COMMITS, _MEGABYTES),
        (*PERIOD, JOB, TRAN, CHANNEL), "mp1b weekly charts", "trends", "No work in this period.",
    ),
    Report(
        "trend", "Week over week", "one row per application and week",
        (
            _APPLICATION, _WEEK, _CPU, Column("cpu_change_percent", Unit.PERCENT, "CPU %"),
            Column("cpu_us_per_commit", Unit.MICROSECONDS, "CPU us/commit"), _COMMITS,
            Column("commits_change_percent", Unit.PERCENT, "Commits %"), _MEGABYTES,
            Column("megabytes_change_percent", Unit.PERCENT, "MB %"),
        ),
        (*PERIOD, JOB, TRAN, CHANNEL), "mp1b A-8", "trends", "No work in this period.",
    ),
)  # fmt: skip


def _picture(
    name: str, title: str, grain: str, columns: tuple[Column, ...], *parameters: Parameter, empty: str
) -> Report:
    return Report(name, title, grain, columns, (*PERIOD, *parameters), "", "pictures", empty)


def _seconds(name: str, heading: str) -> Column:
    return Column(name, Unit.SECONDS, heading)


def _count(name: str, heading: str) -> Column:
    return Column(name, Unit.COUNT, heading)


PICTURES = (
    _picture(
        "elapsed-split", "What elapsed time in MQ was spent on", "one row per application",
        (
            _APPLICATION, _seconds("elapsed_s", "Elapsed s"), _seconds("cpu_s", "CPU s"), _seconds("log_s", "Log s"),
            _seconds("page_set_s", "Page set s"), _seconds("cf_s", "CF s"), _seconds("db2_s", "Db2 s"),
            _seconds("other_s", "Other s"),
        ),
        JOB, TRAN, CHANNEL, empty="No work in this period.",
    ),
    _picture(
        "queue-traffic", "Messages and bytes by queue", "one row per queue manager and queue",
        (
            _QMGR, _MVS, Column("BASENAME", Unit.TEXT, "Queue"),
            _count("messages_put", "Put"), _count("messages_got", "Got"),
            Column("megabytes_put", Unit.MEGABYTES, "MB put"), Column("megabytes_got", Unit.MEGABYTES, "MB got"),
            _count("persistent_put", "Persistent put"), _count("depth_high", "Depth high"),
        ),
        QUEUE, empty="No message was put or got in this period.",
    ),
    _picture(
        "buffer-pools", "Buffer pools hour by hour", "one row per hour, queue manager and buffer pool in use",
        (
            _HOUR, _QMGR, _MVS, _count("BUFFER_POOL", "Pool"), _count("BUFFERS", "Buffers"),
            Column("low_percent", Unit.PERCENT, "Lowest stealable %"), _count("RIO", "Reads"), _count("WIO", "Writes"),
            _count("DWT", "Deferred"), _count("IMW", "Immediate"), _count("DMC", "Synchronous"),
            _count("SOS", "No buffer"),
        ),
        empty="No buffer pool was used in this period.",
    ),
    _picture(
        "log-activity", "The log hour by hour", "one row per hour and queue manager",
        (
            _HOUR, _QMGR, _MVS, Column("megabytes_per_s", Unit.MEGABYTES_RATE, "MB/s, all copies"),
            Column("forces_per_s", Unit.RATE, "Forces/s"), _count("CHECKPOINTS", "Checkpoints"),
            _count("LOG_IOS", "I/Os"), _count("CIS_WRITTEN", "CIs written"),
        ),
        empty="No log statistics in this period.",
    ),
    _picture(
        "cf-activity", "Coupling facility structures hour by hour", "one row per hour, queue manager and structure",
        (
            _HOUR, _QMGR, _MVS, Column("STRUCTURE", Unit.TEXT, "Structure"), _count("QESTCSEC", "Single"),
            Column("single_avg_us", Unit.MICROSECONDS, "us each"), _count("QESTCMEC", "Multiple"),
            Column("multiple_avg_us", Unit.MICROSECONDS, "us each"), _count("QESTSFUL", "Full"),
            _count("ENTRIES_MAX", "Entries high"),
        ),
        empty="No structure of the coupling facility was used in this period.",
    ),
    _picture(
        "channel-traffic", "Channels", "one row per queue manager, channel and type",
        (
            _QMGR, _MVS, Column("CHANNEL", Unit.TEXT, "Channel"), Column("TYPE", Unit.TEXT, "Type"),
            _count("partners", "Partners"), _count("MESSAGES", "Messages"),
            Column("megabytes_sent", Unit.MEGABYTES, "MB sent"),
            Column("megabytes_received", Unit.MEGABYTES, "MB received"), _count("BATCHES", "Batches"),
            Column("batch_size", Unit.FIGURE, "Batch size"), _count("BATCHSZ", "BATCHSZ"),
            Column("network_avg_us", Unit.MICROSECONDS, "Net avg us"),
            Column("network_max_us", Unit.MICROSECONDS, "Net max us"),
        ),
        CHANNEL, empty="No channel reported statistics in this period.",
    ),
)  # fmt: skip
