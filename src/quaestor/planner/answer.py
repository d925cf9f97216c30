"""Answers: a question of the papers' lists, the figure that answers it, and where the figure comes from.

Rules
  A1  A figure is what a formula gave for its inputs, and the answer keeps formula, inputs and result: whoever doubts it
      can call the formula again.
  A2  A question that a workload cannot answer is not left out: it says what is missing, or which range was left.  What
      one queue, page set or structure lacks does not silence the others.
  A3  Head-room is what is left of a limit, in percent of it; below 0 the limit is passed.  What is at its limit but for
      the last digits of a floating-point number is at it.

Called by the questions, which make answers, and by plan, which gathers them.  Calls quantity, source.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar

from quaestor.planner.quantity import show_bytes, show_seconds
from quaestor.planner.source import FORMULAS, OutOfRangeError, Source, Table

DECIMALS = 9  # of a percentage that count


class Unit(Enum):
    """What a figure counts; the value stands behind it."""

    BYTES = "bytes"
    BYTES_PER_S = "bytes/s"
    MIB_PER_S = "MiB/s"
    KB = "KB"
    MB = "MB"
    MIB = "MiB"
    SECONDS = "s"
    MINUTES = "min"
    HOURS = "h"
    MS = "ms"
    US = "us"
    MESSAGES = "messages"
    PER_S = "/s"
    PAGES = "pages"
    BUFFERS = "buffers"
    PERCENT = "%"
    COUNT = ""
    TEXT = "text"
    FLAG = "yes or no"


class MissingError(Exception):
    """What a workload must say before a question can be answered (A2)."""


@dataclass(frozen=True, slots=True)
class HeadRoom:
    """A limit and how much of it is used (A3)."""

    what: str
    used: float
    limit: float

    @property
    def percent(self) -> float:
        if self.limit <= 0:
            return 0.0 if self.used == 0 else float("-inf")
        return round(100 * (1 - self.used / self.limit), DECIMALS) + 0.0  # no -0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """One figure for one question; `about` says of which queue, channel or structure (A1)."""

    number: str
    question: str
    about: str
    value: Any
    unit: Unit
    formula: str
    inputs: Mapping[str, Any]
    source: Source
    result: Any = field(repr=False)
    head_room: HeadRoom | None = None
    what: str = ""

    @property
    def shown(self) -> str:
        return show(self.value, self.unit)

    def as_plain(self) -> dict[str, Any]:
        """For other programs: values as they are."""
        room = self.head_room
        return {
            "number": self.number,
            "question": self.question,
            "about": self.about,
            "what": self.what,
            "value": plain(self.value),
            "unit": self.unit.value,
            "shown": self.shown,
            "formula": self.formula,
            "inputs": {name: plain(value) for name, value in self.inputs.items()},
            "source": str(self.source),
            "head_room": None
            if room is None
            else {"limit_of": room.what, "used": room.used, "limit": room.limit, "percent": _finite(room.percent)},
        }


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A question this workload cannot answer, and why (A2)."""

    number: str
    question: str
    why: str
    about: str = ""

    @property
    def said(self) -> str:
        """Why not, after the name of the thing where it is about one."""
        return f"{self.about}: {self.why}" if self.about else self.why


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure on its way to an answer: everything but the question."""

    value: Any
    unit: Unit
    formula: str
    inputs: Mapping[str, Any]
    source: Source
    result: Any
    about: str = ""
    what: str = ""
    head_room: HeadRoom | None = None

    def answers(self, number: str, question: str) -> Answer:
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return Answer(number=number, question=question, **given)


@dataclass(frozen=True, slots=True)
class Refused:
    """A figure that its formula refused, in the formula's own words (A2)."""

    about: str
    why: str


Figures = Iterator[Figure | Refused]
T = TypeVar("T")


def figure(
    function: Callable[..., Any],
    unit: Unit,
    *,
    about: str = "",
    what: str = "",
    pick: Callable[[Any], Any] | None = None,
    head_room: Callable[[Any], HeadRoom] | None = None,
    **inputs: Any,
) -> Figure | Refused:
    """What a formula gives for its inputs, with its place in the papers (A1), or why not (A2).

    `pick` takes the figure out of the formula's result.
    """
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
    try:
        result = function(**inputs)
    except OutOfRangeError as error:
        return Refused(about, str(error))
    value = pick(result) if pick else result
    room = head_room(value) if head_room else None
    return Figure(value, unit, name, inputs, FORMULAS[name], result, about, what, room)


def each_apart(things: Iterable[T], about: Callable[[T], str], figures: Callable[[T], Figures]) -> Figures:
    """The figures of each thing; one that lacks something, or that a formula refuses, says so by itself (A2)."""
    for thing in things:
        try:
            yield from figures(thing)
        except (MissingError, OutOfRangeError) as error:
            yield Refused(about(thing), str(error))


def looked_up(
    place: str, table: Table, key: float, column: str, unit: Unit, *, about: str = "", what: str = ""
) -> Figure:
    """What a table of the papers has at `key`, between its rows where need be; `place` is where the table lives."""
    value = table.between(key, column)
    return Figure(value, unit, place, {table.columns[0]: key, "column": column}, table.source, value, about, what)


def show(value: Any, unit: Unit) -> str:
    """A value as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple) and all(isinstance(each, int | float) for each in value):
        return " to ".join(dict.fromkeys(show(each, unit) for each in value))
    if not isinstance(value, int | float):
        return str(value)
    if unit in {Unit.BYTES, Unit.BYTES_PER_S}:
        return show_bytes(value) + ("/s" if unit is Unit.BYTES_PER_S else "")
    if unit in {Unit.SECONDS, Unit.MINUTES}:
        return show_seconds(value * 60 if unit is Unit.MINUTES else value)
    return f"{_figures(value)}{'' if unit is Unit.PER_S else ' '}{unit.value}".rstrip()


def plain(value: Any) -> Any:
    """A value for JSON: enumerations by name, dataclasses as tables, the rest as it is."""
    if isinstance(value, Enum):
        return value.name
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain(each) for each in value]
    return _finite(value) if isinstance(value, float) else value


def _finite(value: float) -> float | None:
    return value if abs(value) != float("inf") else None


def _figures(value: float) -> str:
    """Whole numbers whole, others with three figures that count."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
