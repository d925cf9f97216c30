"""Accounting of one application over one day: 116-0, 116-1 and 116-2, and the entries in the ledger.

Rules
  T1  One row per task and interval; a row is the task's 116-0 (class 1, short tasks only) followed by its 116-1 and
      continuations (class 3).
  T2  A task lies wholly inside its interval, and so does the moment its record is built; a long-running task is cut
      at the interval's end (MP1B M-2, M-3).
  T3  CORREL of every queue record is the 16 bytes at WTASSTRT.
  T4  Whatever is written is entered in the ledger as well.

Called by generate.  Calls workload, queue_work, task_work, identity, sheet.
"""

from dataclasses import dataclass

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
from quaestor.smf.synth.task_work import TaskWork, task_work, total
from quaestor.smf.synth.workload import draw_tasks
from quaestor.smf.writer import RecordIdentity

ADMIN_STRUCTURE = "CSQ_ADMIN"
_BANDS = (100, 1000, 10_000)
_BAND_NAMES = ("0_99", "100_999", "1000_9999", "10000_up")
_PUT_KIND, _GET_KIND = 10, 11  # New and Move among the kinds of CF request

Counts = NDArray[np.int64]


@dataclass(slots=True)
class Account:
    """The rows of one application and day, with the moment at which each record was built."""

    sheet: Sheet
    built_us: Counts


def account_day(
    application: Application,
    conditions: Conditions,
    midnight_us: int,
    identity: RecordIdentity,
    ledger: Ledger,
    templates: Templates,
) -> Account | None:
    """All records of one application on one queue manager and day; None when no task ran, or none is accounted for."""
    rng = stream(conditions.profile, conditions.manager.name, conditions.day, application.name)
    tasks = draw_tasks(application, conditions, rng)
    if not len(tasks):
        return None
    per_force_us = force_us(tasks, conditions, rng)
    works = [queue_work(tasks, calls, conditions, per_force_us, rng) for calls in tasks.calls]
    day = task_work(tasks, works, conditions, per_force_us, rng)
    start, end, built = _times(day, midnight_us)
    _enter(day, ledger)
    names = Names(application, conditions.manager, rng)
    template = templates.get(
        (conditions.manager.name, application.name), lambda: task_template(conditions.profile, names, identity)
    )
    if not template:
        return None
    sheet = Sheet(template, len(tasks))
    sheet.stamp(built, identity)
    _write(day, sheet, names, start, end)
    return Account(sheet, built)


def _times(day: TaskWork, midnight_us: int) -> tuple[Counts, Counts, Counts]:
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


# --- the ledger (T4) -------------------------------------------------------------------------------------------------


def _enter(day: TaskWork, ledger: Ledger) -> None:
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
        ledger.enter(
            "structure", ADMIN_STRUCTURE, {"single_calls": calls_made, "single_elapsed": spent}, tasks.interval
        )
    if tasks.application.is_channel:
        _enter_channel(day, ledger)


def _enter_channel(day: TaskWork, ledger: Ledger) -> None:
    """What each instance of a channel moved: its own queues, not the sync queue."""
    tasks, instances = day.tasks, day.tasks.application.instances
    moved = [
        work for work in day.works if work is day.works[0] or work.calls.queue.name == day.works[0].calls.queue.name
    ]
    figures = {
        "messages": total(day, *(work.calls.valid_puts + work.calls.valid_gets for work in moved)),
        "persistent": total(day, *(work.calls.persistent for work in moved)),
        "bytes": total(day, *(work.figures.get(name, 0 * tasks.units) for work in moved for name in _BYTES)),
        "batches": tasks.units,
        "calls": total(day, *(work.figures["calls"] for work in day.works), tasks.units),
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


def _write(day: TaskWork, sheet: Sheet, names: Names, start: Counts, end: Counts) -> None:
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


def _thread(day: TaskWork, start: Counts, end: Counts) -> Figures:
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
