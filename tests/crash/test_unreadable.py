"""What cannot be read (EIO), manager by manager: it is named, nobody takes it for the end, and nothing is lost."""

import errno
from dataclasses import replace

import pytest

from crash.scenarios import TINY, World, found_after, message
from crash.test_archiving import archive_all
from model.answers import bodies, drain, fails
from qmgr.small import EVERYTHING, page_queue_manager
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.options import PutOptions
from quaestor.mqi.reasons import Abend, Reason
from quaestor.qmgr.buffer import TornPageError
from quaestor.qmgr.checker import check
from quaestor.qmgr.recovery.media import copy_name, image_copy, restore
from quaestor.storage.log_files import CI
from quaestor.storage.log_record import HEADER, Kind
from quaestor.storage.page import PAGE
from quaestor.testing import FaultyDisk, SmallEngine

pytestmark = [pytest.mark.crash, pytest.mark.plain]
ALL = range(1 << 40)
LONG = 3000
"""So long that each message has a page of its own."""


def lost(disk, name, where=ALL):
    """From now on this part of a file cannot be read."""
    disk.unreadable[name] = where
    return disk


def found_by_restart(disk, settings=TINY):
    """What restart finds, and what it was refused with before the disk could be read again."""
    try:
        return SmallEngine(disk, settings).bodies(), ""
    except (Abend, TornPageError, OSError) as error:
        disk.unreadable.clear()
        return SmallEngine(disk.after_power_cut(), settings).bodies(), str(error)


# -- buffers and data: a page


@pytest.fixture
def stopped():
    """A queue manager with messages on pages, started again: none of them is in its buffers."""
    disk = FaultyDisk()
    qm = page_queue_manager(disk=disk)
    qm.queue("ORDERS")
    app = qm.connect()
    for number in range(3):
        app.put("ORDERS", str(number) * LONG, MQMD(persistence=1), PutOptions.NO_SYNCPOINT)
    app.disconnect()
    qm.manager.stop()
    return page_queue_manager(disk=disk), disk


def page_of(qm, nth):
    found = list(qm.manager.engine.data.browse(qm.messages.catalogue.state("ORDERS").stored))
    return found[nth].page


def test_a_message_whose_page_cannot_be_read_is_2193_and_others_are_got(stopped):
    """GE7, FA4: the queue manager goes on; when the page can be read again the message is there."""
    qm, disk = stopped
    page = page_of(qm, 0)
    lost(disk, "pageset-01", range(page * PAGE, page * PAGE + 1))
    app = qm.connect()
    orders = app.open("ORDERS", EVERYTHING)
    for _ in range(3):
        with fails(Reason.PAGESET_ERROR) as caught:
            orders.get()
        assert (1, page) == (caught.value.facts["page_set"], caught.value.facts["page"])
        assert "pageset-01" in caught.value.facts["why"]
    (found,) = [line for line in check(qm.manager.engine.data) if f"page {page}" in line]
    assert "pageset-01" in found
    disk.unreadable.clear()
    assert ["0" * LONG, "1" * LONG, "2" * LONG] == bodies(drain(orders))


# -- recovery: a page, in restart


def written_early(disk, settings=TINY):
    """Committed messages, whose pages were written and are still changed for restart."""
    world = World(disk, settings)
    for number in range(12):
        world.unit(puts=[message(number, 700)])
    world.engine.recovery.checkpoint()
    world.unit(puts=[message(number, 700) for number in range(12, 16)], gets=2)
    return world


def test_a_page_that_restart_cannot_read_is_made_anew_or_named():
    """X4: what the log has all of is made from it; else nothing starts, and nothing is lost when it can be read."""
    world = written_early(FaultyDisk())
    pages = len(world.disk.files["pageset-01"].seen) // PAGE
    refusals = []
    for page in range(pages):
        disk = lost(world.disk.after_power_cut(), "pageset-01", range(page * PAGE, page * PAGE + 1))
        found, why = found_by_restart(disk)
        assert world.state == found
        assert not why or "pageset-01" in why or f"page={page}" in why, why
        refusals.append(bool(why))
    assert {True, False} == set(refusals)


def test_a_page_that_restart_has_made_anew_need_not_be_readable():
    """A1: it is in the buffer pool, with those that are read beside it; an image copy has it too (Y6)."""
    settings = replace(TINY, buffer_pools={0: 16, 1: 200})
    world = World(FaultyDisk(), settings)
    world.unit(puts=[message(number, LONG) for number in range(12)])
    world.engine.buffers.write_all()
    for page in sorted({arrival.page for arrival in world.engine.data.browse(world.engine.queue)}):
        disk = lost(world.disk.after_power_cut(), "pageset-01", range(page * PAGE + 512, page * PAGE + 1024))
        engine = SmallEngine(disk, settings)
        assert world.state == engine.bodies()
        image_copy(engine.recovery, 1, disk)
        restore(disk, 1)
        assert world.state == found_after(disk, settings)


