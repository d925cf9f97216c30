"""PostgreSQL: shared tables for queue managers on several machines.

Rules
  PG1 A way that is cut is noticed within `AWAY_S`: connecting, waiting for an answer and waiting for another member's
      change are all bounded by it.
  PG2 A member that stops in the middle of a change holds the others up no longer than that: the server ends it.
  PG3 What a database has set for others does not count here: a change sees what was committed while it waited for its
      turn (SQ3), and is on disk when it is answered.

Called by open_tables.  Calls sql_tables, large_objects and psycopg (the extra `postgresql`).
"""

from typing import Any, ClassVar

import psycopg

from quaestor.storage.shared_tables.large_objects import SqlRepository
from quaestor.storage.shared_tables.sql_tables import LAST_MADE, SCHEMA, Execute

AWAY_S = 5
BOUNDS = " ".join(
    f"-c {name}={AWAY_S * 1000}"
    for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
)
OPTIONS = rf"{BOUNDS} -c default_transaction_isolation=read\ committed"
FORCED = """SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'"""
ONE_AT_A_TIME = 0x51554145
"""The advisory lock under which tables are made: two members may start at once."""


class PostgresTables(SqlRepository):
    """The tables of a group in a PostgreSQL database."""

    AWAY: ClassVar[tuple[type[Exception], ...]] = (psycopg.Error, OSError)
    FOR_SHARE: ClassVar[str] = " FOR SHARE"

    def _connect(self) -> Any:
        made = psycopg.connect(
            self.address,
            autocommit=True,
            connect_timeout=AWAY_S,
            options=OPTIONS,
            keepalives_idle=AWAY_S,
            keepalives_interval=1,
            keepalives_count=3,
            tcp_user_timeout=AWAY_S * 1000,
        )
        try:
            made.execute(FORCED)  # PG3
        except BaseException:
            made.close()
            raise
        return made

    def _create(self, execute: Execute) -> None:
        if execute("SELECT to_regclass(%s)", (LAST_MADE,)).fetchone()[0] is not None:
            return
        execute("BEGIN")
        execute("SELECT pg_advisory_xact_lock(%s)", (ONE_AT_A_TIME,))
        for statement in SCHEMA:
            execute(statement)
        execute("COMMIT")

    def _statement(self, text: str) -> str:
        return text.replace("?", "%s")
