"""The Parquet files of one part of a load: a file for each table and partition, written in bounded memory.

Rules
  Q1  Rows are held until a table and partition has a full row group, or too much is held in all; then the largest are
      written. A file is opened when its first row group is written, so many small partitions do not hold many files.
  Q2  File names bear the load and the part; no snapshot knows them before the commit (see lake, K1).
  Q3  Text is dictionary-encoded, figures are not; arrays, which are zeros for the most part, are compressed with lz4,
      the rest with snappy (smf.parquet_tables, Z1, Z6). Times, names and codes get statistics: readers filter by them.
  Q4  A file is told with its rows; one of RECORDS with the local times they lie between, by which copies are sought.

Called by the tasks of ingest.  Calls place.
"""

from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from quaestor.pipeline.manifest import RAW, LakeFile
from quaestor.pipeline.place import Place
from quaestor.pipeline.raw_tables import RECORDS, partition_folder, stored_schema, text_columns
from quaestor.smf.parquet_tables import leaves

ROW_GROUP_BYTES = 48 << 20
HELD_BYTES = 192 << 20


@dataclass(frozen=True, slots=True)
class Partition:
    """A day and a queue manager; neither for tables that have no partitions."""

    day: date | None = None
    queue_manager: str | None = None


@dataclass(slots=True)
class _Output:
    """One file in the making."""

    table: str
    partition: Partition
    held: list[pa.Table] = field(default_factory=list)
    held_bytes: int = 0
    rows: int = 0
    first: datetime | None = None
    last: datetime | None = None
    writer: pq.ParquetWriter | None = None


class PartWriter:
    """Takes tables, gives files."""

    def __init__(self, place: Place, name: str) -> None:
        """Write below `place`; `name` is that of the load and part (Q2)."""
        self._place = place
        self._name = name
        self._outputs: dict[tuple[str, Partition], _Output] = {}
        self._held = 0
        self._row_bytes: dict[str, float] = {}
        self._folders: set[str] = set()

    def add(self, table: str, partition: Partition, rows: pa.Table) -> None:
        """Rows of a table; they may be written now or later (Q1)."""
        output = self._outputs.setdefault((table, partition), _Output(table, partition))
        size = self._size(table, rows)
        output.held.append(rows)
        output.held_bytes += size
        output.rows += rows.num_rows
        self._held += size
        if table == RECORDS:
            _widen(output, rows)
        if output.held_bytes >= ROW_GROUP_BYTES:
            self._flush(output)
        while self._held > HELD_BYTES:
            self._flush(max(self._outputs.values(), key=lambda each: each.held_bytes))

    def _size(self, table: str, rows: pa.Table) -> int:
        """About how much memory rows take: those of a table are alike, so the first ones tell."""
        if table not in self._row_bytes:
            self._row_bytes[table] = rows.nbytes / max(1, rows.num_rows)
        return int(self._row_bytes[table] * rows.num_rows)

    def close(self) -> list[LakeFile]:
        """Write what is held; the files."""
        made = []
        for output in self._outputs.values():
            self._flush(output)
            if output.writer is not None:
                output.writer.close()
                made.append(self._file(output))
        self._outputs = {}
        return made

    def _flush(self, output: _Output) -> None:
        if not output.held:
            return
        rows = pa.concat_tables(output.held).unify_dictionaries()
        if output.writer is None:
            output.writer = self._open(output, rows.schema)
        output.writer.write_table(rows, row_group_size=max(1, rows.num_rows))
        self._held -= output.held_bytes
        output.held, output.held_bytes = [], 0

    def _open(self, output: _Output, schema: pa.Schema) -> pq.ParquetWriter:
        folder = self._folder(output)
        if folder not in self._folders:
            self._place.make_folder(folder)
            self._folders.add(folder)
        return open_parquet(self._place, f"{folder}/{self._name}.parquet", output.table, schema)

    def _folder(self, output: _Output) -> str:
        return partition_folder(output.table, output.partition.day, output.partition.queue_manager)

    def _file(self, output: _Output) -> LakeFile:
        path = f"{self._folder(output)}/{self._name}.parquet"
        day, queue_manager = output.partition.day, output.partition.queue_manager
        size = self._place.size(path)
        return LakeFile(output.table, RAW, day, queue_manager, path, output.rows, size, output.first, output.last)


def open_parquet(place: Place, path: str, table: str, schema: pa.Schema) -> pq.ParquetWriter:
    """A Parquet file of a raw table (Q3)."""
    compression, selects = _columns(table)
    return pq.ParquetWriter(
        place.path(path),
        schema,
        filesystem=place.filesystem,
        compression=compression,
        use_dictionary=text_columns(table),
        write_statistics=selects,
        store_schema=False,
        write_batch_size=1 << 17,
    )


@lru_cache(maxsize=64)
def _columns(table: str) -> tuple[dict[str, str], list[str]]:
    """How the columns of a table are compressed, and which have statistics (Q3)."""
    found = [leaf for field in stored_schema(table) for leaf in leaves(field)]
    texts = text_columns(table)
    selects = [name for name, kind in found if name in texts or pa.types.is_timestamp(kind) or pa.types.is_int32(kind)]
    return {name: "lz4" if "." in name else "snappy" for name, _ in found}, selects


def _widen(output: _Output, rows: pa.Table) -> None:
    """Remember the local times that the rows lie between (Q4)."""
    found = pc.min_max(rows["local_time"])
    first, last = found["min"].as_py(), found["max"].as_py()
    if first is not None:
        output.first = first if output.first is None else min(output.first, first)
        output.last = last if output.last is None else max(output.last, last)
