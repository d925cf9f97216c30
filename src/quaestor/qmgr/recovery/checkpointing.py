"""Taking checkpoints: whole, or in steps while everybody works on.

Rules
  CP1 A checkpoint writes old pages, stamps the page sets that were written to (ST1) and syncs them, shunts old units,
      then logs which units are incomplete and from where each page set must be redone. The record counts when it is
      durable and the bootstrap data set says so, durably. Until then restart begins at the one before: it may be given
      up at any point.
  CP2 It is a sequence of pieces, each short and under the latch, and of waits between them (for the log, for page sets,
      for the bootstrap data set) that need no latch. Whoever takes a whole one keeps the latch and waits.
  CP3 One checkpoint is under way at most. Who wants a whole one finishes that first, and waits where it waits: a
      wait may be done twice, by two threads.
  CP4 What the checkpoint itself logs does not count for LOGLOAD; what others log meanwhile counts for the next.
  CP5 In steps it keeps pace with the log: pages are written by the time half as much has been logged as between the two
      checkpoints before, or half of what is left until the log is short (J14). A piece that is ahead of that has to
      wait a little, unless nobody logs anything. When it falls behind, whoever commits does a few pieces; what must be
      waited for is left to the background. So nobody waits for more than that, and no round of work has all of it to
      bear. Where the log waits for it, the first commit after the switch begins it.
  CP6 Where nobody runs steps a checkpoint is taken whole when a unit ends. So it is where steps would be too late:
      LOGLOAD is reached again while one is under way, or the active log after the current one waits for it and the
      current one is short (J14). Where the ring is long enough (four logs), each checkpoint at a switch sees to it that
      the next switch finds one that waits for nothing.
  CP7 A unit older than two checkpoints is shunted (V6), one unit in one piece. Where the log has no room for all of it
      (V12) its records are needed where they are, as before. One that has nothing to undo any more, for its puts were
      taken back or its page set is deleted (V15), needs nothing of them.
  CP8 A log switch soon after a checkpoint (half a log, half of LOGLOAD) is one too, by which no page grows older: two
      of them in a row would have pages written that are changed again or emptied a moment later.

Called by the recovery manager, which is one of these, the scheduler, commands.  Calls log, buffer.
"""

from _thread import LockType, allocate_lock
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from quaestor.mqi.reasons import MQError
from quaestor.qmgr.buffer import BufferManager, OldPages, Outside, nothing
from quaestor.qmgr.log import ENDS_SHARE, LogManager
from quaestor.qmgr.recovery.checkpoint import CheckpointBody, UnitEntry, pack_checkpoint, parts_of
from quaestor.qmgr.recovery.outcomes import Outcomes
from quaestor.qmgr.recovery.stamping import Change, Stamping
from quaestor.qmgr.recovery.unit import State, UnitOfRecovery
from quaestor.qmgr.resource_manager import Task
from quaestor.storage.changes import UNDO_NEXT, UNDONE, undo_part
from quaestor.storage.log_record import ALLOCATES, Kind, LogRecord

SHUNT_AFTER = 2
WHOLE_PAGES = 128
"""Pages at a time when everybody waits anyhow: a force of the log serves many."""

STEP_PAGES = 32
"""Pages in one hold of the latch: half a millisecond."""

HELPING_PIECES, HELPING_PIECES_WAITED_FOR = 4, 12
"""Pieces that a commit does at most when the background has fallen behind (CP5), and when the log waits (J14)."""


NOTE_END_MS = 5000
"""How often the end of the log is noted between checkpoints (J16)."""


