"""Column-wise decoder: a whole block of records becomes one Arrow table per structure, without Python per record.

Rules
  W1  Same declarations, same rules, same values as record by record (`records`): only the shape differs. A test
      compares the two value for value for every structure and level.
  W2  Every row says which record it comes from (`position`) and which section of it (`occurrence`); see `arrow_schema`
      for the columns in front, the identity of tasks and the types.
  W3  Rows come in the order of the dump. A structure that does not occur in the block has no table.
  W4  A 116-2 record continues a 116-1: `join_continuations` tells each queue's row which 116-1 it belongs to.
  W5  Only what is asked for is made: structures by `wanted`, columns by `columns`.

Called by export, by the pipeline's data source and by benchmarks.  Calls locate, gather, record_columns.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pyarrow as pa

from quaestor.layout import CP1047, CodePage, Layout
from quaestor.smf.arrays import CodeNames, Ints, numbers, primitive, validity
from quaestor.smf.arrow_schema import TASK_SECTIONS, Column, Names, Source, columns_of, schema, schema_of
from quaestor.smf.blocks import Block, Damage
from quaestor.smf.catalog import SECTIONS
from quaestor.smf.cells import Reading, field_column
from quaestor.smf.gather import Bulk, bulk_columns, gather
from quaestor.smf.locate import Located, locate
from quaestor.smf.record_columns import RecordColumns
from quaestor.smf.task_identity import TASK, TaskIdentities

_OF_TASKS = (Source.TASK, Source.TASK_CODE_NAME, Source.TRANSACTION)


@dataclass(slots=True)
class Decoded:
    """The tables of a block by structure, its damage, and how many records of which kind and release it held."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    damages: list[Damage] = field(default_factory=list)
    inventory: Counter[tuple[str, str]] = field(default_factory=Counter)


def decode(
    block: Block,
    wanted: Collection[str] | None = None,
    page: CodePage = CP1047,
    names: Names = "human",
    leap_seconds: int = 0,
    *,
    columns: Mapping[str, Collection[str]] | None = None,
    dictionary: bool = False,
) -> Decoded:
    """Decode a block.

    `wanted` lists the structures (all by default), `columns` narrows some of them to the columns named. `dictionary`
    leaves text dictionary-encoded, which is quicker for who writes Parquet; otherwise it is plain string. The damages
    are those of the block (framing) and of its sections together, in the order of the dump.
    """
    chosen = frozenset(SECTIONS) if wanted is None else _known(wanted)
    of_tasks = any(TASK_SECTIONS.get(structure) is TASK for structure in chosen)
    located = locate(block, chosen | {TASK.structure} if of_tasks else chosen)
    reader = _Reader(located, Reading(page, names, leap_seconds), dictionary=dictionary)
    made = Decoded(
        damages=sorted(block.damages + located.damages, key=lambda damage: damage.offset),
        inventory=reader.records.inventory(),
    )
    for structure in SECTIONS:
        if structure in chosen and structure in located.sections:
            made.tables[structure] = reader.table(SECTIONS[structure].LAYOUT, (columns or {}).get(structure))
    return made


