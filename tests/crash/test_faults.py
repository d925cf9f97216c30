"""Bad media: the right answer, a consistent engine or a clean stop, and a name for what is wrong."""

import errno
import os
from dataclasses import replace
from zlib import crc32

import pytest

from crash.scenarios import TINY, World, checkpoints, commit, commit_in_flight, found_after, message, operations_of
from quaestor.clock import SystemClock
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.buffer import TornPageError
from quaestor.qmgr.checker import check
from quaestor.qmgr.data.engine import Engine
from quaestor.qmgr.recovery.cold import cold_start
from quaestor.qmgr.recovery.media import image_copy, restore
from quaestor.storage.disk import InUseError
from quaestor.storage.log_files import LogFiles
from quaestor.storage.log_record import Kind
from quaestor.storage.page import HEADER_LENGTH, seal
from quaestor.storage.real_disk import RealDisk
from quaestor.testing import FaultyDisk, SmallEngine

pytestmark = pytest.mark.crash


def test_a_log_that_cannot_be_written_confirms_nothing_more():
    world = World(FaultyDisk())
    world.unit(puts=[message(1)])
    engine, disk = world.engine, world.disk
    unit = engine.begin()
    engine.put(unit, message(2))
    disk.fail_at[disk.operations + 1] = errno.EIO
    with pytest.raises(Abend, match="J5"):
        engine.commit(unit)
    again = engine.begin()
    engine.put(again, message(3))
    with pytest.raises(Abend, match="J5"):
        engine.commit(again)
    restarted = SmallEngine(disk.after_power_cut(), TINY)
    assert [message(1)] == restarted.bodies()
    assert [] == check(restarted.data)


def test_a_page_set_without_space_refuses_the_message_and_nothing_else():
    world = World(FaultyDisk())
    world.unit(puts=[message(1)])
    engine = world.engine
    engine.queue.page_set.file.extend = no_space
    unit = engine.begin()
    with pytest.raises(MQError) as told:
        put_many(engine, unit, 40, 40)
    assert Reason.STORAGE_MEDIUM_FULL == told.value.reason
    assert [] == check(engine.data)
    placed = len(unit.puts)
    with pytest.raises(MQError):
        engine.put(unit, message(99, 50_000))  # fails half way through its text pages
    assert placed == len(unit.puts)
    engine.commit(unit)
    assert 1 + placed == engine.queue.depth == len(engine.bodies())
    assert [] == check(engine.data)
    assert 1 + placed == len(SmallEngine(world.disk.after_power_cut(), TINY).bodies())


def put_many(engine, unit, count, size):
    for n in range(count):
        engine.put(unit, message(n, size))


def no_space(_size):
    raise OSError(errno.ENOSPC, "no space")


@pytest.mark.plain
def test_33_a_full_log_refuses_new_work_and_still_ends_what_it_has():
    """2056."""
    world = World(FaultyDisk(), replace(TINY, archive=True))
    world.unit(puts=[message(1)])
    engine = world.engine
    engine.log.files.offload = no_space
    unit = engine.begin()
    with pytest.raises(MQError) as told:
        put_many(engine, unit, 200, 3500)
    assert Reason.Q_SPACE_NOT_AVAILABLE == told.value.reason
    engine.back_out(unit)
    assert [message(1)] == engine.bodies()
    assert [] == check(engine.data)


MANY_BUFFERS = replace(TINY, logs=2, log_bytes=128 << 10, buffer_pools={0: 24, 1: 400}, pages=256, logload=10**6)
FEW_BUFFERS = replace(MANY_BUFFERS, buffer_pools={0: 12, 1: 8})


def with_pages_to_log_again():
    """After a checkpoint many pages are changed, so that a restart logs their images."""
    world = World(FaultyDisk(), MANY_BUFFERS)
    world.unit(puts=[message(n, 700) for n in range(100)])
    world.engine.buffers.write_all()
    for _ in range(2):
        world.engine.recovery.checkpoint()
    world.engine.log.check_space()
    for _ in range(90):
        world.unit(gets=1)
    return world


