"""Frames, values and messages as bytes: there and back, and nothing but a `ProtocolError` for anything else."""

import socket
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor import MQMD, Message, MQError, Reason
from quaestor.mqi.reasons import CompCode
from quaestor.server import values, wire
from quaestor.server.client.place import is_address
from quaestor.server.open_handle import OpenHandle
from quaestor.server.protocol import HEADER, MAGIC, NUMBERED, VERSION, Op, ProtocolError, frame

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
IDS = st.binary(min_size=24, max_size=24)
MESSAGES = st.builds(
    Message,
    body=st.binary(max_size=50),
    envelope=st.builds(MQMD, format=st.sampled_from(["", "MQSTR"]), reply_to_q=st.sampled_from(["", "REPLIES"])),
    msg_id=IDS,
    correl_id=IDS,
    priority=st.integers(0, 9),
    persistence=st.integers(0, 1),
    put_us=st.integers(0, 1 << 60),
    expires_us=st.integers(0, 1 << 60),
    backout_count=st.integers(0, 255),
    expiry=st.integers(-1, 1 << 30),
    original_length=st.integers(-1, 1 << 30),
)


@given(VALUES)
def test_a_value_comes_back(value):
    assert value == values.unpack(values.pack(value))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_an_error(packed):
    try:
        values.unpack(packed)
    except ProtocolError:
        return


@given(VALUES, st.integers(0, 30))
def test_a_value_cut_short_is_an_error(value, cut):
    packed = values.pack(value)
    if 0 < cut < len(packed):
        with pytest.raises(ProtocolError):
            values.unpack(packed[:-cut])


@given(MESSAGES, st.integers(0, 1 << 60))
def test_a_message_comes_back(message, token):
    packed = wire.pack_message(message, token, message.envelope.packed()) + message.body
    found, found_token, envelope = wire.unpack_message(packed, 0, len(packed), None)
    assert (message, token) == (found, found_token)
    again = wire.pack_message(message, token, b"") + message.body
    assert wire.unpack_message(again, 0, len(again), envelope)[0] == message
    assert values.unpack(values.pack([message])) == [message]


@given(st.binary(max_size=150))
def test_any_bytes_are_a_message_a_descriptor_a_selection_or_an_error(packed):
    for read in (
        lambda: wire.unpack_message(packed, 0, len(packed), None),
        lambda: wire.unpack_descriptor(packed),
        lambda: wire.unpack_selection(packed, 0, len(packed)),
    ):
        try:
            read()
        except ProtocolError:
            continue


def run_of(bodies):
    return wire.COUNT.pack(len(bodies)) + b"".join(wire.LENGTH.pack(len(body)) + body for body in bodies)


@given(st.lists(st.binary(max_size=9), max_size=9) | st.lists(st.binary(min_size=8, max_size=8), max_size=9))
def test_the_bodies_of_a_run_come_back(bodies):
    """Of one length or of several, also in the middle of a frame."""
    packed = b"head" + run_of(bodies)
    assert bodies == wire.unpack_bodies(packed, 4, len(packed))


@given(st.lists(st.binary(min_size=4, max_size=4), min_size=1, max_size=5), st.data())
def test_a_run_with_a_wrong_length_is_an_error_or_other_bodies(bodies, data):
    """A byte is changed: what fills the frame is read as its lengths say, everything else is refused."""
    packed = bytearray(run_of(bodies))
    packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = wire.unpack_bodies(bytes(packed), 0, len(packed))
    except (ProtocolError, struct.error):
        return
    assert bytes(packed) == run_of(found)


def test_the_same_descriptor_is_the_same_object():
    md = MQMD(persistence=1, expiry=300, reply_to_q="REPLIES", correl_id=b"C" * 24)
    one, two = (wire.unpack_descriptor(wire.pack_descriptor(md)) for _ in range(2))
    assert one is two
    assert (one.persistence, one.expiry, one.reply_to_q, one.correl_id) == (1, 300, "REPLIES", bytes(24))


@pytest.mark.parametrize(
    "selecting", [{}, {"msg_id": b"x"}, {"correl_id": b"c" * 24, "match": 2}, {"sequence": 3, "token": 1 << 40}]
)
def test_a_selection_comes_back(selecting):
    packed = wire.pack_selection(selecting)
    assert selecting == wire.unpack_selection(packed, 0, len(packed))


def test_an_error_comes_back_with_its_facts():
    error = MQError(Reason.Q_FULL, queue="ORDERS", depth=5000)
    found = values.unpack_error(values.pack_error(error))
    assert (found.reason, found.facts, found.comp_code) == (Reason.Q_FULL, error.facts, CompCode.FAILED)
    unknown = values.unpack_error(values.pack([9999, 2, {"a": 1}]))
    assert (unknown.reason, unknown.facts) == (Reason.UNEXPECTED_ERROR, {"reason": 9999, "a": 1})


