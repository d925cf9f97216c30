"""What an engine does by itself in a history, and what operators do meanwhile.

The rules are in `histories` (RH3, RH11).  Called by applications.
"""

from contextlib import contextmanager, suppress

from crash.expected import empty_pages
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.data.page_storage import PageSetDefinition
from quaestor.qmgr.recovery.media import ImageCopy, NotCopiedError
from quaestor.testing import PowerCut

POOLS = (16, 24, 100)
OTHERS = "Q1", "Q2"
PAGE_SET, SECOND = 1, 2

OPERATIONS = {
    "page_sets": 0.5, "queues": 2, "growth": 1, "archive": 0.5, "copy": 1.5, "prune": 0.5, "resize": 0.5,
    "look": 1, "run_out": 1,
}  # fmt: skip
"""What operators do meanwhile."""


class Operators:
    """What is done to an engine that runs; each may be refused. Engine, world and model are those of applications."""

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
            self.world.copied.discard(SECOND)
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
        """Begin an image copy of any page set (Y7)."""
        world = self.world
        if world.settings.archive and not world.no_log and world.copying is None:
            number = self.choose.choice(sorted(self.engine.buffers.page_sets))
            world.copying = ImageCopy(self.engine.recovery, number, world.disk, run=self.choose.choice((4, 64)))
            with self._copying() as copy:
                copy.create()

    def copy_on(self):
        """The next run of it, or its end."""
        if self.world.copying is not None:
            with self._copying() as copy:
                run = copy.read()
                if run is not None:
                    copy.write(*run)
                    return
                copy.complete()
                self.world.copied.add(copy.number)
                self.world.copying = None
                copy.keep()

    @contextmanager
    def _copying(self):
        copy = self.world.copying
        try:
            yield copy
        except (OSError, Abend) as error:
            self.world.copying = None
            with suppress(PowerCut):
                copy.give_up()
            if not isinstance(error, NotCopiedError):
                raise
            self.world.copied.discard(copy.number)  # the page set was deleted

    def prune(self):
        """Archives go that nobody needs (F5)."""
        self.engine.log.files.prune()

    def resize(self):
        self.engine.buffers.pools[1].resize(self.choose.choice(POOLS))

    def look(self):
        """What is there is what is seen, and all is in order, while the engine runs too."""
        if not self.engine.recovery.waiting:
            self.expected.check(self.engine)
            self.world.in_order()

    def run_out(self):
        """RH5: logs run out."""
        self.world.no_log = self.world.log_runs_out
