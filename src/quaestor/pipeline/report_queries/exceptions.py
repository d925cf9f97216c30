"""What is out of line: MP1B's thresholds applied to the summary tables, the daily list of what to look at.

Rules
  X1  A source is read once, all its thresholds are tried on each row, and what fires becomes a row of its own. The
      thresholds go to Spark as one SQL text for each source, which it parses far quicker than columns one by one.
      Sources are asked side by side: each is a small query that is planned longer than it runs.
  X2  One line per day, queue manager, rule and object: how many intervals, from when to when, and the worst figure.
  X3  SYSPRINT is the same list in the sample program's three columns.

Called by the package's register.  Calls thresholds, steps.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

from quaestor.pipeline import thresholds
from quaestor.pipeline.report_queries.manager_queries import CF_CALLS, DB2_CALLS, LOG_MANAGER, by_db2_verb
from quaestor.pipeline.report_queries.steps import Parameters, Tables, summarised, total
from quaestor.pipeline.report_queries.task_queries import DAILY_QUEUE, DAILY_TASK
from quaestor.pipeline.thresholds import ALERT, LIMITS, NOTE, WARNING, Threshold

BUFFER_MANAGER = "DRL.MQS_BUFMGR_T"
ORDER = {ALERT: 0, WARNING: 1, NOTE: 2}
_WORST: Mapping[str, Callable[[str], Column]] = {"sum": F.sum, "max": F.max, "min": F.min}
_LISTED = (
    "date date, qmgr string, object string, intervals long, first_time string, last_time string, severity_order int,"
    " severity string, rule string, manager string, unit string, advice string, worst double, message string"
)
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
    """One row per five minutes and verb that was used."""
    return _moments(by_db2_verb(frame))


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


def _queue_records(frame: DataFrame) -> DataFrame:
    """The rows of task records with their page set I/Os together."""
    ios = sum((F.coalesce(F.col(each), F.lit(0)) for each in ("PUTPSN", "PUT1PSN", "GETPSN")), F.lit(0))
    return _moments(frame.withColumn("IOS", ios))


def _queue_days(frame: DataFrame) -> DataFrame:
    """One row per day, queue manager, queue, type and index: what all its users did together."""
    return frame.groupBy("DATE", "QMGR", "BASENAME", "QTYPE", "INDXTYPE").agg(
        F.min("TIME").alias("first_time"),
        F.max("TIME").alias("last_time"),
        *(total(each).alias(each) for each in ("GETS", "GETBRWS", "GETA")),
    )


SOURCES: Mapping[str, Source] = {
    "buffer": Source(
        "buffer manager", BUFFER_MANAGER, _moments, "cast(BUFFER_POOL as string)", thresholds.BUFFER_POOLS
    ),
    "log": Source("log manager", LOG_MANAGER, _moments, "''", thresholds.LOG, "MQSERIES_SUB_ID"),
    "db2": Source("Db2 manager", DB2_CALLS, _moments, "''", thresholds.DB2),
    "db2 verbs": Source("Db2 manager", DB2_CALLS, _db2_verbs, "VERB", thresholds.DB2_VERBS),
    "cf": Source("coupling facility", CF_CALLS, _structures, "STRUCTURE", thresholds.STRUCTURES),
    "queue records": Source("queues", DAILY_QUEUE, _queue_records, "BASENAME", thresholds.QUEUE_RECORDS),
    "queue days": Source("queues", DAILY_QUEUE, _queue_days, "BASENAME", thresholds.QUEUE_DAYS),
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
    """What the sources found, with what there is to say about it."""
    chosen = list(sources)
    with ThreadPoolExecutor(len(chosen)) as pool:
        found = [row for rows in pool.map(lambda source: _found(tables, asked, source), chosen) for row in rows]
    session = tables(chosen[0].table).sparkSession
    return session.createDataFrame(found, _LISTED)


def _found(tables: Tables, asked: Parameters, source: Source) -> list[tuple[Any, ...]]:
    """The lines that one source gives (X2): as many as are out of line, so they can be told here."""
    grouped = (
        _fired(tables, asked, source)
        .groupBy("date", "qmgr", "number", "object")
        .agg(
            F.count("*").alias("intervals"),
            F.min("first_time").alias("first_time"),
            F.max("last_time").alias("last_time"),
            *(how("figure").alias(name) for name, how in _WORST.items()),
        )
    )
    return [_line(row, source, source.rules[row.number]) for row in grouped.collect()]


def _line(row: Row, source: Source, rule: Threshold) -> tuple[Any, ...]:
    said = rule.says.replace("%s", row.object or "")
    when = (row.date, row.qmgr, row.object, row.intervals, row.first_time, row.last_time)
    told = (ORDER[rule.severity], rule.severity, rule.rule, source.manager, rule.unit, rule.advice)
    return (*when, *told, row[rule.worst], said)


def _fired(tables: Tables, asked: Parameters, source: Source) -> DataFrame:
    """One row per row of the source and threshold that it crosses: the number of the threshold and the figure (X1)."""
    limits = {each.name: asked.get(each.name, each.default) for each in LIMITS}
    rows = source.prepare(summarised(tables, source.table, asked, qmgr=source.qmgr))
    tried = ", ".join(
        f"CASE WHEN {rule.when.format(**limits)} THEN"
        f" named_struct('number', {number}, 'figure', cast({rule.figure} as double)) END"
        for number, rule in enumerate(source.rules)
    )
    return rows.select(
        F.col("DATE").alias("date"),
        F.col(source.qmgr).alias("qmgr"),
        F.expr(source.name).alias("object"),
        *("first_time", "last_time"),
        F.expr(f"inline(filter(array({tried}), one -> one IS NOT NULL))"),
    )
