"""Writes that are started and are over some time later (AW1-AW5, K9, AL4)."""

import errno
import mmap
import os
import select
import threading

import pytest

from quaestor.storage import asynchronous_write, real_file
from quaestor.storage.active_log import ActiveLog
from quaestor.storage.asynchronous_write import Announcement, kernel_writes
from quaestor.storage.real_disk import RealDisk
from quaestor.storage.real_file import BLOCK
from quaestor.testing import FaultyDisk

offered = pytest.mark.skipif(kernel_writes() is None, reason="this kernel starts no writes")


def aligned(contents):
    memory = mmap.mmap(-1, len(contents))
    memory[:] = contents
    return memoryview(memory)


@pytest.fixture
def disk(tmp_path):
    made = RealDisk(tmp_path)
    yield made
    made.disown()


@pytest.fixture
def file(disk):
    made = disk.create("log1-01", 16 * BLOCK)
    yield made
    made.close()


def readable(fd, seconds=10):
    return bool(select.select([fd], [], [], seconds)[0])


@offered
@pytest.mark.parametrize("blocks", [1, 3])
def test_a_write_that_was_started_is_read_back_when_it_is_over(file, blocks):
    contents = os.urandom(blocks * BLOCK)
    started = file.start_write_through(BLOCK, aligned(contents))
    assert started.over(wait=True)
    assert contents == file.read(BLOCK, len(contents))
    assert file.size() == 16 * BLOCK


@offered
def test_who_cannot_wait_is_told(disk, file):
    told = disk.announce()
    assert not readable(told.fd, 0)
    started = file.start_write_through(0, aligned(b"\1" * BLOCK))
    assert readable(told.fd)
    told.clear()
    assert started.over(wait=False)
    assert not readable(told.fd, 0)
    assert told is disk.announce()


