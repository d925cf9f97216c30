"""The link of an asyncio client, and servers that are full or take nothing (AL1, AL4, AL6, AL7, RC1)."""

import asyncio
import os
import socket
import threading
from pathlib import Path

import pytest

import quaestor
from model.answers import fails
from quaestor import LocalQueue, OpenOptions, PutOptions, Reason
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


class Slow:
    """A transport whose other end takes what it is told to."""

    def __init__(self):
        self.left = 0

    def write(self, data):
        self.left += len(data)

    def get_write_buffer_size(self):
        return self.left

    def abort(self):
        self.left = 0


def test_a_call_without_an_answer_waits_while_nothing_is_taken():
    """AL6: for as long as something is, and then no longer than nothing may be heard."""

    async def work():
        link, slow = AsyncLink(), Slow()
        link.connection_made(slow)
        link._patience_s, slow.left = 0.1, 1000
        await link.taken()
        link.pause_writing()
        waiting = asyncio.create_task(link.taken())
        for left in (900, 800):
            await asyncio.sleep(0.08)
            slow.left = left
        link.resume_writing()
        await waiting
        link.pause_writing()
        with fails(Reason.CONNECTION_BROKEN):
            await link.taken()
        return link.why_broken

    assert asyncio.run(work()) == "the queue manager has taken nothing for too long"


def test_puts_without_answers_do_not_gather_without_end(serve, home, monkeypatch):
    """AL6: as long as the queue manager takes them, they are a few at a time."""
    server = serve()
    monkeypatch.setenv("QUAESTOR_HOME", str(home.directory.parent))
    with server.connect() as app:
        app.define(LocalQueue("ORDERS"))

    async def work():
        async with await quaestor.connect_async("QM1") as app, await app.open("ORDERS", OpenOptions.OUTPUT) as queue:
            gathered = 0
            for _ in range(500):
                await queue.put(bytes(10_000), None, PutOptions.ASYNC_RESPONSE | PutOptions.NO_SYNCPOINT)
                gathered = max(gathered, app._link._transport.get_write_buffer_size())
            return gathered

    assert asyncio.run(work()) < 100_000


def test_a_child_has_none_of_its_parents_links(serve, home, monkeypatch):
    """AL7: neither the socket nor a way to use it."""
    serve()
    monkeypatch.setenv("QUAESTOR_HOME", str(home.directory.parent))

    def named(fd):
        return Path(f"/proc/self/fd/{fd}").readlink()

    def sockets():
        return {named(each.name) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()}

    async def work():
        app = await quaestor.connect_async("QM1")
        fd = app._link._transport.get_extra_info("socket").fileno()
        ours = named(fd)
        child = os.fork()
        if not child:
            os._exit(int(ours in sockets() or app._link.why_broken is None))
        code = await asyncio.to_thread(lambda: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        await app.disconnect()
        return code

    assert asyncio.run(work()) == 0
