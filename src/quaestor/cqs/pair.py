"""The structure pair: primary and overflow structure with the log they share, as one server uses them.

Rules
  SP1 A change is made in one way: what it needs is reserved on the structure, then it is logged, then it is done on
      the structure. When the log has it, it has happened; doing it is a step that is repeated until it is done, first
      of all by the next request. So is undoing what a request did that was not answered: what was reserved and never
      logged is given up, what was read and never handed over is ready again.
  SP2 A request that meets a quiesced structure waits; one that meets a new generation looks at the pair again; one
      that meets a structure that was rebuilt, or is lost, connects again and goes on. A gate whose holder has failed
      is taken over.
  SP3 The log is forced for what a client is told is safe. Reads and returns need no force: when they are lost, so is
      everybody who could have relied on them, and the message is ready again.
  SP4 A name in overflow status is put to the overflow structure; its messages are read from the primary first, where
      only those can stand that came back from the lock queue.

Called by server, unit_of_work and the structure operations.  Calls linked_pair, merged_log.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from quaestor.clock import tod_from_us
from quaestor.cqs.changes import Change, Kind, Put, Shift, packed_read
from quaestor.cqs.linked_pair import PRIMARY, LinkedPair, Surroundings
from quaestor.cqs.messages import Beside, Holder, Message
from quaestor.cqs.policy import Policy
from quaestor.cqs.queue_names import Private, QueueName, message_id
from quaestor.cqs.refusals import CQSError, Why
from quaestor.cqs.structure import (
    ControlChangedError,
    GateClosedError,
    NotThereError,
    SharedStructure,
    token_of,
)
from quaestor.storage.lists.operations import Entry, First, Move, Space
from quaestor.storage.lists.structure import StructureLostError
from quaestor.storage.log_stream import StreamRecord

T = TypeVar("T")
TOKEN_SHIFT = 8


class StructurePair(LinkedPair):
    """Primary and overflow structure, log and recovery data sets of one kind of queues (SP1-SP4)."""

    def __init__(self, policy: Policy, server: str, around: Surroundings) -> None:
        super().__init__(policy, server, around)
        self.kept: dict[bytes, Message] = {}
        self.full: set[int] = set()
        self.overflow_exit: Callable[[QueueName, int], bool] = lambda _queue, _elements: True
        self.connected: Callable[[], None] = lambda: None
        self._undone: deque[tuple[int, Change]] = deque()
        self._reserved: frozenset[bytes] = frozenset()  # identifiers: perhaps on a move queue, and not logged
        self._unheard: Beside | None = None  # perhaps on a lock queue, and in no unit
        self._said_lost = -1

    def forget(self) -> None:
        """The structures are no more."""
        for structure in self.structures:
            structure.connection.disconnect()
        self.structures, self.log.incarnation = [], 0
        self.kept.clear()
        self._undone.clear()
        self._reserved, self._unheard = frozenset(), None

    # -- requests, rule SP2

    def active(self, call: Callable[[], T]) -> T:
        """Do a request on structures that are open; what was logged is done first (SP1)."""
        with self.latch:
            if not self.log.incarnation:
                raise CQSError(Why.NOT_STARTED, server=self.server)
            mend, reconnected = self.finish if self.structures else self.reconnect, False
            while True:
                try:
                    mend()
                    mend = self.finish
                    self.finish()
                    self._undo_unanswered()
                    return call()
                except GateClosedError:
                    mend = self._look_at_gates
                except ControlChangedError:
                    mend = self.refresh
                except StructureLostError:
                    if reconnected or not self.structures:
                        self._say_lost()
                        raise
                    mend, reconnected = self.reconnect, True
                except CQSError as refused:
                    if refused.why is not Why.REBUILT:
                        raise
                    mend = self.reconnect

    def _say_lost(self) -> None:
        """Others may have a way to the structure, and copy it to where this server has one too (ML5)."""
        if self._said_lost != self.log.begun:
            with suppress(CQSError):  # it is rebuilt already, or this server is fenced: the next request says so
                self.log.append(Kind.LOST)
                self._said_lost = self.log.begun

    def finish(self) -> None:
        """Do on the structures what is logged and not done yet (SP1)."""
        while self._undone:
            rba, change = self._undone[0]
            for structure in self.structures:
                effects = change.on(structure.number)
                if effects and rba > structure.control.applied:
                    structure.apply(effects, rba)
            self._undone.popleft()

    def _undo_unanswered(self) -> None:
        """Undo what was asked before the log was written, and perhaps done (SP1)."""
        if self._reserved:
            for structure in self.structures:
                there = structure.held(Private.MOVE, self.server)
                structure.release([beside for beside in there if beside.id in self._reserved])
            self._reserved = frozenset()
        if self._unheard is not None:
            locked = [each for each in self.structures if self._unheard in each.held(Private.LOCK, self.server)]
            back = tuple(Shift.returned(structure.number, self._unheard) for structure in locked)
            if back:
                self._perform(Change(back), "", force=False)
            self._unheard = None

    # -- changes, rules SP1 and SP3

    def perform(self, change: Callable[[], Change], client: str = "", *, force: bool = True) -> Space | None:
        """Make a change: reserve, log, do. Gives what is in use of the primary, when something was put there.

        It is made again when the pair turns out to be another than was thought: names may be in overflow now.
        """
        return self.active(lambda: self._perform(change(), client, force=force))

    def _perform(self, change: Change, client: str, *, force: bool) -> Space | None:
        space = self._reserve(change, client)
        logged = change.logged()
        if not (logged.effects or logged.kept or logged.released):
            self._put_unlogged(change)
            return space
        record = self._logged(logged, force=force)
        self._undone.append((record.rba, change))
        self.kept.update((message.id, message) for message in change.kept)
        for identifier in change.released:
            self.kept.pop(identifier, None)
        self._finish_later()
        return space

    def _logged(self, change: Change, *, force: bool) -> StreamRecord:
        """Log a change, which has happened then; what the log refuses has not, what it fails at may have (ML4)."""
        reserved, self._reserved = self._reserved, frozenset()
        try:
            return self.log.append(Kind.CHANGE, change.packed(), force=force)
        except CQSError:
            self._reserved = reserved
            raise

    def _put_unlogged(self, change: Change) -> None:
        """Messages that are not recoverable; those whose put was done and not answered are there (SS6)."""
        done = {structure.control.put for structure in self.structures}
        for structure in self.structures:
            effects = change.on(structure.number)
            if effects and token_of(effects) not in done:
                structure.apply(effects, 0)

    def _finish_later(self) -> None:
        """It has happened: what the structure refuses now is done before the next request."""
        try:
            self.finish()
        except (GateClosedError, ControlChangedError, StructureLostError):
            return

    def _reserve(self, change: Change, client: str) -> Space | None:
        """Take the space for all that is put (SS3), on both structures or on none."""
        space = None
        for structure in self.structures:
            puts = [e for e in change.on(structure.number) if isinstance(e, Put) and e.message.beside.recoverable]
            if not puts:
                continue
            self._reserved |= {put.message.id for put in puts}
            try:
                used = structure.reserve(puts, client)
            except CQSError:
                self._undo_unanswered()
                raise
            self.full.discard(structure.number)
            if structure.number == PRIMARY:
                space = used
        return space

    def read(self, queue: QueueName, holder: Holder) -> tuple[int, Beside, bytes] | None:
        """Move the first message of a queue to the lock queue (SP4); where it was, and its first record."""
        return self.active(lambda: self._read(queue, holder))

    def _read(self, queue: QueueName, holder: Holder) -> tuple[int, Beside, bytes] | None:
        for structure in self.structures:
            taken = self._taken(structure, queue, holder)
            if taken is not None:
                return structure.number, *taken
            if queue.key not in self.overflow:
                return None
        return None

    def _taken(self, structure: SharedStructure, queue: QueueName, holder: Holder) -> tuple[Beside, bytes] | None:
        """The first of a queue on one structure, locked; who is first to move it has it."""
        while (first := _first(structure, queue)) is not None:
            self._unheard = beside = Beside.of(first.adjunct).held_by(holder)
            try:
                structure.change(Move(first.number, first.list, Private.LOCK, beside.private_key, beside.packed()))
            except NotThereError:
                self._unheard = None
                continue
            if beside.recoverable:
                self.log.append(Kind.READ, packed_read(structure.number, beside), force=False)  # CH3, SP3
            self._unheard = None
            return beside, first.data
        return None

    def continuations(self, structure: int, beside: Beside) -> tuple[bytes, ...]:
        """Records 2 to n of a message, browsed from its staging queue."""
        if beside.records == 1:
            return ()
        return self.active(lambda: self.structures[structure].continuations(beside))

    def next_id(self, client: str) -> bytes:
        """The identifier of a new message: the clock, and later than any before it (QN6)."""
        self._token = max(self._token + 1, tod_from_us(self.around.clock.now_us()) >> TOKEN_SHIFT)
        for structure in self.structures[:1]:
            structure.control = replace(structure.control, token=self._token)
        return message_id(client, self._token)


def _first(structure: SharedStructure, queue: QueueName) -> Entry | None:
    entry: Entry | None = structure.ask(First(queue.header, *queue.range))[0]
    return entry
