"""`quaestor log`, `check` and `pageset`: on the files of a queue manager that is down, was killed, or is damaged."""

import json
import os
from contextlib import closing, contextmanager
from dataclasses import replace
from hashlib import sha256

import pytest
from click.testing import CliRunner

from quaestor.cli.main import main
from quaestor.clock import SystemClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue
from quaestor.qmgr.group_settings import GroupSettings, save_group
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.storage.changes import MESSAGE_PAGE
from quaestor.storage.page import HEADER_LENGTH, PAGE, header_of, seal
from quaestor.storage.real_disk import RealDisk
from quaestor.storage.shared_tables import Backup, GroupTables, open_tables
from quaestor.testing import SMALL

KEPT = MQMD(persistence=1)
SETTINGS = replace(SMALL, archive=True, log_bytes=64 << 10, logload=100)


@contextmanager
def running(directory, settings=SETTINGS):
    """A queue manager that is killed at the end: nothing is stopped."""
    manager = QueueManager("QM1", RealDisk(directory), SystemClock(), settings)
    manager.start(background=False)
    yield manager
    manager.engine.close()
    manager.abandon()


def put(manager, *bodies, queue="ORDERS"):
    with manager.connect("ALICE") as app:
        for body in bodies:
            app.put1(queue, body, KEPT)


@pytest.fixture
def killed(tmp_path):
    """Two messages there; a third was put by somebody who never committed."""
    with running(tmp_path) as manager:
        with manager.connect("ALICE") as app:
            app.define(LocalQueue("ORDERS"))
        put(manager, "one", "two")
        app = manager.connect("ALICE")
        app.put1("ORDERS", "never", KEPT)
        manager.engine.log.force(manager.engine.log.end - 1)
    return tmp_path


def run(*args):
    return CliRunner().invoke(main, [*map(str, args)])


def digest(directory):
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in directory.iterdir() if path.name != "in-use"}


# -- log print


def test_every_record_is_a_line(killed):
    before = digest(killed)
    done = run("log", "print", killed)
    assert 0 == done.exit_code, done.output
    kinds = [line.split()[2] for line in done.stdout.splitlines()]
    assert {"INSERT", "COMMIT", "CHECKPOINT"} <= set(kinds)
    rbas = [int(line.split()[0], 16) for line in done.stdout.splitlines()]
    assert sorted(rbas) == rbas
    assert 4096 == rbas[0]
    assert before == digest(killed)


def test_json_says_the_same_and_a_unit_can_be_followed(killed):
    lines = run("log", "print", killed, "--json").stdout.splitlines()
    records = [json.loads(line) for line in lines]
    assert len(records) == len(run("log", "print", killed).stdout.splitlines())
    unit = records[-1]["urid"]
    mine = [json.loads(line) for line in run("log", "print", killed, "--json", "--unit", unit).stdout.splitlines()]
    assert {unit} == {record["urid"] for record in mine}
    assert "INSERT" == mine[-1]["kind"]
    second = records[1]["rba"]
    part = run("log", "print", killed, "--from", second, "--to", records[4]["rba"], "--limit", 2).stdout.splitlines()
    assert [second, records[2]["rba"]] == [line.split()[0] for line in part]


def test_an_rba_where_no_record_begins_is_one_line(killed):
    done = run("log", "print", killed, "--from", "1001")
    assert (2, "") == (done.exit_code, done.stdout)
    assert "no log record begins at this RBA" in done.stderr
    assert 1 == len(done.stderr.splitlines())
    assert "not an RBA" in run("log", "print", killed, "--from", "here").stderr


@pytest.mark.parametrize("harm", ["a byte", "cut short"])
def test_a_log_that_is_damaged_does_not_just_end(killed, harm):
    """What is good is shown; then one line says that there was more."""
    with running(killed) as manager:
        put(manager, *[b"x" * 3000] * 60)
    whole = run("log", "print", killed).stdout.splitlines()
    archive = min(killed.glob("archive-*"))
    if harm == "a byte":
        spoiled = bytearray(archive.read_bytes())
        spoiled[30_000] ^= 0xFF
        archive.write_bytes(spoiled)
    else:
        archive.write_bytes(archive.read_bytes()[:30_000])
    done = run("log", "print", killed)
    shown = done.stdout.splitlines()
    assert (2, shown) == (done.exit_code, whole[: len(shown)])
    assert 1 == len(done.stderr.splitlines())
    assert "L2: the log is damaged" in done.stderr
    beyond = whole[len(shown)].split()[0]
    assert 0 == run("log", "print", killed, "--to", beyond).exit_code


