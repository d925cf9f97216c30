"""What is out of line: MP1B's thresholds applied to the summary tables, the daily list of what to look at.

Rules
  X1  A source is read once, all its thresholds are tried on each row, and what fires becomes a row of its own.
  X2  One line per day, queue manager, rule and object: how many intervals, from when to when, and the worst figure.
  X3  SYSPRINT is the same list in the sample program's three columns.

Called by the package's register.  Calls thresholds, steps.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

from quaestor.pipeline import thresholds
from quaestor.pipeline.report_queries.manager_queries import CF_CALLS, DB2_CALLS, DB2_VERBS, LOG_MANAGER, LOGGED_VERBS
from quaestor.pipeline.report_queries.steps import Parameters, Tables, summarised, total
from quaestor.pipeline.report_queries.task_queries import DAILY_QUEUE, DAILY_TASK
from quaestor.pipeline.thresholds import ALERT, LIMITS, NOTE, WARNING, Threshold

BUFFER_MANAGER = "DRL.MQS_BUFMGR_T"
ORDER = {ALERT: 0, WARNING: 1, NOTE: 2}
Step = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True, slots=True)
class Source:
    """Rows to look at: a table, the step that makes it ready, the object's name in SQL, and the thresholds."""

    manager: str
    table: str
    prepare: Step
    name: str
    rules: Sequence[Threshold]
    qmgr: str = "QMGR"


def _moments(frame: DataFrame) -> DataFrame:
    """A row of five minutes is one interval, from its time to its time."""
    return frame.withColumn("first_time", F.col("TIME")).withColumn("last_time", F.col("TIME"))


def _db2_verbs(frame: DataFrame) -> DataFrame:
    """One row per row and verb: calls and times, and whether the verb waits for Db2's log."""
    each_verb = [
        F.struct(
            F.lit(verb).alias("VERB"),
            F.lit(verb in LOGGED_VERBS).alias("LOGGED"),
            F.col(count).alias("CALLS"),
            F.col(f"{short}TCUW").alias("thread_us"),
            F.col(f"{short}SCUW").alias("server_us"),
        )
        for verb, (count, short) in DB2_VERBS.items()
    ]
    exploded = frame.select("DATE", "TIME", "QMGR", F.explode(F.array(*each_verb)).alias("one"))
    return _moments(exploded.select("DATE", "TIME", "QMGR", "one.*"))


def _structures(frame: DataFrame) -> DataFrame:
    """The same rows with the median response of each structure over the period: its own measure (A-21)."""
    own = Window.partitionBy("QMGR", "STRUCTURE")

    def median(elapsed: str, calls: str) -> Column:
        return F.percentile_approx(F.try_divide(elapsed, calls), 0.5, 1000).over(own)

    return _moments(
        frame.withColumn("single_median", median("QESTSSTC", "QESTCSEC")).withColumn(
            "multiple_median", median("QESTMSTC", "QESTCMEC")
        )
    )


def _queues(frame: DataFrame) -> DataFrame:
    """One row per day, queue manager, queue, type and index: what all its users did together."""
    sums = ("GETS", "GETBRWS", "GETA", "GETSMSG", "VALIDGET", "GETEXMSG", "SETN")
    return frame.groupBy("DATE", "QMGR", "BASENAME", "QTYPE", "INDXTYPE").agg(
        F.min("TIME").alias("first_time"),
        F.max("TIME").alias("last_time"),
        total("PUTPSN", "PUT1PSN", "GETPSN").alias("IOS"),
        *(total(each).alias(each) for each in sums),
    )


