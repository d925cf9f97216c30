"""An answer that cannot be read ends its link, for a blocking client as for one of asyncio (CL4, AL4)."""

import asyncio
import math
import threading
from contextlib import contextmanager, nullcontext

import pytest

from model.answers import fails
from quaestor import MQMD, Message, MQError, Reason
from quaestor.server import values
from quaestor.server.client import asynchronous, asynchronous_reconnecting
from quaestor.server.client.asynchronous_link import new_link
from quaestor.server.client.opening import Links
from quaestor.server.protocol import WARNED, Op, frame
from server.played import HELLO, WELCOME, until

CONNECTED, OPENED = [WELCOME, None], [WELCOME, None, [1, "ORDERS"]]
GARBAGE = b"?"

CALLS = {
    "open": (lambda app: app.open("ORDERS"), CONNECTED),
    "put1": (lambda app: app.put1("ORDERS", b"one"), CONNECTED),
    "inquire": (lambda app: app.inquire(), CONNECTED),
    "outcome": (lambda app: app.outcome(1), CONNECTED),
    "put": (lambda app: app.queue.put(b"one"), OPENED),
    "put_all": (lambda app: app.queue.put_all([b"one", b"two"]), OPENED),
    "get": (lambda app: app.queue.get(), OPENED),
    "inquire of a queue": (lambda app: app.queue.inquire("CURDEPTH"), OPENED),
}
FRAMES = {
    "garbage": (Op.REPLY, 0, GARBAGE),
    "an error that is none": (Op.ERROR, 0, GARBAGE),
    "an error of another form": (Op.ERROR, 0, values.pack([[], 2, {}])),
    "a warning that is cut": (Op.REPLY, WARNED, b"\0\0"),
    "a warning that is none": (Op.REPLY, WARNED, b"\0\0\0\1?"),
    "an answer of another kind": (Op.REPLY, 0, values.pack(5)),
    "an operation of a client": (Op.PUT, 0, GARBAGE),
    "a message for nobody": (Op.AHEAD, 0, GARBAGE),
}
CONNECTS = (
    lambda place: Links().connect(place, HELLO),
    lambda place: asyncio.run(asynchronous.connect(place, HELLO)),
)


def answers(place, *links, first=0):
    """On each link that is made, answer so; the last answer on it is an (operation, flags, payload)."""

    def answering():
        for number, (*said, (op, flags, payload)) in enumerate(links, first):
            until(lambda number=number: len(place.sides) > number)
            side = place.sides[number]
            for one in said:
                side.answer(one)
            side.sock.sendall(frame(op, flags, *side.asked(), payload))

    thread = threading.Thread(target=answering, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("name", CALLS)
def test_a_blocking_call_is_told_that_its_link_is_broken(place, name, kind):
    """CL4: 2009 with the reason, nothing else; the link has ended, and whoever calls again hears so."""
    call, said = CALLS[name]
    answering = answers(place, [*said, FRAMES[kind]])
    app = Links().connect(place, HELLO)
    if said is OPENED:
        app.queue = app.open("ORDERS")
    with fails(Reason.CONNECTION_BROKEN) as broken:
        call(app)
    assert "not a frame of this protocol" in broken.value.facts["why"]
    answering.join(10)
    assert place.side.has_ended()
    assert not app.connected
    with fails(Reason.CONNECTION_BROKEN):
        app.status()


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("name", CALLS)
def test_a_call_of_asyncio_is_told_the_same(place, name, kind):
    """AL4."""
    call, said = CALLS[name]

    async def main():
        unhandled = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unhandled.append(context))
        answering = answers(place, [*said, FRAMES[kind]])
        app = await asynchronous.connect(place, HELLO)
        if said is OPENED:
            app.queue = await app.open("ORDERS")
        with fails(Reason.CONNECTION_BROKEN) as broken:
            await asyncio.wait_for(call(app), 10)
        assert "not a frame of this protocol" in broken.value.facts["why"]
        await asyncio.to_thread(answering.join, 10)
        assert await asyncio.to_thread(place.side.has_ended)
        assert [] == unhandled

    asyncio.run(main())


NO_HEARTBEATS = [None, "soon", -1, math.inf, math.nan, 1e300, 1e10, 10**5000, 86_401]


@pytest.mark.parametrize("welcome", [GARBAGE, None, [], {}, *({"heartbeat_s": each} for each in NO_HEARTBEATS)])
def test_a_welcome_that_cannot_be_read(place, welcome):
    """2059, as for every queue manager that cannot be reached."""
    packed = welcome if isinstance(welcome, bytes) else values.pack(welcome)
    for number, connect in enumerate(CONNECTS):
        answering = answers(place, [(Op.REPLY, 0, packed)], first=number)
        with fails(Reason.Q_MGR_NOT_AVAILABLE) as refused:
            connect(place)
        assert "not a frame of this protocol" in refused.value.facts["why"]
        answering.join(10)
        assert place.side.has_ended()


