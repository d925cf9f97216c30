"""Queue managers of one name on two systems are told apart for people, and only where there are two (I1, I2, L4)."""

import pytest

from quaestor.reports.catalog import REPORTS, find
from quaestor.reports.markup import table
from quaestor.reports.namesakes import columns_shown, told_apart
from quaestor.reports.page import page
from quaestor.reports.plain import as_csv
from quaestor.reports.text import as_text
from reports.given import HOURS, four_weeks, table_of

NAMES = {"qmgr": "system", "QMGR": "MVS", "MQSERIES_SUB_ID": "MVS"}


def log(*queue_managers):
    rows = [{"hour": HOURS[0], "QMGR": name, "MVS": system, "LOG_IOS": 5} for name, system in queue_managers]
    return table_of("log-activity", rows)


TWO, ONE_EACH = log(("QM01", "SYSA"), ("QM01", "SYSB"), ("QM02", "SYSB")), log(("QM01", "SYSA"), ("QM02", "SYSB"))


@pytest.mark.parametrize("report", REPORTS.values(), ids=list(REPORTS))
def test_who_names_a_queue_manager_names_its_system(report):
    """G8: a row with both among its columns cannot be about two systems. Commits by day are the paper's exception."""
    columns = {each.name for each in report.columns}
    assert "commits" == report.name or {NAMES[each] for each in columns & set(NAMES)} <= columns


def test_a_column_that_tells_namesakes_apart_is_shown_where_there_are_any():
    report = find("log-activity")
    assert "MVS" in [each.name for each in columns_shown(report, TWO)]
    assert "MVS" not in [each.name for each in columns_shown(report, ONE_EACH)]
    for made in (as_text(report, TWO, {}), table(report, TWO)):
        assert "SYSA" in made
    for made in (as_text(report, ONE_EACH, {}), table(report, ONE_EACH)):
        assert "SYSA" not in made
    assert "SYSA" in as_csv(report, ONE_EACH)


def test_other_systems_are_columns_as_ever():
    """The paper shows the system of slow transactions whether or not there are two."""
    assert "MVS" in [each.name for each in columns_shown(find("Q-3"), table_of("slow-transactions", []))]


def test_charts_and_the_head_of_a_page_name_the_system_too():
    names = [row["QMGR"] for row in told_apart(find("log-activity"), TWO)]
    assert ["QM01 (SYSA)", "QM01 (SYSB)", "QM02"] == names
    html = page({**four_weeks(), "log-activity": TWO}, "MQ", "")
    assert "queue managers QM01 (SYSA), QM01 (SYSB), QM02" in html
