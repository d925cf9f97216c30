"""A disk over another: what is changed above is seen above, and the disk below stays as it was (OV1-OV3)."""

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.storage.overlay import BLOCK, OverlayDisk
from quaestor.testing import FaultyDisk

BELOW = bytes(at % 251 for at in range(3 * BLOCK + 100))


def disk_with(**files):
    disk = FaultyDisk()
    for name, contents in files.items():
        file = disk.create(name, 0)
        file.write(0, contents)
        file.sync()
    return disk


def seen(disk):
    """Every file of a disk with its contents."""
    found = {}
    for name in disk.names():
        file = disk.open(name)
        found[name] = file.read(0, file.size())
    return found


@pytest.fixture
def below():
    return disk_with(log=BELOW)


@pytest.fixture
def disk(below):
    return OverlayDisk(below)


# --- one file --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "size"),
    [(0, 10), (BLOCK - 5, 10), (BLOCK, BLOCK), (3 * BLOCK, 100), (3 * BLOCK + 90, 100), (5 * BLOCK, 10), (7, 0)],
)
def test_what_nobody_changed_is_read_from_below(disk, offset, size):
    """OV1: as far as the file goes, and nothing behind its end."""
    assert BELOW[offset : offset + size] == disk.open("log").read(offset, size)


@pytest.mark.parametrize(("offset", "size"), [(10, 5), (BLOCK - 2, 4), (BLOCK, BLOCK), (100, 2 * BLOCK)])
def test_a_change_is_seen_above_and_nowhere_else(below, disk, offset, size):
    """OV1: what stands before and behind the changed bytes is from below, in the same blocks too."""
    file = disk.open("log")
    file.write(offset, b"\xff" * size)
    assert BELOW[:offset] + b"\xff" * size + BELOW[offset + size :] == file.read(0, len(BELOW))
    assert {"log": BELOW} == seen(below)
    assert len(BELOW) == file.size()


def test_a_change_is_kept_as_the_blocks_that_it_touches(disk):
    """OV2: two bytes over the border of two blocks are two blocks, one more byte in either of them is none."""
    file = disk.open("log")
    file.write(2 * BLOCK - 1, b"ab")
    file.write(BLOCK, b"c")
    assert {1, 2} == set(file._blocks)
    assert b"c" + BELOW[BLOCK + 1 : 2 * BLOCK - 1] + b"ab" == file.read(BLOCK, BLOCK + 1)


def test_a_file_grows_by_what_is_written_behind_its_end(below, disk):
    """What lies between is zeros, whether anybody wrote it or not."""
    file, end = disk.open("log"), len(BELOW)
    file.write(5 * BLOCK, b"far")
    assert 5 * BLOCK + 3 == file.size()
    assert BELOW[-4:] + bytes(6) == file.read(end - 4, 10)
    assert bytes(4) + b"far" == file.read(5 * BLOCK - 4, 100)
    assert {"log": BELOW} == seen(below)


def test_a_file_is_extended_and_never_made_shorter(disk):
    file, end = disk.open("log"), len(BELOW)
    file.extend(end - 50)
    assert end == file.size()
    file.extend(end + 50)
    assert (end + 50, BELOW[-1:] + bytes(50)) == (file.size(), file.read(end - 1, 100))


def test_every_way_to_write_is_the_same(disk):
    file = disk.open("log")
    file.write_many(10, [b"one", bytearray(b"two")])
    file.write_through(16, memoryview(b"three"))
    file.sync()
    assert b"onetwothree" == file.read(10, 11)


def test_no_write_is_started_here(disk):
    """Nobody waits for anything: who would start a write makes it himself."""
    file = disk.open("log")
    assert (None, None) == (file.start_write_through(0, memoryview(b"x")), disk.announce())
    assert BELOW[:1] == file.read(0, 1)


