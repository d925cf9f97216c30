"""Two copies of the bootstrap data set: one is enough when the other cannot be written (S5)."""

from dataclasses import replace

import pytest

from crash.scenarios import TINY, World, checkpoints, found_after, log_switches, message, run_until_cut
from crash.test_dual_logs import broken  # noqa: F401 - a fixture
from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.checker import check
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.storage.bootstrap import Bootstrap
from quaestor.testing import FaultyDisk, SmallEngine

pytestmark = [pytest.mark.crash, pytest.mark.plain]
DUAL = replace(TINY, dual_logs=True, archive=True)
COPIES = pytest.mark.parametrize("copy", ["BSDS1", "BSDS2"])


def worked(world):
    """Everything that the bootstrap data set is told: checkpoints, switches, archives."""
    checkpoints(world)
    log_switches(world)
    world.engine.run_tasks()


@COPIES
def test_the_queue_manager_goes_on_with_one_copy(broken, copy):  # noqa: F811
    """Also after a power cut; then there are two again, and either is enough."""
    world = World(FaultyDisk(), DUAL)
    world.unit(puts=[message(1)])
    broken.add(copy)
    worked(world)
    broken.clear()
    assert not world.disk.exists(copy)
    disk = world.disk.after_power_cut()
    assert world.state == SmallEngine(disk, DUAL).bodies()
    for other in ("BSDS1", "BSDS2"):
        left = disk.after_power_cut()
        del left.files[other]
        engine = SmallEngine(left, DUAL)
        assert world.state == engine.bodies()
        assert [] == check(engine.data)


@COPIES
def test_a_start_with_a_copy_that_cannot_be_written_goes_on_too(broken, copy):  # noqa: F811
    world = World(FaultyDisk(), DUAL)
    world.unit(puts=[message(1)])
    broken.add(copy)
    world.engine = SmallEngine(world.disk.after_power_cut(), DUAL)
    world.disk = world.engine.disk
    worked(world)
    assert world.state == found_after(world.disk.after_power_cut(), DUAL)


@COPIES
def test_power_goes_at_any_moment_while_one_copy_is_broken(broken, copy):  # noqa: F811
    def script(world):
        world.unit(puts=[message(90)])
        broken.add(copy)
        checkpoints(world)

    broken.clear()
    whole = FaultyDisk()
    run_until_cut(script, whole, DUAL)
    for cut in range(0, whole.operations + 1, 5):
        broken.clear()
        disk = FaultyDisk(cut_after=cut, seed=cut)
        allowed = run_until_cut(script, disk, DUAL)
        broken.clear()
        assert found_after(disk.after_power_cut(), DUAL) in allowed, f"cut after {cut}"


def the_lost_copy_is_all_that_is_left(broken):  # noqa: F811
    """Logs were switched since it was lost: with what it says the log would end before them."""
    world = World(FaultyDisk(), DUAL)
    world.unit(puts=[message(1)])
    broken.add("BSDS2")
    log_switches(world)
    world.unit(puts=[message(99)])
    broken.clear()
    disk = world.disk.after_power_cut()
    del disk.files["BSDS1"]
    with pytest.raises(Abend, match=r"S3|G1"):
        SmallEngine(disk, DUAL)


def test_with_the_lost_copy_alone_nothing_starts(broken):  # noqa: F811
    the_lost_copy_is_all_that_is_left(broken)


def test_without_the_other_name_committed_work_is_lost_or_the_text_is_wrong(broken, monkeypatch):  # noqa: F811
    monkeypatch.setattr(FaultyDisk, "rename", lambda *_: None)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        the_lost_copy_is_all_that_is_left(broken)


def test_a_single_copy_that_cannot_be_written_stops_the_queue_manager(broken):  # noqa: F811
    """Cleanly: whatever was confirmed is there after a restart."""
    world = World(FaultyDisk(), TINY)
    world.unit(puts=[message(1)])
    broken.add("BSDS1")
    with pytest.raises((Abend, OSError)):
        checkpoints(world)
    broken.clear()
    assert found_after(world.disk.after_power_cut()) in world.allowed


def told(manager, identifier):
    return [entry.facts["copy"] for entry in manager.operator_log.entries if entry.identifier == identifier]


def test_the_operator_is_told_once_and_has_it_made_again(broken):  # noqa: F811
    manager = QueueManager("QM1", FaultyDisk(), FakeClock(), DUAL)
    manager.start(background=False)
    assert "CSQJ306I +QM1 DUAL BSDS MODE ALREADY ESTABLISHED" == manager.commands.run("RECOVER BSDS", "OPER").lines[0]
    broken.add("BSDS2")
    with manager.connect("user") as app:
        app.define(LocalQueue("ORDERS", page_set=1))
        for _ in range(3):
            app.put("ORDERS", b"one", MQMD(persistence=1))
            app.commit()
            assert manager.commands.run("ARCHIVE LOG", "OPER").ok
    assert ["BSDS2"] == told(manager, "CSQJ126E")
    refused = manager.commands.run("RECOVER BSDS", "OPER")
    assert not refused.ok
    assert "BSDS2" in refused.lines[0]
    broken.clear()
    answered = manager.commands.run("RECOVER BSDS", "OPER")
    assert answered.ok
    assert "CSQJ130I +QM1 DUAL BSDS MODE RESTORED FROM BSDS1" == answered.lines[0]
    manager.stop()
    disk = manager.engine.disk
    del disk.files["BSDS1"]
    assert 3 == len(SmallEngine(disk, DUAL).bodies())


def test_a_start_that_finds_one_copy_makes_the_other_and_says_so(broken):  # noqa: F811
    manager = QueueManager("QM1", FaultyDisk(), FakeClock(), DUAL)
    manager.start(background=False)
    broken.add("BSDS1")
    manager.commands.run("ARCHIVE LOG", "OPER")
    manager.stop()
    broken.clear()
    again = QueueManager("QM1", manager.engine.disk, FakeClock(), DUAL)
    again.start(background=False)
    assert ["BSDS1"] == told(again, "CSQJ120E")
    assert "BSDS1" in {copy.file.name for copy in Bootstrap.open(manager.engine.disk)._copies}
    again.stop()
