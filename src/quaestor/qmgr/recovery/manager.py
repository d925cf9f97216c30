"""Recovery manager: how a unit of recovery begins and ends. How it changes pages is in `changing` (V1, V7, V11).

Rules
  V2  A unit has committed when its COMMIT record is durable. Before that everything can be undone; after it
      nothing may fail. The managers are told only then.
  V3  Backing out reads the unit's records backwards and logs each undoing as a compensation record that names the
      record to undo next, so a backout that was cut goes on where it stopped and undoing is never undone.
  V4  A prepared unit is in doubt until its coordinator decides, over any number of restarts; either decision is
      durable before it is answered. Any other backout need not be: restart backs out what was in flight anyway.
  V5  A checkpoint is due after LOGLOAD log records and at a log switch (CP1-CP7). It writes old pages, then logs which
      units are incomplete and from where each page set must be redone. Restart needs nothing older than
      `needed_rba`, and the log is kept from there.
  V6  A unit older than two checkpoints is shunted: what undoing it needs is logged again, so that one slow
      application does not hold the log back. Not one that worked on shared queues: its own records say where.
  V8  A unit may have a label: its client's name and number. The COMMIT record carries it and checkpoints repeat the
      last one of each client, so that a client that was cut off in its commit can ask for the outcome, after a restart
      too.
  V9  A commit may be taken in two steps, `start_commit` and `end_commit`, so that one force serves many units.
  V10 A unit with work in structures of a queue-sharing group tells them before its COMMIT record is written. If they
      cannot be told, it is backed out (2003); if it may have been done all the same, that is said (2124). The record
      that names it for them is part of its end: there is log for it when there is none for new work (J6).
  V12 A unit may be longer than the log that is left when no other log can be made ready. Its backout goes as far as the
      last eighth of a log, which is for commits and for the ends of other units; then it waits. Whoever asked for it is
      answered: the unit is in backout on the log and nobody can commit it any more, whatever happens. What it put and
      got is there for nobody until the background goes on with it, when there is log again. A restart without log
      leaves it as it is (X10).
  V13 While one application of this process alone is connected (`single`), nobody sees anything before it gives back the
      latch. So its commit keeps the latch, has the disk begin with the log as soon as the record is in the buffers
      (J17), tells the managers while the disk writes, and ends when the record is durable. V2 holds for everybody: what
      the managers were told is seen, and the call answered, when it is. A unit with work in structures is seen by
      others and goes the way of V2.
  V14 A unit that removes messages that have expired is not waited for (`commit_unforced`): one that a cut takes back
      leaves what is expired again. All that is built on it is logged behind it, as with a backout.
  V15 What a unit did on a page set that has been deleted since is gone with it (X8): a put that was refused half way,
      and taken back or not (V12), may have left records of it. There is nothing to undo, nor in a page set that has its
      number now.

Called by data (change), connection and message (syncpoint), the scheduler (checkpoint).  Calls log, buffer.
All calls hold the engine latch; commit and prepare give it up while they wait for the log, but for V13.
"""

from collections.abc import Sequence
from typing import Final

from quaestor.clock import Clock
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.buffer import BufferManager
from quaestor.qmgr.log import LogManager
from quaestor.qmgr.recovery.changing import PageChanger
from quaestor.qmgr.recovery.checkpointing import undo_next
from quaestor.qmgr.recovery.unit import IN_FLIGHT, State, UnitOfRecovery
from quaestor.qmgr.resource_manager import ResourceManager, Task, without
from quaestor.storage.changes import REDO, UNDO_NEXT, UNDONE, undo_of
from quaestor.storage.log_record import Identity, Kind, LogRecord
from quaestor.storage.page import ROOM as SPAN
from quaestor.storage.page_set import PageSet

COMMIT: Final = int(Kind.COMMIT)
NOBODY = Identity()
BACK_OUT_MS: Final = 200
IN_DOUBT: Final = State.IN_DOUBT
IN_COMMIT_2: Final = State.IN_COMMIT_2
ENDED: Final = State.ENDED


