"""A bootstrap data set that is not the last one: known by the log, which goes on where it knows none (F8, S3)."""

import errno
from dataclasses import replace

import pytest

from crash.scenarios import TINY, World, found_after, message
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.log.reading import LogReader
from quaestor.storage.bootstrap import PLACE
from quaestor.testing import FaultyDisk, FaultyFile, SmallEngine

pytestmark = [pytest.mark.crash, pytest.mark.plain]
ROOMY = replace(TINY, logs=4, buffer_pools={0: 64, 1: 1000}, pages=1024, logload=10**6)
"""No page is written for want of buffers: page 0 is stamped at the start alone."""

DUAL = replace(ROOMY, dual_logs=True)


def until_the_next_log(world, *, size):
    files = world.engine.log.files
    start, number = files.start, 0
    while files.start == start:
        world.unit(puts=[message(number, size)])
        number += 1


def older_by_a_switch(settings, *, size=700, truncated=False):
    """The bootstrap data set is put back as it was before the last log switch; then two units have committed."""
    world = World(FaultyDisk(), settings)
    world.unit(puts=[message(1)])
    names = [name for name in ("BSDS1", "BSDS2") if world.disk.exists(name)]
    older = {name: bytes(world.disk.files[name].seen) for name in names}
    if truncated:
        world.engine.log.truncate()
    else:
        until_the_next_log(world, size=size)
    world.unit(puts=[message(2)])
    disk = world.disk.after_power_cut()
    assert world.state == found_after(disk.after_power_cut(), settings)
    for name in names:
        disk.files[name].seen[:] = disk.files[name].durable[:] = older[name]
    return world, disk


def it_is_refused(settings=ROOMY, **how):
    _, disk = older_by_a_switch(settings, **how)
    before = {name: bytes(image.seen) for name, image in disk.files.items()}
    with pytest.raises(Abend, match=r"F8: the log goes on .*it is an older one; put the last one back"):
        SmallEngine(disk, settings)
    assert before == {name: bytes(image.seen) for name, image in disk.files.items()}


@pytest.mark.parametrize("settings", [ROOMY, DUAL], ids=["single", "dual"])
@pytest.mark.parametrize("how", [{"size": 700}, {"size": 1013}, {"size": 3500}, {"truncated": True}], ids=str)
def test_an_older_one_is_refused_when_the_log_has_gone_on(settings, how):
    """Wherever the last record before the switch ends: in the one log, in the other, or between them."""
    it_is_refused(settings, **how)


def test_one_copy_of_the_log_is_enough_to_know_it():
    _, disk = older_by_a_switch(DUAL)
    disk.files["log1-02"].seen[:] = bytes(len(disk.files["log1-02"].seen))
    with pytest.raises(Abend, match="F8"):
        SmallEngine(disk, DUAL)


def test_without_the_look_committed_work_is_lost_without_a_word(monkeypatch):
    monkeypatch.setattr(LogReader, "goes_on", lambda *_: False)
    with pytest.raises(pytest.fail.Exception):
        it_is_refused()
    world, disk = older_by_a_switch(ROOMY)
    assert len(found_after(disk, ROOMY)) < len(world.state)


def test_an_older_one_does_not_have_an_epoch_begin_again():
    """L1, L2: a lost write may have left records of it behind the end, which would be good again behind new ones."""
    world = World(FaultyDisk(), ROOMY)
    older = bytes(world.disk.files["BSDS1"].seen)
    for _ in range(2):
        world.engine = SmallEngine(world.disk.after_power_cut(), ROOMY)
    world.unit(puts=[message(1)])
    disk = world.engine.disk.after_power_cut()
    disk.files["BSDS1"].seen[:] = disk.files["BSDS1"].durable[:] = older
    again = SmallEngine(disk, ROOMY)
    assert world.state == again.bodies()
    assert again.log.epoch > world.engine.log.epoch


def newest_place(disk, name):
    versions = [int.from_bytes(disk.files[name].seen[at + 8 : at + 16], "big") for at in (0, PLACE)]
    return PLACE * versions.index(max(versions))


def with_its_last_version_damaged(settings, *, in_steps):
    """By which rules nothing starts when the version before is read, as after a cut; otherwise it is right too."""
    world, refusals = World(FaultyDisk(), settings), set()
    world.engine.recovery.in_steps = in_steps
    for n in range(60):
        world.unit(puts=[message(n, 900), message(n)], gets=1)
        disk = world.disk.after_power_cut()
        disk.files["BSDS1"].seen[newest_place(disk, "BSDS1") + 100] ^= 0xFF
        try:
            assert world.state == found_after(disk, settings)
        except Abend as error:
            refusals.add(error.rule)
    return refusals


def test_whenever_its_last_version_is_damaged_nothing_is_lost_without_a_word():
    """While a checkpoint in steps is to come, the last version is the one that knows of the switch."""
    assert {"F8"} == with_its_last_version_damaged(ROOMY, in_steps=True)
    assert set() == with_its_last_version_damaged(ROOMY, in_steps=False)
    assert set() == with_its_last_version_damaged(DUAL, in_steps=True)


@pytest.fixture
def unreadable(monkeypatch):
    """Places of the bootstrap data set that cannot be read: (name, offset)."""
    places, read = set(), FaultyFile.read

    def failing(self, offset, size):
        if (self.name, offset) in places:
            raise OSError(errno.EIO, "unreadable", self.name)
        return read(self, offset, size)

    monkeypatch.setattr(FaultyFile, "read", failing)
    return places


@pytest.mark.parametrize("place", [0, PLACE])
def test_a_place_that_cannot_be_read_may_be_the_last_version(unreadable, place):
    world = World(FaultyDisk(), ROOMY)
    world.unit(puts=[message(1)])
    unreadable.add(("BSDS1", place))
    with pytest.raises(Abend, match=r"S3: no copy of the bootstrap data set can be read.*unreadable"):
        SmallEngine(world.disk.after_power_cut(), ROOMY)
    unreadable.clear()
    assert world.state == found_after(world.disk.after_power_cut(), ROOMY)


@pytest.mark.parametrize("place", [0, PLACE])
@pytest.mark.parametrize("name", ["BSDS1", "BSDS2"])
def test_with_two_copies_the_other_is_read(unreadable, name, place):
    world = World(FaultyDisk(), DUAL)
    until_the_next_log(world, size=900)
    unreadable.add((name, place))
    assert world.state == found_after(world.disk.after_power_cut(), DUAL)
