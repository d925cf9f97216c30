"""`quaestor report`: what the accounts in a lake show."""

import click

from quaestor.cli.lazy import LazyGroup


@click.group(
    "report",
    cls=LazyGroup,
    commands={
        "list": "quaestor.cli.report_list:list_command",
        "run": "quaestor.cli.report_run:run_command",
        "html": "quaestor.cli.report_html:html_command",
    },
)
def report_group() -> None:
    """Named reports over a lake, and one HTML file with all the pictures.

    \b
    Examples:
      quaestor report list                                  every report, its rows and parameters
      quaestor report run exceptions                        what is out of line
      quaestor report run time-on-queue --param queue='ORD*'
      quaestor report html -o march.html --from 2026-03-01 --to 2026-03-31
    """
