"""`quaestor smf print`: what is selected, what is joined, what damage leads to."""

import json

import pytest
from click.testing import CliRunner

from quaestor.cli.damage import DamageReport
from quaestor.cli.smf_print import print_command
from quaestor.smf.blocks import Damage
from quaestor.smf.printing.mq116s import NEW_TASK
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.smf.sections.lock import LockStatistics
from quaestor.smf.sections.message import MessageAccounting
from quaestor.smf.sections.storage import StorageStatistics
from smf.dumps import REAL, REAL_DUMPS, record
from smf.printing.given import continuation_bytes, task_bytes, written

POOLS = written(115, 215, *(BufferStatistics(buffer_pool=n, get_page=17) for n in (0, 1)))
LOCKS = written(115, 2, LockStatistics(lock_gets=5), queue_manager="QM02")
OLD = written(116, 0, MessageAccounting(puts_0_99=9))
MIXED = (
    POOLS
    + LOCKS
    + OLD
    + task_bytes("JOB1", "FIRST")
    + continuation_bytes("JOB1", "SECOND", "THIRD")
    + record(b"", record_type=30, subtype=0)
    + task_bytes("JOB2", queue_manager="QM02")
)


@pytest.fixture
def dump(tmp_path):
    path = tmp_path / "mixed.smf"
    path.write_bytes(MIXED)
    return str(path)


def run(*args, **more):
    return CliRunner().invoke(print_command, [*args], **more)


def test_a_name_does_not_end_its_line(tmp_path):
    path = tmp_path / "odd.smf"
    path.write_bytes(written(115, 2, LockStatistics(lock_gets=5), queue_manager="Q\x1b\n1"))
    assert "MQ_Subsys:Q..1 Date" in run(str(path)).stdout


def test_every_record_prints_in_its_own_manner(dump):
    result = run(dump)
    assert 0 == result.exit_code
    assert "" == result.stderr
    assert 3 == result.stdout.count("MQ_Subsys:")
    assert 2 == result.stdout.count(NEW_TASK)
    assert "01 #buff" in result.stdout


def test_a_task_prints_with_the_queues_of_its_continuation(dump):
    result = run(dump, "--format", "mq116s")
    first, second = result.stdout.split(NEW_TASK)[1:]
    assert all(f"Open name {name} " in first for name in ("FIRST", "SECOND", "THIRD"))
    assert "Open name" not in second
    assert "MQ_Subsys" not in result.stdout


@pytest.mark.parametrize(
    ("options", "tasks", "others"),
    [
        (["--type", "115"], 0, 2),
        (["--type", "116"], 2, 1),
        (["--subtype", "215"], 0, 1),
        (["--subtype", "1"], 2, 0),
        (["--type", "115", "--subtype", "2"], 0, 1),
        (["--format", "mq1150"], 0, 2),
        (["--format", "mq1160"], 0, 1),
        (["--qmgr", "QM02"], 1, 1),
        (["--limit", "2"], 0, 2),
        (["--limit", "4"], 1, 3),
    ],
)
def test_records_are_selected(dump, options, tasks, others):
    result = run(dump, *options)
    assert (0, tasks, others) == (result.exit_code, result.stdout.count(NEW_TASK), result.stdout.count("MQ_Subsys:"))


def test_a_subtype_1_keeps_its_continuation_but_115_subtype_2_is_not_one(dump):
    assert "Open name THIRD" in run(dump, "--subtype", "1").stdout
    assert "Lock manager" not in run(dump, "--subtype", "1").stdout


def test_a_limit_counts_over_all_files(dump):
    assert 3 == run(dump, dump, "--limit", "3", "--json").stdout.count("\n")


def test_json_is_one_object_per_line(dump):
    objects = [json.loads(line) for line in run(dump, "--json").stdout.splitlines()]
    assert ["115-215", "115-2", "116-0", "116-1", "116-1"] == [each["record"] for each in objects]
    assert [17, 17] == [pool["get_page"] for pool in objects[0]["sections"]["QPST"]]
    assert ["FIRST", "SECOND", "THIRD"] == [queue["object_name"] for queue in objects[3]["sections"]["WQST"]]


def test_standard_input_is_a_dump(dump):
    result = run("-", "--type", "115", input=MIXED)
    assert run(dump, "--type", "115").stdout == result.stdout != ""


