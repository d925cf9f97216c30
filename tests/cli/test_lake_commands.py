"""`quaestor lake`: what the commands say, and with which exit code they end. Spark is started where it must be."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline.lakes import HOUR_US, MONDAY_US, dump, load_raw, task
from quaestor.cli.main import main
from quaestor.cli.spark_door import SparkOptions, session
from quaestor.pipeline.errors import LakeError
from quaestor.pipeline.lake import Lake
from quaestor.pipeline.session import _MASTER

ROOT = Path(__file__).parents[2]
WRONG = "DEFINE UPDATE MINE FROM SMF_116_01 SECTION QUEUE_BLOCK TO MINE GROUP BY (Q = BASENAME) SET (N = SUM(PUTX));"
RECORDS = [task(n, MONDAY_US + n * HOUR_US // 4) for n in range(20)]


def run(*arguments):
    return CliRunner().invoke(main, ["lake", *map(str, arguments)])


@pytest.fixture
def lake(tmp_path):
    load_raw(tmp_path / "lake", [dump(tmp_path / "a", RECORDS)])
    return tmp_path / "lake"


def test_the_commands_are_listed():
    shown = run("--help")
    assert 0 == shown.exit_code
    assert all(each in shown.output for each in ("load", "follow", "rebuild", "status", "sql", "purge"))


def test_status(lake):
    shown = run("status", lake)
    assert 0 == shown.exit_code
    [row] = [line.split() for line in shown.output.splitlines() if line.startswith("WQST")]
    assert ["WQST", "raw", "20", "1", "2026-01-05", "2026-01-05", "1"] == row[:7]
    told = json.loads(run("status", lake, "--json").output)
    assert {"snapshot": 1, "dumps": 1, "horizon": None}.items() <= told.items()


def test_no_lake_and_a_newer_lake_are_one_line(lake, tmp_path):
    for command in (("status",), ("purge",)):
        missing = run(*command, tmp_path / "nowhere")
        assert (2, 1) == (missing.exit_code, len(missing.stderr.splitlines()))
        assert "there is no lake" in missing.stderr
    head = lake / "lake.json"
    head.write_text(json.dumps(json.loads(head.read_text()) | {"format": 2}))
    newer = run("status", lake)
    assert (2, "") == (newer.exit_code, newer.stdout)
    assert "lake format 2" in newer.stderr


def test_purge_and_a_busy_lake(lake):
    assert "nothing is older than it needs to be\n" == run("purge", lake).output
    with Lake.at(lake).change():
        busy = run("purge", lake, "--no-wait")
    assert 2 == busy.exit_code
    assert f"busy, process {os.getpid()}" in busy.stderr
    dry = run("purge", lake, "--details", 0, "--dry-run")
    assert "a dry run: nothing was taken away" in dry.output
    gone = [json.loads(line) for line in run("purge", lake, "--details", 0, "--json").output.splitlines()]
    assert 20 == {each["table"]: each["rows"] for each in gone}["WQST"]


def test_load_and_ask(lake, tmp_path, spark):
    """A good dump and a damaged one, a wrong definition, a question; the session that is there is used and left."""
    good, bad = dump(tmp_path / "good", RECORDS[:10]), Path(dump(tmp_path / "bad", RECORDS[10:]))
    bad.write_bytes(bad.read_bytes()[:-50])
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.def").write_text(WRONG)
    wrong = run("load", tmp_path / "new", good, "--definitions", tmp_path / "own")
    assert (2, "") == (wrong.exit_code, wrong.stdout)
    assert "mine.def:1:" in wrong.stderr
    assert "no field PUTX" in wrong.stderr
    assert not (tmp_path / "new").exists()
    loaded = run("load", tmp_path / "new", good, bad, "--no-summaries", "--json")
    told = json.loads(loaded.stdout)
    assert (1, 2, 19, 1) == (loaded.exit_code, told["dumps"], told["records"], told["damages"])
    assert "record cut short" in loaded.stderr
    again = run("load", tmp_path / "new", good, "--no-summaries")
    assert "0 dumps loaded, 1 known already" in again.stdout
    missing = run("load", tmp_path / "new", tmp_path / "nothing", "--no-summaries")
    assert (2, 1) == (missing.exit_code, len(missing.stderr.splitlines()))
    asked = run("sql", tmp_path / "new", "SELECT base_name, sum(puts) AS puts FROM WQST GROUP BY 1", "--format", "csv")
    assert ["base_name,puts", "ORDERS,171"] == asked.stdout.split()
    refused = run("sql", tmp_path / "new", "SELECT nonsense FROM WQST")
    assert (2, 1) == (refused.exit_code, len(refused.stderr.splitlines()))
    followed = run("follow", tmp_path / "new", tmp_path, "--pattern", "[gb]*d", "--once", "--no-summaries")
    assert (0, "") == (followed.exit_code, followed.stdout)  # both are in the ledger
    rebuilt = run("rebuild", tmp_path / "new", "--no-summaries")
    assert "2 dumps loaded: 19 records" in rebuilt.stdout
    assert 1 == spark.range(1).count()


@pytest.mark.usefixtures("spark")
def test_a_dump_that_cannot_be_used_is_not_called_loaded(tmp_path):
    good, empty = dump(tmp_path / "good", RECORDS), tmp_path / "empty"
    empty.write_bytes(b"")
    loaded = run("load", tmp_path / "new", good, empty, "--no-summaries")
    assert (1, f"{empty}: empty\n") == (loaded.exit_code, loaded.stderr)
    assert loaded.stdout.startswith("1 dump loaded, 1 could not be used: 20 records")


@pytest.mark.usefixtures("spark")
def test_columns_called_alike_are_not_lost_in_json(lake):
    query = "SELECT min(puts) AS puts, max(puts) AS puts FROM WQST"
    refused = run("sql", lake, query, "--format", "json")
    assert (2, "") == (refused.exit_code, refused.stdout)
    assert "Error: 2 columns are called puts: give them names of their own with AS\n" == refused.stderr
    assert "puts,puts" == run("sql", lake, query, "--format", "csv").stdout.split()[0]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", ["of [2026]", "{a,b}", "50%20*?", "back\\slash"])
def test_a_lake_is_read_whatever_its_folder_is_called(tmp_path, name):
    load_raw(tmp_path / name, [dump(tmp_path / "a", RECORDS)])
    asked = run("sql", tmp_path / name, "SELECT count(*) AS n FROM WQST", "--format", "json")
    assert (0, '{"n": 20}\n') == (asked.exit_code, asked.stdout)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_load_from_the_shell_says_nothing_of_spark(tmp_path):
    """The command as a user runs it, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    arguments = [tmp_path / "lake", dump(tmp_path / "a", RECORDS), "--master", "local[2]", "--no-summaries"]
    command = [sys.executable, "-m", "quaestor.cli.main", "lake", "load", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (0, "1 dump loaded: 20 records") == (done.returncode, done.stdout[:25])
    assert "" == done.stderr


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_an_interrupt_ends_following_in_peace(tmp_path):
    (tmp_path / "dumps").mkdir()
    dump(tmp_path / "dumps" / "a", RECORDS)
    arguments = [tmp_path / "lake", tmp_path / "dumps", "--every", "0.1", "--master", "local[1]", "--no-summaries"]
    command = [sys.executable, "-m", "quaestor.cli.main", "lake", "follow", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=environment, **piped) as running:
        assert "1 dump loaded" in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        assert ("", "") == running.communicate()
    assert 0 == running.returncode


def test_a_folder_without_a_dump_is_one_line(tmp_path):
    """It is told before Spark starts; exit code 0 would say that something was loaded."""
    (tmp_path / "dumps" / "older").mkdir(parents=True)
    (tmp_path / "dumps" / ".hidden").write_bytes(b"")
    done = run("load", tmp_path / "lake", tmp_path / "dumps")
    assert (2, "", f"{tmp_path / 'dumps'}: no file in this folder\n") == (
        done.exit_code,
        done.stdout,
        done.stderr,
    )
    assert not (tmp_path / "lake").exists()


def test_a_session_may_be_asked_for_by_any_thread(spark):
    """Reports do: Spark starts with the first question that needs it. Signals are the main thread's business."""

    def counted():
        with session(SparkOptions("local[1]", (), verbose=False)) as found:
            return found.range(1).count()

    with ThreadPoolExecutor(1) as pool:
        assert 1 == pool.submit(counted).result()


INTERRUPTED = """
import os, signal, threading
import click
from pyspark.sql import SparkSession
from quaestor.cli.spark_door import SparkOptions, session

stop = SparkSession.stop

def stopped_in_the_middle(spark):
    spark._jvm.org.apache.logging.log4j.LogManager.getLogger("task").error("a task was cut off")
    stop(spark)

@click.command()
def command():
    with session(SparkOptions("local[1]", (), False)) as spark:
        SparkSession.stop = stopped_in_the_middle
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        spark._jvm.java.lang.Thread.sleep(60_000)

command()
"""


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_an_interrupt_in_the_middle_of_an_answer_is_one_word():
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (1, "Aborted!") == (done.returncode, done.stderr.strip())


def test_a_place_that_no_file_system_has_is_one_line():
    said = "foo://x: Unrecognized filesystem type in URI: foo://x"
    done = run("status", "foo://x")
    assert (2, "", f"{said}\n") == (done.exit_code, done.stdout, done.stderr)
    with pytest.raises(LakeError, match=said):
        Lake.made_at("foo://x")


def test_what_a_file_system_far_away_refuses_is_one_line(monkeypatch):
    """Arrow's errors have no number (U2)."""

    def away(*_):
        raise OSError("AWS Error NETWORK_CONNECTION during HeadObject operation")

    monkeypatch.setattr("quaestor.pipeline.lake.Place.exists", away)
    done = run("status", "nowhere")
    said = "Error: AWS Error NETWORK_CONNECTION during HeadObject operation\n"
    assert (2, "", said) == (done.exit_code, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("command", "place", "said"),
    [
        ("load", "file", "{0}/file: not a folder"),
        ("load", "file/lake", "{0}/file: not a folder"),
        ("load", "dumps", "{0}/dumps: not a lake, and not empty (a is in it)"),
        ("follow", "file/lake", "{0}/file: not a folder"),
        ("rebuild", "nowhere", "{0}/nowhere: there is no lake; `quaestor lake load` makes one"),
    ],
)
def test_a_place_where_no_lake_can_be_is_refused_before_spark_starts(tmp_path, monkeypatch, command, place, said):
    def started(_options):
        raise AssertionError("Spark starts")

    monkeypatch.setattr("quaestor.cli.lake_load.session", started)
    (tmp_path / "file").touch()
    (tmp_path / "dumps").mkdir()
    dump(tmp_path / "dumps" / "a", RECORDS)
    done = run(command, tmp_path / place, *([tmp_path / "dumps"] if command != "rebuild" else []))
    assert (2, "", said.format(tmp_path) + "\n") == (done.exit_code, done.stdout, done.stderr)


@pytest.mark.parametrize("master", ["nonsense", "local[abc]", "local[", "LOCAL", "spark:host:7077", ""])
def test_a_master_that_is_none_is_one_line(tmp_path, master, monkeypatch):
    """Said before Java starts, which would answer with a stack trace."""
    monkeypatch.setattr("quaestor.pipeline.session._running", lambda: None)
    dump(tmp_path / "dump", RECORDS)
    done = run("load", tmp_path / "lake", tmp_path / "dump", "--master", master)
    said = f"{master} is no master of Spark: local[*], local[2], yarn, spark://HOST:PORT or k8s://...\n"
    assert (2, "", said) == (done.exit_code, done.stdout, done.stderr)
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize(
    "master", ["local", "local[2]", "local[*]", "local[4, 2]", "yarn", "spark://h:7077", "k8s://h"]
)
def test_these_are_masters(master):
    assert _MASTER.fullmatch(master)
