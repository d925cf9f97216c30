"""Small files of a queue manager's directory: whole or as they were, and changed by one at a time (KF1-KF3)."""

import os
import stat
import threading

import pytest

from quaestor.server.kept_file import EVERYBODY_READS, OWNER_ONLY, alone, replace_file


@pytest.mark.parametrize(
    ("content", "kept"), [("größer\n", b"gr\xc3\xb6\xc3\x9fer\n"), (b"\x00\xff", b"\x00\xff"), ("", b"")]
)
def test_texts_and_bytes_are_kept(tmp_path, content, kept):
    replace_file(tmp_path / "file", content)
    assert kept == (tmp_path / "file").read_bytes()


@pytest.mark.parametrize("mode", [OWNER_ONLY, EVERYBODY_READS])
def test_who_may_read_it_is_said(tmp_path, mode):
    """Also when the file before it was open to everybody."""
    (tmp_path / "file").write_text("before")
    (tmp_path / "file").chmod(0o666)
    replace_file(tmp_path / "file", "now", mode)
    assert mode == stat.S_IMODE((tmp_path / "file").stat().st_mode)


def test_it_is_durable_before_it_takes_its_place_and_so_is_that(tmp_path, monkeypatch):
    """First the text, while the old one is in its place; then the directory, when the new one is."""
    seen, forced = [], os.fsync

    def fsync(fd):
        forced(fd)
        found = os.fstat(fd)
        seen.append(((tmp_path / "file").read_text(), "directory" if stat.S_ISDIR(found.st_mode) else found.st_size))

    monkeypatch.setattr(os, "fsync", fsync)
    (tmp_path / "file").write_text("before")
    replace_file(tmp_path / "file", "afterwards")
    assert [("before", 10), ("afterwards", "directory")] == seen
    assert "afterwards" == (tmp_path / "file").read_text()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_cannot_be_written_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch, error):
    def fails(_fd):
        raise error

    (tmp_path / "file").write_text("before")
    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(type(error)):
        replace_file(tmp_path / "file", "never")
    assert {"file": "before"} == {path.name: path.read_text() for path in tmp_path.iterdir()}


@pytest.mark.parametrize("place", ["none/file", "folder"])
def test_what_fails_names_the_file(tmp_path, place):
    """KF2: not the one beside it, of which nobody has heard."""
    (tmp_path / "folder" / "full").mkdir(parents=True)
    with pytest.raises(OSError, match="directory") as failed:
        replace_file(tmp_path / place, "text")
    assert str(tmp_path / place) == failed.value.filename
    assert ["folder"] == [path.name for path in tmp_path.iterdir()]


def test_what_a_crash_left_is_no_hindrance(tmp_path):
    (tmp_path / "file.new").write_text("left by a crash")
    replace_file(tmp_path / "file", "now")
    assert {"file": "now"} == {path.name: path.read_text() for path in tmp_path.iterdir()}


def test_who_is_alone_is_alone(tmp_path):
    """KF3: the second waits for the first, also in one process."""
    inside, waits, order = threading.Event(), threading.Event(), []

    def second():
        inside.wait(10)
        waits.set()
        with alone(tmp_path):
            order.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    with alone(tmp_path):
        inside.set()
        waits.wait(10)
        thread.join(0.05)
        order.append("first")
    thread.join(10)
    assert ["first", "second"] == order


def test_who_fails_is_no_longer_alone(tmp_path):
    with pytest.raises(ValueError, match="mine"), alone(tmp_path):
        raise ValueError("mine")
    with alone(tmp_path):
        assert [] == list(tmp_path.iterdir())
