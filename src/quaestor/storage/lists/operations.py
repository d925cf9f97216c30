"""Operations: what can be asked of a list structure, as values with one encoding for every engine.

Rules
  LO1 An entry has a number for its life, stands on one list at a time, and has a key of 16 bytes, adjunct data of at
      most 64 bytes and data. Lists are in the order of their keys; equal keys in the order of arrival on the list.
  LO2 A range of keys includes both ends.
  LO3 An operation is written as its name and its arguments, a request as a list of them, with msgpack (without its kind
      for bytes, which Redis does not know): so to the coupling facility, and to Redis unless it is a put or get (LW1).
  LO4 `where` is a list of (place, bytes): an entry fits when its data has those bytes at those places.
  LO5 A claim looks at the first five bytes of adjunct data: a byte of flags and the length that the entry's owner gives
      it. By them it leaves the entry, moves it, or deletes it; so a get decides and takes with one request.
  LO6 A list may have a secondary key, which is a part of the data. A `where` that asks for it finds entries by it; any
      other reads through the list. What is answered is the same.
  LO7 A claim offers a buffer. An entry whose data does not fit is left and told with its length (4 bytes) in place of
      its data; whoever asked may ask again with a larger one.

Called by structure and the engines.  Calls nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import msgpack

KEY_LENGTH, ADJUNCT_MAX = 16, 64
KEY_MIN, KEY_MAX = bytes(KEY_LENGTH), b"\xff" * KEY_LENGTH
LENGTH_MAX = (1 << 32) - 1
FLAGGED = 5
"""Bytes of adjunct data that a claim looks at: flags, length (LO5)."""

Where = Sequence[tuple[int, bytes]]


class Entry(NamedTuple):
    """An entry as it is read (LO1)."""

    number: int
    list: int
    key: bytes
    adjunct: bytes
    version: int
    data: bytes
    arrival: int  # its place among equal keys


LEFT, MOVED, DELETED, SHORT = range(4)
"""What a claim did with the entry it found (LO5); SHORT, the buffer was too short to read it (LO7)."""


class Claimed(NamedTuple):
    """The entry that a claim found, as it is afterwards, and what was done with it."""

    entry: Entry
    done: int


class Controls(NamedTuple):
    """READ LCONTROLS: what a list header says."""

    entries: int
    entries_max: int


class Space(NamedTuple):
    """How much of a structure is in use."""

    entries: int
    entries_total: int
    elements: int
    elements_total: int


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing to do."""

    NAME: ClassVar[str] = ""

    def packed(self) -> tuple[Any, ...]:
        """Name and arguments (LO3)."""
        return PACKED[type(self)](self)


@dataclass(frozen=True, slots=True)
class Write(Operation):
    """A new entry on a list; answers its number."""

    NAME: ClassVar[str] = "write"
    list: int
    key: bytes
    data: bytes
    adjunct: bytes = b""


@dataclass(frozen=True, slots=True)
class Rewrite(Operation):
    """Other data or adjunct data for an entry, if it still has `version`; answers the new version."""

    NAME: ClassVar[str] = "rewrite"
    number: int
    data: bytes | None = None
    adjunct: bytes | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Read(Operation):
    """The entry of a number; None when there is none."""

    NAME: ClassVar[str] = "read"
    number: int


@dataclass(frozen=True, slots=True)
class First(Operation):
    """The first entry in a range of keys that fits (LO4); None when there is none."""

    NAME: ClassVar[str] = "first"
    list: int
    low: bytes = KEY_MIN
    high: bytes = KEY_MAX
    where: Where = ()


@dataclass(frozen=True, slots=True)
class ReadList(Operation):
    """Entries in a range of keys that fit (LO4), at most `most`, behind the one that has `low` and `arrival`."""

    NAME: ClassVar[str] = "list"
    list: int
    low: bytes = KEY_MIN
    high: bytes = KEY_MAX
    most: int = 100
    arrival: int = 0  # with `low` the place of the entry that was read last
    where: Where = ()


@dataclass(frozen=True, slots=True)
class Move(Operation):
    """An entry from a list to another, under its key or a new one. It must be where it is said to be."""

    NAME: ClassVar[str] = "move"
    number: int
    source: int
    target: int
    key: bytes | None = None
    adjunct: bytes | None = None


@dataclass(frozen=True, slots=True)
class Take(Operation):
    """The first entry in a range of keys, moved to another list; None when there is none."""

    NAME: ClassVar[str] = "take"
    list: int
    low: bytes
    high: bytes
    target: int
    key: bytes | None = None
    adjunct: bytes | None = None


