"""A formula of the planner over columns, one row after the other.

Rules
  W1  A figure is not known where an argument is not, or where the formula refuses its arguments.

Called by the rules.  Calls rows; the planner stands behind the formulas.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from quaestor.advisor.rows import Array, Floats
from quaestor.planner.source import OutOfRangeError


def by_row(formula: Callable[..., float], *columns: Array) -> Floats:
    """The formula's value for each row, its arguments in the order of the columns (W1)."""
    return np.array([_one(formula, each) for each in zip(*columns, strict=True)], np.float64)


def _one(formula: Callable[..., float], arguments: tuple[Any, ...]) -> float:
    if any(each is None or each != each for each in arguments):  # noqa: PLR0124  NaN differs from itself
        return float("nan")
    try:
        return float(formula(*arguments))
    except OutOfRangeError:
        return float("nan")
