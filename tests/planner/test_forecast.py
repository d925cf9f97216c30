"""Growth on made series: the trend and the week that were put in come out, and intervals hold what they promise."""

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.planner import forecast as growth
from quaestor.planner.forecast import Growth, backtest, first_crossing, fit, forecast, student_t
from quaestor.planner.source import OutOfRangeError

MONDAY = date(2024, 1, 1)
WEEK = (50.0, 40.0, 30.0, 30.0, 20.0, -80.0, -90.0)


def series(days, *, level=1_000.0, trend=1.0, noise=0.0, lag=0.0, seed=1, start=MONDAY, week=WEEK):
    """Level, trend, week and noise that remembers the day before."""
    rng = np.random.default_rng(seed)
    out, error = [], rng.standard_normal()
    for n in range(days):
        day = start + timedelta(days=n)
        out.append((day, level + trend * n + week[day.weekday()] + noise * error))
        error = lag * error + (1 - lag**2) ** 0.5 * rng.standard_normal()
    return out


@given(
    st.floats(-50, 50),
    st.lists(st.floats(-100, 100), min_size=7, max_size=7),
    st.integers(21, 120),
    st.dates(date(1990, 1, 1), date(2060, 1, 1)),
)
def test_without_noise_trend_and_week_are_exact(trend, week, days, start):
    whole = series(days + 30, trend=trend, week=week, start=start)
    model = fit(whole[:days])
    assert trend == pytest.approx(model.trend_per_day, abs=1e-6)
    average = sum(week) / 7
    assert [level - average for level in week] == pytest.approx(list(model.week), abs=1e-6)
    ahead = forecast(model, 30)
    assert [value for _, value in whole[days:]] == pytest.approx([day.expected for day in ahead], abs=1e-5)
    assert [day for day, _ in whole[days:]] == [day.day for day in ahead]


def test_with_noise_trend_and_week_are_near():
    model = fit(series(365, trend=2.5, noise=20, lag=0.3))
    assert 2.5 == pytest.approx(model.trend_per_day, abs=0.1)
    assert list(WEEK) == pytest.approx(list(model.week), abs=10)
    assert 20 == pytest.approx(model.noise, rel=0.2)


@pytest.mark.parametrize("lag", [0.0, 0.4, 0.8])
def test_the_memory_of_the_noise_is_found(lag):
    found = [fit(series(365, noise=20, lag=lag, seed=seed)).lag for seed in range(10)]
    assert lag == pytest.approx(np.mean(found), abs=0.1)


@pytest.mark.parametrize(("days", "lag"), [(60, 0.0), (60, 0.5), (365, 0.0), (365, 0.7)])
def test_an_interval_of_90_percent_holds_about_90_percent(days, lag):
    """200 series each, judged 1, 14 and 60 days ahead."""
    held = []
    for seed in range(200):
        whole = series(days + 60, noise=20, lag=lag, seed=seed)
        ahead = forecast(fit(whole[:days]), 60, confidence=0.9)
        held += [ahead[n].low <= whole[days + n][1] <= ahead[n].high for n in (0, 13, 59)]
    assert 0.86 <= np.mean(held) <= 0.94


def test_a_narrower_promise_is_a_narrower_interval_with_less_in_it():
    held = {0.5: [], 0.8: [], 0.98: []}
    for seed in range(100):
        whole = series(90, noise=20, lag=0.3, seed=seed)
        model = fit(whole[:60])
        for confidence, hits in held.items():
            ahead = forecast(model, 30, confidence=confidence)
            hits += [day.low <= whole[60 + n][1] <= day.high for n, day in enumerate(ahead) if n % 10 == 9]
    assert {k: pytest.approx(np.mean(v), abs=0.07) for k, v in held.items()} == {k: k for k in held}


def test_the_crossing_lies_in_its_interval_about_as_often_as_promised():
    inside = []
    for seed in range(150):
        whole = series(500, noise=20, lag=0.4, seed=seed)
        threshold = 1_300
        crossing = first_crossing(fit(whole[:120]), threshold, horizon_days=380, futures=400, seed=seed)
        actual = next(day for day, value in whole[120:] if value >= threshold)
        inside.append(crossing.earliest <= actual <= crossing.latest)
    assert 0.84 <= np.mean(inside) <= 0.97


def test_a_peak_day_crosses_before_the_trend_does():
    """Level 1,000 and one a day: the trend reaches 1,250 on day 250, but Mondays carry 50 more, so day 203 does it."""
    crossing = first_crossing(fit(series(150)), 1_250, horizon_days=200)
    assert MONDAY + timedelta(days=203) == crossing.expected == crossing.earliest == crossing.latest
    assert 0 == crossing.expected.weekday()
    assert 1 == crossing.probability


def test_a_threshold_out_of_reach_and_one_already_passed():
    model = fit(series(120, noise=5))
    far = first_crossing(model, 1e9, horizon_days=30)
    assert (None, None, None, 0) == (far.expected, far.earliest, far.latest, far.probability)
    passed = first_crossing(model, 0, horizon_days=30)
    assert model.last_day + timedelta(days=1) == passed.earliest == passed.latest


def test_a_threshold_that_half_of_the_futures_reach():
    """Without trend the chance of a crossing grows with the horizon; the late end of the interval may be open."""
    model = fit(series(200, trend=0.0, noise=20, lag=0.9, seed=4))
    near = first_crossing(model, 1_100, horizon_days=10)
    far = first_crossing(model, 1_100, horizon_days=60)
    assert 0 < near.probability < far.probability < 1
    assert far.earliest is not None
    assert far.latest is None


