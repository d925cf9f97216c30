"""The common queue server at its edges: late notices, small thresholds, long messages that move, bad policies."""

import pytest

from cqs.group import Group
from quaestor.cqs.interest import LOOK_AT_ALL
from quaestor.cqs.queue_names import lterm, message_id, transaction
from quaestor.storage.lists.operations import Count

LONG = [bytes([number]) * 2000 for number in range(6)]
ID = message_id("IMS1", 1)


@pytest.fixture
def group():
    made = Group()
    made.start("CQS1")
    return made


@pytest.fixture
def server(group):
    return group.servers["CQS1"]


@pytest.fixture
def client(server):
    return server.register("IMS1")


def in_use(server):
    """Entries on the client queues of a structure: none when every message is gone, with its continuations."""
    counts = server.pair.primary.connection.request(*(Count(header) for header in range(71, 192)))
    return sum(counts)


# -- interest, rules IN1 to IN5


def test_a_notice_that_comes_late_is_for_nobody(server, client):
    """IN5: it would end the thread that listens, and nobody would be told of anything any more."""
    told = []
    other = server.register("IMS2", told.append)
    for queue in (transaction("A"), transaction("B")):
        other.register_interest(queue)
    other.deregister_interest(transaction("A"))
    for token in (1, 2, 99):
        server.pair.told(0, token)
    assert [transaction("B")] == told


def test_everything_is_told_of_when_something_may_have_been_missed(server, client):
    """IN4: to everybody who is registered, each for each of its queues."""
    told = {"IMS2": [], "IMS3": []}
    for name, list_ in told.items():
        server.register(name, list_.append).register_interest(transaction("A"))
    server.clients["IMS3"].register_interest(lterm("T1"))
    server.pair.told(0, LOOK_AT_ALL)
    assert {"IMS2": [transaction("A")], "IMS3": [transaction("A"), lterm("T1")]} == told
    assert [transaction("A"), lterm("T1")] == server.clients["IMS3"].interests


def test_who_registers_twice_is_told_once(server, client):
    told = []
    other = server.register("IMS2", told.append)
    for _ in range(2):
        other.register_interest(transaction("A"))
    client.put(transaction("A"), [b"x"])
    assert [transaction("A")] == told
    other.deregister_interest(transaction("A"))
    other.deregister_interest(transaction("A"))  # harmless
    assert [] == other.interests


def test_one_of_two_that_deregisters_leaves_the_other_told(server, client):
    told = []
    for name in ("IMS2", "IMS3"):
        server.register(name, lambda _queue, name=name: told.append(name)).register_interest(transaction("A"))
    server.clients["IMS2"].deregister_interest(transaction("A"))
    client.put(transaction("A"), [b"x"])
    assert ["IMS3"] == told
