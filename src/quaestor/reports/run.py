"""Running reports: a name and parameters become an Arrow table.

Rules
  R1  The table has the catalog's columns in the catalog's order; the query may make more, it may not make fewer.
  R2  `rows` cuts after the query's own order, so it keeps what matters most.

Called by the door, notebooks and tests.  Calls pipeline.report_queries: this is the border to Spark.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from quaestor.pipeline.report_queries import QUERIES
from quaestor.pipeline.report_queries.steps import Tables
from quaestor.reports.catalog import Report, find


def run(report: Report | str, tables: Tables, given: Mapping[str, str] | None = None) -> pa.Table:
    """One report as a table; `given` holds parameters as text. Raises `ReportError` before anything runs."""
    chosen = find(report) if isinstance(report, str) else report
    return result(chosen, tables, chosen.arguments(given or {}))


def result(report: Report, tables: Tables, asked: Mapping[str, Any]) -> pa.Table:
    """One report with parameters that are parsed already (R1, R2)."""
    frame = QUERIES[report.name](tables, asked).select(*(f"`{each.name}`" for each in report.columns))
    if asked.get("rows") is not None:
        frame = frame.limit(asked["rows"])
    return frame.toArrow()


def results(names: Iterable[str], tables: Tables, given: Mapping[str, str]) -> dict[str, pa.Table]:
    """Several reports with the same parameters."""
    return {name: run(name, tables, given) for name in names}
