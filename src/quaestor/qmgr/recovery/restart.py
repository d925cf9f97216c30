"""Restart: bring page sets and units of recovery to where the log says they were.

Rules
  X1  Four phases: begin; determine the state at failure from the last checkpoint on; redo forward everything that
      may not have reached the page sets, whoever did it; undo backward what was in flight or in backout.
  X2  A change is redone only on a page whose RBA is older, so redoing twice changes nothing and restart may be cut
      and begun again at any point.
  X3  Undoing logs compensation records, as a backout does: a restart that is cut leaves a unit in backout.
  X4  A page that is torn waits for a change that starts it, an image (B4) or for being freed; changes meanwhile wait
      with it, and those that an image lacks are made then. An image says up to where no change is missing in it. It has
      all that is not read now only if that is not before where the log is read from. Otherwise it is none and says
      nothing, for the page may have been changed, freed, or begun again, between the two. What is made of an image
      needs the log from that RBA on until it is written. A page for which nothing of that comes is lost and named:
      media recovery must bring it back.
  X5  A page newer than the end of the log means that the log is not the one that belongs to it: nothing starts.
  X6  Units in doubt stay: their changes are redone, and what they put and got is known again (`work_of`).
  X7  A page set that is a restored image copy says so on page 0, with the RBA from which the log must be redone. It
      says so until all that was redone is durable, whatever the log says of page 0: a restart that is cut before that
      begins there again. Where the log has it grow, the file does so before page 0 can be written (T2).
  X8  A page set that was deleted, or deleted and defined again, has nothing to do with what the log says of its number
      before that.
  X9  A page set that is not the one which the log was written with, but older or another one, is refused (ST2). So is a
      bootstrap data set that knows too little of the log (F8).
  X10 Where the log has no room to undo everything, the queue manager starts all the same: the units that are left stay
      in backout, and what they put and got is theirs as if they were in doubt, until there is room (V12).

Called by queue_manager before the data manager loads its queues.  Calls log, buffer, recovery.
"""

from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from struct import Struct

from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer import Frame, TornPageError
from quaestor.qmgr.recovery.checkpoint import read_checkpoint
from quaestor.qmgr.recovery.checkpointing import undo_next
from quaestor.qmgr.recovery.manager import RecoveryManager
from quaestor.qmgr.recovery.media import restored
from quaestor.qmgr.recovery.stamping import NEWER
from quaestor.qmgr.recovery.unit import State, UnitOfRecovery
from quaestor.storage.changes import REDO, SPAN, UNDO_NEXT, UNDONE, USE_OF, Redo, map_page_of, starts_page
from quaestor.storage.log_record import ALLOCATES, FIRST, Identity, Kind, LogRecord, unpack_identity
from quaestor.storage.page import HEADER_LENGTH, RBA_AT
from quaestor.storage.page_set import PageSet, describe, described_pages

NOTHING_APPLIED = -1
TAKING = Struct(">HB")
"""Where a page stands in its space map page, what it is used for."""

Waiting = tuple[int, Redo, bytes]
"""A change of a page that is torn: its RBA, its function and its body (X4)."""


def taken(data: bytearray, body: bytes, _page_set: int, _page: int) -> None:
    """A page is taken: the change of a space map page (L5)."""
    at, use = TAKING.unpack(body)
    data[HEADER_LENGTH + at] = use


@dataclass(slots=True)
class Restart:
    """What a restart found and did: the facts of messages CSQR003I to CSQR007I."""

    checkpoint_rba: int = 0
    start_rba: int = 0
    end_rba: int = 0
    epoch: int = 0
    """Of the last record."""

    records_read: int = 0
    changes_redone: int = 0
    units: list[tuple[str, int, Identity]] = field(default_factory=list)
    """(status letter, URID, identity) of every incomplete unit, as found."""


def restart(recovery: RecoveryManager) -> Restart:
    """All four phases (X1). The engine latch is held."""
    found = Restart()
    copies = restored(recovery)
    page_sets = _current_status(recovery, found, copies)
    recovery.stamping.check(copies, found.end_rba)
    recovery.log.files.inventory.stamped_at_stop = False  # with what resuming saves
    recovery.log.resume(found.end_rba, found.checkpoint_rba, found.epoch)
    _forward(recovery, found, _Redo(recovery, found.end_rba, page_sets, copies))
    for number in copies:
        _end_media_recovery(recovery, recovery.buffers.page_sets[number])
    _backward(recovery)
    recovery.stamping.stamp_all()
    recovery.checkpoint()
    return found


