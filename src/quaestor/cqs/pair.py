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

Called by server, unit_of_work and the structure operations.  Calls structure, merged_log, recovery_data_sets.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from threading import Event, RLock
from typing import TypeVar

import msgpack

from quaestor.clock import Clock, tod_from_us
from quaestor.cqs.changes import Change, Kind, Put, Shift, packed_read
from quaestor.cqs.merged_log import MergedLog
from quaestor.cqs.messages import Beside, Holder, Message
from quaestor.cqs.policy import Policy
from quaestor.cqs.queue_names import Private, QueueName, message_id
from quaestor.cqs.recovery_data_sets import RecoveryDataSets
from quaestor.cqs.refusals import CQSError, Why
from quaestor.cqs.structure import (
    GATE,
    MOVED,
    OPEN,
    Connection,
    Control,
    ControlChangedError,
    GateClosedError,
    NotThereError,
    SharedStructure,
    control_key,
    token_of,
)
from quaestor.storage.disk import SharedDisk
from quaestor.storage.lists.operations import Delete, Entry, First, Holding, Move, Operation, Space, Write
from quaestor.storage.lists.redis_engine import LOOK_AT_ALL
from quaestor.storage.lists.structure import Shape, StructureLostError, StructureRefusal, Told
from quaestor.storage.log_stream import StreamRecord

T = TypeVar("T")
Connect = Callable[[Shape, str, Told], Connection]
PAUSE_S, TOKEN_SHIFT = 0.005, 8
OVERFLOW_KEY = control_key("O", "")
PRIMARY = 0


def pause() -> None:
    """A moment, for somebody else to finish."""
    Event().wait(PAUSE_S)


@dataclass(slots=True)
class Surroundings:
    """What a pair is given: coupling facilities by name, the group's directory, the clock, and how to wait."""

    facilities: Mapping[str, Connect]
    disk: SharedDisk
    clock: Clock
    wait: Callable[[], None] = pause
    segment_bytes: int = 16 << 20
    console: list[str] = field(default_factory=list)


