"""Definitions: shared queues as the shared tables know them, and the list of a structure that each has.

Rules
  SD1 A shared queue is defined once for the group, in the shared tables; every member finds it there. Members follow
      the tables' change number, and look at once when a name is asked for that they do not know.
  SD2 A queue has a list of its structure for as long as it is defined: the lowest free one of 512, chosen and written
      as one change of the table, so that no two queues have the same.
  SD3 The list's last entry is the queue's own and holds its definition (ORACLE 9); the list's maximum is MAXDEPTH.
  SD4 The list of a deleted queue keeps its own entry and takes no other, so that a member that has not noticed finds
      it full (2053). A new queue that gets the list opens it again.

Called by the coupling facility manager.  Calls shared tables, structures.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from quaestor.mqi.objects import LocalQueue, object_from_bytes
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.keys import LAST_KEY, QUEUES_MAX
from quaestor.qmgr.coupling_facility.shared_queue import OWN_ENTRIES, SharedQueue
from quaestor.storage.lists.operations import (
    KEY_MIN,
    Delete,
    First,
    Holding,
    Limit,
    ReadList,
    Rewrite,
    Unlock,
    Write,
)
from quaestor.storage.lists.structure import StructureRefusal
from quaestor.storage.shared_tables import ChangedError, GroupTables, SharedObject, Unchanged
from quaestor.storage.shared_tables.group_tables import put

NAMESPACE, DISPOSITION = "queue", "SHARED"
FORMAT_LOCK = 1
PIECE = 100
BEFORE_LAST = LAST_KEY[:-1] + b"\xfe"


@dataclass(frozen=True, slots=True)
class SharedDefinition:
    """A shared queue and its list (SD2)."""

    queue: LocalQueue
    list: int


class SharedDefinitions:
    """The shared queues of the group (SD1-SD3)."""

    def __init__(self, tables: GroupTables) -> None:
        self._tables = tables
        self.known: dict[str, SharedDefinition] = {}
        self._seen = 0
        self._changed: dict[str, LocalQueue] = {}
        self._deleted: list[str] = []

    def changes(self) -> tuple[list[LocalQueue], list[str]]:
        """What has changed since this was asked last: queues defined or altered, names deleted (SD1)."""
        self.refresh()
        changed, self._changed = self._changed, {}
        deleted, self._deleted = self._deleted, []
        return [queue for name, queue in changed.items() if name in self.known], deleted

    def refresh(self) -> None:
        """Learn what has changed; whoever follows the changes is still told of them."""
        newest = self._tables.newest()
        if newest == self._seen:
            return
        written, deleted = self._tables.objects.changed_since(self._seen)
        self._seen = newest
        for row in written:
            if row.disposition == DISPOSITION and row.namespace == NAMESPACE:
                definition = _definition(row.attributes)
                self.known[row.name] = definition
                self._changed[row.name] = definition.queue
        names = [name for key in deleted if (name := key.removeprefix(f"{NAMESPACE} ")) in self.known]
        for name in names:
            del self.known[name]
            self._deleted.append(name)

    def lists_of(self, structure: str) -> list[int]:
        """The lists of a structure that are queues."""
        return [each.list for each in self.known.values() if each.queue.structure == structure]

    def all_lists(self) -> dict[str, list[int]]:
        """The lists that are queues, by structure, as the table has them now: what this member has not noticed too."""
        lists: dict[str, list[int]] = {}
        for row in self._tables.objects.all():
            if row.disposition == DISPOSITION and row.namespace == NAMESPACE:
                lists.setdefault(row.attributes["CFSTRUCT"], []).append(row.attributes["list"])
        return lists

    def save(self, queue: LocalQueue) -> None:
        """Define or alter a shared queue for the whole group (SD2)."""
        while True:
            self.refresh()
            known = self.known.get(queue.name)
            if known is not None and known.queue.structure != queue.structure:
                raise MQError(Reason.OBJECT_IN_USE, queue=queue.name, structure=known.queue.structure)
            number = self._free_list(queue) if known is None else known.list
            row = SharedObject(NAMESPACE, queue.name, DISPOSITION, queue.MQSC_TYPE, _attributes(queue, number))
            try:
                self._tables.change(Unchanged(SharedObject.TABLE, self._seen), put(row))
            except ChangedError:
                continue
            self.known[queue.name] = SharedDefinition(queue, number)
            return

    def discard(self, queue: LocalQueue) -> None:
        row = self._tables.objects.read(f"{NAMESPACE} {queue.name}")
        if row is not None:
            self._tables.objects.delete(row)
        self.known.pop(queue.name, None)

    def _free_list(self, queue: LocalQueue) -> int:
        taken = set(self.lists_of(queue.structure))
        for number in range(1, QUEUES_MAX + 1):
            if number not in taken:
                return number
        raise MQError(Reason.CF_STRUC_IN_USE, structure=queue.structure, queues=QUEUES_MAX)


def format_list(queue: SharedQueue, member: str) -> None:
    """Give a queue's list its last entry and its maximum (SD3)."""
    structure, definition = queue.structure, queue.definition
    limit = Limit(queue.list, definition.max_depth + OWN_ENTRIES)
    if not structure.take_lock(FORMAT_LOCK):
        raise MQError(Reason.CF_STRUC_IN_USE, structure=structure.name, why="another member formats it")
    (own,) = structure.ask(First(queue.list, LAST_KEY, LAST_KEY))
    packed = definition.pack()
    written = Write(queue.list, LAST_KEY, packed) if own is None else Rewrite(own.number, packed)
    limits = (Limit(queue.list, 0), written, limit) if own is None else (written, limit)
    structure.ask(Holding(FORMAT_LOCK, member), *limits, Unlock(FORMAT_LOCK, member))


def close_list(queue: SharedQueue) -> None:
    """Remove everything from a queue's list but its own entry, and let nothing more be put there (SD4)."""
    ask, at = queue.structure.ask, queue.list
    ask(Limit(at, OWN_ENTRIES))
    while True:
        (entries,) = ask(ReadList(at, KEY_MIN, BEFORE_LAST, PIECE))
        if not entries:
            return
        with suppress(StructureRefusal):  # somebody has got one meanwhile: look again
            ask(*(Delete(entry.number, at) for entry in entries))


def _attributes(queue: LocalQueue, number: int) -> dict[str, Any]:
    return {"list": number, "packed": queue.pack().hex(), "CFSTRUCT": queue.structure}


def _definition(attributes: dict[str, Any]) -> SharedDefinition:
    queue = object_from_bytes(bytes.fromhex(attributes["packed"]))
    if not isinstance(queue, LocalQueue):
        raise MQError(Reason.OBJECT_NAME_ERROR, name=queue.name, why="a shared object that is no local queue")
    return SharedDefinition(queue, attributes["list"])
