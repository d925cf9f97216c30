"""Proofs about a restart that is itself cut: whatever it had done by then, the next one makes the same of it."""

import errno
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from itertools import product

from crash.scenarios import TINY, World, found_after, message
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer import TornPageError
from quaestor.qmgr.recovery.checkpoint import read_checkpoint
from quaestor.qmgr.recovery.media import image_copy, restore
from quaestor.storage.log_record import Kind
from quaestor.storage.page import PAGE
from quaestor.testing import FaultyDisk, PowerCut, SmallEngine

FEW = replace(TINY, buffer_pools={0: 12, 1: 12}, pages=1024, logload=10**6, log_bytes=1 << 20)
MANY = replace(FEW, buffer_pools={0: 600, 1: 600})


def every_cut(disk, settings, wanted, seeds, *, step=1):
    """Cut the restart of a disk everywhere; the one after that must find what is wanted."""
    probe = disk.after_power_cut(0)
    SmallEngine(probe, settings)
    for cut in range(0, probe.operations, step):
        for seed in seeds:
            survivor = disk.after_power_cut(0, cut_after=cut)
            with suppress(PowerCut):
                SmallEngine(survivor, settings)
            assert wanted == found_after(survivor.after_power_cut(seed), settings), f"cut after {cut}, seed {seed}"


def half_redone_pages():
    """Restart has so few buffers that a page leaves when a part of its changes is redone, and is torn.

    It is the space map page; what the log says of it concerns its second sector.
    """
    world = World(FaultyDisk(), MANY)
    world.engine.queue.page_set.low_free = 480
    for n in range(40):
        world.unit(puts=[message(n)])
    every_cut(world.disk, FEW, world.state, range(2, 5), step=4)


def torn_after_half_redone_pages():
    """Restart has so few buffers that the space map page leaves half redone, is logged so, and leaves again when it is.

    After the next messages it is torn. The log is read from behind most of what its older image lacks.
    """
    world = World(FaultyDisk(), MANY)
    for n in range(40):
        world.unit(puts=[message(n)])
    again = World(world.disk.after_power_cut(0), FEW)
    again.allowed = [world.state]
    for n in range(40, 43):
        again.unit(puts=[message(n)], gets=1)
    again.engine.buffers.write_all()
    disk = again.disk.after_power_cut(0)
    disk.files["pageset-01"].write(PAGE + 1000, b"torn")
    assert again.state == found_after(disk, FEW)


def torn_when_it_was_begun_again_in_a_restart():
    """Restart logs a page half redone, and then comes to where the page was begun again, with another message.

    The next checkpoint needs nothing from before that any more. What a medium damages later is not made of the image.
    """
    world = World(FaultyDisk(), MANY)
    world.unit(puts=[message(n, 3000) for n in range(30)])
    world.engine.buffers.write_all()
    for _ in range(2):
        world.engine.recovery.checkpoint()
    place = min(arrival.page for arrival in world.engine.data.browse(world.engine.queue))
    for _ in range(30):
        world.unit(gets=1)
    world.unit(puts=[message(n, 3000) for n in range(60, 110)])
    world.engine.log.force(world.engine.log.end - 1)
    again = SmallEngine(world.disk.after_power_cut(0), FEW)
    assert world.state == again.bodies()
    checkpoint = read_checkpoint(again.log.read, again.log.files.inventory.checkpoints[-1])
    images = [record for record in again.log.scan(checkpoint.page_sets[1]) if record.kind == Kind.IMAGE]
    assert place in {record.page for record in images}
    for page in sorted({record.page for record in images if record.page > 1}):
        disk = again.disk.after_power_cut(0)
        disk.files["pageset-01"].write(page * PAGE + 1000, b"torn")
        try:
            assert world.state == found_after(disk, FEW)
        except (Abend, TornPageError) as told:
            if "image copy" not in str(told):
                raise


