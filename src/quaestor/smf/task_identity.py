"""Who the task of a record was, for all records of a block at once.

Rules
  I1  A task is identified by the WTID of the same record, or by its QWHC (S2); null where the record has none.
  I2  The transaction is the part of the thread's cross-reference that people know: four characters of a CICS task,
      eight of an IMS one (its PSB); others have none.

Called by columns.  Calls gather, cells and arrays.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from quaestor.layout import Field, Layout
from quaestor.smf.arrays import CodeNames, Ints, Stack, Values, both, numbers, primitive, texts, validity
from quaestor.smf.arrow_schema import DICTIONARY, Column, Source
from quaestor.smf.cells import Reading, field_column
from quaestor.smf.gather import Rows, gather
from quaestor.smf.locate import NO_SECTIONS, Located
from quaestor.smf.sections.task import TaskIdentification

TASK = TaskIdentification.LAYOUT
_CICS, _IMS = 1, (3, 4)  # connection types
_CICS_SIZE = 4
_BLANK = 0x40


@dataclass(frozen=True, slots=True)
class _Identities:
    """Those records that have an identity, and at which place of `rows` each record's stands; -1 for none."""

    rows: Rows
    place: Ints


class TaskIdentities:
    """The identity of the task of each record, from either source (I1)."""

    def __init__(self, located: Located, reading: Reading) -> None:
        self._located = located
        self._reading = reading
        self._found: dict[str, _Identities] = {}
        self._stacks: dict[tuple[str, ...], list[Stack]] = {}
        self._tokens: dict[str, pa.Array] = {}

    def repeat(self, task: Layout, columns: tuple[Column, ...], owner: Ints) -> Iterator[tuple[str, pa.Array]]:
        """The columns, one value for each section: that of the task of the record that owns it."""
        if task.structure not in self._found:
            self._found[task.structure] = self._identities(task)
        found = self._found[task.structure]
        if not len(found.rows):
            yield from ((each.name, pa.nulls(len(owner), _nullable(each.type))) for each in columns)
            return
        places = found.place[owner]
        there = places >= 0
        for stack in self._stacked(task, columns, found.rows):
            yield from stack.repeat(places, there)
        for each in columns:
            if each.type == pa.binary():
                yield each.name, self._token(task, each, found.rows).take(primitive(pa.int64(), places, there))

    def _stacked(self, task: Layout, columns: tuple[Column, ...], rows: Rows) -> list[Stack]:
        key = (task.structure, *(each.name for each in columns))
        if key not in self._stacks:
            plain = [each for each in columns if each.type != pa.binary()]
            self._stacks[key] = Stack.of((each.name, each.type, self._values(task, each, rows)) for each in plain)
        return self._stacks[key]

    def _values(self, task: Layout, column: Column, rows: Rows) -> Values:
        """A column of codes or text."""
        if column.source is Source.TRANSACTION:
            return self._transactions(task, column.field, rows)
        made = field_column(rows, column.field, self._reading)
        if pa.types.is_dictionary(made.type):
            return Values.of(made)
        codes, valid = numbers(made, np.int32), validity(made)
        if column.source is Source.TASK:
            return Values(codes, valid)
        names = CodeNames.of(column.field.codes or {})
        return Values(*names.indices(codes, valid), names.texts)

    def _token(self, task: Layout, column: Column, rows: Rows) -> pa.Array:
        """A column of bytes."""
        key = f"{task.structure}.{column.name}"
        if key not in self._tokens:
            self._tokens[key] = field_column(rows, column.field, self._reading)
        return self._tokens[key]

    def _transactions(self, task: Layout, each: Field, rows: Rows) -> Values:
        """I2. The number of the CICS task behind its four characters would make every value another one."""
        if each.end > rows.stride:
            return Values.of(pa.nulls(len(rows), DICTIONARY))
        kinds = numbers(field_column(rows, task["connection_type"], self._reading), np.int32)
        cics = kinds == _CICS
        valid = both(rows.reach(each.end), cics | np.isin(kinds, _IMS))
        behind = rows.view(each.offset, f"V{each.size}").copy()
        behind.view(np.uint8).reshape(-1, each.size)[cics, _CICS_SIZE:] = _BLANK
        return Values.of(texts(behind, each.size, self._reading.page, valid)).blank_is_null()

    def _identities(self, task: Layout) -> _Identities:
        headers = self._located.headers
        if task is TASK:
            sections = self._located.sections.get(TASK.structure, NO_SECTIONS)
            records, at, length = sections.record, sections.offset, sections.length
        else:
            records = np.flatnonzero(headers.correlation)
            at, length = headers.correlation_at[records], headers.correlation[records]
        place = np.full(len(self._located), -1, np.int64)
        place[records] = np.arange(len(records))
        return _Identities(gather(self._located.data, at, length, task.size), place)


def _nullable(kind: pa.DataType) -> pa.DataType:
    return DICTIONARY if kind == pa.string() else kind
