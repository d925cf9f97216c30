"""What the message manager needs of the managers below it, beside the queue store.

Rules
  W1  An object is saved or discarded inside a unit of recovery, like a message on page set 0; it is there after
      restart if and only if that unit committed.
  W2  A queue's storage is found or made from its definition; it is dropped with the messages on it.
  W3  `begin` gives a unit that has logged nothing yet. `commit` and `back_out` end it; both tell the message manager
      (`committed`, `backed_out`) after the store has made the outcome visible.
  W4  `commit` is called with the engine latch held and may give it up while it waits for the log (group commit);
      what the caller saw before may have changed when it returns.
  W5  Shared queues have another store and are defined for the group; everything else about them is the same.

Called by message, connection.  Answered by data and recovery; in tests by a plain model in memory.
"""

from _thread import LockType
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from quaestor.mqi.objects import LocalQueue, MQObject
from quaestor.qmgr.queue_store import Arrival, QueueStore, StoredQueue
from quaestor.qmgr.recovery.outcomes import Outcomes
from quaestor.qmgr.resource_manager import Served, Unit


class Recovery(Protocol):
    """Units of recovery as an application's thread sees them (W3, W4)."""

    latch: LockType
    """The engine latch: held during every call into a manager."""

    served: Served
    """Whose call is being made."""

    alone: bool
    """Whether one application alone is connected, and makes one call at a time."""

    single: bool
    """Whether it is one of this process."""

    @property
    def outcomes(self) -> Outcomes:
        """Which units of named clients have committed."""

    def begin(self, connection: str = "", user: str = "", thread: str = "") -> Unit: ...

    def commit(self, unit: Any) -> None:
        """End a unit this manager began; it knows more of it than `Unit` tells, hence the type."""

    def commit_unforced(self, unit: Any) -> None:
        """End a unit that need not be durable, without waiting for the log."""

    def prepare(self, unit: Any, xid: bytes) -> None:
        """Phase 1 for an outside coordinator: in doubt when this returns."""

    def in_doubt(self) -> Iterable[Any]:
        """Units that are prepared and not decided, each with its `xid`."""

    def resolve(self, xid: bytes, *, commit: bool) -> None:
        """Decide one of them."""

    def back_out(self, unit: Any) -> None: ...

    def harden(self) -> None:
        """Make everything that was done so far durable."""


class PrivateStore(QueueStore[Any, Any], Protocol):
    """A queue store that also keeps the definitions (W1, W2)."""

    def objects(self) -> Iterable[MQObject]:
        """Every object saved, at start."""

    def save(self, unit: Any, definition: MQObject) -> None:
        """Keep a definition, in place of one of the same kind and name."""

    def discard(self, unit: Any, definition: MQObject) -> None: ...

    def queue(self, definition: LocalQueue) -> StoredQueue:
        """The storage of a queue, made when it is new."""

    def stored(self) -> Iterable[StoredQueue]:
        """Every queue that has storage, whether or not a definition is left for it."""

    def has_page_set(self, number: int) -> bool:
        """Whether a page set is open, so that queues can be on it."""

    def redefine(self, queue: Any, definition: LocalQueue) -> None:
        """The queue's attributes changed: index type, HARDENBO, storage class."""

    def drop(self, queue: Any) -> None:
        """Remove the queue's storage and every message on it."""


class SharedQueues(Protocol):
    """The shared queues of a queue-sharing group, as the coupling facility manager keeps them (W5)."""

    store: Any
    """Their queue store, once the group is joined."""

    def changes(self) -> tuple[Iterable[LocalQueue], Iterable[str]]:
        """Shared queues that others have defined or altered, and names of those deleted, since the last time."""

    def save(self, queue: LocalQueue, *, new: bool = False) -> None:
        """Define or alter; one that is `new` must not be there yet, whoever defined it (2100)."""

    def alone(self, queue: Any) -> AbstractContextManager[None]:
        """Nobody opens the queue meanwhile; 2042 when another member has it open."""

    def discard(self, queue: LocalQueue) -> None: ...

    def queue(self, definition: LocalQueue) -> Any: ...

    def redefine(self, queue: Any, definition: LocalQueue) -> None: ...

    def drop(self, queue: Any) -> None: ...

    def forget(self, queue: Any) -> None:
        """Another member has deleted it."""

    def noticed(self) -> Iterable[Any]:
        """The queues on which a message has come since the last time."""


AnyStore = QueueStore[Any, Any]
"""The store of a queue, private or shared."""

__all__ = ["AnyStore", "Arrival", "PrivateStore", "Recovery", "SharedQueues", "StoredQueue", "Unit"]
