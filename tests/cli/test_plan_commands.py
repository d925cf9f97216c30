"""`quaestor plan`: a plan as text, JSON and page; what-if; single questions; mistakes in one line."""

import json
import subprocess
import sys
import tomllib
from datetime import datetime

import pytest
from click.testing import CliRunner

from cli.terminal import shown
from quaestor.cli.main import main
from quaestor.planner.log_space import Action, log_bytes_per_message
from quaestor.planner.measurement import Measurement

WORKLOAD = """
[queue_manager]
name = "QM7"
[[flow]]
queue = "ORDERS"
size = "1k"
rate = "100/s"
persistent = true
"""


def run(*words):
    return CliRunner().invoke(main, ["plan", *map(str, words)])


@pytest.fixture
def workload(tmp_path):
    path = tmp_path / "w.toml"
    path.write_text(WORKLOAD, encoding="utf-8")
    return path


def test_without_a_workload_it_is_the_example_and_says_so():
    found = run()
    assert 0 == found.exit_code
    assert "this is the plan of the example" in found.stderr
    assert "Plan for PAY1" in found.stdout
    assert "page set 3 before it expands (PAY.ARCHIVE)  PASSED" in found.stdout
    assert "DEFINE BUFFPOOL(2)" in found.stdout
    assert "Not answered, or not in full" in found.stdout


def test_the_example_can_be_printed_to_begin_ones_own(tmp_path):
    text = run("example").stdout
    assert "PAY1" == tomllib.loads(text)["queue_manager"]["name"]
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    assert run().stdout == run(path).stdout


def test_a_workload_of_ones_own(workload):
    found = run(workload)
    assert 0 == found.exit_code
    assert "Plan for QM7" in found.stdout
    assert "" == found.stderr


def test_one_question_with_its_inputs(workload):
    out = run(workload, "-q", "ch1-1", "--inputs").stdout
    assert out.startswith("ch1-1  ")
    assert "message_bytes = 1024" in out
    assert "ch1-2" not in out
    assert "log_space.log_bytes_per_unit_of_work  mp16-ch1 T-3 to T-6 [631-664]" in out


def test_json_is_whole(workload):
    made = json.loads(run(workload, "--json").stdout)
    assert "QM7" == made["queue_manager"]
    put = next(each for each in made["answers"] if each["number"] == "ch1-1")
    assert 2088 == put["value"]
    assert {"formula", "inputs", "source", "head_room", "unit"} <= put.keys()
    assert 100 == len({each["number"] for each in (*made["answers"], *made["unanswered"])})


