"""An active log that is not the last one: known by how far the bootstrap data set says that the log had come (J16)."""

from copy import deepcopy
from dataclasses import replace

import pytest

from crash.scenarios import TINY, World, found_after, message
from quaestor.mqi.reasons import Abend
from quaestor.testing import FaultyDisk, SmallEngine

pytestmark = [pytest.mark.crash, pytest.mark.plain]
DUAL = replace(TINY, dual_logs=True)


def note_end(world):
    """As the background does."""
    recovery = world.engine.recovery
    recovery.latch.release()
    assert not recovery.note_end_step()
    recovery.latch.acquire()


def put_back(settings, *names, between=note_end):
    """A queue manager is killed, and logs are put back as they were before its last unit; gives what was committed."""
    world = World(FaultyDisk(), settings)
    world.unit(puts=[message(1), message(2)])
    note_end(world)
    older = {name: deepcopy(world.disk.files[name]) for name in names}
    world.unit(puts=[message(3)], gets=1)
    between(world)
    disk = FaultyDisk()
    disk.files = deepcopy(world.disk.files) | older
    return world, disk


@pytest.mark.parametrize(("settings", "names"), [(TINY, ["log1-01"]), (DUAL, ["log1-01", "log2-01"])])
def test_an_older_one_is_refused(settings, names):
    _, disk = put_back(settings, *names)
    before = {name: bytes(image.seen) for name, image in disk.files.items()}
    with pytest.raises(Abend, match=r"L2: the log is damaged .*or an older one; put the last one back"):
        SmallEngine(disk, settings)
    assert before == {name: bytes(image.seen) for name, image in disk.files.items()}


@pytest.mark.parametrize("name", ["log1-01", "log2-01"])
def test_of_two_copies_the_newer_one_is_read(name):
    world, disk = put_back(DUAL, name)
    assert world.state == found_after(disk, DUAL)


def test_without_the_note_committed_work_is_lost_without_a_word():
    """So it is with what was committed since the last one."""
    world, disk = put_back(TINY, "log1-01", between=lambda _: None)
    assert [message(1), message(2)] == found_after(disk)
    assert [message(2), message(3)] == world.state


def test_the_note_is_made_when_the_log_has_grown_and_needs_no_checkpoint():
    world = World(FaultyDisk(), TINY)
    recovery, inventory = world.engine.recovery, world.engine.log.files.inventory
    (note,) = [task for task in recovery.tasks() if task.name == "note the end of the log"]
    note_end(world)
    assert not note.due()
    world.unit(puts=[message(1)])
    checkpoints = list(inventory.checkpoints)
    assert note.due()
    note_end(world)
    assert (world.engine.log.end, checkpoints) == (inventory.written_rba, inventory.checkpoints)
    assert not note.due()
    recovery.checkpoint()
    assert not note.due()
