"""Scenarios for power cuts: each is a script over an engine that says, at every moment, what may be found after a cut.

A script calls `world.unit(...)` for one unit of recovery and keeps `world.allowed`: the states (messages on the
queue, in order) that a restart may show. Before a commit returns there are two, afterwards one.

A script does the same up to every cut, so `prove` does not run it once for each of them: a `Film` keeps what each cut
would leave, and goes on. A restart makes the same of the same, so what several cuts leave alike is restarted once.
"""

from contextlib import suppress
from dataclasses import replace
from itertools import count, product
from math import ceil

from xxhash import xxh3_128

from memory import MEMORY
from quaestor.mqi.objects import LocalQueue
from quaestor.qmgr.buffer import old_pages
from quaestor.qmgr.checker import check
from quaestor.testing import SMALL, FaultyDisk, PowerCut, SmallEngine

TINY = replace(SMALL, log_bytes=64 << 10, buffer_pools={0: 16, 1: 16}, pages=16, expansion=32, logload=200)


def commit(engine, unit):
    """As an application does it: wait for the log."""
    engine.commit(unit)


def commit_in_flight(engine, unit):
    """As a server does it: start the force, look whether it is over, and confirm only then."""
    recovery, log = engine.recovery, engine.log
    rba = recovery.start_commit(unit)
    if rba and log.start_force(rba):
        engine.disk.held = True
        assert not log.finish_force(wait=False)
        engine.disk.let_go()
        assert log.finish_force(wait=True)
    elif rba:
        log.force(rba)
    recovery.end_commit(unit)


def commit_single(engine, unit):
    """As the only application of a process does it: the managers are told while the disk writes (V13)."""
    engine.recovery.alone = engine.recovery.single = True
    engine.commit(unit)


ENDS = commit, commit_in_flight, commit_single


class World:
    """An engine and what is known of its queue."""

    def __init__(self, disk, settings=TINY, ends=commit):
        self.allowed = [[]]
        self.ends = ends
        self.settings = settings
        self.disk = disk
        self.engine = SmallEngine(disk, settings)

    @property
    def state(self):
        return self.allowed[-1]

    def unit(self, puts=(), gets=0, outcome="commit", volatile=(), *, together=False, alone=False):
        """One unit of recovery: gets from the front, puts at the end (one by one or together), then its end."""
        engine, before = self.engine, self.state
        unit = engine.begin()
        unit.alone = alone
        if alone:
            self.allowed = [before, [*before[gets:], *puts]]  # one record is the change and its commit (V11)
        for _ in range(gets):
            engine.get(unit)
        if together:
            assert len(puts) == engine.put_all(unit, puts)
        else:
            for body in puts:
                engine.put(unit, body)
        for body in volatile:
            engine.put(unit, body, persistent=False)
        if outcome == "commit":
            self.allowed = [before, [*before[gets:], *puts]]
            self.ends(engine, unit)
            self.allowed = self.allowed[1:]
        elif outcome == "back out":
            engine.back_out(unit)
        return unit

    def express(self, body):
        """A message that is put and committed in one step, or alone in a unit where that cannot be (EX2)."""
        before = self.state
        self.allowed = [before, [*before, body]]
        if self.engine.put_express(body):
            self.allowed = self.allowed[1:]
        else:
            self.allowed = [before]
            self.unit(puts=[body], alone=True)


def message(number, size=40):
    return f"message {number} ".encode().ljust(size, b".")


def puts_and_gets(world):
    for n in range(6):
        world.unit(puts=[message(n)])
    world.unit(gets=2)
    world.unit(puts=[message(n) for n in range(6, 9)], gets=1)
    world.unit(gets=3)


def backouts(world):
    world.unit(puts=[message(n) for n in range(4)])
    world.unit(puts=[message(n) for n in range(4, 7)], outcome="back out")
    world.unit(gets=3, outcome="back out")
    world.unit(gets=1, puts=[message(8)])
    world.unit(gets=2, puts=[message(9)], outcome="back out")
    world.unit(puts=[message(10)])


def puts_together(world):
    """Runs of puts: over new pages and kept ones, a growing page set, a switch of the log, all three ends of a unit."""
    world.unit(puts=[message(n) for n in range(20)], together=True)
    world.unit(puts=[message(n, 900) for n in range(20, 32)], outcome="back out", together=True)
    world.unit(gets=12, puts=[message(n, 1500) for n in range(40, 60)], together=True)
    world.unit(puts=[message(n, 3500 if n == 64 else 300) for n in range(60, 70)], outcome="leave", together=True)
    world.engine.buffers.write_all()
    world.unit(gets=2, puts=[message(n, 2000) for n in range(70, 90)], together=True)


