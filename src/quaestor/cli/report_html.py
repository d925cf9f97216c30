"""`quaestor report html`: the exceptions and all pictures in one HTML file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from quaestor.cli.report_run import write
from quaestor.cli.report_tables import cannot, lake_option, lake_tables
from quaestor.cli.spark_door import SparkOptions, spark_options
from quaestor.cli.whole_file import FileToBe
from quaestor.reports.catalog import ReportError, find


@click.command("html")
@click.option("-o", "--output", type=FileToBe(), required=True, help="File to write.")
@click.option("--from", "first", metavar="DAY", help="First day, such as 2026-03-01.")
@click.option("--to", "last", metavar="DAY", help="Last day, included.")
@click.option("--qmgr", metavar="NAME", help="Only this queue manager; * and ? stand for any characters.")
@click.option("--title", default="MQ accounts", show_default=True, help="Heading of the page.")
@lake_option
@spark_options
def html_command(
    output: Path,
    first: str | None,
    last: str | None,
    qmgr: str | None,
    title: str,
    lake: str,
    options: SparkOptions,
) -> None:
    """Write one HTML file that needs nothing else: exceptions first, then charts, each with its table.

    It opens without a network, prints, and fits a phone. Exit code 0: done. 2: no lake, a day that
    is none, or nothing in the lake of these days and queue managers; no file is written then.

    \b
    Examples:
      quaestor report html -o report.html --lake lake
      quaestor report html -o week.html --from 2026-03-02 --to 2026-03-08 --qmgr 'PRD*'
    """
    given = {name: text for name, text in (("from", first), ("to", last), ("qmgr", qmgr)) if text is not None}
    try:
        find("exceptions").arguments(given)
    except ReportError as error:
        cannot(error)
    with lake_tables(lake, options) as tables:
        from quaestor.reports.page import NEEDED, page
        from quaestor.reports.run import results

        with _progress(len(NEEDED)) as made:
            found = results(NEEDED, tables, given, made)
    asked = " ".join(f"{name}={text}" for name, text in given.items())
    write(page(found, title, f"Made by quaestor report html from the lake {lake}. {asked}".strip()), output)
    click.echo(output)


@contextmanager
def _progress(reports: int) -> Iterator[Callable[[], None]]:
    """A function to call with each report made; shows a bar on standard error when that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("reports"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=reports)
        yield lambda: bar.advance(task)
