"""Group tables: what a queue-sharing group keeps in the shared tables, as values.

Rules
  GT1 A value is written as its fields; its `version` is that of its row (T2) and is never written.
  GT2 A member has a number from 1 to 31 that no other member has while it belongs to the group: joining looks at the
      members and is refused, and tried again, when the table has changed meanwhile.
  GT3 Shared objects of one namespace have one name whatever their disposition: a SHARED and a GROUP queue of the same
      name exclude each other.

Called by the db2 and coupling facility managers.  Calls table.
"""

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Generic, TypeVar

from quaestor.storage.shared_tables.table import ABSENT, Change, ChangedError, Drop, Put, Row, SharedTables, Unchanged

MEMBERS_MAX = 31


class GroupIsFullError(Exception):
    """A group has 31 members at most (GT2)."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A value that is a row of a table."""

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]]
    """The fields that name it."""

    version: int = field(default=ABSENT, compare=False, kw_only=True)

    @property
    def key(self) -> str:
        """The name of its row."""
        return " ".join(getattr(self, name) for name in self.KEY)


@dataclass(frozen=True, slots=True)
class Member(Kept):
    """A queue manager of the group."""

    TABLE: ClassVar[str] = "members"
    KEY: ClassVar[tuple[str, ...]] = ("name",)
    name: str
    number: int
    log_directory: str


@dataclass(frozen=True, slots=True)
class Structure(Kept):
    """A CFSTRUCT: its definition, and what has become of the structure."""

    TABLE: ClassVar[str] = "structures"
    KEY: ClassVar[tuple[str, ...]] = ("name",)
    name: str
    attributes: dict[str, Any]
    status: str = "EMPTY"
    failed_us: int = 0
    recovering: str = ""
    """The member that recovers it."""


@dataclass(frozen=True, slots=True)
class Backup(Kept):
    """The last backup of a structure: on whose log, from where to where, when it began."""

    TABLE: ClassVar[str] = "backups"
    KEY: ClassVar[tuple[str, ...]] = ("structure",)
    structure: str
    member: str
    start_rba: int
    end_rba: int
    taken_us: int
    bytes: int = 0
    marks: dict[str, list[int]] = field(default_factory=dict)
    """{member: [RBA from which its log is needed, epoch and counter from which its puts are on the log]}"""

    def needs(self, member: str) -> list[int]:
        """RBAs from which the log of a member is needed to recover the structure."""
        mark = self.marks.get(member)
        return ([] if mark is None else [mark[0]]) + ([self.start_rba] if self.member == member else [])


@dataclass(frozen=True, slots=True)
class DataSet(Kept):
    """The shared message data set of a member for a structure."""

    TABLE: ClassVar[str] = "data_sets"
    KEY: ClassVar[tuple[str, ...]] = ("structure", "member")
    structure: str
    member: str
    path: str
    status: str = "NEW"
    access: str = "ENABLED"
    buffers: str = "DEFAULT"
    expand: str = "DEFAULT"


@dataclass(frozen=True, slots=True)
class SharedObject(Kept):
    """A definition with QSGDISP(SHARED) or QSGDISP(GROUP)."""

    TABLE: ClassVar[str] = "objects"
    KEY: ClassVar[tuple[str, ...]] = ("namespace", "name")  # GT3
    namespace: str
    name: str
    disposition: str
    kind: str
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChannelState(Kept):
    """The status of a shared channel (SCST)."""

    TABLE: ClassVar[str] = "channels"
    KEY: ClassVar[tuple[str, ...]] = ("channel", "instance")
    channel: str
    instance: str
    member: str
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SyncKey(Kept):
    """Where a shared channel finds its synchronisation message (SSKT)."""

    TABLE: ClassVar[str] = "sync_keys"
    KEY: ClassVar[tuple[str, ...]] = ("channel", "instance")
    channel: str
    instance: str
    member: str
    message_key: str


KeptT = TypeVar("KeptT", bound=Kept)


class Table(Generic[KeptT]):
    """One table of the group, its rows as values (GT1)."""

    def __init__(self, tables: SharedTables, kind: type[KeptT]) -> None:
        self._tables, self._kind = tables, kind
        self.name = kind.TABLE

    def read(self, key: str) -> KeptT | None:
        row = self._tables.read(self.name, key)
        return None if row is None else self._value(row)

    def all(self) -> list[KeptT]:
        return [self._value(row) for row in self._tables.rows(self.name)]

    def changed_since(self, since: int) -> tuple[list[KeptT], list[str]]:
        """What was written since, in the order of the changes, and the keys of what was deleted."""
        rows = self._tables.changed_since(self.name, since)
        written = [self._value(row) for row in rows if row.value is not None]
        return written, [row.name for row in rows if row.value is None]

    def insert(self, value: KeptT) -> KeptT:
        """A new row; ChangedError when it is there already."""
        return self._written(value, ABSENT)

    def update(self, value: KeptT) -> KeptT:
        """The row as it was read, with other fields; ChangedError when another member has changed it meanwhile."""
        return self._written(value, value.version)

    def write(self, value: KeptT) -> KeptT:
        """Whatever is there."""
        return self._written(value, None)

    def delete(self, value: KeptT) -> None:
        """The row as it was read; ChangedError when another member has changed it meanwhile."""
        self._tables.change(Drop(self.name, value.key, value.version))

    def _written(self, value: KeptT, version: int | None) -> KeptT:
        return replace(value, version=self._tables.change(put(value, version)))

    def _value(self, row: Row) -> KeptT:
        known = {each.name for each in fields(self._kind)}
        given = {name: value for name, value in (row.value or {}).items() if name in known}
        return self._kind(**given, version=row.version)


def put(value: Kept, version: int | None = None) -> Put:
    """The change that writes a value, to be made together with others."""
    written = {name: each for name, each in asdict(value).items() if name != "version"}
    return Put(value.TABLE, value.key, written, version)


class GroupTables:
    """Every table of a queue-sharing group."""

    def __init__(self, tables: SharedTables) -> None:
        self.tables = tables
        self.members = Table(tables, Member)
        self.structures = Table(tables, Structure)
        self.backups = Table(tables, Backup)
        self.data_sets = Table(tables, DataSet)
        self.objects = Table(tables, SharedObject)
        self.channels = Table(tables, ChannelState)
        self.sync_keys = Table(tables, SyncKey)

    def newest(self) -> int:
        """The number of the last change; compare it with the one seen last before asking further."""
        return self.tables.newest()

    def change(self, *changes: Change) -> int:
        """Several changes as one (T3)."""
        return self.tables.change(*changes)

    def join(self, name: str, log_directory: str) -> Member:
        """Belong to the group: as the member it was, or as a new one with the lowest free number (GT2)."""
        while True:
            seen = self.newest()
            members = {member.name: member for member in self.members.all()}
            known = members.get(name)
            number = known.number if known else _free_number(members.values())
            member = Member(name, number, log_directory)
            try:
                version = self.change(Unchanged(Member.TABLE, seen), put(member))
            except ChangedError:
                continue
            return replace(member, version=version)

    def close(self) -> None:
        self.tables.close()


def _free_number(members: Any) -> int:
    taken = {member.number for member in members}
    for number in range(1, MEMBERS_MAX + 1):
        if number not in taken:
            return number
    raise GroupIsFullError(f"the group has {MEMBERS_MAX} members")