def test_compound_growth():
    """One percent a day: a thousand becomes 2,700 after 100 days; intervals stay above zero."""
    whole = [(MONDAY + timedelta(days=n), 1_000 * 1.01**n) for n in range(200)]
    model = fit(whole[:100], growth=Growth.COMPOUND)
    assert 1 == pytest.approx(model.growth_percent_per_day)
    assert 1_000 * 1.01**199 == pytest.approx(forecast(model, 100)[-1].expected)
    noisy = [(day, value * (1 + 0.9 * (-1) ** n)) for n, (day, value) in enumerate(whole)]
    assert all(day.low > 0 for day in forecast(fit(noisy, growth=Growth.COMPOUND), 60))


@settings(max_examples=25)
@given(st.floats(0.1, 100), st.floats(-1e4, 1e4), st.integers(0, 1_000))
def test_other_units_give_the_same_forecast_in_those_units(scale, shift, seed):
    base = series(60, noise=20, lag=0.3, seed=seed)
    one = forecast(fit(base), 20)
    other = forecast(fit([(day, scale * value + shift) for day, value in base]), 20)
    for a, b in zip(one, other, strict=True):
        assert [scale * v + shift for v in (a.expected, a.low, a.high)] == pytest.approx(
            [b.expected, b.low, b.high], rel=1e-6, abs=1e-4
        )


def test_days_without_a_figure_are_gaps_and_not_zeros():
    whole = series(120, noise=5, lag=0.3)
    holes = [pair for n, pair in enumerate(whole) if not 40 <= n < 50 and n % 11]
    full, gapped = fit(whole), fit(holes)
    assert full.trend_per_day == pytest.approx(gapped.trend_per_day, abs=0.1)
    assert len(holes) == gapped.days
    assert [d.expected for d in forecast(full, 14)] == pytest.approx([d.expected for d in forecast(gapped, 14)], abs=8)


def test_less_history_and_a_longer_horizon_widen_the_interval():
    whole = series(365, noise=20)

    def width(days, ahead):
        day = forecast(fit(whole[-days:]), ahead)[-1]
        return day.high - day.low

    assert width(28, 60) > width(365, 60)
    assert width(28, 120) > width(28, 30)


def test_backtest_of_a_steady_and_of_a_changed_workload():
    """A steady history keeps its promise; one that doubled in the holdout does not, and the error says how far off."""
    steady = series(200, noise=20)
    good = backtest(steady, 28)
    assert 28 == good.days
    assert good.covered > 0.75
    assert good.error_percent_mean < 5
    changed = [(day, value * (2 if n >= 172 else 1)) for n, (day, value) in enumerate(steady)]
    bad = backtest(changed, 28)
    assert 0 == bad.covered
    assert bad.error_percent_mean > 40


@pytest.mark.parametrize(
    ("probability", "freedom", "expected"),
    [
        (0.95, 8, 1.859548),
        (0.95, 13, 1.770933),
        (0.975, 13, 2.160369),
        (0.999, 13, 3.851982),
        (0.95, 20, 1.724718),
        (0.975, 100, 1.983972),
        (0.05, 13, -1.770933),
        (0.5, 13, 0.0),
    ],
)
def test_quantiles_of_student(probability, freedom, expected):
    """Against published tables."""
    assert expected == pytest.approx(student_t(probability, freedom), abs=0.01)


def test_the_same_seed_draws_the_same_futures():
    model = fit(series(90, noise=20))
    assert first_crossing(model, 1_200, seed=3) == first_crossing(model, 1_200, seed=3)


def twice_a_day():
    return [*series(30), (MONDAY + timedelta(days=29), 1.0)]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: fit(series(20)), "20 days of history; a forecast takes 21 or more"),
        (lambda: fit(twice_a_day()), "days must ascend"),
        (lambda: fit([*series(30), (MONDAY + timedelta(days=40), float("nan"))]), "not a finite number"),
        (lambda: fit([p for p in series(60) if p[0].weekday() < 5]), "days_of_the_week_seen 5 is not valid: 7 or more"),
        (lambda: fit(series(30, level=0), growth=Growth.COMPOUND), "outside: more than 0 for compound growth"),
        (lambda: forecast(fit(series(30)), 0), "horizon_days 0 is not valid: 1 to 3660"),
        (lambda: forecast(fit(series(30)), 9, confidence=1.0), "confidence 1 is not valid: 0.5 to 0.998"),
        (lambda: first_crossing(fit(series(30)), 1, futures=10), "futures 10 is not valid: 100 or more"),
        (lambda: backtest(series(30), 10), "holdout_days 10 is not valid: 1 to 9"),
        (lambda: fit(series(30)).growth_percent_per_day, "needs COMPOUND"),
        (lambda: student_t(0.9, 7), "freedom 7 is not valid: 8 or more"),
    ],
)
def test_impossible_values_name_the_range(call, says):
    with pytest.raises(OutOfRangeError, match=says):
        call()


def test_weekdays_are_the_calendars():
    """The fit's first level is Monday's: an ordinal of 1 is a Monday."""
    rows = growth._design(np.array([float(MONDAY.toordinal())]), 0.0)
    assert 1 == rows[0, 1]


@pytest.mark.parametrize("confidence", [0.8, 0.998])
@pytest.mark.parametrize("days", [21, 60])
def test_futures_are_drawn_as_the_interval_promises(days, confidence):
    """What is known of trend, week and noise, and of the day before, counts in both (G3, G4)."""
    model = replace(fit(series(days, noise=20, lag=0.8, seed=3)), lag=0.8)
    (tomorrow,) = forecast(model, 1, confidence=confidence)
    beyond = (1 - confidence) / 2
    for threshold, share in ((tomorrow.high, beyond), (tomorrow.low, 1 - beyond)):
        crossing = first_crossing(model, threshold, horizon_days=1, futures=200_000)
        assert share == pytest.approx(crossing.probability, abs=6 * (beyond / 200_000) ** 0.5)
