"""Steps that the report queries share: which rows are meant, and the arithmetic of totals and counts.

Rules
  G1  A query gets its tables from a function and its parameters as parsed values; it knows no path and no session.
  G2  Days are inclusive. A week or a month cannot be cut: it is meant when one of its days is. Names are patterns with
      `*` and `?`; a name without them means just itself.
  G3  Totals are divided at the very end: the average of a group is its total over its count, never an average of
      averages. Nothing counted gives null, never 0 (F-11).
  G4  MP1B's program cuts averages and percentages to whole numbers and prints 0 where nothing was counted; `average`
      and `percent` do the same for its outputs.
  G5  Arithmetic over many columns is written as SQL text: one call to the JVM, where columns put together one by one
      cost a call for each operator, and a query of hundreds a second.
  G6  A query asks for its table before it makes its first expression: the table starts Spark (M4), and there is no
      column without it.
  G7  A report by hour has the hours of the days asked for. An interval belongs to the hour its middle lies in (middles,
      L1), so the last one of a day is found among the records of the next.
  G8  A queue manager is its system and its name, as in the keys of MP1B's definitions (MVS = SM115SID, QMGR =
      SM115SSI): two systems may each have one of the same name, and no row by queue manager is about both. The one
      exception is the paper's: commits by day are kept by name alone.

Called by the other modules of report_queries.  Calls middle_columns.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

from quaestor.pipeline.middle_columns import hour_at, middle_of_row

Tables = Callable[[str], DataFrame]
"""A raw table by its structure's name, a summary table by its own."""

Parameters = Mapping[str, Any]
Query = Callable[[Tables, Parameters], DataFrame | pa.Table]
"""What it finds, in its order; as rows where they are in memory already."""

RAW_NAMES = {"qmgr": "queue_manager", "job": "task_connection_name", "queue": "base_name"}
"""The columns of raw tables that patterns are given for."""

SUMMARY_NAMES = {"job": "JOBNAME", "tran": "TRAN", "queue": "BASENAME", "channel": "CHANNEL"}
"""The columns of summary tables that patterns are given for."""

SAME_RECORDS = ("DATE", "PERIOD_NAME", "TIME", "MVS", "QMGR")
"""The keys that rows of two summary tables share when they were made from the same records.

A shift may begin within five minutes: they are two rows then, and each has its own lengths."""

Verb = tuple[str, str, str, str]
"""The name of a verb and the columns of its calls, elapsed time and CPU time."""


def raw(tables: Tables, structure: str, asked: Parameters) -> DataFrame:
    """The rows of a structure that are asked for, as they are (G2)."""
    frame = tables(structure)
    if asked.get("from") is not None:
        frame = frame.where(F.col("day") >= _date(asked["from"]))
    if asked.get("to") is not None:
        frame = frame.where(F.col("day") <= _date(asked["to"]))
    return matching(frame, asked, **RAW_NAMES)


def summarised(
    tables: Tables, name: str, asked: Parameters, *, qmgr: str = "QMGR", last_day: str = "DATE"
) -> DataFrame:
    """The rows of a summary table that are asked for (G2); a row is about the days from DATE to `last_day`."""
    frame = tables(name)
    if asked.get("from") is not None:
        frame = frame.where(F.expr(last_day) >= _date(asked["from"]))
    if asked.get("to") is not None:
        frame = frame.where(F.col("DATE") <= _date(asked["to"]))
    return matching(frame, asked, qmgr=qmgr, **SUMMARY_NAMES)


def by_hour(
    tables: Tables, name: str, asked: Parameters, *, qmgr: str = "QMGR", lengths: str | None = None
) -> DataFrame:
    """The rows of a summary table in the hours that are asked for, each with its `hour` (G7).

    A table without SECONDS and INTERVALS takes them from `lengths`, another one that is made of the same records.
    """
    frame = summarised(tables, name, _a_day_more(asked), qmgr=qmgr)
    if lengths is not None:
        frame = frame.join(tables(lengths).select(*SAME_RECORDS, "SECONDS", "INTERVALS"), list(SAME_RECORDS), "left")
    frame = frame.withColumn("hour", hour_at(middle_of_row()))
    if asked.get("from") is not None:
        frame = frame.where(F.to_date("hour") >= _date(asked["from"]))
    if asked.get("to") is not None:
        frame = frame.where(F.to_date("hour") <= _date(asked["to"]))
    return frame


