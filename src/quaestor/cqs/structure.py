"""A shared structure: how the servers of a group change one list structure without getting in each other's way.

Rules
  SS1 The gate is a lock of the structure. Open, it is held by "open" and a generation; every change is refused unless
      it is so still. Whoever quiesces the structure holds it under its own name, and opens it with the next
      generation.
  SS2 Every server has an entry on the control queue: its incarnation, up to which log record its changes are on the
      structure, its last system checkpoint, its clock. Each change rewrites it in the same request, and is refused
      when somebody else has written it. So a logged change is done exactly once, by its server or by a peer.
  SS3 What a put needs is reserved before it is logged: continuations on the staging queue, the first record last, on
      the move queue. After the log only moves and deletes are left, which no full structure refuses.
  SS4 A message on a private queue has its identifier as key, and is found by it; on a ready queue it is the first of
      its name, or looked for.
  SS5 An identity entry is the last thing that is written when a structure begins: without it the structure is not
      whole.
  SS6 A message that is not recoverable is put without a log record. Its server's control entry names the last one, in
      the same request; so a put that was not answered is known to be done, and is not done again.

Called by pair, restart, rebuild.  Calls storage.lists.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from quaestor.cqs.changes import Effect, Put, Remove, Shift
from quaestor.cqs.image import Placed, entries_of, lists_of, written
from quaestor.cqs.messages import Beside, Holder, Message
from quaestor.cqs.queue_names import FIRST_CLIENT_HEADER, HEADERS, Private, token
from quaestor.cqs.refusals import CQSError, Why
from quaestor.mqi.reasons import Abend
from quaestor.storage.lists.operations import (
    Delete,
    Entry,
    First,
    Holding,
    Lock,
    Move,
    Operation,
    Read,
    ReadList,
    ReadSpace,
    Rewrite,
    Space,
    Unlock,
    Write,
)
from quaestor.storage.lists.structure import ListStructure, StructureRefusal

GATE, RECOVERY = 0, 1
WIPED_AT_ONCE = 500
OPEN, MOVED = "open", "moved"
_CONTROL = struct.Struct(">QQQQBQ")
_IDENTITY = struct.Struct(">QQ")  # RBA, time
_IDENTITY_KEY = b"I".ljust(16, b"\0")


class GateClosedError(Exception):
    """The structure is quiesced, or has another generation than was thought (SS1)."""


class ControlChangedError(Exception):
    """Somebody else has written this server's control entry (SS2)."""


class NotThereError(Exception):
    """An entry is not where it was a moment ago."""


