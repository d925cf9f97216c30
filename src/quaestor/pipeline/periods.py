"""The period plan: which shift of which system a moment belongs to.

A plan is TOML, the first rule that fits wins:

    [[period]]
    name = "PRIME"
    systems = "*"            # a name, or a pattern with *
    days = "mon-fri"         # a day, a range, or a list with commas
    from = "08:00"
    to = "18:00"             # exclusive; "24:00" ends the day

Called by compilation (the function PERIOD).  Calls nothing.
"""

import tomllib
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class PeriodPlanError(ValueError):
    """A period plan that cannot be read; the text says which rule and why."""


@dataclass(frozen=True, slots=True)
class Period:
    """One rule: on these days, from hundredth to hundredth of the day, these systems are in this period."""

    name: str
    systems: str
    days: frozenset[int]
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class PeriodPlan:
    """Rules in order."""

    periods: tuple[Period, ...]

    def column(self, system: Column, day: Column, hundredths: Column) -> Column:
        """The period's name, null when no rule fits."""
        weekday = F.weekday(day)
        made: Column | None = None
        for each in self.periods:
            test = weekday.isin(*each.days) & (hundredths >= each.begin) & (hundredths < each.end)
            if each.systems != "*":
                test &= system.rlike(translate(each.systems))
            made = F.when(test, each.name) if made is None else made.when(test, each.name)
        return F.lit(None).cast("string") if made is None else made


def read_plan(path: Path) -> PeriodPlan:
    try:
        rules = tomllib.loads(path.read_text(encoding="utf-8")).get("period", [])
        return PeriodPlan(tuple(_rule(number, each) for number, each in enumerate(rules, 1)))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise PeriodPlanError(f"{path}: {error}") from None


def _rule(number: int, rule: dict[str, Any]) -> Period:
    try:
        begin, end = _hundredths(rule["from"]), _hundredths(rule["to"])
        made = Period(rule["name"], rule.get("systems", "*"), _days(rule.get("days", "mon-sun")), begin, end)
    except (KeyError, ValueError) as error:
        raise PeriodPlanError(f"period {number}: {error}") from None
    if begin >= end:
        raise PeriodPlanError(f"period {number}: from {rule['from']} is not before to {rule['to']}")
    return made


def _hundredths(text: str) -> int:
    hours, _, minutes = text.partition(":")
    value = int(hours) * 60 + int(minutes or 0)
    if not 0 <= value <= 1440:
        raise ValueError(f"{text} is no time of day")
    return value * 6000


def _days(text: str) -> frozenset[int]:
    days: set[int] = set()
    for part in text.lower().split(","):
        first, _, last = part.strip().partition("-")
        begin, end = _DAYS.index(first[:3]), _DAYS.index((last or first)[:3])
        days.update(range(begin, end + 1) if begin <= end else [*range(begin, 7), *range(end + 1)])
    return frozenset(days)


DEFAULT_PLAN = PeriodPlan(
    (
        Period("PRIME", "*", frozenset(range(5)), 8 * 360_000, 18 * 360_000),
        Period("NIGHT", "*", frozenset(range(5)), 0, 24 * 360_000),
        Period("WEEKEND", "*", frozenset({5, 6}), 0, 24 * 360_000),
    )
)