def _a_day_more(asked: Parameters) -> Parameters:
    return asked if asked.get("to") is None else {**asked, "to": day_from(asked["to"], 1)}


def day_from(day: date, days: int) -> date:
    """So many days from a day; the first and the last day that there are mean no limit to who asks for them."""
    left = (date.max - day).days if days > 0 else (day - date.min).days
    return day + timedelta(days=days) if abs(days) <= left else (date.max if days > 0 else date.min)


def matching(frame: DataFrame, asked: Parameters, **columns: str) -> DataFrame:
    """The rows whose columns match the patterns that were given for them."""
    for parameter, column in columns.items():
        pattern = asked.get(parameter)
        if pattern is not None and column in frame.columns:
            frame = frame.where(like(F.col(column), pattern))
    return frame


def like(column: Column, pattern: str) -> Column:
    """Whether a text matches a pattern with `*` and `?` as a whole (G2)."""
    return column.like(sql_pattern(pattern))


def sql_pattern(pattern: str) -> str:
    """A pattern with `*` and `?` as SQL writes it."""
    escaped = pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return escaped.replace("*", "%").replace("?", "_")


def total(*columns: str) -> Column:
    """The sum over rows of the sum of some columns; a figure that an older level lacks counts as none.

    What an integer does not hold has no value (sums, A1).
    """
    first, *others = (f"coalesce(`{each}`, 0)" for each in columns)
    together = reduce(lambda one, other: f"try_add({one}, {other})", others, first)
    return F.expr(f"try_sum({together})")  # G5


def average(amount: str | Column, count: str | Column) -> Column:
    """Amount over count, cut to a whole number; 0 when nothing was counted (G4)."""
    if isinstance(amount, str) and isinstance(count, str):
        return F.expr(f"CASE WHEN `{count}` = 0 THEN 0 ELSE floor(try_divide(`{amount}`, `{count}`)) END")  # G5
    return F.when(_column(count) == 0, F.lit(0)).otherwise(F.floor(ratio(amount, count)))


def ratio(amount: str | Column, count: str | Column) -> Column:
    """Amount over count; null when nothing was counted (G3)."""
    return F.try_divide(_column(amount), _column(count))


def percent(part: str | Column, whole: str | Column) -> Column:
    """Part of the whole in per cent, cut; 0 when there is no whole (G4)."""
    if isinstance(part, str) and isinstance(whole, str):
        return F.expr(f"CASE WHEN `{whole}` = 0 THEN 0 ELSE floor(try_divide(100 * `{part}`, `{whole}`)) END")  # G5
    return F.when(_column(whole) == 0, F.lit(0)).otherwise(F.floor(percentage(part, whole)))


def percentage(part: str | Column, whole: str | Column) -> Column:
    """Part of the whole in per cent."""
    return F.try_divide(100 * _column(part), _column(whole))


def by_verb(frame: DataFrame, keys: Sequence[str], verbs: Sequence[Verb]) -> DataFrame:
    """One row per row of the frame and verb that was called: keys, verb_order, verb, calls, elapsed_us, cpu_us."""
    rows = ", ".join(
        f"{order}, '{verb}', CAST(`{calls}` AS BIGINT), CAST(`{elapsed}` AS DOUBLE), CAST(`{cpu}` AS DOUBLE)"
        for order, (verb, calls, elapsed, cpu) in enumerate(verbs)
    )
    columns = "verb_order, verb, calls, elapsed_us, cpu_us"
    each_verb = f"stack({len(verbs)}, {rows}) AS ({columns})"  # G5
    return frame.selectExpr(*(f"`{key}`" for key in keys), each_verb).where("calls > 0")


def application() -> Column:
    """Who did the work: the channel for the channel initiator's tasks, the job otherwise."""
    moves = (F.col("JOBTYPE") == "CHIN") & (F.coalesce(F.col("CHANNEL"), F.lit("")) != "")
    return F.when(moves, F.col("CHANNEL")).otherwise(F.col("JOBNAME"))


def _date(day: date) -> Column:
    """A day as Spark takes it, whatever its year: as a date of Python's it must be after the year 999."""
    return F.lit(day.isoformat()).cast("date")


def _column(each: str | Column) -> Column:
    return F.col(each) if isinstance(each, str) else each
