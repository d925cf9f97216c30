"""Objects: definitions kept like messages on page set 0, and which storage each queue has.

Rules
  O1  A definition is one message on the queue of objects (id 1); replacing it takes the old one and puts the new one
      in the same unit of recovery.
  O2  A queue's storage (its id and page set) is recorded apart from its definition, so that the two may be changed
      apart. Queue ids are not used again while a page may still carry one. A queue is known as soon as its record is
      logged: its page set is not deleted while the log is waited for (PS3).
  O3  Dropping a queue commits the end of its storage record first and frees the pages then; pages whose queue id is
      unknown are freed when the queue manager starts, so a cut in between loses nothing but time. Either is logged
      before the record of another queue that gets the same id.
  O4  A queue whose page set is not there is named, and nothing starts.

Called by message (through the data manager's protocol) and the loader.  Calls the data manager.
"""

import struct
from collections.abc import Iterable

from quaestor.mqi.descriptors import MQMD, NO_ID
from quaestor.mqi.messages import Message
from quaestor.mqi.objects import LocalQueue, MQObject, StorageClass, object_from_bytes
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.data.manager import DataManager
from quaestor.qmgr.data.queue import PrivateQueue
from quaestor.qmgr.queue_store import AVAILABLE, Arrival
from quaestor.qmgr.recovery import UnitOfRecovery

OBJECT_QUEUE = 1
STORAGE_RECORD = 0xFF
_STORAGE = struct.Struct(">BIH")
_ENVELOPE = MQMD()
Key = tuple[int, str]


