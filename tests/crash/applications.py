"""What a history does to an engine that runs, and the world that it does it in.

The rules are in `histories` (RH1 to RH3).  Called by histories.  Calls expected.
"""

from collections import deque
from dataclasses import replace
from random import Random

from crash.expected import Expected, Work, empty_pages
from crash.images import check_images
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.checker import check
from quaestor.qmgr.data.engine import EngineSettings
from quaestor.qmgr.data.page_storage import PageSetDefinition
from quaestor.qmgr.recovery.media import image_copy
from quaestor.testing import FaultyDisk, SmallEngine

POOLS = (16, 24, 100)
SIZES = (5, 10, 100, 1000, 3000, 3500, 3640, 4000, 9000, 40_000)
QUEUE, OTHERS = "Q0", ("Q1", "Q2")
PAGE_SET, SECOND = 1, 2

WORK = {
    "put": 30, "put_volatile": 10, "put_together": 3, "get": 20, "commit": 11, "back_out": 5, "prepare": 3,
    "decide": 3, "run_tasks": 8, "checkpoint": 2, "scavenge": 2,
}  # fmt: skip
"""What may be going on when the engine ends, and how often."""

OPERATIONS = {"page_sets": 0.5, "queues": 2, "growth": 1, "archive": 0.5, "copy": 1.5, "look": 1, "run_out": 1}
"""What operators do meanwhile."""


def settings_of(choose):
    """RH2."""
    return EngineSettings(
        logs=choose.choice((2, 3, 4)),
        log_bytes=choose.choice((1 << 18, 1 << 19)),
        outbuff_kb=64,
        logload=choose.choice((50, 1000, 10**6)),
        page_sets={0: 0, PAGE_SET: 1},
        pages=choose.choice((32, 64)),
        expansion=choose.choice((8, 64)),
        packing=choose.random() < 0.5,
        archive=choose.random() < 0.3,
        dual_logs=choose.random() < 0.3,
        wrthrsh=choose.choice((2, 20)),
    )


class World:
    """A disk, the engine on it, what is expected of it, and the chance by which everything is chosen (RH1)."""

    def __init__(self, seed, **given):
        self.choose = Random(seed)
        self.settings = replace(settings_of(self.choose), **given)
        self.disk = FaultyDisk(seed=seed)
        self.expected = Expected()
        self.said = deque(maxlen=25)
        self.copied = self.no_log = self.refused = False
        self.checkpoints = []
        """RBAs at which operators have begun checkpoints since the start."""

        self.log_runs_out = self.chance(0.5)

    def chance(self, share):
        return self.choose.random() < share

    def start(self):
        """Start the engine; from now on there is what it has found (RH7)."""
        self.settings = replace(self.settings, buffer_pools={0: 24, 1: self.choose.choice(POOLS)})
        self.engine, self.refused = self.started(self.disk), False
        self.checkpoints.clear()
        self.engine.recovery.in_steps = self.chance(0.7)
        self.in_order()
        self.end_waiting()
        self.in_order()
        check_images(self.engine.log)
        try:
            self.expected.settle(self.engine)
        except MQError:  # hardly a buffer is left, and no log to write a page
            self.make_log()
            self.expected.settle(self.engine)

    def started(self, disk):
        return SmallEngine(disk, self.settings, QUEUE, page_set=PAGE_SET)

    def end_waiting(self):
        """Units whose backout waits for log end when there is some (RH8)."""
        if self.engine.recovery.waiting:
            self.make_log()
        assert not self.engine.recovery.waiting, "a unit still waits for log"

    def make_log(self):
        """There is log again, and time to make use of that."""
        self.no_log = False
        for _ in range(300):
            self.engine.run_tasks()

    def in_order(self):
        problems = check(self.engine.data)
        assert [] == problems, problems

    def one(self, steps):
        """The name of a step, by how often each is to come."""
        return self.choose.choices(list(steps), list(steps.values()))[0]


