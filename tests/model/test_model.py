"""The engine against a plain model in memory: several units at once, restarts and power cuts in between."""

from dataclasses import replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from quaestor.qmgr.checker import check
from quaestor.testing import SMALL, FaultyDisk, SmallEngine

SETTINGS = replace(SMALL, log_bytes=64 << 10, buffer_pools={0: 16, 1: 24}, pages=16, logload=60)


class Known:
    """What the model knows of a message."""

    def __init__(self, number, body, priority, persistent):
        self.number, self.body, self.priority, self.persistent = number, body, priority, persistent
        self.backouts = 0


class QueueMachine(RuleBasedStateMachine):
    """A queue is a list ordered by priority and arrival; a unit is what it put and what it got."""

    units = Bundle("units")

    @initialize(packing=st.booleans(), dual=st.booleans())
    def start(self, packing, dual):
        self.settings = replace(SETTINGS, packing=packing, dual_logs=dual)
        self.engine = SmallEngine(FaultyDisk(), self.settings)
        self.there, self.count, self.seed = [], 0, 0
        self.open = {}

    def _in_order(self):
        return sorted(self.there, key=lambda m: (-m.priority, m.number))

    @rule(target=units)
    def begin(self):
        unit = self.engine.begin()
        self.open[id(unit)] = (unit, [], [])
        return unit

    @rule(
        unit=units,
        size=st.sampled_from([0, 1, 100, 2000, 4000, 20_000]),
        priority=st.integers(0, 9),
        persistent=st.booleans(),
    )
    def put(self, unit, size, priority, persistent):
        if id(unit) in self.open:
            self.count += 1
            known = Known(self.count, bytes((self.count % 256,)) * size, priority, persistent)
            self.engine.put(unit, known.body, priority=priority, persistent=persistent)
            self.open[id(unit)][1].append(known)

    @rule(unit=units)
    def get(self, unit):
        if id(unit) in self.open:
            first = next(iter(self._in_order()), None)
            got = self.engine.get(unit)
            assert got == (first.body if first else None)
            if first:
                self.there.remove(first)
                self.open[id(unit)][2].append(first)

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
            for known in gets:
                known.backouts += 1
            self.there.extend(gets)

    @rule()
    def background(self):
        self.engine.run_tasks()

    @rule()
    def checkpoint(self):
        self.engine.recovery.checkpoint()

    @rule(power=st.booleans())
    def fail(self, power):
        """The process is killed, or power goes: open units are backed out, non-persistent messages are gone."""
        self.seed += 1
        disk = self.engine.disk.after_power_cut(self.seed) if power else self.engine.disk
        self.engine = SmallEngine(disk, self.settings)
        undone = [known for _, _, gets in self.open.values() for known in gets]
        self.there.extend(undone)
        self.open.clear()
        self.there = [known for known in self.there if known.persistent]
        self._count_backouts(undone)

    def _count_backouts(self, undone):
        """A get whose log record was still in the buffers was never known to restart and is not counted."""
        arrivals = self.engine.data.browse(self.engine.queue)
        for known, arrival in zip(self._in_order(), arrivals, strict=True):
            if known in undone:
                assert arrival.backout_count in {known.backouts, known.backouts + 1}
                known.backouts = arrival.backout_count

    @rule()
    def stop_and_start(self):
        if not self.open:
            self.engine.recovery.latch.release()
            self.engine.engine.stop()
            self.engine = SmallEngine(self.engine.disk, self.settings)
            self.there = [known for known in self.there if known.persistent]

    @invariant()
    def the_queue_is_the_model(self):
        found = [self.engine.data.read(a) for a in self.engine.data.browse(self.engine.queue)]
        wanted = self._in_order()
        assert [(m.body, m.backout_count) for m in found] == [(k.body, k.backouts) for k in wanted]
        uncommitted = sum(len(puts) for _, puts, _ in self.open.values())
        assert self.engine.queue.depth == len(wanted) + uncommitted

    @invariant()
    def everything_is_in_order(self):
        assert [] == check(self.engine.data)


QueueMachine.TestCase.settings = settings(
    max_examples=30, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestQueueMachine = QueueMachine.TestCase
