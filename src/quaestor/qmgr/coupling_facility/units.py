"""Units: what a unit of recovery has done in structures, and how that ends.

Rules
  CU1 Until a unit ends its puts stand under uncommitted keys and its gets on the member's own list, each marked with
      the unit. Whoever reads the structure sees whose they are; nothing about them is only in this member's memory.
  CU2 The commit point is that of the log (V2): the COMMIT record durable, one force. Before it is written the unit's
      descriptor goes to CSQ_ADMIN, with the RBA at which it will be; so whoever finds the unit unfinished knows where
      to look, and where there is no descriptor there was no commit.
  CU3 A unit that logs nothing commits with the one request that makes its puts available and deletes its gets; it has a
      descriptor before that only where its member has the habit (HA2), and that decides nothing. If it worked in
      several structures, the commit is the request to the first of them, which also writes there that the unit has
      committed; its descriptor (RBA 0) says in which structure to look. So the outcome does not depend on CSQ_ADMIN:
      whoever finds the unit unfinished finds it in a structure that the unit itself has changed. Only when no
      structure has room for that word, the descriptor itself is the commit point.
  CU4 After the commit point the rest is one request for each structure. One that cannot be reached then is tried again
      when it can; the outcome no longer depends on it. A request whose answer was lost may have been done: then its
      entries are no longer where they were, and that is the proof. What was found out so of a unit over several
      structures holds for all of them, and the word that it has left is its own as if it had been answered.
  CU6 A backed-out get returns to its list and key with a higher backout count; a backed-out put is deleted.
  CU7 A prepared unit is in doubt in the structures too: its puts stand under keys that say so, its gets are marked so,
      its descriptor has its URID, also when its COMMIT record is announced in it; nobody but its coordinator ends it.
  CU8 Nothing is prepared or decided while a structure in which the unit worked cannot be used: it may have lost the
      work, and may be recovered from a log that does not have the decision yet. Nor while one cannot that gave no
      answer to a put or get of the unit: what that did there is marked with the unit, is none of its work, and would
      share its outcome. Where a unit in doubt worked is not known after a restart until every structure was looked at.

CU5 is of `descriptors`.

Called by the shared store and recovery.  Calls structures, descriptors.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.coupling_facility.descriptors import Decided, Descriptor, Descriptors
from quaestor.qmgr.coupling_facility.keys import (
    COMMITTED,
    DOUBTED,
    MARK,
    NO_MARK,
    as_committed,
    as_in_doubt,
    beside,
    got_list,
    member_of,
)
from quaestor.qmgr.coupling_facility.shared_queue import SharedArrival
from quaestor.qmgr.coupling_facility.structures import SharedStructure
from quaestor.storage.lists.operations import Delete, Entry, Move, Operation, Read
from quaestor.storage.lists.structure import StructureRefusal

BACKOUTS_MAX = 255


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


class SharedUnit:
    """The part of a unit of recovery that is in structures (CU1-CU7)."""

    __slots__ = (
        "_committing",
        "_decided",
        "_described",
        "_described_in",
        "_descriptor",
        "_descriptors",
        "_outcome",
        "_silent",
        "_unanswered",
        "_works",
        "get_arrivals",
        "id",
        "put_arrivals",
        "unread",
    )

    def __init__(self, identity: bytes, descriptors: Descriptors) -> None:
        self.id = identity
        self.put_arrivals: list[SharedArrival] = []
        self.get_arrivals: list[SharedArrival] = []
        self._descriptors = descriptors
        self._descriptor = 0
        self._described: Descriptor | None = None
        self._described_in = b""
        """The incarnation of CSQ_ADMIN that has the descriptor."""

        self._decided: Decided | None = None
        self._unanswered: Work | None = None
        self._works: dict[str, Work] = {}
        self._committing: list[SharedStructure] = []
        self._outcome: bool | None = None
        """What was found out about a commit that was not answered (CU4)."""

        self._silent: set[SharedStructure] = set()
        """Structures that gave no answer to a put or get of it (CU8)."""

        self.unread: set[str] = set()
        """Structures in which it may have worked before its member was started again (CU8)."""

    def __len__(self) -> int:
        return len(self.put_arrivals) + len(self.get_arrivals)

    def work(self, structure: SharedStructure) -> Work:
        found = self._works.get(structure.name)
        if found is None:
            found = self._works[structure.name] = Work(structure, incarnation=structure.incarnation)
        return found

    @property
    def described(self) -> bool:
        """Whether CSQ_ADMIN has its descriptor."""
        return bool(self._descriptor)

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

    def not_answered(self, structure: SharedStructure, error: MQError) -> None:
        """A put or get of it was refused; where it was sent, it may have been done all the same (CU8)."""
        if error.facts.get("sent"):
            self._silent.add(structure)

    # -- the end

    def decide(self, urid: int, rba: int) -> None:
        """Before the COMMIT record is written at `rba` (CU2), or in its place (CU3). May refuse: nothing is decided."""
        if self._works or self.unread:
            self.check()
        if not self._works:
            return
        if urid:
            self._describe(Descriptor(self.id, rba, urid, self.in_doubt))
            self._now_committing()
        elif len(self._works) > 1:
            self._decide_in_a_structure()
        else:
            for name, work in self._works.items():
                if self._descriptors.habits.describes_every_unit:
                    self._describe_in_time(Descriptor(self.id, 0, 0, structure=name))
                self._end(work, commit=True)
            self._works.clear()

    @property
    def in_doubt(self) -> bool:
        """Whether it was prepared (CU7)."""
        return self._described is not None and self._described.in_doubt

    def check(self) -> None:
        """Refuse what cannot be decided now (CU8)."""
        if self.unread:
            raise MQError(Reason.CF_STRUC_FAILED, structures=sorted(self.unread), why="what the unit did is not known")
        if any(work.gone for work in self._works.values()):
            raise MQError(Reason.CF_STRUC_FAILED, structures=sorted(self._works), why="what the unit did is lost")
        for structure in (*(work.structure for work in self._works.values()), *self._silent):
            if structure.failing is not None:
                raise MQError(structure.failing.value, structure=structure.name)
        self._silent.clear()  # whoever connected to them again has ended what was done there (PR8)

    def start_backout(self) -> None:
        """A unit in doubt is to be backed out: refused as a commit would be, and forced likewise (CU8, CS7)."""
        self.check()
        self._now_committing()

    def forced(self) -> None:
        """What was announced is durable (CS7)."""
        for structure in self._committing:
            structure.committing -= 1
        self._committing = []

    def _now_committing(self) -> None:
        """From the decision to the end of the force (CS7)."""
        self._committing = [work.structure for work in self._works.values()]
        for structure in self._committing:
            structure.committing += 1

    def _decide_in_a_structure(self) -> None:
        """The commit of a unit that logs nothing, over several structures (CU3)."""
        for name, work in list(self._works.items()):
            self._describe_in_time(Descriptor(self.id, 0, 0, structure=name))
            try:
                self._decided = self._descriptors.decide(self.id, work.structure, self._ending(work, commit=True))
            except StructureRefusal as refusal:
                if refusal.why != "FULL":
                    raise Abend("CU1", "an entry of a unit is not where it was put", why=str(refusal)) from refusal
                continue
            except MQError as error:
                self._unanswered = work if error.facts.get("sent") else None
                raise
            del self._works[name]
            return
        self._describe_in_time(Descriptor(self.id, 0, 0))

    def _describe_in_time(self, descriptor: Descriptor) -> None:
        """Before anything is decided: what becomes of the descriptor decides nothing either."""
        try:
            self._describe(descriptor)
        except MQError as error:
            if not descriptor.structure:
                raise
            raise MQError(error.reason, structure=error.facts.get("structure"), why="nothing is decided") from error

    def prepare(self, urid: int) -> None:
        """In doubt, in the structures first; the PREPARED record follows (CU7)."""
        self.check()
        self.doubt(urid)
        for work in self._works.values():
            gets = [_doubted(arrival.entry) for arrival in work.gets]
            moves = [Move(number, at, at, as_in_doubt(key)) for number, at, key in work.puts]
            if moves or gets:
                work.structure.ask(*moves, *gets, multiple=True)
            work.puts = [(number, at, as_in_doubt(key)) for number, at, key in work.puts]
            for arrival, move in zip(work.gets, gets, strict=True):
                arrival.entry = arrival.entry._replace(adjunct=move.adjunct or b"")
        self._now_committing()

    def doubt(self, urid: int) -> None:
        """CSQ_ADMIN is told that it is in doubt."""
        self._describe(Descriptor(self.id, 0, urid, in_doubt=True))

    def known_by(self, number: int, descriptor: Descriptor) -> None:
        """CSQ_ADMIN has this descriptor of it."""
        self._descriptor, self._described = number, descriptor
        self._described_in = self._descriptors.incarnation

    def outdated(self, structure: SharedStructure) -> bool:
        """Whether what it has in a structure must be looked for (ID2)."""
        work = self._works.get(structure.name)
        return structure.name in self.unread or (work is not None and work.gone)

    def replace(self, work: Work) -> None:
        """What it has in a structure now: other entries than before, or none (ID2)."""
        self.unread.discard(work.structure.name)
        self._works.pop(work.structure.name, None)
        if work.puts or work.gets:
            self._works[work.structure.name] = work

    def describe_again(self) -> None:
        """CSQ_ADMIN has lost the descriptor (ID1)."""
        if self._described is not None and self._described_in != self._descriptors.incarnation:
            self._descriptor = self._descriptors.write(self._described)
            self._described_in = self._descriptors.incarnation

    def finish(self, *, commit: bool, again: bool = False) -> bool:
        """Make the outcome so in every structure; whether all could be reached (CU4)."""
        self.forced()
        if self._unanswered is not None:
            try:
                self._outcome = self._has_committed(self._unanswered)
                self._decided = self._descriptors.word_of(self.id, self._unanswered.structure)
            except MQError:
                return False
            self._unanswered = None
        commit = commit if self._outcome is None else self._outcome
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
            self._descriptors.served(self._descriptor, self._described_in)
            self._descriptor = 0
        if not self._works and self._decided is not None:
            self._descriptors.needed_no_more(self._decided)
            self._decided = None
        return not self._works

    @staticmethod
    def _has_committed(work: Work) -> bool:
        """Whether the request that committed this work was done, although nobody answered (CU4)."""
        if work.gone:
            return True
        if work.puts:
            number, at, _ = work.puts[0]
            (entry,) = work.structure.ask_heads(Read(number))
            return entry is None or entry.list != at or entry.key[0] == COMMITTED
        (entry,) = work.structure.ask_heads(Read(work.gets[0].entry.number))
        return entry is None

    def _end(self, work: Work, *, commit: bool) -> None:
        if work.gone:
            return  # recovery knows the outcome from the log
        operations = self._ending(work, commit=commit)
        if operations:
            work.structure.ask(*operations, multiple=not self._single(work, commit=commit))

    def _single(self, work: Work, *, commit: bool) -> bool:
        """Whether work ends as that of a single entry (HA2)."""
        alone = commit and not work.puts and len(work.gets) == 1
        return alone and self._descriptors.habits.ends_single(len(work.gets[0].entry.data))

    def _ending(self, work: Work, *, commit: bool) -> tuple[Operation, ...]:
        gets = (arrival.entry for arrival in work.gets)
        puts = ending_puts(work.puts, commit=commit)
        return *puts, *ending_gets(gets, member_of(self.id), commit=commit)

    def _describe(self, descriptor: Descriptor) -> None:
        before = self._descriptor if self._described_in == self._descriptors.incarnation else 0
        self._descriptor, self._described = self._descriptors.write(descriptor, before), descriptor
        self._described_in = self._descriptors.incarnation


def _doubted(entry: Entry) -> Move:
    """A got entry, marked as one of a unit in doubt (CU7)."""
    adjunct = beside(entry.adjunct)._replace(held_as=DOUBTED).packed()
    return Move(entry.number, entry.list, entry.list, None, adjunct)
