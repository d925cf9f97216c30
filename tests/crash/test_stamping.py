"""A page set that was put in the place of the right one is known as an older or another one (ST1-ST4)."""

import errno
import importlib
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from itertools import count, product

import pytest

from crash.restarts import FEW, MANY, every_cut
from crash.scenarios import TINY, World, found_after, in_steps, message
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer import OldPages, TornPageError
from quaestor.qmgr.buffer.old_pages import CHECKPOINTS_OLD
from quaestor.qmgr.data.page_storage import PageSetDefinition
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.qmgr.recovery.media import image_copy, restore
from quaestor.qmgr.recovery.stamping import Stamping
from quaestor.storage.log_files import LogFiles
from quaestor.storage.log_record import Kind
from quaestor.testing import FaultyDisk, PowerCut, SmallEngine

pytestmark = [pytest.mark.crash, pytest.mark.plain]
SETTINGS = replace(TINY, archive=True, buffer_pools={0: 16, 1: 64})
_Redo = importlib.import_module("quaestor.qmgr.recovery.restart")._Redo


def stopped(world):
    world.engine.recovery.latch.release()
    world.engine.engine.stop()
    return world.disk


def killed(world):
    return world.disk


def worked(ends=stopped, units=5, first=0, disk=None):
    """A queue manager that was started, put some messages and ended; its files."""
    world = World(disk or FaultyDisk(), SETTINGS)
    world.allowed = [world.engine.bodies()]
    for n in range(units):
        world.unit(puts=[message(first + n)])
    ends(world)
    return world


def refused(disk, why):
    """It does not start, and nothing is changed."""
    before = {name: bytes(image.seen) for name, image in disk.files.items()}
    with pytest.raises(Abend, match=why):
        SmallEngine(disk, SETTINGS)
    assert before == {name: bytes(image.seen) for name, image in disk.files.items()}


def mixed(disk, other, *names):
    """A disk with some files of another."""
    made = FaultyDisk()
    made.files = deepcopy(disk.files) | {name: deepcopy(other.files[name]) for name in names}
    return made


@pytest.mark.parametrize("name", ["pageset-00", "pageset-01"])
@pytest.mark.parametrize(("before", "after"), list(product([stopped, killed], repeat=2)))
def test_an_older_copy_of_a_page_set_is_refused(name, before, after):
    """It was started again since; without the look messages are lost, and the checker finds nothing."""
    world = worked(before)
    older = mixed(world.disk, world.disk)
    worked(after, first=5, disk=world.disk)
    refused(mixed(world.disk, older, name), "ST2: a page set is an older copy")
    assert 10 == len(found_after(world.disk, SETTINGS))


def copied_while_running(ends):
    world = worked(killed)
    older = mixed(world.disk, world.disk)
    world.unit(puts=[message(9)])
    world.engine.buffers.write_all()
    ends(world)
    return mixed(world.disk, older, "pageset-01")


def whole(world):
    world.engine.recovery.checkpoint()


def stepwise(world):
    in_steps(world, lambda: None)


@pytest.mark.parametrize("checkpoint", [whole, stepwise])
def test_a_copy_that_was_taken_while_it_ran_is_refused_after_a_checkpoint_and_a_kill(checkpoint):
    refused(copied_while_running(checkpoint), "ST2: a page set is an older copy.*recover it from its image copy")


class Copied(FaultyDisk):
    """Keeps what there is before every so many operations, and what may be found then."""

    every = 3

    def __init__(self):
        super().__init__()
        self.world, self.moments = None, []

    def operate(self, effect):
        if self.world is not None and self.operations % self.every == 0:
            files = {name: bytes(image.seen) for name, image in self.files.items()}
            self.moments.append((files, list(self.world.allowed)))
        super().operate(effect)


def put_back(files, older):
    """A disk as a killed queue manager leaves it, with an older file."""
    disk = FaultyDisk()
    for name, contents in (files | {"pageset-01": older["pageset-01"]}).items():
        disk.create(name, 0).write(0, contents)
    return disk


