"""Users, identities and listeners by themselves: what is kept, who is believed, and where nobody listens."""

import os
import pwd
import socket
import stat
from types import SimpleNamespace

import pytest

from quaestor.server import identity
from quaestor.server.identity import Identity, Refused, common_name, shown_by
from quaestor.server.listeners import (
    SOCKET_NAME_MAX,
    ListenError,
    is_loopback,
    listen_local,
    listen_tcp,
    socket_name,
    split_address,
    tune_tcp,
)
from quaestor.server.users import NOBODY, Hashed, Users, hashed

ME = pwd.getpwuid(os.getuid()).pw_name[:12]
QUICK = Hashed(2, 1, 1, b"salt" * 4, bytes.fromhex("00" * 32))

# -- users


def test_a_hash_is_read_as_it_was_written():
    kept = hashed("open sesame")
    assert kept == Hashed.read(kept.written().split())
    assert (16384, 8, 1, 16, 32) == (kept.n, kept.r, kept.p, len(kept.salt), len(kept.digest))


def test_what_is_written_of_a_password():
    """US1: method, parameters, salt, hash."""
    assert f"scrypt 2 1 1 c2FsdHNhbHRzYWx0c2FsdA== {'A' * 43}=" == QUICK.written()


def test_a_method_that_is_not_known_is_named():
    with pytest.raises(ValueError, match="'plain' is not known"):
        Hashed.read(["plain", "1", "1", "1", "", ""])


def test_a_password_fits_its_own_hash_only():
    """US2: nobody's fits none."""
    kept = hashed("é")
    assert [True, False, False] == [kept.fits("é"), kept.fits("e"), NOBODY.fits("")]


def test_a_user_that_does_not_exist_costs_a_hash_too(tmp_path, monkeypatch):
    """US2."""
    asked = []

    def digest(password, *parameters):
        asked.append(parameters[:3])
        return password.encode()

    monkeypatch.setattr("quaestor.server.users._digest", digest)
    users = Users(tmp_path / "users")
    users.set("alice", "a")
    asked.clear()
    proofs = [("alice", "a"), ("alice", "b"), ("bob", "a"), ("bob", "")]
    assert [True, False, False, False] == [users.verify(*proof) for proof in proofs]
    assert [(16384, 8, 1)] * 4 == asked


@pytest.mark.parametrize("name", ["a", "A-1_b", "x" * 12, "0"])
def test_names_that_a_user_may_have(tmp_path, name, monkeypatch):
    monkeypatch.setattr("quaestor.server.users.hashed", lambda _: QUICK)
    users = Users(tmp_path / "users")
    users.set(name, "p")
    assert [name] == users.names()


@pytest.mark.parametrize("name", ["", "x" * 13, "a b", "ä", "a.b", "-", "_", "a\n"])
def test_names_that_no_user_may_have(tmp_path, name):
    users = Users(tmp_path / "users")
    with pytest.raises(ValueError, match="1 to 12 letters"):
        users.set(name, "p")
    assert not (tmp_path / "users").exists()


def test_a_password_is_not_empty(tmp_path):
    with pytest.raises(ValueError, match="empty"):
        Users(tmp_path / "users").set("alice", "")


def test_the_file_of_users_is_replaced_as_a_whole(tmp_path, monkeypatch):
    """US1: names ascending, for its owner only; what a crash left of an earlier try is no hindrance."""
    monkeypatch.setattr("quaestor.server.users.hashed", lambda _: QUICK)
    path = tmp_path / "users"
    (tmp_path / "users.new").write_text("left by a crash")
    users = Users(path)
    for name in ("bob", "alice"):
        users.set(name, "p")
    assert [f"alice {QUICK.written()}", f"bob {QUICK.written()}"] == path.read_text().splitlines()
    assert (0o600, ["users"]) == (stat.S_IMODE(path.stat().st_mode), [each.name for each in tmp_path.iterdir()])


def test_a_user_that_is_not_there_is_not_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("quaestor.server.users.hashed", lambda _: QUICK)
    users = Users(tmp_path / "users")
    assert ([], False) == (users.names(), users.remove("alice"))
    assert not (tmp_path / "users").exists()
    users.set("alice", "p")
    assert ([True, False], []) == ([users.remove("alice"), users.remove("alice")], users.names())


def test_empty_lines_are_nobody(tmp_path):
    path = tmp_path / "users"
    path.write_text(f"\nalice {QUICK.written()}\n\n")
    assert ["alice"] == Users(path).names()


# -- identity


class Known:
    """Users that are there without a file; `Users.verify` as far as it matters here."""

    def __init__(self, answer=None):
        self.answer = answer

    def verify(self, _user, _password):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def local():
    one, other = socket.socketpair(socket.AF_UNIX)
    yield one
    one.close()
    other.close()


@pytest.fixture
def remote():
    with socket.socket(socket.AF_INET) as sock:
        yield sock