@pytest.mark.plain
def test_a_restart_without_log_for_page_images_says_what_to_do(monkeypatch):
    """J5: as often as it is tried, nothing is lost; more buffers or space for an archive end it."""
    world = with_pages_to_log_again()
    disk = world.disk.after_power_cut()
    with monkeypatch.context() as full:
        full.setattr(LogFiles, "make_ready", lambda _files: no_space(0))
        assert world.state == found_after(disk.after_power_cut(), MANY_BUFFERS)
        for _ in range(4):
            with pytest.raises(Abend, match=r"J5.*nothing is lost; make space .*more buffers.*no space"):
                SmallEngine(disk, FEW_BUFFERS)
            disk = disk.after_power_cut()
    assert world.state == found_after(disk, FEW_BUFFERS)


@pytest.mark.plain
@pytest.mark.parametrize("before", [0, 1440, 2880])
def test_starts_without_log_for_page_images_leave_what_one_with_more_buffers_needs(monkeypatch, before):
    """J6: however the images come to lie in the last of the log."""
    world = with_pages_to_log_again()
    world.engine.log.append(Kind.FILLER, 0, 0, 0, 0, 0, bytes(before))
    world.engine.log.force(world.engine.log.end - 1)
    disk = world.disk.after_power_cut()
    monkeypatch.setattr(LogFiles, "make_ready", lambda _files: no_space(0))
    for _ in range(4):
        with pytest.raises(Abend, match="J5"):
            SmallEngine(disk, FEW_BUFFERS)
        disk = disk.after_power_cut()
    assert world.state == found_after(disk, MANY_BUFFERS)


@pytest.mark.plain
def test_media_recovery_without_log_for_page_images_wants_space_for_an_archive(monkeypatch):
    """J5: it writes all it has redone, with many buffers too; nothing is lost, as often as it is tried."""
    settings = replace(TINY, logs=2, log_bytes=128 << 10, buffer_pools={0: 24, 1: 400}, pages=256, logload=10**6)
    settings = replace(settings, archive=True)
    world = World(FaultyDisk(), settings)
    world.unit(puts=[message(n, 700) for n in range(100)])
    world.engine.buffers.write_all()
    image_copy(world.engine.recovery, 1, world.disk)
    for _ in range(90):
        world.unit(gets=1)
    disk = world.disk.after_power_cut()
    restore(disk, 1)
    with monkeypatch.context() as full:
        full.setattr(LogFiles, "make_ready", lambda _files: no_space(0))
        for buffers in (8, 400, 8, 400):
            with pytest.raises(Abend, match=r"J5.*nothing is lost; make space .*but for media recovery"):
                SmallEngine(disk, replace(settings, buffer_pools={0: 12, 1: buffers}))
            disk = disk.after_power_cut()
    assert world.state == found_after(disk, settings)


def test_a_new_queue_manager_deletes_nothing_that_is_not_its_own():
    """What a start that was cut while making left is made again; other files of the directory stay."""
    disk = FaultyDisk()
    names = ("login.txt", "logs", "log1-01.bak", "BSDS1.old")
    for name in (*names, "log1-01", "log2-310", "BSDS2"):
        disk.create(name, 4)
    SmallEngine(disk, TINY)
    assert all(disk.exists(name) for name in names)
    assert not disk.exists("log2-310")


def test_a_missing_page_set_is_named():
    world = World(FaultyDisk())
    world.unit(puts=[message(1)])
    disk = world.disk.after_power_cut()
    del disk.files["pageset-01"]
    with pytest.raises(Abend, match="image copy"):
        SmallEngine(disk, TINY)


def test_a_truncated_page_set_is_named():
    world = World(FaultyDisk())
    disk = world.disk.after_power_cut()
    del disk.files["pageset-01"].seen[8 * 4096 :]
    with pytest.raises(Abend, match="too short"):
        SmallEngine(disk, TINY)


def test_a_missing_log_is_named():
    disk = World(FaultyDisk()).disk.after_power_cut()
    del disk.files["log1-02"]
    with pytest.raises(Abend, match="log1-02"):
        SmallEngine(disk, TINY)


