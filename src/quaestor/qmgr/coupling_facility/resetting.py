"""Resetting: RESET CFSTRUCT ACTION(FAIL), a structure made to fail as if it had lost what is in it.

Rules
  RT1 Nobody uses the structure while it is emptied: its own entry is removed, so that whoever connects finds it without
      one (CS3), and every active member is told that it has failed before anything is deleted. When one gives no
      answer, or the repository is away, which says who they are, the structure is as it was, and the command has
      failed.
  RT3 A member answers when no unit of it that worked there is in its force any more (CS7): whoever recovers the
      structure afterwards reads every commit on its log.
  RT2 Then everything is removed from its lists. One with RECOVER(YES) has failed until RECOVER CFSTRUCT; any other is
      empty and used again at once.

Called by operating.  Calls structures, forwarding, recovering.
"""

from dataclasses import replace
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.recovering import lists_now
from quaestor.qmgr.coupling_facility.structures import LISTS, OWN_LIST, OWN_LOCK, Failing, SharedStructure
from quaestor.storage.lists.operations import Delete, Entry, First, Limit, Operation, ReadList, Unlock, Write
from quaestor.storage.shared_tables import Member, RepositoryAwayError

if TYPE_CHECKING:
    from quaestor.qmgr.coupling_facility.manager import CouplingFacilityManager

FAIL = b"\0FAIL "
"""How a member is told: this, and the structure's name."""

FAILED, BUSY = b"failed", b"busy"
AT_ONCE, PIECE = 64, 1000
SETTLE_S, _LOOK_S = 5.0, 0.002


def fail(manager: "CouplingFacilityManager", name: str, now_us: int) -> None:
    """Make a structure fail for all members. The latch is not held."""
    with lists_now(manager, name):
        members = manager.group.now.members.all()
    with manager.latch:
        structure = manager.structure(name)
        if structure.failing is not None:
            raise MQError(structure.failing.value, structure=name)
        own = _close(structure)
    silent = [*_told(manager, name, members), *([] if _settled(structure) else [manager.qmgr])]
    with manager.latch:
        if silent:
            _open(structure, own)  # RT1
            raise MQError(Reason.CF_STRUC_IN_USE, structure=name, why=f"{', '.join(silent)} gave no answer")
        row = manager.group.tables.structures.read(name)
        try:
            if row is not None:
                manager.group.tables.structures.write(replace(row, failed_us=now_us))
        except RepositoryAwayError as error:
            _open(structure, own)
            raise MQError(Reason.DB2_NOT_AVAILABLE, structure=name, why=str(error)) from error
        _empty(structure)
        if row is None or row.attributes.get("RECOVER") != "YES":
            if not structure.lock_own():
                raise MQError(Reason.CF_STRUC_IN_USE, structure=name, why="another member is at it")
            manager.used_again(structure)  # RT2


def answered(manager: "CouplingFacilityManager", question: bytes) -> bytes:
    """Another member makes a structure fail: it has failed here too (RT1)."""
    with manager.latch:
        found = manager.structures.get(question.removeprefix(FAIL).decode())
        if found is not None and found.failing is None:
            found.failing = Failing.FAILED
    return FAILED if found is None or _settled(found) else BUSY


def _settled(structure: SharedStructure) -> bool:
    """Wait until nothing is being forced that worked in a structure, which has failed meanwhile (RT3)."""
    until, for_a_moment = monotonic() + SETTLE_S, Event()
    while structure.committing and monotonic() < until:
        for_a_moment.wait(_LOOK_S)
    return not structure.committing


def _close(structure: SharedStructure) -> Entry | None:
    own: Entry | None
    if not structure.lock_own():
        raise MQError(Reason.CF_STRUC_IN_USE, structure=structure.name, why="another member is at it")
    (own,) = structure.ask(First(OWN_LIST))
    removed = () if own is None else (Delete(own.number, OWN_LIST),)
    structure.ask(*removed, Unlock(OWN_LOCK, structure.member))
    structure.failing = Failing.FAILED
    return own


def _open(structure: SharedStructure, own: Entry | None) -> None:
    if own is not None:
        structure.ask_for_recovery(Write(OWN_LIST, own.key, own.data))
    structure.failing = None


def _told(manager: "CouplingFacilityManager", name: str, members: list[Member]) -> list[str]:
    """Tell the other active members; those that gave no answer."""
    active = manager.admin.connectors()
    others = [each for each in members if active.get(each.name) and each.name != manager.qmgr]
    asked = manager.forwarding.ask([(each.name, each.number) for each in others], FAIL + name.encode())
    answers = manager.forwarding.collect(asked)
    still = manager.admin.connectors()
    return [member for member, answer in answers.items() if answer in (None, BUSY) and still.get(member)]


def _empty(structure: SharedStructure) -> None:
    """RT2."""
    for first in range(OWN_LIST + 1, LISTS, AT_ONCE):
        lists = range(first, min(first + AT_ONCE, LISTS))
        structure.ask_for_recovery(*(Limit(at, 0) for at in lists))
        while True:
            found = structure.ask_for_recovery(*(ReadList(at, most=PIECE) for at in lists))
            gone: list[Operation] = [Delete(entry.number, entry.list) for entries in found for entry in entries]
            if not gone:
                break
            structure.ask_for_recovery(*gone)