@dataclass(frozen=True, slots=True)
class Claim(Operation):
    """The first entry in a range of keys that fits, taken if its adjunct data allows it (LO5); None when there is none.

    Left where it is, without being read, when its data is longer than `buffer` (LO7).

    Left where it is when it has a flag of `leave` or is longer than `most`; else moved to `target` under its key, with
    `mark` over the end of its adjunct data, when it has a flag of `keep`; else deleted.
    """

    NAME: ClassVar[str] = "claim"
    list: int
    low: bytes
    high: bytes
    target: int
    mark: bytes = b""
    keep: int = 0xFF
    leave: int = 0
    most: int = LENGTH_MAX
    where: Where = ()
    buffer: int = LENGTH_MAX


@dataclass(frozen=True, slots=True)
class Delete(Operation):
    """An entry, which must be on the list named."""

    NAME: ClassVar[str] = "delete"
    number: int
    list: int


@dataclass(frozen=True, slots=True)
class Count(Operation):
    """How many entries of a list are in a range of keys."""

    NAME: ClassVar[str] = "count"
    list: int
    low: bytes = KEY_MIN
    high: bytes = KEY_MAX


@dataclass(frozen=True, slots=True)
class ReadControls(Operation):
    """READ LCONTROLS; answers entries and their maximum."""

    NAME: ClassVar[str] = "controls"
    list: int


@dataclass(frozen=True, slots=True)
class Limit(Operation):
    """How many entries may be written to a list; 0 is no limit of its own. What moves comes and goes freely."""

    NAME: ClassVar[str] = "limit"
    list: int
    entries_max: int


@dataclass(frozen=True, slots=True)
class Index(Operation):
    """The secondary key of a list: so many bytes of data at a place; a length of 0 is none (LO6)."""

    NAME: ClassVar[str] = "index"
    list: int
    at: int
    length: int


@dataclass(frozen=True, slots=True)
class Lock(Operation):
    """Take a lock; answers the holder, which is somebody else when it was not free."""

    NAME: ClassVar[str] = "lock"
    lock: int
    holder: str


@dataclass(frozen=True, slots=True)
class Unlock(Operation):
    """Give a lock back; whoever does not hold it changes nothing."""

    NAME: ClassVar[str] = "unlock"
    lock: int
    holder: str


@dataclass(frozen=True, slots=True)
class Holding(Operation):
    """Refuse the request unless a lock is held."""

    NAME: ClassVar[str] = "holding"
    lock: int
    holder: str


@dataclass(frozen=True, slots=True)
class Watch(Operation):
    """Tell a connector when a range of keys that was empty has an entry; answers whether it has one now.

    With `each` it is told of every entry that comes, also when there are others.
    """

    NAME: ClassVar[str] = "watch"
    connector: str
    token: int
    list: int
    low: bytes = KEY_MIN
    high: bytes = KEY_MAX
    each: bool = False


@dataclass(frozen=True, slots=True)
class Unwatch(Operation):
    """Tell it no more."""

    NAME: ClassVar[str] = "unwatch"
    connector: str
    token: int


@dataclass(frozen=True, slots=True)
class ReadSpace(Operation):
    """Entries and elements, in use and in all."""

    NAME: ClassVar[str] = "space"


@dataclass(frozen=True, slots=True)
class Alter(Operation):
    """Other totals: a structure grows, shrinks as far as it is empty, or changes its ratio."""

    NAME: ClassVar[str] = "alter"
    entries: int
    elements: int


OPERATIONS: dict[str, type[Operation]] = {kind.NAME: kind for kind in Operation.__subclasses__()}


def _packing(kind: type[Operation]) -> Callable[[Operation], tuple[Any, ...]]:
    """How operations of a kind are written."""
    fields: tuple[str, ...] = kind.__slots__
    return attrgetter("NAME", *fields) if fields else lambda operation: (operation.NAME,)


PACKED = {kind: _packing(kind) for kind in OPERATIONS.values()}
"""How an operation is written, by its kind (LO3)."""


def packed(operations: tuple[Operation, ...]) -> bytes:
    """A request as it is sent (LO3)."""
    made: bytes = msgpack.packb([operation.packed() for operation in operations], use_bin_type=False)
    return made


def _entry(raw: Any) -> Entry | None:
    return None if raw is None else Entry._make(raw)


def _claimed(raw: Any) -> Claimed | None:
    return None if raw is None else Claimed(Entry._make(raw[:-1]), raw[-1])


_ANSWERS: dict[type[Operation], Any] = {
    Read: _entry,
    First: _entry,
    Take: _entry,
    Claim: _claimed,
    ReadList: lambda raw: tuple(map(Entry._make, raw)),
    ReadControls: Controls._make,
    ReadSpace: Space._make,
}


def answer(operation: Operation, raw: Any) -> Any:
    """What an operation answers, from what came back."""
    made = _ANSWERS.get(type(operation))
    return raw if made is None else made(raw)


def answers(operations: tuple[Operation, ...], raw: list[Any]) -> tuple[Any, ...]:
    """What the operations of a request answer."""
    if len(operations) == 1:
        return (answer(operations[0], raw[0]),)
    return tuple(map(answer, operations, raw))
