"""Lock manager: who may do what to a resource, for how long.

Rules
  N1  Modes: shared (many holders) and exclusive (one). Nobody waits for a lock: a request is granted or refused,
      and what a getter cannot lock is simply not there for it (M-84).
  N2  Durations: request (one call), commit (to the end of the unit), allocation (until freed). A lock may be
      lengthened: a message put or got in syncpoint goes from request to commit duration.
  N3  A message's lock lives in the message (`holder`), because every put and get takes one and needs no table to
      find it. Named resources (queue names, queue input) live in a table.
  N4  Hierarchy: what is held on a message protects its page from being freed and its queue from being deleted.

Called by data (messages), message (names, input).  Calls nothing.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

from quaestor.mqi.reasons import Abend
from quaestor.qmgr.resource_manager import Task, Unit
from quaestor.smf.sections.lock import LockStatistics


class Lockable(Protocol):
    """A resource that carries its own lock (N3)."""

    holder: object | None


class LockManager:
    """Locks on messages and on names (N1-N4)."""

    name = "lock"

    def __init__(self) -> None:
        self.stats = LockStatistics()
        self._shared: dict[Hashable, list[Any]] = {}
        self._exclusive: dict[Hashable, Any] = {}

    def lock(self, resource: Lockable, holder: object) -> bool:
        """Take a message exclusively; False when another has it (N1)."""
        self.stats.lock_gets += 1
        if resource.holder is None:
            resource.holder = holder
            return True
        if resource.holder is holder:
            self.stats.already_held += 1
            return True
        return False

    def unlock(self, resource: Lockable, holder: object) -> None:
        if resource.holder is not holder:
            raise Abend("N1", "a lock is released by one who does not hold it")
        resource.holder = None
        self.stats.lock_releases += 1

    def share(self, name: Hashable, holder: object) -> bool:
        """Take a named resource shared; False when another has it exclusively."""
        self.stats.lock_gets += 1
        owner = self._exclusive.get(name)
        if owner is not None and owner is not holder:
            return False
        holders = self._shared.setdefault(name, [])
        if holder in holders:
            self.stats.already_held += 1
        holders.append(holder)
        return True

    def exclude(self, name: Hashable, holder: object) -> bool:
        """Take a named resource exclusively; False when anybody else has it."""
        self.stats.lock_gets += 1
        if any(other is not holder for other in self._shared.get(name, ())):
            return False
        owner = self._exclusive.get(name)
        if owner is holder:
            self.stats.already_held += 1
            return True
        if owner is not None:
            return False
        self._exclusive[name] = holder
        return True

    def free(self, name: Hashable, holder: object) -> None:
        """Give up one lock on a named resource."""
        if self._exclusive.get(name) is holder:
            del self._exclusive[name]
        elif holder in self._shared.get(name, ()):
            self._shared[name].remove(holder)
            if not self._shared[name]:
                del self._shared[name]
        else:
            raise Abend("N1", "a lock is released by one who does not hold it", resource=name)
        self.stats.lock_releases += 1

    def tasks(self) -> Sequence[Task]:
        return ()

    def committed(self, unit: Unit) -> None:
        """Message locks go with the arrivals, which the data manager settles."""

    def backed_out(self, unit: Unit) -> None:
        """See `committed`."""
