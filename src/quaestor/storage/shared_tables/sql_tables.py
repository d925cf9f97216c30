"""SQL tables: the promise of the shared tables, kept in SQL that both databases speak.

Rules
  SQ1 One connection, one lock: an engine serves one request at a time. Who wants several at once opens several.
  SQ2 A connection that fails is closed and made again by the next request. What failed before anything could have
      been changed is asked once more on a new connection; a change whose end was not answered is not (T5).
  SQ3 A change begins by updating the group's counter: the database lets the others wait at that row (T1).

Called by nobody directly.  Calls table.  Its engines say how to connect and which errors mean that it is away.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import Lock
from typing import Any, ClassVar, TypeVar

from quaestor.storage.shared_tables.table import (
    ABSENT,
    FOLLOWED,
    Change,
    ChangedError,
    Put,
    RepositoryAwayError,
    Row,
    Unchanged,
)

LAST_MADE = "quaestor_object"
"""What is made last: when it is there, everything is."""

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS quaestor_change (grp TEXT PRIMARY KEY, last BIGINT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS quaestor_row (
        grp TEXT, tab TEXT, name TEXT, version BIGINT NOT NULL, value TEXT, PRIMARY KEY (grp, tab, name))""",
    "CREATE INDEX IF NOT EXISTS quaestor_row_version ON quaestor_row (grp, tab, version)",
    """CREATE TABLE IF NOT EXISTS quaestor_life (
        grp TEXT, structure TEXT, member INTEGER, life BIGINT NOT NULL, PRIMARY KEY (grp, structure, member))""",
    f"""CREATE TABLE IF NOT EXISTS {LAST_MADE} (
        grp TEXT, structure TEXT, member INTEGER, life BIGINT, serial BIGINT, piece INTEGER, data BYTEA NOT NULL,
        PRIMARY KEY (grp, structure, member, life, serial, piece))""",
)
READ = "SELECT name, version, value FROM quaestor_row WHERE grp = ? AND tab = ? AND name = ? AND value IS NOT NULL"
ROWS = "SELECT name, version, value FROM quaestor_row WHERE grp = ? AND tab = ? AND value IS NOT NULL"
SINCE = "SELECT name, version, value FROM quaestor_row WHERE grp = ? AND tab = ? AND version > ? ORDER BY version, name"
NEWEST = "SELECT last FROM quaestor_change WHERE grp = ?"
NEXT = "UPDATE quaestor_change SET last = last + 1 WHERE grp = ? RETURNING last"
FIRST = "INSERT INTO quaestor_change (grp, last) VALUES (?, 0) ON CONFLICT DO NOTHING"
UPSERT = (
    "INSERT INTO quaestor_row (grp, tab, name, version, value) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (grp, tab, name) DO UPDATE SET version = excluded.version, value = excluded.value"
)
DELETE = "DELETE FROM quaestor_row WHERE grp = ? AND tab = ? AND name = ?"
MOVED = "SELECT name FROM quaestor_row WHERE grp = ? AND tab = ? AND version > ? ORDER BY version LIMIT 1"

Answer = TypeVar("Answer")
Execute = Callable[..., Any]


class SqlTables(ABC):
    """The tables of one group over one connection; an engine fills in the four things that differ."""

    AWAY: ClassVar[tuple[type[Exception], ...]] = ()
    BEGIN: ClassVar[str] = "BEGIN"

    def __init__(self, address: str, group: str) -> None:
        self.address, self.group = address, group
        self._lock = Lock()
        self._connection: Any = None

    # -- what an engine says

    @abstractmethod
    def _connect(self) -> Any:
        """A new connection that commits by itself."""

    @abstractmethod
    def _create(self, execute: Execute) -> None:
        """Make the tables, if they are not there yet; who finds them waits for nobody."""

    def _statement(self, text: str) -> str:
        """A statement as this database marks its parameters."""
        return text

    # -- questions

    def read(self, table: str, name: str) -> Row | None:
        found = self._asked(READ, self.group, table, name)
        return _row(found[0]) if found else None

    def rows(self, table: str) -> list[Row]:
        return sorted(map(_row, self._asked(ROWS, self.group, table)), key=lambda row: row.name)

    def changed_since(self, table: str, since: int) -> list[Row]:
        return [_row(each) for each in self._asked(SINCE, self.group, table, since)]

    def newest(self) -> int:
        ((last,),) = self._asked(NEWEST, self.group)
        return int(last)

    # -- changes

    def change(self, *changes: Change) -> int:
        with self._lock:
            number = self._twice(self._begun)

            def made() -> None:
                for each in changes:
                    self._made(each, number)

            self._ended(made)
            return number

    def _ended(self, work: Callable[[], None]) -> None:
        """Do what was begun and commit it, or leave nothing of it."""
        try:
            work()
        except ChangedError:
            self._once(lambda: self._execute("ROLLBACK"))
            raise
        except BaseException:
            self._drop()  # nothing of it stays
            raise
        self._once(lambda: self._execute("COMMIT"))  # SQ2: unanswered, it is not asked again

    def _begun(self) -> int:
        self._execute(self.BEGIN)
        ((number,),) = self._execute(NEXT, self.group)  # SQ3
        return int(number)

    def _made(self, change: Change, number: int) -> None:
        if isinstance(change, Unchanged):
            moved = self._once(lambda: self._execute(MOVED, self.group, change.table, change.since))
            if moved:
                raise ChangedError(change.table, moved[0][0])
            return
        if change.version is not None:
            self._expect(change.table, change.name, change.version)
        where = (self.group, change.table, change.name)
        if isinstance(change, Put):
            text = json.dumps(dict(change.value), separators=(",", ":"))
            self._once(lambda: self._execute(UPSERT, *where, number, text))
        elif change.table in FOLLOWED:
            if self._version(change.table, change.name) != ABSENT:
                self._once(lambda: self._execute(UPSERT, *where, number, None))  # T4
        else:
            self._once(lambda: self._execute(DELETE, *where))

    def _expect(self, table: str, name: str, version: int) -> None:
        if self._version(table, name) != version:
            raise ChangedError(table, name)  # T2

    def _version(self, table: str, name: str) -> int:
        found = self._once(lambda: self._execute(READ, self.group, table, name))
        return int(found[0][1]) if found else ABSENT

    # -- the connection

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _asked(self, text: str, *parameters: Any) -> list[Any]:
        with self._lock:
            return self._twice(lambda: self._execute(text, *parameters))

    def _execute(self, text: str, *parameters: Any) -> list[Any]:
        if self._connection is None:
            self._connection = self._connect()
            self._create(self._connection.execute)
            if not self._connection.execute(self._statement(NEWEST), (self.group,)).fetchall():
                self._connection.execute(self._statement(FIRST), (self.group,))
        cursor = self._connection.execute(self._statement(text), parameters)
        return list(cursor.fetchall()) if cursor.description else []

    def _twice(self, ask: Callable[[], Answer]) -> Answer:
        """Ask; on a connection that has failed while it was idle, ask again on a new one (SQ2)."""
        if self._connection is not None:
            try:
                return ask()
            except self.AWAY:
                self._drop()
        return self._once(ask)

    def _once(self, ask: Callable[[], Answer]) -> Answer:
        try:
            return ask()
        except self.AWAY as error:
            self._drop()
            why = str(error).strip().splitlines() or [type(error).__name__]
            raise RepositoryAwayError(f"the shared repository {self.address} is away: {why[0]}") from error

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _row(found: Any) -> Row:
    name, version, value = found
    return Row(name, int(version), None if value is None else json.loads(value))
