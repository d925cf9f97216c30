"""Two copies of the log: overlapped, and one is enough when the other cannot be written."""

import errno
import threading
from dataclasses import replace
from itertools import product

import pytest

from crash.scenarios import TINY, World, found_after, message, puts_and_gets, run_until_cut
from quaestor.clock import FakeClock
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.checker import check
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.storage.log_files import CI, LogFiles
from quaestor.storage.log_record import HEADER_LENGTH, Kind
from quaestor.storage.real_disk import RealDisk
from quaestor.testing import FaultyDisk, FaultyFile, PowerCut, SmallEngine

pytestmark = [pytest.mark.crash, pytest.mark.plain]
DUAL = replace(TINY, dual_logs=True, archive=True)


@pytest.fixture
def broken(monkeypatch):
    """Names of which every write fails, as long as they are in the set."""
    names = set()

    def failing(real):
        def request(self, *args):
            if any(self.name.startswith(name) for name in names):
                raise OSError(errno.EIO, "broken", self.name)
            return real(self, *args)

        return request

    for name in ("write", "write_through", "start_write_through", "sync"):
        monkeypatch.setattr(FaultyFile, name, failing(getattr(FaultyFile, name)))
    return names


@pytest.mark.parametrize("copy", ["log1", "log2"])
def test_the_log_goes_on_with_one_copy(broken, copy):
    world = World(FaultyDisk(), DUAL)
    world.unit(puts=[message(1)])
    broken.add(copy)
    world.unit(puts=[message(2)])
    world.unit(puts=[message(3)], gets=1)
    broken.clear()
    engine = SmallEngine(world.disk.after_power_cut(), DUAL)
    assert [message(2), message(3)] == engine.bodies()
    assert [] == check(engine.data)


@pytest.mark.parametrize("copy", ["log1", "log2"])
def test_a_copy_that_fails_in_the_restart_after_a_cut_leaves_the_other_whole(broken, copy):
    """What the cut left in one copy alone has become part of the log by then."""

    def script(world):
        world.unit(puts=[message(n, 3000) for n in range(6)])
        world.unit(puts=[message(n, 3000) for n in range(6, 12)], gets=3)

    whole = FaultyDisk()
    run_until_cut(script, whole, DUAL)
    for cut, seed in product(range(whole.operations - 10, whole.operations), range(3)):
        broken.clear()
        disk = FaultyDisk(cut_after=cut)
        allowed = run_until_cut(script, disk, DUAL)
        disk = disk.after_power_cut(seed)
        broken.add(copy)
        assert found_after(disk, DUAL) in allowed, f"cut after {cut}, seed {seed}"
        broken.clear()
        assert found_after(disk.after_power_cut(seed), DUAL) in allowed, f"cut after {cut}, seed {seed}"


