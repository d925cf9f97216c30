"""Interest: which members have a shared queue open, so that nobody deletes it under them.

Rules
  IR1 A member that opens a queue for the first time writes its name on the structure's list of interest; handles after
      that cost nothing. Within a second after its last handle was closed the name is removed: who opens and closes at
      every message does not ask the structure each time.
  IR2 Who deletes a queue first leaves a mark there that it is closing, and then looks who is interested; who opens
      writes its name and then looks for the mark. Both are one request, so one of them always sees the other: the
      deletion is refused (2042, with the members), or the open is.
  IR3 Only members that are connected count. What a dead member has left means nothing, and it removes it itself when
      it starts or connects again. A mark of a deleter that is gone is removed by whoever meets it.
  IR4 A structure that cannot be reached, or is full, keeps nobody from opening or deleting: the name is written when it
      can be.

Called by shared_queue, the coupling facility manager.  Calls structures.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.structures import SharedStructure
from quaestor.storage.lists.operations import KEY_LENGTH, Delete, First, ReadList, Write
from quaestor.storage.lists.structure import StructureRefusal

if TYPE_CHECKING:
    from quaestor.qmgr.coupling_facility.shared_queue import SharedQueue

INTEREST_LIST = 900
MOST = 100_000
_PLACE = struct.Struct(">HB")
CLOSING = 0
"""Stands in place of a member's number: the queue is being deleted (IR2)."""


class Interest:
    """The queues that this member has open (IR1-IR4)."""

    def __init__(self, qmgr: str) -> None:
        self._qmgr, self._number = qmgr, 0
        self._open: dict[str, SharedQueue] = {}
        self._written: dict[str, tuple[bytes, int]] = {}
        """The entry of each queue, and the incarnation of the structure in which it was written."""

    def start(self, number: int) -> None:
        self._number = number

    def clean(self, structure: SharedStructure) -> None:
        """Remove what a former life of this member has left, and what it wrote without being answered (IR3)."""
        (entries,) = structure.ask(ReadList(INTEREST_LIST, most=MOST))
        known = {number for incarnation, number in self._written.values() if incarnation == structure.incarnation}
        own = [entry.number for entry in entries if entry.data == self._qmgr.encode() and entry.number not in known]
        if own:
            structure.ask(*(Delete(number, INTEREST_LIST) for number in own))

    def opened(self, queue: "SharedQueue") -> None:
        """This member has its first handle on a queue; 2042 when it is being deleted."""
        if queue.structure.failing is None:  # IR4
            self._register(queue)
        self._open[queue.name] = queue

    def closed(self, queue: "SharedQueue") -> None:
        """The last handle is closed."""
        self._open.pop(queue.name, None)

    def _register(self, queue: "SharedQueue") -> None:
        structure = queue.structure
        if self._written.get(queue.name, (b"",))[0] == structure.incarnation:
            return
        own = Write(INTEREST_LIST, _key(queue.list, self._number), self._qmgr.encode())
        try:
            number, mark = structure.ask(own, First(INTEREST_LIST, *_only(queue.list, CLOSING)))
        except StructureRefusal:
            return  # IR4
        if mark is not None and structure.connectors().get(mark.data.decode()):
            structure.ask(Delete(number, INTEREST_LIST))
            raise MQError(Reason.OBJECT_IN_USE, queue=queue.name, why=f"{mark.data.decode()} is deleting it")
        if mark is not None:
            structure.ask(Delete(mark.number, INTEREST_LIST))
        self._written[queue.name] = structure.incarnation, number

    def step(self, queues: dict[str, "SharedQueue"]) -> None:
        """Remove the names of queues that are closed, write those that could not be written (IR1, IR4)."""
        for name in tuple(self._written):
            if name not in self._open:
                self._withdraw(name, queues.get(name))
        for queue in self._open.values():
            with suppress(MQError):  # it is being deleted: its handles are told by its definition
                self._register(queue)

    def dropped(self, queue: "SharedQueue") -> None:
        """The queue is no more: its list may be another queue's soon."""
        self._open.pop(queue.name, None)
        if queue.name in self._written:
            self._withdraw(queue.name, queue)

    def _withdraw(self, name: str, queue: "SharedQueue | None") -> None:
        incarnation, number = self._written.pop(name)
        if queue is not None and queue.structure.incarnation == incarnation:
            with suppress(MQError, StructureRefusal):  # lost: gone with its structure, or removed by `clean`
                queue.structure.ask(Delete(number, INTEREST_LIST))

    @contextmanager
    def alone(self, queue: "SharedQueue") -> Iterator[None]:
        """Nobody else opens a queue while it is deleted; 2042 when another member has it open (IR2)."""
        structure = queue.structure
        mark = Write(INTEREST_LIST, _key(queue.list, CLOSING), self._qmgr.encode())
        look = ReadList(INTEREST_LIST, *_others(queue.list), most=MOST)
        try:
            number, entries = structure.ask(mark, look)
        except StructureRefusal:
            number, (entries,) = 0, structure.ask(look)  # IR4
        try:
            active = structure.connectors()
            names = {entry.data.decode() for entry in entries} - {self._qmgr}
            users = sorted(name for name in names if active.get(name))
            if users:
                raise MQError(Reason.OBJECT_IN_USE, name=queue.name, type="QLOCAL", open_on=users)
            yield
        finally:
            with suppress(MQError, StructureRefusal):  # lost: whoever meets the mark sees whose it is
                if number:
                    structure.ask(Delete(number, INTEREST_LIST))


def _key(queue: int, member: int) -> bytes:
    return _PLACE.pack(queue, member).ljust(KEY_LENGTH, b"\0")


def _only(queue: int, member: int) -> tuple[bytes, bytes]:
    return _key(queue, member), _key(queue, member)


def _others(queue: int) -> tuple[bytes, bytes]:
    return _key(queue, CLOSING + 1), _key(queue, 0xFF)
