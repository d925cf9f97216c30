"""Values that make no sense are refused at the door, with the range that does.

Rules
  N1  A value below its floor, above its ceiling, infinite or not a number raises `OutOfRangeError`.
  N2  The text names the argument, the value and what is valid.

Called by every formula that takes a figure from outside.  Calls source for the error alone.
"""

from collections.abc import Iterable
from math import isfinite

from quaestor.planner.source import OutOfRangeError


def at_least(low: float, /, **values: float) -> None:
    """Refuse every named value below `low` (N1, N2)."""
    for name, value in values.items():
        if not (isfinite(value) and value >= low):
            raise OutOfRangeError(f"{name} {value:.12g} is not valid: {low:.12g} or more")


def above(low: float, /, **values: float) -> None:
    """Refuse every named value at or below `low` (N1, N2)."""
    for name, value in values.items():
        if not (isfinite(value) and value > low):
            raise OutOfRangeError(f"{name} {value:.12g} is not valid: more than {low:.12g}")


def within(low: float, high: float, /, **values: float) -> None:
    """Refuse every named value outside `low` to `high`, both included (N1, N2)."""
    for name, value in values.items():
        if not low <= value <= high:
            raise OutOfRangeError(f"{name} {value:.12g} is not valid: {low:.12g} to {high:.12g}")


def one_of(known: Iterable[str | int], /, **values: str | int) -> None:
    """Refuse every named value that is none of those there are figures for (N2)."""
    valid = list(known)
    for name, value in values.items():
        if value not in valid:
            raise OutOfRangeError(f"{name} {value} is not valid: {', '.join(map(str, valid))}")
