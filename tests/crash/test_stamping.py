"""A page set that was put in the place of the right one is known as an older or another one (ST1-ST4)."""

import importlib
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from itertools import product

import pytest

from crash.scenarios import TINY, World, found_after, message, puts_together
from crash.test_power_cuts import test_a_restart_may_be_cut_and_begun_again as restart_may_be_cut
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.data.page_storage import PageSetDefinition
from quaestor.qmgr.recovery import stamping
from quaestor.qmgr.recovery.media import image_copy, restore
from quaestor.testing import FaultyDisk, PowerCut, SmallEngine

pytestmark = [pytest.mark.crash, pytest.mark.plain]
SETTINGS = replace(TINY, archive=True, buffer_pools={0: 16, 1: 64})
restart_module = importlib.import_module("quaestor.qmgr.recovery.restart")


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


def test_without_the_stamp_an_older_copy_is_taken(monkeypatch):
    """ST1: that is what happened."""
    monkeypatch.setattr(restart_module, "stamp", lambda recovery: None)
    monkeypatch.setattr("quaestor.qmgr.data.engine.stamp", lambda recovery, *, stopping: None)
    with pytest.raises(pytest.fail.Exception):
        test_an_older_copy_of_a_page_set_is_refused("pageset-01", stopped, stopped)


def test_with_a_note_before_the_page_a_cut_makes_it_look_old(monkeypatch):
    """ST1: the note comes after."""
    real = stamping.stamp

    def hasty(recovery, *, stopping=False):
        inventory = recovery.log.files.inventory
        inventory.stamps = dict.fromkeys(map(str, recovery.buffers.page_sets), recovery.log.end)
        recovery.log.files.save()
        real(recovery, stopping=stopping)

    monkeypatch.setattr(restart_module, "stamp", hasty)
    with pytest.raises(Abend, match="ST2"):
        a_cut_never_makes_a_page_set_look_old()


def test_with_a_page_0_that_restart_begins_anew_it_looks_old(monkeypatch):
    """ST2: redoing an old change of page 0 must not make it older than it was."""
    frame = restart_module._Redo._frame
    monkeypatch.setattr(
        restart_module._Redo, "_frame", lambda self, number, page: frame(self, number, page) if page else None
    )
    with pytest.raises(Abend, match="ST2"):
        restart_may_be_cut(puts_together)
