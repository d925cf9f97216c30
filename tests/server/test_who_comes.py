"""Who comes and goes before there is a link, and who is cut off when (SV4, SV7), to the second and without waiting."""

import errno
import io
import socket
import struct

import pytest

from quaestor import GetOptions
from quaestor.clock import SystemClock
from quaestor.qmgr.security import parse_profiles
from quaestor.server import certificates
from quaestor.server.coupling_facility import CouplingFacility
from quaestor.server.home import Configuration, Home
from quaestor.server.identity import shown_by
from quaestor.server.journal import Journal
from quaestor.server.listeners import Tls
from quaestor.server.protocol import WAITS, Op, frame
from quaestor.server.wire import GET
from server.conftest import HELLO, call, hello

RESET = struct.pack("ii", 1, 0)  # SO_LINGER: the end is a reset


class Listener(socket.socket):
    """A listening socket that may say that no file is left."""

    failing = 0

    def accept(self):
        if self.failing:
            raise OSError(self.failing, "Too many open files")
        return super().accept()

    @property
    def address(self):
        return self.getsockname()


@pytest.fixture
def listener():
    with Listener() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        sock.setblocking(False)
        yield sock


@pytest.fixture
def other_listener():
    with Listener() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        sock.setblocking(False)
        yield sock


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tls")
    certificates.server(directory, "QM1", ["localhost"], 10)
    return Tls(directory / "server.pem", directory / "server.key").context()


def comes_and_goes(listener, data=b""):
    """A port scanner, or a client that was killed: gone before anybody has looked."""
    with socket.create_connection(listener.address) as sock:
        sock.sendall(data)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def served(server, listener):
    """Whether a client that comes now is."""
    with socket.create_connection(listener.address) as sock:
        sock.settimeout(10)
        server.turn(2)
        sock.sendall(hello(HELLO))
        server.turn(2)
        return sock.recv(1 << 16)[4] == Op.REPLY


@pytest.mark.parametrize("data", [b"", b"x", b"\x16\x03\x01"])
@pytest.mark.parametrize("secured", [False, True])
def test_who_has_gone_before_the_link_is_made_was_never_there(turns, listener, tls, data, secured):
    server = turns()
    server.service.arrivals.listen(listener, tls if secured else None)
    comes_and_goes(listener, data)
    server.turn(3)
    assert not server.service.links
    if not secured:
        assert served(server, listener)


def test_one_too_many_that_has_gone_leaves_nothing(turns, listener):
    server = turns(connections=0)
    server.service.arrivals.listen(listener)
    comes_and_goes(listener, hello(HELLO))
    server.turn(2)
    assert not server.service.links


@pytest.mark.parametrize("why", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS])
def test_without_a_file_for_another_socket_whoever_comes_waits(turns, listener, why):
    """SV7: one line, no running in circles, and after the next look over the links they are served."""
    server = turns()
    server.service.arrivals.listen(listener)
    listener.failing = why
    with socket.create_connection(listener.address):
        server.turn()
        for _ in range(3):
            assert [] == server.service._readiness.now()  # nobody is asked again and again
            server.clock.advance(seconds=2)
            server.turn(2)  # looks over, and tries again
    assert 1 == server.out.getvalue().count("QSV011W")
    listener.failing = 0
    server.clock.advance(seconds=2)
    server.turn(2)
    assert served(server, listener)
    listener.failing = why
    with socket.create_connection(listener.address):
        server.turn()
    assert 2 == server.out.getvalue().count("QSV011W")


def test_who_is_let_in_by_one_door_does_not_close_another(turns, listener, other_listener):
    """SV7: a file was there again before the links were looked over."""
    server = turns()
    for sock in (listener, other_listener):
        server.service.arrivals.listen(sock)
    listener.failing = errno.EMFILE
    with socket.create_connection(listener.address):
        server.turn()
    listener.failing = 0
    assert served(server, other_listener)
    server.clock.advance(seconds=2)
    server.turn(2)
    assert served(server, listener)


# -- who is cut off, rule SV4


LIMITS = {"hello_s": 10, "stalled_s": 60, "heartbeat_s": 30}
WAITING_GET = frame(Op.GET, WAITS, 1, 9, GET.pack(1, int(GetOptions.NO_SYNCPOINT), -1, 0))
HEARTBEAT = frame(Op.HEARTBEAT, 0, 0, 0)


def passes(server, seconds):
    server.clock.advance(seconds=seconds)
    server.turn()


def open_links(server):
    return len(server.service.links)


def test_who_does_not_say_who_it_is(turns):
    server = turns(**LIMITS)
    server.link()
    passes(server, 10)
    assert 1 == open_links(server)
    passes(server, 1)
    assert 0 == open_links(server)
    assert "did not say who it is" in server.last_line()


def test_who_has_said_it_and_is_idle_stays(turns):
    server = turns(**LIMITS)
    server.introduced()
    for _ in range(5):
        passes(server, 3600)
    assert 1 == open_links(server)


def test_who_stops_in_a_frame(turns):
    server = turns(**LIMITS)
    peer = server.introduced()
    server.say(peer, call("status")[:-1])
    passes(server, 60)
    assert 1 == open_links(server)
    passes(server, 1)
    assert 0 == open_links(server)
    assert "stopped in the middle of a frame" in server.last_line()


