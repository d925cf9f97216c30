"""Commands that take several dumps, one of which cannot be read: one line says which and why, the others count (E1)."""

import json
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from cli.commands import run
from pipeline.lakes import HOUR_US, MONDAY_US, dump, task
from quaestor.cli import lake_load
from quaestor.cli.dumps import progress
from quaestor.pipeline import dump_orders

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


# --- lake load -------------------------------------------------------------------------------------------------------

SPARK = "Spark starts"


@pytest.fixture
def no_spark(monkeypatch):
    """Spark's start is a line; the load is done in this process."""

    @contextmanager
    def started(_):
        click.echo(SPARK, err=True)
        yield None

    monkeypatch.setattr(lake_load, "session", started)


@pytest.mark.usefixtures("no_spark")
def test_a_load_tells_before_spark_starts_what_it_cannot_read(bad):
    bad = {each: reason for each, reason in bad.items() if each not in ("folder.smf", str(UNREAD))}
    done = run("lake", "load", "LAKE", "a.smf", *bad, "folder.smf", "b.smf", "a.smf", "--no-summaries", code=1)
    told = [f"{each}: {reason}" for each, reason in bad.items()]
    assert [*told, "folder.smf: no file in this folder", SPARK] == done.stderr.splitlines()
    assert done.stdout.startswith(f"2 dumps loaded, {len(bad) + 1} could not be used: 12 records, ")
    again = run("lake", "load", "LAKE", "a.smf", "missing.smf", "--no-summaries", "--json", code=1)
    told = json.loads(again.stdout)
    assert (0, [str(Path("a.smf").absolute())], ["missing.smf"]) == (told["dumps"], told["known"], told["unusable"])


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("output", [[], ["--json"]], ids=["text", "json"])
def test_a_load_of_nothing_that_can_be_read_does_not_start_spark(bad, output):
    done = run("lake", "load", "LAKE", "missing.smf", "folder.smf", "empty.smf", *output, code=2)
    assert ["missing.smf: no such file", "folder.smf: no file in this folder", "empty.smf: empty"] == (
        done.stderr.splitlines()
    )
    assert "" == done.stdout
    assert not Path("LAKE").exists()


@pytest.mark.usefixtures("no_spark", "bad")
@pytest.mark.parametrize("more", [[], ["missing.smf"]], ids=["alone", "beside a missing one"])
def test_a_load_in_which_nothing_can_be_used_is_exit_code_2(more):
    """As `smf info` ends for the same dumps; that it is kept in REJECTS does not make it loaded."""
    Path("page.html").write_bytes(b"<html>no dump</html>" * 100)
    run("smf", "info", "page.html", *more, code=2)
    done = run("lake", "load", "LAKE", "page.html", *more, "--no-summaries", code=2)
    assert done.stdout.startswith(f"0 dumps loaded, {1 + len(more)} could not be used: 0 records, ")
    assert "page.html: " in done.stderr
    run("lake", "load", "LAKE", "a.smf", "--no-summaries")
    Path("other.html").write_bytes(b"<html>nor this</html>" * 100)
    run("lake", "load", "LAKE", "a.smf", "other.html", "--no-summaries", code=1)  # a.smf is known: it is loaded


@pytest.mark.usefixtures("no_spark", "bad")
def test_a_dump_of_which_nothing_was_loaded_is_told_each_time():
    """G2: it is in the ledger for what REJECTS tells of it, and that does not make it known as loaded."""
    for name in ("page.html", "copy.html"):
        Path(name).write_bytes(b"<html>no dump</html>" * 100)
    for names in (["page.html"], ["page.html"], ["copy.html"], ["page.html", "copy.html"]):
        done = run("lake", "load", "LAKE", *names, "--no-summaries", code=2)
        assert done.stdout.startswith(f"0 dumps loaded, {len(names)} could not be used: 0 records, ")
        why = [f"{Path(name).absolute()}: no SMF record: this is text" for name in names]
        assert [SPARK, *why] == done.stderr.splitlines()
    told = json.loads(run("lake", "load", "LAKE", "page.html", "a.smf", "--no-summaries", "--json", code=1).stdout)
    assert (1, [], [str(Path("page.html").absolute())]) == (told["dumps"], told["known"], told["unusable"])
    run("lake", "load", "LAKE", "page.html", "a.smf", "--no-summaries", code=1)  # a.smf is known: it is loaded


@pytest.mark.usefixtures("no_spark", "bad")
def test_copies_of_a_dump_that_cannot_be_used_are_none_either():
    for name in ("page.html", "copy.html"):
        Path(name).write_bytes(b"<html>no dump</html>" * 100)
    done = run("lake", "load", "LAKE", "page.html", "copy.html", "--no-summaries", code=2)
    assert done.stdout.startswith("0 dumps loaded, 2 could not be used: 0 records, 0 of them copies, 1 damage;")


@pytest.mark.usefixtures("no_spark", "bad")
def test_an_empty_dump_is_told_each_time(tmp_path):
    """It is no content that could be known already."""
    for _ in range(2):
        done = run("lake", "load", "LAKE", "a.smf", "empty.smf", "--no-summaries", code=1)
        assert ["empty.smf: empty", SPARK] == done.stderr.splitlines()


@pytest.mark.usefixtures("no_spark", "bad")
def test_of_a_folder_what_can_be_read_is_loaded(tmp_path):
    (tmp_path / "folder.smf" / "none").write_bytes(b"")
    dump(tmp_path / "folder.smf" / "some", RECORDS[:3])
    done = run("lake", "load", "LAKE", "folder.smf", "--no-summaries", code=1)
    assert [f"{Path('folder.smf', 'none')}: empty", SPARK] == done.stderr.splitlines()
    assert done.stdout.startswith("1 dump loaded, 1 could not be used: 3 records, ")


@pytest.mark.usefixtures("no_spark", "bad")
def test_a_dump_that_goes_when_spark_has_started_is_told_too(tmp_path, monkeypatch):
    """Beside another, and alone: then nothing was changed."""
    read = dump_orders._run

    def vanishing(*given):
        (tmp_path / "b.smf").unlink(missing_ok=True)
        return read(*given)

    monkeypatch.setattr(dump_orders, "_run", vanishing)
    done = run("lake", "load", "LAKE", "a.smf", "b.smf", "--no-summaries", code=1)
    gone = f"{tmp_path / 'b.smf'}: a task could not read it: no such file"
    assert [SPARK, gone] == done.stderr.splitlines()
    assert done.stdout.startswith("1 dump loaded, 1 could not be used: 6 records, ")
    dump(tmp_path / "b.smf", RECORDS[6:])
    assert [SPARK, gone] == run("lake", "load", "LAKE", "b.smf", "--no-summaries", code=2).stderr.splitlines()


# --- a bar while a dump is read --------------------------------------------------------------------------------------


def test_the_bar_of_a_dump_that_was_removed_while_it_is_read_goes_on(tmp_path):
    with progress(str(tmp_path / "gone")) as advance:
        advance(1)
