"""Kinds of numbers that options take. `nan` is none of them, though Python reads it and compares it with nothing.
And numbers as commands say them.

Called by commands that take seconds, shares and days, and by those that count.
"""

import math
from typing import Any

import click

DAYS_MAX = 36_500


def several(count: int, thing: str) -> str:
    """1 dump, 2,000 dumps."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


class Number(click.FloatRange):
    """A number in a range."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


class Seconds(Number):
    """How long to wait: none at all, or more."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(min=0)


class Days(click.IntRange):
    """How many days back: a hundred years at most."""

    name = "days"

    def __init__(self) -> None:
        super().__init__(0, DAYS_MAX)
