"""What an outlook says, sentence by sentence, and the forecast's promises where they can be counted."""

from datetime import date, timedelta

import numpy as np
import pytest

from quaestor.planner import forecast as growth
from quaestor.planner.forecast import Backtest, Crossing, Growth, backtest, first_crossing, fit, forecast, student_t
from quaestor.planner.outlook import Limit, Outlook, limits, outlook
from quaestor.planner.quantity import GIB

MONDAY = date(2026, 1, 5)
LAST = MONDAY + timedelta(days=41)  # 15 February
LIMIT = Limit("page_set_3_percent", 90.0, "page set 3 is 90 % full and expands", "page set 3")
GROWS = "+7.00 points a week"


def steady(days=42, per_day=1.0, begin=10.0):
    return {MONDAY + timedelta(days=n): begin + per_day * n for n in range(days)}


def told(expected, earliest, latest, probability, *, passed_now=False, tried=None):
    """An outlook with this crossing, on a history that grows by a point a day."""
    model = fit(sorted(steady().items()))
    crossing = Crossing(90.0, expected, earliest, latest, probability)
    return Outlook(LIMIT, model, crossing, 51.0, tried, 0.9, 365, passed_now)


@pytest.mark.parametrize(
    ("crossing", "sentence"),
    [
        (
            (date(2026, 3, 26), date(2026, 3, 20), date(2026, 6, 2), 1.0),
            f"{LIMIT.passed} from about 26 March (90 %: 20 March to June; {GROWS})",
        ),
        (
            (date(2026, 12, 1), date(2026, 3, 20), None, 0.7),
            f"{LIMIT.passed} from about December (90 %: 20 March to later than the forecast reaches; {GROWS})",
        ),
        (
            (None, date(2026, 12, 1), None, 0.3),
            f"{LIMIT.passed} within 365 days with a chance of 30 % ({GROWS})",
        ),
        (
            (None, None, None, 0.05),
            f"{LIMIT.passed} within 365 days with a chance of 5 % ({GROWS})",
        ),
        (
            (None, None, None, 0.049),
            f"no sign that {LIMIT.passed} within 365 days ({GROWS})",
        ),
    ],
)
def test_the_sentence_of_a_crossing(crossing, sentence):
    """O3: a day while it is near, a month later on, a chance where half of the futures do not get there."""
    assert sentence == told(*crossing).sentence


def test_what_is_passed_needs_no_forecast():
    found = told(LAST, LAST, LAST, 1.0, passed_now=True)
    assert "page set 3 is 90 % full and expands already (+7.00 points a week)" == found.sentence


@pytest.mark.parametrize(("over", "passed"), [(3, False), (4, True), (7, True)])
def test_four_days_of_the_last_seven_are_passed(over, passed):
    """O4: exactly at the limit is passed."""
    daily = dict.fromkeys(steady(), 50.0) | {LAST - timedelta(days=n): 90.0 for n in range(over)}
    assert passed == outlook(daily, LIMIT).passed_now


def test_the_last_figure_is_that_of_the_last_day():
    assert 51.0 == outlook(steady(), LIMIT).last


@pytest.mark.parametrize(
    ("tried", "words"),
    [
        (Backtest(7, 1.0, 2.34), "tried on the last 7 days: 7 of them in the interval, 2.3 % off on average"),
        (Backtest(7, 3 / 7, 40.0), "tried on the last 7 days: 3 of them in the interval, 40.0 % off on average"),
        (Backtest(7, 1.0, float("nan")), "tried on the last 7 days: 7 of them in the interval"),
        (None, "too little history to try the forecast on itself"),
    ],
)
def test_how_the_forecast_did_on_its_own_history(tried, words):
    """O5; of days without anything no percentage can be off."""
    assert words == told(None, None, None, 0.0, tried=tried).trial


def test_a_history_of_zeros_has_no_percentage_to_be_off():
    found = outlook(dict.fromkeys(steady(), 0.0), LIMIT)
    assert "nan" not in found.trial
    assert found.sentence.startswith("no sign that page set 3")