def test_what_was_changed_is_there_for_who_opens_the_file_again(disk):
    file = disk.open("log")
    file.write(0, b"changed")
    file.close()
    assert b"changed" == disk.open("log").read(0, 7)


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_file_is_created_above_only(below, disk):
    file = disk.create("new", 10)
    assert ("new", bytes(10)) == (file.name, file.read(0, 100))
    file.write(4, b"here")
    assert {"log": BELOW, "new": b"\0\0\0\0here\0\0"} == seen(disk)
    assert {"log": BELOW} == seen(below)


@pytest.mark.parametrize("name", ["log", "new"])
def test_a_file_is_not_created_twice(disk, name):
    if name == "new":
        disk.create(name, 0)
    with pytest.raises(FileExistsError, match=name):
        disk.create(name, 0)


def test_a_file_is_deleted_above_only(below, disk):
    disk.delete("log")
    assert (False, [], True) == (disk.exists("log"), disk.names(), below.exists("log"))
    with pytest.raises(FileNotFoundError, match="log"):
        disk.open("log")
    with pytest.raises(FileNotFoundError, match="log"):
        disk.delete("log")


def test_what_is_created_in_the_place_of_a_deleted_file_has_nothing_of_it(disk):
    disk.delete("log")
    disk.create("log", 8)
    assert {"log": bytes(8)} == seen(disk)


def test_what_is_not_there_is_not_opened_deleted_or_renamed(disk):
    for call in (disk.open, disk.delete, lambda name: disk.rename(name, "log")):
        with pytest.raises(FileNotFoundError, match="none"):
            call("none")
    assert {"log": BELOW} == seen(disk)


def test_a_file_is_renamed_with_its_changes(below, disk):
    disk.open("log").write(0, b"changed")
    disk.rename("log", "old")
    assert ({"old": b"changed" + BELOW[7:]}, "old") == (seen(disk), disk.open("old").name)
    assert {"log": BELOW} == seen(below)


def test_a_renamed_file_takes_the_place_of_another():
    disk = OverlayDisk(disk_with(one=b"1", two=b"22"))
    disk.rename("two", "one")
    assert {"one": b"22"} == seen(disk)


def test_names_are_those_of_both_disks_in_order():
    disk = OverlayDisk(disk_with(archive1=b"", archive3=b"", log1=b""))
    disk.create("archive2", 0)
    disk.create("bsds", 0)
    disk.delete("archive3")
    assert ["archive1", "archive2"] == disk.names("archive")
    assert ["archive1", "archive2", "bsds", "log1"] == disk.names()


def test_requests_together_say_how_each_of_them_ended(disk):
    def refused():
        raise OSError(errno.ENOSPC, "no space")

    file = disk.open("log")
    first, second, third = disk.together([lambda: file.write(0, b"x"), refused, lambda: file.write(1, b"y")])
    assert (None, errno.ENOSPC, None) == (first, second.errno, third)
    assert b"xy" == file.read(0, 2)


def test_looking_takes_no_ownership(below, disk):
    """OV3: the queue manager that owns the files may run, and one that starts now is not refused."""
    disk.own()
    below.own()
    disk.own()
    disk.disown()
    assert below._owned


DATA = st.builds(bytes.__mul__, st.binary(min_size=1, max_size=20), st.integers(1, 600))
WRITES = st.lists(st.tuples(st.integers(0, 4 * BLOCK), DATA), max_size=12)
READS = st.lists(st.tuples(st.integers(0, 5 * BLOCK), st.integers(0, 3 * BLOCK)), max_size=9)


@given(st.integers(0, 3 * BLOCK), WRITES, READS)
def test_an_overlay_reads_as_a_copy_that_is_written_to(size, writes, reads):
    """OV1: whatever is written where, and whatever is read."""
    below, copy = disk_with(log=BELOW[:size]), disk_with(log=BELOW[:size]).open("log")
    file = OverlayDisk(below).open("log")
    for offset, data in writes:
        file.write(offset, data)
        copy.write(offset, data)
    assert copy.size() == file.size()
    for offset, length in [*reads, (0, copy.size())]:
        assert copy.read(offset, length) == file.read(offset, length)
    assert {"log": BELOW[:size]} == seen(below)
