"""Units: what a unit of recovery has done in structures, and how that ends.

Rules
  CU1 Until a unit ends its puts stand under uncommitted keys and its gets on the member's own list, each marked with
      the unit. Whoever reads the structure sees whose they are; nothing about them is only in this member's memory.
  CU2 The commit point is that of the log (V2): the COMMIT record durable, one force. Before it is written the unit's
      descriptor goes to CSQ_ADMIN, with the RBA at which it will be; so whoever finds the unit unfinished knows where
      to look, and where there is no descriptor there was no commit.
  CU3 A unit that logs nothing commits with the one request that makes its puts available and deletes its gets. If it
      worked in several structures, the descriptor (RBA 0) is its commit point.
  CU4 After the commit point the rest is one request for each structure. One that cannot be reached then is tried again
      when it can; the outcome no longer depends on it. A request whose answer was lost may have been done: then its
      entries are no longer where they were, and that is the proof. Whether a descriptor whose answer was lost is the
      commit is looked up when CSQ_ADMIN can be reached again; until then nobody ends the unit.
  CU5 A descriptor that has served its purpose is deleted with the next one that is written, so a commit costs one
      request to CSQ_ADMIN.
  CU6 A backed-out get returns to its list and key with a higher backout count; a backed-out put is deleted.
  CU7 A prepared unit is in doubt in the structures too: its puts stand under keys that say so, its descriptor has its
      URID, and nobody but its coordinator ends it.
  CU8 Nothing is decided while a structure in which the unit worked cannot be used: it may have lost the work, and may
      be recovered from a log that does not have the decision yet.

Called by the shared store and recovery.  Calls structures.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.coupling_facility.keys import (
    COMMITTED,
    MARK,
    NO_MARK,
    as_committed,
    as_in_doubt,
    beside,
    epoch_of,
    got_list,
    member_of,
)
from quaestor.qmgr.coupling_facility.shared_queue import SharedArrival
from quaestor.qmgr.coupling_facility.structures import SharedStructure
from quaestor.storage.lists.operations import KEY_LENGTH, Delete, Entry, Move, Operation, Read, ReadList, Write
from quaestor.storage.lists.structure import StructureRefusal

BACKOUTS_MAX = 255
EVERYTHING = 1 << 20
_DESCRIPTOR = struct.Struct(">10sQQ?")


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What CSQ_ADMIN says of a unit: where its COMMIT record will be (0: this is the commit), its URID (CU2, CU7)."""

    unit: bytes
    rba: int
    urid: int
    in_doubt: bool = False

    def packed(self) -> bytes:
        return _DESCRIPTOR.pack(self.unit, self.rba, self.urid, self.in_doubt)

    @property
    def key(self) -> bytes:
        return self.unit.ljust(KEY_LENGTH, b"\0")


def descriptor_in(entry: Entry) -> Descriptor:
    return Descriptor(*_DESCRIPTOR.unpack(entry.data))


@dataclass(slots=True)
class Work:
    """What a unit has done in one structure: (entry, list, key) of puts, the arrivals of gets."""

    structure: SharedStructure
    puts: list[tuple[int, int, bytes]] = field(default_factory=list)
    gets: list[SharedArrival] = field(default_factory=list)
    incarnation: bytes = b""

    @property
    def gone(self) -> bool:
        """Whether the structure has lost what this work was (CS6)."""
        return self.incarnation != self.structure.incarnation


def ending_puts(puts: Iterable[tuple[int, int, bytes]], *, commit: bool) -> Iterator[Operation]:
    """The end of puts: entry, list and key (CU2, CU6)."""
    for number, at, key in puts:
        yield Move(number, at, at, as_committed(key)) if commit else Delete(number, at)


def ending_gets(gets: Iterable[Entry], member: int, *, commit: bool) -> Iterator[Operation]:
    """The end of gets: entries of a member's list; how they were held says whether a backout counts (CU6)."""
    for entry in gets:
        yield Delete(entry.number, got_list(member)) if commit else returning(entry, member)


