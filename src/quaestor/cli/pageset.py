"""`quaestor pageset`: image copies of page sets, and bringing a lost one back."""

import json
import sys
from pathlib import Path

import click

from quaestor.cli.engine_door import DIRECTORY, disk_of, engine_of, one_line
from quaestor.cli.lazy import LazyGroup


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
      quaestor qmgr stop QM1 && quaestor pageset copy QM1 1
      quaestor pageset recover QM1 1
    """


@click.command("copy")
@click.argument("directory", type=DIRECTORY)
@click.argument("number", type=click.IntRange(0, 99))
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def copy_command(directory: Path, number: int, *, as_json: bool) -> None:
    """Take an image copy of page set NUMBER of the queue manager in DIRECTORY, which is down.

    The copy is kept beside the page set (copy-NN) and replaces the one before it once it is complete and durable: there
    must be room for both. Keep the log from its RBA on.
    A page set with a page that is not whole is not copied. A queue manager that runs is refused (in use), and no
    command of its own takes copies: stop it, copy, start it again.
    Exit code 2: nothing was copied, and why.

    \b
    Example:
      quaestor qmgr stop QM1 && quaestor pageset copy QM1 1
      quaestor qmgr start QM1 --background
    """
    from quaestor.mqi.reasons import Abend
    from quaestor.qmgr.recovery.media import copy_name, image_copy

    with one_line(directory), engine_of(directory) as engine:
        if number not in engine.buffers.page_sets:
            raise Abend("T4", "no such page set", page_set=number, there_are=sorted(engine.buffers.page_sets))
        with engine.recovery.latch:
            rba = image_copy(engine.recovery, number, disk_of(directory))
        pages = engine.buffers.page_sets[number].pages
    facts = {"page_set": number, "copy": copy_name(number), "pages": pages, "redo_from": f"{rba:012X}"}
    click.echo(
        json.dumps(facts) if as_json else f"{pages} pages copied to {copy_name(number)}, log needed from {rba:012X}"
    )


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
