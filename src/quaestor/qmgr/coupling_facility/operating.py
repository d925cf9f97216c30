"""Operating: the queue-sharing group as operators see it; answers what the commands ask.

Rules
  OP1 A structure is looked at with one request; one that cannot be reached has a status and no figures.
  OP2 A definition takes effect here at once: this member connects. Deleting one disconnects.
  OP3 Recovering to empty needs no log: the structure is formatted and used from now on. Anything else is asked of
      whoever backs up and recovers.

Called by command, through queue_manager.  Calls the coupling facility manager.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from quaestor.mqi.reasons import MQError, Reason
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


class Recoverer(Protocol):
    """Who backs structures up to the log and recovers them from it."""

    def backup(self, name: str) -> object: ...

    def recover(self, name: str) -> object: ...


class OperatedGroup:
    """The group of this member, for operators (OP1-OP3)."""

    def __init__(self, manager: "CouplingFacilityManager", recoverer: Recoverer | None = None) -> None:
        self._manager, self._recoverer = manager, recoverer
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
        self._recovering(structure).backup(structure)

    def recover(self, structure: str, *, purge: bool) -> None:
        if not purge:
            self._recovering(structure).recover(structure)
            return
        found = self._structure(structure)
        found.format()
        self._manager.format(found)  # OP3

    def _recovering(self, structure: str) -> Recoverer:
        if self._recoverer is None:
            raise MQError(Reason.FUNCTION_NOT_SUPPORTED, structure=structure)
        return self._recoverer

    def _structure(self, name: str) -> SharedStructure:
        return self._manager.admin if name == ADMIN else self._manager.structure(name)
