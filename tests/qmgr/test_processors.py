"""Processors are kept awake while the log is forced, where that is asked for (PR1-PR3)."""

import os
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import PutOptions
from quaestor.qmgr.processors import DEVICE, Processors
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.testing import SMALL, FaultyDisk


class Log:
    """As much of a log as is looked at."""

    hardened = 4096


def open_files(path):
    """How often this process has a file open."""
    with os.scandir("/proc/self/fd") as entries:
        return [Path(entry.path).readlink() for entry in entries].count(path)


@pytest.fixture
def device(tmp_path):
    path = tmp_path / "latency"
    path.touch()
    return path


def watched(device, *, awake=True):
    log, said = Log(), []
    made = Processors(lambda: log.hardened, lambda *words, **facts: said.append((words, facts)), awake=awake)
    made.device = str(device)
    return made, log, said


def test_the_request_stands_from_the_first_look_that_finds_a_force_to_the_first_that_does_not(device):
    asked, log, said = watched(device)
    found = []
    for forced in (False, True, True, False, False, True):
        log.hardened += 4096 * forced
        asked.look()
        found.append(open_files(device))
    asked.rest()
    assert [0, 1, 1, 0, 0, 1] == found
    assert (0, []) == (open_files(device), said)
    assert bytes(4) == device.read_bytes()


def test_nothing_is_asked_for_unless_told(device):
    asked, log, _ = watched(device, awake=False)
    log.hardened += 4096
    assert (False, 0, ()) == (asked.look(), open_files(device), asked.tasks())


def test_who_may_not_ask_says_so_once_and_goes_on(tmp_path):
    asked, log, said = watched(tmp_path / "no such device")
    for _ in range(3):
        log.hardened += 4096
        asked.look()
    (((identifier, text), facts),) = said
    assert ("CSQY901W", "processors cannot be kept awake") == (identifier, text)
    assert "no such device" in facts["error"]


@pytest.fixture
def manager(device, monkeypatch):
    monkeypatch.setattr(Processors, "device", str(device))
    made = QueueManager("QM1", FaultyDisk(), FakeClock(), replace(SMALL, awake=True))
    made.start(background=False)
    with made.connect("ALICE") as app:
        app.define(LocalQueue("ORDERS"))
    return made


def commit_and_look(manager, message=True):
    if message:
        with manager.connect("ALICE") as app:
            app.put1("ORDERS", "x", MQMD(persistence=1), PutOptions.NO_SYNCPOINT)
    manager._clock.advance(milliseconds=1000)
    manager.scheduler.run_due()


def test_a_queue_manager_asks_while_it_commits(manager, device):
    commit_and_look(manager)
    awake = open_files(device)
    commit_and_look(manager, message=False)
    assert (1, 0) == (awake, open_files(device))
    commit_and_look(manager)
    manager.stop()
    assert 0 == open_files(device)


def test_a_child_process_leaves_the_request_to_its_parent(manager, device):
    commit_and_look(manager)
    manager.abandon()
    assert 0 == open_files(device)


def test_linux_hears_of_it():
    """What the kernel lets processors take for waking up, in microseconds, is read from the same device."""
    try:
        reader = os.open(DEVICE, os.O_RDONLY)
    except OSError as error:
        pytest.skip(f"{DEVICE}: {error.strerror}")
    found = []
    try:
        asked, log, _ = watched(DEVICE)
        for forced in (False, True, False):
            log.hardened += 4096 * forced
            asked.look()
            found += struct.unpack("=i", os.pread(reader, 4, 0))
    finally:
        os.close(reader)
    before, during, after = found
    if not before:
        pytest.skip("another process keeps the processors awake")
    assert (0, before) == (during, after)