def test_a_log_that_has_gone_round_begins_at_its_oldest_checkpoint(tmp_path):
    with running(tmp_path, replace(SETTINGS, archive=False)) as manager:
        with manager.connect("ALICE") as app:
            app.define(LocalQueue("ORDERS"))
        for _ in range(120):
            put(manager, b"x" * 3000)
            with manager.connect("ALICE") as app:
                app.get("ORDERS")
    done = run("log", "print", tmp_path)
    assert 0 == done.exit_code
    assert "CHECKPOINT" == done.stdout.splitlines()[0].split()[2]


# -- check


def test_files_that_agree(killed):
    before = digest(killed)
    done = run("check", killed, "--json")
    found = json.loads(done.stdout)
    assert (0, [], 2) == (done.exit_code, found["problems"], found["messages"])
    assert ["F"] == [unit["state"] for unit in found["units"]]
    assert before == digest(killed), "checking changed a file"
    assert "all is well" in run("check", killed).stdout


def test_a_page_set_that_a_command_altered_is_checked(killed):
    """What the command kept names a buffer pool that the bootstrap data set does not define."""
    with running(killed) as manager:
        assert manager.commands.run("ALTER PSID(1) EXPAND(SYSTEM)", "OPER").ok
    result = CliRunner().invoke(main, ["check", str(killed)])
    assert (0, "all is well") == (result.exit_code, result.output.splitlines()[-1]), result.output


def test_a_page_set_that_lost_a_page_is_named(killed):
    with running(killed) as manager:
        manager.engine.buffers.write_all()
        manager.engine.recovery.checkpoint()
    path = killed / "pageset-01"
    pages = bytearray(path.read_bytes())
    used = next(n for n in range(2, 64) if any(pages[n * 4096 : n * 4096 + 4096]))
    pages[used * 4096 + 600] ^= 0xFF
    path.write_bytes(pages)
    done = run("check", killed)
    assert 2 == done.exit_code
    assert f"page {used} of page set 1 is not whole" in done.stderr


def test_a_running_queue_manager_is_not_checked(killed):
    with running(killed):
        done = run("check", killed)
    assert 2 == done.exit_code
    assert f"{killed}: in use by process {os.getpid()}\n" == done.stderr


def test_no_copy_is_taken_of_a_queue_manager_that_runs_in_a_program(killed):
    """Nobody can be asked for it; the help says what to do instead."""
    with running(killed):
        done = run("pageset", "copy", killed, 1)
    assert (2, f"{killed}: in use by process {os.getpid()}\n") == (done.exit_code, done.stderr)
    assert not (killed / "copy-01").exists()
    told = " ".join(run("pageset", "copy", "--help").stdout.split())
    assert "A queue manager that runs inside a program is refused (in use): the program gives the command." in told


@pytest.mark.parametrize("command", [("check",), ("log", "print"), ("log", "prune"), ("pageset", "copy")])
def test_a_directory_without_a_queue_manager_stays_empty(command, tmp_path):
    done = run(*command, tmp_path, *(["1"] if command[0] == "pageset" else []))
    assert 2 == done.exit_code
    assert "no queue manager is kept here" in done.stderr
    assert {"in-use"} >= {path.name for path in tmp_path.iterdir()}


# -- pageset


def test_a_lost_page_set_comes_back(killed):
    done = run("pageset", "copy", killed, 1, "--json")
    assert 0 == done.exit_code, done.output
    with running(killed) as manager:
        put(manager, "three")
    (killed / "pageset-01").unlink()
    lost = run("check", killed)
    assert (2, True) == (lost.exit_code, "restore its image copy" in lost.stderr)
    done = run("pageset", "recover", killed, 1)
    assert (0, "page set 1 is recovered\n") == (done.exit_code, done.stdout), done.output
    assert 3 == json_of("check", killed)["messages"]


def test_what_cannot_be_copied_or_recovered(killed):
    assert "no such page set" in run("pageset", "copy", killed, 7).stderr
    assert "there is no image copy" in run("pageset", "recover", killed, 1).stderr
    assert 0 == run("check", killed).exit_code


