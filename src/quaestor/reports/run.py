"""Running reports: a name and parameters become an Arrow table.

Rules
  R1  The table has the catalog's columns in the catalog's order; the query may make more, it may not make fewer.
  R2  `rows` cuts after the query's own order, so it keeps what matters most.
  R3  A table that a report reads twice, or that several reports read, is opened once. Several reports run side by side.

Called by the door, notebooks and tests.  Calls pipeline.report_queries: this is the border to Spark.
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pyarrow as pa

from quaestor.pipeline.report_queries import QUERIES
from quaestor.pipeline.report_queries.steps import Tables
from quaestor.pipeline.report_queries.summary_rows import LakeTables
from quaestor.reports.catalog import Report, find

_AT_ONCE = 4


def run(report: Report | str, tables: Tables, given: Mapping[str, str] | None = None) -> pa.Table:
    """One report as a table; `given` holds parameters as text. Raises `ReportError` before anything runs."""
    chosen = find(report) if isinstance(report, str) else report
    return result(chosen, tables, chosen.arguments(given or {}))


def result(report: Report, tables: Tables, asked: Mapping[str, Any]) -> pa.Table:
    """One report with parameters that are parsed already (R1, R2)."""
    names, found = [each.name for each in report.columns], QUERIES[report.name](_once(tables), asked)
    if isinstance(found, pa.Table):
        return found.select(names).slice(0, asked.get("rows"))
    frame = found.select(*(f"`{each}`" for each in names))
    if asked.get("rows") is not None:
        frame = frame.limit(asked["rows"])
    return frame.toArrow()


def _once(tables: Tables) -> Tables:
    """The same tables, each opened once (R3)."""
    return tables if isinstance(tables, LakeTables) else cache(tables)


def results(names: Iterable[str], tables: Tables, given: Mapping[str, str]) -> dict[str, pa.Table]:
    """Several reports with the same parameters."""
    opened, chosen = _once(tables), list(names)  # R3
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(chosen, pool.map(lambda name: run(name, opened, given), chosen), strict=True))
