"""The table of MQI semantics has a test for every number; what is not there at all is named with why."""

import ast
from pathlib import Path

import pytest

ROWS = range(1, 39)
NOT_HERE = {37: "subscriptions"}


def names():
    """Every test function of the engine's rooms."""
    here = Path(__file__).parent
    for folder in (here, here / "shared", here.parent / "crash"):
        for path in folder.glob("test_*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
                    yield node.name


@pytest.mark.parametrize("number", [row for row in ROWS if row not in NOT_HERE])
def test_a_row_of_the_table_has_a_test(number):
    assert any(name.startswith(f"test_{number:02d}_") for name in names())
