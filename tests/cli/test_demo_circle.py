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
    done = CliRunner().invoke(main, ["demo", "circle", "--out", str(tmp_path / "out")])
    assert 0 == done.exit_code, done.output
    (report,) = done.stdout.splitlines()
    assert "PAYMENTS" in Path(report).read_text(encoding="utf-8")
    said = done.stderr
    first, second = said.split("Altered as advised")
    assert "ALTER BUFFPOOL(1) BUFFERS(2500)" in first
    assert "buffer pool 1 has 2500 buffers" in second
    assert "BUFFERS(" not in second.split("buffer pool 1 has 2500 buffers")[1]
    assert "Nothing left to say about the pool after 2 rounds." in said
