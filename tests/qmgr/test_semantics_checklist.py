"""The table of MQI semantics has a test for every number; what is not there at all is named with why."""

import ast
from pathlib import Path

import pytest

ROWS = range(1, 39)
NOT_HERE = {37: "subscriptions"}
BY_ANOTHER_NAME = {
    33: {
        "test_a_full_page_set_fails_the_put_and_leaves_the_unit_as_it_was",
        "test_a_full_log_refuses_new_work_and_still_ends_what_it_has",
    }
}


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
    found = {name for name in names() if name.startswith(f"test_{number:02d}_")}
    assert found or BY_ANOTHER_NAME.get(number, {""}) <= set(names())
