"""The link of an asyncio client: what it does with the bytes that come (AL1, AL4); servers that are full (RC1)."""

import asyncio
import socket
import threading

import pytest

import quaestor
from model.answers import fails
from quaestor import Reason
from quaestor.server.client.asynchronous_link import AsyncLink, Pending, dropped
from quaestor.server.home import Configuration, Home
from quaestor.server.protocol import Op, frame
from server.conftest import ENGINE, QUICK, Serving


def test_the_pieces_of_a_long_answer_are_put_together_once():
    """AL1: they gather where they are; answers before and behind it, and in its pieces, are told apart."""

    async def work():
        link, loop = AsyncLink(), asyncio.get_running_loop()
        sent = {1: b"before", 2: bytes(range(256)) * 1000, 3: b"", 4: b"behind"}
        waiting = {number: loop.create_future() for number in sent}
        link._pending = {number: Pending(None, bytes, future, dropped) for number, future in waiting.items()}
        data, rest = b"".join(frame(Op.REPLY, 0, 1, number, body) for number, body in sent.items()), link._rest
        for at in range(0, len(data), 5000):
            link.data_received(data[at : at + 5000])
            assert link._rest is rest
        assert sent == {number: await future for number, future in waiting.items()}
        assert not link._rest

    asyncio.run(work())


@pytest.fixture
def full(tmp_path, monkeypatch):
    """A server that takes one connection, and has it."""
    home = Home(tmp_path / "QM1")
    home.create(Configuration("QM1", security=False, limits=QUICK | {"connections": 1}, engine=ENGINE))
    monkeypatch.setenv("QUAESTOR_HOME", str(tmp_path))
    serving = Serving(home)
    serving.only = serving.connect()
    yield serving
    serving.only.disconnect()
    serving.stop()


def test_a_full_server_says_so_to_both_kinds_of_clients(full):
    """AL4, DO2: 2025, whether it was said before the client has said anything or behind that."""
    for _ in range(20):
        with fails(Reason.MAX_CONNS_LIMIT_REACHED):
            quaestor.connect("QM1")
        with fails(Reason.MAX_CONNS_LIMIT_REACHED):
            asyncio.run(quaestor.connect_async("QM1"))


def test_a_client_waits_for_room_when_it_comes_back(full):
    """RC1: the links that were lost with its own may still be counted."""
    full.only.disconnect()
    full.idle()
    app = full.connect(reconnect_s=20)
    app._link._sock.shutdown(socket.SHUT_RDWR)
    full.idle()
    full.only = full.connect()
    leaving = threading.Timer(0.3, full.only.disconnect)
    leaving.start()
    assert app.status()["links"] == 1
    leaving.join()
    app.disconnect()
