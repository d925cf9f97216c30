"""What a person types wrong is told in one line with exit code 2, whichever the command (E1, E2)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.commands import refusal, run
from quaestor.cli import lake_sql
from quaestor.cli.log_print import rba
from quaestor.cli.main import main
from quaestor.cli.numbers import DAYS_MAX
from quaestor.cli.refused import in_words
from smf.dumps import with_section

ROOT = Path(__file__).parents[2]

NUMBERS = [
    ("lake purge LAKE --details -1", "-1 is not in the range 0<=x<=36500"),
    ("lake purge LAKE --daily -1", "-1 is not in the range 0<=x<=36500"),
    ("lake purge LAKE --statistics 99999999999", "99999999999 is not in the range 0<=x<=36500"),
    ("lake sql LAKE SELECT --limit -1", "-1 is not in the range x>=0"),
    ("lake follow LAKE . --every nan", "'nan' is not a number"),
    ("lake follow LAKE . --every -1", "-1.0 is not in the range x>=0"),
    ("qmgr stop QM1 --wait nan", "'nan' is not a number"),
    ("qmgr stop QM1 --wait -1", "-1.0 is not in the range x>=0"),
    ("qmgr tls QM1 --days 36501", "36501 is not in the range 1<=x<=36500"),
    ("qmgr tls QM1 --days 0", "0 is not in the range 1<=x<=36500"),
    ("plan forecast LAKE --confidence nan", "'nan' is not a number"),
    ("plan forecast LAKE --confidence 1", "1.0 is not in the range 0.5<=x<=0.99"),
    ("plan forecast LAKE --messages 0/s", "--messages 0 is not valid: more than 0"),
    ("plan forecast LAKE --log-size 0", "--log-size 0 is not valid: more than 0"),
    ("plan simulate --seconds nan", "'nan' is not a number"),
    ("plan simulate --grow nan", "--grow nan is not valid: more than 0, at most 1000"),
    ("plan simulate --grow inf", "--grow inf is not valid: more than 0, at most 1000"),
    ("plan simulate --grow 2,0", "--grow 0 is not valid: more than 0, at most 1000"),
    ("plan simulate --grow 1001", "--grow 1001 is not valid: more than 0, at most 1000"),
    ("plan simulate --grow two", "--grow 'two' is not a factor: write 2,4,8"),
    ("plan simulate --non-persistent --put-cpu 0us", "putters that need no time would never let it pass"),
    ("smf export dump --leap-seconds 101 -o out", "101 is not in the range -100<=x<=100"),
    ("qmgr create QM1 --logs 311", "311 is not in the range 2<=x<=310"),
    ("log cold-start QM1 --give-up-log --log-mb 4097", "4097 is not in the range 1<=x<=4096"),
    ("cqs define msgq --facility CF01=cf.sock --size -5", "-5 is not in the range 16<=x<=1073741824"),
    ("cqs define msgq --facility CF01=cf.sock --initsize 0", "0 is not in the range 16<=x<=1073741824"),
    ("cqs define msgq --facility CF01=cf.sock --overflow-size 15", "15 is not in the range 16<=x<=1073741824"),
    ("cqs define msgq --facility CF01=cf.sock --threshold 101", "101 is not in the range 1<=x<=100"),
    ("cqs define msgq --facility CF01=cf.sock --threshold 0", "0 is not in the range 1<=x<=100"),
    ("cqs alter msgq --size 0", "0 is not in the range 16<=x<=1073741824"),
    ("cqs copy msgq --size 0", "0 is not in the range 16<=x<=1073741824"),
]
ALONE = [
    ("plan --from 2026-01-01", "--from needs --from-lake"),
    ("plan --to 2026-01-01", "--to needs --from-lake"),
    ("plan --hour 2026-01-01", "--hour needs --from-lake"),
    ("plan --busiest-hour", "--busiest-hour needs --from-lake"),
    ("plan --qmgr QM1", "--queue-manager needs --from-lake"),
    ("plan --save x.toml", "--save needs --from-lake"),
    ("plan simulate --from 2026-01-01", "--from needs --from-lake"),
    ("plan simulate --to 2026-01-01", "--to needs --from-lake"),
    ("plan simulate --busiest-hour", "--busiest-hour needs --from-lake"),
    ("plan log --size 1k --rate 1/s --log-io-time 1ms", "--log-io-time needs --dasd"),
    ("smf describe QPST --json --markdown", "--json and --markdown exclude each other"),
    (
        "advise dump --from yesterday",
        "'yesterday' is no local time; write 2026-03-02, 2026-03-02T09 or 2026-03-02T09:30",
    ),
    ("plan --from-lake LAKE --hour 2026-01-01T09Z", "write 2026-03-02, 2026-03-02T09 or 2026-03-02T09:30"),
    ("plan --from-lake LAKE --hour 2026-01-01 --busiest-hour", "give --hour or --busiest-hour, not both"),
]


@pytest.mark.parametrize(("line", "expected"), NUMBERS + ALONE, ids=lambda text: text.replace(" ", "_"))
def test_an_option_that_cannot_be(line, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert refusal(*line.split()).rstrip(".").endswith(expected)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "played"),
    [
        ("--grow 1000", [(1, 1, None), (1000, 1000, None)]),
        ("--putters 3 --getters 2 --grow 2,1.5", [(3, 2, None), (6, 4, None), (4, 3, None)]),
        ("--rate 1000/s --grow ,0.5,", [(1, 1, 1000.0), (1, 1, 500.0)]),
        ("--rate 1000/s --putters 2", [(2, 1, 1000.0)]),
        ("", [(1, 1, None)]),
    ],
)
def test_factors_grow_putters_and_getters_or_the_rate(options, played, monkeypatch):
    models = []
    monkeypatch.setattr("quaestor.planner.simulator.simulate", lambda model, *_, **__: models.append(model))
    monkeypatch.setattr("quaestor.cli.plan_simulate._show", lambda *_, **__: None)
    run("plan", "simulate", *options.split())
    assert played == [(model.putters, model.getters, model.arrivals_per_s) for model in models]


@pytest.mark.parametrize("details", [0, DAYS_MAX])
def test_the_fewest_and_the_most_days_can_be_kept(details, tmp_path):
    assert "there is no lake" in refusal("lake", "purge", tmp_path / "none", "--details", details)


@pytest.mark.parametrize("text", ["", "-1", "0x10", "1_0", " 1", "G", "1234567890ABC"])
def test_what_is_no_rba(text, tmp_path):
    assert "is not an RBA" in refusal("log", "print", tmp_path, "--from", text)


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("00000000001C", 28), ("ffffffffffff", (1 << 48) - 1)])
def test_an_rba_is_hexadecimal(text, number):
    assert number == rba(text)


# --- standard input and output ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("smf info -", "-: standard input is closed"),
        ("smf print -", "-: standard input is closed"),
        ("smf export - -o {place}/out", "-: standard input is closed"),
        ("advise -", "-: standard input is closed"),
        ("mqsc QM1 --directory {place}/QM1", "standard input is closed; give commands with -c or in a file"),
        ("qmgr user add QM1 alice --directory {place}/QM1", "nobody to ask for the password: standard input is closed"),
    ],
)
def test_standard_input_that_is_closed(line, expected, tmp_path, monkeypatch, capsys):
    run("qmgr", "create", "QM1", "--directory", tmp_path / "QM1", "--log-mb", 1)
    monkeypatch.delenv("QUAESTOR_PASSWORD", raising=False)
    monkeypatch.setattr(sys, "stdin", None)
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(line.format(place=tmp_path).split())
    said = capsys.readouterr()
    assert (2, "", 1) == (ended.value.code, said.out, len(said.err.splitlines()))
    assert expected in said.err


def test_standard_input_is_read_where_there_is_one(tmp_path):
    dump = with_section(qmgr="QM01")
    assert json.loads(run("smf", "info", "-", "--json", input=dump).stdout)["records"] == 1
    assert "QM01" in run("smf", "print", "-", input=dump).stdout
    assert "QPST.csv  1 rows" in run("smf", "export", "-", "--to", "csv", "-o", tmp_path, input=dump).stdout


def test_the_command_runs_as_a_module():
    """`python -m quaestor` where the script is not on the path: the same name, the same exit codes."""
    command = [sys.executable, "-m", "quaestor", "smf", "info"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert 2 == done.returncode
    assert done.stderr.startswith("Usage: quaestor smf info ")


def test_a_reader_of_the_log_that_goes_away_is_not_told(tmp_path):
    """`quaestor log print DIRECTORY | head -1`: nothing is wrong with the directory."""
    run("qmgr", "create", "QM1", "--directory", tmp_path / "QM1", "--log-mb", 1)
    run("mqsc", "QM1", "--directory", tmp_path / "QM1", "-c", "DEFINE QLOCAL(ORDERS)")
    command = [sys.executable, "-m", "quaestor.cli.main", "log", "print", str(tmp_path / "QM1")]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        done = subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    assert (141, "") == (done.returncode, done.stderr)


@pytest.mark.parametrize(
    ("error", "place", "words"),
    [
        (OSError(28, "No space left on device", "out/x"), "out", "out/x: No space left on device"),
        (OSError(28, "No space left on device"), "out", "out: No space left on device"),
        (OSError(28, "No space left on device"), None, "No space left on device"),
        (OSError("AF_UNIX path too long"), "cf.sock", "cf.sock: AF_UNIX path too long"),
        (OSError("AF_UNIX path too long"), None, "AF_UNIX path too long"),
        (ValueError("the password is empty"), None, "the password is empty"),
    ],
)
def test_a_refusal_in_words(error, place, words):
    assert words == in_words(error, place)


# --- JSON ------------------------------------------------------------------------------------------------------------


def test_rows_are_json_whatever_is_in_them(capsys):
    """JSON has no word for a number that is none, and its keys are texts."""
    nan, endless = float("nan"), float("inf")
    rows = [(nan, [1.5, endless], {"a": -endless, 1: b"\x01"}, (1, nan), b"\x00\xff", None, 10**20)]
    lake_sql._show("json", ["n", "list", "map", "struct", "bytes", "null", "large"], rows)

    def no_constant(name):
        raise AssertionError(name)

    assert {
        "n": None,
        "list": [1.5, None],
        "map": {"a": None, "1": "01"},
        "struct": [1, None],
        "bytes": "00ff",
        "null": None,
        "large": 10**20,
    } == json.loads(capsys.readouterr().out, parse_constant=no_constant)


def test_a_row_of_an_answer_is_one_line(capsys):
    lake_sql._show("table", ["name", "n"], [("A\nB\x1b[2J", 1), (None, 2)])
    assert "name     n\nA.B.[2J  1\n         2\n" == capsys.readouterr().out
