"""`quaestor smf export`: the structures of dumps as CSV, JSON lines or Parquet, one file each."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from quaestor.cli.damage import DamageReport
from quaestor.cli.refused import Refused, in_words
from quaestor.cli.whole_file import terminable
from quaestor.layout import CODE_PAGES
from quaestor.smf.arrow_schema import Names
from quaestor.smf.blocks import Damage
from quaestor.smf.catalog import SECTIONS
from quaestor.smf.export import ExportOptions, Format, export
from quaestor.smf.records import STANDARD_INPUT


@dataclass(slots=True)
class ExportListener:
    """Tells damage and progress on standard error; the bar only where somebody watches."""

    total: int
    report: DamageReport = field(default_factory=DamageReport)
    _progress: Progress | None = None

    def damaged(self, path: str, damages: Sequence[Damage], count: int) -> None:
        for damage in damages:
            self.report.damaged(path, damage)
        self.report.damages += count - len(damages)

    def cannot_use(self, path: str, reason: str) -> None:
        self.report.cannot_use(path, reason)

    def read(self, size: int) -> None:
        if self._progress is None:
            self._progress = _bar(self.total)
            self._progress.start()
        self._progress.advance(self._progress.task_ids[0], size)

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()


def _bar(total: int) -> Progress:
    console = Console(stderr=True)
    columns = (TextColumn("export"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
    bar.add_task("export", total=total)
    return bar


@click.command("export")
@click.argument("files", nargs=-1, required=True, metavar="FILES...")
@click.option("--to", type=click.Choice(get_args(Format)), default="parquet", show_default=True)
@click.option(
    "--names",
    type=click.Choice(get_args(Names)),
    default="human",
    show_default=True,
    help="Columns under readable names, or under those of the manual.",
)
@click.option(
    "-o", "--output", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder for the files."
)
@click.option(
    "--structure",
    "structures",
    multiple=True,
    metavar="NAME",
    type=click.Choice(list(SECTIONS), case_sensitive=False),
    help="Only this structure, such as WQST; may be given several times.",
)
@click.option(
    "--page", type=click.Choice(list(CODE_PAGES)), default="1047", show_default=True, help="EBCDIC code page."
)
@click.option(
    "--leap-seconds",
    type=click.IntRange(-100, 100),
    default=0,
    show_default=True,
    help="How far the TOD clock is ahead of UTC.",
)
@click.option("--processes", type=click.IntRange(min=1), help="Processes that share the work; all cores by default.")
@click.pass_context
def export_command(
    ctx: click.Context,
    files: tuple[str, ...],
    to: Format,
    names: Names,
    output: Path,
    structures: tuple[str, ...],
    page: str,
    leap_seconds: int,
    processes: int | None,
) -> None:
    """Write the structures of SMF dumps to files, one per structure and named after it; "-" reads standard input.

    Files appear when all is done. Damage goes to standard error.
    Exit code 0: clean, 1: damage met, 2: no dump could be used.

    \b
    Example:
      quaestor smf export dump.smf --to parquet -o tables
    """
    options = ExportOptions(to, names, structures or None, CODE_PAGES[page], leap_seconds)
    sizes = [Path(each).stat().st_size for each in files if each != STANDARD_INPUT and Path(each).is_file()]
    listener = ExportListener(sum(sizes), DamageReport(dumps=len(files)))
    try:
        with terminable():
            rows = export(files, output, options, processes or _cores(), listener)
    except OSError as error:
        raise Refused(in_words(error, output)) from None
    finally:
        listener.close()
    for structure, count in rows.items():
        click.echo(f"{output / structure}.{to}  {count} rows")
    exit_code = listener.report.close()
    if not rows and exit_code != 2:
        click.echo("no structure to write", err=True)
    ctx.exit(exit_code)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