def found(sock, said, password=None, *, security=True, answer=None):
    """Who it is, or why not."""
    who, told = Identity(Known(answer), security=security), []
    try:
        user = who.find(SimpleNamespace(sock=sock, peer="local", open=True), said, password, told.append)
    except Refused as refused:
        return f"refused: {refused}"
    finally:
        who._hashing.shutdown(wait=True)
    return user if user is not None else told[0] if isinstance(told[0], str) else f"refused: {told[0]}"


@pytest.mark.parametrize(
    ("said", "security", "answer"),
    [
        ("", True, ME),
        (ME, True, ME),
        ("other", True, f"refused: says 'other' but is '{ME}'"),
        ("", False, ME),
        ("other", False, "other"),
    ],
)
def test_a_local_application_is_who_the_operating_system_says(local, said, security, answer):
    """ID2, ID3."""
    assert answer == found(local, said, security=security)


@pytest.mark.parametrize(
    ("said", "security", "answer"),
    [
        ("alice", True, "refused: neither password nor certificate"),
        ("", True, "refused: neither password nor certificate"),
        ("alice", False, "alice"),
        ("", False, "anonymous"),
    ],
)
def test_a_remote_application_without_anything_is_refused(remote, said, security, answer):
    """ID3."""
    assert answer == found(remote, said, security=security)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (True, "alice"),
        (False, "refused: user or password is wrong"),
        (OSError("gone"), "refused: the users cannot be read: gone"),
    ],
)
def test_a_password_proves_a_user(remote, answer, expected):
    """ID1."""
    assert expected == found(remote, "alice", "p", answer=answer)


def test_without_security_a_password_is_not_looked_at(remote):
    assert "alice" == found(remote, "alice", "wrong", security=False, answer=False)


def test_a_user_without_a_name_is_a_number(local, monkeypatch):
    def nobody(uid):
        raise KeyError(uid)

    monkeypatch.setattr(identity.pwd, "getpwuid", nobody)
    assert str(os.getuid()) == shown_by(local)


@pytest.mark.parametrize(
    ("certificate", "name"),
    [
        ({}, None),
        ({"subject": ()}, None),
        ({"subject": ((("countryName", "DE"),), (("organizationName", "O"), ("commonName", "alice")))}, "alice"),
        ({"subject": ((("commonName", "first"),), (("commonName", "second"),))}, "first"),
    ],
)
def test_the_common_name_of_a_certificate(certificate, name):
    assert name == common_name(certificate)


# -- listeners


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("h:0", "h", 0),
        ("h:65535", "h", 65535),
        ("[::1]:1414", "::1", 1414),
        (":1", "", 1),
        ("10.0.0.1:2", "10.0.0.1", 2),
    ],
)
def test_an_address_is_a_host_and_a_port(address, host, port):
    assert (host, port) == split_address(address)


@pytest.mark.parametrize("address", ["", "h", "h:", "h:x", "h:-1", "h:65536", "h:" + "1" * 5000, "\0:1", "\udc80:1"])
def test_what_is_no_address_is_named(address):
    with pytest.raises(ListenError, match="is not host:port"):
        split_address(address)


@pytest.mark.parametrize(
    ("host", "answer"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.255.255.254", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("128.0.0.1", False),
        ("example.org", False),
        ("", False),
    ],
)
def test_what_is_loopback(host, answer):
    """LS2."""
    assert answer is is_loopback(host)


def test_a_port_that_is_taken_is_named():
    with listen_tcp("127.0.0.1:0", tls=False) as taken:
        port = taken.getsockname()[1]
        assert not taken.getblocking()
        with pytest.raises(ListenError, match=f"cannot listen on 127.0.0.1:{port}: "):
            listen_tcp(f"127.0.0.1:{port}", tls=False)


def test_a_link_is_tuned_for_small_frames_and_peers_that_vanish():
    with socket.socket() as sock:
        tune_tcp(sock)
        asked = [
            (socket.IPPROTO_TCP, socket.TCP_NODELAY),
            (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
            (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
            (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL),
            (socket.IPPROTO_TCP, socket.TCP_KEEPCNT),
        ]
        assert [1, 1, 60, 15, 4] == [sock.getsockopt(*option) for option in asked]


@pytest.mark.parametrize("length", [SOCKET_NAME_MAX, SOCKET_NAME_MAX + 1, 180])
def test_a_socket_file_is_its_owners_however_long_its_path_is(tmp_path, length):
    """LS1: and one that a process left behind is replaced."""
    directory = tmp_path
    while len(str(directory)) < length - 60:
        directory /= "d" * 40
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / ("s" * (length - len(str(directory)) - 1))
    assert length == len(str(path))
    path.write_text("left behind")
    mask = os.umask(0o022)
    try:
        with listen_local(path) as listening:
            assert (0o600, False) == (stat.S_IMODE(path.stat().st_mode), listening.getblocking())
            assert 0o022 == os.umask(0o022)
            with socket_name(path) as name, socket.socket(socket.AF_UNIX) as app:
                assert (length <= SOCKET_NAME_MAX) is (name == str(path))
                app.connect(name)
    finally:
        os.umask(mask)