def test_a_page_that_is_not_in_use_need_not_be_readable_for_an_image_copy():
    """Y6: it is copied empty."""
    world = written_early(FaultyDisk())
    page = len(world.disk.files["pageset-01"].seen) // PAGE - 1
    lost(world.disk, "pageset-01", range(page * PAGE, page * PAGE + 512))
    image_copy(world.engine.recovery, 1, world.disk)
    restore(world.disk, 1)
    assert world.state == found_after(world.disk)


# -- log: an active log, in restart


@pytest.mark.parametrize("at", range(0, 64 << 10, 4096))
def test_a_log_that_restart_cannot_read_is_named_and_is_not_its_end(at):
    """LR2: an end that is none would take away what was committed behind it."""
    world = written_early(FaultyDisk())
    disk = lost(world.disk.after_power_cut(), "log1-01", range(at, at + 1))
    found, why = found_by_restart(disk)
    assert world.state == found
    assert not why or "log1-01" in why


@pytest.mark.parametrize("ring", [0, 4])
@pytest.mark.parametrize("behind", [1, 2, 5])
def test_what_is_behind_the_end_of_the_log_need_not_be_readable(behind, ring):
    """LR2: nobody needs it, be it never written or of an earlier range; it can be read when the log has come there."""
    world = written_early(FaultyDisk())
    files = world.engine.log.files
    while files.start < ring * files.size or world.engine.log.end < files.start + 5000:
        world.unit(puts=[message(50, 3000)], gets=1)
    name, end = files.current_name(0), world.engine.log.end
    at = (end - files.start) // 4096 * 4096 + behind * 4096
    disk = lost(world.disk.after_power_cut(), name, range(at, at + 512))
    world.engine = SmallEngine(disk, TINY)
    assert world.state == world.engine.bodies()
    while world.engine.log.end < files.start + at + 4096:
        world.unit(puts=[message(60, 3000)], gets=1)
    assert {} == disk.unreadable
    assert world.state == found_after(disk, TINY)


