"""Growth: where a daily figure is heading, how sure that is, and when it first crosses a threshold.

Rules
  G1  A daily figure is a straight trend, a level for each day of the week, and noise in which a day remembers the day
      before it.  With compound growth the same holds for its logarithm.
  G2  How much a day remembers (the lag) is chosen by restricted likelihood, from 0 to 0.95; days without a figure are
      gaps, not zeros: the memory fades over a gap as it does over the days themselves.
  G3  An interval covers what is not known of trend and week, the noise to come, and the few days it was learnt from
      (Student's t).  What it cannot cover is a change of the workload itself.
  G4  The first crossing is read off drawn futures, not off the interval's edges: a peak day crosses before its trend.
  G5  Less than three weeks, or a day of the week never seen, is refused.

Called by the plan and by the advisor.  Calls bounds.  Has no clock: the history says which day it ends on.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from quaestor.planner.bounds import at_least, within
from quaestor.planner.source import OutOfRangeError

Vector = NDArray[np.float64]

WEEK = 7
DAYS_MIN = 3 * WEEK
PARAMETERS = WEEK + 1
LAGS = tuple(n / 20 for n in range(20))
HORIZON_DAYS_MAX = 3_660
EXACT = 1e-9  # of a figure: noise below it is that of the arithmetic
TINY = 1e-150  # its square is still a number


class Growth(Enum):
    """How a figure grows (G1)."""

    LINEAR = "as much each day"
    COMPOUND = "by the same percentage each day"


@dataclass(frozen=True, slots=True)
class Day:
    """A forecast for one day: its middle and the interval around it."""

    day: date
    expected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Crossing:
    """When a threshold is first reached: the middle of the drawn futures, and the interval around it.

    A day is None where that share of the futures does not cross within the horizon; `probability` is the share that
    does.
    """

    threshold: float
    expected: date | None
    earliest: date | None
    latest: date | None
    probability: float


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """What was learnt from a history.  Build it with `fit`."""

    growth: Growth
    last_day: date
    trend_per_day: float
    week: tuple[float, ...]  # level of Monday to Sunday against the average day; they add up to zero
    lag: float
    noise: float
    days: int
    coefficients: Vector
    covariance: Vector  # of the coefficients, in units of the noise
    last_row: Vector
    last_residual: float

    @property
    def freedom(self) -> int:
        return self.days - PARAMETERS

    @property
    def growth_percent_per_day(self) -> float:
        """Compound growth only; linear growth has no fixed percentage."""
        if self.growth is Growth.LINEAR:
            raise OutOfRangeError("growth LINEAR is outside: a percentage for each day needs COMPOUND")
        return 100 * math.expm1(self.trend_per_day)


def fit(history: Sequence[tuple[date, float]], *, growth: Growth = Growth.LINEAR) -> Model:
    """Learn trend, week and noise from days in ascending order; gaps are allowed (G1, G2, G5)."""
    days, values = _checked(history, growth)
    rows = _design(days, days[-1])
    lag = max(LAGS, key=lambda one: _whitened_fit(rows, values, days, one)[-1])
    coefficients, covariance, noise, _ = _whitened_fit(rows, values, days, lag)
    levels = coefficients[1:]
    return Model(
        growth=growth,
        last_day=history[-1][0],
        trend_per_day=float(coefficients[0]),
        week=tuple(float(level - levels.mean()) for level in levels),
        lag=lag,
        noise=noise,
        days=len(days),
        coefficients=coefficients,
        covariance=covariance,
        last_row=rows[-1],
        last_residual=float(values[-1] - rows[-1] @ coefficients),
    )


def forecast(model: Model, horizon_days: int, *, confidence: float = 0.9) -> tuple[Day, ...]:
    """Each of the next days with the interval that holds it with this confidence (G3)."""
    _check_horizon(horizon_days, confidence)
    quantile = student_t((1 + confidence) / 2, model.freedom)
    middle, spread = _ahead(model, horizon_days)
    out = _scale(model.growth, np.stack((middle, middle - quantile * spread, middle + quantile * spread)))
    return tuple(
        Day(model.last_day + timedelta(days=n + 1), *(float(value) for value in out[:, n])) for n in range(horizon_days)
    )


def first_crossing(
    model: Model,
    threshold: float,
    *,
    horizon_days: int = 365,
    confidence: float = 0.9,
    futures: int = 2_000,
    seed: int = 1,
) -> Crossing:
    """When the daily figure first reaches a threshold (G4).  The same seed draws the same futures."""
    _check_horizon(horizon_days, confidence)
    at_least(100, futures=futures)
    reached = _draw(model, horizon_days, futures, np.random.default_rng(seed)) >= threshold
    crosses = reached.any(axis=1)
    first = np.sort(np.where(crosses, reached.argmax(axis=1), horizon_days))

    def day(share: float) -> date | None:
        n = int(first[min(futures - 1, math.floor(share * futures))])
        return model.last_day + timedelta(days=n + 1) if n < horizon_days else None

    tail = (1 - confidence) / 2
    return Crossing(threshold, day(0.5), day(tail), day(1 - tail), float(crosses.mean()))


@dataclass(frozen=True, slots=True)
class Backtest:
    """How a forecast made earlier would have done on the days that followed."""

    days: int
    covered: float
    error_percent_mean: float


def backtest(
    history: Sequence[tuple[date, float]],
    holdout_days: int,
    *,
    growth: Growth = Growth.LINEAR,
    confidence: float = 0.9,
) -> Backtest:
    """Fit without the last days, forecast them, and compare: the history's own test of its interval."""
    within(1, max(1, len(history) - DAYS_MIN), holdout_days=holdout_days)
    known, rest = history[:-holdout_days], dict(history[-holdout_days:])
    model = fit(known, growth=growth)
    ahead = (history[-1][0] - model.last_day).days
    pairs = [(one, rest[one.day]) for one in forecast(model, ahead, confidence=confidence) if one.day in rest]
    covered = sum(one.low <= actual <= one.high for one, actual in pairs) / len(pairs)
    errors = [abs(one.expected - actual) / abs(actual) for one, actual in pairs if actual]
    return Backtest(len(pairs), covered, 100 * sum(errors) / len(errors) if errors else math.nan)


