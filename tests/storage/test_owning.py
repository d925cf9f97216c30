"""One process owns a directory, and others may ask which (K5)."""

import fcntl
import os
from threading import Timer

import pytest

from quaestor.storage import real_disk as disk_module
from quaestor.storage.disk import InUseError
from quaestor.storage.real_disk import OWNER_FILE, RealDisk, owner_of


@pytest.fixture
def disk(tmp_path):
    disk = RealDisk(tmp_path)
    yield disk
    disk.disown()


def asking(directory):
    """Somebody in the middle of asking: it shares the lock."""
    fd = os.open(directory / OWNER_FILE, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return fd


def test_the_owner_is_told_while_there_is_one(disk, tmp_path):
    assert None is owner_of(tmp_path)
    disk.own()
    assert os.getpid() == owner_of(tmp_path)
    disk.disown()
    assert None is owner_of(tmp_path)


def test_who_asks_at_the_moment_of_a_start_does_not_disturb_it(disk, tmp_path):
    """K5: `quaestor qmgr status` beside `quaestor qmgr start`."""
    disk.own()
    disk.disown()
    fd = asking(tmp_path)
    over = Timer(0.05, os.close, [fd])
    over.start()
    disk.own()
    over.join()
    assert os.getpid() == owner_of(tmp_path)


def test_of_two_that_start_one_is_told_at_once(disk, tmp_path, monkeypatch):
    """K5: an owner is not mistaken for one who asks, and not waited for."""
    disk.own()
    monkeypatch.setattr(disk_module, "LOOK_S", 3600)
    with pytest.raises(InUseError, match=f"in use by process {os.getpid()}"):
        RealDisk(tmp_path).own()


def test_who_asks_and_never_ends_is_not_waited_for_for_ever(disk, tmp_path, monkeypatch):
    """It was stopped in the middle of asking, say."""
    disk.own()
    disk.disown()
    monkeypatch.setattr(disk_module, "LOOK_S", 0.0001)
    fd = asking(tmp_path)
    with pytest.raises(InUseError):
        disk.own()
    os.close(fd)
    disk.own()
