"""`quaestor report run`: one report as text, CSV, JSON or HTML."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from quaestor.cli.refused import in_words
from quaestor.cli.report_tables import cannot, lake_option, lake_tables, named_values
from quaestor.cli.spark_door import SparkOptions, spark_options
from quaestor.cli.whole_file import FileToBe, whole_file
from quaestor.reports.catalog import Report, ReportError, find


@click.command("run")
@click.argument("name")
@click.option("-p", "--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter; may be repeated.")
@click.option("--format", "form", type=click.Choice(["text", "csv", "json", "html"]), default="text", show_default=True)
@click.option("-o", "--output", type=FileToBe(), help="File to write.")
@lake_option
@spark_options
def run_command(
    name: str,
    params: tuple[str, ...],
    form: str,
    output: Path | None,
    lake: str,
    options: SparkOptions,
) -> None:
    """Run a report; `quaestor report list` names them all, MP1B's numbers (Q-14) are names too.

    Exit code 0: done. 2: no such report, parameter or lake, or nothing in the lake that the parameters name.

    \b
    Examples:
      quaestor report run exceptions --lake lake
      quaestor report run slow-transactions -p tran=ORD1 -p limit_us=20000
      quaestor report run stats -p job='CICS*' -p from=2026-03-02 -p to=2026-03-02 --format csv > stats.csv
      quaestor report run chargeback-department -p plan=departments.toml
    """
    try:
        report = find(name)
        asked = report.arguments(named_values(params))
    except ReportError as error:
        cannot(error)
    with lake_tables(lake, options) as tables:
        from quaestor.reports.run import result

        rows = result(report, tables, asked)
    write(rendered(report, rows, asked, form), output)


def rendered(report: Report, rows: Any, asked: Mapping[str, Any], form: str) -> str:
    """The report in the form that was asked for."""
    from quaestor.reports.page import small_page
    from quaestor.reports.plain import as_csv, as_json
    from quaestor.reports.text import as_text

    if form == "csv":
        return as_csv(report, rows)
    if form == "json":
        return as_json(report, rows, asked)
    return as_text(report, rows, asked) if form == "text" else small_page(report, rows)


def write(content: str, output: Path | None) -> None:
    """To standard output, or to a file."""
    if output is None:
        click.echo(content, nl=False)
        return
    try:
        with whole_file(output) as stream:
            stream.write(content.encode())
    except OSError as error:
        cannot(in_words(error, output))
