"""Tables of a lake as DataFrames: the live files of a snapshot, with the schema we know, not one that is guessed.

Rules
  T1  Spark is given the files by name; what else lies in the folders is not read. Spark takes names for patterns, so
      what would stand for other characters in them is escaped.
  T2  The schema is declared, so an empty table has its columns and no file is opened to guess them.
  T3  A summary table is stored in daily parts; reading it adds the parts of equal keys together (see daily_parts).
  T4  Names are those of the structures, of the update definitions (with or without what stands before the dot), and
      RECORDS, REJECTS, FILES, DUMPS.
  T5  A summary table is small: who wants a few of its columns gets them as Arrow sooner than Spark has planned a query.

Called by lake and flow.  Calls manifest, raw_tables, daily_parts.
"""

import json
import re
from collections.abc import Collection, Sequence
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema

from quaestor.pipeline import daily_parts
from quaestor.pipeline.errors import UnknownTableError
from quaestor.pipeline.manifest import DUMPS_SCHEMA, FILES_SCHEMA, RAW, Snapshot
from quaestor.pipeline.place import Place
from quaestor.pipeline.raw_tables import DUMPS, FILES, RAW_TABLES, REJECTS, spark_schema, spark_type

_PATTERN_CHARACTERS = re.compile(r"[\\*?\[\]{}]")


def names(snapshot: Snapshot) -> list[str]:
    """Every table of the lake (T4)."""
    return [*RAW_TABLES, *sorted(snapshot.summaries), FILES, DUMPS]


def full_name(snapshot: Snapshot, name: str) -> str:
    """The table meant by a name, in any case, with or without its prefix (T4)."""
    wanted = name.upper()
    for each in names(snapshot):
        if wanted in (each.upper(), each.upper().rpartition(".")[2]):
            return each
    raise UnknownTableError(f"no table {name}; tables are {', '.join(names(snapshot))}")


def table(
    spark: SparkSession,
    place: Place,
    snapshot: Snapshot,
    name: str,
    *,
    days: Collection[date] | None = None,
    queue_managers: Collection[str] | None = None,
) -> DataFrame:
    """A table of a snapshot, narrowed to some partitions."""
    found = full_name(snapshot, name)
    if found in (FILES, DUMPS):
        return _listed(spark, snapshot, found)
    files = snapshot.live(found, days=days, queue_managers=queue_managers)
    paths = [place.spark_path(each.path) for each in files]
    if found in snapshot.summaries:
        description = snapshot.summaries[found]
        parts = _parquet(spark, paths, T.StructType.fromJson(json.loads(str(description["schema"]))))
        return daily_parts.together(parts, description, [each.day for each in files])
    frame = _parquet(spark, paths, spark_schema(found), place.spark_path(f"{RAW}/{found}"))
    return _with_names(spark, frame, snapshot) if found == REJECTS else frame


def rows(place: Place, snapshot: Snapshot, name: str, wanted: Collection[str]) -> pa.Table:
    """A summary table as Arrow, read here without Spark: its keys, and of its other columns those wanted (T5)."""
    found = full_name(snapshot, name)
    if found not in snapshot.summaries:
        raise UnknownTableError(f"{name} is no summary table")
    description, files = snapshot.summaries[found], snapshot.live(found)
    columns = daily_parts.stored_columns(description, wanted)
    kinds = T.StructType.fromJson(json.loads(str(description["schema"])))
    parts = [to_arrow_schema(kinds).empty_table().select(columns)]
    for each in files:
        with place.filesystem.open_input_file(place.path(each.path)) as file:
            parts.append(pq.ParquetFile(file).read(columns))
    together = pa.concat_tables(parts, promote_options="permissive")
    return daily_parts.rows_together(together, description, [each.day for each in files])


def _parquet(spark: SparkSession, files: Sequence[str], schema: T.StructType, base: str | None = None) -> DataFrame:
    """Files as a table; the names of the folders between `base` and a file are columns of it."""
    if not files:
        return spark.createDataFrame([], schema)
    reader = spark.read.schema(schema)
    escaped = [_PATTERN_CHARACTERS.sub(r"\\\g<0>", each) for each in files]  # T1
    return (reader.option("basePath", base) if base else reader).parquet(*escaped)


def _with_names(spark: SparkSession, rejects: DataFrame, snapshot: Snapshot) -> DataFrame:
    """Rejects with the name of their dump: the first, where it came under several."""
    named = _listed(spark, snapshot, DUMPS).select(F.col("digest").alias("dump"), F.col("names")[0].alias("file"))
    return rejects.join(F.broadcast(named), "dump", "left").select("file", "offset", "reason", "dump")


def _listed(spark: SparkSession, snapshot: Snapshot, name: str) -> DataFrame:
    rows, schema = (snapshot.files, FILES_SCHEMA) if name == FILES else (snapshot.dumps, DUMPS_SCHEMA)
    made = T.StructType([T.StructField(each.name, spark_type(each.type)) for each in schema])
    return spark.createDataFrame([tuple(each.values()) for each in rows.to_pylist()], made)