def test_check_tells_by_the_exit_code(workload):
    assert 1 == run("--check").exit_code
    assert 0 == run(workload, "--check").exit_code


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["none.toml"], "Error: none.toml: No such file or directory"),
        (["-q", "ch9-1"], "Error: no question ch9-1; known are ch1-1 to ch1-46, ch2-1 to ch2-29, ch4-1 to ch4-25"),
        (["whatif"], "Error: say what changes: --messages x2, --size 4k"),
        (["whatif", "--messages", "more"], "Error: 'more' is not a change: write x2, x1.5, +20% or -10%"),
        (["whatif", "--messages", "x2", "--queue", "NONE"], "Error: no [[flow]] NONE; known are PAY.ORDER"),
        (["log", "--size", "1000", "--rate", "fast"], "Error: plan log: [[flow]] QUEUE, rate: 'fast': not a rate"),
        (["log", "--size", "1TB", "--rate", "1/s"], "'1TB' is not valid: 0 B to 100 MiB"),
        (["log", "--size", "1", "--rate", "1/s", "--dasd", "DS8800"], "did you mean DS8800 (RAID 5)?"),
        (["log", "--rate", "1/s"], "Error: Missing option '--size'."),
        (["channel", "--kind", "x", "--size", "1", "--rate", "1/s"], "'x' is not one of"),
        (["--html", "/nowhere/plan.html"], "Error: /nowhere/plan.html: No such file or directory"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(words, line):
    found = run(*words)
    assert 2 == found.exit_code
    assert line in found.stderr
    assert 1 == len([each for each in found.stderr.splitlines() if each.startswith("Error")])
    assert "Traceback" not in found.output


def test_every_mistake_of_a_file_is_shown(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(WORKLOAD.replace("1k", "1q").replace("100/s", "-5"), encoding="utf-8")
    found = run(path)
    assert 2 == found.exit_code
    assert "size: '1q'" in found.stderr
    assert "rate: " in found.stderr


def test_whatif_shows_before_and_after_and_what_breaks_first():
    found = run("whatif", "--messages", "x2", "--size", "4k")
    assert 0 == found.exit_code
    assert "->" in found.stdout
    assert "Breaks first as messages grow: structure APP1, at x2.01 the messages of today" in found.stdout
    assert "PASSED: page set 2 before it expands" in found.stdout


def test_whatif_as_json():
    made = json.loads(run("whatif", "--messages", "x3", "--json").stdout)
    assert "structure APP1" == made["breaks_first"]["limit"]
    assert "structure APP1" in made["newly_passed"]
    assert all(each["before"] != each["after"] for each in made["differences"])


def test_a_single_question_about_the_log():
    """500 persistent messages/s of 1000 bytes: the charts' put and get, times 500."""
    made = json.loads(run("log", "--size", "1000", "--rate", "500/s", "--json").stdout)
    rate = next(each for each in made["answers"] if each["number"] == "ch1-2")
    each = sum(log_bytes_per_message(1000, action) for action in Action)
    assert 500 * each == pytest.approx(rate["value"])


def test_what_a_single_question_cannot_answer_is_said():
    out = run("log", "--size", "1000", "--rate", "500/s").stdout
    assert "not answered: ch4-1 " in out
    assert "not in full: ch4-9 " in out  # how many log I/Os is answered above, how long they take is not
    assert "the workload lacks [dasd]" in out


@pytest.mark.parametrize("more", ["", " --dasd RVA-T82 --log-size 1M"], ids=str)
def test_a_single_question_in_json_leaves_nothing_unsaid(more):
    """What the text says is not answered, or is passed, stands in the JSON as well."""
    words = f"log --size 1000 --rate 500/s{more}".split()
    said = run(*words).stdout.splitlines()
    made = json.loads(run(*words, "--json").stdout)
    without = [line.partition(": ")[2].split()[0] for line in said if line.startswith(("not answered", "not in full"))]
    assert without == [each["number"] for each in made["unanswered"]]
    assert [line[8:].rpartition(",")[0] for line in said if line.startswith("PASSED")] == made["passed"]
    assert made["unanswered"] or made["passed"]


def test_json_of_one_question_has_no_other(workload):
    made = json.loads(run(workload, "--json", "-q", "ch1-8", "-q", "ch1-4").stdout)
    assert {"ch1-4"} == {each["number"] for each in made["answers"]}
    assert ["ch1-8"] == [each["number"] for each in made["unanswered"]]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("bufferpool --size 4k --rate 500/s --life 2s --buffers 1000", "PASSED: buffer pool 1"),
        ("bufferpool --size 4k --rate 500/s --life 2s --buffers 1000000", "short-lived messages"),
        ("pageset --size 20k --rate 8/s --outage 8h", "PASSED: page set 1 before it expands"),
        ("restart --size 4k --rate 500/s --longest-unit 2min --target 5min", "backward (phase 4)"),
        ("structure --size 2k --rate 120/s --outage 20min --structure-size 1GB", "522,720 KB"),
        ("structure --size 2k --rate 120/s --outage 20min --structure-size 100MB", "PASSED: structure APP1"),
        ("channel --kind svrconn --channels 1200 --size 1k --rate 0.5/s --sharecnv 1", "214,800 KB"),
        ("channel --kind sender --size 4k --rate 60/s --batchint 100ms", "6 messages"),
    ],
)
def test_single_questions(words, expected):
    found = run(*words.split())
    assert 0 == found.exit_code, found.output
    assert expected in found.stdout


