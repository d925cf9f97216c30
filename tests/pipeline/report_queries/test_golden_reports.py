"""Every report on a synthetic day, compared with the text it had before.

    QUAESTOR_WRITE_GOLDEN=1 pytest tests/pipeline/report_queries/test_golden_reports.py

writes the files anew; read the difference before committing it.
"""

import os
from pathlib import Path

import pytest

from quaestor.pipeline.report_queries import QUERIES
from quaestor.reports.catalog import REPORTS, find
from quaestor.reports.run import result
from quaestor.reports.text import as_text

GOLDEN = Path(__file__).parents[2] / "golden" / "reports"
PLAN = """
[rates]
currency = "EUR"
cpu_second = 0.5
megabyte = 0.01

[[department]]
name = "Sales"
jobs = ["CICS*"]
transactions = ["ORD*"]

[[department]]
name = "Finance"
users = ["BATCH?"]

[shared]
channels = ["WEB*"]
"""


def test_every_report_has_a_query_and_every_query_a_report():
    assert set(REPORTS) == set(QUERIES)


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_as_it_was(name, installation, tmp_path):
    given = {"rows": "12"}
    if name.startswith("chargeback"):
        plan = tmp_path / "plan.toml"
        plan.write_text(PLAN, encoding="utf-8")
        given["plan"] = str(plan)
    report = find(name)
    asked = report.arguments(given)
    made = as_text(report, result(report, installation("small")[1], asked), {**asked, "plan": None})
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("QUAESTOR_WRITE_GOLDEN"):
        path.write_text(made, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == made
