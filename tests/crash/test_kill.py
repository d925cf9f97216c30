"""kill -9 at any instant: a process full of threads that put and get is killed, again and again, on real files; then a
server whose clients are processes of their own.

Another process (this one) restarts the queue manager each time and holds it to what the killed one said in its pipe:
what was confirmed is there exactly once, what was got and confirmed is gone, and a unit whose commit was not answered
happened as a whole or not at all. QUAESTOR_KILL_SECONDS makes the loop longer.

Most processes are killed soon, so that many are; the first and every fourth after it may work for three times as long.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from random import Random

import pytest

import quaestor
from crash.kill_load import QUEUE, SETTINGS, name_of
from quaestor.clock import SystemClock
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import GetOptions, OpenOptions
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.checker import check
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.server.client.opening import LINKS, hello_of
from quaestor.server.client.place import local_place
from quaestor.server.home import Configuration, Home
from quaestor.storage.real_disk import RealDisk

pytestmark = [pytest.mark.crash, pytest.mark.slow]
PUTTERS, GETTERS = 3, 2
SECONDS = float(os.environ.get("QUAESTOR_KILL_SECONDS", "14"))
KILLS_IN_VAIN = 20
"""On a machine so busy that nothing is confirmed in time, it gets more time: so often at most."""

LOAD = Path(__file__).with_name("kill_load.py")
SOURCE = Path(quaestor.__file__).parents[1]


class Journal:
    """What the killed processes said, and what must therefore be on the queue."""

    def __init__(self):
        self.there, self.gone = set(), set()
        self.unanswered = []
        self.confirmed = 0

    def read(self, lines):
        """One process's pipe: a unit was asked for, then answered or not."""
        open_units = {}
        for line in lines:
            words = line.split()
            answered = words[0] == "done"
            verb, names = (words[1], tuple(words[2:])) if answered else (words[0], tuple(words[1:]))
            if not names:
                continue
            if answered:
                del open_units[verb, names]
                self.settle(verb, names)
                self.confirmed += 1
            else:
                open_units[verb, names] = True
        self.unanswered = list(open_units)

    def settle(self, verb, names):
        if verb == "put":
            self.there.update(set(names) - self.gone)  # a get of it may have been told of first
        else:
            self.gone.update(names)
            self.there.difference_update(names)

    def decide(self, found):
        """Units that were not answered happened as a whole or not at all, as the queue shows."""
        for verb, names in sorted(self.unanswered):  # "get" before "put": what was got is not missed as put
            present = [name in found for name in names]
            if verb == "get":
                assert len(set(present)) == 1, f"half of a get: {names} {present}"
                happened = not present[0]
            else:
                known = [name in found or name in self.gone for name in names]
                assert len(set(known)) == 1, f"half of a put: {names} {known}"
                happened = known[0]
            if happened:
                self.settle(verb, names)
        self.unanswered = []


def killed_after(directory, number, settings, seconds):
    """Run the load, kill it that long after it began to start, and give what it had said."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, str(LOAD), str(directory), str(number), settings]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert b"starting\n" == process.stdout.readline()
        timer = threading.Timer(seconds, process.send_signal, [signal.SIGKILL])
        timer.start()
        said, complaints = process.communicate(timeout=60)
        timer.join()
        assert (-signal.SIGKILL, "") == (process.returncode, complaints.decode())
    return [line for line in said.decode().splitlines() if line != "started"]


def restarted(directory, settings):
    """What another process finds: the names on the queue, each as often as it is there; everything is in order."""
    disk = RealDisk(directory)
    manager = QueueManager("QM1", disk, SystemClock(), SETTINGS[settings])
    manager.start(background=False)
    assert [] == check(manager.engine.data)
    found = Counter()
    app = manager.connect("CHECK")
    try:
        orders = app.open(QUEUE, OpenOptions.BROWSE)
        while True:
            found[name_of(orders.get(GetOptions.BROWSE_NEXT).body)] += 1
    except MQError:
        pass  # no more messages, or killed before there was a queue
    manager.engine.close()  # not a clean stop: the next process restarts from this one's restart
    manager.abandon()
    return found


@pytest.mark.parametrize("settings", SETTINGS)
def test_kill_9_at_any_instant(settings, tmp_path):
    choose, journal = Random(settings), Journal()
    until, number = time.monotonic() + SECONDS / len(SETTINGS), 0
    while time.monotonic() < until or (not journal.confirmed and number < KILLS_IN_VAIN):
        number += 1
        seconds = choose.uniform(0.02, 1.2 if number % 4 == 1 else 0.4) * (1 if journal.confirmed else number)
        journal.read(killed_after(tmp_path, number, settings, seconds))
        found = restarted(tmp_path, settings)
        assert [] == [name for name, times in found.items() if times > 1]
        journal.decide(found)
        assert journal.there == set(found), f"after kill {number}"
    assert journal.confirmed > 0


def started(directory, *words):
    command = [sys.executable, str(LOAD), str(directory), *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, bufsize=0)


def clients_of(directory, number):
    """Processes of load, each connected and at work."""
    verbs = ["put"] * PUTTERS + ["get"] * GETTERS
    processes = [started(directory, number, verb, thread) for thread, verb in enumerate(verbs)]
    for process in processes:
        assert b"started\n" == process.stdout.readline(), process.stderr.read().decode()
    return processes


def server_killed_after(directory, number, choose):
    """Serve, let clients work, kill the server or a client first, and give what all clients had said."""
    pause = threading.Event()
    with started(directory, "serve") as server:
        assert b"serving\n" == server.stdout.readline(), server.stderr.read().decode()
        if number == 1:
            define_queue(directory)
        clients = clients_of(directory, number)
        pause.wait(choose.uniform(0.01, 0.6))
        if choose.random() < 0.5:
            clients[choose.randrange(len(clients))].kill()
            pause.wait(choose.uniform(0, 0.2))
        server.kill()
        server.wait(60)
    lines = []
    for process in clients:
        said, complaints = process.communicate(timeout=60)
        assert "" == complaints.decode()
        lines += said.decode().splitlines()
    return lines


def define_queue(directory):
    with LINKS.connect(local_place("QM1", directory), hello_of("QM1", None, None, "define", b"")) as app:
        app.define(LocalQueue(QUEUE, share=True, def_exclusive=False, max_depth=10**6))


def test_kill_9_of_a_server_with_processes_of_load(tmp_path):
    home, choose, journal = Home(tmp_path / "QM1"), Random(9), Journal()
    engine = {name: value for name, value in asdict(SETTINGS["single"]).items() if isinstance(value, int)}
    home.create(Configuration("QM1", security=False, engine={**engine, "packing": False}))
    until, number = time.monotonic() + SECONDS / 2, 0
    while time.monotonic() < until:
        number += 1
        journal.read(server_killed_after(home.directory, number, choose))
        found = restarted(home.directory, "single")
        assert [] == [name for name, times in found.items() if times > 1]
        journal.decide(found)
        assert journal.there == set(found), f"after kill {number}"
    assert journal.confirmed > 0
