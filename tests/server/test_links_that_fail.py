"""Links that do not come about, break or end: nothing of them is left, nobody waits for ever (AL3-AL5, CL3, OL1)."""

import asyncio
import gc
import ssl
import threading
import warnings
from contextlib import contextmanager

import pytest

from model.answers import fails
from quaestor import MQError, Reason
from quaestor.server import certificates, values
from quaestor.server.client import asynchronous, asynchronous_link, link
from quaestor.server.client.opening import Links
from quaestor.server.client.place import ClientTls, Place
from quaestor.server.protocol import HEADER, Op, frame
from server.played import HELLO, WELCOME, Pair, Side, until


@contextmanager
def nothing_unclosed():
    """The collector finds no socket or transport that was not closed."""
    gc.collect()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert [] == [str(one.message) for one in told]


async def begun(place, *answers):
    """A task that connects, when it has been answered so often."""
    connecting = asyncio.create_task(asynchronous.connect(place, HELLO))
    await asyncio.to_thread(until, lambda: place.sides)
    for answer in answers:
        await asyncio.to_thread(place.side.answer, answer)
    return connecting


@pytest.mark.parametrize("answers", [[], [WELCOME]], ids=["in HELLO", "in MQCONN"])
def test_a_connect_that_is_cancelled_leaves_no_link(place, answers):
    """AL3: the queue manager would keep it for as long as the loop runs."""

    async def main():
        connecting = await begun(place, *answers)
        await asyncio.to_thread(place.side.asked)
        connecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connecting
        assert await asyncio.to_thread(place.side.has_ended)

    with nothing_unclosed():
        asyncio.run(main())


def test_a_link_that_is_refused_is_closed(place):
    """AL3: whether or not the queue manager has closed it by the end of the loop."""

    async def main():
        connecting = await begun(place)
        await asyncio.to_thread(place.side.answer, values.pack_error(MQError(Reason.NOT_AUTHORIZED)), Op.ERROR)
        with fails(Reason.NOT_AUTHORIZED):
            await connecting

    with nothing_unclosed():
        asyncio.run(main())
    assert place.side.has_ended()


def test_a_socket_that_comes_too_late_is_closed(place):
    """AL3: the connect was cancelled while another thread was at it."""
    reach, may_go_on = place.reach, threading.Event()
    place.reach_plain = lambda: may_go_on.wait(10) and reach()

    async def main():
        connecting = asyncio.create_task(asynchronous.connect(place, HELLO))
        await asyncio.sleep(0)
        connecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connecting
        may_go_on.set()

    with nothing_unclosed():
        asyncio.run(main())
        assert place.side.has_ended()


def test_a_reach_that_fails_too_late_is_nobodys(place):
    may_go_on = threading.Event()

    def nobody_there():
        may_go_on.wait(10)
        raise MQError(Reason.Q_MGR_NOT_AVAILABLE)

    place.reach_plain = nobody_there

    async def main():
        told = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        connecting = asyncio.create_task(asynchronous.connect(place, HELLO))
        await asyncio.sleep(0)
        connecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connecting
        may_go_on.set()
        return told

    assert [] == asyncio.run(main())


@pytest.fixture(scope="module")
def trusted(tmp_path_factory):
    """A context for a server, and what believes it."""
    directory = tmp_path_factory.mktemp("tls")
    certificates.server(directory, "QM1", ["localhost"], 10)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "server.pem", directory / "server.key")
    return context, ClientTls(authorities=directory / "authority.pem", server_name="localhost")


def test_nobody_waits_for_the_farewell_of_tls(place, trusted):
    """AL3: the loop may end as soon as the application has disconnected; TLS would wait for the other end."""
    context, place.tls = trusted
    place.server_name = "localhost"

    def serve():
        until(lambda: place.sides)
        place.sides = [Side(context.wrap_socket(place.side.sock, server_side=True))]
        for answer in (WELCOME, None, None):
            place.side.answer(answer)

    serving = threading.Thread(target=serve)
    serving.start()

    async def main():
        app = await asynchronous.connect(place, HELLO)
        await app.disconnect()

    with nothing_unclosed():
        asyncio.run(main())
    serving.join()


# -- answers that cannot be read


@pytest.mark.parametrize(
    ("answer", "why"),
    [(b"?", "cannot be read"), (b"b\0\0\0\x09abc", "longer than its frame"), (b"", "cannot be read")],
)
def test_a_call_whose_answer_cannot_be_read_is_told(place, answer, why):
    """AL4: its link is broken, and so are the other calls on it."""

    async def main():
        connecting = await begun(place, WELCOME, None)
        app = await connecting
        calls = [asyncio.create_task(app.ask("status")) for _ in range(2)]
        await asyncio.to_thread(place.side.answer, answer)
        for call in calls:
            with fails(Reason.CONNECTION_BROKEN) as broken:
                await asyncio.wait_for(call, 10)
            assert why in broken.value.facts["why"]
        assert await asyncio.to_thread(place.side.has_ended)
        with fails(Reason.CONNECTION_BROKEN):
            await app.ask("status")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (HEADER.pack(4, Op.REPLY, 0, 0, 1), "a frame of 4 bytes"),
        (frame(Op.REPLY, 0, 0, 77), "an answer nobody asked for"),
        (frame(Op.REPLY, 1, 1, 3, b"\0\0"), "unpack"),
    ],
)
def test_what_is_no_frame_breaks_the_link(place, sent, why):
    async def main():
        app = await (await begun(place, WELCOME, None))
        call = asyncio.create_task(app.ask("status"))
        await asyncio.sleep(0)
        place.side.sock.sendall(sent)
        with fails(Reason.CONNECTION_BROKEN) as broken:
            await asyncio.wait_for(call, 10)
        assert why in broken.value.facts["why"]

    asyncio.run(main())