def test_damage_in_the_middle_of_the_log_is_not_taken_for_its_end():
    world = World(FaultyDisk())
    world.unit(puts=[message(1)])
    world.engine.recovery.checkpoint()
    world.engine.recovery.checkpoint()
    rba = world.engine.log.files.inventory.checkpoints[-2]
    disk = world.disk.after_power_cut()
    world.engine.log.files.inventory.checkpoints.pop()
    disk.files["log1-01"].seen[rba - 4096 + 60] ^= 0xFF
    disk.files["log1-01"].durable[rba - 4096 + 60] ^= 0xFF
    restarted = SmallEngine(disk, TINY)
    assert [message(1)] == restarted.bodies()


def test_one_copy_of_a_dual_log_may_be_lost():
    world = World(FaultyDisk(), replace(TINY, dual_logs=True))
    world.unit(puts=[message(1), message(2)])
    disk = world.disk.after_power_cut()
    for name in ("log1-01", "log1-02", "log1-03"):
        disk.files[name].seen[:] = bytes(len(disk.files[name].seen))
    assert [message(1), message(2)] == SmallEngine(disk, world.settings).bodies()


def test_a_lost_bootstrap_copy_is_made_up_for_by_the_other():
    world = World(FaultyDisk(), replace(TINY, dual_logs=True))
    world.unit(puts=[message(1)])
    disk = world.disk.after_power_cut()
    disk.files["BSDS1"].seen[:] = b"?" * len(disk.files["BSDS1"].seen)
    assert [message(1)] == SmallEngine(disk, world.settings).bodies()


def test_a_second_process_is_told_who_has_the_files(tmp_path):
    disk = RealDisk(tmp_path)
    disk.own()
    with pytest.raises(InUseError, match=str(os.getpid())):
        RealDisk(tmp_path).own()
    disk.disown()
    RealDisk(tmp_path).own()


@pytest.mark.parametrize("left", ["", "1234567890123456789\n"])
def test_a_full_disk_can_be_started_from(left, tmp_path, monkeypatch):
    """Who has the files is written over in place; where even that fails the lock alone counts."""
    if left:
        (tmp_path / "in-use").write_text(left)
    size = len(left)
    pwrite = os.pwrite

    def full(fd, data, offset):
        if offset + len(data) > size + 1:
            raise OSError(errno.ENOSPC, "no space")
        return pwrite(fd, data, offset)

    monkeypatch.setattr(os, "pwrite", full)
    disk = RealDisk(tmp_path)
    disk.own()
    with pytest.raises(InUseError, match=str(os.getpid()) if left else "unknown"):
        RealDisk(tmp_path).own()
    disk.disown()


def test_a_clean_stop_leaves_nothing_to_redo(tmp_path):
    engine = SmallEngine(RealDisk(tmp_path))
    unit = engine.begin()
    engine.put(unit, message(1))
    engine.commit(unit)
    engine.recovery.latch.release()
    engine.engine.stop()
    restarted = Engine(RealDisk(tmp_path), SystemClock(), engine.engine.settings).start()
    assert 0 == restarted.changes_redone


# -- what stops a start says which file it is and what to do


def damage(image, at):
    """One byte is not what it was, on the disk and for good."""
    image.seen[at] ^= 0xFF
    image.durable[at] ^= 0xFF


def started_and_put(settings=TINY, count=3):
    world = World(FaultyDisk(), settings)
    for n in range(count):
        world.unit(puts=[message(n)])
    return world


def test_a_bootstrap_data_set_that_is_gone_is_not_made_again():
    world = started_and_put()
    disk = world.disk.after_power_cut()
    del disk.files["BSDS1"]
    before = {name: bytes(image.seen) for name, image in disk.files.items()}
    with pytest.raises(Abend, match="put it back, or cold start"):
        SmallEngine(disk, TINY)
    assert before == {name: bytes(image.seen) for name, image in disk.files.items()}


