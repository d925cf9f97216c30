"""`quaestor demo`: the main job on an embedded default, in a folder of its own.

Each step is a command that a person could type; it is shown before it runs. One Spark session serves all of them. What
a step says goes to standard error; standard output has one line, the path of the report. `demo month` is the accounts
of an installation that was made up; `demo circle` goes all the way round: a queue manager of ours writes what is
loaded. `demo` does both.
"""

import shlex
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

import click

from quaestor.cli.lazy import LazyGroup

_STEPS = (
    ("A month of a small installation, with a few bad hours planted", "smf synth --profile {profile} -o {dump}"),
    ("Into tables and summaries", "lake load {lake} {dump}"),
    ("One report of it", "report html --lake {lake} -o {report} --title {title}"),
)
_ON_SPARK = ("--master", "local[*]")
_TITLE = "MQ accounts of a small installation"


@click.group(
    "demo",
    cls=LazyGroup,
    commands={
        "whole": "quaestor.cli.demo_whole:whole_command",
        "month": "quaestor.cli.demo:month_command",
        "circle": "quaestor.cli.demo_circle:circle_command",
        "cqs": "quaestor.cli.demo_cqs:cqs_command",
    },
    default="whole",
)
def demo_group() -> None:
    """See it work: a month's accounts as a report, then the whole circle; one of the two; or queues that systems share.

    \b
    Examples:
      quaestor demo --out /tmp/quaestor-demo
      quaestor demo month
      quaestor demo circle
      quaestor demo cqs
    """


OUT = click.option(
    "--out", type=click.Path(path_type=Path), default=Path("demo-out"), show_default=True, help="Folder to fill."
)
PROFILE = click.option("--profile", default="month", show_default=True, help="The profile of `smf synth` to use.")


@click.command("month")
@OUT
@PROFILE
def month_command(out: Path, profile: str) -> None:
    """Synthesise a month, load it, write an HTML report, and say where it is.

    \b
    Example:
      quaestor demo month --out /tmp/quaestor-demo
    """
    from quaestor.cli.spark_door import SparkOptions, one_line, session

    with redirect_stdout(sys.stderr), one_line(), session(SparkOptions()):
        report = month(out, profile)
    click.echo(report.resolve())


def month(out: Path, profile: str) -> Path:
    """The steps, in a session that is there; the path of the report."""
    out.mkdir(parents=True, exist_ok=True)
    report = out / "report.html"
    dump = out / f"{Path(profile).stem}.smf"
    names = {"profile": profile, "dump": dump, "lake": out / "lake", "report": report, "title": _TITLE}
    for number, (title, line) in enumerate(_STEPS, 1):
        click.secho(f"\n{number}/{len(_STEPS)}  {title}", bold=True)
        show_and_run([word.format(**names) for word in line.split()], spark=not line.startswith("smf"))
    planted = f"{dump}.incidents.json"
    click.echo(f"\nWhat was planted stands in {planted}; what the report found stands at its top.", err=True)
    return report


def show_and_run(words: Sequence[object], *, spark: bool = False, may_find: bool = False) -> None:
    """Run a command line of ours that a person could type as it is shown."""
    arguments = [str(word) for word in words]
    click.secho(f"$ quaestor {shlex.join(arguments)}\n", dim=True)
    run([*arguments, *(_ON_SPARK if spark else ())], may_find=may_find)


def run(arguments: list[str], *, may_find: bool = False) -> None:
    """Run a command line of ours; a failure ends the demo with its code, a finding (1) too unless that is the point."""
    whole = click.get_current_context().find_root().command
    try:
        code = whole.main(arguments, prog_name="quaestor", standalone_mode=False)
    except SystemExit as stopped:
        code = stopped.code
    if code and not (may_find and code == 1):
        raise SystemExit(code)
