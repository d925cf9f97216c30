"""Offloading: a connection to a structure that keeps long messages in shared message data sets or in the repository.

Everybody above sees whole entries. Writes that the rules send away leave their head and their place in the structure;
answers bring the data back from whoever's data set it is in, or from the repository.

Rules
  CO1 What leaves is decided before the write, by the rules of the structure and what is in use then, and goes where the
      structure's definition says now. The data is there, forced if the message is persistent, before the entry is
      written; a refused write frees it. What only the rules send away stays in the structure when it cannot go or
      there is no room; what is too long for an entry is refused then.
  CO2 An entry that has left carries the flag OFFLOADED; its data in the structure is the head of the message, by which
      it can be searched, and the place.
  CO3 Space of data sets is freed by its owner alone. Deleting an entry of one's own frees it at once; one whose data is
      a peer's leaves word in the same request, on a list that the owner reads in the background. So whoever dies with
      a get leaves the message or the word. Bodies in the repository: BO2.
  CO4 The space map is rebuilt when the member connects, from every entry in the structure. Words left before that are
      thrown away: what they tell is known by then. Own data that was not forced before the power went belongs to
      messages that are not persistent: they are deleted.
  CO5 Data is read before its message is taken: a claim leaves what has left the structure, so a data set that cannot be
      used loses nothing. Another member may get the message meanwhile and its space be used again: then the structure
      is asked again. Data that is not as it was written while its entry is still there is damaged: 2561.
  CO6 Whoever only ends what others began asks for heads: the entries as they are in the structure, without their data.
  CO7 Each place says what it is, so data of either kind is read and freed whatever the definition says now.

Called by the coupling facility manager, in place of the bare connection.  Calls list structures, data sets, bodies.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.bodies import Bodies, BodyPlace, in_repository, word_of
from quaestor.qmgr.coupling_facility.keys import HEAD_LENGTH, MEMBERS_MAX, OFFLOADED, PERSISTENT, freed_list
from quaestor.storage.lists.operations import (
    FLAGGED,
    KEY_MIN,
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
    """A connection whose long entries are in data sets or in the repository (CO1-CO7)."""

    def __init__(self, connection: ListStructure, bodies: Bodies, rules: Offload, lists: int) -> None:
        self._connection, self.bodies, self.rules = connection, bodies, rules
        self._media: OffloadMedia | None = None
        self.to_data_set = False
        """Whether data goes to the data set from now on, or to the repository (CO1)."""

        self.when_data_sets_are_met: Callable[[], None] = _nothing
        """Makes `use_data_sets` be called: a peer has noticed earlier that there are any."""

        self.shape, self.connector = connection.shape, connection.connector
        self.connectors, self.forget, self.fence = connection.connectors, connection.forget, connection.fence
        self.ended = False
        self._lock = RLock()
        self._seen: OrderedDict[int, Place | BodyPlace] = OrderedDict()
        self._lists = lists
        (self._space,) = connection.request(ReadSpace())

    @property
    def own(self) -> MessageDataSet | None:
        """This member's own data set, where it has one."""
        return None if self._media is None else self._media.own

    def use_data_sets(self, media: OffloadMedia) -> None:
        """Data can be in data sets from now on; what is in this member's own is learned (CO4)."""
        with self._lock:
            self._media = media
            self._rebuild(media)

    def disconnect(self) -> None:
        self._end()
        self._connection.disconnect()

    def fail(self) -> None:
        self._end()
        self._connection.fail()

    def _end(self) -> None:
        if not self.ended:
            self.ended = True
            if self.own is not None:
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
        written: dict[int, Place | BodyPlace] = {}
        try:
            sent = [self._sent(at, operation, written) for at, operation in enumerate(operations)]
            answers = self._connection.request(*sent, *self._words(operations))
        except (StructureRefusal, MQError, DataSetFullError):
            for place in written.values():
                self._free(place)  # CO1
            raise
        answers = answers[: len(operations)]
        for at, place in written.items():
            self._see(answers[at], place)
        self._deleted(operations)
        return answers

    def _sent(self, at: int, operation: Operation, written: dict[int, Place | BodyPlace]) -> Operation:
        """An operation as the structure gets it: a write whose data leaves is shorter (CO1, CO2)."""
        if not isinstance(operation, Write) or len(operation.adjunct) < FLAGGED:
            return operation
        data, adjunct = operation.data, operation.adjunct
        flags = adjunct[0] & ~OFFLOADED
        place = self._left_for(data, int.from_bytes(adjunct[1:FLAGGED], "big"), persistent=bool(flags & PERSISTENT))
        if place is not None:
            written[at] = place
            flags, data = flags | OFFLOADED, data[:HEAD_LENGTH] + place.pack()
        return replace(operation, data=data, adjunct=bytes([flags]) + adjunct[1:])

    def _left_for(self, data: bytes, length: int, *, persistent: bool) -> Place | BodyPlace | None:
        """Where the data has gone; None when it stays (CO1)."""
        too_long = self.shape.elements_of(data) > self.shape.elements_max
        if len(data) <= HEAD_LENGTH or not (too_long or self.rules.wanted(length, self._full(), len(data) - length)):
            return None
        body = data[HEAD_LENGTH:]
        try:
            if self._media is not None and self.to_data_set:
                return self._media.write(body, persistent=persistent)
            return self.bodies.write(body)
        except (MQError, DataSetFullError):
            if too_long:
                raise
            return None

    def _free(self, place: Place | BodyPlace) -> None:
        """Data that no entry names (any more)."""
        if isinstance(place, BodyPlace):
            self.bodies.remove([place.body])
        elif self.own is not None and place.member == self.own.member and self.own.holds(place):
            self.own.free(place)

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
            body = self._read(place)
        except DataGoneError as error:
            (now,) = self._connection.request(Read(entry.number))
            if now is None or now.data != entry.data:
                raise
            raise self._damaged(place, str(error)) from error
        return entry._replace(data=entry.data[:HEAD_LENGTH] + body)

    def _read(self, place: Place | BodyPlace) -> bytes:
        """CO7. Raises MQError 2342, 2561, DataGoneError."""
        if isinstance(place, BodyPlace):
            return self.bodies.read(place)
        return self._data_sets().read(place)

    def _damaged(self, place: Place | BodyPlace, why: str) -> MQError:
        if isinstance(place, BodyPlace):
            return self.bodies.damaged(place, why)
        return self._data_sets().failed(place.member, why)

    def _data_sets(self) -> OffloadMedia:
        if self._media is None:
            self.when_data_sets_are_met()
        if self._media is None:
            why = "it is in a data set, and this member has none"
            raise MQError(Reason.DATA_SET_NOT_AVAILABLE, structure=self.bodies.structure, why=why)
        return self._media

    # -- freeing, rules CO3 and BO2

    def _see(self, number: int, place: Place | BodyPlace) -> None:
        self._seen[number] = place
        self._seen.move_to_end(number)
        if len(self._seen) > SEEN_MAX:
            self._seen.popitem(last=False)

    def _words(self, operations: tuple[Operation, ...]) -> Iterator[Write]:
        """Words to the owners of what the request deletes; of bodies, to this member itself."""
        for operation in operations:
            place = self._seen.get(operation.number) if isinstance(operation, Delete) else None
            if isinstance(place, BodyPlace):
                yield word_of(place, self.bodies.member)
            elif place is not None and place.member != self.bodies.member:
                yield _word(place)

    def _deleted(self, operations: tuple[Operation, ...]) -> None:
        for operation in operations:
            if isinstance(operation, Delete):
                place = self._seen.pop(operation.number, None)
                if isinstance(place, BodyPlace):
                    self.bodies.words_left = True
                elif place is not None:
                    self._free(place)

    def reclaim(self) -> bool:
        """Free what peers have deleted, and see how large the structure is now; whether there is more."""
        with self._lock:
            return self._reclaimed()

    def _reclaimed(self) -> bool:
        mine = freed_list(self.bodies.member)
        words, self._space = self._connection.request(self._words_to_me(), ReadSpace())
        if not words or self.own is None:
            return False
        self._connection.request(*(Delete(word.number, mine) for word in words))
        for word in words:
            self._free(Place.unpack(word.data))
        return len(words) == PIECE

    def _words_to_me(self) -> ReadList:
        """Words about this member's data set, which stand among those about bodies."""
        member = self.bodies.member
        return ReadList(freed_list(member), most=PIECE, where=((0, bytes([member])),))

    def care(self) -> bool:
        """Remove bodies that this member has deleted or left (BO2, BO3); whether there is more."""
        more = self.bodies.words_left and self.bodies.follow_own_words(self._connection)
        if self.bodies.look_now():
            with self._lock:
                self.bodies.look(self._connection)
        return more

    def look_after(self, members: Mapping[int, str]) -> None:
        """Remove bodies that members have left which are not connected (BO4)."""
        self.bodies.look_after(self._connection, members)

    # -- connecting, rule CO4

    def _rebuild(self, media: OffloadMedia) -> None:
        mine = freed_list(self.bodies.member)
        while words := self._connection.request(self._words_to_me())[0]:
            self._connection.request(*(Delete(word.number, mine) for word in words))
        freed = range(freed_list(1), freed_list(MEMBERS_MAX) + 1)
        numbers = [number for number in range(self._lists) if number not in freed]
        counts = self._connection.request(*(Count(number) for number in numbers))
        used = [number for number, count in zip(numbers, counts, strict=True) if count]
        left = [(entry, place_of(entry)) for number in used for entry in self._left(number)]
        own = [(entry, place) for entry, place in left if isinstance(place, Place) and place.member == media.own.member]
        media.own.rebuild(place for _, place in own)
        for entry, place in own:
            self._see(entry.number, place)
            if not entry.adjunct[0] & PERSISTENT and _was_not_forced(media, place):
                self.request(Delete(entry.number, entry.list))

    def _left(self, number: int) -> Iterator[Entry]:
        """Entries of a list whose data is elsewhere."""
        low, behind = KEY_MIN, 0
        while True:
            (entries,) = self._connection.request(ReadList(number, low, most=PIECE, arrival=behind))
            yield from filter(has_left, entries)
            if len(entries) < PIECE:
                return
            low, behind = entries[-1].key, entries[-1].arrival


