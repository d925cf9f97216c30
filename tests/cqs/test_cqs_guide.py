"""The guide is true: its Python blocks and its commands run, in order, in one directory."""

import re
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from quaestor.cli.main import main
from quaestor.server.coupling_facility import CouplingFacility

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "common-queue-server.md"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    facilities = [CouplingFacility(name) for name in ("cf.sock", "cf2.sock")]
    threads = [threading.Thread(target=facility.serve) for facility in facilities]
    for thread in threads:
        thread.start()
    yield tmp_path
    for facility, thread in zip(facilities, threads, strict=True):
        facility.stop()
        thread.join()


def test_the_guide_runs(here, capsys):
    blocks = re.findall(r"^```(python|console)\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert 3 == len(blocks)
    for kind, block in blocks:
        if kind == "python":
            exec(compile(block, GUIDE.name, "exec"), {"__name__": "__main__"})
            continue
        for line in block.splitlines():
            _, command, *words = line.split()
            if command != "quaestor" or words[0] == "cf":
                continue
            done = CliRunner().invoke(main, words, catch_exceptions=False)
            assert 0 == done.exit_code, (line, done.output)
    printed = capsys.readouterr().out
    for told in ("IMS2 is told: 1TRANX", "IMS1 is told: 5LTRMZ", "(b'O-MSG1',)"):
        assert told in printed
