"""Commits while a force of the log is in flight: who is served, who is told, and who is not (GC1-GC5, LI4, SV5, SV6).

The disk holds a write for as long as the test wants it to, so that everything between the beginning of a force and its
end can be looked at.
"""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from model.answers import bodies, drain, fails
from qmgr.small import EVERYTHING, page_queue_manager
from quaestor import MQMD, GetOptions, LocalQueue, MQError, OpenOptions, PutOptions, Reason
from quaestor.server.client import requests
from quaestor.server.client.opening import LINKS, hello_of
from quaestor.server.client.place import Place
from quaestor.server.home import Configuration, Home
from quaestor.testing import FaultyDisk
from server.conftest import ENGINE, QUICK, Door
from server.test_server_faults import SRC

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT
PERSISTENT, VOLATILE = MQMD(persistence=1), MQMD(persistence=0)
PATIENCE_S = 10.0


class Held:
    """A queue manager behind a socket whose disk may be held in the middle of a force."""

    def __init__(self, directory, disk):
        self.disk, self.directory = disk, directory
        self.door = Door(directory, disk)
        self.service, self.commits = self.door.service, self.door.service.commits
        self.commits.overlaps = True
        self.door.queue("ORDERS")
        self.bystander, _ = self.client()

    def client(self, name=b""):
        """An application with the queue open, and with a name for `outcome` perhaps."""
        place = Place("QM1", path=self.directory / "socket")
        app = LINKS.connect(place, hello_of("QM1", "ALICE", None, "test", name))
        self.door.sockets.append(app._link._sock)
        return app, app.open("ORDERS", EVERYTHING)

    def hold(self):
        """From now on a force does not end; somebody else is served, so that it is not waited for (GC4)."""
        self.disk.held = True
        self.bystander.status()

    def let_go(self):
        self.disk.let_go()

    def wait_for(self, condition, seconds=None):
        pause = threading.Event()
        for _ in range(int((seconds or PATIENCE_S) / 0.005)):
            if condition():
                return
            pause.wait(0.005)
        raise AssertionError("it did not come about in time")

    def started(self, units):
        """Wait until so many commits wait for the next force."""
        self.wait_for(lambda: len(self.commits.started) == units)

    def flying(self):
        self.wait_for(lambda: self.commits.in_flight)

    def forces(self):
        return self.door.manager.engine.log.stats.logger_calls

    def bodies(self):
        self.let_go()
        app, queue = self.client()
        found = bodies(drain(queue))
        app.disconnect()
        return found


@pytest.fixture
def held(tmp_path):
    made = Held(tmp_path, FaultyDisk())
    yield made
    made.let_go()
    made.door.stop()


def put_later(app, queue, body):
    """Send a persistent put out of syncpoint and do not wait for its answer; its number."""
    request = queue.put_request(body, PERSISTENT, int(NOW), None, None)
    return app._link.send(app._conversation, request, answered=True)


def answered(app, number):
    op, _, _ = app._link._answer(number)
    return op == requests.Op.REPLY


def silent(app, seconds=0.05):
    """Whether nothing comes."""
    import select

    return not select.select([app._link._sock], [], [], seconds)[0]


# -- who is served, and who is told


def test_nobody_is_told_before_the_force_is_over(held):
    app, queue = held.client()
    held.hold()
    number = put_later(app, queue, b"one")
    held.flying()
    assert silent(app)
    held.let_go()
    assert answered(app, number)
    assert ["one"] == held.bodies()


def test_others_are_served_while_a_force_is_in_flight(held):
    app, queue = held.client()
    other, same = held.client()
    held.hold()
    number = put_later(app, queue, b"durable")
    held.flying()
    same.put("volatile", VOLATILE, NOW)
    assert same.get(GET_NOW).text == "volatile"  # the other message is not there yet
    with fails(Reason.NO_MSG_AVAILABLE):
        same.get(GET_NOW)
    held.let_go()
    assert answered(app, number)
    assert same.get(GET_NOW).text == "durable"
    other.disconnect()


def test_commits_that_come_meanwhile_share_the_next_force(held):
    first, queue = held.client()
    rest = [held.client() for _ in range(4)]
    before = held.forces()
    held.hold()
    number = put_later(first, queue, b"0")
    held.flying()
    numbers = [put_later(app, opened, f"{n}".encode()) for n, (app, opened) in enumerate(rest, 1)]
    held.started(4)
    held.let_go()
    assert answered(first, number)
    assert all(answered(app, number) for (app, _), number in zip(rest, numbers, strict=True))
    assert 2 == held.forces() - before
    assert ["0", "1", "2", "3", "4"] == held.bodies()  # in the order in which they were started


def test_a_conversation_goes_on_when_its_commit_is_durable(held):
    """What it sent behind the put waits for it, and is carried out in order."""
    app, queue = held.client()
    held.hold()
    put = put_later(app, queue, b"one")
    get = app._link.send(app._conversation, queue.get_request(int(GET_NOW), None, None, {}), answered=True)
    held.flying()
    assert silent(app)
    held.let_go()
    assert answered(app, put)
    assert answered(app, get)
    assert [] == held.bodies()


