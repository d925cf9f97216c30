"""Recovering: BACKUP and RECOVER CFSTRUCT, from the structure's name to its use.

Rules
  RC1 What is recovered is used at once, by everybody (BR4): whoever recovers says so after the last message is there.
  RC2 A structure that works while data sets of it have failed keeps its messages: only the data sets are written again.
  RC3 Emptying (TYPE(PURGE)) a structure that works empties its queues. One that has failed is emptied as a whole.

Called by operating, with the latch held.  Calls media, definitions, the coupling facility manager.
"""

from typing import TYPE_CHECKING

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.backup import Written
from quaestor.qmgr.coupling_facility.definitions import empty_list
from quaestor.qmgr.coupling_facility.media import RecoveredStructure
from quaestor.storage.lists.structure import StructureRefusal

if TYPE_CHECKING:
    from quaestor.qmgr.coupling_facility.manager import CouplingFacilityManager


def backup(manager: "CouplingFacilityManager", name: str) -> Written:
    """BACKUP CFSTRUCT: its persistent messages, on this member's log."""
    return manager.media.backup(manager.structure(name), manager.lists_of(name), manager.clock.now_us())


def recover(manager: "CouplingFacilityManager", name: str) -> RecoveredStructure:
    """RECOVER CFSTRUCT: a structure that has failed has its persistent messages again (RC1)."""
    structure = manager.structure(name)
    try:
        done = manager.media.recover(structure, manager.lists_of(name))
    except StructureRefusal as refusal:
        raise MQError(Reason.CF_STRUC_IN_USE, structure=name, why=str(refusal)) from refusal  # BR4
    manager.used_again(structure)
    return done


def recover_data_sets(manager: "CouplingFacilityManager", name: str) -> int:
    """RECOVER CFSTRUCT of one that works while data sets of it have failed; how many messages were written (RC2)."""
    failed = manager.data_sets.failed_in(name)
    written = manager.media.recover_data_sets(manager.structure(name), manager.lists_of(name), failed)
    manager.data_sets.recovered(name)
    return written


def empty(manager: "CouplingFacilityManager", name: str) -> None:
    """RECOVER CFSTRUCT TYPE(PURGE): the structure is empty, whatever was in it or half recovered (RC3)."""
    structure = manager.structure(name)
    if structure.failing is None:
        for number in manager.lists_of(name):
            empty_list(structure, number)
        manager.data_sets.recovered(name)
        return
    manager.media.purge(structure, manager.lists_of(name))
    manager.used_again(structure)
