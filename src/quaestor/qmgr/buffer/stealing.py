"""Stealing: the buffers of a pool, which may be used again, and when pages are written for that (B3, B5, B9, B13, B14).

The rules stand in the package's own docstring.
"""

from collections.abc import Callable
from itertools import filterfalse, islice
from operator import attrgetter

from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer.frame import Frame, TornPageError
from quaestor.qmgr.buffer.meter import IoMeter
from quaestor.qmgr.buffer.writing import IMAGE, PageWriter
from quaestor.qmgr.log import LogManager
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.storage.page import PAGE, RBA_AT, is_whole
from quaestor.storage.page_set import PageSet

STEP_PAGES = 256
"""So many pages at a time: calls wait a few milliseconds for the latch at most, and a force of the log serves many. On
a virtual machine a write takes 55 microseconds by itself, whatever its length."""

AHEAD = 16
"""So many buffers for each page that is read ahead are enough (B14)."""

_in_use = attrgetter("in_use")


class Buffers(PageWriter):
    """So many buffers, some of them stealable."""

    def __init__(
        self,
        number: int,
        buffers: int,
        log: LogManager,
        form: Callable[[Frame], bytearray],
        pages_per_io: int = 16,
        meter: IoMeter | None = None,
    ) -> None:
        super().__init__(log, BufferStatistics(buffer_pool=number, buffers=buffers), form, pages_per_io, meter)
        self.number, self.buffers = number, buffers
        self.stats.stealable_low = self.stats.stealable_now = buffers
        self.wanted = buffers
        self._set_thresholds()
        self._resident = 0
        self._writing = False
        self.checkpoint = 0

    @property
    def stealable(self) -> int:
        return self.buffers - self._resident + len(self._stealable)

    # --- size ---------------------------------------------------------------------------------------------------------

    def _set_thresholds(self) -> None:
        buffers = self.buffers
        self.start_at, self.synchronous_at = buffers * 17 // 20, buffers * 19 // 20  # more than so many changed (B5)
        self.few, self.enough = buffers * 3 // 20, -(-buffers // 4)  # at most, at least so many stealable (B5)

    def resize(self, buffers: int) -> bool:
        """Give the pool another size; True when it has it at once, else `resize_step` brings it there (B9)."""
        self.wanted = buffers
        if buffers > self.buffers:
            self._have(buffers)
        else:
            self.resize_step()
        return self.buffers == buffers

    def resize_step(self) -> bool:
        """Give up a bounded number of buffers; True while the pool has more than are wanted (B9)."""
        surplus = self.buffers - self.wanted
        if surplus <= 0:
            return False
        unused = min(surplus, self.buffers - self._resident)
        giving_up = min(surplus - unused, STEP_PAGES)
        if giving_up > len(self._stealable):
            self.write(self._oldest(giving_up - len(self._stealable)))
        given_up = min(giving_up, len(self._stealable))
        for _ in range(given_up):
            self._drop(self._stealable.popitem(last=False)[0])
        self._have(self.buffers - unused - given_up)
        return self.buffers > self.wanted

    def _have(self, buffers: int) -> None:
        self.buffers = self.stats.buffers = buffers
        self._set_thresholds()
        self._note_stealable()

    def discard(self, page_set: PageSet) -> None:
        """The page set is no more: nothing of it is written."""
        for frame in list(page_set.frames.values()):
            if frame.in_use:
                raise Abend("B1", "a page set is taken away while a page of it is in use", page_set=page_set.number)
            self._changed.pop(frame, None)
            self._stealable.pop(frame, None)
            self._drop(frame)

    # --- buffers ------------------------------------------------------------------------------------------------------

    def _note_stealable(self) -> None:
        now = self.buffers - self._resident + len(self._stealable)
        if now < self.stats.stealable_low:  # noqa: PLR1730 - a comparison is cheaper than a call, and this is hot
            self.stats.stealable_low = now
        if now <= self.few:
            self._start_writing()

    def _read(self, page_set: PageSet, page: int) -> Frame:
        frame = self._take_buffer(page_set, page)
        self.stats.page_reads += 1
        began_ns = self._meter.now_ns()
        try:
            data = page_set.read(page)
        except OSError as error:
            self._drop(frame)
            raise TornPageError(page_set.number, page, str(error)) from error
        self._meter.read(page_set.number, 1, began_ns)
        if data is None:
            self._drop(frame)
            raise TornPageError(page_set.number, page)
        frame.data = data
        frame.rba = int.from_bytes(data[RBA_AT : RBA_AT + 8], "big")
        return frame

    def _take_buffer(self, page_set: PageSet, page: int) -> Frame:
        """An unused buffer, or the stealable one that was used longest ago (B3)."""
        self.stats.steals += 1
        if self._resident < self.buffers:
            self._resident += 1
            frame = Frame(page_set, page)
        else:
            if not self._stealable:
                self._short_on_storage()
            frame = self._steal()
            frame.hold(page_set, page)
        page_set.frames[page] = frame
        return frame

    def _steal(self) -> Frame:
        """The stealable buffer that was used longest ago, without its page (B3)."""
        victim, _ = self._stealable.popitem(last=False)
        if victim.in_use or victim.changed:
            raise Abend("B3", "a page that is changed or in use would be stolen", page=victim.page)
        del victim.page_set.frames[victim.page]
        return victim

    def _drop(self, frame: Frame) -> None:
        """The buffer is given up, and with it what was in it, whoever knows the buffer (D9)."""
        del frame.page_set.frames[frame.page]
        frame.content = frame.raw = None
        self._resident -= 1

    def _short_on_storage(self) -> None:
        self.stats.short_on_storage += 1
        self._start_writing()
        self.deferred_write_step()
        if not self._stealable:
            self._log.check_redo(IMAGE)
            self.write(list(islice(filterfalse(_in_use, self._changed), 1)))  # B13
        if not self._stealable:
            raise Abend("B3", "every buffer of the pool is in use", buffer_pool=self.number)

    def read_ahead(self, page_set: PageSet, page: int, count: int) -> None:
        """Bring pages that will be wanted soon, with one read, as far as buffers are free for them (B14)."""
        if self.stealable < min(-(-self.buffers // 4), count * AHEAD):
            return
        began_ns = self._meter.now_ns()
        try:
            raw = memoryview(page_set.read_raw(page, count))
        except OSError:
            return
        self._meter.read(page_set.number, count, began_ns)
        for at in range(count):
            data = bytearray(raw[at * PAGE : at * PAGE + PAGE])
            if page + at not in page_set.frames and is_whole(data, page_set.number, page + at):
                frame = self._take_buffer(page_set, page + at)
                self.stats.page_reads += 1
                frame.data = data
                frame.rba = int.from_bytes(data[RBA_AT : RBA_AT + 8], "big")
                self._stealable[frame] = None

    # --- writing ------------------------------------------------------------------------------------------------------

    def _start_writing(self) -> None:
        if not self._writing:
            self._writing = True
            self.stats.deferred_write_starts += 1

    @property
    def due(self) -> bool:
        """Whether pages are to be written or buffers to be given up (B5, B9)."""
        return self._writing or self.buffers > self.wanted

    def deferred_write_step(self, *, immediate: bool = False) -> bool:
        """Write the oldest changed pages until enough buffers are stealable; True while that is not reached (B5)."""
        if not self._writing:
            return False
        excess = max(len(self._changed) - self.buffers + self.enough, self.enough - self.stealable, 1)
        due = self._oldest(min(excess, STEP_PAGES))
        self.write(due, immediate=immediate)
        if not due or (len(self._changed) <= self.buffers - self.enough and self.stealable >= self.enough):
            self._writing = False
        return self._writing

    def _oldest(self, pages: int) -> list[Frame]:
        """So many of the changed pages that nobody uses and that may be written (B13), the oldest first."""
        return self.writable(filterfalse(_in_use, self._changed), pages)

    @property
    def is_stuck(self) -> bool:
        """Whether there is hardly a buffer left, and no log for the images that would make some stealable (B13)."""
        return self.stealable * 20 < self.buffers and not self.images_left(1)

    def write_all(self) -> None:
        """At shutdown: write every changed page that holds something recoverable (W4), as far as there is log (B13)."""
        changed = [frame for frame in self._changed if not frame.volatile]
        step = len(changed) if self.images_left(len(changed)) == len(changed) else STEP_PAGES
        for at in range(0, len(changed), step or 1):
            self.write(self.writable(changed[at : at + step], step))

    def _before_writing(self) -> int:
        """So many more pages can be changed before whoever changes them has to write (B5)."""
        return min(self.synchronous_at - len(self._changed), self.stealable - -(-self.buffers // 20))

    def _write_if_behind(self) -> None:
        """When the writer has fallen behind, whoever changes pages does a piece of its work (B5)."""
        if len(self._changed) <= self.synchronous_at and self.stealable * 20 >= self.buffers:
            return
        self.stats.immediate_writes += 1
        self.stats.synchronous_write_starts += 1
        began_ns = self._meter.now_ns()
        self.deferred_write_step(immediate=True)
        self._meter.wrote_for_others(began_ns)
