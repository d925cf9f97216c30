"""Reports by hour have the hours that plans have, and of a day its own 24 (G7; middles, L1)."""

from datetime import date, datetime, timedelta

import pytest

from pipeline.report_queries.given_rows import columns, frame, printed
from pipeline.report_queries.given_rows import tables as tables_of
from quaestor.pipeline.measured_hours import message_hours
from quaestor.reports.catalog import ReportError
from quaestor.reports.run import run

DAY = date(2026, 3, 2)
LOG = "DATE date, TIME string, MVS string, MQSERIES_SUB_ID string, SECONDS double, " + columns(
    "long", "INTERVALS CIS_WRITTEN SUSPENSIONS CHECKPOINTS LOG_IOS"
)
BY_HOUR = ("log-activity", "buffer-pools", "cf-activity")


def hours_of(name, tables, **period):
    return sorted({row["hour"] for row in run(name, tables, period).to_pylist() if row["QMGR"] == "QM01"})


@pytest.fixture
def tables(installation):
    return installation("small")[1]


def test_a_report_names_the_hours_that_a_plan_names(tables):
    """By the log's forces the busiest hours of the day are those with the most calls."""
    planned = message_hours(tables, "QM01")
    assert [each["hour"] for each in planned] == hours_of("log-activity", tables)
    shown = [row for row in run("log-activity", tables, {}).to_pylist() if row["QMGR"] == "QM01"]
    forces = {row["hour"]: row["forces_per_s"] for row in shown}
    busiest = max(planned, key=lambda each: each["calls"])["hour"]
    assert forces[busiest] > 0.9 * max(forces.values())


@pytest.mark.parametrize("name", BY_HOUR)
def test_the_hours_of_a_day_are_its_own(tables, name):
    """The last of them was written at midnight: it is no part of the next day."""
    day = {datetime(2026, 3, 2, hour) for hour in range(24)}
    assert {datetime(2026, 3, 2, 0), datetime(2026, 3, 2, 23)} <= set(hours_of("log-activity", tables))
    every = hours_of(name, tables)
    assert set(every) <= day
    assert every == hours_of(name, tables, **{"from": str(DAY), "to": str(DAY)})
    next_day, day_before = (str(DAY + timedelta(days=each)) for each in (1, -1))
    assert [] == hours_of(name, tables, **{"from": next_day, "to": next_day})
    with pytest.raises(ReportError, match="nothing is recorded of that time"):
        hours_of(name, tables, **{"from": day_before, "to": day_before})


def test_a_shift_that_begins_within_five_minutes_doubles_nothing(spark):
    """A period plan with 08:02: the five minutes have two rows in each table, and each is joined to its own."""
    head = "DATE date, PERIOD_NAME string, TIME string, MVS string, QMGR string"
    both = [{"DATE": DAY, "TIME": "08:00:00.00", "QMGR": "QM01", "PERIOD_NAME": name} for name in ("NIGHT", "PRIME")]
    calls = frame(
        spark,
        f"{head}, STRUCTURE string, " + columns("long", "QESTCSEC QESTCMEC QESTSSTC QESTMSTC QESTSFUL QESTMNUS"),
        [{**row, "STRUCTURE": "APPL1", "QESTCSEC": 10} for row in both],
    )
    lengths = frame(spark, f"{head}, SECONDS double, INTERVALS long", [{**row, "INTERVALS": 2} for row in both])
    (found,) = run("cf-activity", tables_of(DRL__MQ_CF_CALLS=calls, DRL__MQS_MSGMGR_T=lengths)).to_pylist()
    assert 20 == found["QESTCSEC"]


def test_two_systems_may_have_queue_managers_of_one_name(spark):
    """G8: an hour of QM01 on SYSA and the same hour of QM01 on SYSB are two rows, and text shows which is which."""
    row = {"DATE": DAY, "TIME": "08:00:00.00", "MQSERIES_SUB_ID": "QM01", "SECONDS": 60.0, "INTERVALS": 1}
    both = frame(spark, LOG, [{**row, "MVS": "SYSA", "LOG_IOS": 10}, {**row, "MVS": "SYSB", "LOG_IOS": 7}])
    rows = printed("log-activity", tables_of(DRL__MQS_LOGMGR_T=both))
    assert [("QM01", "SYSA", "10"), ("QM01", "SYSB", "7")] == [(*each[1:3], each[-2]) for each in rows]
    alone = tables_of(DRL__MQS_LOGMGR_T=both.where("MVS = 'SYSA'"))
    assert len(rows[0]) - 1 == len(printed("log-activity", alone)[0])
    assert ["SYSA"] == run("log-activity", alone)["MVS"].to_pylist()


def test_what_was_counted_in_no_known_time_is_in_no_rate(spark):
    """P4: records before 7.1 do not tell how long they cover; a level was changed within this hour."""
    row = {"DATE": DAY, "TIME": "08:05:00.00", "MQSERIES_SUB_ID": "QM01", "INTERVALS": 1, "SUSPENSIONS": 600}
    both = frame(spark, LOG, [{**row, "SECONDS": 60.0}, {**row, "TIME": "08:10:00.00", "SECONDS": None}])
    (found,) = run("log-activity", tables_of(DRL__MQS_LOGMGR_T=both)).to_pylist()
    assert 10.0 == found["forces_per_s"]


@pytest.mark.parametrize("name", [*BY_HOUR, "trend", "exceptions", "stats"])
def test_from_the_first_day_to_the_last_there_are_is_all(tables, name):
    """G2: who asks up to 9999-12-31 means no end; there is no day after it."""
    assert run(name, tables, {"from": "0001-01-01", "to": "9999-12-31"}).equals(run(name, tables, {}))
