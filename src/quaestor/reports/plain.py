"""A report for other programs: CSV and JSON, values as they are, names as SQL has them.

Rules
  J1  Nothing is rounded or grouped. Days and moments are ISO 8601. What is not known is empty in CSV, null in JSON.
  J2  CSV has one heading line of column names. JSON says what the columns are, so that it explains itself.

Called by the door.  Calls the catalog.
"""

import csv
import io
import json
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from quaestor.reports.catalog.model import Report


def as_csv(report: Report, rows: pa.Table) -> str:
    """Heading line and rows, ended by line feeds (J1, J2)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(each.name for each in report.columns)
    columns = [rows[each.name].to_pylist() for each in report.columns]
    writer.writerows([_plain(value) for value in row] for row in zip(*columns, strict=True))
    return out.getvalue()


def as_json(report: Report, rows: pa.Table, asked: Mapping[str, Any]) -> str:
    """One object: what the report is, what was asked, the columns, the rows (J2)."""
    names = [each.name for each in report.columns]
    made = {
        "report": report.name,
        "title": report.title,
        "grain": report.grain,
        "parameters": {name: _plain(value) for name, value in asked.items()},
        "columns": [{"name": each.name, "heading": each.title, "unit": each.unit.value} for each in report.columns],
        "rows": [{name: _plain(row[name]) for name in names} for row in rows.select(names).to_pylist()],
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, date | datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Path) else value
