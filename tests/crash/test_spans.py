"""Page sets of several spans, at random: work on both sides of every border, then each way in which a start may come.

What was committed is there after a restart, from an image copy too, and after a cold start of what was stopped; after a
cold start of what was killed each message that is there is one that was put. The checker finds nothing.
"""

from dataclasses import replace
from random import Random

import pytest

from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.checker import check
from quaestor.qmgr.recovery.cold import cold_start
from quaestor.qmgr.recovery.media import image_copy, restore
from quaestor.storage.changes import SPAN
from quaestor.testing import SMALL, SmallEngine

pytestmark = [pytest.mark.crash, pytest.mark.plain]
SETTINGS = replace(SMALL, logs=4, log_bytes=4 << 20, logload=500, pages=2 * SPAN - 30, expansion=64)
LENGTHS = {40: 9, 3000: 9, 9000: 4, 70_000: 1}
QUEUES = ("A", "B", "C")


class Spans:
    """An engine, and what must be on its queues."""

    def __init__(self, seed, settings):
        self.choose, self.settings, self.said = Random(seed), settings, []
        self.ever, self.number = {}, 0
        """{number of a persistent message: its body}"""

        self.kept = {name: set() for name in QUEUES}
        self.doubt = None
        """The unit in doubt: its identifier, queue, puts and gets."""

        self.copied = False
        self.begin(SmallEngine(settings=settings))

    def chance(self, share):
        return self.choose.random() < share

    def begin(self, engine):
        """The next free page is the first, or a few before a border between spans."""
        self.engine, page_set = engine, engine.buffers.page_sets[1]
        engine.data.space._found[1].clear()
        border = self.choose.choice((2, SPAN, 2 * SPAN, page_set.pages))
        page_set.low_free = max(2, border - self.choose.choice((0, 1, 3, 10, 70)))
        self.queues = {name: engine.data.queue(LocalQueue(name, page_set=1)) for name in QUEUES}

    # --- work ---------------------------------------------------------------------------------------------------------

    def put(self, unit, name, *, persistent=True):
        self.number += 1
        length = self.choose.choices(list(LENGTHS), list(LENGTHS.values()))[0] + self.number
        body = (b"%07d " % self.number * (length // 8 + 1))[:length]
        self.engine.put(unit, body, queue=self.queues[name], persistent=persistent)
        if persistent:
            self.ever[self.number] = body
        return self.number

    def unit(self):
        """One unit of recovery; some are backed out, some left open or in doubt."""
        name, unit = self.choose.choice(QUEUES), self.engine.begin()
        puts = {self.put(unit, name) for _ in range(self.choose.choice((0, 1, 5, 40)))}
        if self.chance(0.2):
            self.put(unit, name, persistent=False)
        got = [self.engine.get(unit, self.queues[name]) for _ in range(self.choose.choice((0, 1, 5, 40)))]
        gets = {int(body[:7]) for body in got if body}
        if self.chance(0.7):
            self.engine.commit(unit)
            self.kept[name] = self.kept[name] - gets | puts - gets
        elif self.chance(0.7):
            self.engine.back_out(unit)
        elif not self.doubt and unit.last and self.chance(0.5):
            self.engine.recovery.prepare(unit, b"%d" % self.number)
            self.doubt = unit.xid, name, puts - gets, gets

    def drop(self):
        """A queue goes with all that is on it."""
        name = self.choose.choice(QUEUES)
        if not self.queues[name].uncommitted:
            self.engine.data.drop(self.queues[name])
            self.kept[name] = set()
            self.queues[name] = self.engine.data.queue(LocalQueue(name, page_set=1))

    def write(self):
        pool = self.engine.buffers.pools[1]
        frames = [frame for frame in pool.changed() if not frame.in_use and not frame.volatile]
        pool.write(self.choose.sample(frames, len(frames) // 2))

    def copy(self):
        image_copy(self.engine.recovery, 1, self.engine.disk)
        self.copied = True

    def resolve(self):
        if self.doubt:
            xid, commit = self.doubt[0], self.chance(0.5)
            self.engine.recovery.resolve(xid, commit=commit)
            self.end_doubt(commit=commit)

    def end_doubt(self, *, commit):
        if self.doubt and commit:
            _, name, puts, gets = self.doubt
            self.kept[name] = self.kept[name] - gets | puts
        self.doubt = None

    def work(self):
        recovery = self.engine.recovery
        does = self.unit, self.drop, self.write, self.copy, self.resolve, self.engine.run_tasks, recovery.checkpoint
        for each in self.choose.choices(does, (20, 1, 2, 1, 1, 2, 1), k=self.choose.choice((5, 20))):
            self.said.append(each.__name__)
            each()
        assert [] == check(self.engine.data)

    # --- starts -------------------------------------------------------------------------------------------------------

    def end(self):
        """However it ends; gives how."""
        how, disk = self.choose.choice(("stop", "stop", "kill", "cut")), self.engine.disk
        if how == "stop":
            for unit in list(self.engine.recovery.units.values()):
                if not self.doubt or unit.xid != self.doubt[0]:
                    self.engine.back_out(unit)
            self.engine.recovery.latch.release()
            self.engine.engine.stop()
        return how, disk.after_power_cut(self.choose.randrange(1000)) if how == "cut" else disk

    def start(self):
        """However it starts again."""
        how, disk = self.end()
        kind = self.choose.choice(("restart", "recover", "cold", "cold"))
        self.said += [how, kind]
        if kind == "recover" and self.copied:
            restore(disk, 1)
        cold = kind == "cold" and self.cold(disk, how)
        self.begin(SmallEngine(disk, self.settings))
        if cold and how != "stop":
            self.take_what_there_is()
        assert [] == check(self.engine.data)
        gets = self.doubt[3] if self.doubt else set()
        assert {name: self.kept[name] - gets for name in QUEUES} == {name: self.found(name) for name in QUEUES}

    def cold(self, disk, how):
        """Whether it is started cold; what was cut may have torn pages, which are named."""
        for name in disk.names():
            if name.startswith(("log", "BSDS")) and self.chance(0.3) and how == "stop":
                disk.delete(name)
        try:
            made = cold_start(disk, logs=self.settings.logs, log_bytes=self.settings.log_bytes)
        except Abend as error:
            if how != "cut" or error.rule != "CS3":
                raise
            return False
        assert how != "stop" or (made.freed, made.without_text) == (0, 0)
        self.end_doubt(commit=True)  # CS1
        self.copied = False
        return True

    def take_what_there_is(self):
        self.kept = {name: self.found(name) for name in QUEUES}

    def found(self, name):
        """Numbers of the messages on a queue, each whole and there once."""
        bodies = self.engine.bodies(self.queues[name])
        numbers = [int(body[:7]) for body in bodies]
        assert [self.ever[number] for number in numbers] == bodies
        assert len(set(numbers)) == len(numbers)
        return set(numbers)


@pytest.mark.parametrize("packing", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_what_there_is_is_there_whichever_way_it_starts(seed, packing):
    spans = Spans(seed, replace(SETTINGS, packing=packing))
    for _ in range(4):
        spans.work()
        spans.start()
