"""What the coupling facility manager and the Db2 manager count: QEST, QESD and Q5ST.

Rules
  G1  Calls, times and redrives of a structure are those of the tasks; CSQ_ADMIN is structure 0.
  G2  High-water marks: what stays there, plus the messages that pass in one time on queue; never above the size.
  G3  The queue manager lists changed definitions in Db2 every 5 seconds (MP1B M-10); one server task more than
      were asked for is active (M-9).
  G4  Thread time = server time + dispatch; longest >= average (MP1B F-34).

Called by statistics.  Calls ledger, incidents.
"""

import numpy as np
from numpy.typing import NDArray

from quaestor.layout import CP1047
from quaestor.smf.synth.accounting import ADMIN_STRUCTURE
from quaestor.smf.synth.costs import DB2_US
from quaestor.smf.synth.incidents import Conditions
from quaestor.smf.synth.ledger import Ledger
from quaestor.smf.synth.profile import Structure
from quaestor.smf.synth.sheet import Figures, fill_columns, tod_units

Counts = NDArray[np.int64]
_CALLS = ("single_calls", "single_elapsed", "single_redrives", "multiple_calls", "multiple_elapsed")
_RESTING_ENTRIES, _ADMIN_ENTRIES, _ADMIN_ELEMENTS = 300, 344, 666
_SMDS_BLOCKS, _SMDS_BUFFERS = 4000, 100
_LIST_SECONDS = 5
_LOGGED = ("delete", "update", "write", "scs_update")
_SLOW = 3.0


def fill_structures(place: NDArray[np.void], conditions: Conditions, ledger: Ledger, rng: np.random.Generator) -> None:
    """The entries of QEST in use (G1, G2)."""
    table = place["structures"]
    admin = Structure(ADMIN_STRUCTURE, 0)
    for structure in (admin, *conditions.profile.structures_on(conditions.manager)):
        target = table[:, structure.number]
        name = np.frombuffer(CP1047.encode(structure.name, 12), "V12")
        full = conditions.severity("structure_full", structure.name)
        figures = {name: ledger.sum("structure", structure.name, name) for name in _CALLS}
        fill_columns(target, figures)
        fill_columns(target, _space(structure, full, conditions, ledger, rng))
        target["structure"], target["structure_number"] = name[0], structure.number
        target["structure_full"] = np.where(full > 0, 1 + rng.poisson(12 * full), 0)


