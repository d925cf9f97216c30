"""Definitions: shared queues as the shared tables know them, and the list of a structure that each has.

Beside them stand the definitions that the group keeps for its members to copy; whoever makes the copies asks for them.

Rules
  SD1 A shared queue is defined once for the group, in the shared tables; every member finds it there. Members follow
      the tables' change number, and look at once when a name is asked for that they do not know.
  SD2 A queue has a list of its structure for as long as it is defined: the lowest free one of 512, chosen and written
      as one change of the table, so that no two queues have the same.
  SD3 The list's last entry is the queue's own and holds its definition (ORACLE 9); the list's maximum is MAXDEPTH.
      INDXTYPE says which identifier is the list's secondary key, by which messages are found without reading through
      the list; the common one of many messages finds the first of them as fast. What else may be asked for
      (M5) is read for.
  SD4 The list of a deleted queue keeps its own entry and takes no other, so that a member that has not noticed finds
      it full (2053). A new queue that gets the list opens it again.
  SD5 A name is defined once in the tables, with QSGDISP(SHARED) or with QSGDISP(GROUP) (GT3).
  SD6 A new queue's list is formatted before its row is written, under a lock of the structure: a definition that is cut
      off is none, and its list is free for the next one. A structure that is full has no room for another queue (2192).
      Whoever is refused gives the lock back. Once the row is written the queue is defined, whatever happens then.

Called by the coupling facility manager.  Calls shared tables, structures.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from quaestor.mqi.descriptors import ID_LENGTH
from quaestor.mqi.objects import IndexType, LocalQueue, object_from_bytes
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.keys import CORREL_ID_AT, GROUP_AT, LAST_KEY, MSG_ID_AT, QUEUES_MAX
from quaestor.qmgr.coupling_facility.shared_queue import OWN_ENTRIES, SharedQueue
from quaestor.qmgr.coupling_facility.structures import SharedStructure, refused
from quaestor.storage.lists.operations import (
    KEY_MIN,
    Delete,
    First,
    Holding,
    Index,
    Limit,
    ReadList,
    Rewrite,
    Unlock,
    Write,
)
from quaestor.storage.lists.structure import StructureRefusal
from quaestor.storage.shared_tables import ChangedError, GroupTables, SharedObject, Unchanged
from quaestor.storage.shared_tables.group_tables import put

NAMESPACE, DISPOSITION, GROUP = "queue", "SHARED", "GROUP"
FORMAT_LOCK = 1
PIECE = 100
SECOND_KEYS = {IndexType.MSGID: MSG_ID_AT, IndexType.CORRELID: CORREL_ID_AT, IndexType.GROUPID: GROUP_AT}
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
        self._group: dict[str, SharedObject] = {}
        self._group_changed: set[str] = set()

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
            if row.disposition == GROUP:
                self._gone(row.key)
                self._group[row.key] = row
                self._group_changed.add(row.key)
            elif row.namespace == NAMESPACE:
                self._gone_from_group(row.key)
                definition = _definition(row.attributes)
                self.known[row.name] = definition
                self._changed[row.name] = definition.queue
        for key in deleted:
            self._gone(key)
            self._gone_from_group(key)

    def _gone(self, key: str) -> None:
        """A shared queue is no more."""
        name = key.removeprefix(f"{NAMESPACE} ")
        if name != key and self.known.pop(name, None) is not None:
            self._deleted.append(name)

    def _gone_from_group(self, key: str) -> None:
        if self._group.pop(key, None) is not None:
            self._group_changed.add(key)

    def group_changes(self) -> dict[str, SharedObject | None]:
        """What members copy and has changed since this was asked last, by its key; None when it is no more."""
        self.refresh()
        changed, self._group_changed = self._group_changed, set()
        return {key: self._group.get(key) for key in sorted(changed)}

    def followed(self, key: str) -> None:
        """A change of the group's definition is followed by whoever made it: nobody else here need be told."""
        self.refresh()
        self._group_changed.discard(key)

    def lists_of(self, structure: str) -> list[int]:
        """The lists of a structure that are queues."""
        return [each.list for each in self.known.values() if each.queue.structure == structure]

    def all_lists(self) -> dict[str, list[int]]:
        """The lists that are queues: what this member has not noticed too, unless the repository is away."""
        return lists_in(self._tables)

    def knows(self, name: str) -> bool:
        """Whether a shared queue is defined, as the tables have it now."""
        self.refresh()
        return name in self.known

    def save(
        self, queue: LocalQueue, *, new: bool = False, formatted: Callable[[int], None] = lambda _number: None
    ) -> None:
        """Define or alter a shared queue for the whole group (SD2); 2100 when one that is `new` is there already.

        The list of one that is not known is `formatted` before (SD6).
        """
        while True:
            self.refresh()
            if f"{NAMESPACE} {queue.name}" in self._group:
                raise MQError(Reason.OBJECT_ALREADY_EXISTS, name=queue.name, disposition=GROUP)  # SD5
            known = self.known.get(queue.name)
            if known is not None and new:
                raise MQError(Reason.OBJECT_ALREADY_EXISTS, name=queue.name, disposition=DISPOSITION)
            if known is not None and known.queue.structure != queue.structure:
                raise MQError(Reason.OBJECT_IN_USE, queue=queue.name, structure=known.queue.structure)
            number = self._free_list(queue) if known is None else known.list
            if known is None:
                formatted(number)
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


