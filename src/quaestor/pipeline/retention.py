"""How long tables are kept, and what is taken away when their time is over.

MP1B's advice: details for about a week, daily summaries for four weeks, statistics for several months, weekly and
monthly summaries for as long as trends are wanted.

Rules
  H1  Days are counted back from the newest day with details: a lake that was not loaded for a while loses nothing.
  H2  Details go by whole days. From then on the lake has a horizon: records of earlier days that still arrive are told
      as rejects and not loaded, for their copies could not be recognised and their day's summaries not be recomputed.
  H3  What the details of a day were summed up to stays until its own time is over.
  H4  A dry run tells the same and changes nothing.
  H5  Details that a summary table has not counted (a load went without summaries, or without the definition) are not
      taken away: no later load could make good what is missing (flow, W2). Who wants that says so.

Called by the doors.  Calls lake.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import cast

from quaestor.pipeline.errors import LakeError
from quaestor.pipeline.lake import Lake
from quaestor.pipeline.manifest import RAW, SUMMARY, LakeFile, Snapshot, as_files, load_number
from quaestor.pipeline.raw_tables import REJECTS


@dataclass(frozen=True, slots=True)
class Retention:
    """Days to keep; None keeps for ever."""

    details: int | None = 7
    daily: int | None = 28
    statistics: int | None = 182
    longer: int | None = None

    def days_for(self, grain: object) -> int | None:
        return {"day": self.daily, "statistics": self.statistics}.get(str(grain), self.longer)


@dataclass(frozen=True, slots=True)
class Purged:
    """What one table loses."""

    table: str
    days: int
    files: int
    rows: int
    bytes: int


def purge(
    root: str | Path,
    retention: Retention,
    *,
    dry_run: bool = False,
    uncounted: bool = False,
    wait: bool = True,
    say: Callable[[str], None] = lambda _: None,
) -> list[Purged]:
    """Take away what is older than `retention` allows; what it was, table by table. `uncounted` too, or not (H5)."""
    lake = Lake.at(root)
    if dry_run:  # H4
        return _told(_going(lake.snapshot(), retention, uncounted=uncounted))
    with lake.change(wait=wait, say=say) as change:
        over = _going(change.base, retention, uncounted=uncounted)
        if over:
            change.removed |= {each.path for each in over}
            change.horizon = _horizon(change.base, retention)
            change.commit()
    return _told(over)


def _first_kept(snapshot: Snapshot, days: int | None) -> date | None:
    loaded = snapshot.days(RAW)
    if days is None or not loaded:
        return None
    return loaded[-1] - timedelta(days=days - 1)  # H1


def _horizon(snapshot: Snapshot, retention: Retention) -> date | None:
    """Moved forward when details go, never back (H2)."""
    first = _first_kept(snapshot, retention.details)
    gone = first is not None and snapshot.days(RAW)[0] < first
    known = [each for each in (first if gone else None, snapshot.horizon) if each is not None]
    return max(known, default=None)


def _over(snapshot: Snapshot, retention: Retention) -> list[LakeFile]:
    """The files whose time is over (H3)."""
    made = []
    details = _first_kept(snapshot, retention.details)
    for each in as_files(snapshot.files):
        if each.kind == RAW:
            first = None if each.table == REJECTS else details
        else:
            grain = snapshot.summaries[each.table]["grain"]
            first = _first_kept(snapshot, retention.days_for(grain))
        if first is not None and each.day is not None and each.day < first:
            made.append(each)
    return made


def _going(snapshot: Snapshot, retention: Retention, *, uncounted: bool) -> list[LakeFile]:
    """The files whose time is over; refused when that would lose what is not counted yet (H5)."""
    over = _over(snapshot, retention)
    for table, days in () if uncounted else _missing(snapshot, [each for each in over if each.kind == RAW]):
        raise LakeError(
            f"{table} has not counted the details of {len(days)} days (from {days[0]}) that would go: load with its"
            " definition first, or purge with --uncounted"
        )
    return over


def _missing(snapshot: Snapshot, details: list[LakeFile]) -> Iterator[tuple[str, list[date]]]:
    """The tables that lack some of these details, and of which days."""
    for name, known in sorted(snapshot.summaries.items()):
        structures = cast("list[str]", known.get("structures", []))
        counted = cast("dict[str, int]", known.get("days", {}))
        days = {
            each.day
            for each in details
            if each.table in structures and load_number(each.path) > counted.get(str(each.day), 0)
        }
        if days:
            yield name, sorted(each for each in days if each is not None)


def _told(files: list[LakeFile]) -> list[Purged]:
    tables: dict[tuple[str, str], list[LakeFile]] = {}
    for each in files:
        tables.setdefault((each.kind, each.table), []).append(each)
    return [
        Purged(name, len({each.day for each in held}), len(held), sum(f.rows for f in held), sum(f.bytes for f in held))
        for (_, name), held in sorted(tables.items(), key=lambda item: (item[0][0] == SUMMARY, item[0][1]))
    ]
