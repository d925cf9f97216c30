"""`quaestor qmgr` as a person uses it: create, TLS, a user, start, connect, stop."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import quaestor
from quaestor.cli.main import main
from quaestor.clock import SystemClock
from quaestor.qmgr.data.engine import EngineSettings
from quaestor.qmgr.group_settings import group_in
from quaestor.qmgr.security import Access, SecurityManager
from quaestor.server import certificates
from quaestor.server.client.opening import Links
from quaestor.server.home import Home
from quaestor.server.kept_file import alone
from quaestor.server.users import Users, check_user

SRC = str(Path(quaestor.__file__).parents[1])


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A `quaestor` command in a home of its own; servers are stopped at the end."""
    monkeypatch.setenv("QUAESTOR_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", SRC)
    monkeypatch.delenv("QUAESTOR_PASSWORD", raising=False)

    def command(*words, code=0, **more):
        done = CliRunner().invoke(main, ["qmgr", *map(str, words)], **more)
        assert code == done.exit_code, done.output
        return done.output

    yield command
    for pid in tmp_path.glob("*/pid"):
        CliRunner().invoke(main, ["qmgr", "stop", pid.parent.name, "--immediate"])


def test_from_nothing_to_a_user_over_tls(run, tmp_path):
    run("create", "QM1", "--listen", "127.0.0.1:0", "--log-mb", "1")
    run("tls", "QM1", "--host", "localhost", "--host", "127.0.0.1")
    run("user", "add", "QM1", "alice", "--password-file", "-", input="open sesame\n")
    run("grant", "QM1", "connect", "QM1", "alice", "read")
    start = [sys.executable, "-m", "quaestor.cli.main", "qmgr", "start", "QM1", "--background"]
    assert "is running" in subprocess.run(start, env=os.environ, check=True, capture_output=True, text=True).stdout
    with quaestor.connect("QM1") as app:
        app.define(quaestor.LocalQueue("ORDERS"))
    run("grant", "QM1", "queue", "ORDERS", "alice", "put")
    status = json.loads(run("status", "QM1", "--json"))
    assert ("running", True) == (status["state"], status["security"])
    tls = quaestor.ClientTls(authorities=tmp_path / "QM1" / "authority.pem")
    with quaestor.connect("QM1", status["listen"], user="alice", password="open sesame", tls=tls) as app:
        app.put("ORDERS", "from afar", quaestor.MQMD(persistence=1))
    assert "runs already" in run("start", "QM1", code=2)
    assert "has stopped" in run("stop", "QM1")
    assert "stopped" in run("status", "QM1", code=1)
    assert "is not running" in run("stop", "QM1")
    assert "open sesame" not in "".join(path.read_text() for path in (tmp_path / "QM1").glob("*.log"))


@pytest.mark.parametrize("name", ["QM1", "ORDERS"])
def test_a_queue_manager_that_runs_is_advised_on(run, tmp_path, monkeypatch, name):
    """What it has counted so far, by `advise --running` and as a dump; nothing has been written yet.

    It is asked for its definitions, too, on the same connection; what files say goes before. Records have four letters
    of its name.
    """
    figures = tmp_path / "now.smf"
    run("create", name, "--log-mb", "1", "--logs", "3", "--no-security")
    for refused in (["qmgr", "figures", name, "-o", figures], ["advise", "--running", name]):
        done = CliRunner().invoke(main, [*map(str, refused)])
        assert (2, 1) == (done.exit_code, len(done.stderr.splitlines()))
        assert f"{name} does not run" in done.stderr
    start = [sys.executable, "-m", "quaestor.cli.main", "qmgr", "start", name, "--background"]
    subprocess.run(start, env=os.environ, check=True, capture_output=True)
    with quaestor.connect(name) as app:
        app.define(quaestor.LocalQueue("ORDERS", max_depth=999_999_999))
        with app.open("ORDERS") as orders:
            for _ in range(120):
                orders.put_all([b"x" * 3000] * 100, quaestor.MQMD(persistence=1))
                app.commit()
    assert "4 records" in run("figures", name, "-o", figures)
    ours = tmp_path / "ours.toml"
    ours.write_text(f"[{name[:4]}]\nactive_logs = 4\n")
    found, connected = [], []
    connect = Links.connect
    monkeypatch.setattr(Links, "connect", lambda *given: connected.append(given) or connect(*given))
    for words in ([figures], ["--running", name], ["--running", name, "--settings", ours]):
        done = CliRunner().invoke(main, ["advise", *map(str, words), "--json"])
        assert (True, "") == (done.exit_code in (0, 1), done.stderr), done.output
        found.append({each["rule"] for each in json.loads(done.stdout)["findings"]})
    assert set() != found[0]
    assert 2 == len(connected)
    assert found[0] | {"mp16-ch1/A-8"} == found[1]  # active logs, which SMF does not tell
    assert found[0] == found[2]
    assert not list((tmp_path / name / "smf").glob("*.smf"))
    assert "Error: /dev/full: No space left on device" in run("figures", name, "-o", "/dev/full", code=2)


