"""Catalogue: the definitions in force, and the working part of each local queue.

Rules
  V1  Every change to a definition raises `version`; an open handle compares one number per call and looks again
      at its path only when something changed.
  V2  A change is saved in a unit of recovery of its own before it is in force.
  V3  A queue that is open, here or on another member of the group, is not deleted (2042); one that holds messages
      only with PURGE, one with uncommitted work not at all (2055). Nor is a storage class that a queue names (2042).
  V4  Working parts (handles, waiters, time of the last trigger message) live in `QueueState`, never in definitions.
  V5  One object is changed by one application at a time; who comes in between is told so (2042). Saving waits for
      the log without the latch, so this cannot be left to the latch.
  V6  A queue stays on the page set where its messages are; it moves to another only while it is empty and not open.
      From when that is looked at until it has moved nobody opens it, nor puts to it (2042). One that cannot be moved
      for want of log stays where it is.
  V7  A shared queue is defined for the group: it is kept by the coupling facility manager, and what other members
      change is in force here when it is noticed, at the latest when a name is opened that is not known.
  V8  A definition takes the place of one of its own disposition only. A shared queue that has the name of a queue of
      this queue manager is in nobody's force here: whoever opens the name is told (2343) until one of them is deleted.
  V9  A queue that was deleted keeps its name as long as it keeps its storage, because it is still open or a unit has
      work on it: who makes a queue of that name is told so (2201). The new one would have the other's messages, and
      lose its own with the other's storage.

Called by the parts of the message manager.  Calls the stores and recovery.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

from quaestor.mqi.objects import (
    AliasQueue,
    LocalQueue,
    ModelQueue,
    MQObject,
    Namelist,
    Process,
    Queue,
    QueueManagerAttributes,
    RemoteQueue,
    StorageClass,
)
from quaestor.mqi.reasons import MQError, Reason
from quaestor.mqi.resolution import Resolver
from quaestor.qmgr.message.gate import Gate
from quaestor.qmgr.message.needs import PrivateStore, Recovery, SharedQueues, StoredQueue, Unit
from quaestor.qmgr.message.queue_state import QueueState
from quaestor.qmgr.message.waiting import SharedWaiters, Waiters

ObjectT = TypeVar("ObjectT", bound=MQObject)
DEFAULT_STORAGE_CLASS = "DEFAULT"


class Catalogue:
    """Definitions by kind and name."""

    def __init__(
        self,
        qmgr: str,
        store: PrivateStore,
        recovery: Recovery,
        default_page_set: int = 0,
        shared: SharedQueues | None = None,
    ) -> None:
        self.version = 1
        self.gate = Gate(recovery.latch, recovery.served)
        self.ending: Reason | None = None
        self.qmgr = QueueManagerAttributes(qmgr)
        self._store = store
        self._shared = shared
        self._recovery = recovery
        self._queues: dict[str, Queue] = {}
        self._others: dict[tuple[type[MQObject], str], MQObject] = {}
        self._states: dict[str, QueueState] = {}
        self._by_id: dict[int, QueueState] = {}
        self.waited: dict[int, Waiters] = {}  # queues, by number, on which a getter or browser waits
        self._changing: set[tuple[type[MQObject], str]] = set()
        self._default_page_set = default_page_set
        self._doomed: list[QueueState] = []
        self._lingering: dict[str, QueueState] = {}  # deleted, and not dropped yet (V9)
        self._shadowed: dict[str, LocalQueue] = {}
        self.removed: Callable[[str], object] = lambda _name: None
        """Told the name of a local queue that is no more."""

    def load(self) -> None:
        """Bring the saved definitions into force, at start."""
        name = self.qmgr.name
        for found in self._store.objects():
            self._enforce(found)
        if self.qmgr.name != name:
            raise MQError(Reason.Q_MGR_NAME_ERROR, asked_for=name, found=self.qmgr.name)
        self.follow_group()
        for queue in tuple(self.local_queues()):
            self.state(queue.name)
        for stored in self._store.stored():
            if stored.name not in self._states:
                self._store.drop(stored)  # its definition was deleted, the end came before the storage was
        if self.find(StorageClass, DEFAULT_STORAGE_CLASS) is None:
            self._save(self.qmgr)
            self._save(StorageClass(DEFAULT_STORAGE_CLASS, page_set=self._default_page_set))

    # -- reading

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
        found = self._queues.get(name) if issubclass(kind, _QUEUES) else self._others.get((kind, name))
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

    # -- changing

    def define(self, definition: MQObject, *, replace: bool = False) -> None:
        """Bring a new definition into force (V2)."""
        self.follow_group()
        with self._change(type(definition), definition.name):
            old = self._namesake(definition)
            if old is not None and (not replace or not _alike(old, definition)):
                name, kind = definition.name, old.MQSC_TYPE
                raise MQError(Reason.OBJECT_ALREADY_EXISTS, name=name, type=kind, disposition=old.disposition)
            if old is not None:
                definition = definition.altered(**_kept(old))
            self._save(definition)

    def alter(self, kind: type[MQObject], name: str, **changes: Any) -> None:
        """Change attributes of a definition (V1, V2)."""
        self.follow_group()
        with self._change(kind, name):
            self._save(self._existing(kind, name).altered(**changes))

    def delete(self, kind: type[MQObject], name: str, *, purge: bool = False) -> None:
        """Take a definition out of force, and its messages with it (V3)."""
        self.follow_group()
        old = self._existing(kind, name)
        if type(old) is LocalQueue:
            self._check_unused(self.state(name), purge=purge)
        elif type(old) is QueueManagerAttributes:
            raise MQError(Reason.OBJECT_TYPE_ERROR, type=kind.MQSC_TYPE)
        elif type(old) is StorageClass and (users := self.queues_of(name)):
            raise MQError(Reason.OBJECT_IN_USE, name=name, type=kind.MQSC_TYPE, queues=users)
        with self._alone(old):
            self.remove(old)

    def _alone(self, old: MQObject) -> AbstractContextManager[None]:
        """No other member has a shared queue open while it is deleted (V3)."""
        if type(old) is LocalQueue and old.shared and self._shared is not None:
            return self._shared.alone(self.state(old.name).stored)
        return nullcontext()

    def remove(self, definition: MQObject) -> None:
        """Take a definition out of force without looking at its use (dynamic queues, after V3)."""
        with self._change(type(definition), definition.name):
            state = self._out_of_force(definition)
            try:
                self._discard(definition)
            except MQError:
                if state is not None:
                    state.deleted = False
                    self._states[definition.name] = self._lingering.pop(definition.name)
                self._enforce(definition)
                raise
            if state is not None:
                self.removed(definition.name)
                state.waiters.look_again()  # a dynamic queue may go while others wait on it
                if not state.handles:
                    self.forget(state)
        shared = self._shadowed.pop(definition.name, None) if isinstance(definition, _QUEUES) else None
        if shared is not None:
            self._enforce(shared)  # V8

    def _out_of_force(self, definition: MQObject) -> QueueState | None:
        """From now on nobody finds it, while its end is being logged."""
        self.version += 1
        if not isinstance(definition, _QUEUES):
            del self._others[type(definition), definition.name]
            return None
        del self._queues[definition.name]
        state = self._states.pop(definition.name, None)
        if state is not None:
            state.deleted = True
            self._lingering[definition.name] = state
        return state

    def _existing(self, kind: type[MQObject], name: str) -> MQObject:
        found = self.find(kind, name)
        if found is None:
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, name=name, type=kind.MQSC_TYPE)
        return found

    @contextmanager
    def _change(self, kind: type[MQObject], name: str) -> Iterator[None]:
        """Nobody else changes the object meanwhile (V5). Queues of all types share their names."""
        key = (MQObject if issubclass(kind, _QUEUES) else kind, name)
        if key in self._changing:
            raise MQError(Reason.OBJECT_IN_USE, name=name, type=kind.MQSC_TYPE, why="being changed")
        self._changing.add(key)
        try:
            yield
        finally:
            self._changing.remove(key)

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

    def rehome(self, name: str) -> None:
        """Give an empty queue that nobody uses new storage, where its storage class says now (V6)."""
        state = self._states[name]
        self._store.drop(state.stored)
        self._by_id.pop(state.stored.queue_id, None)
        self._make_state(state.definition)
        self.version += 1

    def has_page_set(self, number: int) -> bool:
        """Whether queues can be given new storage on a page set (V6)."""
        return self._store.has_page_set(number)

    def in_use(self, name: str) -> bool:
        """Whether a local queue is open or holds anything."""
        state = self.state(name)
        return bool(state.handles or state.stored.depth or state.stored.uncommitted)

    def forget(self, state: QueueState) -> None:
        """Drop the storage of a deleted queue, once nobody has it open and no unit has work on it.

        One whose structure cannot be reached waits as well: whoever closes it last is not told. That is logged, as the
        end of the definition is, and the log is waited for without the latch: who deletes a queue and who closes it
        last may both come here.
        """
        if state.dropped:
            return
        state.dropped = True
        try:
            if not state.stored.uncommitted:
                self._keeper(state.definition).drop(state.stored)
                self._by_id.pop(state.stored.queue_id, None)
                self._lingering.pop(state.definition.name, None)
                return
        except MQError:
            pass
        state.dropped = False
        self._doomed.append(state)

    def unit_ended(self) -> None:
        """A deleted queue may have waited for this."""
        if self._doomed:
            doomed, self._doomed = self._doomed, []
            for state in doomed:
                self.forget(state)

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

    def _save(self, definition: MQObject) -> None:
        if isinstance(definition, LocalQueue) and self.find(StorageClass, definition.storage_class) is None:
            raise MQError(Reason.STORAGE_CLASS_ERROR, storage_class=definition.storage_class, queue=definition.name)
        if type(definition) is LocalQueue and self._lingers(definition):
            raise MQError(Reason.NAME_IN_USE, queue=definition.name)  # V9
        if isinstance(definition, LocalQueue) and definition.shared and type(definition) is LocalQueue:
            self._save_shared(definition)
            return
        new = type(definition) is LocalQueue and definition.name not in self._states
        if new and isinstance(definition, LocalQueue):
            self._make_state(definition)
        try:
            self._in_unit(lambda unit: self._store.save(unit, definition))
        except MQError:
            if new:
                self.forget(self._states.pop(definition.name))
            raise
        self._enforce(definition)

    def _lingers(self, definition: LocalQueue) -> bool:
        """Whether a new queue would be given the storage of one that was deleted (V9)."""
        old = None if definition.name in self._states else self._lingering.get(definition.name)
        return old is not None and old.definition.shared == definition.shared

    def _save_shared(self, definition: LocalQueue) -> None:
        """A shared queue is kept for the whole group, not on page set 0 (V7)."""
        old = self._queues.get(definition.name)
        if self._shared is None or (isinstance(old, LocalQueue) and not old.shared):
            why = "no queue-sharing group" if self._shared is None else "a private queue has this name"
            raise MQError(
                Reason.OBJECT_ALREADY_EXISTS if old else Reason.CF_NOT_AVAILABLE, name=definition.name, why=why
            )
        self._shared.save(definition, new=old is None)
        self._enforce(definition)

    def _discard(self, definition: MQObject) -> None:
        if isinstance(definition, LocalQueue) and definition.shared and self._shared is not None:
            self._shared.discard(definition)
        else:
            self._in_unit(lambda unit: self._store.discard(unit, definition))

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

    def _in_unit(self, change: Callable[[Unit], None]) -> None:
        unit = self._recovery.begin()
        try:
            change(unit)
        except MQError:
            self._recovery.back_out(unit)
            raise
        self._recovery.commit(unit)

    def _enforce(self, definition: MQObject) -> None:
        if isinstance(definition, QueueManagerAttributes):
            self.qmgr = definition
        elif isinstance(definition, _QUEUES):
            self._queues[definition.name] = definition
            state = self._states.get(definition.name)
            if state is not None and isinstance(definition, LocalQueue):
                state.definition = definition
                self._keeper(definition).redefine(state.stored, definition)
        else:
            self._others[type(definition), definition.name] = definition
        self.version += 1  # V1

    def _namesake(self, definition: MQObject) -> MQObject | None:
        if isinstance(definition, QueueManagerAttributes):
            return self.qmgr
        if isinstance(definition, _QUEUES):
            return self._queues.get(definition.name)
        return self._others.get((type(definition), definition.name))

    def _check_unused(self, state: QueueState, *, purge: bool) -> None:
        if state.handles:
            raise MQError(Reason.OBJECT_IN_USE, queue=state.definition.name, handles=state.handles)
        if state.stored.uncommitted or (state.stored.depth and not purge):
            raise MQError(
                Reason.Q_NOT_EMPTY,
                queue=state.definition.name,
                depth=state.stored.depth,
                uncommitted=state.stored.uncommitted,
            )


_QUEUES = (LocalQueue, ModelQueue, AliasQueue, RemoteQueue)
KINDS: dict[str, type[MQObject]] = {
    kind.MQSC_TYPE: kind for kind in (*_QUEUES, Process, Namelist, StorageClass, QueueManagerAttributes)
}


def _alike(old: MQObject, new: MQObject) -> bool:
    """Whether one may take the place of the other (V8)."""
    return type(old) is type(new) and old.disposition == new.disposition


def _kept(old: MQObject) -> dict[str, Any]:
    """What a replacement must not change: a queue stays on the page set its messages are on."""
    return {"page_set": old.page_set} if isinstance(old, LocalQueue) else {}
