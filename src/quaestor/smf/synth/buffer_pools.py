"""What the buffer manager and the page sets count: QPST and QIS1.

Rules
  B1  Get page, get new page and set write come from the ledger; the emptying task adds a page per message page got.
  B2  A pool sized for its load neither steals nor reads, and deferred write starts never; a checkpoint writes what
      has aged. All of that changes only where a pool was planted too small.
  B3  STL = RIO + steals for new pages (MP1B F-23). Deferred writes move whole I/Os, 4 pages before V8 and 16 since;
      synchronous ones move one page each: TPW = pages per I/O x (WIO - IMW) + IMW, DMC <= IMW <= WIO.
  B4  The page sets of a pool share its reads and writes without a remainder.
  B5  A pool that nothing uses has all buffers free at its low mark and none counted now (MP1B F-19).

Called by statistics.  Calls ledger, incidents.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from quaestor.smf.synth.costs import PAGE_SET_IO_US
from quaestor.smf.synth.incidents import Conditions
from quaestor.smf.synth.ledger import Ledger
from quaestor.smf.synth.profile import BufferPool, PageSet, Profile, QueueManager
from quaestor.smf.synth.sheet import Figures, tod_units

Counts = NDArray[np.int64]
Numbers = NDArray[np.float64]

_RESTING_SHARE = 0.35  # of the busiest hour's pages stay in use when nothing happens
_AGED_SHARE = 0.01  # of the pages put are old enough when a checkpoint comes
_ABOVE_BAR = 0x80000000
_PERSISTENT_SHARE = 0.7


@dataclass(slots=True)
class Pages:
    """The figures of all pools and page sets of a queue manager over one day."""

    pools: list[tuple[BufferPool, Figures]] = field(default_factory=list)
    page_sets: list[tuple[PageSet, Figures]] = field(default_factory=list)


def page_figures(conditions: Conditions, ledger: Ledger, checkpoints: Counts, rng: np.random.Generator) -> Pages:
    """QPST columns of every pool and QIS1 columns of every page set."""
    manager, made = conditions.manager, Pages()
    for pool in manager.buffer_pools:
        load = _load(conditions, ledger, {each.number for each in manager.page_sets if each.buffer_pool == pool.number})
        figures = _pool(pool, load, conditions, ledger, checkpoints, rng)
        made.pools.append((pool, figures))
        mine = [each for each in manager.page_sets if each.buffer_pool == pool.number]
        made.page_sets += [
            (each, _page_set(each, position, mine, figures, load, conditions, ledger, rng))
            for position, each in enumerate(mine)
        ]
    made.page_sets.sort(key=lambda pair: pair[0].number)
    return made


def _load(conditions: Conditions, ledger: Ledger, page_sets: set[int]) -> Numbers | None:
    """Messages of some page sets in each interval, as a share of the busiest hour's; None when nothing uses them."""
    profile = conditions.profile
    queues = [each.name for each in profile.queues_on(conditions.manager) if each.page_set in page_sets]
    expected = sum(_busiest_messages(profile, conditions.manager, name) for name in queues)
    if not expected:
        return None
    moved = sum(ledger.sum("queue", name, "valid_puts", "valid_gets") for name in queues)
    return np.asarray(np.minimum(1.1, moved / expected))


def _busiest_messages(profile: Profile, manager: QueueManager, queue: str) -> float:
    """Messages that pass a queue in an interval of the busiest hour."""
    hours = profile.interval_minutes / 60
    return sum(
        application.busiest_units_per_hour * hours * (use.put + use.put1 + use.get + use.browse)
        for application in profile.applications_on(manager)
        for use in application.uses
        if use.queue == queue
    )