def any_copy_at_any_time(script):
    """Whenever a page set was copied, and whenever it is put back: it is refused, or everything is there."""
    disk = Copied()
    world = disk.world = World(disk, SETTINGS)
    script(world)
    refusals = 0
    for number, (files, allowed) in enumerate(disk.moments):
        for older, _ in disk.moments[:number]:
            found = found_or_refused(put_back(files, older))
            assert found == "ST2" or found in allowed, f"moment {number}"
            refusals += found == "ST2"
    return refusals


def found_or_refused(disk):
    """What is on the queue, or the rule by which nothing starts."""
    try:
        return found_after(disk, SETTINGS)
    except Abend as error:
        return error.rule


def busy(world):
    """Messages come and go, pages are written, by checkpoints or before them."""
    world.unit(puts=[message(n) for n in range(6)])
    for n in range(8):
        world.unit(puts=[message(10 + 2 * n), message(11 + 2 * n)], gets=1)
        if n > 4:
            world.engine.buffers.write_all()
        (whole, stepwise)[n % 2](world)


def test_whenever_it_was_copied_it_is_refused_or_nothing_is_lost():
    assert any_copy_at_any_time(busy)


def test_a_checkpoint_that_is_under_way_at_a_stop_does_not_make_a_page_set_look_old():
    steps = count()
    for number in steps:
        world = worked(killed)
        recovery = world.engine.recovery
        recovery._begin(2, in_steps=True)
        for _ in range(number):
            recovery._advance()
            if recovery._under_way is None:
                break
            recovery._wait()
        world.unit(puts=[message(7)])
        over = recovery._under_way is None
        stopped(world)
        assert world.state == found_after(world.disk, SETTINGS)
        if over:
            break
    assert number > 4


def while_stamps_are_forced(world, meanwhile):
    """A checkpoint in steps; something happens when page 0 of page sets is logged and not yet written."""
    stamping, pieces = world.engine.recovery.stamping, Stamping.pieces

    def interrupted():
        for wait in pieces(stamping):
            yield wait
            meanwhile()

    stamping.pieces = interrupted
    stepwise(world)
    del stamping.pieces


@pytest.mark.parametrize("again", [False, True])
def test_a_page_set_that_is_deleted_meanwhile_leaves_no_stamp(again):
    world = worked(killed)
    storage = world.engine.engine.storage
    storage.define_page_set(3, PageSetDefinition(1))

    def delete():
        storage.delete_page_set(3)
        if again:
            storage.define_page_set(3, PageSetDefinition(1))

    while_stamps_are_forced(world, delete)
    assert "3" not in world.engine.log.files.inventory.stamps
    assert 5 == len(found_after(world.disk.after_power_cut(), SETTINGS))


def test_a_page_0_that_somebody_else_writes_is_stamped_the_next_time():
    world = worked(killed)
    engine, noted = world.engine, world.engine.recovery.stamping.noted
    engine.buffers.write_all()
    before = noted(1)
    while_stamps_are_forced(world, engine.buffers.write_all)
    assert before == noted(1)
    whole(world)
    assert before < noted(1)
    assert 5 == len(found_after(world.disk.after_power_cut(), SETTINGS))


def test_a_page_that_has_got_the_buffer_of_page_0_is_not_stamped():
    """B15: page 0 was written by somebody else and stolen, and its buffer holds another page, changed."""
    world = worked(killed)
    engine, noted = world.engine, world.engine.recovery.stamping.noted
    page_set, pool = engine.buffers.page_sets[1], engine.buffers.pools[1]
    engine.buffers.write_all()

    def steal():
        stolen = page_set.frames[0]
        engine.buffers.write_all()
        for page in range(2, 100):
            pool.release(pool.new(page_set, page))
        assert stolen is page_set.frames[stolen.page] is not page_set.frames.get(0)
        pool.set_unlogged(stolen)

    before = noted(1)
    while_stamps_are_forced(world, steal)
    assert before == noted(1)


def test_a_copy_that_was_taken_before_the_stop_is_refused():
    refused(copied_while_running(stopped), "ST2: a page set is an older copy")


@pytest.mark.parametrize("units", [2, 40])
def test_a_page_set_of_another_queue_manager_is_refused(units):
    """Whether its log was shorter or longer."""
    refused(mixed(worked(units=10).disk, worked(units=units).disk, "pageset-01"), "ST2|X5")


