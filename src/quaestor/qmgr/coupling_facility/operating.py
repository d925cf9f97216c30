"""Operating: the queue-sharing group as operators see it; answers what the commands ask.

Rules
  OP1 A structure is looked at with one request; one that cannot be reached has a status and no figures.
  OP2 A new definition takes effect here at once: this member connects. Deleting one disconnects. What is altered of
      offloading holds from the next time that a member connects.
  OP3 Recovering to empty needs no log: the structure is formatted and used from now on. Anything else is read
      from the logs, with the engine latch held.

Called by command, through queue_manager.  Calls the coupling facility manager.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.mqi.reasons import MQError
from quaestor.mqi.structures import StructureDefinition
from quaestor.qmgr.coupling_facility.structures import ADMIN, Failing, SharedStructure
from quaestor.storage.lists.operations import ReadSpace, Space

if TYPE_CHECKING:
    from quaestor.qmgr.coupling_facility.manager import CouplingFacilityManager

_STATUS = {None: "ACTIVE", Failing.FAILED: "FAILED", Failing.LOST: "NOTFOUND"}


@dataclass(frozen=True, slots=True)
class Seen:
    """A structure as it is now (OP1)."""

    status: str
    space: Space | None
    connectors: dict[str, bool]
    size_kb: int


class OperatedGroup:
    """The group of this member, for operators (OP1-OP3)."""

    def __init__(self, manager: "CouplingFacilityManager") -> None:
        self._manager = manager
        self.name, self.qmgr, self.tables = manager.group.name, manager.qmgr, manager.group.tables

    def look(self, structure: str) -> Seen:
        found = self._structure(structure)
        row = self.tables.structures.read(structure)
        size_kb = StructureDefinition.of("X" if row is None else row.name, row.attributes if row else {}).size_kb
        try:
            (space,) = found.ask_for_recovery(ReadSpace())
            return Seen(_STATUS[found.failing], space, found.connectors(), size_kb)
        except MQError:
            return Seen(_STATUS[found.failing], None, {}, size_kb)

    def queues_on(self, structure: str) -> list[str]:
        known = self._manager.definitions.known.values()
        return sorted(each.queue.name for each in known if each.queue.structure == structure)

    def defined(self, structure: str) -> None:
        self._manager.structure(structure)

    def deleted(self, structure: str) -> None:
        found = self._manager.structures.pop(structure, None)
        if found is not None:
            found.disconnect()

    def backup(self, structure: str) -> None:
        with self._manager.latch:
            self._manager.backup(structure)

    def recover(self, structure: str, *, purge: bool) -> None:
        with self._manager.latch:
            if not purge:
                self._manager.recover(structure)
                return
            found = self._structure(structure)
            found.lock_own()
            found.format()
            self._manager.format(found)  # OP3

    def _structure(self, name: str) -> SharedStructure:
        return self._manager.admin if name == ADMIN else self._manager.structure(name)
