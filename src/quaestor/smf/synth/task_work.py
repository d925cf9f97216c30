"""What a task does besides its calls on queues: the columns of WTAS.

Rules
  U1  Forces of the log: one per unit of recovery that holds persistent work, one per persistent call out of syncpoint.
  U2  Every shared unit of recovery makes one single request to CSQ_ADMIN and one multiple request to each structure
      it touched (MP1B M-13).
  U3  Commit and backout take their CPU, the force of the log, the requests to the coupling facility and planted waits.
  U4  What is backed out is logged once more, and read from the log.

Called by accounting.  Calls costs, incidents.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from quaestor.smf.synth import costs
from quaestor.smf.synth.incidents import Conditions
from quaestor.smf.synth.queue_work import QueueWork
from quaestor.smf.synth.sheet import Figures, tod_units
from quaestor.smf.synth.workload import Tasks

_ADMIN_US = 10.0
_LATCH = 10  # latch class 11, counted from 0
_LATCH_WAIT_US = 16_000.0
_DB2_SHARE = 0.03
_OTHER_CALLS_OF_A_CHANNEL = 6

Counts = NDArray[np.int64]


@dataclass(slots=True)
class TaskWork:
    """The tasks of one application and day, their work on queues, and all that follows; one element per task."""

    tasks: Tasks
    works: list[QueueWork]
    conditions: Conditions
    rng: np.random.Generator
    figures: Figures = field(default_factory=dict)  # of WTAS, and some for the ledger alone
    cpu: Counts = field(default_factory=lambda: np.zeros(0, np.int64))  # of all calls, in TOD units
    elapsed: Counts = field(default_factory=lambda: np.zeros(0, np.int64))


def task_work(
    tasks: Tasks,
    works: list[QueueWork],
    conditions: Conditions,
    per_force_us: NDArray[np.float64],
    rng: np.random.Generator,
) -> TaskWork:
    """The columns of WTAS."""
    day = TaskWork(tasks, works, conditions, rng)
    figures = day.figures
    figures["commits"], figures["backouts"] = tasks.commits, tasks.backouts
    figures["queue_blocks"] = np.full(len(tasks), len(day.works))
    waits = _log(day, per_force_us) + _coupling_facility(day) + _latches(day)
    _db2(day)
    _syncpoints(day, waits)
    if tasks.application.is_channel:
        none = np.zeros(len(tasks), np.int64)
        _verb(day, "other", none + _OTHER_CALLS_OF_A_CHANNEL, none)
    figures["pages_got_old"] = total(day, *(work.pages["get_page"] for work in works if work.pages))
    figures["pages_got_new"] = total(day, *(work.pages["get_new_page"] for work in works if work.pages))
    day.cpu = total(day, *(work.cpu for work in works), *_times_of(figures, "cpu"))
    day.elapsed = total(day, *(work.elapsed for work in works), *_times_of(figures, "elapsed"))
    return day


def total(day: TaskWork, *parts: Counts) -> Counts:
    """The sum of some columns, zero when there is none."""
    return np.asarray(sum(parts, np.zeros(len(day.tasks), np.int64)))


def _times_of(figures: Figures, what: str) -> list[Counts]:
    return [figures[name] for name in (f"commit_{what}", f"backout_{what}", f"other_{what}") if name in figures]


def _log(day: TaskWork, per_force_us: NDArray[np.float64]) -> Counts:
    """Log writes, bytes and forces; returns the wait for forces at the end of units (U1, U4)."""
    tasks, figures = day.tasks, day.figures
    persistent = total(day, *(work.calls.persistent for work in day.works))
    if not persistent.any():
        return np.zeros(len(tasks), np.int64)
    logging_units = np.minimum(tasks.units, persistent)
    puts = total(day, *(work.calls.persistent_puts + work.calls.persistent_put1s for work in day.works))
    written = (
        costs.LOG_RECORDS_PER_UNIT * logging_units
        + costs.LOG_RECORDS_PER_PUT * puts
        + costs.LOG_RECORDS_PER_GET * (persistent - puts)
    )
    undone = written * tasks.backouts // np.maximum(1, tasks.units)
    log_bytes = sum((work.log_bytes for work in day.works), np.zeros(len(tasks)))
    log_bytes = log_bytes + _batch_bytes(tasks, logging_units, persistent)
    log_bytes = log_bytes * (1 + tasks.backouts / np.maximum(1, tasks.units))
    ended = logging_units if tasks.application.syncpoint else np.zeros_like(logging_units)
    waited = tod_units(ended * per_force_us)
    figures["log_writes"] = written + undone
    figures["log_write_elapsed"] = tod_units((written + undone) * 0.8)
    figures["log_bytes"] = np.minimum(np.rint(log_bytes), 2**32 - 1).astype(np.int64)
    figures["log_forces"] = total(day, ended, *(work.forces for work in day.works))
    figures["log_force_elapsed"] = total(day, waited, *(work.force_elapsed for work in day.works))
    figures["log_reads"] = undone  # not a column of WTAS: the log manager reads what is backed out
    return waited


def _batch_bytes(tasks: Tasks, batches: Counts, messages: Counts) -> Counts:
    """What a channel logs per batch besides the messages (MP16 T-9)."""
    if tasks.application.kind == "sender":
        return costs.SENDER_BATCH_LOG_BYTES * batches + costs.SENDER_MESSAGE_LOG_BYTES * messages
    return costs.RECEIVER_BATCH_LOG_BYTES * batches if tasks.application.kind == "receiver" else 0 * batches


def _coupling_facility(day: TaskWork) -> Counts:
    """CF requests of the task; returns the time of those at the end of units (U2)."""
    tasks, figures = day.tasks, day.figures
    shared = [work for work in day.works if work.cf]
    if not shared:
        return np.zeros(len(tasks), np.int64)
    structures = {work.calls.queue.structure: work for work in shared}
    ended = tasks.units if tasks.application.syncpoint else np.zeros_like(tasks.units)
    admin = tod_units(ended * _ADMIN_US)
    multiple_elapsed = np.zeros(len(tasks), np.int64)
    for name, work in structures.items():
        structure = day.conditions.profile.structure(name)
        each_us = structure.multiple_us * day.conditions.cf_slowdown(name)[tasks.interval]
        work.cf["multiple_calls"] = ended
        work.cf["multiple_elapsed"] = tod_units(ended * each_us)
        multiple_elapsed = multiple_elapsed + work.cf["multiple_elapsed"]
    figures["cf_single_calls"] = total(day, ended, *(work.cf["single_calls"] for work in shared))
    figures["cf_single_redrives"] = total(day, *(work.cf["single_redrives"] for work in shared))
    figures["cf_single_elapsed"] = total(day, admin, *(work.cf["single_elapsed"] for work in shared))
    figures["cf_multiple_calls"] = ended * len(structures)
    figures["cf_multiple_elapsed"] = multiple_elapsed
    figures["admin_calls"], figures["admin_elapsed"] = ended, admin  # not columns of WTAS: for QEST
    return admin + multiple_elapsed


def _latches(day: TaskWork) -> Counts:
    """Waits for a latch, where they were planted."""
    slow = day.conditions.severity("slow_units", day.tasks.application.name)[day.tasks.interval]
    if not slow.any():
        return np.zeros(len(day.tasks), np.int64)
    waits = np.where(slow > 0, day.tasks.units, 0)
    waited = tod_units(waits * _LATCH_WAIT_US * slow)
    for name, values in (("latch_waits", waits), ("latch_elapsed", waited)):
        table = np.zeros((len(waits), 32), np.int64)
        table[:, _LATCH] = values
        day.figures[name] = table
    day.figures["latch_longest"] = np.where(waits > 0, tod_units(2 * _LATCH_WAIT_US * slow), 0)
    return waited


def _db2(day: TaskWork) -> None:
    """The first open of a shared queue now and then reads its definition from Db2."""
    shared_opens = total(day, *(work.calls.opens for work in day.works if work.cf))
    if not shared_opens.any():
        return
    requests = day.rng.binomial(shared_opens, _DB2_SHARE)
    server = tod_units(requests * costs.DB2_US["read"] * (0.8 + 0.4 * day.rng.random(len(requests))))
    thread = server + tod_units(requests * day.conditions.db2_dispatch_us()[day.tasks.interval])
    each = np.maximum(1, requests)
    day.figures["db2_requests"] = requests
    day.figures["db2_server_elapsed"], day.figures["db2_thread_elapsed"] = server, thread
    day.figures["db2_server_longest"], day.figures["db2_thread_longest"] = server // each, thread // each
    first = next(work for work in day.works if work.cf and work.calls.opens.any())
    first.figures["open_elapsed"] = first.figures["open_elapsed"] + thread
    first.elapsed = first.elapsed + thread


def _syncpoints(day: TaskWork, waits: Counts) -> None:
    """CPU and elapsed time of commits and backouts; the waits belong to both, by their number (U3)."""
    tasks = day.tasks
    units = np.maximum(1, tasks.units)
    _verb(day, "commit", tasks.commits, waits * tasks.commits // units)
    _verb(day, "backout", tasks.backouts, waits * tasks.backouts // units)
    reads = total(day, *(work.figures.get("get_page_set_reads", 0 * units) for work in day.works))
    reading = total(day, *(work.figures.get("get_page_set_elapsed", 0 * units) for work in day.works))
    day.figures["suspends"] = day.figures.get("log_forces", 0 * units) + reads
    day.figures["suspend_elapsed"] = day.figures.get("log_force_elapsed", 0 * units) + reading


def _verb(day: TaskWork, verb: str, number: Counts, wait: Counts) -> None:
    if number.any():
        used = costs.cpu_us(verb, number, 0.0, day.conditions.manager, day.rng)
        day.figures[f"{verb}_cpu"] = tod_units(used)
        day.figures[f"{verb}_elapsed"] = day.figures[f"{verb}_cpu"] + tod_units(used * 0.05) + wait
        if verb == "other":
            day.figures["others"] = number
