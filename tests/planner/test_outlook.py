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
    with pytest.raises(OutOfRangeError, match="days_of_history 20 is not valid: 21 or more"):
        outlook(rates(20), LIMIT)
