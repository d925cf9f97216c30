"""Generated pages are fresh: `make docs` renews them; lists of pages name every page."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from quaestor.cli import reference

DOCS = Path(__file__).parents[1] / "docs"
WITH_SOURCE = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "src")}
STALE = "is stale: run `make docs`"


@pytest.mark.parametrize("name", reference.formats())
def test_a_page_of_formats_is_fresh(name):
    path = DOCS / "formats" / name
    assert path.exists(), f"{name} is missing: run `make docs`"
    assert reference.formats()[name] == path.read_text(encoding="utf-8"), f"{name} {STALE}"


def test_no_page_of_formats_is_left_over():
    assert set(reference.formats()) == {path.name for path in (DOCS / "formats").glob("*.md")}


def test_the_page_of_the_advisor_is_fresh():
    assert reference.advisor() == (DOCS / "advisor.md").read_text(encoding="utf-8"), f"advisor.md {STALE}"


def test_the_page_of_mqsc_is_fresh():
    assert reference.mqsc() == (DOCS / "mqsc.md").read_text(encoding="utf-8"), f"mqsc.md {STALE}"


def test_the_page_of_commands_is_fresh(tmp_path):
    """In a process of its own: a command remembers the help option of whoever called it first."""
    subprocess.run([sys.executable, "-m", "quaestor.cli.reference", str(tmp_path)], env=WITH_SOURCE, check=True)
    assert (tmp_path / "cli.md").read_text() == (DOCS / "cli.md").read_text(), f"cli.md {STALE}"


def test_the_help_of_every_command_has_an_example():
    pages = (DOCS / "cli.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert [] == [page.partition("\n")[0] for page in pages if "\n  Example" not in page]


def test_the_list_of_decisions_has_every_decision_by_its_title():
    listed = re.findall(r"\| (\d+) \| \[(.*)\]\((.*)\) \|", (DOCS / "adr" / "README.md").read_text(encoding="utf-8"))
    there = []
    for path in (DOCS / "adr").glob("0*.md"):
        number, _, title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").partition(". ")
        assert int(number) == int(path.name[:4])
        there.append((number, title, path.name))
    assert sorted(there) == sorted(listed)


def test_writing_removes_pages_of_structures_that_are_gone(tmp_path):
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "QXYZ.md").write_text("old", encoding="utf-8")
    reference.write(tmp_path)
    assert set(reference.formats()) == {path.name for path in (tmp_path / "formats").glob("*.md")}


def test_a_command_that_is_registered_but_missing_is_said(tmp_path, monkeypatch, capsys):
    def gone():
        raise ImportError("No module named 'quaestor.cli.gone'")

    monkeypatch.setattr(reference, "commands", gone)
    assert 1 == reference.write(tmp_path)
    assert "cli.md not written: No module named 'quaestor.cli.gone'" in capsys.readouterr().err
    assert (tmp_path / "formats" / "QPST.md").exists()


def test_every_page_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "commands", lambda: "# Commands\n")
    assert 0 == reference.write(tmp_path)
    assert "# Commands\n" == (tmp_path / "cli.md").read_text(encoding="utf-8")


def test_the_help_of_a_command_and_of_those_below_it():
    import click

    @click.group()
    def top():
        """All of it."""

    @top.command()
    def part():
        """A part of it."""

    pages = dict(reference._help(top, "top", None))
    assert ["top", "top part"] == list(pages)
    assert "Usage: top part" in pages["top part"]
    assert "A part of it." in pages["top part"]
