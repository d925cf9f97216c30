"""What tests of commands share; a module with a place of its own has a fixture of that name."""

import pytest

from cli.commands import run


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The place of queue managers, with QM1 in it; the commands run in an empty folder beside it."""
    monkeypatch.setenv("QUAESTOR_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("QUAESTOR_PASSWORD", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    run("qmgr", "create", "QM1", "--log-mb", 1, "--logs", 2)
    return tmp_path / "home"
