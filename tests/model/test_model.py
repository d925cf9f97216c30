"""The engine against a plain model in memory: several units at once, restarts and power cuts in between.

A long search: QUAESTOR_MODEL_EXAMPLES says how many histories, without CI=true each run tries others.
"""

import os
from dataclasses import replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule

from quaestor.mqi.objects import IndexType, LocalQueue
from quaestor.qmgr.checker import check
from quaestor.qmgr.recovery.media import ImageCopy, copy_name, image_copy, restore
from quaestor.testing import SMALL, FaultyDisk, PowerCut, SmallEngine

SETTINGS = replace(
    SMALL,
    log_bytes=64 << 10,
    buffer_pools={0: 16, 1: 24},
    page_sets={0: 0, 1: 1, 2: 1},
    pages=16,
    expansion=24,
    logload=60,
)
QUEUES = ("ORDERS", "BILLS")
"""Each on a page set of its own; both have the same pool, which is too small for them."""

SIZES = st.sampled_from([0, 1, 100, 2000, 3800, 4000, 20_000])


class Known:
    """What the model knows of a message."""

    def __init__(self, number, queue, body, priority, persistent):
        self.number, self.queue, self.body = number, queue, body
        self.priority, self.persistent = priority, persistent
        self.backouts = 0
        self.ends = []
        """RBA after each backout of a get of it: one that is not durable may not be counted after a crash."""

    def backed_out(self, log):
        self.backouts += 1
        self.ends.append(log.end)


