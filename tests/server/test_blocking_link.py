"""The link of a blocking client, against a peer that is a socket and says what a test wants (CL1-CL3)."""

import socket
import struct
import threading

import pytest

from quaestor import MQError, Reason
from quaestor.mqi.attributes import AttributeValueError
from quaestor.server import values
from quaestor.server.client.link import LONG, SEND_AT, Link
from quaestor.server.client.place import CONNECT_S
from quaestor.server.client.request import Request
from quaestor.server.protocol import HEADER, HEADER_LENGTH, MAGIC, VERSION, Op, frame

WELCOME = {"qmgr": "QM1", "heartbeat_s": 30}
CALL = Request(int(Op.CALL), 0, b"payload")
SENT = HEADER_LENGTH + len(CALL[2])
PATIENCE = struct.Struct("ll")


class Peer:
    """Both ends of a link; the other side is this test."""

    def __init__(self, *, shared=False):
        here, self.sock = socket.socketpair()
        self.sock.settimeout(5)
        self.link = Link(here, {"user": "ALICE", "password": "secret"}, shared=shared)

    def says(self, *frames):
        self.sock.sendall(b"".join(frames))

    def heard(self, length=1 << 20):
        """(operation, flags, conversation, number, payload) of each frame that was sent to the peer."""
        data, at, found = self.sock.recv(length), 0, []
        while at < len(data):
            size, op, flags, conversation, number = HEADER.unpack_from(data, at)
            found.append((op, flags, conversation, number, data[at + HEADER_LENGTH : at + size]))
            at += size
        return found

    def introduced(self):
        self.says(reply(1, values.pack(WELCOME)))
        self.link.introduce()
        return self.heard()

    def fails(self, *frames, ends=False):
        """Why a call fails that is answered so."""
        self.says(*frames)
        if ends:
            self.sock.shutdown(socket.SHUT_WR)
        with pytest.raises(MQError) as failed:
            self.link.call(1, CALL)
        assert Reason.CONNECTION_BROKEN is failed.value.reason
        return failed.value.facts["why"]

    def close(self):
        self.link.close()
        self.sock.close()


def reply(number, payload=b"", flags=0):
    return frame(Op.REPLY, flags, 1, number, payload)


CUTS = {
    "before an answer": b"",
    "in an answer": reply(1, b"cut off")[:-1],
    "in a long answer": reply(1, bytes(LONG + 50))[: LONG + 20],
}


@pytest.fixture
def peer():
    made = Peer()
    yield made
    made.close()


@pytest.fixture
def shared():
    made = Peer(shared=True)
    yield made
    made.close()


def patience_s(link):
    return PATIENCE.unpack(link._sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, PATIENCE.size))


# --- introduction -----------------------------------------------------------------------------------------------------


def test_a_link_introduces_itself_and_keeps_no_password(peer):
    """W1, OL3: the magic word, the version and what the client says of itself, once."""
    ((op, flags, conversation, number, payload),) = peer.introduced()
    assert (Op.HELLO, 0, 0, 1, MAGIC) == (op, flags, conversation, number, payload[: len(MAGIC)])
    said = {"versions": [VERSION], "user": "ALICE", "password": "secret"}
    assert said == values.unpack(payload[len(MAGIC) :])
    assert (WELCOME, {}) == (peer.link.qmgr, peer.link._said)


def test_a_link_waits_twice_the_heartbeat_once_it_knows_it(peer):
    """CL3: until then as long as a connect may take."""
    peer.link._patience(CONNECT_S)
    assert (int(CONNECT_S), 0) == patience_s(peer.link)
    peer.introduced()
    assert ((60, 0), 60_000) == (patience_s(peer.link), peer.link._arrival.patience_ms)


@pytest.mark.parametrize(("seconds", "whole", "part"), [(2.5, 2, 500_000), (0.25, 0, 250_000), (0, 0, 100_000)])
def test_a_patience_is_never_none_at_all(peer, seconds, whole, part):
    """0 would mean for ever; a socket counts in hundredths of a second or coarser."""
    peer.link._patience(seconds)
    found = patience_s(peer.link)
    assert whole == found[0]
    assert part <= found[1] <= part + 10_000


