"""`quaestor pageset`: image copies of page sets, and bringing a lost one back."""

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from quaestor.cli.engine_door import DIRECTORY, disk_of, engine_of, one_line
from quaestor.cli.lazy import LazyGroup

LOOK_S = 0.5
"""How often somebody at a terminal is told how far a copy is."""


@click.group(
    "pageset",
    cls=LazyGroup,
    commands={
        "copy": "quaestor.cli.pageset:copy_command",
        "recover": "quaestor.cli.pageset:recover_command",
    },
)
def pageset_group() -> None:
    """Page sets: take image copies, recover a lost page set from its copy and the log.

    DIRECTORY is where the queue manager is kept, or its name if `quaestor qmgr create` made it.

    \b
    Examples:
      quaestor pageset copy QM1 1
      quaestor qmgr stop QM1 && quaestor pageset recover QM1 1
    """


@click.command("copy")
@click.argument("directory", type=DIRECTORY)
@click.argument("number", type=click.IntRange(0, 99))
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def copy_command(directory: Path, number: int, *, as_json: bool) -> None:
    """Take an image copy of page set NUMBER of the queue manager in DIRECTORY.

    A server that runs takes it itself, by the command BACKUP PSID, while its applications work; one that is down is
    started for it and stopped. A queue manager that runs inside a program is refused (in use): the program gives the
    command.
    The copy is kept beside the page set (copy-NN) and replaces the one before it once it is complete and durable: there
    must be room for both. Keep the log from its RBA on.
    A page set with a page that is not whole is not copied.
    Exit code 2: nothing was copied, and why.

    \b
    Example:
      quaestor pageset copy QM1 1
    """
    with one_line(directory):
        facts = _by_server(directory, number) if _served(directory) else _from_files(directory, number)
    said = f"{facts['pages']} pages copied to {facts['copy']}, log needed from {facts['redo_from']}"
    click.echo(json.dumps(facts) if as_json else said)


def _served(directory: Path) -> bool:
    """Whether a server runs there, and can be asked."""
    from quaestor.server.home import Home

    home = Home(directory)
    return home.running_pid() is not None and home.socket.exists()


def _by_server(directory: Path, number: int) -> dict[str, Any]:
    """Have the server take the copy; on a terminal tell how far it is."""
    from concurrent.futures import Future, wait
    from threading import Thread

    from quaestor.cli.mqsc_door import Answer, door
    from quaestor.cli.refused import Refused, in_words
    from quaestor.mqi.reasons import MQError
    from quaestor.server.home import Home

    answer: Future[Answer] = Future()

    def ask() -> None:
        try:
            answer.set_result(server.run(f"BACKUP PSID({number})"))
        except MQError as error:
            answer.set_exception(error)

    try:
        server = door(Home(directory).configuration().name, directory)
        Thread(target=ask, daemon=True).start()
        while not wait([answer], LOOK_S).done:
            _tell_share(directory, number)
        told = answer.result()
        server.close()
    except MQError as error:
        raise Refused(in_words(error)) from error
    if not told.ok:
        raise Refused(told.lines[0])
    row = told.rows[0]
    return {"page_set": number, "copy": row["DSN"], "pages": row["PAGES"], "redo_from": row["RBA"]}


def _tell_share(directory: Path, number: int) -> None:
    from quaestor.qmgr.recovery.media import new_copy_name
    from quaestor.storage.page_set import file_name

    if sys.stderr is not None and sys.stderr.isatty():
        with suppress(OSError):
            made, whole = ((directory / name).stat().st_size for name in (new_copy_name(number), file_name(number)))
            click.echo(f"\r{min(100 * made // max(whole, 1), 100):3d} % copied\r", nl=False, err=True)


def _from_files(directory: Path, number: int) -> dict[str, Any]:
    """Take the copy of a queue manager that is down."""
    from quaestor.qmgr.recovery.media import copy_name, image_copy

    with engine_of(directory) as engine:
        with engine.recovery.latch:
            rba = image_copy(engine.recovery, number, disk_of(directory))
        pages = engine.buffers.page_sets[number].pages
    return {"page_set": number, "copy": copy_name(number), "pages": pages, "redo_from": f"{rba:012X}"}


@click.command("recover")
@click.argument("directory", type=DIRECTORY)
@click.argument("number", type=click.IntRange(0, 99))
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def recover_command(directory: Path, number: int, *, as_json: bool) -> None:
    """Put the image copy of page set NUMBER in its place and bring it up to date from the log.

    The queue manager is down; it is restarted once to redo the log, and checked. A copy that is damaged, or that the
    log cannot bring up to date, is refused before anything is changed.
    Exit code 0: recovered. 1: recovered, but something does not agree. 2: not recovered, and why.

    \b
    Example:
      quaestor pageset recover QM1 1
    """
    from quaestor.mqi.reasons import Abend
    from quaestor.qmgr.checker import check
    from quaestor.qmgr.recovery.media import copy_name, restore

    with one_line(directory):
        disk = disk_of(directory)
        disk.own()
        try:
            if not disk.exists(copy_name(number)):
                raise Abend(
                    "Y2", "there is no image copy of this page set", page_set=number, expected=copy_name(number)
                )
            restore(disk, number)
        finally:
            disk.disown()
        with engine_of(directory) as engine, engine.recovery.latch:
            problems = check(engine.data)
    for problem in problems:
        click.echo(problem, err=True)
    facts = {"page_set": number, "problems": problems}
    click.echo(json.dumps(facts) if as_json else f"page set {number} is recovered")
    sys.exit(1 if problems else 0)
