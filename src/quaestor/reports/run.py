"""Running reports: a name and parameters become an Arrow table.

Rules
  R1  The table has the catalog's columns in the catalog's order; the query may make more, it may not make fewer.
  R2  `rows` cuts after the query's own order, so it keeps what matters most.
  R3  A table that a report reads twice, or that several reports read, is opened once. Several reports run side by side.
  R4  No rows mean that nothing was found in what was asked for. Where that itself does not exist in the lake (a day, a
      queue manager, a queue ...), the report is refused with the parameter and what there is: who mistyped a name must
      not read that all is well. Reports that are made together are refused when none of them found anything.
  R5  Whoever is interrupted, or refused one report, does not wait for those that are still being made.

Called by the door, notebooks and tests.  Calls pipeline.report_queries: this is the border to Spark.
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pyarrow as pa

from quaestor.pipeline.report_queries import QUERIES
from quaestor.pipeline.report_queries.selected import nothing_selected
from quaestor.pipeline.report_queries.steps import Tables
from quaestor.pipeline.report_queries.summary_rows import LakeTables
from quaestor.reports.catalog import Report, ReportError, find

_AT_ONCE = 4


def run(report: Report | str, tables: Tables, given: Mapping[str, str] | None = None) -> pa.Table:
    """One report as a table; `given` holds parameters as text. Raises `ReportError` before anything runs."""
    chosen = find(report) if isinstance(report, str) else report
    return result(chosen, tables, chosen.arguments(given or {}))


def result(report: Report, tables: Tables, asked: Mapping[str, Any]) -> pa.Table:
    """One report with parameters that are parsed already. Raises `ReportError` where they select nothing (R4)."""
    opened = _once(tables)
    rows = _rows(report, opened, asked)
    _refuse_nothing([rows], opened, asked)
    return rows


def results(
    names: Iterable[str], tables: Tables, given: Mapping[str, str], made: Callable[[], None] = lambda: None
) -> dict[str, pa.Table]:
    """Several reports with the same parameters; `made` is called after each. Raises `ReportError` as `run` does."""
    opened, chosen, found = _once(tables), [find(name) for name in names], []  # R3
    asked = {report.name: report.arguments(given) for report in chosen}
    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        for rows in pool.map(lambda report: _rows(report, opened, asked[report.name]), chosen):
            found.append(rows)
            made()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # R5
    _refuse_nothing(found, opened, asked[chosen[0].name])
    return {report.name: rows for report, rows in zip(chosen, found, strict=True)}


def _rows(report: Report, tables: Tables, asked: Mapping[str, Any]) -> pa.Table:
    """What the query of a report finds (R1, R2)."""
    names, found = [each.name for each in report.columns], QUERIES[report.name](tables, asked)
    if isinstance(found, pa.Table):
        return found.select(names).slice(0, asked.get("rows"))
    frame = found.select(*(f"`{each}`" for each in names))
    if asked.get("rows") is not None:
        frame = frame.limit(asked["rows"])
    return frame.toArrow()


def _refuse_nothing(found: Iterable[pa.Table], tables: Tables, asked: Mapping[str, Any]) -> None:
    """Say which parameter selects nothing; whoever brings DataFrames knows what is in them (R4)."""
    if isinstance(tables, LakeTables) and not any(rows.num_rows for rows in found):
        said = nothing_selected(tables, asked)
        if said is not None:
            raise ReportError(said)


def _once(tables: Tables) -> Tables:
    """The same tables, each opened once (R3)."""
    return tables.anew() if isinstance(tables, LakeTables) else cache(tables)