# --- requests ---------------------------------------------------------------------------------------------------------


def test_requests_are_numbered_from_one_and_never_zero(peer):
    """W3: 0 asks for no answer. Behind the last number of four bytes comes the first again."""
    assert [1, 2] == [peer.link.send(1, CALL, answered=True) for _ in range(2)]
    assert 0 == peer.link.send(1, CALL, answered=False)
    peer.link._number = 0xFFFFFFFE
    assert [0xFFFFFFFF, 1] == [peer.link.send(1, CALL, answered=True) for _ in range(2)]
    assert [1, 2, 0, 0xFFFFFFFF, 1] == [number for *_, number, _ in peer.heard()]


def test_conversations_are_numbered_from_one(peer):
    assert [1, 2, 3] == [peer.link.new_conversation() for _ in range(3)]


def test_what_gathers_goes_in_front_of_the_next_that_is_sent(peer):
    """CL1, CC2: in one piece, in the order in which it was asked for."""
    for body in (b"one", b"two"):
        peer.link.send(1, Request(int(Op.PUT), 4, body), answered=False, now=False)
    peer.sock.setblocking(False)
    with pytest.raises(BlockingIOError):
        peer.sock.recv(1)
    peer.says(reply(1, b"done"))
    assert (Op.REPLY, 0, b"done") == peer.link.call(1, CALL)
    sent = [(Op.PUT, 4, 1, 0, b"one"), (Op.PUT, 4, 1, 0, b"two"), (Op.CALL, 0, 1, 1, b"payload")]
    assert sent == peer.heard()
    assert ([], 0) == (peer.link._gathered, peer.link._gathered_bytes)


@pytest.mark.parametrize(("missing", "sent"), [(1, False), (0, True)])
def test_what_gathers_does_not_gather_for_ever(peer, missing, sent):
    """64 KB are sent, one byte less waits."""
    peer.link.send(1, CALL, answered=False, now=False)
    rest = SEND_AT - missing - SENT - HEADER_LENGTH
    peer.link.send(1, Request(int(Op.PUT), 0, bytes(rest)), answered=False, now=False)
    peer.sock.setblocking(False)
    if sent:
        assert 2 == len(peer.heard())
    else:
        with pytest.raises(BlockingIOError):
            peer.sock.recv(1)


# --- answers (CL1) ----------------------------------------------------------------------------------------------------


def test_an_answer_may_come_byte_by_byte(peer):
    peer.introduced()
    saying = threading.Thread(target=lambda: [peer.says(bytes((byte,))) for byte in reply(2, b"slowly", flags=1)])
    saying.start()
    assert (Op.REPLY, 1, b"slowly") == peer.link.call(1, CALL)
    saying.join()


@pytest.mark.parametrize("together", [True, False])
def test_what_comes_before_the_answer_goes_where_it_belongs(peer, together):
    """Heartbeats back, messages read ahead to their conversation, the answer of another request to whoever asks."""
    peer.introduced()
    ahead = []
    peer.link.read_ahead[7] = lambda number, payload: ahead.append((number, payload))
    before = [frame(Op.HEARTBEAT, 0, 0, 0), frame(Op.AHEAD, 0, 7, 33, b"message"), reply(3, b"later")]
    peer.says(*before, *([reply(2, b"now")] if together else []))
    if not together:
        threading.Timer(0.05, lambda: peer.says(reply(2, b"now"))).start()
    assert b"now" == peer.link.call(1, CALL)[2]
    assert [(33, b"message")] == ahead
    assert b"later" == peer.link.call(1, CALL)[2]
    heard = peer.heard()
    assert [(Op.HEARTBEAT, 0)] == [(op, number) for op, _, _, number, _ in heard if op == Op.HEARTBEAT]


