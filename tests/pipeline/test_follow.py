"""Following a folder without a session: what arrives is loaded once, whatever happens to the files (B1 to B5)."""

import os
from pathlib import Path

import pytest

from pipeline.lakes import MONDAY_US, SECOND_US, dump, raw_rows, task
from quaestor.pipeline import dump_orders
from quaestor.pipeline.errors import LoadError
from quaestor.pipeline.flow import Definitions
from quaestor.pipeline.follow import Follower
from quaestor.pipeline.lake import Lake

TASKS = [task(n, MONDAY_US + n * SECOND_US) for n in range(12)]


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "arriving"
    made.mkdir()
    return made


@pytest.fixture
def follower(tmp_path, folder):
    return Follower(None, tmp_path / "lake", folder, Definitions({}))


def puts(root):
    """The tasks that the lake holds, by the number of their commits."""
    rows = raw_rows(Lake.at(root))["WTAS"]
    return sorted(int(row.partition("'commits': ")[2].partition(",")[0]) for row in rows)


def test_a_dump_is_loaded_once_it_has_settled(tmp_path, folder, follower):
    assert follower.step() is None
    dump(folder / "a", TASKS[:2])
    assert follower.step() is None
    dump(folder / "a", TASKS[:3])  # it grew
    assert follower.step() is None
    assert 3 == follower.step().ingest.records
    assert follower.step() is None
    assert [0, 1, 2] == puts(tmp_path / "lake")


def test_a_dump_that_grew_after_all_brings_what_is_new(tmp_path, folder, follower):
    dump(folder / "a", TASKS[:2])
    assert 2 == follower.step(settled=True).ingest.records
    dump(folder / "a", TASKS[:5])
    follower.step()
    report = follower.step()
    assert (5, 2) == (report.ingest.records, report.ingest.copies)
    assert [0, 1, 2, 3, 4] == puts(tmp_path / "lake")


def test_a_dump_that_another_of_its_size_replaced_is_loaded(tmp_path, folder, follower):
    """B2: one name, written anew day by day; two of these dumps may well be of one size."""
    dump(folder / "today", TASKS[:3])
    size = (folder / "today").stat().st_size
    follower.step(settled=True)
    dump(folder / "today", TASKS[3:6])
    later = (folder / "today").stat().st_mtime_ns + 1_000_000_000
    os.utime(folder / "today", ns=(later, later))
    assert size == (folder / "today").stat().st_size
    assert follower.step() is None  # not settled
    assert 3 == follower.step().ingest.records
    assert follower.step() is None
    assert [0, 1, 2, 3, 4, 5] == puts(tmp_path / "lake")


def test_a_dump_that_was_only_touched_is_known(folder, follower):
    dump(folder / "a", TASKS[:3])
    follower.step(settled=True)
    os.utime(folder / "a", ns=(1, 1))
    report = follower.step(settled=True)
    assert (0, [str(folder / "a")]) == (report.ingest.dumps, report.ingest.known)
    assert follower.step(settled=True) is None


def test_after_a_restart_what_the_ledger_names_is_not_read_again(tmp_path, folder, follower):
    dump(folder / "a", TASKS[:3])
    follower.step(settled=True)
    again = Follower(None, tmp_path / "lake", folder, Definitions({}))
    assert again.step(settled=True) is None
    dump(folder / "b", TASKS[3:4])
    assert 1 == again.step(settled=True).ingest.records


def test_what_is_no_dump_yet_is_not_looked_at(tmp_path, folder):
    """B3, and the pattern."""
    for name in (".a.smf", "a.part", "a.tmp", "a.filepart", "notes.txt"):
        dump(folder / name, TASKS[:1])
    (folder / "b.smf").mkdir()
    follower = Follower(None, tmp_path / "lake", folder, Definitions({}), "*.smf")
    assert follower.step(settled=True) is None
    dump(folder / "c.smf", TASKS[:1])
    assert 1 == follower.step(settled=True).ingest.records


def test_a_dump_that_vanishes_before_its_load_is_no_failure(tmp_path, folder, follower, monkeypatch):
    """B4: two of them, one after the look and one in the middle of it. What is still there is loaded."""
    for name in "abc":
        dump(folder / name, TASKS[:1])
    stat, found = Path.stat, []

    def vanishing(path, **how):
        if path.name == "a" and not how and found.append(path) is None and len(found) == 2:
            path.unlink()
        return stat(path, **how)

    monkeypatch.setattr(Path, "stat", vanishing)
    assert {str(folder / "b"), str(folder / "c")} == {name for name, _ in follower._arrived()}
    monkeypatch.undo()
    (folder / "b").unlink()
    monkeypatch.setattr(Follower, "_arrived", lambda _: [(str(folder / each), (1, 1)) for each in "bc"])
    report = follower.step(settled=True)
    assert (1, []) == (report.ingest.records, report.ingest.unread)
    (folder / "c").unlink()
    monkeypatch.setattr(Follower, "_arrived", lambda _: [(str(folder / "b"), (1, 1))])
    assert follower.step(settled=True) is None
    assert [0] == puts(tmp_path / "lake")


def test_a_dump_that_vanishes_in_the_middle_of_its_load_is_no_failure(folder, follower, monkeypatch):
    """B4, with another dump and alone."""
    run = dump_orders._run

    def vanishing(*given):
        (folder / "b").unlink(missing_ok=True)
        return run(*given)

    monkeypatch.setattr(dump_orders, "_run", vanishing)
    dump(folder / "b", TASKS[:1])
    assert follower.step(settled=True) is None
    dump(folder / "b", TASKS[:1])
    dump(folder / "c", TASKS[1:2])
    report = follower.step(settled=True)
    assert (1, []) == (report.ingest.records, report.ingest.unread)


def test_a_dump_that_is_there_and_cannot_be_read_is_told_once(folder, follower):
    """B5: beside a good one and by itself; when there is something in it, it is loaded."""
    (folder / "a").write_bytes(b"")
    dump(folder / "b", TASKS[:2])
    first = follower.step(settled=True).ingest
    assert (2, [(str(folder / "a"), "empty")]) == (first.records, first.unread)
    assert follower.step(settled=True) is None
    (folder / "c").write_bytes(b"")
    assert [(str(folder / "c"), "empty")] == follower.step(settled=True).ingest.unread
    assert follower.step(settled=True) is None
    dump(folder / "a", TASKS[2:])
    assert len(TASKS) - 2 == follower.step(settled=True).ingest.records


def test_a_dump_that_cannot_be_read_is_told(folder, follower, monkeypatch):
    dump(folder / "a", TASKS[:1])

    def refuse(*_, **__):
        raise LoadError("a: Permission denied")

    monkeypatch.setattr("quaestor.pipeline.flow.load", refuse)
    with pytest.raises(LoadError, match="a: Permission denied"):
        follower.step(settled=True)
