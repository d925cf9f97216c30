"""What a server keeps beside its queues: its journal, its configuration, its certificates, its figures over HTTP."""

import http.client
import io
import json
import signal
import socket
import ssl
import stat
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

import pytest

from quaestor import MQError, Reason
from quaestor.clock import FakeClock, SystemClock
from quaestor.qmgr.operator_log import LOGGER, Entry
from quaestor.server import certificates, metrics_endpoint
from quaestor.server.home import Configuration, Home, default_directory
from quaestor.server.journal import JSON, MESSAGES, Journal
from quaestor.server.limits import Limits
from quaestor.server.listeners import ListenError, split_address
from quaestor.server.metrics_endpoint import MetricsEndpoint
from quaestor.server.process import Server, _raise_file_limit

DAY_US = 86_400_000_000
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


# --- the journal -----------------------------------------------------------------------------------------------------


@pytest.fixture
def clock():
    made = FakeClock()
    made.us = 1_772_442_000_123_456  # 2026-03-02 09:00:00.123456 UTC
    return made


def test_a_line_is_time_identifier_text_and_values(clock):
    """JO1: to the millisecond."""
    out = io.StringIO()
    Journal(clock, out).tell("QSV002I", address="127.0.0.1:1414", tls=True)
    assert "2026-03-02T09:00:00.123Z QSV002I listening address='127.0.0.1:1414' tls=True\n" == out.getvalue()


@pytest.mark.parametrize("lines", ["text", "json"])
@pytest.mark.parametrize("value", ["a\nb", "a\r\n2026-03-02 QSV001I forged", "\x1b[2J", "\u2028", "'\""])
def test_a_value_makes_no_second_line(clock, lines, value):
    """JO2: a client chooses its name."""
    out = io.StringIO()
    Journal(clock, out, qmgr="", lines=lines).tell("QSV020W", user=value)
    written = out.getvalue()
    assert 1 == len(written.splitlines())
    assert written.endswith("\n")
    assert "\x1b" not in written


def test_a_line_may_be_json(clock):
    """JO4."""
    out = io.StringIO()
    journal = Journal(clock, out, qmgr="QM1", lines=JSON)
    journal.tell("QSV010W", peer="local", why=None, where=io)
    journal.close()
    told = json.loads(out.getvalue())
    assert ("QM1", "QSV010W", "link ended") == (told["qmgr"], told["id"], told["text"])
    assert ("local", None) == (told["peer"], told["why"])
    assert told["where"].startswith("<module")
    assert told["time"].startswith("2026-03-02T09:00:00.123")


def test_a_refusal_stands_in_the_log_and_in_the_audit(clock, tmp_path):
    out = io.StringIO()
    journal = Journal(clock, out, tmp_path / "audit.log")
    journal.tell("QSV001I", qmgr="QM1")
    journal.audit("QSV020W", user="alice")
    journal.close()
    assert ["QSV001I", "QSV020W"] == [line.split()[1] for line in out.getvalue().splitlines()]
    assert ["QSV020W"] == [line.split()[1] for line in (tmp_path / "audit.log").read_text().splitlines()]


def test_the_audit_goes_on_where_it_ended(clock, tmp_path):
    for _ in range(2):
        journal = Journal(clock, io.StringIO(), tmp_path / "audit.log")
        journal.audit("QSV021W", user="alice")
        journal.close()
    assert 2 == len((tmp_path / "audit.log").read_text().splitlines())


def test_a_line_can_be_read_as_soon_as_it_is_written(clock, tmp_path):
    journal = Journal(clock, io.StringIO(), tmp_path / "audit.log")
    journal.audit("QSV020W", user="alice")
    assert "alice" in (tmp_path / "audit.log").read_text()
    journal.close()