def test_a_get_that_waits_has_the_message_when_its_put_is_durable(held):
    """It takes the message in a unit of its own, which needs a force again."""
    app, queue = held.client()
    getter, same = held.client()
    got = []
    thread = threading.Thread(target=lambda: got.append(same.get(wait_ms=10_000).text))
    thread.start()
    held.wait_for(lambda: any(one.parked for link in held.service.links for one in link.conversations.values()))
    held.hold()
    queue.put(b"one", PERSISTENT)
    number = app._link.send(app._conversation, requests.commit(None), answered=True)
    held.flying()
    assert not got
    held.let_go()
    assert answered(app, number)
    thread.join(10)
    assert ["one"] == got
    getter.commit()
    assert [] == held.bodies()


def test_another_thread_forces_the_log_meanwhile(held):
    """An application of the same process commits while a force of the server is in flight."""
    app, queue = held.client()
    held.hold()
    number = put_later(app, queue, b"through the socket")
    held.flying()
    with held.door.connections.connect("ALICE") as inside:
        inside.put("ORDERS", "inside", PERSISTENT)
    held.let_go()
    assert answered(app, number)
    assert ["inside", "through the socket"] == sorted(held.bodies())


def test_a_force_is_waited_for_when_nobody_else_is_there(held):
    """A unit of one application, call by call: the disk would be held for ever if its end were only announced."""
    app, queue = held.client()
    queue.put("once", PERSISTENT, NOW)  # whoever called before is forgotten
    held.disk.held = True
    for n in range(3):
        queue.put(f"{n}", PERSISTENT)
        app.commit()
        assert not held.commits.in_flight
    assert ["once", "0", "1", "2"] == held.bodies()


def test_a_disk_that_cannot_write_beside_us_is_waited_for(tmp_path):
    disk = FaultyDisk()
    disk.asynchronous = False
    held = Held(tmp_path, disk)
    apps = [held.client() for _ in range(3)]
    numbers = [put_later(app, queue, b"x") for app, queue in apps]
    assert all(answered(app, number) for (app, _), number in zip(apps, numbers, strict=True))
    assert not held.commits.in_flight
    assert ["x"] * 3 == held.bodies()
    held.door.stop()


# -- links that end


def test_a_link_that_dies_meanwhile_ends_when_its_commit_has(held):
    app, queue = held.client()
    held.hold()
    put_later(app, queue, b"committed")
    held.flying()
    app._link.close()
    other, _ = held.client()
    held.wait_for(lambda: len(held.service._ended) == 1)
    assert 3 == other.status()["links"]  # LI4
    held.let_go()
    held.wait_for(lambda: len(held.service.links) == 2)
    other.disconnect()
    assert ["committed"] == held.bodies()


def test_a_client_that_comes_back_meanwhile_hears_the_outcome(held):
    app, queue = held.client(b"SAME")
    held.hold()
    queue.put(b"one", PERSISTENT)
    app._link.send(app._conversation, requests.commit(7), answered=True)
    held.flying()
    again, _ = held.client(b"SAME")
    assert again.outcome(7)
    again.disconnect()
    assert ["one"] == held.bodies()


def test_an_end_that_is_announced_too_late_keeps_nobody_awake(held):
    """Somebody has waited for the force: its announcement finds nothing in flight."""
    app, queue = held.client(b"SAME")
    held.hold()
    queue.put(b"one", PERSISTENT)
    app._link.send(app._conversation, requests.commit(7), answered=True)
    held.flying()
    again, _ = held.client(b"SAME")
    assert not held.commits.in_flight
    held.let_go()
    again.status()
    before = held.service.turns
    threading.Event().wait(0.2)
    assert held.service.turns - before < 5


def test_an_outcome_is_durable_before_it_is_told(held):
    """Another connection of the client asks, on the same link, while the commit is in flight."""
    app, queue = held.client(b"SAME")
    held.hold()
    queue.put(b"one", PERSISTENT)
    app._link.send(app._conversation, requests.commit(7), answered=True)
    held.flying()
    from quaestor.server.client.connection import Connection

    beside = Connection(app._link, lambda _: None)
    assert beside.outcome(7)
    log = held.door.manager.engine.log
    assert log.hardened == log.end


# -- the end of the server


def restarted(disk):
    """What is on the queue after the power has gone and come back."""
    survivor = page_queue_manager(disk=disk.after_power_cut())
    with survivor.manager.connections.connect("ALICE") as app:
        return bodies(drain(app.open("ORDERS", OpenOptions.INPUT_SHARED)))


def test_a_stop_meanwhile_leaves_the_commit_durable(tmp_path):
    held = Held(tmp_path, FaultyDisk())
    app, queue = held.client()
    held.hold()
    number = put_later(app, queue, b"one")
    held.flying()
    held.door.stop()
    with fails(Reason.CONNECTION_BROKEN):
        answered(app, number)
    assert ["one"] == restarted(held.disk)


