"""An active log that is damaged is read from its archive; only where there is none does work end (F7, LR1)."""

import errno
from dataclasses import replace

import pytest

from crash.scenarios import TINY, World, found_after, message
from crash.test_archiving import SIZE, archive_all, spoil
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.checker import check
from quaestor.qmgr.recovery.describe import records
from quaestor.qmgr.recovery.media import image_copy, restore
from quaestor.storage.log_files import LogFiles
from quaestor.testing import FaultyDisk, FaultyFile, SmallEngine

pytestmark = [pytest.mark.crash, pytest.mark.plain]
SINGLE = replace(TINY, logs=32, archive=True, buffer_pools={0: 16, 1: 2000}, logload=10**6)
DUAL = replace(SINGLE, dual_logs=True)
EVERYWHERE = range(3000, SIZE, 9001)
BOTH_KINDS = pytest.mark.parametrize("settings", [SINGLE, DUAL], ids=["single", "dual"])


def copies(settings):
    return ("log1", "log2") if settings.dual_logs else ("log1",)


def listening(engine):
    said = []
    engine.log.files.tell = lambda identifier, _text, **facts: said.append((identifier, facts["log"]))
    return said


def in_flight(settings):
    """A unit has put into logs that are archived and still in the ring, the first of them no longer in the buffers."""
    world = World(FaultyDisk(), settings)
    world.unit(puts=[message(1)])
    long = world.engine.begin()
    number = 0
    while world.engine.log.base < 4096 + 2 * SIZE:
        world.engine.put(long, message(1000 + number, 700))
        number += 1
    world.unit(puts=[message(2)])
    archive_all(world.engine)
    assert world.engine.log.files.oldest_active() == 4096
    return world, long


def damaged(disk, settings, log, at):
    for copy in copies(settings):
        spoil(disk, f"{copy}-{log:02d}", at, 60)


@BOTH_KINDS
@pytest.mark.parametrize("log", [1, 2])
@pytest.mark.parametrize("at", EVERYWHERE)
def test_a_backout_reads_the_archive(settings, log, at):
    world, long = in_flight(settings)
    said = listening(world.engine)
    damaged(world.disk, settings, log, at)
    world.engine.back_out(long)
    assert [("CSQJ106E", f"log1-{log:02d}")] == said
    assert world.state == world.engine.bodies()
    assert world.state == found_after(world.disk.after_power_cut(), settings)


@BOTH_KINDS
@pytest.mark.parametrize("log", [1, 2])
@pytest.mark.parametrize("at", EVERYWHERE)
def test_so_does_a_restart_and_leaves_the_log_as_it_is(settings, log, at):
    """Forward, and backward for the unit that was in flight; the next restart does the same."""
    world, _ = in_flight(settings)
    damaged(world.disk, settings, log, at)
    name = f"log1-{log:02d}"
    disk = world.disk.after_power_cut()
    before = bytes(disk.files[name].seen)
    engine = SmallEngine(disk, settings)
    assert world.state == engine.bodies()
    assert [] == check(engine.data)
    assert before == bytes(disk.files[name].seen)
    assert world.state == found_after(disk.after_power_cut(), settings)


@BOTH_KINDS
def test_a_log_that_cannot_be_read_at_all_is_read_from_its_archive(settings, monkeypatch):
    world, long = in_flight(settings)
    said, read = listening(world.engine), FaultyFile.read

    def broken(self, offset, size):
        if self.name.endswith("-01") and self.name.startswith("log"):
            raise OSError(errno.EIO, "broken", self.name)
        return read(self, offset, size)

    monkeypatch.setattr(FaultyFile, "read", broken)
    disk = world.disk.after_power_cut()
    assert world.state == found_after(disk, settings)
    world.engine.back_out(long)
    assert [("CSQJ106E", "log1-01")] == said
    assert world.state == world.engine.bodies()


def missing(disk, name):
    del disk.files[name]


def cut_short(disk, name):
    image = disk.files[name]
    del image.seen[100:], image.durable[100:]


def damaged_too(disk, name):
    spoil(disk, name, 30_000, 60)


@pytest.mark.parametrize("harm", [missing, cut_short, damaged_too])
def test_without_a_good_archive_it_ends_as_before(harm):
    world, long = in_flight(SINGLE)
    damaged(world.disk, SINGLE, 1, 30_000)
    harm(world.disk, "archive-0000000000001000")
    disk = world.disk.after_power_cut()
    with pytest.raises(Abend, match=r"the log is damaged|cannot be read; use the log's other copy or its archive"):
        SmallEngine(disk, SINGLE)
    with pytest.raises(Abend, match="cannot be read; use the log's other copy or its archive"):
        world.engine.back_out(long)


@pytest.mark.parametrize("at", EVERYWHERE)
def test_media_recovery_reads_the_archive(at):
    """The image copy is older than both logs."""
    world = World(FaultyDisk(), SINGLE)
    world.unit(puts=[message(1)])
    image_copy(world.engine.recovery, 1, world.disk)
    number = 0
    while world.engine.log.files.start < 4096 + 2 * SIZE:
        world.unit(puts=[message(number, 700)], gets=1)
        number += 1
    archive_all(world.engine)
    damaged(world.disk, SINGLE, 2, at)
    disk = world.disk.after_power_cut()
    restore(disk, 1)
    assert world.state == found_after(disk, SINGLE)


def test_whoever_prints_the_log_reads_the_archive_and_changes_nothing():
    world, _ = in_flight(SINGLE)
    disk = world.disk.after_power_cut()
    whole = list(records(LogFiles.open(disk)))
    for at in EVERYWHERE:
        damaged(disk, SINGLE, 1, at)
    before = {name: bytes(image.seen) for name, image in disk.files.items()}
    assert whole == list(records(LogFiles.open(disk)))
    assert before == {name: bytes(image.seen) for name, image in disk.files.items()}


def test_the_next_log_is_archived_though_the_one_before_is_damaged_since():
    """A record that begins in the one and ends in the other is looked at from its beginning, in the archive (AR4)."""
    world = World(FaultyDisk(), SINGLE)
    number = 0
    for logs in (1, 2):
        while world.engine.log.hardened < 4096 + logs * SIZE:
            world.unit(puts=[message(number, 700 + number % 50)], gets=1 if number else 0)
            number += 1
        if logs == 1:
            archive_all(world.engine)
            damaged(world.disk, SINGLE, 1, SIZE - 60)
    archive_all(world.engine)
    assert [4096, 4096 + SIZE] == [start for start, _, _ in world.engine.log.files.inventory.archives]
