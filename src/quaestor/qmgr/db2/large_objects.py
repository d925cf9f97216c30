"""Large objects: the bodies of long messages, asked for through the server tasks and counted.

Rules
  DL1 Each request counts in Q5ST among those of large messages, by what it does: storing is an insert, reading a
      select, removing a delete (of however many bodies), listing names a list; a life begun is an update.
  DL2 Nothing of bodies is in the copy: while the repository is away they are neither written nor read. That is found
      out once, as for the tables (DM3).

Called by coupling_facility.  Calls the work list, through the db2 manager.
"""

from collections.abc import Callable, Iterable
from typing import Any

from quaestor.qmgr.db2.work_list import Work
from quaestor.storage.shared_tables import Body


class CountedObjects:
    """Bodies as the queue manager asks for them (DL1, DL2)."""

    def __init__(self, asked: Callable[[str, Work], Any]) -> None:
        self._asked = asked

    def begin_life(self, structure: str, member: int, after: int | None = None) -> int | None:
        begun: int | None = self._asked("lms_update", lambda tables: tables.begin_life(structure, member, after))
        return begun

    def life(self, structure: str, member: int) -> int:
        return int(self._asked("lms_list", lambda tables: tables.life(structure, member)))

    def store(self, structure: str, body: Body, data: bytes) -> None:
        self._asked("lms_insert", lambda tables: tables.store(structure, body, data))

    def fetch(self, structure: str, body: Body) -> bytes | None:
        found: bytes | None = self._asked("lms_select", lambda tables: tables.fetch(structure, body))
        return found

    def remove(self, structure: str, bodies: Iterable[Body]) -> None:
        gone = tuple(bodies)
        self._asked("lms_delete", lambda tables: tables.remove(structure, gone))

    def remove_all(self, structure: str) -> None:
        self._asked("lms_delete", lambda tables: tables.remove_all(structure))

    def bodies(self, structure: str, member: int | None = None) -> list[Body]:
        found: list[Body] = self._asked("lms_list", lambda tables: tables.bodies(structure, member))
        return found
