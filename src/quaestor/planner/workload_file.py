"""Workloads as TOML files: the one that is shipped, and those people write.

Rules
  T1  Every mistake of a file is found and named with its place; a workload with a mistake is not used at all.
  T2  A key or table that is not known is a mistake; what may have been meant is offered.
  T3  Names and numbers that one table uses are defined in another, where that other is written at all.

Called by the command.  Calls workload, workload_keys.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from importlib import resources
from pathlib import Path
from typing import Any

from quaestor import toml_text
from quaestor.planner.workload import (
    AccountingTrace,
    BufferPool,
    Channel,
    CountedPool,
    CouplingFacility,
    Dasd,
    Flow,
    ImsBridge,
    Log,
    Machine,
    PageSet,
    QueueManager,
    Structure,
    Targets,
    Workload,
)
from quaestor.planner.workload_keys import Key, ValueRefusedError, nearest

EXAMPLE = resources.files("quaestor.planner") / "workloads" / "example.toml"
ONE: dict[str, type] = {
    "queue_manager": QueueManager,
    "log": Log,
    "targets": Targets,
    "machine": Machine,
    "dasd": Dasd,
    "coupling_facility": CouplingFacility,
    "accounting": AccountingTrace,
    "ims_bridge": ImsBridge,
}
SEVERAL: dict[str, tuple[str, type, str]] = {  # table: the workload's field, what it holds, the key that names one
    "flow": ("flows", Flow, "queue"),
    "page_set": ("page_sets", PageSet, "number"),
    "buffer_pool": ("buffer_pools", BufferPool, "number"),
    "counted_pool": ("counted_pools", CountedPool, "name"),
    "structure": ("structures", Structure, "name"),
    "channel": ("channels", Channel, "name"),
}
NEEDED = ("queue_manager", "flow")


class WorkloadError(Exception):
    """A workload that cannot be used: one line for each mistake (T1)."""

    def __init__(self, place: str, mistakes: Iterable[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(f"{place}: {mistake}" for mistake in self.mistakes))


def load_workload(path: Path | None = None) -> Workload:
    """The workload in a file; without one, the example that comes with the product."""
    if path is None:
        return parse(EXAMPLE.read_text(encoding="utf-8"), "example")
    return workload_of(_read(path), str(path))


def load_tables(path: Path) -> dict[str, Any]:
    """The tables of a file as they are written, for whoever puts measured ones in their place.

    Each has its shape, a table or a list of tables; what stands in it is not looked at.
    """
    tables = _read(path)
    if mistakes := [wrong for name, table in tables.items() if (wrong := _misshapen(name, table))]:
        raise WorkloadError(str(path), mistakes)
    return tables


def _read(path: Path) -> dict[str, Any]:
    try:
        written = toml_text.text_of(path)
    except OSError as error:
        raise WorkloadError(str(path), [error.strerror or str(error)]) from None
    except ValueError as error:
        raise WorkloadError(str(path), [f"{error}; a workload is TOML, `quaestor plan example` prints one"]) from None
    return _tables(written, str(path))


def parse(written: str, place: str) -> Workload:
    """The workload in a TOML text; `place` names it in mistakes."""
    return workload_of(_tables(written, place), place)


def _tables(written: str, place: str) -> dict[str, Any]:
    try:
        return toml_text.tables(written)
    except ValueError as error:
        raise WorkloadError(place, [str(error)]) from None


def workload_of(tables: Mapping[str, Any], place: str) -> Workload:
    """The workload in tables as TOML has them."""
    mistakes: list[str] = []
    values: dict[str, Any] = {"title": _title(tables, mistakes)}
    for name, table in tables.items():
        if wrong := _misshapen(name, table):
            mistakes.append(wrong)
        elif name in ONE:
            values[name] = _build(ONE[name], table, f"[{name}]", mistakes)
        elif name in SEVERAL:
            values[SEVERAL[name][0]] = tuple(_several(name, table, mistakes))
        elif name != "title":
            mistakes.append(f"no key {name}{nearest(name, ['title', *ONE, *SEVERAL])}")
    mistakes += [f"{_heading(name)} is missing: a plan needs it" for name in NEEDED if tables.get(name) in (None, [])]
    if not mistakes:
        workload = Workload(**values)
        mistakes += _disagreements(workload)
    if mistakes:
        raise WorkloadError(place, mistakes)
    return workload


def _title(tables: Mapping[str, Any], mistakes: list[str]) -> str:
    title = tables.get("title", "")
    if not isinstance(title, str):
        mistakes.append(f"title: {title!r} is not a text")
    return str(title)


def _heading(name: str) -> str:
    return f"[[{name}]]" if name in SEVERAL else f"[{name}]"


def _misshapen(name: str, table: Any) -> str | None:
    """What is wrong with the shape of a table that is known, whatever stands in it."""
    if name in ONE and not isinstance(table, dict):
        return f"{name}: a table, written {_heading(name)}, is needed"
    if name in SEVERAL and not (isinstance(table, list) and all(isinstance(each, dict) for each in table)):
        return f"{name}: a list of tables, each written {_heading(name)}, is needed"
    return None


def _several(name: str, tables: list[dict[str, Any]], mistakes: list[str]) -> Iterator[Any]:
    _, cls, naming = SEVERAL[name]
    for place, table in enumerate(tables, start=1):
        yield _build(cls, table, f"[[{name}]] {table.get(naming, f'number {place}')}", mistakes)
    for repeated, times in Counter(str(table[naming]) for table in tables if naming in table).items():
        if times > 1:
            mistakes.append(f"[[{name}]] {repeated}: defined {times} times")


def _build(cls: type, table: Mapping[str, Any], place: str, mistakes: list[str]) -> Any:
    """A value from its table; None where the table has a mistake (T1, T2)."""
    keys: dict[str, tuple[str, Key, Any]] = {
        each.metadata["key"].name: (each.name, each.metadata["key"], each.default) for each in fields(cls)
    }
    found = len(mistakes)
    values = {}
    for name, written in table.items():
        if name not in keys:
            mistakes.append(f"{place}: no key {name}{nearest(name, list(keys))}")
            continue
        attribute, key, _ = keys[name]
        try:
            values[attribute] = key.value(written)
        except ValueRefusedError as error:
            mistakes.append(f"{place}, {name}: {error}")
    for name, (_, key, default) in keys.items():
        if default is MISSING and name not in table:
            valid = f" ({key.valid})" if key.low is not None else ""
            mistakes.append(f"{place}: {name} is missing{valid}")
    return cls(**values) if len(mistakes) == found else None


def _disagreements(workload: Workload) -> Iterator[str]:
    """What is valid by itself but does not fit together (T3)."""
    qmgr, pools = workload.queue_manager, {pool.number for pool in workload.buffer_pools}
    if workload.shared and workload.coupling_facility is None:
        yield f"[[flow]] {workload.shared[0].queue}: is shared, so [coupling_facility] is needed"
    if qmgr.group is not None and len(qmgr.group) > 4:
        yield f"[queue_manager], group: {qmgr.group!r} is not valid: 1 to 4 characters"
    for page_set in workload.page_sets:
        if pools and page_set.buffer_pool not in pools:
            yield f"[[page_set]] {page_set.number}: no [[buffer_pool]] {page_set.buffer_pool} is written"
    for counted in workload.counted_pools:
        if max(counted.stealable_low, counted.stealable_now) > counted.buffers:
            yield f"[[counted_pool]] {counted.name}: more stealable buffers than its {counted.buffers} buffers"
    structures = [each.name for each in workload.structures]
    for flow in workload.flows:
        place = f"[[flow]] {flow.queue}"
        if flow.shared and flow.page_set is not None:
            yield f"{place}: a shared queue has no page_set"
        if not flow.shared and flow.structure is not None:
            yield f"{place}: a private queue has no structure"
        if flow.page_set is not None and workload.page_sets and workload.page_set(flow.page_set) is None:
            yield f"{place}: no [[page_set]] {flow.page_set} is written"
        if flow.structure is not None and structures and flow.structure not in structures:
            yield f"{place}: no [[structure]] {flow.structure} is written{nearest(flow.structure, structures)}"
        if flow.messages_per_commit > qmgr.maxumsgs:
            yield f"{place}, messages_per_commit: {flow.messages_per_commit} is above MAXUMSGS {qmgr.maxumsgs}"
