"""Who may come in and what they may do: 2035 for everybody else, and one audit line each time."""

import asyncio
import os
from dataclasses import replace

import pytest

import quaestor
from model.answers import fails
from quaestor import LocalQueue, MQError, OpenOptions, PutOptions, Reason, Target
from quaestor.clock import FakeClock, SystemClock
from quaestor.mqi.objects import QueueManagerAttributes
from quaestor.server import certificates
from quaestor.server.client.place import ClientTls, Place
from quaestor.server.home import Configuration, Home
from quaestor.server.identity import user_of
from quaestor.server.listeners import ListenError, listen_tcp
from quaestor.server.users import Users, hashed

ME = user_of(os.geteuid())
DAY_US = 86_400_000_000


@pytest.fixture
def home(tmp_path):
    """Security on, TLS on, a user with a password who may put to and browse ORDERS."""
    home = Home(tmp_path / "QM1")
    home.create(Configuration("QM1", listen="127.0.0.1:0", engine={"logs": 3, "log_bytes": 1 << 20, "pages": 64}))
    certificates.server(home.directory, "QM1", ["localhost", "127.0.0.1"], 10)
    home.write(replace(home.configuration(), certificate="server.pem", key="server.key", authorities="authority.pem"))
    Users(home.users).set("alice", "open sesame")
    home.grant("connect", "*", "alice", "read")
    home.grant("queue", "ORDERS", "alice", "put,browse")
    return home


@pytest.fixture
def remote(server):
    """A place over TLS, with what a client shows."""

    def place(**shown):
        trust = ClientTls(authorities=server.home.directory / "authority.pem", **shown)
        return Place("QM1", address=server.address, tls=trust)

    return place


def audit(server):
    return server.home.audit.read_text().splitlines()


def test_a_password_over_tls(server, remote):
    with server.connect(place=remote(), user="alice", password="open sesame") as app:
        assert app.status()["security"]
    assert [] == audit(server)


def test_what_fills_several_records_of_tls_arrives_whole(server, remote):
    """TL2: runs of puts and a long message, each more than one record and than one receive."""
    with server.connect() as owner:
        owner.define(LocalQueue("ORDERS", share=True, max_msg_length=1 << 20))
    with server.connect(place=remote(), user="alice", password="open sesame") as app:
        queue = app.open("ORDERS", OpenOptions.OUTPUT | OpenOptions.BROWSE)
        bodies = [b"%04d" % number * 300 for number in range(200)] + [bytes(range(256)) * 2000]
        for body in bodies:
            queue.put(body, None, PutOptions.ASYNC_RESPONSE)
        app.commit()
        assert bodies == [queue.browse().body for _ in bodies]


@pytest.mark.parametrize("said", [{"user": "bob", "password": "anything"}, {"password": "anything"}, {"user": "bob"}])
def test_with_security_off_a_password_is_not_looked_at(home, serve, said):
    """Nobody is refused, over TLS neither: there may be no users to compare with."""
    home.users.unlink()
    home.write(replace(home.configuration(), security=False))
    server = serve()
    trust = ClientTls(authorities=home.directory / "authority.pem")
    with server.connect(place=Place("QM1", address=server.address, tls=trust), **said) as app:
        app.define(LocalQueue("ORDERS"))
        app.put("ORDERS", b"x")
        assert not app.status()["security"]
    assert "QSV020W" not in server.log()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"user": "alice", "password": "wrong"}, "user or password is wrong"),
        ({"user": "alice", "password": ""}, "user or password is wrong"),
        ({"user": "nobody", "password": "open sesame"}, "user or password is wrong"),
        ({"user": "alice"}, "neither password nor certificate"),
        ({}, "neither password nor certificate"),
    ],
)
def test_what_does_not_let_anybody_in(server, remote, said, why):
    with fails(Reason.NOT_AUTHORIZED):
        server.connect(place=remote(), **said)
    (line,) = audit(server)
    assert "QSV020W" in line
    assert why in line
    assert "open sesame" not in server.log()


def test_a_local_application_is_who_the_system_says_it_is(server):
    with server.connect() as app:
        app.define(LocalQueue("ORDERS"))
        assert ME == app.put("ORDERS", "x").envelope.user_identifier
    with fails(Reason.NOT_AUTHORIZED):
        server.connect(user="somebody")
    assert 1 == len(audit(server))


