"""The tables the advisor reads, out of a lake: few columns, given queue managers and days, as Arrow.

Rules
  Q1  Only the columns that rules and views ask for are read; Parquet hands over nothing else.
  Q2  The range of time is half-open and local; days outside it are not opened. An interval lies where its middle does
      (middles, L1).
  Q3  Only structures that the lake has are asked for: the caller, who knows the lake, leaves the others out.

Called by the command.  Calls middle_columns; what is needed is told by the caller.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime, timedelta

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

from quaestor.pipeline.middle_columns import middle_of_record

Tables = Callable[[str], DataFrame]
_DAY = "day"


def advice_tables(
    tables: Tables,
    needed: Mapping[str, Collection[str]],
    *,
    queue_managers: Collection[str] = (),
    begin: datetime | None = None,
    end: datetime | None = None,
) -> Iterator[tuple[str, pa.Table]]:
    """(structure, table) for each structure (Q1 to Q3)."""
    for structure, columns in needed.items():
        frame = tables(structure)
        for condition in _conditions(frame, queue_managers, begin, end):
            frame = frame.where(condition)
        yield structure, frame.select(*[each for each in sorted(columns) if each in frame.columns]).toArrow()


def _conditions(
    frame: DataFrame, queue_managers: Collection[str], begin: datetime | None, end: datetime | None
) -> Iterator[Column]:
    if queue_managers:
        yield F.col("queue_manager").isin(sorted(queue_managers))
    if begin is not None:
        yield _middle(frame) >= F.lit(begin)
        if _DAY in frame.columns:
            yield F.col(_DAY) >= F.lit(begin.date())
    if end is not None:
        yield _middle(frame) < F.lit(end)
        if _DAY in frame.columns:
            yield F.col(_DAY) <= F.lit((end + timedelta(days=1)).date())


def _middle(frame: DataFrame) -> Column:
    """When what a row tells of happened (Q2)."""
    return middle_of_record() if "interval_us" in frame.columns else F.col("local_time")
