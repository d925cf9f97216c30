"""`quaestor lake load`, `follow` and `rebuild`: dumps into tables."""

import json
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from quaestor.cli.damage import DamageReport
from quaestor.cli.numbers import Seconds, several
from quaestor.cli.spark_door import SparkOptions, definitions, one_line, session, spark_options

if TYPE_CHECKING:
    from quaestor.pipeline.flow import Definitions, LoadReport


@dataclass(frozen=True, slots=True)
class Loading:
    """How to load: with which definitions, and what to say of it."""

    folders: tuple[Path, ...]
    periods: Path | None
    no_wait: bool
    as_json: bool
    no_summaries: bool

    def definitions(self) -> "Definitions":
        return definitions(self.folders, self.periods, none=self.no_summaries)


def _load_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of all three commands, which get them as `loading`, and Spark's as `options`."""

    @wraps(command)
    def run(*args: Any, **given: Any) -> Any:
        loading = Loading(**{each.name: given.pop(each.name) for each in fields(Loading)})
        return command(*args, loading=loading, **given)

    for option in (
        click.option("--no-summaries", is_flag=True, help="Raw tables only; a later load catches up."),
        click.option("--json", "as_json", is_flag=True, help="The outcome as one JSON object."),
        click.option("--no-wait", is_flag=True, help="Give up at once when another load is busy on this lake."),
        click.option("--periods", type=click.Path(path_type=Path), help="A period plan for PERIOD (TOML)."),
        click.option(
            "--definitions",
            "folders",
            multiple=True,
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help="A folder with update definitions of your own (*.def); may be repeated.",
        ),
    ):
        run = option(run)
    return spark_options(run)


@click.command("load")
@click.argument("lake")
@click.argument("dumps", nargs=-1, required=True)
@_load_options
@click.pass_context
def load_command(
    ctx: click.Context,
    lake: str,
    dumps: tuple[str, ...],
    loading: Loading,
    options: SparkOptions,
) -> None:
    """Load SMF dumps into the lake LAKE, which is made when there is none; a folder stands for the files in it.

    Dumps loaded before are left out, records loaded before as well. Damage is told and kept in the table REJECTS. A
    dump that is missing, empty or cannot be read is told at once, and the others are loaded. One of which nothing can
    be used is told each time.
    Exit code 0: loaded, 1: loaded, but there was damage or a dump that could not be used, 2: nothing was loaded.

    \b
    Example:
      quaestor lake load LAKE dumps/*.smf
    """
    files, unread = _files(dumps)  # what is wrong with them is known before Spark starts
    if not files:
        ctx.exit(2)
    from quaestor.pipeline import flow
    from quaestor.pipeline.lake import Lake

    with one_line():
        Lake.to_be_at(lake)
    with one_line(), session(options) as spark, _progress(_size(files)) as tell:
        report = flow.load(
            spark,
            lake,
            files,
            loading.definitions(),
            progress=tell,
            wait=not loading.no_wait,
            say=tell.say,
        )
    ctx.exit(_told(report, loading.as_json, unread))


@click.command("rebuild")
@click.argument("lake")
@_load_options
@click.pass_context
def rebuild_command(
    ctx: click.Context,
    lake: str,
    loading: Loading,
    options: SparkOptions,
) -> None:
    """Make all tables of LAKE again from the dumps they came from; until that is done, the old ones stay.

    \b
    Example:
      quaestor lake rebuild LAKE
    """
    from quaestor.pipeline import flow
    from quaestor.pipeline.lake import Lake

    with one_line():
        Lake.at(lake)
    with one_line(), session(options) as spark, _progress(None) as tell:
        chosen = loading.definitions()
        report = flow.rebuild(spark, lake, chosen, progress=tell, wait=not loading.no_wait, say=tell.say)
    ctx.exit(min(_told(report, loading.as_json), 1))  # the tables were made again


@click.command("follow")
@click.argument("lake")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--pattern", default="*", show_default=True, help="Which files are dumps.")
@click.option("--every", type=Seconds(), default=30.0, show_default=True, metavar="SECONDS", help="How often to look.")
@click.option("--once", is_flag=True, help="Load what is there now, then end.")
@_load_options
@click.pass_context
def follow_command(
    ctx: click.Context,
    lake: str,
    folder: Path,
    pattern: str,
    every: float,
    once: bool,
    loading: Loading,
    options: SparkOptions,
) -> None:
    """Load dumps into LAKE as they arrive in FOLDER, until interrupted.

    \b
    Example:
      quaestor lake follow LAKE /var/smf --pattern '*.smf'
    """
    from quaestor.pipeline.follow import Follower
    from quaestor.pipeline.lake import Lake

    with one_line():
        Lake.to_be_at(lake)
    stop = Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: stop.set())
    worst = 0
    with one_line(), session(options) as spark:
        say = _Teller(None)
        follower = Follower(spark, lake, folder, loading.definitions(), pattern, say.say, wait=not loading.no_wait)
        while not stop.is_set():
            report = follower.step(settled=once)
            if report is not None:
                worst = max(worst, min(_told(report, loading.as_json), 1))  # it goes on with what comes next
            if once:
                break
            stop.wait(every)
    ctx.exit(worst)


