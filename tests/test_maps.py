"""Each package has a map, its README.md: it names every room there is, and none that is gone."""

import re
from pathlib import Path

import pytest

from test_architecture import ROWS

SRC = Path(__file__).parents[1] / "src" / "quaestor"
KINDS = (".py", ".lark", ".toml")
SELF_EXPLAINING = {"testing"}  # six modules, told by its own docstring
PACKAGES = sorted(path.parent for path in SRC.glob("*/__init__.py") if path.parent.name not in SELF_EXPLAINING)


def named(package):
    """What the map of a package has between backticks: files and folders."""
    text = (package / "README.md").read_text(encoding="utf-8")
    return {name for name in re.findall(r"`([\w./]+)`", text) if name.endswith((*KINDS, "/"))}


def rooms(package):
    """What stands directly in a package."""
    folders = {f"{path.name}/" for path in package.iterdir() if path.is_dir() and path.name != "__pycache__"}
    return folders | {path.name for path in package.iterdir() if path.suffix in KINDS and path.name != "__init__.py"}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_a_map_names_every_room(package):
    assert set() == rooms(package) - named(package)


@pytest.mark.parametrize("package", [SRC, *PACKAGES], ids=lambda path: path.name)
def test_a_map_names_no_room_that_is_gone(package):
    roots = package, SRC.parents[1]
    assert set() == {name for name in named(package) if not any((root / name).exists() for root in roots)}


def test_the_map_of_the_source_has_the_rows_of_the_architecture():
    lines = (SRC / "README.md").read_text(encoding="utf-8").splitlines()
    drawn = [set(re.findall(r"\w+", line[:42])) for line in lines if line.startswith("    ")]
    there = [{room for room in row if (SRC / room).exists() or (SRC / f"{room}.py").exists()} for row in ROWS]
    there[-1] -= {"readiness", "toml_text"}  # told below the picture
    assert there == drawn