# --- phase 2: current status -----------------------------------------------------------------------------------------


def _current_status(recovery: RecoveryManager, found: Restart, copies: dict[int, int]) -> dict[int, int]:
    """Rebuild the table of units and find the end of the log."""
    log = recovery.log
    found.checkpoint_rba, page_sets = _last_checkpoint(recovery)
    for number, rba in copies.items():
        page_sets[number] = min(rba, page_sets.get(number, rba))
    for deleted, rba in log.files.inventory.since.items():
        # X8: of one that the checkpoint does not know nothing before it is wanted, however long ago it was deleted
        page_sets[int(deleted)] = max(rba, page_sets.get(int(deleted), found.checkpoint_rba))
    end, epoch = found.checkpoint_rba, 0
    for record in log.scan(found.checkpoint_rba):
        end, epoch = record.end, record.epoch
        found.records_read += 1
        if record.urid:
            _follow(recovery.units, record)
        if record.kind == Kind.COMMIT and record.body:
            recovery.outcomes.note(record.body)
    written = log.files.inventory.written_rba
    if end < written:
        text = "the log is damaged before its end, or an older one; put the last one back, another copy or its archive"
        raise Abend("L2", text, good_to=f"{end:012X}", written_to=f"{written:012X}")
    if log.goes_on(end, epoch):
        text = "the log goes on where the bootstrap data set knows none: it is an older one; put the last one back"
        raise Abend("F8", text, known_to=f"{end:012X}")
    found.end_rba, found.epoch = end, epoch
    found.start_rba = min([found.checkpoint_rba, *page_sets.values()])
    if found.start_rba < end and not log.files.holds(found.start_rba):
        raise Abend(
            "F2",
            "the log no longer holds what must be redone; put its archives back or restore a newer image copy",
            needed_from=f"{found.start_rba:012X}",
        )
    found.units = [(unit.state.value, unit.urid, unit.identity) for unit in recovery.units.values()]
    return page_sets


def _last_checkpoint(recovery: RecoveryManager) -> tuple[int, dict[int, int]]:
    """RBA and page set RBAs of the last checkpoint; its incomplete units go into the table."""
    checkpoints = recovery.log.files.inventory.checkpoints
    if not checkpoints:
        return recovery.log.files.oldest_active(), {}
    rba = checkpoints[-1]
    body = read_checkpoint(recovery.log.read, rba)
    recovery.outcomes.last.update(body.outcomes)
    for entry in body.units:
        unit = UnitOfRecovery(entry.identity)
        unit.urid, unit.first, unit.last, unit.xid = entry.urid, entry.first, entry.last, entry.xid
        unit.state = State(entry.state)
        if unit.state is State.IN_COMMIT_1:
            unit.state = State.IN_DOUBT  # its PREPARED record is before the checkpoint, so it is durable
        if unit.state is not State.IN_COMMIT_2:  # its COMMIT record is before the checkpoint: it has committed
            recovery.units[unit.urid] = unit
    return rba, body.page_sets


def _follow(units: dict[int, UnitOfRecovery], record: LogRecord) -> None:
    """One record of a unit, read forward."""
    if record.flags & FIRST:
        unit = UnitOfRecovery(unpack_identity(record.identity))
        unit.urid = unit.first = record.rba
        units[record.rba] = unit
    elif record.urid not in units:
        return  # a unit in commit 2 at the checkpoint
    unit = units[record.urid]
    if record.kind == Kind.SHUNTED:
        return  # counts once a later record or a checkpoint leads to it: only then all of them are there
    unit.last = record.rba
    if record.kind == Kind.PREPARED:
        unit.state, unit.xid = State.IN_DOUBT, record.body
    elif record.kind == Kind.BEGIN_BACKOUT:
        unit.state = State.IN_BACKOUT
    elif record.kind in {Kind.COMMIT, Kind.END_BACKOUT}:
        del units[record.urid]


# --- phase 3: forward ------------------------------------------------------------------------------------------------


