"""The period plan: which shift of which system a moment belongs to.

A plan is TOML, the first rule that fits wins:

    [[period]]
    name = "PRIME"
    systems = "*"            # a name, or a pattern with *
    days = "mon-fri"         # a day, a range, or a list with commas
    from = "08:00"
    to = "18:00"             # exclusive; "24:00" ends the day

A system's name must fit the pattern as a whole: `PR` is the system PR and no other.

Called by compilation (the function PERIOD).  Calls expressions.
"""

import tomllib
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from quaestor.pipeline.expressions import Tree, apply

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

    def tree(self, system: Tree, day: Tree, hundredths: Tree) -> Tree:
        """The period's name, null when no rule fits."""
        branches: list[Tree | str] = []
        for each in self.periods:
            branches += [_fits(each, system, apply("weekday", day), hundredths), each.name]
        return apply("case", *branches, apply("null")) if branches else apply("text", apply("null"))


def _fits(rule: Period, system: Tree, weekday: Tree, hundredths: Tree) -> Tree:
    tests = [
        reduce(lambda left, right: apply("or", left, right), [apply("=", weekday, day) for day in sorted(rule.days)]),
        apply(">=", hundredths, rule.begin),
        apply("<", hundredths, rule.end),
    ]
    if rule.systems != "*":
        tests.append(apply("like", system, _pattern(rule.systems)))
    return reduce(lambda left, right: apply("and", left, right), tests)


def _pattern(systems: str) -> str:
    escaped = systems.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return escaped.replace("*", "%").replace("?", "_")


def read_plan(path: Path) -> PeriodPlan:
    try:
        rules = tomllib.loads(path.read_text(encoding="utf-8-sig")).get("period", [])
        return PeriodPlan(tuple(_rule(number, each) for number, each in enumerate(rules, 1)))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
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
