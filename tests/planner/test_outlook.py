"""What growth does to limits: made histories with a known day of crossing, and sentences as people read them."""

import math
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.planner.forecast import Growth
from quaestor.planner.outlook import Limit, limits, message_limit, outlook, said
from quaestor.planner.quantity import GIB, MIB
from quaestor.planner.source import OutOfRangeError

MONDAY = date(2026, 1, 5)
WEEK = (1.0, 0.97, 0.96, 0.98, 0.9, 0.4, 0.3)
LIMIT = Limit("log_bytes_per_s", 2 * MIB, "active logs fill in under 30 minutes", "log")


def rates(days, *, begin=0.5 * MIB, weekly=1.05, noise=0.0, seed=1):
    """Daily peaks that grow by a factor a week, with a working week and noise in percent."""
    rng = np.random.default_rng(seed)
    return {
        MONDAY + timedelta(days=n): begin * weekly ** (n / 7) * WEEK[n % 7] * math.exp(noise * rng.standard_normal())
        for n in range(days)
    }


def crossing_day(begin, weekly, threshold):
    """The first Monday-like day on which growth alone reaches the threshold."""
    n = next(n for n in range(5_000) if begin * weekly ** (n / 7) * WEEK[n % 7] >= threshold)
    return MONDAY + timedelta(days=n)


def test_growth_that_is_known_crosses_on_its_day():
    found = outlook(rates(84, noise=0.001), LIMIT)
    assert abs(found.crossing.expected - crossing_day(0.5 * MIB, 1.05, 2 * MIB)) <= timedelta(days=7)
    assert Growth.COMPOUND is found.model.growth
    assert "+5.0 % a week" == found.per_week


@settings(max_examples=20)
@given(st.floats(1.02, 1.08), st.integers(35, 120), st.integers(1, 1000))
def test_the_interval_holds_the_day(weekly, days, seed):
    """With noise of 3 % the planted day lies in an interval of 98 %, give or take the day's own peak."""
    found = outlook(rates(days, weekly=weekly, noise=0.03, seed=seed), LIMIT, horizon_days=730, confidence=0.98)
    if found.passed_now or found.crossing.expected is None:
        return
    day = crossing_day(0.5 * MIB, weekly, 2 * MIB)
    latest = found.crossing.latest or date.max
    assert found.crossing.earliest - timedelta(days=14) <= day
    assert latest == date.max or day <= latest + timedelta(days=28)


def test_more_growth_crosses_sooner():
    days = [outlook(rates(60, weekly=weekly, noise=0.01), LIMIT).crossing.expected for weekly in (1.03, 1.05, 1.1)]
    assert days == sorted(days, reverse=True)


def test_a_larger_log_lasts_longer():
    history = {"log_bytes_per_s": rates(60, noise=0.01)}
    found = [
        outlook(history["log_bytes_per_s"], next(iter(limits(history, log_bytes=size)))).crossing.expected
        for size in (GIB, 2 * GIB, 3 * GIB)
    ]
    assert found == sorted(found)


def test_a_sentence():
    found = outlook(rates(84, noise=0.001), LIMIT).sentence
    assert found.startswith("active logs fill in under 30 minutes from about ")
    assert "(90 %: " in found
    assert found.endswith("; +5.0 % a week)")


def test_what_does_not_grow_is_not_forecast_to_cross():
    found = outlook(rates(84, weekly=1.0, noise=0.01), LIMIT)
    assert found.crossing.probability < 0.05
    assert found.sentence.startswith("no sign that active logs fill in under 30 minutes within 365 days")


def test_what_is_passed_is_passed():
    found = outlook(rates(30, begin=4 * MIB, weekly=1.0, noise=0.01), LIMIT)
    assert found.passed_now
    assert found.sentence.startswith("active logs fill in under 30 minutes already")


def test_a_crossing_that_half_the_futures_miss_is_a_chance():
    """Noise so large that growth is not sure: the sentence gives the chance, not a date."""
    found = outlook(rates(28, weekly=1.01, noise=0.25, begin=0.3 * MIB, seed=8), LIMIT, horizon_days=60)
    if found.crossing.expected is None and found.crossing.probability >= 0.05:
        assert "with a chance of" in found.sentence


def test_the_forecast_is_tried_on_its_own_history():
    found = outlook(rates(60, noise=0.02), LIMIT)
    assert 7 == found.tried.days
    assert found.tried.error_percent_mean < 6
    assert found.trial.startswith("tried on the last 7 days: ")
    assert "too little history to try the forecast on itself" == outlook(rates(24, noise=0.02), LIMIT).trial