def test_a_connect_whose_answer_cannot_be_read(place):
    for number, connect in enumerate(CONNECTS):
        answering = answers(place, [WELCOME, (Op.REPLY, 0, GARBAGE)], first=number)
        with fails(Reason.CONNECTION_BROKEN):
            connect(place)
        answering.join(10)
        assert place.side.has_ended()


def test_others_on_a_shared_link_need_not_wait_for_it(place):
    """CL4: whoever reads for all is told at once, not after twice the heartbeat."""
    links = Links()
    answering = answers(place, [*CONNECTED, (Op.REPLY, 0, values.pack(None))])
    first, second = links.connect(place, HELLO, shared=True), links.connect(place, HELLO, shared=True)
    answering.join(10)
    told = []

    def waits():
        with pytest.raises(MQError) as failed:
            second.status()
        told.append(failed.value.reason)

    waiting = threading.Thread(target=waits, daemon=True)
    waiting.start()
    place.side.asked()  # the second reads for all from now on
    asking = threading.Thread(target=lambda: told.append(fails_with(first.inquire)), daemon=True)
    asking.start()
    conversation, number = place.side.asked()
    place.side.sock.sendall(frame(Op.REPLY, 0, conversation, number, GARBAGE))
    for thread in (asking, waiting):
        thread.join(10)
        assert not thread.is_alive()
    assert [Reason.CONNECTION_BROKEN] * 2 == told


def fails_with(call):
    with pytest.raises(MQError) as failed:
        call()
    return failed.value.reason


# -- links that are made again (RC1-RC4)

UNREADABLE = (Op.REPLY, 0, GARBAGE)
REFUSED = (Op.ERROR, 0, GARBAGE)


def yes(value):
    return Op.REPLY, 0, values.pack(value)


@contextmanager
def lasting(place):
    app = Links().connect(place, HELLO, reconnect_s=10)
    yield app
    app._link.close()


async def lasting_async(place):
    return await asynchronous_reconnecting.connect(lambda: new_link(place, HELLO), 10)


def test_a_call_that_changes_nothing_is_made_again(place):
    """RC4: on another link, that answers."""
    answering = answers(place, [*CONNECTED, UNREADABLE], [*CONNECTED, yes({"DESCR": "there"})])
    with lasting(place) as app:
        assert {"DESCR": "there"} == app.inquire()
    answering.join(10)
    assert place.sides[0].has_ended()


def test_asyncio_makes_it_again_too(place):
    async def main():
        answering = answers(place, [*CONNECTED, UNREADABLE], [*CONNECTED, yes({"DESCR": "there"})])
        app = await lasting_async(place)
        assert {"DESCR": "there"} == await app.inquire()
        await asyncio.to_thread(answering.join, 10)
        assert await asyncio.to_thread(place.sides[0].has_ended)
        app._link.close()

    asyncio.run(main())


def test_a_call_that_may_have_changed_something_is_not(place):
    """RC4: 2549."""
    answering = answers(place, [*CONNECTED, UNREADABLE], [WELCOME, yes(None)])
    with lasting(place) as app, fails(Reason.CALL_INTERRUPTED):
        app.prepare(b"x")
    answering.join(10)


@pytest.mark.parametrize("committed", [True, False])
def test_a_commit_whose_answer_cannot_be_read_is_looked_up(place, committed):
    """RC3: an error that nobody can read says nothing of the unit."""
    message = wire_message()
    answering = answers(place, [*CONNECTED, message, REFUSED], [*CONNECTED, yes(committed)])
    with lasting(place) as app, nullcontext() if committed else fails(Reason.BACKED_OUT):
        app.put1("ORDERS", b"one")
        app.commit()
    answering.join(10)


def test_a_link_that_is_made_again_in_vain_is_tried_again(place):
    """RC1: the connect of the new link cannot be read either."""
    answering = answers(place, [*CONNECTED, UNREADABLE], [WELCOME, UNREADABLE], [*CONNECTED, yes({"DESCR": "there"})])
    with lasting(place) as app:
        assert {"DESCR": "there"} == app.inquire()
    answering.join(10)
    assert 3 == len(place.sides)


def wire_message():
    md = MQMD()
    return values.pack(Message(b"one", md, md.msg_id, md.correl_id, 0, 0, 0))
