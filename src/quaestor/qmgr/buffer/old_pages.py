"""Old pages: what a checkpoint has written before its record is, piece by piece.

Rules
  OP1 A page is old when it was first changed two checkpoints ago, or before an RBA that is named. Pages of
      non-persistent messages never are (B7), nor is one that was started again since (B10). One that may not be written
      for want of log (B13) waits for the next checkpoint.
  OP2 A piece is a bounded number of pages, looked at when its turn comes: in between anybody may change, write, forget
      or start again any of them.
  OP3 What a piece needs of the log (B2, B4) is forced between two holds of the latch; so are page sets synced (T5).
      Both are given to the caller as things to do before he asks for the next piece.
  OP4 Of every page that is looked at and stays changed, the oldest change is noted. Pages that were changed later have
      changes behind the RBA at which the checkpoint began. So `recovery_rbas` at the end names no change that may be
      missing on disk, without looking at every page again.

Called by recovery, with the latch held.  Calls the buffer pools and page sets.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from quaestor.qmgr.buffer.frame import Frame
from quaestor.qmgr.buffer.pool import BufferPool
from quaestor.qmgr.log import LogManager
from quaestor.storage.page_set import PageSet

CHECKPOINTS_OLD = 2
LOOKED_AT = 1000
"""So many pages are looked at in one hold of the latch: a tenth of a millisecond."""

SYNCED_PAGES = 4096
"""After so many pages page sets are synced, where the checkpoint is taken in pieces. A sync of 512 took as long."""

Outside = Callable[[], None]
"""Something to be done before the next piece, without the latch if nobody minds; it may be done twice."""


def nothing() -> None:
    """Between two pieces the latch may be given up."""


class OldPages:
    """The pages of one checkpoint (OP1-OP4)."""

    def __init__(
        self,
        pools: Sequence[BufferPool],
        page_sets: Mapping[int, PageSet],
        log: LogManager,
        before_rba: int,
    ) -> None:
        self._log, self._page_sets, self._before_rba = log, page_sets, before_rba
        self._now = log.end
        self._kept: dict[int, int] = {}
        self._changed = [(pool, pool.changed()) for pool in pools]
        self._written = self._synced = self._looked_at = 0
        self._due = sum(self._perhaps_old(pool, frames) for pool, frames in self._changed)

    def _perhaps_old(self, pool: BufferPool, frames: Sequence[Frame]) -> int:
        """About how many of these are old: they come first."""
        by_age = bisect_right(frames, pool.checkpoint - CHECKPOINTS_OLD, key=lambda frame: frame.born)
        return max(by_age, bisect_left(frames, self._before_rba, key=lambda frame: frame.first_rba))

    @property
    def share(self) -> float:
        """Which part of the work is done."""
        return min(1.0, self._looked_at / self._due) if self._due else 1.0

    def write(self, pages: int, *, in_steps: bool) -> Iterator[Outside]:
        """Write the old pages, so many at a time (OP2, OP3); the last of them are to be synced."""
        for pool, frames in self._changed:
            looked_at = self._looked_at
            for at in range(0, len(frames), LOOKED_AT):
                due = [frame for frame in frames[at : at + LOOKED_AT] if self._is_old(pool, frame)]
                for first in range(0, max(len(due), 1), pages):
                    yield from self._write(pool, due[first : first + pages])
                    self._looked_at = looked_at + at + first
                    yield nothing
                    if in_steps and self._written - self._synced >= SYNCED_PAGES:
                        yield from self.sync()
            self._looked_at = looked_at + len(frames)
        self._changed.clear()

    def _is_old(self, pool: BufferPool, frame: Frame) -> bool:
        """Whether a page is to be written (OP1); if it stays changed, its oldest change is noted (OP4)."""
        if not pool.is_changed(frame) or frame.volatile:
            return False
        old = frame.born <= pool.checkpoint - CHECKPOINTS_OLD or frame.first_rba < self._before_rba
        if old and not frame.in_use:
            return True
        self._keep(frame)
        return False

    def _keep(self, frame: Frame) -> None:
        """A page stays changed (OP4)."""
        number, rba = frame.page_set.number, frame.first_rba
        if rba and rba < self._kept.get(number, self._now):
            self._kept[number] = rba

    def _write(self, pool: BufferPool, frames: Sequence[Frame]) -> Iterator[Outside]:
        """Write those that are old, as many at a time as there is log for (B13)."""
        due: Sequence[Frame] = frames
        while due := [frame for frame in due if self._is_old(pool, frame)]:
            frames = pool.writable(due, len(due))
            if not frames:
                for frame in due:
                    self._keep(frame)
                return
            rba = pool.prepare(frames)
            if rba >= self._log.hardened:
                yield partial(pool.log_check, rba)
                frames = [frame for frame in frames if self._is_old(pool, frame)]
            pool.write(frames)
            pool.wrote_at_checkpoint(frames)
            self._written += len(frames)

    def sync(self) -> Iterator[Outside]:
        """Sync every page set that was written to (B6)."""
        self._synced = self._written
        written = [page_set for page_set in self._page_sets.values() if page_set.volatile_rba]
        for page_set in written:
            page_set.start_sync()
        for page_set in written:
            yield page_set.sync
            page_set.end_sync()

    def recovery_rbas(self) -> dict[int, int]:
        """{page set: RBA from which its changes must be redone}, when all pages have been looked at (OP4)."""
        found = {}
        for number, page_set in self._page_sets.items():
            rba = self._kept.get(number, self._now)
            found[number] = min(rba, page_set.volatile_rba or rba)
        return found
