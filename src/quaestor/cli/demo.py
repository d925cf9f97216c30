"""`quaestor demo`: the main job on an embedded default, in a folder of its own; `demo circle` goes all the way."""

from pathlib import Path

import click

from quaestor.cli.lazy import LazyGroup

_STEPS = (
    ("A day of two queue managers, with two incidents planted", "smf synth --profile small -o {dump}"),
    ("What is in it", "smf info {dump}"),
    ("The first statistics record as MQ1150 prints it", "smf print {dump} --type 115 --limit 1"),
    ("The first task as MQ116S prints it", "smf print {dump} --type 116 --subtype 1 --limit 1"),
)


@click.group(
    "demo",
    cls=LazyGroup,
    commands={"dump": "quaestor.cli.demo:dump_command", "circle": "quaestor.cli.demo_circle:circle_command"},
    default="dump",
)
def demo_group() -> None:
    """See it work: a dump and what is in it, or the whole circle.

    \b
    Examples:
      quaestor demo --out /tmp/quaestor-demo
      quaestor demo circle
    """


@click.command("dump")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("demo-out"), show_default=True, help="Folder to fill."
)
def dump_command(out: Path) -> None:
    """Synthesise a dump, show what is in it, print two records.

    \b
    Example:
      quaestor demo --out /tmp/quaestor-demo
    """
    out.mkdir(parents=True, exist_ok=True)
    dump = out / "small.smf"
    for heading, line in _STEPS:
        title(heading)
        run_line(line.format(dump=dump))
    click.echo(f"\nThe dump is {dump}. More: quaestor smf --help")


def title(text: str) -> None:
    """What comes next."""
    click.secho(f"\n== {text}", bold=True)


def run_line(line: str, *, may_find: bool = False) -> None:
    """Show and run a command line of ours; a failure ends the demo, as does a finding unless that is the point."""
    click.secho(f"$ quaestor {line}\n", dim=True)
    whole = click.get_current_context().find_root().command
    try:
        code = whole.main(line.split(), prog_name="quaestor", standalone_mode=False)
    except SystemExit as stopped:
        code = stopped.code
    if code and not (may_find and code == 1):
        raise SystemExit(code)
