"""`quaestor cqs` and `quaestor demo cqs`: a group as its operators see it, on a coupling facility's own process."""

import json
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from quaestor.cli.main import main
from quaestor.cqs import group_directory
from quaestor.cqs.queue_names import lterm, transaction
from quaestor.server.coupling_facility import CouplingFacility

TRANX = transaction("TRANX")


def run(*args):
    return CliRunner().invoke(main, [str(each) for each in args], catch_exceptions=False)


@pytest.fixture
def group(tmp_path):
    """The directory of a group on two facilities of this machine."""
    facilities = [CouplingFacility(tmp_path / f"{name}.sock") for name in ("CF01", "CF02")]
    threads = [threading.Thread(target=facility.serve) for facility in facilities]
    for thread in threads:
        thread.start()
    told = [f"--facility={name}={tmp_path}/{name}.sock" for name in ("CF01", "CF02")]
    sizes = ("--size", 400, "--initsize", 200, "--overflow-size", 100)
    made = run("cqs", "define", tmp_path / "msgq", *told, *sizes)
    assert (0, f"{tmp_path}/msgq: structure MSGQ of 400 KB\n") == (made.exit_code, made.output)
    yield tmp_path / "msgq"
    for facility, thread in zip(facilities, threads, strict=True):
        facility.stop()
        thread.join()


@pytest.fixture
def server(group):
    server = group_directory.server("CQS1", group).start()
    yield server
    server.stop()


def test_query_says_what_stands_on_the_structures(group, server):
    ims = server.register("IMS1")
    ims.put(TRANX, [b"a", b"x" * 3000])
    ims.put(TRANX, [b"b"])
    ims.put(lterm("LTRMZ"), [b"c"])
    ims.begin().read(TRANX)
    told = json.loads(run("cqs", "query", group, "--json").output)
    assert [("1TRANX", 1), ("5LTRMZ", 1)] == [(each["queue"], each["messages"]) for each in told["queues"]]
    assert (1, {"IMS1": "CQS1"}) == (told["locked"], told["clients"])
    assert [{"name": "CQS1", "state": "active"}] == [
        {name: each[name] for name in ("name", "state")} for each in told["servers"]
    ]
    assert [("MSGQ", "CF01", 3), ("MSGQ.OFLW", "CF01", 0)] == [
        (each["name"], each["facility"], each["messages"]) for each in told["structures"]
    ]
    shown = run("cqs", "query", group).output
    assert "transaction ready    TRANX            1 messages" in shown
    assert "IMS1  of CQS1" in shown


def test_checkpoint_recover_copy_and_alter_keep_the_messages(group, server):
    ims = server.register("IMS1")
    for text in (b"a", b"b"):
        ims.put(TRANX, [text])
    assert "2 messages, recovery from RBA" in run("cqs", "checkpoint", group).output
    ims.put(TRANX, [b"c"])
    assert "recovered 3 messages\n" == run("cqs", "recover", group).output
    assert run("cqs", "copy", group, "--facility", "CF02").output.startswith("copied to MSGQ#")
    assert "altered to 300 KB\n" == run("cqs", "alter", group, "--size", 300).output
    assert [b"a", b"b", b"c"] == [message.segments[0] for message in ims.browse(TRANX)]


def test_delete_ends_the_queues(group):
    server = group_directory.server("CQS1", group).start()
    server.register("IMS1").put(TRANX, [b"a"])
    server.stop()
    assert 2 == run("cqs", "delete", group).exit_code, "it asks first"
    assert "deleted\n" == run("cqs", "delete", group, "--yes").output
    assert [] == json.loads(run("cqs", "query", group, "--json").output)["queues"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("alter", "--size", 500), "TOO_LARGE"),
        (("copy", "--facility", "CF09"), "NO_FACILITY"),
        (("define", "--facility", "CF01=x"), "is there already"),
    ],
)
def test_what_cannot_be_done_is_one_line(group, arguments, expected):
    command, *options = arguments
    refused = run("cqs", command, group, *options)
    assert (2, 1) == (refused.exit_code, len(refused.stderr.splitlines()))
    assert expected in refused.stderr


