"""`quaestor demo`: the main job on an embedded default, in a folder of its own."""

from pathlib import Path

import click

_STEPS = (
    ("A day of two queue managers, with two incidents planted", "smf synth --profile small -o {dump}"),
    ("What is in it", "smf info {dump}"),
    ("The first statistics record as MQ1150 prints it", "smf print {dump} --type 115 --limit 1"),
    ("The first task as MQ116S prints it", "smf print {dump} --type 116 --subtype 1 --limit 1"),
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
    for title, line in _STEPS:
        click.secho(f"\n== {title}", bold=True)
        click.secho(f"$ quaestor {line.format(dump=dump)}\n", dim=True)
        _run([word.format(dump=dump) for word in line.split()])
    click.echo(f"\nThe dump is {dump}. More: quaestor smf --help")


def _run(arguments: list[str]) -> None:
    """Run a command line of ours; any exit code but 0 ends the demo with it."""
    whole = click.get_current_context().find_root().command
    try:
        code = whole.main(arguments, prog_name="quaestor", standalone_mode=False)
    except SystemExit as stopped:
        code = stopped.code
    if code:
        raise SystemExit(code)