def test_what_the_managers_say_stands_in_the_log_of_their_own_queue_manager(clock):
    """JO3; after the end nothing is heard any more."""
    one, other = io.StringIO(), io.StringIO()
    journals = [Journal(clock, one, qmgr="QM1"), Journal(clock, other, qmgr="QM2")]
    entry = Entry(clock.us, "QM1", "CSQY022I", "the queue manager has started", {})
    LOGGER.info("said", extra={"entry": entry})
    LOGGER.info("not an entry")
    for journal in journals:
        journal.close()
    LOGGER.info("said", extra={"entry": entry})
    assert ("2026-03-02T09:00:00.123Z CSQY022I the queue manager has started\n", "") == (
        one.getvalue(),
        other.getvalue(),
    )


def test_every_identifier_says_how_serious_it_is():
    assert all(len(name) == 7 and name[:3] == "QSV" and name[-1] in "IWE" for name in MESSAGES)


# --- the configuration -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", 'a"b', "a\\b", "a\nb", "tab\there", "größer", "\\u0041", "'", "# no comment"])
def test_a_text_of_the_configuration_comes_back(tmp_path, text):
    home = Home(tmp_path / "QM1")
    home.create(Configuration("QM1", certificate=text))
    assert text == home.configuration().certificate


def test_all_of_the_configuration_comes_back(tmp_path):
    told = Configuration(
        "QM1", "127.0.0.1:0", True, False, "c.pem", "c.key", "a.pem", True, "127.0.0.1:9157", "mq_", "json",
        {"connections": 5, "hello_s": 0.5}, {"logs": 3, "page_sets": {"1": 0}}, {"trace": "stat", "statime_s": 60},
    )  # fmt: skip
    home = Home(tmp_path / "QM1")
    home.create(told)
    assert told == home.configuration()
    assert {1: 0} == home.settings(told).page_sets
    assert Limits(connections=5, hello_s=0.5) == home.limits(told)
    assert "stat" == home.traces(told).trace


def test_what_is_written_again_is_written_whole(tmp_path):
    home = Home(tmp_path / "QM1")
    home.create(Configuration("QM1", listen="127.0.0.1:1414"))
    home.write(Configuration("QM1"))
    assert "" == home.configuration().listen
    assert 0o600 == stat.S_IMODE(home.configuration_file.stat().st_mode)


def test_a_queue_manager_is_created_once(tmp_path):
    home = Home(tmp_path / "QM1")
    home.create(Configuration("QM1"))
    with pytest.raises(MQError) as refused:
        home.create(Configuration("QM1"))
    assert Reason.OBJECT_ALREADY_EXISTS is refused.value.reason


@pytest.mark.parametrize("name", ["", "Q M", "Q" * 49, "Ü"])
def test_a_name_that_no_queue_manager_can_have_makes_no_directory(tmp_path, name):
    with pytest.raises(MQError):
        Home(tmp_path / "QM1").create(Configuration(name))
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("variable", "found"), [("/var/mq", "/var/mq/QM1"), ("", "/home/me/.local/share/quaestor/QM1")]
)
def test_where_a_queue_manager_is_kept(monkeypatch, variable, found):
    """HO2."""
    monkeypatch.setenv("QUAESTOR_HOME", variable)
    monkeypatch.setenv("HOME", "/home/me")
    assert found == str(default_directory("QM1"))


def test_a_directory_without_a_queue_manager_has_no_configuration(tmp_path):
    with pytest.raises(MQError) as refused:
        Home(tmp_path).configuration()
    assert f"no queue manager in {tmp_path}: create it first" == refused.value.facts["why"]


@pytest.mark.parametrize(
    ("security", "text", "read"), [(True, "queue * a read\n", "queue * a read\n"), (True, None, ""), (False, "x", None)]
)
def test_profiles_are_read_where_security_is_on(tmp_path, security, text, read):
    """HO3: a file that is gone lets nobody in."""
    home = Home(tmp_path)
    if text is not None:
        home.profiles.write_text(text)
    assert read == home.read_profiles(Configuration("QM1", security=security))