SOURCES: Mapping[str, Source] = {
    "buffer": Source(
        "buffer manager", BUFFER_MANAGER, _moments, "cast(BUFFER_POOL as string)", thresholds.BUFFER_POOLS
    ),
    "log": Source("log manager", LOG_MANAGER, _moments, "''", thresholds.LOG, "MQSERIES_SUB_ID"),
    "db2": Source("Db2 manager", DB2_CALLS, _moments, "''", thresholds.DB2),
    "db2 verbs": Source("Db2 manager", DB2_CALLS, _db2_verbs, "VERB", thresholds.DB2_VERBS),
    "cf": Source("coupling facility", CF_CALLS, _structures, "STRUCTURE", thresholds.STRUCTURES),
    "queues": Source("queues", DAILY_QUEUE, _queues, "BASENAME", thresholds.QUEUES),
    "tasks": Source("tasks", DAILY_TASK, _moments, "trim(concat_ws(' ', JOBNAME, TRAN))", thresholds.TASKS),
}


def exceptions(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per day, queue manager, rule and object that is out of line, the worst first (X2)."""
    return _ordered(_listed(tables, asked, SOURCES.values()))


def db2_exceptions(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per day, queue manager, rule and verb: Db2 out of line."""
    return _ordered(_listed(tables, asked, (SOURCES["db2"], SOURCES["db2 verbs"])))


def cf_exceptions(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per day, queue manager, rule and structure: the coupling facility out of line."""
    return _ordered(_listed(tables, asked, (SOURCES["cf"],)))


def sysprint(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per day, queue manager and message about what is out of line (X3)."""
    found = _listed(tables, asked, SOURCES.values())
    said = F.concat_ws(". ", "message", "advice")
    return found.select("date", "qmgr", "severity_order", said.alias("message")).orderBy(
        "date", "qmgr", "severity_order", "message"
    )


def _ordered(found: DataFrame) -> DataFrame:
    return found.orderBy("severity_order", F.desc("date"), "qmgr", "rule", "object", "message")


def _listed(tables: Tables, asked: Parameters, sources: Iterable[Source]) -> DataFrame:
    parts = [_fired(tables, asked, each) for each in sources]
    together = reduce(DataFrame.unionByName, parts)
    keys = ("date", "qmgr", "severity_order", "severity", "rule", "manager", "object", "unit", "message", "advice")
    grouped = together.groupBy(*keys).agg(
        F.count("*").alias("intervals"),
        F.min("first_time").alias("first_time"),
        F.max("last_time").alias("last_time"),
        F.max("figure").alias("highest"),
        F.min("figure").alias("lowest"),
    )
    worst = F.when(F.col("unit") == "% left", F.col("lowest")).otherwise(F.col("highest"))
    return grouped.withColumn("worst", worst)


def _fired(tables: Tables, asked: Parameters, source: Source) -> DataFrame:
    """One row per row of the source and threshold that it crosses (X1)."""
    limits = {each.name: asked.get(each.name, each.default) for each in LIMITS}
    rows = source.prepare(summarised(tables, source.table, asked, qmgr=source.qmgr))
    tried = F.array(*(_tried(rule, source, limits) for rule in source.rules))
    exploded = rows.select(
        F.col("DATE").alias("date"),
        F.col(source.qmgr).alias("qmgr"),
        "first_time",
        "last_time",
        F.explode(tried).alias("one"),
    )
    return exploded.where("one is not null").select("date", "qmgr", "first_time", "last_time", "one.*")


def _tried(rule: Threshold, source: Source, limits: Mapping[str, float]) -> Column:
    """What a row says when it crosses a threshold; null when it does not."""
    name = F.expr(source.name)
    message = F.format_string(rule.says, name) if "%s" in rule.says else F.lit(rule.says)
    found = F.struct(
        F.lit(ORDER[rule.severity]).alias("severity_order"),
        F.lit(rule.severity).alias("severity"),
        F.lit(rule.rule).alias("rule"),
        F.lit(source.manager).alias("manager"),
        name.alias("object"),
        F.expr(rule.figure).cast("double").alias("figure"),
        F.lit(rule.unit).alias("unit"),
        message.alias("message"),
        F.lit(rule.advice).alias("advice"),
    )
    return F.when(F.expr(rule.when.format(**limits)), found)
