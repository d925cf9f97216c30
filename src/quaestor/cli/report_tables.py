"""What the report commands share: the lake they read, parameters as they are typed, errors of one line (E1, E2).

Called by the report commands.  Calls spark_door.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from quaestor.cli.spark_door import SparkOptions, one_line, session

if TYPE_CHECKING:
    from quaestor.pipeline.session import SparkSession

Command = TypeVar("Command", bound=Callable[..., Any])


def cannot(reason: object) -> NoReturn:
    """Say why nothing could be done, in one line (E1)."""
    click.echo(str(reason), err=True)
    raise click.exceptions.Exit(2)


def lake_option(command: Command) -> Command:
    """The option --lake."""
    return click.option("--lake", default="lake", show_default=True, metavar="DIR", help="Folder or URI of the lake.")(
        command
    )


def named_values(texts: Iterable[str]) -> dict[str, str]:
    """Arguments NAME=VALUE as a mapping."""
    made: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            cannot(f"--param {text}: write NAME=VALUE")
        if name in made:
            cannot(f"--param {text}: {name} is given already; * and ? stand for several names")
        made[name] = value
    return made


@contextmanager
def lake_tables(lake: str, options: SparkOptions) -> Iterator[Callable[[str], Any]]:
    """The tables of a lake by name; Spark starts when one is asked for as a DataFrame. Failures are one line."""
    from quaestor.pipeline.lake import Lake
    from quaestor.pipeline.report_queries.departments import ChargePlanError
    from quaestor.pipeline.report_queries.summary_rows import LakeTables
    from quaestor.reports.catalog import ReportError

    with one_line():
        found = Lake.at(lake)
        with _session_when_asked(options) as start:
            try:
                yield LakeTables(found, start)
            except (ChargePlanError, ReportError) as error:
                cannot(error)


@contextmanager
def _session_when_asked(options: SparkOptions) -> "Iterator[Callable[[], SparkSession]]":
    """A session that whichever thread asks first begins. The end of it waits for a beginning, not for queries: those
    that threads still make after an interrupt end with the session, and none begins another.
    """
    turn, over = Lock(), False
    with ExitStack() as opened:

        def start() -> "SparkSession":
            with turn:
                if over:
                    raise CancelledError
                return opened.enter_context(session(options))

        try:
            yield start
        finally:
            with turn:
                over = True