def test_paths_of_tls_are_those_of_the_directory(tmp_path):
    home = Home(tmp_path)
    assert home.tls(Configuration("QM1")) is None
    found = home.tls(Configuration("QM1", certificate="c.pem", key="c.key"))
    assert (tmp_path / "c.pem", tmp_path / "c.key", None, False) == (
        found.certificate, found.key, found.authorities, found.require_certificate,
    )  # fmt: skip
    said = {"certificate": "/etc/c.pem", "key": "c.key", "authorities": "a.pem", "require_certificate": True}
    elsewhere = home.tls(Configuration("QM1", **said))
    assert ("/etc/c.pem", tmp_path / "a.pem", True) == (
        str(elsewhere.certificate), elsewhere.authorities, elsewhere.require_certificate,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("authorities", "required", "asked"),
    [
        ("", False, ssl.CERT_NONE),
        ("authority.pem", False, ssl.CERT_OPTIONAL),
        ("authority.pem", True, ssl.CERT_REQUIRED),
    ],
)
def test_what_a_server_agrees_to(tmp_path, authorities, required, asked):
    """LS3."""
    certificates.server(tmp_path, "QM1", ["localhost"], 10)
    said = {"certificate": "server.pem", "key": "server.key", "authorities": authorities}
    context = Home(tmp_path).tls(Configuration("QM1", **said, require_certificate=required)).context()
    assert (ssl.TLSVersion.TLSv1_2, asked) == (context.minimum_version, context.verify_mode)
    assert context.options & ssl.OP_NO_RENEGOTIATION


@pytest.mark.parametrize("name", ["server.pem", "server.key", "authority.pem"])
@pytest.mark.parametrize(("text", "why"), [(None, "No such file or directory"), ("no PEM", "not what TLS needs")])
def test_a_file_that_tls_cannot_use_is_named(tmp_path, name, text, why):
    """LS3."""
    certificates.server(tmp_path, "QM1", ["localhost"], 10)
    (tmp_path / name).unlink()
    if text is not None:
        (tmp_path / name).write_text(text)
    said = {"certificate": "server.pem", "key": "server.key", "authorities": "authority.pem"}
    with pytest.raises(ListenError, match=why) as refused:
        Home(tmp_path).tls(Configuration("QM1", **said)).context()
    assert str(tmp_path / name) in str(refused.value)


@pytest.mark.parametrize("text", ["", "no number", "999999999"])
def test_a_process_number_alone_says_nothing(tmp_path, text):
    """HO5."""
    home = Home(tmp_path)
    home.pid.write_text(text)
    assert home.running_pid() is None


# --- certificates ----------------------------------------------------------------------------------------------------


def _subject(path):
    return dict(part[0] for part in ssl._ssl._test_decode_cert(str(path))["subject"])["commonName"]


def _ends(path):
    return ssl.cert_time_to_seconds(ssl._ssl._test_decode_cert(str(path))["notAfter"])


def _names(path):
    return ssl._ssl._test_decode_cert(str(path)).get("subjectAltName", ())


def test_an_authority_is_made_once(tmp_path):
    """CT1: clients that have it go on."""
    certificates.server(tmp_path, "QM1", ["localhost"], 10)
    before = (tmp_path / "authority.pem").read_bytes(), (tmp_path / "server.pem").read_bytes()
    certificates.server(tmp_path, "QM1", ["localhost"], 10)
    assert before[0] == (tmp_path / "authority.pem").read_bytes()
    assert before[1] != (tmp_path / "server.pem").read_bytes()
    assert "QM1 authority" == _subject(tmp_path / "authority.pem")


def test_a_server_is_named_with_its_hosts(tmp_path):
    """CT2."""
    certificates.server(tmp_path, "QM1", ["localhost", "127.0.0.1", "*.example.com"], 10)
    assert "QM1" == _subject(tmp_path / "server.pem")
    assert (("DNS", "localhost"), ("IP Address", "127.0.0.1"), ("DNS", "*.example.com")) == _names(
        tmp_path / "server.pem"
    )