def test_a_bootstrap_data_set_of_another_format_is_named():
    disk = started_and_put().disk.after_power_cut()
    image = disk.files["BSDS1"].seen
    for place in (0, 1 << 18):
        image[place + 7] = 99
        length = int.from_bytes(image[place + 16 : place + 20], "big")
        checksum = crc32(image[place : place + 20] + image[place + 24 : place + 24 + length])
        image[place + 20 : place + 24] = checksum.to_bytes(4, "big")
    with pytest.raises(Abend, match=r"another format.*format=99"):
        SmallEngine(disk, TINY)


def test_a_page_set_of_another_format_is_named():
    world = started_and_put()
    world.engine.buffers.write_all()
    disk = world.disk.after_power_cut()
    first = bytearray(disk.files["pageset-01"].seen[:4096])
    first[HEADER_LENGTH + 9] = 7
    seal(first, 0)
    disk.files["pageset-01"].seen[:4096] = first
    with pytest.raises(Abend, match=r"another format; get its messages with the version that wrote it.*format=7"):
        SmallEngine(disk, TINY)


def test_a_page_set_in_the_place_of_another_is_refused():
    disk = started_and_put().disk.after_power_cut()
    disk.files["pageset-01"] = disk.files["pageset-00"]
    with pytest.raises((Abend, TornPageError), match="not"):
        SmallEngine(disk, TINY)


@pytest.mark.parametrize("name", ["BSDS1", "log1-02", "archive-0000000000001000"])
def test_a_file_of_another_kind_in_the_place_of_a_page_set_is_refused(name):
    """Its first page seems torn, and the log has page 0; behind it are zeros, which are no space map (P2)."""
    world = World(FaultyDisk(), replace(TINY, archive=True))
    for n in range(60):
        world.unit(puts=[message(n, 2000)])
        world.engine.run_tasks()
    disk = world.disk.after_power_cut()
    disk.files["pageset-01"] = disk.files[name]
    with pytest.raises((Abend, TornPageError), match="image copy"):
        SmallEngine(disk, world.settings)


def zeros_for_a_space_map(disk):
    for image in (disk.files["pageset-01"].seen, disk.files["pageset-01"].durable):
        image[4096:8192] = bytes(4096)
    return disk


def test_a_space_map_page_of_zeros_is_damage():
    """As free pages they would be given to others (P2); neither restart nor a cold start nor an image copy takes it."""
    world = started_and_put()
    world.engine.buffers.write_all()
    for _ in range(3):
        world.engine.recovery.checkpoint()
    disk = zeros_for_a_space_map(world.disk.after_power_cut())
    with pytest.raises(TornPageError, match="page 1 of page set 1 is not whole; recover the page set"):
        SmallEngine(disk, TINY)
    with pytest.raises(Abend, match=r"CS3: a page is not whole.*page_set=1, page=1"):
        cold_start(disk)
    zeros_for_a_space_map(world.disk)
    with pytest.raises(Abend, match=r"Y6: a page is not whole and no image copy is taken"):
        image_copy(world.engine.recovery, 1, world.disk)


def test_a_truncated_log_is_named():
    disk = started_and_put().disk.after_power_cut()
    del disk.files["log1-02"].seen[100:]
    with pytest.raises(Abend, match=r"too short.*log1-02"):
        SmallEngine(disk, TINY)


def test_a_missing_archive_that_restart_needs_is_named():
    """A unit that is in flight needs records that only an archive has."""
    world = World(FaultyDisk(), replace(TINY, archive=True, logload=10**6))
    world.unit(puts=[message(n, 3500) for n in range(90)], outcome="leave")
    engine = world.engine
    engine.log.force(engine.log.end - 1)
    disk = engine.disk.after_power_cut()
    archives = [name for name in disk.files if name.startswith("archive")]
    assert archives
    for name in archives:
        del disk.files[name]
    with pytest.raises(Abend, match=r"archive that restart needs is missing; put it back.*archive-"):
        SmallEngine(disk, world.settings)


def test_a_torn_page_is_made_good_from_the_log():
    world = started_and_put()
    world.engine.buffers.write_all()
    world.unit(puts=[message(9)])
    disk = world.disk.after_power_cut()
    pages = disk.files["pageset-01"].seen
    used = [n for n in range(2, 16) if any(pages[n * 4096 : n * 4096 + 4096])]
    for page in used:
        damage(disk.files["pageset-01"], page * 4096 + 1000)
    assert world.state == SmallEngine(disk, TINY).bodies()


