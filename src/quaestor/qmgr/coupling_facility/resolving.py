"""Resolving: the units that a member left unfinished in structures, brought to their end.

Rules
  PR1 Who is to be resolved must be dead: its directory can be owned. A living owner that only lost its connection ends
      its units itself.
  PR2 The outcome of a unit is decided by what its member left behind, whoever reads it: no descriptor, it was in
      flight and is backed out; a descriptor without RBA, it has committed if the structure that the descriptor names
      says so (or it names none); a descriptor with an RBA, it has committed if the member's log has its COMMIT record
      there, in an unbroken log, and is backed out if not. A structure that says that a unit has committed is believed
      without a descriptor too: CSQ_ADMIN may have been lost.
  PR3 The log is made durable before it is believed: what a killed process wrote may still be in memory only, and the
      member's own restart must find the same.
  PR4 A unit in doubt stays as it is, until the log of its member has the COMMIT record that its descriptor announces.
      That it is in doubt is told by its descriptor, and by what it has in structures: CSQ_ADMIN may have been lost.
      What a member itself has in hand is none of its resolving.
  PR5 Every step may be repeated, by the same or another member: what is done is no longer found. Descriptors go last.
  PR6 If the log cannot be read, units with an RBA stay as they are; the member's own restart resolves them. Units whose
      structure cannot be asked stay too.
  PR7 Messages that handles of the member had locked are there for others again; that counts as no backout.
  PR8 A request whose answer was lost may have put or got something that no unit knows of. When the member is connected
      again, and before it works on, it gives back and deletes what none of its units has.

Called by the coupling facility manager, for peers and for the member itself at start.  Calls structures, log.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from quaestor.mqi.reasons import Abend, MQError
from quaestor.qmgr.coupling_facility.descriptors import EVERYTHING, Descriptor, descriptor_in
from quaestor.qmgr.coupling_facility.keys import (
    DOUBTED,
    IN_DOUBT,
    LOCKED,
    UNCOMMITTED,
    beside,
    decided_list,
    epoch_of,
    got_list,
    puts_of,
)
from quaestor.qmgr.coupling_facility.structures import SharedStructure
from quaestor.qmgr.coupling_facility.units import ending_gets, ending_puts, returning
from quaestor.qmgr.log import LogManager
from quaestor.storage.lists.operations import Delete, Entry, Operation, ReadList
from quaestor.storage.lists.structure import StructureRefusal
from quaestor.storage.log_files import LogFiles
from quaestor.storage.log_record import Kind, LogRecord

Committed = Callable[[Descriptor], bool]
"""Whether the log has the COMMIT record that a descriptor announces (PR2)."""


@dataclass(slots=True)
class Found:
    """What a member left in one structure: its uncommitted puts and gets by unit, and what its handles locked."""

    structure: SharedStructure
    puts: dict[bytes, list[Entry]] = field(default_factory=dict)
    gets: dict[bytes, list[Entry]] = field(default_factory=dict)
    locked: list[Entry] = field(default_factory=list)
    in_doubt: set[bytes] = field(default_factory=set)

    @property
    def units(self) -> set[bytes]:
        return {*self.puts, *self.gets}


@dataclass(slots=True)
class Resolved:
    """What was done: units committed, backed out, left in doubt, left because the log cannot be read.

    Not `complete` when a structure could not be reached, or may not be known: it has to be looked at again.
    """

    committed: list[bytes] = field(default_factory=list)
    backed_out: list[bytes] = field(default_factory=list)
    in_doubt: list[bytes] = field(default_factory=list)
    left: list[bytes] = field(default_factory=list)
    complete: bool = True


def left_in(structure: SharedStructure, lists: Iterable[int], member: int) -> Found:
    """What a member has not ended in a structure, read with one request."""
    puts = [ReadList(at, *puts_of(kind, member), EVERYTHING) for at in lists for kind in (IN_DOUBT, UNCOMMITTED)]
    got, *pieces = structure.ask_heads(ReadList(got_list(member), most=EVERYTHING), *puts)
    found = Found(structure)
    for entry in (entry for piece in pieces for entry in piece):
        holder = beside(entry.adjunct).holder
        found.puts.setdefault(holder, []).append(entry)
        if entry.key[0] == IN_DOUBT:
            found.in_doubt.add(holder)
    for entry in got:
        about = beside(entry.adjunct)
        if about.held_as == LOCKED:
            found.locked.append(entry)
        else:
            found.gets.setdefault(about.holder, []).append(entry)
        if about.held_as == DOUBTED:
            found.in_doubt.add(about.holder)
    return found


def words_in(structure: SharedStructure, member: int, epoch_before: int) -> dict[bytes, int]:
    """The units of a member that have committed in a structure and so everywhere, and the numbers of their words."""
    (words,) = structure.ask(ReadList(decided_list(member), most=EVERYTHING))
    return {word.data: word.number for word in words if epoch_of(word.data) < epoch_before}


class _Words:
    """What structures say of a dead member's units (PR2)."""

    def __init__(self, member: int, structures: Iterable[SharedStructure], epoch_before: int, *, certain: bool) -> None:
        self._member, self._certain = member, certain
        self._found: list[tuple[SharedStructure, dict[bytes, int]]] = []
        self._away: set[str] = set()
        for structure in structures:
            try:
                self._found.append((structure, words_in(structure, member, epoch_before)))
            except MQError:
                self._away.add(structure.name)

    def committed(self, unit: bytes, asked: str) -> bool:
        """Whether a unit has committed, which should be said in the structure asked for. Raises LogAwayError."""
        if any(unit in words for _, words in self._found):
            return True
        known = {structure.name for structure, _ in self._found}
        if asked in self._away or (asked and asked not in known and not self._certain):
            raise LogAwayError(f"{asked} cannot be asked")
        return False

    def delete(self) -> None:
        """They have served their purpose (PR5)."""
        for structure, words in self._found:
            ask_once(structure, [Delete(number, decided_list(self._member)) for number in words.values()])


