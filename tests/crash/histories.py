"""Histories: what applications, operators and accidents do to a small engine, by chance, against a plain model.

Rules
  RH1 A history is made by its seed alone: settings, steps, bodies, what a cut leaves. Played twice it is the same.
  RH2 Settings: two to four logs, single or dual, with archives or without. The pool is too small for what is put, and
      each start has another: what one leaves in buffers the next one redoes with hardly any. So it is with packed
      pages, and with a log that takes more space.
  RH3 Applications put (one by one and together, long and short, persistent or not, with priorities), get the first
      message or any, commit (in a call with the change, too), back out and prepare; coordinators decide, maybe several
      starts later. Operators define and delete queues and page sets, let them grow or not, archive the log and prune
      archives, take checkpoints and, piece by piece, image copies, give pools another size.
  RH4 An engine ends by a clean stop, by a kill, by one or a power cut at any operation, or by one to three I/O errors,
      now or later; those that it survives leave it in order. A start may be cut too, up to twice, or meet such errors.
  RH5 For a while there may be no active log to be made ready: who needs log is refused, at worst the engine ends.
  RH6 Where there are archives, the image copy of any page set may be put in its place before a start, be that lost, not
      readable or as it was. Taking it, putting it back and a start that brings it up to date may be cut.
  RH7 After each start messages whose commit was confirmed are there, in their order, and no others; a step that was cut
      is done as a whole or not at all. Queues and units in doubt are there likewise; what those got nobody sees.
  RH8 After each start, and at the end, the checker finds nothing. Units whose backout waits for log end when there is
      some.
  RH9 A page that is torn besides, or cannot be read, makes no difference, if it is not told: by a start that is
      refused, or the checker. No image in the log lacks a change of its page that it should have (B4).
  RH10 Where the log and the bootstrap data set have two copies, sectors of one may be other than they were, or not
      readable, when an engine starts. It makes no difference as long as the other copy has them. So may those of an
      active log that has an archive.
  RH11 Nothing is kept for ever: after three checkpoints the log is not needed from before the first, if there was log
      for what old units need, and the scavenger leaves no page without messages.

Not held here: locks between threads, shared queues, what the MQI says of it (`test_mqi_agreement` does).

Called by test_histories and play.  Calls applications (RH1-RH3), which has expected, the model.
"""

import errno
from contextlib import contextmanager, suppress

import pytest

from crash.applications import QUEUE, WORK, Applications, World
from crash.damage import SECTOR, Damage
from crash.expected import found_in
from crash.operators import OPERATIONS, PAGE_SET
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer import TornPageError
from quaestor.qmgr.checker import check
from quaestor.qmgr.recovery.media import restore
from quaestor.storage.log_files import LogFiles
from quaestor.storage.page import PAGE
from quaestor.storage.page_set import file_name
from quaestor.testing import FaultyDisk, PowerCut

STEPS = 300
COPIES = {"copy": 4, "copy_on": 10, "prune": 1}
"""May be cut too."""

ENDS = {"cut": 1.4, "refuse": 0.7, "stop": 0.5, "kill": 0.5}
"""How an engine ends, and how often."""


