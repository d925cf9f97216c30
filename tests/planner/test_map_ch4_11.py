"""The map of chapters 4 to 11 names what exists, and leaves no formula of these chapters out."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest

from quaestor.planner.source import FORMULAS

ROOT = Path(__file__).parents[2]
MAP = (ROOT / "docs" / "planner" / "mp16-ch4-11.md").read_text(encoding="utf-8")
INDEX = tomllib.loads((ROOT / "tests" / "oracles" / "mp16-ch4-11.toml").read_text(encoding="utf-8"))
NAMED = sorted(set(re.findall(r"`([a-z_]+)\.([A-Za-z_0-9]+)`", MAP)) - {("quaestor", "planner")})
MODULES = {module for module, _ in NAMED}


@pytest.mark.parametrize(("module", "name"), NAMED, ids=[".".join(pair) for pair in NAMED])
def test_what_the_map_names_exists(module, name):
    assert hasattr(importlib.import_module(f"quaestor.planner.{module}"), name)


def test_every_formula_of_the_extract_is_on_the_map():
    for module in MODULES:
        importlib.import_module(f"quaestor.planner.{module}")
    ours = {name for name, source in FORMULAS.items() if source.extract == "mp16-ch4-11"}
    assert not ours - {f"{module}.{name}" for module, name in NAMED}


def numbers(cell):
    for part in cell.split(","):
        first, _, last = part.strip().partition("-")
        yield from range(int(first), int(last or first) + 1)


def test_every_oracle_is_on_the_map():
    cells = re.findall(r"\| ([\d, -]*\d) \|$", MAP, flags=re.MULTILINE)
    assert set(range(1, INDEX["count"] + 1)) == {n for cell in cells for n in numbers(cell)}


def test_what_needs_a_running_queue_manager_says_what_it_needs():
    waiting = [oracle for oracle in INDEX["oracle"] if oracle.get("later")]
    assert waiting
    assert all(oracle["reason"].startswith("a live ") for oracle in waiting)