@offered
def test_more_writes_than_there_are_places_are_refused_for_now(file):
    started = [file.start_write_through(n * BLOCK, aligned(bytes([n]) * BLOCK)) for n in range(9)]
    assert started[8] is None
    for one in reversed(started[:8]):
        assert one.over(wait=True)
    assert [n // BLOCK for n in range(8 * BLOCK)] == list(file.read(0, 8 * BLOCK))
    assert file.start_write_through(0, aligned(bytes(BLOCK))).over(wait=True)


@offered
def test_several_threads_take_their_own(file):
    wrong = []

    def work(place):
        for n in range(50):
            contents = bytes([n + place]) * BLOCK
            file.start_write_through(place * BLOCK, aligned(contents)).over(wait=True)
            if contents != file.read(place * BLOCK, BLOCK):
                wrong.append((place, n))

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == wrong


@pytest.mark.parametrize(("offset", "length"), [(0, 100), (7, BLOCK)])
def test_what_is_not_whole_blocks_must_be_waited_for(file, offset, length):
    assert file.start_write_through(offset, memoryview(bytearray(length))) is None


def test_where_the_kernel_has_no_such_writes_none_is_started(tmp_path, monkeypatch):
    monkeypatch.setattr(asynchronous_write.platform, "machine", lambda: "s390x")
    disk = RealDisk(tmp_path)
    file = disk.create("log1-01", BLOCK)
    assert disk.announce() is None
    assert file.start_write_through(0, aligned(bytes(BLOCK))) is None
    file.write_through(0, aligned(b"\1" * BLOCK))
    assert b"\1" * BLOCK == file.read(0, BLOCK)
    file.close()


@offered
def test_a_write_that_the_kernel_refuses_is_not_tried_again(disk, file, monkeypatch):
    """Memory that is not aligned: EINVAL, and the caller writes and waits from then on."""
    crooked = aligned(bytes(2 * BLOCK))[1 : BLOCK + 1]
    first = file.start_write_through(0, crooked)
    assert first is None or first.over(wait=True)
    if first is None:
        assert file.start_write_through(0, aligned(bytes(BLOCK))) is None


class FakeKernel:
    """A kernel that answers what it is told to."""

    def __init__(self, answer):
        self.answer, self.announcement = answer, None

    def submit(self, file, offset, data):
        return 0

    def take(self, slot, *, wait):
        if isinstance(self.answer, OSError):
            raise self.answer
        return self.answer

    def close(self):
        pass


def with_kernel(monkeypatch, answer):
    monkeypatch.setattr(real_file, "kernel_writes", lambda: FakeKernel(answer))


@pytest.mark.parametrize("answer", [512, 0, OSError(errno.EINVAL, "not here")])
def test_a_short_write_is_completed(tmp_path, monkeypatch, answer):
    with_kernel(monkeypatch, answer)
    file = RealDisk(tmp_path).create("log1-01", 2 * BLOCK)
    file.write(0, b"\7" * (answer if isinstance(answer, int) else 0))
    assert file.start_write_through(0, aligned(b"\7" * BLOCK)).over(wait=False)
    assert b"\7" * BLOCK == file.read(0, BLOCK)
    file.close()


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_write_that_failed_says_so(tmp_path, monkeypatch, code):
    with_kernel(monkeypatch, OSError(code, "broken"))
    file = RealDisk(tmp_path).create("log1-01", BLOCK)
    with pytest.raises(OSError, match="broken: 'log1-01'"):
        file.start_write_through(0, aligned(bytes(BLOCK))).over(wait=True)
    file.close()


@offered
def test_a_child_has_no_part_in_its_parents_writes(disk, file):
    """The child closes its copy of everything; the parent's write and its announcement are what they were (AW5)."""
    told = disk.announce()
    started = file.start_write_through(0, aligned(b"\5" * BLOCK))
    child = os.fork()
    if not child:
        disk.disown()
        os._exit(0)
    os.waitpid(child, 0)
    assert started.over(wait=True)
    assert readable(told.fd)
    assert b"\5" * BLOCK == file.read(0, BLOCK)


@offered
def test_closing_waits_for_what_is_under_way(disk, file):
    file.start_write_through(0, aligned(b"\6" * (4 * BLOCK)))
    disk.disown()
    assert b"\6" * (4 * BLOCK) == file.read(0, 4 * BLOCK)


# -- both copies


@pytest.fixture
def dual():
    disk, stopped = FaultyDisk(), []
    files = [disk.create(f"log{copy}-01", BLOCK) for copy in (1, 2)]
    return disk, ActiveLog(disk, files, [], lambda copy, error: stopped.append((copy, error.errno))), stopped


def test_both_copies_are_started_and_over_together(dual):
    disk, log, _ = dual
    disk.held = True
    started = log.start_write_through(0, memoryview(b"\1" * BLOCK))
    assert not started.over(wait=False)
    assert [1, 1] == [len(image.in_flight) for image in disk.files.values()]
    disk.let_go()
    assert started.over(wait=False)
    assert [b"\1" * BLOCK] * 2 == [bytes(image.durable) for image in disk.files.values()]


@pytest.mark.parametrize(("operation", "copy"), [(1, 0), (2, 1), (3, 0), (4, 1)])
def test_a_copy_that_fails_at_either_end_is_stopped(dual, operation, copy):
    """Operations: the first handed over, the second, the end of the first, of the second (AL2)."""
    disk, log, stopped = dual
    disk.fail_at[disk.operations + operation] = errno.EIO
    assert log.start_write_through(0, memoryview(b"\1" * BLOCK)).over(wait=True)
    assert [(copy, errno.EIO)] == stopped
    assert b"\1" * BLOCK == log.read(0, BLOCK)


def test_when_both_copies_fail_the_error_is_the_callers(dual):
    disk, log, stopped = dual
    disk.fail_at = dict.fromkeys((disk.operations + 2, disk.operations + 3), errno.EIO)
    started = log.start_write_through(0, memoryview(b"\1" * BLOCK))
    with pytest.raises(OSError, match="EIO"):
        started.over(wait=True)
    assert [] == stopped


def test_where_none_can_be_started_nothing_is(dual):
    disk, log, _ = dual
    disk.asynchronous = False
    assert log.start_write_through(0, memoryview(b"\1" * BLOCK)) is None
    assert disk.announce() is None


def test_an_announcement_is_readable_until_it_is_cleared():
    told = Announcement()
    told.ring()
    told.ring()
    assert readable(told.fd, 0)
    told.clear()
    told.clear()
    assert not readable(told.fd, 0)
    told.close()


@pytest.mark.parametrize("seed", range(8))
def test_of_a_write_that_failed_nothing_is_under_way_any_more(seed):
    """Q4: its memory is used for something else, and no cut brings that to the disk."""
    disk, memory = FaultyDisk(seed=seed), bytearray(b"n" * BLOCK)
    file = disk.create("log1", BLOCK)
    started = file.start_write_through(0, memoryview(memory))
    disk.fail_at[disk.operations + 1] = errno.EIO
    with pytest.raises(OSError, match="EIO"):
        started.over(wait=True)
    memory[:] = b"l" * BLOCK
    found = disk.after_power_cut(seed).open("log1").read(0, BLOCK)
    assert {"n", "\0"} >= set(found.decode())
    assert not disk.files["log1"].in_flight
