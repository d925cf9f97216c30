"""What applications do to an engine in a history, and the world that it does it in.

The rules are in `histories` (RH1 to RH3).  Called by histories.  Calls operators, expected.
"""

from collections import deque
from dataclasses import replace
from random import Random

from crash.expected import Expected, Work
from crash.images import check_images
from crash.operators import PAGE_SET, POOLS, Operators
from crash.scenarios import commit, commit_in_flight
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.checker import check
from quaestor.qmgr.data.engine import EngineSettings
from quaestor.testing import FaultyDisk, SmallEngine

SIZES = (5, 10, 100, 1000, 3000, 3500, 3640, 4000, 9000, 40_000)
QUEUE = "Q0"

WORK = {
    "put": 30, "put_volatile": 10, "put_together": 3, "put_alone": 4, "get": 20, "get_alone": 3, "commit": 11,
    "back_out": 5, "prepare": 3, "decide": 3, "run_tasks": 8, "checkpoint": 2, "scavenge": 2, "copy_on": 3,
}  # fmt: skip
"""What may be going on when the engine ends, and how often."""


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
        self.no_log = self.refused = False
        self.copied = set()
        """Page sets that there is an image copy of."""

        self.copying = None
        self.checkpoints = []
        """RBAs at which operators have begun checkpoints since the start."""

        self.log_runs_out = self.chance(0.5)

    def chance(self, share):
        return self.choose.random() < share

    def start(self):
        """Start the engine; from now on there is what it has found (RH7)."""
        self.settings = replace(
            self.settings,
            buffer_pools={0: 24, 1: self.choose.choice(POOLS)},
            packing=self.settings.packing ^ self.chance(0.1),
            log_space=self.choose.choice(("least", "least", "mp16")),
        )
        self.engine, self.refused = self.started(self.disk), False
        self.checkpoints.clear()
        self.copying = None
        self.engine.recovery.in_steps = self.chance(0.7)
        self.engine.recovery.alone = self.engine.recovery.single = self.chance(0.3)
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
        disk.asynchronous = self.chance(0.7)
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


class Applications(Operators):
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

    def put_alone(self):
        """A message that is put and committed in one call (V11, EX1)."""
        queue, body = self._queue(), self._body()
        put = (queue.name, body, (0, self.numbers))

        def change(unit):
            self.engine.put(unit, body, queue=queue)

        if queue.name == QUEUE and self.world.chance(0.5):
            work = Work(None)
            work.puts.append(put)
            there = self.expected.after(work)
            with self.expected.step(there=there):
                if not self.engine.put_express(body):
                    there = self.expected.there
            self.expected.there = there
        else:
            self._alone(change, puts=[put])

    def get_alone(self):
        """A message that is got and committed in one call."""
        queue = self._queue()
        arrival = next(iter(self.engine.data.browse(queue)), None)
        if arrival is not None:
            gets = [(queue.name, self.engine.data.read(arrival).body, None)] if arrival.persistent else []
            self._alone(lambda unit: self.engine.data.take(unit, arrival), gets=gets)

    def _alone(self, change, puts=(), gets=()):
        unit = self.engine.begin()
        unit.alone, work = True, Work(unit)
        work.puts += puts
        work.gets += gets
        there = self.expected.after(work)
        with self.expected.step(there=there):
            try:
                change(unit)
            except MQError:
                self.engine.back_out(unit)
                raise
            self.engine.commit(unit)
        self.expected.there = there

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
                ends = commit_in_flight if self.world.chance(0.2) else commit
                ends(self.engine, work.unit)
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
