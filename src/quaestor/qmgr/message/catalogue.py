"""Catalogue: how definitions change.

Rules
  V2  A change is saved in a unit of recovery of its own before it is in force.
  V3  A queue that is open, here or on another member of the group, is not deleted (2042); one that holds messages
      only with PURGE, one with uncommitted work not at all (2055). Nor is a storage class that a queue names (2042).
  V5  One object is changed by one application at a time; who comes in between is told so (2042). Saving waits for
      the log without the latch, so this cannot be left to the latch.
  V6  A queue stays on the page set where its messages are; it moves to another only while it is empty and not open.
      From when that is looked at until it has moved nobody opens it, nor puts to it (2042). One that cannot be moved
      for want of log stays where it is.
  V9  A queue that was deleted keeps its name as long as it keeps its storage, because it is still open or a unit has
      work on it: who makes a queue of that name is told so (2201). The new one would have the other's messages, and
      lose its own with the other's storage.

V1, V4, V7 and V8 are of `known_objects`.

Called by the parts of the message manager.  Calls known_objects, the stores and recovery.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from quaestor.mqi.objects import (
    LocalQueue,
    MQObject,
    QueueManagerAttributes,
    StorageClass,
)
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.message.gate import Gate
from quaestor.qmgr.message.known_objects import QUEUES, KnownObjects
from quaestor.qmgr.message.needs import PrivateStore, Recovery, SharedQueues, Unit
from quaestor.qmgr.message.queue_state import QueueState

DEFAULT_STORAGE_CLASS = "DEFAULT"


class Catalogue(KnownObjects):
    """Definitions by kind and name, and their changes."""

    def __init__(
        self,
        qmgr: str,
        store: PrivateStore,
        recovery: Recovery,
        default_page_set: int = 0,
        shared: SharedQueues | None = None,
    ) -> None:
        super().__init__(qmgr, store, Gate(recovery.latch, recovery.served), shared)
        self._recovery, self._default_page_set = recovery, default_page_set
        self._changing: set[tuple[type[MQObject], str]] = set()
        self._doomed: list[QueueState] = []
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
        shared = self._shadowed.pop(definition.name, None) if isinstance(definition, QUEUES) else None
        if shared is not None:
            self._enforce(shared)  # V8

    def _existing(self, kind: type[MQObject], name: str) -> MQObject:
        found = self.find(kind, name)
        if found is None:
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, name=name, type=kind.MQSC_TYPE)
        return found

    @contextmanager
    def _change(self, kind: type[MQObject], name: str) -> Iterator[None]:
        """Nobody else changes the object meanwhile (V5). Queues of all types share their names."""
        key = (MQObject if issubclass(kind, QUEUES) else kind, name)
        if key in self._changing:
            raise MQError(Reason.OBJECT_IN_USE, name=name, type=kind.MQSC_TYPE, why="being changed")
        self._changing.add(key)
        try:
            yield
        finally:
            self._changing.remove(key)

    def rehome(self, name: str) -> None:
        """Give an empty queue that nobody uses new storage, where its storage class says now (V6)."""
        state = self._states[name]
        self._store.drop(state.stored)
        self._by_id.pop(state.stored.queue_id, None)
        self._make_state(state.definition)
        self.version += 1

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

    def _in_unit(self, change: Callable[[Unit], None]) -> None:
        unit = self._recovery.begin()
        try:
            change(unit)
        except MQError:
            self._recovery.back_out(unit)
            raise
        self._recovery.commit(unit)

    def _namesake(self, definition: MQObject) -> MQObject | None:
        if isinstance(definition, QueueManagerAttributes):
            return self.qmgr
        if isinstance(definition, QUEUES):
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


def _alike(old: MQObject, new: MQObject) -> bool:
    """Whether one may take the place of the other (V8)."""
    return type(old) is type(new) and old.disposition == new.disposition


def _kept(old: MQObject) -> dict[str, Any]:
    """What a replacement must not change: a queue stays on the page set its messages are on."""
    return {"page_set": old.page_set} if isinstance(old, LocalQueue) else {}
