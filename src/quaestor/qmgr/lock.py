"""Lock manager: whose a message is, while the unit that put or got it has not ended.

Rules
  N1  A lock is exclusive, and nobody waits for it: a request is granted or refused, and what a getter cannot lock is
      simply not there for it (M-84).
  N2  It is held to the end of the unit (commit duration). A call that needs no unit of recovery takes none.
  N3  A message's lock lives in the message (`holder`), because every put and get takes one and needs no table to
      find it.
  N4  What is held on a message protects its page from being freed and its queue from being deleted.

Called by data.  Calls nothing.  Who has a queue open for input is the message manager's to know.
"""

from collections.abc import Sequence
from typing import Protocol

from quaestor.mqi.reasons import Abend
from quaestor.qmgr.resource_manager import Task, Unit
from quaestor.smf.sections.lock import LockStatistics


class Lockable(Protocol):
    """A resource that carries its own lock (N3)."""

    holder: object | None


class LockManager:
    """Locks on messages (N1-N4)."""

    name = "lock"

    def __init__(self) -> None:
        self.stats = LockStatistics()

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

    def tasks(self) -> Sequence[Task]:
        return ()

    def committed(self, unit: Unit) -> None:
        """Message locks go with the arrivals, which the data manager settles."""

    def backed_out(self, unit: Unit) -> None:
        """See `committed`."""
