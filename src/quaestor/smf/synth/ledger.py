"""The ledger: what tasks did, added up per interval.

Accounting enters every column it writes; statistics read their counters from here. That is why the two kinds of
record agree: they are the same numbers, added up.

Called by accounting (enters) and by the statistics models (read).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


class Ledger:
    """Sums per interval, by group (queue, structure, task ...), name and figure."""

    def __init__(self, intervals: int) -> None:
        self.intervals = intervals
        self._sums: dict[tuple[str, object], dict[str, Counts]] = {}

    def enter(self, group: str, name: object, figures: Mapping[str, NDArray[Any]], interval: Counts) -> None:
        """Add figures of tasks, each of which belongs to an interval."""
        account = self._sums.setdefault((group, name), {})
        for figure, values in figures.items():
            summed = np.bincount(interval, weights=values, minlength=self.intervals)
            held = account.get(figure)
            account[figure] = np.rint(summed).astype(np.int64) + (0 if held is None else held)

    def sum(self, group: str, name: object, *figures: str) -> Counts:
        """The sum of some figures of one account; zero where nothing was entered."""
        account = self._sums.get((group, name), {})
        found = [account[figure] for figure in figures if figure in account]
        return np.sum(found, axis=0, dtype=np.int64) if found else np.zeros(self.intervals, np.int64)

    def total(self, group: str, *figures: str) -> Counts:
        """The sum of some figures over all accounts of a group."""
        found = [self.sum(group, name, *figures) for held, name in self._sums if held == group]
        return np.sum(found, axis=0, dtype=np.int64) if found else np.zeros(self.intervals, np.int64)

    def names(self, group: str) -> list[object]:
        """The accounts of a group, in the order in which they were opened."""
        return [name for held, name in self._sums if held == group]
