"""Summary tables: update definitions applied to raw tables.

Rules
  Y1  A table is what its update definitions say of the raw rows; nothing is ever added to a total. What was touched is
      computed anew, so the order, batches and repeats of loads cannot matter.
  Y2  A table whose first date key depends on the record's date alone is kept in periods, one per value of that key; a
      load recomputes only the periods its days fall into. Any other table is computed as a whole.
  Y3  Several updates of one table set columns of the same rows (I5): each is aggregated alone, then rows of equal keys
      are laid together. A column that no update of a row set stays null.

Called by flow.  Calls compilation.  The raw tables are given to it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce
from importlib.resources import files
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

from quaestor.pipeline.compilation import CompiledUpdate, check_table, compile_update
from quaestor.pipeline.periods import DEFAULT_PLAN, PeriodPlan
from quaestor.pipeline.record_scope import Type
from quaestor.pipeline.update_language import DefinitionError, Place, parse

Raw = Callable[[str], DataFrame]
"""A structure's raw table."""

RECORD_ID = "record_id"
_COMBINE: Mapping[str, Callable[[str], Column]] = {
    "SUM": F.sum,
    "COUNT": F.sum,
    "MIN": F.min,
    "MAX": F.max,
    "AVG": F.first,
}


@dataclass(frozen=True, slots=True)
class SummaryTable:
    """A table and the updates that feed it."""

    name: str
    updates: tuple[CompiledUpdate, ...]

    @property
    def structures(self) -> frozenset[str]:
        return frozenset(name for each in self.updates for name in each.structures)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(key.name for key in self.updates[0].keys)

    @property
    def period(self) -> str | None:
        """The key whose values are the table's periods (Y2)."""
        for number, key in enumerate(self.updates[0].keys):
            if key.value.type is Type.DATE and all(each.keys[number].days_only for each in self.updates):
                return key.name
        return None


def read_definitions(folders: Iterable[Path] = (), plan: PeriodPlan = DEFAULT_PLAN) -> dict[str, SummaryTable]:
    """The shipped definitions and those in `folders`, by table; a user's update replaces a shipped one of its name."""
    updates: dict[str, CompiledUpdate] = {}
    shipped = files("quaestor.pipeline").joinpath("definitions")
    for source in sorted(shipped.iterdir(), key=lambda each: each.name):
        if source.name.endswith(".def"):
            _read(source.read_text(encoding="utf-8"), source.name, plan, updates, replace=True)
    for folder in folders:
        seen: dict[str, CompiledUpdate] = {}
        for path in sorted(folder.glob("*.def")):
            _read(path.read_text(encoding="utf-8"), str(path), plan, seen, replace=False)
        updates.update(seen)
    return tables(updates.values())


def _read(text: str, source: str, plan: PeriodPlan, into: dict[str, CompiledUpdate], *, replace: bool) -> None:
    for update in parse(text, source):
        if update.name in into and not replace:
            raise DefinitionError(f"update {update.name} is defined twice", update.place, source)
        into[update.name] = compile_update(update, plan)


def tables(updates: Iterable[CompiledUpdate]) -> dict[str, SummaryTable]:
    """Updates by the table they feed, checked together (I5)."""
    found: dict[str, list[CompiledUpdate]] = {}
    for each in updates:
        found.setdefault(each.update.table, []).append(each)
    for group in found.values():
        check_table(group)
    return {name: SummaryTable(name, tuple(group)) for name, group in sorted(found.items())}


def touched_periods(
    spark: SparkSession, table: SummaryTable, days: Iterable[date], all_days: Iterable[date]
) -> list[date]:
    """The days of the lake that must be read so that every period touched by `days` is computed in full (Y2)."""
    key_name = table.period
    every = sorted(set(all_days))
    if key_name is None:
        return every
    key = next(key for key in table.updates[0].keys if key.name == key_name)
    structure = table.updates[0].structures[0]
    frame = spark.createDataFrame([(each,) for each in every], "local_time date").alias(structure)
    rows = frame.select("local_time", key.value.column.alias("period")).collect()
    wanted = {row.period for row in rows if row.local_time in set(days)}
    return [row.local_time for row in rows if row.period in wanted]


def summarise(table: SummaryTable, raw: Raw, also: Sequence[str] = ()) -> DataFrame:
    """One row per value of the table's keys; `also` names columns of the raw tables that are keys as well."""
    parts = [_aggregate(each, raw, also) for each in table.updates]
    if len(parts) == 1:
        return parts[0]
    together = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    aggregates = {a.column: a.aggregate for each in table.updates for a, _ in each.assignments}
    return together.groupBy(*table.keys, *also).agg(
        *(_COMBINE[how](name).alias(name) for name, how in aggregates.items())
    )


def _aggregate(update: CompiledUpdate, raw: Raw, also: Sequence[str]) -> DataFrame:
    frame = _rows(update, raw)
    if update.where is not None:
        frame = frame.where(update.where)
    keys = [key.value.column.alias(key.name) for key in update.keys]
    keys += [F.col(f"{update.structures[0]}.{name}").alias(name) for name in also]
    return frame.groupBy(*keys).agg(*(made.column.alias(each.column) for each, made in update.assignments))


def _rows(update: CompiledUpdate, raw: Raw) -> DataFrame:
    """The rows an update reads: its structures joined by record, an array exploded where the section is its element."""
    first, *others = update.structures
    frame = raw(first).alias(first)
    for other in others:
        frame = frame.join(
            raw(other).alias(other), F.col(f"{first}.{RECORD_ID}") == F.col(f"{other}.{RECORD_ID}"), "left"
        )
    if update.exploded:
        frame = frame.withColumn(f"{update.exploded}_element", F.explode(f"{first}.{update.exploded}"))
    return frame


def unknown_table(name: str, known: Iterable[str]) -> DefinitionError:
    return DefinitionError(f"no summary table {name}; tables are {', '.join(known)}", Place(1, 1))


__all__: Sequence[str] = [
    "Raw",
    "SummaryTable",
    "read_definitions",
    "summarise",
    "tables",
    "touched_periods",
    "unknown_table",
]
