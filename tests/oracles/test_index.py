"""Every worked example of the papers has an entry, and every entry that can be tested names its test.

One index file per extract beside this one: `<extract>.toml` with `count` (how many oracles the extract numbers) and
one `[[oracle]]` per number: `number`, `kind`, `lines`, and either `test` (the name of a test function that carries
`@pytest.mark.oracle("<extract>/<number>", ...)`) or `reason` (why there is nothing to test, or not yet).
`later = true`: what it is about is still to come, or its live half is; `elsewhere = true`: another product's.

The three extracts of MP16 number 221 oracles: 71 of chapter 1, 78 of chapters 2 and 3 with three that are numbered 11a
to 11c (79 to 81 here), 69 of chapters 4 to 11.  MP1B adds 54, the talks 20.
"""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
INDEXES = sorted(Path(__file__).parent.glob("*.toml"))
EXTRACTS = TESTS.parents[1] / "shared" / "spec"
FILES = {
    "mp16-ch1": "mp16-ch1-queue-manager.md",
    "mp16-ch2-3": "mp16-ch2-3-cf-channels.md",
    "mp16-ch4-11": "mp16-ch4-11.md",
    "mp1b": "mp1b.md",
    "talks": "talks.md",
}
COUNTS = {"mp16-ch1": 71, "mp16-ch2-3": 81, "mp16-ch4-11": 69, "mp1b": 54, "talks": 20}
MUST_BE_TESTED = {"exact", "exact-if", "approx", "identity"}


MARK = "pytest.mark.oracle"


@cache
def marked_tests():
    """{oracle name: {test function}} over the whole test tree, read from the decorators."""
    found = {}
    texts = [path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")]
    for text in (each for each in texts if MARK in each):
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == MARK:
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
            excused = oracle.get("later") or oracle.get("elsewhere")
            assert oracle["kind"] not in MUST_BE_TESTED or excused, f"{name}: {oracle['kind']} needs a test"


def test_all_oracles_are_listed():
    counts = {path.stem: tomllib.loads(path.read_text(encoding="utf-8"))["count"] for path in INDEXES}
    assert COUNTS == counts
    assert 221 == sum(count for extract, count in counts.items() if extract.startswith("mp16"))


@pytest.mark.parametrize("extract", FILES)
def test_the_extract_numbers_no_other(extract):
    """Where the extracts lie beside the repository, they number what the index lists; 11a to 11c are 79 to 81."""
    if not EXTRACTS.exists():
        pytest.skip("the extracts are not beside the repository")
    text = (EXTRACTS / FILES[extract]).read_text(encoding="utf-8")
    numbered = {int(number) for number in re.findall(r"\*?\*?ORACLE (\d+)[a-c]?\b", text)}
    listed = set(range(1, COUNTS[extract] + 1))
    assert numbered <= listed
    assert listed - numbered <= ({79, 80, 81} if extract == "mp16-ch2-3" else set())


def test_every_mark_is_in_an_index():
    listed = {
        f"{path.stem}/{o['number']}"
        for path in INDEXES
        for o in tomllib.loads(path.read_text(encoding="utf-8"))["oracle"]
    }
    assert not {name for name in marked_tests() if name.rpartition("/")[0] in {p.stem for p in INDEXES}} - listed
