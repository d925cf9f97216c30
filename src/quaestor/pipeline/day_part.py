"""What a day contributes to a summary table, computed by a task from the files of that day and written as one file.

Rules
  U1  A task reads the columns its updates name, from the files it was given, and nothing else. It evaluates keys and
      values with Arrow and groups them; what comes out is at most as many rows as went in.
  U2  So many bytes of files at a time are in memory. Groups of one round are laid beside those of the next and grouped
      again by how they add up (daily_parts, P2); rows of several updates of one table meet the same way (Y3).
  U3  Structures joined by record are read a queue manager at a time: a record is of one.
  U4  A day that is too large for one task is several orders, each a file of its own; reading adds them up. Where
      structures are joined, a queue manager's files stay together (U3).
  U5  The file has the columns and types of `part_schema`, whatever rows there are.

Called by flow, on executors.  Calls arrow_expressions, raw_files, sums and Arrow.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from quaestor.pipeline.arrow_expressions import array_of, time_text
from quaestor.pipeline.compilation import CompiledUpdate
from quaestor.pipeline.expressions import Column, columns_in
from quaestor.pipeline.manifest import SUMMARY, LakeFile
from quaestor.pipeline.place import Place
from quaestor.pipeline.raw_files import rows_of
from quaestor.pipeline.raw_tables import DAY, QUEUE_MANAGER, RECORD_ID, stored_schema
from quaestor.pipeline.record_scope import Type
from quaestor.pipeline.summary import SummaryTable
from quaestor.pipeline.sums import added, grouped
from quaestor.pipeline.typed_expressions import Typed
from quaestor.pipeline.update_language import Assignment

ROUND_BYTES = 16 << 20
_ADD = {"SUM": "sum", "COUNT": "sum", "MIN": "min", "MAX": "max"}
_TYPES = {
    Type.INTEGER: pa.int64(),
    Type.DOUBLE: pa.float64(),
    Type.STRING: pa.string(),
    Type.DATE: pa.date32(),
    Type.TIME: pa.string(),
    Type.BYTES: pa.binary(),
}


@dataclass(frozen=True, slots=True)
class PartOrder:
    """One file to make: a table as it is stored, a day, the raw files by structure."""

    place: Place
    name: str
    table: SummaryTable
    day: date
    files: Mapping[str, tuple[LakeFile, ...]]


Files = dict[str, tuple[LakeFile, ...]]


def split(files: Mapping[str, Sequence[LakeFile]], most: int, *, joined: bool = False) -> list[Files]:
    """The files of a day as those of one order or several of about so many bytes (U4)."""
    every = [(name, each) for name, some in files.items() for each in some]
    if joined:
        every.sort(key=lambda each: each[1].queue_manager or "")
        units = [list(group) for _, group in groupby(every, key=lambda each: each[1].queue_manager)]
    else:
        units = [[each] for each in every]
    made: list[dict[str, list[LakeFile]]] = [{}]
    taken = 0
    for unit in units:
        size = sum(file.bytes for _, file in unit)
        if taken and taken + size > most:
            made.append({})
            taken = 0
        for structure, file in unit:
            made[-1].setdefault(structure, []).append(file)
        taken += size
    return [{name: tuple(some) for name, some in each.items()} for each in made]


def make_parts(orders: Sequence[PartOrder]) -> list[LakeFile]:
    """The files that the orders ask for; no file where a day has no row."""
    pa.set_cpu_count(1)
    return [file for order in orders if (file := _make(order)) is not None]


def _make(order: PartOrder) -> LakeFile | None:
    rows = part(order.table, order.place, order.files)
    if not rows.num_rows:
        return None
    folder = f"{SUMMARY}/{order.table.name}/{DAY}={order.day.isoformat()}"
    path = f"{folder}/{order.name}.parquet"
    order.place.make_folder(folder)
    texts = [each.name for each in rows.schema if pa.types.is_string(each.type)]
    pq.write_table(
        rows,
        order.place.path(path),
        filesystem=order.place.filesystem,
        compression="zstd",
        use_dictionary=texts,
        store_schema=False,
    )
    return LakeFile(order.table.name, SUMMARY, order.day, None, path, rows.num_rows, order.place.size(path))


def part(table: SummaryTable, place: Place, files: Mapping[str, Sequence[LakeFile]]) -> pa.Table:
    """One row per value of the table's keys, from the rows of these files (U2)."""
    return _together(
        table,
        [
            _aggregated(each, rows)
            for each in table.updates
            for rows in _rounds(each, place, {name: files.get(name, ()) for name in each.structures})
        ],
    )


def part_of(table: SummaryTable, tables: Mapping[str, pa.Table]) -> pa.Table:
    """The same from rows in memory, by structure."""
    return _together(table, [_aggregated(each, _joined(each, tables)) for each in table.updates])


def _together(table: SummaryTable, rounds: Sequence[pa.Table]) -> pa.Table:
    schema = part_schema(table)
    if not rounds:
        return schema.empty_table()
    laid = pa.concat_tables([_filled(each, schema) for each in rounds])
    how = {each.column: _ADD[each.aggregate] for update in table.updates for each, _ in update.assignments}
    return added(laid, table.keys, how) if len(rounds) > 1 else laid


def part_schema(table: SummaryTable) -> pa.Schema:
    """Names and types of a part's columns (U5): the keys, then what the updates set, each once."""
    found: dict[str, pa.Field] = {}
    for update in table.updates:
        empty = _joined(update, {name: _empty(update, name) for name in update.structures})
        for each in _aggregated(update, empty).schema:
            found.setdefault(each.name, each)
    return pa.schema(list(found.values()))


