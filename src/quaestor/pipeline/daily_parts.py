"""Summary tables in daily parts, so that a week or a month outlives its details.

A week's row needs seven days of details, a month's row thirty-one; details are kept for seven. So what is stored of a
summary table is what each day contributes to it, and reading adds the days up.

Rules
  P1  The part of a day is computed anew from all details of that day whenever one of them is touched, and replaces the
      one before. Nothing is added to a stored total (summary, Y1).
  P2  Parts add up exactly: SUM and COUNT by sum, MIN and MAX by themselves; AVG is stored as its SUM and COUNT.
  P3  Every table works this way, whatever its keys are: the sum over days of the sums over their rows is the sum.
  P4  A table with the record's date among its keys has no row that two days share. As long as each of its days is one
      file, reading it adds nothing up.
  P5  A table whose definition has changed is computed anew for all days that have details. When it holds days that have
      none any more, the change is refused: those days could not follow it.

Called by reading and flow.  Calls summary's definitions; knows no files.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it
from pyspark.sql import types as T  # noqa: N812

from quaestor.pipeline.arrow_expressions import ARROW
from quaestor.pipeline.compilation import RECORD_DATES, CompiledUpdate, compile_update
from quaestor.pipeline.periods import PeriodPlan
from quaestor.pipeline.summary import SummaryTable
from quaestor.pipeline.sums import added
from quaestor.pipeline.update_language import Assignment, FieldName, Update

_SUM, _COUNT = "__SUM", "__COUNT"
_ADD: Mapping[str, Callable[[str], Column]] = {"SUM": F.try_sum, "COUNT": F.sum, "MIN": F.min, "MAX": F.max}


def in_parts(table: SummaryTable, plan: PeriodPlan) -> SummaryTable:
    """The table as it is stored: AVG taken apart (P2)."""
    return SummaryTable(table.name, tuple(_stored(each, plan) for each in table.updates))


def _stored(compiled: CompiledUpdate, plan: PeriodPlan) -> CompiledUpdate:
    if all(each.aggregate != "AVG" for each in compiled.update.assignments):
        return compiled
    return compile_update(replace(compiled.update, assignments=_taken_apart(compiled.update)), plan)


def _taken_apart(update: Update) -> tuple[Assignment, ...]:
    made: list[Assignment] = []
    for each in update.assignments:
        if each.aggregate == "AVG":
            made += [replace(each, column=each.column + _SUM, aggregate="SUM")]
            made += [replace(each, column=each.column + _COUNT, aggregate="COUNT")]
        else:
            made.append(each)
    return tuple(made)


def describe(table: SummaryTable, schema: T.StructType, plan: PeriodPlan) -> dict[str, Any]:
    """What the lake remembers of a table, so that it can be read without its definition; `schema` is of its parts."""
    columns = {each.column: each.aggregate for update in table.updates for each in update.update.assignments}
    return {
        "keys": list(table.keys),
        "columns": columns,
        "schema": json.dumps(schema.jsonValue()),
        "definition": definition_digest(table, plan),
        "grain": grain(table),
        "structures": sorted(table.structures),
        "by_day": _has_date_key(table),
    }


def definition_digest(table: SummaryTable, plan: PeriodPlan) -> str:
    """Changes when what the table means changes, not when its text is moved about (P5).

    Updates may come in any order; the plan is part of those that ask it.
    """
    updates = sorted(re.sub(r"Place\(.*?\)", "", repr(replace(each.update, source=""))) for each in table.updates)
    asked = any("Call(function='PERIOD'" in each for each in updates)
    text = "\n".join([*updates, repr(plan)] if asked else updates)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def grain(table: SummaryTable) -> str:
    """What a table is to retention: `statistics` (SMF 115), `day` (accounting by date), `longer` (weeks, months)."""
    if all(each.update.record.startswith("SMF_115") for each in table.updates):
        return "statistics"
    dates = [key.value for each in table.updates for key in each.update.keys if key.column == table.period]
    return "day" if dates and all(isinstance(each, FieldName) for each in dates) else "longer"


def _has_date_key(table: SummaryTable) -> bool:
    """Whether rows of two days never share their keys (P4)."""
    return all(
        any(isinstance(key.value, FieldName) and key.value.name in RECORD_DATES for key in each.update.keys)
        for each in table.updates
    )


def together(parts: DataFrame, description: Mapping[str, Any], days: Sequence[date | None]) -> DataFrame:
    """One row per value of the table's keys, from the parts of days (P2); `days` has an entry for each file of it."""
    if description.get("by_day") and len(set(days)) == len(days):  # P4
        return parts.select(*description["keys"], *(_alone(*each) for each in description["columns"].items()))
    columns = [_added(name, how) for name, how in description["columns"].items()]
    return parts.groupBy(*description["keys"]).agg(*columns)


def stored_columns(description: Mapping[str, Any], wanted: Collection[str]) -> list[str]:
    """The columns of a part that hold the keys and, of the others, what is wanted (P2)."""
    made = list(description["keys"])
    for name, how in description["columns"].items():
        if name in wanted:
            made += [name + _SUM, name + _COUNT] if how == "AVG" else [name]
    return made


def rows_together(parts: pa.Table, description: Mapping[str, Any], days: Sequence[date | None]) -> pa.Table:
    """The same as `together` for parts in memory, with those columns that they have."""
    keys, have = list(description["keys"]), set(parts.column_names)
    if not (description.get("by_day") and len(set(days)) == len(days)):  # P4
        parts = _grouped(parts, keys, description["columns"])
    made = {key: parts[key] for key in keys}
    for name, how in description["columns"].items():
        if how == "AVG" and name + _SUM in have:
            made[name] = ARROW["divide"](parts[name + _SUM], parts[name + _COUNT])
        elif name in have:
            made[name] = parts[name]
    return pa.table(made)


def _grouped(parts: pa.Table, keys: list[str], columns: Mapping[str, str]) -> pa.Table:
    figures = [each for each in parts.column_names if each not in keys]
    return added(parts, keys, {each: columns.get(each, "SUM").lower().replace("count", "sum") for each in figures})


def _alone(name: str, how: str) -> Column:
    return F.try_divide(name + _SUM, name + _COUNT).alias(name) if how == "AVG" else F.col(name)


def _added(name: str, how: str) -> Column:
    if how == "AVG":
        return F.try_divide(F.try_sum(name + _SUM), F.sum(name + _COUNT)).alias(name)
    return _ADD[how](name).alias(name)
