"""Recovering: BACKUP and RECOVER CFSTRUCT, from the structure's name to its use.

Rules
  RC1 What is recovered is used at once, by everybody (BR4): whoever recovers says so after the last message is there.
  RC2 A structure that works while data sets of it have failed keeps its messages: only the data sets are written again.
  RC3 Emptying (TYPE(PURGE)) a structure that works empties its queues. One that has failed is emptied as a whole.
  RC4 Which queues a structure has the repository says, now: what is on the list of one that is not known here would be
      left out. While it is away all this is refused (2342, SM6).

Called by operating, with the latch held.  Calls media, definitions, the coupling facility manager.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.backup import Written
from quaestor.qmgr.coupling_facility.definitions import empty_list, lists_in
from quaestor.qmgr.coupling_facility.media import RecoveredStructure
from quaestor.storage.lists.structure import StructureRefusal
from quaestor.storage.shared_tables import RepositoryAwayError

if TYPE_CHECKING:
    from quaestor.qmgr.coupling_facility.manager import CouplingFacilityManager


@contextmanager
def lists_now(manager: "CouplingFacilityManager", name: str) -> Iterator[list[int]]:
    """The lists of a structure that are queues, for as long as the repository answers; else MQError 2342 (RC4)."""
    try:
        yield lists_in(manager.group.now).get(name, [])
    except RepositoryAwayError as error:
        raise MQError(Reason.DB2_NOT_AVAILABLE, structure=name, why=str(error)) from error


def backup(manager: "CouplingFacilityManager", name: str) -> Written:
    """BACKUP CFSTRUCT: its persistent messages, on this member's log."""
    with lists_now(manager, name) as lists:
        return manager.media.backup(manager.structure(name), lists, manager.clock.now_us())


def recover(manager: "CouplingFacilityManager", name: str) -> RecoveredStructure:
    """RECOVER CFSTRUCT: a structure that has failed has its persistent messages again (RC1)."""
    structure = manager.structure(name)
    with lists_now(manager, name) as lists:
        try:
            done = manager.media.recover(structure, lists)
        except StructureRefusal as refusal:
            raise MQError(Reason.CF_STRUC_IN_USE, structure=name, why=str(refusal)) from refusal  # BR4
        manager.used_again(structure)
    return done


def recover_data_sets(manager: "CouplingFacilityManager", name: str) -> int:
    """RECOVER CFSTRUCT of one that works while data sets of it have failed; how many messages were written (RC2)."""
    with lists_now(manager, name) as lists:
        failed = manager.data_sets.failed_in(name)
        written = manager.media.recover_data_sets(manager.structure(name), lists, failed)
        manager.data_sets.recovered(name)
    return written


def empty(manager: "CouplingFacilityManager", name: str) -> None:
    """RECOVER CFSTRUCT TYPE(PURGE): the structure is empty, whatever was in it or half recovered (RC3)."""
    structure = manager.structure(name)
    with lists_now(manager, name) as lists:
        if structure.failing is None:
            for number in lists:
                empty_list(structure, number)
            manager.data_sets.recovered(name)
            return
        manager.media.purge(structure, lists)
        manager.used_again(structure)