def test_an_older_log_with_its_bootstrap_data_set_is_refused():
    world = worked()
    older = mixed(world.disk, world.disk)
    worked(first=5, disk=world.disk)
    names = [name for name in older.files if name.startswith(("log", "BSDS"))]
    refused(mixed(world.disk, older, *names), "X5: a page is newer than the log")


def test_an_image_copy_is_no_older_copy():
    world = worked(killed)
    image_copy(world.engine.recovery, 1, world.disk)
    stopped(world)
    worked(first=5, disk=world.disk)
    restore(world.disk, 1)
    assert 10 == len(found_after(world.disk, SETTINGS))


def test_a_page_set_that_is_defined_again_is_a_new_one():
    world = worked(killed)
    storage = world.engine.engine.storage
    for _ in range(2):
        storage.define_page_set(3, PageSetDefinition(1))
        world.engine = SmallEngine(world.disk, SETTINGS)
        storage = world.engine.engine.storage
        storage.delete_page_set(3)
    assert 5 == len(found_after(world.disk.after_power_cut(), SETTINGS))


def starts_and_stops(world):
    for n in range(2):
        world.unit(puts=[message(2 * n)])
        stopped(world)
        world.engine = SmallEngine(world.disk, SETTINGS)
        world.unit(puts=[message(2 * n + 1, 3000) for _ in range(8)])  # the page set grows


def a_cut_never_makes_a_page_set_look_old():
    whole = World(FaultyDisk(), SETTINGS)
    starts_and_stops(whole)
    for cut, seed in product(range(whole.disk.operations + 1), range(2)):
        world, disk = None, FaultyDisk(cut_after=cut, seed=seed)
        with suppress(PowerCut):
            world = World(disk, SETTINGS)
            starts_and_stops(world)
        found = found_after(disk.after_power_cut(seed), SETTINGS)
        assert found in (world.allowed if world else [[]]), f"cut after {cut}, seed {seed}"


def test_a_start_and_a_stop_may_be_cut_anywhere():
    a_cut_never_makes_a_page_set_look_old()


# --- teeth ------------------------------------------------------------------------------------------------------------


def without_stamps_at_checkpoints(patch):
    """ST1: only starts and stops stamp."""
    pieces = Stamping.pieces
    patch.setattr(Stamping, "pieces", lambda self: pieces(self) if fresh(self) else iter(()))


def fresh(stamping):
    return not any(page_set.stamped for page_set in stamping._buffers.page_sets.values())


def with_page_0_before_the_others(patch):
    """ST1: page 0 is written behind all other pages, or a copy between them looks newer than it is."""
    write = OldPages.write

    def hasty(self, pages, *, in_steps):
        for page_set in self._page_sets.values():
            page_set.stamped = False
        yield from RECOVERIES[-1].stamping.pieces()
        yield from write(self, pages, in_steps=in_steps)
        for page_set in self._page_sets.values():
            page_set.stamped = True

    begin = RecoveryManager._begin

    def remembering(self, pages, *, in_steps):
        RECOVERIES.append(self)
        begin(self, pages, in_steps=in_steps)

    patch.setattr(RecoveryManager, "_begin", remembering)
    patch.setattr(OldPages, "write", hasty)


RECOVERIES = []


@pytest.mark.parametrize("remove", [without_stamps_at_checkpoints, with_page_0_before_the_others])
def test_without_its_rule_a_copy_is_taken_that_lacks_something(remove, monkeypatch):
    remove(monkeypatch)
    with pytest.raises((AssertionError, TornPageError)):
        any_copy_at_any_time(busy)


def test_without_the_stamp_an_older_copy_is_taken(monkeypatch):
    """ST1: that is what happened."""
    monkeypatch.setattr(Stamping, "note", lambda self: None)
    with pytest.raises(pytest.fail.Exception):
        test_an_older_copy_of_a_page_set_is_refused("pageset-01", killed, killed)


def test_with_a_note_before_the_page_a_cut_makes_it_look_old(monkeypatch):
    """ST1: the note comes after."""
    real = Stamping.pieces

    def hasty(self):
        files, page_sets = self._log.files, self._buffers.page_sets
        files.inventory.stamps = {str(n): self._log.end for n, each in page_sets.items() if not each.stamped}
        files.save()
        yield from real(self)

    monkeypatch.setattr(Stamping, "pieces", hasty)
    with pytest.raises(Abend, match="ST2"):
        a_cut_never_makes_a_page_set_look_old()


