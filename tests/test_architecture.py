"""Imports point down only: the picture of the house, held by a test.

Rooms of one row do not import each other; a room may import any room of a row below it.
Inside `qmgr` the managers have one legal order of their own.
"""

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "quaestor"

ROWS = [
    {"cli", "web"},
    {"server", "mover", "cqs"},
    {"advisor", "reports"},
    {"planner"},
    {"pipeline", "qmgr"},
    {"smf", "storage"},
    {"mqi"},
    {"layout", "clock", "readiness"},
]
ABOVE_ALL = {
    "testing",
    "embedded",
    "connecting",
    "__init__",
    "__main__",
}  # shipped helpers and the package door may look at everything

QMGR_ORDER = [
    "resource_manager",
    "operator_log",
    "group_settings",
    "queue_store",
    "lock",
    "log",
    "buffer",
    "recovery",
    "db2",
    "coupling_facility",
    "data",
    "security",
    "topic",
    "message",
    "connection",
    "command",
    "statistics",
    "scheduler",
    "processors",
    "checker",
    "queue_manager",
]


def row_of(room):
    return next((n for n, row in enumerate(ROWS) if room in row), None)


def room_of(path):
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imports(path):
    """Every module that `path` imports, wherever in the file the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the room's name"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


SOURCES = sorted(SRC.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(SRC)))
def test_imports_point_down(path):
    room = room_of(path)
    if room in ABOVE_ALL:
        return
    assert row_of(room) is not None, f"{room} is not a room of the house"
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "quaestor" or len(parts) < 2:
            continue
        other = parts[1]
        if other == room or (row_of(other) is None and other not in ABOVE_ALL):
            continue
        assert other not in ABOVE_ALL, f"{path.name} imports {name}"
        assert row_of(room) < row_of(other), f"{path.name} imports {name}, which is not below it"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(SRC)))
def test_spark_stays_in_the_pipeline(path):
    if room_of(path) != "pipeline":
        assert not [name for name in imports(path) if name.split(".")[0] == "pyspark"]


def test_managers_lean_on_earlier_managers_only():
    for path in sorted((SRC / "qmgr").rglob("*.py")):
        manager = path.relative_to(SRC / "qmgr").parts[0].removesuffix(".py")
        if manager == "__init__":
            continue
        assert manager in QMGR_ORDER, f"{manager} has no place in the order of managers"
        for name in imports(path):
            parts = name.split(".")
            if parts[:2] == ["quaestor", "qmgr"] and len(parts) > 2 and parts[2] in QMGR_ORDER:
                assert QMGR_ORDER.index(parts[2]) <= QMGR_ORDER.index(manager), f"{manager} imports {name}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(SRC)))
def test_no_module_outgrows_its_room(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500


def test_every_test_module_has_a_name_of_its_own():
    """Two of one name are told only by a run of everything: the second is not collected."""
    names = [path.stem for path in Path(__file__).parent.rglob("test_*.py")]
    assert len(names) == len(set(names)), [name for name in set(names) if names.count(name) > 1]
