"""Stamping: page 0 says how new its page set is, so that an older copy or another one is known as such.

Rules
  ST1 At every checkpoint page 0 of each page set that was written to since its last stamp is logged and written anew,
      behind all other pages, and made durable with them. Then the bootstrap data set notes the RBA, with the
      checkpoint; not before, for a cut must not make a page set look old. At the end of a start, and of a stop, every
      page set is stamped.
  ST2 A page set whose page 0 is older than the note is a copy that somebody took before: restart would redo too little
      of the log for it, and committed work would be lost without a word. Nothing starts. A copy that was taken since
      the last checkpoint is as good as the page set itself: restart redoes for it all that it may lack.
  ST3 A page 0 that is newer was stamped or has grown since. After a stop that cannot be: then it is another queue
      manager's page set, as it is when page 0 is newer than the log (X5). That it was stopped is the last that is
      noted, when nothing is written to any page set any more, with what page 0 of each says then: the checkpoint before
      that may stamp them once more, and a full pool may have written page 0 before its turn.
  ST4 A restored image copy says itself from where it is to be redone (Y2), and a page 0 that is torn is repaired from
      the log (T3): neither is asked. What restart makes of a torn one is never older than the note: a cut may leave it.

Called by checkpoints, restart and the engine.  Calls log, buffer.
"""

from collections.abc import Callable, Iterator
from functools import partial

from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer import BufferManager, Frame, Outside
from quaestor.qmgr.log import LogManager
from quaestor.storage.log_record import Kind
from quaestor.storage.page import header_of, is_whole
from quaestor.storage.page_set import PageSet, describe

NEWER = "a page is newer than the log: that or its bootstrap data set is an older one; put the last ones back"
Change = Callable[[None, int, int, PageSet, int, bytes], Frame]
"""The one way to change a page, for good (V1)."""


class Stamping:
    """Page 0 of every page set, and what is noted of it (ST1-ST4). The latch is held."""

    def __init__(self, log: LogManager, buffers: BufferManager, change: Change) -> None:
        self._log, self._buffers, self._change = log, buffers, change
        self._stamps: dict[PageSet, int] = {}
        """RBAs on page 0 that are not noted yet."""

    def pieces(self) -> Iterator[Outside]:
        """Stamp the page sets that were written to; what is to be waited for between (ST1). They are to be synced."""
        written = [page_set for page_set in self._buffers.page_sets.values() if not page_set.stamped]
        logged = [(page_set, self._logged(page_set)) for page_set in written]
        rbas = [frame.rba for _, frame in logged]
        if logged:
            yield partial(self._log.force, rbas[-1])
        for (page_set, frame), rba in zip(logged, rbas, strict=True):
            self._write(page_set, frame, rba)

    def _logged(self, page_set: PageSet) -> Frame:
        return self._change(None, Kind.HEADER, 0, page_set, 0, describe(page_set.number, page_set.pages))

    def _write(self, page_set: PageSet, frame: Frame, rba: int) -> None:
        """Write page 0, unless somebody has done so since it was logged, or uses it; then it is for the next time."""
        here = self._buffers.page_sets.get(page_set.number) is page_set and page_set.frames.get(0) is frame  # B15
        if not here or frame.in_use:
            return
        pool = self._buffers.pool_of[page_set.number]
        if pool.is_changed(frame):
            pool.write([frame])
            page_set.stamped = True
            self._stamps[page_set] = rba

    def note(self) -> None:
        """Page 0 is durable with its stamp: the next save of the bootstrap data set says so (ST1)."""
        inventory, page_sets = self._log.files.inventory, self._buffers.page_sets
        stamps = dict(inventory.stamps)
        for page_set, rba in self._stamps.items():
            number = page_set.number
            if page_sets.get(number) is page_set:
                stamps[str(number)] = max(rba, stamps.get(str(number), 0))
        inventory.stamps = stamps
        self._stamps.clear()

    def stamp_all(self) -> None:
        """Every page set is stamped, durably; the checkpoint that follows makes the note so too (ST1)."""
        page_sets = self._buffers.page_sets.values()
        for page_set in page_sets:
            page_set.stamped = False
        for wait in self.pieces():
            wait()
        for page_set in page_sets:
            page_set.harden()
        self.note()

    def note_stop(self) -> None:
        """Nothing is written to any page set any more: what page 0 of each says is noted, whoever wrote it (ST3)."""
        inventory, stamps = self._log.files.inventory, dict(self._log.files.inventory.stamps)
        for number, page_set in self._buffers.page_sets.items():
            first = page_set.read_raw(0, 1)
            if is_whole(first, number, 0):
                stamps[str(number)] = header_of(first).rba
        inventory.stamps, inventory.stamped_at_stop = stamps, True
        self._log.files.save()

    def check(self, copies: dict[int, int], end: int) -> None:
        """Refuse page sets that are not those the log was written with (ST2-ST4). Nothing has been changed yet."""
        stopped = self._log.files.inventory.stamped_at_stop
        for number, page_set in self._buffers.page_sets.items():
            first = page_set.read_raw(0, 1)
            if number in copies or not is_whole(first, number, 0):
                continue  # ST4
            rba, noted = header_of(first).rba, self.noted(number)
            if rba >= end:
                raise Abend("X5", NEWER, page_set=number, page=0, rba=f"{rba:012X}", end=f"{end:012X}")
            if rba < noted or (noted and stopped and rba != noted):
                text = (
                    "a page set is an older copy, or another queue manager's; "
                    "put its last one back, or recover it from its image copy"
                )
                raise Abend("ST2", text, page_set=number, written_at=f"{rba:012X}", expected=f"{noted:012X}")

    def noted(self, number: int) -> int:
        """Page 0 of a page set is not older than this, but for a restored image copy."""
        return self._log.files.inventory.stamps.get(str(number), 0)
