"""Charge-back and trends on given rows (C1, C2, H1 to H3)."""

from datetime import date, timedelta

import pytest

from pipeline.report_queries.given_rows import columns, frame, printed, tables
from quaestor.pipeline.report_queries.departments import ChargePlanError, read_charge_plan

WORK = (
    "DATE date, "
    + columns("string", "MVS QMGR JOBTYPE JOBNAME USERID TRAN CHANNEL CHANNELQ")
    + ", NCOMMITS long, "
    + columns("double", "CT ET BYTES LOGTIME FORCETIME PSTIME CFTIME DB2TIME")
)
MARCH, APRIL = date(2026, 3, 1), date(2026, 4, 1)
PLAN = """
[rates]
currency = "EUR"
cpu_second = 0.5
megabyte = 2

[shared]
channels = ["WEB.*"]

[[department]]
name = "Sales"
jobs = ["CICSPRD?"]
transactions = ["ORD*"]

[[department]]
name = "Sales abroad"
channels = ["TO.*", "FROM.*"]
addresses = ["10.1.*"]

[[department]]
name = "Finance"
users = ["BATCH*"]
"""


def work(month, job, cpu_s, megabytes=0, **more):
    return {
        "DATE": month, "QMGR": "QM1", "JOBNAME": job, "JOBTYPE": "CICS", "NCOMMITS": 10, "CT": cpu_s * 1e6,
        "BYTES": megabytes * 1e6, **more,
    }  # fmt: skip


MOVED = {"JOBTYPE": "CHIN", "JOBNAME": "QM1CHIN"}
ROWS = [
    work(MARCH, "CICSPRD1", 6, 1, TRAN="ORD1", USERID="WEBUSR"),
    work(MARCH, "CICSPRD1", 2, 0, TRAN="QRY1", USERID="WEBUSR"),
    work(MARCH, "BILLJOB", 4, 3, USERID="BATCH1", JOBTYPE="MVS"),
    work(MARCH, "", 3, 5, CHANNEL="TO.PARTNER", CHANNELQ="10.1.2.3", **MOVED),
    work(MARCH, "", 1, 1, CHANNEL="TO.PARTNER", CHANNELQ="10.2.2.3", **MOVED),
    work(MARCH, "", 4, 0, CHANNEL="WEB.CLIENTS", CHANNELQ="10.1.9.9", **MOVED),
    work(APRIL, "CICSPRD1", 1, 0, TRAN="ORD1", USERID="WEBUSR"),
]


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(PLAN, encoding="utf-8")
    return str(path)


def test_every_second_is_charged_once(spark, plan):
    """First fit wins, shared channels are nobody's, what is left is unassigned: the shares of a month make 100."""
    provider = tables(DRL__MQ_MONTHLY_STATS=frame(spark, WORK, ROWS))
    found = printed("chargeback-department", provider, plan=plan)
    assert [
        ("2026-03-01", "Sales", "10", "6", "30", "1", "10", "5.00", "EUR"),
        ("2026-03-01", "Finance", "10", "4", "20", "3", "30", "8.00", "EUR"),
        ("2026-03-01", "SHARED", "10", "4", "20", "0", "0", "2.00", "EUR"),
        ("2026-03-01", "Sales abroad", "10", "3", "15", "5", "50", "11.50", "EUR"),
        ("2026-03-01", "UNASSIGNED", "20", "3", "15", "1", "10", "3.50", "EUR"),
        ("2026-04-01", "Sales", "10", "1", "100", "0", "-", "0.50", "EUR"),
    ] == found


def test_applications_and_channels_are_apart(spark, plan):
    """An application goes by job, transaction and user, a channel by its name and partner; without a plan no charge."""
    provider = tables(DRL__MQ_MONTHLY_STATS=frame(spark, WORK, ROWS))
    applications = printed("chargeback-application", provider, to="2026-03-31")
    assert [("CICSPRD1", "ORD1", "WEBUSR"), ("BILLJOB", "", "BATCH1"), ("CICSPRD1", "QRY1", "WEBUSR")] == [
        (row[1], row[3], row[4]) for row in applications
    ]
    assert {"-"} == {row[-2] for row in applications}
    channels = printed("chargeback-channel", provider, plan=plan, channel="TO.*")
    assert [("10.1.2.3", "Sales abroad"), ("10.2.2.3", "UNASSIGNED")] == [row[3:5] for row in channels]


