"""Backup and recovery of structures: BACKUP CFSTRUCT, RECOVER CFSTRUCT.

Rules
  BR1 A backup is read from the structure while members work, and written to the log of the member that takes it: every
      persistent message, uncommitted ones with the unit that has them. It is forced, then registered.
  BR2 Recovery is set arithmetic by the identity of messages, without merging logs: what the backup has, and what units
      that committed since have put, less what units that committed since have got. The marks say from where each
      member's log is needed (PO2, PO3), and every member keeps its log from there.
  BR3 The outcome of a unit that the backup found unfinished is told by the record that names it before its COMMIT.
  BR4 What is recovered is complete before the structure says that it is in use; a recovery that is cut is begun again.
      Every request of it is refused when another member has taken the lock.
  BR5 Messages that are not persistent are gone.
  BR6 A message that moves between a queue and a list of gets while a backup is read must not be missed: everything is
      read with one request, and where that would be too much, twice: queues between two readings of the lists of gets.

  BR7 Units that are in doubt on a log are so in the recovered structure: their puts under keys in doubt, their gets on
      their member's list, each marked with the unit. Nobody but their coordinator ends them.

Called by media.  Calls log, structures, positions.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.coupling_facility.keys import (
    COMMITTED,
    DOUBTED,
    GOT,
    LAST_KEY,
    LOCKED,
    MARK,
    MEMBERS_MAX,
    NO_MARK,
    PERSISTENT,
    PUT,
    QUEUES_MAX,
    as_committed,
    back_in_doubt,
    beside,
    decided_list,
    epoch_of,
    got_list,
    member_of,
)
from quaestor.qmgr.coupling_facility.log_records import SHARED_PUT, entry_of_log, identity_of_log, pieces, pieces_before
from quaestor.qmgr.coupling_facility.positions import Mark
from quaestor.qmgr.coupling_facility.structures import NAME_MAX, OWN_LIST, OWN_LOCK, SharedStructure
from quaestor.qmgr.log import LogManager
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.storage.disk import Disk
from quaestor.storage.lists.operations import Delete, Entry, Holding, Limit, Operation, ReadList, ReadSpace, Write
from quaestor.storage.log_files import LogFiles
from quaestor.storage.log_record import Kind, LogRecord

PIECE, EVERYTHING = 50, 1 << 20
AT_ONCE_BYTES = 48 << 20


# --- backup ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Written:
    """A backup as it is on a log."""

    start_rba: int
    end_rba: int
    messages: int
    bytes: int


def write_backup(structure: SharedStructure, lists: Iterable[int], recovery: RecoveryManager) -> Written:
    """Write the persistent messages of a structure to the log (BR1). The latch is held."""
    start, messages, total = recovery.log.end, 0, 0
    for entry in _entries(structure, [*lists, *(got_list(member) for member in range(1, MEMBERS_MAX + 1))]):
        if entry.key != LAST_KEY and beside(entry.adjunct).flags & PERSISTENT:
            name = structure.name.encode().ljust(NAME_MAX)
            *parts, last = pieces(entry.data)
            for part in parts:
                recovery.note(None, Kind.BACKUP_DATA, name + part)
            recovery.note(None, Kind.BACKUP, _backed_up(structure.name, entry._replace(data=last)))
            messages, total = messages + 1, total + len(entry.data)
    end = recovery.note(None, Kind.BACKUP, structure.name.encode().ljust(NAME_MAX))
    recovery.harden()
    return Written(start, end, messages, total)


def _entries(structure: SharedStructure, lists: list[int]) -> Iterator[Entry]:
    """Every entry of some lists: as of one moment if that is one request, else in two passes (BR6)."""
    (space,) = structure.ask(ReadSpace())
    if space.elements * structure.shape.element_bytes <= AT_ONCE_BYTES:
        for entries in structure.ask(*(ReadList(number, most=EVERYTHING) for number in lists)):
            yield from entries
        return
    for number in (*reversed(lists), *lists):
        yield from _in_pieces(structure, number)


def _in_pieces(structure: SharedStructure, number: int) -> Iterator[Entry]:
    low, behind = bytes(len(LAST_KEY)), 0
    while True:
        (entries,) = structure.ask(ReadList(number, low, LAST_KEY, PIECE, behind))
        yield from entries
        if len(entries) < PIECE:
            return
        low, behind = entries[-1].key, entries[-1].arrival


def _backed_up(structure: str, entry: Entry) -> bytes:
    """An entry as a backup has it: where it belongs, under its committed key; the mark says which unit has it."""
    about, number, key, adjunct = beside(entry.adjunct), entry.list, entry.key, entry.adjunct
    if number > QUEUES_MAX:
        number = about.origin
    elif key[0] != COMMITTED:
        key = as_committed(key)
    if about.held_as == LOCKED or (entry.list <= QUEUES_MAX and entry.key[0] == COMMITTED):
        adjunct = adjunct[: -MARK.size] + NO_MARK
    return SHARED_PUT.pack(structure.encode().ljust(NAME_MAX), number, key) + adjunct + entry.data


# --- recovery --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Recovered:
    """The messages of a structure, by identity, as the logs tell them (BR2)."""

    structure: str
    there: dict[bytes, Entry] = field(default_factory=dict)
    waiting: dict[bytes, tuple[bytes, Entry]] = field(default_factory=dict)
    """Uncommitted puts that the backup found: their unit, the entry."""

    held: dict[bytes, bytes] = field(default_factory=dict)
    """Uncommitted gets that the backup found: the unit that has the message."""

    gone: set[bytes] = field(default_factory=set)
    committed: set[bytes] = field(default_factory=set)
    """Units that have committed since (BR3)."""

    in_doubt: set[bytes] = field(default_factory=set)
    """Units whose coordinator has not decided (BR7)."""

    doubted: dict[bytes, tuple[bytes, Entry]] = field(default_factory=dict)
    """Their puts, and in `held` their gets."""

    def backed_up(self, body: bytes, parts: list[bytes]) -> None:
        structure, entry = entry_of_log(body)
        entry = entry._replace(data=b"".join((*parts, entry.data)))
        about = beside(entry.adjunct)
        plain = entry._replace(adjunct=entry.adjunct[: -MARK.size] + NO_MARK)
        if about.held_as == PUT:
            self.waiting.setdefault(about.identity, (about.holder, plain))
            return
        self.there[about.identity] = plain
        if about.held_as in {GOT, DOUBTED}:
            self.held[about.identity] = about.holder
        if structure != self.structure:
            raise Abend("BR1", "a backup has a message of another structure", structure=structure)

    def messages(self) -> list[Entry]:
        """What is on the structure (BR2, BR7)."""
        found = dict(self.there)
        found.update({one: entry for one, (unit, entry) in self.waiting.items() if unit in self.committed})
        gone = self.gone | {one for one, unit in self.held.items() if unit in self.committed}
        entries = [self._held(one, entry) for one, entry in found.items() if one not in gone]
        puts = {one: each for one, each in self.waiting.items() if each[0] in self.in_doubt} | self.doubted
        entries += [_marked(entry, unit, entry.list, PUT, back_in_doubt(entry.key)) for unit, entry in puts.values()]
        return sorted(entries, key=lambda entry: (entry.list, entry.key))

    def _held(self, one: bytes, entry: Entry) -> Entry:
        """A message as it is on its queue, or on the list of gets of the unit in doubt that has it (BR7)."""
        unit = self.held.get(one, b"")
        if unit not in self.in_doubt:
            return entry
        return _marked(entry, unit, got_list(member_of(unit)), DOUBTED, entry.key)


def _marked(entry: Entry, unit: bytes, at: int, held_as: int, key: bytes) -> Entry:
    """An entry that a unit has."""
    adjunct = beside(entry.adjunct)._replace(holder=unit, origin=entry.list, held_as=held_as).packed()
    return entry._replace(list=at, key=key, adjunct=adjunct)


class _Unit:
    """What one unit on a log did with a structure."""

    __slots__ = ("gets", "name", "parts", "prepared", "puts")

    def __init__(self) -> None:
        self.prepared = False
        self.puts: list[Entry] = []
        self.gets: list[bytes] = []
        self.parts: list[bytes] = []
        self.name = b""


class LogReader:
    """Reads one member's log for a recovery (BR2); the member may be up and write on."""

    def __init__(self, recovered: Recovered, mark: Mark) -> None:
        self._recovered, self._mark = recovered, mark
        self._units: dict[int, _Unit] = {}

    def read(self, open_disk: Callable[[], Disk]) -> None:
        """From the mark to the end of the log; what is archived while it is read is found when it is opened again."""
        reached, before = self._mark.rba, -1
        while reached != before:
            before = reached
            files = LogFiles.open(open_disk())
            try:
                files.sync()  # PR3: what a killed member wrote may be in memory only
                for record in LogManager(files, outbuff_kb=0).scan(reached, repair=False):
                    self._record(record)
                    reached = record.end
                written = files.inventory.written_rba
            finally:
                files.close()
        for unit in self._units.values():
            self._undecided(unit)
        if reached < written:
            raise MQError(Reason.CF_STRUC_FAILED, why="a member's log is not complete", reached=reached, needed=written)

    def _put(self, record: LogRecord) -> tuple[str, Entry]:
        """The structure and the entry of a put, with the data that was logged before it."""
        structure, entry = entry_of_log(record.body)
        parts, self._unit(record).parts = self._unit(record).parts, []
        own = parts[len(parts) - pieces_before(entry) :]  # before them, what a put has logged that was taken back
        return structure, entry._replace(data=b"".join((*own, entry.data)))

    def _record(self, record: LogRecord) -> None:
        if record.kind == Kind.SHARED_DATA:
            self._unit(record).parts.append(record.body[NAME_MAX:])
        elif record.kind == Kind.SHARED_PUT:
            structure, entry = self._put(record)
            if structure == self._recovered.structure and self._is_new(beside(entry.adjunct).identity):
                self._unit(record).puts.append(entry)
        elif record.kind == Kind.SHARED_GET:
            structure, identity = identity_of_log(record.body)
            if structure == self._recovered.structure:
                self._unit(record).gets.append(identity)
        elif record.kind == Kind.SHARED_UNIT:
            self._unit(record).name = record.body
        elif record.kind in (Kind.PREPARED, Kind.BEGIN_BACKOUT):
            self._unit(record).prepared = record.kind == Kind.PREPARED
        elif record.kind == Kind.COMMIT:
            self._committed(self._units.pop(record.urid, None))
        elif record.kind == Kind.END_BACKOUT:
            self._units.pop(record.urid, None)

    def _is_new(self, identity: bytes) -> bool:
        """Whether the put is of the time that the backup leaves to the log (PO2)."""
        return (epoch_of(identity), int.from_bytes(identity[5:], "big")) >= (self._mark.epoch, self._mark.counter)

    def _unit(self, record: LogRecord) -> _Unit:
        return self._units.setdefault(record.urid, _Unit())

    def _undecided(self, unit: _Unit) -> None:
        """A unit that has not ended on the log: in doubt if it was prepared (BR7)."""
        if unit.prepared and unit.name:
            recovered = self._recovered
            recovered.in_doubt.add(unit.name)
            recovered.held.update(dict.fromkeys(unit.gets, unit.name))
            recovered.doubted.update({beside(entry.adjunct).identity: (unit.name, entry) for entry in unit.puts})

    def _committed(self, unit: _Unit | None) -> None:
        if unit is None:
            return
        recovered = self._recovered
        recovered.there.update({beside(entry.adjunct).identity: entry for entry in unit.puts})
        recovered.gone.update(unit.gets)
        if unit.name:
            recovered.committed.add(unit.name)


