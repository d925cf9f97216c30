"""Servers as processes, killed with kill -9, on a coupling facility that is a process too and is killed as well."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from threading import Event

import pytest

from cqs.group import agrees_with_log, texts
from cqs.kill_worker import LTRMZ, TRANX
from quaestor.cqs.group_directory import define, server
from quaestor.cqs.policy import Policy

HERE = Path(__file__).parent
WITH_SOURCE = {**os.environ, "PYTHONPATH": f"{HERE.parents[1] / 'src'}{os.pathsep}{HERE.parent}"}


@pytest.fixture
def started():
    """A way to start processes, which are killed at the end."""
    made = []

    def start(*command):
        words = [sys.executable, *map(str, command)]
        made.append(subprocess.Popen(words, env=WITH_SOURCE, stdout=subprocess.PIPE, text=True))
        return made[-1]

    yield start
    for process in made:
        killed(process)


@pytest.fixture
def facility(tmp_path, started):
    """A way to start the coupling facility."""

    def start():
        process = started("-m", "quaestor.cli.main", "cf", "start", "--socket", tmp_path / "cf.sock")
        assert process.stdout.readline().startswith("coupling facility at")
        return process

    return start


def killed(process):
    """kill -9; what it had said until then."""
    process.kill()
    said = process.stdout.read() if not process.stdout.closed else ""
    process.stdout.close()
    process.wait()
    return said.splitlines()


@pytest.mark.crash
@pytest.mark.parametrize("with_facility", [False, True], ids=["servers", "servers and facility"])
def test_killed_processes_lose_and_double_nothing(tmp_path, started, facility, with_facility):
    holder = facility()
    define(tmp_path / "msgq", Policy(size=20_000), {"CF01": str(tmp_path / "cf.sock")})
    watcher = server("WATCHER", tmp_path / "msgq").start()
    workers = [
        started(HERE / "kill_worker.py", f"CQS{at}{what[0].upper()}", tmp_path / "msgq", what)
        for at, what in enumerate(("put", "put", "reply"))
    ]
    for worker in workers:
        assert "started\n" == worker.stdout.readline()
    Event().wait(0.7)
    if with_facility:
        killed(holder)
    said = [line for worker in workers for line in killed(worker)]
    if with_facility:
        facility()
        client = server("CHECK", tmp_path / "msgq").start().register("CHK")
        watcher.step()
    else:
        client = watcher.register("CHK")
        for _ in range(100):
            watcher.step()
            if not watcher.pair.primary.connection.connectors().items() - {("WATCHER", True)}:
                break
            Event().wait(0.02)
    ready, replies = Counter(texts(client, TRANX)), Counter(texts(client, LTRMZ))
    locked = Counter() if not with_facility else _locked(watcher)
    there = ready + Counter(text.removeprefix("re ") for text in replies) + locked
    assert 1 == max(there.values()), "nothing is there twice"
    for line in said:
        assert line.removeprefix("re ") in there, "what was said to be done is there"
        assert not line.startswith("re ") or line in replies
    assert len(said) > 10
    assert agrees_with_log(watcher)
    if with_facility:
        client.pair.structures[0].connection.fail()
    watcher.stop()


def _locked(watcher):
    """What dead servers had locked when everything was lost: ready again ten seconds after the recovery."""
    from cqs.group import on_structure
    from quaestor.cqs.queue_names import Private

    found = [placed.message for placed in on_structure(watcher).of(0) if placed.header == Private.LOCK]
    return Counter(message.segments[0].decode() for message in found)
