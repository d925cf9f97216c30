"""One buffer pool: requests, stealing and writing. The rules (B1-B13) stand in the package's own docstring."""

from collections.abc import Callable, Sequence
from itertools import filterfalse, islice
from operator import attrgetter

from quaestor.mqi.messages import Message
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer.frame import Frame, TornPageError
from quaestor.qmgr.buffer.meter import IoMeter
from quaestor.qmgr.buffer.writing import PageWriter
from quaestor.qmgr.log import LogManager
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.storage.changes import Redo
from quaestor.storage.page import PAGE, RBA_AT, is_whole
from quaestor.storage.page_set import PageSet

STEP_PAGES = 128
"""So many pages at a time: calls wait a few milliseconds for the latch at most, and a force of the log serves many."""

_in_use = attrgetter("in_use")


class BufferPool(PageWriter):
    """One buffer pool (B1-B7)."""

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

    # --- requests -----------------------------------------------------------------------------------------------------

    def get(self, page_set: PageSet, page: int) -> Frame:
        """A page with its contents, in use."""
        self.stats.get_page += 1
        return self.again(page_set, page)

    def again(self, page_set: PageSet, page: int) -> Frame:
        """A page that the same call has got before, in use again: not another request."""
        frame: Frame | None = page_set.frames.get(page)
        if frame is None:
            frame = self._read(page_set, page)
            frame.in_use = 1
            self._note_stealable()
        else:
            if not frame.changed and not frame.in_use:
                del self._stealable[frame]
                self._note_stealable()
            frame.in_use += 1
        return frame

    def new(self, page_set: PageSet, page: int) -> Frame:
        """A page whose contents will be overwritten, in use; nothing is read."""
        self.stats.get_new_page += 1
        frame: Frame | None = page_set.frames.get(page)
        if frame is None:
            frame = self._take_buffer(page_set, page)
            frame.in_use = 1
            self._note_stealable()
            return frame
        if not frame.changed and not frame.in_use:
            del self._stealable[frame]
            self._note_stealable()
        frame.in_use += 1
        return frame

    def started(
        self, page_set: PageSet, page: int, redo: Redo, body: bytes, rba: int, rest: bytes = b"", content: object = None
    ) -> Frame:
        """Get a new page, start it by the change at `rba`, set write, release: one step, for every message put (B8).

        The change is `body` and `rest`; `content` is what the caller keeps with the page.
        """
        stats = self.stats
        stats.get_new_page += 1
        stats.set_writes += 1
        frame: Frame | None = page_set.frames.get(page)
        if frame is None:
            if self._resident < self.buffers and not self._writing:  # as where a queue grows
                return self._fresh(Frame(page_set, page, None, redo, body, rest, content, rba, self.checkpoint))
            frame = self._take_buffer(page_set, page)
            self._note_stealable()
        elif not frame.changed and not frame.in_use:
            del self._stealable[frame]
            self._note_stealable()
        frame.starting = redo
        frame.started_with = body
        frame.rest = rest
        frame.content = content
        frame.further = frame.raw = None
        frame.rba = frame.first_rba = rba
        frame.whole = True
        frame.volatile = False
        if not frame.changed:
            self._mark_changed(frame)
        elif frame.born != self.checkpoint:
            self._renew(frame)
        if self._writing and not frame.in_use:
            self._write_if_behind()
        return frame

    def _fresh(self, frame: Frame) -> Frame:
        """A page that was started in a buffer nobody used."""
        stats, changed = self.stats, self._changed
        stats.steals += 1
        self._resident += 1
        frame.page_set.frames[frame.page] = frame
        changed[frame] = None
        now = self.buffers - self._resident + len(self._stealable)
        if now < stats.stealable_low:  # noqa: PLR1730 - as in `_note_stealable`
            stats.stealable_low = now
        if now <= self.few or len(changed) > self.start_at:
            self._start_writing()
            self._write_if_behind()
        return frame

    def started_run(
        self,
        page_set: PageSet,
        pages: Sequence[int],
        redo: Redo,
        heads: Sequence[bytes],
        rbas: Sequence[int],
        contents: Sequence[Message],
    ) -> None:
        """`started` for as many pages as there are RBAs; the rest of each change is the body of its message (B8).

        Where the pool is not near a limit (B5), pages that are not changed yet are begun in one step each.
        """
        frames, changed, stealable, born = page_set.frames, self._changed, self._stealable, self.checkpoint
        most, fresh, again = len(rbas), 0, 0
        calm = len(changed) + most <= self.start_at and self.stealable - most > self.few and not self._writing
        for rba, page, head, content in zip(rbas, pages, heads, contents, strict=False):
            frame: Frame | None = frames.get(page)
            if frame is None and calm and self._resident < self.buffers:
                fresh += 1
                self._resident += 1
                frames[page] = frame = Frame(page_set, page, None, redo, head, content[0], content, rba, born)
                changed[frame] = None
                continue
            if frame is None or (not frame.changed and (frame.in_use or not calm)):
                self.started(page_set, page, redo, head, rba, content[0], content)
                continue
            again += 1
            if not frame.changed:
                del stealable[frame]
                changed[frame] = None
                frame.changed = True
                frame.born = born
            elif frame.born != born:
                self._renew(frame)
            frame.starting = redo
            frame.started_with = head
            frame.rest = content[0]
            frame.content = content
            frame.further = frame.raw = None
            frame.rba = frame.first_rba = rba
            frame.whole = True
            frame.volatile = False
        self.stats.get_new_page += fresh + again
        self.stats.set_writes += fresh + again
        self.stats.steals += fresh
        self._note_stealable()
        if self._writing:
            self._write_if_behind()

    def started_volatile(self, page_set: PageSet, page: int, content: object, rba: int) -> None:
        """A page of non-persistent messages: got, given its contents, set to be written, released in one step (B7).

        `rba` is that of the space map that gave it the page. Writing the page forces the log that far (B2), so what
        the page was before cannot come back over it.
        """
        stats = self.stats
        stats.get_new_page += 1
        stats.set_writes += 1
        frame: Frame | None = page_set.frames.get(page)
        if frame is None:
            frame = self._take_buffer(page_set, page)
            self._note_stealable()
        elif not frame.changed and not frame.in_use:
            del self._stealable[frame]
            now = self.buffers - self._resident + len(self._stealable)
            if now < stats.stealable_low or now <= self.few:
                self._note_stealable()
        if frame.starting is None:
            frame.raw = None
        else:
            frame.data = None
        frame.content = content
        frame.rba = rba
        frame.first_rba = 0
        frame.volatile = True
        if not frame.changed:
            frame.changed = True
            frame.born = self.checkpoint
            changed = self._changed
            changed[frame] = None
            if len(changed) > self.start_at:
                self._start_writing()
        if self._writing and not frame.in_use:
            self._write_if_behind()

    def change(self, page_set: PageSet, page: int, redo: Redo, body: bytes, rba: int) -> None:
        """Change a page that the same call has got before, by the change at `rba`: in one step, for every get (B8)."""
        frame: Frame | None = page_set.frames.get(page)
        if frame is None or not frame.changed:
            frame = self.again(page_set, page)
            frame.change(redo, body)
            self.set_write(frame, rba)
            self.release(frame)
            return
        self.stats.set_writes += 1
        frame.change(redo, body)
        frame.rba = rba
        if not frame.first_rba:
            frame.first_rba = rba
            frame.volatile = False
        if self._writing and not frame.in_use:
            self._write_if_behind()

    def set_write(self, frame: Frame, rba: int) -> None:
        """The page was changed by the log record at `rba`."""
        self.stats.set_writes += 1
        frame.rba = rba
        if not frame.first_rba:
            frame.first_rba = rba
            frame.volatile = False
            if not frame.changed:
                self._mark_changed(frame)

    def set_unlogged(self, frame: Frame) -> None:
        """The page was changed in a way that does not outlive a restart: a page taken for non-persistent messages."""
        self.stats.set_writes += 1
        if not frame.changed:
            self._mark_changed(frame)

    def _mark_changed(self, frame: Frame) -> None:
        frame.changed = True
        frame.born = self.checkpoint
        self._changed[frame] = None
        if len(self._changed) > self.start_at:
            self._start_writing()

    def _renew(self, frame: Frame) -> None:
        """The page was started again: none of its changes before that is needed any more (B10)."""
        del self._changed[frame]
        self._changed[frame] = None
        frame.born = self.checkpoint

    def release(self, frame: Frame) -> None:
        """The page is no longer in use by the caller."""
        frame.in_use -= 1
        if frame.in_use:
            return
        if not frame.changed:
            self._stealable[frame] = None
        elif self._writing:
            self._write_if_behind()

    def forget(self, frame: Frame) -> None:
        """The page's contents no longer matter to anybody: it need not be written."""
        if frame.changed:
            del self._changed[frame]
            frame.changed = False
            if not frame.in_use:
                self._stealable[frame] = None
                self._stealable.move_to_end(frame, last=False)
        frame.whole = False
        frame.first_rba = 0
        frame.content = None

    def peek(self, page_set: PageSet, page: int) -> Frame:
        """A page to look at before a request for it follows; brought in if it is not here."""
        frame: Frame | None = page_set.frames.get(page)
        if frame is None:
            frame = self.get(page_set, page)
            self.release(frame)
        return frame

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
            data = None
        else:
            if not self._stealable:
                self._short_on_storage()
            victim, _ = self._stealable.popitem(last=False)
            if victim.in_use or victim.changed:
                raise Abend("B3", "a page that is changed or in use would be stolen", page=victim.page)
            del victim.page_set.frames[victim.page]
            data = victim.spare()
        frame = Frame(page_set, page, data)
        page_set.frames[page] = frame
        return frame

    def _drop(self, frame: Frame) -> None:
        del frame.page_set.frames[frame.page]
        self._resident -= 1

    def _short_on_storage(self) -> None:
        self.stats.short_on_storage += 1
        self._start_writing()
        self.deferred_write_step()
        if not self._stealable:
            self.write(list(islice(filterfalse(_in_use, self._changed), STEP_PAGES)))  # B13
        if not self._stealable:
            raise Abend("B3", "every buffer of the pool is in use", buffer_pool=self.number)

    def read_ahead(self, page_set: PageSet, page: int, count: int) -> None:
        """Bring pages that will be wanted soon, with one read, as far as buffers are free for them."""
        if self.stealable * 4 < self.buffers:
            return
        began_ns = self._meter.now_ns()
        raw = memoryview(page_set.read_raw(page, count))
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

    def _write_if_behind(self) -> None:
        """When the writer has fallen behind, whoever changes pages does a piece of its work (B5)."""
        if len(self._changed) <= self.synchronous_at and self.stealable * 20 >= self.buffers:
            return
        self.stats.immediate_writes += 1
        self.stats.synchronous_write_starts += 1
        began_ns = self._meter.now_ns()
        self.deferred_write_step(immediate=True)
        self._meter.wrote_for_others(began_ns)

    # --- for checkpoints ----------------------------------------------------------------------------------------------

    def changed(self) -> list[Frame]:
        """The changed pages, those changed after an earlier checkpoint first."""
        return list(self._changed)

    def is_changed(self, frame: Frame) -> bool:
        """Whether a page is here and differs from its copy on the page set."""
        return frame in self._changed

    def wrote_at_checkpoint(self, frames: Sequence[Frame]) -> None:
        for frame in frames:
            self._meter.page_sets[frame.page_set.number].checkpoint_pages += 1
