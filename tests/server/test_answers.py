"""When answers are sent: at once, together, or not at all (LI3, CV2), seen turn by turn.

The service runs on the test's own thread, so that what a turn did and what it did not can be told apart.
"""

import io
import socket
from itertools import count

import pytest

from quaestor import LocalQueue, OpenOptions, PutOptions
from quaestor.mqi.descriptors import MQMD
from quaestor.server import values, wire
from quaestor.server.conversation import Conversation
from quaestor.server.link import GATHER_NS
from quaestor.server.process import Server
from quaestor.server.protocol import DESCRIPTOR, HEADER, HEADER_LENGTH, MAGIC, MANY, SAME_DESCRIPTOR, VERSION, Op, frame

pytestmark = pytest.mark.plain

NOW, BOTH = int(PutOptions.NO_SYNCPOINT), int(OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT)
TURNS_MAX = 100
PERSISTENT, VOLATILE = MQMD(persistence=1), MQMD(persistence=0)


class Client:
    """A socket that says what it is told to, and never waits."""

    def __init__(self, service, path):
        self.service, self.sock = service, socket.socket(socket.AF_UNIX)
        self.sock.connect(str(path))
        self.sock.setblocking(False)
        self.heard = b""
        self.ask(0, Op.HELLO, MAGIC + values.pack({"versions": [VERSION]}))

    def say(self, *frames):
        self.sock.send(b"".join(frames))

    def ask(self, conversation, op, payload, flags=0):
        """One request, and what it is answered with."""
        self.say(frame(op, flags, conversation, 1, payload))
        for _ in range(TURNS_MAX):
            turn(self.service)
            if answers := self.answers():
                ((_, payload),) = answers
                return payload
        raise AssertionError("it was not answered")

    def call(self, conversation, *words):
        return values.unpack(self.ask(conversation, Op.CALL, values.pack(list(words))))

    def answers(self):
        """(number, payload) of every answer that is here by now."""
        try:
            while data := self.sock.recv(1 << 16):
                self.heard += data
        except BlockingIOError:
            pass
        found = []
        while len(self.heard) >= HEADER_LENGTH:
            length, op, _, _, number = HEADER.unpack_from(self.heard)
            assert op == Op.REPLY
            found.append((number, self.heard[HEADER_LENGTH:length]))
            self.heard = self.heard[length:]
        return found

    def numbers(self):
        return [number for number, _ in self.answers()]

    def conversation(self, number=1):
        """The number of a handle of a new conversation."""
        self.call(number, "connect")
        return self.call(number, "open", "ORDERS", "", "", BOTH)[0]


def put(number, handle, md=VOLATILE, conversation=1):
    packed = wire.pack_descriptor(md)
    head = wire.PUT.pack(handle, NOW) + wire.COUNT.pack(len(packed)) + packed
    return frame(Op.PUT, DESCRIPTOR, conversation, number, head + b"a message")


def turn(service):
    service.turn(service._readiness.now())


def links_of(service):
    """Links and what they send, in the order in which they came."""
    sent = []
    for link in service.links:

        def send(data, send=link._send):
            sent.append(data)
            return send(data)

        link._send = send
    return sent


@pytest.fixture
def service(home):
    server = Server(home, io.StringIO())
    with server.manager.connect("ALICE") as app:
        app.define(LocalQueue("ORDERS", share=True, def_exclusive=False))
    yield server.service
    server.service._close()
    server._stop()


@pytest.fixture
def client(service, home):
    made = []

    def connect():
        made.append(Client(service, home.socket))
        return made[-1]

    yield connect
    for one in made:
        one.sock.close()


def test_an_answer_that_stands_alone_does_not_wait_for_other_requests(service, client, monkeypatch):
    """Two clients ask in the same turn: the first has its answer when the second is served."""
    one, two = client(), client()
    first, second = one.conversation(), two.conversation()
    served = []
    carry_out = Conversation.request

    def request(conversation, *frame_of):
        served.append((one.numbers(), two.numbers()))
        return carry_out(conversation, *frame_of)

    monkeypatch.setattr(Conversation, "request", request)
    one.say(put(7, first))
    two.say(put(8, second))
    turn(service)
    assert ([], []) == served[0]
    assert served[1] in (([7], []), ([], [8]))
    assert not service.talking


