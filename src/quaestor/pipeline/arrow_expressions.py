"""Expression trees evaluated on Arrow tables, for tasks that have the rows in memory.

Rules
  H1  The result is an array as long as the table, whatever the tree is made of.
  H2  Texts of times are made once for each time, not once for each row.

Called by day_part.  Calls Arrow.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from quaestor.pipeline.expressions import DAY_NUMBER_1970, Apply, Column, Constant, Tree

_US_PER_HUNDREDTH = 10_000
_US_PER_DAY = 86_400_000_000
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


def _divisor(value: Any) -> Any:
    if isinstance(value, pa.Scalar):
        return pa.scalar(None, value.type) if value.as_py() == 0 else value
    return pc.if_else(pc.equal(value, 0), pa.scalar(None, value.type), value)


def _divide(left: Any, right: Any) -> Any:
    return pc.divide(left.cast(pa.float64()), _divisor(right).cast(pa.float64()))


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


def _days(value: Any) -> Any:
    return value.cast(pa.int32()).cast(pa.int64())


def _date(days: Any) -> Any:
    return days.cast(pa.int32()).cast(pa.date32())


def _number(part: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: part(value).cast(pa.int64())


ARROW: Mapping[str, Callable[..., Any]] = {
    "add": pc.add_checked,
    "subtract": pc.subtract_checked,
    "multiply": pc.multiply_checked,
    "divide": _divide,
    "whole_quotient": lambda left, right: pc.divide(left, _divisor(right)),
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    ">": pc.greater,
    "<=": pc.less_equal,
    ">=": pc.greater_equal,
    "and": pc.and_kleene,
    "or": pc.or_kleene,
    "not": pc.invert,
    "is_null": pc.is_null,
    "coalesce": pc.coalesce,
    "case": lambda *arguments: _case(list(arguments)),
    "null": lambda: pa.scalar(None),
    "integer": lambda value: value.cast(pa.int64()),
    "double": lambda value: value.cast(pa.float64()),
    "text": lambda value: value.cast(pa.string()),
    "concat": lambda left, right: pc.binary_join_element_wise(left, right, ""),
    "substring": lambda text, first, count: pc.utf8_slice_codeunits(text, first - 1, first - 1 + count),
    "like": pc.match_like,
    "minute_before": lambda stamp: pc.subtract(stamp, pa.scalar(60_000_000, pa.duration("us"))),
    "date_of": lambda stamp: stamp.cast(pa.date32()),
    "time_of": _time_of,
    "time_text": time_text,
    "day": _number(pc.day),
    "month": _number(pc.month),
    "year": _number(pc.year),
    "week": _number(pc.iso_week),
    "weekday": _number(pc.day_of_week),
    "day_number": lambda value: pc.add(_days(value), DAY_NUMBER_1970),
    "date_of_number": lambda value: _date(pc.subtract(value, DAY_NUMBER_1970)),
    "add_days": lambda value, days: _date(pc.add(_days(value), days)),
}