def lists_in(tables: GroupTables) -> dict[str, list[int]]:
    """The lists that are queues, by structure, as the tables of a group have them."""
    lists: dict[str, list[int]] = {}
    for row in tables.objects.all():
        if row.disposition == DISPOSITION and row.namespace == NAMESPACE:
            lists.setdefault(row.attributes["CFSTRUCT"], []).append(row.attributes["list"])
    return lists


def save_queue(
    definitions: SharedDefinitions, queue: LocalQueue, structure: SharedStructure, member: str, *, new: bool
) -> None:
    """Define or alter a queue. Of one that is not known its list comes first, then its row (SD6)."""

    def at(number: int) -> SharedQueue:
        return SharedQueue(queue, structure, number)

    if definitions.knows(queue.name):
        definitions.save(queue, new=new)
        format_list(at(definitions.known[queue.name].list), member)
        return

    with _formatting(structure):
        definitions.save(queue, new=new, formatted=lambda number: _write_list(at(number), member))
    with suppress(MQError):
        try:
            structure.ask(Holding(FORMAT_LOCK, member), Unlock(FORMAT_LOCK, member))
        except StructureRefusal:  # somebody has taken it meanwhile, and may have used the list
            format_list(at(definitions.known[queue.name].list), member)


def format_list(queue: SharedQueue, member: str) -> None:
    """Give a queue's list its last entry, its maximum and its secondary key (SD3)."""
    with _formatting(queue.structure):
        _write_list(queue, member, Unlock(FORMAT_LOCK, member))


@contextmanager
def _formatting(structure: SharedStructure) -> Iterator[None]:
    """Take the lock under which lists are formatted; whoever fails gives it back (SD6)."""
    if not structure.take_lock(FORMAT_LOCK):
        raise MQError(Reason.CF_STRUC_IN_USE, structure=structure.name, why="another member formats it")
    try:
        yield
    except BaseException:
        with suppress(MQError):
            structure.give_back(FORMAT_LOCK)
        raise


def _write_list(queue: SharedQueue, member: str, *then: Unlock) -> None:
    """Format a list while the lock is held, and do what is to be done with that (SD3)."""
    structure, definition = queue.structure, queue.definition
    limit = Limit(queue.list, definition.max_depth + OWN_ENTRIES)
    (own,) = structure.ask(First(queue.list, LAST_KEY, LAST_KEY))
    packed = definition.pack()
    written = Write(queue.list, LAST_KEY, packed) if own is None else Rewrite(own.number, packed)
    limits = (Limit(queue.list, 0), written, limit) if own is None else (written, limit)
    try:
        structure.ask(Holding(FORMAT_LOCK, member), *limits, _index(queue), *then)
    except StructureRefusal as refusal:
        raise refused(refusal, structure.name, queue.name, definition.max_depth) from refusal  # SD6


def _index(queue: SharedQueue) -> Index:
    """The secondary key of a queue's list (SD3)."""
    at = SECOND_KEYS.get(queue.definition.index_type)
    return Index(queue.list, 0, 0) if at is None else Index(queue.list, at, ID_LENGTH)


def close_list(queue: SharedQueue) -> None:
    """Remove everything from a queue's list but its own entry, and let nothing more be put there (SD4)."""
    queue.structure.ask(Limit(queue.list, OWN_ENTRIES))
    empty_list(queue.structure, queue.list)


def empty_list(structure: SharedStructure, at: int) -> None:
    """Remove everything from a queue's list but its own entry."""
    while True:
        (entries,) = structure.ask_heads(ReadList(at, KEY_MIN, BEFORE_LAST, PIECE))
        if not entries:
            return
        with suppress(StructureRefusal):  # somebody has got one meanwhile: look again
            structure.ask(*(Delete(entry.number, at) for entry in entries))


def _attributes(queue: LocalQueue, number: int) -> dict[str, Any]:
    return {"list": number, "packed": queue.pack().hex(), "CFSTRUCT": queue.structure}


def _definition(attributes: dict[str, Any]) -> SharedDefinition:
    queue = object_from_bytes(bytes.fromhex(attributes["packed"]))
    if not isinstance(queue, LocalQueue):
        raise MQError(Reason.OBJECT_NAME_ERROR, name=queue.name, why="a shared object that is no local queue")
    return SharedDefinition(queue, attributes["list"])
