"""Large objects: the bodies of long shared messages in the shared repository.

Rules
  LB1 A body is stored in pieces of 511 KB, all of them in one change of the database: it is there whole, for every
      member and after any failure, or not at all. It is no change of the group's tables: nobody follows bodies.
  LB2 Bodies are written in the life of a member with a structure. A life ends when the next is begun, by the member
      itself when it connects or by whoever looks after one that is gone. A body of a life that has ended is refused
      (ChangedError), also one that was sent before and arrives late: the database makes the two wait for each other.
  LB3 A name is member, life and serial number, and is never used again. So a body that is found under a name is the
      one that was written under it.
  LB4 Reading, listing and deleting may be repeated; deleting what is gone is no error. A life may be begun twice. A
      body whose storing was not answered may be there (T5).

Called by the db2 manager, and by whoever has the tables alone.  Calls sql_tables.
"""

from collections.abc import Callable, Iterable
from typing import ClassVar, NamedTuple, Protocol

from quaestor.storage.shared_tables.sql_tables import SqlTables
from quaestor.storage.shared_tables.table import ChangedError, SharedTables

PIECE = 511 * 1024
"""Bytes of a body in one row (LB1)."""

LIFE = "SELECT life FROM quaestor_life WHERE grp = ? AND structure = ? AND member = ?"
BEGIN_LIFE = (
    "INSERT INTO quaestor_life (grp, structure, member, life) VALUES (?, ?, ?, 1)"
    " ON CONFLICT (grp, structure, member) DO UPDATE SET life = quaestor_life.life + 1 RETURNING life"
)
TAKE_LIFE = (
    "UPDATE quaestor_life SET life = life + 1 WHERE grp = ? AND structure = ? AND member = ? AND life = ?"
    " RETURNING life"
)
STORE = "INSERT INTO quaestor_object (grp, structure, member, life, serial, piece, data) VALUES (?, ?, ?, ?, ?, ?, ?)"
ONE = "grp = ? AND structure = ? AND member = ? AND life = ? AND serial = ?"
FETCH = f"SELECT data FROM quaestor_object WHERE {ONE} ORDER BY piece"  # noqa: S608 - no word of it comes from outside
REMOVE = f"DELETE FROM quaestor_object WHERE {ONE}"  # noqa: S608 - as above
REMOVE_ALL = "DELETE FROM quaestor_object WHERE grp = ? AND structure = ?"
NAMES = "SELECT DISTINCT member, life, serial FROM quaestor_object WHERE grp = ? AND structure = ?"
NAMES_OF = f"{NAMES} AND member = ?"


class Body(NamedTuple):
    """The name of a body among those of a structure (LB3)."""

    member: int
    life: int
    serial: int


class LargeObjects(Protocol):
    """Where bodies are kept."""

    def begin_life(self, structure: str, member: int, after: int | None = None) -> int | None:
        """The member's next life with a structure (LB2); None when the one before it was not `after`."""

    def life(self, structure: str, member: int) -> int:
        """The life of a member that is not over; 0 when there was none."""

    def store(self, structure: str, body: Body, data: bytes) -> None:
        """Keep a body (LB1); ChangedError when its life is over (LB2)."""

    def fetch(self, structure: str, body: Body) -> bytes | None:
        """A body; None when it is not there."""

    def remove(self, structure: str, bodies: Iterable[Body]) -> None:
        """These bodies are needed no more (LB4)."""

    def remove_all(self, structure: str) -> None:
        """Nor any of a structure."""

    def bodies(self, structure: str, member: int | None = None) -> list[Body]:
        """The names of all bodies of a structure, or of those that a member has written."""


class Repository(SharedTables, LargeObjects, Protocol):
    """A database with everything that a group keeps there."""


class SqlRepository(SqlTables):
    """Tables and large objects of one group over one connection (LB1-LB4)."""

    FOR_SHARE: ClassVar[str] = ""
    """What makes a reader of a row hold up whoever would change it, where a change alone does not."""

    def begin_life(self, structure: str, member: int, after: int | None = None) -> int | None:
        where = (self.group, structure, member)
        found = self._asked(BEGIN_LIFE, *where) if after is None else self._asked(TAKE_LIFE, *where, after)
        return int(found[0][0]) if found else None

    def life(self, structure: str, member: int) -> int:
        found = self._asked(LIFE, self.group, structure, member)
        return int(found[0][0]) if found else 0

    def store(self, structure: str, body: Body, data: bytes) -> None:
        def stored() -> None:
            where = (self.group, structure, *body)
            now = self._execute(LIFE + self.FOR_SHARE, *where[:3])
            if not now or now[0][0] != body.life:
                raise ChangedError("large objects", f"{structure} {body.member}")  # LB2
            for piece, at in enumerate(range(0, len(data), PIECE)):
                self._execute(STORE, *where, piece, data[at : at + PIECE])

        self._together(stored)

    def fetch(self, structure: str, body: Body) -> bytes | None:
        pieces = self._asked(FETCH, self.group, structure, *body)
        return b"".join(bytes(piece) for (piece,) in pieces) if pieces else None

    def remove(self, structure: str, bodies: Iterable[Body]) -> None:
        def removed() -> None:
            for body in bodies:
                self._execute(REMOVE, self.group, structure, *body)

        self._together(removed)

    def remove_all(self, structure: str) -> None:
        self._asked(REMOVE_ALL, self.group, structure)

    def bodies(self, structure: str, member: int | None = None) -> list[Body]:
        where = (self.group, structure)
        found = self._asked(NAMES, *where) if member is None else self._asked(NAMES_OF, *where, member)
        return sorted(Body(*map(int, each)) for each in found)

    def _together(self, work: Callable[[], None]) -> None:
        """Several statements as one change of the database, which is none of the group's (LB1)."""
        with self._lock:
            self._twice(lambda: self._execute(self.BEGIN))
            self._ended(lambda: self._once(work))