# --- the dumps -------------------------------------------------------------------------------------------------------


def _files(dumps: Iterable[str]) -> tuple[list[str], list[str]]:
    """The files that can be read, of those named and those in the folders named; and what cannot, which is said."""
    files: list[str] = []
    unread: list[str] = []
    for each in dict.fromkeys(dumps):
        for name, why in _looked_at(each):
            (unread if why else files).append(name)
            if why:
                click.echo(f"{name}: {why}", err=True)
    return files, unread


def _looked_at(name: str) -> Iterator[tuple[str, str]]:
    """A file, or the files in a folder, each with the reason why it cannot be read."""
    from quaestor.pipeline.place import readable_size
    from quaestor.smf.detection import UnusableDumpError, reason_of

    inside, folder = [name], Path(name)
    try:
        if "://" not in name and folder.is_dir():
            inside = [str(file) for file in sorted(folder.iterdir()) if file.is_file() and file.name[0] != "."]
    except OSError as error:
        yield name, reason_of(error)
        return
    if not inside:
        yield name, "no file in this folder"
    for each in inside:
        try:
            readable_size(each)
            yield each, ""
        except UnusableDumpError as error:
            yield each, str(error)


def _size(files: Iterable[str]) -> int | None:
    """How many bytes there are to read, None where that is not known."""
    try:
        return sum(Path(each).stat().st_size for each in files)
    except OSError:
        return None


# --- progress and outcome --------------------------------------------------------------------------------------------


class _Teller:
    """Shows how far a load is, on standard error; without a terminal only what must be known."""

    def __init__(self, total: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        self._terminal = console.is_terminal
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeElapsedColumn())
        self.bar = Progress(*columns, console=console, transient=True, disable=not self._terminal)
        self._task = self.bar.add_task("reading", total=total)

    def __call__(self, done: int, records: int) -> None:
        self.bar.update(self._task, completed=done, description=f"{records:,} records")

    def say(self, message: str) -> None:
        if self._terminal:
            self.bar.update(self._task, description=message)
        else:
            click.echo(message, err=True)


@contextmanager
def _progress(total: int | None) -> Iterator[_Teller]:
    teller = _Teller(total)
    with teller.bar:
        yield teller


def _told(report: "LoadReport", as_json: bool, said: Sequence[str] = ()) -> int:
    """Say what a load did; the exit code (E1). What was `said` before it are the dumps that it was not given."""
    told = report.ingest
    unusable = [*told.unusable, *told.unusable_known, *told.unread]
    damage = DamageReport(dumps=told.dumps + len(told.known) + len(told.unusable_known) + len(told.unread))
    for path, each in told.first_damages:
        damage.damaged(path, each)
    for path, reason in unusable:
        damage.cannot_use(path, reason)
    damage.damages = max(damage.damages, told.damages - len(told.unusable))
    bad = [*said, *(path for path, _ in unusable)]
    code = max(damage.close(), 1 if bad else 0)
    if as_json:
        click.echo(json.dumps(_plain(report, bad)))
    else:
        not_used = f", {len(bad):,} could not be used" if bad else ""
        known = f", {len(told.known)} known already" if told.known else ""
        click.echo(
            f"{several(told.dumps - len(told.unusable), 'dump')} loaded{not_used}{known}:"
            f" {several(told.records, 'record')}, {told.copies:,} of them copies, {several(told.damages, 'damage')};"
            f" {several(len(told.days), 'day')} touched, {several(len(report.summaries), 'summary table')} computed"
        )
    return code


def _plain(report: "LoadReport", unusable: list[str]) -> dict[str, Any]:
    told = report.ingest
    return {
        "dumps": told.dumps,
        "known": told.known,
        "bytes": told.bytes,
        "records": told.records,
        "copies": told.copies,
        "damages": told.damages,
        "unusable": unusable,
        "days": sorted(day.isoformat() for day in told.days),
        "rows": dict(sorted(told.rows.items())),
        "summaries": report.summaries,
        "snapshot": report.snapshot,
    }