def test_a_certificate_is_a_user(server, remote, tmp_path):
    certificates.client(server.home.directory, "alice", tmp_path / "alice", 10)
    shown = {"certificate": tmp_path / "alice" / "client.pem", "key": tmp_path / "alice" / "client.key"}
    with server.connect() as me:
        me.define(LocalQueue("ORDERS"))
    with server.connect(place=remote(**shown)) as app:
        assert "alice" == app.put("ORDERS", "x").envelope.user_identifier
    with fails(Reason.NOT_AUTHORIZED):
        server.connect(place=remote(**shown), user="bob")


def test_an_expired_certificate_is_refused(server, remote, tmp_path):
    yesterday = FakeClock(SystemClock().now_us() - 5 * DAY_US)
    certificates.client(server.home.directory, "alice", tmp_path / "old", 1, yesterday)
    shown = {"certificate": tmp_path / "old" / "client.pem", "key": tmp_path / "old" / "client.key"}
    for connect in both_doors(remote(**shown)):
        with pytest.raises(MQError) as refused:
            connect()
        assert Reason.NOT_AUTHORIZED is refused.value.reason
        assert "TLS: the queue manager says: certificate expired" == refused.value.facts["why"]  # PL4
    server.wait_for(lambda: len(audit(server)) == 2)
    assert all("expired" in line for line in audit(server))