class Connection(ListStructure, Protocol):
    """A connection that can also end without a word."""

    def fail(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Control:
    """A server's entry on the control queue (SS2)."""

    server: str
    incarnation: int
    applied: int
    checkpoint: int = 0
    token: int = 0
    active: bool = True
    put: int = 0  # the clock in the identifier of the last message put without a log record (SS6)
    number: int = 0
    version: int = 0

    @property
    def key(self) -> bytes:
        return control_key("M", self.server)

    def packed(self) -> bytes:
        return _CONTROL.pack(self.incarnation, self.applied, self.checkpoint, self.token, self.active, self.put)

    @staticmethod
    def of(entry: Entry) -> "Control":
        incarnation, applied, checkpoint, token, active, put = _CONTROL.unpack(entry.adjunct)
        server = entry.key[1:9].decode().rstrip()
        return Control(server, incarnation, applied, checkpoint, token, bool(active), put, entry.number, entry.version)


def control_key(kind: str, name: str, more: str = "") -> bytes:
    """A key on the control queue: M servers, C clients, P active programs, O names in overflow, I identity."""
    return f"{kind}{name:<8}{more:<7}".encode()


class SharedStructure:
    """One structure of a pair, as one server uses it."""

    def __init__(self, number: int, connection: Connection, server: str) -> None:
        self.number, self.connection, self.server = number, connection, server
        self.gate = server
        self.control = Control(server, 0, 0)
        self.guards: tuple[Operation, ...] = ()

    # -- the gate, rule SS1

    def holder(self) -> str:
        """Who holds the gate; this server itself when nobody did."""
        holder: str = self.connection.request(Lock(GATE, self.server))[0]
        return holder

    def seize(self, holder: str) -> bool:
        """Hold the gate instead of `holder`."""
        self.gate = self.server
        answer = self.connection.request(Unlock(GATE, holder), Lock(GATE, self.server))[1]
        return bool(answer == self.server)

    def open(self, generation: int) -> None:
        self.leave(f"{OPEN} {generation}")

    def leave(self, gate: str) -> None:
        """Give up the gate for what everybody sees from now on."""
        self.connection.request(Holding(GATE, self.server), Unlock(GATE, self.server), Lock(GATE, gate))
        self.gate = gate

    def failed(self, server: str) -> bool:
        return self.connection.connectors().get(server) is not True

    # -- requests, rules SS1 and SS2

    def ask(self, *operations: Operation) -> tuple[Any, ...]:
        """Read while the gate is as it was: what is not open, or has moved, is not read."""
        try:
            return self.connection.request(Holding(GATE, self.gate), *operations)[1:]
        except StructureRefusal as refusal:
            raise GateClosedError(self.connection.shape.name) from refusal

    def change(self, *operations: Operation, control: Control | None = None) -> tuple[Any, ...]:
        """Do operations as one with the control entry of this server, or of one that is recovered."""
        control = control or self.control
        mine = control.number == self.control.number
        rewrite = Rewrite(control.number, None, control.packed(), control.version)
        guards = (Holding(GATE, self.gate), rewrite, *(() if mine else self.guards))
        try:
            answers = self.connection.request(*guards, *operations)
        except StructureRefusal as refusal:
            raise self._refused(refusal, len(guards)) from refusal
        if mine:
            self.control = replace(control, version=answers[1])
        return answers[len(guards) :]

    def _refused(self, refusal: StructureRefusal, guards: int) -> Exception:
        if refusal.at == 1:
            return ControlChangedError(self.server)
        if refusal.at < guards:
            return GateClosedError(self.connection.shape.name)
        if refusal.why == "FULL":
            return CQSError(Why.STRUCTURE_FULL, structure=self.connection.shape.name)
        return NotThereError(f"{self.connection.shape.name}: {refusal}")

    def apply(self, effects: Sequence[Effect], rba: int, control: Control | None = None) -> Control:
        """Do effects of a logged change (SS2); gives the control entry as it is then."""
        control = control or self.control
        target = replace(control, applied=max(rba, control.applied), put=control.put if rba else token_of(effects))
        self.change(*self._operations(effects, control), control=target)
        return replace(target, version=target.version + 1)

    def _operations(self, effects: Sequence[Effect], control: Control) -> list[Operation]:
        """Effects as operations on entries, which are looked up by their keys (SS4), unless somebody else did them."""
        own, *answers = self.ask(Read(control.number), *(op for effect in effects for op in _lookups(effect)))
        if own is None or own.version != control.version:
            raise ControlChangedError(self.server)
        found = iter(answers)
        operations: list[Operation] = []
        for effect in effects:
            if isinstance(effect, Put):
                operations += self._put(effect, next(found))
            elif isinstance(effect, Shift):
                target = (effect.header, effect.key, effect.beside.packed())
                there = self._there(next(found), effect.beside, effect.source)
                operations += [Move(number, effect.source, *target) for number in there]
            else:
                there = self._there(next(found), effect.beside, effect.source)
                operations += [Delete(number, effect.source) for number in there]
                if effect.beside.records > 1:
                    operations += [Delete(entry.number, entry.list) for entry in next(found)]
        return operations

    def _put(self, put: Put, entry: Entry | None) -> list[Operation]:
        if entry is not None:
            return [Move(entry.number, Private.MOVE, put.header, put.key, put.beside.packed())]
        if put.message.beside.recoverable:
            raise Abend("SS3", "what was reserved for a put is gone", message=put.message.id)
        return written(Placed(put.header, put.key, Message(put.beside, put.message.records)))

    def _there(self, entry: Entry | None, beside: Beside, source: int) -> list[int]:
        """The number of a message's entry on a list (SS4); none when it was lost with a structure (RB1)."""
        if entry is None or Beside.of(entry.adjunct).id != beside.id:
            found = entries_of(self.connection, source, *_range(source, beside))
            entry = next((each for each in found if Beside.of(each.adjunct).id == beside.id), None)
        if entry is None and beside.recoverable:
            raise Abend("SS4", "a message is not where the log has it", message=beside.id, list=source)
        return [] if entry is None else [entry.number]

    # -- reserving, rule SS3

    def reserve(self, puts: Sequence[Put], client: str) -> Space:
        """Take the space that puts need; CQSError STRUCTURE_FULL when there is none. Answers what is in use then."""
        operations: list[Operation] = []
        for put in puts:
            held = put.message.beside.held_by(Holder(client, self.server))
            placed = Placed(Private.MOVE, held.private_key, Message(held, put.message.records))
            operations += written(placed)
        space: Space = self.change(*operations, ReadSpace())[-1]
        return space

    def release(self, besides: Sequence[Beside]) -> None:
        """Give back what was reserved and will not be put."""
        if besides:
            gone = [Remove(self.number, Private.MOVE, each) for each in besides]
            self.change(*self._operations(gone, self.control))

    def continuations(self, beside: Beside) -> tuple[bytes, ...]:
        """Records 2 to n of a message, browsed from its staging queue; the gate is as it was when all are read."""
        key = beside.staging_key
        found = tuple(entry.data for entry in entries_of(self.connection, beside.staging_header, key, key))
        self.ask()
        return found

    # -- the control queue

    def controls(self) -> dict[str, Control]:
        """The servers that the structure knows."""
        low, high = control_key("M", ""), b"M".ljust(16, b"\xff")
        found = map(Control.of, entries_of(self.connection, Private.CONTROL, low, high))
        return {control.server: control for control in found}

    def enter(self, control: Control) -> None:
        """This server's control entry, new or written over that of an earlier incarnation."""
        known = self.controls().get(self.server)
        if known is None:
            number = self.connection.request(Write(Private.CONTROL, control.key, b"", control.packed()))[0]
            self.control = replace(control, number=number, version=1)
            return
        version = self.connection.request(Rewrite(known.number, None, control.packed(), known.version))[0]
        self.control = replace(control, number=known.number, version=version)

    def identity(self) -> Entry | None:
        entry: Entry | None = self.connection.request(First(Private.CONTROL, _IDENTITY_KEY, _IDENTITY_KEY))[0]
        return entry

    def begin(self, rba: int, now_us: int) -> None:
        """The structure is whole (SS5): it holds what was logged before `rba`."""
        known, adjunct = self.identity(), _IDENTITY.pack(rba, now_us)
        write = (
            Write(Private.CONTROL, _IDENTITY_KEY, b"", adjunct)
            if known is None
            else Rewrite(known.number, None, adjunct, known.version)
        )
        self.connection.request(Holding(GATE, self.server), write)

    def wipe(self) -> None:
        """Delete every entry, of a structure that is not whole or is given up: the identity first."""
        entries = [entry for found in lists_of(self.connection, range(HEADERS)).values() for entry in found]
        entries.sort(key=lambda entry: entry.key != _IDENTITY_KEY)
        for at in range(0, len(entries), WIPED_AT_ONCE):
            gone = (Delete(entry.number, entry.list) for entry in entries[at : at + WIPED_AT_ONCE])
            self.connection.request(Holding(GATE, self.server), *gone)

    def begun(self) -> tuple[int, int]:
        """The RBA at which the structure began, and when that was."""
        entry = self.identity()
        rba, now_us = (0, 0) if entry is None else _IDENTITY.unpack(entry.adjunct)
        return rba, now_us

    def space(self) -> Space:
        space: Space = self.connection.request(ReadSpace())[0]
        return space

    def held(self, header: int, server: str) -> list[Beside]:
        """Messages that a server holds on a private queue."""
        found = [Beside.of(entry.adjunct) for entry in entries_of(self.connection, header)]
        return [beside for beside in found if beside.holder.server == server]


def token_of(effects: Sequence[Effect]) -> int:
    """The clock in the last identifier of what is put (SS6)."""
    return max((token(effect.message.id) for effect in effects if isinstance(effect, Put)), default=0)


def _lookups(effect: Effect) -> list[Operation]:
    """What has to be known of the structure before an effect is done (SS4)."""
    if isinstance(effect, Put):
        key = effect.message.beside.private_key
        return [First(Private.MOVE, key, key)]
    beside = effect.beside
    lookups: list[Operation] = [First(effect.source, *_range(effect.source, beside))]
    if isinstance(effect, Remove) and beside.records > 1:
        lookups.append(ReadList(beside.staging_header, beside.staging_key, beside.staging_key, beside.records))
    return lookups


def _range(source: int, beside: Beside) -> tuple[bytes, bytes]:
    """Between which keys a message stands on a list."""
    return beside.queue.range if source >= FIRST_CLIENT_HEADER else (beside.private_key, beside.private_key)
