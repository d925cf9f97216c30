"""`quaestor log prune` and `cold-start`: giving up archives that nobody needs, and beginning a new log."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from quaestor.cli.engine_door import DIRECTORY, engine_of, one_line, there


@click.command("prune")
@click.argument("directory", type=DIRECTORY)
@click.option("--dry-run", is_flag=True, help="Only tell what would go.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def prune_command(directory: Path, *, dry_run: bool, as_json: bool) -> None:
    """Delete archives that nobody can need: restart, the recovery of a page set from its image copy, or of a structure
    from its backup.

    While a page set has no image copy, recovering it needs the whole log, and nothing is deleted.

    \b
    Example:
      quaestor pageset copy QM1 0 && quaestor pageset copy QM1 1
      quaestor log prune QM1 --dry-run
    """
    with one_line(directory), engine_of(directory) as engine:
        files = engine.log.files
        names = files.prunable() if dry_run else files.prune()
        kept = len(files.inventory.archives) - (len(names) if dry_run else 0)
    if as_json:
        click.echo(json.dumps({"pruned": names, "kept": kept, "dry_run": dry_run}))
        return
    for name in names:
        click.echo(name)
    click.echo(f"{len(names)} archives {'could go' if dry_run else 'deleted'}, {kept} kept")


@click.command("cold-start")
@click.argument("directory", type=DIRECTORY)
@click.option("--logs", type=click.IntRange(2, 310), default=4, show_default=True, help="Active logs of the new ring.")
@click.option("--log-mb", type=click.IntRange(1, 4096), default=16, show_default=True, help="Size of each.")
@click.option("--dual", is_flag=True, help="Two copies of the log and of the bootstrap data set.")
@click.option("--give-up-log", is_flag=True, required=True, help="Say that the present log and archives may go.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def cold_start_command(
    directory: Path, logs: int, log_mb: int, *, dual: bool, give_up_log: bool, as_json: bool
) -> None:
    """Begin a new log for page sets whose log is lost. What was not yet on the page sets is lost with it.

    Uncommitted work that had reached the page sets stays. Page sets that are not whole are named and nothing is done.

    \b
    Example:
      quaestor log cold-start QM1 --give-up-log && quaestor check QM1
    """
    from quaestor.qmgr.recovery.cold import cold_start, page_sets_on
    from quaestor.storage.real_disk import RealDisk

    if not give_up_log:
        raise click.UsageError("--give-up-log must be said: the present log is deleted")
    with one_line(directory):
        there(directory)
        disk = RealDisk(directory)
        page_sets_on(disk)  # nothing is made in a directory that is none of ours
        disk.own()
        try:
            made = cold_start(disk, logs=logs, log_bytes=log_mb << 20, dual=dual)
        finally:
            disk.disown()
    if as_json:
        click.echo(json.dumps(asdict(made)))
    else:
        numbers = ", ".join(map(str, made.page_sets))
        click.echo(f"page sets {numbers} ({made.pages} pages); the new log begins at {made.first_rba:012X}")
        if made.freed:
            click.echo(f"{made.freed} pages had not been written with their messages, which are lost; they are free")
        if made.without_text:
            click.echo(f"{made.without_text} long messages are not there, because their text is not or is another's")
        if made.left_aside:
            aside = ", ".join(map(str, made.left_aside))
            click.echo(f"page sets {aside} were not made to their end; nothing is on them, and they are left aside")
