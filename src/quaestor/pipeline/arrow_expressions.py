"""Expression trees evaluated on Arrow tables, for tasks that have the rows in memory.

Rules
  H1  The result is an array as long as the table, whatever the tree is made of.
  H2  Texts of times are made once for each time, not once for each row.
  H3  LIKE is what SQL says it is. Arrow's own looks for both characters of an escaped backslash where one ends a
      pattern that begins with %, so a regular expression is matched.

Called by day_part, report_queries.  Calls Arrow.
"""

import operator
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from quaestor.pipeline.expressions import DAY_NUMBER_1970, DAY_NUMBER_LAST, Apply, Column, Constant, Tree

_US_PER_HUNDREDTH = 10_000
_US_PER_DAY = 86_400_000_000
_LARGEST = 1 << 63
_WILD = {"%": ".*", "_": "."}
Name = Callable[[Column], str]


def array_of(tree: Tree, rows: pa.Table, name: Name) -> pa.ChunkedArray | pa.Array:
    """The tree's value for each row (H1); `name` tells what a column is called in `rows`."""
    found = _value(tree, rows, name)
    return pa.repeat(found, len(rows)) if isinstance(found, pa.Scalar) else found


def _value(tree: Tree, rows: pa.Table, name: Name) -> Any:
    match tree:
        case Column():
            return rows[name(tree)]
        case Constant(value):
            return pa.scalar(value)
        case Apply("case", arguments):
            return _case([array_of(each, rows, name) for each in arguments])
        case Apply("substring" | "like" as function, (text, *constants)):
            values = [each.value for each in constants if isinstance(each, Constant)]
            return ARROW[function](_value(text, rows, name), *values)
        case Apply(function, arguments):
            return ARROW[function](*(_value(each, rows, name) for each in arguments))


def like(texts: Any, pattern: str) -> Any:
    """Where texts are like a pattern of SQL (H3); behind a backslash a character stands for itself."""
    parts, characters = [], iter(pattern)
    for character in characters:
        if character in _WILD:
            parts.append(_WILD[character])
        else:
            itself = next(characters, character) if character == "\\" else character
            parts.append(f"\\x{{{ord(itself):X}}}")
    return pc.match_substring_regex(texts, f"(?s)^{''.join(parts)}$")


def _divisor(value: Any) -> Any:
    if isinstance(value, pa.Scalar):
        return pa.scalar(None, value.type) if value.as_py() == 0 else value
    return _known_where(pc.not_equal(value, 0), value)


def _divide(left: Any, right: Any) -> Any:
    return pc.divide(_double(left), _double(_divisor(right)))


