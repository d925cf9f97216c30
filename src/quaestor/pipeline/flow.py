"""The flow: dumps in, tables out, in one change of the lake.

Rules
  W1  A load is: definitions checked, dumps into raw tables, the touched days of every summary table computed anew, one
      commit. An error anywhere leaves the tables as they were.
  W2  The lake remembers at which load each day of a table was computed. A day is touched when a file of one of the
      table's structures is younger; so what an earlier load left out, a later one makes good. A table that is new or
      whose definition has changed is computed for all days that have details.
  W3  Rebuilding is loading every dump of the ledger again into an empty lake, and taking its place at the commit.

Called by the doors, by follow and from notebooks.  Calls ingest, summary, daily_parts, lake.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from quaestor.pipeline import daily_parts, jobs, reading
from quaestor.pipeline.errors import LakeError, NoSpaceError
from quaestor.pipeline.ingest import IngestReport, ingest
from quaestor.pipeline.lake import Change, Lake
from quaestor.pipeline.manifest import SUMMARY, LakeFile, Snapshot, load_number
from quaestor.pipeline.periods import DEFAULT_PLAN, PeriodPlan
from quaestor.pipeline.raw_tables import DAY
from quaestor.pipeline.summary import SummaryTable, read_definitions, summarise

_SUMMARIES_AT_ONCE = 4
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
        """The shipped definitions and those in `folders`. Needs a Spark session to be there."""
        return cls(read_definitions(folders, plan), plan)


def load(
    spark: SparkSession,
    root: str | Path,
    dumps: Sequence[str | Path],
    definitions: Definitions | None = None,
    *,
    progress: jobs.Progress | None = None,
    wait: bool = True,
    say: Callable[[str], None] = lambda _: None,
) -> LoadReport:
    """Load dumps into the lake at `root`, which is made when there is none (W1)."""
    chosen = definitions or Definitions.read()
    lake = Lake.made_at(root)
    with lake.change(wait=wait, say=say) as change:
        return _load(spark, change, [str(each) for each in dumps], chosen, progress)


def rebuild(
    spark: SparkSession,
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
        dumps = [name for dump in change.base.digests().values() for name in dump.names]
        change.start_over()
        return _load(spark, change, dumps, chosen, progress)


def _load(
    spark: SparkSession,
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


def _summaries(spark: SparkSession, change: Change, definitions: Definitions) -> dict[str, int]:
    """Compute what was touched; how many days of which table."""
    snapshot = change.preview()
    work = {
        name: days
        for name, table in definitions.tables.items()
        if (days := _touched(change, snapshot, table, definitions.plan))
    }
    with ThreadPoolExecutor(_SUMMARIES_AT_ONCE) as pool:
        made = {
            name: pool.submit(_parts, spark, change, snapshot, definitions.tables[name], definitions.plan, days)
            for name, days in work.items()
        }
        for name, days in work.items():
            parts, description = made[name].result()
            change.removed |= {each.path for each in change.base.live(name, days=days)}
            change.summaries[name] = {**description, "days": _computed(change, definitions, name, days)}
            change.added += [_store(change, name, day, rows) for day, rows in parts]
    return {name: len(days) for name, days in work.items()}


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


def _parts(
    spark: SparkSession,
    change: Change,
    snapshot: Snapshot,
    table: SummaryTable,
    plan: PeriodPlan,
    days: Sequence[date],
) -> tuple[list[tuple[date, pa.Table]], dict[str, Any]]:
    """What each day contributes to a table (daily_parts, P1)."""
    place = change.lake.place

    def raw(structure: str) -> DataFrame:
        return reading.table(spark, place, snapshot, structure, days=days)

    stored = daily_parts.in_parts(table, plan)
    frame = summarise(stored, raw, also=[DAY])
    schema = frame.drop(DAY).schema
    rows = frame.toArrow()
    by_day = [(day, rows.filter(pc.equal(rows[DAY], pa.scalar(day))).drop_columns([DAY])) for day in days]
    description = daily_parts.describe(table, schema, plan)
    return [(day, part) for day, part in by_day if part.num_rows], description


def _store(change: Change, name: str, day: date, rows: pa.Table) -> LakeFile:
    place = change.lake.place
    folder = f"{SUMMARY}/{name}/{DAY}={day.isoformat()}"
    path = f"{folder}/{change.id}.parquet"
    place.make_folder(folder)
    pq.write_table(rows, place.path(path), filesystem=place.filesystem, compression="zstd", store_schema=False)
    return LakeFile(name, SUMMARY, day, None, path, rows.num_rows, place.size(path))
