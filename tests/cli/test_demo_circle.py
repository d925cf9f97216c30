"""`quaestor demo circle`: a queue manager's own accounts become a report, and advice that mends its pool."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from quaestor.cli import demo_workload
from quaestor.cli.main import main


@pytest.fixture(autouse=True)
def shorter(monkeypatch):
    """A tenth of the first act's work."""
    for name in ("TRANSACTIONS", "REQUESTS", "LARGE", "BROWSES"):
        monkeypatch.setattr(demo_workload, name, getattr(demo_workload, name) // 20)


def test_the_circle_closes(spark, tmp_path):
    """By the main command: the month first, whose report it ends with, then the circle."""
    done = CliRunner().invoke(main, ["demo", "--profile", "small", "--out", str(tmp_path / "my demo")])
    assert 0 == done.exit_code, done.output
    assert [str(tmp_path / "my demo" / "report.html")] == done.stdout.splitlines()
    assert Path(done.stdout.strip()).is_file()
    assert "PAYMENTS" in (tmp_path / "my demo" / "circle" / "report.html").read_text(encoding="utf-8")
    said = done.stderr
    assert said.index("quaestor smf synth") < said.index("quaestor plan log") < said.index("quaestor smf info")
    first, second = said.split("Altered as advised")
    assert "ALTER BUFFPOOL(1) BUFFERS(2500)" in first
    assert "buffer pool 1 has 2500 buffers" in second
    assert "BUFFERS(" not in second.split("buffer pool 1 has 2500 buffers")[1]
    assert "Nothing left to say about the pool after 2 rounds." in said