def stamps_that_are_redone():
    """Restart redoes two stamps and has few buffers: page 0 leaves when the first is redone, and power goes."""
    world = World(FaultyDisk(), MANY)
    world.unit(puts=[message(1)])
    world.engine.buffers.write_all()
    world.unit(puts=[message(1)])
    recovery = world.engine.recovery
    recovery._begin(2, in_steps=True)
    recovery._advance()
    world.unit(puts=[message(2)])  # so restart begins before the first stamp
    recovery._finish()
    for n in range(40):
        world.unit(puts=[message(n)])
    pool = world.engine.buffers.pools[1]
    pool.write(pool.changed()[-1:])
    recovery.checkpoint()
    every_cut(world.disk, FEW, world.state, range(2), step=3)


def test_a_restart_that_redoes_stamps_may_be_cut():
    stamps_that_are_redone()


def test_with_a_page_0_that_restart_begins_anew_it_looks_old(monkeypatch):
    """ST4: redoing an old change of page 0 must not make it older than the note."""
    made = _Redo.__init__

    def forgetful(self, *args):
        made(self, *args)
        self._noted = lambda _number: 0

    monkeypatch.setattr(_Redo, "__init__", forgetful)
    with pytest.raises(Abend, match="ST2"):
        stamps_that_are_redone()


def test_a_page_0_that_a_full_pool_writes_at_a_stop_is_noted(monkeypatch):
    """B13: without log for images nothing but page 0 of another page set is written for whoever logs a stamp."""

    make_ready = LogFiles.make_ready

    def refused(files):
        if not files._ready:
            raise OSError(errno.ENOSPC, "no log")
        make_ready(files)

    pools, page_sets = {0: 16, 1: 16}, {0: 0, 1: 1, 2: 1}
    settings = replace(SETTINGS, archive=False, log_bytes=128 << 10, buffer_pools=pools, page_sets=page_sets)
    world = World(FaultyDisk(), settings)
    world.unit(puts=[message(n, 3000) for n in range(20)])
    world.engine.buffers.write_all()
    unit = world.unit(gets=14, outcome="leave")
    monkeypatch.setattr(LogFiles, "make_ready", refused)
    log, pool = world.engine.log, world.engine.buffers.pools[1]
    while log.files.limit - log.end > 36_000:
        log.append(Kind.FILLER, 0, 0, 0, 0, 0, bytes(500))
    world.engine.commit(unit)
    stopped(world)
    assert pool.stats.immediate_writes
    assert world.engine.log.files.inventory.stamped_at_stop
    assert [message(n, 3000) for n in range(14, 20)] == found_after(world.disk, settings)


# --- a stop that is cut while its checkpoint still writes pages (ST3) -------------------------------------------------


def stop_that_is_cut_on(disks, cut):
    """Without log for images (B13) pages are left to the last checkpoint, which enters the next active log."""
    small = SmallEngine(FaultyDisk(seed=cut), replace(SETTINGS, archive=False, log_bytes=64 << 10))
    disks.append(small.disk)
    for number in range(3):
        unit = small.begin()
        small.put(unit, b"%d" % number)
        small.commit(unit)
    small.recovery.checkpoint()
    unit = small.begin()
    assert b"0" == small.get(unit)
    small.commit(unit)
    while small.log.files.start + small.log.files.size - small.log.end > 2000:
        small.log.append(Kind.FILLER, 0, 0, 0, 0, 0, bytes(1000))
    small.buffers.write_all = small.buffers.sync
    for pool in small.buffers.pools.values():
        pool.checkpoint += CHECKPOINTS_OLD
    small.recovery.latch.release()
    small.disk.cut_after = small.disk.operations + cut
    small.engine.stop()


def test_a_stop_may_be_cut_anywhere():
    for cut in count():
        disks = []
        try:
            stop_that_is_cut_on(disks, cut)
        except PowerCut:
            again = SmallEngine(disks[0].after_power_cut(), SETTINGS)
            assert [b"1", b"2"] == again.bodies()
        else:
            break
    assert cut > 20
