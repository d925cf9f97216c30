"""Queue managers in clumsy hands: wrong places, full disks, damaged files, names that cannot be, two at once.

One clear line on standard error and exit code 2, never a traceback; what was there before is there afterwards (E1, E2).
"""

import os
import threading

import pytest

import quaestor
from cli.commands import refusal, run
from quaestor.cli import qmgr_run
from quaestor.server.home import Home
from quaestor.server.users import Users

# --- a directory that has other things in it -------------------------------------------------------------------------


def test_a_queue_manager_is_not_created_among_other_things(home, tmp_path):
    """HO7: the directory would be closed to everybody else, with what is in it."""
    documents = tmp_path / "documents"
    documents.mkdir(mode=0o755)
    (documents / "letter.txt").write_text("dear")
    said = refusal("qmgr", "create", "QM2", "--directory", documents)
    assert f"Error: {documents}: there are other things in it, as letter.txt; name an empty directory" == said
    assert ["letter.txt"] == [path.name for path in documents.iterdir()]
    assert 0o755 == documents.stat().st_mode & 0o777


def test_an_empty_directory_is_taken_and_closed(home, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir(mode=0o755)
    run("qmgr", "create", "QM2", "--directory", empty)
    assert 0o700 == empty.stat().st_mode & 0o777


@pytest.mark.parametrize("name", ["CSQINP1", "CSQINP2", "profiles", "users", "group"])
def test_what_a_queue_manager_reads_may_be_there_before_it(home, tmp_path, name):
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    (prepared / name).write_text("")
    run("qmgr", "create", "QM2", "--directory", prepared)
    assert (prepared / "server.toml").exists()


def test_what_was_granted_beforehand_stays_granted(home, tmp_path):
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    (prepared / "profiles").write_text("connect * alice read\n")
    run("qmgr", "create", "QM2", "--directory", prepared)
    lines = (prepared / "profiles").read_text().splitlines()
    assert "connect * alice read" == lines[-1]
    assert "connect" == lines[1].split()[0]  # whoever made it, as ever


def test_an_embedded_queue_manager_becomes_a_server(home, tmp_path):
    """Its data sets are there already, and whatever its program keeps beside them."""
    with quaestor.connect("QM2", tmp_path / "data") as app:
        app.define(quaestor.LocalQueue("ORDERS"))
    (tmp_path / "data" / "notes.txt").write_text("")
    run("qmgr", "create", "QM2", "--directory", tmp_path / "data")
    shown = run("mqsc", "QM2", "--directory", tmp_path / "data", "-c", "DISPLAY QLOCAL(ORDERS)").stdout
    assert "QUEUE(ORDERS)" in shown


# --- full disks ------------------------------------------------------------------------------------------------------


@pytest.fixture
def full(monkeypatch):
    """From now on no file can be made durable."""

    def no_space(_fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (("tls", "QM1"), "authority.pem"),
        (("grant", "QM1", "queue", "ORDERS", "alice", "put"), "profiles"),
        (("user", "add", "QM1", "alice", "--password-file", "-"), "users"),
    ],
)
def test_a_full_disk_leaves_everything_as_it_was(home, full, words, file):
    before = {path.name: path.read_bytes() for path in (home / "QM1").iterdir()}
    said = refusal("qmgr", *words, input="secret\n")
    assert f"Error: {home / 'QM1' / file}: No space left on device" == said
    assert before == {path.name: path.read_bytes() for path in (home / "QM1").iterdir()}


def test_on_a_full_disk_nothing_is_created(home, full):
    assert f"Error: {home}: No space left on device" == refusal("qmgr", "create", "QM2")
    assert "no queue manager in" in refusal("qmgr", "status", "QM2")
    assert refusal("qmgr", "start", "QM2", "--directory", "d").endswith("qmgr create QM2 --directory d")


# --- damaged files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [b"alice\n", b"\nalice md5 1 2 3 a b\n", b"alice scrypt x 8 1 a b\n", b"\xff\xfe\n"])
@pytest.mark.parametrize("words", [("list", "QM1"), ("remove", "QM1", "alice"), ("add", "QM1", "bob")])
def test_users_that_cannot_be_read_are_named_by_file_and_line(home, words, text):
    file = home / "QM1" / "users"
    file.write_bytes(text)
    line = 2 if text.startswith(b"\n") else 1
    said = f"Error: {file}, line {line}: no user with a password"
    assert said == refusal("qmgr", "user", *words, input="secret\n")
    assert text == file.read_bytes()


@pytest.mark.parametrize("text", ["bogus = 1\n", "name = \n", ""])
@pytest.mark.parametrize("words", [("grant", "QM1", "queue", "A", "alice", "read"), ("start", "QM1"), ("tls", "QM1")])
def test_a_configuration_that_cannot_be_read_is_named(home, words, text):
    (home / "QM1" / "server.toml").write_text(text)
    said = refusal("qmgr", *words)
    assert said.startswith("Error: MQRC 2059")
    assert str(home / "QM1" / "server.toml") in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"queue A\n", "line 1: expected class, name, user and access, found 'queue A'"),
        (b"\xff\n", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
    ],
)
def test_profiles_that_cannot_be_read_are_named(home, text, why):
    file = home / "QM1" / "profiles"
    file.write_bytes(text)
    assert f"Error: {file}: {why}" == refusal("qmgr", "grant", "QM1", "queue", "A", "alice", "read")
    assert text == file.read_bytes()