def _pool(
    pool: BufferPool,
    load: Numbers | None,
    conditions: Conditions,
    ledger: Ledger,
    checkpoints: Counts,
    rng: np.random.Generator,
) -> Figures:
    count = ledger.intervals
    if load is None:  # B5
        return {"stealable_low": np.full(count, pool.buffers), "stealable_now": np.zeros(count, np.int64)}
    manager = conditions.manager
    short = conditions.severity("buffer_pool_small", pool.number)
    used = pool.busy_percent / 100 * (_RESTING_SHARE + (1 - _RESTING_SHARE) * load)
    free = np.where(short > 0, 0.03 * rng.random(count), 1 - used)
    low = np.rint(pool.buffers * free).astype(np.int64)
    new_pages = ledger.sum("pool", pool.number, "get_new_page")
    reads = ledger.sum("pool", pool.number, "page_reads")
    emptied = ledger.sum("pool", pool.number, "emptied")
    figures: Figures = {
        "stealable_low": low,
        "stealable_now": low + ((pool.buffers - low) * 0.05 * rng.random(count)).astype(np.int64),
        "get_page": ledger.sum("pool", pool.number, "get_page") + emptied,
        "get_new_page": new_pages,
        "set_writes": ledger.sum("pool", pool.number, "set_writes"),
        "page_reads": reads,
        "steals": reads + np.where(short > 0, new_pages // 2, 0),
    }
    figures |= _writes(manager, short, new_pages, checkpoints, rng)
    return figures


def _writes(
    manager: QueueManager, short: Numbers, new_pages: Counts, checkpoints: Counts, rng: np.random.Generator
) -> Figures:
    """Writes at checkpoints, and what a pool too small adds (B2, B3)."""
    per_io = 16 if manager.at_least("8.0") else 4
    aged = np.where(checkpoints > 0, 1 + (new_pages * _AGED_SHARE / per_io).astype(np.int64), 0)
    deferred = np.where(short > 0, 1 + new_pages * 4 // (5 * per_io), 0)
    at_threshold = np.where(short > 0, 1 + rng.poisson(6 * short), 0)
    immediate = 4 * at_threshold
    return {
        "write_ios": aged + deferred + immediate,
        "pages_written": per_io * (aged + deferred) + immediate,
        "immediate_writes": immediate,
        "deferred_write_starts": np.where(short > 0, 1 + rng.poisson(12 * short), 0),
        "synchronous_write_starts": at_threshold,
        "short_on_storage": np.where(short > 0, 1 + rng.poisson(3 * short), 0),
        "checkpoint_pages": per_io * aged,  # not columns of QPST: for QIS1
        "deferred_pages": per_io * deferred,
        "deferred_ios": deferred,
    }


def _page_set(
    page_set: PageSet,
    position: int,
    siblings: list[PageSet],
    pool: Figures,
    load: Numbers | None,
    conditions: Conditions,
    ledger: Ledger,
    rng: np.random.Generator,
) -> Figures:
    """QIS1 of one page set: its part of what the pool read and wrote (B4), and how full it is."""
    count = ledger.intervals
    full = conditions.severity("page_set_full", page_set.number)
    share = _RESTING_SHARE + (1 - _RESTING_SHARE) * (0 if load is None else load)
    used = np.rint(page_set.pages * page_set.busy_percent / 100 * share * np.ones(count)).astype(np.int64)
    used = np.where(full > 0, page_set.pages - rng.integers(0, 4, count), used)
    persistent = (used * _PERSISTENT_SHARE).astype(np.int64)
    reads = ledger.sum("page_set", page_set.number, "page_reads")
    deferred_ios = _part(pool, "deferred_ios", position, len(siblings), count)
    immediate = _part(pool, "immediate_writes", position, len(siblings), count)
    return {
        "pages_unused": page_set.pages - used,
        "pages_persistent": persistent,
        "pages_nonpersistent": used - persistent,
        "full": np.where(full > 0, 1 + rng.poisson(8 * full), 0),
        "put_cursor_high": used,
        "deferred_write_ios": deferred_ios,
        "deferred_write_pages": deferred_ios * (16 if conditions.manager.at_least("8.0") else 4),
        "deferred_write_elapsed": tod_units(deferred_ios * 2 * PAGE_SET_IO_US),
        "immediate_write_ios": immediate,
        "immediate_write_pages": immediate,
        "immediate_write_elapsed": tod_units(immediate * PAGE_SET_IO_US),
        "read_ios": reads,
        "read_pages": reads,
        "read_elapsed": tod_units(reads * PAGE_SET_IO_US),
        "checkpoint_pages": _part(pool, "checkpoint_pages", position, len(siblings), count),
    }


def _part(pool: Figures, name: str, position: int, parts: int, count: int) -> Counts:
    """One page set's part of a pool's figure; the first takes what does not divide (B4)."""
    whole = pool.get(name, np.zeros(count, np.int64))
    return np.asarray(whole // parts + (whole % parts if position == 0 else 0))


def pool_flags(pool: BufferPool, manager: QueueManager) -> int:
    return _ABOVE_BAR if pool.above_bar and manager.at_least("8.0") else 0
