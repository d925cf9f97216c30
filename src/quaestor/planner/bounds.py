"""The range in which a formula's argument has a meaning, and the error that names it.

Rules
  R1  An impossible argument is refused before anything is computed; the text names the argument and its valid range.
  R2  What passes is returned unchanged, so that a check can stand where the value is used.

Called by the sizing and cost modules of the planner.  Calls source.
"""

from collections.abc import Collection
from typing import TypeVar

from quaestor.planner.source import OutOfRangeError

Number = TypeVar("Number", int, float)
Choice = TypeVar("Choice", str, int)


def at_least(low: float, name: str, value: Number) -> Number:
    """`value`, which must be `low` or more (R1, R2)."""
    if not value >= low:
        raise OutOfRangeError(f"{name} {value:.12g} is outside {low:.12g} and above")
    return value


def above(low: float, name: str, value: Number) -> Number:
    """`value`, which must be more than `low`: a rate or a size that is divided by (R1, R2)."""
    if not value > low:
        raise OutOfRangeError(f"{name} {value:.12g} must be above {low:.12g}")
    return value


def within(low: float, high: float, name: str, value: Number) -> Number:
    """`value`, which must lie from `low` to `high`, both included (R1, R2)."""
    if not low <= value <= high:
        raise OutOfRangeError(f"{name} {value:.12g} is outside {low:.12g} to {high:.12g}")
    return value


def one_of(choices: Collection[Choice], name: str, value: Choice) -> Choice:
    """`value`, which must be one of the names or numbers the paper has figures for (R1, R2)."""
    if value not in choices:
        raise OutOfRangeError(f"{name} {value} has no figures; valid are {', '.join(map(str, choices))}")
    return value