def test_what_comes_behind_the_answer_is_there_for_the_next(peer):
    """Also a piece of it."""
    peer.introduced()
    second = reply(3, b"second")
    peer.says(reply(2, b"first"), second[:15])
    assert b"first" == peer.link.call(1, CALL)[2]
    peer.says(second[15:])
    assert b"second" == peer.link.call(1, CALL)[2]
    assert (b"", {}) == (peer.link._rest, peer.link._answers)


@pytest.mark.parametrize("size", [LONG - 100, LONG + 1, 3 * LONG])
def test_a_long_answer_comes_whole(peer, size):
    body = bytes(number % 251 for number in range(size))
    saying = threading.Thread(target=peer.says, args=(reply(1, body), reply(2, b"and the next")))
    saying.start()
    assert body == peer.link.call(1, CALL)[2]
    assert b"and the next" == peer.link.call(1, CALL)[2]
    saying.join()


def test_an_error_is_raised_as_what_it_was(peer):
    refused = MQError(Reason.Q_FULL, queue="ORDERS")
    peer.says(frame(Op.ERROR, 0, 1, 1, values.pack_error(refused)))
    with pytest.raises(MQError) as raised:
        peer.link.call(1, CALL)
    assert (Reason.Q_FULL, {"queue": "ORDERS"}) == (raised.value.reason, raised.value.facts)
    peer.says(frame(Op.ERROR, 0, 1, 2, values.pack(["MAXDEPTH", "-1", "a number"])))
    with pytest.raises(AttributeValueError, match="MAXDEPTH"):
        peer.link.call(1, CALL)
    assert peer.link.why_broken is None


def test_who_is_one_too_many_is_told_before_anything_was_asked(peer):
    """The error has number 0: it is nobody's answer, and everybody's."""
    full = MQError(Reason.MAX_CONNS_LIMIT_REACHED, connections=5)
    peer.says(frame(Op.ERROR, 0, 0, 0, values.pack_error(full)))
    with pytest.raises(MQError) as raised:
        peer.link.introduce()
    assert (Reason.MAX_CONNS_LIMIT_REACHED, {"connections": 5}) == (raised.value.reason, raised.value.facts)


# --- the end (CL3) ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (HEADER.pack(HEADER_LENGTH - 1, Op.REPLY, 0, 1, 1), "not a frame of this protocol: a frame of 11 bytes"),
        (frame(99, 0, 1, 1), "not a frame of this protocol: operation 99"),
        (frame(Op.CALL, 0, 1, 1), "not a frame of this protocol: operation 2"),
    ],
)
def test_what_is_no_frame_breaks_a_link(peer, said, why):
    """W8: from then on every call says so, without a word to anybody."""
    assert why == peer.fails(said)
    with pytest.raises(MQError, match=r"CONNECTION_BROKEN") as again:
        peer.link.call(1, CALL)
    assert why == again.value.facts["why"]
    assert SENT == len(peer.sock.recv(1 << 16))


@pytest.mark.parametrize("before", CUTS.values(), ids=CUTS)
def test_a_queue_manager_that_ends_the_link(peer, before):
    """Before its answer or in the middle of it, be it long or short."""
    assert "the queue manager ended the link" == peer.fails(before, ends=True)


@pytest.mark.parametrize("before", CUTS.values(), ids=CUTS)
def test_a_queue_manager_that_is_not_heard_of(peer, before):
    """CL3: it is given up in the middle of an answer as it is before it."""
    peer.link._patience(0.1)
    assert "the queue manager has not been heard of for too long" == peer.fails(before)
    assert -1 == peer.link._sock.fileno()


def test_a_link_that_cannot_send_is_broken(peer):
    peer.introduced()
    peer.sock.close()
    with pytest.raises(MQError) as failed:
        peer.link.call(1, CALL)
    assert Reason.CONNECTION_BROKEN is failed.value.reason
    assert "Broken pipe" in failed.value.facts["why"]


