"""A lake changes in one step or not at all, for one at a time."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from given import HOUR_US, MONDAY_US, dump, load_raw, raw_rows, task

from quaestor.pipeline import place as place_module
from quaestor.pipeline.errors import BusyLakeError, LakeError, LoadError, NewerLakeError, NoLakeError
from quaestor.pipeline.ingest import ingest
from quaestor.pipeline.lake import Lake

SRC = Path(__file__).parents[2] / "src"
RECORDS = [task(n, MONDAY_US + n * HOUR_US) for n in range(30)]


def test_there_is_no_lake_before_the_first_load(tmp_path):
    with pytest.raises(NoLakeError, match="there is no lake"):
        Lake.at(tmp_path / "lake")


def test_a_folder_with_other_things_is_not_made_into_a_lake(tmp_path):
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(LakeError, match=r"not a lake, and not empty \(letters.txt is in it\)"):
        Lake.made_at(tmp_path)
    with pytest.raises(LakeError, match="not a folder"):
        Lake.made_at(tmp_path / "letters.txt")


def test_a_lake_of_a_newer_version_is_refused(tmp_path):
    lake, _ = load_raw(tmp_path / "lake", [dump(tmp_path / "a", RECORDS)])
    head = tmp_path / "lake" / "lake.json"
    told = json.loads(head.read_text()) | {"format": 99, "writer": "quaestor 7.0"}
    head.write_text(json.dumps(told))
    with pytest.raises(NewerLakeError, match="lake format 99, written by quaestor 7.0; this version knows formats up to"):
        Lake.at(tmp_path / "lake")
    with pytest.raises(NewerLakeError):
        load_raw(tmp_path / "lake", [dump(tmp_path / "b", RECORDS[:1])])
    head.write_text("{}")
    with pytest.raises(LakeError, match="is this a lake"):
        lake.snapshot()


def test_a_change_that_is_not_committed_leaves_nothing(tmp_path):
    lake, _ = load_raw(tmp_path / "lake", [dump(tmp_path / "a", RECORDS[:10])])
    before, files = raw_rows(lake), sorted(lake.place.walk(""))
    with pytest.raises(ZeroDivisionError), lake.change() as change:
        ingest(None, change, [dump(tmp_path / "b", RECORDS[10:])])
        assert change.added
        raise ZeroDivisionError
    assert (before, files) == (raw_rows(lake), sorted(lake.place.walk("")))


def test_what_a_commit_retires_is_there_until_the_next_change(tmp_path):
    lake, _ = load_raw(tmp_path / "lake", [dump(tmp_path / "a", RECORDS)])
    [old] = {file.path for file in lake.snapshot().live("WTAS")} - set()
    with lake.change() as change:
        change.removed.add(old)
        change.commit()
    assert lake.place.exists(old)
    assert [] == lake.snapshot().live("WTAS")
    with lake.change():
        assert not lake.place.exists(old)


def test_the_second_load_waits_and_says_so_or_gives_up(tmp_path):
    lake, _ = load_raw(tmp_path / "lake", [dump(tmp_path / "a", RECORDS[:3])])
    said, done = [], threading.Event()

    def second():
        with lake.change(say=said.append) as change:
            change.commit()
            done.set()

    waiting = threading.Thread(target=second)
    with lake.change() as change:
        with pytest.raises(BusyLakeError, match=f"busy, process {os.getpid()} on .* is changing this lake"), lake.change(
            wait=False
        ):
            pass
        waiting.start()
        while not said:
            waiting.join(0.01)
        assert not done.is_set()
        change.commit()
    waiting.join(10)
    assert done.is_set()
    assert "waiting" in said[0]
    assert 3 == lake.snapshot().number


def test_a_commit_that_lost_a_race_is_given_up(tmp_path):
    """Where there is no lock (object stores) the snapshot's number tells."""
    lake, _ = load_raw(tmp_path / "lake", [dump(tmp_path / "a", RECORDS[:3])])
    with pytest.raises(LoadError, match="another load has changed this lake"), lake._change() as slow:
        with lake._change() as quick:
            quick.commit()
        slow.commit()
    assert 2 == lake.snapshot().number


def test_a_lake_at_a_uri(tmp_path):
    lake, _ = load_raw((tmp_path / "lake").as_uri(), [dump(tmp_path / "a", RECORDS)])
    plain, _ = load_raw(tmp_path / "plain", [tmp_path.joinpath("a").as_uri()])
    assert raw_rows(plain) == raw_rows(lake)


KILLED = """
import os, signal, sys
sys.path[:0] = [{src!r}, {tests!r}]
from given import load_raw
from quaestor.pipeline import lake, part_writer, place

left = int(sys.argv[1])

def deadly(function):
    def wrapped(*args, **kwargs):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **kwargs)
    return wrapped

place.Place.replace = deadly(place.Place.replace)
place.Place.remove = deadly(place.Place.remove)
part_writer.PartWriter._open = deadly(part_writer.PartWriter._open)
part_writer.PartWriter._file = deadly(part_writer.PartWriter._file)
place.Path.replace = deadly(place.Path.replace)
load_raw(sys.argv[2], sys.argv[3:])
"""


@pytest.mark.crash
def test_killed_at_any_moment_the_tables_are_as_before_or_complete(tmp_path):
    """Every write, rename and removal of a load is the last thing that a process does, in turn."""
    first, second = dump(tmp_path / "a", RECORDS[:20]), dump(tmp_path / "b", RECORDS[10:])
    before, _ = load_raw(tmp_path / "before", [first])
    after, _ = load_raw(tmp_path / "after", [first], [second])
    script = tmp_path / "killed.py"
    script.write_text(KILLED.format(src=str(SRC), tests=str(Path(__file__).parent)))
    lake, _ = load_raw(tmp_path / "lake", [first])
    outcomes = []
    for moment in (0, 1, 2, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18):
        ended = subprocess.run([sys.executable, script, str(moment), lake.place.root, second], check=False)
        rows = raw_rows(lake)
        assert rows in (raw_rows(before), raw_rows(after))
        outcomes.append((ended.returncode, rows == raw_rows(after)))
        if ended.returncode == 0:
            break
        assert -signal.SIGKILL == ended.returncode
        if rows == raw_rows(after):
            break
    assert (-signal.SIGKILL, False) in outcomes
    assert outcomes[-1][1]
    load_raw(lake.place.root, [second])
    assert raw_rows(after) == raw_rows(lake)
    live = set(lake.snapshot().files["path"].to_pylist())
    assert live == {name for name, _ in lake.place.walk("raw")}  # leftovers are swept
    assert not [name for name, _ in lake.place.walk("manifest") if "loading" in name]


def test_a_full_disk_is_one_line_and_changes_nothing(tmp_path, monkeypatch):
    from quaestor.pipeline import jobs
    from quaestor.pipeline.errors import NoSpaceError

    told = jobs._plain(OSError(28, "No space left on device"))
    assert isinstance(told, NoSpaceError)
    assert "no space left on the device; the tables are as they were" == str(told)
    assert place_module.Place(tmp_path).is_local
