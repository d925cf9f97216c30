"""`quaestor qmgr figures`: what a queue manager that runs has counted since its last record, as SMF.

`advise` asks for the same, and how things are defined.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from quaestor.cli.qmgr_place import directory_option, existing
from quaestor.cli.refused import Refused, in_words
from quaestor.cli.whole_file import FileToBe, whole_file

if TYPE_CHECKING:
    from quaestor.server.client.connection import Connection

_ENGINE, _OBJECTS = ("SYSTEM", "LOG", "ARCHIVE", "USAGE", "SECURITY"), ("QMGR ALL", "QUEUE(*) ALL")
DEFINED: Final = (*_ENGINE, *_OBJECTS, "GROUP", "CFSTRUCT(*) ALL", "CFSTATUS(*)")
"""What is displayed for the rules on definitions."""


def answers_and_figures_of(name: str, directory: Path | None) -> tuple[str, list[bytes]]:
    """How things are defined, as DISPLAY says it, and what was counted by then, on one connection.

    What is refused is a line that says so.
    """
    with _asking(name, directory) as app:
        answers = "\n".join(line for what in DEFINED for line in app.mqsc(f"DISPLAY {what}")["lines"])
        return answers, app.figures()


def figures_of(name: str, directory: Path | None) -> list[bytes]:
    """The SMF 115 records of an interval that would end now."""
    with _asking(name, directory) as app:
        return app.figures()


@contextmanager
def _asking(name: str, directory: Path | None) -> "Iterator[Connection]":
    """A connection to one that runs on this machine."""
    from quaestor.mqi.reasons import MQError
    from quaestor.server.client.opening import LINKS, hello_of
    from quaestor.server.client.place import local_place

    home = existing(name, directory)
    if home.running_pid() is None or not home.socket.exists():
        raise Refused(f"{name} does not run: its SMF files are in {home.directory / 'smf'}")
    try:
        with LINKS.connect(local_place(name, home.directory), hello_of(name, None, None, "figures", b"")) as app:
            yield app
    except MQError as error:
        raise Refused(f"{name}: {error}") from error


@click.command("figures")
@click.argument("name")
@directory_option
@click.option("--output", "-o", type=FileToBe(), required=True, help="The dump to write.")
def figures_command(name: str, directory: Path | None, output: Path) -> None:
    """Write what a queue manager that runs has counted since its last statistics record, as a dump.

    Nothing ends by it: the interval goes on, and its own record has these figures too. It needs no trace.

    \b
    Examples:
      quaestor qmgr figures QM1 -o now.smf && quaestor smf print now.smf
      quaestor advise --running QM1
    """
    records = figures_of(name, directory)
    try:
        with whole_file(output) as stream:
            stream.write(b"".join(records))
    except OSError as error:
        raise Refused(in_words(error, output)) from None
    click.echo(f"{output}: {len(records)} records")
