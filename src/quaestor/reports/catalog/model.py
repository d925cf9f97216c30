"""What a report is: its name, what one row stands for, its columns with their units, its parameters.

Rules
  L1  A column has one name (CSV, JSON, SQL) and a heading (text, HTML); the heading of a paper's report is the paper's.
  L2  A unit says how a value is shown, never how it is computed.
  L3  A parameter is parsed before anything runs. A name or value that does not fit is an error that says what would.
  L4  A column that tells two of one name apart (the system of a queue manager) is for people only where there are two;
      other programs always get it.

Called by the catalog's lists, rendering and the door.  Calls nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import Any

WHOLE_MAX = 2**31 - 1  # Spark's limit on rows


class Unit(Enum):
    """What a column's figures are."""

    TEXT = ""
    COUNT = "count"
    PERCENT = "%"
    MICROSECONDS = "us"
    MICROSECONDS_E = "us, n.nE+nn"
    MILLISECONDS = "ms"
    SECONDS = "s"
    BYTES = "bytes"
    MEGABYTES = "MB"
    RATE = "per s"
    MEGABYTES_RATE = "MB/s"
    FIGURE = "figure"
    MONEY = "money"
    DATE = "date"
    JULIAN = "yyyyddd"
    TIME = "time"
    MOMENT = "moment"

    @property
    def is_number(self) -> bool:
        return self not in (Unit.TEXT, Unit.DATE, Unit.JULIAN, Unit.TIME, Unit.MOMENT)


class ReportError(ValueError):
    """A report, parameter or value that does not exist; the text says which would."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a report (L1)."""

    name: str
    unit: Unit = Unit.TEXT
    heading: str = ""
    tells_apart: str = ""
    """The column with the names that this one tells apart (L4)."""

    @property
    def title(self) -> str:
        return self.heading or self.name


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that a report can be given."""

    name: str
    about: str
    parse: Callable[[str], Any]
    default: Any = None

    def value(self, text: str) -> Any:
        try:
            return self.parse(text)
        except ValueError as error:
            raise ReportError(f"{self.name}={text}: {error}") from None


@dataclass(frozen=True, slots=True)
class Report:
    """One report: `grain` says what a row stands for, `source` where the papers have it."""

    name: str
    title: str
    grain: str
    columns: tuple[Column, ...]
    parameters: tuple[Parameter, ...]
    source: str = ""
    group: str = ""
    empty: str = "Nothing to show for what was asked."

    def arguments(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Every parameter with its value: what was given, parsed, over the defaults (L3)."""
        known = {each.name: each for each in self.parameters}
        for name in given:
            if name not in known:
                raise ReportError(f"report {self.name} has no parameter {name!r}{suggestion(name, known)}")
        made = {each.name: each.default for each in self.parameters}
        made.update({name: known[name].value(text) for name, text in given.items()})
        if made.get("from") is not None and made.get("to") is not None and made["from"] > made["to"]:
            raise ReportError(f"from={made['from']} is after to={made['to']}")
        return made


def suggestion(name: str, known: Mapping[str, Any]) -> str:
    """The end of an error message: what was meant, or what there is."""
    near = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(near)}?" if near else f"; there are {', '.join(known)}"


# --- kinds of values --------------------------------------------------------------------------------------------------


def day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError("a day such as 2026-03-31 is needed") from None


def number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("a number is needed") from None
    if not 0 <= value < float("inf"):
        raise ValueError("a number from 0 up is needed")
    return value


def whole(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:20]) <= WHOLE_MAX:
        raise ValueError(f"a whole number from 1 to {WHOLE_MAX} is needed")
    return int(text)


def yes_or_no(text: str) -> bool:
    if text.lower() not in ("yes", "no"):
        raise ValueError("yes or no is needed")
    return text.lower() == "yes"


def pattern(text: str) -> str:
    if not text:
        raise ValueError("a name is needed, * and ? stand for any characters")
    return text


def existing_file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise ValueError("no such file")
    return path


def one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"one of {', '.join(words)} is needed")
        return text

    return parse