def test_what_a_cut_left_in_one_copy_alone_is_in_both_where_the_log_is_read_from_an_archive_on():
    """LR3: restart begins in an archive; the log behind it is as much in active logs as any other."""
    settings = replace(DUAL, logs=2, buffer_pools={0: 64, 1: 200})
    world = World(FaultyDisk(), settings)
    world.unit(puts=[message(n, 3000) for n in range(60)], outcome="leave")  # no unit ends: no checkpoint
    log, files = world.engine.log, world.engine.log.files
    log.force(log.end - 1)
    assert files.inventory.checkpoints[-1] < files.oldest_active()
    end = log.end - files.start
    disk, names = world.disk.after_power_cut(), [files.current_name(copy) for copy in (0, 1)]
    disk.files[names[1]].write(end // 2, bytes(CI))
    assert [] == found_after(disk, settings)
    first, second = (disk.files[name].seen for name in names)
    assert first[:end] == second[:end]


@pytest.mark.parametrize("copy", ["log1-01", "log2-01"])
@pytest.mark.parametrize("behind", [100, CI - 20])
def test_what_one_copy_alone_has_good_in_the_last_ci_is_not_written_over(copy, behind):
    """LR4: what a unit in doubt has prepared is in front of the last checkpoint; the log goes on before it is read."""
    world = World(FaultyDisk(), DUAL)
    log, recovery = world.engine.log, world.engine.recovery
    log.append(Kind.FILLER, 0, 0, 0, 0, 0, bytes(CI - log.end % CI))
    unit = world.unit(puts=[message(1)], outcome="leave")
    recovery.prepare(unit, b"xid")
    recovery.checkpoint()
    log.append(Kind.FILLER, 0, 0, 0, 0, 0, bytes(max(behind - log.end % CI - HEADER_LENGTH, 0)))
    log.force(log.end - 1)
    assert unit.last // CI == log.end // CI
    disk = world.disk.after_power_cut()
    disk.files[copy].write(unit.last - log.files.start, b"damaged")
    engine = SmallEngine(disk, DUAL)
    engine.put(unit := engine.begin(), message(2))
    engine.commit(unit)
    again = engine.again()
    again.recovery.resolve(b"xid", commit=True)
    assert [message(1), message(2)] == again.bodies()
    assert [] == check(again.data)


@pytest.mark.parametrize("copy", ["log1", "log2"])
def test_power_goes_at_any_moment_while_one_copy_is_broken(broken, copy):
    def script(world):
        world.unit(puts=[message(90)])
        broken.add(copy)
        puts_and_gets(world)

    broken.clear()
    whole = FaultyDisk()
    run_until_cut(script, whole, DUAL)
    for cut in range(0, whole.operations + 1, 3):
        broken.clear()
        disk = FaultyDisk(cut_after=cut, seed=cut)
        allowed = run_until_cut(script, disk, DUAL)
        assert found_after(disk.after_power_cut(), DUAL) in allowed, f"cut after {cut}"


def test_an_archive_is_taken_of_the_whole_copy_and_the_ring_tries_the_other_again(broken):
    """That a copy was stopped is known over a restart; when the ring comes round to it, there are two again."""
    world = World(FaultyDisk(), DUAL)
    world.unit(puts=[message(0)])
    broken.add("log1")
    world.unit(puts=[message(1)])
    broken.clear()
    engine = world.engine = SmallEngine(world.disk.after_power_cut(), DUAL)
    files = engine.log.files
    assert [(0, 0)] == files.inventory.stopped
    first = files.start
    while not files.inventory.archives:
        world.unit(puts=[message(2, 3000)], gets=1)
        engine.run_tasks()
    archived = engine.disk.open(files.inventory.archives[0][2]).read(0, files.size)
    assert archived == engine.disk.open("log2-01").read(0, files.size)
    assert [(0, 0)] == files.inventory.stopped
    while files.start < first + 4 * files.size:
        world.unit(puts=[message(2, 3000)], gets=1)
        engine.run_tasks()
    assert [] == files.inventory.stopped
    world.unit(puts=[message(3)])
    one, two = (engine.disk.open(files.current_name(copy)).read(0, files.size) for copy in (0, 1))
    assert one == two


@pytest.fixture
def unreadable(monkeypatch):
    """Names of which every read fails, as long as they are in the set."""
    names, read = set(), FaultyFile.read

    def failing(self, offset, size):
        if self.name in names:
            raise OSError(errno.EIO, "unreadable", self.name)
        return read(self, offset, size)

    monkeypatch.setattr(FaultyFile, "read", failing)
    return names


@pytest.mark.parametrize("writable", [True, False])
@pytest.mark.parametrize("copy", ["log1", "log2"])
def test_a_copy_that_cannot_be_read_is_made_up_for_by_the_other(unreadable, broken, copy, writable):
    """At restart, in a backout that reads the log, and in the work after it (AL5)."""
    world = World(FaultyDisk(), DUAL)
    puts_and_gets(world)
    world.unit(puts=[message(70)], outcome="leave")
    world.engine.log.force(world.engine.log.end - 1)
    unreadable.update(f"{copy}-0{number}" for number in (1, 2, 3))
    if not writable:
        broken.add(copy)
    world.engine = engine = SmallEngine(world.disk.after_power_cut(), DUAL)
    world.disk = engine.disk
    assert world.state == engine.bodies()
    world.unit(puts=[message(80)], gets=1)
    unreadable.clear()
    broken.clear()
    again = SmallEngine(engine.disk.after_power_cut(), DUAL)
    assert world.state == again.bodies()
    assert [] == check(again.data)


def test_a_log_that_no_copy_can_be_read_of_does_not_end_there(unreadable):
    """The error is told; nothing is taken for the end of the log (AL5)."""
    world = World(FaultyDisk(), DUAL)
    world.unit(puts=[message(1)])
    disk = world.disk.after_power_cut()
    before = {name: bytes(image.seen) for name, image in disk.files.items()}
    unreadable.update(("log1-01", "log2-01"))
    with pytest.raises((OSError, Abend), match="unreadable"):
        SmallEngine(disk, DUAL)
    assert before == {name: bytes(image.seen) for name, image in disk.files.items()}


def test_the_operator_is_told(broken):
    manager = QueueManager("QM1", FaultyDisk(), FakeClock(), DUAL)
    manager.start()
    broken.add("log2")
    with manager.connect("user") as app:
        app.define(LocalQueue("ORDERS", page_set=1))
        app.put("ORDERS", b"one")
        app.commit()
    broken.clear()
    said = [entry for entry in manager.operator_log.entries if entry.identifier == "CSQJ105E"]
    assert ["log2-01"] == [entry.facts["log"] for entry in said]
    manager.stop()


def test_without_any_copy_nothing_is_confirmed(broken):
    world = World(FaultyDisk(), DUAL)
    broken.update({"log1", "log2"})
    with pytest.raises(Abend, match="could not be written"):
        world.unit(puts=[message(1)])


def test_requests_made_together_overlap(tmp_path):
    """Each waits for the other: one after the other they would never end."""
    disk, both = RealDisk(tmp_path), threading.Barrier(2, timeout=10)

    def failing():
        both.wait()
        raise OSError(errno.EIO, "broken")

    first, second = disk.together([lambda: both.wait() and None, failing])
    assert first is None
    assert second.errno == errno.EIO
    disk.disown()


def test_without_knowing_of_the_stopped_copy_the_archive_would_have_a_hole(broken, monkeypatch):
    """The teeth of AL2: the archive is taken of the copy with the hole."""
    monkeypatch.setattr(LogFiles, "_copy_stopped", lambda self, number, copy, error: None)
    with pytest.raises((AssertionError, Abend, PowerCut)):
        test_an_archive_is_taken_of_the_whole_copy_and_the_ring_tries_the_other_again(broken)