@pytest.mark.parametrize(
    "words",
    [
        ["--running", "QM1", "--lake", "LAKE"],
        ["--running", "QM1", "dump.smf"],
        ["--directory", "X", "dump.smf"],
        ["--running", "QM1", "--qmgr", "QM1"],
    ],
)
def test_advice_is_on_one_thing_at_a_time(words):
    done = CliRunner().invoke(main, ["advise", *words])
    assert 2 == done.exit_code
    assert "--running" in done.stderr


def test_what_is_said_of_the_engine_stands_in_its_configuration(run, tmp_path):
    run("create", "QM1", "--log-mb", "1", "--logs", "3", "--dual-logs", "--awake")
    said = {"log_bytes": 1 << 20, "logs": 3, "dual_logs": True, "awake": True}
    assert said == Home(tmp_path / "QM1").configuration().engine


def test_a_number_left_by_a_process_that_was_killed_stops_nobody(run, tmp_path):
    """It may be that of another program by now: here it is ours."""
    run("create", "QM1", "--log-mb", "1")
    left = tmp_path / "QM1" / "pid"
    left.write_text(f"{os.getpid()}\n")
    assert "stopped" in run("status", "QM1", code=1)
    assert "is not running" in run("stop", "QM1")
    start = [sys.executable, "-m", "quaestor.cli.main", "qmgr", "start", "QM1", "--background"]
    subprocess.run(start, env=os.environ, check=True, capture_output=True)
    os.kill(int(left.read_text()), signal.SIGKILL)
    left.write_text(f"{os.getpid()}\n")
    subprocess.run(start, env=os.environ, check=True, capture_output=True)
    assert os.getpid() != int(left.read_text())
    assert "running" in run("status", "QM1")
    with quaestor.connect("QM1", tmp_path / "EMBEDDED"):
        (tmp_path / "EMBEDDED" / "pid").write_text(f"{os.getppid()}\n")
        assert Home(tmp_path / "EMBEDDED").running_pid() is None


def test_what_cannot_be_done_is_one_line(run, tmp_path):
    assert "no queue manager" in run("start", "QM1", code=2)
    assert "2058" in run("create", "BAD NAME", code=2)
    lacks = run("create", "QM1", "--group", "QSG1", code=2)
    assert (
        lacks == "Error: a member of a queue-sharing group also needs --structures cf:///PATH and --repository FILE\n"
    )
    assert "also needs --group NAME\n" in run("create", "QM1", "--structures", "cf:///a", "--repository", "b", code=2)
    assert not (tmp_path / "QM1").exists()
    assert "not host:port" in run("create", "QM1", "--listen", "nowhere", code=2)
    needs_tls = "0.0.0.0:0 is not loopback: it needs TLS (`quaestor qmgr tls`), or `plain = true`"
    assert f"QM1 does not start yet: {needs_tls}\n" in run("create", "QM1", "--listen", "0.0.0.0:0")
    assert "2100" in run("create", "QM1", code=2)
    refused = run("start", "QM1", "--background", code=2)
    assert refused.startswith("Error: MQRC 2059")
    assert needs_tls in refused
    for number, more in enumerate((("--listen", "0.0.0.0:0", "--plain"), ("--listen", "localhost:0"), ())):
        assert "does not start yet" not in run("create", f"QM{number + 3}", *more)
    assert "resource is one of" in run("grant", "QM1", "door", "*", "alice", "read", code=2)
    assert "'sometimes' is no access" in run("grant", "QM1", "queue", "*", "alice", "sometimes", code=2)
    assert "no user" in run("user", "remove", "QM1", "alice", code=2)
    assert "no authority" in run("tls", "QM1", "--client", "alice", code=2)


