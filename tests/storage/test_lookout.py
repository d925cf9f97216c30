"""A write that is handed over and waited for later (K11), and who looks on meanwhile (LO1-LO4)."""

import errno
import os
import platform
from itertools import count

import pytest

from quaestor.storage import lookout as lookout_module
from quaestor.storage import real_disk as disk_module
from quaestor.storage.lookout import RESTS_MAX, UNDER_WAY, Lookout, lookout
from quaestor.storage.real_disk import RealDisk

BLOCK = 4096


@pytest.fixture
def file(tmp_path):
    file = RealDisk(tmp_path).create("log1-00", 16 * BLOCK)
    yield file
    file.close()


def block(byte):
    return memoryview(bytearray(byte * BLOCK))


def test_what_was_written_soon_is_there_when_it_is_synced(file, tmp_path):
    file.write_soon(2 * BLOCK, block(b"a"))
    file.sync_written(2 * BLOCK, BLOCK)
    file.write_soon(3 * BLOCK, block(b"b"))
    file.sync_written(3 * BLOCK, BLOCK)
    assert bytes(2 * BLOCK) + b"a" * BLOCK + b"b" * BLOCK == (tmp_path / "log1-00").read_bytes()[: 4 * BLOCK]


def test_the_disk_is_told_to_begin_with_just_these_pages(file, monkeypatch):
    """K11: and not to drop them, because part of each is wanted."""
    told = []
    monkeypatch.setattr(os, "posix_fadvise", lambda *asked: told.append(asked[1:]))
    file.write_soon(BLOCK, memoryview(bytearray(2 * BLOCK)))
    assert [(BLOCK + 1, 2 * BLOCK - 2, os.POSIX_FADV_DONTNEED)] == told


def test_a_system_that_takes_no_hints_writes_all_the_same(file, monkeypatch):
    monkeypatch.setattr(disk_module, "NOT_WANTED", -1)
    monkeypatch.setattr(os, "posix_fadvise", lambda *_: pytest.fail("asked"))
    file.write_soon(0, block(b"c"))
    file.sync_written(0, BLOCK)
    assert b"c" * BLOCK == file.read(0, BLOCK)


def test_a_write_that_was_cut_short_goes_on_where_it_stopped(file, monkeypatch):
    write, asked = os.pwrite, []

    def short(fd, data, offset):
        asked.append((offset, len(data)))
        return write(fd, bytes(data[:1000]) if len(asked) == 1 else data, offset)

    monkeypatch.setattr(os, "pwrite", short)
    file.write_soon(BLOCK, block(b"d"))
    assert [(BLOCK, BLOCK), (BLOCK + 1000, BLOCK - 1000)] == asked
    assert b"d" * BLOCK == file.read(BLOCK, BLOCK)


@pytest.mark.parametrize("call", ["pwrite", "posix_fadvise", "fdatasync"])
def test_an_error_names_the_file(file, call, monkeypatch):
    """K10, K2: whichever of the three requests it was."""

    def fail(*_):
        raise OSError(errno.EIO, "no")

    def request():
        file.write_soon(0, block(b"e"))
        file.sync_written(0, BLOCK)

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="log1-00") as error:
        request()
    assert errno.EIO == error.value.errno


class Asked:
    """A kernel that says how many pages are under way, one figure a question."""

    def __init__(self, there, *figures, refuses=False):
        self.there, self.figures, self.refuses = there, list(figures), refuses
        self.questions = []

    def __call__(self, number, fd, range_at, found_at, flags):
        self.questions.append((number, fd, tuple(self.there._asked), flags))
        self.there._found[UNDER_WAY] = self.figures.pop(0) if self.figures else 1
        return -1 if self.refuses else 0


@pytest.fixture
def no_time(monkeypatch):
    """Time stands still: nobody else has the processor between two looks."""
    monkeypatch.setattr(lookout_module, "monotonic_ns", lambda: 0)


def looking(*figures, **more):
    there = Lookout()
    there._ask = asked = Asked(there, *figures, **more)
    return there, asked


def test_it_looks_until_nothing_is_under_way(no_time):
    """LO1."""
    there, asked = looking(2, 1, 0)
    assert there.look(7, 8192, 4096)
    assert [(451, 7, (8192, 4096), 0)] * 3 == asked.questions


def test_the_processor_is_offered_between_two_looks(no_time, monkeypatch):
    """LO1: once less than it looks."""
    offered = []
    monkeypatch.setattr(lookout_module, "offer_processor", lambda: offered.append(1))
    there, _ = looking(1, 1, 1, 0)
    assert there.look(7, 0, 4096)
    assert 3 == len(offered)


@pytest.fixture
def short_time(monkeypatch):
    """Half of the time to look is over with each look at the clock."""
    times = count(0, lookout_module.LOOK_NS // 2)
    monkeypatch.setattr(lookout_module, "monotonic_ns", lambda: next(times))


def test_a_look_in_vain_ends_when_the_time_is_over(short_time):
    """LO2."""
    there, asked = looking()
    assert not there.look(7, 0, 4096)
    assert 3 == len(asked.questions)


def test_each_look_in_vain_is_followed_by_twice_the_rest(short_time):
    """LO2: 1, 2, 4, ... writes are slept over without a question, and one look that sees the end makes it 1 again."""
    there, asked = looking()

    def slept_over():
        assert not there.look(7, 0, 4096)
        before, slept = len(asked.questions), 0
        while there._rests:
            assert not there.look(7, 0, 4096)
            slept += 1
        assert before == len(asked.questions)
        return slept

    assert [1, 2, 4, 8, 16, 32, 64, 128, 256, 256] == [slept_over() for _ in range(10)]
    assert 256 == RESTS_MAX
    asked.figures = [0]
    assert there.look(7, 0, 4096)
    assert 1 == slept_over()


def test_a_kernel_that_cannot_be_asked_is_asked_once():
    """LO4."""
    there, asked = looking(refuses=True)
    assert [False] * 1000 == [there.look(7, 0, 4096) for _ in range(1000)]
    assert 1 == len(asked.questions)


def test_nobody_looks_who_is_told_not_to(monkeypatch):
    """LO4: QUAESTOR_LOOK_US=0."""
    monkeypatch.setattr(lookout_module, "LOOK_NS", 0)
    assert lookout() is None


@pytest.mark.skipif(
    tuple(map(int, platform.release().split(".")[:2])) < (6, 5), reason="this kernel cannot be asked (LO4)"
)
def test_the_kernel_itself_says_when_a_write_is_over(file):
    """Pages that nobody writes are not under way; what was written soon is over at some time."""
    there = Lookout()
    assert there.look(file._fd, 0, 16 * BLOCK)
    file.write_soon(0, block(b"f"))
    while not there.look(file._fd, 0, BLOCK):
        there._rests = 0
    assert 0 == there._found[UNDER_WAY]
