"""Accounting of one application over one day: 116-0, 116-1 and 116-2, and the entries in the ledger.

Rules
  T1  One row per task and interval; a row is the task's 116-0 (class 1, short tasks only) followed by its 116-1 and
      continuations (class 3).
  T2  A task lies wholly inside its interval, and so does the moment its record is built; a long-running task is cut
      at the interval's end (MP1B M-2, M-3).
  T3  Forces of the log: one per unit of recovery that holds persistent work, one per persistent call out of syncpoint.
  T4  Every shared unit of recovery makes one single request to CSQ_ADMIN and one multiple request to each structure
      it touched (MP1B M-13).
  T5  CORREL of every queue record is the 16 bytes at WTASSTRT.
  T6  Whatever is written is entered in the ledger as well.

Called by generate.  Calls workload, queue_work, identity, sheet.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from quaestor.smf.synth import costs
from quaestor.smf.synth.identity import Names, task_template
from quaestor.smf.synth.incidents import Conditions
from quaestor.smf.synth.ledger import Ledger
from quaestor.smf.synth.profile import Application
from quaestor.smf.synth.queue_work import QueueWork, force_us, queue_work
from quaestor.smf.synth.rhythm import stream
from quaestor.smf.synth.sheet import Figures, Sheet, Templates, fill_columns, tod, tod_units
from quaestor.smf.synth.workload import Tasks, draw_tasks
from quaestor.smf.writer import RecordIdentity

ADMIN_STRUCTURE = "CSQ_ADMIN"
ADMIN_US = 10.0
_LATCH = 10  # latch class 11, counted from 0
_LATCH_WAIT_US = 16_000.0
_DB2_SHARE = 0.03
_DB2_US, _DB2_DISPATCH_US, _DB2_QUEUED_US = 2500.0, 150.0, 4000.0
_BANDS = (100, 1000, 10_000)
_BAND_NAMES = ("0_99", "100_999", "1000_9999", "10000_up")
_PUT_KIND, _GET_KIND = 10, 11  # New and Move among the kinds of CF request

Counts = NDArray[np.int64]


@dataclass(slots=True)
class Account:
    """The rows of one application and day, with the moment at which each record was built."""

    sheet: Sheet
    built_us: Counts


@dataclass(slots=True)
class _Day:
    """What the parts of this module hand to each other."""

    tasks: Tasks
    works: list[QueueWork]
    conditions: Conditions
    rng: np.random.Generator
    figures: Figures = field(default_factory=dict)  # of WTAS
    cpu: Counts = field(default_factory=lambda: np.zeros(0, np.int64))
    elapsed: Counts = field(default_factory=lambda: np.zeros(0, np.int64))


def account_day(
    application: Application,
    conditions: Conditions,
    midnight_us: int,
    identity: RecordIdentity,
    ledger: Ledger,
    templates: Templates,
) -> Account | None:
    """All records of one application on one queue manager and day; None when no task ran."""
    rng = stream(conditions.profile, conditions.manager.name, conditions.day, application.name)
    tasks = draw_tasks(application, conditions, rng)
    if not len(tasks):
        return None
    per_force_us = force_us(tasks, conditions, rng)
    works = [queue_work(tasks, calls, conditions, per_force_us, rng) for calls in tasks.calls]
    day = _Day(tasks, works, conditions, rng)
    _task_figures(day, per_force_us)
    start, end, built = _times(day, midnight_us)
    _enter(day, ledger)
    classes = set(conditions.manager.accounting)
    if not classes & {1, 3}:
        return None
    names = Names(application, conditions.manager, rng)
    template = templates.get(
        (conditions.manager.name, application.name), lambda: task_template(conditions.profile, names, identity)
    )
    sheet = Sheet(template, len(tasks))
    sheet.stamp(built, identity)
    _write(day, sheet, names, start, end)
    return Account(sheet, built)


# --- what the task did -----------------------------------------------------------------------------------------------


def _sum(day: _Day, *parts: Counts) -> Counts:
    return np.asarray(sum(parts, np.zeros(len(day.tasks), np.int64)))


def _task_figures(day: _Day, per_force_us: NDArray[np.float64]) -> None:
    """The columns of WTAS (T3, T4)."""
    tasks, figures = day.tasks, day.figures
    figures["commits"], figures["backouts"] = tasks.commits, tasks.backouts
    figures["queue_blocks"] = np.full(len(tasks), len(day.works))
    waits = _log(day, per_force_us) + _coupling_facility(day) + _latches(day)
    _db2(day)
    _syncpoints(day, waits)
    if tasks.application.is_channel:
        _verb(day, "other", np.full(len(tasks), 6), np.zeros(len(tasks), np.int64))
    figures["pages_got_old"] = _sum(day, *(work.pages["get_page"] for work in day.works if work.pages))
    figures["pages_got_new"] = _sum(day, *(work.pages["get_new_page"] for work in day.works if work.pages))
    day.cpu = _sum(day, *(work.cpu for work in day.works), *_times_of(figures, "cpu"))
    day.elapsed = _sum(day, *(work.elapsed for work in day.works), *_times_of(figures, "elapsed"))


def _times_of(figures: Figures, what: str) -> list[Counts]:
    return [figures[name] for name in (f"commit_{what}", f"backout_{what}", f"other_{what}") if name in figures]


def _log(day: _Day, per_force_us: NDArray[np.float64]) -> Counts:
    """Log writes, bytes and forces; returns the wait for forces at the end of units (T3)."""
    tasks, figures = day.tasks, day.figures
    persistent = _sum(day, *(work.calls.persistent for work in day.works))
    if not persistent.any():
        return np.zeros(len(tasks), np.int64)
    logging_units = np.minimum(tasks.units, persistent)
    puts = _sum(day, *(work.calls.persistent_puts + work.calls.persistent_put1s for work in day.works))
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
    figures["log_forces"] = _sum(day, ended, *(work.forces for work in day.works))
    figures["log_force_elapsed"] = _sum(day, waited, *(work.force_elapsed for work in day.works))
    figures["log_reads"] = undone  # not a column of WTAS: the log manager reads what is backed out
    return waited


def _batch_bytes(tasks: Tasks, batches: Counts, messages: Counts) -> Counts:
    """What a channel logs per batch besides the messages (MP16 T-9)."""
    if tasks.application.kind == "sender":
        return costs.SENDER_BATCH_LOG_BYTES * batches + costs.SENDER_MESSAGE_LOG_BYTES * messages
    return costs.RECEIVER_BATCH_LOG_BYTES * batches if tasks.application.kind == "receiver" else 0 * batches


def _coupling_facility(day: _Day) -> Counts:
    """CF requests of the task; returns the time of those at the end of units (T4)."""
    tasks, figures = day.tasks, day.figures
    shared = [work for work in day.works if work.cf]
    if not shared:
        return np.zeros(len(tasks), np.int64)
    structures = {work.calls.queue.structure: work for work in shared}
    ended = tasks.units if tasks.application.syncpoint else np.zeros_like(tasks.units)
    admin = tod_units(ended * ADMIN_US)
    multiple_elapsed = np.zeros(len(tasks), np.int64)
    for name, work in structures.items():
        structure = day.conditions.profile.structure(name)
        slow = 1 + 5 * day.conditions.severity("cf_slow", name)[tasks.interval]
        work.cf["multiple_calls"] = ended
        work.cf["multiple_elapsed"] = tod_units(ended * structure.multiple_us * slow)
        multiple_elapsed = multiple_elapsed + work.cf["multiple_elapsed"]
    figures["cf_single_calls"] = _sum(day, ended, *(work.cf["single_calls"] for work in shared))
    figures["cf_single_redrives"] = _sum(day, *(work.cf["single_redrives"] for work in shared))
    figures["cf_single_elapsed"] = _sum(day, admin, *(work.cf["single_elapsed"] for work in shared))
    figures["cf_multiple_calls"] = ended * len(structures)
    figures["cf_multiple_elapsed"] = multiple_elapsed
    figures["admin_calls"], figures["admin_elapsed"] = ended, admin  # not columns of WTAS: for QEST
    return admin + multiple_elapsed


def _latches(day: _Day) -> Counts:
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


def _db2(day: _Day) -> None:
    """The first open of a shared queue now and then reads its definition from Db2."""
    shared_opens = _sum(day, *(work.calls.opens for work in day.works if work.cf))
    if not shared_opens.any():
        return
    requests = day.rng.binomial(shared_opens, _DB2_SHARE)
    queued = day.conditions.severity("db2_servers_short")[day.tasks.interval]
    server = tod_units(requests * _DB2_US * (0.8 + 0.4 * day.rng.random(len(requests))))
    thread = server + tod_units(requests * (_DB2_DISPATCH_US + _DB2_QUEUED_US * queued))
    each = np.maximum(1, requests)
    day.figures["db2_requests"] = requests
    day.figures["db2_server_elapsed"], day.figures["db2_thread_elapsed"] = server, thread
    day.figures["db2_server_longest"], day.figures["db2_thread_longest"] = server // each, thread // each
    first = next(work for work in day.works if work.cf and work.calls.opens.any())
    first.figures["open_elapsed"] = first.figures["open_elapsed"] + thread
    first.elapsed = first.elapsed + thread


def _syncpoints(day: _Day, waits: Counts) -> None:
    """CPU and elapsed time of commits and backouts; the waits belong to both, by their number."""
    tasks = day.tasks
    units = np.maximum(1, tasks.units)
    _verb(day, "commit", tasks.commits, waits * tasks.commits // units)
    _verb(day, "backout", tasks.backouts, waits * tasks.backouts // units)
    reads = _sum(day, *(work.figures.get("get_page_set_reads", 0 * units) for work in day.works))
    reading = _sum(day, *(work.figures.get("get_page_set_elapsed", 0 * units) for work in day.works))
    day.figures["suspends"] = day.figures.get("log_forces", 0 * units) + reads
    day.figures["suspend_elapsed"] = day.figures.get("log_force_elapsed", 0 * units) + reading


def _verb(day: _Day, verb: str, number: Counts, wait: Counts) -> None:
    if number.any():
        used = costs.cpu_us(verb, number, 0.0, day.conditions.manager, day.rng)
        day.figures[f"{verb}_cpu"] = tod_units(used)
        day.figures[f"{verb}_elapsed"] = day.figures[f"{verb}_cpu"] + tod_units(used * 0.05) + wait
        if verb == "other":
            day.figures["others"] = number


def _times(day: _Day, midnight_us: int) -> tuple[Counts, Counts, Counts]:
    """When each task began and ended, and when its record was built (T2)."""
    tasks, rng, length = day.tasks, day.rng, day.conditions.profile.interval_us
    first = midnight_us + tasks.interval * length
    if tasks.application.long_running:
        return first, first + length, first + length + rng.integers(1_000, 90_000, len(tasks))
    think = tasks.application.think_ms * 1000 * tasks.units * (0.5 + rng.random(len(tasks)))
    lasted = np.minimum((day.elapsed / 4096 + think).astype(np.int64) + 1, length - 1)
    begin = first + (rng.random(len(tasks)) * (length - lasted)).astype(np.int64)
    end = begin + lasted
    return begin, end, np.minimum(end + rng.integers(100, 400_000, len(tasks)), first + length - 1)


# --- the ledger (T6) -------------------------------------------------------------------------------------------------


def _enter(day: _Day, ledger: Ledger) -> None:
    tasks, manager = day.tasks, day.conditions.manager
    flat = {name: values for name, values in day.figures.items() if values.ndim == 1}
    ledger.enter("task", tasks.application.name, {**flat, "units": tasks.units}, tasks.interval)
    ledger.enter("all", "", {"tasks": np.ones(len(tasks), np.int64), "elapsed": day.elapsed}, tasks.interval)
    for work in day.works:
        queue, calls = work.calls.queue, work.calls
        figures = {**work.figures, "browses": calls.browses, "misses": calls.misses, "refused": calls.refused}
        figures["put_only"], figures["destructive"] = calls.puts, calls.gets
        if queue.shared:
            elements = costs.elements_of(calls.mix.sizes)
            ledger.enter("structure", queue.structure, work.cf, tasks.interval)
            ledger.enter("elements", queue.structure, {"put": calls.put_sizes @ elements}, tasks.interval)
        else:
            ledger.enter("page_set", queue.page_set, work.pages, tasks.interval)
            ledger.enter("pool", manager.pool_of(queue.page_set), work.pages, tasks.interval)
        ledger.enter("queue", queue.name, figures, tasks.interval)
    if "admin_calls" in day.figures:
        calls_made, spent = day.figures["admin_calls"], day.figures["admin_elapsed"]
        ledger.enter("structure", ADMIN_STRUCTURE, {"single_calls": calls_made, "single_elapsed": spent}, tasks.interval)
    if tasks.application.is_channel:
        _enter_channel(day, ledger)


def _enter_channel(day: _Day, ledger: Ledger) -> None:
    """What each instance of a channel moved: its own queues, not the sync queue."""
    tasks, instances = day.tasks, day.tasks.application.instances
    moved = [work for work in day.works if work is day.works[0] or work.calls.queue.name == day.works[0].calls.queue.name]
    figures = {
        "messages": _sum(day, *(work.calls.valid_puts + work.calls.valid_gets for work in moved)),
        "persistent": _sum(day, *(work.calls.persistent for work in moved)),
        "bytes": _sum(day, *(work.figures.get(name, 0 * tasks.units) for work in moved for name in _BYTES)),
        "batches": tasks.units,
        "calls": _sum(day, *(work.figures["calls"] for work in day.works), tasks.units),
        "cpu": day.cpu,
        "elapsed": day.elapsed,
    }
    for instance in range(instances):
        mine = slice(instance, None, instances)
        ledger.enter(
            "channel",
            (tasks.application.name, instance),
            {name: values[mine] for name, values in figures.items()},
            tasks.interval[mine],
        )


_BYTES = ("put_bytes", "get_bytes")


# --- the records -----------------------------------------------------------------------------------------------------


def _write(day: _Day, sheet: Sheet, names: Names, start: Counts, end: Counts) -> None:
    """The rows of the day (T1)."""
    correlators = names.correlators(start)
    columns = names.columns(start)
    for place in sheet.places("WTID"):
        fill_columns(place, columns)
    sheet.fill("WTAS", {**day.figures, **correlators, "interval_start": tod(start), "interval_end": tod(end)})
    token = names.correlator_bytes(correlators)
    for work, place in zip(day.works, sheet.places("WQST"), strict=False):
        fill_columns(place, work.figures)
        fill_columns(place, {"correlator": token, "opened_at": tod(start), "closed_at": _closed(work, end)})
        if work.cf and "cf_calls" in (place.dtype.names or ()):
            _fill_cf_calls(place, work)
    if sheet.places("QMAC"):
        sheet.fill("QMAC", {"cpu": day.cpu, **_bands(day.works, "put"), **_bands(day.works, "get")})
        sheet.fill("QWAC", _thread(day, start, end))


def _closed(work: QueueWork, end: Counts) -> NDArray[np.uint64]:
    return np.where(work.calls.closes > 0, tod(end), np.uint64(0))


def _fill_cf_calls(place: NDArray[np.void], work: QueueWork) -> None:
    """Requests by verb and kind: New for puts, Move for gets; a few of them asynchronous."""
    kinds = place["cf_calls"]["kinds"]
    each_us = work.cf["single_elapsed"] / 4096 / np.maximum(1, work.cf["single_calls"])
    for verb, kind, number in (
        (2, _GET_KIND, work.figures.get("gets")),
        (3, _PUT_KIND, work.figures.get("puts")),
        (4, _PUT_KIND, work.figures.get("put1s")),
    ):
        if number is not None:
            waited = number // 20
            target = kinds[:, verb, kind]
            target["requests"], target["sync"], target["async_"] = number, number - waited, waited
            target["sync_elapsed"] = np.rint((number - waited) * each_us)
            target["async_elapsed"] = np.rint(waited * each_us * 2)


def _bands(works: list[QueueWork], verb: str) -> Figures:
    """Puts or gets in the four size bands of QMAC."""
    figures: Figures = {}
    for work in works:
        counted = work.calls.put_sizes if verb == "put" else work.calls.get_sizes
        for number, band in zip(counted.T, np.searchsorted(_BANDS, work.calls.mix.sizes, side="right"), strict=True):
            name = f"{verb}s_{_BAND_NAMES[band]}"
            figures[name] = figures.get(name, np.zeros_like(number)) + number
    return figures


def _thread(day: _Day, start: Counts, end: Counts) -> Figures:
    """QWAC: the thread's own times; TCB time counts on from where the thread began."""
    before = tod_units(day.rng.random(len(day.tasks)) * 1e6)
    return {
        "started_at": tod(start),
        "ended_at": tod(end),
        "tcb_at_start": before,
        "tcb_at_end": before + day.cpu + day.cpu // 4,
        "reason": np.full(len(day.tasks), 12),
        "commits": day.tasks.commits,
        "backouts": day.tasks.backouts,
    }
