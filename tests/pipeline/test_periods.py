"""Period plans as people write them (T1, T2), and which moment a rule holds."""

from datetime import datetime, timedelta
from fnmatch import fnmatchcase

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.pipeline.arrow_expressions import array_of
from quaestor.pipeline.expressions import Column, apply
from quaestor.pipeline.periods import DEFAULT_PLAN, Period, PeriodPlan, PeriodPlanError, read_plan

MINUTE = 6000
WHOLE_DAY = 'from = "0:00"\nto = "24:00"'


def written(folder, text):
    path = folder / "periods.toml"
    path.write_text(text, encoding="utf-8")
    return path


def rule(folder, text):
    (made,) = read_plan(written(folder, f"[[period]]\n{text}\n")).periods
    return made


def named(plan, moments, systems=("SYSA",)):
    """The period of each moment on each system, the moments of a system together."""
    pairs = [(system, moment) for system in systems for moment in moments]
    rows = pa.table(
        {
            "system": pa.array([system for system, _ in pairs], pa.string()),
            "local_time": pa.array([moment for _, moment in pairs], pa.timestamp("us")),
        }
    )
    stamp = Column("", "local_time")
    tree = plan.tree(Column("", "system"), apply("date_of", stamp), apply("time_of", stamp))
    return array_of(tree, rows, lambda column: column.name).to_pylist()


def test_a_rule_has_every_day_and_every_system_unless_it_says_so(tmp_path):
    assert Period("ALL", "*", frozenset(range(7)), 0, 1440 * MINUTE) == rule(tmp_path, f'name = "ALL"\n{WHOLE_DAY}')


def test_a_plan_without_a_rule_is_an_empty_plan(tmp_path):
    assert PeriodPlan(()) == read_plan(written(tmp_path, "# nothing yet\n"))


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("0", 0), ("0:00", 0), ("8", 480), ("08:00", 480), ("8:05", 485), ("8:5", 485), (" 23:59 ", 1439), ("13", 780)],
)
def test_a_time_of_day_is_hours_and_maybe_minutes(tmp_path, text, minutes):
    assert minutes * MINUTE == rule(tmp_path, f'name = "X"\nfrom = "{text}"\nto = "24:00"').begin


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "8:",
        ":30",
        "8:60",
        "8:75",
        "24:01",
        "25",
        "-1:00",
        "-0:30",
        "8:-5",
        "8.30",
        "8:30:00",
        "8h",
        "\u0661",
        "120",
    ],
)
def test_what_is_no_time_of_day_is_told(tmp_path, text):
    with pytest.raises(PeriodPlanError, match=r"periods\.toml: period 1: .*is no time of day"):
        rule(tmp_path, f'name = "X"\nfrom = "{text}"\nto = "24:00"')