def test_shares_grow_by_points():
    daily = {MONDAY + timedelta(days=n): 40 + 0.2 * n for n in range(60)}
    (limit,) = limits({"buffer_pool_3_percent": daily})
    found = outlook(daily, limit)
    assert Growth.LINEAR is found.model.growth
    assert "+1.40 points a week" == found.per_week
    assert abs(found.crossing.expected - (MONDAY + timedelta(days=225))) <= timedelta(days=1)
    assert "buffer pool 3 has less than 15 % stealable from about August" in found.sentence


def test_the_limits_that_figures_can_reach():
    named = {"log_bytes_per_s": {}, "buffer_pool_0_percent": {}, "page_set_12_percent": {}, "messages_per_s": {}}
    found = {each.figure: each for each in limits(named)}
    assert {"log_bytes_per_s", "buffer_pool_0_percent", "page_set_12_percent"} == set(found)
    assert 4 * GIB / 1800 == found["log_bytes_per_s"].threshold
    assert 85 == found["buffer_pool_0_percent"].threshold
    assert "page set 12 is 90 % full and expands" == found["page_set_12_percent"].passed
    assert "there are more than 500 calls a second" == message_limit(named, 500).passed
    assert message_limit({}, 500) is None


@pytest.mark.parametrize(
    ("day", "shown"),
    [
        (date(2026, 3, 9), "9 March"),
        (date(2026, 8, 9), "August"),
        (date(2027, 3, 9), "March 2027"),
    ],
)
def test_how_a_day_is_said(day, shown):
    assert shown == said(day, date(2026, 2, 15))


def test_too_little_history_is_refused():
    with pytest.raises(OutOfRangeError, match="20 days of history; a forecast takes 21 or more"):
        outlook(rates(20), LIMIT)


# --- histories as they come -------------------------------------------------------------------------------------------

PAGE_SET = Limit("page_set_3_percent", 90, "page set 3 is 90 % full and expands", "page set 3")
PER_S = Limit("messages_per_s", 500, "there are more than 500 calls a second", "calls")


def daily(values, begin=MONDAY):
    return {begin + timedelta(days=n): float(value) for n, value in enumerate(values)}


@pytest.mark.parametrize("limit", [LIMIT, PAGE_SET, PER_S], ids=lambda each: each.figure)
@pytest.mark.parametrize("value", [0, 1e-9, 1, 3.7, 89.99])
def test_what_never_changes_stays_as_it_is(limit, value):
    """No trend either way, and a trial that is right on every day: rounding is no noise."""
    found = outlook(daily([value] * 35), limit)
    assert found.sentence.startswith(f"no sign that {limit.passed} within 365 days (+0")
    assert found.trial.startswith("tried on the last 7 days: 7 of them in the interval")
    assert 0 == found.crossing.probability


def test_a_rate_that_was_nothing_on_a_day_grows_in_its_own_unit():
    """O1: with a day of 0 a rate grows by as much each day, which are no points of a percentage."""
    log = outlook(daily([0, *(1024 * n for n in range(1, 40))]), LIMIT)
    assert "+7 KiB/s a week" == log.per_week
    assert "-7 KiB/s a week" == outlook(daily([*(1024 * n for n in range(40, 0, -1)), 0]), LIMIT).per_week
    assert "+7/s a week" == outlook(daily(range(40)), PER_S).per_week
    assert "+7.00 points a week" == outlook(daily(range(40)), PAGE_SET).per_week


@pytest.mark.parametrize(("before", "after", "passed"), [(600, 100, False), (100, 600, True)])
def test_the_last_week_is_the_last_seven_days(before, after, passed):
    """O4: of a week with three figures those three count, not four from before three weeks without any."""
    history = daily([before] * 35) | daily([after] * 3, MONDAY + timedelta(days=56))
    assert passed == outlook(history, PER_S).passed_now


def test_weeks_that_cannot_try_the_forecast_do_not_forbid_it():
    """Sundays were counted from the last week on: the weeks before do not tell what a Sunday is like (G5, O5)."""
    history = {day: value for day, value in daily(range(50, 90)).items() if day.weekday() < 6 or value > 82}
    found = outlook(history, PER_S)
    assert found.tried is None
    assert "too little history to try the forecast on itself" == found.trial
    assert found.sentence.startswith("there are more than 500 calls a second from about ")


def test_growth_beyond_every_number_is_no_failure():
    found = outlook(daily(2.0**n for n in range(28)), PER_S, horizon_days=3_660)
    assert found.passed_now
