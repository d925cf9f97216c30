"""`quaestor demo`: the main job on an embedded default, in a folder of its own."""

from pathlib import Path

import click

from quaestor.cli.smf_info import info_command
from quaestor.cli.smf_print import print_command
from quaestor.cli.smf_synth import synth_command

_STEPS = (
    ("A day of two queue managers, with two incidents planted", synth_command, ["--profile", "small", "-o", "{dump}"]),
    ("What is in it", info_command, ["{dump}"]),
    ("The first statistics record as MQ1150 prints it", print_command, ["{dump}", "--type", "115", "--limit", "1"]),
    (
        "The first task as MQ116S prints it",
        print_command,
        ["{dump}", "--subtype", "1", "--type", "116", "--limit", "1"],
    ),
)


@click.command("demo")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("demo-out"), show_default=True, help="Folder to fill."
)
def demo_command(out: Path) -> None:
    """Synthesise a dump, show what is in it, print two records.

    \b
    Example:
      quaestor demo --out /tmp/quaestor-demo
    """
    out.mkdir(parents=True, exist_ok=True)
    dump = out / "small.smf"
    for title, command, arguments in _STEPS:
        given = [each.format(dump=dump) for each in arguments]
        click.secho(f"\n== {title}", bold=True)
        click.secho(f"$ quaestor smf {command.name} {' '.join(given)}\n", dim=True)
        _run(command, given)
    click.echo(f"\nThe dump is {dump}. More: quaestor smf --help")


def _run(command: click.Command, arguments: list[str]) -> None:
    """Run a command as the shell would; any exit code but 0 ends the demo with it."""
    try:
        code = command.main(arguments, prog_name=f"quaestor smf {command.name}", standalone_mode=False)
    except SystemExit as stopped:
        code = stopped.code
    if code:
        raise SystemExit(code)
