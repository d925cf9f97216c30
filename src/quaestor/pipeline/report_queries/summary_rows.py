"""Summary tables as rows in memory, for reports that look at every row once.

Rules
  M1  A lake's own tables are read as Arrow without Spark; whoever brings DataFrames (notebooks, tests) is asked for the
      same columns through Spark.
  M2  Which rows are meant is what `steps.summarised` says (G2).
  M3  The median of a group is its lower one: a figure that was measured, not one between two.
  M4  A report that needs no Spark does not wait for its start.
  M5  Reports that are made together are of one snapshot (lake, K6).
  M6  Which tables a report has opened is remembered, so that it can be told why it found nothing (selected, E2).

Called by exceptions, details and selected.  Calls lake.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from quaestor.pipeline.arrow_expressions import like
from quaestor.pipeline.lake import Lake
from quaestor.pipeline.manifest import RAW, LakeFile, as_files
from quaestor.pipeline.place import Place
from quaestor.pipeline.report_queries.steps import SUMMARY_NAMES, Parameters, Tables, sql_pattern


class LakeTables:
    """The tables of a lake at one moment, as DataFrames and as rows (M5).

    Each DataFrame is made once, Spark started when one is (M4).
    """

    def __init__(self, lake: Lake, start: Callable[[], SparkSession]) -> None:
        self._lake = lake
        self._snapshot = lake.snapshot()
        self._start = cache(start)
        self._starting = Lock()
        self._table = cache(lambda name: lake.table(self.spark, name, at=self._snapshot))
        self.opened: set[str] = set()

    def anew(self) -> "LakeTables":
        """The same tables, of which none is opened yet (M6)."""
        made = copy(self)
        made.opened = set()
        return made

    @property
    def spark(self) -> SparkSession:
        """The session, for whoever needs one."""
        with self._starting:
            return self._start()

    def __call__(self, name: str) -> DataFrame:
        """A raw or summary table for Spark."""
        self.opened.add(name)
        made: DataFrame = self._table(name)
        return made

    def rows(self, name: str, wanted: Collection[str]) -> pa.Table:
        """A summary table in memory: its keys and the columns wanted."""
        self.opened.add(name)
        return self._lake.rows(name, wanted, at=self._snapshot)

    def files(self, table: str) -> tuple[Place, list[LakeFile]]:
        """Where the lake is, and the live files of a table in it."""
        return self._lake.place, self._snapshot.live(table)

    def raw_files(self) -> list[LakeFile]:
        """The live files of all raw tables."""
        every = self._snapshot.files
        return as_files(every.filter(pc.equal(every["kind"], RAW)))

    @property
    def summaries(self) -> Mapping[str, Mapping[str, Any]]:
        """What the lake remembers of each summary table."""
        return self._snapshot.summaries

    def keys(self, file: LakeFile, columns: Sequence[str]) -> pa.Table:
        """Key columns of one file of a summary table."""
        place = self._lake.place
        with place.filesystem.open_input_file(place.path(file.path)) as stream:
            return pq.ParquetFile(stream).read(list(columns), use_threads=False)


def summary_rows(
    tables: Tables, name: str, asked: Parameters, wanted: Collection[str], *, qmgr: str = "QMGR"
) -> pa.Table:
    """The rows of a summary table that are asked for, with those of the wanted columns that it has (M1, M2)."""
    rows = _read(tables, name, {*wanted, "DATE", "TIME", qmgr, *SUMMARY_NAMES.values()})
    for parameter, compare in (("from", pc.greater_equal), ("to", pc.less_equal)):
        if asked.get(parameter) is not None:
            rows = rows.filter(compare(rows["DATE"], pa.scalar(asked[parameter], pa.date32())))
    for parameter, column in {"qmgr": qmgr, **SUMMARY_NAMES}.items():
        if asked.get(parameter) is not None and column in rows.column_names:
            rows = rows.filter(like(rows[column], sql_pattern(asked[parameter])))
    return rows


def _read(tables: Tables, name: str, wanted: Collection[str]) -> pa.Table:
    if isinstance(tables, LakeTables):
        return tables.rows(name, wanted)
    frame = tables(name)
    return frame.select(*(each for each in frame.columns if each in wanted)).toArrow()


def medians(values: pa.ChunkedArray | pa.Array, rows: pa.Table, keys: list[str]) -> pa.Array:
    """For each row the median of the values of its group; null where the group has none (M3)."""
    groups = pc.rank(pc.binary_join_element_wise(*(rows[each] for each in keys), "\n"), tiebreaker="dense").to_numpy()
    numbers = np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    order = np.lexsort((numbers, groups))  # what is not known comes last in its group
    names, first = np.unique(groups[order], return_index=True)
    known = np.bincount(groups, weights=~np.isnan(numbers), minlength=len(names) + 1)[names].astype(np.intp)
    middle = numbers[order[np.where(known > 0, first + (known - 1) // 2, first)]]
    return pa.array(middle[np.searchsorted(names, groups)], from_pandas=True)
