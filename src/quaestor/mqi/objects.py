"""Objects: the definitions a queue manager keeps, with their attributes and z/OS defaults.

Rules
  O1  A definition is a frozen value; altering one makes another. What moves while a queue is used (depth,
      handles, cursors) is not here.
  O2  A queue name is unique among local, alias, remote and model queues; processes, namelists and storage
      classes have a name space each.
  O3  The stored form is a type byte and the attributes that differ from the default (see `attributes`);
      `object_from_bytes` gives back an equal object, or names what it cannot read. The type byte of a copy has its
      highest bit set.
  O4  Every attribute is checked when the object is built; a wrong one never reaches the page set. One that is a number
      for a word (clients send numbers) becomes what the word means: whoever reads it asks which it is.
  O5  An object has one disposition in its queue-sharing group: QMGR is a queue manager's own, COPY is its copy of a
      definition that the group keeps, SHARED a local queue on a structure. GROUP, the definition that is copied, is
      said where it is kept. A model queue may name a structure and is not on it: only a DEFTYPE(SHAREDYN) makes its
      dynamic queues shared.
  O6  What a queue manager is (its level, its platform, the queue of its command server) is declared with what it is
      told, and is the same for each. Its platform is UNIX: it is where it runs.

Called by resolution, mqsc, the data manager (page set 0), the message manager.  Calls attributes, names.
"""

from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import Any, ClassVar, Self, TypeVar

from quaestor.mqi.attributes import (
    Attribute,
    AttributeValueError,
    declared,
    enumerated,
    number,
    object_name,
    object_names,
    pack_attributes,
    switch,
    text,
    unpack_attributes,
    words,
)
from quaestor.mqi.names import NAME_RULE, is_name, is_storage_class

DEPTH_MAX = 999_999_999
MESSAGE_MAX = 104_857_600
MESSAGE_DEFAULT = 4_194_304
PRIORITY_MAX = 9
COMMAND_LEVEL = 900
COMMAND_QUEUE = "SYSTEM.ADMIN.COMMAND.QUEUE"
"""Where the command server looks for PCF."""

COPIED = 0x80
"""The bit of the type byte that marks a copy (O3)."""


class TriggerType(IntEnum):
    """When a message causes a trigger message."""

    NONE = 0
    FIRST = 1
    EVERY = 2
    DEPTH = 3


class IndexType(IntEnum):
    """By what a queue is indexed for gets."""

    NONE = 0
    MSGID = 1
    CORRELID = 2
    MSGTOKEN = 4
    GROUPID = 5


class DefinitionType(IntEnum):
    """How a local queue came to be."""

    PREDEFINED = 1
    PERMDYN = 2
    TEMPDYN = 3
    SHAREDYN = 4


class QueueType(IntEnum):
    """The kinds of queue definition, with MQQT's numbers."""

    LOCAL = 1
    MODEL = 2
    ALIAS = 3
    REMOTE = 6


@dataclass(frozen=True, slots=True)
class MQObject:
    """What all definitions have in common."""

    name: str
    copied: bool = field(default=False, kw_only=True)
    """Whether it is this queue manager's copy of a definition of the group (O5)."""

    TYPE_CODE: ClassVar[int] = 0
    MQSC_TYPE: ClassVar[str] = ""
    NAME_RULE: ClassVar[str] = NAME_RULE

    def __post_init__(self) -> None:
        if not self._name_is_valid():
            raise AttributeValueError(self.MQSC_TYPE, self.name, self.NAME_RULE)
        for name, attribute in attributes_of(type(self)).items():
            value, kind = getattr(self, name), type(attribute.default)
            attribute.check(value)  # O4
            if attribute.words is not None and type(value) is not kind:
                object.__setattr__(self, name, kind(value))

    def _name_is_valid(self) -> bool:
        return is_name(self.name)

    def pack(self) -> bytes:
        """The stored form (O3)."""
        kind = self.TYPE_CODE | (COPIED if self.copied else 0)
        return bytes((kind,)) + pack_attributes(self, attributes_of(type(self)))

    @property
    def disposition(self) -> str:
        """QSGDISP (O5)."""
        return "COPY" if self.copied else "QMGR"

    def altered(self, **changes: Any) -> "Self":
        """The same object with other attributes (O1)."""
        return replace(self, **changes)


