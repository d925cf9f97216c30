"""Which Java starts Spark, and what it is not told (J1-J4)."""

import subprocess

import pytest

from quaestor.pipeline import java
from quaestor.pipeline.java import NoJavaError, java_home

VECTOR = "--add-modules=jdk.incubator.vector"
ACTION = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
OTHER = "--add-opens=java.base/java.lang=ALL-UNNAMED"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without any Java, on which some can be installed."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java.shutil, "which", lambda _: None)
    monkeypatch.setattr(java, "_packaged", lambda: None)

    def install(version, name="java"):
        home = tmp_path / name
        (home / "bin").mkdir(parents=True)
        (home / "release").write_text(f'JAVA_VERSION="{version}"')
        program = home / "bin" / "java"
        program.write_text(f'#!/bin/sh\necho \'openjdk version "{version}"\' >&2\necho "$@"\n')
        program.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(home))
        return home

    return install


def told(home, *options):
    return subprocess.run([home / "bin" / "java", *options], capture_output=True, text=True, check=True).stdout.split()


def test_no_java_is_one_line_that_says_what_to_install(tmp_path, machine):
    with pytest.raises(NoJavaError, match="no Java 17 or newer: none in JAVA_HOME or on PATH; install one"):
        java_home(tmp_path)


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2"])
def test_a_java_that_is_too_old_is_none(tmp_path, machine, version):
    machine(version)
    with pytest.raises(NoJavaError):
        java_home(tmp_path)


@pytest.mark.parametrize(
    ("version", "passed_on"), [("17.0.15", [ACTION, OTHER]), ("21.0.2", [ACTION, OTHER]), ("25.0.2", [OTHER])]
)
def test_a_java_is_not_asked_for_what_it_lacks_or_warns_of(tmp_path, machine, version, passed_on):
    machine(version)
    assert told(java_home(tmp_path), VECTOR, ACTION, OTHER) == passed_on


def test_the_stand_in_follows_the_java_behind_it(tmp_path, machine):
    """The class archive is one for each release (A1), so the stand-in has the release of what it runs."""
    machine("17.0.15")
    assert "17.0.15" in (java_home(tmp_path) / "release").read_text()
    machine("25.0.2", "newer")
    home = java_home(tmp_path)
    assert "25.0.2" in (home / "release").read_text()
    assert told(home, ACTION) == []


def test_a_second_session_and_the_children_find_the_java_that_the_first_found(tmp_path, machine, monkeypatch):
    """J4: a wrapper that ran itself would never end."""
    machine("17.0.15")
    stand_in = java_home(tmp_path)
    runs = (stand_in / "bin" / "java").read_text()
    for found in (stand_in, tmp_path / "." / "java-home", tmp_path / "java-home" / "bin" / ".."):
        monkeypatch.setenv("JAVA_HOME", str(found))
        assert stand_in == java_home(tmp_path)
        assert runs == (stand_in / "bin" / "java").read_text()
    assert told(stand_in, VECTOR, OTHER) == [OTHER]


def test_a_wrapper_of_another_folder_is_a_java_like_any_other(tmp_path, machine, monkeypatch):
    machine("17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path / "one")))
    assert told(java_home(tmp_path / "two"), VECTOR, OTHER) == [OTHER]


def test_the_java_of_this_machine_starts_without_a_word(tmp_path):
    program = java_home(tmp_path) / "bin" / "java"
    started = subprocess.run([program, VECTOR, "--version"], capture_output=True, check=False)
    assert b"incubator" not in started.stderr
