"""Commands that take several dumps, one of which cannot be read: one line says which and why, the others count (E1)."""

from pathlib import Path

import pytest

from cli.commands import run
from pipeline.lakes import HOUR_US, MONDAY_US, dump, task
from quaestor.cli.dumps import progress

RECORDS = [task(n, MONDAY_US + n * HOUR_US) for n in range(1, 13)]
UNREAD = Path("/proc/self/mem")  # can be opened by its owner, and not be read from its beginning

COMMANDS = {
    "info": ("smf", "info"),
    "print": ("smf", "print"),
    "export": ("smf", "export", "-o", "out", "--processes", 1),
    "advise": ("advise",),
}


@pytest.fixture
def bad(tmp_path, monkeypatch):
    """Dumps that cannot be read, each in its own way and for every user: path and reason."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.smf").write_bytes(b"")
    (tmp_path / "folder.smf").mkdir()
    (tmp_path / "loop.smf").symlink_to("loop.smf")
    dump(tmp_path / "a.smf", RECORDS[:6])
    dump(tmp_path / "b.smf", RECORDS[6:])
    ways = {
        "missing.smf": "no such file",
        "folder.smf": "is a directory",
        "loop.smf": "Too many levels of symbolic links",
        "a.smf/inside": "Not a directory",
        "empty.smf": "empty",
    }
    return ways | ({str(UNREAD): "Input/output error"} if UNREAD.exists() else {})


@pytest.mark.parametrize("command", COMMANDS)
def test_one_that_cannot_be_read_is_one_line_and_stops_no_other(bad, command):
    for each, reason in bad.items():
        done = run(*COMMANDS[command], "a.smf", each, "b.smf", code=1)
        both = run(*COMMANDS[command], "a.smf", "b.smf")
        assert both.stdout == done.stdout
        assert f"{each}: {reason}" in done.stderr.splitlines()
        assert len(both.stderr.splitlines()) + 1 == len(done.stderr.splitlines())


@pytest.mark.parametrize("command", COMMANDS)
def test_none_that_can_be_read_is_exit_code_2(bad, command):
    done = run(*COMMANDS[command], *bad, code=2)
    assert [f"{each}: {reason}" for each, reason in bad.items()] == done.stderr.splitlines()


def test_the_bar_of_a_dump_that_was_removed_while_it_is_read_goes_on(tmp_path):
    with progress(str(tmp_path / "gone")) as advance:
        advance(1)
