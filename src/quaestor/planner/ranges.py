"""Values the papers' formulas refuse, and the text of the refusal.

Rules
  V1  A refusal names the quantity, the value given and the range that would have been accepted.
  V2  A refusal is an `OutOfRangeError`, the same type a table raises outside its rows.

Called by the formulas of chapters 4 to 11.  Calls source.
"""

import math
from collections.abc import Iterable

from quaestor.planner.source import OutOfRangeError


def at_least(low: float, **values: float) -> None:
    """Each named value must be a number and at least `low`."""
    for name, value in values.items():
        if not value >= low:
            raise OutOfRangeError(f"{name} {value:.10g} is outside {low:.10g} and above")


def above(low: float, **values: float) -> None:
    """Each named value must be a finite number greater than `low`."""
    for name, value in values.items():
        if not low < value < math.inf:
            raise OutOfRangeError(f"{name} {value:.10g} is outside: more than {low:.10g}")


def within(low: float, high: float, **values: float) -> None:
    """Each named value must lie between `low` and `high`, both included."""
    for name, value in values.items():
        if not low <= value <= high:
            raise OutOfRangeError(f"{name} {value:.10g} is outside {low:.10g} to {high:.10g}")


def one_of(known: Iterable[str], **values: str) -> None:
    """Each named value must be one of the known names."""
    names = list(known)
    for name, value in values.items():
        if value not in names:
            raise OutOfRangeError(f"{name} {value!r} is not one of {', '.join(names)}")