def test_a_code_page_can_be_chosen(tmp_path):
    path = tmp_path / "page.smf"
    path.write_bytes(POOLS.replace("QM01".encode("cp037"), b"\xba\xd4\xf0\xf1"))
    assert "MQ_Subsys:[M01" in run(str(path), "--page", "037").stdout
    assert "MQ_Subsys:[M01" not in run(str(path)).stdout


def test_nothing_to_print_is_said(dump):
    result = run(dump, "--subtype", "99")
    assert (0, "", "no record to print\n") == (result.exit_code, result.stdout, result.stderr)
    assert 0 == run(dump, "--qmgr", "QM02", "--type", "116", "--subtype", "0").exit_code  # it is there, and has none


def test_a_queue_manager_that_is_not_there_is_told_with_those_that_are(dump):
    """Also beside damage; a dump that cannot be used has none of which to tell."""
    result = run(dump, "--qmgr", "NONE")
    said = "--qmgr NONE: no such queue manager; there are QM01, QM02\n"
    assert (2, "", said) == (result.exit_code, result.stdout, result.stderr)
    result = run(dump, "/nowhere", "--qmgr", "NONE", "--limit", "1")
    assert (2, said) == (result.exit_code, "".join(result.stderr.splitlines(keepends=True)[-1:]))
    assert "there are" not in run("/nowhere", "--qmgr", "NONE").stderr


def test_damage_goes_to_standard_error_and_the_rest_prints(tmp_path):
    path = tmp_path / "damaged.smf"
    path.write_bytes(MIXED[:-20])
    result = run(str(path))
    assert 1 == result.exit_code
    assert 3 == result.stdout.count("MQ_Subsys:")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"{path}: offset ")


@pytest.mark.parametrize("content", [None, b"", b"\0" * 5000, b"Not a dump at all, only text. " * 100])
def test_an_unusable_dump_ends_with_two_and_one_line(tmp_path, content):
    path = tmp_path / "bad.smf"
    if content is not None:
        path.write_bytes(content)
    result = run(str(path))
    assert 2 == result.exit_code
    assert "" == result.stdout
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"{path}: ")
    assert isinstance(result.exception, SystemExit)


def test_one_unusable_dump_among_good_ones_is_damage(dump, tmp_path):
    result = run(str(tmp_path), dump)
    assert 1 == result.exit_code
    assert 3 == result.stdout.count("MQ_Subsys:")
    assert f"{tmp_path}: is a directory\n" == result.stderr


def test_damage_lines_are_capped_and_counted(capsys):
    report = DamageReport(most=3)
    report.dump()
    for offset in range(10):
        report.damaged("d.smf", Damage(offset, "torn"))
    assert 1 == report.close()
    said = capsys.readouterr().err.splitlines()
    assert ["d.smf: offset 2: torn", "10 damages in all, the first 3 shown"] == said[2:]


def test_a_record_of_an_unknown_subtype_says_so(tmp_path):
    path = tmp_path / "odd.smf"
    path.write_bytes(record(bytes(40), record_type=115, subtype=99) + POOLS + written(115, 240))
    result = run(str(path))
    assert "subtype not known: nothing to print" in result.stdout
    assert "internal: no section to print" in result.stdout
    assert 0 == result.exit_code


@pytest.mark.parametrize("level", ["8.0", "9.4.0", "10.0.0"])
def test_records_of_every_level_print_their_release(tmp_path, level):
    path = tmp_path / "level.smf"
    path.write_bytes(written(115, 2, LockStatistics(lock_gets=5), level=level))
    assert f", MQ {level if level.count('.') == 2 else level + '.0'}" in run(str(path)).stdout


def test_storage_statistics_stand_behind_the_ninth_triplet(tmp_path):
    path = tmp_path / "log.smf"
    path.write_bytes(written(115, 1, StorageStatistics(getmains=2003)))
    assert "# Getmains:       2003" in run(str(path)).stdout


@pytest.mark.skipif(not REAL_DUMPS, reason="no real dumps beside the repository (../shared/data/smf)")
@pytest.mark.real
def test_a_real_dump_prints_to_the_last_record():
    result = run(str(REAL / "TESTCHL.dat"), "--json")
    objects = [json.loads(line) for line in result.stdout.splitlines()]
    assert 0 == result.exit_code
    assert 16 == sum(len(each["sections"].get("QCT_DNS", [])) for each in objects)