ObjectT = TypeVar("ObjectT", bound=MQObject)
ENABLED = {"ENABLED": True, "DISABLED": False}
YES_NO = {"YES": True, "NO": False}


@dataclass(frozen=True, slots=True)
class LocalQueue(MQObject):
    """QLOCAL: a queue that holds messages."""

    TYPE_CODE: ClassVar[int] = 1
    MQSC_TYPE: ClassVar[str] = "QLOCAL"
    queue_type: ClassVar[QueueType] = QueueType.LOCAL

    descr: str = text("DESCR", 1, 64)
    put_allowed: bool = words("PUT", 2, True, **ENABLED)
    get_allowed: bool = words("GET", 3, True, **ENABLED)
    def_priority: int = number("DEFPRTY", 4, 0, 0, PRIORITY_MAX)
    def_persistent: bool = words("DEFPSIST", 5, False, **YES_NO)
    max_depth: int = number("MAXDEPTH", 6, DEPTH_MAX, 0, DEPTH_MAX)
    max_msg_length: int = number("MAXMSGL", 7, MESSAGE_DEFAULT, 0, MESSAGE_MAX)
    fifo: bool = words("MSGDLVSQ", 8, False, PRIORITY=False, FIFO=True)
    share: bool = switch("SHARE", 9, False)
    def_exclusive: bool = words("DEFSOPT", 10, True, EXCL=True, SHARED=False)
    harden_backout: bool = switch("HARDENBO", 11, False)
    backout_threshold: int = number("BOTHRESH", 12, 0, 0, DEPTH_MAX)
    backout_queue: str = object_name("BOQNAME", 13)
    xmit: bool = words("USAGE", 14, False, NORMAL=False, XMITQ=True)
    trigger: bool = switch("TRIGGER", 15, False)
    trigger_type: TriggerType = enumerated("TRIGTYPE", 16, TriggerType.FIRST)  # noqa: RUF009 - a declaration
    trigger_depth: int = number("TRIGDPTH", 17, 1, 1, DEPTH_MAX)
    trigger_priority: int = number("TRIGMPRI", 18, 0, 0, PRIORITY_MAX)
    trigger_data: str = text("TRIGDATA", 19, 64)
    process: str = object_name("PROCESS", 20)
    initiation_queue: str = object_name("INITQ", 21)
    depth_high_percent: int = number("QDEPTHHI", 22, 80, 0, 100)
    depth_low_percent: int = number("QDEPTHLO", 23, 40, 0, 100)
    depth_max_event: bool = words("QDPMAXEV", 24, True, **ENABLED)
    depth_high_event: bool = words("QDPHIEV", 25, False, **ENABLED)
    depth_low_event: bool = words("QDPLOEV", 26, False, **ENABLED)
    service_interval_ms: int = number("QSVCINT", 27, DEPTH_MAX, 0, DEPTH_MAX)
    service_interval_event: int = words("QSVCIEV", 28, 0, NONE=0, HIGH=1, OK=2)
    retention_hours: int = number("RETINTVL", 29, DEPTH_MAX, 0, DEPTH_MAX)
    storage_class: str = text("STGCLASS", 30, 8, "DEFAULT")
    index_type: IndexType = enumerated("INDXTYPE", 31, IndexType.NONE)  # noqa: RUF009 - a declaration
    accounting: int = words("ACCTQ", 32, -3, QMGR=-3, OFF=0, ON=1)
    monitoring: int = words("MONQ", 33, -3, QMGR=-3, OFF=0, LOW=17, MEDIUM=33, HIGH=65)
    property_control: int = words("PROPCTL", 34, 0, COMPAT=0, NONE=1, ALL=2, FORCE=3, V6COMPAT=4)
    max_expiry: int = number("CAPEXPRY", 35, DEPTH_MAX + 1, 1, DEPTH_MAX + 1, NOLIMIT=DEPTH_MAX + 1)
    definition: DefinitionType = enumerated("DEFTYPE", 36, DefinitionType.PREDEFINED, True)  # noqa: RUF009 - a declaration
    page_set: int = number("PSID", 37, -1, -1, 99, fixed=True)  # -1 until the first message chooses it
    structure: str = text("CFSTRUCT", 38, 12)  # of a shared queue; any other has none

    @property
    def shared(self) -> bool:
        """QSGDISP(SHARED): its messages are in a coupling facility structure, for all members of the group."""
        return bool(self.structure)

    @property
    def disposition(self) -> str:
        return "SHARED" if self.shared else "COPY" if self.copied else "QMGR"