def student_t(probability: float, freedom: int) -> float:
    """Quantile of Student's t: Cornish and Fisher's expansion around the normal, good to 0.01 from 8 degrees on."""
    within(0.0005, 0.9995, probability=probability)
    at_least(8, freedom=freedom)
    z = NormalDist().inv_cdf(probability)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1_482 * z**5 - 1_920 * z**3 - 945 * z) / 92_160,
    )
    return z + math.fsum(term / freedom**n for n, term in enumerate(terms, start=1))


def _checked(history: Sequence[tuple[date, float]], growth: Growth) -> tuple[Vector, Vector]:
    if len(history) < DAYS_MIN:
        told = "1 day" if len(history) == 1 else f"{len(history)} days"
        raise OutOfRangeError(f"{told} of history; a forecast takes {DAYS_MIN} or more")
    days = np.array([day.toordinal() for day, _ in history], dtype=np.float64)
    values = np.array([value for _, value in history], dtype=np.float64)
    if not (np.diff(days) > 0).all():
        raise OutOfRangeError("history: days must ascend, each at least 1 day after the one before")
    if not np.isfinite(values).all():
        raise OutOfRangeError("history: a value is not a finite number; leave days without a figure out")
    at_least(WEEK, days_of_the_week_seen=len({day.weekday() for day, _ in history}))
    if growth is Growth.COMPOUND:
        if not (values > 0).all():
            raise OutOfRangeError(f"history: value {values.min():g} is outside: more than 0 for compound growth")
        values = np.log(values)
    return days, values


def _design(days: Vector, origin: float) -> Vector:
    """One row for each day: days from the origin, and a one for its day of the week (ordinal 1 was a Monday)."""
    week = np.zeros((len(days), WEEK))
    week[np.arange(len(days)), (days.astype(np.int64) - 1) % WEEK] = 1
    return np.column_stack((days - origin, week))


def _whitened_fit(rows: Vector, values: Vector, days: Vector, lag: float) -> tuple[Vector, Vector, float, float]:
    """Generalised least squares for one lag: coefficients, their covariance, noise, restricted log likelihood (G2)."""
    memory = lag ** np.diff(days)
    left = np.sqrt(1 - memory**2)
    white_rows, white = rows.copy(), values.copy()
    white_rows[1:] = (rows[1:] - memory[:, None] * rows[:-1]) / left[:, None]
    white[1:] = (values[1:] - memory * values[:-1]) / left
    inverse: Vector = np.linalg.inv(white_rows.T @ white_rows).astype(np.float64)
    coefficients = inverse @ white_rows.T @ white
    residual = white - white_rows @ coefficients
    freedom = len(values) - PARAMETERS
    least = max(EXACT * float(np.abs(values).max()), TINY) ** 2
    variance = max(float(residual @ residual) / freedom, least)
    determinant = float(np.linalg.slogdet(inverse)[1])
    likelihood = -0.5 * freedom * math.log(variance) - float(np.log(left).sum()) + 0.5 * determinant
    return coefficients, inverse, math.sqrt(variance), likelihood


def _rows_ahead(model: Model, horizon_days: int) -> tuple[Vector, Vector]:
    """Design rows of the next days, and what is left of the last day's noise on each."""
    last = model.last_day.toordinal()
    ahead = np.arange(1, horizon_days + 1, dtype=np.float64)
    return _design(last + ahead, float(last)), model.lag**ahead


def _ahead(model: Model, horizon_days: int) -> tuple[Vector, Vector]:
    """Middle and standard error of the next days, on the scale of the fit (G3)."""
    rows, memory = _rows_ahead(model, horizon_days)
    unknown = rows - memory[:, None] * model.last_row
    learnt = np.einsum("ij,jk,ik->i", unknown, model.covariance, unknown)
    middle = rows @ model.coefficients + memory * model.last_residual
    return middle, model.noise * np.sqrt(1 - memory**2 + learnt)


def _draw(model: Model, horizon_days: int, futures: int, rng: np.random.Generator) -> Vector:
    """Futures, one to a row: trend and week drawn within what is known of them, then the noise day by day."""
    rows, _ = _rows_ahead(model, horizon_days)
    noise = model.noise * np.sqrt(model.freedom / rng.chisquare(model.freedom, futures))
    off = rng.standard_normal((futures, PARAMETERS)) @ np.linalg.cholesky(model.covariance).T * noise[:, None]
    residual = model.last_residual - off @ model.last_row
    out = (model.coefficients + off) @ rows.T
    for n in range(horizon_days):
        fresh = rng.standard_normal(futures) * noise * math.sqrt(1 - model.lag**2)
        residual = model.lag * residual + fresh
        out[:, n] += residual
    return _scale(model.growth, out)


def _scale(growth: Growth, values: Vector) -> Vector:
    """Back from logarithms; what grows beyond every number is infinite."""
    if growth is Growth.LINEAR:
        return values
    with np.errstate(over="ignore"):
        return np.exp(values)


def _check_horizon(horizon_days: int, confidence: float) -> None:
    within(1, HORIZON_DAYS_MAX, horizon_days=horizon_days)
    within(0.5, 0.998, confidence=confidence)