def _double(value: Any) -> Any:
    """Of an integer above 2**53 the nearest, as in Spark."""
    return value.cast(pa.float64(), safe=False)


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Both as doubles where one of them is: Arrow alone would refuse an integer that no double is equal to (E2)."""
    some = pa.types.is_floating(left.type) != pa.types.is_floating(right.type)
    return (_double(left), _double(right)) if some else (left, right)


def _compared(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: function(*_alike(left, right))


def _case(arguments: list[Any]) -> Any:
    *branches, otherwise = (each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each for each in arguments)
    tests = [pc.fill_null(each, False) for each in branches[::2]]
    last = [] if pa.types.is_null(otherwise.type) else [otherwise]
    return pc.case_when(pc.make_struct(*tests), *branches[1::2], *last)


def _time_of(stamp: Any) -> Any:
    us = stamp.cast(pa.timestamp("us", tz=stamp.type.tz)).cast(pa.int64())
    since_midnight = pc.subtract(us, pc.multiply(pc.divide(us, _US_PER_DAY), _US_PER_DAY))
    return pc.divide(since_midnight, _US_PER_HUNDREDTH)


def time_text(hundredths: Any) -> Any:
    """HH:MM:SS.hh (H2)."""
    if isinstance(hundredths, pa.Scalar):
        return _time_texts(pa.array([hundredths.as_py()], pa.int64()))[0]
    distinct = pc.unique(hundredths)
    return pc.take(_time_texts(distinct), pc.index_in(hundredths, distinct))


def _time_texts(times: pa.Array) -> pa.Array:
    def text(time: int | None) -> str | None:
        if time is None:
            return None
        return f"{time // 360_000 % 24:02d}:{time // 6000 % 60:02d}:{time // 100 % 60:02d}.{time % 100:02d}"

    return pa.array([text(each) for each in times.to_pylist()], pa.string())


def _known_where(test: Any, value: Any) -> Any:
    return pc.if_else(test, value, pa.scalar(None, value.type))


def _calculated(checked: Callable[[Any, Any], Any], exact: Callable[[int, int], int]) -> Callable[[Any, Any], Any]:
    """A calculation; row by row, once a result is larger than an integer: that one is null (E2)."""

    def held(left: int | None, right: int | None) -> int | None:
        made = None if left is None or right is None else exact(left, right)
        return made if made is not None and -_LARGEST <= made < _LARGEST else None

    def calculate(left: Any, right: Any) -> Any:
        left, right = _alike(left, right)
        try:
            return checked(left, right)
        except pa.ArrowInvalid:
            if isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar):
                return pa.scalar(None, pa.int64())
            values = (repeat(x.as_py()) if isinstance(x, pa.Scalar) else x.to_pylist() for x in (left, right))
            return pa.array(list(map(held, *values)), pa.int64())

    return calculate


def _day_number(day: Any) -> Any:
    return pc.add(day.cast(pa.int32()).cast(pa.int64()), DAY_NUMBER_1970)


def _date_of_number(number: Any) -> Any:
    inside = pc.and_(pc.greater_equal(number, 1), pc.less_equal(number, DAY_NUMBER_LAST))
    return pc.subtract(_known_where(inside, number), DAY_NUMBER_1970).cast(pa.int32()).cast(pa.date32())


def _number(part: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: part(value).cast(pa.int64())


ARROW: Mapping[str, Callable[..., Any]] = {
    "add": _calculated(pc.add_checked, operator.add),
    "subtract": _calculated(pc.subtract_checked, operator.sub),
    "multiply": _calculated(pc.multiply_checked, operator.mul),
    "divide": _divide,
    "whole_quotient": lambda left, right: pc.divide(left, _divisor(right)),
    "=": _compared(pc.equal),
    "<>": _compared(pc.not_equal),
    "<": _compared(pc.less),
    ">": _compared(pc.greater),
    "<=": _compared(pc.less_equal),
    ">=": _compared(pc.greater_equal),
    "and": pc.and_kleene,
    "or": pc.or_kleene,
    "not": pc.invert,
    "is_null": pc.is_null,
    "coalesce": pc.coalesce,
    "case": lambda *arguments: _case(list(arguments)),
    "null": lambda: pa.scalar(None),
    "integer": lambda value: value.cast(pa.int64()),
    "double": _double,
    "text": lambda value: value.cast(pa.string()),
    "concat": lambda left, right: pc.binary_join_element_wise(left, right, ""),
    "substring": lambda text, first, count: pc.utf8_slice_codeunits(text, first - 1, first - 1 + count),
    "like": like,
    "minute_before": lambda stamp: pc.subtract(stamp, pa.scalar(60_000_000, pa.duration("us"))),
    "date_of": lambda stamp: stamp.cast(pa.date32()),
    "time_of": _time_of,
    "time_text": time_text,
    "day": _number(pc.day),
    "month": _number(pc.month),
    "year": _number(pc.year),
    "week": _number(pc.iso_week),
    "weekday": _number(pc.day_of_week),
    "day_number": _day_number,
    "date_of_number": _date_of_number,
    "add_days": lambda value, days: _date_of_number(pc.add(_day_number(value), days)),
}
