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
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from quaestor.layout import CP1047, CodePage, Field, Record
from quaestor.smf.arrow_schema import TASK_SECTIONS, Column, Names, Source, columns_of, encoded, schema
from quaestor.smf.catalog import SECTIONS
from quaestor.smf.framing import Block, Damage
from quaestor.smf.gather import Ints, Reading, Rows, code_names, field_column, gather, primitive
from quaestor.smf.locate import Located, Sections, locate
from quaestor.smf.record_columns import RecordColumns
from quaestor.smf.sections.task import TaskIdentification

_TASK_STRUCTURE = TaskIdentification.LAYOUT.structure


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
    needs_tasks = any(TASK_SECTIONS.get(SECTIONS[each]) is TaskIdentification for each in chosen)
    located = locate(block, chosen | {_TASK_STRUCTURE} if needs_tasks else chosen)
    reader = _Reader(located, Reading(page, names, leap_seconds), dictionary=dictionary)
    made = Decoded(
        damages=sorted(block.damages + located.damages, key=lambda damage: damage.offset),
        inventory=reader.records.inventory(),
    )
    for structure in SECTIONS:
        if structure in chosen and structure in located.sections:
            made.tables[structure] = reader.table(SECTIONS[structure], (columns or {}).get(structure))
    return made


def _known(wanted: Collection[str]) -> frozenset[str]:
    unknown = sorted(set(wanted) - set(SECTIONS))
    if unknown:
        raise ValueError(f"no such structure: {', '.join(unknown)}")
    return frozenset(wanted)


def select(section: type[Record], names: Names, asked: Collection[str] | None) -> list[Column]:
    """The columns asked for, in the order of the schema."""
    every = columns_of(section, names)
    if asked is None:
        return list(every)
    unknown = sorted(set(asked) - {each.name for each in every})
    if unknown:
        raise ValueError(f"{section.LAYOUT.structure} has no column {', '.join(unknown)}")
    return [each for each in every if each.name in asked]


class _Reader:
    """Makes the tables of one block; what several tables share is made once."""

    def __init__(self, located: Located, reading: Reading, *, dictionary: bool) -> None:
        self.records = RecordColumns(located, reading)
        self._located = located
        self._reading = reading
        self._dictionary = dictionary
        self._tasks: Rows | None = None
        self._task_columns: dict[str, pa.Array] = {}

    def table(self, section: type[Record], asked: Collection[str] | None) -> pa.Table:
        sections = self._located.sections[section.LAYOUT.structure]
        chosen = select(section, self._reading.names, asked)
        table = _Table(self, section, sections)
        arrays = [self._as_asked(table.array(each)) for each in chosen]
        fields = [pa.field(each.name, encoded(each, dictionary=self._dictionary).type) for each in chosen]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def _as_asked(self, array: pa.Array) -> pa.Array:
        plain = not self._dictionary and pa.types.is_dictionary(array.type)
        return array.dictionary_decode() if plain else array

    def rows(self, section: type[Record], sections: Sections) -> Rows:
        return gather(self._located.data, sections.offset, sections.length, section.LAYOUT.size)

    def column(self, rows: Rows, each: Field) -> pa.Array:
        return field_column(rows, each, self._reading)

    def correlation_rows(self, section: type[Record], records: Ints) -> Rows:
        """QWHC of the given records; rows of length 0 where there is none."""
        headers = self._located.headers
        return gather(
            self._located.data, headers.correlation_at[records], headers.correlation[records], section.LAYOUT.size
        )

    def task_column(self, each: Field, records: Ints) -> pa.Array:
        """A field of the WTID that stands in the same record."""
        sections = self._located.sections.get(_TASK_STRUCTURE)
        if sections is None:
            return pa.nulls(len(records), self.column(gather(self._located.data, records[:0], records[:0], 1), each).type)
        if self._tasks is None:
            self._tasks = self.rows(TaskIdentification, sections)
        if each.name not in self._task_columns:
            self._task_columns[each.name] = self.column(self._tasks, each)
        place = np.full(len(self._located), -1, np.int64)
        place[sections.record] = np.arange(len(sections.record))
        found = place[records]
        return self._task_columns[each.name].take(primitive(pa.int64(), found, found >= 0))


class _Table:
    """Makes the columns of one structure."""

    def __init__(self, reader: _Reader, section: type[Record], sections: Sections) -> None:
        self._reader = reader
        self._section = section
        self._sections = sections
        self._rows = reader.rows(section, sections)
        self._owner = primitive(pa.int64(), sections.record)
        self._task_rows: Rows | None = None

    def array(self, column: Column) -> pa.Array:
        if column.source is Source.RECORD:
            return self._record(column.name)
        assert column.field is not None
        if column.source is Source.FIELD:
            return self._reader.column(self._rows, column.field)
        if column.source is Source.CODE_NAME:
            return self._names(self._reader.column(self._rows, column.field), column.field)
        if column.source is Source.TASK:
            return self._task(column.field)
        return self._names(self._task(column.field), column.field)

    def _record(self, name: str) -> pa.Array:
        if name == "occurrence":
            return primitive(pa.int32(), self._sections.occurrence.astype(np.int32))
        return self._reader.records.column(name).take(self._owner)

    def _names(self, codes: pa.Array, each: Field) -> pa.Array:
        assert each.codes is not None
        return code_names(codes, each.codes)

    def _task(self, each: Field) -> pa.Array:
        task = TASK_SECTIONS[self._section]
        if task is TaskIdentification:
            return self._reader.task_column(each, self._sections.record)
        if self._task_rows is None:
            self._task_rows = self._reader.correlation_rows(task, self._sections.record)
        return self._reader.column(self._task_rows, each)


def join_continuations(queues: pa.Table, tasks: pa.Table, names: Names = "human") -> pa.Table:
    """The rows of WQST with `task_position`: where the 116-1 record of their task stands (W4).

    That is the row's own record, or for a 116-2 the last WTAS before it with the same queue manager and correlator;
    null when the dump does not hold it. With it, WQST joins WTAS on `task_position` = `position`.
    """
    theirs, ours = ("correlator", "correlator") if names == "human" else ("WTASCORR", "CORREL")
    owner = np.concatenate([_ordinals(tasks, queues, theirs, ours), _ordinals(tasks, queues, "queue_manager")]).reshape(2, -1)
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
    made: Ints = pa.chunked_array(both).combine_chunks().dictionary_encode().indices.fill_null(-1).to_numpy().astype(np.int64)
    return made


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


__all__ = ["Decoded", "decode", "join_continuations", "schema", "select"]
