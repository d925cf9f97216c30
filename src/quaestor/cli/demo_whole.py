"""`quaestor demo`: the whole product in about a minute.

Rules
  DE1 First a month of an installation that was made up, as one page of reports; then the circle: the planner expects,
      a queue manager works and accounts for itself, the pipeline reads it, the advisor mends its pool.
  DE2 One Spark session serves both. Standard output has one line, the path of the month's report.

Called by the command line.  Calls the two demos.
"""

import sys
from contextlib import redirect_stdout
from pathlib import Path

import click

from quaestor.cli.demo import OUT, PROFILE, month


@click.command("whole")
@OUT
@PROFILE
def whole_command(out: Path, profile: str) -> None:
    """A month's accounts as a report, then the circle; needs `quaestor[pipeline]`. The last line is the report's path.

    \b
    Example:
      quaestor demo --out /tmp/quaestor-demo
    """
    from quaestor.cli.demo_circle import first_act, second_act
    from quaestor.cli.spark_door import SparkOptions, one_line, session

    circle = out / "circle"
    with redirect_stdout(sys.stderr):
        with one_line(), session(SparkOptions()):
            report = month(out, profile)
            own = first_act(circle)
        second_act(circle)
        click.echo(f"\nThe queue manager's own accounts: {own.resolve()}\nThe month's:")
    click.echo(report.resolve())
