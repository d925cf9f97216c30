"""Table: rows that every member of a group sees, and the only ways to change them.

Rules
  T1  A change takes the next change number of the group before anything else and keeps it until it has ended. So the
      changes of a group are in one order, and whoever asks what has changed since a number misses none.
  T2  The version of a row is the number of its last change. It is never used again, so a change that names the version
      it has seen is refused when anybody was quicker, even if the row was deleted and made again.
  T3  Changes asked for together are done together, or none of them is (ChangedError names the row).
  T4  What was deleted from a table that members follow stays as a version without a value, so that they learn of it.
  T5  A database that is away is said in one line (RepositoryAwayError); the next request connects again. When the way
      is lost between a change and its answer, the change may have been made: asked again under its condition, it says
      so.

Called by the db2 manager and group_tables.  Answered by sqlite_engine and postgres_engine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

ABSENT = 0
"""The version of a row that is not there (T2)."""

FOLLOWED = frozenset({"members", "structures", "backups", "data_sets", "objects"})
"""Tables whose deletions are remembered (T4)."""

Value = Mapping[str, Any]


class RepositoryAwayError(Exception):
    """The database cannot be asked now (T5)."""


class ChangedError(Exception):
    """Somebody else was quicker: nothing has been changed (T2, T3)."""

    def __init__(self, table: str, name: str) -> None:
        super().__init__(table, name)
        self.table, self.name = table, name

    def __str__(self) -> str:
        return f"{self.table} {self.name}: changed by another member"


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it is read; one that was deleted has no value (T4)."""

    name: str
    version: int
    value: Value | None


@dataclass(frozen=True, slots=True)
class Put:
    """Write a row: whatever is there, or only if it has the version that was seen (ABSENT: it must be new)."""

    table: str
    name: str
    value: Value
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    """Delete a row: whatever it is, or only if it has the version that was seen."""

    table: str
    name: str
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Refuse the changes asked for with it when the table has changed since."""

    table: str
    since: int


Change = Put | Drop | Unchanged


class SharedTables(Protocol):
    """The tables of one group in one database."""

    address: str

    def read(self, table: str, name: str) -> Row | None:
        """A row; None when it is not there."""

    def rows(self, table: str) -> list[Row]:
        """The rows that are there, in the order of their names."""

    def changed_since(self, table: str, since: int) -> list[Row]:
        """Rows changed after a number, in the order of their changes; deleted ones have no value (T4)."""

    def newest(self) -> int:
        """The number of the last change to any table: the cheapest question, asked every few seconds."""

    def change(self, *changes: Change) -> int:
        """Make the changes as one (T3); the number they got, which is the version of what was put."""

    def close(self) -> None:
        """Give the connection back."""
