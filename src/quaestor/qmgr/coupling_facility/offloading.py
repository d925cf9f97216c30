"""Offloading: a connection to a structure that keeps long messages in shared message data sets.

Everybody above sees whole entries. Writes that the rules send away leave their head and their place in the structure;
answers bring the data back from whoever's data set it is in.

Rules
  CO1 What leaves is decided before the write, by the rules of the structure and what is in use then. The data is in the
      data set, forced if the message is persistent, before the entry is written; a refused write frees it. What only
      the rules send away stays in the structure when the data set cannot be used or is full; what is too long for
      an entry is refused then.
  CO2 An entry that has left carries the flag OFFLOADED; its data in the structure is the head of the message, by which
      it can be searched, and the place.
  CO3 Space is freed by its owner alone. Deleting an entry of one's own frees it at once; one whose data is a peer's
      leaves word in the same request, on a list that the owner reads in the background. So whoever dies with a get
      leaves the message or the word.
  CO4 The space map is rebuilt when the member connects, from every entry in the structure. Words left before that are
      thrown away: what they tell is known by then. Own data that was not forced before the power went belongs to
      messages that are not persistent: they are deleted.
  CO5 Data is read before its message is taken: a claim leaves what has left the structure, so a data set that cannot be
      used loses nothing. Another member may get the message meanwhile and its space be used again: then the structure
      is asked again. Data that is not as it was written while its entry is still there is damaged: 2561.
  CO6 Whoever only ends what others began asks for heads: the entries as they are in the structure, without their data.

Called by the coupling facility manager, in place of the bare connection.  Calls list structures, data sets, offload.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any

from quaestor.mqi.reasons import MQError
from quaestor.qmgr.coupling_facility.keys import HEAD_LENGTH, MEMBERS_MAX, PERSISTENT, freed_list
from quaestor.storage.lists.operations import (
    FLAGGED,
    KEY_MIN,
    Claim,
    Claimed,
    Count,
    Delete,
    Entry,
    First,
    Operation,
    Read,
    ReadList,
    ReadSpace,
    Space,
    Write,
)
from quaestor.storage.lists.structure import ListStructure, StructureRefusal
from quaestor.storage.message_data_set import DataGoneError, DataSetFullError, MessageDataSet, Place
from quaestor.storage.offload import Offload

OFFLOADED = 4
"""The flag of an entry whose data is in a data set (CO2)."""

SEEN_MAX = 100_000
PIECE = 100
READING = (Read, ReadList, First)
"""Operations that can be asked again."""


@dataclass(frozen=True, slots=True)
class OffloadMedia:
    """Where the data of a structure's long messages is, and what can be used of it."""

    own: MessageDataSet
    check: Callable[[int], None]
    """Raises MQError 2561 when the data set of a member cannot be used."""

    failed: Callable[[int, str], MQError]
    """The data set of a member could not be used: what whoever wanted it is told."""

    read_peer: Callable[[Place], bytes]

    def read(self, place: Place) -> bytes:
        """Data of a message. Raises MQError 2561, DataGoneError."""
        self.check(place.member)
        try:
            return self.own.read(place) if place.member == self.own.member else self.read_peer(place)
        except OSError as error:
            raise self.failed(place.member, str(error)) from error

    def write(self, data: bytes, *, persistent: bool) -> Place:
        """Data of a message, in this member's own data set. Raises MQError 2561, DataSetFullError."""
        self.check(self.own.member)
        try:
            return self.own.write(data, persistent=persistent)
        except OSError as error:
            raise self.failed(self.own.member, str(error)) from error


