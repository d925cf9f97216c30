"""A report's rows as an HTML table; everything that came from records is escaped.

Headings say that they are a column's. A table that does not fit its window is scrolled with keys too.

Called by page.  Calls namesakes, values.
"""

from collections.abc import Iterable
from html import escape

import pyarrow as pa

from quaestor.reports.catalog.model import Column, Report
from quaestor.reports.namesakes import columns_shown
from quaestor.reports.values import shown

MOST_ROWS = 400


def table(report: Report, rows: pa.Table, most: int | None = MOST_ROWS) -> str:
    """The table, or the sentence for an empty one; beyond `most` rows it says how many are left out."""
    if rows.num_rows == 0:
        return f'<p class="empty">{escape(report.empty)}</p>'
    kept = rows if most is None else rows.slice(0, most)
    columns = columns_shown(report, rows)
    head = "".join(f'<th scope="col"{_kind(each)}>{escape(each.title)}</th>' for each in columns)
    body = "\n".join(_row(columns, row) for row in kept.to_pylist())
    left = rows.num_rows - kept.num_rows
    more = f'<p class="more">{left:,} more rows: <code>quaestor report run {report.name}</code></p>' if left else ""
    place = f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(report.title)}">'
    return f"{place}<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>{more}"


def _row(columns: Iterable[Column], row: dict[str, object]) -> str:
    cells = (f"<td{_kind(each)}>{escape(shown(row[each.name], each.unit, grouped=True))}</td>" for each in columns)
    return f"<tr>{''.join(cells)}</tr>"


def _kind(column: Column) -> str:
    return ' class="n"' if column.unit.is_number else ""
