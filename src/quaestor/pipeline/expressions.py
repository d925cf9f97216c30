"""Expressions of update definitions after checking: a small tree that knows its meaning but no engine.

Rules
  E1  A tree is made of columns, constants and applications of a few named functions. Whoever evaluates it (Spark
      columns in spark_expressions, Arrow arrays in arrow_expressions) has an entry for each name of `FUNCTIONS`; a test
      holds the three lists together, others the results.
  E2  Nothing is ever an error while rows are read: what has no value is null, and null in gives null out, except where
      a function is about null (`is_null`, `coalesce`, `case`, and the three-valued `and`, `or`).
      A number that an integer does not hold, and a day before the year 1 or after 9999, have no value.
  E3  A time is hundredths of a second since midnight, a day number counts 0001-01-01 as 1.

Called by compilation, periods and both evaluations.  Calls nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

DAY_NUMBER_1970, DAY_NUMBER_LAST = 719_163, 3_652_059

FUNCTIONS: Mapping[str, str] = {
    "add": "left, right: the sum",
    "subtract": "left, right: the difference",
    "multiply": "left, right: the product",
    "divide": "left, right: the quotient as double; null when right is 0",
    "whole_quotient": "left, right: the quotient of integers towards zero; null when right is 0",
    "=": "left, right",
    "<>": "left, right",
    "<": "left, right",
    ">": "left, right",
    "<=": "left, right",
    ">=": "left, right",
    "and": "left, right: three-valued",
    "or": "left, right: three-valued",
    "not": "value",
    "is_null": "value",
    "coalesce": "values: the first that is not null",
    "case": "test, result, test, result, ..., otherwise: the result of the first test that is true",
    "null": "no value",
    "integer": "value as integer",
    "double": "value as double",
    "text": "integer, date or text as text",
    "concat": "left, right",
    "substring": "text, first character counted from 1, number of characters",
    "like": "text, pattern with % and _",
    "minute_before": "timestamp: one minute earlier",
    "date_of": "timestamp: its date",
    "time_of": "timestamp: its time of day (E3)",
    "time_text": "time as HH:MM:SS.hh",
    "day": "date: the day of its month",
    "month": "date",
    "year": "date",
    "week": "date: the ISO week",
    "weekday": "date: Monday is 0",
    "day_number": "date: its day number (E3)",
    "date_of_number": "day number: its date",
    "add_days": "date, days",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a raw table; `inside` names the array whose elements it is taken from."""

    structure: str
    name: str
    inside: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """A number or a text."""

    value: int | float | str


@dataclass(frozen=True, slots=True)
class Apply:
    """A function and what it is applied to (E1)."""

    function: str
    arguments: tuple["Tree", ...] = ()


Tree = Column | Constant | Apply


def apply(function: str, *arguments: Tree | float | str) -> Apply:
    """An application; plain values become constants."""
    made = tuple(each if isinstance(each, Column | Constant | Apply) else Constant(each) for each in arguments)
    return Apply(function, made)


def columns_in(tree: Tree) -> Iterator[Column]:
    """Every column a tree reads."""
    if isinstance(tree, Column):
        yield tree
    elif isinstance(tree, Apply):
        for each in tree.arguments:
            yield from columns_in(each)
