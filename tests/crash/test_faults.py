"""Bad media: the right answer, a consistent engine or a clean stop, and a name for what is wrong."""

import errno
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from crash.scenarios import TINY, World, message
from quaestor.clock import SystemClock
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.checker import check
from quaestor.qmgr.data.engine import Engine
from quaestor.storage.disk import InUseError, RealDisk
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


def test_a_full_log_refuses_new_work_and_still_ends_what_it_has():
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


LOAD = """
import sys
from quaestor.clock import SystemClock
from quaestor.storage.disk import RealDisk
from quaestor.testing import SMALL, SmallEngine
engine = SmallEngine(RealDisk(sys.argv[1]), SMALL)
number = int(sys.argv[2])
while True:
    unit = engine.begin()
    engine.put(unit, b"%d" % number)
    engine.put(unit, b"%d again" % number)
    engine.commit(unit)
    print(number, flush=True)
    number += 1
"""


def test_kill_9_loses_nothing_that_was_confirmed(tmp_path):
    """A process puts pairs and says which were confirmed; it is killed, again and again."""
    confirmed = 0
    for _ in range(4):
        source = str(Path(__file__).parents[2] / "src")
        with subprocess.Popen(
            [sys.executable, "-c", LOAD, str(tmp_path), str(confirmed + 1)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": source},
        ) as process:
            for _ in range(30):
                confirmed = int(process.stdout.readline())
            process.send_signal(signal.SIGKILL)
            told = [int(line) for line in process.stdout.read().splitlines()]
        confirmed = max([confirmed, *told])
        engine = SmallEngine(RealDisk(tmp_path))
        bodies = engine.bodies()
        last = len(bodies) // 2
        assert confirmed <= last <= confirmed + 1
        assert [text for n in range(1, last + 1) for text in (b"%d" % n, b"%d again" % n)] == bodies
        assert [] == check(engine.data)
        confirmed = last
        engine.engine.close()


def test_a_clean_stop_leaves_nothing_to_redo(tmp_path):
    engine = SmallEngine(RealDisk(tmp_path))
    unit = engine.begin()
    engine.put(unit, message(1))
    engine.commit(unit)
    engine.recovery.latch.release()
    engine.engine.stop()
    restarted = Engine(RealDisk(tmp_path), SystemClock(), engine.engine.settings).start()
    assert 0 == restarted.changes_redone
