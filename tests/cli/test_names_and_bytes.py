"""Names in place of directories, bytes that are no text, help that finds no space (E1, E2, U3)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.commands import refusal, run
from quaestor.cli.engine_door import DIRECTORY
from quaestor.cli.refused import Refused, unforeseen

ROOT = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "src")}


@pytest.fixture
def used(home):
    """QM1, which was started once and has a queue."""
    run("mqsc", "QM1", "-c", "DEFINE QLOCAL(ORDERS)")
    return home / "QM1"


# --- a name in place of a directory ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("check", "QM1"), "all is well"),
        (("log", "print", "QM1", "--limit", 1), "HEADER page 0/0"),
        (("log", "prune", "QM1"), "0 archives deleted, 0 kept"),
        (("log", "cold-start", "QM1", "--give-up-log", "--log-mb", 1), "the new log begins at"),
        (("pageset", "copy", "QM1", 1), "pages copied to copy-01"),
    ],
)
def test_a_queue_manager_that_was_created_is_found_by_its_name(used, words, said):
    assert said in run(*words).stdout
    assert [] == list(Path.cwd().iterdir())


def test_a_page_set_is_recovered_by_the_name_of_its_queue_manager(used):
    run("pageset", "copy", "QM1", 1)
    (used / "pageset-01").unlink()
    assert "page set 1 is recovered\n" == run("pageset", "recover", "QM1", 1).stdout


def test_structures_are_checked_by_the_name_of_a_member(used):
    assert f"Error: {used}: no member of a queue-sharing group is kept here" == refusal("cf", "check", "QM1")


def test_a_directory_that_is_there_comes_before_a_name(used):
    Path("QM1").mkdir()
    assert Path("QM1") == DIRECTORY.convert("QM1", None, None)
    assert "QM1: no queue manager is kept here" in refusal("check", "QM1")


@pytest.mark.parametrize("given", ["QM9", "./QM9", "home/QM1", "/QM1", ".", ""])
def test_what_names_no_queue_manager_is_a_directory(used, given):
    """A path of several parts is never a name."""
    assert Path(given) == DIRECTORY.convert(given, None, None)


# --- bytes that are no text ------------------------------------------------------------------------------------------


def test_commands_that_are_no_text_are_refused_before_one_is_run(used):
    """MQ2, U3: the shell hands bytes over as they are."""
    said = refusal("mqsc", "QM1", "-c", "DELETE QLOCAL(ORDERS)", "-c", "DISPLAY a\udcffb")
    assert said.endswith("this is not UTF-8: DELETE QLOCAL(ORDERS)DISPLAY a\\udcffb")
    assert "QUEUE(ORDERS)" in run("mqsc", "QM1", "-c", "DISPLAY QLOCAL(ORDERS)").stdout


@pytest.mark.parametrize(
    ("text", "encoding", "said"),
    [
        ("a\udcffb", "utf-8", "this is not UTF-8: a\\udcffb"),
        ("\ud800", "utf-8", "this is not UTF-8: \\ud800"),
        ("DESCR(Größe)", "ascii", "'\\xf6' cannot be written as ascii; PYTHONIOENCODING=utf-8 can"),
        ("€", "latin-1", "'\\u20ac' cannot be written as latin-1; PYTHONIOENCODING=utf-8 can"),
    ],
)
def test_characters_that_cannot_be_written(text, encoding, said):
    with pytest.raises(Refused) as refused, unforeseen():
        text.encode(encoding)
    assert said in refused.value.message
    assert 2 == refused.value.exit_code


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
@pytest.mark.parametrize("words", [["--help"], ["--version"], ["qmgr", "--help"], ["qmgr", "create", "--help"]])
def test_help_that_finds_no_space_is_one_line(words):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "quaestor.cli.main", *words],
            stdout=full, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, check=False,
        )  # fmt: skip
    assert (2, "Error: No space left on device\n") == (done.returncode, done.stderr)
