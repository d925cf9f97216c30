"""What a lake holds, told from its manifest alone: no Spark, no data file is opened.

Called by the doors.  Calls lake.
"""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pyarrow.compute as pc

from quaestor.pipeline.lake import Lake
from quaestor.pipeline.manifest import LakeFile, as_files


@dataclass(frozen=True, slots=True)
class TableStatus:
    """One table: for a summary table the rows are those of its daily parts."""

    table: str
    kind: str
    rows: int
    files: int
    bytes: int
    days: int
    first: date | None
    last: date | None


@dataclass(frozen=True, slots=True)
class LakeStatus:
    """A lake: its tables and its dumps."""

    root: str
    snapshot: int
    dumps: int
    dump_bytes: int
    horizon: date | None
    tables: tuple[TableStatus, ...]


def status(root: str | Path) -> LakeStatus:
    lake = Lake.at(root)
    snapshot = lake.snapshot()
    held: dict[tuple[str, str], list[LakeFile]] = {}
    for each in as_files(snapshot.files):
        held.setdefault((each.kind, each.table), []).append(each)
    tables = tuple(_table(kind, name, files) for (kind, name), files in sorted(held.items()))
    size = pc.sum(snapshot.dumps["bytes"]).as_py() or 0
    return LakeStatus(lake.place.root, snapshot.number, snapshot.dumps.num_rows, size, snapshot.horizon, tables)


def _table(kind: str, name: str, files: list[LakeFile]) -> TableStatus:
    days = sorted({each.day for each in files if each.day is not None})
    rows, size = sum(each.rows for each in files), sum(each.bytes for each in files)
    return TableStatus(
        name, kind, rows, len(files), size, len(days), days[0] if days else None, days[-1] if days else None
    )
