"""Names of files and directories are durable when whoever made or changed them is told so (K3)."""

import os

import pytest

from quaestor.qmgr.group_settings import GROUP_FILE, GroupSettings, save_group
from quaestor.server.home import Configuration, Home
from quaestor.storage.real_disk import RealDisk


@pytest.fixture
def synced(monkeypatch):
    """The files and directories that have been synced, each as the system knows it."""
    known, fsync = set(), os.fsync

    def noting(fd):
        fsync(fd)
        known.add(_known(os.fstat(fd)))

    monkeypatch.setattr(os, "fsync", noting)
    return known


def _known(found):
    return found.st_dev, found.st_ino


def test_a_directory_that_is_made_is_durable_with_those_above_it(tmp_path, synced):
    """A power cut would take away the messages with the directory, however durable they are in it."""
    RealDisk(tmp_path / "one" / "two")
    assert {_known(tmp_path.stat()), _known((tmp_path / "one").stat())} == synced
    synced.clear()
    RealDisk(tmp_path / "one" / "two")
    assert set() == synced


def test_so_is_that_of_a_server(tmp_path, synced):
    Home(tmp_path / "servers" / "QM1").create(Configuration("QM1"))
    assert {_known(tmp_path.stat()), _known((tmp_path / "servers").stat())} <= synced


def test_so_is_the_file_that_names_a_group(tmp_path, synced):
    """GS2: without it the queue manager would be one of no group."""
    save_group(tmp_path / "QM1", GroupSettings("QSG1", "cf:///cf.sock", str(tmp_path / "QSG1.db")))
    there = (tmp_path, tmp_path / "QM1", tmp_path / "QM1" / GROUP_FILE)
    assert {_known(each.stat()) for each in there} == synced


@pytest.mark.parametrize(
    "change",
    [lambda disk: disk.create("b", 0).close(), lambda disk: disk.rename("a", "b"), lambda disk: disk.delete("a")],
)
def test_a_name_is_durable(tmp_path, synced, change):
    disk = RealDisk(tmp_path)
    disk.create("a", 0).close()
    synced.clear()
    change(disk)
    assert _known(tmp_path.stat()) in synced
