"""What a task of a load makes of definitions (I2 to I4, H1, H2): expressions on Arrow rows alone, at their edges."""

from datetime import date, datetime, time, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.pipeline.arrow_expressions import array_of
from quaestor.pipeline.compilation import compile_update
from quaestor.pipeline.expressions import apply
from quaestor.pipeline.periods import DEFAULT_PLAN, PeriodPlan, PeriodPlanError, read_plan
from quaestor.pipeline.update_language import parse

MONDAY = datetime(2000, 10, 23, 17, 43, 21, 579_000)


def on_rows(expression, rows, plan=DEFAULT_PLAN):
    """The expression's value on each row of WTAS."""
    text = f"DEFINE UPDATE U FROM SMF_116_01 TO T GROUP BY (K = {expression}) SET (N = COUNT(*));"
    (update,) = parse(text, "t.def")
    (key,) = compile_update(update, plan).keys
    return array_of(key.value.tree, pa.table(rows), lambda column: column.name).to_pylist()


def of(expression, moment=MONDAY, *, system="SYSA", queue_manager="QM1", commits=7, elapsed_us=10.0, plan=DEFAULT_PLAN):
    rows = {
        "local_time": pa.array([moment], pa.timestamp("us")),
        "system": pa.array([system], pa.string()),
        "queue_manager": pa.array([queue_manager], pa.string()),
        "commits": pa.array([commits], pa.int64()),
        "commit_elapsed_us": pa.array([elapsed_us], pa.float64()),
    }
    (found,) = on_rows(expression, rows, plan)
    return found


def clock(hours, minutes=0, seconds=0, hundredths=0):
    """A time as a table has it (I3)."""
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}.{hundredths:02d}"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("WTASCMN + 2", 9),
        ("WTASCMN - 9", -2),
        ("WTASCMN * 3", 21),
        ("WTASCMN / 2", 3),
        ("-WTASCMN / 2", -3),  # towards zero
        ("WTASCMN / 2.0", 3.5),
        ("WTASCMN / 0", None),
        ("WTASCMN / (WTASCMN - 7)", None),
        ("WTASCMN / 0.0", None),
        ("WTASCMN * 2.0", 14.0),
        ("WTASCMET", 40_960.0),  # in units of the clock
        ("HOUR(SM116TME)", 17),
        ("DAY(SM116DTE)", 23),
        ("MONTH(SM116DTE)", 10),
        ("YEAR(SM116DTE)", 2000),
        ("WEEK(SM116DTE)", 43),
        ("DAYS(SM116DTE)", 730_416),
        ("DATE(1)", date(1, 1, 1)),
        ("DATE(DAYS(SM116DTE))", date(2000, 10, 23)),
        ("DATE(SM116DTE)", date(2000, 10, 23)),
        ("SM116DTE - 23 DAYS", date(2000, 9, 30)),
        ("SM116DTE + 9 DAYS", date(2000, 11, 1)),
        ("SM116TME", clock(17, 43, 21, 57)),
        ("ROUND(SM116TME, 1 MINUTES)", clock(17, 43)),
        ("ROUND(SM116TME, 15 MINUTES)", clock(17, 30)),
        ("ROUND(SM116TME, 2 HOURS)", clock(16)),
        ("SM116TME + 10 MINUTES", clock(17, 53, 21, 57)),
        ("SM116TME - 1 HOURS", clock(16, 43, 21, 57)),
        ("'at ' || SM116TME", "at 17:43:21.57"),
        ("'on ' || SM116DTE", "on 2000-10-23"),
        ("SM116SSI || WTASCMN", "QM17"),
        ("SUBSTR(SM116SSI, 1, 1)", "Q"),
        ("SUBSTR(SM116SSI, 2, 2)", "M1"),
        ("SUBSTR(SM116SSI, 3, 9)", "1"),
        ("VALUE(WTASCMN, 0.5)", 7.0),
        ("CASE WHEN WTASCMN = 7 THEN 1 ELSE 0.5 END", 1.0),
        ("CASE WHEN WTASCMN <> 7 THEN 1 ELSE 0.5 END", 0.5),
        ("CASE WHEN WTASCMN < 7 THEN 1 WHEN WTASCMN <= 7 THEN 2 ELSE 3 END", 2),
        ("CASE WHEN WTASCMN > 7 THEN 1 WHEN WTASCMN >= 7 THEN 2 ELSE 3 END", 2),
        ("CASE WHEN WTASCMN BETWEEN 8 AND 9 OR WTASCMN BETWEEN 5 AND 6 THEN 1 END", None),
        ("CASE WHEN WTASCMN BETWEEN 7 AND 7 THEN 1 END", 1),
        ("CASE WHEN WTASCMN IN (6, 7) AND NOT SM116SSI = 'QM2' THEN 1 END", 1),
        ("PERIOD(SM116SID, SM116DTE, SM116TME)", "PRIME"),
    ],
)
def test_an_expression_on_one_row(expression, value):
    found = of(expression)
    assert (value, type(value)) == (found, type(found))


