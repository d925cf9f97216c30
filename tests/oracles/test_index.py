"""Every worked example of the papers has an entry, and every entry that can be tested names its test.

One index file per extract beside this one: `<extract>.toml` with `count` (how many oracles the extract numbers) and
one `[[oracle]]` per number: `number`, `kind`, `lines`, and either `test` (the name of a test function that carries
`@pytest.mark.oracle("<extract>/<number>", ...)`) or `reason` (why there is nothing to test, or not yet).
"""

import ast
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
INDEXES = sorted(Path(__file__).parent.glob("*.toml"))
MUST_BE_TESTED = {"exact", "exact-if", "approx", "identity"}


def marked_tests():
    """{oracle name: {test function}} over the whole test tree, read from the decorators."""
    found = {}
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.oracle":
                    for arg in mark.args:
                        found.setdefault(ast.literal_eval(arg), set()).add(node.name)
    return found


@pytest.mark.parametrize("path", INDEXES, ids=lambda p: p.stem)
def test_every_oracle_has_an_entry(path):
    index = tomllib.loads(path.read_text(encoding="utf-8"))
    assert list(range(1, index["count"] + 1)) == sorted(o["number"] for o in index["oracle"])


@pytest.mark.parametrize("path", INDEXES, ids=lambda p: p.stem)
def test_every_entry_names_a_test_that_exists(path):
    marked = marked_tests()
    for oracle in tomllib.loads(path.read_text(encoding="utf-8"))["oracle"]:
        name = f"{path.stem}/{oracle['number']}"
        if "test" in oracle:
            assert oracle["test"] in marked.get(name, set()), f"{name}: {oracle['test']} does not carry its mark"
        else:
            assert oracle.get("reason"), f"{name}: neither test nor reason"
            assert oracle["kind"] not in MUST_BE_TESTED or oracle.get("later"), f"{name}: {oracle['kind']} needs a test"


def test_every_mark_is_in_an_index():
    listed = {
        f"{path.stem}/{o['number']}"
        for path in INDEXES
        for o in tomllib.loads(path.read_text(encoding="utf-8"))["oracle"]
    }
    assert not {name for name in marked_tests() if name.rpartition("/")[0] in {p.stem for p in INDEXES}} - listed