def end_unit(found: Found, unit: bytes, member: int, *, commit: bool) -> None:
    """End a unit in a structure; what another has ended meanwhile is no longer there (PR5)."""
    puts = ((entry.number, entry.list, entry.key) for entry in found.puts.get(unit, ()))
    ask_once(
        found.structure,
        [*ending_puts(puts, commit=commit), *ending_gets(found.gets.get(unit, ()), member, commit=commit)],
    )


def ask_once(structure: SharedStructure, operations: list[Operation]) -> None:
    """Do what somebody else may have done already (PR5)."""
    try:
        if operations:
            structure.ask(*operations)
    except StructureRefusal as refusal:
        if refusal.why != "NOT_FOUND":
            raise


def resolve(
    member: int,
    admin: SharedStructure,
    structures: Iterable[tuple[SharedStructure, list[int]]],
    committed: Committed,
    epoch_before: int,
    stays: Callable[[bytes], bool] = lambda _unit: True,
    *,
    certain: bool = True,
) -> Resolved:
    """End what a member left behind when it was last up, before an epoch of its log (PR2-PR7).

    `stays` says whether a unit that is in doubt in the structures is so on the log too; only its member knows. Not
    `certain`: it may have used structures and lists that are not among these (PE6).
    """
    (entries,) = admin.ask(ReadList(member, most=EVERYTHING))
    descriptors = {each.unit: each for each in map(descriptor_in, entries) if epoch_of(each.unit) < epoch_before}
    outcomes: dict[bytes, bool | None] = {}
    done, structures = Resolved(complete=certain), list(structures)
    words = _Words(member, [structure for structure, _ in structures], epoch_before, certain=certain)
    for structure, lists in structures:
        try:
            found = left_in(structure, lists, member)
        except MQError:
            done.complete = False  # its units stay described until it can be reached
            continue
        locked = [entry for entry in found.locked if epoch_of(beside(entry.adjunct).holder) < epoch_before]
        ask_once(structure, [returning(entry, member, counted=False) for entry in locked])  # PR7
        for unit in found.units:
            if epoch_of(unit) >= epoch_before:
                continue
            if unit not in outcomes:
                doubted = unit in found.in_doubt
                outcomes[unit] = _outcome(unit, descriptors.get(unit), doubted, committed, words, stays, done)
            outcome = outcomes[unit]
            if outcome is not None:
                end_unit(found, unit, member, commit=outcome)
    if done.complete:
        kept = {
            *done.in_doubt,
            *done.left,
            *(unit for unit, each in descriptors.items() if each.in_doubt and stays(unit)),
        }
        words.delete()
        over = [e for e in entries if (unit := descriptor_in(e).unit) in descriptors and unit not in kept]
        ask_once(admin, [Delete(entry.number, member) for entry in over])  # PR5: last
    return done


