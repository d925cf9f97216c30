"""`quaestor demo circle`: a queue manager accounts for itself, the pipeline reads it, the advisor mends it.

Rules
  DC1 First act: the planner says what it expects; a queue manager does a mixed day's work and writes SMF; the lake
      takes it in, the page of reports is made.
  DC2 Second act: a batch that is too much for its buffer pool; `advise` finds it and names the command; the pool is
      altered as advised and the batch run again, until the advice is gone.
  DC3 Every step is shown as the command that a person would type, where there is one. What it says goes to standard
      error; standard output has one line, the path of the page.

Called by the command line and the whole demo.  Calls the commands themselves, the advisor, and the work of the demo.
"""

import re
import sys
from contextlib import redirect_stdout
from pathlib import Path

import click

from quaestor.cli.demo import show_and_run

BUFFERS, MESSAGES = 2000, 1950
ROUNDS_MAX = 4
_ALTER = re.compile(r"ALTER BUFFPOOL\((\d+)\) BUFFERS\((\d+)\)")


@click.command("circle")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("circle-out"), show_default=True, help="Folder to fill."
)
def circle_command(out: Path) -> None:
    """Run a queue manager, load what it wrote about itself, report it; then let the advisor mend a pool.

    Takes about a minute and needs `quaestor[pipeline]`. The last line is the path of the report.

    \b
    Example:
      quaestor demo circle --out /tmp/circle
    """
    from quaestor.cli.spark_door import SparkOptions, one_line, session

    with redirect_stdout(sys.stderr):
        with one_line(), session(SparkOptions()):
            report = first_act(out)
        second_act(out)
    click.echo(report.resolve())


def title(text: str) -> None:
    """What comes next."""
    click.secho(f"\n== {text}", bold=True)


def first_act(out: Path) -> Path:
    """Work, SMF, lake, report (DC1)."""
    from quaestor.cli.demo_workload import mixed_day

    out.mkdir(parents=True, exist_ok=True)
    title("What the planner expects of payments of 1,000 bytes")
    show_and_run(["plan", "log", "--size", "1000", "--rate", "500/s"])
    title("A queue manager works: payments, requests and replies, images, a monitor")
    mixed_day("QM1", out / "qm1")
    dump = _newest(out / "qm1")
    title("What it wrote about itself")
    show_and_run(["smf", "info", dump])
    title("One of its tasks, as MQ116S prints it")
    show_and_run(["smf", "print", dump, "--type", 116, "--subtype", 1, "--limit", 1])
    title("Into the lake, and out as a page")
    lake, report = out / "lake", out / "report.html"
    show_and_run(["lake", "load", lake, dump], spark=True)
    show_and_run(["report", "html", "--lake", lake, "-o", report], spark=True)
    return report


def second_act(out: Path) -> None:
    """Too much for the pool, advice, altered as advised, again (DC2)."""
    from quaestor.cli.demo_workload import nightly_batch

    buffers = BUFFERS
    for number in range(1, ROUNDS_MAX + 1):
        title(f"A batch of {MESSAGES:,} messages through a pool of {buffers:,} buffers")
        nightly_batch("QM2", out / "qm2", BUFFERS, MESSAGES)
        dump = _newest(out / "qm2")
        show_and_run(["advise", dump], may_find=True)
        wanted = _advised(dump)
        if wanted is None:
            click.echo(f"\nNothing left to say about the pool after {number} rounds." if number > 1 else "")
            return
        title("Altered as advised")
        alter = f"ALTER BUFFPOOL(1) BUFFERS({wanted})"
        show_and_run(["mqsc", "QM2", "--directory", out / "qm2", "-c", alter])
        buffers = wanted
    raise click.ClickException(f"the finding is still there after {ROUNDS_MAX} rounds")


def _advised(dump: Path) -> int | None:
    """The size that the advice wants for pool 1; None when it wants none."""
    from quaestor.cli.advise import findings_of

    commands = [finding.command for finding in findings_of(dump)]
    found = [_ALTER.search(command) for command in commands if command]
    return max((int(match[2]) for match in found if match and match[1] == "1"), default=None)


def _newest(directory: Path) -> Path:
    return max((directory / "smf").glob("*.smf"))