def _known(wanted: Collection[str]) -> frozenset[str]:
    unknown = sorted(set(wanted) - set(SECTIONS))
    if unknown:
        raise ValueError(f"no such structure: {', '.join(unknown)}")
    return frozenset(wanted)


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a table of one structure is made: which columns are repeated, read in bulk, looked up, or read alone."""

    columns: tuple[Column, ...]
    schema: pa.Schema
    record: tuple[Column, ...]
    task: tuple[Column, ...]
    bulks: tuple[tuple[Bulk, tuple[str, ...]], ...]
    names: tuple[tuple[str, Column, CodeNames], ...]  # column of names, column of its codes
    alone: tuple[Column, ...]


@lru_cache(maxsize=512)
def _plan(layout: Layout, names: Names, asked: frozenset[str] | None, dictionary: bool) -> _Plan:
    every = columns_of(layout, names)
    unknown = sorted((asked or frozenset()) - {each.name for each in every})
    if unknown:
        raise ValueError(f"{layout.structure} has no column {', '.join(unknown)}")
    columns = tuple(each for each in every if asked is None or each.name in asked)
    record = tuple(each for each in columns if each.source is Source.RECORD and each.name != "occurrence")
    task = tuple(each for each in columns if each.source in _OF_TASKS)
    codes = {each.field.official: each for each in every if each.source is Source.FIELD}
    named = tuple(
        (each.name, codes[each.field.official], CodeNames.of(each.field.codes or {}))
        for each in columns
        if each.source is Source.CODE_NAME
    )
    plain = {each.name: each for each in columns if each.source is Source.FIELD and _is_number(each)}
    plain |= {each.name: each for _, each, _ in named}
    alone = tuple(each for each in columns if each.source is Source.FIELD and each.name not in plain)
    schema = schema_of(columns, dictionary=dictionary)
    return _Plan(columns, schema, record, task, tuple(_bulks(plain.values())), named, alone)


def _is_number(column: Column) -> bool:
    return column.field.of is None and not column.field.shape and column.field.wire not in ("text", "bytes")


def _bulks(columns: Iterable[Column]) -> Iterator[tuple[Bulk, tuple[str, ...]]]:
    """The number fields of a structure, those read alike together."""
    alike: dict[tuple[str, pa.DataType], list[Column]] = {}
    for column in sorted(columns, key=lambda each: each.field.offset):
        alike.setdefault((column.field.wire, column.type), []).append(column)
    for (wire, kind), found in alike.items():
        places = [(each.field.offset, each.field.end, each.field.unset) for each in found]
        yield Bulk.of(wire, kind, places), tuple(each.name for each in found)


class _Reader:
    """Makes the tables of one block; what several tables share is made once."""

    def __init__(self, located: Located, reading: Reading, *, dictionary: bool) -> None:
        self.records = RecordColumns(located, reading)
        self.tasks = TaskIdentities(located, reading)
        self._located = located
        self._reading = reading
        self._dictionary = dictionary

    def table(self, layout: Layout, asked: Collection[str] | None) -> pa.Table:
        """The table of one structure, with the columns asked for."""
        sections = self._located.sections[layout.structure]
        plan = _plan(layout, self._reading.names, None if asked is None else frozenset(asked), self._dictionary)
        rows = gather(self._located.data, sections.offset, sections.length, layout.size)
        made = dict(self.records.repeat(plan.record, sections.record))
        if plan.task:
            made.update(self.tasks.repeat(TASK_SECTIONS[layout.structure], plan.task, sections.record))
        made["occurrence"] = primitive(pa.int32(), sections.occurrence.astype(np.int32))
        for bulk, names in plan.bulks:
            made.update(zip(names, bulk_columns(rows, bulk, self._reading.leap_seconds), strict=True))
        for name, codes, texts in plan.names:
            made[name] = texts.column(numbers(made[codes.name], np.int32), validity(made[codes.name]))
        for column in plan.alone:
            made[column.name] = field_column(rows, column.field, self._reading)
        return pa.Table.from_arrays([self._as_asked(made[each.name]) for each in plan.columns], schema=plan.schema)

    def _as_asked(self, array: pa.Array) -> pa.Array:
        plain = not self._dictionary and pa.types.is_dictionary(array.type)
        return array.dictionary_decode() if plain else array


def join_continuations(queues: pa.Table, tasks: pa.Table, names: Names = "human") -> pa.Table:
    """The rows of WQST with `task_position`: where the 116-1 record of their task stands (W4).

    That is the row's own record, or for a 116-2 the last WTAS before it with the same queue manager and correlator;
    null when the dump does not hold it. With it, WQST joins WTAS on `task_position` = `position`.
    """
    theirs, ours = ("correlator", "correlator") if names == "human" else ("WTASCORR", "CORREL")
    owner = np.concatenate([_ordinals(tasks, queues, theirs, ours), _ordinals(tasks, queues, "queue_manager")]).reshape(
        2, -1
    )
    position = np.concatenate([tasks["position"].to_numpy(), queues["position"].to_numpy()])
    is_task = np.arange(len(position)) < len(tasks)
    order = np.lexsort((~is_task, position, owner[1], owner[0]))
    group = np.flatnonzero(np.any(np.diff(owner[:, order], axis=1, prepend=-1) != 0, axis=0))
    last = np.maximum.accumulate(np.where(is_task[order], np.arange(len(order)), -1))
    first = np.repeat(group, np.diff(group, append=len(order)))
    found = np.empty(len(order), np.int64)
    found[order] = np.where(last >= first, position[order][last], -1)
    found = found[len(tasks) :]
    made = np.where(queues["subtype"].to_numpy() == 1, queues["position"].to_numpy(), found)
    return queues.append_column("task_position", primitive(pa.int64(), made, made >= 0))


def _ordinals(tasks: pa.Table, queues: pa.Table, theirs: str, ours: str = "") -> Ints:
    """Equal numbers for equal values of a column in both tables."""
    both = [*_plain(tasks[theirs]).chunks, *_plain(queues[ours or theirs]).chunks]
    made: Ints = (
        pa.chunked_array(both).combine_chunks().dictionary_encode().indices.fill_null(-1).to_numpy().astype(np.int64)
    )
    return made


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


__all__ = ["Decoded", "decode", "join_continuations", "schema"]