def out_of_syncpoint(world):
    """Units that are alone: one record each, between units that are not, over checkpoints and switches of the log."""
    for n in range(6):
        world.unit(puts=[message(n)], alone=True)
    world.unit(gets=1, alone=True)
    world.unit(puts=[message(n) for n in range(50, 54)], outcome="leave")
    world.engine.buffers.write_all()
    world.unit(puts=[message(6, 3200)], alone=True)
    world.engine.recovery.checkpoint()
    world.unit(gets=1, alone=True)
    world.unit(puts=[message(7, 20_000)], alone=True)
    world.engine.buffers.write_all()
    for n in range(8, 30):
        world.unit(puts=[message(n, 3000)], alone=True)
        world.unit(gets=1, alone=True)
    world.engine.recovery.checkpoint()
    world.unit(gets=3, puts=[message(40)])
    world.unit(gets=1, alone=True)


def express(world):
    """Messages put and committed in one step, between units, on new pages and on used ones, over checkpoints."""
    for n in range(4):
        world.express(message(n))
    world.unit(puts=[message(n) for n in range(50, 54)], outcome="leave")
    world.engine.buffers.write_all()
    world.express(message(4, 3200))
    world.unit(gets=3)
    for n in range(5, 25):
        world.express(message(n, 2900))
        world.unit(gets=1, alone=True)
    world.engine.recovery.checkpoint()
    world.express(message(25, 20_000))
    world.unit(puts=[message(60)], outcome="back out")
    world.express(message(26))


def pages_leave_early(world):
    """Uncommitted changes reach the page set; then the unit is in flight at the cut."""
    world.unit(puts=[message(n) for n in range(3)])
    world.unit(puts=[message(n) for n in range(3, 6)], outcome="leave")
    world.engine.buffers.write_all()
    world.unit(gets=1, outcome="leave")
    world.engine.buffers.write_all()
    world.unit(puts=[message(7)])
    world.engine.buffers.write_all()


def checkpoints(world):
    for n in range(5):
        world.unit(puts=[message(n), message(100 + n)])
        world.engine.recovery.checkpoint()
        world.unit(gets=1)
    world.engine.recovery.checkpoint()
    world.engine.recovery.checkpoint()


def in_steps(world, meanwhile, pages=2):
    """A checkpoint in steps; `meanwhile` is what others do while a wait is under way, and again when it is over."""
    recovery = world.engine.recovery
    recovery._begin(pages, in_steps=True)
    while recovery._under_way is not None:
        recovery._advance()
        meanwhile()
        recovery._wait()
        recovery._waited = recovery._wait
        meanwhile()


def checkpoints_in_steps(world):
    """Between any two steps units put, get and back out, and pages leave for want of buffers."""
    numbers = count(100)

    def work():
        number = next(numbers)
        if number % 3 == 0:
            world.unit(puts=[message(number, 900)], gets=1)
        elif number % 3 == 1:
            world.unit(gets=1, puts=[message(number)], outcome="back out")
        else:
            pool = world.engine.buffers.pools[1]
            pool.write([frame for frame in pool.changed() if not frame.in_use and not frame.volatile][:3])

    for n in range(3):
        world.unit(puts=[message(10 * n + each) for each in range(5)])
        in_steps(world, work)
    world.unit(puts=[message(50), message(51)], outcome="leave")
    in_steps(world, work)


def pages_written_during_a_sync(world):
    """The old pages of a checkpoint are being synced; meanwhile others write all younger ones."""
    world.unit(puts=[message(n) for n in range(6)])
    world.engine.recovery.checkpoint()
    pools = world.engine.buffers.pools.values()
    old = [frame for pool in pools for frame in pool.changed()]
    world.unit(puts=[message(n) for n in range(20, 23)])
    turns = count()

    def write_the_young():
        """When the disk has done its part and the one who waits does not know it yet."""
        last, first = world.engine.buffers.page_sets[1], world.engine.buffers.page_sets[0]
        if last.syncing_rba and not first.syncing_rba and next(turns) % 2:
            for pool in pools:
                pool.write([frame for frame in pool.changed() if frame not in old])

    before = old_pages.SYNCED_PAGES, old_pages.LOOKED_AT
    old_pages.SYNCED_PAGES, old_pages.LOOKED_AT = len(old), 1
    try:
        in_steps(world, write_the_young)
    finally:
        old_pages.SYNCED_PAGES, old_pages.LOOKED_AT = before
    world.unit(puts=[message(40)])


def a_step_and_then_a_whole(world):
    """A whole checkpoint comes while one in steps is under way, as far as any of its waits."""
    recovery = world.engine.recovery
    for steps in range(1, 8):
        world.unit(puts=[message(steps), message(20 + steps)], gets=1)
        recovery._begin(1, in_steps=True)
        for _ in range(steps):
            if recovery._under_way is not None:
                recovery._wait()
                recovery._advance()
        world.unit(puts=[message(40 + steps)])
        recovery.checkpoint()


