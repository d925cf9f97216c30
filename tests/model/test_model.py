"""The engine against a plain model in memory: several units at once, restarts and power cuts in between."""

from dataclasses import replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule

from quaestor.qmgr.checker import check
from quaestor.testing import SMALL, FaultyDisk, SmallEngine

SETTINGS = replace(SMALL, log_bytes=64 << 10, buffer_pools={0: 16, 1: 24}, pages=16, logload=60)


class Known:
    """What the model knows of a message."""

    def __init__(self, number, body, priority, persistent):
        self.number, self.body, self.priority, self.persistent = number, body, priority, persistent
        self.backouts = 0
        self.ends = []
        """RBA after each backout of a get of it: one that is not durable may not be counted after a crash."""

    def backed_out(self, log):
        self.backouts += 1
        self.ends.append(log.end)


class QueueMachine(RuleBasedStateMachine):
    """A queue is a list ordered by priority and arrival; a unit is what it put and what it got."""

    units = Bundle("units")

    @initialize(packing=st.booleans(), dual=st.booleans())
    def start(self, packing, dual):
        self.settings = replace(SETTINGS, packing=packing, dual_logs=dual)
        self.engine = SmallEngine(FaultyDisk(), self.settings)
        self.there, self.count, self.seed = [], 0, 0
        self.open = {}
        self.in_doubt = {}

    def _in_order(self):
        return sorted(self.there, key=lambda m: (-m.priority, m.number))

    @rule(target=units)
    def begin(self):
        unit = self.engine.begin()
        self.open[id(unit)] = (unit, [], [])
        return unit

    @rule(
        unit=units,
        size=st.sampled_from([0, 1, 100, 2000, 3800, 4000, 20_000]),
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

    @rule(power=st.booleans())
    def fail(self, power):
        """The process is killed, or power goes: open units are backed out, non-persistent messages are gone."""
        self.seed += 1
        hardened = self.engine.log.hardened
        disk = self.engine.disk.after_power_cut(self.seed) if power else self.engine.disk
        self.engine = SmallEngine(disk, self.settings)
        undone = [known for _, _, gets in self.open.values() for known in gets]
        self.there.extend(undone)
        self.open.clear()
        self._forget_volatile()
        self._count_backouts(undone, hardened)

    def _forget_volatile(self):
        self.there = [known for known in self.there if known.persistent]
        for part in (part for parts in self.in_doubt.values() for part in parts):
            part[:] = [known for known in part if known.persistent]

    def _count_backouts(self, undone, hardened):
        """A backout is counted if its records were durable; those still in the buffers restart may never have seen."""
        arrivals = self.engine.data.browse(self.engine.queue)
        for known, arrival in zip(self._in_order(), arrivals, strict=True):
            sure = known.backouts - sum(end > hardened for end in known.ends)
            assert sure <= arrival.backout_count <= known.backouts + (known in undone)
            known.backouts, known.ends = arrival.backout_count, []
        for known in (known for _, gets in self.in_doubt.values() for known in gets):
            known.ends = []  # a unit in doubt that got it was forced to the log, and with it all before

    @rule()
    def stop_and_start(self):
        if not self.open:
            self.engine.recovery.latch.release()
            self.engine.engine.stop()
            self.engine = SmallEngine(self.engine.disk, self.settings)
            self._forget_volatile()

    @invariant()
    def the_queue_is_the_model(self):
        found = [self.engine.data.read(a) for a in self.engine.data.browse(self.engine.queue)]
        wanted = self._in_order()
        assert [(m.body, m.backout_count) for m in found] == [(k.body, k.backouts) for k in wanted]
        uncommitted = sum(len(puts) for *_, puts, _ in (*self.open.values(), *self.in_doubt.values()))
        assert self.engine.queue.depth == len(wanted) + uncommitted

    @invariant()
    def everything_is_in_order(self):
        assert [] == check(self.engine.data)


QueueMachine.TestCase.settings = settings(
    max_examples=30, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestQueueMachine = QueueMachine.TestCase