# -- silence


def test_a_queue_manager_that_says_nothing_more_is_given_up(place):
    """AL5: twice the heartbeat, from when somebody began to wait."""

    async def main():
        app = await (await begun(place, WELCOME | {"heartbeat_s": 0.05}, None))
        await asyncio.sleep(0.15)  # nobody waits: nothing need be heard
        with fails(Reason.CONNECTION_BROKEN) as broken:
            await asyncio.wait_for(app.ask("status"), 10)
        assert "not been heard of" in broken.value.facts["why"]
        assert await asyncio.to_thread(place.side.has_ended)

    asyncio.run(main())


def test_heartbeats_are_enough(place):
    """AL5: whoever sends them is there."""

    async def main():
        app = await (await begun(place, WELCOME | {"heartbeat_s": 0.1}, None))
        call = asyncio.create_task(app.ask("status"))
        for _ in range(8):
            await asyncio.sleep(0.05)
            place.side.sock.sendall(frame(Op.HEARTBEAT, 0, 0, 0))
        await asyncio.to_thread(place.side.answer, {"links": 1})
        assert {"links": 1} == await call
        app._link.close()

    asyncio.run(main())


def test_who_asks_again_and_again_is_not_heard_of_for_that(place):
    """AL5: a link that is dead is given up, also when others go on asking."""

    async def main():
        app = await (await begun(place, WELCOME | {"heartbeat_s": 0.05}, None))
        calls = []
        async with asyncio.timeout(10):
            while not (calls and calls[0].done()):
                calls.append(asyncio.create_task(app.ask("status")))
                await asyncio.sleep(0.02)
        told = await asyncio.gather(*calls, return_exceptions=True)
        assert {Reason.CONNECTION_BROKEN} == {one.reason for one in told}

    asyncio.run(main())


def test_a_hello_that_nobody_answers_is_given_up(place, monkeypatch):
    """CL3, AL5: a process that was stopped still accepts."""
    monkeypatch.setattr(link, "CONNECT_S", 0.1)
    monkeypatch.setattr(asynchronous_link, "CONNECT_S", 0.1)
    with fails(Reason.Q_MGR_NOT_AVAILABLE) as refused:
        Links().connect(place, HELLO)
    assert "not been heard of" in refused.value.facts["why"]
    assert place.side.has_ended()
    with fails(Reason.Q_MGR_NOT_AVAILABLE) as refused:
        asyncio.run(asynchronous.connect(place, HELLO))
    assert "not been heard of" in refused.value.facts["why"]


# -- who waits for whom


def on_a_thread(call):
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    return thread


def in_vain(links, place, shared):
    with fails(Reason.Q_MGR_NOT_AVAILABLE):
        links.connect(place, HELLO, shared=shared)


@pytest.mark.parametrize("shared", [False, True])
def test_a_connect_that_takes_long_holds_up_no_other(place, shared):
    """OL1: neither to another queue manager nor a disconnect."""
    links, slow = Links(), Pair()
    answers = on_a_thread(lambda: until(lambda: place.sides) or [place.side.answer(one) for one in (WELCOME, None)])
    app = links.connect(place, HELLO, shared=True)
    answers.join(10)
    waiting = on_a_thread(lambda: in_vain(links, slow, shared))
    until(lambda: slow.sides)
    other = on_a_thread(lambda: links.let_go(app._link))
    other.join(10)
    assert not other.is_alive()
    slow.side.sock.close()
    waiting.join(10)
    assert place.side.has_ended()


def test_who_wants_to_share_waits_for_the_link_that_is_being_made(place):
    """OL1: two that come at once have one link."""
    links, made = Links(), []
    connecting = [on_a_thread(lambda: made.append(links.connect(place, HELLO, shared=True))) for _ in range(2)]
    until(lambda: place.sides)
    for answer in (WELCOME, None, None):
        place.side.answer(answer)
    for thread in connecting:
        thread.join(10)
    assert 1 == len(place.sides)
    first, second = made
    assert first._link is second._link
    assert 2 == first._link.users
    first._link.close()


def test_a_shared_link_that_broke_is_replaced(place):
    links = Links()
    for number in (1, 2):
        answers = on_a_thread(
            lambda number=number: (
                until(lambda: len(place.sides) == number) or [place.side.answer(one) for one in (WELCOME, None)]
            )
        )
        app = links.connect(place, HELLO, shared=True)
        answers.join(10)
        app._link.broke("the test says so")
    assert 2 == len(place.sides)


@pytest.mark.parametrize("host", ["x..y", "a" * 64, "\u2603" * 70])
@pytest.mark.parametrize("tls", [None, ClientTls()])
def test_a_name_that_no_host_can_have_is_told(host, tls):
    """2059, not the exception of an encoding."""
    place = Place("QM1", address=f"{host}:1414", tls=tls)
    with fails(Reason.Q_MGR_NOT_AVAILABLE):
        place.reach()
    with fails(Reason.Q_MGR_NOT_AVAILABLE):
        asyncio.run(asynchronous.connect(place, HELLO))
