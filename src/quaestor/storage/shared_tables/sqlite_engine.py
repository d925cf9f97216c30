"""SQLite: shared tables in a file that the queue managers of one machine open together.

Rules
  SL1 The file is in WAL mode and a change is on disk when it is answered; readers never wait for a writer.
  SL2 Who waits longer than `BUSY_S` for another process's change is told that the repository is away.

Called by open_tables.  Calls sql_tables, large_objects.
"""

import sqlite3
from pathlib import Path
from typing import Any, ClassVar

from quaestor.storage.shared_tables.large_objects import SqlRepository
from quaestor.storage.shared_tables.sql_tables import LAST_MADE, SCHEMA, Execute

BUSY_S = 5.0


class SqliteTables(SqlRepository):
    """The tables of a group in a file."""

    AWAY: ClassVar[tuple[type[Exception], ...]] = (sqlite3.Error, OSError)
    BEGIN: ClassVar[str] = "BEGIN IMMEDIATE"

    def _connect(self) -> Any:
        Path(self.address).parent.mkdir(parents=True, exist_ok=True)
        made = sqlite3.connect(self.address, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("PRAGMA synchronous = FULL")  # SL1
        return made

    def _create(self, execute: Execute) -> None:
        if execute("SELECT 1 FROM sqlite_master WHERE name = ?", (LAST_MADE,)).fetchone() is None:
            for statement in SCHEMA:
                execute(statement)
