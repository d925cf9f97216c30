"""Where `connect` goes, and what a client may call itself (DO1, PL1, OL3)."""

import asyncio
import socket
import sys
from pathlib import Path

import pytest

import quaestor
from model.answers import fails
from quaestor import MQError, Reason
from quaestor.connecting import is_directory, place_of
from quaestor.server.client.opening import hello_of
from quaestor.server.client.place import ClientTls, is_address, local_place
from quaestor.server.home import Configuration, Home
from quaestor.server.listeners import listen_local
from quaestor.server.protocol import CLIENT_MAX


@pytest.mark.parametrize(
    "where", ["host:1414", "127.0.0.1:1", "[::1]:1414", "host:0", "host:99999", "host:123456789", "a b:1"]
)
def test_a_colon_and_digits_at_the_end_are_an_address(where):
    """PL1: also with more digits than a port has. It is a slip of the finger, and no directory of that name is made."""
    assert is_address(where)
    assert not is_directory(where, "QM1")


@pytest.mark.parametrize(
    "where", ["data", "./host:1414", "a/b:1", "host:", ":1414", "host:14a", "a:b:1", "C:\\x:1", Path("host:1414")]
)
def test_anything_else_is_a_directory(where):
    assert not is_address(where)
    assert is_directory(where, "QM1")


def test_without_a_place_it_is_a_queue_manager_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("QUAESTOR_HOME", str(tmp_path))
    assert not is_directory(None, "QM1")
    assert tmp_path / "QM1" / "socket" == place_of("QM1", None, None).path


@pytest.mark.parametrize("connect", [quaestor.connect, lambda *args: asyncio.run(quaestor.connect_async(*args))])
def test_an_empty_place_is_refused_and_nothing_is_made(connect, tmp_path, monkeypatch):
    """It comes from a variable that is not set: 64 MB of log in whatever folder this is would be no answer."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MQError) as refused:
        connect("QM1", "")
    assert Reason.Q_MGR_NOT_AVAILABLE is refused.value.reason
    assert "the place is empty: host:port, or a directory" == refused.value.facts["why"]
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("said", [{"password": "x"}, {"password": ""}, {"tls": True}, {"tls": ClientTls("a")}])
@pytest.mark.parametrize(
    "connect", [quaestor.connect, lambda *where, **said: asyncio.run(quaestor.connect_async(*where, **said))]
)
def test_a_forgotten_port_makes_no_queue_manager_of_its_own(connect, said, tmp_path, monkeypatch):
    """DO1: `localhost` would be a folder here, and the message would never reach the server it was meant for."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MQError) as refused:
        connect("QM1", "localhost", user="alice", **said)
    assert Reason.Q_MGR_NOT_AVAILABLE is refused.value.reason
    assert "a password or TLS is for host:port, and this is a directory" == refused.value.facts["why"]
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("connect", [quaestor.connect, lambda *args: asyncio.run(quaestor.connect_async(*args))])
def test_of_one_that_does_not_run_what_to_do_is_told(connect, tmp_path, monkeypatch):
    """PL5."""

    def told(*where):
        with fails(Reason.Q_MGR_NOT_AVAILABLE) as refused:
            connect("QM1", *where)
        return refused.value.facts["where"], refused.value.facts["why"]

    monkeypatch.setenv("QUAESTOR_HOME", str(tmp_path))
    home = Home(tmp_path / "QM1")
    made = f"no queue manager in {home.directory}; make one: quaestor qmgr create QM1"
    assert (str(home.socket), made) == told()
    home.create(Configuration("QM1"))
    started = "it does not run; start it: quaestor qmgr start QM1"
    assert (str(home.socket), started) == told()
    listen_local(home.socket).close()  # left by one that was killed
    assert (str(home.socket), started) == told()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    assert (address, "Connection refused; where it is kept: quaestor qmgr start QM1") == told(address)


def test_of_one_that_is_kept_elsewhere_the_directory_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("QUAESTOR_HOME", str(tmp_path))
    Home(tmp_path / "data").create(Configuration("QM1"))
    with fails(Reason.Q_MGR_NOT_AVAILABLE) as refused:
        local_place("QM1", tmp_path / "data").reach()
    assert refused.value.facts["why"].endswith(f"quaestor qmgr start QM1 --directory {tmp_path / 'data'}")


@pytest.mark.parametrize("connect", [quaestor.connect, lambda *args: asyncio.run(quaestor.connect_async(*args))])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((5,), "the name of a queue manager is a str, such as 'QM1', not 5"),
        ((b"QM1", "data"), "the name of a queue manager is a str, such as 'QM1', not b'QM1'"),
        ((None, "localhost:1414"), "the name of a queue manager is a str, such as 'QM1', not None"),
        (("QM1", 1414), "a place is a str or a path, not 1414"),
        (("QM1", b"data"), "a place is a str or a path, not b'data'"),
    ],
)
def test_other_types_are_told_at_the_door(connect, given, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TypeError) as refused:
        connect(*given)
    assert said == str(refused.value)
    assert [] == list(tmp_path.iterdir())


def test_without_tls_a_directory_is_one(tmp_path):
    quaestor.connect("QM1", tmp_path, user="alice", tls=False).disconnect()


@pytest.mark.parametrize("where", ["localhost:65536", "localhost:123456789012345678901234567890"])
def test_a_port_that_cannot_be_is_told(where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MQError) as refused:
        quaestor.connect("QM1", where)
    assert f"{where!r} is not host:port" == refused.value.facts["why"]
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(("tls", "kept"), [(None, None), (False, None), (True, ClientTls()), (ClientTls("a"),) * 2])
def test_tls_is_asked_for_or_spelt_out(tls, kept):
    assert kept == place_of("QM1", "host:1414", tls).tls