DYNAMIC = ("TEMPDYN", "PERMDYN", "SHAREDYN")


@dataclass(frozen=True, slots=True)
class ModelQueue(LocalQueue):
    """QMODEL: the pattern of a dynamic queue; opening it makes one."""

    TYPE_CODE: ClassVar[int] = 2
    MQSC_TYPE: ClassVar[str] = "QMODEL"
    queue_type: ClassVar[QueueType] = QueueType.MODEL

    definition: DefinitionType = enumerated(  # noqa: RUF009 - a declaration
        "DEFTYPE", 36, DefinitionType.TEMPDYN, **{name: DefinitionType[name] for name in DYNAMIC}
    )

    @property
    def shared(self) -> bool:
        """Never: what it makes may be (O5)."""
        return False

    def instance(self, name: str) -> LocalQueue:
        """The dynamic queue that opening this model makes."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        structure = self.structure if self.definition is DefinitionType.SHAREDYN else ""
        return LocalQueue(**values | {"name": name, "structure": structure, "copied": False})


@dataclass(frozen=True, slots=True)
class AliasQueue(MQObject):
    """QALIAS: another name for a queue, with its own inhibits and defaults."""

    TYPE_CODE: ClassVar[int] = 3
    MQSC_TYPE: ClassVar[str] = "QALIAS"
    queue_type: ClassVar[QueueType] = QueueType.ALIAS

    target: str = object_name("TARGET", 1)
    descr: str = text("DESCR", 2, 64)
    put_allowed: bool = words("PUT", 3, True, **ENABLED)
    get_allowed: bool = words("GET", 4, True, **ENABLED)
    def_priority: int = number("DEFPRTY", 5, 0, 0, PRIORITY_MAX)
    def_persistent: bool = words("DEFPSIST", 6, False, **YES_NO)
    target_type: int = words("TARGTYPE", 7, 1, QUEUE=1, TOPIC=8)


@dataclass(frozen=True, slots=True)
class RemoteQueue(MQObject):
    """QREMOTE: a queue on another queue manager, or (without RNAME) a queue manager alias."""

    TYPE_CODE: ClassVar[int] = 4
    MQSC_TYPE: ClassVar[str] = "QREMOTE"
    queue_type: ClassVar[QueueType] = QueueType.REMOTE

    remote_name: str = object_name("RNAME", 1)
    remote_qmgr: str = object_name("RQMNAME", 2)
    xmit_queue: str = object_name("XMITQ", 3)
    descr: str = text("DESCR", 4, 64)
    put_allowed: bool = words("PUT", 5, True, **ENABLED)
    def_priority: int = number("DEFPRTY", 6, 0, 0, PRIORITY_MAX)
    def_persistent: bool = words("DEFPSIST", 7, False, **YES_NO)


@dataclass(frozen=True, slots=True)
class Process(MQObject):
    """PROCESS: the application that a trigger message names."""

    TYPE_CODE: ClassVar[int] = 5
    MQSC_TYPE: ClassVar[str] = "PROCESS"

    descr: str = text("DESCR", 1, 64)
    appl_type: int = words("APPLTYPE", 2, 2, MVS=2, CICS=1, IMS=3, UNIX=6, WINDOWSNT=11, DEF=2)
    appl_id: str = text("APPLICID", 3, 256)
    user_data: str = text("USERDATA", 4, 128)
    env_data: str = text("ENVRDATA", 5, 128)


@dataclass(frozen=True, slots=True)
class Namelist(MQObject):
    """NAMELIST: names an application reads together."""

    TYPE_CODE: ClassVar[int] = 6
    MQSC_TYPE: ClassVar[str] = "NAMELIST"

    descr: str = text("DESCR", 1, 64)
    names: tuple[str, ...] = object_names("NAMES", 2)


@dataclass(frozen=True, slots=True)
class StorageClass(MQObject):
    """STGCLASS: which page set the queues of a kind live on."""

    TYPE_CODE: ClassVar[int] = 7
    MQSC_TYPE: ClassVar[str] = "STGCLASS"
    NAME_RULE: ClassVar[str] = "1 to 8 characters of A-Z 0-9, the first no digit"

    page_set: int = number("PSID", 1, 0, 0, 99)
    descr: str = text("DESCR", 2, 64)

    def _name_is_valid(self) -> bool:
        return is_storage_class(self.name)


@dataclass(frozen=True, slots=True)
class QueueManagerAttributes(MQObject):
    """QMGR: what holds for the whole queue manager."""

    TYPE_CODE: ClassVar[int] = 8
    MQSC_TYPE: ClassVar[str] = "QMGR"

    descr: str = text("DESCR", 1, 64)
    dead_letter_queue: str = object_name("DEADQ", 2)
    def_xmit_queue: str = object_name("DEFXMITQ", 3)
    max_uncommitted: int = number("MAXUMSGS", 4, 10_000, 1, DEPTH_MAX)
    max_msg_length: int = number("MAXMSGL", 5, MESSAGE_MAX, 32_768, MESSAGE_MAX)
    trigger_interval_ms: int = number("TRIGINT", 6, DEPTH_MAX, 0, DEPTH_MAX)
    ccsid: int = number("CCSID", 7, 1208, 1, 65_535)
    expiry_interval_s: int = number("EXPRYINT", 8, 0, 0, DEPTH_MAX, OFF=0)
    max_handles: int = number("MAXHANDS", 9, 256, 1, DEPTH_MAX)
    accounting: int = words("ACCTQ", 10, 0, NONE=-1, OFF=0, ON=1)
    monitoring: int = words("MONQ", 11, 0, NONE=-1, OFF=0, LOW=17, MEDIUM=33, HIGH=65)
    statistics_interval_s: int = number("STATINT", 12, 1800, 1, 604_800)
    inhibit_event: bool = words("INHIBTEV", 13, False, **ENABLED)
    local_event: bool = words("LOCALEV", 14, False, **ENABLED)
    remote_event: bool = words("REMOTEEV", 15, False, **ENABLED)
    performance_event: bool = words("PERFMEV", 16, False, **ENABLED)
    start_stop_event: bool = words("STRSTPEV", 17, True, **ENABLED)
    max_priority: int = number("MAXPRTY", 18, PRIORITY_MAX, 0, PRIORITY_MAX, fixed=True)
    command_level: int = number("CMDLEVEL", 19, COMMAND_LEVEL, 0, DEPTH_MAX, fixed=True)
    platform: int = words("PLATFORM", 20, 3, True, MVS=1, UNIX=3)  # O6: MQPL's numbers
    syncpoint: bool = switch("SYNCPT", 21, True, fixed=True)
    command_queue: str = text("COMMANDQ", 22, 48, COMMAND_QUEUE, fixed=True)


Queue = LocalQueue | ModelQueue | AliasQueue | RemoteQueue
OBJECT_TYPES: dict[int, type[MQObject]] = {
    cls.TYPE_CODE: cls
    for cls in (
        LocalQueue,
        ModelQueue,
        AliasQueue,
        RemoteQueue,
        Process,
        Namelist,
        StorageClass,
        QueueManagerAttributes,
    )
}
QUEUE_TYPES: tuple[type[MQObject], ...] = (LocalQueue, ModelQueue, AliasQueue, RemoteQueue)
_DECLARED: dict[type, dict[str, Attribute]] = {}


def definition_of(given: object) -> MQObject:
    """What is to be defined; what is no definition is told where it is given."""
    if not isinstance(given, MQObject):
        raise TypeError(f"define takes a definition, such as LocalQueue('ORDERS'), not {given!r}")
    return given


def attributes_of(cls: type[MQObject]) -> dict[str, Attribute]:
    """The attributes of an object class by field name."""
    if cls not in _DECLARED:
        _DECLARED[cls] = declared(cls)
    return _DECLARED[cls]


def object_from_bytes(packed: bytes) -> MQObject:
    """The object whose stored form this is (O3)."""
    cls = OBJECT_TYPES.get(packed[0] & ~COPIED) if packed else None
    if cls is None:
        raise ValueError(f"object type {packed[:1].hex() or 'missing'} was written by a newer release")
    return cls(**unpack_attributes(packed[1:], attributes_of(cls)), copied=bool(packed[0] & COPIED))
