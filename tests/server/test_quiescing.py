"""ARCHIVE LOG MODE(QUIESCE) on a server: clients that would begin a unit are held up, nothing is lost (CV8, GA3)."""

import threading
from dataclasses import replace

import pytest

from quaestor import MQMD, GetOptions, LocalQueue, MQError, OpenOptions, PutOptions
from quaestor.cli.mqsc_door import door
from server.conftest import QUICK

PERSISTENT, NO_SYNCPOINT = MQMD(persistence=1), PutOptions.NO_SYNCPOINT
QUIESCE = "ARCHIVE LOG MODE(QUIESCE) TIME(60) WAIT(YES)"


class Quiescing:
    """A server whose ARCHIVE LOG waits for the unit of one client."""

    def __init__(self, server):
        self.server, self.replies, self.clients = server, [], []
        self.first = self.client()
        self.first.define(LocalQueue("ORDERS", share=True, def_exclusive=False))
        self.opened = door("QM1", server.home.directory)

    def client(self):
        self.clients.append(self.server.connect())
        return self.clients[-1]

    def begin(self):
        self.first.put("ORDERS", b"first", PERSISTENT)
        self.operator = threading.Thread(target=lambda: self.replies.append(self.opened.run(QUIESCE)))
        self.operator.start()
        self.server.wait_for(lambda: self.server.manager.connections.units_held)

    def beside(self, call):
        thread = threading.Thread(target=call)
        thread.start()
        return thread

    def held_up(self, clients=1):
        self.server.wait_for(lambda: len(self.server.service.held_up) == clients)

    def end(self):
        self.first.commit()
        self.operator.join(30)
        assert [True] == [reply.ok for reply in self.replies]

    def close(self):
        self.opened.close()
        for client in self.clients:
            client.disconnect()


@pytest.fixture
def quiescing(home, serve):
    home.write(replace(home.configuration(), engine=home.configuration().engine | {"archive": True}))
    quiescing = Quiescing(serve())
    yield quiescing
    quiescing.close()


def everything(client):
    with client.open("ORDERS", OpenOptions.INPUT_SHARED | OpenOptions.INQUIRE) as queue:
        depth = queue.inquire("CURDEPTH")["CURDEPTH"]
        return [queue.get(GetOptions.NO_SYNCPOINT).body for _ in range(depth)]


def test_clients_are_held_up_until_the_log_is_switched(quiescing):
    many = [b"%d" % number for number in range(700)]
    second, third, fourth, got = quiescing.client(), quiescing.client(), quiescing.client(), []
    quiescing.begin()

    def putting():
        with second.open("ORDERS") as queue:
            queue.put_all(many, PERSISTENT, NO_SYNCPOINT)

    def getting():
        with third.open("ORDERS") as queue:
            got.append(queue.get(GetOptions.NO_SYNCPOINT, wait_ms=30_000).body)

    threads = [quiescing.beside(each) for each in (putting, lambda: fourth.put1("ORDERS", b"one", PERSISTENT), getting)]
    quiescing.held_up(clients=3)
    quiescing.first.put("ORDERS", b"second", PERSISTENT)
    with quiescing.first.open("ORDERS", OpenOptions.BROWSE) as queue, pytest.raises(MQError, match="2033"):
        queue.browse()
    quiescing.end()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    fourth.commit()
    assert sorted([b"first", b"second", b"one", *many]) == sorted(got + everything(second))


def test_a_get_that_waits_is_woken_and_held_up(quiescing):
    """A unit that goes on puts out of syncpoint: the getter it wakes has no unit."""
    second, got = quiescing.client(), []

    def getting():
        with second.open("ORDERS") as queue:
            got.append(queue.get(wait_ms=30_000).body)

    waiting = quiescing.beside(getting)
    catalogue = quiescing.server.manager.messages.catalogue
    quiescing.server.wait_for(lambda: catalogue.state("ORDERS").waiters.waiting)
    quiescing.begin()
    quiescing.first.put("ORDERS", b"now", PERSISTENT, NO_SYNCPOINT)
    quiescing.held_up()
    assert [] == got
    quiescing.end()
    waiting.join(30)
    second.commit()
    assert ([b"first"], [b"now"]) == (got, everything(second))


def test_who_waits_longer_than_the_heartbeat_is_not_forgotten(quiescing):
    """SV4: neither the client that is held up nor the operator gives the server up; both answer its heartbeats."""
    second = quiescing.client()
    quiescing.begin()
    putting = quiescing.beside(lambda: second.put("ORDERS", b"second", PERSISTENT, NO_SYNCPOINT))
    quiescing.held_up()
    putting.join(3 * QUICK["heartbeat_s"])
    assert putting.is_alive()
    assert quiescing.operator.is_alive()
    quiescing.end()
    putting.join(30)
    assert [b"first", b"second"] == everything(second)


def test_a_client_that_dies_while_it_is_held_up_leaves_nothing(quiescing):
    second = quiescing.client()
    quiescing.begin()

    def put():
        with pytest.raises(MQError):
            second.put("ORDERS", b"lost", PERSISTENT, NO_SYNCPOINT)

    putting = quiescing.beside(put)
    quiescing.held_up()
    second._link._sock.shutdown(2)
    putting.join(30)
    quiescing.clients.remove(second)
    quiescing.server.wait_for(lambda: len(quiescing.server.service.links) == 2)
    quiescing.end()
    assert [b"first"] == everything(quiescing.client())


def test_an_archive_comes_about_under_constant_load(quiescing):
    """Eight clients are never idle; the log is switched all the same, each time, and no call is counted twice (GA5)."""
    over, put, manager = threading.Event(), [], quiescing.server.manager
    with quiescing.first.open("ORDERS") as queue:
        queue.put_all([b"x"] * 100, PERSISTENT, NO_SYNCPOINT)
    with manager.engine.recovery.latch:
        manager.statistics.start("ACCTG", {3})
    clients = [quiescing.client() for _ in range(8)]

    def load(client):
        with client.open("ORDERS") as queue:
            number = 0
            while not over.is_set():
                client.put1("ORDERS", b"x", PERSISTENT)
                for _ in range(5):
                    queue.put(b"x", PERSISTENT)
                queue.get()
                queue.get(wait_ms=1000)
                client.commit()
                number += 1
        put.append(number)

    threads = [quiescing.beside(lambda client=client: load(client)) for client in clients]
    try:
        replies = [quiescing.opened.run(QUIESCE) for _ in range(5)]
    finally:
        over.set()
        for thread in threads:
            thread.join(30)
    assert [True] * 5 == [reply.ok for reply in replies], [reply.lines for reply in replies]
    assert 100 + 4 * sum(put) == manager.messages.catalogue.state("ORDERS").stored.depth
    tallies = [t for account in manager.statistics._accounts.values() for t in account.tally.queues.values()]
    for tally in tallies:
        tally.fold()
    loading = [tally for tally in tallies if tally.put.calls]
    calls = [sum(getattr(t, verb).calls for t in loading) for verb in ("put", "put1", "get")]
    assert [5 * sum(put), sum(put), 2 * sum(put)] == calls
    stats = manager.messages.stats
    assert (100 + 5 * sum(put), sum(put)) == (stats.puts, stats.put1s)
