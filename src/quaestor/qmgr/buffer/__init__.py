"""Buffer manager: pages in memory, and when they may leave it.

Rules
  B1  A page is touched only while in use: between `get` or `new` and `release`.
  B2  A changed page is written only after the log is forced up to its RBA.
  B3  Only a buffer that is unused, or unchanged and not in use, is stealable.
  B4  A page that is written over an older self goes to the log first, as an image, unless the log already holds all
      of it since its first change (`whole`). So a torn page can always be made good from the log. What a restart redoes
      and what is put together is in the log before it is on all of its pages: an image that is logged meanwhile says
      from where on changes of its page may be missing in it.
  B5  Writing starts when 85 % of the buffers are changed or 15 % are stealable, and stops at 75 % and 25 %. Above
      95 % changed, or below 5 % stealable, the one who releases a changed page writes, a batch at a time.
  B6  A written page counts as changed for restart until its page set is synced (`recovery_rba`).
  B7  Pages of non-persistent messages are formed only when they must be written, and never at a checkpoint.
  B8  Changes of a page that was started in its buffer are made when its bytes are wanted: most messages are got
      before anybody looks at their page again.
  B9  A pool is given another size while it is used: a larger one at once, a smaller one in steps, as buffers become
      stealable. Until then it has and counts the buffers that it still has.
  B10 A page that is started again is as new as that: restart builds it from there. Where messages are got before two
      checkpoints have passed, a page that one after the other uses is never written.
  B11 A checkpoint writes old pages (OP1) in pieces; between two of them anybody may do anything with any page.
  B12 A page whose changes wait (B8) is written from memory that is lent for it and goes on waiting: a message that
      stays takes its own size in memory, not a page.
  B13 While no active log is ready behind the current one (J6) images do not go into its last quarter, which is for
      ending units: a page that needs one (B4) stays changed, and others are written in its place. At a stop too: the
      next start redoes it. Who would read a page then is refused, while hardly a buffer is left (`is_stuck`). Only who
      finds no buffer at all in the middle of a change has one written all the same: he may be ending a unit.
  B14 Pages are read ahead while a quarter of the buffers is stealable, or sixteen times as many as are read: where the
      newest messages of a deep queue fill the pool, its oldest are still read many at a time. What cannot be read ahead
      is left to whoever wants it.
  B15 A buffer that is stolen is the same buffer with another page: Python's collector need not look at a new one. Who
      keeps one while the latch is free asks whose page it is before he does anything with it.

Called by recovery, data.  Calls log, page_set.  Knows nothing of messages.
Why B2 lives here: this is the only module that writes pages, so it is the only one that could break it.
"""

from collections.abc import Callable, Sequence

from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer.frame import Frame, TornPageError
from quaestor.qmgr.buffer.meter import IoMeter
from quaestor.qmgr.buffer.old_pages import OldPages, Outside, nothing
from quaestor.qmgr.buffer.pool import BufferPool
from quaestor.qmgr.log import LogManager
from quaestor.qmgr.resource_manager import Task, Unit
from quaestor.storage.page_set import PageSet

__all__ = ["BufferManager", "BufferPool", "Frame", "IoMeter", "OldPages", "Outside", "TornPageError", "nothing"]


class BufferManager:
    """All buffer pools, and which page set uses which."""

    name = "buffer"

    def __init__(self, log: LogManager, meter: IoMeter | None = None) -> None:
        self.log = log
        self.meter = meter or IoMeter()
        self.pools: dict[int, BufferPool] = {}
        self.page_sets: dict[int, PageSet] = {}
        self.pool_of: dict[int, BufferPool] = {}
        self.form: Callable[[Frame], bytearray] = _nothing_to_form

    def define_pool(self, number: int, buffers: int, pages_per_io: int = 16) -> BufferPool:
        pool = BufferPool(number, buffers, self.log, self._form, pages_per_io, self.meter)
        self.pools[number] = pool
        return pool

    def _form(self, frame: Frame) -> bytearray:
        return self.form(frame)

    def add_page_set(self, page_set: PageSet, pool: int) -> None:
        page_set.buffer_pool = pool
        self.page_sets[page_set.number] = page_set
        self.meter.add_page_set(page_set.number, pool)
        self.pool_of[page_set.number] = self.pools[pool]

    def begin_checkpoint(self, before_rba: int = 0, *, ages: bool = True) -> OldPages:
        """The pages to be written and synced, so that their changes no longer hold restart back (B6, B11)."""
        if ages:
            for pool in self.pools.values():
                pool.checkpoint += 1
        return OldPages(tuple(self.pools.values()), self.page_sets, self.log, before_rba)

    def sync(self) -> None:
        for page_set in self.page_sets.values():
            if page_set.volatile_rba:
                page_set.harden()

    def recovery_rbas(self, now: int) -> dict[int, int]:
        """{page set: RBA from which its changes must be redone (B6)}; `now` where nothing is pending."""
        found = {number: page_set.volatile_rba or now for number, page_set in self.page_sets.items()}
        for pool in self.pools.values():
            for frame in pool.changed():
                number = frame.page_set.number
                if frame.first_rba:
                    found[number] = min(found[number], frame.first_rba)
        return found

    def write_all(self) -> None:
        for pool in self.pools.values():
            pool.write_all()
        self.sync()

    def harden(self, page_set: PageSet) -> None:
        """Write every changed page of a page set that holds something recoverable, durably. None of them is in use."""
        pool = self.pool_of[page_set.number]
        pool.write([frame for frame in pool.changed() if frame.page_set is page_set and not frame.volatile])
        page_set.harden()

    def delete_pool(self, number: int) -> None:
        """Give up a pool that no page set uses."""
        if self.pools[number] in self.pool_of.values():
            raise Abend("B9", "a buffer pool is deleted while a page set uses it", buffer_pool=number)
        del self.pools[number]

    def remove_page_set(self, number: int) -> PageSet:
        """Forget a page set and every page of it; gives it, still open."""
        self.pool_of.pop(number).discard(self.page_sets[number])
        return self.page_sets.pop(number)

    def step(self) -> bool:
        """Background: every pool writes what is due and comes nearer to its size (B5, B9)."""
        more = False
        for pool in tuple(self.pools.values()):
            writing, shrinking = pool.deferred_write_step(), pool.resize_step()
            more = more or writing or shrinking
        return more

    def due(self) -> bool:
        """Whether a step would do anything."""
        return any(pool.due for pool in tuple(self.pools.values()))

    def tasks(self) -> Sequence[Task]:
        return (Task("deferred write", self.step, every_ms=20, due=self.due),)

    def committed(self, unit: Unit) -> None:
        """Not told: changed buffers stay as they are (no force)."""

    def backed_out(self, unit: Unit) -> None:
        """See `committed`."""

    def close(self) -> None:
        for page_set in self.page_sets.values():
            page_set.close()


def _nothing_to_form(frame: Frame) -> bytearray:
    raise Abend("B7", "a page has no bytes and nobody to form them", page=frame.page)
