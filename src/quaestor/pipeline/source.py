"""`spark.read.format("smf")`: the structures of dumps as DataFrames, without loading them anywhere.

    register(spark)
    spark.read.format("smf").option("structure", "WQST").load("dumps/*.smf")
    table(spark, "dumps", "WQST", columns=["queue_manager", "base_name", "puts"])

Rules
  V6  One structure at a time, by the option `structure`; the columns are those of `smf.arrow_schema`.
  V7  Spark does not tell a Python source which columns a query uses. The schema does: declare a narrow one, or let
      `table` do it, and only those columns are decoded. Names and types are checked when the query is planned.
  V8  Filters are looked at when the option `pushdown` is set, which `table` does where the session allows it: a reader
      that defines `pushFilters` fails every query of a session that does not.
  V9  Damage is left out; with the option `damage` = fail it stops the query. `lake load` keeps it in a table.

Called by notebooks and SQL.  Calls dump_ranges, selection, stream.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812  the name Spark's own documentation gives it
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from quaestor.pipeline.dump_ranges import Range, batches, dumps_at, ranges
from quaestor.pipeline.errors import LakeError
from quaestor.pipeline.jobs import ship
from quaestor.pipeline.raw_tables import spark_type
from quaestor.pipeline.selection import Selection
from quaestor.pipeline.stream import SmfStreamReader
from quaestor.smf.arrow_schema import schema
from quaestor.smf.catalog import SECTIONS

NAME = "smf"
_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


class SourceError(LakeError):
    """An option or a schema that does not fit; the text says which."""


class SmfDataSource(DataSource):
    """The data source of the name `smf`."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> T.StructType:
        return structure_schema(self._structure())

    def reader(self, schema: T.StructType) -> DataSourceReader:
        kind = SmfFilteringReader if self._flag("pushdown") else SmfReader
        return kind(self._structure(), checked(self._structure(), schema), self._paths(), dict(self.options))

    def streamReader(self, schema: T.StructType) -> SmfStreamReader:  # noqa: N802  Spark's name
        return SmfStreamReader(self._structure(), checked(self._structure(), schema), self._paths())

    def _structure(self) -> str:
        given = str(self.options.get("structure", "")).upper()
        if given not in SECTIONS:
            raise SourceError(f"option structure = {given or 'nothing'}: structures are {', '.join(SECTIONS)}")
        return given

    def _paths(self) -> list[str]:
        listed = self.options.get("paths")
        given = json.loads(listed) if listed else [self.options.get("path")]
        if not given or not all(given):
            raise SourceError("say which dumps: load(path)")
        return [str(each) for each in given]

    def _flag(self, name: str) -> bool:
        return str(self.options.get(name, "")).lower() == "true"


class SmfReader(DataSourceReader):
    """Reads a structure from dumps, one task for each range."""

    def __init__(self, structure: str, columns: list[str], paths: list[str], options: dict[str, Any]) -> None:
        self._structure = structure
        self._columns = columns
        self._paths = paths
        self._cut = str(options.get("split", "true")).lower() != "false"
        self._strict = str(options.get("damage", "skip")).lower() == "fail"
        self._selection = Selection()

    def partitions(self) -> Sequence[InputPartition]:
        found = dumps_at(self._paths)
        return [part for path in found for part in ranges(path, cut=self._cut)] or [_NOTHING]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, Range) and partition.path:
            yield from batches(partition, self._structure, self._columns, self._selection, strict=self._strict)


class SmfFilteringReader(SmfReader):
    """Reads only records that pass the filters of the query (V8)."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802  Spark's name
        self._selection.take(filters)
        return filters


_NOTHING = Range("")


def structure_schema(structure: str) -> T.StructType:
    """Every column of a structure, as Spark sees it."""
    fields = schema(SECTIONS[structure])
    return T.StructType([T.StructField(each.name, spark_type(each.type)) for each in fields])


def checked(structure: str, wanted: T.StructType) -> list[str]:
    """The names of the columns wanted; all must be known and of the right type (V7)."""
    known = {each.name: each.dataType for each in structure_schema(structure)}
    for each in wanted:
        if each.name not in known:
            raise SourceError(f"{structure} has no column {each.name}")
        if each.dataType != known[each.name]:
            right = known[each.name].simpleString()
            raise SourceError(f"{structure}.{each.name} is {right}, not {each.dataType.simpleString()}")
    return list(wanted.fieldNames())


def register(spark: SparkSession) -> None:
    """Make the format `smf` known to a session."""
    ship(spark)
    spark.dataSource.register(SmfDataSource)


def table(
    spark: SparkSession,
    paths: str | Collection[str],
    structure: str,
    columns: Collection[str] | None = None,
    **options: str,
) -> DataFrame:
    """A structure of dumps, narrowed to some columns (V7, V8)."""
    register(spark)
    every = structure_schema(structure)
    if columns is not None:
        missing = [name for name in columns if name not in every.fieldNames()]
        if missing:
            raise SourceError(f"{structure} has no column {', '.join(missing)}")
        every = T.StructType([every[name] for name in columns])
    given = [paths] if isinstance(paths, str) else list(paths)
    pushdown = str(spark.conf.get(_PUSHDOWN, "false")).lower()
    made = spark.read.format(NAME).schema(every).option("structure", structure).option("paths", json.dumps(given))
    return made.option("pushdown", pushdown).options(**options).load()