def _outcome(
    unit: bytes,
    descriptor: Descriptor | None,
    doubted: bool,
    committed: Committed,
    words: _Words,
    stays: Callable[[bytes], bool],
    done: Resolved,
) -> bool | None:
    """How a unit ends; None when it stays (PR2, PR4, PR6)."""
    in_doubt = doubted or (descriptor is not None and descriptor.in_doubt)
    try:
        if descriptor is not None and descriptor.rba:
            outcome = committed(descriptor)
        elif descriptor is None or in_doubt:
            outcome = words.committed(unit, "")
        else:
            outcome = not descriptor.structure or words.committed(unit, descriptor.structure)
    except LogAwayError:
        done.left.append(unit)
        return None
    if in_doubt and not outcome and stays(unit):
        done.in_doubt.append(unit)
        return None
    (done.committed if outcome else done.backed_out).append(unit)
    return outcome


def reconcile(
    structure: SharedStructure, lists: Iterable[int], member: int, epoch: int, known: set[int], in_doubt: set[bytes]
) -> set[int]:
    """After a connection was lost: end what this member's requests did without being answered (PR8).

    `known` are the entries that its units and handles have; the answer is those of them that are not there. Units in
    doubt find theirs by themselves (ID2).
    """
    found = left_in(structure, lists, member)
    puts = [entry for entries in found.puts.values() for entry in entries]
    gets = [entry for entries in found.gets.values() for entry in entries] + found.locked
    strays = [
        entry
        for entry in (*puts, *gets)
        if entry.number not in known
        and epoch_of(holder := beside(entry.adjunct).holder) == epoch
        and holder not in in_doubt
    ]
    ask_once(
        structure,
        [
            returning(entry, member, counted=False)
            if entry.list == got_list(member)
            else Delete(entry.number, entry.list)
            for entry in strays
        ],
    )
    return known - {entry.number for entry in (*puts, *gets)}


class LogAwayError(Exception):
    """A member's log cannot be read, or the structure that knows cannot be asked (PR6)."""


def says_committed(record: LogRecord | None, descriptor: Descriptor) -> bool:
    """Whether a record is the COMMIT that a descriptor announced, and not one that came later to its place.

    A prepared unit may have been decided in a later epoch than its own; no other unit can have its URID.
    """
    return (
        record is not None
        and record.kind == Kind.COMMIT
        and record.urid == descriptor.urid
        and (descriptor.in_doubt or record.epoch == epoch_of(descriptor.unit))
    )


def record_at(log: LogManager, rba: int) -> LogRecord | None:
    """The record at an RBA that may never have been written."""
    try:
        return log.read(rba)
    except Abend as abend:
        if abend.rule != "L1":
            raise LogAwayError(str(abend)) from abend
        return None


class DeadLog:
    """The log of a member that is down, read as its restart would read it (PR2, PR3)."""

    def __init__(self, files: LogFiles) -> None:
        files.sync()  # PR3
        self._log = LogManager(files, outbuff_kb=0)
        self._found: dict[int, LogRecord] = {}
        checkpoints = files.inventory.checkpoints
        self._checkpoint = checkpoints[-1] if checkpoints else files.oldest_active()
        self._scan = self._log.scan(self._checkpoint, repair=False)
        self._reached = self._checkpoint

    def committed(self, descriptor: Descriptor) -> bool:
        """Whether the COMMIT record is there, and everything between the last checkpoint and it."""
        if descriptor.rba < self._checkpoint:
            return says_committed(record_at(self._log, descriptor.rba), descriptor)
        while self._reached <= descriptor.rba:
            record = next(self._scan, None)
            if record is None:
                return False
            self._reached = record.end
            if record.kind == Kind.COMMIT:
                self._found[record.rba] = record
        return says_committed(self._found.get(descriptor.rba), descriptor)
