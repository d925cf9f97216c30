"""Two-phase commit for an outside coordinator: a database, or a program that keeps its decisions in one.

Rules
  TP1 `prepare` ends an application's part of the work: from then on the unit is in doubt, over any number of restarts,
      until somebody decides. Its messages are there for nobody. No two units have the same identifier. Whoever ends the
      connection while the log is waited for does not end the unit.
  TP2 Any connection of the same user may decide: `commit_prepared` or `backout_prepared`, by the coordinator's
      identifier. A user is known by his whole name (L6). To decide for another user takes the access to RESOLVE
      INDOUBT; whoever has it is told of all units in doubt, anybody else of his own. A log from before names were kept
      whole has sixteen bytes of them: a unit there of a user with a longer name is for those with that access.
  TP3 After a restart the coordinator asks `in_doubt` and decides each, commonly by looking up its own record of
      decisions (`settle`): what it does not know to be committed is backed out. One that was cut off while it decided
      may ask again: that the unit is in doubt no more is told when it is durable, for then the decision is forgotten.
      Of one that is still being prepared (2354) nobody is told that it is unknown: it will be in doubt.
  TP4 A unit that changed nothing recoverable is in doubt only as long as the queue manager runs. Work on shared queues
      outlives the queue manager, so it counts as recoverable.
  TP5 Which connection has prepared a unit is known until the unit is decided or the queue manager ends: connections
      are numbered anew at each start.

Called by session.  Calls recovery.
"""

from collections.abc import Callable
from typing import Any, Protocol

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.message.needs import Recovery, Unit
from quaestor.qmgr.security import Access, Security

_RESOLVE = "command", "RESOLVE.INDOUBT", Access.ADMINISTER
XID_MAX = 140  # bytes: format, global transaction and branch of the X/Open XID


class Participant(Protocol):
    """What a coordinator needs of a party to its transactions; a connection answers it."""

    def prepare(self, xid: bytes) -> None: ...

    def commit_prepared(self, xid: bytes) -> None: ...

    def backout_prepared(self, xid: bytes) -> None: ...

    def in_doubt(self) -> tuple[bytes, ...]: ...


class Prepared:
    """The units in doubt of one queue manager. The latch is held in every call."""

    def __init__(self, recovery: Recovery, security: Security) -> None:
        self._recovery, self._security = recovery, security
        self._volatile: dict[bytes, Any] = {}  # TP4
        self._under_way: dict[bytes, Any] = {}  # being prepared: the log is waited for
        self._since_start: dict[bytes, Any] = {}  # TP5
        self._deciding: list[bytes] = []  # TP3: the log is waited for

    def prepare(self, unit: Unit, xid: bytes) -> None:
        """Put a unit in doubt (TP1)."""
        _check_kind(xid)  # before anything of it is on the log
        if not 1 <= len(xid) <= XID_MAX or xid in self._under_way or xid in self._units():
            raise MQError(Reason.UOW_IN_PROGRESS, xid=xid)
        if not unit.urid and unit.shared is None:
            self._volatile[xid] = self._since_start[xid] = unit
            return
        self._under_way[xid] = unit
        try:
            self._recovery.prepare(unit, xid)
        finally:
            del self._under_way[xid]
        self._since_start[xid] = unit

    def decide(self, xid: bytes, user: str, *, commit: bool) -> None:
        """End a unit in doubt (TP2)."""
        _check_kind(xid)
        found, prepared = self._units().get(xid), self._since_start.get(xid)
        if found is not None and not _is_of(found, user):
            self._security.check(user, *_RESOLVE)
        if found is None:
            if xid in self._under_way:
                raise MQError(Reason.UOW_IN_PROGRESS, xid=xid)
            self._settle_decisions()
        unit = self._volatile.pop(xid, None)
        self._deciding.append(xid)
        try:
            if unit is None:
                self._recovery.resolve(xid, commit=commit)
            elif commit:
                self._recovery.commit(unit)
            else:
                self._recovery.back_out(unit)
        finally:
            self._deciding.remove(xid)
        if self._since_start.get(xid) is prepared:  # while the log was waited for another may have taken its name
            self._since_start.pop(xid, None)

    def under_way(self, connection: str) -> Any:
        """The unit that a connection is preparing."""
        return _last_of(connection, self._under_way)

    def prepared_by(self, connection: str) -> Any:
        """The unit in doubt that a connection prepared last (TP5)."""
        return _last_of(connection, self._since_start)

    def in_doubt(self, user: str) -> tuple[bytes, ...]:
        """The units that a user may decide (TP2)."""
        self._settle_decisions()
        every = self._security.allows(user, *_RESOLVE)
        return tuple(xid for xid, unit in self._units().items() if every or _is_of(unit, user))

    def _settle_decisions(self) -> None:
        """Those that somebody is waiting for are durable (TP3)."""
        if self._deciding:
            self._recovery.harden()

    def _units(self) -> dict[bytes, Any]:
        return self._volatile | {unit.xid: unit for unit in self._recovery.in_doubt()}


def _check_kind(xid: object) -> None:
    if not isinstance(xid, bytes):
        raise TypeError(f"an xid is bytes, not {type(xid).__name__}")


def _last_of(connection: str, units: dict[bytes, Any]) -> Any:
    return next((unit for unit in reversed(units.values()) if unit.identity.thread == connection), None)


def _is_of(unit: Any, user: str) -> bool:
    """Whether a unit is this user's (TP2)."""
    return bool(unit.identity.user == user)


def settle(participant: Participant, committed: Callable[[bytes], bool]) -> None:
    """Decide everything in doubt by the coordinator's own record (TP3)."""
    for xid in participant.in_doubt():
        if committed(xid):
            participant.commit_prepared(xid)
        else:
            participant.backout_prepared(xid)