class OffloadingConnection:
    """A connection whose long entries are in data sets (CO1-CO6)."""

    def __init__(self, connection: ListStructure, media: OffloadMedia, rules: Offload, lists: int) -> None:
        self._connection, self._media, self.own, self.rules = connection, media, media.own, rules
        self.shape, self.connector = connection.shape, connection.connector
        self.connectors, self.forget, self.fence = connection.connectors, connection.forget, connection.fence
        self.ended = False
        self._lock = RLock()
        self._seen: OrderedDict[int, Place] = OrderedDict()
        self._lists = lists
        (self._space,) = connection.request(ReadSpace())
        self._rebuild()

    def disconnect(self) -> None:
        self._end()
        self._connection.disconnect()

    def fail(self) -> None:
        self._end()
        self._connection.fail()

    def _end(self) -> None:
        if not self.ended:
            self.ended = True
            self.own.close()

    @property
    def used(self) -> tuple[int, int]:
        return self._connection.used

    # -- requests

    def request(self, *operations: Operation) -> tuple[Any, ...]:
        with self._lock:
            while True:
                try:
                    return tuple(map(self._whole, self._requested(operations)))
                except DataGoneError:
                    if not all(isinstance(each, READING) for each in operations):
                        raise
                    # CO5: the message was got meanwhile; what is there now is read

    def heads(self, *operations: Operation) -> tuple[Any, ...]:
        """A request whose answers are without the data of what has left (CO6)."""
        with self._lock:
            answers = self._requested(operations)
            for answer in answers:
                for entry in _entries(answer):
                    self._see(entry.number, place_of(entry))
            return answers

    def _requested(self, operations: tuple[Operation, ...]) -> tuple[Any, ...]:
        written: dict[int, Place] = {}
        sent = [self._sent(at, operation, written) for at, operation in enumerate(operations)]
        words = list(self._words(operations))
        try:
            answers = self._connection.request(*sent, *words)
        except StructureRefusal:
            for place in written.values():
                self.own.free(place)  # CO1
            raise
        answers = answers[: len(operations)]
        for at, place in written.items():
            self._see(answers[at], place)
        self._deleted(operations)
        return answers

    def _sent(self, at: int, operation: Operation, written: dict[int, Place]) -> Operation:
        """An operation as the structure gets it: a write whose data leaves is shorter (CO1, CO2)."""
        if isinstance(operation, Claim):
            return replace(operation, leave=operation.leave | OFFLOADED)  # CO5
        if not isinstance(operation, Write) or len(operation.adjunct) < FLAGGED:
            return operation
        data, adjunct = operation.data, operation.adjunct
        flags = adjunct[0] & ~OFFLOADED
        place = self._left_for(data, int.from_bytes(adjunct[1:FLAGGED], "big"), persistent=bool(flags & PERSISTENT))
        if place is not None:
            written[at] = place
            flags, data = flags | OFFLOADED, data[:HEAD_LENGTH] + place.pack()
        return replace(operation, data=data, adjunct=bytes([flags]) + adjunct[1:])

    def _left_for(self, data: bytes, length: int, *, persistent: bool) -> Place | None:
        """Where the data has gone; None when it stays (CO1)."""
        too_long = self.shape.elements_of(data) > self.shape.elements_max
        if len(data) <= HEAD_LENGTH or not (too_long or self.rules.wanted(length, self._full(), len(data) - length)):
            return None
        try:
            return self._media.write(data[HEAD_LENGTH:], persistent=persistent)
        except (MQError, DataSetFullError):
            if too_long:
                raise
            return None

    def _full(self) -> Space:
        entries, elements = self._connection.used
        return Space(entries, self._space.entries_total, elements, self._space.elements_total)

    # -- answers

    def _whole(self, answer: Any) -> Any:
        """An answer with the data of what has left."""
        if isinstance(answer, Entry):
            return self._entry(answer)
        if isinstance(answer, tuple) and answer and isinstance(answer[0], Entry) and not isinstance(answer, Claimed):
            return tuple(map(self._entry, answer))
        return answer

    def _entry(self, entry: Entry) -> Entry:
        """An entry with its data. DataGoneError when the entry is gone too, MQError 2561 when it is not (CO5)."""
        if not has_left(entry):
            return entry
        place = place_of(entry)
        self._see(entry.number, place)
        try:
            body = self._media.read(place)
        except DataGoneError as error:
            (now,) = self._connection.request(Read(entry.number))
            if now is None or now.data != entry.data:
                raise
            raise self._media.failed(place.member, str(error)) from error
        return entry._replace(data=entry.data[:HEAD_LENGTH] + body)

    # -- freeing, rule CO3

    def _see(self, number: int, place: Place) -> None:
        self._seen[number] = place
        self._seen.move_to_end(number)
        if len(self._seen) > SEEN_MAX:
            self._seen.popitem(last=False)

    def _words(self, operations: tuple[Operation, ...]) -> Iterator[Write]:
        """Words to the owners of what the request deletes."""
        for operation in operations:
            place = self._seen.get(operation.number) if isinstance(operation, Delete) else None
            if place is not None and place.member != self.own.member:
                yield _word(place)

    def _deleted(self, operations: tuple[Operation, ...]) -> None:
        for operation in operations:
            if isinstance(operation, Delete):
                place = self._seen.pop(operation.number, None)
                if place is not None and place.member == self.own.member and self.own.holds(place):
                    self.own.free(place)

    def reclaim(self) -> bool:
        """Free what peers have deleted, and see how large the structure is now; whether there is more."""
        with self._lock:
            return self._reclaimed()

    def _reclaimed(self) -> bool:
        mine = freed_list(self.own.member)
        words, self._space = self._connection.request(ReadList(mine, most=PIECE), ReadSpace())
        if not words:
            return False
        self._connection.request(*(Delete(word.number, mine) for word in words))
        for word in words:
            place = Place.unpack(word.data)
            if self.own.holds(place):
                self.own.free(place)
        return len(words) == PIECE

    # -- connecting, rule CO4

    def _rebuild(self) -> None:
        mine = freed_list(self.own.member)
        while words := self._connection.request(ReadList(mine, most=PIECE))[0]:
            self._connection.request(*(Delete(word.number, mine) for word in words))
        freed = range(freed_list(1), freed_list(MEMBERS_MAX) + 1)
        numbers = [number for number in range(self._lists) if number not in freed]
        counts = self._connection.request(*(Count(number) for number in numbers))
        used = [number for number, count in zip(numbers, counts, strict=True) if count]
        own = [entry for number in used for entry in self._left(number) if place_of(entry).member == self.own.member]
        self.own.rebuild(place_of(entry) for entry in own)
        for entry in own:
            self._see(entry.number, place_of(entry))
            if not entry.adjunct[0] & PERSISTENT and self._was_not_forced(place_of(entry)):
                self.request(Delete(entry.number, entry.list))

    def _was_not_forced(self, place: Place) -> bool:
        """Whether own data is not as it was written; what cannot be looked at now may be (CO4)."""
        try:
            self._media.read(place)
        except DataGoneError:
            return True
        except MQError:
            return False
        return False

    def _left(self, number: int) -> Iterator[Entry]:
        """Entries of a list whose data is in a data set."""
        low, behind = KEY_MIN, 0
        while True:
            (entries,) = self._connection.request(ReadList(number, low, most=PIECE, arrival=behind))
            yield from filter(has_left, entries)
            if len(entries) < PIECE:
                return
            low, behind = entries[-1].key, entries[-1].arrival


def has_left(entry: Entry) -> bool:
    """Whether the data of an entry is in a data set (CO2)."""
    return len(entry.adjunct) >= FLAGGED and bool(entry.adjunct[0] & OFFLOADED)


def _entries(answer: Any) -> Iterator[Entry]:
    """Entries of an answer whose data is in a data set."""
    found = answer if isinstance(answer, tuple) and not isinstance(answer, Entry) else (answer,)
    yield from (entry for entry in found if isinstance(entry, Entry) and has_left(entry))


def place_of(entry: Entry) -> Place:
    """Where the data of an entry that has left is."""
    return Place.unpack(entry.data[HEAD_LENGTH:])


def _word(place: Place) -> Write:
    return Write(freed_list(place.member), KEY_MIN, place.pack())
