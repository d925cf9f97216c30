"""Positions: how far each member is, published in CSQ_ADMIN, so that a backup knows from where logs are needed.

Rules
  PO1 Every second a member publishes the time, the RBA from which its log would be needed (no unit that has not ended
      has an older record), and the counter of its next message. It keeps its last eight.
  PO2 A put before the counter that a member has published is in the structure by then. So what a backup reads later
      has it, unless it was got, and only puts from that counter on are taken from the log.
  PO3 Gets are needed from the logs for every put that is taken from a log. So the RBA for a member is one that it
      published before any member published the counter that counts.
  PO4 A member that is down has put everything it will put in this epoch: its counter is that of the next epoch.

Called by backup and the coupling facility manager.  Calls structures.
"""

import struct
from dataclasses import dataclass

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.keys import MEMBERS_MAX
from quaestor.qmgr.coupling_facility.structures import SharedStructure
from quaestor.storage.lists.operations import Delete, ReadList, Write

POSITIONS_LIST = MEMBERS_MAX + 1
KEPT = 8
_POSITION = struct.Struct(">QQIQ")


@dataclass(frozen=True, slots=True)
class Position:
    """Where a member was at a time (PO1)."""

    time_us: int
    rba: int
    epoch: int
    counter: int


@dataclass(frozen=True, slots=True)
class Mark:
    """What a backup needs of a member: its log from an RBA on, its puts from an epoch and counter on (PO2, PO3)."""

    rba: int
    epoch: int
    counter: int


class Positions:
    """What members have published."""

    def __init__(self, admin: SharedStructure) -> None:
        self._admin = admin
        self._own: list[Position] = []
        self._entry, self._incarnation = 0, b""

    def publish(self, member: int, position: Position) -> None:
        """Say where this member is (PO1)."""
        self._own = [*self._own, position][-KEPT:]
        data = b"".join(_POSITION.pack(each.time_us, each.rba, each.epoch, each.counter) for each in self._own)
        write = Write(POSITIONS_LIST, _key(member), data)
        if self._incarnation != self._admin.incarnation:
            self._incarnation, self._entry = self._admin.incarnation, 0
        known, self._entry = self._entry, 0  # if the answer is lost, what is there is looked up the next time
        old = [known] if known else self._entries(member)
        self._entry, *_ = self._admin.ask(write, *(Delete(number, POSITIONS_LIST) for number in old))

    def _entries(self, member: int) -> list[int]:
        (entries,) = self._admin.ask(ReadList(POSITIONS_LIST, _key(member), _key(member)))
        return [entry.number for entry in entries]

    def marks(self, living: set[int]) -> dict[int, Mark]:
        """What a backup that begins now needs of the members that are up (PO2, PO3)."""
        (entries,) = self._admin.ask(ReadList(POSITIONS_LIST, most=MEMBERS_MAX))
        published = {entry.key[-1]: _positions(entry.data) for entry in entries if entry.key[-1] in living}
        if published.keys() != living:
            raise MQError(Reason.CF_STRUC_IN_USE, why="a member has not yet said where it is; try again in a second")
        earliest = min(each[-1].time_us for each in published.values())
        marks = {}
        for member, known in published.items():
            before = [each for each in known if each.time_us <= earliest]
            if not before:
                raise MQError(Reason.CF_STRUC_IN_USE, member=member, why="a member has just started; try again")
            marks[member] = Mark(before[-1].rba, known[-1].epoch, known[-1].counter)
        return marks


def _key(member: int) -> bytes:
    return bytes(15) + bytes([member])


def _positions(data: bytes) -> list[Position]:
    return [Position(*each) for each in _POSITION.iter_unpack(data)]