def test_a_client_is_named_alone_and_given_what_it_needs(tmp_path):
    certificates.server(tmp_path, "QM1", ["localhost"], 10)
    made = certificates.client(tmp_path, "alice", tmp_path / "out" / "alice", 10).file
    assert tmp_path / "out" / "alice" / "client.pem" == made
    assert ("alice", ()) == (_subject(made), _names(made))
    assert ["authority.pem", "client.key", "client.pem"] == sorted(path.name for path in made.parent.iterdir())
    assert (tmp_path / "authority.pem").read_bytes() == (made.parent / "authority.pem").read_bytes()


def test_keys_are_for_their_owner_alone(tmp_path):
    certificates.server(tmp_path, "QM1", ["localhost"], 10)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert {"authority.key": 0o600, "server.key": 0o600, "authority.pem": 0o644, "server.pem": 0o644} == modes


@pytest.mark.parametrize("days", [1, 365])
def test_a_certificate_is_valid_so_long(tmp_path, clock, days):
    """From five minutes ago on: clocks differ."""
    certificates.server(tmp_path, "QM1", ["localhost"], days, clock)
    told = ssl._ssl._test_decode_cert(str(tmp_path / "server.pem"))
    begins, ends = (ssl.cert_time_to_seconds(told[name]) for name in ("notBefore", "notAfter"))
    assert (1_772_442_000 - 300, 1_772_442_000 + days * 86_400) == (begins, ends)