def test_a_server_nobody_vouches_for_is_not_believed(server, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    certificates.server(other, "OTHER", ["127.0.0.1"], 10)
    place = Place("QM1", address=server.address, tls=ClientTls(authorities=other / "authority.pem"))
    with fails(Reason.NOT_AUTHORIZED):
        server.connect(place=place)


def both_doors(place):
    """Connect to a place as a blocking application and as one of asyncio."""

    async def main():
        await quaestor.connect_async("QM1", place.address, user="alice", password="x", tls=place.tls)

    yield lambda: quaestor.connect("QM1", place.address, user="alice", password="x", tls=place.tls)
    yield lambda: asyncio.run(main())


@pytest.mark.parametrize(
    ("days", "host", "why"), [(1, "127.0.0.1", "expired"), (10, "elsewhere", "not valid for '127.0.0.1'")]
)
def test_why_a_server_is_not_believed_is_told(home, serve, days, host, why):
    """Expired, or another host: what to do about it differs."""
    then = FakeClock(SystemClock().now_us() - 5 * DAY_US)
    certificates.server(home.directory, "QM1", [host], days, then)
    trust = ClientTls(authorities=home.directory / "authority.pem")
    for connect in both_doors(Place("QM1", address=serve().address, tls=trust)):
        with fails(Reason.NOT_AUTHORIZED) as refused:
            connect()
        assert why in refused.value.facts["why"]


def test_a_file_that_is_missing_is_named_and_a_port_that_is_none(server):
    trust = ClientTls(authorities="missing.pem")
    for connect in both_doors(Place("QM1", address=server.address, tls=trust)):
        with fails(Reason.Q_MGR_NOT_AVAILABLE) as refused:
            connect()
        assert "missing.pem" in refused.value.facts["why"]
    for connect in both_doors(Place("QM1", address="localhost:99999")):
        with fails(Reason.Q_MGR_NOT_AVAILABLE) as refused:
            connect()
        assert "not host:port" in refused.value.facts["why"]


REFUSED = {
    "GET": lambda app: app.open("ORDERS", OpenOptions.INPUT_SHARED),
    "INQUIRE": lambda app: app.open("ORDERS", OpenOptions.INQUIRE),
    "SET": lambda app: app.open("ORDERS", OpenOptions.SET),
    "CONTEXT": lambda app: app.open("ORDERS", OpenOptions.OUTPUT | OpenOptions.SET_ALL_CONTEXT),
    "CONTEXT, identity": lambda app: app.open("ORDERS", OpenOptions.OUTPUT | OpenOptions.SET_IDENTITY_CONTEXT),
    "CONTEXT, passed": lambda app: app.open("ORDERS", OpenOptions.OUTPUT | OpenOptions.PASS_ALL_CONTEXT),
    "PUT": lambda app: app.open("SECRET", OpenOptions.OUTPUT),
    "PUT, at once": lambda app: app.put("SECRET", "x"),
    "BROWSE": lambda app: app.open("SECRET", OpenOptions.BROWSE),
    "INQUIRE, queue manager": lambda app: app.inquire(),
    "ADMINISTER, define": lambda app: app.define(LocalQueue("MORE")),
    "ADMINISTER, alter": lambda app: app.alter(LocalQueue, "ORDERS", get_allowed=False),
    "ADMINISTER, delete": lambda app: app.delete(LocalQueue, "ORDERS"),
}


@pytest.mark.parametrize("call", REFUSED)
def test_every_call_needs_its_access(server, remote, call):
    """Alice may put and browse; each other call is 2035, with one audit line of its own."""
    with server.connect() as me:
        me.define(LocalQueue("ORDERS", share=True, def_exclusive=False))
        me.define(LocalQueue("SECRET"))
    with server.connect(place=remote(), user="alice", password="open sesame") as app:
        app.put("ORDERS", "x", options=PutOptions.NO_SYNCPOINT)
        assert app.open("ORDERS", OpenOptions.BROWSE).browse().text == "x"
        assert [] == audit(server)
        with fails(Reason.NOT_AUTHORIZED) as caught:
            REFUSED[call](app)
    access = call.partition(",")[0]
    assert caught.value.facts["access"] == access
    (line,) = audit(server)
    assert "QSV021W" in line
    assert f"access='{access}'" in line
    assert "user='alice'" in line


AS_BOB = Target("ORDERS", alternate_user="bob")
ALTERNATE = OpenOptions.ALTERNATE_USER_AUTHORITY


@pytest.fixture
def acting(server):
    """Alice may act for bob, who may do more than she may."""
    server.home.grant("queue", "ORDERS", "bob", "get,put,inquire")
    server.home.grant("altuser", "bob", "alice", "update")
    with server.connect() as me:
        me.define(LocalQueue("ORDERS", share=True, def_exclusive=False))
        assert me.mqsc("REFRESH SECURITY(*)")["ok"]


def test_an_application_that_acts_for_another_user(server, remote, acting):
    with server.connect(place=remote(), user="alice", password="open sesame") as app:
        queue = app.open(AS_BOB, OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT | ALTERNATE)
        put = [queue.put("x"), app.put1(AS_BOB, "x", None, PutOptions.ALTERNATE_USER_AUTHORITY)]
        assert ["bob"] * 2 == [message.envelope.user_identifier for message in put]
        app.commit()
        assert "x" == queue.get().text
        assert [] == audit(server)
        for alternate, found in ((AS_BOB, "user='bob'"), (Target("ORDERS", alternate_user="carol"), "name='carol'")):
            with fails(Reason.NOT_AUTHORIZED):
                app.open(alternate, OpenOptions.BROWSE | ALTERNATE)
            assert found in audit(server)[-1]
            assert "'alice'" in audit(server)[-1]
        assert 2 == len(audit(server))


def test_the_queue_manager_is_inquired_for_another_user(server, remote, acting):
    server.home.grant("qmgr", "*", "bob", "inquire")
    with server.connect() as me:
        assert me.mqsc("REFRESH SECURITY(*)")["ok"]

    async def asked(**more):
        place = remote()
        app = await quaestor.connect_async("QM1", place.address, user="alice", password="open sesame", tls=place.tls)
        async with app:
            return await app.inquire(QueueManagerAttributes, "", "MAXUMSGS", **more)

    with server.connect(place=remote(), user="alice", password="open sesame") as app:
        found = app.inquire(QueueManagerAttributes, "", "MAXUMSGS", alternate_user="bob")
        assert {"MAXUMSGS": 10_000} == found == asyncio.run(asked(alternate_user="bob"))
        with fails(Reason.NOT_AUTHORIZED):
            app.inquire(QueueManagerAttributes, "", "MAXUMSGS")
        with fails(Reason.NOT_AUTHORIZED):
            asyncio.run(asked())


def test_an_application_of_asyncio_that_acts_for_another_user(server, remote, acting):
    async def main():
        place = remote()
        app = await quaestor.connect_async("QM1", place.address, user="alice", password="open sesame", tls=place.tls)
        async with app, await app.open(AS_BOB, OpenOptions.OUTPUT | ALTERNATE) as queue:
            put = [await queue.put("x"), await app.put1(AS_BOB, "x", None, PutOptions.ALTERNATE_USER_AUTHORITY)]
            with pytest.raises(MQError, match="2035"):
                await app.put1("ORDERS", "x", None, PutOptions.ALTERNATE_USER_AUTHORITY)
            return [message.envelope.user_identifier for message in put]

    assert ["bob"] * 2 == asyncio.run(main())


def test_a_handle_that_is_opened_again_is_for_the_same_user(home, serve, remote, acting, server):
    address = server.address
    trust = ClientTls(authorities=home.directory / "authority.pem")
    home.write(replace(home.configuration(), listen=address))
    place = Place("QM1", address=address, tls=trust)
    with server.connect(place=place, user="alice", password="open sesame", reconnect_s=30) as app:
        queue = app.open(AS_BOB, OpenOptions.OUTPUT | OpenOptions.INQUIRE | ALTERNATE)
        server.stop()
        serve()
        assert {"CURDEPTH": 0} == queue.inquire("CURDEPTH")
        assert "bob" == queue.put("x").envelope.user_identifier


def test_every_command_needs_its_access(server, remote):
    """MQSC: the command is not run, the answer says so, one audit line for each."""
    with server.connect() as me:
        me.define(LocalQueue("ORDERS"))
    with server.connect(place=remote(), user="alice", password="open sesame") as app:
        for number, text in enumerate(("ALTER QLOCAL(ORDERS) PUT(DISABLED)", "DELETE QLOCAL(ORDERS)"), 1):
            reply = app.mqsc(text)
            assert not reply["ok"]
            assert "CSQ9016E" in reply["lines"][0]  # as z/OS says 2035 of a command
            assert number == len(audit(server))
        assert app.put("ORDERS", "still there and enabled").text == "still there and enabled"


def test_a_user_who_may_not_connect(server, remote):
    Users(server.home.users).set("bob", "hunter2")
    with fails(Reason.NOT_AUTHORIZED):
        server.connect(place=remote(), user="bob", password="hunter2")
    (line,) = audit(server)
    assert "resource='connect'" in line
    assert "user='bob'" in line


def test_passwords_are_kept_as_salted_hashes(tmp_path):
    users = Users(tmp_path / "users")
    users.set("alice", "same")
    users.set("bob", "same")
    text = (tmp_path / "users").read_text()
    assert "same" not in text
    assert text.splitlines()[0].split()[1:] != text.splitlines()[1].split()[1:]
    assert 0o600 == (tmp_path / "users").stat().st_mode & 0o777
    assert users.verify("alice", "same")
    assert not users.verify("alice", "other")
    assert users.remove("alice")
    assert not users.verify("alice", "same")
    assert ["bob"] == users.names()
    assert hashed("x") != hashed("x")
    for name in ("", "a b", "x" * 13):
        with pytest.raises(ValueError, match="letters"):
            users.set(name, "p")


def test_nothing_listens_beyond_loopback_without_tls():
    with pytest.raises(ListenError, match="not loopback"):
        listen_tcp("0.0.0.0:0", tls=False)
    listen_tcp("127.0.0.1:0", tls=False).close()
    listen_tcp("0.0.0.0:0", tls=False, plain_allowed=True).close()


def test_the_directory_is_its_owners(home):
    assert 0o700 == home.directory.stat().st_mode & 0o777
    assert 0o600 == (home.directory / "server.key").stat().st_mode & 0o777


def test_without_profiles_nobody_may_do_anything(serve, home):
    home.profiles.unlink()
    server = serve()
    with fails(Reason.NOT_AUTHORIZED):
        server.connect()


def test_figures_are_for_those_who_may_see_the_traces(server, remote):
    """SM5: the owner, and whoever is granted it."""
    said = {"place": remote(), "user": "alice", "password": "open sesame"}
    with server.connect() as owner, server.connect(**said) as app:
        assert owner.figures()
        with fails(Reason.NOT_AUTHORIZED):
            app.figures()
        server.home.grant("command", "DISPLAY.TRACE", "alice", "read")
        assert owner.mqsc("REFRESH SECURITY(*)")["ok"]
        assert app.figures()
    assert 1 == len(audit(server))


def test_the_password_of_a_connection_is_in_no_object_of_the_client(server, remote):
    app = server.connect(place=remote(), user="alice", password="open sesame")
    assert "open sesame" not in repr(vars(app)) + repr(vars(app._link))
    app.disconnect()


@pytest.mark.parametrize("password", ["wrong", None])
def test_a_link_is_shared_only_with_who_knows_the_password(server, remote, password):
    """OL1: the place and the user are the same, and a link is there."""
    said = {"place": remote(), "user": "alice", "shared": True}
    with server.connect(password="open sesame", **said) as one, server.connect(password="open sesame", **said) as two:
        assert one._link is two._link
        with fails(Reason.NOT_AUTHORIZED):
            server.connect(password=password, **said)
    assert 1 == len(audit(server))


def test_the_environment_may_hold_the_password(server, remote, monkeypatch):
    monkeypatch.setenv("QUAESTOR_PASSWORD", "open sesame")
    trust = ClientTls(authorities=server.home.directory / "authority.pem")
    with quaestor.connect("QM1", server.address, user="alice", tls=trust) as app:
        assert app.connected
    with pytest.raises(MQError):
        quaestor.connect("QM1", server.address, user="alice", password=lambda: "wrong", tls=trust)
