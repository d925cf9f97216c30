"""Traces: which kinds and classes of SMF data are being collected, as START, STOP and DISPLAY TRACE see them.

Rules
  TR1 Each START TRACE is a trace of its own with a number (TNO); a class is collected while any trace has it.
  TR2 STOP TRACE ends the named classes in every trace of the kind, all of them when none is named; a trace without
      classes left is over.
"""

from collections.abc import Collection
from dataclasses import dataclass

from quaestor.qmgr.statistics.settings import CLASSES, TraceError, checked

DESTINATION = "SMF"


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One trace, as DISPLAY TRACE tells it."""

    number: int
    kind: str
    classes: tuple[int, ...]
    destination: str = DESTINATION
    user: str = "*"


class Traces:
    """The traces of one queue manager (TR1, TR2)."""

    def __init__(self) -> None:
        self._rows: dict[int, TraceRow] = {}

    def start(self, kind: str, classes: Collection[int] = (), destination: str = DESTINATION) -> int:
        """Begin a trace; its number."""
        known, wanted = checked(kind, classes)
        number = next(n for n in range(1, len(self._rows) + 2) if n not in self._rows)
        self._rows[number] = TraceRow(number, known, tuple(sorted(wanted)), destination)
        return number

    def stop(self, trace: int | str, classes: Collection[int] = ()) -> list[int]:
        """End a trace by its number, or classes of a kind (TR2); the numbers of the traces that had any."""
        if isinstance(trace, int):
            ended = self._rows.pop(trace, None)
            if ended is None:
                raise TraceError(f"there is no trace {trace}")
            return [trace]
        known, _ = checked(trace, classes)
        ending = frozenset(classes) or CLASSES[known]
        touched = [row for row in self._rows.values() if row.kind == known and ending & set(row.classes)]
        for row in touched:
            left = tuple(one for one in row.classes if one not in ending)
            if left:
                self._rows[row.number] = TraceRow(row.number, known, left, row.destination)
            else:
                del self._rows[row.number]
        return [row.number for row in touched]

    def display(self) -> list[TraceRow]:
        """Every trace, by number."""
        return [self._rows[number] for number in sorted(self._rows)]

    def classes(self, kind: str) -> frozenset[int]:
        """The classes of a kind that are being collected."""
        return frozenset(one for row in self._rows.values() if row.kind == kind for one in row.classes)
