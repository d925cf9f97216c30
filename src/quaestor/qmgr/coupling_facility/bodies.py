"""Bodies: long messages of a structure whose data is in the shared repository (OFFLOAD(DB2), CFLEVEL(4)).

Rules
  BO1 The body is committed in the repository before the entry that names it is written, and the entry is deleted before
      the body. So an entry never names what is not there; all that can be left over is a body that nothing names.
  BO2 Whoever deletes an entry leaves word of its body in the same request, on its own list, and removes body and word
      later, in the background. So whoever dies with a get leaves the entry or the word.
  BO3 A body without word that no entry names is one whose put was cut short, or whose structure has lost what was in
      it. Its writer finds it: it lists its bodies, then reads with one request what entries name, and removes the
      rest; while it looks it writes nothing. It looks when it has connected, when the structure is another than
      before, when something was not answered, and every ten minutes.
  BO4 What a member that is not connected has left, bodies and words, is removed by any other. It ends the member's life
      in the repository, on condition that no other has begun since it was seen to be away (LB2): what it lists then
      is all there is, and no entry will name what none names now.
  BO5 While the repository is away, what is too long for an entry is refused and bodies are not read: 2342. Nothing is
      lost by that.

Called by offloading and data_sets.  Calls large objects of the shared repository, the structure it is given.
"""

import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple
from zlib import crc32

from quaestor.clock import Clock
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.keys import (
    HEAD_LENGTH,
    MEMBERS_MAX,
    OFFLOADED,
    QUEUES_MAX,
    freed_list,
    got_list,
)
from quaestor.storage.lists.operations import FLAGGED, KEY_MIN, Delete, Entry, ReadList, Write
from quaestor.storage.lists.structure import ListStructure, StructureRefusal
from quaestor.storage.message_data_set import DataGoneError
from quaestor.storage.shared_tables import Body, ChangedError, LargeObjects, RepositoryAwayError

NAMED = b"\0DB2"
"""What the name of a body begins with; that of a place in a data set begins with a member's number."""

EVERYTHING, PIECE = 1 << 20, 100
LOOK_S = 600
"""How often a member looks for what nothing names, without a reason (BO3)."""

_PLACE = struct.Struct(">4sBQQII")


class BodyPlace(NamedTuple):
    """Where the data of a message is: the name of its body, its length, its check."""

    body: Body
    length: int
    check: int

    def pack(self) -> bytes:
        return _PLACE.pack(NAMED, *self.body, self.length, self.check)

    @staticmethod
    def unpack(data: bytes) -> "BodyPlace":
        _, member, life, serial, length, check = _PLACE.unpack_from(data)
        return BodyPlace(Body(member, life, serial), length, check)


def in_repository(entry: Entry) -> bool:
    """Whether the data of an entry is in the shared repository."""
    left = len(entry.adjunct) >= FLAGGED and entry.adjunct[0] & OFFLOADED
    return bool(left) and entry.data.startswith(NAMED, HEAD_LENGTH)


def word_of(place: BodyPlace, member: int) -> Write:
    """What a member notes that deletes an entry (BO2)."""
    return Write(freed_list(member), KEY_MIN, place.pack())


def named_in(connection: ListStructure, member: int | None = None) -> set[Body]:
    """The bodies that entries name now, all or those of a member: as of one moment, wherever they move (BO3)."""
    begins = NAMED if member is None else NAMED + bytes([member])
    lists = (*range(1, QUEUES_MAX + 1), *(got_list(each) for each in range(1, MEMBERS_MAX + 1)))
    where = ((HEAD_LENGTH, begins),)
    found = connection.request(*(ReadList(number, most=EVERYTHING, where=where) for number in lists))
    entries = (entry for piece in found for entry in piece if in_repository(entry))
    return {BodyPlace.unpack(entry.data[HEAD_LENGTH:]).body for entry in entries}