class RecoveryManager(PageChanger):
    """Units of recovery over the log and the buffer pools (V1-V15)."""

    name = "recovery"

    def __init__(self, log: LogManager, buffers: BufferManager, clock: Clock, *, logload: int = 100_000) -> None:
        super().__init__(log, buffers, logload)
        self._clock, self.served = clock, buffers.meter.served
        self.managers: list[ResourceManager] = []
        self.waiting: list[UnitOfRecovery] = []
        """Units in backout that the log has no room for (V12)."""

    # --- syncpoint ----------------------------------------------------------------------------------------------------

    def begin(self, connection: str = "", user: str = "", thread: str = "") -> UnitOfRecovery:
        """A new unit; it leaves no trace until it changes something recoverable."""
        if connection or user or thread:
            who = tuple.__new__(Identity, (connection, user, thread, self._clock.now_us()))
            return UnitOfRecovery(who, self.checkpoints)
        return UnitOfRecovery(NOBODY, self.checkpoints)

    def commit(self, unit: UnitOfRecovery) -> None:
        """End a unit for good (V2)."""
        rba = self.start_commit(unit)
        if rba and self.single and unit.shared is None and self.log.send():  # V13
            self._tell(unit)
            self._force_latched(rba)
        else:
            if rba:
                self._force(rba)
            self._tell(unit)
        self._checkpoint_if_due()

    def end_for_good(self, rba: int, *, latched: bool) -> None:
        """Wait until a change that was begun for good is durable (V11), with the latch or without (V13)."""
        log = self.log
        if latched:
            due = self._wants_checkpoint()
            log.force_sent(rba)
            if due:
                self.checkpoint_at_commit()
            return
        without(self.latch, log.force, rba)
        self._checkpoint_if_due()

    def start_commit(self, unit: UnitOfRecovery) -> int:
        """Log the end of a unit: committed when the log is forced up to this RBA; 0 if it logged nothing (V2, V11)."""
        if unit.shared is not None:
            self._decide_shared(unit)
        if unit.label:
            self.outcomes.note(unit.label)  # V8
        if not unit.urid:
            return unit.last
        rba = self.log.append(COMMIT, 0, unit.urid, unit.last, 0, 0, unit.label)
        if unit.state is IN_FLIGHT:
            unit.state = IN_COMMIT_2
        else:
            unit.become(IN_COMMIT_2)
        return rba

    def _decide_shared(self, unit: UnitOfRecovery) -> None:
        """Tell the structures before anything is decided (V10)."""
        if unit.urid:
            unit.last = self.log.append(Kind.SHARED_UNIT, 0, unit.urid, unit.last, 0, 0, unit.shared.id)
        try:
            unit.shared.decide(unit.urid, self.log.end)
        except MQError as error:
            if unit.state is State.IN_DOUBT:
                raise
            self.back_out(unit)
            reason = Reason.OUTCOME_PENDING if error.facts.get("sent") and not unit.urid else Reason.BACKED_OUT
            raise MQError(reason, **error.facts) from error

    def end_commit(self, unit: UnitOfRecovery) -> None:
        """Its COMMIT record is durable: tell the managers (V2)."""
        self._tell(unit)
        self._checkpoint_if_due()

    def _tell(self, unit: UnitOfRecovery) -> None:
        """The managers hear that a unit has committed."""
        if unit.urid:
            del self.units[unit.urid]
        elif unit.state is IN_DOUBT:
            unit.become(IN_COMMIT_2)
        unit.become(ENDED)
        for manager in self.managers:
            manager.committed(unit)

    def _checkpoint_if_due(self) -> None:
        if self._wants_checkpoint():
            self.checkpoint_at_commit()

    def _wants_checkpoint(self) -> bool:
        """Whether whoever ends a unit has to look after a checkpoint (CP6)."""
        log = self.log
        return self._under_way is not None or log.switched or log.records - log.records_checkpointed >= self.logload

    def commit_unforced(self, unit: UnitOfRecovery) -> None:
        """End a unit that need not be durable; no checkpoint is taken here, so that nothing waits (V14)."""
        self.start_commit(unit)
        self._tell(unit)

    def prepare(self, unit: UnitOfRecovery, xid: bytes) -> None:
        """Phase 1: in doubt when this returns (V4). A unit without changes is in doubt only in memory."""
        if unit.shared is not None:
            self._prepare_shared(unit)
        unit.become(State.IN_COMMIT_1)
        unit.xid = xid
        if unit.urid:
            unit.last = self.log.append(Kind.PREPARED, 0, unit.urid, unit.last, 0, 0, xid)
            self._force(unit.last)
        unit.become(State.IN_DOUBT)
        if unit.shared is not None:
            unit.shared.forced()

    def _prepare_shared(self, unit: UnitOfRecovery) -> None:
        """A unit in doubt in the structures must be so on the log, by name, even if it has logged nothing (V4, V10)."""
        self.note(unit, Kind.SHARED_UNIT, unit.shared.id)
        try:
            unit.shared.prepare(unit.urid)
        except MQError as error:
            self.back_out(unit)
            raise MQError(Reason.BACKED_OUT, **error.facts) from error

    def _force_latched(self, rba: int) -> None:
        """Wait for the log with the latch held (V13)."""
        task = self.served.task
        if task is None:
            self.log.force_sent(rba)
            return
        began_ns = self._clock.monotonic_ns()
        self.log.force_sent(rba)
        task.log_forced(self._clock.monotonic_ns() - began_ns)

    def _force(self, rba: int) -> None:
        """Wait for the log without the latch, so that others work on (group commit)."""
        served = self.served
        task = served.task
        if task is None:
            without(self.latch, self.log.force, rba)
            return
        served.task, began_ns = None, self._clock.monotonic_ns()
        try:
            without(self.latch, self.log.force, rba)
        finally:
            served.task = task
            task.log_forced(self._clock.monotonic_ns() - began_ns)

    def back_out(self, unit: UnitOfRecovery) -> None:
        """Undo a unit (V3); the decision about one in doubt is durable before anybody is told (V4)."""
        decided = unit.state is State.IN_DOUBT
        if decided and unit.shared is not None:
            unit.shared.start_backout()
        if unit.urid:
            unit.last = self.log.append(Kind.BEGIN_BACKOUT, 0, unit.urid, unit.last, 0, 0, b"")
            unit.become(State.IN_BACKOUT)
            if not self._undo_rest(unit):
                self.wait_for_log(unit)
                if decided:
                    self._force(unit.last)
                return
            ended = self.end_backout(unit)
            if decided:
                self._force(ended)
        elif unit.last:
            raise Abend("V11", "a unit is backed out whose change was logged for good", rba=unit.last)
        elif decided:
            unit.become(State.IN_BACKOUT)
        self._backed_out(unit)

    def _undo_rest(self, unit: UnitOfRecovery) -> bool:
        """Undo what is not undone yet of a unit in backout, as its last record says (V3); False without log (V12)."""
        rba = unit.last
        while rba:
            record = self.log.read(rba)
            if not self.may_undo(record):
                return False
            rba = self.undo(unit, record)
        return True

    def may_undo(self, record: LogRecord) -> bool:
        """Whether there is log to undo a record, and to have a buffer for its page (V12), or nothing to undo (V15)."""
        return self.is_gone(record) or (self.has_room() and not self.buffers.pool_of[record.page_set].is_stuck)

    def _backed_out(self, unit: UnitOfRecovery) -> None:
        unit.become(State.ENDED)
        for manager in self.managers:
            manager.backed_out(unit)

    def wait_for_log(self, unit: UnitOfRecovery) -> None:
        """A unit stays in backout until there is log for it (V12)."""
        self.waiting.append(unit)
        text = (
            "no active log is left to back out a unit: that goes on when there is one, and holds its messages till then"
        )
        self.log.files.tell("CSQJ111A", text, urid=f"{unit.urid:012X}", user=unit.identity.user)

    def back_out_step(self) -> bool:
        """Background: go on with a unit that waits for log, when there is some (V12)."""
        if not self.waiting or not self._undo_rest(self.waiting[0]):
            return False
        unit = self.waiting.pop(0)
        self.end_backout(unit)
        self._backed_out(unit)
        return bool(self.waiting)

    def back_out_to(self, unit: UnitOfRecovery, savepoint: int) -> None:
        """Undo what a unit did after a savepoint (its `last` then): a call that failed half way leaves nothing."""
        rba = unit.last
        while rba != savepoint:
            record = self.log.read(rba)
            if not self.may_undo(record):
                return  # V12: text pages are left, which the unit's backout gives back, or a restart (A5)
            rba = self.undo(unit, record)

    def undo(self, unit: UnitOfRecovery, record: LogRecord) -> int:
        """Undo one record of a unit and give the RBA of the next one to undo, 0 when there is none (V3)."""
        kind, body = record.kind, record.body
        if kind == Kind.COMPENSATION:
            return undo_next(record)
        if kind == Kind.SHUNTED:
            kind, body = body[0], body[1:]
        if kind in UNDONE and not self.is_gone(record):
            undoing = undo_of(kind, record.flags, record.page, body)
            packed = UNDO_NEXT.pack(record.previous, undoing.kind) + undoing.body
            rba = self.log.append(Kind.COMPENSATION, 0, unit.urid, unit.last, record.page_set, undoing.page, packed)
            unit.last = rba
            self._compensate(self.buffers.page_sets[record.page_set], undoing.page, undoing.kind, undoing.body, rba)
        return record.previous

    def _compensate(self, page_set: PageSet, page: int, kind: int, body: bytes, rba: int) -> None:
        pool = self.buffers.pool_of[page_set.number]
        frame = pool.get(page_set, page)
        frame.change(REDO[kind], body)
        pool.set_write(frame, rba)
        pool.release(frame)
        if kind == Kind.FREE:
            page_set.low_free = min(page_set.low_free, page - page % SPAN)
            page_set.freed_rba = rba

    def end_backout(self, unit: UnitOfRecovery) -> int:
        rba = self.log.append(Kind.END_BACKOUT, 0, unit.urid, unit.last, 0, 0, b"")
        self._forget(unit)
        return rba

    def harden(self) -> None:
        """Make everything logged so far durable; the latch is kept, because managers call this while a unit ends."""
        self.log.force(self.log.end - 1)

    def _forget(self, unit: UnitOfRecovery) -> None:
        del self.units[unit.urid]

    def in_doubt(self) -> list[UnitOfRecovery]:
        return [unit for unit in self.units.values() if unit.state is State.IN_DOUBT]

    def resolve(self, xid: bytes, *, commit: bool) -> None:
        """RESOLVE INDOUBT: end a unit in its coordinator's place."""
        found = [unit for unit in self.in_doubt() if unit.xid == xid]
        if not found:
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, xid=xid.hex())
        if commit:
            self.commit(found[0])
        else:
            self.back_out(found[0])

    def tasks(self) -> Sequence[Task]:
        waits = Task("back out what waits for log", self.back_out_step, BACK_OUT_MS, due=lambda: bool(self.waiting))
        return (*self.checkpoint_tasks(), waits)
