"""`quaestor lake status` and `purge`: what a lake holds, and what it need not hold any longer. Neither starts Spark."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from quaestor.cli.numbers import Days, several
from quaestor.cli.spark_door import one_line
from quaestor.cli.terminal import columns

_WIDEST = 1000


@click.command("status")
@click.argument("lake")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def status_command(lake: str, as_json: bool) -> None:
    """Tables of LAKE: rows, days, files and bytes.

    \b
    Example:
      quaestor lake status LAKE --json
    """
    from quaestor.pipeline.status import status

    with one_line():
        found = status(lake)
    if as_json:
        click.echo(json.dumps(asdict(found), default=str))
        return
    horizon = f"; details from {found.horizon} on" if found.horizon else ""
    dumps = several(found.dumps, "dump")
    click.echo(f"{found.root}: snapshot {found.snapshot}, {dumps} of {_size(found.dump_bytes)}{horizon}")
    rows = [
        (each.table, each.kind, f"{each.rows:,}", f"{each.days}", f"{each.first or ''}", f"{each.last or ''}",
         f"{each.files}", _size(each.bytes))
        for each in found.tables
    ]  # fmt: skip
    _table(("table", "kind", "rows", "days", "first", "last", "files", "size"), rows, right=(2, 3, 6, 7))


@click.command("purge")
@click.argument("lake")
@click.option("--details", type=Days(), default=7, show_default=True, metavar="DAYS", help="Keep details so many days.")
@click.option(
    "--daily", type=Days(), default=28, show_default=True, metavar="DAYS", help="Keep daily summaries so many days."
)
@click.option(
    "--statistics", type=Days(), default=182, show_default=True, metavar="DAYS", help="Keep statistics so many days."
)
@click.option("--uncounted", is_flag=True, help="Also details that a summary table has not counted yet.")
@click.option("--dry-run", is_flag=True, help="Only tell what would go.")
@click.option("--no-wait", is_flag=True, help="Give up at once when a load is busy on this lake.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per table.")
def purge_command(
    lake: str,
    details: int,
    daily: int,
    statistics: int,
    uncounted: bool,
    dry_run: bool,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Take away what is older than it needs to be, counted from the newest day; weeks and months are kept.

    Details that a summary table has not counted are a reason to take nothing away; a load with its definition counts
    them. Exit code 0: done, 2: nothing was changed.

    \b
    Example:
      quaestor lake purge LAKE --details 14 --dry-run
    """
    from quaestor.pipeline.retention import Retention, purge

    with one_line():
        gone = purge(
            lake,
            Retention(details, daily, statistics),
            dry_run=dry_run,
            uncounted=uncounted,
            wait=not no_wait,
            say=lambda message: click.echo(message, err=True),
        )
    if as_json:
        for each in gone:
            click.echo(json.dumps(asdict(each)))
        return
    if not gone:
        click.echo("nothing is older than it needs to be")
        return
    rows = [(each.table, f"{each.days}", f"{each.rows:,}", f"{each.files}", _size(each.bytes)) for each in gone]
    _table(("table", "days", "rows", "files", "size"), rows, right=(1, 2, 3, 4))
    click.echo("a dry run: nothing was taken away" if dry_run else "taken away")


def _table(heading: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: tuple[int, ...]) -> None:
    """Columns as wide as they must be, on standard output; nearer to each other on a narrow terminal."""
    widths = [max(len(row[column]) for row in [heading, *rows]) for column in range(len(heading))]
    apart = "  " if sum(widths) + 2 * len(widths) - 2 <= columns(_WIDEST) else " "
    for row in [heading, *rows]:
        cells: list[Any] = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        click.echo(apart.join(cells).rstrip())


def _size(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
