"""A client: a transaction manager as the common queue server knows it.

Rules
  CL1 A client puts, reads, browses, moves and deletes messages, and registers interest in queue names.
  CL2 A put is a unit of its own: when it returns, the message is safe.
  CL3 A message for which a region is free, that fits one logical record and is not serial, can be put straight to the
      lock queue: nobody is told, nobody else can read it, and the unit that has it begins at once.
  CL4 What a client had locked when it failed is ready again; when it starts cold, what it had locked waits on the cold
      queue for somebody to decide.
  CL5 A client ends under the latch of its pair. Whatever locks a message or registers interest looks under it whether
      the client is still there, or what it leaves would stay.

Called by transaction managers.  Calls unit_of_work, interest, pair.
"""

from collections.abc import Callable, Sequence
from functools import partial

from quaestor.cqs import overflow
from quaestor.cqs.changes import Change, Put, Shift
from quaestor.cqs.full import note_full
from quaestor.cqs.image import entries_of
from quaestor.cqs.interest import Inform, Interest
from quaestor.cqs.messages import NOBODY, Beside, Message
from quaestor.cqs.pair import StructurePair
from quaestor.cqs.queue_names import Private, QueueName, QueueType
from quaestor.cqs.refusals import CQSError, Why
from quaestor.cqs.unit_of_work import UnitOfWork, made


class Client:
    """A registered client, on one structure pair (CL1)."""

    def __init__(self, name: str, pair: StructurePair, interest: Interest, inform: Inform) -> None:
        self.name = name
        self.pair, self._interest, self._inform = pair, interest, inform
        self._serial: set[QueueName] = set()
        self._gone = False

    def register_interest(self, queue: QueueName) -> None:
        with self.pair.latch:  # CL5
            self._check()
            self._interest.register(queue, self.name, self._inform)

    def deregister_interest(self, queue: QueueName) -> None:
        with self.pair.latch:
            self._check()
            self._interest.deregister(queue, self.name)

    @property
    def interests(self) -> list[QueueName]:
        return self._interest.of(self.name)

    def put(self, queue: QueueName, segments: Sequence[bytes]) -> bytes:
        """Put a message (CL2); its identifier."""
        message = self._made(queue, segments)
        self._put(lambda: Put.ready(self.pair.structure_of(queue), message))
        return message.id

    def put_locked(self, queue: QueueName, segments: Sequence[bytes]) -> tuple[UnitOfWork, Message] | None:
        """Put a message straight to the lock queue; it and its unit (CL3), or None when it must go the long way."""
        message = self._made(queue, segments)
        if len(message.records) > 1 or queue.type is QueueType.TRANSACTION_SERIAL:
            return None
        unit = self.begin()

        def put() -> Put:
            structure = self.pair.structure_of(queue)
            unit.locked(message, structure)
            return Put.locked(structure, message, unit.holder)

        with self.pair.latch:  # CL5
            self._check()
            self._put(put)
        return unit, message

    def begin(self) -> UnitOfWork:
        """A unit of work."""
        self._check()
        return UnitOfWork(self.pair, self.name, self._serial, self._check)

    def browse(self, queue: QueueName) -> list[Message]:
        """The messages of a queue, in their order; nothing is locked."""
        self._check()
        return self.pair.active(lambda: self._browse(queue))

    def count(self, queue: QueueName) -> int:
        return len(self.browse(queue))

    def delete(self, queue: QueueName) -> Message | None:
        """Take the first message of a queue off (/DEQUEUE)."""
        unit = self.begin()
        message = unit.read(queue)
        unit.commit()
        return message

    def move(self, source: QueueName, target: QueueName) -> int:
        """Move all messages of a queue to another one; how many."""
        moved = 0
        for _ in range(self.count(source)):
            unit = self.begin()
            message = unit.read(source)
            if message is not None:
                try:
                    unit.move(message, target)
                except CQSError:
                    unit.backout()
                    raise
                moved += 1
            unit.commit()
        return moved

    # -- the end

    def left(self) -> None:
        """The client is gone: its interest and its units end."""
        self._gone = True
        self._interest.deregister_all(self.name)

    def give_back(self, *, cold: bool) -> int:
        """What the client had locked is ready again, or waits on the cold queue (CL4); how many messages."""
        return self.pair.active(lambda: self._give_back(cold=cold))

    def _give_back(self, *, cold: bool) -> int:
        effects = tuple(
            Shift.private(structure.number, beside, Private.LOCK, Private.COLD, NOBODY)
            if cold
            else Shift.returned(structure.number, beside)
            for structure in self.pair.structures
            for beside in structure.held(Private.LOCK, self.pair.server)
            if beside.holder.client == self.name
        )
        if effects:
            self.pair.perform(partial(Change, effects), force=cold)
        return len(effects)

    def _browse(self, queue: QueueName) -> list[Message]:
        found = []
        for structure in self.pair.structures:
            structure.ask()
            for entry in entries_of(structure.connection, queue.header, *queue.range):
                beside = Beside.of(entry.adjunct)
                others = structure.continuations(beside) if beside.records > 1 else ()
                found.append(Message(beside, (entry.data, *others)))
            structure.ask()
        return found

    def _made(self, queue: QueueName, segments: Sequence[bytes]) -> Message:
        self._check()
        return made(self.pair, self.name, queue, segments)

    def _put(self, put: Callable[[], Put]) -> None:
        try:
            space = self.pair.perform(lambda: Change((put(),)), self.name)
        except CQSError as refused:
            if refused.why is Why.STRUCTURE_FULL:
                note_full(self.pair, refused)
            raise
        overflow.after_change(self.pair, space, ())

    def _check(self) -> None:
        if self._gone:
            raise CQSError(Why.NOT_REGISTERED, client=self.name)
