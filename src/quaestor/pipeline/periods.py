"""The period plan: which shift of which system a moment belongs to.

A plan is TOML, the first rule that fits wins:

    [[period]]
    name = "PRIME"
    systems = "*"            # a name, or a pattern with * and ?
    days = "mon-fri"         # a day, a range, or a list with commas
    from = "08:00"
    to = "18:00"             # exclusive; "24:00" ends the day

Rules
  T1  What is no plan is refused with the file, the number of the rule and the reason. A key that is not known is a
      typing error: left out in silence, its rule would be for every system or every day.
  T2  A system's name must fit the pattern as a whole: `PR` is the system PR and no other.

Called by compilation (the function PERIOD).  Calls expressions.
"""

import re
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from quaestor import toml_text
from quaestor.pipeline.expressions import Tree, apply

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_KEYS = ("name", "systems", "days", "from", "to")


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
    """The plan in a file (T1)."""
    try:
        plan = toml_text.tables(toml_text.text_of(path))
        rules = plan.pop("period", [])
        if plan or not isinstance(rules, list) or not all(isinstance(each, dict) for each in rules):
            raise PeriodPlanError("a plan is made of [[period]] tables and nothing else")
        return PeriodPlan(tuple(_rule(number, each) for number, each in enumerate(rules, 1)))
    except OSError as error:
        raise PeriodPlanError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise PeriodPlanError(f"{path}: {error}") from None


def _rule(number: int, rule: dict[str, Any]) -> Period:
    given = {"systems": "*", "days": "mon-sun", **rule}
    for key in _KEYS:
        if not isinstance(given.get(key), str):
            raise PeriodPlanError(f"period {number}: {key} is needed, as a text")
    unknown = sorted(set(given) - set(_KEYS))
    if unknown:
        raise PeriodPlanError(f"period {number} knows no {unknown[0]!r}; valid are {', '.join(_KEYS)}")
    try:
        made = Period(
            given["name"], given["systems"], _days(given["days"]), _hundredths(given["from"]), _hundredths(given["to"])
        )
    except ValueError as error:
        raise PeriodPlanError(f"period {number}: {error}") from None
    if made.begin >= made.end:
        raise PeriodPlanError(f"period {number}: from {given['from']} is not before to {given['to']}")
    return made


def _hundredths(text: str) -> int:
    found = re.fullmatch(r"(\d{1,2})(?::([0-5]?\d))?", text.strip(), re.ASCII)
    minutes = int(found[1]) * 60 + int(found[2] or 0) if found else -1
    if not 0 <= minutes <= 1440:
        raise ValueError(f"{text} is no time of day")
    return minutes * 6000


def _days(text: str) -> frozenset[int]:
    days: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        begin, end = _day(first), _day(last or first)
        days.update(range(begin, end + 1) if begin <= end else [*range(begin, 7), *range(end + 1)])
    return frozenset(days)


def _day(text: str) -> int:
    """A day of the week: three letters of its name or more."""
    name = text.strip().lower()
    for number, day in enumerate(_DAYS):
        if len(name) >= 3 and day.startswith(name):
            return number
    raise ValueError(f"{text.strip() or 'nothing'} is no day of the week")


DEFAULT_PLAN = PeriodPlan(
    (
        Period("PRIME", "*", frozenset(range(5)), 8 * 360_000, 18 * 360_000),
        Period("NIGHT", "*", frozenset(range(5)), 0, 24 * 360_000),
        Period("WEEKEND", "*", frozenset({5, 6}), 0, 24 * 360_000),
    )
)