@pytest.mark.parametrize(
    ("daily", "expected"),
    [
        (steady(), Growth.COMPOUND),
        (steady() | {LAST: 0.0}, Growth.LINEAR),  # a day without calls has no logarithm
    ],
)
def test_rates_grow_by_percentages_unless_a_day_had_none(daily, expected):
    """O1."""
    assert expected is outlook(daily, Limit("messages_per_s", 500, "p", "s")).model.growth
    assert Growth.LINEAR is outlook(daily, LIMIT).model.growth


def test_the_largest_logs_are_named_as_such():
    (largest,), (chosen,) = (limits({"log_bytes_per_s": {}}, log_bytes=size) for size in (None, 3 * GIB))
    assert "active logs of 4 GiB, the largest there are, fill in under 30 minutes" == largest.passed
    assert "active logs of 3 GiB fill in under 30 minutes" == chosen.passed
    assert 3 * GIB / 1800 == chosen.threshold


# --- the forecast -----------------------------------------------------------------------------------------------------


def noisy(days, *, lag=0.8, noise=20.0, seed=1):
    rng = np.random.default_rng(seed)
    error, out = rng.standard_normal(), []
    for n in range(days):
        out.append((MONDAY + timedelta(days=n), 1_000 + 2.0 * n + noise * error))
        error = lag * error + (1 - lag**2) ** 0.5 * rng.standard_normal()
    return out


def test_what_is_left_of_the_last_day_is_against_its_own_weekday():
    """G3: the last row is its day's level, the trend being counted from there."""
    history = noisy(41)
    model = fit(history)
    weekday = history[-1][0].weekday()
    assert history[-1][1] - model.coefficients[1 + weekday] == pytest.approx(model.last_residual)
    assert model.last_residual != pytest.approx(0)


def test_futures_that_are_drawn_spread_as_the_interval_says():
    """G3, G4: day by day, the 5 % and 95 % of many futures are the ends of the interval of 90 %."""
    model = fit(noisy(30))
    drawn = growth._draw(model, 21, 20_000, np.random.default_rng(5))
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    days = forecast(model, 21)
    width = np.array([day.high - day.low for day in days])
    assert np.abs(low - [day.low for day in days]).max() < 0.05 * width.max()
    assert width == pytest.approx(high - low, rel=0.05)


@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_the_interval_of_a_crossing_has_half_of_what_is_left_at_each_end(confidence):
    """G4: of 2,000 futures in the order of their first day over the limit, these are so many from each end."""
    model = fit(noisy(42))
    found = first_crossing(model, 1_200, confidence=confidence, seed=3)
    reached = growth._draw(model, 365, 2_000, np.random.default_rng(3)) >= 1_200
    first = sorted(row.argmax() for row in reached if row.any())
    tail = round((1 - confidence) / 2 * 2_000)
    days = [found.earliest, found.expected, found.latest]
    assert days == [model.last_day + timedelta(days=int(first[n]) + 1) for n in (tail, 1_000, 2_000 - tail)]
    assert len(first) / 2_000 == found.probability


def test_a_holdout_of_zeros_has_no_percentage():
    tried = backtest([(day, 0.0) for day in steady()], 7)
    assert (7, 1.0) == (tried.days, tried.covered)
    assert tried.error_percent_mean != tried.error_percent_mean


@pytest.mark.parametrize(
    ("probability", "freedom", "expected", "within"),
    [(0.9995, 8, 5.041305, 0.01), (0.999, 10, 4.143700, 0.002), (0.995, 8, 3.355387, 0.002), (0.9, 8, 1.396815, 1e-4)],
)
def test_quantiles_of_student_far_out(probability, freedom, expected, within):
    """Published tables; the expansion loses figures towards few degrees and the ends."""
    assert expected == pytest.approx(student_t(probability, freedom), abs=within)
