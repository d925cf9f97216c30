"""`quaestor report list`: every report there is; needs no lake and no Java."""

from itertools import groupby

import click

from quaestor.cli.report_tables import cannot
from quaestor.reports.catalog import REPORTS, Report, ReportError, find


@click.command("list")
@click.argument("name", required=False)
def list_command(name: str | None) -> None:
    """List all reports, or show one with its columns and parameters.

    \b
    Examples:
      quaestor report list
      quaestor report list chargeback-department
      quaestor report list Q-14
    """
    if name is None:
        for group, reports in groupby(REPORTS.values(), key=lambda each: each.group):
            click.secho(f"\n{group}", bold=True)
            for each in reports:
                source = f"  ({each.source})" if each.source else ""
                click.echo(f"  {each.name:24}{each.title}{source}")
        click.echo("\nquaestor report list NAME shows columns and parameters.")
        return
    try:
        click.echo("\n".join(described(find(name))))
    except ReportError as error:
        cannot(error)


def described(report: Report) -> list[str]:
    """A report's columns and parameters in words."""
    lines = [f"{report.name}: {report.title}", f"  {report.grain}"]
    if report.source:
        lines.append(f"  after {report.source}")
    lines.append("\nColumns")
    for each in report.columns:
        heading = f"  shown as {each.heading}" if each.heading and each.heading != each.name else ""
        lines.append(f"  {each.name:26}{each.unit.value:12}{heading}".rstrip())
    lines.append("\nParameters")
    for parameter in report.parameters:
        default = "" if parameter.default is None else f" [{_shown(parameter.default)}]"
        lines.append(f"  {parameter.name:26}{parameter.about}{default}")
    return lines


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    return f"{default:g}" if isinstance(default, int | float) else str(default)