def _forward(recovery: RecoveryManager, found: Restart, redo: "_Redo") -> None:
    """Redo, in one scan, every change that may not have reached its page set (X2)."""
    reached, recovery.log.redoing = found.start_rba, True
    for record in recovery.log.scan(found.start_rba, found.end_rba):
        found.records_read += 1
        recovery.log.made_to = record.rba
        redo.record(record)
        reached = record.end
    recovery.log.made_to, recovery.log.redoing = 0, False
    if reached != found.end_rba:
        text = "the log is damaged; use its other copy or its archive"
        raise Abend("L2", text, good_to=f"{reached:012X}", needed=f"{found.end_rba:012X}")
    redo.check_nothing_lost()
    found.changes_redone = redo.done
    for number, page_set in recovery.buffers.page_sets.items():
        frame = recovery.buffers.pool_of[number].get(page_set, 0)
        page_set.pages = described_pages(frame.data or b"", number)
        recovery.buffers.pool_of[number].release(frame)


def _end_media_recovery(recovery: RecoveryManager, page_set: PageSet) -> None:
    """All is redone: no copy any more when that is durable, and soon, for the log may be pruned (X7)."""
    recovery.buffers.harden(page_set)
    recovery.change(None, Kind.HEADER, 0, page_set, 0, describe(page_set.number, page_set.pages))
    recovery.buffers.harden(page_set)


class _Redo:
    """Repeats changes on pages that do not have them yet."""

    def __init__(self, recovery: RecoveryManager, end: int, page_sets: dict[int, int], copies: dict[int, int]) -> None:
        self._buffers, self._end, self._page_sets, self._copies = recovery.buffers, end, page_sets, copies
        self._noted = recovery.stamping.noted
        self._torn: dict[tuple[int, int], list[Waiting]] = {}
        self.done = 0

    def record(self, record: LogRecord) -> None:
        kind, body = record.kind, record.body
        if kind == Kind.COMPENSATION:
            kind, body = body[8], body[UNDO_NEXT.size :]
        if kind not in REDO or record.rba < self._page_sets.get(record.page_set, 0):
            return
        if record.page_set not in self._buffers.page_sets:
            raise Abend("X4", "the log changes a page set that is not defined", page_set=record.page_set)
        if record.flags & ALLOCATES:
            self._take_page(record, USE_OF[kind])
        self._change(record, record.page, kind, body)
        if kind == Kind.FREE:
            self._freed(record, body)

    def _take_page(self, record: LogRecord, use: int) -> None:
        """The space map's part of an ALLOCATES record."""
        self._make(record.page_set, map_page_of(record.page), record.rba, taken, TAKING.pack(record.page % SPAN, use))

    def _change(self, record: LogRecord, page: int, kind: int, body: bytes) -> None:
        if kind == Kind.IMAGE:
            self._image(record, page, body)
        elif starts_page(kind, body):
            if kind == Kind.HEADER:
                if record.rba < self._noted(record.page_set) and record.page_set not in self._copies:
                    return  # wherever this is cut, page 0 is not older than the note (ST4)
                body = self._described(record.page_set, body)
            frame = self._new(record.page_set, page)
            self._start(frame, record.rba, record.rba, REDO[kind], body)
            self._buffers.pool_of[record.page_set].release(frame)
        else:
            self._make(record.page_set, page, record.rba, REDO[kind], body)

    def _described(self, number: int, body: bytes) -> bytes:
        """What page 0 says; the file is as long, and a copy stays one (X7)."""
        pages = described_pages(bytes(HEADER_LENGTH) + body, number)
        self._buffers.page_sets[number].reserve(pages)
        return describe(number, pages, self._copies.get(number, 0))

    def _image(self, record: LogRecord, page: int, body: bytes) -> None:
        """A page as it was: of use where the page is torn, or was lost.

        Unlike another change that starts a page it does not stand for all before it (X4). The page is in use until the
        changes that waited are made: written before, it would be an image without them.
        """
        number, rba = record.page_set, int.from_bytes(body[RBA_AT : RBA_AT + 8], "big")
        made_to = record.previous or record.rba
        if made_to < self._page_sets.get(number, 0):
            return
        waiting: list[Waiting] = self._torn.get((number, page), [])
        frame = None if (number, page) in self._torn else self._frame(number, page)
        frame = frame or self._new(number, page)
        self._start(frame, rba, min([made_to, *(change[0] for change in waiting)]), REDO[Kind.IMAGE], body)
        for change in waiting:
            self._make_on(frame, *change)
        self._buffers.pool_of[number].release(frame)

    def _start(self, frame: Frame, rba: int, oldest: int, redo: Redo, body: bytes) -> None:
        """Begin a page anew, unless it is newer; the next restart needs the log from `oldest` on for it."""
        if frame.rba < rba:
            frame.start(redo, body)
            self._buffers.pool_of[frame.page_set.number].set_write(frame, oldest)
            frame.rba, frame.whole = rba, True
            self.done += 1

    def _make(self, number: int, page: int, rba: int, redo: Redo, body: bytes) -> None:
        """Make a change of a page that does not have it; while the page is torn, it waits."""
        place = number, page
        frame = None if place in self._torn else self._frame(number, page)
        if frame is None:
            self._torn.setdefault(place, []).append((rba, redo, body))
            return
        self._make_on(frame, rba, redo, body)
        self._buffers.pool_of[number].release(frame)

    def _make_on(self, frame: Frame, rba: int, redo: Redo, body: bytes) -> None:
        """The same of one that is not torn, and in use (X2)."""
        if frame.rba < rba:
            frame.change(redo, body)
            self._buffers.pool_of[frame.page_set.number].set_write(frame, rba)
            self.done += 1

    def _frame(self, number: int, page: int) -> Frame | None:
        """The page with what it holds, in use; None while it is torn and nothing has started it (X4, X5)."""
        page_set, pool = self._buffers.page_sets[number], self._buffers.pool_of[number]
        try:
            frame = pool.get(page_set, page)
        except TornPageError:
            return None
        if frame.rba >= self._end:
            raise Abend("X5", NEWER, page_set=number, page=page, rba=f"{frame.rba:012X}", end=f"{self._end:012X}")
        return frame

    def _new(self, number: int, page: int) -> Frame:
        """The page without what it held, in use: every later change of it follows in the log."""
        page_set, pool = self._buffers.page_sets[number], self._buffers.pool_of[number]
        self._forget((number, page))
        known = page in page_set.frames
        frame = pool.new(page_set, page)
        if not known:
            frame.rba = NOTHING_APPLIED
        return frame

    def _freed(self, record: LogRecord, body: bytes) -> None:
        base = record.page - record.page % SPAN
        for at in range(0, len(body), 2):
            self._forget((record.page_set, base + int.from_bytes(body[at : at + 2], "big")))

    def _forget(self, place: tuple[int, int]) -> None:
        """A page is torn no more, or need not be whole."""
        self._torn.pop(place, None)

    def check_nothing_lost(self) -> None:
        if self._torn:
            page_set, page = min(self._torn)
            raise Abend(
                "X4",
                "a page is torn and the log does not hold it; restore the page set's image copy",
                page_set=page_set,
                page=page,
                pages=len(self._torn),
            )