class StructurePair:
    """Primary and overflow structure, log and recovery data sets of one kind of queues (SP1-SP4)."""

    def __init__(self, policy: Policy, server: str, around: Surroundings) -> None:
        self.policy, self.server, self.around = policy, server, around
        self.log = MergedLog(around.disk, policy.name, server, around.segment_bytes)
        self.data_sets = RecoveryDataSets(around.disk, policy.name)
        self.structures: list[SharedStructure] = []
        self.overflow: frozenset[bytes] = frozenset()
        self.kept: dict[bytes, Message] = {}
        self.full: set[int] = set()
        self.latch = RLock()
        self.told: Callable[[int, int], None] = lambda _structure, _token: None
        self.overflow_exit: Callable[[QueueName, int], bool] = lambda _queue, _elements: True
        self.connected: Callable[[], None] = lambda: None
        self.connect: Callable[[], None] = lambda: None
        self._undone: deque[tuple[int, Change]] = deque()
        self._reserved: frozenset[bytes] = frozenset()  # identifiers: perhaps on a move queue, and not logged
        self._unheard: Beside | None = None  # perhaps on a lock queue, and in no unit
        self.missed_us = 0
        """When a structure was last seen to have moved, or its notices to have been missed."""

        self._token = 0
        self._said_lost = -1

    @property
    def primary(self) -> SharedStructure:
        return self.structures[PRIMARY]

    @property
    def token(self) -> int:
        """The clock in the last identifier that was given."""
        return self._token

    def places(self) -> tuple[tuple[str, str], ...]:
        """Name and coupling facility of each structure: by the newest recovery data set, else by the policy."""
        saved = self.data_sets.all()
        if saved:
            return saved[0][0].structures
        return tuple((name, self.policy.preference[0]) for name in self.policy.names)

    def forget(self) -> None:
        """The structures are no more."""
        for structure in self.structures:
            structure.connection.disconnect()
        self.structures, self.log.incarnation = [], 0
        self.kept.clear()
        self._undone.clear()
        self._reserved, self._unheard = frozenset(), None

    @property
    def generation(self) -> int:
        return self.log.generation

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

    def linked(self, number: int, name: str, facility: str) -> SharedStructure:
        """A connection to a structure of the pair."""
        connect = self.around.facilities.get(facility)
        if connect is None:
            raise CQSError(Why.NO_FACILITY, facility=facility)
        link = connect(self.policy.shape(number, name), self.server, lambda token: self._hear(number, token))
        return SharedStructure(number, link, self.server)

    def _hear(self, number: int, token: int) -> None:
        if token == LOOK_AT_ALL:
            self.missed_us = self.around.clock.now_us()
        self.told(number, token)

    def reconnect(self) -> None:
        """Connect anew; whatever was logged is in the structure that is found, or is still to be done."""
        self.drop()
        self.connect()

    def drop(self) -> None:
        """Give up the connections: what was begun on the structures is not whole, and nobody may work on it."""
        for structure in self.structures:
            structure.connection.fail()
        self.structures = []

    def _look_at_gates(self) -> None:
        """Why a gate was not as expected (SP2)."""
        holders = [structure.holder() for structure in self.structures]
        if all(holder.startswith(OPEN) for holder in holders):
            self.refresh()
        elif any(self._left_alone(holder) for holder in holders):
            self.reconnect()
        else:
            self.around.wait()

    def _left_alone(self, holder: str) -> bool:
        """Whether nobody is going to open a gate."""
        if holder.startswith(OPEN):
            return False
        return holder.startswith(MOVED) or holder == self.server or self.primary.failed(holder)

    def refresh(self) -> None:
        """Look at the pair again: gates, control entries, names in overflow."""
        for structure in self.structures:
            structure.gate = structure.holder()
            if not structure.gate.startswith(OPEN):
                raise GateClosedError(structure.connection.shape.name)
        self.log.generation = int(self.primary.gate.removeprefix(OPEN))
        self.log.begun = max(structure.begun()[0] for structure in self.structures)
        self.log.check()
        for structure in self.structures:
            self._enter(structure)
        self.read_overflow()

    def _enter(self, structure: SharedStructure) -> None:
        """This server's control entry, as it is or for a new incarnation."""
        controls = structure.controls()
        self.later_than(max((control.token for control in controls.values()), default=0))
        known = controls.get(self.server)
        if known is not None and known.incarnation == self.log.incarnation:
            structure.control = known
            return
        checkpoint = 0 if known is None else known.checkpoint
        applied = max(self.log.incarnation, structure.begun()[0])  # what was logged earlier is complete (MB4)
        structure.enter(Control(self.server, self.log.incarnation, applied, checkpoint, self._token))

    @contextmanager
    def quiesced(self) -> Iterator[None]:
        """No activity by anybody while the block runs; the structures are open with a new generation behind it."""
        with self.latch:
            self.hold()
            try:
                yield
            except Exception:
                with suppress(StructureLostError, StructureRefusal):  # it is lost, or somebody else holds it now
                    self.open()
                raise
            self.open()

    def hold(self) -> None:
        """Hold the gates of the pair, the primary's first."""
        for structure in self.structures:
            while not structure.seize(self._holder(structure)):
                continue

    def _holder(self, structure: SharedStructure) -> str:
        """Who holds a gate that can be taken: nobody, or who has failed, or it is open."""
        while True:
            holder = structure.holder()
            if holder.startswith(OPEN):
                self.log.generation = max(self.log.generation, int(holder.removeprefix(OPEN)))
            elif holder.startswith(MOVED):
                if self.data_sets.present():
                    raise GateClosedError(structure.connection.shape.name)
            elif holder != self.server and not structure.failed(holder):
                self.around.wait()
                continue
            return holder

    def open(self) -> None:
        """Give up the gates with the next generation; a structure that is not whole stays closed (SS5)."""
        generation = self.log.generation + 1
        for structure in reversed(self.structures):
            if structure.identity() is not None:
                structure.open(generation)
        self.log.generation = generation
        self.read_overflow()

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

    def later_than(self, token: int) -> None:
        """Identifiers are later than one that is known."""
        self._token = max(self._token, token)

    # -- names in overflow

    def structure_of(self, queue: QueueName) -> int:
        """Where a message is put (SP4)."""
        if queue.key not in self.overflow:
            return PRIMARY
        if len(self.policy.names) == 1:
            raise CQSError(Why.QUEUE_IN_OVERFLOW, queue=str(queue))
        return 1

    def read_overflow(self) -> None:
        entry = self._overflow_entry()
        self.overflow = frozenset(msgpack.unpackb(entry.data) if entry is not None else ())

    def write_overflow(self, keys: Iterable[bytes]) -> None:
        """Which names are in overflow status; the gates are held."""
        entry, names = self._overflow_entry(), sorted(keys)
        operations: list[Operation] = [Delete(entry.number, Private.CONTROL)] if entry is not None else []
        if names:
            operations.append(Write(Private.CONTROL, OVERFLOW_KEY, msgpack.packb(names, use_bin_type=True)))
        self.primary.connection.request(Holding(GATE, self.server), *operations)
        self.overflow = frozenset(names)

    def _overflow_entry(self) -> Entry | None:
        entry: Entry | None = self.primary.connection.request(First(Private.CONTROL, OVERFLOW_KEY, OVERFLOW_KEY))[0]
        return entry


def _first(structure: SharedStructure, queue: QueueName) -> Entry | None:
    entry: Entry | None = structure.ask(First(queue.header, *queue.range))[0]
    return entry
