"""The map of MP16 chapters 2 and 3 names every formula and table there is, and nothing that is not."""

import ast
import importlib
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest

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


CONSTANTS_AT_A_GLANCE = {
    "structures.LARGEST_WHOLE_BYTES": 64_512,
    "structures.HEADER_BYTES": 372,
    "structures.MQMDE_BYTES": 72,
    "structures.ELEMENT_BYTES": 256,
    "structures.ENTRY_BYTES": 256,
    "structures.SMALLEST_ROUNDED_BYTES": 1536,
    "structures.ELEMENTS_PER_ENTRY": 6,
    "structures.ELEMENTS_OFFLOADED": 2,
    "structure_choice.QUEUES_PER_STRUCTURE": 512,
    "structure_choice.CFLEVELS": (1, 2, 3, 4, 5),
    "cfrm.ENTRIES_PER_QUEUE_MANAGER": 1000,
    "cfrm.MAXUMSGS_DEFAULT": 10_000,
    "cfrm.ADMIN_UNIT_MESSAGES_MAX": 40_000,
    "cfrm.FULL_THRESHOLD_PERCENT": 80,
    "storage_class_memory.PRE_STAGE_PERCENT": 90,
    "shared_gets.BATCH_DELETE_ENTRIES": 341,
    "shared_gets.FIRST_BUFFER_BYTES": 4096,
    "large_messages.SEGMENT_DATA_BYTES": 523_264,
    "large_messages.LOB_PAGE_BYTES": 32_768,
    "large_messages.PARTITIONS": 4,
    "large_messages.SKEW_PERCENT": 10,
    "large_messages.GROUP_BUFFER_POOL_KB": 10_240,
    "duplexing.ICP_OVER_CFP_THROUGHPUT_PERCENT_MAX": 40,
    "offload.SMDS_TB_MAX": 16,
    "offload.QUEUE_MANAGERS_PER_STRUCTURE": 31,
    "structure_backup.LOG_OVERHEAD_KB": 1.33,
    "channels.PRACTICAL_CHANNELS": 9_000,
    "channels.ADAPTER_KB": 223,
    "channels.DISPATCHER_KB": 248,
    "channels.SSL_TASK_KB": 1.3 * 1024,
    "channels.CLUSTER_CACHE_KB": 2048,
    "channels.MAXCHL_LIMIT": 9_999,
    "channels.TLS_KB": 30,
    "channels.SCAVENGER_PERCENT": 75,
    "channel_buffers.MESSAGE_CHANGE_PERCENT": 2,
    "channel_buffers.MESSAGE_INTERVAL_S": 3600,
    "channel_tasks.ADAPTERS_DEFAULT": 8,
    "batches.BATCHSZ_DEFAULT": 50,
    "batches.BATCHINT_DEFAULT_MS": 0,
    "batches.BATCHLIM_DEFAULT_KB": 5000,
}


@pytest.mark.parametrize(("name", "value"), CONSTANTS_AT_A_GLANCE.items())
def test_constants_at_a_glance(name, value):
    module, _, item = name.partition(".")
    assert value == getattr(MODULES[module], item)


def test_every_question_is_answered():
    answered = re.search(r"## What a planner must be able to answer\n(.*?)\n## ", PAGE, re.DOTALL).group(1)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in answered.splitlines() if line.startswith("| ")]
    assert [str(number) for number in range(1, 30)] == [number for number, *_ in rows[1:]]
    assert all("`" in answer for *_, answer in rows[1:])


def test_every_source_has_lines_of_the_two_chapters():
    beside_data = [value for loaded in MODULES.values() for value in vars(loaded).values() if isinstance(value, Source)]
    of_tables = [
        value.source for loaded in MODULES.values() for value in vars(loaded).values() if isinstance(value, Table)
    ]
    for source in (*FORMULAS.values(), *beside_data, *of_tables):
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
