"""The columns of a structure's table, under human or official names: one schema across all levels.

Rules
  S1  Every row begins with the record's own columns: what wrote it, when, where it stands in the dump. They are
      derived, so they bear the same names under both namings.
  S2  Rows that belong to a task carry its identity (`task_...`): from WTID for WTAS and WQST, from QWHC for QMAC and
      QWAC. A queue's figures are useless without the task that made them; the names agree in all four tables. What is
      left out (network id, unit of work, accounting and context token) stands in WTID at the same `position`.
      `task_transaction` is the part of the correlation that people know: the transaction of a CICS task, the PSB of an
      IMS one, null for all others.
  S3  WTAS gets the 16-byte `correlator` that each of its WQST carries, so that 116-1 joins its continuations.
  S4  Whole numbers are int64, for Spark knows no unsigned; codes are int32, with their text beside them (`..._name`).
      A value its column cannot hold is null: a wrong number is worse than none.
  S5  Intervals are microseconds as double (C4), instants are timestamps in UTC, text is string, tokens are binary.
  S6  Arrays stay arrays: lists, of structs where the element is a block. Kinds that people do not see have no column.
  S7  A field that bears the name of a record column is prefixed with its structure (`wtas_interval_start`).
  S8  Inside arrays and blocks, what cannot be null is declared so: it spares who writes Parquet a level for each value.

Called by columns, gather and export, and by the pipeline for its tables.  Calls catalog and layout.
"""

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Literal

import pyarrow as pa

from quaestor.layout import Add, Field, Kind, Layout, Record
from quaestor.smf.sections.headers import CorrelationHeader
from quaestor.smf.sections.message import MessageAccounting
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification, ThreadAccounting

Names = Literal["human", "official"]

UTC_TIME = pa.timestamp("us", tz="UTC")
LOCAL_TIME = pa.timestamp("us")
DICTIONARY = pa.dictionary(pa.int32(), pa.string())

RECORD_COLUMNS: dict[str, pa.DataType] = {
    "record_type": pa.int32(),
    "subtype": pa.int32(),
    "system": pa.string(),
    "queue_manager": pa.string(),
    "release": pa.string(),
    "queue_sharing_group": pa.string(),
    "local_time": LOCAL_TIME,
    "utc_time": UTC_TIME,
    "zone_minutes": pa.int32(),
    "interval_start": UTC_TIME,
    "interval_us": pa.float64(),
    "position": pa.int64(),
    "occurrence": pa.int32(),
}
_TASK_FIELDS = (
    "connection_type",
    "connection_name",
    "user_id",
    "operator_id",
    "correlation",
    "channel",
    "channel_connection",
)
TASK_SECTIONS: dict[str, Layout] = {
    TaskAccounting.LAYOUT.structure: TaskIdentification.LAYOUT,
    QueueAccounting.LAYOUT.structure: TaskIdentification.LAYOUT,
    MessageAccounting.LAYOUT.structure: CorrelationHeader.LAYOUT,
    ThreadAccounting.LAYOUT.structure: CorrelationHeader.LAYOUT,
}
_TRANSACTIONS: dict[str, Field] = {
    layout.structure: Field(
        layout["correlation"].offset + 4,
        official,
        "CICS transaction or IMS PSB",
        wire="text",
        size=8,
        name="transaction",
        kind=Kind("text", "text", Add.KEY),
    )
    for layout, official in ((TaskIdentification.LAYOUT, "WTIDCTRN"), (CorrelationHeader.LAYOUT, "QWHCTRN"))
}
_CORRELATOR = Field(
    8,
    "WTASCORR",
    "Joins to the correlator of WQST",
    wire="bytes",
    size=16,
    name="correlator",
    kind=Kind("token", "bytes", Add.NONE),
)


class Source(Enum):
    """Where the values of a column come from."""

    RECORD = "record"
    TASK = "task"
    FIELD = "field"
    CODE_NAME = "code name"  # the text of a code, of a field of the section
    TASK_CODE_NAME = "task code name"
    TRANSACTION = "transaction"


_DERIVED = Field(0, "", "derived from several fields")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a structure's table."""

    name: str
    type: pa.DataType
    source: Source
    field: Field = _DERIVED