def _space(
    structure: Structure,
    full: NDArray[np.float64],
    conditions: Conditions,
    ledger: Ledger,
    rng: np.random.Generator,
) -> Figures:
    """The most entries and elements in use (G2)."""
    if structure.name == ADMIN_STRUCTURE:
        noise = rng.integers(0, 20, ledger.intervals)
        return {"entries_high": _ADMIN_ENTRIES + noise, "elements_high": _ADMIN_ELEMENTS + 2 * noise}
    profile = conditions.profile
    queues = [each for each in profile.queues_on(conditions.manager) if each.structure == structure.name]
    resident = sum(
        ledger.sum("queue", each.name, "valid_puts") * (4 * each.on_queue_ms * 1000 / profile.interval_us)
        for each in queues
    )
    put = np.maximum(1, sum(ledger.sum("queue", each.name, "valid_puts") for each in queues))
    entries = _RESTING_ENTRIES + np.minimum(np.ceil(resident), structure.entries // 2).astype(np.int64)
    entries = np.where(full > 0, structure.entries, entries)
    per_message = np.maximum(1, ledger.sum("elements", structure.name, "put") / put)
    return {"entries_high": entries, "elements_high": np.ceil(entries * per_message).astype(np.int64)}


def message_data_set(structure: Structure, conditions: Conditions, ledger: Ledger, rng: np.random.Generator) -> Figures:
    """QESD of one structure: space and buffers of its shared message data set."""
    count = ledger.intervals
    full = conditions.severity("smds_full", structure.name)
    used = np.where(full > 0, _SMDS_BLOCKS, 200 + rng.integers(0, 300, count))
    stored = rng.poisson(40, count)
    io_us = stored * 700.0
    return {
        "blocks_total": np.full(count, _SMDS_BLOCKS + 1),
        "blocks_space_map": np.ones(count, np.int64),
        "blocks_data": np.full(count, _SMDS_BLOCKS),
        "blocks_used": used,
        "blocks_free": _SMDS_BLOCKS - used,
        "blocks_used_high": used,
        "blocks_free_low": _SMDS_BLOCKS - used,
        "messages": used // 2,
        "messages_high": used // 2,
        "allocations_failed": np.where(full > 0, 1 + rng.poisson(9 * full), 0),
        "allocate_requests": stored,
        "free_requests": stored,
        "pages_allocated": 16 * stored,
        "pages_freed": 16 * stored,
        "buffer_size": np.full(count, 262_144),
        "buffers_total": np.full(count, _SMDS_BUFFERS),
        "buffers_empty": np.full(count, _SMDS_BUFFERS),
        "buffers_free_low": np.full(count, _SMDS_BUFFERS - 4),
        "buffers_used_high": np.full(count, 4),
        "write_requests": stored,
        "write_ios": stored,
        "write_pages": 16 * stored,
        "write_io_elapsed": tod_units(io_us),
        "write_wait_elapsed": tod_units(io_us * 1.1),
        "ci_size": np.full(count, 4096),
    }


def db2_figures(conditions: Conditions, ledger: Ledger, rng: np.random.Generator) -> Figures:
    """Q5ST columns of one day (G3, G4); a queue manager outside a group has none."""
    manager, count = conditions.manager, ledger.intervals
    if not manager.queue_sharing_group:
        return {}
    seconds = conditions.profile.interval_minutes * 60
    queued = conditions.severity("db2_servers_short")
    asked = ledger.total("task", "db2_requests")
    requests = {
        "delete": 1 + rng.poisson(1.0, count),
        "list": np.full(count, seconds // _LIST_SECONDS),
        "read": asked + 2 + rng.poisson(2.0, count),
        "update": 2 + rng.poisson(3.0, count),
        "write": 1 + rng.poisson(2.0, count),
        "scs_select": 1 + rng.poisson(1.0, count),
        "scs_update": 1 + rng.poisson(1.0, count),
        "ssk_select": rng.poisson(1.0, count),
    }
    figures: Figures = {
        "tasks": np.full(count, manager.db2_servers),
        "tasks_active": np.full(count, manager.db2_servers + 1),
        "queue_depth_high": np.where(queued > 0, 22 + rng.poisson(10 * queued), rng.integers(1, 4, count)),
        "deadlocks": np.where(conditions.severity("db2_deadlocks") > 0, 1 + rng.poisson(2, count), 0),
        "scs_rows_high": rng.integers(1, 4, count),
    }
    task_server = ledger.total("task", "db2_server_elapsed")
    task_thread = ledger.total("task", "db2_thread_elapsed")
    for verb, number in requests.items():
        by_tasks = (asked, task_server, task_thread) if verb == "read" else (0 * asked, 0 * asked, 0 * asked)
        figures |= _db2_verb(verb, number, by_tasks, conditions, rng)
    return figures


def _db2_verb(
    verb: str, number: Counts, by_tasks: tuple[Counts, Counts, Counts], conditions: Conditions, rng: np.random.Generator
) -> Figures:
    """Number, thread and server time of one kind of request (G4)."""
    asked, task_server, task_thread = by_tasks
    slow = 1 + _SLOW * conditions.severity("slow_db2") if verb in _LOGGED else np.ones(len(number))
    each_us = DB2_US[verb] * slow * (0.9 + 0.2 * rng.random(len(number)))
    dispatch_us = conditions.db2_dispatch_us()
    own = number - asked
    server = tod_units(own * each_us) + task_server
    thread = tod_units(own * each_us) + tod_units(own * dispatch_us) + task_thread
    average = server / np.maximum(1, number)
    stretch = np.where(number > 1, 1.3 + 1.5 * rng.random(len(number)), 1.0)
    some = number > 0
    longest = np.where(some, np.minimum(server, np.ceil(average * stretch)).astype(np.int64), 0)
    return {
        f"{verb}s": number,
        f"{verb}_server_elapsed": server,
        f"{verb}_thread_elapsed": thread,
        f"{verb}_server_longest": longest,
        f"{verb}_thread_longest": np.where(some, np.minimum(thread, longest + tod_units(dispatch_us)), 0),
    }
