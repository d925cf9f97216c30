"""Changes: what happened to messages, as values that are logged, done on a structure, and done again on an image.

Rules
  CH1 There are three effects. PUT: a message comes to a list. SHIFT: a message goes from a private list to another
      list. REMOVE: a message goes from a private list altogether, with its continuations. Each names the structure of
      the pair: 0 the primary, 1 the overflow structure.
  CH2 A change is effects that happen as one, with the output that was committed while its structure was full: it is
      kept in the queue pool (QPOOL), and released by a later change.
  CH3 A read is logged after it was done: until then nobody else can touch the message.

Called by pair, image, merged_log.  Calls messages.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import msgpack

from quaestor.cqs.messages import NOBODY, Beside, Holder, Message
from quaestor.cqs.queue_names import Private, header_of


class Kind(IntEnum):
    """What a log record says."""

    START = 1  # a server begins; the record's RBA is its incarnation
    CHANGE = 2
    READ = 3
    CHECKPOINT = 4  # system checkpoint: what a restart of this server needs
    ADOPTED = 5  # committed output kept by a failed server is kept by this one
    FENCED = 6  # an incarnation has failed: nothing it appends counts
    REBUILD = 7  # a structure of the pair begins anew
    END = 8  # a server has ended in good order
    LOST = 9  # a server lives, and has no way to the structure


@dataclass(frozen=True, slots=True)
class Put:
    """A message comes to a list."""

    structure: int
    message: Message
    header: int
    key: bytes
    holder: Holder = NOBODY

    @staticmethod
    def ready(structure: int, message: Message) -> "Put":
        """To its ready queue."""
        key = message.beside.queue_key
        return Put(structure, message, header_of(key), key)

    @staticmethod
    def locked(structure: int, message: Message, holder: Holder) -> "Put":
        """Straight to the lock queue."""
        return Put(structure, message, Private.LOCK, message.beside.private_key, holder)

    @property
    def beside(self) -> Beside:
        """What stands beside its first record there."""
        return self.message.beside.held_by(self.holder)


@dataclass(frozen=True, slots=True)
class Shift:
    """A message goes from a private list to another list; `beside` is what stands beside it there."""

    structure: int
    source: int
    header: int
    key: bytes
    beside: Beside

    @staticmethod
    def returned(structure: int, beside: Beside, source: int = Private.LOCK) -> "Shift":
        """Back to its ready queue, before all that were not read."""
        key = beside.queue.returned_key(beside.id)
        return Shift(structure, source, header_of(key), key, beside.held_by(NOBODY))

    @staticmethod
    def private(structure: int, beside: Beside, source: int, target: int, holder: Holder) -> "Shift":
        """To another private list."""
        return Shift(structure, source, target, beside.private_key, beside.held_by(holder))


@dataclass(frozen=True, slots=True)
class Remove:
    """A message goes from a private list altogether."""

    structure: int
    source: int
    beside: Beside


Effect = Put | Shift | Remove


@dataclass(frozen=True, slots=True)
class Change:
    """Effects that happen as one (CH2)."""

    effects: tuple[Effect, ...] = ()
    kept: tuple[Message, ...] = ()
    released: tuple[bytes, ...] = ()

    def on(self, structure: int) -> tuple[Effect, ...]:
        return tuple(effect for effect in self.effects if effect.structure == structure)

    def logged(self) -> "Change":
        """Without messages that are not recoverable: they are not brought back from a log."""
        effects = tuple(e for e in self.effects if not isinstance(e, Put) or e.message.beside.recoverable)
        return Change(effects, tuple(m for m in self.kept if m.beside.recoverable), self.released)

    def packed(self) -> bytes:
        effects = [_packed_effect(effect) for effect in self.effects]
        return _pack([effects, [packed_message(kept) for kept in self.kept], list(self.released)])

    @staticmethod
    def of(body: bytes) -> "Change":
        effects, kept, released = msgpack.unpackb(body)
        return Change(tuple(map(_effect, effects)), tuple(map(message_of, kept)), tuple(released))


def packed_message(message: Message) -> list[Any]:
    return [message.beside.packed(), list(message.records)]


def message_of(packed: list[Any]) -> Message:
    return Message(Beside.of(packed[0]), tuple(packed[1]))


def packed_messages(messages: "tuple[Message, ...] | list[Message]") -> bytes:
    """A system checkpoint: the output that is kept."""
    return _pack([packed_message(message) for message in messages])


def messages_of(body: bytes) -> tuple[Message, ...]:
    return tuple(map(message_of, msgpack.unpackb(body)))


def packed_read(structure: int, beside: Beside) -> bytes:
    """A read (CH3): the message is on the lock queue, held as said."""
    return _pack([structure, beside.packed()])


def read_of(body: bytes) -> Shift:
    """A read as the shift that it was, from wherever the message stood."""
    structure, packed = msgpack.unpackb(body)
    beside = Beside.of(packed)
    return Shift(structure, -1, Private.LOCK, beside.private_key, beside)


def packed_values(*values: Any) -> bytes:
    """The body of the records that carry a few plain values."""
    return _pack(list(values))


def values_of(body: bytes) -> list[Any]:
    values: list[Any] = msgpack.unpackb(body)
    return values


def _pack(value: Any) -> bytes:
    packed: bytes = msgpack.packb(value, use_bin_type=True)
    return packed


def _packed_effect(effect: Effect) -> list[Any]:
    if isinstance(effect, Put):
        return ["put", effect.structure, packed_message(effect.message), effect.header, effect.key, *effect.holder]
    if isinstance(effect, Shift):
        return ["shift", effect.structure, effect.source, effect.header, effect.key, effect.beside.packed()]
    return ["remove", effect.structure, effect.source, effect.beside.packed()]


def _effect(packed: list[Any]) -> Effect:
    verb, structure, *rest = packed
    if verb == "put":
        message, header, key, client, server = rest
        return Put(structure, message_of(message), header, key, Holder(client, server))
    if verb == "shift":
        source, header, key, beside = rest
        return Shift(structure, source, header, key, Beside.of(beside))
    source, beside = rest
    return Remove(structure, source, Beside.of(beside))
