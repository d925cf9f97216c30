"""A lake changes in one step or not at all, for one at a time."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pipeline.lakes import HOUR_US, MONDAY_US, dump, load_raw, raw_rows, task
from quaestor.pipeline import place as place_module
from quaestor.pipeline.errors import BusyLakeError, LakeError, LoadError, NewerLakeError, NoLakeError
from quaestor.pipeline.ingest import ingest
from quaestor.pipeline.lake import Lake
from quaestor.pipeline.manifest import FILES_SCHEMA, RAW, LakeFile, files_table, packed, unpacked

SRC = Path(__file__).parents[2] / "src"
RECORDS = [task(n, MONDAY_US + n * HOUR_US // 2) for n in range(30)]


def test_there_is_no_lake_before_the_first_load(tmp_path):
    with pytest.raises(NoLakeError, match="there is no lake"):
        Lake.at(tmp_path / "lake")


def test_a_folder_with_other_things_is_not_made_into_a_lake(tmp_path):
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(LakeError, match=r"not a lake, and not empty \(letters.txt is in it\)"):
        Lake.made_at(tmp_path)
    with pytest.raises(LakeError, match="not a folder"):
        Lake.made_at(tmp_path / "letters.txt")


def test_a_place_where_nothing_may_be_made_is_told_beforehand(tmp_path, monkeypatch):
    """K4. Nothing is made by the question, and what is asked about is the folder that is there."""
    assert not Lake.to_be_at(tmp_path / "new" / "lake").place.exists("")
    monkeypatch.setattr("os.access", lambda place, _: place != tmp_path)
    with pytest.raises(LakeError, match="new/lake: Permission denied"):
        Lake.to_be_at(tmp_path / "new" / "lake")
    assert [] == list(tmp_path.iterdir())


def test_a_lake_of_a_newer_version_is_refused(tmp_path):
    lake, _ = load_raw(tmp_path / "lake", [dump(tmp_path / "a", RECORDS)])
    head = tmp_path / "lake" / "lake.json"
    told = json.loads(head.read_text()) | {"format": 99, "writer": "quaestor 7.0"}
    head.write_text(json.dumps(told))
    with pytest.raises(
        NewerLakeError, match=r"lake format 99, written by quaestor 7\.0; this version knows formats up to"
    ):
        Lake.at(tmp_path / "lake")
    with pytest.raises(NewerLakeError):
        load_raw(tmp_path / "lake", [dump(tmp_path / "b", RECORDS[:1])])
    head.write_text("{}")
    with pytest.raises(LakeError, match="is this a lake"):
        lake.snapshot()


def test_nobody_holds_a_list_that_was_unpacked():
    """M5: otherwise a thread of Arrow's lets go of it when the interpreter is gone, and the command is aborted."""
    files = [LakeFile("WTAS", RAW, None, None, f"{number}.parquet", 1, 1) for number in range(100)]
    content = packed(files_table(files))
    held = sys.getrefcount(content)
    for _ in range(200):
        assert unpacked(content, FILES_SCHEMA).num_rows == 100
        assert sys.getrefcount(content) == held


def test_a_change_that_is_not_committed_leaves_nothing(tmp_path):
    lake, _ = load_raw(tmp_path / "lake", [dump(tmp_path / "a", RECORDS[:10])])
    before, files = raw_rows(lake), sorted(lake.place.walk(""))

    def fails():
        with lake.change() as change:
            ingest(None, change, [dump(tmp_path / "b", RECORDS[10:])])
            assert change.added
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert (before, files) == (raw_rows(lake), sorted(lake.place.walk("")))


def test_what_a_commit_retires_is_there_until_the_next_change(tmp_path):
    lake, _ = load_raw(tmp_path / "lake", [dump(tmp_path / "a", RECORDS)])
    [old] = [file.path for file in lake.snapshot().live("WTAS")]
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
        with (
            pytest.raises(BusyLakeError, match=f"busy, process {os.getpid()} on .* is changing this lake"),
            lake.change(wait=False),
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
    with lake._change() as slow:
        with lake._change() as quick:
            quick.commit()
        with pytest.raises(LoadError, match="another load has changed this lake"):
            slow.commit()
    assert 2 == lake.snapshot().number


def test_a_lake_at_a_uri(tmp_path):
    lake, _ = load_raw((tmp_path / "lake").as_uri(), [dump(tmp_path / "a", RECORDS)])
    plain, _ = load_raw(tmp_path / "plain", [tmp_path.joinpath("a").as_uri()])
    assert raw_rows(plain) == raw_rows(lake)


KILLED = """
import os, shutil, signal, sys
sys.path[:0] = [{src!r}, {tests!r}]
from pipeline.lakes import load_raw
from quaestor.pipeline import part_writer, place

def deadly(function):
    def wrapped(*args, **kwargs):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **kwargs)
    return wrapped

for owner, name in [(place.Place, "replace"), (place.Place, "remove"), (place.Path, "replace"),
                    (part_writer.PartWriter, "_open"), (part_writer.PartWriter, "_file")]:
    setattr(owner, name, deadly(getattr(owner, name)))
folder, dump = sys.argv[1:]
for moment in range(1000):
    left = moment
    shutil.copytree(folder + "/lake", folder + "/state-%03d" % moment)
    child = os.fork()
    if child == 0:
        load_raw(folder + "/state-%03d" % moment, [dump])
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
"""


@pytest.mark.crash
def test_killed_at_any_moment_the_tables_are_as_before_or_complete(tmp_path):
    """Every write, rename and removal of a load is the last thing that its process does, in turn."""
    first, second = dump(tmp_path / "a", RECORDS[:20]), dump(tmp_path / "b", RECORDS[10:])
    before = raw_rows(load_raw(tmp_path / "lake", [first])[0])
    after = raw_rows(load_raw(tmp_path / "after", [first], [second])[0])
    script = tmp_path / "killed.py"
    script.write_text(KILLED.format(src=str(SRC), tests=str(Path(__file__).parents[1])))
    subprocess.run([sys.executable, script, tmp_path, second], check=True, timeout=300)
    states = [Lake.at(each) for each in sorted(tmp_path.glob("state-*"))]
    complete = [after == raw_rows(each) for each in states]
    assert all(done or before == raw_rows(each) for done, each in zip(complete, states, strict=True))
    commit = complete.index(True)
    assert 15 < commit < len(states) - 1  # some died after the commit, too
    assert all(complete[commit:])
    for lake in (states[commit // 2], states[commit - 1], states[commit]):  # the next load ends it, and sweeps
        load_raw(lake.place.root, [second])
        assert after == raw_rows(lake)
        assert set(lake.snapshot().files["path"].to_pylist()) == {name for name, _ in lake.place.walk("raw")}
        assert not [name for name, _ in lake.place.walk("manifest") if "loading" in name]


def test_a_full_disk_is_one_line_and_changes_nothing(tmp_path, monkeypatch):
    from quaestor.pipeline import jobs
    from quaestor.pipeline.errors import NoSpaceError

    told = jobs._plain(OSError(28, "No space left on device"))
    assert isinstance(told, NoSpaceError)
    assert "no space left on the device; the tables are as they were" == str(told)
    assert place_module.Place(tmp_path).is_local
