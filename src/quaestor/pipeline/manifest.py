"""The manifest: which files of a lake are alive, and which dumps they came from.

Rules
  M1  A snapshot lists every live file and every dump loaded. It never changes; a commit makes the next one.
  M2  Files are told by name: what is not listed is not there, whatever lies in the folders.
  M3  A dump is known by the digest of its content; the names it came under are only remembered, sorted.
  M4  The lists are Parquet tables, so a lake of half a million files opens in tenths of a second, and the lists can be
      queried like any other table (FILES, DUMPS).
  M5  A list is unpacked by the thread that asks. A thread of Arrow's would let go of the content later: if the program
      has ended by then, it is aborted, with exit code 134 for a command that did its work.

Called by lake.  Calls Arrow.  Opens no file.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields
from datetime import date, datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

RAW, SUMMARY = "raw", "summary"

FILES_SCHEMA = pa.schema(
    [
        ("table", pa.string()),
        ("kind", pa.string()),
        ("day", pa.date32()),
        ("queue_manager", pa.string()),
        ("path", pa.string()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
        ("first", pa.timestamp("us")),
        ("last", pa.timestamp("us")),
    ]
)
DUMPS_SCHEMA = pa.schema(
    [
        ("digest", pa.string()),
        ("names", pa.list_(pa.string())),
        ("bytes", pa.int64()),
        ("records", pa.int64()),
        ("damages", pa.int64()),
        ("loaded_by", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class LakeFile:
    """A live file: the table and partition it belongs to, and the local times its rows lie between."""

    table: str
    kind: str
    day: date | None
    queue_manager: str | None
    path: str
    rows: int
    bytes: int
    first: datetime | None = None
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class LoadedDump:
    """A dump in the ledger (M3)."""

    digest: str
    names: tuple[str, ...]
    bytes: int
    records: int
    damages: int
    loaded_by: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The lake at one commit (M1)."""

    number: int
    files: pa.Table
    dumps: pa.Table
    summaries: dict[str, dict[str, object]] = field(default_factory=dict)
    horizon: date | None = None  # days before it have lost their details
    retired: tuple[str, ...] = ()  # no longer alive since this commit, kept for readers of the one before

    def live(
        self,
        table: str,
        *,
        days: Collection[date] | None = None,
        queue_managers: Collection[str] | None = None,
    ) -> list[LakeFile]:
        """The live files of a table, narrowed to some partitions."""
        wanted = pc.equal(self.files["table"], table)
        if days is not None:
            wanted = pc.and_(wanted, pc.is_in(self.files["day"], pa.array(sorted(days), pa.date32())))
        if queue_managers is not None:
            wanted = pc.and_(
                wanted, pc.is_in(self.files["queue_manager"], pa.array(sorted(queue_managers), pa.string()))
            )
        return as_files(self.files.filter(wanted))

    def tables(self, kind: str) -> list[str]:
        return sorted(pc.unique(self.files.filter(pc.equal(self.files["kind"], kind))["table"]).to_pylist())

    def days(self, kind: str = RAW) -> list[date]:
        found = pc.unique(self.files.filter(pc.equal(self.files["kind"], kind))["day"]).to_pylist()
        return sorted(each for each in found if each is not None)

    def digests(self) -> dict[str, LoadedDump]:
        return {
            each["digest"]: LoadedDump(**{**each, "names": tuple(each["names"])}) for each in self.dumps.to_pylist()
        }


def load_number(path: str) -> int:
    """The number of the snapshot that the load of a file made: file names begin with it."""
    return int(path.rpartition("/")[2].partition("-")[0])


EMPTY = Snapshot(0, FILES_SCHEMA.empty_table(), DUMPS_SCHEMA.empty_table())


def as_files(table: pa.Table) -> list[LakeFile]:
    return [LakeFile(**each) for each in table.to_pylist()]


def files_table(files: Iterable[LakeFile]) -> pa.Table:
    return _rows(files, LakeFile, FILES_SCHEMA)


def dumps_table(dumps: Iterable[LoadedDump]) -> pa.Table:
    return _rows(dumps, LoadedDump, DUMPS_SCHEMA)


def _rows(values: Iterable[object], kind: type, schema: pa.Schema) -> pa.Table:
    names: Sequence[str] = [each.name for each in fields(kind)]
    return pa.Table.from_pylist([{name: getattr(each, name) for name in names} for each in values], schema=schema)


def without(files: pa.Table, paths: Collection[str]) -> pa.Table:
    """The list of files less those at `paths`."""
    if not paths:
        return files
    return files.filter(pc.invert(pc.is_in(files["path"], pa.array(list(paths), pa.string()))))


def packed(table: pa.Table) -> bytes:
    """A list as it is stored (M4)."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def unpacked(content: bytes, schema: pa.Schema) -> pa.Table:
    return pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False).cast(schema)  # M5
