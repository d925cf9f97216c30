"""The raw tables: one for each structure, one for the records themselves, one for what could not be read.

Rules
  A1  A structure's table has the columns of `smf.arrow_schema` and `record_id` in front. `position` is left out: it
      tells where a copy of the record lay, and equal records of two dumps must give equal rows.
  A2  `record_id` is the same in all rows made from one record, whatever dump, framing or compression it came in.
  A3  Tables are partitioned by `day`, the local date of the SMF header (the papers' SM115DTE and SM116DTE), and by
      `queue_manager`; both stand in folder names, where what is no plain character is escaped as Spark expects it: one
      escape for each character. A blank name is null.
  A4  RECORDS has a row for every record loaded. REJECTS has a row for every damage: which dump, where, why.

Called by ingest, lake and the data source.  Calls smf for the columns.
"""

from datetime import date
from functools import lru_cache
from urllib.parse import quote

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812  the name Spark's own documentation gives it

from quaestor.smf.arrow_schema import LOCAL_TIME, columns_of, schema
from quaestor.smf.catalog import SECTIONS

RECORD_ID, POSITION, DAY, QUEUE_MANAGER = "record_id", "position", "day", "queue_manager"
RECORDS, REJECTS = "RECORDS", "REJECTS"
FILES, DUMPS = "FILES", "DUMPS"
ID_BYTES = 16
ID_TYPE = pa.binary(ID_BYTES)
NO_NAME = "__HIVE_DEFAULT_PARTITION__"

RECORDS_SCHEMA = pa.schema(
    [
        (RECORD_ID, ID_TYPE),
        ("local_time", LOCAL_TIME),
        ("record_type", pa.int32()),
        ("subtype", pa.int32()),
        ("bytes", pa.int32()),
    ]
)
REJECTS_SCHEMA = pa.schema([("dump", pa.string()), ("offset", pa.int64()), ("reason", pa.string())])

RAW_TABLES = (*SECTIONS, RECORDS, REJECTS)
_NOT_STORED = (POSITION, QUEUE_MANAGER)


@lru_cache(maxsize=128)
def stored_schema(table: str, *, dictionary: bool = False) -> pa.Schema:
    """The columns inside the files of a raw table (A1, A3)."""
    if table == RECORDS:
        return RECORDS_SCHEMA
    if table == REJECTS:
        return REJECTS_SCHEMA
    fields = [each for each in schema(SECTIONS[table], dictionary=dictionary) if each.name not in _NOT_STORED]
    return pa.schema([pa.field(RECORD_ID, ID_TYPE), *fields])


@lru_cache(maxsize=128)
def text_columns(table: str) -> list[str]:
    """Columns worth a dictionary in Parquet."""
    if table in (RECORDS, REJECTS):
        return ["reason", "dump"] if table == REJECTS else []
    return [
        each.name
        for each in columns_of(SECTIONS[table].LAYOUT)
        if each.type == pa.string() and each.name != QUEUE_MANAGER
    ]


def partition_folder(table: str, day: date | None, queue_manager: str | None) -> str:
    """Where the files of a partition lie (A3)."""
    if day is None:
        return f"raw/{table}"
    name = quote(queue_manager, safe=" #@$-_.", encoding="latin-1") if queue_manager else NO_NAME
    return f"raw/{table}/{DAY}={day.isoformat()}/{QUEUE_MANAGER}={name}"


@lru_cache(maxsize=128)
def spark_schema(table: str) -> T.StructType:
    """The table as Spark reads it, partition columns included."""
    made = T.StructType([T.StructField(each.name, spark_type(each.type)) for each in stored_schema(table)])
    if table != REJECTS:
        made = made.add(DAY, T.DateType()).add(QUEUE_MANAGER, T.StringType())
    return made


def spark_type(kind: pa.DataType) -> T.DataType:
    """Spark's type for a column; local times stay without a zone."""
    if pa.types.is_timestamp(kind):
        return T.TimestampNTZType() if kind.tz is None else T.TimestampType()
    if pa.types.is_list(kind):
        return T.ArrayType(spark_type(kind.value_type))
    if pa.types.is_struct(kind):
        return T.StructType([T.StructField(each.name, spark_type(each.type)) for each in kind])
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return T.BinaryType()
    plain: dict[pa.DataType, T.DataType] = {
        pa.string(): T.StringType(),
        pa.int32(): T.IntegerType(),
        pa.int64(): T.LongType(),
        pa.float64(): T.DoubleType(),
        pa.date32(): T.DateType(),
        pa.bool_(): T.BooleanType(),
    }
    return plain[kind]
