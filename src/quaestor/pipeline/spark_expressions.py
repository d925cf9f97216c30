"""Expression trees as Spark columns, for whoever has the rows as a DataFrame.

Called by summary.  Calls Spark.
"""

from collections.abc import Callable, Mapping
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

from quaestor.pipeline import expressions
from quaestor.pipeline.expressions import DAY_NUMBER_1970, DAY_NUMBER_LAST, Apply, Constant, Tree


def element(array: str) -> str:
    """The name under which the elements of an array stand once it is exploded."""
    return f"{array}_element"


def column_of(tree: Tree) -> Column:
    """The Spark column that means what the tree means."""
    match tree:
        case expressions.Column(structure, name, inside):
            return F.col(f"{element(inside)}.{name}" if inside else f"{structure}.{name}")
        case Constant(value):
            return F.lit(value).cast("long") if isinstance(value, int) else F.lit(value)
        case Apply("substring" | "like" as function, (text, *constants)):
            values = [each.value for each in constants if isinstance(each, Constant)]
            return _WITH_CONSTANTS[function](column_of(text), *values)
        case Apply(function, arguments):
            return SPARK[function](*map(column_of, arguments))


def _divisor(column: Column) -> Column:
    return F.nullif(column, F.lit(0))


def _case(*arguments: Column) -> Column:
    *branches, otherwise = arguments
    pairs = list(zip(branches[::2], branches[1::2], strict=True))
    made = reduce(lambda so_far, pair: so_far.when(*pair), pairs[1:], F.when(*pairs[0]))
    return made.otherwise(otherwise)


def _time_of(stamp: Column) -> Column:
    seconds = F.hour(stamp) * 3600 + F.minute(stamp) * 60 + F.second(stamp)
    return (seconds * 100 + F.substring(F.date_format(stamp, "SSSSSS"), 1, 2).cast("int")).cast("long")


def _time_text(hundredths: Column) -> Column:
    def part(divisor: int, modulus: int) -> Column:
        return F.lpad((F.call_function("div", hundredths, F.lit(divisor)) % modulus).cast("string"), 2, "0")

    return F.concat(part(360_000, 24), F.lit(":"), part(6000, 60), F.lit(":"), part(100, 60), F.lit("."), part(1, 100))


def _day_number(day: Column) -> Column:
    return F.unix_date(day).cast("long") + DAY_NUMBER_1970


def _date_of_number(number: Column) -> Column:
    inside = F.when(number.between(1, DAY_NUMBER_LAST), number)
    return F.date_from_unix_date((inside - DAY_NUMBER_1970).cast("int"))


_WITH_CONSTANTS: Mapping[str, Callable[..., Column]] = {
    "substring": F.substring,
    "like": lambda text, pattern: text.like(pattern),
}
SPARK: Mapping[str, Callable[..., Column]] = {
    "add": F.try_add,
    "subtract": F.try_subtract,
    "multiply": F.try_multiply,
    "divide": lambda left, right: left / _divisor(right),
    "whole_quotient": lambda left, right: F.call_function("div", left, _divisor(right)),
    "=": eq,
    "<>": ne,
    "<": lt,
    ">": gt,
    "<=": le,
    ">=": ge,
    "and": and_,
    "or": or_,
    "not": lambda value: ~value,
    "is_null": lambda value: value.isNull(),
    "coalesce": F.coalesce,
    "case": _case,
    "null": lambda: F.lit(None),
    "integer": lambda value: value.cast("long"),
    "double": lambda value: value.cast("double"),
    "text": lambda value: value.cast("string"),
    "concat": F.concat,
    **_WITH_CONSTANTS,
    "minute_before": lambda stamp: stamp - F.expr("INTERVAL 1 MINUTE"),
    "date_of": F.to_date,
    "time_of": _time_of,
    "time_text": _time_text,
    "day": lambda value: F.dayofmonth(value).cast("long"),
    "month": lambda value: F.month(value).cast("long"),
    "year": lambda value: F.year(value).cast("long"),
    "week": lambda value: F.weekofyear(value).cast("long"),
    "weekday": lambda value: F.weekday(value).cast("long"),
    "day_number": _day_number,
    "date_of_number": _date_of_number,
    "add_days": lambda value, days: _date_of_number(_day_number(value) + days),
}
