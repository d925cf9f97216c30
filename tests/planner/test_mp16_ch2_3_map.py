"""The map of MP16 chapters 2 and 3 names every formula and table there is, and nothing that is not."""

import ast
import importlib
import pkgutil
import re
import tomllib
from pathlib import Path

import quaestor.planner
from quaestor.planner.source import FORMULAS, Source, Table

EXTRACT = "mp16-ch2-3"
TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "planner" / f"{EXTRACT}.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([a-z_]+\.[A-Za-z_0-9]+)`", PAGE))
MODULES = {
    info.name: importlib.import_module(f"quaestor.planner.{info.name}")
    for info in pkgutil.iter_modules(quaestor.planner.__path__)
}


def test_every_formula_of_the_extract_is_on_the_page():
    formulas = {name for name, source in FORMULAS.items() if source.extract == EXTRACT}
    assert formulas - NAMED == set()
    assert len(formulas) > 100


def test_every_table_of_the_extract_is_on_the_page():
    tables = {
        f"{module}.{name}"
        for module, loaded in MODULES.items()
        for name, value in vars(loaded).items()
        if isinstance(value, Table) and value.source.extract == EXTRACT
    }
    assert tables
    assert tables - NAMED == set()


def test_every_name_on_the_page_exists():
    for name in NAMED:
        module, _, item = name.partition(".")
        assert hasattr(MODULES[module], item), name


def test_every_question_is_answered():
    answered = re.search(r"## What a planner must be able to answer\n(.*?)\n## ", PAGE, re.DOTALL).group(1)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in answered.splitlines() if line.startswith("| ")]
    assert [str(number) for number in range(1, 30)] == [number for number, *_ in rows[1:]]
    assert all("`" in answer for *_, answer in rows[1:])


def test_every_source_has_lines_of_the_two_chapters():
    for source in FORMULAS.values():
        if source.extract == EXTRACT:
            assert all(2287 <= int(line) <= 4165 for line in re.findall(r"\d+", source.lines)), source


def test_the_index_and_the_marks_agree_on_kind():
    index = tomllib.loads((TESTS / "oracles" / f"{EXTRACT}.toml").read_text(encoding="utf-8"))
    kinds = {f"{EXTRACT}/{oracle['number']}": oracle["kind"] for oracle in index["oracle"]}
    for path in Path(__file__).parent.glob("test_*.py"):
        for name, kind in marks(path):
            assert kinds.get(name, kind) == kind, f"{path.name}: {name}"


def marks(path):
    """(oracle name, kind) of every mark in a file of tests."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.oracle":
            yield ast.literal_eval(node.args[0]), next(k.value.value for k in node.keywords if k.arg == "kind")


def test_a_source_cites_itself():
    assert "mp16-ch2-3 A7 log data per message [2582]" == str(FORMULAS["structure_backup.log_kb_per_message"])
    assert isinstance(FORMULAS["structure_backup.log_kb_per_message"], Source)