class Bodies:
    """The bodies of one structure, as one member uses them (BO1-BO5)."""

    def __init__(self, structure: str, member: int, objects: LargeObjects, clock: Clock) -> None:
        self.structure, self.member = structure, member
        self._objects, self._clock = objects, clock
        self._life = self._serial = 0
        self._looked_ns = 0
        self.due = True
        """Something may be there that nothing names (BO3)."""

        self.words_left = True
        """Words of this member may be on its list (BO2)."""

    # -- one message

    def write(self, data: bytes) -> BodyPlace:
        """Keep a body; it is committed when this returns (BO1). Raises MQError 2342."""
        try:
            return BodyPlace(self._stored(data), len(data), crc32(data))
        except RepositoryAwayError as error:
            self.due = True  # it may be there (LB4)
            raise self._away(error) from error

    def _stored(self, data: bytes) -> Body:
        while True:
            self._life = self._life or self._objects.begin_life(self.structure, self.member) or 0
            self._serial += 1
            body = Body(self.member, self._life, self._serial)
            try:
                self._objects.store(self.structure, body, data)
            except ChangedError:
                self._life = 0  # somebody took this member for gone: a new life, while the structure knows it (BO4)
            else:
                return body

    def read(self, place: BodyPlace) -> bytes:
        """The data of a message. Raises MQError 2342, and DataGoneError when it is not as it was written."""
        try:
            data = self._objects.fetch(self.structure, place.body)
        except RepositoryAwayError as error:
            raise self._away(error) from error
        if data is None or (len(data), crc32(data)) != (place.length, place.check):
            raise DataGoneError(f"{self.structure}: the body {tuple(place.body)} is not there any more")
        return data

    def remove(self, bodies: Iterable[Body]) -> bool:
        """Bodies are needed no more; whether they are gone, else they are found later (BO3)."""
        try:
            self._objects.remove(self.structure, bodies)
        except RepositoryAwayError:
            self.due = True
            return False
        return True

    def damaged(self, place: BodyPlace, why: str) -> MQError:
        """What whoever wants a message is told whose body is not there although its entry is."""
        return MQError(Reason.CF_STRUC_ERROR, structure=self.structure, body=tuple(place.body), why=why)

    def _away(self, error: RepositoryAwayError) -> MQError:
        return MQError(Reason.DB2_NOT_AVAILABLE, structure=self.structure, why=str(error))

    # -- what is left over

    def follow_own_words(self, connection: ListStructure) -> bool:
        """Remove what this member has deleted (BO2); whether there may be more."""
        self.words_left = False  # before they are read: one that comes now is for the next time
        self.words_left = self._follow_words(connection, self.member) or self.words_left
        return self.words_left and not self.due

    def _follow_words(self, connection: ListStructure, member: int) -> bool:
        """Remove what a member's words name, and the words; whether there may be more."""
        mine = freed_list(member)
        (words,) = connection.request(ReadList(mine, most=PIECE, where=((0, NAMED),)))
        if words and self.remove([BodyPlace.unpack(word.data).body for word in words]):
            with suppress(StructureRefusal):  # another has been at it (BO4): what is left is read again
                connection.request(*(Delete(word.number, mine) for word in words))
        return bool(words)

    def look_now(self) -> bool:
        """Whether it is time to look for what nothing names (BO3)."""
        return self.due or self._clock.monotonic_ns() - self._looked_ns >= LOOK_S * 1_000_000_000

    def look(self, connection: ListStructure) -> None:
        """Remove own bodies that nothing names (BO3). Nothing is written meanwhile: whoever calls this sees to it."""
        self.due, self._looked_ns = False, self._clock.monotonic_ns()
        try:
            there = self._objects.bodies(self.structure, self.member)
        except RepositoryAwayError:
            self.due = True
            return
        if there:
            self._remove_strays(there, connection, self.member)

    def _remove_strays(self, there: Iterable[Body], connection: ListStructure, member: int) -> None:
        # words name bodies too: whoever follows them finds nothing, which is no error (LB4)
        strays = set(there) - named_in(connection, member)
        if strays:
            self.remove(sorted(strays))

    def look_after(self, connection: ListStructure, members: Mapping[int, str]) -> None:
        """Remove what members have left that are not connected (BO4)."""
        try:
            writers = {body.member for body in self._objects.bodies(self.structure)} - {self.member}
            lives = {each: self._objects.life(self.structure, each) for each in writers}
            connected = connection.connectors()  # after their lives were read: whoever connects now begins another
            for number, life in lives.items():
                if number in members and members[number] not in connected:  # one that is not known has just come
                    self._bury(connection, number, life)
        except RepositoryAwayError:
            return  # the next time
        for number, name in members.items():
            if number != self.member and name not in connected:
                self._follow_words(connection, number)

    def _bury(self, connection: ListStructure, member: int, life: int) -> None:
        if self._objects.begin_life(self.structure, member, after=life) is None:
            return  # it is back, or another looks after it
        there = [body for body in self._objects.bodies(self.structure, member) if body.life <= life]
        self._remove_strays(there, connection, member)
