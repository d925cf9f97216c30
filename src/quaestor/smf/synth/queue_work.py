"""What calls on one queue cost and set in motion: the columns of WQST, and the work of the managers below.

Rules
  Q1  Elapsed time of a verb = CPU + waits (log force, page set, coupling facility) + a little for dispatching; so
      elapsed >= CPU + each wait, in every row.
  Q2  GETN = browses + gets, any or specific, found or not; VALIDGET = those that returned data; bytes, sizes and
      time on queue come from the valid ones alone (MP1B F-8, F-9).
  Q3  n x shortest <= total <= n x longest time on queue, with equality for one message.
  Q4  Waits for a log force appear with the verb only out of syncpoint (MP1B F-15): as log writes before V6, which
      had no other fields, as log forces since.
  Q5  Only a condition that was planted makes a get read its page set, search, or meet expired messages.

Called by accounting.  Calls costs, incidents.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from quaestor.smf.synth import costs
from quaestor.smf.synth.incidents import Conditions
from quaestor.smf.synth.profile import INDEX_TYPES
from quaestor.smf.synth.sheet import Figures, tod_units
from quaestor.smf.synth.workload import Calls, Tasks

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]

_VERBS = (("open", "opens"), ("close", "closes"), ("inq", "inquires"), ("set", "sets"))
_SPILLED_SHARE = {"buffer_pool_small": 0.4, "page_set_reads": 0.8}
_SKIPPED_PER_GET = 300
_EXPIRED_PER_GET = 0.3
_REDRIVEN_SHARE = 0.35
_NO_SIZE = 0x0FFFFFFF


@dataclass(slots=True)
class QueueWork:
    """The WQST columns of one queue, and what its calls made other managers do; one element per task."""

    calls: Calls
    figures: Figures = field(default_factory=dict)
    cpu: Counts = field(default_factory=lambda: np.zeros(0, np.int64))  # TOD units
    elapsed: Counts = field(default_factory=lambda: np.zeros(0, np.int64))
    forces: Counts = field(default_factory=lambda: np.zeros(0, np.int64))
    force_elapsed: Counts = field(default_factory=lambda: np.zeros(0, np.int64))
    log_bytes: Numbers = field(default_factory=lambda: np.zeros(0))
    cf: Figures = field(default_factory=dict)
    pages: Figures = field(default_factory=dict)


def force_us(tasks: Tasks, conditions: Conditions, rng: np.random.Generator) -> Numbers:
    """How long one force of the log takes in each task."""
    usual = conditions.manager.log.io_us * conditions.log_slowdown()[tasks.interval]
    return np.asarray(usual * (0.8 + 0.5 * rng.random(len(tasks))))


def queue_work(
    tasks: Tasks, calls: Calls, conditions: Conditions, per_force_us: Numbers, rng: np.random.Generator
) -> QueueWork:
    """Everything that follows from the calls of some tasks on one queue."""
    work = QueueWork(calls)
    _sizes(work)
    _get_kinds(work, tasks, conditions)
    work.cf = _coupling_facility(tasks, calls, conditions, rng) if calls.queue.shared else {}
    work.pages = {} if calls.queue.shared else _pages(work, tasks, conditions, rng)
    work.log_bytes = _log_bytes(calls)
    _times(work, tasks, conditions, per_force_us, rng)
    _time_on_queue(work, rng)
    work.figures["calls"] = _total(work, "opens", "closes", "gets", "puts", "put1s", "inquires", "sets")
    return work


def _total(work: QueueWork, *names: str) -> Counts:
    none = np.zeros(len(work.calls.opens), np.int64)
    return np.asarray(sum((work.figures[name] for name in names if name in work.figures), none))


def _sizes(work: QueueWork) -> None:
    """Valid counts, bytes and extreme sizes (Q2)."""
    calls, figures = work.calls, work.figures
    sizes = np.array(calls.mix.sizes)
    for verb, counted in (("put", calls.put_sizes), ("get", calls.get_sizes)):
        if not counted.any():
            continue
        seen = counted > 0
        some = seen.any(axis=1)
        figures[f"valid_{verb}s"] = counted.sum(axis=1)
        figures[f"{verb}_bytes"] = counted @ sizes
        figures[f"{verb}_size_high"] = np.where(some, np.where(seen, sizes, -1).max(axis=1), 0)
        figures[f"{verb}_size_low"] = np.where(some, np.where(seen, sizes, _NO_SIZE).min(axis=1), _NO_SIZE)
    if calls.persistent.any():
        figures["puts_persistent"] = calls.persistent_puts
        figures["put1s_persistent"] = calls.persistent_put1s
        figures["gets_persistent"] = calls.persistent_gets


def _get_kinds(work: QueueWork, tasks: Tasks, conditions: Conditions) -> None:
    """Any or specific, searched or not (Q2, Q5)."""
    calls, figures, queue = work.calls, work.figures, work.calls.queue
    if not (calls.valid_gets.any() or calls.misses.any()):
        return
    searched = conditions.severity("queue_without_index", queue.name)[tasks.interval]
    unneeded = conditions.severity("index_not_needed", queue.name)[tasks.interval]
    specific = np.where(unneeded > 0, False, (searched > 0) | calls.use.specific)
    tried = calls.gets + calls.misses
    figures["gets"] = tried + calls.browses
    figures["gets_specific"] = np.where(specific, tried, 0)
    figures["gets_any"] = np.where(specific, 0, tried)
    figures["browses_specific" if calls.use.specific else "browses_any"] = calls.browses
    figures["valid_destructive_gets"] = calls.gets
    if searched.any() or unneeded.any():
        index = INDEX_TYPES[queue.index]
        figures["index_type"] = np.where(searched > 0, 0, np.where(unneeded > 0, max(1, index), index))
        figures["messages_skipped"] = np.rint(calls.gets * searched * _SKIPPED_PER_GET).astype(np.int64)
    expired = conditions.severity("expired_messages", queue.name)[tasks.interval]
    if expired.any():
        figures["messages_expired"] = np.ceil(calls.gets * expired * _EXPIRED_PER_GET).astype(np.int64)


def _pages(work: QueueWork, tasks: Tasks, conditions: Conditions, rng: np.random.Generator) -> Figures:
    """Pages got, changed and read from the page set by the tasks (costs C4)."""
    calls, manager = work.calls, conditions.manager
    put_old, put_new, put_changed = costs.pages_of_puts(manager, calls.mix.sizes)
    get_old, get_changed = costs.pages_of_gets(calls.mix.sizes)
    skipped = work.figures.get("messages_skipped", 0)
    destructive = calls.gets / np.maximum(1, calls.valid_gets)
    spilled = sum(
        share * conditions.severity(kind, name)[tasks.interval]
        for (kind, share), name in zip(
            _SPILLED_SHARE.items(), (manager.pool_of(calls.queue.page_set), calls.queue.name), strict=True
        )
    )
    pages = costs.pages_of(calls.mix.sizes)
    page_reads = np.zeros_like(calls.gets)
    if np.any(spilled):
        page_reads = rng.binomial(np.rint(calls.get_sizes @ pages).astype(np.int64), np.minimum(1, spilled))
        work.figures["get_page_set_reads"] = page_reads
    return {
        "get_page": np.rint(calls.put_sizes @ put_old + calls.get_sizes @ get_old).astype(np.int64) + skipped,
        "get_new_page": np.rint(calls.put_sizes @ put_new).astype(np.int64),
        "set_writes": np.rint(calls.put_sizes @ put_changed + calls.get_sizes @ get_changed * destructive).astype(
            np.int64
        ),
        "emptied": np.rint(calls.get_sizes @ pages * destructive).astype(np.int64),
        "page_reads": page_reads,
        "gets_from_disk": np.minimum(page_reads, calls.valid_gets),
        "pages_put": np.rint(calls.put_sizes @ pages).astype(np.int64),
    }


def _coupling_facility(tasks: Tasks, calls: Calls, conditions: Conditions, rng: np.random.Generator) -> Figures:
    """Requests for single entries: one per put, get and browse, and one more per get that is redriven."""
    structure = conditions.profile.structure(calls.queue.structure)
    asked = calls.puts + calls.refused + calls.put1s + calls.valid_gets + calls.misses
    share = np.minimum(1, _REDRIVEN_SHARE * conditions.severity("cf_redrives", structure.name))[tasks.interval]
    redriven = rng.binomial(calls.valid_gets, share) if share.any() else np.zeros_like(asked)
    if not conditions.manager.at_least("7.0"):  # the first read takes 4 KB, a longer message is read again
        redriven = np.minimum(
            calls.valid_gets, redriven + calls.get_sizes @ (np.array(calls.mix.sizes) > costs.FIRST_READ_BYTES)
        )
    each_us = structure.single_us * conditions.cf_slowdown(structure.name)[tasks.interval]
    single = asked + redriven
    elapsed = tod_units(single * each_us * (0.9 + 0.2 * rng.random(len(asked))))
    return {"single_calls": single, "single_redrives": redriven, "single_elapsed": elapsed}


def _log_bytes(calls: Calls) -> Numbers:
    """Bytes logged for the persistent messages (costs C2)."""
    put_share = (calls.persistent_puts + calls.persistent_put1s) / np.maximum(1, calls.valid_puts)
    get_share = calls.persistent_gets / np.maximum(1, calls.valid_gets)
    return np.asarray(
        calls.put_sizes @ costs.log_bytes_of_put(calls.mix.sizes) * put_share
        + calls.get_sizes @ costs.log_bytes_of_get(calls.mix.sizes) * get_share
    )


def _times(
    work: QueueWork, tasks: Tasks, conditions: Conditions, per_force_us: Numbers, rng: np.random.Generator
) -> None:
    """CPU and elapsed time of every verb (Q1, Q4)."""
    calls, figures = work.calls, work.figures
    none = np.zeros(len(tasks), np.int64)
    work.cpu, work.elapsed, work.forces, work.force_elapsed = none, none, none, none
    for verb, name in _VERBS:
        _verb(work, verb, name, getattr(calls, name), none, none, conditions, rng)
    get_bytes, put_bytes = figures.get("get_bytes", none), figures.get("put_bytes", none)
    by_put = calls.puts / np.maximum(1, calls.valid_puts)
    moved = {"get": get_bytes, "put": put_bytes * by_put, "put1": put_bytes * (1 - by_put)}
    persistent = {"get": calls.persistent_gets, "put": calls.persistent_puts, "put1": calls.persistent_put1s}
    counted = {"get": figures.get("gets", none), "put": calls.puts + calls.refused, "put1": calls.put1s}
    asked = np.maximum(1, counted["get"] + counted["put"] + counted["put1"])
    for verb, number in counted.items():
        wait = work.cf.get("single_elapsed", none) * number // asked
        if not tasks.application.syncpoint and persistent[verb].any():
            wait = wait + _forced(work, verb, persistent[verb], per_force_us, conditions)
        if verb == "get" and "get_page_set_reads" in figures:
            reading = tod_units(figures["get_page_set_reads"] * costs.PAGE_SET_IO_US * (0.8 + 0.4 * rng.random()))
            figures["get_page_set_elapsed"] = reading
            wait = wait + reading
        _verb(work, verb, f"{verb}s", number, wait, moved[verb], conditions, rng)


def _forced(work: QueueWork, verb: str, persistent: Counts, per_force_us: Numbers, conditions: Conditions) -> Counts:
    """The wait for the log of persistent calls out of syncpoint (Q4)."""
    waited = tod_units(persistent * per_force_us)
    kind = "force" if conditions.manager.at_least("6.0") else "write"
    work.figures[f"{verb}_log_{kind}s"] = persistent
    work.figures[f"{verb}_log_{kind}_elapsed"] = waited
    work.figures[f"{verb}_suspends"] = persistent
    work.figures[f"{verb}_suspend_elapsed"] = waited
    work.forces = work.forces + persistent
    work.force_elapsed = work.force_elapsed + waited
    return waited


def _verb(
    work: QueueWork,
    verb: str,
    name: str,
    number: Counts,
    wait: Counts,
    message_bytes: NDArray[np.float64] | Counts,
    conditions: Conditions,
    rng: np.random.Generator,
) -> None:
    """The three columns of a verb: calls, CPU and elapsed (Q1)."""
    if not number.any():
        return
    used = costs.cpu_us(verb, number, message_bytes, conditions.manager, rng)
    if verb == "get" and "messages_skipped" in work.figures:
        used = used + work.figures["messages_skipped"] * costs.CPU_US_PER_SKIPPED_MESSAGE
    cpu = tod_units(used)
    elapsed = cpu + tod_units(used * 0.06 * rng.random(len(used), dtype=np.float32)) + wait
    work.figures[name] = number
    work.figures[f"{verb}_cpu"], work.figures[f"{verb}_elapsed"] = cpu, elapsed
    work.cpu, work.elapsed = work.cpu + cpu, work.elapsed + elapsed


def _time_on_queue(work: QueueWork, rng: np.random.Generator) -> None:
    """Total, longest and shortest time on queue of the messages got (Q3)."""
    gets = work.calls.gets
    if not gets.any():
        return
    some = gets > 0
    average = work.calls.queue.on_queue_ms * 1000 * (0.5 + rng.random(len(gets))) * 4096
    shortest = np.where(gets > 1, average * (0.2 + 0.6 * rng.random(len(gets))), average)
    stretch = np.minimum(gets - 1, 1 + 2 * rng.random(len(gets)))
    longest = average + (average - shortest) * np.maximum(0, stretch)
    total = np.rint(average).astype(np.int64) * gets
    work.figures["on_queue_elapsed"] = total
    work.figures["on_queue_longest"] = np.where(some, np.ceil(longest).astype(np.int64), 0)
    work.figures["on_queue_shortest"] = np.where(some, np.floor(shortest).astype(np.int64), 0)
    one = gets == 1
    for name in ("on_queue_longest", "on_queue_shortest"):
        work.figures[name] = np.where(one, total, work.figures[name])
    work.figures["depth_high"] = np.where(some, 1 + gets // 50 + rng.integers(0, 8, len(gets)), 0)
