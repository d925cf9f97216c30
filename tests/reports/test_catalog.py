"""The catalog knows every report, and turns text into parameters (L1 to L3)."""

from datetime import date

import pytest

from quaestor.pipeline.thresholds import LIMITS
from quaestor.reports.catalog import REPORTS, ReportError, Unit, find

THIRTEEN = ["sysprint", "summary", "stats", "put", "get", "db2", "cf", "scf", "mm", "bm", "sdb2", "thread", "log"]


def test_the_thirteen_outputs_are_there():
    assert THIRTEEN == [each.name for each in REPORTS.values() if each.group == "outputs"]


@pytest.mark.parametrize("number", range(1, 17))
def test_every_query_of_the_paper_is_a_report(number):
    assert f"mp1b Q-{number}" == find(f"q-{number}").source


@pytest.mark.parametrize("report", REPORTS.values(), ids=lambda each: each.name)
def test_a_report_says_what_it_is(report):
    assert all((report.title, report.grain, report.columns))
    assert report.empty.endswith(".")
    names = [each.name for each in report.columns]
    assert len(names) == len(set(names))
    assert {"from", "to", "qmgr", "rows"} <= {each.name for each in report.parameters}


def test_the_limits_of_exceptions_are_those_of_the_thresholds():
    """A limit is written once; the report shows it with its default and says when it is ours."""
    shown = {each.name: each for each in find("exceptions").parameters}
    for limit in LIMITS:
        assert limit.default == shown[limit.name].default
        assert limit.ours == shown[limit.name].about.endswith("(ours)")


def test_defaults_and_what_was_given():
    asked = find("slow-transactions").arguments({"from": "2026-03-01", "tran": "ORD*", "limit_us": "2.5e4"})
    assert (date(2026, 3, 1), None, "ORD*", 25_000) == (asked["from"], asked["to"], asked["tran"], asked["limit_us"])
    assert 10_000 == find("slow-transactions").arguments({})["limit_us"]


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("stats", {"gran": "job"}, "report stats has no parameter 'gran'; did you mean grain"),
        ("stats", {"grain": "day"}, "grain=day: one of record, job is needed"),
        ("stats", {"from": "yesterday"}, "from=yesterday: a day such as 2026-03-31 is needed"),
        ("stats", {"rows": "0"}, "rows=0: a whole number from 1 to 2147483647 is needed"),
        ("stats", {"rows": "-3"}, "rows=-3: a whole number from 1 to 2147483647 is needed"),
        ("stats", {"job": ""}, "job=: a name is needed"),
        ("stats", {"from": "2026-03-09", "to": "2026-03-02"}, "from=2026-03-09 is after to=2026-03-02"),
        ("slow-transactions", {"limit_us": "soon"}, "limit_us=soon: a number is needed"),
        ("slow-transactions", {"limit_us": "nan"}, "limit_us=nan: a number from 0 up is needed"),
        ("slow-transactions", {"limit_us": "-1"}, "limit_us=-1: a number from 0 up is needed"),
        ("shared-queues", {"shared_only": "maybe"}, "shared_only=maybe: yes or no is needed"),
        ("chargeback-department", {"plan": "nowhere.toml"}, "plan=nowhere.toml: no such file"),
        ("log", {"queue": "A"}, "report log has no parameter 'queue'; there are from, to, qmgr, rows"),
    ],
)
def test_what_does_not_fit_is_said_before_anything_runs(name, given, message):
    with pytest.raises(ReportError) as error:
        find(name).arguments(given)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("time-on-queu", "no report 'time-on-queu'; did you mean time-on-queue"),
        ("Q-17", "no report 'Q-17'"),
        ("xyzzy", "there are exceptions, db2-exceptions"),
    ],
)
def test_a_report_that_is_not_there(name, message):
    with pytest.raises(ReportError) as error:
        find(name)
    assert message in str(error.value)


def test_names_are_found_in_any_case():
    assert find("Time_On_Queue") is find("time-on-queue") is find("Q-14")


def test_units_that_are_numbers_stand_to_the_right():
    assert not any(each.is_number for each in (Unit.TEXT, Unit.DATE, Unit.JULIAN, Unit.TIME, Unit.MOMENT))
    assert Unit.COUNT.is_number