def _filled(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows with every column of the table, null where the update does not set it (Y3)."""
    columns = [rows[each.name] if each.name in rows.schema.names else pa.nulls(len(rows), each.type) for each in schema]
    return pa.table(columns, schema=schema)


# --- reading (U1 to U3) ----------------------------------------------------------------------------------------------


def columns_of(update: CompiledUpdate) -> set[Column]:
    """The columns that an update reads."""
    trees = [key.value.tree for key in update.keys]
    trees += [value.tree for _, value in update.assignments if value is not None]
    trees += [update.where] if update.where is not None else []
    return {each for tree in trees for each in columns_in(tree)}


def _rounds(update: CompiledUpdate, place: Place, files: Mapping[str, Sequence[LakeFile]]) -> Iterator[pa.Table]:
    first, *others = update.structures
    for chosen in _portions(files[first], whole=bool(others)):
        managers = {each.queue_manager for each in chosen}
        found = {first: _read(update, first, place, chosen)}
        for name in others:
            found[name] = _read(update, name, place, [each for each in files[name] if each.queue_manager in managers])
        yield _joined(update, found)


def _portions(files: Sequence[LakeFile], *, whole: bool) -> Iterator[list[LakeFile]]:
    """Files to be read together: a queue manager's (U3), or so many bytes (U2)."""
    if whole:
        ordered = sorted(files, key=lambda each: each.queue_manager or "")
        for _, group in groupby(ordered, key=lambda each: each.queue_manager):
            yield list(group)
        return
    portion: list[LakeFile] = []
    for each in files:
        portion.append(each)
        if sum(file.bytes for file in portion) >= ROUND_BYTES:
            yield portion
            portion = []
    if portion:
        yield portion


def _empty(update: CompiledUpdate, structure: str) -> pa.Table:
    """The columns an update reads of a structure, without rows. Where it only counts, records are what is counted."""
    wanted = {each.inside or each.name for each in columns_of(update) if each.structure == structure}
    if len(update.structures) > 1 or not wanted - {QUEUE_MANAGER}:
        wanted.add(RECORD_ID)
    made = pa.schema([each for each in stored_schema(structure) if each.name in wanted]).empty_table()
    return made.append_column(QUEUE_MANAGER, pa.array([], pa.string()))


def _read(update: CompiledUpdate, structure: str, place: Place, files: Iterable[LakeFile]) -> pa.Table:
    """The columns an update reads of a structure."""
    empty = _empty(update, structure)
    schema = empty.schema.remove(empty.num_columns - 1)
    return pa.concat_tables([empty, *(rows_of(place, file, schema) for file in files)])


def _joined(update: CompiledUpdate, tables: Mapping[str, pa.Table]) -> pa.Table:
    """The rows an update reads: its structures joined by record, an array exploded where the section is its element."""
    first, *others = update.structures
    rows = _renamed(tables[first], first)
    for other in others:
        right = _renamed(tables[other], other)
        rows = rows.join(right, _name(first, RECORD_ID), _name(other, RECORD_ID), "left outer", use_threads=False)
    return _exploded(rows, first, update.exploded) if update.exploded else rows


def _renamed(rows: pa.Table, structure: str) -> pa.Table:
    return rows.rename_columns([_name(structure, each) for each in rows.schema.names])


def _exploded(rows: pa.Table, structure: str, array: str) -> pa.Table:
    lists = rows[_name(structure, array)].combine_chunks()
    elements = pc.list_flatten(lists)
    made = rows.drop_columns([_name(structure, array)]).take(pc.list_parent_indices(lists))
    for each in elements.type:
        made = made.append_column(_name(structure, each.name, array), pc.struct_field(elements, each.name))
    return made


def _name(structure: str, column: str, inside: str = "") -> str:
    return f"{structure}.{inside}.{column}" if inside else f"{structure}.{column}"


def _name_of(column: Column) -> str:
    return _name(column.structure, column.name, column.inside)


# --- grouping --------------------------------------------------------------------------------------------------------


def _aggregated(update: CompiledUpdate, rows: pa.Table) -> pa.Table:
    """One row per value of the keys of one update."""
    if update.where is not None:
        rows = rows.filter(array_of(update.where, rows, _name_of))
    names = [key.name for key in update.keys]
    columns = [_typed(array_of(key.value.tree, rows, _name_of), key.value.type) for key in update.keys]
    figures: list[tuple[list[str] | str, str]] = []
    for number, (assignment, value) in enumerate(update.assignments):
        if value is None:
            figures.append(([], "count_all"))
            continue
        names.append(f"value {number}")
        columns.append(array_of(value.tree, rows, _name_of))
        figures.append((names[-1], _FIGURE[assignment.aggregate]))
    keys = [key.name for key in update.keys]
    made = grouped(pa.table(columns, names=names), keys, figures)
    results = [made[name] for name in keys]
    for number, (assignment, value) in enumerate(update.assignments):
        found = made["count_all" if value is None else f"value {number}_{_FIGURE[assignment.aggregate]}"]
        results.append(_figure(found, assignment, value))
    return pa.table(results, names=[*keys, *(each.column for each, _ in update.assignments)])


_FIGURE = {"SUM": "sum", "COUNT": "count", "MIN": "min", "MAX": "max"}


def _figure(found: pa.ChunkedArray, assignment: Assignment, value: Typed | None) -> pa.ChunkedArray:
    if value is None or assignment.aggregate == "COUNT":
        return found.cast(pa.int64())
    return time_text(found) if value.type is Type.TIME else _typed(found, value.type)


def _typed(found: pa.ChunkedArray | pa.Array, kind: Type) -> pa.ChunkedArray | pa.Array:
    """An array of the type a table has for it; timestamps stay what they are."""
    wanted = _TYPES.get(kind, found.type)
    return found if found.type == wanted else found.cast(wanted)