# -- archives and cold start


def test_only_archives_that_nobody_needs_are_pruned(killed):
    with running(killed) as manager:
        put(manager, *[b"x" * 3000] * 60)
    assert archives(killed)
    assert [] == json_of("log", "prune", killed)["pruned"]
    for number in (0, 1):
        assert 0 == run("pageset", "copy", killed, number).exit_code
    with running(killed) as manager:
        put(manager, *[b"y" * 3000] * 60)
    could = json_of("log", "prune", killed, "--dry-run")["pruned"]
    before = archives(killed)
    gone = json_of("log", "prune", killed)
    assert could == gone["pruned"]
    assert 0 < len(could) < before
    assert before - len(could) == gone["kept"] == archives(killed)
    (killed / "pageset-01").unlink()
    assert 0 == run("pageset", "recover", killed, 1).exit_code
    assert 122 == json_of("check", killed)["messages"]


def in_a_group(killed, repository):
    """Archives that nobody but a structure may need, of a member of a queue-sharing group."""
    with running(killed) as manager:
        put(manager, *[b"x" * 3000] * 60)
    for number in (0, 1):
        assert 0 == run("pageset", "copy", killed, number).exit_code
    could = json_of("log", "prune", killed, "--dry-run")["pruned"]
    assert len(could) > 1
    save_group(killed, GroupSettings("QSG1", "cf:///nowhere", str(repository)))
    return could


def test_archives_that_the_backup_of_a_structure_needs_are_not_pruned(killed, tmp_path):
    """SM1: its messages are nowhere else, and the queue manager that is down cannot say so."""
    repository = tmp_path / "QSG1.db"
    could = in_a_group(killed, repository)
    with closing(GroupTables(open_tables(str(repository), "QSG1"))) as tables:
        assert [] == json_of("log", "prune", killed)["pruned"]
        tables.join("QM1", str(killed.resolve()))
        tables.backups.write(Backup("APP1", "QM2", 1, 2, 0, marks={"QM1": [int(could[1][8:], 16), 1, 1]}))
        assert could[:1] == json_of("log", "prune", killed)["pruned"]
        tables.backups.write(Backup("APP1", "QM2", 1, 2, 0))
        assert could[1:] == json_of("log", "prune", killed)["pruned"]


def test_nothing_is_pruned_while_nobody_can_say_what_structures_need(killed, tmp_path):
    in_a_group(killed, tmp_path)
    done = run("log", "prune", killed)
    assert (0, True) == (done.exit_code, done.stdout.startswith("0 archives deleted"))
    assert "all of the log is kept, for the structures of its group" in done.stderr


def archives(directory):
    return len(list(directory.glob("archive-*")))


def json_of(*command):
    done = run(*command, "--json")
    assert 0 == done.exit_code, done.output
    return json.loads(done.stdout)


def test_page_sets_whose_log_is_lost_go_on_with_a_new_one(killed):
    manager = QueueManager("QM1", RealDisk(killed), SystemClock(), SETTINGS)
    manager.start(background=False)
    manager.stop()
    for path in [*killed.glob("log*"), *killed.glob("BSDS*")]:
        path.unlink()
    refused = run("check", killed)
    assert 2 == refused.exit_code
    done = run("log", "cold-start", killed, "--give-up-log", "--json")
    assert 0 == done.exit_code, done.output
    assert json.loads(done.stdout)["first_rba"] > json.loads(done.stdout)["highest_rba"]
    assert 2 == json_of("check", killed)["messages"]
    with running(killed) as manager:
        put(manager, "three")
    assert 3 == json_of("check", killed)["messages"]
    assert 0 == run("log", "print", killed).exit_code


def test_a_cold_start_tells_of_a_page_set_that_was_not_made_to_its_end(killed):
    """CS8."""
    (killed / "pageset-07").touch()
    found = run("log", "cold-start", killed, "--give-up-log")
    assert (0, "page sets 7 were not made to their end") == (found.exit_code, found.output.splitlines()[1][:38])