@pytest.mark.parametrize(
    ("where", "answer"),
    [
        ("localhost:1414", True),
        ("10.0.0.1:1", True),
        ("[::1]:1414", True),
        ("data", False),
        ("./localhost:1414", False),
        ("/tmp/x:1414", False),
        ("C:data", False),
        ("::1", False),
    ],
)
def test_an_address_is_told_from_a_directory(where, answer):
    assert answer == is_address(where)


# -- garbage on the port


def raw(server):
    host, port = server.address.split(":")
    sock = socket.create_connection((host, int(port)), 10)
    sock.settimeout(10)
    return sock


def hello(**said):
    return frame(Op.HELLO, 0, 0, 1, MAGIC + values.pack({"versions": [VERSION], "qmgr": "QM1", **said}))


def ended(sock):
    """The server ends the link, after whatever it still had to say."""
    try:
        while sock.recv(65536):
            pass
    except ConnectionError:
        pass
    return True


GARBAGE = {
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "zeros": bytes(4096),
    "a frame too short": struct.pack(">IBBHI", 4, 1, 0, 0, 1),
    "a frame too long": struct.pack(">IBBHI", 1 << 31, 1, 0, 0, 1),
    "no hello": frame(Op.COMMIT, 0, 1, 1),
    "hello without the word": frame(Op.HELLO, 0, 0, 1, b"SOMETHING"),
    "hello that is no map": frame(Op.HELLO, 0, 0, 1, MAGIC + values.pack([1])),
    "a long hello": frame(Op.HELLO, 0, 0, 1, bytes(5000)),
    "a call nowhere": hello() + frame(Op.COMMIT, 0, 7, 2),
    "an unknown call": hello() + frame(Op.CALL, 0, 1, 2, values.pack(["connect"]))
    + frame(Op.CALL, 0, 1, 3, values.pack(["format c:"])),
    "an unknown operation": hello() + frame(Op.CALL, 0, 1, 2, values.pack(["connect"])) + frame(99, 0, 1, 3),
    "a frame too long later": hello() + frame(Op.CALL, 0, 1, 2, values.pack(["connect"]))
    + struct.pack(">IBBHI", 1 << 31, 3, 0, 1, 3),
    "a commit that ends before its number": hello() + frame(Op.CALL, 0, 1, 2, values.pack(["connect"]))
    + frame(Op.COMMIT, NUMBERED, 1, 3, bytes(4)) + frame(Op.HEARTBEAT, 0, 0, 0),
    "a cancel of no number": hello() + frame(Op.CALL, 0, 1, 2, values.pack(["connect"]))
    + frame(Op.CANCEL, 0, 1, 0) + frame(Op.HEARTBEAT, 0, 0, 0),
    "a put cut short": hello() + frame(Op.CALL, 0, 1, 2, values.pack(["connect"])) + frame(Op.PUT, 0, 1, 3, b"\0"),
}  # fmt: skip


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_garbage_ends_the_link_with_one_line(server, garbage):
    with raw(server) as sock:
        sock.sendall(garbage)
        assert ended(sock)
    server.idle()
    assert 1 == server.log().count("QSV010W")
    assert any(why in server.log() for why in ("not a frame of this protocol", "another version"))
    with server.connect() as app:
        assert app.status()["links"] == 1


@given(st.lists(st.binary(min_size=1, max_size=64), min_size=1, max_size=20))
def _fuzz(server, pieces):
    with raw(server) as sock:
        sent = hello() + frame(Op.CALL, 0, 1, 2, values.pack(["connect"]))
        for number, piece in enumerate(pieces):
            sent += frame(piece[0] % 12, piece[-1], 1, number + 3, piece[1:])
        sock.sendall(sent)
        with suppress(OSError):  # the server may have ended it already
            sock.shutdown(socket.SHUT_WR)
        assert ended(sock)


def test_frames_of_any_contents_harm_nobody(server):
    _fuzz(server)
    server.idle()
    with server.connect() as app:
        assert app.status()["conversations"] == 1
    assert server.manager.connections.failure is None
    assert server.thread.is_alive()


def test_a_frame_byte_by_byte_is_a_frame(server):
    with raw(server) as sock:
        for byte in hello() + frame(Op.CALL, 0, 1, 2, values.pack(["connect"])):
            sock.sendall(bytes((byte,)))
        answers = b""
        while answers.count(b"heartbeat_s") < 1 or len(answers) < HEADER.size * 2 + 1:
            answers += sock.recv(65536)


def test_another_version_is_told(server):
    with raw(server) as sock:
        sock.sendall(frame(Op.HELLO, 0, 0, 1, MAGIC + values.pack({"versions": [77]})))
        answer = sock.recv(65536)
        assert HEADER.unpack_from(answer)[1] == Op.ERROR
        assert values.unpack_error(answer[HEADER.size :]).facts == {"versions": [VERSION]}
        assert ended(sock)


def test_like_calls_have_the_same_options():
    """The message manager looks options up when they are another object than with the call before."""
    opened, first, again = OpenHandle(None), int("8196"), int("8196")
    assert first is not again
    assert opened.known_options(first) is opened.known_options(again)
    assert opened.known_options(8200) == 8200
