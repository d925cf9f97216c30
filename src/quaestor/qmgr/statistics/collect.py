"""Collecting: the sections of all managers for one interval, and the records they go into.

Rules
  CO1 What a manager counts is read from the section it counts into; nothing is counted twice.
  CO2 What is not counted but is (buffers stealable now, pages in use) is asked for when the interval ends.
  CO3 Classes: 1 gives 115-1, 115-2, 115-215 and 115-201. Class 2 is storage of the address space, class 4 the channel
      initiator, class 5 queues; this queue manager has no figures of its own for them and writes nothing.

Called by the statistics manager, with the engine latch held.  Calls every manager's `stats`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from quaestor.layout import Record
from quaestor.qmgr.buffer import BufferManager
from quaestor.qmgr.data.space import Space
from quaestor.qmgr.lock import LockManager
from quaestor.qmgr.log import LogManager
from quaestor.qmgr.statistics.intervals import Looks
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.smf.sections.coupling_facility import (
    CouplingFacilityStatistics,
    SharedMessageDataSetStatistics,
    StructureFigures,
)
from quaestor.smf.sections.data import DataStatistics, PageSetStatistics
from quaestor.smf.sections.db2 import Db2Statistics
from quaestor.smf.sections.message import MessageStatistics
from quaestor.storage.changes import FREE, SPAN, VOLATILE_PAGE, map_page_of
from quaestor.storage.page import HEADER_LENGTH
from quaestor.storage.page_set import PageSet, spans

STRUCTURES = 64
"""Slots of QEST."""

LOG, MESSAGE, PAGE_SETS, POOLS = (115, 1), (115, 2), (115, 201), (115, 215)


class CountsData(Protocol):
    """The data manager, as far as it is looked at here."""

    stats: DataStatistics
    space: Space


class CountsMessages(Protocol):
    """The message manager, likewise."""

    stats: MessageStatistics


class CountsShared(Protocol):
    """The coupling facility manager, likewise."""

    def structure_figures(self) -> Sequence[StructureFigures]:
        """What was counted of each structure."""

    def data_set_figures(self) -> Sequence[SharedMessageDataSetStatistics]:
        """What was counted of shared message data sets."""

    def repository_figures(self) -> Db2Statistics | None:
        """What was counted of the shared repository."""


@dataclass(frozen=True, slots=True)
class Managers:
    """The managers whose sections are collected; the last where there is a queue-sharing group."""

    log: LogManager
    buffers: BufferManager
    locks: LockManager
    data: CountsData
    messages: CountsMessages
    shared: CountsShared | None = None


Collected = Mapping[tuple[int, int], Sequence[Record]]


def collect(managers: Managers, looks: Looks) -> Collected:
    """The sections of the interval that ends now, or that is glanced at (IV5), by record (CO1, CO3)."""
    data = managers.data
    found: dict[tuple[int, int], Sequence[Record]] = {
        LOG: [looks.since("log", managers.log.stats)],
        MESSAGE: [
            looks.since("message", managers.messages.stats),
            looks.since("data", data.stats),
            looks.since("lock", managers.locks.stats),
            *_of_the_group(managers, looks),
        ],
        POOLS: [looks.since(("pool", pool.stats.buffer_pool), pool.stats) for pool in _up_to_date(managers.buffers)],
        PAGE_SETS: list(_page_sets(managers, looks)),
    }
    if looks.ends:
        for pool in managers.buffers.pools.values():
            pool.stats.stealable_low = pool.stealable
    return found


def _of_the_group(managers: Managers, looks: Looks) -> Iterator[Record]:
    """What only a member of a queue-sharing group counts: Q5ST, QEST and QESD."""
    if managers.shared is not None:
        repository = managers.shared.repository_figures()
        if repository is not None:
            yield looks.since("db2", repository)
        found = managers.shared.structure_figures()[:STRUCTURES]
        figures = [looks.since(("structure", each.structure), each) for each in found]
        unused = [StructureFigures()] * (STRUCTURES - len(figures))  # the section has copies of its own
        yield CouplingFacilityStatistics(structures=figures + unused)
        for each in managers.shared.data_set_figures():
            yield looks.since(("data set", each.structure), each)
            if looks.ends:
                each.blocks_free_low, each.buffers_free_low = each.blocks_free, each.buffers_empty


@dataclass(frozen=True, slots=True)
class _Pool:
    stats: BufferStatistics


def _up_to_date(buffers: BufferManager) -> Iterator[_Pool]:
    """The pools, their sections saying what is now (CO2)."""
    for number in sorted(buffers.pools):
        pool = buffers.pools[number]
        pool.stats.buffers, pool.stats.stealable_now = pool.buffers, pool.stealable
        yield _Pool(pool.stats)


def _page_sets(managers: Managers, looks: Looks) -> Iterator[PageSetStatistics]:
    for number, page_set in sorted(managers.buffers.page_sets.items()):
        section = managers.buffers.meter.page_sets[number]
        usage = page_set_usage(managers.buffers, managers.data.space, page_set)
        section.pages, section.pages_unused = page_set.pages, usage.unused
        section.pages_persistent, section.pages_nonpersistent = usage.persistent, usage.nonpersistent
        section.buffer_pool, section.expansions = page_set.buffer_pool, page_set.expansions
        yield looks.since(("page set", number), section)


@dataclass(frozen=True, slots=True)
class Usage:
    """Pages of a page set by what they hold, as DISPLAY USAGE tells it."""

    unused: int
    persistent: int
    nonpersistent: int


def page_set_usage(buffers: BufferManager, space: Space, page_set: PageSet) -> Usage:
    """Count the space map; pages kept empty for the next message are unused. The latch is held."""
    pool, free, volatile = buffers.pool_of[page_set.number], 0, 0
    for first in spans(page_set.pages):
        data = pool.peek(page_set, map_page_of(first)).data or b""
        uses = bytes(data[HEADER_LENGTH : HEADER_LENGTH + min(SPAN, page_set.pages - first)])
        free += uses.count(FREE)
        volatile += uses.count(VOLATILE_PAGE)
    kept, kept_volatile = len(space.empty[page_set.number]), len(space.volatile[page_set.number])
    return Usage(free + kept + kept_volatile, page_set.pages - free - volatile - kept, volatile - kept_volatile)