@pytest.mark.parametrize(
    ("expression", "moment", "value"),
    [
        ("SM116TME + 8 HOURS", (20, 15), clock(4, 15)),
        ("HOUR(SM116TME + 8 HOURS)", (20, 15), 4),
        ("HOUR(SM116TME + 4 HOURS)", (20, 0), 0),
        ("SM116TME - 30 MINUTES", (0, 10), clock(23, 40)),
        ("HOUR(SM116TME - 30 MINUTES)", (0, 10), 23),
        ("HOUR(SM116TME - 30 MINUTES)", (0, 30), 0),
        ("SM116TME + 24 HOURS", (20, 15), clock(20, 15)),
        ("SM116TME - 49 HOURS", (0, 0), clock(23)),
        ("ROUND(SM116TME - 1 MINUTES, 1 HOURS)", (0, 0), clock(23)),
        ("PERIOD(SM116SID, SM116DTE, SM116TME + 12 HOURS)", (21, 0), "PRIME"),
    ],
)
def test_a_time_that_is_moved_past_midnight_is_a_time_of_day(expression, moment, value):
    """I3: hours beyond a day are of no day, as in SQL."""
    assert value == of(expression, datetime(2000, 10, 23, *moment))


@given(st.times(), st.integers(0, 5000), st.sampled_from(["+", "-"]))
def test_moving_a_time_is_moving_a_clock(moment, minutes, sign):
    before = datetime.combine(date(2000, 10, 23), moment)
    after = before + timedelta(minutes=minutes) * (1 if sign == "+" else -1)
    expected = clock(after.hour, after.minute, after.second, after.microsecond // 10_000)
    assert expected == of(f"SM116TME {sign} {minutes} MINUTES", before)


@given(st.integers(-(10**12), 10**12), st.integers(-1000, 1000))
def test_division_of_integers_cuts_towards_zero_and_by_zero_is_null(dividend, divisor):
    """I2."""
    expected = None if divisor == 0 else abs(dividend) // abs(divisor) * (1 if dividend * divisor >= 0 else -1)
    assert expected == of(f"WTASCMN / ({divisor})" if divisor >= 0 else f"WTASCMN / (0 - {-divisor})", commits=dividend)


@given(st.datetimes(datetime(1971, 1, 1), datetime(2042, 9, 17)))
def test_dates_and_times_are_those_of_the_calendar(moment):
    expected = [moment.date(), moment.date().toordinal(), moment.isocalendar().week]
    assert expected == [of(each, moment) for each in ("SM116DTE", "DAYS(SM116DTE)", "WEEK(SM116DTE)")]
    assert clock(moment.hour, moment.minute, moment.second, moment.microsecond // 10_000) == of("SM116TME", moment)


@given(st.times())
def test_the_text_of_a_time_reads_back(moment):
    text = of("'' || SM116TME", datetime.combine(date(2000, 10, 23), moment))
    assert moment.replace(microsecond=moment.microsecond // 10_000 * 10_000) == time.fromisoformat(text)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("WTASCMN + 1", None),
        ("CASE WHEN WTASCMN > 0 THEN 1 ELSE 2 END", 2),
        ("CASE WHEN WTASCMN > 0 OR SM116SSI = 'QM1' THEN 1 ELSE 2 END", 1),
        ("CASE WHEN WTASCMN IS NULL THEN 1 END", 1),
        ("CASE WHEN WTASCMN IS NOT NULL THEN 1 END", None),
        ("VALUE(WTASCMN, 5)", 5),
        ("SM116SSI || WTASCMN", None),
    ],
)
def test_what_is_not_known_stays_so(expression, value):
    assert value == of(expression, commits=None)


def test_a_constant_is_as_long_as_the_table():
    """H1."""
    rows = {"queue_manager": ["A", "B", "C"]}
    assert [5, 5, 5] == on_rows("5", rows)
    assert [None, None, None] == array_of(apply("text", apply("null")), pa.table(rows), str).to_pylist()


def plan_of(folder, rules):
    path = folder / "periods.toml"
    path.write_text("".join(f"[[period]]\n{rule}\n" for rule in rules), encoding="utf-8")
    return read_plan(path)


@pytest.mark.parametrize(
    ("day", "hour", "name"),
    [
        (23, (7, 59, 59), "NIGHT"),
        (23, (8, 0, 0), "PRIME"),
        (27, (17, 59, 59), "PRIME"),
        (27, (18, 0, 0), "NIGHT"),
        (23, (0, 0, 0), "NIGHT"),
        (27, (23, 59, 59), "NIGHT"),
        (28, (12, 0, 0), "WEEKEND"),
        (29, (0, 0, 0), "WEEKEND"),
        (29, (23, 59, 59), "WEEKEND"),
    ],
)
def test_the_plan_as_shipped(day, hour, name):
    """I4: Monday 23 to Sunday 29 October 2000."""
    assert name == of("PERIOD(SM116SID, SM116DTE, SM116TME)", datetime(2000, 10, day, *hour))


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        ("mon", {0}),
        ("monday-wednesday", {0, 1, 2}),
        ("fri-mon", {4, 5, 6, 0}),
        ("sun, TUE", {6, 1}),
        ("mon-tue,thu-fri", {0, 1, 3, 4}),
        ("sat-sat", {5}),
    ],
)
def test_days_of_a_plan(tmp_path, days, expected):
    plan = plan_of(tmp_path, [f'name="X"\ndays="{days}"\nfrom="0:00"\nto="24:00"'])
    assert frozenset(expected) == plan.periods[0].days


