"""Expression trees read row by row in plain Python: what both evaluations must agree with (E1 to E3)."""

import re
from datetime import date, datetime, timedelta

from quaestor.pipeline.expressions import Apply, Column, Constant

LARGEST = 1 << 63
DAYS = date.max.toordinal()


def value_of(tree, row):
    """What a tree means for one row, a dictionary of columns."""
    match tree:
        case Column():
            return row[tree.name]
        case Constant(value):
            return value
        case Apply(name, arguments) if name in ABOUT_NULL:
            return ABOUT_NULL[name](*(value_of(each, row) for each in arguments))
        case Apply(name, arguments):
            values = [value_of(each, row) for each in arguments]
            return None if None in values else KNOWN[name](*values)


def _held(value):
    return value if isinstance(value, float) or -LARGEST <= value < LARGEST else None


def _and(left, right):
    return False if left is False or right is False else None if left is None or right is None else True


def _or(left, right):
    return True if left is True or right is True else None if left is None or right is None else False


def _case(*arguments):
    *branches, otherwise = arguments
    return next((result for test, result in zip(branches[::2], branches[1::2], strict=True) if test is True), otherwise)


def _towards_zero(left, right):
    return None if right == 0 else abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def _like(text, pattern):
    """% is any characters, _ is one, a backslash takes the meaning from the next character."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    words = {"%": ".*", "_": "."}
    made = "".join(words.get(each) or re.escape(each[-1]) for each in parts)
    return re.fullmatch(made, text, re.DOTALL) is not None


def _time(stamp):
    midnight = datetime.combine(stamp.date(), datetime.min.time())
    return (stamp - midnight) // timedelta(milliseconds=10)


def _time_text(time):
    return f"{time // 360_000 % 24:02d}:{time // 6000 % 60:02d}:{time // 100 % 60:02d}.{time % 100:02d}"


def _date(number):
    return date.fromordinal(number) if 1 <= number <= DAYS else None


ABOUT_NULL = {
    "and": _and,
    "or": _or,
    "case": _case,
    "is_null": lambda value: value is None,
    "coalesce": lambda *values: next((each for each in values if each is not None), None),
    "null": lambda: None,
}
KNOWN = {
    "add": lambda left, right: _held(left + right),
    "subtract": lambda left, right: _held(left - right),
    "multiply": lambda left, right: _held(left * right),
    "divide": lambda left, right: None if right == 0 else float(left) / float(right),
    "whole_quotient": _towards_zero,
    "=": lambda left, right: left == right,
    "<>": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
    "not": lambda value: not value,
    "integer": int,
    "double": float,
    "text": str,
    "concat": lambda left, right: left + right,
    "substring": lambda text, first, count: text[first - 1 : first - 1 + count],
    "like": _like,
    "minute_before": lambda stamp: stamp - timedelta(minutes=1),
    "date_of": lambda stamp: stamp.date(),
    "time_of": _time,
    "time_text": _time_text,
    "day": lambda day: day.day,
    "month": lambda day: day.month,
    "year": lambda day: day.year,
    "week": lambda day: day.isocalendar().week,
    "weekday": lambda day: day.weekday(),
    "day_number": lambda day: day.toordinal(),
    "date_of_number": _date,
    "add_days": lambda day, days: _date(day.toordinal() + days),
}
