"""`quaestor cf`: the coupling facility of this machine, which holds the queues that several queue managers share."""

import json
import os
import signal
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from quaestor.cli.engine_door import DIRECTORY
from quaestor.cli.numbers import several
from quaestor.cli.refused import Refused, in_words

if TYPE_CHECKING:
    from quaestor.storage.lists.structure import StructureRefusal

DEFAULT = "QUAESTOR_CF"


def _socket(path: Path | None) -> Path:
    """Where the facility listens: as said, else $QUAESTOR_CF, else in the user's run-time folder."""
    if path is not None:
        return path
    runtime = os.environ.get("XDG_RUNTIME_DIR") or str(Path.home() / ".local" / "share" / "quaestor")
    return Path(os.environ.get(DEFAULT) or Path(runtime) / "quaestor-cf.sock")


_path = click.option(
    "--socket",
    "path",
    type=click.Path(path_type=Path),
    help="Its socket.  [default: $QUAESTOR_CF, else the user's own]",
)


@click.group("cf")
def cf_group() -> None:
    """The coupling facility of this machine: list structures that queue managers share.

    \b
    Examples:
      quaestor cf start --socket /tmp/cf.sock &     hold structures until it is ended
      quaestor cf status --socket /tmp/cf.sock      what is in them, and who is connected
      quaestor cf check QM1                         what belongs to nobody
    """


@cf_group.command("start")
@_path
def start_command(path: Path | None) -> None:
    """Hold list structures until it is ended (SIGTERM, Ctrl-C).

    Structures live in this process: when it ends, they are recovered from the logs of the queue managers.

    \b
    Example:
      quaestor cf start --socket /run/user/1000/cf.sock
    """
    from quaestor.server.coupling_facility import CouplingFacility

    where = _socket(path)
    if _answers(where):
        raise Refused(f"{where}: a coupling facility is there already")
    try:
        if path is None:  # a folder that was named is there, or its name is a slip of the finger
            where.parent.mkdir(parents=True, exist_ok=True)
        facility = CouplingFacility(where)
    except OSError as error:
        raise Refused(in_words(error, where)) from None

    def end(_signal: int, _frame: FrameType | None) -> None:
        facility.stop()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    click.echo(f"coupling facility at {where}")
    facility.serve_alone()


@cf_group.command("status")
@_path
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def status_command(path: Path | None, *, as_json: bool) -> None:
    """Structures, what is in use of them, and who is connected.

    Exit code 2: there is no coupling facility.

    \b
    Example:
      quaestor cf status --socket /run/user/1000/cf.sock --json
    """
    from quaestor.storage.lists.client import facility_status
    from quaestor.storage.lists.structure import StructureLostError

    try:
        structures = facility_status(_socket(path))
    except StructureLostError as error:
        click.echo(str(error), err=True)
        raise click.exceptions.Exit(2) from None
    if as_json:
        click.echo(json.dumps(structures))
        return
    click.echo(f"{'structure':<16} {'entries':>19} {'elements':>19}  connectors")
    for name, told in structures.items():
        entries, entries_total, elements, elements_total = told["space"]
        who = ", ".join(each if active else f"{each} (failed)" for each, active in told["connectors"].items())
        click.echo(f"{name:<16} {entries:>9}/{entries_total:<9} {elements:>9}/{elements_total:<9}  {who or '-'}")


@cf_group.command("rebuild")
@_path
@click.option("--to", type=click.Path(path_type=Path), required=True, help="The socket of the facility that takes it.")
@click.option("--structure", default="", help="One structure, with its group's name before it.  [default: all]")
def rebuild_command(path: Path | None, to: Path, structure: str) -> None:
    """Move structures to another coupling facility while queue managers use them.

    Requests wait while a structure is copied; then they go on there, none lost and none done twice. A facility that
    is ended when everything has moved leaves its name to the other.

    \b
    Example:
      quaestor cf start --socket /run/user/1000/new.sock &
      quaestor cf rebuild --socket /run/user/1000/cf.sock --to /run/user/1000/new.sock
    """
    from quaestor.storage.lists.movable import rebuild
    from quaestor.storage.lists.structure import StructureLostError, StructureRefusal

    where = _socket(path)
    if where.resolve() == to.resolve():
        raise Refused(f"{to}: this is where they are")
    try:
        moved = rebuild(where, to, structure)
    except StructureLostError as error:
        raise Refused(f"nothing more was moved: {error}") from None
    except StructureRefusal as error:
        raise Refused(f"nothing more was moved: {_in_words(error, where, to, structure)}") from None
    for name in moved:
        click.echo(f"{name} is at {to}")
    if not moved:
        click.echo(f"{where}: no structure is here", err=True)


def _in_words(refusal: "StructureRefusal", where: Path, to: Path, structure: str) -> str:
    """Why a facility does not move a structure, or another does not take it."""
    from quaestor.storage.lists.movable import MOVED

    words = {
        "NOT_FOUND": f"there is no structure {structure} at {where}",
        "IN_USE": f"{to} has a structure of that name, which somebody uses",
        MOVED: f"{structure} is at {refusal.at} already",
        "LOST": str(refusal.at),
    }
    return words.get(refusal.why, str(refusal))


@cf_group.command("check")
@click.argument("directory", type=DIRECTORY)
@click.option("--idle", is_flag=True, help="Nobody works now: uncommitted work of any member is a problem too.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def check_command(directory: Path, *, idle: bool, as_json: bool) -> None:
    """Check that nothing in the structures of a group belongs to nobody: the group of the queue manager in DIRECTORY.

    DIRECTORY is where that is kept, or its name. Members may work on while this looks; nothing is changed.
    Exit code 0: all is well. 1: something was left over. 2: DIRECTORY is not that of a member.

    \b
    Example:
      quaestor cf check QM1
    """
    from quaestor.clock import SystemClock
    from quaestor.mqi.reasons import MQError
    from quaestor.qmgr.coupling_facility import group_of
    from quaestor.qmgr.coupling_facility.checking import check_structures
    from quaestor.qmgr.group_settings import group_in
    from quaestor.qmgr.operator_log import OperatorLog

    clock = SystemClock()
    try:
        settings = group_in(directory)
        if settings is None:
            raise Refused(f"{directory}: no member of a queue-sharing group is kept here")
        group = group_of(settings, directory, clock, OperatorLog(settings.name, clock))
    except MQError as error:
        raise Refused(str(error)) from None
    try:
        problems = check_structures(group, idle=idle)
    finally:
        group.tables.close()
    if as_json:
        click.echo(json.dumps({"group": settings.name, "problems": problems}))
    else:
        for problem in problems:
            click.echo(problem, err=True)
        click.echo("all is well" if not problems else several(len(problems), "problem"))
    raise click.exceptions.Exit(1 if problems else 0)


def _answers(where: Path) -> bool:
    from quaestor.storage.lists.client import facility_status
    from quaestor.storage.lists.structure import StructureLostError

    try:
        facility_status(where)
    except StructureLostError:
        return False
    return True