def test_answers_to_requests_that_came_together_are_one_send(service, client, monkeypatch):
    one = client()
    handle = one.conversation()
    monkeypatch.setattr(service, "monotonic_ns", lambda: 1)
    sent = links_of(service)
    one.say(put(1, handle), put(2, handle), put(3, handle))
    turn(service)
    assert ([1, 2, 3], 1) == (one.numbers(), len(sent))


def test_answers_to_commits_of_several_conversations_are_one_send(service, client):
    """Threads of one process share a link; one force serves them, and one send tells them."""
    one = client()
    handles = [one.conversation(number) for number in (1, 2, 3)]
    sent = links_of(service)
    one.say(*(put(number, handles[number - 1], PERSISTENT, number) for number in (1, 2, 3)))
    turn(service)
    assert ([1, 2, 3], 1) == (one.numbers(), len(sent))


def test_what_waits_in_the_backlog_is_answered_behind_it(service, client):
    """The second and third request of a conversation wait for the force of the first, and are answered in order."""
    one = client()
    handle = one.conversation()
    one.say(put(1, handle, PERSISTENT), put(2, handle), put(3, handle, PERSISTENT))
    turn(service)
    assert [1, 2, 3] == one.numbers()


def test_an_answer_that_has_no_taker_any_more_is_dropped(service, client):
    """The client is gone when the log has been forced: nothing is left to be sent, and nothing keeps the loop awake."""
    one, two = client(), client()
    handle = one.conversation()
    two.conversation()
    one.say(put(1, handle, PERSISTENT))
    one.sock.close()
    for _ in range(3):
        turn(service)
    assert (1, []) == (len(service.links), service.talking)
    assert service._patience() > 0


def test_an_answer_behind_one_that_was_not_taken_waits_with_it(service, client):
    """A client that takes part of an answer gets the rest of it before the next one."""
    one = client()
    handle = one.conversation()
    (link,) = service.links
    send, link._send = link._send, lambda data: send(data[:5])
    one.say(put(1, handle))
    turn(service)
    assert link.stuck
    one.say(put(2, handle))
    turn(service)
    link._send = send
    turn(service)
    assert ([1, 2], False) == (one.numbers(), link.stuck)


def test_a_heartbeat_on_a_conversation_is_no_request(service, client):
    one = client()
    handle = one.conversation()
    one.say(frame(Op.HEARTBEAT, 0, 1, 0), put(1, handle), frame(Op.HEARTBEAT, 0, 1, 0))
    turn(service)
    one.say(frame(Op.HEARTBEAT, 0, 1, 0))
    turn(service)
    assert ([1], 1) == (one.numbers(), len(service.links))


def test_a_run_in_a_unit_that_has_begun_needs_no_put_of_its_own(service, client, monkeypatch):
    """The second frame of a unit is put as a whole (PU6); its messages come behind those of the first."""
    from quaestor.qmgr.message.putting import OutputPath

    one = client()
    handle = one.conversation()
    singly = []
    put_one = OutputPath.put

    def counted(path, body, *rest):
        singly.append(body)
        return put_one(path, body, *rest)

    monkeypatch.setattr(OutputPath, "put", counted)

    def run(first, flags, described):
        bodies = b"".join(wire.LENGTH.pack(3) + b"%03d" % number for number in range(first, first + 50))
        return frame(Op.PUT, flags | MANY, 1, 0, wire.PUT.pack(handle, 0) + described + wire.COUNT.pack(50) + bodies)

    packed = wire.pack_descriptor(PERSISTENT)
    one.say(run(0, DESCRIPTOR, wire.COUNT.pack(len(packed)) + packed), run(50, SAME_DESCRIPTOR, b""))
    one.ask(1, Op.COMMIT, b"")
    assert [b"000"] == singly
    stored = service._manager.messages.catalogue.state("ORDERS").stored
    assert 100 == stored.depth


def test_answers_do_not_wait_for_a_long_run_of_commits(service, client, monkeypatch):
    """LI3, GC6: who is alone has a force with each of his puts, and hears of the first while the others are made."""
    one = client()
    handle = one.conversation()
    now_ns = count(1, GATHER_NS // 2)
    monkeypatch.setattr(service, "monotonic_ns", lambda: next(now_ns))
    sent = links_of(service)
    one.say(*(put(number, handle, PERSISTENT) for number in range(1, 7)))
    turn(service)
    assert ([1, 2, 3, 4, 5, 6], 2) == (one.numbers(), len(sent))