def test_addresses_with_passwords_come_from_the_environment(run, tmp_path, monkeypatch):
    """Arguments of a process are seen by everybody; a queue manager without a group does not read them."""
    monkeypatch.setenv("QUAESTOR_STRUCTURES", "rediss://:of-redis@host:6379")
    monkeypatch.setenv("QUAESTOR_REPOSITORY", "postgresql://user:of-postgres@host/database")
    run("create", "QM1", "--group", "QSG1")
    kept = group_in(tmp_path / "QM1")
    assert ("rediss://:of-redis@host:6379", "postgresql://user:of-postgres@host/database") == (
        kept.structures,
        kept.repository,
    )
    run("create", "QM2")
    assert group_in(tmp_path / "QM2") is None


def test_a_repository_is_kept_by_its_whole_name(run, tmp_path, monkeypatch):
    """GS5."""
    monkeypatch.chdir(tmp_path)
    run("create", "QM1", "--group", "QSG1", "--structures", "cf:///tmp/cf.sock", "--repository", "QSG1.db")
    assert str(tmp_path / "QSG1.db") == group_in(tmp_path / "QM1").repository


def test_the_habit_of_the_log_is_said_once(run, tmp_path):
    for name, options in (("QM1", ()), ("QM2", ("--log-space", "mp16"))):
        run("create", name, *options)
    told = [Home(tmp_path / name) for name in ("QM1", "QM2")]
    spaces = [(home.settings(home.configuration()) or EngineSettings()).log_space for home in told]
    assert ["least", "mp16"] == spaces


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("bogus = 1", "bogus is not known: one of name, listen,"),
        ("listen = 1414", "listen = 1414 is not valid: a text in quotes"),
        ('log = "xml"', 'log = "xml" is not valid: one of text, json'),
        ('metrics_prefix = "a-b"', 'metrics_prefix = "a-b" is not valid: a name such as ibmmq_'),
        ("limits = 3", "limits = 3 is not valid: a table"),
        ("[limits]\nfoo = 1", "limits.foo is not known: one of connections,"),
        ('[limits]\nheartbeat_s = "x"', 'limits.heartbeat_s = "x" is not valid: a number'),
        ("[limits]\nconnections = -1", "limits.connections = -1 is not valid: a number from 0 up"),
        ("[limits]\nhello_s = nan", "limits.hello_s = nan is not valid: a number from 0 up"),
        ("[limits]\nheartbeat_s = 0", "limits.heartbeat_s = 0 is not valid: more than 0"),
        ("[limits]\nheartbeat_s = 86401", "limits.heartbeat_s = 86401 is not valid: 86400 at most"),
        ("[limits]\nheartbeat_s = inf", "limits.heartbeat_s = inf is not valid: 86400 at most"),
        ("[traces]\nstatime_s = 0.0", "traces.statime_s = 0.0 is not valid: more than 0"),
        ("[engine]\nlogs = 2.5", "engine.logs = 2.5 is not valid: a whole number"),
        ("[engine.page_sets]\nx = 1", "invalid literal"),
        ('[engine]\nlog_space = "mp17"', "log_space='mp17', one_of='least, mp16'"),
        ('[traces]\nfiles = "all"', 'traces.files = "all" is not valid: a whole number'),
        ("certificate = ", "Invalid value"),
        ("require_certificate = true", "require_certificate = true is not valid: without certificate and authorities"),
    ],
)
def test_what_is_wrong_with_the_configuration_is_one_line(run, tmp_path, said, why):
    """HO6: and nothing has started."""
    run("create", "QM1")
    file = tmp_path / "QM1" / "server.toml"
    kept = [line for line in file.read_text().splitlines() if line.split()[0] != said.split()[0]]
    file.write_text("\n".join([*kept, said] if said.startswith("[") else [said, *kept]) + "\n")
    told = run("start", "QM1", code=2)
    assert 1 == told.count("\n")
    assert why in told
    assert not (tmp_path / "QM1" / "BSDS1").exists()