def returning(entry: Entry, member: int, *, counted: bool = True) -> Move:
    """A got or locked entry back to the list and key it is from."""
    about = beside(entry.adjunct)
    backouts = min(about.backouts + counted, BACKOUTS_MAX)
    adjunct = about._replace(backouts=backouts).packed()[: -MARK.size] + NO_MARK
    return Move(entry.number, got_list(member), about.origin, None, adjunct)


class Descriptors:
    """This member's descriptors in CSQ_ADMIN (CU5)."""

    def __init__(self, admin: SharedStructure, member: int) -> None:
        self._admin, self._member = admin, member
        self._served: list[int] = []
        self._incarnation = admin.incarnation

    def write(self, descriptor: Descriptor) -> int:
        """A new descriptor; those that have served their purpose go with it."""
        served, self._served = self._taken(), []
        try:
            number: int
            number, *_ = self._admin.ask(
                Write(self._member, descriptor.key, descriptor.packed()),
                *(Delete(each, self._member) for each in served),
                multiple=False,
            )
        except StructureRefusal as refusal:
            self._served = served if refusal.why == "FULL" else []
            raise MQError(Reason.CF_STRUC_ERROR, structure=self._admin.name, why=str(refusal)) from refusal
        return number

    def served(self, number: int) -> None:
        self._served.append(number)

    def _taken(self) -> list[int]:
        """What is to be deleted; nothing of another incarnation of CSQ_ADMIN is (CS6)."""
        if self._incarnation != self._admin.incarnation:
            self._incarnation, self._served = self._admin.incarnation, []
        return self._served

    def there(self, unit: bytes) -> Entry | None:
        """The descriptor of a unit, if it was written."""
        key = unit.ljust(KEY_LENGTH, b"\0")
        (entries,) = self._admin.ask(ReadList(self._member, key, key))
        return next(iter(entries), None)

    def sweep(self, kept: set[bytes], epoch: int) -> None:
        """Delete descriptors of this epoch that no unit has: their writing was not answered (CU4)."""
        self._served = []
        (entries,) = self._admin.ask(ReadList(self._member, most=EVERYTHING))
        units = ((entry, descriptor_in(entry).unit) for entry in entries)
        over = [entry for entry, unit in units if epoch_of(unit) == epoch and unit not in kept]
        if over:
            self._admin.ask(*(Delete(entry.number, self._member) for entry in over))

    def clear(self) -> None:
        """Nothing waits to be deleted any more: the member stops."""
        served, self._served = self._taken(), []
        if served:
            self._admin.ask(*(Delete(each, self._member) for each in served))


