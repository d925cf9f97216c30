"""What no command foresaw is one line with exit code 2, not a traceback (U1, U2)."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from quaestor.cli.main import main
from quaestor.cli.refused import extra_with

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - {"dev"}))
def test_the_extra_with_a_package_is_known(extra):
    for requirement in EXTRAS[extra]:
        package = requirement.partition("[")[0].partition(">")[0].partition("<")[0]
        assert package in "".join(EXTRAS[extra_with(package)])


@pytest.mark.parametrize(
    ("absent", "command", "said"),
    [
        ("pyspark", "lake status LAKE", "this needs the package pyspark: pip install 'quaestor[pipeline]'"),
        ("pyspark", "advise --lake LAKE", "this needs the package pyspark: pip install 'quaestor[pipeline]'"),
        ("simpy", "plan simulate --rate 10/s", "this needs the package simpy: pip install 'quaestor[planner]'"),
        ("msgpack", "demo cqs", "this needs the package msgpack: pip install 'quaestor[shared]'"),
    ],
)
def test_an_extra_that_is_not_installed_is_named(absent, command, said):
    """In an interpreter of its own, that does not find the package."""
    hidden = f"import sys; sys.modules[{absent!r}] = None; from quaestor.cli.main import main; main({command.split()})"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, env=environment, check=False)
    assert (2, f"Error: {said}\n") == (done.returncode, done.stderr)


def test_a_module_of_ours_that_is_missing_is_a_bug(monkeypatch):
    monkeypatch.setitem(sys.modules, "quaestor.cli.smf_info", None)
    done = CliRunner().invoke(main, ["smf", "info", "x"])
    assert isinstance(done.exception, ModuleNotFoundError)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
@pytest.mark.parametrize("command", [["smf", "describe", "QPST"], ["advise", "rules"], ["plan", "example"]])
def test_no_space_for_the_output_is_one_line(command):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "quaestor.cli.main", *command],
            stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False,
        )  # fmt: skip
    assert (2, "Error: No space left on device\n") == (done.returncode, done.stderr)
