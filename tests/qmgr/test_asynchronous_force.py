"""A force of the log that is started, and finished while its caller has worked (J10, J11)."""

import errno
import select
import threading
from dataclasses import replace

import pytest

from quaestor.mqi.reasons import Abend
from quaestor.storage.log_files import CI
from quaestor.storage.log_record import Kind
from quaestor.storage.real_disk import RealDisk
from quaestor.testing import SMALL, FaultyDisk, SmallEngine, since, snapshot

FIELDS = ("logger_calls", "log_ios", "cis_written", "suspensions", "buffers_filled", "serial_rewrites")


@pytest.fixture
def disk():
    return FaultyDisk()


@pytest.fixture
def log(disk):
    return SmallEngine(disk).log


def append(log, length=100):
    return log.append(Kind.COMMIT, 0, 0, 0, 0, 0, bytes(length))


def test_a_started_force_is_durable_when_it_is_finished(disk, log):
    rba = append(log)
    disk.held = True
    assert log.start_force(rba)
    assert log.hardened <= rba
    assert not log.finish_force(wait=False)
    disk.let_go()
    assert log.finish_force(wait=False)
    assert log.end == log.hardened


def test_waiting_for_it_finishes_it(disk, log):
    rba = append(log)
    disk.held = True
    assert log.start_force(rba)
    assert log.finish_force(wait=True)
    assert log.hardened > rba


def test_it_is_counted_as_any_other(disk):
    counts = []
    for started in (False, True):
        engine = SmallEngine(FaultyDisk())
        before = snapshot(engine.log.stats)
        for length in (100, 5000, 30, 9000):
            rba = append(engine.log, length)
            if not (started and engine.log.start_force(rba) and engine.log.finish_force(wait=True)):
                engine.log.force(rba)
        counts.append(since(before, engine.log.stats, *FIELDS))
    assert counts[0] == counts[1]
    assert counts[0][0] == 4


def test_nothing_to_force_is_nothing_to_start(log):
    rba = append(log)
    log.force(rba)
    assert not log.start_force(rba)


def test_a_second_one_is_not_started(disk, log):
    disk.held = True
    assert log.start_force(append(log))
    assert not log.start_force(append(log))
    assert log.finish_force(wait=True)
    assert log.hardened < log.end
    assert log.start_force(log.end - 1)
    assert log.finish_force(wait=True)


def test_whoever_waits_meanwhile_takes_the_lead(disk, log):
    """The thread that started it may be the one: nobody waits for himself."""
    disk.held = True
    first = append(log)
    assert log.start_force(first)
    second = append(log)
    log.force(first)
    assert first < log.hardened <= second
    log.force(second)
    assert log.hardened > second
    assert log.finish_force(wait=False)
    assert not log._leading


def test_one_force_serves_the_threads_that_came(disk, log):
    """Three threads force later records while one is in flight: each returns when its own is durable."""
    disk.held = True
    assert log.start_force(append(log))
    told = []

    def wait(rba):
        log.force(rba)
        told.append(log.hardened > rba)

    threads = [threading.Thread(target=wait, args=(append(log),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert log.finish_force(wait=True)
    for thread in threads:
        thread.join(10)
    assert [True] * 3 == told
    assert not log._leading
    assert [] == log._waiting


def test_threads_that_start_and_threads_that_force(tmp_path):
    """Everybody appends and makes it durable in his own way, on a disk of the system."""
    engine = SmallEngine(RealDisk(tmp_path), replace(SMALL, log_bytes=256 << 10, logs=3))
    log, latch, wrong = engine.log, engine.recovery.latch, []
    latch.release()

    def work(number):
        for n in range(60):
            with latch:
                rba = append(log, 50 + 37 * n)
            if number % 2 or not log.start_force(rba):
                log.force(rba)
            elif not log.finish_force(wait=True):
                wrong.append("not over")
            if log.hardened <= rba:
                wrong.append(rba)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [] == wrong
    assert not log._leading
    assert [] == log._waiting
    engine.engine.stop()


def test_the_descriptor_is_readable_when_it_is_over(tmp_path):
    engine = SmallEngine(RealDisk(tmp_path))
    log = engine.log
    if log.force_ready_fd is None:
        pytest.skip("this kernel starts no writes")
    for _ in range(20):
        rba = append(log)
        assert log.start_force(rba)
        while not log.finish_force(wait=False):
            assert select.select([log.force_ready_fd], [], [], 10)[0]
        assert log.hardened > rba
    engine.recovery.latch.release()
    engine.engine.stop()


def test_without_asynchronous_writes_there_is_neither(disk, log):
    disk.asynchronous = False
    assert log.force_ready_fd is None
    rba = append(log)
    assert not log.start_force(rba)
    log.force(rba)
    assert log.hardened > rba
    assert log.finish_force(wait=False)


@pytest.mark.parametrize("operation", [1, 2])
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_failure_is_final(disk, log, operation, code):
    """Handing the write over, or its end (J5)."""
    rba, hardened = append(log), log.hardened
    disk.fail_at[disk.operations + operation] = code
    if log.start_force(rba):
        with pytest.raises(Abend, match="J5"):
            log.finish_force(wait=True)
    with pytest.raises(Abend, match="J5"):
        log.force(rba)
    assert hardened == log.hardened
    assert not log._leading


def test_threads_that_wait_are_told_of_the_failure(disk, log):
    disk.held = True
    disk.fail_at[disk.operations + 2] = errno.EIO
    assert log.start_force(append(log))
    told = []

    def wait(rba):
        try:
            log.force(rba)
        except Abend as error:
            told.append(error)

    threads = [threading.Thread(target=wait, args=(append(log),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert 3 == len(told)


def test_a_full_buffer_and_the_end_of_a_data_set_wait_for_what_is_in_flight(disk, log):
    """Sliding the buffers would move the memory under the write."""
    disk.held = True
    for n in range(3000):
        log.check_space()
        append(log, 700)
        if n % 3 == 0:
            log.start_force(log.end - 1)
        if log._flight is not None:
            flight = log._flight
            assert flight.start >= log.files.start
            at = flight.start - flight.start % CI - log.base
            assert bytes(log._view[at : at + 60]) == flight.started._flight[1][:60]
    log.force(log.end - 1)
    assert log.hardened == log.end


def test_archive_log_waits_for_it(disk, log):
    disk.held = True
    assert log.start_force(append(log))
    start = log.files.start
    log.truncate()
    assert log.files.start > start
    assert log._flight is None
    assert log.finish_force(wait=False)


def test_closing_waits_for_it(disk, log):
    disk.held = True
    rba = append(log)
    assert log.start_force(rba)
    log.close()
    assert log.hardened > rba


def test_records_that_come_while_their_ci_is_in_flight_are_there_or_not_as_whole_records():
    """J11: whatever part of them reached the disk, the log ends at a whole record, behind what was confirmed."""
    ends = set()
    for seed in range(40):
        disk = FaultyDisk(seed=seed)
        log = SmallEngine(disk).log
        disk.held = True
        assert log.start_force(append(log))
        confirmed = log.end
        rbas = [append(log, 200) for _ in range(12)]
        assert log.finish_force(wait=True)
        found = SmallEngine(disk.after_power_cut()).restarted.end_rba
        assert found == confirmed or found in {*rbas, log.end}
        assert found >= confirmed
        ends.add(found)
    assert len(ends) > 3
