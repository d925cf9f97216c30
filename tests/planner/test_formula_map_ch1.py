"""docs/planner/mp16-ch1.md is complete and true: every item has a row, every home exists, every formula is listed."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from quaestor.planner.source import FORMULAS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "planner" / "mp16-ch1.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ((?:F|T|M|A)-\d+[a-f]?|ORACLE \d+) \|(.*)\|$", re.MULTILINE)
HOMES = {item: re.findall(r"`(\w+\.\w+)`", rest) for item, rest in ROW.findall(PAGE)}
ABSENT = {
    item for item, _ in ROW.findall(PAGE[PAGE.index("## Not in these modules") : PAGE.index("## Also computed here")])
}
FORMULA_ITEMS = [f"F-{n}" for n in range(1, 61) if n != 13]
ITEMS = [*FORMULA_ITEMS, *(f"F-13{letter}" for letter in "abcdef"), "F-15b", "F-15c", *(f"T-{n}" for n in range(1, 28))]


def home(name):
    module, _, attribute = name.partition(".")
    return getattr(import_module(f"quaestor.planner.{module}"), attribute)


def registered():
    for path in (ROOT / "src" / "quaestor" / "planner").glob("*.py"):
        import_module(f"quaestor.planner.{path.stem}")
    return {name: source for name, source in FORMULAS.items() if source.extract == "mp16-ch1"}


def items_of(source):
    """The items a registered formula stands for: `F-27, F-30` is two, `T-3 to T-6` is four."""
    for part in source.item.split(", "):
        first, _, last = part.partition(" to ")
        if last:
            yield from (f"T-{n}" for n in range(int(first[2:]), int(last[2:]) + 1))
        else:
            yield first


@pytest.mark.parametrize("item", ITEMS)
def test_every_item_has_a_row(item):
    assert item in HOMES


@pytest.mark.parametrize("item", [item for item in HOMES if item not in ABSENT])
def test_every_home_exists(item):
    assert HOMES[item]
    for name in HOMES[item]:
        assert home(name) is not None


@pytest.mark.parametrize("item", [item for item in HOMES if not item.startswith("T") and item not in ABSENT])
def test_a_formula_of_the_page_carries_its_number(item):
    sources = registered()
    assert any(item in items_of(sources[name]) for name in HOMES[item] if name in sources)


def test_every_registered_formula_is_on_the_page():
    for name, source in registered().items():
        for item in items_of(source):
            assert name in HOMES.get(item, ()), f"{name} says {source}, the page does not"