@pytest.mark.parametrize("left", [5000, 200_000])
def test_what_is_left_behind_the_end_claims_nothing_that_cannot_be_read(left):
    """LR2: a header of another RBA is no record, however long: what it seems to go on in need not be readable."""
    world = written_early(FaultyDisk())
    while CI - world.engine.log.end % CI < 100:
        world.unit(puts=[message(50)])
    files, end = world.engine.log.files, world.engine.log.end
    at = end - files.start
    header = HEADER.pack(0, left, end + 1, 0, 0, 0, 1, 0, Kind.FILLER, 0)
    disk = world.disk.after_power_cut()
    for image in (disk.files["log1-01"].seen, disk.files["log1-01"].durable):
        image[at : at + len(header)] = header
    lost(disk, "log1-01", range(at // CI * CI + CI, at // CI * CI + CI + 1))
    assert (world.state, "") == found_by_restart(disk)


def test_a_last_record_that_cannot_be_read_to_its_end_is_told_with_what_helps():
    """LR2: its RBA, and that zeros in the place of what cannot be read let the log end there."""
    world = written_early(FaultyDisk())
    log = world.engine.log
    before, begins = world.state, log.end
    world.unit(puts=[message(50, 9000)])
    disk = world.disk.after_power_cut()
    at = (begins - log.files.start) // CI * CI + CI
    lost(disk, "log1-01", range(at, at + 512))
    with pytest.raises(Abend, match=r"LR2.*quaestor log cold-start") as caught:
        SmallEngine(disk, TINY)
    assert f"{log.files.start + at:012X}" == caught.value.facts["rba"]
    assert "log1-01" in caught.value.facts["error"]
    disk.files["log1-01"].seen[at : at + CI] = disk.files["log1-01"].durable[at : at + CI] = bytes(CI)
    disk.unreadable.clear()
    assert before == found_after(disk)


@pytest.mark.parametrize("at", range(0, 64 << 10, 4096))
def test_of_two_copies_of_the_log_one_is_enough(at):
    settings = replace(TINY, dual_logs=True)
    world = written_early(FaultyDisk(), settings)
    disk = lost(world.disk.after_power_cut(), "log1-01", range(at, at + 1))
    assert world.state == found_after(disk, settings)


@pytest.mark.parametrize("copy", [1, 2])
def test_of_two_copies_each_is_enough_where_the_other_cannot_be_read(copy):
    """AL5, LR3: they are damaged at different places; the next start may find another place of the other so."""
    settings = replace(TINY, dual_logs=True)
    world = written_early(FaultyDisk(), settings)
    disk = lost(world.disk.after_power_cut(), f"log{copy}-01", range(512, 1024))
    lost(disk, f"log{3 - copy}-01", range(20 << 10, (20 << 10) + 512))
    assert world.state == found_after(disk, settings)


@pytest.mark.parametrize("read", [True, False])
@pytest.mark.parametrize("copy", [1, 2])
def test_a_copy_of_the_log_that_cannot_be_read_is_made_good(copy, read):
    """LR3, LR4: what a restart has read is in both copies, and what stands in front of the end in its CI."""
    settings = replace(TINY, dual_logs=True)
    world = written_early(FaultyDisk(), settings)
    log = world.engine.log
    if not read:
        world.unit(puts=[message(50)], outcome="leave")
        world.engine.recovery.prepare(next(iter(world.engine.recovery.units.values())), b"xid")
        world.engine.recovery.checkpoint()
    at = (log.end - log.files.start) // 4096 * 4096
    assert read == (log.files.start + at > log.files.inventory.checkpoints[-1])
    disk = lost(world.disk.after_power_cut(), f"log{copy}-01", range(at, at + 512))
    disk = SmallEngine(disk, settings).disk.after_power_cut()
    lost(disk, f"log{3 - copy}-01", range(at, at + 512))
    assert world.state == found_after(disk, settings)


def test_a_bootstrap_data_set_that_cannot_be_read_is_named():
    world = written_early(FaultyDisk())
    disk = lost(world.disk.after_power_cut(), "BSDS1")
    with pytest.raises((OSError, Abend), match="BSDS1"):
        SmallEngine(disk, TINY)
    disk.unreadable.clear()
    assert world.state == found_after(disk, TINY)


def test_of_two_bootstrap_data_sets_one_is_enough():
    settings = replace(TINY, dual_logs=True)
    world = written_early(FaultyDisk(), settings)
    assert world.state == found_after(lost(world.disk.after_power_cut(), "BSDS1"), settings)


@pytest.mark.parametrize("asynchronous", [True, False])
@pytest.mark.parametrize("dual", [True, False])
def test_an_active_log_is_used_again_over_what_cannot_be_read(asynchronous, dual):
    """J8: nothing is wanted of what was there, so nobody has to read it: no copy is stopped, and nothing fails."""
    settings = replace(TINY, wrthrsh=1, dual_logs=dual, logs=2, log_bytes=128 << 10)
    for ci in range(0, settings.log_bytes // PAGE, 5):
        disk = FaultyDisk()
        disk.asynchronous = asynchronous
        world = World(disk, settings)
        lost(disk, "log1-02", range(ci * PAGE + 512, ci * PAGE + 1024))
        for number in range(30):
            world.unit(puts=[message(2 * number, 9000), message(2 * number + 1, 700)], gets=2 * (number > 3))
        assert not disk.unreadable
        assert [] == world.engine.log.files.inventory.stopped
        assert world.state == found_after(disk, settings)


# -- archives and image copies: in media recovery

ARCHIVED = replace(TINY, archive=True, buffer_pools={0: 16, 1: 64})


def copied():
    """A page set with an image copy, and after that more than the active logs hold."""
    world = World(FaultyDisk(), ARCHIVED)
    world.unit(puts=[message(0, 700)])
    image_copy(world.engine.recovery, 1, world.disk)
    number = 1
    while len(world.engine.log.files.inventory.archives) < 4:
        world.unit(puts=[message(number, 700)], gets=1)
        number += 1
        archive_all(world.engine)
    return world


def test_an_archive_that_media_recovery_cannot_read_is_named():
    world = copied()
    disk = world.disk.after_power_cut()
    restore(disk, 1)
    name = disk.names("archive-")[1]
    lost(disk, name)
    with pytest.raises((OSError, Abend), match=name):
        SmallEngine(disk, ARCHIVED)
    disk.unreadable.clear()
    assert world.state == found_after(disk, ARCHIVED)


def test_an_image_copy_that_cannot_be_read_leaves_the_page_set_there_is():
    world = copied()
    disk = world.disk.after_power_cut()
    size = disk.open(copy_name(1)).size()
    for at in (0, PAGE, size // 2, size - 1):
        lost(disk, copy_name(1), range(at, at + 1))
        with pytest.raises((OSError, Abend), match=copy_name(1)):
            restore(disk, 1)
        disk.unreadable.clear()
    assert world.state == found_after(disk, ARCHIVED)


def test_a_page_that_cannot_be_read_is_in_no_image_copy():
    """The copy before it stays."""
    world = copied()
    kept = bytes(world.disk.files[copy_name(1)].seen)
    world.engine.buffers.write_all()
    (page,) = {arrival.page for arrival in world.engine.data.browse(world.engine.queue)}
    lost(world.disk, "pageset-01", range(PAGE * page, PAGE * page + 1))
    with pytest.raises((OSError, Abend, TornPageError), match="page"):
        image_copy(world.engine.recovery, 1, world.disk)
    assert kept == bytes(world.disk.files[copy_name(1)].seen)


# -- the disk itself


def test_what_is_written_again_can_be_read():
    disk = FaultyDisk()
    file = disk.create("file", PAGE)
    lost(disk, "file", range(10, 20))
    assert bytes(10) == file.read(0, 10)
    with pytest.raises(OSError) as caught:
        file.read(19, 1)
    assert (errno.EIO, "file") == (caught.value.errno, caught.value.filename)
    with pytest.raises(OSError, match="EIO"):
        file.write(10, bytes(9))
    with pytest.raises(OSError, match="EIO"):
        file.read(0, PAGE)
    file.write(0, bytes(PAGE))
    assert bytes(PAGE) == file.read(0, PAGE)
    lost(disk, "file", range(10, 20))
    assert file.start_write_through(0, memoryview(bytes(PAGE))).over(wait=True)
    assert bytes(PAGE) == file.read(0, PAGE)
