"""In doubt: units whose coordinator decides, and their part in structures over restarts and losses.

Rules
  ID1 A unit in doubt is so on its member's log, with its name in structures (SHARED_UNIT). A descriptor that is missing
      in CSQ_ADMIN because that was lost is written again: when the member starts, before anything is resolved, and
      when it connects to CSQ_ADMIN anew.
  ID2 What such a unit has in a structure is found there by its name: when the member starts, and when a structure was
      recovered, which brings it back (BR7). Numbers of entries from before count no more.
  ID3 Work in a structure that was lost and is not recovered is lost for these units too; the rest of the unit ends as
      its coordinator says.

Called by the coupling facility manager.  Calls units, resolving, recovery.
"""

from collections.abc import Callable, Iterable

from quaestor.mqi.objects import LocalQueue
from quaestor.qmgr.coupling_facility.resolving import Found, left_in
from quaestor.qmgr.coupling_facility.shared_queue import SharedArrival, SharedQueue
from quaestor.qmgr.coupling_facility.structures import SharedStructure
from quaestor.qmgr.coupling_facility.units import (
    EVERYTHING,
    Descriptor,
    Descriptors,
    SharedUnit,
    Work,
    descriptor_in,
)
from quaestor.qmgr.recovery import RecoveryManager, State, UnitOfRecovery
from quaestor.storage.lists.operations import Entry, ReadList
from quaestor.storage.log_record import Kind

Structures = Callable[[], Iterable[tuple[SharedStructure, list[int]]]]


class UnitsInDoubt:
    """This member's units in doubt, in structures (ID1-ID3)."""

    def __init__(
        self, recovery: RecoveryManager, admin: SharedStructure, member: int, descriptors: Descriptors
    ) -> None:
        self._recovery, self._admin = recovery, admin
        self._member, self._descriptors = member, descriptors

    def describe(self) -> None:
        """At start: what the log has in doubt and CSQ_ADMIN has not is described again (ID1)."""
        described = {descriptor.urid for _, descriptor in self._described()}
        for unit in self._units():
            name = self._name_on_log(unit)
            if name and unit.urid not in described:
                self._descriptors.write(Descriptor(name, 0, unit.urid, in_doubt=True))

    def adopt(self, structures: Iterable[tuple[SharedStructure, list[int]]]) -> None:
        """At start: units have their part in structures again (ID2); in those that have failed, when they are back."""
        if not self._units():
            return
        usable = ((structure, lists) for structure, lists in structures if structure.failing is None)
        found = [left_in(structure, lists, self._member) for structure, lists in usable]
        for number, descriptor in self._described():
            unit = self._recovery.units.get(descriptor.urid)
            if unit is not None and unit.state is State.IN_DOUBT and unit.shared is None:
                unit.shared = SharedUnit(descriptor.unit, self._descriptors)
                works = (_work(each, descriptor.unit) for each in found)
                unit.shared.adopt(number, descriptor, [work for work in works if work.puts or work.gets])

    def adopt_in(self, structure: SharedStructure, lists: list[int]) -> None:
        """A structure was recovered: what units have there is other entries now (ID2)."""
        units = [unit for unit in self._units() if unit.shared is not None]
        if units:
            found = left_in(structure, lists, self._member)
            for unit in units:
                unit.shared.replace(_work(found, unit.shared.id))

    def _units(self) -> list[UnitOfRecovery]:
        return [unit for unit in self._recovery.units.values() if unit.state is State.IN_DOUBT]

    def _described(self) -> list[tuple[int, Descriptor]]:
        (entries,) = self._admin.ask(ReadList(self._member, most=EVERYTHING))
        return [(entry.number, descriptor_in(entry)) for entry in entries]

    def _name_on_log(self, unit: UnitOfRecovery) -> bytes:
        rba = unit.last
        while rba:
            record = self._recovery.log.read(rba)
            if record.kind == Kind.SHARED_UNIT:
                return record.body
            rba = record.previous
        return b""


def _work(found: Found, unit: bytes) -> Work:
    gets = [_arrival(found.structure, got) for got in found.gets.get(unit, ())]
    puts = [(put.number, put.list, put.key) for put in found.puts.get(unit, ())]
    return Work(found.structure, puts, gets, found.structure.incarnation)


def _arrival(structure: SharedStructure, entry: Entry) -> SharedArrival:
    return SharedArrival(SharedQueue(LocalQueue("IN.DOUBT"), structure, 0), entry)