class SharedUnit:
    """The part of a unit of recovery that is in structures (CU1-CU7)."""

    __slots__ = (
        "_committing",
        "_descriptor",
        "_descriptors",
        "_undecided",
        "_works",
        "get_arrivals",
        "id",
        "put_arrivals",
    )

    def __init__(self, identity: bytes, descriptors: Descriptors) -> None:
        self.id = identity
        self.put_arrivals: list[SharedArrival] = []
        self.get_arrivals: list[SharedArrival] = []
        self._descriptors = descriptors
        self._descriptor = 0
        self._works: dict[str, Work] = {}
        self._undecided = False
        self._committing: list[SharedStructure] = []

    def __len__(self) -> int:
        return len(self.put_arrivals) + len(self.get_arrivals)

    def work(self, structure: SharedStructure) -> Work:
        found = self._works.get(structure.name)
        if found is None:
            found = self._works[structure.name] = Work(structure, incarnation=structure.incarnation)
        return found

    @property
    def described(self) -> bool:
        """Whether CSQ_ADMIN has, or may have, its descriptor."""
        return bool(self._descriptor) or self._undecided

    def entries_in(self, structure: SharedStructure) -> set[int]:
        """The entries of a structure that this unit has now."""
        work = self._works.get(structure.name)
        if work is None or work.gone:
            return set()
        return {number for number, _, _ in work.puts} | {arrival.entry.number for arrival in work.gets}

    def put(self, arrival: SharedArrival, structure: SharedStructure) -> None:
        entry = arrival.entry
        self.work(structure).puts.append((entry.number, entry.list, entry.key))
        self.put_arrivals.append(arrival)

    def got(self, arrival: SharedArrival, structure: SharedStructure) -> None:
        self.work(structure).gets.append(arrival)
        self.get_arrivals.append(arrival)

    # -- the end

    def decide(self, urid: int, rba: int) -> None:
        """Before the COMMIT record is written at `rba` (CU2), or in its place (CU3). May refuse: nothing is decided."""
        if not self._works:
            return
        if any(work.gone for work in self._works.values()):
            raise MQError(Reason.CF_STRUC_FAILED, structures=sorted(self._works), why="what the unit did is lost")
        for work in self._works.values():
            if work.structure.failing is not None:
                raise MQError(work.structure.failing.value, structure=work.structure.name)  # CU8
        if urid:
            self._describe(Descriptor(self.id, rba, urid))
            self._now_committing()
        elif len(self._works) > 1:
            self._describe_commit()
        else:
            for work in self._works.values():
                self._end(work, commit=True)
            self._works.clear()

    def _describe_commit(self) -> None:
        """The descriptor that is the commit; if that was not answered, it may be there (CU3, CU4)."""
        try:
            self._describe(Descriptor(self.id, 0, 0))
        except MQError as error:
            self._undecided = bool(error.facts.get("sent"))
            raise

    def _now_committing(self) -> None:
        """From the decision to the end of the force (CS7)."""
        self._committing = [work.structure for work in self._works.values()]
        for structure in self._committing:
            structure.committing += 1

    def prepare(self, urid: int) -> None:
        """In doubt, in the structures first; the PREPARED record follows (CU7)."""
        self._describe(Descriptor(self.id, 0, urid, in_doubt=True))
        for work in self._works.values():
            moves = [Move(number, at, at, as_in_doubt(key)) for number, at, key in work.puts]
            if moves:
                work.structure.ask(*moves, multiple=True)
            work.puts = [(number, at, as_in_doubt(key)) for number, at, key in work.puts]

    def adopt(self, descriptor: int, works: Iterable[Work]) -> None:
        """Work that was found in structures when the member started, under this descriptor (CU7)."""
        self._descriptor = descriptor
        self._works = {work.structure.name: work for work in works}

    def finish(self, *, commit: bool, again: bool = False) -> bool:
        """Make the outcome so in every structure; whether all could be reached (CU4)."""
        for structure in self._committing:
            structure.committing -= 1
        self._committing = []
        if self._undecided:
            try:
                found = self._descriptors.there(self.id)
            except MQError:
                return False
            self._undecided, commit = False, found is not None
            self._descriptor = 0 if found is None else found.number
        for name, work in list(self._works.items()):
            try:
                if not (again and not commit and self._has_committed(work)):
                    self._end(work, commit=commit)
            except StructureRefusal as refusal:
                if not again or refusal.why != "NOT_FOUND":
                    raise Abend("CU1", "an entry of a unit is not where it was put", why=str(refusal)) from refusal
            except MQError:
                continue
            del self._works[name]
        if not self._works and self._descriptor:
            self._descriptors.served(self._descriptor)
            self._descriptor = 0
        return not self._works

    @staticmethod
    def _has_committed(work: Work) -> bool:
        """Whether the request that committed this work was done, although nobody answered (CU4)."""
        if work.gone:
            return True
        if work.puts:
            number, at, _ = work.puts[0]
            (entry,) = work.structure.ask(Read(number))
            return entry is None or entry.list != at or entry.key[0] == COMMITTED
        (entry,) = work.structure.ask(Read(work.gets[0].entry.number))
        return entry is None

    def _end(self, work: Work, *, commit: bool) -> None:
        if work.gone:
            return  # recovery knows the outcome from the log
        gets = (arrival.entry for arrival in work.gets)
        puts = ending_puts(work.puts, commit=commit)
        operations = (*puts, *ending_gets(gets, member_of(self.id), commit=commit))
        if operations:
            work.structure.ask(*operations, multiple=True)

    def _describe(self, descriptor: Descriptor) -> None:
        if self._descriptor:
            self._descriptors.served(self._descriptor)
        self._descriptor = self._descriptors.write(descriptor)
