"""Structures: the list structures this member is connected to, each with its counters and its state.

Rules
  CS1 Every request goes through here and is counted in the structure's slot of QEST, with its time: a request for one
      entry is a single-entry call, one for a group of entries (the end of a unit) a multiple-entry call, however many
      there are (MP1B M-12, M-13). The task that is served is told as well. Each answer says what is in use: the
      highest of the interval is kept.
  CS2 A structure that cannot be reached answers 2345 to everybody until it can be again; others go on. Nobody waits
      for it in a call: connecting again is a background step.
  CS3 A structure that lost what was in it has failed: 2373 until it is recovered, or at once usable, and empty, when
      it is not one that is recovered. Whether it lost anything is seen by the entry on its list 0, which its first
      connector writes; the shared tables say whether there was one before.
  CS4 A refusal for lack of space is 2192, for a list's own maximum 2053; any other is told to the caller.

  CS5 A request that was made again, because the first buffer was too small, is a redrive; it counts among the calls
      (MP1B F-36).
  CS6 A structure that was lost and is used again is another incarnation: it says so in its own entry. What a member
      knows of entries by their numbers counts only in the incarnation in which it learned it.
  CS7 A member connects again to a structure only when none of its units is between its decision and the end of its
      force: a member that is connected to a structure that has failed has on its log what it will ever have committed
      of the work in it. Recovery waits for that (SM4).
  CS8 A structure whose CFLEVEL is raised begins to keep long messages elsewhere while it is used. A member that has not
      noticed takes none of them: it says 2346 for them until it has.

Called by the parts of the coupling facility manager.  Calls list structures.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum
from secrets import token_hex
from typing import Any

from quaestor.clock import Clock, tod_of_ns
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.offloading import OffloadingConnection
from quaestor.qmgr.resource_manager import Served
from quaestor.smf.sections.coupling_facility import StructureFigures
from quaestor.storage.lists.operations import (
    Alter,
    Claim,
    Delete,
    First,
    Holding,
    Index,
    Limit,
    Lock,
    Move,
    Operation,
    ReadList,
    Rewrite,
    Take,
    Unlock,
    Unwatch,
    Watch,
    Write,
)
from quaestor.storage.lists.structure import ListStructure, Shape, StructureLostError, StructureRefusal, Told

ADMIN = "CSQ_ADMIN"
OWN_LIST, OWN_LOCK = 0, 0
LISTS = 1024
NAME_MAX = 12
SIZE_KB, ADMIN_ENTRIES = 65_536, 40_000
READ = 5
KINDS: dict[type[Operation], int] = {
    Lock: 0, Unlock: 1, Limit: 2, Index: 2, Rewrite: 6, Alter: 6, Watch: 7, Unwatch: 8, ReadList: 9, Write: 10,
    Move: 11, Take: 12, Claim: 12, Delete: 13,
}  # fmt: skip
"""What a request is for, by its first operation, as CFSTAT numbers it; all others read."""

ConnectStructure = Callable[[Shape, str, Told], ListStructure]
"""How an engine is connected to: shape, connector, whom to tell."""


def admin_shape() -> Shape:
    return Shape(ADMIN, lists=LISTS, entries=ADMIN_ENTRIES, elements=ADMIN_ENTRIES)


def shape_of(name: str, attributes: Mapping[str, Any]) -> Shape:
    """The shape of an application structure, as it is defined."""
    size_kb = int(attributes.get("SIZE", SIZE_KB))
    return Shape.sized(name, min(int(attributes.get("INITSIZE", 0)) or size_kb, size_kb), lists=LISTS)


class Contents(Enum):
    """What was found in a structure when this member connected to it."""

    AS_BEFORE = "as before"
    NEW = "new"
    BUSY = "another member is looking"


class Failing(Enum):
    """Why a structure cannot be used; the reason applications get (CS2, CS3)."""

    LOST = Reason.CF_NOT_AVAILABLE
    FAILED = Reason.CF_STRUC_FAILED


class SharedStructure:
    """One structure, as this member sees it."""

    def __init__(
        self, shape: Shape, member: str, connect: ConnectStructure, told: Told, clock: Clock, served: Served
    ) -> None:
        self.name, self.shape = shape.name, shape
        self.figures = StructureFigures(structure=shape.name)
        self.failing: Failing | None = Failing.LOST
        self.incarnation = b""
        """Names what is in it: numbers of entries mean nothing in another one (CS6)."""

        self.member, self._connect, self._told, self._clock = member, connect, told, clock
        self._served, self._now_ns = served, clock.monotonic_ns
        self._connection: ListStructure | None = None
        self.committing = 0
        """Units of this member that worked here and are being forced (CS7)."""

    # -- connecting

    def reach(self) -> ListStructure:
        """A connection that nobody uses yet, or MQError 2345. It may take its time, so no latch is held."""
        try:
            return self._connect(self.shape, self.member, self._told)
        except StructureLostError as error:
            raise MQError(Reason.CF_NOT_AVAILABLE, structure=self.name, why=str(error)) from error

    def connect(self, connection: ListStructure | None = None) -> Contents:
        """Connect, or raise MQError 2345; what was found (CS3). It is not yet usable when the contents are new."""
        self._connection = connection or self.reach()
        found = self._look()
        self.failing = None if found is Contents.AS_BEFORE else Failing.LOST
        return found

    def _look(self) -> Contents:
        holder, own = self._request((Lock(OWN_LOCK, self.member), First(OWN_LIST)))
        if own is not None:
            self.incarnation = own.data
            if holder == self.member:
                self._request((Unlock(OWN_LOCK, self.member),))
            return Contents.AS_BEFORE
        return Contents.NEW if holder == self.member or self.lock_own() else Contents.BUSY

    def lock_own(self) -> bool:
        """Take the structure's own lock; whether it is ours (CS3)."""
        return self.take_lock(OWN_LOCK)

    def take_lock(self, lock: int) -> bool:
        """Take a lock, also from a member that died with it; whether it is ours."""
        (holder,) = self._request((Lock(lock, self.member),))
        if holder != self.member and self.connectors().get(holder) is not True:
            self._request((Unlock(lock, holder),))
            (holder,) = self._request((Lock(lock, self.member),))
        return bool(holder == self.member)

    def give_back(self, lock: int) -> None:
        """A lock that a former life of this member, or a request without an answer, has taken."""
        self._request((Unlock(lock, self.member),))

    def unlock_own(self) -> None:
        """Give the structure's own lock back; one that is lost meanwhile has none."""
        with suppress(MQError):
            self._request((Unlock(OWN_LOCK, self.member),))

    def in_use(self) -> bool:
        """Whether somebody has said what the structure is (CS3)."""
        (own,) = self._request((First(OWN_LIST),))
        return own is not None

    @property
    def link(self) -> object:
        """The connection there is: what was asked of another one counts no more."""
        return self._connection

    def look_again(self) -> None:
        """How much is in use, whether it can still be reached, and whether another member has recovered it."""
        (own,) = self._request((First(OWN_LIST),))
        self.note_used()
        if self.failing is not None and own is not None:
            self.failing, self.incarnation = None, own.data

    def take_over(self, *, failed: bool) -> None:
        """This member, which found the structure new, says what it is from now on (CS3)."""
        if failed:
            self.unlock_own()
            self.failing = Failing.FAILED
        else:
            self.format()

    def format(self) -> None:
        """The structure is in use from now on; its own lock is held."""
        incarnation = f"{self.member} {token_hex(8)}".encode()
        own = Write(OWN_LIST, bytes(16), incarnation)
        self._request((Holding(OWN_LOCK, self.member), own, Unlock(OWN_LOCK, self.member)))
        self.failing, self.incarnation = None, incarnation

    def let_go(self) -> None:
        """What was found cannot be dealt with now: connect again later."""
        self.failing = Failing.LOST
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.fail()

    def disconnect(self) -> None:
        connection, self._connection = self._connection, None
        self.failing = Failing.LOST
        if connection is not None:
            try:
                connection.disconnect()
            except StructureLostError:
                return  # it is gone already

    def connectors(self) -> dict[str, bool]:
        connection = self._connection
        try:
            return {} if connection is None else connection.connectors()
        except StructureLostError as error:
            raise self._lost(error, connection) from error

    def fence(self, connector: str) -> None:
        """Nothing more of a dead member is done, whatever is still under way (LS5)."""
        connection = self._connection
        if connection is None:
            raise MQError(Reason.CF_NOT_AVAILABLE, structure=self.name)
        try:
            connection.fence(connector)
        except StructureLostError as error:
            raise self._lost(error, connection) from error

    def forget(self, connector: str) -> None:
        connection = self._connection
        try:
            if connection is not None:
                connection.forget(connector)
        except StructureLostError as error:
            raise self._lost(error, connection) from error

    @property
    def connected(self) -> bool:
        return self._connection is not None

    # -- long messages

    def go_through(self, offloading: Callable[[ListStructure], OffloadingConnection]) -> None:
        """Long messages leave the structure from now on, or may have left it (CS8)."""
        if self._connection is not None and not isinstance(self._connection, OffloadingConnection):
            self._connection = offloading(self._connection)

    def check_offloads(self) -> None:
        """A message was met whose data is elsewhere. Raises MQError 2346 when this member has not noticed yet (CS8)."""
        if not isinstance(self._connection, OffloadingConnection):
            why = "it keeps long messages elsewhere, which is noticed here soon: try again"
            raise MQError(Reason.CF_STRUC_IN_USE, structure=self.name, why=why)

    # -- asking

    def ask(self, *operations: Operation, multiple: bool | None = None, redriven: bool = False) -> tuple[Any, ...]:
        """One request (CS1), for one entry or for a group of them. Raises MQError 2345, 2373, and StructureRefusal."""
        if self.failing is not None:
            raise MQError(self.failing.value, structure=self.name)
        return self._request(operations, multiple, redriven=redriven)

    def ask_heads(self, *operations: Operation) -> tuple[Any, ...]:
        """The same without the data of messages that have left the structure, for whoever does not need it (CO6)."""
        if self.failing is not None:
            raise MQError(self.failing.value, structure=self.name)
        return self._request(operations, heads=True)

    def ask_for_recovery(self, *operations: Operation) -> tuple[Any, ...]:
        """The same for whoever recovers a structure that has failed; it needs no data of what is there."""
        return self._request(operations, heads=True)

    def _request(
        self,
        operations: tuple[Operation, ...],
        multiple: bool | None = None,
        *,
        heads: bool = False,
        redriven: bool = False,
    ) -> tuple[Any, ...]:
        connection = self._connection
        if connection is None:
            raise MQError(Reason.CF_NOT_AVAILABLE, structure=self.name)
        began_ns = self._now_ns()
        try:
            if heads and isinstance(connection, OffloadingConnection):
                answers = connection.heads(*operations)
            else:
                answers = connection.request(*operations)
        except StructureRefusal as refusal:
            if refusal.why == "FULL":
                self.figures.structure_full += 1
            raise
        except StructureLostError as error:
            raise self._lost(error, connection) from error
        finally:
            took_ns = self._now_ns() - began_ns
            self._count(operations, len(operations) > 1 if multiple is None else multiple, took_ns, redriven)
        entries, elements = connection.used
        figures = self.figures
        if entries > figures.entries_high:  # noqa: PLR1730 - seldom, and each request comes here
            figures.entries_high = entries
        if elements > figures.elements_high:  # noqa: PLR1730
            figures.elements_high = elements
        return answers

    def _count(self, operations: tuple[Operation, ...], multiple: bool, took_ns: int, redriven: bool) -> None:
        figures = self.figures
        if multiple:
            figures.multiple_calls += 1
            figures.multiple_redrives += redriven
            figures.multiple_elapsed += tod_of_ns(took_ns)
        else:
            figures.single_calls += 1
            figures.single_redrives += redriven
            figures.single_elapsed += tod_of_ns(took_ns)
        task = self._served.asking
        if task is not None:
            kind = KINDS.get(type(operations[0]), READ)
            task.lists_called(took_ns, kind=kind, multiple=multiple, redrives=int(redriven))

    @property
    def used(self) -> tuple[int, int]:
        """Entries and elements in use, as the last answer said; none when it is not connected."""
        return (0, 0) if self._connection is None else self._connection.used

    def note_used(self) -> None:
        """What is in use now is at least the highest of the interval (CS1)."""
        entries, elements = self.used
        figures = self.figures
        figures.entries_high = max(figures.entries_high, entries)
        figures.elements_high = max(figures.elements_high, elements)

    def _lost(self, error: StructureLostError, connection: ListStructure | None) -> MQError:
        """A connection has failed; one that took its place meanwhile has not."""
        if connection is self._connection:
            self.failing, self._connection = Failing.LOST, None
            if connection is not None:
                connection.fail()
        return MQError(Reason.CF_NOT_AVAILABLE, structure=self.name, why=str(error), sent=True)


def refused(refusal: StructureRefusal, structure: str, queue: str, max_depth: int) -> MQError:
    """What an application is told of a put that was refused (CS4)."""
    if refusal.why == "LIST_FULL":
        return MQError(Reason.Q_FULL, queue=queue, depth=max_depth)
    reason = {"FULL": Reason.STORAGE_MEDIUM_FULL, "TOO_LONG": Reason.MSG_TOO_BIG_FOR_Q}
    return MQError(reason.get(refusal.why, Reason.CF_STRUC_ERROR), structure=structure, queue=queue, why=refusal.why)