def test_a_disk_that_fails_meanwhile_ends_the_server_and_confirms_nothing(tmp_path):
    held = Held(tmp_path, FaultyDisk())
    app, queue = held.client()
    waiting, same = held.client()
    held.hold()
    number = put_later(app, queue, b"in flight")
    held.flying()
    behind = put_later(waiting, same, b"behind it")
    held.started(1)
    held.disk.fail_at[held.disk.operations + 1] = 5
    held.let_go()
    for one, sent in ((app, number), (waiting, behind)):
        with fails(Reason.CONNECTION_BROKEN):
            answered(one, sent)
    held.door.thread.join(10)
    assert not held.door.thread.is_alive()
    assert held.door.connections.failure is not None
    assert set(restarted(held.disk)) <= {"in flight", "behind it"}
    held.door.stop()


@pytest.mark.parametrize("seed", range(8))
def test_what_was_confirmed_survives_the_power(tmp_path, seed):
    """Puts are confirmed, then others are in flight and behind it when the power goes."""
    held = Held(tmp_path, FaultyDisk(seed=seed))
    apps = [held.client() for _ in range(4)]
    for n, (_, queue) in enumerate(apps):
        queue.put(f"confirmed {n}", PERSISTENT, NOW)
    held.hold()
    numbers = [put_later(app, queue, f"later {n}".encode()) for n, (app, queue) in enumerate(apps)]
    held.flying()
    held.wait_for(lambda: held.commits.count >= 8)
    told = [n for n, (app, _) in enumerate(apps) if not silent(app, 0.01) and answered(app, numbers[n])]
    left = restarted(held.disk)
    assert {f"confirmed {n}" for n in range(4)} | {f"later {n}" for n in told} <= set(left)
    assert len(left) == len(set(left))
    held.let_go()
    held.door.stop()


SERVER = "import sys; from quaestor.cli.main import main; main(sys.argv[1:])"


@pytest.mark.parametrize("after_s", [0.15, 0.3])
def test_a_server_killed_under_load_keeps_what_it_confirmed(tmp_path, after_s):
    """kill -9 while forces are in flight all the time; then everything confirmed is there, and nothing twice."""
    home = Home(tmp_path / "QM1")
    home.create(Configuration("QM1", security=False, limits=QUICK, engine=ENGINE | {"log_bytes": 8 << 20}))
    command = [sys.executable, "-c", SERVER, "qmgr", "start", "QM1", "--directory", str(home.directory)]
    place = Place("QM1", path=home.socket)

    def connect():
        pause = threading.Event()
        for _ in range(2000):
            with suppress(MQError):
                return LINKS.connect(place, hello_of("QM1", None, None, "test"))
            pause.wait(0.01)
        raise AssertionError("the server does not start")

    def put(number):
        with suppress(MQError):
            app = connect()
            queue = app.open("ORDERS", OpenOptions.OUTPUT)
            begun.wait()
            for n in range(100_000):
                queue.put(f"{number}-{n}", PERSISTENT, NOW)
                confirmed.append(f"{number}-{n}")

    confirmed, begun, left = [], threading.Barrier(5), []
    environment = {**os.environ, "PYTHONPATH": SRC}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as server:
        app = connect()
        app.define(LocalQueue("ORDERS", share=True, def_exclusive=False, max_depth=999_999))
        app.disconnect()
        putters = [threading.Thread(target=put, args=(n,)) for n in range(4)]
        for thread in putters:
            thread.start()
        begun.wait()
        threading.Event().wait(after_s)
        server.kill()
        for thread in putters:
            thread.join(10)
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as server:
        app = connect()
        left = bodies(drain(app.open("ORDERS", OpenOptions.INPUT_SHARED)))
        app.disconnect()
        server.send_signal(signal.SIGTERM)
    assert confirmed
    assert set(confirmed) <= set(left)
    assert len(left) == len(set(left))
    assert len(left) - len(confirmed) <= 4  # in flight and not told of


def test_what_came_behind_a_commit_is_not_carried_out_when_its_link_has_ended(held):
    """W9, W10, CV1: a commit behind one that waits for the log is backed out with its link, and stays so."""
    app, queue = held.client(b"BILLING")
    held.hold()
    put_later(app, queue, b"alone")
    held.flying()
    unit = queue.put_request(b"in the unit", PERSISTENT, 0, None, None)
    app._link.send(app._conversation, unit, answered=False)
    app._link.send(app._conversation, requests.commit(1), answered=True)
    (link,) = (link for link in held.service.links if link.client)
    (conversation,) = link.conversations.values()
    held.wait_for(lambda: len(conversation.backlog) == 2)
    app._link.close()
    held.wait_for(lambda: not link.open)
    back, _ = held.client(b"BILLING")
    told = []
    asking = threading.Thread(target=lambda: told.append(back.outcome(1)))
    asking.start()
    asking.join(0.1)  # the queue manager waits for the force before it answers
    held.let_go()
    asking.join(PATIENCE_S)
    assert told == [False]
    assert held.bodies() == ["alone"]