def test_hours_of_a_plan_may_have_minutes(tmp_path):
    plan = plan_of(tmp_path, ['name="LUNCH"\nfrom="11:45"\nto="13"'])
    asked = [(11, 44, 59), (11, 45, 0), (12, 59, 59), (13, 0, 0)]
    found = [of("PERIOD(SM116SID, SM116DTE, SM116TME)", datetime(2000, 10, 23, *each), plan=plan) for each in asked]
    assert [None, "LUNCH", "LUNCH", None] == found


def test_the_first_rule_that_fits_names_the_period(tmp_path):
    whole = 'from="0:00"\nto="24:00"'
    rules = [f'name="ONE"\nsystems="S_1?"\n{whole}', f'name="TEST"\nsystems="T*"\n{whole}', f'name="REST"\n{whole}']
    plan = plan_of(tmp_path, rules)
    found = [
        of("PERIOD(SM116SID, SM116DTE, SM116TME)", system=each, plan=plan)
        for each in ("S_1A", "SX1A", "S_1", "TST1", "ATST", "PRD1")
    ]
    assert ["ONE", "REST", "REST", "TEST", "REST", "REST"] == found


def test_an_empty_plan_knows_no_period():
    assert of("PERIOD(SM116SID, SM116DTE, SM116TME)", plan=PeriodPlan(())) is None


@pytest.mark.parametrize(("begin", "end"), [("24:01", "24:02"), ("-1:00", "3:00"), ("8:00", "8:00")])
def test_hours_that_are_none_are_refused(tmp_path, begin, end):
    with pytest.raises(PeriodPlanError, match="period 1"):
        plan_of(tmp_path, [f'name="X"\nfrom="{begin}"\nto="{end}"'])


@pytest.mark.parametrize(
    ("commits", "expression", "value"),
    [
        (2**53 + 1, "WTASCMN / 2.0", 2.0**52),
        (2**63 - 1, "WTASCMN / 2.0", 2.0**62),
        (2**63 - 1, "WTASCMN * 1.0", 2.0**63),
        (2**63 - 1, "WTASCMN + 0.5", 2.0**63),
        (2**63 - 1, "0.5 - WTASCMN", -(2.0**63)),
        (2**63 - 1, "8.0 / WTASCMN", 2.0**-60),
        (2**63 - 1, "WTASCMN + 1", None),  # larger than an integer: no value
        (2**63 - 1, "CASE WHEN WTASCMN > 0.5 THEN 1 ELSE 0 END", 1),
        (2**63 - 1, "CASE WHEN 0.5 >= WTASCMN THEN 1 ELSE 0 END", 0),
        (2**63 - 1, "CASE WHEN WTASCMN = 0.5 THEN 1 ELSE 0 END", 0),
        (2**63 - 1, "CASE WHEN WTASCMN <> WTASCMET THEN 1 ELSE 0 END", 1),
    ],
)
def test_a_count_that_no_double_is_equal_to_is_no_error(commits, expression, value):
    """E2: a damaged or saturated count of eight bytes stops no load; beside a double it is the nearest one."""
    assert value == of(expression, commits=commits)


def test_one_such_count_leaves_the_other_rows_their_values():
    rows = {"commits": pa.array([2**63 - 1, 7, None], pa.int64())}
    assert [1.5 * 2.0**63, 10.5, None] == on_rows("WTASCMN * 1.5", rows)