def test_users_come_and_go(run):
    run("create", "QM1")
    run("user", "add", "QM1", "alice", input="one\n")
    run("user", "add", "QM1", "bob", env={"QUAESTOR_PASSWORD": "two"})
    assert "alice\nbob\n" == run("user", "list", "QM1")
    run("user", "remove", "QM1", "alice")
    assert "bob\n" == run("user", "list", "QM1")


def test_without_a_terminal_a_password_comes_from_elsewhere(run):
    """One line says from where; nobody is asked where nobody can answer."""
    run("create", "QM1")
    told = run("user", "add", "QM1", "alice", input="", code=2)
    assert "no terminal to ask for the password on: use --password-file" in told
    assert "Password:" not in told
    assert "" == run("user", "list", "QM1")


def test_a_certificate_that_is_required_needs_somebody_to_vouch_for_it(run, tmp_path):
    """LS3: else nobody would be asked for one."""
    run("create", "QM1")
    run("tls", "QM1", "--require-certificate")
    file = tmp_path / "QM1" / "server.toml"
    for missing in ("certificate", "authorities"):
        kept = file.read_text()
        file.write_text(re.sub(f"^{missing} = .*$", f'{missing} = ""', kept, flags=re.MULTILINE))
        assert "require_certificate = true is not valid" in run("start", "QM1", code=2)
        file.write_text(kept)


def test_a_certificate_is_required_until_it_is_said_not_to_be(run, tmp_path):
    """Who makes the server's certificate again, because it expires, lets nobody else in."""
    run("create", "QM1")
    required = lambda: Home(tmp_path / "QM1").configuration().require_certificate  # noqa: E731 - as it is now
    for said, found in (
        ([], False),
        (["--require-certificate"], True),
        (["--host", "localhost"], True),
        (["--no-require-certificate"], False),
    ):
        run("tls", "QM1", *said)
        assert found is required()


def test_what_is_said_to_the_server_meanwhile_stays_said(run, tmp_path, monkeypatch):
    """KF3: of two at once neither loses what the other said."""
    run("create", "QM1")
    run("tls", "QM1")
    home = Home(tmp_path / "QM1")
    made = certificates.server(home.directory, "QM1", ["localhost"], 1)
    monkeypatch.setattr(certificates, "server", lambda *_: made)  # who has made it is alone no longer
    second = threading.Thread(target=run, args=("tls", "QM1"))
    with alone(home.directory):
        second.start()
        second.join(0.2)
        home._write(replace(home.configuration(), require_certificate=True, listen="127.0.0.1:0"))
    second.join(10)
    assert (True, "127.0.0.1:0") == (home.configuration().require_certificate, home.configuration().listen)


def test_a_certificate_that_is_shortened_is_said_to_be(run, tmp_path):
    """CT3."""
    run("create", "QM1")
    out = ("--client", "alice", "--out", str(tmp_path / "alice"))
    assert "valid until" not in run("tls", "QM1", "--days", 3650)
    assert re.search(r"server.pem is valid until 20\d\d-\d\d-\d\d, as its", run("tls", "QM1", "--days", 3651))
    assert re.search(r"client.pem is valid until 20\d\d-\d\d-\d\d, as its", run("tls", "QM1", *out, "--days", 3651))
    assert "valid until" not in run("tls", "QM1", *out)


def test_tls_of_one_that_runs_is_for_its_next_start(run, monkeypatch):
    run("create", "QM1")
    assert "next start" not in run("tls", "QM1")
    monkeypatch.setattr(Home, "running_pid", lambda _home: 4711)
    assert "QM1 is running: it uses this from its next start on" in run("tls", "QM1")


def test_what_is_hinted_at_for_a_user_holds_beside_other_grants(run, tmp_path):
    run("create", "QM1")
    run("grant", "QM1", "connect", "QM1", "alice", "read")
    told = run("user", "add", "QM1", "bob", env={"QUAESTOR_PASSWORD": "two"})
    run(*told.partition("quaestor qmgr ")[2].split())
    security = SecurityManager((tmp_path / "QM1" / "profiles").read_text, SystemClock())
    for user in ("alice", "bob"):
        security.check(user, "connect", "QM1", Access.READ)