class Ends:
    """How an engine ends, and what is on its disk when the next one starts (RH4, RH6)."""

    def __init__(self, world, applications):
        self.world, self.choose, self.applications = world, world.choose, applications
        self.damage = Damage(world)

    @property
    def chance(self):
        return self.world.chance

    def stop(self):
        """As an operator does it, when there is log for it."""
        world = self.world
        with self.may_end():
            for work in world.expected.open:
                world.engine.back_out(work.unit)
            world.end_waiting()
            world.no_log = False
            world.engine.recovery.latch.release()
            world.engine.engine.stop()
        self.start_again()

    def kill(self):
        self.start_again()

    def cut(self):
        """Power goes in the middle of the work, and then maybe in the middle of a start."""
        world = self.world
        world.disk.cut_after = world.disk.operations + self.choose.randrange(40)
        with suppress(PowerCut), self.may_end():
            self._work(100, WORK | COPIES)
        if self.chance(0.7):
            world.no_log = False
        self._end()
        for _ in range(self.choose.choice((0, 0, 1, 2))):
            self._cut_a_start()
        self.start_again()

    def refuse(self):
        """The disk refuses an operation or some: the engine survives that in order, or ends."""
        disk, ended = self.world.disk, None
        self.world.no_log = False
        if self.damage.may_come:
            self.kill()
            return
        for _ in range(self.choose.choice((1, 1, 2, 3))):
            disk.fail_at[disk.operations + self.choose.randrange(1, 60)] = self.choose.choice((errno.ENOSPC, errno.EIO))
        try:
            self._work(150)
        except (OSError, Abend) as error:
            ended = error
        disk.fail_at.clear()
        if ended is None:
            self.world.refused = True
            with self.may_end():
                self.world.end_waiting()
                self.world.in_order()
                return
            self.start_again()
            return
        self.world.engine.log.give_up(ended)
        if self.chance(0.5):
            self._lose_power()
        self.start_again()

    def _work(self, steps, kinds=WORK):
        for _ in range(steps):
            self.applications.do(self.world.one(kinds))

    @contextmanager
    def may_end(self):
        """Without log an engine may end (RH5), or of an error that it met before (RH4).

        One whose power goes may say so in its own words.
        """
        world = self.world
        try:
            yield
        except (Abend, OSError) as error:
            cause = error.__cause__ or error
            ran_out = world.no_log and isinstance(error, Abend)
            if not ran_out and not isinstance(cause, PowerCut) and not (world.refused and isinstance(cause, OSError)):
                raise
            world.said.append(f"{type(error).__name__} {error}")

    def _lose_power(self, cut_after=None):
        self.world.disk = self.world.disk.after_power_cut(self.choose.random(), cut_after)

    def _end(self):
        """The machine has lost power, or the process alone is gone: the system has what it was handed."""
        if self.chance(0.7):
            self._lose_power()
            return
        self.world.said.append("killed")
        killed = FaultyDisk(seed=self.world.disk.seed + 1)
        killed.files, killed.unreadable = self.world.disk.files, self.world.disk.unreadable
        self.world.disk = killed

    def _cut_a_start(self):
        """One that lasts until then, or that the disk refuses something; another may be through before."""
        world, disk = self.world, self.world.disk
        at = disk.operations + self.choose.randrange(5, 200)
        if self.damage.may_come or self.chance(0.7):
            world.said.append("a start is cut")
            disk.cut_after = at
        else:
            world.said.append("a start is refused")
            disk.fail_at, world.refused = {at: errno.EIO, at + self.choose.randrange(4): errno.ENOSPC}, True
        with suppress(PowerCut), self.may_end():
            world.started(disk)
            disk.fail_at = {}
            self._end()
            return
        disk.fail_at = {}
        world.no_log = False
        self._end()

    def start_again(self):
        world = self.world
        world.said.append("start")
        self.damage.strike()
        if world.copied and self.chance(0.3):
            self._recover()
        torn = self._torn() if self.chance(0.7) else None
        with self.may_end():
            self._start(torn)
            return
        world.no_log = False
        self._start(None)

    def _recover(self):
        """A page set is as it was, lost, or nobody can read all of it; its image copy takes its place (RH6)."""
        disk, number = self.world.disk, self.choose.choice(sorted(self.world.copied))
        name = file_name(number)
        self.world.said.append(f"restored {number}")
        what = self.choose.randrange(3)
        if what == 1:
            del disk.files[name]
        elif what == 2:
            at = SECTOR * self.choose.randrange(len(disk.files[name].seen) // SECTOR)
            disk.unreadable[name] = range(at, at + SECTOR)
        if self.chance(0.3):
            disk.cut_after = disk.operations + self.choose.randrange(8)
            with suppress(PowerCut):
                restore(disk, number)
            self._end()
        restore(self.world.disk, number)
        if self.chance(0.5):
            self._end()
            self._cut_a_start()

    def _start(self, torn):
        self.world.start()
        self.damage.through()
        self._makes_no_difference(torn)

    def _torn(self):
        """The disk as power leaves it, with a page torn besides (RH9): the space map page, or any."""
        self._lose_power()
        disk, name = self.world.disk.after_power_cut(), file_name(self.choose.choice((0, PAGE_SET, PAGE_SET)))
        image = disk.files[name]
        used = [at for at in range(PAGE, len(image.seen), PAGE) if any(image.seen[at : at + PAGE])]
        at = PAGE if not used or self.chance(0.6) else self.choose.choice(used)
        if self.chance(0.3):
            disk.unreadable[name] = range(at, at + SECTOR)
            return disk
        for each in (image.seen, image.durable):
            each[at + 1000] ^= 255
        return disk

    def _makes_no_difference(self, disk):
        if disk is not None:
            with suppress(Abend, TornPageError):
                engine = self.world.started(disk)
                if not engine.recovery.waiting and not check(engine.data):
                    assert found_in(engine) == found_in(self.world.engine), "a page that was torn besides"


class History:
    """One history, from its seed (RH1); some of its settings may be given."""

    def __init__(self, seed, **given):
        self.seed, self.world = seed, World(seed, **given)
        self.applications = Applications(self.world)
        self.ends = Ends(self.world, self.applications)

    def play(self, steps=STEPS):
        world = self.world
        with pytest.MonkeyPatch.context() as patch:
            self._let_logs_run_out(patch)
            try:
                world.expected.there[QUEUE] = {}
                world.start()
                for _ in range(steps):
                    self._step()
                world.end_waiting()
                world.in_order()
            except Exception as error:
                what = f"{type(error).__name__} {error}"
                raise AssertionError(
                    f"seed {self.seed}: {what}\n{world.settings}\nlast: {', '.join(world.said)}"
                ) from error

    def _step(self):
        self.world.no_log = self.world.no_log and self.world.chance(0.9)
        name = self.world.one(WORK | OPERATIONS | ENDS)
        if name in ENDS:
            self.world.said.append(name)
            getattr(self.ends, name)()
            return
        with self.ends.may_end():
            self.applications.do(name)
            return
        self.world.no_log = False
        self.ends.start_again()

    def _let_logs_run_out(self, patch):
        """RH5."""
        make_ready, world = LogFiles.make_ready, self.world

        def refused(files):
            if world.no_log and not files._ready:
                raise OSError(errno.ENOSPC, "no log")
            make_ready(files)

        patch.setattr(LogFiles, "make_ready", refused)
