"""Operating: the queue-sharing group as operators see it; answers what the commands ask.

Rules
  OP1 A structure is looked at with one request; one that cannot be reached has a status and no figures.
  OP2 A new definition takes effect here at once: this member connects. Deleting one disconnects. What is altered of
      offloading and of data sets holds here at once, and elsewhere when it is followed.
  OP3 Recovering to empty needs no log: the structure is emptied and used from now on. Anything else is read from the
      logs, with the engine latch held. A structure that works while data sets of it have failed keeps its messages:
      only the data sets are recovered.
  OP4 SIZE is altered while the structure is used, as the operator's alter of MP16: the ratio of elements and entries
      stays what it is. It does not shrink below what is in use.

Called by command, through queue_manager.  Calls the coupling facility manager.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quaestor.mqi.reasons import MQError, Reason
from quaestor.mqi.structures import StructureDefinition
from quaestor.qmgr.coupling_facility.data_set_states import Connection
from quaestor.qmgr.coupling_facility.forwarding import Answer, Asking
from quaestor.qmgr.coupling_facility.recovering import backup, empty, recover, recover_data_sets
from quaestor.qmgr.coupling_facility.resetting import FAIL, answered, fail
from quaestor.qmgr.coupling_facility.structures import ADMIN, Failing, SharedStructure
from quaestor.storage.lists.operations import Alter, ReadSpace, Space
from quaestor.storage.lists.structure import Shape, StructureRefusal
from quaestor.storage.shared_tables import SharedObject

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
    """The group of this member, for operators (OP1-OP4)."""

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

    def offloaded_to(self, structure: str) -> str:
        return self._manager.data_sets.offloaded_to(structure)

    def queues_on(self, structure: str) -> list[str]:
        known = self._manager.definitions.known.values()
        return sorted(each.queue.name for each in known if each.queue.structure == structure)

    def group_changes(self) -> dict[str, SharedObject | None]:
        with self._manager.latch:
            return self._manager.definitions.group_changes()

    def followed(self, key: str) -> None:
        self._manager.definitions.followed(key)

    def answer_with(self, answer: Answer) -> None:
        def either(question: bytes) -> bytes:
            return answered(self._manager, question) if question.startswith(FAIL) else answer(question)

        self._manager.forwarding.answer = either

    def ask(self, members: list[str], question: bytes) -> Asking:
        numbers = {each.name: each.number for each in self.tables.members.all()}
        return self._manager.forwarding.ask([(name, numbers[name]) for name in members], question)

    def collect(self, asked: Asking) -> dict[str, bytes | None]:
        return self._manager.forwarding.collect(asked)

    def defined(self, structure: str) -> None:
        self._manager.structure(structure)
        self.data_sets_changed()

    def resize(self, structure: str, size_kb: int) -> None:
        found = self._structure(structure)
        try:
            (space,) = found.ask_for_recovery(ReadSpace())
            shape = Shape.sized(structure, size_kb, space.elements_total / space.entries_total)
            found.ask_for_recovery(Alter(shape.entries, shape.elements))
        except StructureRefusal as refusal:
            raise MQError(Reason.CF_STRUC_IN_USE, structure=structure, why=f"more is in use: {refusal}") from refusal
        except MQError:
            return  # it cannot be reached: whoever allocates it next does so at its size

    def deleted(self, structure: str) -> None:
        found = self._manager.structures.pop(structure, None)
        if found is not None:
            found.disconnect()
        self._manager.data_sets.deleted(structure)

    def fail(self, structure: str) -> None:
        fail(self._manager, structure, self._manager.clock.now_us())

    def backup(self, structure: str) -> None:
        with self._manager.latch:
            backup(self._manager, structure)

    def recover(self, structure: str, *, purge: bool) -> None:
        with self._manager.latch:
            if purge:
                empty(self._manager, structure)  # OP3
            elif self._structure(structure).failing is None:
                recover_data_sets(self._manager, structure)
            else:
                recover(self._manager, structure)

    # -- data sets

    def data_sets_changed(self) -> None:
        self._manager.data_sets.follow()

    def stop_data_set(self, structure: str, member: str) -> None:
        self._manager.data_sets.stop(structure, member)

    def start_data_set(self, structure: str, member: str) -> None:
        self._manager.data_sets.start(structure, member)

    def data_set_connection(self, structure: str, member: str) -> Connection:
        return self._manager.data_sets.connection(structure, member)

    def _structure(self, name: str) -> SharedStructure:
        return self._manager.admin if name == ADMIN else self._manager.structure(name)
