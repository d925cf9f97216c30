"""Offloading: a connection to a structure that keeps long messages in shared message data sets.

Everybody above sees whole entries. Writes that the rules send away leave their head and their place in the structure;
answers bring the data back from whoever's data set it is in.

Rules
  CO1 What leaves is decided before the write, by the rules of the structure and what is in use then. The data is in the
      data set, forced if the message is persistent, before the entry is written; a refused write frees it.
  CO2 An entry that has left carries the flag OFFLOADED; its data in the structure is the head of the message, by which
      it can be searched, and the place.
  CO3 Space is freed by its owner alone. Deleting an entry of one's own frees it at once; one whose data is a peer's
      leaves word in the same request, on a list that the owner reads in the background.
  CO4 The space map is rebuilt when the member connects, from every entry in the structure. Words left before that are
      thrown away: what they tell is known by then. Own data that was not forced before the power went belongs to
      messages that are not persistent: they are deleted.
  CO5 An entry that was only read may be got by another member and its space used again before the data is read: it is
      not there. One that this member has taken cannot.

Called by the coupling facility manager, in place of the bare connection.  Calls list structures, data sets, offload.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import RLock
from typing import Any

from quaestor.mqi.reasons import Abend
from quaestor.qmgr.coupling_facility.keys import HEAD_LENGTH, MEMBERS_MAX, PERSISTENT, freed_list
from quaestor.storage.lists.operations import (
    DELETED,
    FLAGGED,
    KEY_MIN,
    Claimed,
    Count,
    Delete,
    Entry,
    Operation,
    ReadList,
    ReadSpace,
    Space,
    Write,
)
from quaestor.storage.lists.structure import ListStructure, StructureRefusal
from quaestor.storage.message_data_set import DataGoneError, MessageDataSet, Place
from quaestor.storage.offload import Offload

OFFLOADED = 4
"""The flag of an entry whose data is in a data set (CO2)."""

SEEN_MAX = 100_000
PIECE = 100
ReadPeer = Callable[[Place], bytes]


class OffloadingConnection:
    """A connection whose long entries are in data sets (CO1-CO5)."""

    def __init__(
        self, connection: ListStructure, own: MessageDataSet, rules: Offload, read_peer: ReadPeer, lists: int
    ) -> None:
        self._connection, self.own, self._rules, self._read_peer = connection, own, rules, read_peer
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
            return self._requested(operations)

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
        return tuple(map(self._whole, answers))

    def _sent(self, at: int, operation: Operation, written: dict[int, Place]) -> Operation:
        """An operation as the structure gets it: a write whose data leaves is shorter (CO1, CO2)."""
        if not isinstance(operation, Write) or len(operation.adjunct) < FLAGGED:
            return operation
        data, adjunct = operation.data, operation.adjunct
        flags = adjunct[0] & ~OFFLOADED
        if self._leaves(data, int.from_bytes(adjunct[1:FLAGGED], "big")):
            place = self.own.write(data[HEAD_LENGTH:], persistent=bool(flags & PERSISTENT))
            written[at] = place
            flags, data = flags | OFFLOADED, data[:HEAD_LENGTH] + place.pack()
        return replace(operation, data=data, adjunct=bytes([flags]) + adjunct[1:])

    def _leaves(self, data: bytes, length: int) -> bool:
        entries, elements = self._connection.used
        space = Space(entries, self._space.entries_total, elements, self._space.elements_total)
        too_long = self.shape.elements_of(data) > self.shape.elements_max
        return len(data) > HEAD_LENGTH and (too_long or self._rules.wanted(length, space, len(data) - length))

    # -- answers

    def _whole(self, answer: Any) -> Any:
        """An answer with the data of what has left."""
        if isinstance(answer, Entry):
            return self._entry(answer)
        if isinstance(answer, Claimed):
            entry = self._entry(answer.entry)
            if entry is None:
                raise Abend("CO5", "the data of a message that was claimed is gone", entry=answer.entry.number)
            if answer.done == DELETED:
                self._gone(answer.entry)
            return Claimed(entry, answer.done)
        if isinstance(answer, tuple) and answer and isinstance(answer[0], Entry):
            return tuple(entry for entry in map(self._entry, answer) if entry is not None)
        return answer

    def _entry(self, entry: Entry) -> Entry | None:
        """An entry with its data; None when that is not there any more (CO5)."""
        if not has_left(entry):
            return entry
        place = _place(entry)
        self._see(entry.number, place)
        try:
            body = self.own.read(place) if place.member == self.own.member else self._read_peer(place)
        except DataGoneError:
            return None
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

    def _gone(self, entry: Entry) -> None:
        """An entry that was deleted by the request that found it."""
        place = self._seen.pop(entry.number, None)
        if place is None:
            return
        if place.member == self.own.member:
            self.own.free(place)
        else:
            self._connection.request(_word(place))

    def reclaim(self) -> bool:
        """Free what peers have deleted; whether there is more. A background step."""
        with self._lock:
            return self._reclaimed()

    def _reclaimed(self) -> bool:
        mine = freed_list(self.own.member)
        (words,) = self._connection.request(ReadList(mine, most=PIECE))
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
        own = [entry for number in used for entry in self._left(number) if _place(entry).member == self.own.member]
        self.own.rebuild(_place(entry) for entry in own)
        for entry in own:
            if not entry.adjunct[0] & PERSISTENT and self._entry(entry) is None:
                self.request(Delete(entry.number, entry.list))

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


def _place(entry: Entry) -> Place:
    return Place.unpack(entry.data[HEAD_LENGTH:])


def _word(place: Place) -> Write:
    return Write(freed_list(place.member), KEY_MIN, place.pack())