@pytest.mark.parametrize("file", ["authority.key", "authority.pem"])
def test_an_authority_that_cannot_be_read_is_named(home, file):
    run("qmgr", "tls", "QM1")
    (home / "QM1" / file).write_text("")
    said = f"Error: {home / 'QM1' / 'authority.key'}, authority.pem: not a key and its certificate in PEM"
    assert said == refusal("qmgr", "tls", "QM1")


# --- what can be nobody's name ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["", "localhost:1414", "[::1]", "a/b", "a b", "a..b", ".", "ä.example", "x" * 254])
def test_a_certificate_is_for_hosts_as_clients_name_them(home, host):
    """CT2: a port beside the name would make a certificate that no client believes."""
    assert f"Error: {host!r} is no name or address of a host" == refusal("qmgr", "tls", "QM1", "--host", host)
    assert not (home / "QM1" / "authority.key").exists()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "mq.example.com", "*.example.com", "mq_1"])
def test_these_are_hosts(home, host):
    run("qmgr", "tls", "QM1", "--host", host)
    assert "server.pem" == Home(home / "QM1").configuration().certificate


@pytest.mark.parametrize("name", ["OR DERS", "ORDERS!", "Q" * 49, "Ö", "-"])
@pytest.mark.parametrize("resource", ["queue", "connect", "command"])
def test_nothing_is_granted_on_what_cannot_be(home, name, resource):
    before = (home / "QM1" / "profiles").read_text()
    refusal("qmgr", "grant", "QM1", resource, name, "alice", "read")
    assert before == (home / "QM1" / "profiles").read_text()


@pytest.mark.parametrize("name", ["ORDERS", "ORDERS.*", "*", "Q" * 48, "a/b_c%"])
def test_on_these_something_is_granted(home, name):
    assert f"queue {name} alice put" in run("qmgr", "grant", "QM1", "queue", name, "alice", "put").stdout


def test_acting_for_another_is_granted_by_the_name_of_a_user(home):
    assert "altuser al-ice desk update" in run("qmgr", "grant", "QM1", "altuser", "al-ice", "desk", "update").stdout


# --- two at once -----------------------------------------------------------------------------------------------------


def test_users_that_are_added_at_the_same_time_are_all_there(home):
    """US1: each reads the file, adds a line and writes it."""
    names = [f"user{number}" for number in range(8)]
    together = threading.Barrier(len(names))

    def add(name):
        users = Users(home / "QM1" / "users")
        together.wait()
        users.set(name, "secret")

    threads = [threading.Thread(target=add, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names == Users(home / "QM1" / "users").names()
    assert ["profiles", "server.toml", "users"] == sorted(path.name for path in (home / "QM1").iterdir())


def test_grants_that_are_made_at_the_same_time_are_all_there(home):
    names = [f"Q{number}" for number in range(8)]
    together = threading.Barrier(len(names))

    def grant(name):
        together.wait()
        Home(home / "QM1").grant("queue", name, "alice", "put")

    threads = [threading.Thread(target=grant, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (home / "QM1" / "profiles").read_text().splitlines()
    assert sorted(f"queue {name} alice put" for name in names) == sorted(line for line in lines if "alice" in line)


def test_who_starts_what_somebody_else_has_just_started_is_told(home, monkeypatch):
    """Both looked before either ran; the process that serves is the other one's."""

    class Started:
        pid = 4711

        def __init__(self, *_, **__):
            """Started as if by the operating system."""

        def poll(self):
            return 2

    looks = iter([None, 815])
    monkeypatch.setattr(Home, "running_pid", lambda _home: next(looks))
    monkeypatch.setattr(qmgr_run, "_status", lambda *_: {"state": "running"})
    monkeypatch.setattr(qmgr_run.subprocess, "Popen", Started)
    assert "Error: QM1 runs already (process 815)" == refusal("qmgr", "start", "QM1", "--background")


def test_who_starts_it_alone_is_told_its_process(home, monkeypatch):
    class Started:
        pid = 4711

        def __init__(self, *_, **__):
            """Started as if by the operating system."""

    looks = iter([None, 4711])
    monkeypatch.setattr(Home, "running_pid", lambda _home: next(looks))
    monkeypatch.setattr(qmgr_run, "_status", lambda *_: {"state": "running"})
    monkeypatch.setattr(qmgr_run.subprocess, "Popen", Started)
    assert "QM1 is running (process 4711)\n" == run("qmgr", "start", "QM1", "--background").stdout


# --- what is somebody else's -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("status",), ("stop",), ("start",), ("start", "--background")])
def test_who_may_not_see_whether_it_runs_is_not_told_that_it_does_not(home, monkeypatch, words):
    """HO5: started by root in a user's directory, it would be called stopped, and its process number deleted."""
    pid = home / "QM1" / "pid"
    pid.write_text("4711\n")

    def hidden(directory):
        raise PermissionError(13, "Permission denied", str(directory / "in-use"))

    monkeypatch.setattr("quaestor.server.home.owner_of", hidden)
    verb, *options = words
    assert f"Error: {home / 'QM1' / 'in-use'}: Permission denied" == refusal("qmgr", verb, "QM1", *options)
    assert "4711\n" == pid.read_text()


@pytest.mark.parametrize("words", ["check QM1", "log print QM1", "pageset recover QM1 1"])
def test_one_that_was_never_started_is_said_to_be(home, words):
    said = f"Error: {home / 'QM1'}: the queue manager was created, and has not been started yet"
    assert said == refusal(*words.split())
