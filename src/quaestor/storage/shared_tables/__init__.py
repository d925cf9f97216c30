"""Shared tables: the repository that the members of a queue-sharing group have in common (Db2's role).

    table             rows, changes, refusals: what both engines promise
    sql_tables        the promise kept in SQL that both databases speak
    large_objects     the bodies of long messages, in pieces; beside the tables, followed by nobody
    sqlite_engine     a file that the processes of one machine share; the default, nothing to install
    postgres_engine   PostgreSQL, for members on several machines
    group_tables      the tables of a group: members, structures, backups, data sets, objects, channels, sync keys

Called by the db2 manager.  Calls nothing of the house.
"""

from importlib import import_module

from quaestor.storage.shared_tables.group_tables import (
    Backup,
    ChannelState,
    DataSet,
    GroupTables,
    Member,
    SharedObject,
    Structure,
    SyncKey,
)
from quaestor.storage.shared_tables.large_objects import Body, LargeObjects, Repository
from quaestor.storage.shared_tables.sqlite_engine import SqliteTables
from quaestor.storage.shared_tables.table import (
    ChangedError,
    Drop,
    Put,
    RepositoryAwayError,
    Row,
    SharedTables,
    Unchanged,
)

__all__ = [
    "Backup",
    "Body",
    "ChangedError",
    "ChannelState",
    "DataSet",
    "Drop",
    "GroupTables",
    "LargeObjects",
    "Member",
    "Put",
    "Repository",
    "RepositoryAwayError",
    "Row",
    "SharedObject",
    "SharedTables",
    "Structure",
    "SyncKey",
    "Unchanged",
    "open_tables",
]

POSTGRES = ("postgresql://", "postgres://")


def open_tables(address: str, group: str) -> Repository:
    """The tables of a group at an address: `postgresql://...`, or the path of a file for SQLite."""
    if not address.startswith(POSTGRES):
        return SqliteTables(address.removeprefix("sqlite:"), group)
    try:
        engine = import_module("quaestor.storage.shared_tables.postgres_engine")
    except ModuleNotFoundError as error:
        raise RepositoryAwayError(f"{address} needs psycopg: pip install 'quaestor[postgresql]'") from error
    made: Repository = engine.PostgresTables(address, group)
    return made