def test_no_group_and_no_facility_are_one_line(tmp_path):
    missing = run("cqs", "query", tmp_path)
    assert (2, 1) == (missing.exit_code, len(missing.stderr.splitlines()))
    run("cqs", "define", tmp_path, "--facility", tmp_path / "none.sock")
    nowhere = run("cqs", "query", tmp_path)
    assert (2, 1) == (nowhere.exit_code, len(nowhere.stderr.splitlines()))
    (tmp_path / "policy.toml").write_text('name = "X"\nhue = 1\npreference = []\n[facilities]\n', encoding="utf-8")
    assert "not known: hue" in run("cqs", "query", tmp_path).stderr


def test_the_demo_tells_what_happened():
    shown = run("demo", "cqs")
    assert 0 == shown.exit_code
    told = json.loads(run("demo", "cqs", "--json").output)
    assert 4 == len(told["acts"])
    for number, act in enumerate(told["acts"], 1):
        assert f"LTRMZ has received ['O-MSG{number}']" == act["lines"][-1]
        assert act["title"] in shown.output
    assert (4, 4) == (told["counts"]["IMS1"]["queued"], told["counts"]["IMS1"]["delivered"])
    assert (2, 3) == (told["counts"]["IMS2"]["scheduled"], told["counts"]["IMS3"]["scheduled"])


def test_the_demo_needs_no_place_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("demo", "cqs")
    assert [] == list(Path(tmp_path).iterdir())


@pytest.mark.parametrize("name", ["", "oper", "NINELONGS", "A B"])
def test_a_name_that_no_server_can_have_is_one_line(group, name):
    refused = run("cqs", "query", group, "--name", name)
    assert (2, f"a server's name has one to eight of A-Z 0-9 @ # $, not {name!r}\n") == (
        refused.exit_code, refused.stderr
    )  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (None, "{folder}: no group is defined here: there is no policy.toml"),
        (b"", "{file}: 'facilities' is missing"),
        (b"[facilities]", "{file}: 'preference' is missing"),
        (b"preference = 3\n[facilities]", "{file}: 'int' object is not iterable"),
        (b"size = ", "{file}: Invalid value (at end of document)"),
        (b"\xff", "{file}: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
    ],
)
def test_a_policy_that_cannot_be_read_is_one_line(tmp_path, policy, said):
    file = tmp_path / "policy.toml"
    if policy is not None:
        file.write_bytes(policy)
    refused = run("cqs", "query", tmp_path)
    assert (2, said.format(folder=tmp_path, file=file) + "\n") == (refused.exit_code, refused.stderr)


def test_a_policy_is_there_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    """A disk that is full now may have room later."""

    def full(self, *_args, **_more):
        self.touch()
        raise OSError(28, "No space left on device", str(self))

    arguments = ("cqs", "define", tmp_path, "--facility", "CF01=cf.sock")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        refused = run(*arguments)
    assert (2, f"{tmp_path}/policy.toml: No space left on device\n") == (refused.exit_code, refused.stderr)
    assert 0 == run(*arguments).exit_code


def test_a_group_is_found_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert 0 == run("cqs", "define", "msgq", "--facility", "CF01=cf.sock", "--facility", "CF02=redis://host").exit_code
    places = group_directory.read(tmp_path / "msgq")[1]
    assert {"CF01": str(tmp_path / "cf.sock"), "CF02": "redis://host"} == places


@pytest.mark.parametrize("told", ["=cf.sock", "CF01=", "C F=cf.sock", "[CF]=cf.sock", ""])
def test_a_facility_has_a_name_and_a_place(tmp_path, told):
    """A policy with anything else could not be read again."""
    done = run("cqs", "define", tmp_path / "msgq", "--facility", told)
    said = f"Error: --facility {told}: write NAME=PLACE, the name in letters, digits, _ and -\n"
    assert (2, said) == (done.exit_code, done.stderr)
    assert not (tmp_path / "msgq").exists()


def test_a_facility_is_named_once(tmp_path):
    done = run("cqs", "define", tmp_path / "msgq", "--facility", "CF01=/a", "--facility", "CF01=/b")
    assert (2, "Error: --facility CF01=/b: CF01 is /a already\n") == (done.exit_code, done.stderr)
