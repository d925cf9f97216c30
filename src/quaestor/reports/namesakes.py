"""Queue managers of one name on two systems, told apart for people (L4; report_queries, G8).

Rules
  I1  The column that tells namesakes apart is shown where a name comes with more than one system, and only there.
  I2  Where there is no room for a column, in a chart or a line of the list, the system stands behind such a name.

Called by text, markup and page.  Calls the catalog's model.
"""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from quaestor.reports.catalog.model import Column, Report

Rows = list[dict[str, Any]]


def columns_shown(report: Report, rows: pa.Table) -> list[Column]:
    """The columns of a report that people see for these rows (I1)."""
    return [each for each in report.columns if not each.tells_apart or _ambiguous(_pairs(each, rows))]


def told_apart(report: Report, rows: pa.Table) -> Rows:
    """The rows, with the system behind the names that several have (I2)."""
    made: Rows = rows.to_pylist()
    for column in (each for each in report.columns if each.tells_apart):
        names = _ambiguous(_pairs(column, rows))
        for row in made:
            if row[column.tells_apart] in names:
                row[column.tells_apart] = f"{row[column.tells_apart]} ({row[column.name]})"
    return made


def _pairs(column: Column, rows: pa.Table) -> Iterable[tuple[Any, Any]]:
    return zip(rows[column.tells_apart].to_pylist(), rows[column.name].to_pylist(), strict=True)


def _ambiguous(pairs: Iterable[tuple[Any, Any]]) -> set[Any]:
    """The names that come with more than one system."""
    met: dict[Any, Any] = {}
    return {name for name, system in pairs if system is not None and met.setdefault(name, system) != system}
