"""The image: the messages of a structure pair as values, wherever they were read from.

Rules
  IM1 An image is taken from a structure (every list but the move queue, which holds what is not committed), or from a
      recovery data set, and brought forward by log records in their order.
  IM2 Messages stand in it in the order in which they came to their lists, so that loading it gives the same order.
  IM3 Loaded into a structure, a message has its continuations before its first record.

Called by checkpoint, rebuild, overflow, query.  Calls changes, storage.lists.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from quaestor.cqs.changes import (
    Change,
    Effect,
    Kind,
    Put,
    Remove,
    message_of,
    messages_of,
    packed_message,
    read_of,
    values_of,
)
from quaestor.cqs.messages import Beside, Message
from quaestor.cqs.queue_names import CLIENT_HEADERS, STAGING, Private, QueueName
from quaestor.storage.lists.operations import Entry, Operation, ReadList, Write
from quaestor.storage.lists.structure import ListStructure
from quaestor.storage.log_stream import StreamRecord

PIECE = 200
STAGING_HEADERS = frozenset(header for kind in STAGING for header in kind.headers)
READY_HEADERS = tuple(header for header in CLIENT_HEADERS if header not in STAGING_HEADERS)
KEPT_LISTS = (Private.COLD, Private.LOCK, Private.REBUILD, Private.DELETE)


class Placed(NamedTuple):
    """A message and where it stands."""

    header: int
    key: bytes
    message: Message  # with what stands beside it there


@dataclass(slots=True)
class Image:
    """Messages of a pair: {(structure, identifier): where it stands}, and output that servers keep (CH2)."""

    placed: dict[tuple[int, bytes], Placed] = field(default_factory=dict)
    kept: dict[str, dict[bytes, Message]] = field(default_factory=dict)
    members: dict[str, int] = field(default_factory=dict)
    """Servers that have started and not ended, with their incarnations."""

    def take(self, number: int, structure: ListStructure) -> None:
        """Read a structure of the pair (IM1); nobody may change it meanwhile."""
        lists = lists_of(structure, (*sorted(STAGING_HEADERS), *KEPT_LISTS, *READY_HEADERS))
        continuations: dict[bytes, list[bytes]] = {}
        for header in STAGING_HEADERS:
            for entry in lists[header]:
                continuations.setdefault(entry.key, []).append(entry.data)
        for header in (*KEPT_LISTS, *READY_HEADERS):
            for entry in lists[header]:
                beside = Beside.of(entry.adjunct)
                records = (entry.data, *continuations.get(beside.staging_key, ()))
                self.placed[number, beside.id] = Placed(header, entry.key, Message(beside, records))

    def bring_forward(self, record: StreamRecord) -> None:
        """What a log record says."""
        kept = self.kept.setdefault(record.member, {})
        if record.kind == Kind.CHANGE:
            change = Change.of(record.body)
            for effect in change.effects:
                self._do(effect)
            kept.update((message.id, message) for message in change.kept)
            for identifier in change.released:
                kept.pop(identifier, None)
        elif record.kind == Kind.READ:
            self._do(read_of(record.body))
        elif record.kind == Kind.CHECKPOINT:
            self.kept[record.member] = {message.id: message for message in messages_of(record.body)}
        elif record.kind == Kind.ADOPTED:
            failed, *messages = values_of(record.body)
            self.kept.pop(failed, None)
            self.kept[record.member] = kept | {message.id: message for message in map(message_of, messages)}
        elif record.kind == Kind.START:
            self.members[record.member] = record.rba
        elif record.kind == Kind.END:
            self.members.pop(record.member, None)
        elif record.kind == Kind.FENCED:
            server, incarnation = values_of(record.body)
            if self.members.get(server) == incarnation:
                del self.members[server]

    def _do(self, effect: Effect) -> None:
        if isinstance(effect, Put):
            message = Message(effect.beside, effect.message.records)
            self.placed[effect.structure, message.id] = Placed(effect.header, effect.key, message)
            return
        place = (effect.structure, effect.beside.id)
        old = self.placed.pop(place, None)  # one that is not recoverable is not here
        if old is not None and not isinstance(effect, Remove):
            self.placed[place] = Placed(effect.header, effect.key, Message(effect.beside, old.message.records))

    def recoverable(self) -> "Image":
        """Without messages that are not recoverable."""
        placed = {at: each for at, each in self.placed.items() if each.message.beside.recoverable}
        return Image(placed, self.kept, self.members)

    def of(self, structure: int) -> list[Placed]:
        return [placed for (number, _), placed in self.placed.items() if number == structure]

    def elements(self, structure: int) -> int:
        return sum(placed.message.elements for placed in self.of(structure))

    def entries(self, structure: int) -> int:
        return sum(len(placed.message.records) for placed in self.of(structure))

    def queues(self, structure: int) -> dict[QueueName, list[Placed]]:
        """Messages on the ready queues of a structure by queue name."""
        found: dict[QueueName, list[Placed]] = {}
        for placed in self.of(structure):
            if placed.header in READY_HEADERS:
                found.setdefault(placed.message.queue, []).append(placed)
        return found

    def names(self, structure: int) -> set[bytes]:
        """Keys of the queues that have messages on a structure, ready or locked: those come back to it."""
        there = (*READY_HEADERS, Private.LOCK)
        return {placed.message.queue.key for placed in self.of(structure) if placed.header in there}

    def load(self, number: int, structure: ListStructure, *guards: Operation) -> None:
        """Write the messages of one structure of the pair (IM2, IM3), each request under guards."""
        for placed in self.of(number):
            structure.request(*guards, *written(placed))

    def packed(self) -> list[Any]:
        placed = [[number, *each[:2], packed_message(each.message)] for (number, _), each in self.placed.items()]
        kept = [
            [member, [packed_message(each) for each in messages.values()]] for member, messages in self.kept.items()
        ]
        return [placed, kept, self.members]

    @staticmethod
    def unpacked(packed: list[Any]) -> "Image":
        image = Image()
        for number, header, key, raw in packed[0]:
            message = message_of(raw)
            image.placed[number, message.id] = Placed(header, key, message)
        for member, messages in packed[1]:
            image.kept[member] = {message.id: message for message in map(message_of, messages)}
        image.members.update(packed[2])
        return image


def entries_of(
    structure: ListStructure, header: int, low: bytes = bytes(16), high: bytes = b"\xff" * 16
) -> Iterator[Entry]:
    """The entries of a list, read in pieces."""
    arrival = 0
    while True:
        (piece,) = structure.request(ReadList(header, low, high, PIECE, arrival))
        yield from piece
        if len(piece) < PIECE:
            return
        low, arrival = piece[-1].key, piece[-1].arrival


def lists_of(structure: ListStructure, headers: Sequence[int]) -> dict[int, list[Entry]]:
    """The entries of many lists; one request reads those that are short."""
    pieces = structure.request(*(ReadList(header, most=PIECE) for header in headers))
    return {
        header: list(piece) if len(piece) < PIECE else list(entries_of(structure, header))
        for header, piece in zip(headers, pieces, strict=True)
    }


def written(placed: Placed, header: int | None = None, key: bytes | None = None) -> list[Operation]:
    """The operations that write a message: continuations first, the first record last (IM3)."""
    beside, (first, *others) = placed.message.beside, placed.message.records
    operations: list[Operation] = [
        Write(beside.staging_header, beside.staging_key, data, beside.continuation(number).packed())
        for number, data in enumerate(others, 2)
    ]
    target = placed.header if header is None else header
    return [*operations, Write(target, placed.key if key is None else key, first, beside.packed())]