class QueueMachine(RuleBasedStateMachine):
    """A queue is a list ordered by priority and arrival; a unit is what it put and what it got."""

    units = Bundle("units")

    @initialize(packing=st.booleans(), dual=st.booleans(), archive=st.booleans())
    def start(self, packing, dual, archive):
        self.settings = replace(SETTINGS, packing=packing, dual_logs=dual, archive=archive)
        self.there, self.count, self.seed = [], 0, 0
        self.open = {}
        self.in_doubt = {}
        self._start(FaultyDisk())

    def _start(self, disk):
        self.engine, self.copying = SmallEngine(disk, self.settings), None
        data = self.engine.data
        self.queues = [data.queue(LocalQueue(name, page_set=at)) for at, name in enumerate(QUEUES, 1)]

    def _in_order(self, queue):
        return sorted((m for m in self.there if m.queue == queue), key=lambda m: (-m.priority, m.number))

    def _known(self, queue, size, priority, persistent):
        self.count += 1
        return Known(self.count, queue, bytes((self.count % 256,)) * size, priority, persistent)

    def _put(self, unit, known):
        queue, settled = self.queues[known.queue], {"priority": known.priority, "persistent": known.persistent}
        self.engine.put(unit, known.body, queue=queue, **settled)

    def _get(self, unit, queue):
        first = next(iter(self._in_order(queue)), None)
        assert self.engine.get(unit, self.queues[queue]) == (first.body if first else None)
        if first:
            self.there.remove(first)
        return first

    @rule(target=units)
    def begin(self):
        unit = self.engine.begin()
        self.open[id(unit)] = (unit, [], [])
        return unit

    @rule(unit=units, queue=st.integers(0, 1), size=SIZES, priority=st.integers(0, 9), persistent=st.booleans())
    def put(self, unit, queue, size, priority, persistent):
        if id(unit) in self.open:
            known = self._known(queue, size, priority, persistent)
            self._put(unit, known)
            self.open[id(unit)][1].append(known)

    @rule(unit=units, count=st.integers(1, 40), size=SIZES)
    def put_all(self, unit, count, size):
        """Messages that are put together, on the first queue."""
        if id(unit) in self.open:
            some = [self._known(0, size if n % 7 else 30, 4, persistent=True) for n in range(count)]
            assert count == self.engine.put_all(unit, [known.body for known in some], priority=4)
            self.open[id(unit)][1].extend(some)

    @rule(unit=units, queue=st.integers(0, 1), count=st.integers(1, 20))
    def get(self, unit, queue, count):
        if id(unit) in self.open:
            got = [self._get(unit, queue) for _ in range(count)]
            self.open[id(unit)][2].extend(known for known in got if known)

    @rule(queue=st.integers(0, 1), size=SIZES, persistent=st.booleans())
    def put_alone(self, queue, size, persistent):
        """Out of syncpoint: one record, which is the commit."""
        known, unit = self._known(queue, size, 0, persistent), self.engine.begin()
        unit.alone = True
        self._put(unit if persistent else None, known)
        self.engine.commit(unit)
        self.there.append(known)

    @rule(queue=st.integers(0, 1))
    def get_alone(self, queue):
        unit = self.engine.begin()
        unit.alone = True
        self._get(unit, queue)
        self.engine.commit(unit)

    @rule(count=st.integers(1, 12), size=SIZES, volatile=st.booleans())
    def drop_a_queue(self, count, size, volatile):
        """A queue comes, and goes with its messages."""
        doomed = self.engine.data.queue(LocalQueue("DOOMED", page_set=2))
        unit = self.engine.begin()
        for n in range(count):
            self.engine.put(unit, bytes(size), queue=doomed, persistent=not volatile or n % 2 == 0)
        self.engine.commit(unit)
        self.engine.data.drop(doomed)

    @rule(queue=st.integers(0, 1), by=st.sampled_from(list(IndexType)))
    def index(self, queue, by):
        self.queues[queue].set_index(by)

    @rule(unit=consumes(units))
    def commit(self, unit):
        if id(unit) in self.open:
            self.engine.commit(unit)
            _, puts, _ = self.open.pop(id(unit))
            self.there.extend(puts)

    @rule(unit=consumes(units))
    def back_out(self, unit):
        if id(unit) in self.open:
            self.engine.back_out(unit)
            _, _, gets = self.open.pop(id(unit))
            self._return(gets)

    def _return(self, gets):
        for known in gets:
            known.backed_out(self.engine.log)
        self.there.extend(gets)

    @rule(unit=consumes(units))
    def prepare(self, unit):
        """Phase 1; a unit that logged nothing may be prepared too, and is decided at once."""
        if id(unit) in self.open:
            self.count += 1
            xid = b"%d" % self.count
            self.engine.recovery.prepare(unit, xid)
            _, puts, gets = self.open.pop(id(unit))
            if unit.urid:
                self.in_doubt[xid] = (puts, gets)
            else:
                self.engine.commit(unit)
                self.there.extend(puts)

    @precondition(lambda self: self.in_doubt)
    @rule(commit=st.booleans(), last=st.booleans())
    def decide(self, commit, last):
        xid = list(self.in_doubt)[-1 if last else 0]
        self.engine.recovery.resolve(xid, commit=commit)
        puts, gets = self.in_doubt.pop(xid)
        if commit:
            self.there.extend(puts)
        else:
            self._return(gets)

    @rule()
    def background(self):
        self.engine.run_tasks()

    @rule()
    def checkpoint(self):
        self.engine.recovery.checkpoint()

    @rule(pages=st.integers(1, 3))
    def step_of_a_checkpoint(self, pages):
        """One piece; whatever comes next comes before its wait is over."""
        recovery = self.engine.recovery
        if recovery._under_way is None:
            recovery._begin(pages, in_steps=True)
        recovery._wait()
        recovery._advance()

    @rule(page_set=st.integers(1, 2))
    def copy(self, page_set):
        if self.copying is None:
            image_copy(self.engine.recovery, page_set, self.engine.disk)

    @rule(page_set=st.integers(1, 2))
    def copy_begins(self, page_set):
        """Y7: whatever comes next comes between its pieces."""
        if self.copying is None:
            self.copying = ImageCopy(self.engine.recovery, page_set, self.engine.disk, run=5)
            self.copying.create()

    @rule(pieces=st.integers(1, 8))
    def copy_goes_on(self, pieces):
        for _ in range(pieces if self.copying is not None else 0):
            run = self.copying.read()
            if run is None:
                self.copying.complete()
                self.copying.keep()
                self.copying = None
                return
            self.copying.write(*run)

    @rule(
        power=st.booleans(),
        cuts=st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=3),
        lost=st.sampled_from([0, 0, 1, 2]),
    )
    def fail(self, power, cuts, lost):
        """The process is killed, or power goes: open units are backed out, non-persistent messages are gone.

        Before that a restart fails too, once or several times, at some operation. A page set may be lost and its image
        copy put in its place, if archives are kept.
        """
        hardened = self.engine.log.hardened
        disk = self._found(self.engine.disk, power=power)
        if lost and self.settings.archive and disk.exists(copy_name(lost)):
            restore(disk, lost)
        for operations, power_too in cuts:
            disk.cut_after = disk.operations + operations
            try:
                SmallEngine(disk, self.settings)
            except PowerCut:
                disk.cut_after, disk._off = None, False
                disk = self._found(disk, power=power_too)
            disk.cut_after = None
        self._start(disk)
        undone = [known for _, _, gets in self.open.values() for known in gets]
        self.there.extend(undone)
        self.open.clear()
        self._forget_volatile()
        self._count_backouts(undone, hardened)

    def _found(self, disk, *, power):
        self.seed += 1
        return disk.after_power_cut(self.seed) if power else disk

    def _forget_volatile(self):
        self.there = [known for known in self.there if known.persistent]
        for part in (part for parts in self.in_doubt.values() for part in parts):
            part[:] = [known for known in part if known.persistent]

    def _count_backouts(self, undone, hardened):
        """A backout is counted if its records were durable; those still in the buffers restart may never have seen."""
        found = [(known, arrival) for at in (0, 1) for known, arrival in self._pairs(at)]
        for known, arrival in found:
            sure = known.backouts - sum(end > hardened for end in known.ends)
            assert sure <= arrival.backout_count <= known.backouts + (known in undone)
            known.backouts, known.ends = arrival.backout_count, []
        for known in (known for _, gets in self.in_doubt.values() for known in gets):
            known.ends = []  # a unit in doubt that got it was forced to the log, and with it all before

    def _pairs(self, queue):
        return zip(self._in_order(queue), self.engine.data.browse(self.queues[queue]), strict=True)

    @rule()
    def stop_and_start(self):
        if not self.open:
            self.engine.recovery.latch.release()
            self.engine.engine.stop()
            self._start(self.engine.disk)
            self._forget_volatile()

    @invariant()
    def the_queues_are_the_model(self):
        uncommitted = [known for *_, puts, _ in (*self.open.values(), *self.in_doubt.values()) for known in puts]
        for at, queue in enumerate(self.queues):
            found = [self.engine.data.read(a) for a in self.engine.data.browse(queue)]
            wanted = self._in_order(at)
            assert [(m.body, m.backout_count) for m in found] == [(k.body, k.backouts) for k in wanted]
            assert queue.depth == len(wanted) + sum(known.queue == at for known in uncommitted)

    @invariant()
    def everything_is_in_order(self):
        assert [] == check(self.engine.data)


QueueMachine.TestCase.settings = settings(
    max_examples=int(os.environ.get("QUAESTOR_MODEL_EXAMPLES", "30")),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestQueueMachine = QueueMachine.TestCase
