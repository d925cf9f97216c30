"""Summary tables: update definitions read, checked together, and applied to raw tables that Spark has.

Rules
  Y1  A table is what its update definitions say of the raw rows; nothing is ever added to a total. What was touched is
      computed anew, so the order, batches and repeats of loads cannot matter.
  Y2  `summarise` asks any DataFrames: the tables of a lake, or dumps that nobody loaded (the data source `smf`). A load
      computes the same from files, with Arrow (day_part); a test holds that both give the same rows.
  Y3  Several updates of one table set columns of the same rows (I5): each is aggregated alone, then rows of equal keys
      are laid together. A column that no update of a row set stays null.
  Y4  What stands before the dot of a table's name may be left out when it is asked for, so no two tables differ in that
      alone, and none bears the name of a raw table.

Called by flow, daily_parts and notebooks.  Calls compilation, spark_expressions.  The raw tables are given to it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from importlib.resources import files
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

from quaestor.pipeline.compilation import CompiledUpdate, check_table, compile_update
from quaestor.pipeline.periods import DEFAULT_PLAN, PeriodPlan
from quaestor.pipeline.raw_tables import DUMPS, FILES, RAW_TABLES, RECORD_ID
from quaestor.pipeline.record_scope import Type
from quaestor.pipeline.spark_expressions import SPARK, column_of, element
from quaestor.pipeline.typed_expressions import Typed
from quaestor.pipeline.update_language import Assignment, DefinitionError, Place, parse

Raw = Callable[[str], DataFrame]
"""A structure's raw table."""

OTHER_TABLES = frozenset((*RAW_TABLES, FILES, DUMPS))
_AGGREGATE: Mapping[str, Callable[[Column], Column]] = {
    "SUM": F.try_sum,
    "COUNT": F.count,
    "MIN": F.min,
    "MAX": F.max,
    "AVG": F.avg,
}
_COMBINE: Mapping[str, Callable[[str], Column]] = {
    "SUM": F.try_sum,
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
        """The first date key that depends on the record's date alone."""
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
            _read(_text(path), str(path), plan, seen, replace=False)
        updates.update(seen)
    return tables(updates.values())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DefinitionError(str(error), Place(1, 1), str(path)) from None


def _read(text: str, source: str, plan: PeriodPlan, into: dict[str, CompiledUpdate], *, replace: bool) -> None:
    for update in parse(text, source):
        if update.name in into and not replace:
            raise DefinitionError(f"update {update.name} is defined twice", update.place, source)
        into[update.name] = compile_update(update, plan)


def tables(updates: Iterable[CompiledUpdate]) -> dict[str, SummaryTable]:
    """Updates by the table they feed, checked together (I5, Y4)."""
    found: dict[str, list[CompiledUpdate]] = {}
    short_names: dict[str, str] = {}
    for each in updates:
        found.setdefault(each.update.table, []).append(each)
        short_name = each.update.table.rpartition(".")[2]
        known = "a raw table" if short_name in OTHER_TABLES else short_names.setdefault(short_name, each.update.table)
        if known != each.update.table:
            reason = f"{each.update.table} cannot be told from {known}; give it another name"
            raise DefinitionError(reason, each.update.place, each.update.source)
    for group in found.values():
        check_table(group)
    return {name: SummaryTable(name, tuple(group)) for name, group in sorted(found.items())}


def summarise(table: SummaryTable, raw: Raw) -> DataFrame:
    """One row per value of the table's keys (Y2)."""
    parts = [_aggregate(each, raw) for each in table.updates]
    if len(parts) == 1:
        return parts[0]
    together = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    aggregates = {a.column: a.aggregate for each in table.updates for a, _ in each.assignments}
    return together.groupBy(*table.keys).agg(*(_COMBINE[how](name).alias(name) for name, how in aggregates.items()))


def _aggregate(update: CompiledUpdate, raw: Raw) -> DataFrame:
    frame = _rows(update, raw)
    if update.where is not None:
        frame = frame.where(column_of(update.where))
    keys = [column_of(key.value.tree).alias(key.name) for key in update.keys]
    return frame.groupBy(*keys).agg(*(_figure(each, value).alias(each.column) for each, value in update.assignments))


def _figure(assignment: Assignment, value: Typed | None) -> Column:
    if value is None:
        return F.count(F.lit(1))
    made = _AGGREGATE[assignment.aggregate](column_of(value.tree))
    is_time = value.type is Type.TIME and assignment.aggregate != "COUNT"
    return SPARK["time_text"](made) if is_time else made


def _rows(update: CompiledUpdate, raw: Raw) -> DataFrame:
    """The rows an update reads: its structures joined by record, an array exploded where the section is its element."""
    first, *others = update.structures
    frame = raw(first).alias(first)
    for other in others:
        frame = frame.join(
            raw(other).alias(other), F.col(f"{first}.{RECORD_ID}") == F.col(f"{other}.{RECORD_ID}"), "left"
        )
    if update.exploded:
        frame = frame.withColumn(element(update.exploded), F.explode(f"{first}.{update.exploded}"))
    return frame
