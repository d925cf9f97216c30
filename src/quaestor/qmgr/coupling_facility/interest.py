"""Interest: which members have a shared queue open, and how: nobody deletes it under them, nobody reads beside one that
has it alone.

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
      can be. Only exclusive input is refused while the structure cannot be asked.
  IR5 Beside the name stands how the member reads the queue: not, shared, exclusively. It is written before the first
      input handle is given and taken back with the last, at once. Who writes it looks in the same request how others
      read, so of two that exclude each other the second sees the first, and is refused (2042, with the members).
  IR6 What a dead member reads excludes others until peers have recovered it: then its uncommitted gets are back in
      their places, and whoever reads alone next finds them. After a structure has lost what was in it, members say
      again how they read, each as soon as it notices.

Called by shared_queue, the coupling facility manager.  Calls structures.
"""

import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.structures import SharedStructure
from quaestor.storage.lists.operations import KEY_LENGTH, Delete, Entry, First, Operation, ReadList, Rewrite, Write
from quaestor.storage.lists.structure import StructureRefusal

if TYPE_CHECKING:
    from quaestor.qmgr.coupling_facility.shared_queue import SharedQueue

INTEREST_LIST = 900
MOST = 100_000
_PLACE = struct.Struct(">HB")
CLOSING = 0
"""Stands in place of a member's number: the queue is being deleted (IR2)."""

NOT_READ, READ_SHARED, READ_ALONE = range(3)
"""How a member reads a queue (IR5)."""


class _Written(NamedTuple):
    """What a member has written of a queue: in which incarnation of the structure, as which entry, how it reads."""

    incarnation: bytes
    number: int
    reading: int


class Interest:
    """The queues that this member has open (IR1-IR6)."""

    def __init__(self, qmgr: str) -> None:
        self._qmgr, self._number = qmgr, 0
        self._open: dict[str, tuple[SharedQueue, int]] = {}
        """Each queue that is open, and how it is read here."""

        self._written: dict[str, _Written] = {}

    def start(self, number: int) -> None:
        self._number = number

    def clean(self, structure: SharedStructure) -> None:
        """Remove what a former life of this member has left, and what it wrote without being answered (IR3)."""
        (entries,) = structure.ask(ReadList(INTEREST_LIST, most=MOST))
        known = {each.number for each in self._written.values() if each.incarnation == structure.incarnation}
        own = [entry.number for entry in entries if entry.data == self._qmgr.encode() and entry.number not in known]
        if own:
            structure.ask(*(Delete(number, INTEREST_LIST) for number in own))

    def opened(self, queue: "SharedQueue", reading: int = NOT_READ) -> None:
        """This member has its first handle on a queue, or reads it otherwise than before (IR5).

        2042 when it is being deleted, or when others read it and these exclude each other.
        """
        failing = queue.structure.failing
        if failing is None:
            self._register(queue, reading)
        elif reading == READ_ALONE:
            raise MQError(failing.value, structure=queue.structure.name, queue=queue.name)  # IR4
        self._open[queue.name] = queue, reading

    def read_no_more(self, queue: "SharedQueue") -> None:
        """The last input handle is closed: others may read it alone, at once (IR5)."""
        self._open[queue.name] = queue, NOT_READ
        written, structure = self._written.get(queue.name), queue.structure
        if written is None or written.incarnation != structure.incarnation:
            return
        with suppress(MQError, StructureRefusal):  # lost: said when it can be, or gone with its structure
            structure.ask(Rewrite(written.number, adjunct=bytes([NOT_READ])))
            self._written[queue.name] = written._replace(reading=NOT_READ)

    def closed(self, queue: "SharedQueue") -> None:
        """The last handle is closed."""
        self._open.pop(queue.name, None)

    def _register(self, queue: "SharedQueue", reading: int) -> None:
        structure, before = queue.structure, self._written.get(queue.name)
        if before is not None and before.incarnation != structure.incarnation:
            before = None
        if before is not None and before.reading == reading:
            return
        own: Operation = (
            Write(INTEREST_LIST, _key(queue.list, self._number), self._qmgr.encode(), bytes([reading]))
            if before is None
            else Rewrite(before.number, adjunct=bytes([reading]))
        )
        look = ReadList(INTEREST_LIST, *_others(queue.list), most=MOST)
        try:
            answer, mark, entries = structure.ask(own, First(INTEREST_LIST, *_only(queue.list, CLOSING)), look)
        except StructureRefusal:
            self._written.pop(queue.name, None)
            self._check_others(queue, reading, structure.ask(look)[0])
            return  # IR4
        made = _Written(structure.incarnation, answer if before is None else before.number, reading)
        try:
            self._check_mark(queue, mark)
            self._check_others(queue, reading, entries)
        except MQError:
            back = Delete(made.number, INTEREST_LIST) if before is None else Rewrite(made.number, None, _as(before))
            structure.ask(back)
            raise
        self._written[queue.name] = made

    def _check_mark(self, queue: "SharedQueue", mark: Entry | None) -> None:
        """Whether a queue is being deleted (IR2)."""
        if mark is not None and queue.structure.connectors().get(mark.data.decode()):
            raise MQError(Reason.OBJECT_IN_USE, queue=queue.name, why=f"{mark.data.decode()} is deleting it")
        if mark is not None:
            queue.structure.ask(Delete(mark.number, INTEREST_LIST))

    def _check_others(self, queue: "SharedQueue", reading: int, entries: Iterable[Entry]) -> None:
        """Whether others read a queue in a way that excludes this one (IR5, IR6)."""
        names = {entry.data.decode() for entry in entries if _exclude(reading, entry)} - {self._qmgr}
        if names:
            there = queue.structure.connectors()
            readers = sorted(name for name in names if name in there)
            if readers:
                raise MQError(Reason.OBJECT_IN_USE, queue=queue.name, open_on=readers)

    def step(self, queues: dict[str, "SharedQueue"]) -> None:
        """Remove the names of queues that are closed, write those that could not be written (IR1, IR4)."""
        for name in tuple(self._written):
            if name not in self._open:
                self._withdraw(name, queues.get(name))
        for queue, reading in tuple(self._open.values()):
            with suppress(MQError):  # it is being deleted: its handles are told by its definition
                self._register(queue, reading)

    def dropped(self, queue: "SharedQueue") -> None:
        """The queue is no more: its list may be another queue's soon."""
        self._open.pop(queue.name, None)
        if queue.name in self._written:
            self._withdraw(queue.name, queue)

    def _withdraw(self, name: str, queue: "SharedQueue | None") -> None:
        written = self._written.pop(name)
        if queue is not None and queue.structure.incarnation == written.incarnation:
            with suppress(MQError, StructureRefusal):  # lost: gone with its structure, or removed by `clean`
                queue.structure.ask(Delete(written.number, INTEREST_LIST))

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


def _as(written: _Written) -> bytes:
    return bytes([written.reading])


def _exclude(reading: int, other: Entry) -> bool:
    """Whether reading a queue so, and as another says that it does, exclude each other (IR5)."""
    theirs = other.adjunct[0] if other.adjunct else NOT_READ
    return READ_ALONE in (reading, theirs) and NOT_READ not in (reading, theirs)


def _key(queue: int, member: int) -> bytes:
    return _PLACE.pack(queue, member).ljust(KEY_LENGTH, b"\0")


def _only(queue: int, member: int) -> tuple[bytes, bytes]:
    return _key(queue, member), _key(queue, member)


def _others(queue: int) -> tuple[bytes, bytes]:
    return _key(queue, CLOSING + 1), _key(queue, 0xFF)
