"""One buffer pool: requests for pages. The rules (B1-B15) stand in the package's own docstring."""

from collections.abc import Sequence

from quaestor.mqi.messages import Message
from quaestor.qmgr.buffer.frame import Frame
from quaestor.qmgr.buffer.stealing import Buffers
from quaestor.storage.changes import Redo
from quaestor.storage.page_set import PageSet


class BufferPool(Buffers):
    """One buffer pool (B1-B15)."""

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

        As many pages as can be, before somebody has to write (B5), are begun in one step each; the next one has some
        written.
        """
        frames, changed, stealable, born = page_set.frames, self._changed, self._stealable, self.checkpoint
        fresh, again, left = 0, 0, self._before_writing()
        for rba, page, head, content in zip(rbas, pages, heads, contents, strict=False):
            frame: Frame | None = frames.get(page)
            if frame is None and left > 0:
                fresh += 1
                left -= 1
                if self._resident < self.buffers:
                    self._resident += 1
                    frames[page] = frame = Frame(page_set, page, None, redo, head, content[0], content, rba, born)
                    changed[frame] = None
                    continue
                frames[page] = frame = self._steal()  # B15
                frame.page_set, frame.page = page_set, page
                changed[frame] = None
                frame.changed = True
                frame.born = born
            elif frame is None or (not frame.changed and (frame.in_use or left <= 0)):
                self.started(page_set, page, redo, head, rba, content[0], content)
                left = self._before_writing()
                continue
            else:
                again += 1
                if not frame.changed:
                    left -= 1
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
        if len(changed) > self.start_at:
            self._start_writing()

    def started_volatile(self, page_set: PageSet, page: int, content: object, rba: int) -> Frame:
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
        return frame

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
