"""Tables as Parquet: pieces that one process writes, and the file that grows out of the pieces of all.

Rules
  Z1  Only text columns get Parquet's dictionaries: for counters and times they cost more than they save.
  Z2  A row group holds up to 64 Ki rows, fewer where a row is wide. A small piece stays in Arrow's own format; such
      pieces are gathered into larger row groups by the process that owns the file.
  Z3  Pieces depend on the part of the dump alone, so the file is the same whatever the number of processes.
  Z4  Statistics are kept for columns one may select by: those of the record and the task, names, instants, codes.
  Z5  The file says nothing of Arrow: any reader sees strings, lists and timestamps.
  Z6  Plain columns are compressed with snappy. Arrays hold zeros most of the time: lz4 makes a tenth of what snappy
      makes of them in the same time (zstd a fiftieth, in a third more).

Called by export.  Calls parquet_splice, and arrow_schema for types.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from quaestor.layout import Layout
from quaestor.smf.arrow_schema import RECORD_COLUMNS, Names, columns_of, schema_of
from quaestor.smf.parquet_splice import Splice

ROW_GROUP_ROWS = 1 << 16
ROW_GROUP_BYTES = 96 << 20  # of Arrow's memory: wide rows make smaller groups (Z2)
SMALL_BYTES = 1 << 20
_GATHERED_BYTES = 16 << 20


def leaves(field: pa.Field, path: str = "") -> list[tuple[str, pa.DataType]]:
    """The leaf columns of a field, under the paths that Parquet gives them."""
    path = f"{path}.{field.name}" if path else field.name
    if pa.types.is_list(field.type):
        return leaves(field.type.value_field, f"{path}.list")
    if pa.types.is_struct(field.type):
        return [leaf for inner in field.type for leaf in leaves(inner, path)]
    return [(path, field.type)]


class _Writer:
    """A Parquet file of one structure; every table added is a row group."""

    def __init__(self, path: Path, layout: Layout, names: Names) -> None:
        schema = schema_of(columns_of(layout, names), dictionary=True)
        found = [leaf for field in schema for leaf in leaves(field)]
        text = [path for path, kind in found if pa.types.is_dictionary(kind) or pa.types.is_string(kind)]
        self._writer = pq.ParquetWriter(
            path,
            schema,
            compression={path: "lz4" if "." in path else "snappy" for path, _ in found},  # Z6
            use_dictionary=text,  # Z1
            write_statistics=[path for path, kind in found if _selects(path, kind)],  # Z4
            store_schema=False,  # Z5
            write_batch_size=1 << 17,
        )

    def add(self, table: pa.Table) -> None:
        self._writer.write_table(table.unify_dictionaries(), row_group_size=ROW_GROUP_ROWS)

    def close(self) -> None:
        self._writer.close()


def _selects(path: str, kind: pa.DataType) -> bool:
    """Whether a column is one to select rows by."""
    plain = "." not in path and not pa.types.is_int64(kind) and not pa.types.is_floating(kind)
    return path in RECORD_COLUMNS or plain


class ParquetPieces:
    """What one process makes of one part of a dump."""

    def __init__(self, directory: Path, names: Names) -> None:
        self._directory = directory
        self._names = names
        self._held: dict[str, _Held] = {}
        self._writers: dict[str, _Writer] = {}
        self._pieces: dict[str, Path] = {}

    def add(self, layout: Layout, table: pa.Table) -> None:
        held = self._held.setdefault(layout.structure, _Held(layout))
        held.add(table)
        if held.rows >= ROW_GROUP_ROWS or held.size >= ROW_GROUP_BYTES:
            self._write_group(held)

    def close(self) -> dict[str, Path]:
        """Finish the pieces: one for each structure that occurred."""
        for structure, held in self._held.items():
            if held.rows and structure not in self._writers and held.size < SMALL_BYTES:
                self._pieces[structure] = self._write_small(structure, held.leave())
            elif held.rows:
                self._write_group(held)
        for writer in self._writers.values():
            writer.close()
        return self._pieces

    def _write_group(self, held: "_Held") -> None:
        structure = held.layout.structure
        if structure not in self._writers:
            self._pieces[structure] = self._directory / f"{structure}.parquet"
            self._writers[structure] = _Writer(self._pieces[structure], held.layout, self._names)
        self._writers[structure].add(held.leave())

    def _write_small(self, structure: str, table: pa.Table) -> Path:
        path = self._directory / f"{structure}.arrow"
        unified = table.unify_dictionaries().combine_chunks()
        with pa.ipc.new_file(path, unified.schema) as writer:
            writer.write_table(unified)
        return path


class _Held:
    """Tables of a structure that wait to be written together."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.rows = 0
        self._tables: list[pa.Table] = []
        self._row_bytes = 0.0

    def add(self, table: pa.Table) -> None:
        """Rows of a structure are alike: those that come first tell how much memory one takes."""
        self._row_bytes = self._row_bytes or table.nbytes / max(1, len(table))
        self._tables.append(table)
        self.rows += len(table)

    @property
    def size(self) -> int:
        """About how much memory the rows take."""
        return int(self.rows * self._row_bytes)

    def leave(self) -> pa.Table:
        """All of them; nothing is held any longer."""
        tables, self._tables, self.rows = self._tables, [], 0
        return pa.concat_tables(tables)


class ParquetFile:
    """The file of one structure, out of pieces in the order of the dump."""

    def __init__(self, path: Path, layout: Layout, names: Names) -> None:
        self._path = path
        self._layout = layout
        self._names = names
        self._splice: Splice | None = None
        self._small = _Held(layout)

    def add(self, piece: Path) -> None:
        if piece.suffix == ".arrow":
            with pa.OSFile(str(piece)) as source:
                self._small.add(pa.ipc.open_file(source).read_all())
            if self._small.rows >= ROW_GROUP_ROWS or self._small.size >= _GATHERED_BYTES:
                self._splice_small()
        else:
            self._splice_small()
            self._splice_piece(piece)

    def close(self) -> None:
        if self._splice is None:
            self._write_small(self._path)  # nothing but small pieces: they are the file
            return
        self._splice_small()
        self._splice.close()

    def _splice_piece(self, piece: Path) -> None:
        if self._splice is None:
            self._splice = Splice(self._path)
        self._splice.add(piece)

    def _splice_small(self) -> None:
        """Small pieces become a row group (Z2)."""
        if self._small.rows:
            gathered = self._path.with_suffix(".gathered")
            self._write_small(gathered)
            self._splice_piece(gathered)
            gathered.unlink()

    def _write_small(self, path: Path) -> None:
        writer = _Writer(path, self._layout, self._names)
        writer.add(self._small.leave())
        writer.close()