def _nothing() -> None:
    """Nobody knows of data sets."""


def _was_not_forced(media: OffloadMedia, place: Place) -> bool:
    """Whether own data is not as it was written; what cannot be looked at now may be (CO4)."""
    try:
        media.read(place)
    except DataGoneError:
        return True
    except MQError:
        return False
    return False


def has_left(entry: Entry) -> bool:
    """Whether the data of an entry is elsewhere (CO2)."""
    return len(entry.adjunct) >= FLAGGED and bool(entry.adjunct[0] & OFFLOADED)


def _entries(answer: Any) -> Iterator[Entry]:
    """Entries of an answer whose data is elsewhere."""
    found = answer if isinstance(answer, tuple) and not isinstance(answer, Entry) else (answer,)
    yield from (entry for entry in found if isinstance(entry, Entry) and has_left(entry))


def place_of(entry: Entry) -> Place | BodyPlace:
    """Where the data of an entry that has left is (CO7)."""
    where = entry.data[HEAD_LENGTH:]
    return BodyPlace.unpack(where) if in_repository(entry) else Place.unpack(where)


def in_data_set_of(entry: Entry, member: int) -> bool:
    """Whether the data of an entry is in the data set of a member."""
    return has_left(entry) and not in_repository(entry) and entry.data[HEAD_LENGTH] == member


def _word(place: Place) -> Write:
    return Write(freed_list(place.member), KEY_MIN, place.pack())