def read_backup(recovered: Recovered, open_disk: Callable[[], Disk], start_rba: int, end_rba: int) -> None:
    """The messages of a backup from the log that has it (BR1)."""
    files = LogFiles.open(open_disk())
    last, parts = 0, list[bytes]()
    try:
        for record in LogManager(files, outbuff_kb=0).scan(start_rba, end_rba + 1, repair=False):
            ours = record.body.startswith(recovered.structure.encode().ljust(NAME_MAX))
            if record.kind == Kind.BACKUP_DATA and ours:
                parts.append(record.body[NAME_MAX:])
            elif record.kind == Kind.BACKUP and ours and record.rba != end_rba:
                recovered.backed_up(record.body, parts)
                parts = []
            last = record.rba
    finally:
        files.close()
    if last != end_rba:
        raise MQError(Reason.CF_STRUC_FAILED, structure=recovered.structure, why="the backup cannot be read", rba=last)


def write_messages(structure: SharedStructure, lists: Iterable[int], entries: list[Entry]) -> None:
    """Put recovered messages on a structure in place of what is there (BR4)."""

    def ask(*operations: Operation) -> tuple[Any, ...]:
        """Only while the lock is ours: a member that stood still may have been taken for dead (BR4)."""
        _, *answers = structure.ask_for_recovery(Holding(OWN_LOCK, structure.member), *operations)
        return tuple(answers)

    members = range(1, MEMBERS_MAX + 1)
    every = [OWN_LIST, *lists, *map(got_list, members), *map(decided_list, members)]
    for number in every:
        while True:
            (old,) = ask(ReadList(number, most=PIECE))
            if not old:
                break
            ask(*(Delete(entry.number, number) for entry in old))
        ask(Limit(number, 0))
    for at in range(0, len(entries), PIECE):
        piece = entries[at : at + PIECE]
        ask(*(Write(entry.list, entry.key, entry.data, entry.adjunct) for entry in piece))
