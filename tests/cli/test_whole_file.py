"""Files that commands write appear whole or not at all (WF1-WF4)."""

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from cli.commands import refusal, started
from quaestor.cli.whole_file import whole_file
from quaestor.smf import dump as dumps


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_there_when_all_of_it_is_written(tmp_path):
    with whole_file(tmp_path / "report") as stream:
        stream.write(b"all")
        stream.flush()
        assert "report" not in names(tmp_path)
    assert b"all" == (tmp_path / "report").read_bytes()
    assert ["report"] == names(tmp_path)


def _half(stream, failure):
    stream.write(b"half")
    raise failure


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt(), SystemExit(143)])
def test_what_fails_leaves_the_file_that_was_there(tmp_path, failure):
    (tmp_path / "report").write_text("old")
    with pytest.raises(type(failure)), whole_file(tmp_path / "report") as stream:
        _half(stream, failure)
    assert "old" == (tmp_path / "report").read_text()
    assert ["report"] == names(tmp_path)


def test_rights_stay_and_a_link_stays_a_link(tmp_path):
    (tmp_path / "kept").write_text("old")
    (tmp_path / "kept").chmod(0o640)
    (tmp_path / "link").symlink_to("kept")
    with whole_file(tmp_path / "link") as stream:
        stream.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert "new" == (tmp_path / "kept").read_text()
    assert 0o640 == (tmp_path / "kept").stat().st_mode & 0o777


def test_a_new_file_has_the_rights_that_new_files_have(tmp_path):
    (tmp_path / "other").touch()
    with whole_file(tmp_path / "report"):
        pass
    assert (tmp_path / "other").stat().st_mode == (tmp_path / "report").stat().st_mode


def test_a_pipe_is_written_as_it_is(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    with whole_file(tmp_path / "pipe") as stream:
        stream.write(b"through")
    reader.join()
    assert [b"through"] == read
    assert ["pipe"] == names(tmp_path)


@pytest.mark.parametrize(
    ("place", "why"),
    [("no/such", "No such file or directory"), ("file/in", "Not a directory"), ("x" * 300, "File name too long")],
)
@pytest.mark.parametrize(
    "words",
    [
        ("report", "html", "-o"),
        ("report", "run", "stats", "-o"),
        ("plan", "--html"),
        ("plan", "--from-lake", "none", "--save"),
        ("qmgr", "figures", "QM9", "-o"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_when_the_command_begins(tmp_path, words, place, why):
    """WF5: before a lake, a workload or a queue manager is looked at."""
    (tmp_path / "file").touch()
    assert f"Error: {tmp_path / place}: {why}" == refusal(*words, tmp_path / place)


@pytest.mark.parametrize("guarded", ["report", ""])
def test_a_file_that_may_not_be_written_is_refused_when_the_command_begins(tmp_path, monkeypatch, guarded):
    (tmp_path / "report").write_text("old")
    monkeypatch.setattr("os.access", lambda place, _: Path(place) != tmp_path / guarded)
    output = tmp_path / (guarded or "new")
    assert f"Error: {output}: Permission denied" == refusal("report", "html", "-o", output)


def test_a_dump_that_cannot_be_finished_leaves_the_old_one(tmp_path, monkeypatch):
    (tmp_path / "dump.smf").write_text("old")

    def full(_self):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(dumps.DumpWriter, "close", full)
    said = f"Error: {tmp_path / 'dump.smf'}: No space left on device"
    assert said == refusal("smf", "synth", "-o", tmp_path / "dump.smf", "--size", "200kB")
    assert "old" == (tmp_path / "dump.smf").read_text()
    assert ["dump.smf"] == names(tmp_path)


def test_a_dump_goes_through_a_pipe_without_a_list_beside_it(tmp_path):
    with started("smf", "synth", "-o", "/dev/stdout", "--size", "200kB", stdout=subprocess.PIPE) as made:
        with started("smf", "info", "-", stdin=made.stdout, stdout=subprocess.PIPE) as read:
            assert "no damage" in read.communicate()[0]
        assert made.communicate()[1].endswith("incidents\n")
    assert (0, 0) == (made.returncode, read.returncode)
    assert not Path("/dev/stdout.incidents.json").exists()


def test_a_dump_that_is_terminated_is_not_there(tmp_path):
    with started("smf", "synth", "-p", "bench-day", "-o", tmp_path / "dump.smf") as made:
        while not names(tmp_path):
            assert made.poll() is None
        made.terminate()
    assert 128 + signal.SIGTERM == made.returncode
    assert [] == names(tmp_path)


def test_an_export_that_is_terminated_leaves_nothing_behind(tmp_path):
    """V3. A pipe that nobody closes keeps it waiting for the rest of its dump."""
    words = ("smf", "export", "-", "-o", tmp_path / "tables")
    with started(*words, stdin=subprocess.PIPE) as made:
        while not (tmp_path / "tables").exists() or not names(tmp_path / "tables"):
            assert made.poll() is None
        made.terminate()
        made.communicate()
    assert 128 + signal.SIGTERM == made.returncode
    assert [] == names(tmp_path / "tables")
