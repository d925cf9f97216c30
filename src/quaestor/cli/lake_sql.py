"""`quaestor lake sql`: any question to the tables of a lake."""

import csv
import json
import math
import sys
from collections import Counter
from typing import Any

import click

from quaestor.cli.numbers import several
from quaestor.cli.refused import Refused
from quaestor.cli.spark_door import SparkOptions, one_line, session, spark_options
from quaestor.layout import printable

_MOST = 1000


@click.command("sql")
@click.argument("lake")
@click.argument("query")
@click.option("--format", "shape", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
@click.option("--limit", type=click.IntRange(0), default=_MOST, show_default=True, help="Show at most so many rows.")
@spark_options
def sql_command(lake: str, query: str, shape: str, limit: int, options: SparkOptions) -> None:
    """Ask the tables of LAKE in Spark SQL; `quaestor lake status` lists them.

    \b
    Example:
      quaestor lake sql LAKE "SELECT queue_manager, sum(puts) FROM WQST GROUP BY 1" --format csv
    """
    from quaestor.pipeline.asking import ask

    with one_line(), session(options) as spark:
        names, rows = ask(spark, lake, query, limit + 1)
    if shape == "json":
        _refuse_namesakes(names)
    _show(shape, names, rows[:limit])
    if len(rows) > limit:
        click.echo(f"only the first {limit} rows are shown", err=True)


def _refuse_namesakes(names: list[str]) -> None:
    """A JSON object holds one value under a name: of two columns called alike one would be lost."""
    for name, count in Counter(names).items():
        if count > 1:
            raise Refused(f"{several(count, 'column')} are called {name}: give them names of their own with AS")


def _show(shape: str, names: list[str], rows: list[tuple[Any, ...]]) -> None:
    if shape == "json":
        for row in rows:
            click.echo(json.dumps(_plain(dict(zip(names, row, strict=True))), default=_text))
    elif shape == "csv":
        writer = csv.writer(sys.stdout)
        writer.writerow(names)
        writer.writerows([[_cell(value) for value in row] for row in rows])
    else:
        cells = [[printable(_cell(value)) for value in row] for row in [names, *rows]]
        widths = [max(len(row[column]) for row in cells) for column in range(len(names))]
        for line in cells:
            click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _plain(value: Any) -> Any:
    """A value as JSON has one: there is no word in it for a number that is none or endless."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key if isinstance(key, str) else _cell(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _cell(value: Any) -> str:
    return "" if value is None else _text(value)


def _text(value: Any) -> str:
    return bytes(value).hex() if isinstance(value, (bytes, bytearray)) else str(value)