def media_recovery(pages=1024):
    """A page set is lost and its image copy put in its place; restart brings it up to date and is cut.

    With few pages it has grown since the copy.
    """
    settings = replace(FEW, pages=pages)
    many = replace(settings, buffer_pools=MANY.buffer_pools)
    world = World(FaultyDisk(), many)
    world.unit(puts=[message(n) for n in range(10)])
    image_copy(world.engine.recovery, 1, world.disk)
    for n in range(10, 60):
        world.unit(puts=[message(n)])
    world.engine.buffers.write_all()
    world.engine.recovery.checkpoint()
    world.unit(puts=[message(n) for n in range(60, 90)], outcome="leave")
    world.engine.recovery.harden()
    restore(world.disk, 1)
    every_cut(world.disk, settings, world.state, range(2), step=5)


def media_recovery_of_a_page_set_that_grew():
    media_recovery(pages=16)


def cut_copying():
    """An image copy that was cut is refused; one that was cut while it was put back is not taken for a page set."""
    world = World(FaultyDisk(), TINY)
    world.unit(puts=[message(n) for n in range(5)])
    world.engine.buffers.write_all()
    world.engine.recovery.checkpoint()
    for cut, seed in product(range(6, 14), range(30)):
        engine = SmallEngine(world.disk.after_power_cut(cut), TINY)
        engine.disk.cut_after = engine.disk.operations + cut
        with suppress(PowerCut):
            image_copy(engine.recovery, 1, engine.disk)
        _restored_or_refused(engine.disk.after_power_cut(seed), world.state)
    image_copy(world.engine.recovery, 1, world.disk)
    for cut, seed in product(range(7), range(30)):
        survivor = world.disk.after_power_cut(cut, cut_after=cut)
        with suppress(PowerCut):
            restore(survivor, 1)
        _found_or_refused(survivor.after_power_cut(seed), world.state)


def cut_copying_again():
    """There is an image copy and another is taken: wherever that is cut or fails, one of the two can be put back."""
    settings = replace(TINY, archive=True)
    world = World(FaultyDisk(), settings)
    world.unit(puts=[message(n) for n in range(5)])
    image_copy(world.engine.recovery, 1, world.disk)
    world.unit(puts=[message(n) for n in range(5, 9)], gets=2)
    world.engine.buffers.write_all()
    probe = SmallEngine(world.disk.after_power_cut(0), settings)
    before = probe.disk.operations
    image_copy(probe.recovery, 1, probe.disk)
    for cut, seed in product(range(probe.disk.operations - before + 1), range(4)):
        engine = SmallEngine(world.disk.after_power_cut(0), settings)
        engine.disk.cut_after = engine.disk.operations + cut
        with suppress(PowerCut):
            image_copy(engine.recovery, 1, engine.disk)
        _put_back(engine.disk.after_power_cut(seed), settings, world.state)
    for number in range(before + 1, probe.disk.operations + 1):
        engine = SmallEngine(world.disk.after_power_cut(0), settings)
        engine.disk.fail_at[number] = errno.ENOSPC
        with suppress(OSError, Abend):
            image_copy(engine.recovery, 1, engine.disk)
        _put_back(engine.disk.after_power_cut(number), settings, world.state)


def _put_back(disk, settings, wanted):
    del disk.files["pageset-01"]
    restore(disk, 1)
    assert wanted == found_after(disk, settings)


def _restored_or_refused(disk, wanted):
    try:
        restore(disk, 1)
    except (Abend, FileNotFoundError):
        return
    _found_or_refused(disk, wanted)


def _found_or_refused(disk, wanted):
    try:
        found = found_after(disk)
    except Abend as told:
        found = str(told)
    assert wanted == found or "restore its image copy" in found


def killed_then_cut_in_the_bootstrap():
    """The process is killed between writing the bootstrap data set and its sync; power goes in the next write of it."""
    settings = replace(TINY, archive=True)
    world = World(FaultyDisk(), settings)
    for n in range(300):
        world.unit(puts=[message(n, 3500)], gets=1 if n else 0)
    world.disk.cut_after = world.disk.operations + 1
    with suppress(PowerCut):
        world.engine.log.files.save()
    assert world.disk.files["BSDS1"].pending
    for cut, seed in product((4, 5), range(80)):
        killed = FaultyDisk(cut, seed)
        killed.files = deepcopy(world.disk.files)
        with suppress(PowerCut):
            SmallEngine(killed, settings)
        assert world.state == found_after(killed.after_power_cut(seed), settings)
