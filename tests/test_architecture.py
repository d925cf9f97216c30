"""Imports point down only: the picture of the house, held by a test.

Rooms of one row do not import each other; a room may import any room of a row below it.
Inside `qmgr` the managers have one legal order of their own.
"""

import ast
from functools import cache
from pathlib import Path

SRC = Path(__file__).parents[1] / "src" / "quaestor"

ROWS = [
    {"cli", "web"},
    {"server", "mover", "cqs"},
    {"advisor", "reports"},
    {"planner"},
    {"pipeline", "qmgr"},
    {"smf", "storage"},
    {"mqi"},
    {"layout", "clock", "readiness", "toml_text"},
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
    "one_processor",
    "checker",
    "queue_manager",
]


def row_of(room):
    return next((n for n, row in enumerate(ROWS) if room in row), None)


def room_of(path):
    return path.relative_to(SRC).parts[0].removesuffix(".py")


@cache
def imports(path):
    """Every module that `path` imports, wherever in the file the import stands."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the room's name"
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return found


SOURCES = sorted(SRC.rglob("*.py"))


def points_down(room, name):
    """Whether a module of a room may import what is so called."""
    parts = name.split(".")
    if parts[0] != "quaestor" or len(parts) < 2:
        return True
    other = parts[1]
    if other == room or (row_of(other) is None and other not in ABOVE_ALL):
        return True
    return other not in ABOVE_ALL and row_of(room) < row_of(other)


def test_imports_point_down():
    below = [path for path in SOURCES if room_of(path) not in ABOVE_ALL]
    assert [] == [path for path in below if row_of(room_of(path)) is None], "not in a room of the house"
    wrong = [(str(path), name) for path in below for name in imports(path) if not points_down(room_of(path), name)]
    assert not wrong


def test_spark_stays_in_the_pipeline():
    outside = [path for path in SOURCES if room_of(path) != "pipeline"]
    assert not [str(path) for path in outside if any(name.split(".")[0] == "pyspark" for name in imports(path))]


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


def test_no_module_outgrows_its_room():
    lines = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert not {path: count for path, count in lines.items() if count > 500}


def test_every_test_module_has_a_name_of_its_own():
    """Two of one name are told only by a run of everything: the second is not collected."""
    names = [path.stem for path in Path(__file__).parent.rglob("test_*.py")]
    assert len(names) == len(set(names)), [name for name in set(names) if names.count(name) > 1]
