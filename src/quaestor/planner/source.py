"""Where a figure comes from: every formula and table carries its place in the papers.

Rules
  S1  A formula is a pure function decorated with `@formula`; what it computed can be cited (item, lines).
  S2  A table is data with its source; a value between two rows is interpolated only where `between` is asked.
  S3  A value outside a table's range is refused with the valid range, never extrapolated in silence.

Called by every module of the planner, and by the advisor to cite.  Calls nothing.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Source:
    """A place in the papers: extract and item as the extracts number them, lines of the paper."""

    extract: str
    item: str
    lines: str

    def __str__(self) -> str:
        return f"{self.extract} {self.item} [{self.lines}]"


FORMULAS: dict[str, Source] = {}


def formula(extract: str, item: str, lines: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a pure function as a formula of the papers (S1)."""

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        FORMULAS[f"{function.__module__.rpartition('.')[2]}.{function.__name__}"] = Source(extract, item, lines)
        return function

    return mark


class OutOfRangeError(ValueError):
    """A value that no table or formula of the papers covers; the text says which range is valid."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the papers: named columns, rows in ascending order of the first column."""

    name: str
    source: Source
    columns: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]

    def column(self, name: str) -> tuple[float, ...]:
        at = self.columns.index(name)
        return tuple(row[at] for row in self.rows)

    def exactly(self, key: float, name: str) -> float:
        """The printed value in the row whose first column equals `key`."""
        for row in self.rows:
            if row[0] == key:
                return row[self.columns.index(name)]
        raise OutOfRangeError(f"{self.name}: no row {self.columns[0]} = {key:g}; rows are {self._keys()}")

    def between(self, key: float, name: str) -> float:
        """The value at `key`, linear between the two rows around it (S2, S3)."""
        keys, values = self.column(self.columns[0]), self.column(name)
        if not keys[0] <= key <= keys[-1]:
            valid = f"{keys[0]:g} to {keys[-1]:g}"
            raise OutOfRangeError(f"{self.name}: {self.columns[0]} {key:g} is outside {valid}")
        after = min(bisect_right(keys, key), len(keys) - 1)
        share = (key - keys[after - 1]) / (keys[after] - keys[after - 1])
        return values[after - 1] + share * (values[after] - values[after - 1])

    def _keys(self) -> str:
        return ", ".join(f"{row[0]:g}" for row in self.rows)
