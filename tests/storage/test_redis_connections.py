"""Connections to Redis that end while others use them (LR5, LR8), on a server that the test plays."""

import socket
import threading
from types import SimpleNamespace

import pytest
import redis

from quaestor.storage.lists.redis_engine import RedisConnection
from quaestor.storage.lists.structure import Shape, StructureLostError

SHAPE = Shape("APP1", lists=16, entries=100, elements=100)


class Server:
    """What the library of Redis is to a connection: its calls wait while they are held, and fail once it is closed."""

    def __init__(self):
        self.here, self.there = socket.socketpair()
        connection = SimpleNamespace(_sock=self.here, socket_timeout=1.5, disconnect=lambda: None)
        self.connection_pool = SimpleNamespace(get_connection=lambda: connection, release=lambda _: None)
        self.asked, self.may_answer = threading.Event(), threading.Event()
        self.may_answer.set()
        self.closed = False
        self.error = None

    def _answer(self, answer):
        self.asked.set()
        self.may_answer.wait(10)
        if self.closed:
            raise ValueError("I/O operation on closed file.")  # as the library says it
        if self.error is not None:
            raise self.error
        return answer

    def smembers(self, _name):
        return self._answer({b"QM1"})

    def exists(self, _name):
        return 1

    def hdel(self, *_names):
        return self._answer(1)

    def fcall(self, name, *_words):
        return self._answer(1) if name.endswith("_forget") else None

    def info(self, _section):
        return {"run_id": "x"}

    def config_get(self, _names):
        return {"appendonly": "no"}

    def pubsub(self, **_):
        return SimpleNamespace(subscribe=lambda _: None, get_message=self._message, close=lambda: None)

    def _message(self, timeout):
        threading.Event().wait(min(timeout, 0.01))

    def close(self):
        self.closed = True

    def _nothing(self, *_words, **_named):
        return None

    function_load = set = publish = delete = _nothing


@pytest.fixture
def server(monkeypatch):
    played = Server()
    monkeypatch.setattr(redis.Redis, "from_url", lambda *_, **__: played)
    yield played
    played.may_answer.set()
    played.here.close()
    played.there.close()


@pytest.fixture
def connection(server):
    made = RedisConnection("redis://played", SHAPE, "QM1", lambda _token: None)
    yield made
    made.fail()
    for thread in made._threads:
        thread.join(10)


@pytest.mark.parametrize("call", ["connectors", "fence", "forget"])
def test_a_connection_that_fails_is_closed_when_nobody_asks_any_more(server, connection, call):
    """LR8: a background step was ended by it, and with it the queue manager."""
    words = () if call == "connectors" else ("QM2",)
    server.may_answer.clear()
    told = []

    def ask():
        try:
            told.append(getattr(connection, call)(*words))
        except Exception as error:  # noqa: BLE001 - told
            told.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    assert server.asked.wait(10)
    connection.fail()
    listener = connection._threads[0]
    listener.join(0.2)
    assert not server.closed
    server.may_answer.set()
    asking.join(10)
    listener.join(10)
    assert [{"QM1": True} if call == "connectors" else None] == told
    assert server.closed


@pytest.mark.parametrize("call", ["connectors", "fence", "forget"])
def test_a_connection_that_has_ended_is_lost_to_whoever_still_has_it(server, connection, call):
    connection.fail()
    connection._threads[0].join(10)
    assert server.closed
    with pytest.raises(StructureLostError, match="APP1: the connection has ended"):
        getattr(connection, call)(*(() if call == "connectors" else ("QM2",)))
    with pytest.raises(StructureLostError, match="the connection has failed"):
        connection.request()


@pytest.mark.parametrize("error", [redis.ConnectionError("away"), redis.TimeoutError("late"), OSError("cut")])
def test_what_is_not_answered_is_lost(server, connection, error):
    """LR5."""
    server.error = error
    with pytest.raises(StructureLostError, match=f"APP1: {error}"):
        connection.connectors()


def test_who_disconnects_is_forgotten_and_gone(server, connection):
    connection.disconnect()
    assert server.closed
    assert not any(thread.is_alive() for thread in connection._threads)
