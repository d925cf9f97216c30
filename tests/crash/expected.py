"""What a history expects to find: messages whose commit was confirmed, and what a step that was cut may have done.

Messages are known by their bodies, each of which there is once. Nothing is expected of those that are not persistent.
"""

from contextlib import contextmanager

from quaestor.mqi.reasons import MQError
from quaestor.qmgr.checker import _Check
from quaestor.storage.changes import MESSAGE_PAGE, SPAN, map_page_of
from quaestor.storage.page import HEADER_LENGTH, LIVE, records_of
from quaestor.storage.page_set import spans


class Work:
    """A unit of recovery, with the persistent messages that it put and got: (queue, body, place) of each."""

    def __init__(self, unit):
        self.unit, self.puts, self.gets = unit, [], []


class UnderWay:
    """What a step has begun: a cut leaves it done or not."""

    def __init__(self, there=None, xid=b"", dropping=""):
        self.there, self.xid, self.dropping = there, xid, dropping


NOTHING = UnderWay()


class Expected:
    """Messages by queue, {body: place in the order}; units that are open, and those in doubt, by name."""

    def __init__(self):
        self.there = {}
        self.open, self.in_doubt = [], {}
        self.under_way = NOTHING

    @contextmanager
    def step(self, **what):
        """A step that a cut leaves done or not; one that is refused is not done."""
        self.under_way = UnderWay(**what)
        try:
            yield
        except MQError:
            self.under_way = NOTHING
            raise
        self.under_way = NOTHING

    def after(self, work):
        """What is there when a unit has committed."""
        there = {queue: bodies.copy() for queue, bodies in self.there.items()}
        for queue, body, place in work.puts:
            there[queue][body] = place
        for queue, body, _ in work.gets:
            del there[queue][body]
        return there

    def shown(self, there, queue):
        """The bodies that anybody can see: not those that a unit has got, open or in doubt."""
        gone = {body for work in (*self.open, *self.in_doubt.values()) for _, body, _ in work.gets}
        left = {body: place for body, place in there.get(queue, {}).items() if body not in gone}
        return sorted(left, key=left.get)

    def check(self, engine):
        """While an engine runs it shows what is there, and what its open units have put is not."""
        for queue, bodies in found_in(engine).items():
            assert bodies == self.shown(self.there, queue), (
                f"on {queue}: {_difference(self, self.there, queue, bodies)}"
            )

    def settle(self, engine):
        """Hold what a start has found against what it may find; that is what is there from now on."""
        self.open.clear()
        self._settle_units({unit.xid for unit in engine.recovery.in_doubt()})
        found = found_in(engine)
        ways = [there for there in (self.there, self.under_way.there) if there is not None]
        for there in ways:
            lost = set(there) - set(found) - {self.under_way.dropping}
            assert not lost, f"queues are lost: {lost}"
            if all(bodies == self.shown(there, queue) for queue, bodies in found.items()):
                self.there = {queue: there.get(queue, {}).copy() for queue in found}
                self.under_way = NOTHING
                return
        told = [_difference(self, there, queue, bodies) for there in ways for queue, bodies in found.items()]
        raise AssertionError(f"neither before the cut nor after: {told}")

    def _settle_units(self, found):
        """Units are in doubt as they were; the one that was being prepared or decided may be or not."""
        if self.under_way.xid not in found:
            self.in_doubt.pop(self.under_way.xid, None)
        assert found == set(self.in_doubt), f"in doubt: {found}, expected: {set(self.in_doubt)}"


def found_in(engine):
    """{queue: bodies of its persistent messages, in order}, of every queue."""
    data = engine.data
    return {
        queue.name: [data.read(each).body for each in data.browse(queue) if each.persistent] for queue in data.stored()
    }


def empty_pages(engine):
    """(page set, page) that the space map says have messages, have none, and are known for nothing else (PG6).

    The last page of a subqueue takes the next message; so does one that is known to be empty.
    """
    data, contents = engine.data, _Check(engine.data)._bytes
    gets = {(arrival.queue.page_set, arrival.page) for unit in engine.recovery.units.values() for arrival in unit.gets}
    queues = (*data.stored(), data.objects_queue)
    known = {(queue.page_set, page) for queue in queues for page in queue.last_pages}
    found = []
    for number, page_set in data.buffers.page_sets.items():
        for base in spans(page_set.pages):
            uses = contents(page_set, map_page_of(base))[HEADER_LENGTH:]
            for page in range(base, min(base + SPAN, page_set.pages)):
                if uses[page - base] != MESSAGE_PAGE or page in data.space.empty[number]:
                    continue
                records = records_of(contents(page_set, page))
                if (page_set, page) not in gets | known and not any(record.state == LIVE for record in records):
                    found.append((number, page))
    return found


def _difference(expected, there, queue, found):
    wanted = expected.shown(there, queue)
    more, fewer = ([body[:8] for body in one if body not in other] for one, other in ((found, wanted), (wanted, found)))
    return f"{queue} has {more or 'nothing'} too much, {fewer or 'nothing'} too little" if more or fewer else f"{queue}"
