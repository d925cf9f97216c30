"""What the commands that run Spark share: their options, the session, and failures in one line (E1, E2).

Called by the commands of lake and report.  Calls the pipeline's session.
"""

import logging
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from quaestor.pipeline.flow import Definitions
    from quaestor.pipeline.session import SparkSession


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Where Spark runs and how loud it is."""

    master: str = "local[*]"
    conf: tuple[str, ...] = ()
    verbose: bool = False


def spark_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options --master, --conf and -v; the command gets them together, as `options`."""

    @wraps(command)
    def run(*args: Any, master: str, conf: tuple[str, ...], verbose: bool, **rest: Any) -> Any:
        return command(*args, options=SparkOptions(master, conf, verbose), **rest)

    for option in (
        click.option("-v", "--verbose", is_flag=True, help="Let Spark's own messages through."),
        click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark; may be repeated."),
        click.option("--master", default=SparkOptions().master, show_default=True, help="The Spark master."),
    ):
        run = option(run)
    return run


@contextmanager
def session(options: SparkOptions) -> "Iterator[SparkSession]":
    """A Spark session for one command, which an interrupt ends as it ends any other: PySpark's own handler would ask
    the JVM something in the middle of an answer, and log the traceback of that; and it warns of a JVM that has gone.
    """
    from quaestor.pipeline.session import opened

    settings = {}
    for each in options.conf:
        key, equals, value = each.partition("=")
        if not equals:
            raise click.UsageError(f"--conf {each}: write KEY=VALUE")
        settings[key.strip()] = value.strip()
    interrupted = signal.getsignal(signal.SIGINT)
    logging.disable(logging.NOTSET if options.verbose else logging.CRITICAL)
    try:
        if not options.verbose:
            warnings.filterwarnings("ignore", "Unable to cleanly shutdown Spark JVM", RuntimeWarning)
        with opened(options.master, settings, verbose=options.verbose) as made:
            if signal.getsignal(signal.SIGINT) is not interrupted:  # PySpark sets its own in the main thread
                signal.signal(signal.SIGINT, interrupted)
            yield made
    finally:
        logging.disable(logging.NOTSET)


@contextmanager
def one_line() -> Iterator[None]:
    """Failures that a person can do something about become one line and exit code 2."""
    from quaestor.pipeline.errors import LakeError
    from quaestor.pipeline.java import NoJavaError
    from quaestor.pipeline.periods import PeriodPlanError
    from quaestor.pipeline.update_language import DefinitionError

    try:
        yield
    except (LakeError, NoJavaError, DefinitionError, PeriodPlanError) as error:
        click.echo(str(error), err=True)
        raise click.exceptions.Exit(2) from None


def definitions(folders: tuple[Path, ...], plan: Path | None, *, none: bool = False) -> "Definitions":
    """The shipped definitions and those in the folders given, with the period plan given. Needs a session."""
    from quaestor.pipeline.flow import Definitions
    from quaestor.pipeline.periods import DEFAULT_PLAN, read_plan

    if none:
        return Definitions({})
    return Definitions.read(folders, read_plan(plan) if plan else DEFAULT_PLAN)
