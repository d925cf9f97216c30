"""A report as text: aligned columns, numbers to the right, two blanks between.

Rules
  F1  Every line of a table has the same columns under the same heading; a wide value widens its column, nothing is cut.
  F2  The heading says what was asked; the last line says how many rows there are, and which columns are microseconds:
      the headings of the papers' reports do not (L1). No rows: a sentence says so.

Called by the door.  Calls namesakes, values.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from quaestor.reports.catalog.model import Report, Unit
from quaestor.reports.namesakes import columns_shown
from quaestor.reports.values import shown

_MICROSECONDS = (Unit.MICROSECONDS, Unit.MICROSECONDS_E)


def as_text(report: Report, rows: pa.Table, asked: Mapping[str, Any]) -> str:
    """The whole report (F2)."""
    lines = [f"{report.name}: {report.title}"]
    given = [f"{name}={_plain(value)}" for name, value in asked.items() if value is not None]
    if given:
        lines.append("  " + "  ".join(given))
    if rows.num_rows == 0:
        return "\n".join([*lines, "", report.empty, ""])
    many = f"{rows.num_rows} row{'s' if rows.num_rows != 1 else ''}"
    return "\n".join([*lines, "", *table_lines(report, rows), "", many + _in_us(report, rows), ""])


def _in_us(report: Report, rows: pa.Table) -> str:
    """The columns in microseconds whose heading does not say it (F2)."""
    times = [each.title for each in columns_shown(report, rows) if each.unit in _MICROSECONDS]
    unsaid = [title for title in times if "us" not in title.replace("/", " ").split()]
    return f"; in us: {', '.join(unsaid)}" if unsaid else ""


def table_lines(report: Report, rows: pa.Table) -> list[str]:
    """Heading, rule and rows (F1)."""
    columns = columns_shown(report, rows)
    cells = [[shown(value, each.unit) for value in rows[each.name].to_pylist()] for each in columns]
    titles = [each.title for each in columns]
    numeric = [each.unit.is_number for each in columns]
    widths = [max(len(title), *map(len, column)) for title, column in zip(titles, cells, strict=True)]
    rule = ["-" * width for width in widths]
    body = zip(*cells, strict=True)
    return [_line(each, widths, numeric) for each in (titles, rule, *body)]


def _line(cells: Iterable[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    aligned = (
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    )
    return "  ".join(aligned).rstrip()


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