def log_switches(world):
    """More log than the ring holds: switches, reuse, a unit that stays open over all of it."""
    world.unit(puts=[message(n) for n in range(2)])
    world.unit(puts=[message(n) for n in range(90, 102)], outcome="leave")
    for n in range(2, 40):
        world.unit(puts=[message(n, 3500)], gets=1 if n > 4 else 0)
    world.unit(gets=1)


def the_log_waits_for_steps(world):
    """Three active logs: at a switch the next one is needed until a checkpoint in steps is over, soon or too late."""
    world.engine.recovery.in_steps = True
    for n in range(120):
        world.unit(puts=[message(n, 3000)], gets=1 if n > 9 else 0, outcome="back out" if n % 7 == 3 else "commit")
        for _ in range(0 if n < 70 else 1 if n < 95 else 3):
            world.engine.run_tasks()
    world.unit(puts=[message(n, 3000) for n in range(200, 230)])


def expansion(world):
    """More messages than the page set and the buffer pool have pages."""
    world.unit(puts=[message(n) for n in range(30)])
    world.unit(puts=[message(n) for n in range(30, 150)])
    world.unit(gets=3, puts=[message(400)])


def expansion_ahead(world):
    """Space is set aside while units go on with the pages there are; then they use it; then one is too fast."""
    engine = world.engine
    space, page_set, latch = engine.data.space, engine.queue.page_set, engine.recovery.latch
    engine.recovery.in_steps, space.expansion = True, 12
    sync = page_set.file.sync

    def slow():
        """The system has the space, but not yet durably; meanwhile there is a unit that needs none of it."""
        page_set.file.sync = sync
        with latch:
            world.unit(puts=[message(90)] if space.at_hand(page_set)[0] else (), gets=2)
        sync()

    for turn in range(5):
        world.unit(puts=[message(10 * turn + each) for each in range(7)], gets=1)
        page_set.file.sync = slow
        latch.release()
        space.grow_step()
        latch.acquire()
        page_set.file.sync = sync
        world.unit(puts=[message(100 + 20 * turn + each) for each in range(14)])
        if turn % 2:
            engine.buffers.write_all()
    assert page_set.reserved > page_set.pages
    world.unit(puts=[message(each) for each in range(300, 360)])
    engine.buffers.write_all()
    engine.recovery.checkpoint()


def long_messages(world):
    world.unit(puts=[message(1, 20_000)])
    world.unit(puts=[message(2, 60_000), message(3)])
    world.unit(gets=1)
    world.unit(puts=[message(4, 30_000)], outcome="back out")
    world.unit(gets=1, puts=[message(5, 9_000)])


def volatile_and_persistent(world):
    """Pages change hands between persistent and non-persistent messages."""
    world.unit(puts=[message(n) for n in range(12)])
    world.unit(gets=10)
    world.engine.data.space._reclaim(world.engine.queue.page_set)
    unit = world.engine.begin()
    for n in range(40):
        world.engine.put(unit, message(n, 3000), persistent=False)
    world.engine.recovery.commit(unit)
    world.engine.run_tasks()
    world.unit(puts=[message(200)])


def many_backouts(world):
    """Backouts long enough that a cut leaves one half on the log."""
    world.unit(puts=[message(n) for n in range(12)])
    for n in range(4):
        world.unit(gets=6, puts=[message(20 + 10 * n + each, 700) for each in range(5)], outcome="back out")
        world.unit(puts=[message(100 + n)])


def killed_then_cut(world):
    """The process is killed and started again on what it had written; only then power goes."""
    for n in range(4):
        world.unit(puts=[message(n), message(50 + n)])
        world.unit(puts=[message(70 + each, 3000) for each in range(12)], outcome="leave")
        world.engine.buffers.write_all()
        world.engine = SmallEngine(world.disk, world.settings)
        assert world.state == world.engine.bodies()


def unit_longer_than_the_ring(world):
    """One unit logs more than all active logs hold, and is backed out; another is in flight at the cut."""
    world.unit(puts=[message(n) for n in range(3)])
    world.unit(gets=2, puts=[message(n, 3500) for n in range(60)], outcome="back out")
    world.unit(gets=1, puts=[message(n, 3500) for n in range(70)], outcome="leave")
    world.unit(puts=[message(5)])


def dropped_queues(world):
    """Queues go with the messages on them, and others come that may have their numbers."""
    engine = world.engine
    world.unit(puts=[message(n) for n in range(3)])
    for n in range(3):
        doomed = engine.data.queue(LocalQueue(f"DOOMED{n}", page_set=1))
        unit = engine.begin()
        for each in range(4):
            engine.put(unit, message(50 + each, 12_000 if each == 2 else 40), queue=doomed)
        engine.put(unit, message(60), persistent=False, queue=doomed)
        engine.commit(unit)
        if n == 1:
            engine.buffers.write_all()
        engine.data.drop(doomed)
        world.unit(puts=[message(10 + n)], gets=1)
    world.unit(puts=[message(n, 3000) for n in range(20, 26)])


