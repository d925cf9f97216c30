"""The planning guide is run: its commands, its figures, its code."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from quaestor.cli.main import main

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "planning.md"
TEXT = GUIDE.read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "work.toml"
    path.write_text(run("plan example").stdout, encoding="utf-8")
    return path


def run(command):
    return CliRunner().invoke(main, command.split())


def holds(block, expected_code=0):
    """Run a console block: every line below the command is one that it prints."""
    command, *lines = block.strip("\n").splitlines()
    found = run(command.removeprefix("$ quaestor "))
    assert expected_code == found.exit_code, found.output
    printed = found.output.splitlines()
    for line in lines:
        assert line in printed, f"{command} does not print: {line}"


def larger_logs(work, log_size, page_set_size):
    text = work.read_text(encoding="utf-8")
    text = text.replace('size = "2 GB"\nactive_logs = 8', f'size = "{log_size}"\nactive_logs = 10')
    text = text.replace('number = 3\nsize = "4 GB"', f'number = 3\nsize = "{page_set_size}"')
    work.write_text(text, encoding="utf-8")


def test_the_guide_has_the_blocks_that_are_run():
    assert 7 == len(CONSOLE)


def test_the_findings_of_today(work):
    for block in CONSOLE[1:4]:
        holds(block)


def test_the_mistake_that_is_shown(work):
    text = work.read_text(encoding="utf-8").replace('size = "1000"', 'size = "200 MB"', 1)
    work.write_text(text, encoding="utf-8")
    found = run("plan work.toml")
    shown = re.search(r"```text\n(\[\[flow\]\].*)\n```", TEXT)[1]
    assert 2 == found.exit_code
    assert shown in found.stderr


def test_the_definitions_that_are_shown(work):
    printed = run("plan work.toml").stdout.splitlines()
    for line in re.search(r"```text\n(\* page set.*?)```", TEXT, re.DOTALL)[1].strip().splitlines():
        assert line in printed


def test_the_change_holds_and_growth_breaks_it(work):
    larger_logs(work, "2791 MB", "6 GB")
    assert 0 == run("plan work.toml --check").exit_code
    holds(CONSOLE[4])


def test_the_decision_lasts(work):
    larger_logs(work, "4 GB", "12 GB")
    assert 0 == run("plan work.toml --check").exit_code
    holds(CONSOLE[5])


def test_the_code_of_the_guide_runs():
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert 2 == len(blocks)
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)


def test_the_page_of_the_guide(work):
    holds(CONSOLE[6])
    assert work.with_name("plan.html").stat().st_size < 200 * 1024
