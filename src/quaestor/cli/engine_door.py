"""What the commands on a queue manager's files share: opening them, and failures in one line (E1, E2).

Of a member of a queue-sharing group they keep the log from where the backups of structures need it, as it does itself
(SM1); all of it where the repository cannot say.

Called by log, check, pageset and cf.  Calls the engine.
"""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
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
    from quaestor.storage.bootstrap import Bootstrap
    from quaestor.storage.real_disk import RealDisk

    there(directory)
    disk = RealDisk(directory)
    if not Bootstrap.formatted(disk):
        raise Refused(f"{directory}: no queue manager is kept here: there is no bootstrap data set")
    return disk


@contextmanager
def engine_of(directory: Path) -> "Iterator[Engine]":
    """The engine of a queue manager that is down, restarted, and stopped at the end; refused while it is in use."""
    from quaestor.clock import SystemClock
    from quaestor.qmgr.data.engine import Engine, settings_of

    disk, kept_rba = disk_of(directory), _needed_by_structures(directory)
    disk.own()
    try:
        engine = Engine(disk, SystemClock(), settings_of(disk))
        if kept_rba is not None:
            engine.recovery.kept_rba = lambda: kept_rba
        engine.start()
        yield engine
        engine.stop()
    finally:
        disk.disown()


def _needed_by_structures(directory: Path) -> int | None:
    """The RBA from which the structures of a member's group need its log; 0 where nobody can say, None without any."""
    from quaestor.qmgr.group_settings import group_in
    from quaestor.storage.shared_tables import GroupTables, RepositoryAwayError, open_tables

    settings = group_in(directory)
    if settings is None:
        return None
    try:
        with closing(GroupTables(open_tables(settings.repository, settings.name))) as tables:
            names = [member.name for member in tables.members.all() if member.log_directory == str(directory.resolve())]
            needed = [rba for backup in tables.backups.all() for name in names for rba in backup.needs(name)]
    except RepositoryAwayError as error:
        names = []
        click.echo(f"{directory}: all of the log is kept, for the structures of its group: {error}", err=True)
    return min(needed, default=None) if names else 0
