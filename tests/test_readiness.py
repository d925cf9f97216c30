"""Waiting for sockets: who is told, when a thread looks on and when it sleeps (RD1-RD3)."""

import socket
import threading
from pathlib import Path

import pytest

from quaestor import readiness
from quaestor.readiness import READ, WRITE, Arrival, Readiness


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def offers(monkeypatch):
    """How often the processor was offered to others."""
    made = []
    monkeypatch.setattr(readiness, "offer_processor", lambda: made.append(1))
    return made


class Later:
    """Sends something after a while."""

    def __init__(self, sock, seconds):
        self.timer = threading.Timer(seconds, lambda: sock.send(b"!"))

    def __enter__(self):
        self.timer.start()

    def __exit__(self, *_):
        self.timer.join()


def test_a_socket_stands_for_whoever_is_to_be_told(pair):
    ours, theirs = pair
    watched = Readiness()
    watched.watch(ours.fileno(), READ, "us")
    assert watched.now() == []
    theirs.send(b"!")
    assert [(watched.told[fd], mask) for fd, mask in watched.now()] == [("us", READ)]
    watched.watch(ours.fileno(), READ | WRITE, "us")
    assert watched.ready(1) == [(ours.fileno(), READ | WRITE)]
    watched.watch(ours.fileno(), 0, "us")
    assert watched.now() == []
    watched.watch(ours.fileno(), 0, "us")  # not there any more: nothing to do
    watched.close()


def test_who_waited_long_sleeps_at_once(pair, offers):
    ours, theirs = pair
    watched = Readiness()
    watched.watch(ours.fileno(), READ, "us")
    assert watched.ready(0.05) == []
    with Later(theirs, 0.05):
        assert watched.ready(5) == [(ours.fileno(), READ)]
    assert offers == []


def test_who_waited_shortly_looks_on_and_lets_others_have_the_processor(pair, offers):
    ours, theirs = pair
    watched = Readiness()
    watched.watch(ours.fileno(), READ, "us")
    theirs.send(b"!")
    assert watched.ready(5)  # at once: the next wait may be as short
    ours.recv(10)
    assert watched.ready(0.05) == []
    assert offers
    so_far = len(offers)
    assert watched.ready(0.05) == []  # the last wait was long
    assert len(offers) == so_far


def test_a_client_looks_on_only_while_answers_come_soon(pair, offers):
    ours, theirs = pair
    arrival = Arrival(ours.fileno())
    theirs.send(b"!")
    assert arrival.receive(ours.recv, 10) == b"!"
    with Later(theirs, 0.05):
        assert arrival.receive(ours.recv, 10) == b"!"
    assert offers
    so_far = len(offers)
    with Later(theirs, 0.05):
        assert arrival.receive(ours.recv, 10) == b"!"
    assert len(offers) == so_far


def test_looking_ends_with_its_time(pair, offers, monkeypatch):
    """A thread does not keep its processor for longer than a force of the log takes."""
    ours, _ = pair
    times = iter(range(0, 100 * readiness.LOOK_NS, readiness.LOOK_NS // 4))
    monkeypatch.setattr(readiness, "monotonic_ns", lambda: next(times))
    watched = Readiness()
    watched.watch(ours.fileno(), READ, "us")
    watched._brisk = True  # as after a short wait
    assert watched.ready(0.01) == []
    assert 0 < len(offers) <= 4


def test_who_comes_back_late_from_an_offer_sleeps(pair, monkeypatch):
    """Somebody else has long work for the processor: looking on would only take turns from it."""
    ours, theirs = pair
    now_ns, offers = [0], []

    def offer():
        offers.append(1)
        now_ns[0] += readiness.TAKEN_NS + 1

    monkeypatch.setattr(readiness, "monotonic_ns", lambda: now_ns[0])
    monkeypatch.setattr(readiness, "offer_processor", offer)
    watched = Readiness()
    watched.watch(ours.fileno(), READ, "us")
    watched._brisk = True
    assert watched.ready(0.01) == []
    assert 1 == len(offers)
    watched._brisk = True
    assert watched.ready(0.01) == []
    assert 1 == len(offers)  # it rests for a while
    now_ns[0] += readiness.REST_NS
    assert watched.ready(0.01) == []
    assert 2 == len(offers)
    arrival = Arrival(ours.fileno())
    with Later(theirs, 0.01):
        assert arrival.receive(ours.recv, 10) == b"!"
    assert 3 == len(offers)


def test_patience_comes_to_an_end(pair):
    ours, _ = pair
    arrival = Arrival(ours.fileno())
    arrival.patience_ms = 20
    with pytest.raises(TimeoutError):
        arrival.receive(ours.recv, 10)


def test_nobody_is_woken_because_the_other_end_takes_what_it_was_sent(pair):
    """RD4: a thread that sleeps for an answer sleeps on while its request is read."""
    ours, theirs = pair
    arrival, got, asleep = Arrival(ours.fileno()), [], threading.Event()
    arrival.patience_ms = 10_000

    def wait():
        got.append(threading.get_native_id())
        asleep.set()
        got.append(arrival.receive(ours.recv, 10))

    def switches():
        with Path(f"/proc/self/task/{got[0]}/status").open() as status:
            return next(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt_switches"))

    ours.send(b"request")
    thread = threading.Thread(target=wait)
    thread.start()
    asleep.wait()
    threading.Event().wait(0.1)
    before = switches()
    assert theirs.recv(10) == b"request"
    threading.Event().wait(0.05)
    assert switches() == before
    theirs.send(b"answer")
    thread.join(10)
    assert got[1] == b"answer"