def test_week_over_week(spark):
    """Against the calendar week before; a gap is no week before (H3). Elapsed time that is not explained is other."""
    weeks = [(date(2026, 3, 2), 10), (date(2026, 3, 9), 12), (date(2026, 3, 23), 6)]
    rows = [work(week, "CICSPRD1", cpu_s, 1, ET=20e6, LOGTIME=1e6, FORCETIME=2e6) for week, cpu_s in weeks]
    provider = tables(DRL__MQ_WEEKLY_STATS=frame(spark, WORK, rows))
    assert [("2026-03-02", "10", "-"), ("2026-03-09", "12", "20"), ("2026-03-23", "6", "-")] == [
        row[1:4] for row in printed("trend", provider)
    ]
    assert [("CICSPRD1", "60", "28", "9", "0", "0", "0", "23")] == printed("elapsed-split", provider)
    asked = {"from": "2026-03-11", "to": "2026-03-22"}
    assert [("2026-03-09", "12", "20")] == [row[1:4] for row in printed("trend", provider, **asked)]


def test_a_week_or_month_is_meant_when_one_of_its_days_is(spark):
    """G2: asked from Wednesday on, the week is not empty."""
    weeks = tables(DRL__MQ_WEEKLY_STATS=frame(spark, WORK, [work(date(2026, 3, 2), "CICSPRD1", 10, ET=20e6)]))
    months = tables(DRL__MQ_MONTHLY_STATS=frame(spark, WORK, [work(date(2026, 2, 1), "CICSPRD1", 10)]))
    for name, provider, first, last in (
        ("cpu-by-week", weeks, date(2026, 3, 2), date(2026, 3, 8)),
        ("elapsed-split", weeks, date(2026, 3, 2), date(2026, 3, 8)),
        ("chargeback-application", months, date(2026, 2, 1), date(2026, 2, 28)),
    ):
        day = timedelta(days=1)
        spans = {(first, first): 1, (last, last): 1, (first - day, first - day): 0, (last + day, last + day): 0}
        for (begin, end), found in spans.items():
            assert found == len(printed(name, provider, **{"from": f"{begin}", "to": f"{end}"}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[departmen]]", "the plan knows no 'departmen'; valid are department, rates, shared"),
        ("[rates]\ncpu = 1", "[rates] knows no 'cpu'; valid are cpu_second, currency, megabyte"),
        ("[rates]\nmegabyte = -1", "rate megabyte is -1; a number from 0 up is needed"),
        ("[shared]\nchannel = []", "[shared] knows no 'channel'; valid are channels"),
        ("[[department]]\njobs = ['A']", "department 1 has no name"),
        ("[[department]]\nname = 'A'", "department 1 (A) has no pattern; one of jobs, transactions"),
        ("[[department]]\nname = 'A'\njobs = 'B'", "department 1: 'B' is not a list of patterns"),
        ("[[department]]\nname = 'A'\njob = ['B']", "department 1 knows no 'job'"),
        ("rates = 5", "rates is no table; write [rates]"),
        ("shared = ['WEB.*']", "shared is no table; write [shared]"),
        ("department = 'Sales'", "departments are tables of their own; write [[department]]"),
        ("[department]\nname = 'A'", "departments are tables of their own; write [[department]]"),
        ("[rates]\ncpu_second = true", "rate cpu_second is True; a number from 0 up is needed"),
        ("[rates]\ncpu_second = nan", "rate cpu_second is nan; a number from 0 up is needed"),
        ("[rates]\nmegabyte = inf", "rate megabyte is inf; a number from 0 up is needed"),
        ("[[department]]\nname = ''\njobs = ['A']", "department 1 has no name"),
        ("[shared]\nchannels = 'WEB.*'", "[shared]: 'WEB.*' is not a list of patterns"),
        ("name =", "Invalid value"),
    ],
)
def test_a_mistake_in_a_plan_is_named(tmp_path, text, message):
    path = tmp_path / "plan.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ChargePlanError) as error:
        read_charge_plan(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)


def test_a_plan_that_is_not_there(tmp_path):
    with pytest.raises(ChargePlanError, match="No such file"):
        read_charge_plan(tmp_path / "none.toml")