class Applications:
    """What is done to an engine that runs (RH3); each may be refused."""

    def __init__(self, world):
        self.world, self.choose, self.expected = world, world.choose, world.expected
        self.numbers = 0

    @property
    def engine(self):
        return self.world.engine

    def do(self, name):
        self.world.said.append(name)
        try:
            getattr(self, name)()
        except MQError as error:
            self.world.said.append(error.reason.name)

    # --- messages -----------------------------------------------------------------------------------------------------

    def put(self):
        queue, work, priority, body = self._queue(), self._work(), self.choose.choice((0, 0, 5)), self._body()
        self.engine.put(work.unit, body, priority=priority, queue=queue)
        work.puts.append((queue.name, body, (-priority, self.numbers)))

    def put_volatile(self):
        unit = self._work().unit if self.world.chance(0.5) else None
        self.engine.put(unit, self._body(), persistent=False, queue=self._queue())

    def put_together(self):
        work, size = self._work(), self.choose.choice((50, 3000))
        bodies = {self._body(size): (0, self.numbers) for _ in range(self.choose.choice((3, 30)))}
        count = self.engine.put_all(work.unit, list(bodies))
        work.puts += [(QUEUE, body, place) for body, place in list(bodies.items())[:count]]

    def get(self):
        """The first message that is there, or any; one that is persistent must be expected."""
        data, queue = self.engine.data, self._queue()
        arrivals = list(data.browse(queue))
        if arrivals:
            arrival = self.choose.choice(arrivals) if self.world.chance(0.3) else arrivals[0]
            body, work = data.read(arrival).body, self._work()
            place = self.expected.there[queue.name].get(body)
            assert place or not arrival.persistent, f"{body[:8]} on {queue.name} was never committed"
            data.take(work.unit, arrival)
            if arrival.persistent:
                work.gets.append((queue.name, body, place))

    def _queue(self):
        return self.choose.choice(list(self.engine.data.stored()))

    def _body(self, size=None):
        self.numbers += 1
        size = size or (200_000 if self.world.chance(0.02) else self.choose.choice(SIZES))
        return b"%d-" % self.numbers + bytes(size)

    def _work(self):
        """One of at most four units."""
        units = self.expected.open
        if not units or (len(units) < 4 and self.world.chance(0.3)):
            units.append(Work(self.engine.begin()))
        return self.choose.choice(units)

    # --- units --------------------------------------------------------------------------------------------------------

    def commit(self):
        if self.expected.open:
            work = self.choose.choice(self.expected.open)
            there = self.expected.after(work)
            with self.expected.step(there=there):
                self.engine.commit(work.unit)
            self.expected.open.remove(work)
            self.expected.there = there

    def back_out(self):
        if self.expected.open:
            work = self.choose.choice(self.expected.open)
            self.expected.open.remove(work)
            self.engine.back_out(work.unit)

    def prepare(self):
        logged = [work for work in self.expected.open if work.unit.urid]
        if logged:
            self.numbers += 1
            work, xid = self.choose.choice(logged), b"%d" % self.numbers
            self.expected.open.remove(work)
            self.expected.in_doubt[xid] = work
            with self.expected.step(xid=xid):
                self.engine.recovery.prepare(work.unit, xid)

    def decide(self):
        if self.expected.in_doubt:
            xid = self.choose.choice(list(self.expected.in_doubt))
            commit = self.world.chance(0.5)
            there = self.expected.after(self.expected.in_doubt[xid]) if commit else self.expected.there
            with self.expected.step(there=there, xid=xid):
                self.engine.recovery.resolve(xid, commit=commit)
            del self.expected.in_doubt[xid]
            self.expected.there = there

    # --- what the engine does by itself, and operators ----------------------------------------------------------------

    def run_tasks(self):
        self.engine.run_tasks()

    def checkpoint(self):
        """RH11: the third of them needs nothing from before the first."""
        recovery, log, begun = self.engine.recovery, self.engine.log, self.world.checkpoints
        room, before = log.files.limit - log.end > log.files.size, recovery.checkpoints
        end = log.end
        recovery.checkpoint()
        if recovery.checkpoints > before:
            begun.append(end)
        if room and len(begun) > 2 and not recovery.waiting:
            assert recovery.needed_rba() >= begun[-3], "the log is kept for an old unit or page"

    def scavenge(self):
        """RH11: pages whose messages are gone are given back, but for those of units that wait for log."""
        self.engine.data.scavenge()
        empty = [] if self.engine.recovery.waiting else empty_pages(self.engine)
        assert not empty, f"pages are kept for nothing: {empty}"

    def page_sets(self):
        storage = self.engine.engine.storage
        if SECOND in storage.page_sets:
            storage.delete_page_set(SECOND)
        else:
            storage.define_page_set(SECOND, PageSetDefinition(1))

    def queues(self):
        """One of the others comes, or goes with its messages."""
        name, data = self.choose.choice(OTHERS), self.engine.data
        queue = next((queue for queue in data.stored() if queue.name == name), None)
        if queue is None:
            page_set = SECOND if SECOND in self.engine.buffers.page_sets and self.world.chance(0.6) else PAGE_SET
            data.queue(LocalQueue(name, page_set=page_set))
            self.expected.there[name] = {}
        elif not queue.uncommitted:
            with self.expected.step(dropping=name):
                data.drop(queue)
            del self.expected.there[name]

    def growth(self):
        number = self.choose.choice((PAGE_SET, SECOND))
        self.engine.data.space.expand[number] = self.choose.choice(("NONE", "USER", "SYSTEM"))

    def archive(self):
        self.engine.log.truncate()

    def copy(self):
        if self.world.settings.archive and not self.world.no_log:
            image_copy(self.engine.recovery, PAGE_SET, self.world.disk)
            self.world.copied = True

    def look(self):
        """What is there is what is seen, and all is in order, while the engine runs too."""
        if not self.engine.recovery.waiting:
            self.expected.check(self.engine)
            self.world.in_order()

    def run_out(self):
        """RH5: logs run out."""
        self.world.no_log = self.world.log_runs_out
