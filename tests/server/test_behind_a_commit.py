"""Requests that came behind one that waits for the log: the backlog of a conversation (CV1, W8, W9, LI3)."""

from contextlib import suppress
from socket import SO_SNDBUF, SOL_SOCKET

from quaestor import MQMD, GetOptions, PutOptions
from quaestor.server import wire
from quaestor.server.protocol import DESCRIPTOR, WAITS, Op, frame
from server.conftest import call
from server.test_any_bytes import answered

PERSISTENT = wire.pack_descriptor(MQMD(persistence=1))
UNKNOWN = 99


def put(body, number, options=PutOptions.NO_SYNCPOINT):
    """A persistent put; out of syncpoint its answer waits for the log."""
    head = wire.PUT.pack(1, int(options)) + wire.COUNT.pack(len(PERSISTENT)) + PERSISTENT
    return frame(Op.PUT, DESCRIPTOR, 1, number, head + body)


def get(number, options=GetOptions.NO_SYNCPOINT, wait_ms=None):
    flags = 0 if wait_ms is None else WAITS
    return frame(Op.GET, flags, 1, number, wire.GET.pack(1, int(options), wait_ms or 0, 0))


def test_a_bad_frame_behind_a_commit_ends_its_own_link_alone(turns):
    """W8, LI1: it is looked at when the log was forced, and the service goes on."""
    server = turns()
    peer, other = server.introduced(), server.introduced()
    assert server.say(peer, put(b"first", 5), frame(UNKNOWN, 0, 1, 6)) is None
    assert "an unknown operation" in server.last_line()
    assert answered(server.say(other, call("status", number=4))) == [(Op.REPLY, 4)]


def test_answers_behind_a_commit_are_held_back_too(turns):
    """LI3: a client that takes none of them cannot make the queue manager keep them all."""
    server = turns(output_bytes=10_000)
    peer = server.introduced()
    (link,) = server.service.links
    link.sock.setsockopt(SOL_SOCKET, SO_SNDBUF, 5_000)
    assert answered(server.say(peer, put(bytes(9_000), 5))) == [(Op.REPLY, 5)]
    browses = [get(number, GetOptions.BROWSE_FIRST) for number in range(7, 57)]
    peer.send(b"".join([put(b"waits for the log", 6), *browses]))
    server.turn(3)
    assert link._out_bytes < 30_000  # and not fifty times nine thousand
    taken = b""
    for _ in range(300):
        server.turn()
        with suppress(BlockingIOError):
            taken += peer.recv(1 << 16)
    assert answered(taken) == [(Op.REPLY, number) for number in range(6, 57)]


def waiting_behind(server, sent):
    """A client whose requests wait behind one for long, and its link."""
    peer = server.introduced()
    (link,) = server.service.links
    (conversation,) = link.conversations.values()
    conversation.busy = True  # as while units may not begin (CV8)
    assert server.say(peer, *sent) == b""
    return peer, link, conversation


def test_what_waits_is_limited_by_its_length_too(turns):
    """A link is not read on when much waits already, in few requests or in many."""
    server = turns(backlog_bytes=10_000)
    peer, link, conversation = waiting_behind(server, [put(bytes(4_000), 5), put(bytes(4_000), 6)])
    assert link.reading
    assert server.say(peer, put(bytes(4_000), 7)) == b""
    assert not link.reading
    conversation.resume()
    server.turn(9)
    assert answered(server.say(peer, b"")) == [(Op.REPLY, number) for number in (5, 6, 7)]
    assert (link.reading, conversation._backlog_bytes) == (True, 0)


def test_a_client_that_is_not_read_is_not_cut_off_for_its_silence(turns):
    """SV4: it cannot be heard. It is told that the queue manager is there."""
    server = turns(backlog_requests=2, heartbeat_s=30)
    peer, link, conversation = waiting_behind(server, [call("status", number=number) for number in (5, 6, 7)])
    for _ in range(5):
        server.clock.advance(seconds=40)
        server.turn(2)
    assert link.open
    assert {op for op, _ in answered(server.say(peer, b""))} == {Op.HEARTBEAT}
    conversation.resume()
    server.turn()
    assert answered(server.say(peer, b"")) == [(Op.REPLY, number) for number in (5, 6, 7)]