class ObjectManager(DataManager):
    """The data manager with its definitions (O1-O4)."""

    objects_queue: PrivateQueue

    def begin_objects(self) -> None:
        """Make the queue of objects; needs page set 0."""
        self.objects_queue = PrivateQueue(OBJECT_QUEUE, "(objects)", self.buffers.page_sets[0])
        self.queues[OBJECT_QUEUE] = self.objects_queue
        self._objects: dict[Key, Arrival] = {}
        self._values: dict[Key, bytes] = {}
        self._by_name: dict[str, PrivateQueue] = {}
        self._next_id = OBJECT_QUEUE + 1

    # --- definitions --------------------------------------------------------------------------------------------------

    def objects(self) -> Iterable[MQObject]:
        """Every definition that is saved."""
        self.stats.enumerates += 1
        return [object_from_bytes(packed) for key, packed in self._values.items() if key[0] != STORAGE_RECORD]

    def save(self, unit: UnitOfRecovery, definition: MQObject) -> None:
        """Keep a definition, in place of one of the same kind and name (O1)."""
        key = (definition.TYPE_CODE, definition.name)
        if key in self._objects:
            self.stats.object_puts += 1
        else:
            self.stats.object_creates += 1
        self._write(unit, key, definition.pack())

    def discard(self, unit: UnitOfRecovery, definition: MQObject) -> None:
        self.stats.object_deletes += 1
        self._remove(unit, (definition.TYPE_CODE, definition.name))

    def _write(self, unit: UnitOfRecovery, key: Key, packed: bytes) -> None:
        if key in self._objects:
            self._remove(unit, key)
        message = Message(packed, _ENVELOPE, NO_ID, NO_ID, 0, 1, 0)
        arrival = self.put(unit, self.objects_queue, message, 0)
        self.stats.message_puts -= 1  # counted as an object, not as a message
        unit.other.append(lambda: self._settle(key, arrival, packed))

    def _remove(self, unit: UnitOfRecovery, key: Key) -> None:
        self.take(unit, self._objects[key])
        self.stats.message_gets -= 1
        unit.other.append(lambda: self._settle(key, None, b""))

    def _settle(self, key: Key, arrival: Arrival | None, packed: bytes) -> None:
        if arrival is None:
            self._objects.pop(key, None)
            self._values.pop(key, None)
        else:
            self._objects[key] = arrival
            self._values[key] = packed

    # --- browse locks: of handles of this queue manager only ----------------------------------------------------------

    def still_there(self, arrival: Arrival) -> bool:
        return arrival.state == AVAILABLE

    def hold(self, arrival: Arrival, holder: object) -> None:
        arrival.holder = holder

    def let_go(self, arrival: Arrival, holder: object) -> None:
        if arrival.holder is holder:
            arrival.holder = None

    def unlocked(self, arrival: Arrival, holder: object) -> None:
        self.let_go(arrival, holder)

    # --- storage of queues --------------------------------------------------------------------------------------------

    def queue(self, definition: LocalQueue) -> PrivateQueue:
        """The storage of a queue, made when it is new (O2)."""
        self.stats.object_locates += 1
        found = self._by_name.get(definition.name)
        if found is not None:
            self.redefine(found, definition)
            return found
        page_set = self._page_set_of(definition)
        queue = PrivateQueue(self._next_id, definition.name, self.buffers.page_sets[page_set])
        self._next_id += 1
        unit = self.recovery.begin()
        packed = _STORAGE.pack(STORAGE_RECORD, queue.queue_id, page_set) + definition.name.encode()
        self._write(unit, (STORAGE_RECORD, definition.name), packed)
        self._know(queue)
        self.recovery.commit(unit)
        self.redefine(queue, definition)
        return queue

    def stored(self) -> Iterable[PrivateQueue]:
        """Every queue that has storage, whether or not a definition is left for it."""
        return list(self._by_name.values())

    def has_page_set(self, number: int) -> bool:
        """Whether a page set is open, so that queues can be on it."""
        return number in self.buffers.page_sets

    def holds_queues(self, page_set: int) -> bool:
        """Whether any queue has its storage on a page set."""
        return any(queue.page_set.number == page_set for queue in self.queues.values())

    def forget_page_set(self, number: int) -> None:
        """The page set, on which no queue is left, is no more."""
        self.space.remove_page_set(number)
        self._pages.forget(number)

    def redefine(self, queue: PrivateQueue, definition: LocalQueue) -> None:
        """The queue's attributes changed."""
        queue.set_index(definition.index_type)
        queue.harden_backout = definition.harden_backout

    def drop(self, queue: PrivateQueue) -> None:
        """Remove a queue's storage and every message on it (O3)."""
        unit = self.recovery.begin()
        self._remove(unit, (STORAGE_RECORD, queue.name))
        self.recovery.commit(unit)
        arrivals = queue.available()
        for arrival in arrivals:
            queue.remove(arrival)
        self.release_all(queue, arrivals)
        queue.end()
        del self.queues[queue.queue_id]
        del self._by_name[queue.name]

    def _page_set_of(self, definition: LocalQueue) -> int:
        """By the definition itself, else by its storage class."""
        number = definition.page_set
        if number < 0:
            stored = self._values.get((StorageClass.TYPE_CODE, definition.storage_class))
            storage_class = object_from_bytes(stored) if stored else None
            number = storage_class.page_set if isinstance(storage_class, StorageClass) else 0
        if number not in self.buffers.page_sets:
            raise MQError(Reason.STORAGE_CLASS_ERROR, queue=definition.name, page_set=number)
        return number

    def _know(self, queue: PrivateQueue) -> None:
        self.queues[queue.queue_id] = queue
        self._by_name[queue.name] = queue
        self._next_id = max(self._next_id, queue.queue_id + 1)

    # --- at start -----------------------------------------------------------------------------------------------------

    def load_object(self, arrival: Arrival) -> None:
        """One message of the queue of objects, found at start."""
        packed = self.read(arrival).body
        if packed[0] == STORAGE_RECORD:
            _, queue_id, page_set = _STORAGE.unpack_from(packed)
            name = packed[_STORAGE.size :].decode()
            if page_set not in self.buffers.page_sets:
                text = "a queue is on a page set that is not there; put it back, or define a new one"
                raise Abend("O4", text, queue=name, page_set=page_set)
            self._know(PrivateQueue(queue_id, name, self.buffers.page_sets[page_set]))
            self._settle((STORAGE_RECORD, name), arrival, packed)
        else:
            definition = object_from_bytes(packed)
            self._settle((definition.TYPE_CODE, definition.name), arrival, packed)
