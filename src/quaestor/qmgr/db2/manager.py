"""The Db2 manager itself: requests by kind, following the group's changes, and working on while it is away.

Rules
  DM1 Every question to the tables is one request on the work list, of the kind its counter names: READ a row, LIST
      rows, WRITE a new row, UPDATE or DELETE one; channel status has the SCS kinds, sync keys the SSK kinds. Changes
      made together are one request, of the kind of the first.
  DM2 Every five seconds one LIST request asks for what has changed; whoever listens is told each changed row, once,
      in the order of the changes of its table.
  DM3 A repository that is away is found out once: until the next following has reached it again, changes are refused
      at once, and reads of followed tables are answered from the copy. Work on queues that are open goes on.
  DM4 Own changes are in the copy when the change returns; those of others when they have been followed, or when a
      question was answered with them: the copy is never behind what somebody here has seen. What was put to a queue
      that others have just defined is found by it.
  DM5 Whoever must not miss what others have written asks `now`, and is told that the repository is away instead of what
      was seen last.

Called by coupling_facility, command, the mover, the scheduler.  Calls work_list, copy.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from quaestor.clock import Clock
from quaestor.qmgr.db2.copy import Copy
from quaestor.qmgr.db2.large_objects import CountedObjects
from quaestor.qmgr.db2.work_list import Work, WorkList
from quaestor.qmgr.operator_log import OperatorLog
from quaestor.qmgr.resource_manager import Served, Task, Unit
from quaestor.smf.sections.db2 import Db2Statistics
from quaestor.storage.shared_tables import Drop, GroupTables, Put, Repository, RepositoryAwayError, Row, SharedTables
from quaestor.storage.shared_tables.table import ABSENT, FOLLOWED, Change

SERVERS = 4
"""DB2Servers of QSGDATA."""

FOLLOW_MS = 5000
_KINDS = {
    "channels": {"read": "scs_select", "list": "scs_select", "write": "scs_insert", "update": "scs_update",
                 "delete": "scs_delete"},
    "sync_keys": {"read": "ssk_select", "list": "ssk_select", "write": "ssk_insert", "update": "ssk_insert",
                  "delete": "ssk_delete"},
}  # fmt: skip

Listener = Callable[[str, Row], None]
Look = Callable[[SharedTables], Any]
"""A question that the copy can answer too (DM3)."""


class Db2Manager:
    """The shared tables of the group, asked through server tasks and counted (DM1 to DM5)."""

    name = "db2"

    def __init__(
        self,
        connect: Callable[[], Repository],
        clock: Clock,
        operator_log: OperatorLog,
        served: Served | None = None,
        servers: int = SERVERS,
    ) -> None:
        self.stats = Db2Statistics()
        self.served, self._servers, self._operator_log = served or Served(), servers, operator_log
        self._work = WorkList(connect, clock, self.stats)
        tables = connect()
        self.address = tables.address
        tables.close()
        self.away = ""
        """Why the repository cannot be asked now; empty while it can (DM3)."""

        self.copy = Copy(self.address)
        self.listeners: list[Listener] = []
        self.group = GroupTables(self)
        """The tables of the group; those that are followed are answered from the copy while it is away (DM3)."""

        self.now = GroupTables(_Now(self))
        """The same, never answered from the copy (DM5)."""

        self.known = GroupTables(self.copy)
        """The tables of the group as they were last seen; nobody waits for them."""

        self.objects = CountedObjects(self._asked_now)
        """The bodies of long messages."""

    # -- life

    def start(self) -> None:
        """Start the server tasks and learn what there is; RepositoryAwayError when it cannot be reached."""
        self._work.start(self._servers)
        self._follow()
        self._operator_log.say("CSQ5001I", "connected to the shared repository", address=self.address)

    def stop(self) -> None:
        self._work.stop()

    close = stop

    def tasks(self) -> Sequence[Task]:
        return (Task("follow the shared repository", self.follow_step, FOLLOW_MS, latched=False),)

    def committed(self, unit: Unit) -> None:
        """Nothing of a unit is kept here."""

    def backed_out(self, unit: Unit) -> None:
        """Nothing of a unit is kept here."""

    # -- questions, as the tables answer them (DM1)

    def read(self, table: str, name: str, *, now: bool = False) -> Row | None:
        found: Row | None = self._looked(table, "read", lambda tables: tables.read(table, name), now=now)
        self._saw(table, () if found is None else (found,))
        return found

    def rows(self, table: str, *, now: bool = False) -> list[Row]:
        found: list[Row] = self._looked(table, "list", lambda tables: tables.rows(table), now=now)
        if table == "channels":
            self.stats.scs_rows_high = max(self.stats.scs_rows_high, len(found))
        self._saw(table, found)
        return found

    def changed_since(self, table: str, since: int, *, now: bool = False) -> list[Row]:
        found: list[Row] = self._looked(table, "list", lambda tables: tables.changed_since(table, since), now=now)
        self._saw(table, found)
        return found

    def newest(self, *, now: bool = False) -> int:
        try:
            return int(self._asked_now("list", lambda tables: tables.newest()))
        except RepositoryAwayError:
            if now:
                raise
            return self.copy.newest()  # DM3

    def change(self, *changes: Change) -> int:
        """Make changes as one; refused at once while the repository is away (DM3)."""
        self._refuse_while_away()
        number = int(self._asked(_kind_of(changes), lambda tables: tables.change(*changes)))
        for each in changes:
            if isinstance(each, (Put, Drop)) and each.table in FOLLOWED:
                self.copy.learn(each.table, Row(each.name, number, each.value if isinstance(each, Put) else None))
        return number

    def _looked(self, table: str, verb: str, work: Look, *, now: bool) -> Any:
        try:
            return self._asked_now(_KINDS.get(table, {}).get(verb, verb), work)
        except RepositoryAwayError:
            if now or table not in FOLLOWED:
                raise
            return work(self.copy)  # DM3

    def _saw(self, table: str, rows: Iterable[Row]) -> None:
        """What a question was answered with is known from then on (DM4)."""
        if table in FOLLOWED:
            for row in rows:
                self.copy.learn(table, row)

    def _asked_now(self, kind: str, work: Work) -> Any:
        self._refuse_while_away()
        return self._asked(kind, work)

    def _refuse_while_away(self) -> None:
        if self.away:
            raise RepositoryAwayError(self.away)

    def _asked(self, kind: str, work: Work) -> Any:
        try:
            answer, thread_ns, server_ns = self._work.ask(kind, work)
        except RepositoryAwayError as error:
            self._gone(str(error))
            raise
        task = self.served.asking
        if task is not None:
            task.repository_asked(thread_ns, server_ns)
        return answer

    # -- following, rule DM2

    def follow_step(self) -> bool:
        """Learn what has changed; one that is away is asked again at the next step."""
        try:
            self._follow()
        except RepositoryAwayError:
            return False  # said once, by `_gone`
        if self.away:
            self.away = ""
            self._operator_log.say("CSQ5001I", "connected to the shared repository again", address=self.address)
        return False

    def _follow(self) -> None:
        newest, changed = self._asked("list", self._changes)
        self.copy.seen = max(self.copy.seen, newest)
        for table, row in changed:
            self.copy.learn(table, row)
        for table, row in changed:
            for listener in self.listeners:
                listener(table, row)

    def _changes(self, tables: SharedTables) -> tuple[int, list[tuple[str, Row]]]:
        newest = tables.newest()
        if newest == self.copy.seen:
            return newest, []
        seen = self.copy.seen
        return newest, [(table, row) for table in sorted(FOLLOWED) for row in tables.changed_since(table, seen)]

    def _gone(self, why: str) -> None:
        if not self.away:
            self._operator_log.say("CSQ5002E", "the shared repository cannot be reached", why=why)
        self.away = why


class _Now:
    """The tables as they are now; RepositoryAwayError when nobody can say (DM5)."""

    def __init__(self, db2: Db2Manager) -> None:
        self._db2, self.address, self.change = db2, db2.address, db2.change

    def read(self, table: str, name: str) -> Row | None:
        return self._db2.read(table, name, now=True)

    def rows(self, table: str) -> list[Row]:
        return self._db2.rows(table, now=True)

    def changed_since(self, table: str, since: int) -> list[Row]:
        return self._db2.changed_since(table, since, now=True)

    def newest(self) -> int:
        return self._db2.newest(now=True)

    def close(self) -> None:
        """The manager closes what is open."""


def _kind_of(changes: tuple[Change, ...]) -> str:
    first = next((each for each in changes if isinstance(each, (Put, Drop))), None)
    if first is None:
        return "read"
    verb = "delete" if isinstance(first, Drop) else "write" if first.version == ABSENT else "update"
    return _KINDS.get(first.table, {}).get(verb, verb)