@pytest.mark.parametrize(
    "command",
    ["show", "whatif", "forecast", "simulate", "log", "bufferpool", "pageset", "restart", "structure", "channel"],
)
def test_every_command_has_help(command):
    assert 0 == run(command, "--help").exit_code


def test_the_group_has_help_with_examples():
    assert "quaestor plan log --size 1000 --rate 500/s" in run("--help").stdout


def test_neither_spark_nor_plotly_is_loaded_and_it_takes_less_than_a_second():
    """CPU of the whole process, imports included: the wall clock of a shared machine says nothing."""
    code = (
        "import sys, time\nfrom click.testing import CliRunner\nfrom quaestor.cli.main import main\n"
        "assert CliRunner().invoke(main, ['plan']).exit_code == 0\n"
        "print(time.process_time(), "
        "[name for name in ('pyspark', 'plotly', 'pyarrow', 'simpy', 'numpy') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_environment())
    seconds, loaded = done.stdout.split(maxsplit=1)
    assert "[]" == loaded.strip()
    assert float(seconds) < 1.0


def _environment():
    import os
    from pathlib import Path

    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}


def test_a_page_is_written(tmp_path):
    path = tmp_path / "plan.html"
    found = run("--html", path)
    assert 0 == found.exit_code
    assert f"{path}: " in found.stderr
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.fixture
def quiet_hour(monkeypatch):
    """An hour of a lake in which accounting was off."""
    hour = datetime(2026, 3, 2, 9)
    quiet = Measurement(queue_manager="QM7", hour=hour, seconds=3600, hours=[(hour, 8.0)])
    monkeypatch.setattr("quaestor.cli.plan.measurement", lambda _asked: quiet)


@pytest.mark.usefixtures("quiet_hour")
def test_an_hour_without_flows_says_why_there_is_no_plan():
    found = run("--from-lake", "LAKE")
    assert 2 == found.exit_code
    assert "class 3 accounting was off: there are no flows" in found.stderr
    assert found.stderr.rstrip().endswith("LAKE: [[flow]] is missing: a plan needs it")


@pytest.mark.usefixtures("quiet_hour")
def test_an_hour_without_flows_is_planned_with_those_of_the_file(workload):
    found = run(workload, "--from-lake", "LAKE")
    assert 0 == found.exit_code, found.stderr
    assert "class 3 accounting was off: the file's flows are taken" in found.stderr
    assert run(workload, "-q", "ch1-1").stdout == run(workload, "--from-lake", "LAKE", "-q", "ch1-1").stdout


@pytest.mark.usefixtures("quiet_hour")
@pytest.mark.parametrize("written", ["flow = 1", "log = []", f"a = {'[' * 20_000}"], ids=["flow", "log", "deep"])
def test_a_file_of_another_shape_beside_a_lake_is_refused_in_a_line(tmp_path, written):
    file = tmp_path / "w.toml"
    file.write_text(written, encoding="utf-8")
    found = run(file, "--from-lake", "LAKE")
    assert 2 == found.exit_code
    assert 1 == len(found.stderr.splitlines())
    assert str(file) in found.stderr


@pytest.mark.parametrize(
    "words", ["plan log --size 1000 --rate 500/s", "plan whatif --messages +30% --queue PAY.ORDER"]
)
def test_a_plan_fits_a_narrow_terminal(words):
    """What a line has no room for stands in the next one; nothing is left out."""
    lines = shown(80, *words.split()).splitlines()
    assert 80 >= max(len(line) for line in lines if line.startswith("    "))
    whole = CliRunner().invoke(main, words.split()).stdout
    assert whole.split() == " ".join(lines).split()