@pytest.mark.parametrize(("name", "sent"), [("", b""), (b"BILLING-1", b"BILLING-1"), ("Köln", b"K\xc3\xb6ln")])
def test_a_client_is_named_by_text_or_bytes(name, sent):
    assert sent == hello_of("QM1", None, None, "test", name)["client"]


def test_a_client_that_comes_back_has_a_name_in_any_case():
    assert b"" != hello_of("QM1", None, None, "test", reconnects=True)["client"]
    assert b"MINE" == hello_of("QM1", None, None, "test", "MINE", reconnects=True)["client"]


@pytest.mark.parametrize("name", ["x" * (CLIENT_MAX + 1), b"x" * (CLIENT_MAX + 1), "ö" * (CLIENT_MAX // 2 + 1)])
def test_a_name_that_is_too_long_is_refused_before_anybody_is_asked(name):
    """The queue manager would end the link and could not say why."""
    with pytest.raises(MQError) as refused:
        quaestor.connect("QM1", "localhost:1", client=name)
    assert (Reason.OPTIONS_ERROR, {"client": name, "longest": 32}) == (refused.value.reason, refused.value.facts)


@pytest.mark.parametrize("name", ["x" * CLIENT_MAX, "ö" * (CLIENT_MAX // 2)])
def test_the_longest_name_is_taken(server, name):
    app = server.connect(client=name)
    assert name.encode() in {link.client for link in server.service.links}
    app.disconnect()


@pytest.mark.parametrize(
    ("user", "password", "environment", "said"),
    [
        (None, None, "secret", {"user": ""}),
        ("alice", None, None, {"user": "alice"}),
        ("alice", None, "secret", {"user": "alice", "password": "secret"}),
        ("alice", "given", "secret", {"user": "alice", "password": "given"}),
        ("alice", "", "secret", {"user": "alice", "password": ""}),
    ],
)
def test_a_password_is_given_or_stands_in_the_environment(user, password, environment, said, monkeypatch):
    """DO3: without a user the variable is not looked at."""
    monkeypatch.delenv("QUAESTOR_PASSWORD", raising=False)
    if environment is not None:
        monkeypatch.setenv("QUAESTOR_PASSWORD", environment)
    assert {"qmgr": "QM1", "application": "test", "client": b""} | said == hello_of("QM1", user, password, "test")


ASKING = {
    "with a link of its own": quaestor.connect,
    "sharing": lambda *where, **said: quaestor.connect(*where, **said, shared=True),
    "coming back": lambda *where, **said: quaestor.connect(*where, **said, reconnect_s=1),
    "asyncio": lambda *where, **said: asyncio.run(quaestor.connect_async(*where, **said)),
}


@pytest.mark.parametrize("asks", ASKING.values(), ids=ASKING)
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"user": "a\ud800"}, Reason.NOT_AUTHORIZED),
        ({"user": "a" * 256}, Reason.NOT_AUTHORIZED),
        ({"user": "alice", "password": "a\udfff"}, Reason.NOT_AUTHORIZED),
        ({"password": lambda: "\ud800"}, Reason.NOT_AUTHORIZED),
        ({"user": "alice", "password": "a" * 5000}, Reason.NOT_AUTHORIZED),
        ({"client": "\ud800"}, Reason.OPTIONS_ERROR),
    ],
    ids=["user", "long user", "password", "password of a function", "long password", "client"],
)
def test_what_cannot_be_sent_is_refused_before_anybody_is_asked(server, asks, said, reason):
    """OL4, CM7: half of a character beyond the first 65,536 has no place in UTF-8, nor 5,000 letters in a HELLO."""
    with pytest.raises(MQError) as refused:
        asks("QM1", server.address, **said)
    assert reason is refused.value.reason
    assert [] == list(server.service.links)


def test_the_longest_password_is_looked_at(server):
    """OL4: nothing that is taken is too long for the first frame, whatever else stands there."""
    with server.connect(client="c" * CLIENT_MAX, user="é" * 127, password="é" * 1536) as app:
        assert app.inquire()


def test_a_password_that_is_no_text_is_not_told_to_anybody(server):
    with pytest.raises(MQError) as refused:
        quaestor.connect("QM1", server.address, user="alice", password="secret\ud800")
    assert {"user": "alice"} == refused.value.facts


def test_a_queue_manager_whose_name_is_no_text(server):
    """OL4: as one that has another name."""
    with pytest.raises(MQError) as refused:
        quaestor.connect("QM\ud800", server.address)
    assert Reason.Q_MGR_NAME_ERROR is refused.value.reason


def test_a_program_whose_name_is_no_text_can_connect(server, monkeypatch):
    """A file may have any bytes for a name; messages have UTF-8."""
    monkeypatch.setattr(sys, "argv", ["/opt/bill\udce9.py"])
    with quaestor.connect("QM1", server.address) as app:
        app.define(quaestor.LocalQueue("ORDERS"))
        app.put("ORDERS", "whose", quaestor.MQMD(persistence=1), quaestor.PutOptions.NO_SYNCPOINT)
        assert "bill?.py" == app.get("ORDERS").descriptor.put_appl_name.strip()


def test_connections_of_one_name_that_share_a_link_do_not_reconnect():
    """DO4: each would end the link of the others again and again."""
    with fails(Reason.OPTIONS_ERROR):
        quaestor.connect("QM1", shared=True, client="BILLING", reconnect_s=5)
