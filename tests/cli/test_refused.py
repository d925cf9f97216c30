"""What no command foresaw is one line with exit code 2, not a traceback (U1, U2)."""

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.commands import ROOT, started
from quaestor.cli.main import main
from quaestor.cli.refused import extra_with
from smf.dumps import with_section

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - {"dev", "bench"}))
def test_the_extra_with_a_package_is_known(extra):
    for requirement in EXTRAS[extra]:
        package = requirement.partition("[")[0].partition(">")[0].partition("<")[0]
        assert package in "".join(EXTRAS[extra_with(package)])


@pytest.mark.parametrize(
    ("absent", "command", "said"),
    [
        ("pyspark", "lake status LAKE", "this needs the package pyspark: pip install 'quaestor[pipeline]'"),
        ("pyspark", "advise --lake LAKE", "this needs the package pyspark: pip install 'quaestor[pipeline]'"),
        ("simpy", "plan simulate --rate 10/s", "this needs the package simpy: pip install 'quaestor[planner]'"),
        ("msgpack", "demo cqs", "this needs the package msgpack: pip install 'quaestor[shared]'"),
    ],
)
def test_an_extra_that_is_not_installed_is_named(absent, command, said):
    """In an interpreter of its own, that does not find the package."""
    hidden = f"import sys; sys.modules[{absent!r}] = None; from quaestor.cli.main import main; main({command.split()})"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, env=environment, check=False)
    assert (2, f"Error: {said}\n") == (done.returncode, done.stderr)


def test_a_module_of_ours_that_is_missing_is_a_bug(monkeypatch):
    monkeypatch.setitem(sys.modules, "quaestor.cli.smf_info", None)
    done = CliRunner().invoke(main, ["smf", "info", "x"])
    assert isinstance(done.exception, ModuleNotFoundError)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
@pytest.mark.parametrize("command", [["smf", "describe", "QPST"], ["advise", "rules"], ["plan", "example"]])
def test_no_space_for_the_output_is_one_line(command):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "quaestor.cli.main", *command],
            stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False,
        )  # fmt: skip
    assert (2, "Error: No space left on device\n") == (done.returncode, done.stderr)


@pytest.mark.parametrize(
    "words",
    [
        "--help", "--version", "smf describe QPST", "smf info DUMP", "smf print DUMP", "smf print DUMP --json",
        "advise rules", "advise DUMP", "advise DUMP --json", "plan example", "report list", "report list verbs",
    ],
)  # fmt: skip
@pytest.mark.parametrize("gone", ["stdout", "stderr"])
def test_a_reader_that_goes_away_is_no_error(tmp_path, words, gone):
    """U2: as after `git log | head`, and whatever is left in a buffer at the end is not told either."""
    (tmp_path / "dump").write_bytes(with_section() + (b"x" * 100 if gone == "stderr" else b""))
    if gone == "stderr" and "DUMP" not in words:
        words += " --what"
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "quaestor.cli.main", *words.replace("DUMP", str(tmp_path / "dump")).split()]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, gone: writing}
    done = subprocess.run(command, **streams, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, check=False)
    os.close(writing)
    assert 141 == done.returncode
    assert not done.stderr


def test_another_pipe_that_breaks_is_told(monkeypatch, tmp_path):
    """A server that ended, say: nobody reads from that either, but who asked is there."""

    def broken(*_given, **_more):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("quaestor.smf.records.open_input", broken)
    (tmp_path / "dump").write_bytes(with_section())
    done = CliRunner().invoke(main, ["advise", str(tmp_path / "dump")])
    assert (2, "Error: Broken pipe") == (done.exit_code, done.stderr.strip())


def test_an_interrupt_is_one_word_and_not_taken_for_done(tmp_path):
    """U4: with 1 a script would go on as after damage."""
    with started("smf", "export", "-", "-o", tmp_path / "tables", stdin=subprocess.PIPE) as waits:
        while not (tmp_path / "tables").exists():
            assert waits.poll() is None
        waits.send_signal(signal.SIGINT)
        said = waits.communicate()[1]
    assert (130, "Aborted!") == (waits.returncode, said.strip())


@pytest.mark.parametrize(("value", "coloured"), [("1", False), ("", True), (None, True)])
def test_who_wants_no_colours_has_none(value, coloured):
    """E5, on a terminal."""
    done = CliRunner().invoke(main, ["report", "list"], color=True, env={"NO_COLOR": value})
    assert coloured == ("\x1b[" in done.stdout)


def test_who_says_no_has_nothing_done(tmp_path):
    done = CliRunner().invoke(main, ["cqs", "delete", str(tmp_path)], input="n\n")
    assert (2, "Aborted!") == (done.exit_code, done.stderr.strip())


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_traceback(tmp_path, closed):
    """E4."""
    (tmp_path / "dump").write_bytes(with_section())
    with started("smf", "info", tmp_path / "dump", redirected=closed, stdout=subprocess.DEVNULL) as done:
        assert "" == done.communicate()[1]
    assert 0 == done.returncode


def test_no_file_takes_the_number_of_a_closed_stream(tmp_path):
    """E4: what a library or a child means for standard error would be written into it."""
    words = ("smf", "export", "-", "-o", tmp_path / "tables")
    with started(*words, redirected="2>&-", stdin=subprocess.PIPE) as waits:
        while not (tmp_path / "tables").exists():
            assert waits.poll() is None
        assert Path(os.devnull) == Path(f"/proc/{waits.pid}/fd/2").readlink()
        waits.terminate()
