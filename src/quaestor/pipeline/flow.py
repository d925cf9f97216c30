"""The flow: dumps in, tables out, in one change of the lake.

Rules
  W1  A load is: definitions checked, dumps into raw tables, the touched days of every summary table computed anew, one
      commit. An error anywhere leaves the tables as they were.
  W2  The lake remembers at which load each day of a table was computed. A day is touched when a file of one of the
      table's structures is younger; so what an earlier load left out, a later one makes good. A table that is new or
      whose definition has changed is computed for all days that have details. The work goes out as orders of one table
      and day, the largest first, small ones together (day_part).
  W3  Rebuilding is loading every dump of the ledger again into an empty lake, and taking its place at the commit. It
      is refused when one is gone or has changed (ingest, G7). A table whose definition is not at hand stays as it is,
      and a load that has it computes it anew (W2).

Called by the doors, by follow and from notebooks.  Calls ingest, summary, daily_parts, day_part, lake.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import cast

from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812  the name Spark's own documentation gives it

from quaestor.pipeline import daily_parts, jobs
from quaestor.pipeline.day_part import PartOrder, make_parts, part_schema, split
from quaestor.pipeline.errors import LakeError, NoSpaceError
from quaestor.pipeline.ingest import IngestReport, ingest
from quaestor.pipeline.lake import Change, Lake
from quaestor.pipeline.manifest import RAW, LakeFile, Snapshot, as_files, load_number
from quaestor.pipeline.periods import DEFAULT_PLAN, PeriodPlan
from quaestor.pipeline.place import is_there
from quaestor.pipeline.raw_tables import spark_type
from quaestor.pipeline.summary import SummaryTable, read_definitions

SMALLEST_ORDER, LARGEST_ORDER = 8 << 20, 64 << 20
_FILE_COSTS_BYTES = 50_000
_NO_SPACE = 28


@dataclass(slots=True)
class LoadReport:
    """What a load did: to the raw tables, and which summary tables it computed for how many days."""

    ingest: IngestReport
    summaries: dict[str, int] = field(default_factory=dict)
    snapshot: int = 0


@dataclass(frozen=True, slots=True)
class Definitions:
    """The summary tables there are to be, as they are stored, and the period plan they were compiled with."""

    tables: Mapping[str, SummaryTable]
    plan: PeriodPlan = DEFAULT_PLAN

    @classmethod
    def read(cls, folders: Iterable[Path] = (), plan: PeriodPlan = DEFAULT_PLAN) -> "Definitions":
        """The shipped definitions and those in `folders`."""
        return cls(read_definitions(folders, plan), plan)


def load(
    spark: SparkSession | None,
    root: str | Path,
    dumps: Sequence[str | Path],
    definitions: Definitions | None = None,
    *,
    progress: jobs.Progress | None = None,
    wait: bool = True,
    say: Callable[[str], None] = lambda _: None,
) -> LoadReport:
    """Load dumps into the lake at `root`, which is made when there is none (W1).

    Without a session everything is done in this process.
    """
    chosen = definitions or Definitions.read()
    lake = Lake.made_at(root)
    with lake.change(wait=wait, say=say) as change:
        return _load(spark, change, [str(each) for each in dumps], chosen, progress)


def rebuild(
    spark: SparkSession | None,
    root: str | Path,
    definitions: Definitions | None = None,
    *,
    progress: jobs.Progress | None = None,
    wait: bool = True,
    say: Callable[[str], None] = lambda _: None,
) -> LoadReport:
    """Make all tables again from the dumps of the ledger (W3)."""
    chosen = definitions or Definitions.read()
    lake = Lake.at(root)
    with lake.change(wait=wait, say=say) as change:
        dumps = [name for dump in change.base.digests().values() for name in dump.names if is_there(name)]
        change.start_over(chosen.tables)
        return _load(spark, change, dumps, chosen, progress)


def _load(
    spark: SparkSession | None,
    change: Change,
    dumps: Sequence[str],
    definitions: Definitions,
    progress: jobs.Progress | None,
) -> LoadReport:
    try:
        report = LoadReport(ingest(spark, change, dumps, progress))
        report.summaries = _summaries(spark, change, definitions)
        report.snapshot = change.commit().number if _changed(change) else change.base.number
    except OSError as error:
        if error.errno == _NO_SPACE:
            raise NoSpaceError("no space left on the device; the tables are as they were") from None
        raise
    return report


def _changed(change: Change) -> bool:
    return bool(change.added or change.removed or change.dumps or change.summaries or not change.base.number)


# --- summaries (W2) --------------------------------------------------------------------------------------------------


def _summaries(spark: SparkSession | None, change: Change, definitions: Definitions) -> dict[str, int]:
    """Compute what was touched; how many days of which table."""
    snapshot, orders = change.preview(), []
    work = {
        name: days
        for name, table in definitions.tables.items()
        if (days := _touched(change, snapshot, table, definitions.plan))
    }
    most = _order_bytes(snapshot, {day for days in work.values() for day in days}, jobs.parallelism(spark))
    for name, days in work.items():
        stored = daily_parts.in_parts(definitions.tables[name], definitions.plan)
        orders += _orders(change, snapshot, stored, days, most)
        change.removed |= {each.path for each in change.base.live(name, days=days)}
        description = daily_parts.describe(definitions.tables[name], _spark_schema(stored), definitions.plan)
        change.summaries[name] = {**description, "days": _computed(change, definitions, name, days)}
    _describe_unused(change, definitions, work)
    for files in jobs.run(spark, make_parts, jobs.balanced(orders, _weight, jobs.parallelism(spark) * 4)):
        change.added += files
    return {name: len(days) for name, days in work.items()}


def _describe_unused(change: Change, definitions: Definitions, work: Collection[str]) -> None:
    """A table whose records never came (no Db2, no coupling facility) is there all the same, as defined, and empty."""
    for name, table in definitions.tables.items():
        if name not in work and _remembered(change, table, definitions.plan) is None:
            stored = daily_parts.in_parts(table, definitions.plan)
            description = daily_parts.describe(table, _spark_schema(stored), definitions.plan)
            change.summaries[name] = {**description, "days": {}}


def _orders(
    change: Change, snapshot: Snapshot, stored: SummaryTable, days: Sequence[date], most: int
) -> list[PartOrder]:
    """One for each day, or several where a day is large (day_part, U4)."""
    by_day: dict[date, dict[str, list[LakeFile]]] = {day: {} for day in days}
    for structure in sorted(stored.structures):
        for file in snapshot.live(structure, days=days):
            if file.day is not None:
                by_day[file.day].setdefault(structure, []).append(file)
    joins = any(len(each.structures) > 1 for each in stored.updates)
    made: list[PartOrder] = []
    for day, files in by_day.items():
        for number, some in enumerate(split(files, most, joined=joins)):
            made.append(PartOrder(change.lake.place, f"{change.id}.{number:04d}", stored, day, some))
    return made


def _order_bytes(snapshot: Snapshot, days: Collection[date], cores: int) -> int:
    """How much an order reads at most: so little that all cores have some, not so little that parts are many."""
    whole = sum(each.bytes for each in as_files(snapshot.files) if each.kind == RAW and each.day in days)
    return min(LARGEST_ORDER, max(SMALLEST_ORDER, whole // (4 * cores)))


def _weight(order: PartOrder) -> int:
    """About how much work an order is: the bytes of its files, and something for each file."""
    return sum(each.bytes + _FILE_COSTS_BYTES for files in order.files.values() for each in files)


def _spark_schema(stored: SummaryTable) -> T.StructType:
    return T.StructType([T.StructField(each.name, spark_type(each.type)) for each in part_schema(stored)])


def _touched(change: Change, snapshot: Snapshot, table: SummaryTable, plan: PeriodPlan) -> list[date]:
    youngest: dict[date, int] = {}
    for file in (each for name in table.structures for each in snapshot.live(name)):
        if file.day is not None:
            youngest[file.day] = max(youngest.get(file.day, 0), load_number(file.path))
    known = _remembered(change, table, plan)
    if known is None:
        _refuse_lost_days(change, table.name, set(youngest))
        return sorted(youngest)
    return sorted(day for day, number in youngest.items() if number > known.get(day.isoformat(), 0))


def _remembered(change: Change, table: SummaryTable, plan: PeriodPlan) -> dict[str, int] | None:
    """At which load each day of a table was computed; None when its definition is not the one it was computed with."""
    known = change.base.summaries.get(table.name)
    if known is None or known["definition"] != daily_parts.definition_digest(table, plan):
        return None
    return cast("dict[str, int]", known["days"])


def _computed(change: Change, definitions: Definitions, name: str, days: Sequence[date]) -> dict[str, int]:
    before = _remembered(change, definitions.tables[name], definitions.plan) or {}
    return {**before, **{day.isoformat(): change.base.number + 1 for day in days}}


def _refuse_lost_days(change: Change, name: str, every: Collection[date]) -> None:
    lost = sorted({file.day for file in change.base.live(name) if file.day is not None} - set(every))
    if lost:
        raise LakeError(
            f"the definition of {name} has changed, but {len(lost)} of its days (from {lost[0]}) have no details any"
            " more; give the new table another name"
        )
