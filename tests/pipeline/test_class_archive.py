"""The archive of Spark's classes: recorded once, used by later sessions, never in the way (A1-A4)."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from quaestor.pipeline.class_archive import options
from quaestor.pipeline.java import java_home

SOON, LATER, MUCH_LATER = 5.0, 60.0, 3600.0


@pytest.fixture
def java(tmp_path):
    home = tmp_path / "java"
    home.mkdir()
    (home / "release").write_text('JAVA_VERSION="17.0.1"', encoding="utf-8")
    return home


@pytest.fixture
def private(tmp_path):
    folder = tmp_path / "private"
    folder.mkdir()
    return folder


class Clock:
    """Seconds after now."""

    def __init__(self, after):
        self._after = after

    def __call__(self):
        return time.time() + self._after


def written(option):
    """Where a JVM told so writes its archive."""
    name = next(each for each in option.split() if each.startswith("-XX:ArchiveClassesAtExit="))
    return Path(name.partition("=")[2])


def test_the_first_session_records_and_the_one_beside_it_does_not(private, java):
    assert "ArchiveClassesAtExit" in options(private, java)
    beside = options(private, java)
    assert "ArchiveClassesAtExit" not in beside
    assert "SharedArchiveFile" not in beside


def test_what_was_recorded_is_used_when_it_is_whole(private, java):
    written(options(private, java)).write_bytes(b"classes")
    assert "SharedArchiveFile" not in options(private, java, Clock(SOON))  # it may still be written to
    used = options(private, java, Clock(LATER))
    assert f"-XX:SharedArchiveFile={private}" in used
    assert "ArchiveClassesAtExit" not in used


def test_another_java_has_another_archive(private, java):
    written(options(private, java)).write_bytes(b"classes")
    assert "SharedArchiveFile" in options(private, java, Clock(LATER))
    (java / "release").write_text('JAVA_VERSION="21.0.2"', encoding="utf-8")
    assert "ArchiveClassesAtExit" in options(private, java, Clock(LATER))


def test_a_record_that_never_came_to_an_end_is_begun_again(private, java):
    options(private, java)
    assert "ArchiveClassesAtExit" not in options(private, java, Clock(LATER))
    assert "ArchiveClassesAtExit" in options(private, java, Clock(MUCH_LATER))


def test_an_archive_that_is_no_archive_does_not_keep_a_jvm_from_starting(private):
    """A3: the JVM refuses it and loads classes as ever; nobody reads a word of it."""
    home = java_home(private)
    written(options(private, home)).write_bytes(os.urandom(100_000))
    told = options(private, home, Clock(LATER)).split()
    assert any(each.startswith("-XX:SharedArchiveFile=") for each in told)
    made = subprocess.run([home / "bin" / "java", *told, "-version"], capture_output=True, text=True, check=True)
    assert "archive" not in made.stdout + made.stderr