@pytest.mark.parametrize("text", ["", "mo", "monkey", "mondays", "mon-", "-mon", "mon,", "mon;tue", "1", "mon-fry"])
def test_what_is_no_day_is_told(tmp_path, text):
    """Only `mon-` is a day: what is left out at the end of a range is its beginning."""
    if text == "mon-":
        assert frozenset({0}) == rule(tmp_path, f'name = "X"\ndays = "{text}"\n{WHOLE_DAY}').days
        return
    with pytest.raises(PeriodPlanError, match=r"periods\.toml: period 1: .*is no day of the week"):
        rule(tmp_path, f'name = "X"\ndays = "{text}"\n{WHOLE_DAY}')


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (f'[period]\nname = "X"\n{WHOLE_DAY}', "a plan is made of [[period]] tables and nothing else"),
        (f'[[periods]]\nname = "X"\n{WHOLE_DAY}', "a plan is made of [[period]] tables and nothing else"),
        ("period = 5", "a plan is made of [[period]] tables and nothing else"),
        ('period = ["PRIME"]', "a plan is made of [[period]] tables and nothing else"),
        ('[[period]]\nname = "X"\nto = "9"', "period 1: from is needed, as a text"),
        (f"[[period]]\n{WHOLE_DAY}", "period 1: name is needed, as a text"),
        (f"[[period]]\nname = 5\n{WHOLE_DAY}", "period 1: name is needed, as a text"),
        ('[[period]]\nname = "X"\nfrom = 8\nto = "9"', "period 1: from is needed, as a text"),
        ('[[period]]\nname = "X"\nfrom = "8"\nto = 18:00:00', "period 1: to is needed, as a text"),
        (f'[[period]]\nname = "X"\ndays = ["mon"]\n{WHOLE_DAY}', "period 1: days is needed, as a text"),
        (f'[[period]]\nname = "X"\nsystems = ["A"]\n{WHOLE_DAY}', "period 1: systems is needed, as a text"),
        (f'[[period]]\nname = "X"\nsystem = "A"\n{WHOLE_DAY}', "period 1 knows no 'system'; valid are name, systems"),
        (f'[[period]]\nname = "X"\n{WHOLE_DAY}\n[[period]]\nname = "Y"', "period 2: from is needed, as a text"),
    ],
)
def test_what_is_no_plan_is_refused_with_its_file_and_rule(tmp_path, plan, reason):
    """T1: one line that names the file; nothing is guessed, nothing left out in silence."""
    path = written(tmp_path, plan)
    with pytest.raises(PeriodPlanError) as refused:
        read_plan(path)
    assert str(refused.value).startswith(f"{path}: {reason}")


def test_a_plan_that_is_not_there_is_told_by_name(tmp_path):
    with pytest.raises(PeriodPlanError) as refused:
        read_plan(tmp_path / "none.toml")
    assert f"{tmp_path / 'none.toml'}: No such file or directory" == str(refused.value)


WEEK = [datetime(2026, 1, 5) + timedelta(hours=hour) for hour in range(7 * 24)]


def test_every_hour_of_a_week_has_its_period_of_the_plan_as_shipped():
    expected = ["WEEKEND" if moment.weekday() > 4 else "PRIME" if 8 <= moment.hour < 18 else "NIGHT" for moment in WEEK]
    assert expected == named(DEFAULT_PLAN, WEEK)


RULES = st.builds(
    Period,
    st.sampled_from(["PRIME", "NIGHT", "BATCH", "REST"]),
    st.sampled_from(["*", "SYSA", "SYS?", "S*", "*B", "SYS_", "T"]),
    st.frozensets(st.integers(0, 6), min_size=1),
    st.integers(0, 700).map(lambda minutes: minutes * MINUTE),
    st.integers(701, 1440).map(lambda minutes: minutes * MINUTE),
)


@settings(max_examples=25)
@given(
    st.lists(RULES, max_size=4),
    st.lists(st.datetimes(datetime(2000, 1, 1), datetime(2040, 1, 1)), min_size=1, max_size=5),
)
def test_the_first_rule_that_fits_names_the_period(rules, moments):
    """Against a reading of the rules in plain Python (I4, T2)."""
    systems = ("SYSA", "SYSB", "SYS_", "T")

    def period(system, moment):
        hundredths = (moment - moment.replace(hour=0, minute=0, second=0, microsecond=0)) // timedelta(milliseconds=10)
        fitting = (
            each.name
            for each in rules
            if moment.weekday() in each.days
            and each.begin <= hundredths < each.end
            and fnmatchcase(system, each.systems)
        )
        return next(fitting, None)

    expected = [period(system, moment) for system in systems for moment in moments]
    assert expected == named(PeriodPlan(tuple(rules)), moments, systems)


@settings(max_examples=20)
@given(st.frozensets(st.integers(0, 6), min_size=1))
def test_days_that_are_listed_are_those_days(tmp_path_factory, days):
    names = ("monday", "tue", "Wednes", "THU", "friday", "Sat", "sunday")
    folder = tmp_path_factory.mktemp("plan")
    assert days == rule(folder, f'name = "X"\ndays = "{", ".join(names[day] for day in days)}"\n{WHOLE_DAY}').days