def test_security_is_off_only_when_asked(run, tmp_path):
    run("create", "QM1", "--no-security")
    assert not (tmp_path / "QM1" / "profiles").exists()
    assert "security of QM1 is off" in run("grant", "QM1", "queue", "*", "alice", "read", code=2)


def test_a_terminated_server_quiesces(run, tmp_path):
    run("create", "QM1", "--no-security", "--log-mb", "1")
    command = [sys.executable, "-m", "quaestor.cli.main", "qmgr", "start", "QM1"]
    server = subprocess.Popen(command, env=os.environ, stderr=subprocess.PIPE, text=True)
    for line in server.stderr:
        if "QSV001I" in line:
            break
    server.terminate()
    assert "QSV004I" in server.communicate(timeout=60)[1]
    assert 0 == server.returncode
    assert not (tmp_path / "QM1" / "socket").exists()


@pytest.mark.parametrize("name", [".", "..", "../QM1", "A/B", "/QM1"])
@pytest.mark.parametrize("command", [("create",), ("start",), ("status",), ("user", "list")])
def test_a_name_that_leads_out_of_the_home_needs_a_directory(run, tmp_path, name, command):
    assert "it names no folder" in run(*command, name, code=2)
    assert [] == list(tmp_path.iterdir())


def test_a_name_with_a_slash_is_kept_in_the_directory_that_is_named(run, tmp_path):
    run("create", "A/B", "--directory", tmp_path / "ab")
    assert "A/B" == Home(tmp_path / "ab").configuration().name


@pytest.mark.parametrize(
    ("password", "said"),
    [
        (b"\xff\xfe", "{file}: the password is not UTF-8: invalid start byte"),
        (b"", "the password is empty"),
        (b"\r\n", "the password is empty"),
    ],
)
def test_a_password_that_cannot_be(run, tmp_path, password, said):
    run("create", "QM1")
    file = tmp_path / "password"
    file.write_bytes(password)
    refused = run("user", "add", "QM1", "alice", "--password-file", file, code=2)
    assert f"Error: {said.format(file=file)}\n" == refused
    assert not (tmp_path / "QM1" / "users").exists()


def test_a_password_comes_from_a_file_the_environment_or_the_prompt(run, tmp_path, monkeypatch):
    run("create", "QM1")
    users = Users(tmp_path / "QM1" / "users")
    run("user", "add", "QM1", "alice", input="asked for\n")
    monkeypatch.setenv("QUAESTOR_PASSWORD", "in the environment")
    run("user", "add", "QM1", "bob")
    run("user", "add", "QM1", "carol", "--password-file", "-", input="in a file \r\n")
    for user, password in (("alice", "asked for"), ("bob", "in the environment"), ("carol", "in a file ")):
        assert users.verify(user, password), user
    assert "alice\nbob\ncarol\n" == run("user", "list", "QM1")


@pytest.mark.parametrize("user", ["", "al ice", "../alice", "a" * 13, "_-_", "Ä"])
def test_a_certificate_is_for_somebody_who_can_be_a_user(run, tmp_path, monkeypatch, user):
    monkeypatch.chdir(tmp_path)
    run("create", "QM1", "--directory", tmp_path / "QM1")
    place = ("--directory", tmp_path / "QM1")
    said = f"Error: a user has 1 to 12 letters, digits, - and _; not {user!r}\n"
    assert said == run("tls", "QM1", *place, "--client", user, code=2)
    assert said == run("user", "add", "QM1", user, *place, input="secret\n", code=2).removeprefix("Password: \n")
    assert [tmp_path / "QM1"] == list(tmp_path.iterdir())


@pytest.mark.parametrize("user", ["a", "A-b_c", "a" * 12, "007"])
def test_these_can_be_users(user):
    check_user(user)


def test_what_the_operating_system_refuses_names_the_file(run, tmp_path):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    assert f"Error: {in_the_way / 'QM1'}: Not a directory\n" == run(
        "create", "QM1", "--directory", in_the_way / "QM1", code=2
    )
