"""Questions in SQL to the tables of a lake.

Rules
  Q5  Only tables that a question mentions are prepared; the others cost nothing.
  Q6  Tables are called by their names; of a summary table the part before the dot may be left out or written.
  Q7  What Spark finds wrong with a question is told in one line.
  Q8  All tables of a question are of one snapshot (lake, K6).
  Q9  A question changes nothing: what begins with another word than one that asks is refused, and so is INSERT.

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

_ASKS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "SHOW", "DESCRIBE", "DESC", "EXPLAIN")
_NO_WORDS = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|/\*.*?\*/""", re.DOTALL)
_INSERTS = re.compile(r"\bINSERT\s+(INTO|OVERWRITE)\b", re.IGNORECASE)


class QueryError(LakeError):
    """A question that Spark cannot answer; the text says why."""


def ask(spark: SparkSession, root: str | Path, query: str, limit: int) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of the columns and at most `limit` rows."""
    _refuse_change(query)
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


def _refuse_change(query: str) -> None:
    """Spark does at once what a statement says, so it is looked at before (Q9)."""
    words = _NO_WORDS.sub(" ", query)
    first = re.match(r"[\s(]*(\w*)", words)
    if first is None or first[1].upper() not in _ASKS or _INSERTS.search(words):
        raise QueryError(f"a question begins with {', '.join(_ASKS[:-1])} or {_ASKS[-1]}, and changes nothing")


def _first_line(text: str) -> str:
    line = next((each for each in text.splitlines() if each.strip()), "the question cannot be answered")
    return re.sub(r"\s*SQLSTATE: \w+", "", line).strip()