class CheckpointTaker:
    """Checkpoints over the log, the buffer pools and the units there are (CP1-CP8)."""

    def __init__(self, log: LogManager, buffers: BufferManager, logload: int, change: Change) -> None:
        self.log, self.buffers, self.logload = log, buffers, logload
        self.stamping = Stamping(log, buffers, change)
        self.latch: LockType = allocate_lock()
        self.units: dict[int, UnitOfRecovery] = {}
        self.outcomes = Outcomes()
        self.checkpoints = 0
        self.in_steps = False
        """Whether somebody runs `checkpoint_step` (CP6)."""

        self.kept_rba: Callable[[], int] = _everything_may_go
        self._needed_rba = 0
        self._under_way: Iterator[Outside] | None = None
        self._wait: Outside = nothing
        self._waited: Outside = nothing
        """The wait that the background has done last: if that is `_wait`, the next piece may come."""

        self._old: OldPages | None = None
        self._begun_rba = self._span = self._seen_rba = 0
        log.files.needed_rba = self.needed_rba
        log.in_steps = lambda: self.in_steps

    # --- whole, or in steps -------------------------------------------------------------------------------------------

    def checkpoint(self) -> int:
        """Take a whole checkpoint and give its RBA (V5, CP3)."""
        self._finish()
        self._begin(WHOLE_PAGES, in_steps=False)
        self._finish()
        return self.log.files.inventory.checkpoints[-1]

    def checkpoint_due(self) -> bool:
        """Whether there is something to do for a step."""
        return self._under_way is not None or self._due()

    def checkpoint_step(self) -> bool:
        """Background: one piece of a checkpoint that is due, and the wait behind it. The latch is not held (CP2)."""
        with self.latch:
            if self._under_way is None:
                if not self._due():
                    return False
                self._begin(STEP_PAGES, in_steps=True)
            if self._may_go_on():
                self._advance()
            wait = self._wait
        wait()
        self._waited = wait
        return self._under_way is not None and not self._ahead()

    def checkpoint_at_commit(self) -> None:
        """A unit has ended, and a checkpoint is due or under way: take it, unless there is time for steps (CP6)."""
        log, in_steps = self.log, self.in_steps
        again = log.since_checkpoint >= self.logload and (self._under_way is not None or not in_steps)
        if again or (log.switched and not in_steps) or log.is_short:
            self._finish()
            if self._due():
                self._begin(WHOLE_PAGES, in_steps=False)
                self._finish()
        elif in_steps:
            if log.short_at and self._under_way is None:
                self._begin(STEP_PAGES, in_steps=True)
                self._advance()
            for _ in range(HELPING_PIECES_WAITED_FOR if log.short_at else HELPING_PIECES):
                if not (self._may_go_on() and self._behind()):
                    break
                self._advance()

    def _may_go_on(self) -> bool:
        """Whether there is nothing to wait for before the next piece."""
        return self._wait is nothing or self._wait is self._waited

    def _due(self) -> bool:
        return self.log.since_checkpoint >= self.logload or self.log.switched

    def _ahead(self) -> bool:
        """Whether the checkpoint under way has done more than its share, as far as the log has come (CP5)."""
        end, seen = self.log.end, self._seen_rba
        self._seen_rba = end
        old = self._old
        if old is None or old.share == 1 or end == seen:
            return False
        return old.share * self._allowed() > end - self._begun_rba

    def _behind(self) -> bool:
        """Whether it has done less than its share of pages (CP5)."""
        old = self._old
        if old is None or old.share == 1:
            return False
        return old.share * self._allowed() < self.log.end - self._begun_rba

    def _allowed(self) -> int:
        """How much may be logged until all pages are written (CP5)."""
        short_at, span = self.log.short_at, self._span
        return min(span, max(short_at - self._begun_rba, 0)) // 2 if short_at else span // 2

    def _begin(self, pages: int, *, in_steps: bool) -> None:
        end = self.log.end
        self._span, self._begun_rba = end - self._begun_rba, end
        self._under_way = self._pieces(pages, in_steps=in_steps)

    def _advance(self) -> None:
        """The next piece. What `_wait` is then must be done before the one after it."""
        log, before = self.log, self.log.records
        wait = None if self._under_way is None else next(self._under_way, None)
        log.records_checkpointed += log.records - before  # CP4
        if wait is None:
            self._under_way = self._old = None
        self._wait = wait or nothing

    def _finish(self) -> None:
        while self._under_way is not None:
            if not self._may_go_on():
                self._wait()
            self._advance()

    # --- what a checkpoint does ---------------------------------------------------------------------------------------

    def _pieces(self, pages: int, *, in_steps: bool) -> Iterator[Outside]:
        """The pieces of a checkpoint, and what is to be waited for after each (CP1, CP2)."""
        log = self.log
        by_count, switched = log.since_checkpoint >= self.logload, log.switched
        soon = switched and self._span < log.files.size // 2 and log.since_checkpoint < self.logload // 2
        log.records_checkpointed, log.switched = log.records, False
        self.checkpoints += not soon  # CP8
        self._old = old = self.buffers.begin_checkpoint(log.files.spare_end() if switched else 0, ages=not soon)
        yield from old.write(pages, in_steps=in_steps)
        yield from self.stamping.pieces()
        yield from old.sync()
        for unit in list(self.units.values()):
            if self._is_to_shunt(unit):
                self._shunt(unit)
                yield nothing
        page_sets = old.recovery_rbas()
        rba = self._log_checkpoint(page_sets)
        needed_rba = min([rba, *page_sets.values(), *(unit.first for unit in self.units.values())])
        yield partial(log.force, rba)
        self.stamping.note()
        yield log.note_checkpoint(rba)
        self._needed_rba = needed_rba
        if not log.switched:
            log.freed()
        if by_count:
            log.stats.checkpoints += 1

    def _log_checkpoint(self, page_sets: dict[int, int]) -> int:
        """Log what restart is to know; gives the RBA of the last record of it (CB1)."""
        units = [UnitEntry(u.urid, u.first, u.last, u.state.value, u.xid, u.identity) for u in self.units.values()]
        body = pack_checkpoint(CheckpointBody(units, page_sets, self.outcomes.last))
        previous = 0
        *parts, last = parts_of(body)
        for part in parts:
            previous = self.log.append(Kind.CHECKPOINT_DATA, 0, 0, previous, 0, 0, part)
        return self.log.append(Kind.CHECKPOINT, 0, 0, previous, 0, 0, last)

    def needed_rba(self) -> int:
        """Nothing before this RBA is needed to restart or to back out, by the last checkpoint that is durable (V5).

        Units that began later began after it. What shunting has moved counts only once the checkpoint knows.
        Recovering structures may need more of the log.
        """
        return min(self._needed_rba, self.kept_rba())

    def has_room(self, size: int = 0) -> bool:
        """Whether so much may be logged, and what ends units is still left (V12). The next log is made ready for it."""
        log = self.log
        least = size + log.files.size // ENDS_SHARE
        if log.files.limit - log.end > least:
            return True
        try:
            log.check_space()
        except MQError:
            return False
        return log.files.limit - log.end > least

    # --- shunting -----------------------------------------------------------------------------------------------------

    def _is_to_shunt(self, unit: UnitOfRecovery) -> bool:
        """Whether a unit is old and waits; it may have ended since the checkpoint began (CP7)."""
        waits = unit.state in {State.IN_FLIGHT, State.IN_DOUBT} and unit.shared is None and unit.urid in self.units
        return waits and unit.born <= self.checkpoints - SHUNT_AFTER

    def _shunt(self, unit: UnitOfRecovery) -> None:
        """Log again what undoing needs, oldest first, so that the old records may go (V6)."""
        chain, rba = [], unit.last
        while rba:
            record = self.log.read(rba)
            if (record.kind in UNDONE or record.kind == Kind.SHUNTED) and not self.is_gone(record):
                chain.append(record)
            rba = undo_next(record)
        previous = first = 0
        for record in reversed(chain):
            if not self.has_room(self.log.files.size // ENDS_SHARE):
                return  # what is logged of it so far leads nowhere
            part = record.body if record.kind == Kind.SHUNTED else bytes((record.kind,)) + undo_part(record)
            previous = self.log.append(
                Kind.SHUNTED, record.flags & ALLOCATES, unit.urid, previous, record.page_set, record.page, part
            )
            first = first or previous
        if unit.state is State.IN_DOUBT:
            previous = self.log.append(Kind.PREPARED, 0, unit.urid, previous, 0, 0, unit.xid)
        elif not chain and self.has_room(self.log.files.size // ENDS_SHARE):
            previous = self.log.append(Kind.FILLER, 0, unit.urid, 0, 0, 0, b"")  # so that nothing before is needed
        unit.first, unit.last, unit.born = first or previous or unit.first, previous or unit.last, self.checkpoints

    def is_gone(self, record: LogRecord) -> bool:
        """Whether a record tells of a page set that was deleted since: there is nothing to undo (V15)."""
        return record.rba < self.log.files.inventory.since.get(str(record.page_set), 0)

    def checkpoint_tasks(self) -> Sequence[Task]:
        return (
            Task("checkpoint", self.checkpoint_step, every_ms=20, latched=False, due=self.checkpoint_due),
            Task("note the end of the log", self.note_end_step, NOTE_END_MS, latched=False, due=self.log_has_grown),
        )

    def log_has_grown(self) -> bool:
        """Whether more of the log is durable than is noted."""
        return self.log.hardened > self.log.noted_end

    def note_end_step(self) -> bool:
        """Background: note how far the log is durable (J16). The latch is not held."""
        with self.latch:
            save = self.log.note_end()
        save()
        return False


def _everything_may_go() -> int:
    """Nobody but restart needs the log."""
    return 1 << 63


def undo_next(record: LogRecord) -> int:
    """The record of the same unit to undo after this one (V3)."""
    return int(UNDO_NEXT.unpack_from(record.body)[0]) if record.kind == Kind.COMPENSATION else record.previous
