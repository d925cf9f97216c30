"""`quaestor cf`: a coupling facility as a process of its own."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pytest
from click.testing import CliRunner

import quaestor
from quaestor import GroupSettings
from quaestor.cli.cf import cf_group
from quaestor.qmgr.group_settings import GROUP_FILE
from quaestor.server.coupling_facility import CouplingFacility
from quaestor.storage.lists.client import FacilityConnection, reach, send
from quaestor.storage.lists.operations import Write
from quaestor.storage.lists.structure import Shape, StructureLostError
from quaestor.storage.shared_tables import GroupTables, Structure, open_tables

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def facility(tmp_path):
    """A facility that was started, and its process."""
    where = tmp_path / "cf.sock"
    command = [sys.executable, "-m", "quaestor.cli.main", "cf", "start", "--socket", str(where)]
    with subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(SOURCE)}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert f"coupling facility at {where}\n" == process.stdout.readline()
        yield where, process
        process.kill()


def run(*args):
    return CliRunner().invoke(cf_group, [str(each) for each in args], catch_exceptions=False)


def connected(where, name="QM1"):
    return FacilityConnection(where, Shape("APPL1", entries=10, elements=60), name, lambda _: None)


def test_a_facility_says_what_it_holds(facility):
    where, _ = facility
    first, second = connected(where), connected(where, "QM2")
    first.request(Write(1, bytes(16), b"x" * 300))
    second.fail()
    Event().wait(0.2)
    told = json.loads(run("status", "--socket", where, "--json").output)
    assert {"APPL1": {"space": [1, 10, 2, 60], "connectors": {"QM1": True, "QM2": False}}} == told
    shown = run("status", "--socket", where)
    assert "QM1, QM2 (failed)" in shown.output
    first.disconnect()


def test_a_second_facility_is_refused(facility):
    where, _ = facility
    refused = run("start", "--socket", where)
    assert (2, f"Error: {where}: a coupling facility is there already\n") == (refused.exit_code, refused.stderr)


def test_no_facility_is_one_line(tmp_path):
    missing = run("status", "--socket", tmp_path / "none.sock")
    assert (2, 1) == (missing.exit_code, len(missing.stderr.splitlines()))


def test_a_folder_that_is_not_there_is_not_made(tmp_path):
    refused = run("start", "--socket", tmp_path / "typo" / "cf.sock")
    assert (2, []) == (refused.exit_code, list(tmp_path.iterdir()))
    assert "No such file or directory" in refused.stderr


def test_the_loss_of_the_facility_is_named(facility):
    where, process = facility
    connection = connected(where)
    process.kill()
    process.wait()
    with pytest.raises(StructureLostError, match="the coupling facility is gone"):
        connection.request(Write(1, bytes(16), b""))
    connection.fail()


def test_what_cannot_be_rebuilt_is_told_in_words(facility, tmp_path):
    where, _ = facility
    other, nowhere = tmp_path / "new.sock", tmp_path / "nowhere"
    second = CouplingFacility(other)
    Thread(target=second.serve, daemon=True).start()
    connections = connected(where), connected(other)

    def refused(*words):
        done = run("rebuild", "--socket", where, *words)
        assert (2, "") == (done.exit_code, done.stdout)
        return done.stderr.strip().removeprefix("Error: nothing more was moved: ")

    assert f"there is no structure NOPE at {where}" == refused("--to", other, "--structure", "NOPE")
    assert f"{other} has a structure of that name, which somebody uses" == refused("--to", other)
    assert f"Error: {where}: this is where they are" == refused("--to", where)
    assert f"no coupling facility at {nowhere}: No such file or directory" == refused("--to", nowhere)
    for each in connections:
        each.disconnect()
    second.stop()


def test_it_ends_in_good_order(facility):
    where, process = facility
    process.terminate()
    assert 0 == process.wait(10)
    assert not where.exists()


@pytest.mark.parametrize(
    "noise", [b"\xff\xff\xff\xff", b"\0\0\0\1\xc1", b"\0\0\0\2\x91\x01", b"GET / HTTP/1.1\r\n\r\n"]
)
def test_noise_ends_its_socket_and_nothing_else(facility, noise):
    where, _ = facility
    good, bad = connected(where), reach(where)
    bad.sendall(noise)
    bad.settimeout(10)
    assert b"" == bad.recv(1)
    with reach(where) as early:
        send(early, ["request", []])
    assert 1 == good.request(Write(1, bytes(16), b""))[0]
    bad.close()
    good.disconnect()


def test_the_structures_of_a_group_are_checked_while_members_work(facility, tmp_path):
    where, _ = facility
    group = GroupSettings("QSG1", f"cf://{where}", str(tmp_path / "group.db"))
    tables = GroupTables(open_tables(group.repository, group.name))
    tables.structures.insert(Structure("APPL1", {"SIZE": 4096}))
    tables.close()
    with quaestor.connect("QM1", tmp_path / "QM1", group=group, user="ALICE") as app:
        app.define(quaestor.LocalQueue("ORDERS", structure="APPL1"))
        app.put("ORDERS", b"not committed")
        assert (0, "all is well\n") == (run("check", tmp_path / "QM1").exit_code, run("check", tmp_path / "QM1").output)
        idle = run("check", tmp_path / "QM1", "--idle", "--json")
        assert 1 == idle.exit_code
        assert ["put by QM1, was left there (SC2)"] == [
            each.split(", ", 1)[1] for each in json.loads(idle.stdout)["problems"]
        ]
        assert "1 problem" == run("check", tmp_path / "QM1", "--idle").stdout.strip()
        app.commit()
        assert 0 == run("check", tmp_path / "QM1", "--idle").exit_code


def test_a_directory_of_no_member_is_refused(tmp_path):
    refused = run("check", tmp_path)
    assert (2, True) == (refused.exit_code, "no member" in refused.stderr)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_is_no_socket_is_left_alone(tmp_path, kind):
    """Somebody who names the wrong file keeps it."""
    wrong = tmp_path / "dump.smf"
    if kind == "file":
        wrong.write_bytes(b"precious")
    else:
        wrong.mkdir()
    refused = run("start", "--socket", wrong)
    assert (2, f"Error: {wrong}: Address already in use\n") == (refused.exit_code, refused.stderr)
    assert wrong.is_dir() if kind == "folder" else b"precious" == wrong.read_bytes()


def test_the_socket_of_a_facility_that_is_gone_is_taken(tmp_path):
    where, other = tmp_path / "cf.sock", tmp_path / "other.sock"
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(where))
    second = CouplingFacility(where)
    second._end()
    assert not where.exists()
    where.symlink_to(other)  # of one whose structures had moved, to where nobody is any more
    third = CouplingFacility(where)
    assert where.is_socket()
    assert not where.is_symlink()
    third._end()


def test_a_socket_whose_name_is_too_long_is_one_line(tmp_path):
    long = tmp_path / ("x" * 120)
    refused = run("start", "--socket", long)
    assert (2, f"Error: {long}: AF_UNIX path too long\n") == (refused.exit_code, refused.stderr)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "Invalid value"),
        ("name = 'QSG1'", "missing 2 required positional arguments"),
        ("name = 'QSG1'\nhue = 1", "unexpected keyword argument 'hue'"),
        ("name = 1\nstructures = ''\nrepository = ''", "'int' object has no attribute"),
        (b"\xff", "can't decode"),
    ],
)
def test_settings_of_a_group_that_cannot_be_read_are_one_line(tmp_path, text, said):
    (tmp_path / GROUP_FILE).write_bytes(text if isinstance(text, bytes) else text.encode())
    refused = run("check", tmp_path)
    assert (2, 1) == (refused.exit_code, len(refused.stderr.splitlines()))
    assert f"{GROUP_FILE}: " in refused.stderr
    assert said in refused.stderr


def test_a_directory_without_a_group_is_one_line(tmp_path):
    refused = run("check", tmp_path)
    assert (2, f"Error: {tmp_path}: no member of a queue-sharing group is kept here\n") == (
        refused.exit_code, refused.stderr
    )  # fmt: skip