# --- phase 4: backward -----------------------------------------------------------------------------------------------


def _backward(recovery: RecoveryManager) -> None:
    """Undo units that were in flight or in backout, latest record of any of them first (X3)."""
    losers = [u for u in recovery.units.values() if u.state in {State.IN_FLIGHT, State.IN_BACKOUT}]
    todo = [(-unit.last, unit.urid) for unit in losers]
    for unit in losers:
        unit.state = State.IN_BACKOUT
        unit.last = recovery.log.append(Kind.BEGIN_BACKOUT, 0, unit.urid, unit.last, 0, 0, b"")
    heapify(todo)
    while todo:
        rba, urid = todo[0]
        unit, record = recovery.units[urid], recovery.log.read(-rba)
        if not recovery.may_undo(record):
            break
        following = recovery.undo(unit, record)
        if following:
            heapreplace(todo, (-following, urid))
        else:
            heappop(todo)
            recovery.end_backout(unit)
    for _, urid in sorted(todo):
        recovery.wait_for_log(recovery.units[urid])  # X10


def work_of(recovery: RecoveryManager, unit: UnitOfRecovery) -> list[LogRecord]:
    """What a unit put and got and is not undone, oldest first (X6); shunted records stand for the ones they repeat."""
    work, rba = [], unit.last
    while rba:
        record = recovery.log.read(rba)
        if record.kind == Kind.SHUNTED:
            work.append(record._replace(kind=record.body[0], body=record.body[1:]))
        elif record.kind in UNDONE:
            work.append(record)
        rba = undo_next(record)
    return work[::-1]
