"""Descriptors: what this member says of its units in CSQ_ADMIN and in structures.

Rules
  CU5 A descriptor that has served its purpose is deleted with the next one that is written, so a commit costs one
      request to CSQ_ADMIN. One of the same unit serves until the next one is there in its place.

CU2 to CU4 and CU7 are of `units`.

Called by units, and by who brings units to their end.  Calls structures.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.habits import FEWEST, Habits
from quaestor.qmgr.coupling_facility.keys import decided_list, epoch_of
from quaestor.qmgr.coupling_facility.structures import SharedStructure
from quaestor.storage.lists.operations import KEY_LENGTH, Delete, Entry, First, Operation, ReadList, Write
from quaestor.storage.lists.structure import StructureRefusal

EVERYTHING = 1 << 20
_DESCRIPTOR = struct.Struct(">10sQQ?12s")


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What CSQ_ADMIN says of a unit: where its COMMIT record will be (0: this is the commit), its URID (CU2, CU7)."""

    unit: bytes
    rba: int
    urid: int
    in_doubt: bool = False
    structure: str = ""
    """Where a unit that logs nothing says that it has committed; empty where this is the commit (CU3)."""

    def packed(self) -> bytes:
        return _DESCRIPTOR.pack(self.unit, self.rba, self.urid, self.in_doubt, self.structure.encode())

    @property
    def key(self) -> bytes:
        return self.unit.ljust(KEY_LENGTH, b"\0")


def descriptor_in(entry: Entry) -> Descriptor:
    unit, rba, urid, in_doubt, structure = _DESCRIPTOR.unpack(entry.data)
    return Descriptor(unit, rba, urid, in_doubt, structure.rstrip(b"\0").decode())


class Described(Protocol):
    """A unit that may have a descriptor."""

    def known_by(self, number: int, descriptor: Descriptor) -> None:
        """CSQ_ADMIN has this descriptor of it."""


@dataclass(frozen=True, slots=True)
class Decided:
    """The word in a structure that a unit has committed (CU3)."""

    structure: SharedStructure
    number: int
    incarnation: bytes


class Descriptors:
    """This member's descriptors in CSQ_ADMIN, and its words in structures that units have committed (CU5)."""

    def __init__(self, admin: SharedStructure, member: int, habits: Habits = FEWEST) -> None:
        self._admin, self._member = admin, member
        self.habits = habits
        self._served: list[int] = []
        self._decided: list[Decided] = []
        self._incarnation = admin.incarnation

    def write(self, descriptor: Descriptor, before: int = 0) -> int:
        """A new descriptor; the one `before` it of its unit, and those that have served their purpose, go with it."""
        served, self._served = self._taken(), []
        gone = [*served, before] if before else served
        try:
            number: int
            number, *_ = self._admin.ask(
                Write(self._member, descriptor.key, descriptor.packed()),
                *(Delete(each, self._member) for each in gone),
                multiple=False,
            )
        except StructureRefusal as refusal:
            self._served = served if refusal.why == "FULL" else []
            raise MQError(Reason.CF_STRUC_ERROR, structure=self._admin.name, why=str(refusal)) from refusal
        return number

    @property
    def incarnation(self) -> bytes:
        """Of CSQ_ADMIN now."""
        return self._admin.incarnation

    def served(self, number: int, incarnation: bytes) -> None:
        """A descriptor has served its purpose; what another incarnation of CSQ_ADMIN had is gone with it (CS6)."""
        if incarnation == self._admin.incarnation:
            self._taken().append(number)

    def decide(self, unit: bytes, structure: SharedStructure, ending: tuple[Operation, ...]) -> Decided:
        """End a unit's work in a structure and say there that it has committed, with one request (CU3)."""
        at, key = decided_list(self._member), unit.ljust(KEY_LENGTH, b"\0")
        old = [each for each in self._decided if each.structure is structure]
        self._decided = [each for each in self._decided if each.structure is not structure]
        over = [Delete(each.number, at) for each in old if each.incarnation == structure.incarnation]
        *_, number = structure.ask(*ending, *over, Write(at, key, unit), multiple=True)
        return Decided(structure, number, structure.incarnation)

    def word_of(self, unit: bytes, structure: SharedStructure) -> Decided | None:
        """The word of a unit in a structure, where its writing was not answered (CU4)."""
        key = unit.ljust(KEY_LENGTH, b"\0")
        (word,) = structure.ask(First(decided_list(self._member), key, key))
        return None if word is None else Decided(structure, word.number, structure.incarnation)

    def needed_no_more(self, decided: Decided) -> None:
        """Every structure has ended the unit: its word goes with the next one there (CU5)."""
        self._decided.append(decided)

    def _taken(self) -> list[int]:
        """What is to be deleted; nothing of another incarnation of CSQ_ADMIN is (CS6)."""
        if self._incarnation != self._admin.incarnation:
            self._incarnation, self._served = self._admin.incarnation, []
        return self._served

    def sweep(self, kept: Mapping[bytes, Described], epoch: int) -> None:
        """After requests without an answer (CU4): the last descriptor of each unit is its own, others go.

        So do those of this epoch that no unit has.
        """
        self._served = []
        (entries,) = self._admin.ask(ReadList(self._member, most=EVERYTHING))
        own = {unit: entry for entry in entries if (unit := descriptor_in(entry).unit) in kept}
        last = {entry.number for entry in own.values()}
        units = ((entry, descriptor_in(entry).unit) for entry in entries if entry.number not in last)
        over = [entry for entry, unit in units if unit in kept or epoch_of(unit) == epoch]
        if over:
            self._admin.ask(*(Delete(entry.number, self._member) for entry in over))
        for unit, entry in own.items():
            kept[unit].known_by(entry.number, descriptor_in(entry))

    def sweep_words(self, structure: SharedStructure, kept: set[bytes], epoch: int) -> None:
        """Delete words of this epoch in a structure that no unit needs: their writing was not answered (CU4)."""
        at = decided_list(self._member)
        self._decided = [each for each in self._decided if each.structure is not structure]
        (entries,) = structure.ask(ReadList(at, most=EVERYTHING))
        over = [entry for entry in entries if epoch_of(entry.data) == epoch and entry.data not in kept]
        if over:
            structure.ask(*(Delete(entry.number, at) for entry in over))

    def clear(self) -> None:
        """Nothing waits to be deleted any more: the member stops."""
        served, self._served = self._taken(), []
        if served:
            self._admin.ask(*(Delete(each, self._member) for each in served))
        decided, self._decided = self._decided, []
        for each in decided:
            if each.incarnation == each.structure.incarnation:
                each.structure.ask(Delete(each.number, decided_list(self._member)))