def test_a_cold_start_says_how_many_pages_had_not_been_written(killed):
    """The space map page of page set 1 calls a page a message page that was never written."""
    with (killed / "pageset-01").open("r+b") as file:
        space = bytearray(file.read(2 * PAGE)[PAGE:])
        space[HEADER_LENGTH + 40] = MESSAGE_PAGE
        seal(space, header_of(space).rba)
        file.seek(PAGE)
        file.write(space)
    found = run("log", "cold-start", killed, "--give-up-log")
    assert 0 == found.exit_code, found.output
    assert "pages had not been written with their messages, which are lost; they are free" in found.stdout
    assert 0 == run("check", killed).exit_code


def test_a_cold_start_leaves_what_is_not_the_queue_managers(killed):
    """Copies that somebody made beside the files are neither read nor deleted."""
    names = ("pageset-01.bak", "log1-01.bak", "logs.txt", "archive-list", "BSDS1.old")
    for name in names:
        (killed / name).write_text("mine")
    found = run("log", "cold-start", killed, "--give-up-log")
    assert 0 == found.exit_code, found.output
    assert ["mine"] * len(names) == [(killed / name).read_text() for name in names]


def test_a_cold_start_makes_no_directory(tmp_path):
    found = run("log", "cold-start", tmp_path / "nowhere", "--give-up-log")
    assert (2, 1) == (found.exit_code, len(found.stderr.splitlines()))
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("words", ["check {}", "log print {}"])
def test_a_file_that_cannot_be_opened_is_named(killed, words):
    (killed / "log1-01").unlink()
    (killed / "log1-01").mkdir()
    found = run(*words.format(killed).split())
    assert (2, f"{killed / 'log1-01'}: Is a directory\n") == (found.exit_code, found.stderr)


def test_a_cold_start_makes_nothing_in_a_directory_of_others(tmp_path):
    (tmp_path / "letter").write_text("dear")
    found = run("log", "cold-start", tmp_path, "--give-up-log")
    assert (2, f"{tmp_path}: CS3: there are no page sets to start with\n") == (found.exit_code, found.stderr)
    assert ["letter"] == [path.name for path in tmp_path.iterdir()]


def test_a_cold_start_asks_for_the_word(killed):
    done = run("log", "cold-start", killed)
    assert 2 == done.exit_code
    assert 0 == run("check", killed).exit_code


@pytest.mark.parametrize(
    "words", ["check {}", "log print {}", "log prune {}", "pageset copy {} 1"], ids=lambda words: words[:12]
)
def test_a_directory_that_is_not_there_is_told_in_one_line(tmp_path, words):
    told = CliRunner().invoke(main, words.format(tmp_path / "nowhere").split())
    assert 2 == told.exit_code
    assert 1 == len(told.stderr.splitlines()), told.stderr
    assert "there is no such directory" in told.stderr
    assert not (tmp_path / "nowhere").exists()


def test_a_file_where_a_queue_manager_should_be_is_none(tmp_path):
    (tmp_path / "file").touch()
    told = CliRunner().invoke(main, ["check", str(tmp_path / "file")])
    assert (2, f"Error: {tmp_path / 'file'}: this is no directory\n") == (told.exit_code, told.stderr)


@pytest.mark.parametrize("words", ["check QM9", "log print QM9", "log cold-start QM9 --give-up-log"])
def test_a_name_that_nobody_has_is_told_as_such(tmp_path, monkeypatch, words):
    monkeypatch.setenv("QUAESTOR_HOME", str(tmp_path))
    told = CliRunner().invoke(main, words.split())
    assert (2, "Error: QM9: there is no such directory, and no queue manager of that name\n") == (
        told.exit_code,
        told.stderr,
    )


def test_a_log_up_to_where_it_begins_has_no_records(killed):
    first = json.loads(run("log", "print", killed, "--json", "--limit", "1").output)["rba"]
    assert "" == run("log", "print", killed, "--to", first).output
    assert 1 == len(run("log", "print", killed, "--to", f"{int(first, 16) + 1:X}").output.splitlines())


def test_a_cold_start_without_the_definitions_is_refused(killed):
    """Page set 0 may still come back from its copy and the log, which is kept."""
    (killed / "pageset-00").unlink()
    before = digest(killed)
    found = run("log", "cold-start", killed, "--give-up-log")
    assert (2, 1) == (found.exit_code, len(found.stderr.splitlines()))
    assert "page set 0, which has the definitions, is not there (there_are=(1," in found.stderr
    assert before == digest(killed)
