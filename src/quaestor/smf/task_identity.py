"""Who the task of a record was, for all records of a block at once.

Rules
  I1  A task is identified by the WTID of the same record, or by its QWHC (S2); null where the record has none.
  I2  The transaction is the part of the thread's cross-reference that people know: four characters of a CICS task,
      eight of an IMS one (its PSB); others have none.

Called by record_columns.  Calls gather, cells and arrays.
"""

from functools import cached_property

import numpy as np
import pyarrow as pa

from quaestor.layout import Field, Layout
from quaestor.smf.arrays import CodeNames, Values, both, numbers, texts, validity
from quaestor.smf.arrow_schema import DICTIONARY, Column, Source
from quaestor.smf.cells import Reading, field_column
from quaestor.smf.gather import Rows, gather
from quaestor.smf.header import CORRELATION_SIZE
from quaestor.smf.locate import Located
from quaestor.smf.sections.task import TaskIdentification

TASK = TaskIdentification.LAYOUT
_CICS, _IMS = 1, (3, 4)  # connection types
_CICS_SIZE = 4
_BLANK = 0x40


class TaskIdentities:
    """One identity per record, from either source (I1)."""

    def __init__(self, located: Located, reading: Reading) -> None:
        self._located = located
        self._reading = reading
        self._tokens: dict[str, pa.Array] = {}

    def column(self, task: Layout, column: Column) -> Values:
        """A column of numbers, codes or text."""
        if column.source is Source.TRANSACTION:
            return self._transactions(task, column.field)
        made = field_column(self._rows(task), column.field, self._reading)
        if pa.types.is_dictionary(made.type):
            return Values.of(made)
        codes, valid = numbers(made, np.int32), validity(made)
        if column.source is Source.TASK:
            return Values(codes, valid)
        names = CodeNames.of(column.field.codes or {})
        return Values(*names.indices(codes, valid), names.texts)

    def token(self, task: Layout, column: Column) -> pa.Array:
        """A column of bytes."""
        key = f"{task.structure}.{column.name}"
        if key not in self._tokens:
            self._tokens[key] = field_column(self._rows(task), column.field, self._reading)
        return self._tokens[key]

    def _transactions(self, task: Layout, each: Field) -> Values:
        """I2. The number of the CICS task behind its four characters would make every value another one."""
        rows = self._rows(task)
        if each.end > rows.stride:
            return Values.of(pa.nulls(len(rows), DICTIONARY))
        kinds = numbers(field_column(rows, task["connection_type"], self._reading), np.int32)
        cics = kinds == _CICS
        valid = both(rows.reach(each.end), cics | np.isin(kinds, _IMS))
        behind = rows.view(each.offset, f"V{each.size}").copy()
        behind.view(np.uint8).reshape(-1, each.size)[cics, _CICS_SIZE:] = _BLANK
        return Values.of(texts(behind, each.size, self._reading.page, valid)).blank_is_null()

    def _rows(self, task: Layout) -> Rows:
        """The identity of every record; of length 0 where the record has none."""
        return self._identified if task is TASK else self._correlated

    @cached_property
    def _correlated(self) -> Rows:
        headers = self._located.headers
        return gather(self._located.data, headers.correlation_at, headers.correlation, CORRELATION_SIZE)

    @cached_property
    def _identified(self) -> Rows:
        at, length = np.zeros((2, len(self._located)), np.int64)
        sections = self._located.sections.get(TASK.structure)
        if sections is not None:
            at[sections.record], length[sections.record] = sections.offset, sections.length
        return gather(self._located.data, at, length, TASK.size)
