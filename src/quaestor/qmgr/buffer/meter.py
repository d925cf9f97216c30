"""Meter: what page I/O took, counted per page set and told to the task that had to wait.

Rules
  IM1 Every read and write of pages is timed: two looks at the clock are nothing beside an I/O.
  IM2 The task being served is told of its reads, and of the writing it had to do because the pool was full.

Called by the buffer pools.  Counts into QIS1, one section per page set.
"""

from quaestor.clock import Clock, SystemClock, tod_of_ns
from quaestor.qmgr.resource_manager import Served
from quaestor.smf.sections.data import PageSetStatistics


class IoMeter:
    """The page I/O of all pools (IM1, IM2)."""

    def __init__(self, clock: Clock | None = None, served: Served | None = None) -> None:
        self.now_ns = (clock or SystemClock()).monotonic_ns
        self.served = served or Served()
        self.page_sets: dict[int, PageSetStatistics] = {}

    def add_page_set(self, number: int, pool: int) -> None:
        self.page_sets[number] = PageSetStatistics(page_set=number, buffer_pool=pool)

    def read(self, page_set: int, pages: int, began_ns: int) -> None:
        took_ns = self.now_ns() - began_ns
        figures, task = self.page_sets[page_set], self.served.task
        figures.read_ios += 1
        figures.read_pages += pages
        figures.read_elapsed += tod_of_ns(took_ns)
        if task is not None:
            task.page_read(took_ns)

    def wrote(self, page_set: int, pages: int, ios: int, began_ns: int, *, immediate: bool) -> None:
        figures, took = self.page_sets[page_set], tod_of_ns(self.now_ns() - began_ns)
        if immediate:
            figures.immediate_write_ios += ios
            figures.immediate_write_pages += pages
            figures.immediate_write_elapsed += took
        else:
            figures.deferred_write_ios += ios
            figures.deferred_write_pages += pages
            figures.deferred_write_elapsed += took

    def wrote_for_others(self, began_ns: int) -> None:
        """The task being served did a piece of the writer's work."""
        task = self.served.task
        if task is not None:
            task.pages_written(self.now_ns() - began_ns)