def element_type(each: Field, names: Names) -> pa.DataType:
    """The type of one element of a field (S4, S5)."""
    if each.of is not None:
        return struct_type(each.of.LAYOUT, names)
    if each.wire == "text":
        return pa.string()
    if each.wire == "bytes":
        return pa.binary()
    if each.kind.unit == "utc":
        return UTC_TIME
    if each.kind.unit == "local":
        return LOCAL_TIME
    if each.is_tod_interval:
        return pa.float64()
    return pa.int32() if each.kind.name == "code" else pa.int64()


def field_type(each: Field, names: Names) -> pa.DataType:
    """The type of a field's column: lists around its elements, one for each dimension (S6)."""
    made = element_type(each, names)
    for _ in each.shape:
        made = list_type(made, each)
    return made


def list_type(of: pa.DataType, each: Field) -> pa.DataType:
    """A list of a field's elements, or of lists of them, named as Parquet does: what is read back equals it."""
    return pa.list_(pa.field("element", of, nullable=not pa.types.is_nested(of) and _may_be_null(each)))


def nullable(kind: pa.DataType) -> pa.DataType:
    """The type with everything inside arrays and blocks declared as if it could be null: Spark knows nothing else."""
    if pa.types.is_list(kind):
        return pa.list_(pa.field(kind.value_field.name, nullable(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, nullable(each.type)) for each in kind])
    return kind


def _may_be_null(each: Field) -> bool:
    """Whether a value inside an array or a block can be null: never set, or more than its column holds (S4)."""
    if each.of is not None or each.wire in ("text", "bytes"):
        return False
    if each.unset is not None or each.kind.unit in ("utc", "local"):
        return True
    return (each.wire == "u8" and not each.is_tod_interval) or (each.wire == "u4" and each.kind.name == "code")


@lru_cache(maxsize=256)
def struct_type(layout: Layout, names: Names) -> pa.DataType:
    return pa.struct(
        [
            pa.field(field_name(each, names), field_type(each, names), nullable=not each.shape and _may_be_null(each))
            for each in shown(layout)
        ]
    )


def shown(layout: Layout) -> list[Field]:
    return [each for each in layout.fields if each.kind.shown]


def field_name(each: Field, names: Names) -> str:
    return each.column if names == "human" else each.official


def _code_name(name: str, names: Names) -> str:
    return f"{name}_name" if names == "human" else f"{name}_NAME"


@lru_cache(maxsize=256)
def columns_of(layout: Layout, names: Names = "human") -> tuple[Column, ...]:
    """Every column of the structure's table, in order (S1, S2, S3)."""
    made = [Column(name, kind, Source.RECORD) for name, kind in RECORD_COLUMNS.items()]
    task = TASK_SECTIONS.get(layout.structure)
    if task is not None:
        known = {each.name: each for each in task.fields}
        for name in _TASK_FIELDS:
            if name in known:
                made += _field_columns(known[name], names, "task_", Source.TASK, Source.TASK_CODE_NAME)
        made += _field_columns(_TRANSACTIONS[task.structure], names, "task_", Source.TRANSACTION, Source.TASK_CODE_NAME)
    overlays = [_CORRELATOR] if layout is TaskAccounting.LAYOUT else []
    for each in overlays + shown(layout):
        clash = field_name(each, names) in RECORD_COLUMNS
        prefix = f"{layout.structure.lower()}_" if clash else ""  # S7
        made += _field_columns(each, names, prefix, Source.FIELD, Source.CODE_NAME)
    return tuple(made)


def _field_columns(each: Field, names: Names, prefix: str, source: Source, code_source: Source) -> list[Column]:
    name = prefix + field_name(each, names) if names == "human" else field_name(each, names)
    made = [Column(name, field_type(each, names), source, each)]
    if each.codes is not None:
        made.append(Column(_code_name(name, names), pa.string(), code_source, each))
    return made


def schema(section: type[Record], names: Names = "human", *, dictionary: bool = False) -> pa.Schema:
    """The schema of the structure's table; `dictionary` keeps text columns dictionary-encoded."""
    return schema_of(columns_of(section.LAYOUT, names), dictionary=dictionary)


def schema_of(columns: tuple[Column, ...], *, dictionary: bool) -> pa.Schema:
    """The schema of a table with these columns."""
    text = DICTIONARY if dictionary else pa.string()
    return pa.schema([(each.name, text if each.type == pa.string() else each.type) for each in columns])