@pytest.mark.parametrize(("days", "shortened"), [(649, False), (650, False), (651, True), (36_500, True)])
def test_a_certificate_does_not_outlive_its_authority(tmp_path, clock, days, shortened):
    """CT3: 3,000 days after the authority was made for 3,650."""
    clock.us += 456_789  # certificates have whole seconds
    certificates.server(tmp_path, "QM1", ["localhost"], 10, clock)
    over = _ends(tmp_path / "authority.pem")
    clock.us += 3000 * DAY_US
    for made in (
        certificates.server(tmp_path, "QM1", ["localhost"], days, clock),
        certificates.client(tmp_path, "alice", tmp_path / "alice", days, clock),
    ):
        assert min(over, over + (days - 650) * DAY_US // 1_000_000) == _ends(made.file) == made.ends.timestamp()
        assert shortened is made.shortened


def test_an_authority_that_has_ended_makes_no_certificate(tmp_path, clock):
    """CT3."""
    certificates.server(tmp_path, "QM1", ["localhost"], 10, clock)
    before = (tmp_path / "server.pem").read_bytes()
    clock.us += 3650 * DAY_US
    with pytest.raises(ValueError, match=r"authority\.pem: the authority ended on 2036-02-28; without authority\.key"):
        certificates.server(tmp_path, "QM1", ["localhost"], 10, clock)
    assert before == (tmp_path / "server.pem").read_bytes()
    (tmp_path / "authority.key").unlink()
    assert not certificates.server(tmp_path, "QM1", ["localhost"], 10, clock).shortened


def test_a_client_needs_an_authority(tmp_path):
    with pytest.raises(ValueError, match="there is no authority yet"):
        certificates.client(tmp_path, "alice", tmp_path / "alice", 10)
    assert [] == list(tmp_path.iterdir())


# --- figures over HTTP -----------------------------------------------------------------------------------------------


@contextmanager
def asking(metrics=lambda: "up 1\n", failure=lambda: "", host="127.0.0.1"):
    endpoint = MetricsEndpoint(metrics, failure, host=host, port=0)

    def ask(path, method="GET"):
        connection = http.client.HTTPConnection(*endpoint.address, timeout=10)
        connection.request(method, path)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer.status, answer.getheader("Content-Type", "").partition(";")[0], body

    ask.endpoint = endpoint
    try:
        yield ask
    finally:
        endpoint.stop()


def test_figures_and_health_over_http():
    """HE2, HE4."""
    with asking() as ask:
        assert (200, "text/plain", "up 1\n") == ask("/metrics")
        assert (200, "text/plain", "up 1\n") == ask("/metrics?name=x")
        assert (200, "text/plain", "") == ask("/metrics", "HEAD")
        assert (200, "application/json", '{"status": "running"}') == ask("/health")
        assert (404, "text/plain", "/metrics and /health are here\n") == ask("/")
        assert 501 == ask("/metrics", "POST")[0]


def test_figures_over_ipv6():
    with asking(host="::1") as ask:
        assert (200, "text/plain", "up 1\n") == ask("/metrics")


def test_where_figures_are_told_over_ipv6_is_an_address(serve, home):
    home.write(replace(home.configuration(), metrics="[::1]:0"))
    assert "::1" == split_address(serve().server.administration.metrics_address)[0]


def test_who_goes_away_before_the_answer_is_not_worth_a_line(capfd):
    """HE5: a traceback would stand in the log of the server."""
    asked, gone = threading.Event(), threading.Event()

    def metrics():
        asked.set()
        gone.wait()
        return "up 1\n" * 1_000_000

    endpoint = MetricsEndpoint(metrics, str, port=0)
    for said in (b"", b"GET /met", b"GET /metrics HTTP/1.0\r\n\r\n"):
        with socket.create_connection(endpoint.address) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.send(said)
            if said.endswith(b"\n"):
                asked.wait()
    gone.set()
    with socket.create_connection(endpoint.address) as client:
        client.send(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert b"HTTP" == client.recv(4)  # and takes no more of it
    endpoint.stop()
    assert "" == capfd.readouterr().err


def cut_off(client):
    """Whether the other side has ended a connection, at once or in a while."""
    try:
        return b"" == client.recv(1)
    except ConnectionResetError:
        return True


def test_silence_keeps_nobody_out(monkeypatch):
    """HE6: nor half a request, nor an answer that nobody takes; and none of them has a thread."""
    monkeypatch.setattr(metrics_endpoint, "PLACES", 20)
    before = threading.active_count()
    with asking(metrics=lambda: "up 1\n" * 1_000_000) as ask, ExitStack() as clients:
        address = ask.endpoint.address
        for each in range(300):
            client = clients.enter_context(socket.create_connection(address, timeout=10))
            client.send((b"", b"GET /met", b"GET /metrics HTTP/1.1\r\n\r\n")[each % 3])
        assert (200, "application/json", '{"status": "running"}') == ask("/health")
        assert 5_000_000 == len(ask("/metrics")[2])
        assert len(ask.endpoint._places) <= 20
        assert threading.active_count() <= before + 2


@pytest.mark.parametrize("said", [b"", b"GET /met", b"GET /health HTTP/1.1\r\nHost: x\r\n"])
def test_who_does_not_ask_is_cut_off(monkeypatch, said):
    """HE6."""
    monkeypatch.setattr(metrics_endpoint, "ASK_S", 0.1)
    with asking() as ask, socket.create_connection(ask.endpoint.address, timeout=10) as client:
        client.send(said)
        assert cut_off(client)


def test_who_does_not_take_the_answer_is_cut_off(monkeypatch):
    """HE6: what the answer needs is let go."""
    monkeypatch.setattr(metrics_endpoint, "TAKE_S", 0.1)
    with (
        asking(metrics=lambda: "up 1\n" * 4_000_000) as ask,
        socket.create_connection(ask.endpoint.address, timeout=10) as client,
    ):
        client.send(b"GET /metrics HTTP/1.1\r\n\r\n")
        assert b"H" == client.recv(1)
        pause = threading.Event()
        while ask.endpoint._places:
            pause.wait(0.01)


@pytest.mark.parametrize(
    ("said", "answered"),
    [
        (b"hello\r\n\r\n", b"HTTP/1.0 400 Bad Request"),
        (b"GET /health HTTP/1.0\n\n", b"HTTP/1.0 200 OK"),
        (b"GET /" + 100_000 * b"x", b""),
        (b"GET /health HTTP/1.0\r\n" + 200 * b"X: y\r\n", b""),
    ],
    ids=["no HTTP", "lines as people type them", "a line without end", "headers without end"],
)
def test_what_is_hardly_a_request(capfd, said, answered):
    with asking() as ask, socket.create_connection(ask.endpoint.address, timeout=10) as client:
        client.sendall(said)
        with suppress(ConnectionResetError), client.makefile("rb") as file:
            assert answered == file.readline().rstrip()
    assert "" == capfd.readouterr().err


def test_health_does_not_wait_for_a_scrape():
    """HE2: whoever restarts things must not take a busy queue manager for a dead one."""
    asked, go_on = threading.Event(), threading.Event()

    def metrics():
        asked.set()
        go_on.wait()
        return "up 1\n"

    with asking(metrics) as ask, ThreadPoolExecutor() as others:
        scrape = others.submit(ask, "/metrics")
        asked.wait()
        assert 200 == ask("/health")[0]
        go_on.set()
        assert 200 == scrape.result()[0]


def test_a_queue_manager_that_has_failed_is_not_healthy():
    with asking(failure=lambda: "the log cannot be written") as ask:
        status, _, body = ask("/health")
        assert (503, {"status": "failed", "why": "the log cannot be written"}) == (status, json.loads(body))


# --- the process -----------------------------------------------------------------------------------------------------


def test_signals_are_heard_as_soon_as_the_process_can_be_known(home, monkeypatch):
    """A grant sends SIGHUP to the process in `pid`: one that came before its handler would end the server."""
    seen, before = {}, {number: signal.getsignal(number) for number in SIGNALS}

    def enough(_path):
        seen.update((number, signal.getsignal(number)) for number in SIGNALS)
        seen["pid"] = home.pid.exists()
        raise OSError("enough")

    monkeypatch.setattr("quaestor.server.process.listen_tcp", lambda *_, **__: enough(None))
    try:
        with pytest.raises(MQError):
            Server(home, io.StringIO(), signals=True)
        assert seen.pop("pid")
        assert [] == [number for number in SIGNALS if seen[number] is before[number]]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize(
    ("soft", "hard", "raised"),
    [(1024, 4096, [4096]), (1024, 500_000, [65_536]), (100_000, 500_000, []), (4096, 4096, [])],
)
def test_the_number_of_files_is_raised_and_never_lowered(monkeypatch, soft, hard, raised):
    """PR3."""
    found = []
    monkeypatch.setattr("resource.getrlimit", lambda _kind: (soft, hard))
    monkeypatch.setattr("resource.setrlimit", lambda _kind, limits: found.append(limits[0]))
    _raise_file_limit()
    assert raised == found


def test_profiles_that_cannot_be_read_again_leave_those_in_force(tmp_path, serve):
    """QSV014E, whatever is wrong with them; the server goes on."""
    home = Home(tmp_path / "QM1")
    home.write(Configuration("QM1", limits={"heartbeat_s": 1.0}, engine=home.configuration().engine))
    home.profiles.write_text("connect * * read\n")
    server = serve()
    for number, harm in enumerate((b"connect QM1\n", b"\xff\n"), 1):
        home.profiles.write_bytes(harm)
        server.service.ask(server.server._refresh)
        server.wait_for(lambda said=number: said == server.log().count("QSV014E"))
    with server.connect() as app:
        assert "running" == app.status()["state"]


def test_what_stops_leaves_neither_socket_nor_number(serve, home):
    server = serve()
    assert all(path.exists() for path in (home.socket, home.pid, home.address))
    assert f"{server.address}\n" == home.address.read_text()
    server.stop()
    assert not any(path.exists() for path in (home.socket, home.pid, home.address))
    assert "QSV004I" in server.log().splitlines()[-1]


def test_the_clock_of_certificates_is_the_systems_unless_another_is_given(tmp_path):
    now = SystemClock().now_us() // 1_000_000
    certificates.server(tmp_path, "QM1", ["localhost"], 1)
    told = ssl._ssl._test_decode_cert(str(tmp_path / "server.pem"))
    assert abs(ssl.cert_time_to_seconds(told["notBefore"]) - (now - 300)) < 60