def test_a_torn_page_that_the_log_no_longer_has_is_named():
    world = started_and_put()
    world.engine.buffers.write_all()
    for _ in range(3):
        world.engine.recovery.checkpoint()
    disk = world.disk.after_power_cut()
    pages = disk.files["pageset-01"].seen
    used = next(n for n in range(2, 16) if any(pages[n * 4096 : n * 4096 + 4096]))
    damage(disk.files["pageset-01"], used * 4096 + 1000)
    with pytest.raises(TornPageError, match=f"page {used} of page set 1 is not whole"):
        SmallEngine(disk, TINY)


def test_a_corrupt_tail_of_the_log_ends_it_where_nothing_was_confirmed():
    world = started_and_put()
    engine = world.engine
    end = engine.log.end
    world.unit(puts=[message(7)], outcome="leave")
    engine.log.force(engine.log.end - 1)
    disk = engine.disk.after_power_cut()
    damage(disk.files["log1-01"], end - 4096 + 50)
    restarted = SmallEngine(disk, TINY)
    assert world.state == restarted.bodies()
    assert [] == check(restarted.data)


@pytest.mark.parametrize("copy", ["log1-01", "log2-01"])
def test_either_copy_of_a_dual_log_may_be_damaged_anywhere(copy):
    settings = replace(TINY, dual_logs=True)
    world = started_and_put(settings, 6)
    end = world.engine.log.end
    for at in range(0, end - 4096, 701):
        disk = world.disk.after_power_cut()
        for place in range(at, min(at + 700, end - 4096)):
            damage(disk.files[copy], place)
        restarted = SmallEngine(disk, settings)
        assert world.state == restarted.bodies(), f"{copy} damaged at {at}"
        good = SmallEngine(restarted.disk.after_power_cut(), settings)
        assert world.state == good.bodies()


@pytest.mark.parametrize(
    ("end", "operation", "copy"),
    [
        (commit, 1, 1),
        (commit, 3, 2),
        (commit_in_flight, 1, 1),
        (commit_in_flight, 2, 2),
        (commit_in_flight, 3, 1),
        (commit_in_flight, 4, 2),
    ],
)
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_an_error_on_either_copy_of_a_dual_log_is_survived(end, operation, copy, code):
    """One good copy is enough: the commit is answered, and holds after a power cut (AL2, AL4).

    Operations: each is written and then synced, or both are handed over and then end.
    """
    world = started_and_put(replace(TINY, dual_logs=True))
    engine, disk = world.engine, world.disk
    unit = engine.begin()
    engine.put(unit, message(9))
    disk.fail_at[disk.operations + operation] = code
    end(engine, unit)
    assert [(0, copy - 1)] == engine.log.files.inventory.stopped
    restarted = SmallEngine(disk.after_power_cut(), world.settings)
    assert [*world.state, message(9)] == restarted.bodies()
    assert [] == check(restarted.data)


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_an_error_while_pages_are_written_stops_and_loses_nothing(code):
    world = started_and_put()
    engine, disk = world.engine, world.disk
    engine.log.force(engine.log.end - 1)
    disk.fail_at = dict.fromkeys(range(disk.operations + 1, disk.operations + 40), code)
    with pytest.raises((OSError, Abend)):
        engine.buffers.write_all()
    restarted = SmallEngine(disk.after_power_cut(), TINY)
    assert world.state == restarted.bodies()
    assert [] == check(restarted.data)


def test_every_single_io_error_stops_cleanly_or_changes_nothing():
    """One operation after the other fails once; whatever the script had been told holds after restart."""
    operations = operations_of(checkpoints)
    for number in range(1, operations + 1, 3):
        disk = FaultyDisk()
        disk.fail_at[number] = errno.EIO
        allowed = [[]]
        try:
            world = World(disk)
            try:
                checkpoints(world)
            finally:
                allowed = world.allowed
        except (OSError, Abend, MQError):
            pass
        disk.fail_at = {}
        assert found_after(disk.after_power_cut()) in allowed, f"operation {number} failed"
