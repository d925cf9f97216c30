"""Unit of work: messages that a client reads and inserts, ended as one.

Rules
  UW1 A message that is read is on the lock queue until the unit ends: deleted or moved at commit, ready again at
      backout.
  UW2 What is inserted is gathered in the queue pool and is on no structure before commit.
  UW3 At commit continuations are staged, then everything is decided by one log record, then first records become ready
      and what was read is deleted.
  UW4 An insert that a full structure would refuse is refused (status QF). Output that was inserted before and finds
      the structure full at commit is kept: the unit has committed, and its output is put at a later system checkpoint.
  UW5 Of a serial transaction one message at a time is read by its client, in the order of arrival.
  UW6 A message is put anew where it moves to, with the same segments, and deleted where it was, when it cannot stay on
      its structure: one on the overflow structure (SP4), and one of several records whose continuations are staged
      elsewhere (QN6).
  UW7 A unit ends with its client: what it has read is ready again by then, and may be read by others.

Called by client.  Calls pair, overflow.
"""

from collections.abc import Callable, Sequence
from functools import partial

from quaestor.cqs import overflow
from quaestor.cqs.changes import Change, Effect, Put, Remove, Shift
from quaestor.cqs.full import check_room, note_full
from quaestor.cqs.linked_pair import PRIMARY
from quaestor.cqs.messages import Beside, Holder, Message
from quaestor.cqs.pair import StructurePair
from quaestor.cqs.queue_names import FAST_PATH, Private, QueueName, QueueType, header_of, suspended
from quaestor.cqs.refusals import NO_ROOM, CQSError, Why


class UnitOfWork:
    """Reads and inserts of one client on one pair (UW1-UW7)."""

    def __init__(
        self, pair: StructurePair, client: str, serial: set[QueueName], registered: Callable[[], None]
    ) -> None:
        self._pair, self._client, self._serial, self._registered = pair, client, serial, registered
        self._read: dict[bytes, tuple[int, Beside]] = {}
        self._moved: dict[bytes, QueueName] = {}
        self._inserted: list[Message] = []
        self._ended = False

    @property
    def holder(self) -> Holder:
        return Holder(self._client, self._pair.server)

    def read(self, queue: QueueName) -> Message | None:
        """The first message of a queue, locked for this unit; None when there is none to read (UW1, UW5)."""
        with self._pair.latch:
            self._check()  # UW7: what a client has locked is given back under the latch
            found = None if queue in self._serial else self._pair.read(queue, self.holder)
            if found is None:
                return None
            structure, beside, first = found
            if queue.type is QueueType.TRANSACTION_SERIAL:
                self._serial.add(queue)
            self._read[beside.id] = (structure, beside)
            return Message(beside, (first, *self._pair.continuations(structure, beside)))

    def locked(self, message: Message, structure: int) -> None:
        """A message that was put straight to the lock queue belongs to this unit."""
        self._read[message.id] = (structure, message.beside.held_by(self.holder))

    def insert(self, queue: QueueName, segments: Sequence[bytes]) -> bytes:
        """Output, put at commit (UW2); its identifier. CQSError when there is no room for it now (UW4)."""
        self._check()
        message = made(self._pair, self._client, queue, segments)
        check_room(self._pair, message)
        self._inserted.append(message)
        return message.id

    def move(self, message: Message, queue: QueueName) -> None:
        """A message that was read goes to another queue at commit, instead of being deleted."""
        self._check()
        if message.id not in self._read:
            raise CQSError(Why.NOT_LOCKED, message=message.id)
        structure, elsewhere = self._read[message.id][0], message.queue.type.staging is not queue.type.staging
        if structure != PRIMARY or (len(message.records) > 1 and elsewhere):
            self.insert(queue, message.segments)  # UW6
        else:
            self._moved[message.id] = queue

    def suspend(self, message: Message) -> None:
        """A message whose transaction cannot run now goes to the suspend queue at commit."""
        self.move(message, suspended(message.queue.name))

    def commit(self) -> tuple[bytes, ...]:
        """What was read is done with, what was inserted is there (UW3); identifiers of output that is kept (UW4)."""
        with self._pair.latch:
            return self._commit()

    def _commit(self) -> tuple[bytes, ...]:
        self._check()
        ended = tuple(self._ending(*read) for read in self._read.values())
        try:
            space = self._pair.perform(lambda: self._change(ended), self._client)
        except CQSError as refused:
            if refused.why is not Why.STRUCTURE_FULL:
                raise
            note_full(self._pair, refused)
            space = self._pair.perform(partial(Change, ended, tuple(self._inserted)), self._client)
        self._end()
        overflow.after_change(self._pair, space, [beside.queue for _, beside in self._read.values()])
        return tuple(message.id for message in self._inserted if message.id in self._pair.kept)

    def backout(self) -> None:
        """What was read is ready again, what was inserted is gone."""
        with self._pair.latch:
            self._check()
            returned = tuple(Shift.returned(structure, beside) for structure, beside in self._read.values())
            if returned:
                self._pair.perform(partial(Change, returned), self._client, force=False)
            self._end()

    def _change(self, ended: tuple[Effect, ...]) -> Change:
        """Output with its structure, what has none to go to, and the end of what was read."""
        puts, kept = [], []
        for message in self._inserted:
            try:
                puts.append(Put.ready(self._pair.structure_of(message.queue), message))
            except CQSError as refused:
                if refused.why not in NO_ROOM:
                    raise
                kept.append(message)
        return Change((*puts, *ended), tuple(kept))

    def _ending(self, structure: int, beside: Beside) -> Effect:
        queue = self._moved.get(beside.id)
        if queue is None:
            return Remove(structure, Private.LOCK, beside)
        there = Beside(beside.id, queue.key, 1, beside.records, beside.recoverable)
        return Shift(structure, Private.LOCK, header_of(queue.key), queue.key, there)

    def _end(self) -> None:
        self._ended = True
        for _, beside in self._read.values():
            self._serial.discard(beside.queue)

    def _check(self) -> None:
        if self._ended:
            raise CQSError(Why.UNIT_ENDED)
        self._registered()  # UW7


def made(pair: StructurePair, client: str, queue: QueueName, segments: Sequence[bytes]) -> Message:
    """A new message; on the structure of fast path it fits one buffer, and input is not recoverable."""
    fast = pair.policy.fast_path
    if fast and queue.type not in FAST_PATH:
        raise CQSError(Why.NOT_ON_THIS_STRUCTURE, queue=str(queue))
    with pair.latch:
        identifier = pair.next_id(client)
    recoverable = not (fast and queue.type is QueueType.PROGRAM_READY)
    message = Message.made(
        queue, identifier, segments, recoverable=recoverable, qbuffer_bytes=pair.policy.qbuffer_bytes
    )
    if fast and len(message.records) > 1:
        raise CQSError(Why.SEGMENT_TOO_LONG, records=len(message.records))
    return message
