"""In doubt: units whose coordinator decides, and their part in structures over restarts and losses.

Rules
  ID1 A unit in doubt is so on its member's log, with its name in structures (SHARED_UNIT). A descriptor that is missing
      in CSQ_ADMIN because that was lost is written again: when the member starts, before anything is resolved, and
      when it is connected to another CSQ_ADMIN than the one that had it.
  ID2 What such a unit has in a structure is found there by its name: when the member starts, and when a structure was
      recovered, which brings it back (BR7), whoever has recovered it. Numbers of entries from before count no more.
      Until every structure was looked at the unit cannot be decided (CU8); one that has failed matters only where the
      log says that the unit worked there, since what is not logged is lost with it.
  ID3 Work in a structure that was lost and is not recovered is lost for these units too; the rest of the unit ends as
      its coordinator says.

Called by the coupling facility manager.  Calls units, resolving, recovery.
"""

from collections.abc import Iterable, Iterator

from quaestor.mqi.objects import LocalQueue
from quaestor.qmgr.coupling_facility.descriptors import EVERYTHING, Descriptors, descriptor_in
from quaestor.qmgr.coupling_facility.resolving import Found, left_in
from quaestor.qmgr.coupling_facility.shared_queue import SharedArrival, SharedQueue
from quaestor.qmgr.coupling_facility.structures import NAME_MAX, Failing, SharedStructure
from quaestor.qmgr.coupling_facility.units import SharedUnit, Work
from quaestor.qmgr.recovery import RecoveryManager, State, UnitOfRecovery
from quaestor.storage.lists.operations import Entry, ReadList
from quaestor.storage.log_record import Kind

DOUBTFUL = (State.IN_COMMIT_1, State.IN_DOUBT)


class UnitsInDoubt:
    """This member's units in doubt, in structures (ID1-ID3)."""

    def __init__(
        self, recovery: RecoveryManager, admin: SharedStructure, member: int, descriptors: Descriptors
    ) -> None:
        self._recovery, self._admin = recovery, admin
        self._member, self._descriptors = member, descriptors
        self._logged: dict[bytes, set[str]] = {}
        """The structures in which units worked, as far as the log has it."""

    def restore(self, structures: Iterable[str]) -> None:
        """At start: what the log has in doubt has a part in structures, of which nothing is known yet (ID2)."""
        names = set(structures)
        for unit in self._recovery.in_doubt():
            name, logged = self._on_log(unit)
            if name:
                self._logged[name] = logged
                unit.shared = SharedUnit(name, self._descriptors)
                unit.shared.unread = set(names)

    def describe(self) -> None:
        """What the log has in doubt and CSQ_ADMIN has not is described again (ID1)."""
        (entries,) = self._admin.ask(ReadList(self._member, most=EVERYTHING))
        described = {descriptor_in(entry).unit: entry for entry in entries}
        for unit, part in self._parts():
            if part.id in described:
                part.known_by(described[part.id].number, descriptor_in(described[part.id]))
            else:
                part.doubt(unit.urid)

    def adopt(self, structures: Iterable[tuple[SharedStructure, list[int]]]) -> None:
        """Units have their part in structures again (ID2); in those that have failed, when they are back."""
        in_use = {structure.name: (structure, lists) for structure, lists in structures}
        for _, part in self._parts():
            part.unread &= in_use.keys()
        for structure, lists in in_use.values():
            if structure.failing is None:
                self.adopt_in(structure, lists)
            elif structure.failing is Failing.FAILED:
                for _, part in self._parts():
                    if structure.name not in self._logged.get(part.id, ()):
                        part.unread.discard(structure.name)

    def adopt_in(self, structure: SharedStructure, lists: list[int]) -> None:
        """What units have in a structure is looked for, where that is not known or was of another incarnation (ID2)."""
        parts = [part for _, part in self._parts() if part.outdated(structure)]
        if parts:
            found = left_in(structure, lists, self._member)
            for part in parts:
                part.replace(_work(found, part.id))

    def parts(self) -> dict[bytes, SharedUnit]:
        """The parts in structures of units in doubt, by their names."""
        return {part.id: part for _, part in self._parts()}

    def _parts(self) -> Iterator[tuple[UnitOfRecovery, SharedUnit]]:
        for unit in list(self._recovery.units.values()):
            if unit.state in DOUBTFUL and unit.shared is not None:
                yield unit, unit.shared

    def _on_log(self, unit: UnitOfRecovery) -> tuple[bytes, set[str]]:
        """The name of a unit in structures, and those in which its records say that it worked."""
        name, worked, rba = b"", set[str](), unit.last
        while rba:
            record = self._recovery.log.read(rba)
            if record.kind == Kind.SHARED_UNIT:
                name = record.body
            elif record.kind in (Kind.SHARED_PUT, Kind.SHARED_GET):
                worked.add(record.body[:NAME_MAX].decode().rstrip())
            rba = record.previous
        return name, worked


def _work(found: Found, unit: bytes) -> Work:
    gets = [_arrival(found.structure, got) for got in found.gets.get(unit, ())]
    puts = [(put.number, put.list, put.key) for put in found.puts.get(unit, ())]
    return Work(found.structure, puts, gets, found.structure.incarnation)


def _arrival(structure: SharedStructure, entry: Entry) -> SharedArrival:
    return SharedArrival(SharedQueue(LocalQueue("IN.DOUBT"), structure, 0), entry)
