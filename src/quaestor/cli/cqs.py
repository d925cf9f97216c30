"""`quaestor cqs`: a group of common queue servers, for operators."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quaestor.cli.refused import Refused, in_words

if TYPE_CHECKING:
    from quaestor.cqs.server import CommonQueueServer

DEFAULT_FACILITY = "CF01"
_FACILITY_NAME = re.compile("[A-Za-z0-9_-]+")
_KILOBYTES = click.IntRange(16, 1 << 30)


@click.group("cqs")
def cqs_group() -> None:
    """Common queue servers: IMS shared queues on list structures.

    A group has a directory with its policy, its log and its two recovery data sets.

    \b
    Examples:
      quaestor cf start --socket /run/user/1000/cf.sock &
      quaestor cqs define /var/msgq --facility CF01=/run/user/1000/cf.sock --size 100000 --initsize 50000
      quaestor cqs query /var/msgq
      quaestor cqs checkpoint /var/msgq
    """


_directory = click.argument("directory", type=click.Path(path_type=Path))
_name = click.option("--name", default="OPERATOR", show_default=True, help="The name under which this command joins.")


@cqs_group.command("define")
@_directory
@click.option("--structure", default="MSGQ", show_default=True, help="Name of the primary structure.")
@click.option("--size", type=_KILOBYTES, default=100_000, show_default=True, help="Its largest size in KB (SIZE).")
@click.option("--initsize", type=_KILOBYTES, help="The size it begins with (INITSIZE).  [default: SIZE]")
@click.option(
    "--overflow-size", type=_KILOBYTES, help="Size of the overflow structure in KB.  [default: there is none]"
)
@click.option(
    "--threshold",
    type=click.IntRange(1, 100),
    default=70,
    show_default=True,
    help="Per cent of elements at which overflow begins.",
)
@click.option("--fast-path", is_flag=True, help="The structure of fast path (EMHQ): its input is not recoverable.")
@click.option(
    "--facility",
    "facilities",
    multiple=True,
    required=True,
    metavar="NAME=PLACE",
    help="A coupling facility: its socket, or the address of a Redis or Valkey server. The first one is preferred.",
)
def define_command(directory: Path, structure: str, size: int, threshold: int, fast_path: bool, **more: Any) -> None:
    """Write the policy of a new group.

    \b
    Examples:
      quaestor cqs define /var/msgq --facility CF01=/run/user/1000/cf.sock
      quaestor cqs define /var/msgq --facility CF01=redis://host1 --facility CF02=redis://host2 --overflow-size 20000
    """
    from quaestor.cqs.group_directory import PolicyError, define
    from quaestor.cqs.policy import Policy

    places = _places(more["facilities"])
    try:
        policy = Policy(
            structure,
            size,
            more["initsize"],
            more["overflow_size"],
            preference=tuple(places),
            overflow_threshold_percent=threshold,
            fast_path=fast_path,
        )
        define(directory, policy, places)
    except (PolicyError, OSError, ValueError) as error:
        raise _one_line(error) from None
    click.echo(f"{directory}: structure {structure} of {size:,} KB")


@cqs_group.command("query")
@_directory
@_name
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def query_command(directory: Path, name: str, *, as_json: bool) -> None:
    """Structures, servers, clients, queues and recovery data sets.

    \b
    Example:
      quaestor cqs query /var/msgq --json
    """
    from quaestor.cqs.query import status

    with _joined(name, directory) as server:
        told = status(server.pair)
    click.echo(json.dumps(told) if as_json else "\n".join(_lines(told)))


@cqs_group.command("checkpoint")
@_directory
@_name
def checkpoint_command(directory: Path, name: str) -> None:
    """Take a structure checkpoint: all recoverable messages to the older recovery data set.

    \b
    Example:
      quaestor cqs checkpoint /var/msgq
    """
    with _joined(name, directory) as server:
        taken = server.structure_checkpoint()
    click.echo(f"structure checkpoint {taken.sequence}: {taken.messages} messages, recovery from RBA {taken.rba}")


@cqs_group.command("recover")
@_directory
@_name
def recover_command(directory: Path, name: str) -> None:
    """Make the structures anew from the newest recovery data set and the log.

    A structure that is lost is recovered by the first server that connects; this is for one that is damaged.

    \b
    Example:
      quaestor cqs recover /var/msgq
    """
    with _joined(name, directory) as server:
        messages = server.recover_structure()
    click.echo(f"recovered {messages} messages")


@cqs_group.command("copy")
@_directory
@_name
@click.option("--facility", default="", help="To which coupling facility.  [default: the one it is on]")
@click.option("--size", type=_KILOBYTES, help="Size of the new primary structure in KB.  [default: as it is]")
def copy_command(directory: Path, name: str, facility: str, size: int | None) -> None:
    """Copy the structures to the same or another coupling facility, with all their messages.

    \b
    Example:
      quaestor cqs copy /var/msgq --facility CF02 --size 200000
    """
    with _joined(name, directory) as server:
        made = server.copy_structure(facility, size)
    click.echo(f"copied to {', '.join(made)}")


@cqs_group.command("alter")
@_directory
@_name
@click.option("--size", type=_KILOBYTES, required=True, help="The new size in KB, at most SIZE of the policy.")
def alter_command(directory: Path, name: str, size: int) -> None:
    """Change the size of the primary structure in place.

    \b
    Example:
      quaestor cqs alter /var/msgq --size 200000
    """
    with _joined(name, directory) as server:
        server.alter_structure(size)
    click.echo(f"altered to {size:,} KB")


@cqs_group.command("delete")
@_directory
@_name
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete_command(directory: Path, name: str, *, yes: bool) -> None:
    """End the queues: scratch both recovery data sets, then everything that is on the structures.

    \b
    Example:
      quaestor cqs delete /var/msgq
    """
    if not yes:
        click.confirm(f"All messages of {directory} will be gone. Go on?", abort=True)
    with _joined(name, directory) as server:
        server.delete_structure()
    click.echo("deleted")


def _places(facilities: Iterable[str]) -> dict[str, str]:
    """Coupling facilities by name. A socket has its whole name: servers of the group are started anywhere."""
    places: dict[str, str] = {}
    for told in facilities:
        name, _, place = told.partition("=") if "=" in told else (DEFAULT_FACILITY, "", told)
        if not _FACILITY_NAME.fullmatch(name) or not place:
            raise Refused(f"--facility {told}: write NAME=PLACE, the name in letters, digits, _ and -")
        if name in places:
            raise Refused(f"--facility {told}: {name} is {places[name]} already")
        places[name] = place if "://" in place else str(Path(place).absolute())
    return places


@contextmanager
def _joined(name: str, directory: Path) -> Iterator["CommonQueueServer"]:
    """A server of the group for the time of a command; what goes wrong is one line."""
    from quaestor.cqs import group_directory
    from quaestor.cqs.refusals import CQSError
    from quaestor.mqi.reasons import Abend
    from quaestor.storage.lists.structure import StructureLostError

    try:
        try:
            server = group_directory.server(name, directory)
        except ValueError as error:
            raise _one_line(error) from None
        server.start()
        try:
            yield server
        finally:
            if server.pair.structures:
                server.stop()
    except (group_directory.PolicyError, CQSError, StructureLostError, Abend, OSError) as error:
        raise _one_line(error) from None


def _one_line(error: Exception) -> click.exceptions.Exit:
    click.echo(in_words(error), err=True)
    return click.exceptions.Exit(2)


def _lines(told: dict[str, Any]) -> Iterator[str]:
    yield f"{'structure':<20} {'on':<8} {'messages':>9} {'entries':>17} {'elements':>19}"
    for each in told["structures"]:
        entries, elements = (f"{each[use]}/{each[f'{use}_total']}" for use in ("entries", "elements"))
        yield f"{each['name']:<20} {each['facility']:<8} {each['messages']:>9} {entries:>17} {elements:>19}"
    yield f"\nlocked {told['locked']}, on the cold queue {told['cold']}, log up to RBA {told['log_end_rba']}"
    tables: list[tuple[str, list[dict[str, Any]], Callable[[dict[str, Any]], str]]] = [
        ("servers", told["servers"], lambda each: f"{each['name']:<9} {each['state']}"),
        ("queues", told["queues"], _queue_line),
        ("recovery data sets", told["recovery_data_sets"], _data_set_line),
    ]
    for title, rows, line in tables:
        if rows:
            yield f"\n{title}"
            yield from (f"  {line(row)}" for row in rows)
    if told["clients"]:
        yield "\nclients\n" + "\n".join(f"  {name:<5} of {server}" for name, server in told["clients"].items())


def _queue_line(each: dict[str, Any]) -> str:
    text = f"{each['type']:<20} {each['name']:<9} {each['messages']:>8} messages {each['elements']:>9} elements"
    return f"{text}  in overflow" if each["overflow"] else text


def _data_set_line(each: dict[str, Any]) -> str:
    text = f"{each['sequence']:>4}  {each['taken']}  by {each['server']:<9}"
    return f"{text} {each['messages']:>8} messages, RBA {each['rba']}"
