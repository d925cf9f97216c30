"""The bootstrap data set: a write that fails, and copies that are missing or cannot be read (S2, S3)."""

import errno
from contextlib import suppress
from itertools import product

import pytest

from quaestor.mqi.reasons import Abend
from quaestor.storage.bootstrap import PLACE, Bootstrap, Inventory
from quaestor.testing import FaultyDisk, FaultyFile, PowerCut

pytestmark = pytest.mark.plain


def made(*, dual):
    disk = FaultyDisk()
    archives = [(rba << 16, (rba + 1) << 16, f"archive-{rba << 16:016x}") for rba in range(100)]
    inventory = Inventory(1 << 16, 2 if dual else 1, [4096, -1], archives=archives)
    bootstrap = Bootstrap.create(disk, inventory, dual=dual)
    for rba in (1, 2, 3):
        note(bootstrap, rba)
        bootstrap.save()
    return disk, bootstrap


def note(bootstrap, rba):
    """Something in the first sector and in the last: a torn write is neither the one version nor the other."""
    bootstrap.inventory.written_rba = bootstrap.inventory.image_copies["1"] = rba


def a_write_that_fails_then_a_cut_in_the_next(*, dual=False):
    """The version before the one that failed is still there, whatever the cut leaves of the next."""
    for failing, cut, seed in product(range(1, 5 if dual else 3), range(3), range(30)):
        disk, bootstrap = made(dual=dual)
        disk.fail_at[disk.operations + failing] = errno.EIO
        note(bootstrap, 4)
        with pytest.raises(OSError, match="EIO"):
            bootstrap.save()
        disk.cut_after = disk.operations + cut
        note(bootstrap, 5)
        with suppress(PowerCut):
            bootstrap.save()
        found = Bootstrap.open(disk.after_power_cut(seed)).inventory.written_rba
        assert found in {3, 4, 5}, f"operation {failing} failed, cut after {cut}, seed {seed}"


@pytest.mark.parametrize("dual", [False, True])
def test_the_last_good_version_is_not_written_over_when_a_write_has_failed(dual):
    a_write_that_fails_then_a_cut_in_the_next(dual=dual)


def test_without_that_rule_nothing_is_left(monkeypatch):
    write = Bootstrap._write

    def hasty(self, number, packed):
        try:
            write(self, number, packed)
        except OSError:
            self._version += 1
            raise

    monkeypatch.setattr(Bootstrap, "_write", hasty)
    with pytest.raises((Abend, AssertionError)):
        a_write_that_fails_then_a_cut_in_the_next()


@pytest.mark.parametrize("name", ["BSDS1", "BSDS2"])
@pytest.mark.parametrize("harm", ["missing", "garbage", "unreadable"])
def test_a_copy_that_is_not_good_is_named_and_made_good(name, harm, monkeypatch):
    disk, _ = made(dual=True)
    read, broken = FaultyFile.read, {name} if harm == "unreadable" else set()

    def failing(self, offset, size):
        if self.name in broken:
            raise OSError(errno.EIO, "EIO")
        return read(self, offset, size)

    monkeypatch.setattr(FaultyFile, "read", failing)
    if harm == "missing":
        del disk.files[name]
    elif harm == "garbage":
        disk.files[name].seen[:] = b"?" * 2 * PLACE
    bootstrap = Bootstrap.open(disk)
    assert disk.exists(name) == (harm != "missing"), "looking changes nothing"
    said = []
    bootstrap.make_good(disk, lambda identifier, _text, **facts: said.append((identifier, facts["copy"])))
    bootstrap.save()
    assert [("CSQJ120E", name)] == said
    broken.clear()
    other = next(each for each in ("BSDS1", "BSDS2") if each != name)
    del disk.files[other]
    assert 3 == Bootstrap.open(disk).inventory.written_rba


def test_what_a_later_version_has_written_is_named(monkeypatch):
    disk, bootstrap = made(dual=False)
    monkeypatch.setattr("quaestor.storage.bootstrap.asdict", lambda inventory: {"log_bytes": 1, "colour": "blue"})
    bootstrap.save()
    with pytest.raises(Abend, match=r"S1: .*later version.*colour"):
        Bootstrap.open(disk)


def test_copies_of_which_a_cut_left_one_older_are_both_good():
    disk, bootstrap = made(dual=True)
    disk.cut_after = disk.operations + 2
    note(bootstrap, 4)
    with pytest.raises(PowerCut):
        bootstrap.save()
    opened = Bootstrap.open(disk.after_power_cut())
    assert 4 == opened.inventory.written_rba
    opened.make_good(disk, pytest.fail)
