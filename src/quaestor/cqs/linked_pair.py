"""A pair of structures as a server is connected to it: where they are, their gates, the names in overflow.

SP2 and SP4 of `pair` say what for.

Called by pair and the structure operations.  Calls structure, merged_log, recovery_data_sets.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, RLock

import msgpack

from quaestor.clock import Clock
from quaestor.cqs.merged_log import MergedLog
from quaestor.cqs.policy import Policy
from quaestor.cqs.queue_names import Private, QueueName
from quaestor.cqs.recovery_data_sets import RecoveryDataSets
from quaestor.cqs.refusals import CQSError, Why
from quaestor.cqs.structure import (
    GATE,
    MOVED,
    OPEN,
    Connection,
    Control,
    GateClosedError,
    SharedStructure,
    control_key,
)
from quaestor.storage.disk import SharedDisk
from quaestor.storage.lists.operations import Delete, Entry, First, Holding, Operation, Write
from quaestor.storage.lists.redis_engine import LOOK_AT_ALL
from quaestor.storage.lists.structure import Shape, StructureLostError, StructureRefusal, Told

Connect = Callable[[Shape, str, Told], Connection]
PAUSE_S = 0.005
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


class LinkedPair:
    """Primary and overflow structure, the log they share and their recovery data sets."""

    def __init__(self, policy: Policy, server: str, around: Surroundings) -> None:
        self.policy, self.server, self.around = policy, server, around
        self.log = MergedLog(around.disk, policy.name, server, around.segment_bytes)
        self.data_sets = RecoveryDataSets(around.disk, policy.name)
        self.structures: list[SharedStructure] = []
        self.overflow: frozenset[bytes] = frozenset()
        self.latch = RLock()
        self.told: Callable[[int, int], None] = lambda _structure, _token: None
        self.connect: Callable[[], None] = lambda: None
        self.missed_us = 0
        """When a structure was last seen to have moved, or its notices to have been missed."""

        self._token = 0

    @property
    def primary(self) -> SharedStructure:
        return self.structures[PRIMARY]

    @property
    def token(self) -> int:
        """The clock in the last identifier that was given."""
        return self._token

    def later_than(self, token: int) -> None:
        """Identifiers are later than one that is known."""
        self._token = max(self._token, token)

    def places(self) -> tuple[tuple[str, str], ...]:
        """Name and coupling facility of each structure: by the newest recovery data set, else by the policy."""
        saved = self.data_sets.all()
        if saved:
            return saved[0][0].structures
        return tuple((name, self.policy.preference[0]) for name in self.policy.names)

    @property
    def generation(self) -> int:
        return self.log.generation

    # -- connections

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

    # -- gates, rule SP2

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
