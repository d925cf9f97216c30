"""Parts of the simulated queue manager: the logger, the buffer pool, and how busy a part was.

Rules
  S1  A logger's turn takes what waits for it when it begins; those that come meanwhile wait for the next.
  S2  A pool counts pages as unused, unchanged (written, may be stolen) or changed; stealable are the first two.
  S3  The oldest leave first, whether they are written or stolen.
  S5  An I/O of some pages takes between the time of one page and that of 128, in proportion; 128 take no less than one.
  S4  Busy time counts only where it lies in the measured stretch.
  S6  Where applications write the log themselves (`leads_max`), the first that waits leads: it is held while it goes on
      for those that came meanwhile, until nobody waits, or for so many turns; then one of them leads.  After every I/O
      the leader needs a processor (`go_on`) before anybody is served: once for all of them.

Called by simulator.  Calls log_flow for the shape of a log write.
"""

from collections import OrderedDict
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import simpy

from quaestor.planner.buffer_flow import DEFERRED_WRITE_BELOW, DEFERRED_WRITE_STOPS_AT, SYNCHRONOUS_BELOW
from quaestor.planner.deferred_write import PAGES_PER_IO
from quaestor.planner.log_flow import PAGE_BYTES, PAGES_PER_IO_MAX, full_page_ios


@dataclass(slots=True)
class Busy:
    """Time that servers alike were at work within a stretch (S4)."""

    servers: int
    from_ms: float
    to_ms: float
    spent_ms: float = 0.0

    def add(self, ended_ms: float, took_ms: float) -> None:
        began = max(self.from_ms, ended_ms - took_ms)
        self.spent_ms += max(0.0, min(self.to_ms, ended_ms) - began)

    @property
    def share(self) -> float:
        return self.spent_ms / (self.servers * (self.to_ms - self.from_ms))


@dataclass(slots=True, eq=False)
class StoredUnit:
    """The messages of one put unit of work: how many pages they take, and when they were put."""

    pages: int
    began_ms: float
    committed_ms: float = 0.0


class Logger:
    """The log device and those that wait for it (S1)."""

    def __init__(
        self,
        env: simpy.Environment,
        busy: Busy,
        *,
        io_ms: Callable[[], float],
        many_pages_io_ms: float,
        current_io_times: int,
        group_commit: bool,
        leads_max: int,
        go_on: Callable[[], Generator[Any, Any, None]],
    ) -> None:
        self.env, self.busy, self.go_on = env, busy, go_on
        self.io_ms, self.many_pages_io_ms = io_ms, many_pages_io_ms
        self.current_io_times, self.group_commit = current_io_times, group_commit
        self.leads_max = leads_max
        self.waiting: list[tuple[float, Any]] = []
        self.called = env.event()
        self.turns = self.forces = 0

    def force(self, log_bytes: float) -> Any:
        """An event that happens when these bytes are on the log."""
        done = self.env.event()
        self.waiting.append((log_bytes, done))
        if not self.called.triggered:
            self.called.succeed()
        return done

    def work(self) -> Generator[Any, Any, None]:
        """Turn after turn, for as long as the simulation runs."""
        leader, leads = None, 0
        while True:
            if not self.waiting:
                self.called = self.env.event()
                yield self.called
            count = len(self.waiting) if self.group_commit else 1
            served, self.waiting = self.waiting[:count], self.waiting[count:]
            if self.leads_max and leader is None:
                (_, leader), leads = served[0], 0
            took_ms = self.write_ms(sum(log_bytes for log_bytes, _ in served))
            yield self.env.timeout(took_ms)
            self.busy.add(self.env.now, took_ms)
            self.turns, self.forces, leads = self.turns + 1, self.forces + len(served), leads + 1
            yield from self.go_on()
            for done in (each for _, each in served if each is not leader):
                done.succeed()
            if leader is not None and (not self.waiting or leads == self.leads_max):
                leader.succeed()
                leader = None

    def write_ms(self, log_bytes: float) -> float:
        """Full pages, then the current buffer (S5)."""
        full = int(log_bytes // PAGE_BYTES)
        one_ms = self.io_ms()
        most_ms = max(one_ms, self.many_pages_io_ms)
        last = full - (full_page_ios(full) - 1) * PAGES_PER_IO_MAX
        last_ms = one_ms + (most_ms - one_ms) * (last - 1) / (PAGES_PER_IO_MAX - 1)  # the straight line through both
        full_ms = (full_page_ios(full) - 1) * most_ms + last_ms if full else 0.0
        return full_ms + self.current_io_times * one_ms


class Pool:
    """The buffers of one pool (S2, S3)."""

    PAGES_PER_IO = PAGES_PER_IO

    def __init__(self, buffers: int) -> None:
        self.buffers = self.stealable = buffers
        self.unused = buffers
        self.changed: OrderedDict[StoredUnit, None] = OrderedDict()
        self.unchanged: OrderedDict[StoredUnit, None] = OrderedDict()

    @property
    def is_short(self) -> bool:
        return self.stealable < DEFERRED_WRITE_BELOW * self.buffers

    @property
    def is_critical(self) -> bool:
        return self.stealable < SYNCHRONOUS_BELOW * self.buffers

    @property
    def has_enough(self) -> bool:
        return self.stealable >= DEFERRED_WRITE_STOPS_AT * self.buffers

    def take(self, unit: StoredUnit) -> bool:
        """Buffers for a unit, stolen where none are unused; whether there were enough."""
        while self.unused < unit.pages and self.unchanged:
            oldest, _ = self.unchanged.popitem(last=False)
            self.unused += oldest.pages
        if self.unused < unit.pages:
            return False
        self.unused -= unit.pages
        self.stealable -= unit.pages
        self.changed[unit] = None
        return True

    def write_oldest(self) -> int:
        """Pages of the oldest changed units, as many as an I/O takes; they are unchanged now."""
        pages = 0
        while self.changed and pages < self.PAGES_PER_IO:
            oldest = next(iter(self.changed))
            self.written(oldest)
            pages += oldest.pages
        return pages

    def written(self, unit: StoredUnit) -> None:
        """A changed unit is on the page set: it may be stolen from now on."""
        if unit in self.changed:
            del self.changed[unit]
            self.unchanged[unit] = None
            self.stealable += unit.pages

    def stolen(self, unit: StoredUnit) -> bool:
        return unit not in self.changed and unit not in self.unchanged

    def release(self, unit: StoredUnit) -> None:
        """The unit was got: its buffers are unused; those of a stolen unit were so already."""
        self.written(unit)
        if unit in self.unchanged:
            del self.unchanged[unit]
            self.unused += unit.pages
