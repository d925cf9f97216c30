"""Known objects: the definitions in force, and the working part of each local queue.

Rules
  V1  Every change to a definition raises `version`; an open handle compares one number per call and looks again
      at its path only when something changed.
  V4  Working parts (handles, waiters, time of the last trigger message) live in `QueueState`, never in definitions.
  V7  A shared queue is defined for the group: it is kept by the coupling facility manager, and what other members
      change is in force here when it is noticed, at the latest when a name is opened that is not known.
  V8  A definition takes the place of one of its own disposition only. A shared queue that has the name of a queue of
      this queue manager is in nobody's force here: whoever opens the name is told (2343) until one of them is deleted.

Called by the parts of the message manager, through the catalogue.  Calls the stores.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from quaestor.mqi.objects import (
    AliasQueue,
    LocalQueue,
    ModelQueue,
    MQObject,
    Queue,
    QueueManagerAttributes,
    RemoteQueue,
)
from quaestor.mqi.reasons import MQError, Reason
from quaestor.mqi.resolution import Resolver
from quaestor.qmgr.message.gate import Gate
from quaestor.qmgr.message.needs import PrivateStore, SharedQueues, StoredQueue
from quaestor.qmgr.message.queue_state import QueueState
from quaestor.qmgr.message.waiting import SharedWaiters, Waiters

ObjectT = TypeVar("ObjectT", bound=MQObject)
QUEUES = (LocalQueue, ModelQueue, AliasQueue, RemoteQueue)


class KnownObjects:
    """Definitions by kind and name."""

    def __init__(
        self,
        qmgr: str,
        store: PrivateStore,
        gate: Gate,
        shared: SharedQueues | None = None,
    ) -> None:
        self.version = 1
        self.gate = gate
        self.ending: Reason | None = None
        self.qmgr = QueueManagerAttributes(qmgr)
        self._store = store
        self._shared = shared
        self._queues: dict[str, Queue] = {}
        self._others: dict[tuple[type[MQObject], str], MQObject] = {}
        self._states: dict[str, QueueState] = {}
        self._by_id: dict[int, QueueState] = {}
        self.waited: dict[int, Waiters] = {}  # queues, by number, on which a getter or browser waits
        self._lingering: dict[str, QueueState] = {}  # deleted, and not dropped yet (V9)
        self._shadowed: dict[str, LocalQueue] = {}

    # -- definitions

    @property
    def in_group(self) -> bool:
        """Whether the queue manager belongs to a queue-sharing group."""
        return self._shared is not None

    def find_queue(self, name: str) -> Queue | None:
        return self._queues.get(name)

    def find(self, kind: type[ObjectT], name: str) -> ObjectT | None:
        """The definition of this kind and name."""
        if kind is QueueManagerAttributes:
            return self.qmgr  # type: ignore[return-value] # one of its kind
        found = self._queues.get(name) if issubclass(kind, QUEUES) else self._others.get((kind, name))
        return found if type(found) is kind else None

    def resolver(self) -> Resolver:
        find = self._queues.get if self._shared is None else self._find_in_group
        return Resolver(self.qmgr.name, find, self.qmgr.def_xmit_queue)

    def _find_in_group(self, name: str) -> Queue | None:
        """A queue that another member may have defined just now (V7)."""
        found = self._queues.get(name)
        if found is None or (isinstance(found, LocalQueue) and found.shared):
            self.follow_group()
        if name in self._shadowed:
            raise MQError(Reason.OBJECT_NOT_UNIQUE, queue=name)  # V8
        return self._queues.get(name)

    def follow_group(self) -> set[str]:
        """Bring into force what other members have defined, altered or deleted (V7); what is in force as changed."""
        if self._shared is None:
            return set()
        changed, deleted = self._shared.changes()
        followed = set()
        for definition in changed:
            if self._queues.get(definition.name, definition).disposition == definition.disposition:
                self._enforce(definition)
                followed.add(definition.name)
            else:
                self._shadowed[definition.name] = definition  # V8
        for name in deleted:
            self._shadowed.pop(name, None)
            found = self._queues.get(name)
            if isinstance(found, LocalQueue) and found.shared:
                state = self._out_of_force(found)
                if state is not None:
                    self._by_id.pop(state.stored.queue_id, None)
                    del self._lingering[name]
                    self._shared.forget(state.stored)
                    state.waiters.look_again()
        return followed

    def local_queues(self) -> Iterator[LocalQueue]:
        """Every local queue's definition."""
        return (q for q in tuple(self._queues.values()) if type(q) is LocalQueue)

    def queues_of(self, storage_class: str) -> list[str]:
        """The local queues that name a storage class."""
        return [queue.name for queue in self.local_queues() if queue.storage_class == storage_class]

    def all(self) -> Iterable[MQObject]:
        """Every definition there is."""
        return (self.qmgr, *self._queues.values(), *self._others.values(), *self._shadowed.values())

    def in_force(self, queue: Queue) -> bool:
        """Whether a name means this queue, and no other (V8)."""
        return self._queues.get(queue.name) is queue and queue.name not in self._shadowed

    # -- working parts

    def state(self, name: str) -> QueueState:
        """The working part of a local queue, made when it is first needed."""
        state = self._states.get(name)
        if state is None:
            definition = self._queues[name]
            if not isinstance(definition, LocalQueue):
                raise MQError(Reason.Q_TYPE_ERROR, queue=name)
            self._make_state(definition)
            state = self._states[name]
        return state

    def shadowed(self, name: str) -> QueueState | None:
        """The shared queue that has the name of a queue of this queue manager (V8): nobody opens it here."""
        self.follow_group()
        definition = self._shadowed.get(name)
        return None if definition is None else self._state_for(definition)

    def state_of(self, stored: StoredQueue) -> QueueState | None:
        return self._by_id.get(stored.queue_id)

    @property
    def anybody_waits(self) -> bool:
        """Whether any queue has a waiting getter or browser."""
        return bool(self.waited)

    @contextmanager
    def moving(self, names: Iterable[str]) -> Iterator[None]:
        """Nobody comes to these queues meanwhile (V6)."""
        states = [self.state(name) for name in names]
        for state in states:
            state.moving = True
        try:
            yield
        finally:
            for state in states:
                state.moving = False

    def usable(self, name: str) -> QueueState:
        """The working part of a queue that somebody is about to open, or to put to; 2042 while it moves (V6)."""
        state = self.state(name)
        if state.moving:
            raise MQError(Reason.OBJECT_IN_USE, queue=name, why="it is being moved to another page set")
        return state

    def has_page_set(self, number: int) -> bool:
        """Whether queues can be given new storage on a page set (V6)."""
        return self._store.has_page_set(number)

    def in_use(self, name: str) -> bool:
        """Whether a local queue is open or holds anything."""
        state = self.state(name)
        return bool(state.handles or state.stored.depth or state.stored.uncommitted)

    def _keeper(self, definition: LocalQueue) -> PrivateStore | SharedQueues:
        """Who keeps a queue's storage."""
        return self._shared if definition.shared and self._shared is not None else self._store

    def _make_state(self, definition: LocalQueue) -> None:
        """Storage is made before the definition is in force: nobody can open what has no storage yet."""
        state = self._state_for(definition)
        self._states[definition.name] = state
        self._by_id[state.stored.queue_id] = state

    def _state_for(self, definition: LocalQueue) -> QueueState:
        if definition.shared and self._shared is not None:
            shared = self._shared.queue(definition)
            return QueueState(definition, self._shared.store, shared, SharedWaiters(self.waited, shared.queue_id))
        queue = self._store.queue(definition)
        return QueueState(definition, self._store, queue, Waiters(self.waited, queue.queue_id))

    # -- in force, rule V1

    def _enforce(self, definition: MQObject) -> None:
        if isinstance(definition, QueueManagerAttributes):
            self.qmgr = definition
        elif isinstance(definition, QUEUES):
            self._queues[definition.name] = definition
            state = self._states.get(definition.name)
            if state is not None and isinstance(definition, LocalQueue):
                state.definition = definition
                self._keeper(definition).redefine(state.stored, definition)
        else:
            self._others[type(definition), definition.name] = definition
        self.version += 1  # V1

    def _out_of_force(self, definition: MQObject) -> QueueState | None:
        """From now on nobody finds it, while its end is being logged."""
        self.version += 1
        if not isinstance(definition, QUEUES):
            del self._others[type(definition), definition.name]
            return None
        del self._queues[definition.name]
        state = self._states.pop(definition.name, None)
        if state is not None:
            state.deleted = True
            self._lingering[definition.name] = state
        return state

    def end(self, reason: Reason) -> None:
        """The queue manager is quiescing or stopping; open handles find out by the version (V1)."""
        self.ending = reason
        self.version += 1

    @property
    def seen(self) -> int:
        """The version, for who has looked at it; none that will ever be while the gate is closed (GA2)."""
        return -1 if self.gate.closed else self.version

    def hold(self) -> None:
        """Close the gate; open handles find out by the version (V1, GA2)."""
        self.gate.close()
        self.version += 1
