"""What the commands on a queue manager's files share: opening them, and failures in one line (E1, E2).

Called by log, check, pageset and cf.  Calls the engine.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quaestor.cli.refused import Refused, in_words

if TYPE_CHECKING:
    from quaestor.qmgr.data.engine import Engine
    from quaestor.storage.real_disk import RealDisk


class Kept(click.Path):
    """A queue manager's directory, or its name if it is where `quaestor qmgr create` puts it."""

    name = "directory"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ARG002
        from quaestor.server.home import default_directory

        given = Path(value)
        if given.exists() or len(given.parts) != 1:
            return given
        named = default_directory(given.name)
        return named if given.name and named.exists() else given


DIRECTORY = Kept()
"""`disk_of` says in one line what is wrong with one that holds no queue manager."""


@contextmanager
def one_line(directory: Path) -> Iterator[None]:
    """What cannot be read or started becomes one line with what to do, and exit code 2."""
    from quaestor.qmgr.connection.failing import FAILURES

    try:
        yield
    except FAILURES as error:
        click.echo(in_words(error, directory), err=True)
        sys.exit(2)


def there(directory: Path) -> None:
    """Refuse a directory that is not there; a bare word may have been meant as a name."""
    if directory.exists() and not directory.is_dir():
        raise Refused(f"{directory}: this is no directory")
    if not directory.is_dir():
        unknown = ", and no queue manager of that name" if len(directory.parts) == 1 else ""
        raise Refused(f"{directory}: there is no such directory{unknown}")


def disk_of(directory: Path) -> "RealDisk":
    """The files of a queue manager; a directory without one is refused, and nothing is made in it."""
    from quaestor.server.home import Home
    from quaestor.storage.bootstrap import Bootstrap
    from quaestor.storage.real_disk import RealDisk

    there(directory)
    disk = RealDisk(directory)
    if not Bootstrap.formatted(disk):
        if Home(directory).exists:
            raise Refused(f"{directory}: the queue manager was created, and has not been started yet")
        raise Refused(f"{directory}: no queue manager is kept here: there is no bootstrap data set")
    return disk


@contextmanager
def engine_of(directory: Path) -> "Iterator[Engine]":
    """The engine of a queue manager that is down, restarted, and stopped at the end; refused while it is in use."""
    from quaestor.clock import SystemClock
    from quaestor.qmgr.data.engine import Engine, settings_of

    disk = disk_of(directory)
    disk.own()
    try:
        engine = Engine(disk, SystemClock(), settings_of(disk))
        engine.start()
        yield engine
        engine.stop()
    finally:
        disk.disown()
