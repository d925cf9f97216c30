"""Questions in SQL to the tables of a lake.

Rules
  Q5  Only tables that a question mentions are prepared; the others cost nothing.
  Q6  Tables are called by their names; of a summary table the part before the dot may be left out or written.
  Q7  What Spark finds wrong with a question is told in one line.
  Q8  All tables of a question are of one snapshot (lake, K6).

Called by the doors.  Calls lake.
"""

import re
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from quaestor.pipeline.errors import LakeError
from quaestor.pipeline.lake import Lake
from quaestor.pipeline.reading import names


class QueryError(LakeError):
    """A question that Spark cannot answer; the text says why."""


def ask(spark: SparkSession, root: str | Path, query: str, limit: int) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of the columns and at most `limit` rows."""
    lake = Lake.at(root)
    snapshot = lake.snapshot()
    for name in names(snapshot):
        prefix, _, short = name.rpartition(".")
        if re.search(rf"\b{re.escape(short)}\b", query, re.IGNORECASE):  # Q5
            lake.table(spark, name, at=snapshot).createOrReplaceTempView(short)
        if prefix:
            query = re.sub(rf"\b{re.escape(prefix)}\s*\.\s*(?={re.escape(short)}\b)", "", query, flags=re.IGNORECASE)
    try:
        frame = spark.sql(query)
        rows = frame.limit(limit).collect()
    except PySparkException as error:
        raise QueryError(_first_line(str(error))) from None
    return list(frame.columns), [tuple(row) for row in rows]


def _first_line(text: str) -> str:
    line = next((each for each in text.splitlines() if each.strip()), "the question cannot be answered")
    return re.sub(r"\s*SQLSTATE: \w+", "", line).strip()
