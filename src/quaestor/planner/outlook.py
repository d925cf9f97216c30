"""What growth does to the limits of a queue manager: which is reached when, in a sentence.

Rules
  O1  Rates grow by the same percentage each day, where all days are above 0; shares of a pool or page set grow by as
      much each day, for they end at 100 %.
  O2  A limit is one the papers give: an active log that lasts 30 minutes, 15 % stealable buffers, a page set that is
      full to 90 % and expands.
  O3  A sentence says when in the middle of the futures the limit is reached, and between which days with what
      confidence; a limit that less than one future in twenty reaches is said not to be reached.
  O4  A figure that was passed on most of the last week's working days is said to be passed now: there is nothing to
      forecast.
  O5  The forecast is tried on the history itself where there is enough of it, and says how that went.

Called by the plan's commands, with what the lake counted.  Calls forecast, logs.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from quaestor.planner.buffer_flow import DEFERRED_WRITE_BELOW
from quaestor.planner.forecast import (
    WEEK,
    Backtest,
    Crossing,
    Growth,
    Model,
    backtest,
    first_crossing,
    fit,
)
from quaestor.planner.logs import LOG_BYTES_MAX
from quaestor.planner.quantity import MINUTE_S, show_bytes
from quaestor.planner.source import OutOfRangeError

LOG_LASTS_S = 30 * MINUTE_S
PAGE_SET_EXPANDS_PERCENT = 90.0
POOL_USED_PERCENT = float(100 * (1 - DEFERRED_WRITE_BELOW))
UNLIKELY = 0.05
SOON_DAYS = 60

Daily = Mapping[date, float]


@dataclass(frozen=True, slots=True)
class Limit:
    """A threshold of a figure and what passing it means (O2)."""

    figure: str
    threshold: float
    passed: str
    subject: str


@dataclass(frozen=True, slots=True)
class Outlook:
    """Where one figure is heading (O3, O5)."""

    limit: Limit
    model: Model
    crossing: Crossing
    last: float
    tried: Backtest | None
    confidence: float
    horizon_days: int
    passed_now: bool

    @property
    def per_week(self) -> str:
        """Growth in a week, as people say it."""
        if self.model.growth is Growth.COMPOUND:
            return f"{100 * math.expm1(WEEK * self.model.trend_per_day):+z.1f} % a week"
        week = self.model.trend_per_day * WEEK
        if self.limit.figure == "log_bytes_per_s":
            return f"{'-' if week < 0 else '+'}{show_bytes(abs(week))}/s a week"
        return f"{week:+z.3g}/s a week" if self.limit.figure.endswith("_per_s") else f"{week:+z.2f} points a week"

    @property
    def sentence(self) -> str:
        passed = self.limit.passed
        if self.passed_now:
            return f"{passed} already ({self.per_week})"
        if self.crossing.probability < UNLIKELY:
            return f"no sign that {passed} within {self.horizon_days} days ({self.per_week})"
        percent = round(100 * self.confidence)
        last_day = self.model.last_day
        if self.crossing.expected is None:
            chance = round(100 * self.crossing.probability)
            return f"{passed} within {self.horizon_days} days with a chance of {chance} % ({self.per_week})"
        early, late = (
            "later than the forecast reaches" if day is None else said(day, last_day)
            for day in (self.crossing.earliest, self.crossing.latest)
        )
        when = said(self.crossing.expected, last_day)
        return f"{passed} from about {when} ({percent} %: {early} to {late}; {self.per_week})"

    @property
    def trial(self) -> str:
        """How the forecast would have done on the history's last days (O5)."""
        if self.tried is None:
            return "too little history to try the forecast on itself"
        held = round(self.tried.covered * self.tried.days)
        error = self.tried.error_percent_mean
        off = "" if math.isnan(error) else f", {error:.1f} % off on average"  # of zeros no percentage is known
        return f"tried on the last {self.tried.days} days: {held} of them in the interval{off}"


def limits(figures: Mapping[str, Daily], *, log_bytes: int | None = None) -> Iterator[Limit]:
    """The limits that the figures of a lake can reach (O2)."""
    size = log_bytes or LOG_BYTES_MAX
    logs = f"active logs of {show_bytes(size)}{'' if log_bytes else ', the largest there are,'}"
    for name in figures:
        kind, _, number = name.removesuffix("_percent").rpartition("_")
        if name == "log_bytes_per_s":
            yield Limit(name, size / LOG_LASTS_S, f"{logs} fill in under 30 minutes", "log bytes of the busiest hour")
        elif kind == "buffer_pool":
            subject = f"buffer pool {number}"
            yield Limit(name, POOL_USED_PERCENT, f"{subject} has less than 15 % stealable", subject)
        elif kind == "page_set":
            subject = f"page set {number}"
            yield Limit(name, PAGE_SET_EXPANDS_PERCENT, f"{subject} is 90 % full and expands", subject)


def message_limit(figures: Mapping[str, Daily], per_s: float) -> Limit | None:
    """A rate of messages that someone knows to be the most."""
    passed = f"more than {per_s:g} calls a second"
    return Limit("messages_per_s", per_s, f"there are {passed}", passed) if "messages_per_s" in figures else None


def outlook(
    daily: Daily, limit: Limit, *, horizon_days: int = 365, confidence: float = 0.9, growth: Growth | None = None
) -> Outlook:
    """What a figure's history says about its limit."""
    history = sorted(daily.items())
    chosen = growth or _growth(limit.figure, daily)
    model = fit(history, growth=chosen)
    return Outlook(
        limit,
        model,
        first_crossing(model, limit.threshold, horizon_days=horizon_days, confidence=confidence),
        history[-1][1],
        _tried(history, chosen, confidence),
        confidence,
        horizon_days,
        _passed_now([value for day, value in history if model.last_day - day < timedelta(days=WEEK)], limit.threshold),
    )


def said(day: date, last_day: date) -> str:
    """A day that is near, a month that is not; the year where it is another one."""
    if (day - last_day).days <= SOON_DAYS:
        return f"{day.day} {day:%B}" + ("" if day.year == last_day.year else f" {day.year}")
    return f"{day:%B}" + ("" if day.year == last_day.year else f" {day.year}")


def _growth(figure: str, daily: Daily) -> Growth:
    """O1."""
    by_percentage = figure.endswith("_per_s") and all(value > 0 for value in daily.values())
    return Growth.COMPOUND if by_percentage else Growth.LINEAR


def _tried(history: Sequence[tuple[date, float]], growth: Growth, confidence: float) -> Backtest | None:
    """The last week forecast from the weeks before it; None where those are too few to learn from (O5)."""
    try:
        return backtest(history, WEEK, growth=growth, confidence=confidence)
    except OutOfRangeError:
        return None


def _passed_now(last_week: list[float], threshold: float) -> bool:
    """O4: on four of the last seven days, or on all of them that have a figure."""
    over = sum(value >= threshold for value in last_week)
    return over >= min(4, len(last_week))