class AlarmError(Exception):
    """What a signal handler of the application raises."""


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, AlarmError])
def test_a_call_that_is_interrupted_breaks_its_link(peer, monkeypatch, raised):
    """CL4: its answer, a message perhaps, would be looked at by nobody; whatever a signal handler raises."""

    def interrupted(*_):
        raise raised

    monkeypatch.setattr(peer.link, "_received", interrupted)
    with pytest.raises(raised):
        peer.link.call(1, CALL)
    assert "a call was interrupted" == peer.link.why_broken


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("raised", [KeyboardInterrupt, AlarmError])
def test_a_call_that_is_interrupted_while_it_is_sent_breaks_its_link(peer, raised, answered):
    """CL4: the next one would complete its frame, and be taken for the rest of its message."""

    def half(data):
        peer.link._sock.sendall(data[: len(data) // 2])
        raise raised

    peer.link._send_all = half
    with pytest.raises(raised):
        peer.link.send(1, CALL, answered=answered)
    assert "a call was interrupted" == peer.link.why_broken
    assert SENT // 2 == len(peer.sock.recv(1 << 16))
    assert b"" == peer.sock.recv(1)


def test_a_queue_manager_that_takes_nothing_is_given_up(peer):
    """CL3: as one is of which nothing is heard."""
    peer.link._patience(0.1)
    with pytest.raises(MQError) as failed:
        peer.link.call(1, CALL._replace(payload=bytes(10_000_000)))
    assert Reason.CONNECTION_BROKEN is failed.value.reason
    assert "the queue manager has taken nothing for too long" == failed.value.facts["why"]


def test_a_child_is_not_held_up_by_what_its_parents_threads_held(peer):
    """OL2: they are not in it, so nobody would ever let go."""
    with peer.link._sending, peer.link._turn:
        peer.link.forsake()
        assert peer.link._sending.acquire(blocking=False)
        assert peer.link._turn.acquire(blocking=False)
    assert Reason.CONNECTION_BROKEN is peer.link.broken_error().reason


def test_the_first_reason_is_the_reason(peer):
    peer.link.broke("first")
    peer.link.broke("second")
    peer.link.close()
    assert ("first", "first") == (peer.link.why_broken, peer.link.broken_error().facts["why"])


def test_a_link_that_was_closed_says_so(peer):
    """The other side hears the end."""
    peer.link.close()
    assert b"" == peer.sock.recv(1)
    with pytest.raises(MQError) as failed:
        peer.link.send(1, CALL, answered=True)
    assert "the application closed the link" == failed.value.facts["why"]


def test_a_link_of_the_parent_is_left_without_a_word(peer):
    """OL2: the socket is the parent's; only this copy of it is closed."""
    with socket.socket(fileno=socket.dup(peer.link._sock.fileno())) as parents:
        peer.link.forsake()
        parents.sendall(b"still there")
        assert b"still there" == peer.sock.recv(100)
    assert "the link belongs to the parent process" == peer.link.broken_error().facts["why"]


# --- several threads (CL2) --------------------------------------------------------------------------------------------


def test_one_thread_reads_for_all(shared):
    """CL2: three wait; the answers come in another order than that of the calls, and each has its own."""
    shared.introduced()
    found, threads = {}, []
    for name in ("first", "second", "third"):
        request = Request(int(Op.CALL), 0, name.encode())
        threads.append(threading.Thread(target=lambda n=name, r=request: found.update({n: shared.link.call(1, r)[2]})))
        threads[-1].start()
    asked = []
    while len(asked) < 3:
        asked += [(number, payload) for *_, number, payload in shared.heard()]
    for number, payload in reversed(asked):
        shared.says(reply(number, payload.upper()))
    for thread in threads:
        thread.join(5)
    assert {"first": b"FIRST", "second": b"SECOND", "third": b"THIRD"} == found


def test_when_a_shared_link_breaks_everybody_is_told(shared):
    shared.introduced()
    found = []

    def call():
        with pytest.raises(MQError) as failed:
            shared.link.call(1, CALL)
        found.append((failed.value.reason, failed.value.facts["why"]))

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    asked = 0
    while asked < 3:
        asked += len(shared.heard())
    shared.sock.close()
    for thread in threads:
        thread.join(5)
    assert [(Reason.CONNECTION_BROKEN, "the queue manager ended the link")] * 3 == found