SCENARIOS = [
    puts_and_gets,
    backouts,
    puts_together,
    out_of_syncpoint,
    express,
    pages_leave_early,
    checkpoints,
    checkpoints_in_steps,
    pages_written_during_a_sync,
    a_step_and_then_a_whole,
    log_switches,
    the_log_waits_for_steps,
    expansion,
    expansion_ahead,
    long_messages,
    volatile_and_persistent,
    many_backouts,
    killed_then_cut,
    unit_longer_than_the_ring,
    dropped_queues,
]


def run_until_cut(script, disk, settings=TINY, ends=commit):
    """Run a script; give the states a restart may show."""
    allowed = [[]]
    try:
        world = World(disk, settings, ends)
        allowed = world.allowed
        try:
            script(world)
        finally:
            allowed = world.allowed
    except PowerCut:
        pass
    return allowed


class WaitingDisk(FaultyDisk):
    """A disk whose writes must be waited for."""

    asynchronous = False


def operations_of(script, settings=TINY, kind=FaultyDisk, ends=commit):
    """How many operations a script makes on its disk: the number of moments at which power can go."""
    disk = kind()
    run_until_cut(script, disk, settings, ends)
    return disk.operations


def found_after(disk, settings=TINY):
    """What a restart finds; everything it left must be in order."""
    MEMORY.give_back()
    engine = SmallEngine(disk, settings)
    problems = check(engine.data)
    assert [] == problems
    return engine.bodies()


def cuts(script, settings=TINY, at_most=None, kind=FaultyDisk, ends=commit):
    """Every operation, or as many at most, spread evenly."""
    return spread(operations_of(script, settings, kind, ends) + 1, at_most)


def spread(moments, at_most=None):
    """Moments of which every other one is odd: a write at which power goes has been handed over at even ones alone."""
    return range(0, moments, 1 if at_most is None else ceil(moments / at_most) | 1)


class Film(FaultyDisk):
    """A disk that loses power at some operations, keeps what is found afterwards, and goes on as if it had not."""

    def __init__(self, moments, seeds, kind=FaultyDisk):
        super().__init__(seed=seeds)
        self.asynchronous = kind.asynchronous
        self.moments, self._seeds = set(moments), seeds
        self.allowed = lambda: [[]]
        self.found, self.left = [], {}

    def operate(self, effect):
        if self.operations not in self.moments:
            super().operate(effect)
            return
        happened = []

        def noted():
            effect()
            happened.append(effect)

        noted.__name__ = effect.__name__
        self.cut_after = cut = self.operations
        with suppress(PowerCut):
            super().operate(noted)
        self.keep(cut)
        self.cut_after, self._off = None, False
        if not happened:
            effect()

    def keep(self, cut):
        """What a power cut at this moment leaves, and what may be found in it."""
        self.seed = cut + self._seeds
        disk = self.after_power_cut()
        image = image_of(disk)
        self.left.setdefault(image, disk)
        self.found.append((cut, image, self.allowed()))

    def prove(self, settings=TINY, known=None):
        """A restart finds what it may, at every cut; `known` has what it finds in images, by how they look."""
        known = {} if known is None else known
        while self.left:
            image, disk = self.left.popitem()
            if image not in known:
                known[image] = found_after(disk, settings)
        for cut, image, allowed in self.found:
            assert known[image] in allowed, f"cut after {cut}, seeds {self._seeds}"


def image_of(disk):
    """How the files of a disk look."""
    look = xxh3_128()
    for name, file in sorted(disk.files.items()):
        look.update(f"{name} {len(file.seen)} ".encode())
        look.update(file.seen)
    return look.digest()


FILMS = 2
"""Runs of a script among which its cuts are dealt: what a write in flight takes along is chance."""


def filmed(script, moments, settings=TINY, seeds=0, kind=FaultyDisk, end=commit):
    """Every cut, what it leaves and the states a restart of that may show."""
    film = Film(moments, seeds, kind)
    world = World(film, settings, end)
    film.allowed = lambda: world.allowed
    script(world)
    if film.operations in film.moments:
        film.keep(film.operations)
    assert sorted(moments) == [cut for cut, _, _ in film.found]
    return film


def prove(script, settings=TINY, at_most=None, seeds=1, kind=FaultyDisk, ends=(commit,)):
    """Cut the power everywhere; what was confirmed is there and nothing else."""
    known = {}
    for end in ends:
        every = cuts(script, settings, at_most, kind, end)
        for seed, number in product(range(seeds), range(FILMS)):
            film = filmed(script, every[number::FILMS], settings, 1000 * seed + number, kind, end)
            film.prove(settings, known)
