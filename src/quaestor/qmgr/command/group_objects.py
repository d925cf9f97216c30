"""Group objects: definitions with QSGDISP(GROUP), kept in the shared repository for members to copy.

Rules
  GO1 A definition is one row of the repository, by its name space (queues of all types have one) and its name. Two
      members that change it at once: the second is told so and has changed nothing.
  GO2 What a member may do with an object of this name and kind it may do with the group's (security is asked first).
  GO3 A name is the group's once, with QSGDISP(GROUP) or with QSGDISP(SHARED) (2100).

Called by objects and copies.  Calls the group part.
"""

from collections.abc import Iterable

from quaestor.mqi.objects import QUEUE_TYPES, MQObject, object_from_bytes
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.command.dispositions import GROUP
from quaestor.qmgr.command.group_part import CSQ_ADMIN, SharingGroup
from quaestor.qmgr.command.structures import in_the_repository
from quaestor.storage.shared_tables import SharedObject

QUEUES = "queue"


def key_of(kind: type[MQObject], name: str) -> str:
    """Where a definition is kept (GO1)."""
    return f"{_namespace(kind)} {name}"


def object_in(row: SharedObject) -> MQObject:
    """The definition that a row keeps."""
    return object_from_bytes(bytes.fromhex(row.attributes["packed"]))


class GroupObjects:
    """The definitions of a group (GO1-GO3)."""

    def __init__(self, group: SharingGroup) -> None:
        self._group, self._table = group, group.tables.objects

    def all(self, nouns: Iterable[str]) -> list[MQObject]:
        rows = (row for row in self._table.all() if row.disposition == GROUP and row.kind in nouns)
        return [object_in(row) for row in rows]

    def find(self, kind: type[MQObject], name: str) -> MQObject:
        """The definition of this kind and name; 2085 when there is none."""
        return object_in(self._row(kind, name))

    def define(self, definition: MQObject, *, replace: bool) -> None:
        kind, name = type(definition), definition.name
        found = self._table.read(key_of(kind, name))
        if found is not None and (not replace or (found.disposition, found.kind) != (GROUP, kind.MQSC_TYPE)):
            raise MQError(Reason.OBJECT_ALREADY_EXISTS, name=name, type=found.kind, disposition=found.disposition)
        attributes = {"packed": definition.pack().hex()}
        made = SharedObject(_namespace(kind), name, GROUP, kind.MQSC_TYPE, attributes, version=_version(found))
        with in_the_repository(name):
            self._table.update(made)

    def active(self) -> int:
        """How many members there are to copy a definition now."""
        return sum(self._group.look(CSQ_ADMIN).connectors.values())

    def followed(self, kind: type[MQObject], name: str) -> None:
        """The copy of here follows at once."""
        self._group.followed(key_of(kind, name))

    def delete(self, kind: type[MQObject], name: str) -> None:
        row = self._row(kind, name)
        with in_the_repository(name):
            self._table.delete(row)

    def _row(self, kind: type[MQObject], name: str) -> SharedObject:
        found = self._table.read(key_of(kind, name))
        if found is None or (found.disposition, found.kind) != (GROUP, kind.MQSC_TYPE):
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, name=name, type=kind.MQSC_TYPE, disposition=GROUP)
        return found


def _namespace(kind: type[MQObject]) -> str:
    return QUEUES if issubclass(kind, QUEUE_TYPES) else kind.MQSC_TYPE.lower()


def _version(found: SharedObject | None) -> int:
    return 0 if found is None else found.version
