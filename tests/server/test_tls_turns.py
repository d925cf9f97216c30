"""Links behind TLS, turn by turn: handshakes that stall, lie or come in pieces, garbage behind them, and floods.

The client's end of TLS is in memory, so that a test decides which of its bytes come when (TL1, TL2, LS3).
"""

import socket
import ssl
from contextlib import suppress

import pytest

from quaestor import MQMD
from quaestor.clock import FakeClock
from quaestor.server import certificates, wire
from quaestor.server.listeners import Tls
from quaestor.server.protocol import DESCRIPTOR, HEADER, HEADER_LENGTH, HELLO_MAX, Op, frame
from quaestor.server.tls_link import RECORDS_AT_ONCE, TlsLink
from server.conftest import HELLO, OPEN_FOR_ALL, Turns, call, hello


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What the server shows, and what alice does."""
    directory = tmp_path_factory.mktemp("tls")
    certificates.server(directory, "QM1", ["localhost"], 10)
    certificates.client(directory, "alice", directory / "alice", 10)
    return directory


@pytest.fixture
def server(tmp_path):
    clock = FakeClock()
    made = Turns(tmp_path, clock)
    made.clock = clock
    yield made
    made.forget_peers()
    made.service._close()


class Secured:
    """A client that says exactly what it is told to say."""

    def __init__(self, server, shown, *, certificate=False, required=False, version=None):
        told = Tls(shown / "server.pem", shown / "server.key", shown / "authority.pem", required)
        self.server, (self.sock, there) = server, socket.socketpair()
        server.peers.append(self.sock)
        self.sock.setblocking(False)
        server.service.arrivals.accepted(there, "test", told.context())
        context = ssl.create_default_context(cafile=shown / "authority.pem")
        if certificate:
            context.load_cert_chain(shown / "alice" / "client.pem", shown / "alice" / "client.key")
        if version is not None:
            context.maximum_version = version
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")

    def carry(self, step=1 << 20):
        """What TLS has to say goes to the server, so many bytes a turn, and what the server says comes back."""
        out = self.outgoing.read()
        for at in range(0, len(out), step):
            self.sock.sendall(out[at : at + step])
            self.server.turn()
        self.server.turn()
        self.listen()

    def listen(self):
        try:
            while data := self.sock.recv(1 << 20):
                self.incoming.write(data)
        except (BlockingIOError, ConnectionError):
            return

    def shake_hands(self, step=1 << 20):
        for _ in range(4):
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                self.carry(step)
            else:
                self.carry(step)
                return self
        raise AssertionError("no handshake")

    def say(self, *records):
        """Each in a record of its own; what is answered, as operations."""
        for record in records:
            self.tls.write(record)
        self.carry()
        return self.answers()

    def answers(self):
        """The operations of all frames that have come."""
        data = b""
        try:
            while part := self.tls.read(1 << 20):
                data += part
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError, ssl.SSLEOFError):
            pass
        found, at = [], 0
        while at < len(data):
            length, op, *_ = HEADER.unpack_from(data, at)
            found.append(Op(op))
            at += length
        return found

    def introduced(self):
        opening = call("open", "ORDERS", "", "", OPEN_FOR_ALL, number=2)
        assert [Op.REPLY] * 3 == self.say(hello(HELLO), call("connect", number=1), opening)
        return self


def depth(server):
    return server.small.messages.catalogue.state("ORDERS").stored.depth


def put(number, body):
    """In syncpoint, to the first handle."""
    packed = wire.pack_descriptor(MQMD(persistence=1))
    return frame(Op.PUT, DESCRIPTOR, 1, number, wire.PUT.pack(1, 0) + wire.COUNT.pack(len(packed)) + packed + body)


def status(number):
    return call("status", number=number)


# --- the handshake (TL1) ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_a_handshake_comes_about_however_it_is_cut(server, shown, version, step):
    client = Secured(server, shown, version=version).shake_hands(step)
    assert version.name.replace("_", ".") == client.tls.version()
    client.introduced()


def test_tls_is_agreed_upon_once(shown):
    """LS3: an old library would begin again as often as a client asks."""
    context = Tls(shown / "server.pem", shown / "server.key").context()
    assert context.options & ssl.OP_NO_RENEGOTIATION
    assert ssl.TLSVersion.TLSv1_2 == context.minimum_version
    assert ssl.CERT_NONE == context.verify_mode


@pytest.mark.parametrize(("required", "mode"), [(False, ssl.CERT_OPTIONAL), (True, ssl.CERT_REQUIRED)])
def test_certificates_are_asked_for_where_there_are_authorities(shown, required, mode):
    told = Tls(shown / "server.pem", shown / "server.key", shown / "authority.pem", required)
    assert mode == told.context().verify_mode


@pytest.mark.parametrize("bytes_sent", [0, 1, 5, 100])
def test_a_handshake_that_stalls_is_cut_off_in_time(server, shown, bytes_sent):
    client = Secured(server, shown)
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.do_handshake()
    client.sock.sendall(client.outgoing.read()[:bytes_sent])
    server.turn()
    server.clock.advance(seconds=10)
    server.turn()
    assert 1 == len(server.service.links)
    server.clock.advance(seconds=1)
    server.turn(2)
    assert not server.service.links
    assert "did not say who it is" in server.last_line()


def test_who_has_shaken_hands_must_say_who_it_is_all_the_same(server, shown):
    Secured(server, shown).shake_hands()
    server.clock.advance(seconds=11)
    server.turn(2)
    assert not server.service.links
    assert "did not say who it is" in server.last_line()


@pytest.mark.parametrize(
    ("garbage", "why"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "TLS: HTTP_REQUEST"),
        (hello(HELLO), "TLS: WRONG_VERSION_NUMBER"),
        (b"\x16\x03\x01\xff\xff" + b"\x00" * 16, "TLS: "),
        (b"\x15\x03\x03\x00\x02\x02\x28", "TLS: "),
    ],
)
def test_what_is_no_handshake_is_told_to_the_audit(server, shown, garbage, why):
    """An HTTP client, one of ours without TLS, a record too long, an alert in place of a hello."""
    client = Secured(server, shown)
    client.sock.sendall(garbage)
    server.turn(2)
    assert not server.service.links
    assert "QSV020W" in server.last_line()
    assert why in server.last_line()


def test_who_goes_in_the_handshake_is_told_to_the_audit(server, shown):
    client = Secured(server, shown)
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.do_handshake()
    client.sock.sendall(client.outgoing.read()[:50])
    server.turn()
    client.sock.close()
    server.turn(2)
    assert not server.service.links
    assert "UNEXPECTED_EOF_WHILE_READING" in server.last_line()


def test_without_a_certificate_where_one_is_required_nobody_comes_in(server, shown):
    client = Secured(server, shown, required=True, version=ssl.TLSVersion.TLSv1_2)
    with pytest.raises(ssl.SSLError):
        client.shake_hands()
    server.turn()
    assert not server.service.links
    assert "PEER_DID_NOT_RETURN_A_CERTIFICATE" in server.last_line()


def test_whose_certificate_is_believed_comes_in(server, shown):
    Secured(server, shown, certificate=True, required=True).shake_hands().introduced()
    (link,) = server.service.links
    assert "ALICE" == link.user  # security is off here: who it says it is
    assert "alice" == dict(part[0] for part in link.sock.getpeercert()["subject"])["commonName"]


def test_many_handshakes_at_once_hold_up_no_client(server, shown, monkeypatch):
    """SV9: so much of a turn; those for whom there was no time are served in the next ones, all of them."""
    client = Secured(server, shown).shake_hands().introduced()
    strangers, steps, shook_hands = [Secured(server, shown) for _ in range(10)], [], TlsLink._shook_hands

    def takes_long(link):
        steps.append(link)
        server.clock.advance(milliseconds=2)
        return shook_hands(link)

    monkeypatch.setattr(TlsLink, "_shook_hands", takes_long)
    for stranger in strangers:
        with pytest.raises(ssl.SSLWantReadError):
            stranger.tls.do_handshake()
        stranger.sock.sendall(stranger.outgoing.read())
    client.tls.write(status(3))
    client.sock.sendall(client.outgoing.read())
    server.turn()
    client.listen()
    assert ([Op.REPLY], 3) == (client.answers(), len(steps))
    server.turn(3)
    assert 10 == len(set(steps))


# --- behind it -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [1, 3, HEADER_LENGTH])
def test_frames_may_be_cut_into_any_records(server, shown, pieces):
    client = Secured(server, shown).shake_hands()
    data = hello(HELLO) + call("connect", number=1) + status(2)
    answers = []
    for at in range(0, len(data), pieces):
        answers += client.say(data[at : at + pieces])
    assert [Op.REPLY] * 3 == answers


def test_many_frames_may_be_in_one_record(server, shown):
    client = Secured(server, shown).shake_hands().introduced()
    assert [Op.REPLY] * 50 == client.say(b"".join(status(number) for number in range(3, 53)))


@pytest.mark.parametrize("garbage", [b"\x17\x03\x03\x00\x20" + b"\x00" * 32, b"\x16\x03\x03\x00\x04\x00\x00\x00\x00"])
def test_garbage_in_the_midst_ends_the_link_and_backs_out(server, shown, garbage):
    """A record that nobody has encrypted, and a wish to negotiate again that nobody has either."""
    client = Secured(server, shown).shake_hands().introduced()
    assert [Op.REPLY] == client.say(put(3, b"never committed"))
    assert 1 == depth(server)
    client.sock.sendall(garbage)
    server.turn(2)
    assert not server.service.links
    assert 0 == depth(server)
    assert "QSV010W" in server.last_line()
    assert "TLS: " in server.last_line()


def test_a_farewell_in_the_middle_of_a_frame_is_told(server, shown):
    client = Secured(server, shown).shake_hands().introduced()
    client.tls.write(status(3)[:-1])
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.unwrap()
    client.carry()
    server.turn()
    assert not server.service.links
    assert "ended in the middle of a frame" in server.last_line()


def test_a_farewell_between_frames_is_worth_no_word(server, shown):
    client = Secured(server, shown).shake_hands().introduced()
    said = server.out.getvalue()
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.unwrap()
    client.carry()
    server.turn()
    assert not server.service.links
    assert said == server.out.getvalue()


@pytest.mark.parametrize("length", [0, HEADER_LENGTH - 1, HELLO_MAX + 1, 0xFFFFFFFF])
def test_a_first_frame_that_lies_about_its_length_is_the_last(server, shown, length):
    client = Secured(server, shown).shake_hands()
    client.say(HEADER.pack(length, Op.HELLO, 0, 0, 1))
    server.turn()
    assert not server.service.links
    assert f"a frame of {length} bytes" in server.last_line()


# --- a flood (TL2) ---------------------------------------------------------------------------------------------------


def test_one_client_that_sends_and_sends_holds_up_no_other(server, shown):
    """So many records a turn, and then it is the turn of others; nothing of it is lost."""
    flood, other = Secured(server, shown).shake_hands().introduced(), Secured(server, shown).shake_hands().introduced()
    records = 4 * RECORDS_AT_ONCE
    for number in range(records):
        flood.tls.write(status(100 + number))
    flood.sock.sendall(flood.outgoing.read())
    other.tls.write(status(3))
    other.sock.sendall(other.outgoing.read())
    taken = []
    for _ in range(4):
        server.turn()
        flood.listen()
        taken.append(len(flood.answers()))
        other.listen()
        if len(taken) == 1:
            assert [Op.REPLY] == other.answers()
    assert [RECORDS_AT_ONCE] * 4 == taken


def test_a_record_that_one_receive_does_not_empty_is_read_to_its_end(server, shown, monkeypatch):
    """What is decrypted is in no socket: nobody would tell of it again."""
    monkeypatch.setattr("quaestor.server.link.RECEIVE", HEADER_LENGTH)
    client = Secured(server, shown).shake_hands().introduced()
    frames = 2 * RECORDS_AT_ONCE
    client.tls.write(frame(Op.HEARTBEAT, 0, 0, 0) * frames + status(3))
    client.sock.sendall(client.outgoing.read())
    server.turn()
    client.listen()
    assert [Op.REPLY] == client.answers()


def test_who_takes_a_long_answer_slowly_is_not_cut_off(server, shown):
    """TL3, LI3: it takes a little of it within every `stalled_s`, though all of it takes far longer."""
    client = Secured(server, shown).shake_hands().introduced()
    (link,) = server.service.links
    answer, taken = frame(Op.REPLY, 0, 1, 9, bytes(2_000_000)), 0
    link.send_now(answer)
    while taken < len(answer):
        server.clock.advance(seconds=40)
        server.turn()
        assert link.open
        client.incoming.write(client.sock.recv(300_000))
        with suppress(ssl.SSLWantReadError):
            while part := client.tls.read(1 << 20):
                taken += len(part)
        server.turn()
