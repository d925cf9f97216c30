"""The guide from a dump to a decision is run: every command, and every line that it shows."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from quaestor.cli.main import main

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "from-dump-to-decision.md"
BLOCKS = re.findall(r"```console\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
ENDS_WITH = {"advise prod.smf": 1}  # alerts


def test_the_guide_has_the_steps():
    words = [block.split()[2] for block in BLOCKS]
    assert ["smf", "smf", "advise", "advise", "lake", "plan", "plan", "plan", "plan"] == words


@pytest.mark.usefixtures("spark")
def test_every_command_prints_what_the_guide_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in BLOCKS:
        command, *lines = block.strip("\n").splitlines()
        words = command.removeprefix("$ quaestor ")
        found = CliRunner().invoke(main, shlex.split(words))
        assert ENDS_WITH.get(words, 0) == found.exit_code, (words, found.output)
        printed = found.output.splitlines()
        for line in lines:
            assert line in printed, f"{words} does not print: {line}"
