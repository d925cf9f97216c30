"""A report on what does not exist is refused with the parameter and what there is (selected E1 to E3; run R4)."""

from datetime import date
from types import SimpleNamespace

import pyarrow as pa
import pytest

from pipeline.lakes import HOUR_US, MONDAY_US, dump, load_raw, statistics, task
from quaestor.pipeline.manifest import SUMMARY, LakeFile
from quaestor.pipeline.report_queries.selected import nothing_selected
from quaestor.pipeline.report_queries.summary_rows import LakeTables
from quaestor.reports.catalog import REPORTS, ReportError
from quaestor.reports.page import NEEDED
from quaestor.reports.run import results, run

JANUARY, MARCH = date(2026, 1, 5), date(2026, 3, 2)
SELECTING = {
    "qmgr": "qmgr=NOPE: no such queue manager; there are QM01, QM02",
    "from": "from=2031-01-01: nothing is recorded of that time; there are 2026-03-02 to 2026-03-03",
    "job": "job=NOPE: no such job; there are ",
    "tran": "tran=NOPE: no such transaction; there are ",
    "queue": "queue=NOPE: no such queue; there are ",
    "channel": "channel=NOPE: no such channel; there are ",
}


def one_of_each():
    """Every report with one of the parameters that select, and every such parameter with some report."""
    for number, report in enumerate(REPORTS.values()):
        selecting = [one.name for one in report.parameters if one.name in SELECTING]
        if selecting:
            yield report.name, selecting[-1 - number % len(selecting)]


def test_every_parameter_that_selects_is_tried():
    assert set(SELECTING) == {parameter for _, parameter in one_of_each()}


@pytest.mark.parametrize(("name", "parameter"), list(one_of_each()))
def test_every_report_says_which_parameter_selects_nothing(name, parameter, installation):
    with pytest.raises(ReportError) as refused:
        run(name, installation("small")[1], {parameter: "2031-01-01" if parameter == "from" else "NOPE"})
    assert str(refused.value).startswith(SELECTING[parameter])
    assert 1 == len(str(refused.value).splitlines())


def test_no_exception_in_what_exists_is_no_mistake(installation):
    _, tables = installation("small")
    assert 0 == run("cf-exceptions", tables, {"qmgr": "QM01", "from": "2026-03-02", "to": "2026-03-02"}).num_rows


def test_a_page_on_nothing_is_refused(installation):
    with pytest.raises(ReportError, match=r"^qmgr=NOPE: no such queue manager; there are QM01, QM02$"):
        results(NEEDED, installation("small")[1], {"qmgr": "NOPE"})


@pytest.fixture
def raw_tables(tmp_path):
    """A lake of details alone, of Monday; nothing here needs Spark."""
    records = [*statistics(1, MONDAY_US + HOUR_US), task(1, MONDAY_US + HOUR_US)]
    lake, _ = load_raw(tmp_path / "lake", [dump(tmp_path / "a.smf", records)])
    return LakeTables(lake, lambda: None)


def test_a_name_that_no_table_could_have_is_not_known_to_be_wrong(raw_tables):
    """E3: jobs stand in summary tables, and this lake has none."""
    assert nothing_selected(raw_tables, {"job": "NOPE"}) is None
    assert "qmgr=NOPE: no such queue manager; there is QM01" == nothing_selected(raw_tables, {"qmgr": "NOPE"})


def test_days_are_told_as_they_were_asked_for(raw_tables):
    tuesday = date(2026, 1, 6)
    assert nothing_selected(raw_tables, {"from": JANUARY, "to": JANUARY}) is None
    said = nothing_selected(raw_tables, {"from": tuesday, "to": tuesday})
    assert "from=2026-01-06 to=2026-01-06: nothing is recorded of that time; there are 2026-01-05" == said


def stand_in(opened=(), **days_and_keys):
    """Tables of a lake by grain: of each the day it is about and its rows of keys."""
    files = {name: LakeFile(name, SUMMARY, day, None, name, 1, 1) for name, (day, _) in days_and_keys.items()}
    rows = {name: pa.Table.from_pylist(keys) for name, (_, keys) in days_and_keys.items()}
    return SimpleNamespace(
        opened=set(opened),
        raw_files=list,
        summaries={name: {"grain": name, "keys": rows[name].column_names} for name in rows},
        files=lambda name: (None, [files[name]]),
        keys=lambda file, columns: rows[file.path].select(columns),
    )


def test_an_empty_lake_has_nothing_to_report_on():
    assert "the lake has no records that this report could be about" == nothing_selected(stand_in(), {})


def test_a_name_must_exist_where_the_names_before_it_do():
    """E1: the queue is one of the lake, but not one of this queue manager."""
    keys = [{"QMGR": "QM01", "BASENAME": "ORDERS"}, {"QMGR": "QM02", "BASENAME": "BILLS"}]
    tables = stand_in(day=(JANUARY, keys))
    assert nothing_selected(tables, {"qmgr": "QM0?", "queue": "BILL*"}) is None
    said = nothing_selected(tables, {"qmgr": "QM01", "queue": "BILLS"})
    assert "queue=BILLS: no such queue with qmgr=QM01; there is ORDERS" == said


def test_of_many_names_the_ones_that_are_alike_are_told():
    names = ["ORDERS", *(f"{number:04}" for number in range(999))]
    tables = stand_in(day=(JANUARY, [{"BASENAME": each} for each in names]))
    said = nothing_selected(tables, {"queue": "ORDER"})
    assert "queue=ORDER: no such queue; there are 1,000; did you mean ORDERS?" == said
    assert "queue=X: no such queue; there are 1,000" == nothing_selected(tables, {"queue": "X"})


def test_weeks_count_for_reports_that_read_weeks():
    """E2: January has lost its days; its weeks are there for those who ask for weeks."""
    lake = {"longer": (JANUARY, [{"QMGR": "QM01"}]), "statistics": (MARCH, [{"MQSERIES_SUB_ID": "QM01"}])}
    asked = {"from": JANUARY, "to": JANUARY, "qmgr": "QM01"}
    assert nothing_selected(stand_in(opened=["longer"], **lake), asked) is None
    said = nothing_selected(stand_in(opened=["statistics"], **lake), asked)
    assert "from=2026-01-05 to=2026-01-05: nothing is recorded of that time; there are 2026-03-02" == said
