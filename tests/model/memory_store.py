"""A plain model of queue store and recovery, in memory: what the engine must do, without pages, log or locks.

It is slow and obviously right: a queue is a sorted list. The semantics of the MQI are tested on it and on the real
store alike, and the model-based tests of the engine compare the engine with it.
"""

from bisect import insort
from itertools import count
from threading import Lock

from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.queue_store import AVAILABLE, GONE, TAKEN, WAITING, Arrival, put_singly
from quaestor.qmgr.recovery.outcomes import Outcomes
from quaestor.qmgr.resource_manager import Served

BACKOUT_MAX = 255


class ModelUnit:
    """A unit of recovery: what it put, what it got, what it saved."""

    def __init__(self):
        self.urid, self.puts, self.gets, self.undo, self.ended = 0, [], [], [], ""
        self.label, self.shared, self.triggers = b"", None, 0


class ModelQueue:
    """A queue: its arrivals in order."""

    def __init__(self, queue_id, name):
        self.queue_id, self.name = queue_id, name
        self.depth = self.uncommitted = 0
        self.arrivals = []
        self.counted, self.shared = self, False

    @property
    def with_expiry(self):
        return sum(a.expires_us > 0 and a.state in (AVAILABLE, WAITING) for a in self.arrivals)


class ModelArrival(Arrival):
    __slots__ = ("message",)

    def __init__(self, queue, sequence, message, priority):
        self.queue, self.sequence, self.message, self.priority = queue, sequence, message, priority
        self.persistent = message.persistence == 1
        self.msg_id, self.correl_id, self.group_id = message.msg_id, message.correl_id, message.envelope.group_id
        self.length, self.put_us, self.expires_us = len(message.body), message.put_us, message.expires_us
        self.backout_count, self.holder, self.state = message.backout_count, None, AVAILABLE

    def place(self):
        return (-self.priority, self.sequence)


class MemoryStore:
    """Answers `QueueStore` and keeps definitions."""

    def __init__(self):
        self._sequence, self._ids = count(1), count(1)
        self.definitions, self.queues = {}, {}

    # -- messages

    def put(self, unit, queue, message, priority):
        assert unit is not None or message.persistence == 0
        arrival = ModelArrival(queue, next(self._sequence), message, priority)
        insort(queue.arrivals, arrival, key=ModelArrival.place)
        queue.depth += 1
        if unit is not None:
            arrival.state, arrival.holder = WAITING, unit
            queue.uncommitted += 1
            unit.puts.append(arrival)
        return arrival

    def put_run(self, unit, queue, messages, priority):
        return put_singly(self.put, unit, queue, messages, priority)

    def locate(self, queue, msg_id=None, correl_id=None, group_id=None, after=None, fits=None, holder=None):
        for arrival in queue.arrivals:
            if after is not None and arrival.place() <= after.place():
                continue
            if arrival.state != AVAILABLE or arrival.holder not in (None, holder):
                continue
            asked = ((msg_id, arrival.msg_id), (correl_id, arrival.correl_id), (group_id, arrival.group_id))
            if all(want is None or want == have for want, have in asked) and (fits is None or fits(arrival)):
                return arrival
        return None

    def still_there(self, arrival):
        return arrival.state == AVAILABLE

    def hold(self, arrival, holder):
        arrival.holder = holder

    def let_go(self, arrival, holder):
        if arrival.holder is holder:
            arrival.holder = None

    unlocked = let_go

    def read(self, arrival):
        return arrival.message

    def take(self, unit, arrival):
        assert arrival.state == AVAILABLE
        queue = arrival.queue
        queue.depth -= 1
        if unit is None:
            assert not arrival.persistent
            arrival.state = GONE
            queue.arrivals.remove(arrival)
        else:
            arrival.state, arrival.holder = TAKEN, unit
            queue.uncommitted += 1
            unit.gets.append(arrival)

    def browse(self, queue):
        return (a for a in tuple(queue.arrivals) if a.state == AVAILABLE and a.holder is None)

    def count(self, queue, priority):
        return sum(a.priority >= priority and a.state in (AVAILABLE, WAITING) for a in queue.arrivals)

    # -- definitions

    def objects(self):
        return list(self.definitions.values())

    def save(self, unit, definition):
        key = (isinstance(definition, LocalQueue) or type(definition), definition.name)
        old = self.definitions.get(key)
        unit.undo.append(lambda: self.definitions.update({key: old}) if old else self.definitions.pop(key))
        self.definitions[key] = definition

    def discard(self, unit, definition):
        key = (isinstance(definition, LocalQueue) or type(definition), definition.name)
        self.definitions.pop(key)
        unit.undo.append(lambda: self.definitions.update({key: definition}))

    def queue(self, definition):
        if definition.name not in self.queues:
            self.queues[definition.name] = ModelQueue(next(self._ids), definition.name)
        return self.queues[definition.name]

    def stored(self):
        return list(self.queues.values())

    def redefine(self, queue, definition):
        pass

    def drop(self, queue):
        for arrival in queue.arrivals:
            arrival.state = GONE
        if self.queues.get(queue.name) is queue:
            del self.queues[queue.name]

    # -- ends of units

    def committed(self, unit):
        for arrival in unit.puts:
            arrival.queue.uncommitted -= 1
            if arrival.state == WAITING:
                arrival.state, arrival.holder = AVAILABLE, None
        for arrival in unit.gets:
            arrival.queue.uncommitted -= 1
            self._gone(arrival)

    def backed_out(self, unit):
        for arrival in unit.puts:
            arrival.queue.uncommitted -= 1
            arrival.queue.depth -= 1
            self._gone(arrival)
        for arrival in unit.gets:
            arrival.queue.uncommitted -= 1
            arrival.queue.depth += 1
            arrival.state, arrival.holder = AVAILABLE, None
            arrival.backout_count = min(arrival.backout_count + 1, BACKOUT_MAX)

    @staticmethod
    def _gone(arrival):
        arrival.state, arrival.holder = GONE, None
        if arrival in arrival.queue.arrivals:
            arrival.queue.arrivals.remove(arrival)


class MemoryRecovery:
    """Units that end at once: nothing is durable."""

    def __init__(self):
        self.latch = Lock()
        self.served = Served()
        self.managers = []
        self.outcomes = Outcomes()

    def begin(self, connection="", user="", thread=""):
        return ModelUnit()

    def commit(self, unit):
        assert not unit.ended
        unit.ended = "committed"
        for manager in self.managers:
            manager.committed(unit)

    commit_unforced = commit

    def prepare(self, unit, xid):
        raise AssertionError("the model logs nothing, so nothing is in doubt in it")

    def in_doubt(self):
        return []

    def harden(self):
        pass

    def resolve(self, xid, *, commit):
        raise MQError(Reason.UNKNOWN_OBJECT_NAME, xid=xid)

    def back_out(self, unit):
        assert not unit.ended
        unit.ended = "backed out"
        for undo in reversed(unit.undo):
            undo()
        for manager in self.managers:
            manager.backed_out(unit)


def restarted(store):
    """The store as a restart finds it: units in flight are backed out, messages that are not persistent are gone."""
    again = MemoryStore()
    again.definitions, again.queues, again._sequence, again._ids = (
        store.definitions,
        store.queues,
        store._sequence,
        store._ids,
    )
    for queue in again.queues.values():
        queue.arrivals = [a for a in queue.arrivals if a.persistent and a.state in (AVAILABLE, TAKEN)]
        queue.depth, queue.uncommitted = len(queue.arrivals), 0
        for arrival in queue.arrivals:
            arrival.state, arrival.holder = AVAILABLE, None
    return again
