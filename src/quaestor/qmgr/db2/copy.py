"""Copy: what was last seen of the tables that members follow.

Rules
  DC1 A row is replaced only by a later version, so it does not matter in which order changes become known.
  DC2 The copy is never asked for permission: it answers what was, and refuses every change.

Called by the db2 manager, and through it by whoever opens shared objects.  Calls nothing.
"""

from threading import Lock

from quaestor.storage.shared_tables import RepositoryAwayError, Row
from quaestor.storage.shared_tables.table import FOLLOWED, Change


class Copy:
    """Followed tables in memory, with the questions of the tables themselves."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.seen = 0
        """The change up to which everything is known."""

        self._tables: dict[str, dict[str, Row]] = {table: {} for table in FOLLOWED}
        self._lock = Lock()

    def learn(self, table: str, row: Row) -> bool:
        """A row as it was seen; whether that is news (DC1)."""
        with self._lock:
            known = self._tables[table].get(row.name)
            if known is not None and known.version >= row.version:
                return False
            self._tables[table][row.name] = row
            return True

    def read(self, table: str, name: str) -> Row | None:
        row = self._tables[table].get(name)
        return row if row is not None and row.value is not None else None

    def rows(self, table: str) -> list[Row]:
        known = sorted(self._all(table), key=lambda row: row.name)
        return [row for row in known if row.value is not None]

    def changed_since(self, table: str, since: int) -> list[Row]:
        known = sorted(self._all(table), key=lambda row: (row.version, row.name))
        return [row for row in known if row.version > since]

    def newest(self) -> int:
        return self.seen

    def change(self, *_changes: Change) -> int:
        raise RepositoryAwayError(f"the shared repository {self.address} is not asked by those who only look")  # DC2

    def close(self) -> None:
        """Nothing is open."""

    def _all(self, table: str) -> list[Row]:
        with self._lock:
            return list(self._tables[table].values())