def test_a_frame_that_comes_slowly_comes_all_the_same(turns):
    """Each byte is a sign of life: a long message on a slow line is not cut off for its length."""
    server = turns(**LIMITS)
    peer, asked = server.introduced(), call("status")
    for byte in asked[:-1]:
        assert b"" == server.say(peer, bytes([byte]))
        passes(server, 30)
    assert server.say(peer, asked[-1:])


def test_who_does_not_take_its_answers(turns):
    server = turns(**LIMITS, output_bytes=1000)
    peer = server.introduced()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    (link,) = server.service.links
    link.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    while not link.stuck:
        peer.send(call("status"))
        server.turn()
    passes(server, 60)
    assert 1 == open_links(server)
    passes(server, 1)
    assert 0 == open_links(server)
    assert "does not take its answers" in server.last_line()


def test_who_waits_is_sent_heartbeats_and_must_answer_them(turns):
    server = turns(**LIMITS)
    peer = server.introduced()
    assert b"" == server.say(peer, WAITING_GET)
    passes(server, 30)
    assert b"" == server.say(peer)
    passes(server, 1)
    assert HEARTBEAT == server.say(peer)
    server.say(peer, HEARTBEAT)
    passes(server, 59)
    assert 1 == open_links(server)
    passes(server, 2)
    assert 0 == open_links(server)
    assert "does not answer heartbeats" in server.last_line()


def test_who_waits_for_nothing_is_sent_no_heartbeat(turns):
    server = turns(**LIMITS)
    peer = server.introduced()
    passes(server, 31)
    assert b"" == server.say(peer)


# -- lines that cannot be written, rule JO5


class Full(io.StringIO):
    """A file on a disk without room."""

    def flush(self):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_ends_nothing(tmp_path):
    audit = tmp_path / "audit.log"
    audit.symlink_to("/dev/full")
    journal = Journal(SystemClock(), Full(), audit)
    journal.tell("QSV003I")
    journal.audit("QSV020W", user="alice")
    journal.close()


# -- who has made it, and grants


def test_whoever_made_it_has_the_name_that_he_comes_by(tmp_path, monkeypatch):
    """HO4: not the one of his environment, as it is left by `su`; nor has every number a name."""
    for variable in ("LOGNAME", "USER"):
        monkeypatch.setenv(variable, "mallory")
    here, there = socket.socketpair()
    with here, there:
        for name in ("QM1", "QM2"):
            home = Home(tmp_path / name)
            home.create(Configuration(name))
            home.grant("queue", "ORDERS", "alice", "put")
            users = {profile.user for profile in parse_profiles(home.profiles.read_text())}
            assert {shown_by(there), "alice"} == users
            monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)  # of a container that runs under any number


def test_a_grant_is_a_line_of_its_own_also_behind_one_that_was_not_ended(tmp_path):
    """Editors leave the last line without an end."""
    home = Home(tmp_path / "QM1")
    home.create(Configuration("QM1"))
    home.profiles.write_text("connect * alice read")
    home.grant("queue", "ORDERS", "*", "put")
    assert ["connect * alice read", "queue ORDERS * put"] == home.profiles.read_text().splitlines()


@pytest.mark.parametrize(
    ("user", "access"),
    [
        ("bob read\nqueue * mallory", "control"),
        ("bob read\u2028queue * mallory", "control"),
        ("bob control #", "none"),
        ("", "bob control"),
        (" ", "bob control"),
    ],
)
def test_a_grant_is_one_line_whatever_its_user_is_called(tmp_path, user, access):
    """Nobody is granted anything by the name of another."""
    home = Home(tmp_path / "QM1")
    home.create(Configuration("QM1"))
    before = home.profiles.read_text()
    with pytest.raises(ValueError, match="one word each"):
        home.grant("queue", "ORDERS", user, access)
    assert before == home.profiles.read_text()


# -- the coupling facility, rule FA4


def test_a_facility_without_a_file_for_another_socket_goes_on(tmp_path, caplog):
    facility = CouplingFacility(tmp_path / "cf.sock")
    turn = lambda: facility.turn(facility._sockets.now())  # noqa: E731 - of this one
    first, second = (socket.socket(socket.AF_UNIX) for _ in range(2))
    with first, second:
        first.connect(str(facility.path))
        assert turn()
        accepted, facility._server = facility._server, Listener(fileno=facility._server.detach())
        facility._server.failing = errno.EMFILE
        second.connect(str(facility.path))
        assert turn()
        assert "nobody is accepted" in caplog.text
        assert [] == facility._sockets.now()
        facility._server.failing = 0
        first.close()
        assert turn()
        assert turn()
        assert 1 == len(facility._links)
    facility.stop()
    assert not turn()
    accepted.close()


def test_a_long_answer_is_taken_in_pieces_and_not_copied_for_each(turns):
    """LI3: what is left of it is the same bytes; answers behind it come behind it."""
    server = turns(**LIMITS)
    peer = server.introduced()
    (link,) = server.service.links
    long, behind = bytes(range(256)) * 20_000, b"".join(call("status", number=n) for n in range(9))
    link.send_now(long)
    link.send_now(behind[:50])
    taken = peer.recv(1 << 16)
    server.turn()
    link.send(behind[50:])
    assert link._unsent.obj is long
    while len(taken) < len(long) + len(behind):
        server.turn()
        taken += peer.recv(1 << 20)
    assert taken == long + behind
    server.turn()
    assert (b"", 0, False, True) == (link._unsent, link._out_bytes, link.writing, link.reading)
