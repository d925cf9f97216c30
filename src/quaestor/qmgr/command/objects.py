"""Objects: DEFINE, ALTER, DELETE and DISPLAY of what is kept on page set 0.

Rules
  OB1 DEFINE begins with the object that LIKE names, else with the default object of its kind (SYSTEM.DEFAULT.*) when
      there is one, else with the declared defaults; what the command says goes over that.
  OB2 ALTER changes what the command says and nothing else. USAGE of a queue that is open changes only with FORCE.
  OB3 A storage class goes to another page set only while no queue of it is open or holds messages; those queues go
      with it. The same holds for a queue that is given another storage class. A class that a queue names is not
      deleted.
  OB4 A local queue with QSGDISP(SHARED) is on the structure that CFSTRUCT names, for all members of the group; any
      other object is this queue manager's own, and CFSTRUCT is not for it. A DISPLAY with QSGDISP shows those of that
      disposition: PRIVATE is QMGR, LIVE and ALL are both. GROUP and COPY are not kept: definitions for the group are
      given to each member.

Called by the processor.  Calls the message manager and its catalogue.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from quaestor.mqi.mqsc import Command, MQSCError
from quaestor.mqi.mqsc.syntax import NO_VALUE, UNACCEPTABLE
from quaestor.mqi.mqsc.words import KINDS, QUEUE
from quaestor.mqi.objects import QUEUE_TYPES, LocalQueue, MQObject, QueueManagerAttributes, StorageClass, attributes_of
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.command.family import runs
from quaestor.qmgr.command.reply import Details, Part, Row, Said
from quaestor.qmgr.command.selecting import generic, name_keyword, named, selected
from quaestor.qmgr.message import MessageManager
from quaestor.qmgr.message.catalogue import Catalogue
from quaestor.qmgr.message.inquiring import LIVE

DEFINED = tuple(noun for noun in KINDS if noun != "QMGR")
SHOWN_AS = {
    "STGCLASS": "CSQM400I",
    "QLOCAL": "CSQM401I",
    "QMODEL": "CSQM402I",
    "QALIAS": "CSQM403I",
    "QREMOTE": "CSQM404I",
    "NAMELIST": "CSQM406I",
    "PROCESS": "CSQM408I",
    "QMGR": "CSQM409I",
}
DEFAULT_OBJECTS = {
    "QLOCAL": "SYSTEM.DEFAULT.LOCAL.QUEUE",
    "QMODEL": "SYSTEM.DEFAULT.MODEL.QUEUE",
    "QALIAS": "SYSTEM.DEFAULT.ALIAS.QUEUE",
    "QREMOTE": "SYSTEM.DEFAULT.REMOTE.QUEUE",
    "PROCESS": "SYSTEM.DEFAULT.PROCESS",
    "NAMELIST": "SYSTEM.DEFAULT.NAMELIST",
}
SHARED = "SHARED"
_DISPOSITIONS = {
    "QMGR": ("QMGR",),
    "PRIVATE": ("QMGR",),
    SHARED: (SHARED,),
    "LIVE": ("QMGR", SHARED),
    "ALL": ("QMGR", SHARED),
}
QUEUE_NOUNS = tuple(kind.MQSC_TYPE for kind in QUEUE_TYPES)


class ObjectCommands:
    """Objects of page set 0 (OB1-OB4)."""

    def __init__(self, messages: MessageManager) -> None:
        self._messages = messages

    @property
    def _catalogue(self) -> Catalogue:
        return self._messages.catalogue

    # -- changing

    @runs("DEFINE", *DEFINED)
    def define(self, command: Command, user: str) -> Iterable[Part]:
        kind = _kind(command)
        values = self._base(command, kind) | command.attributes()
        _check_structure(command, values)
        self._messages.define(user, kind(_name(command), **values), replace=command.has("REPLACE"))
        return ()

    def _base(self, command: Command, kind: type[MQObject]) -> dict[str, Any]:
        """OB1."""
        like = command.value("LIKE")
        found = self._catalogue.find(kind, like or DEFAULT_OBJECTS.get(command.noun, ""))
        if found is None:
            if like:
                raise MQError(Reason.UNKNOWN_OBJECT_NAME, name=like, type=command.noun)
            return {}
        base = {field: getattr(found, field) for field, each in attributes_of(kind).items() if not each.fixed}
        if command.value("QSGDISP") != SHARED:
            base.pop("structure", None)
        return base

    @runs("ALTER", *KINDS)
    def alter(self, command: Command, user: str) -> Iterable[Part]:
        kind, changes = _kind(command), command.attributes()
        name = self._catalogue.qmgr.name if kind is QueueManagerAttributes else _name(command)
        old = self._catalogue.find(kind, name)
        if old is None or command.value("QSGDISP", _disposition(old)) not in {_disposition(old), "PRIVATE"}:
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, name=name, type=command.noun)
        moving = self._moving(old, changes)
        if kind is LocalQueue and not command.has("FORCE"):
            self._check_usage(name, changes)
        self._messages.alter(user, kind, name, **changes)
        for queue in moving:
            self._catalogue.rehome(queue)
        return ()

    def _check_usage(self, name: str, changes: dict[str, Any]) -> None:
        """OB2."""
        state = self._catalogue.state(name)
        if state.handles and changes.get("xmit", state.definition.xmit) != state.definition.xmit:
            raise MQError(Reason.OBJECT_IN_USE, name=name, type="QLOCAL", handles=state.handles)

    def _moving(self, old: MQObject, changes: dict[str, Any]) -> list[str]:
        """The queues that go to another page set with this change (OB3)."""
        if isinstance(old, StorageClass) and changes.get("page_set", old.page_set) != old.page_set:
            queues = self._queues_of(old.name)
        elif type(old) is LocalQueue and changes.get("storage_class", old.storage_class) != old.storage_class:
            if self._catalogue.find(StorageClass, changes["storage_class"]) is None:
                raise MQError(Reason.STORAGE_CLASS_ERROR, storage_class=changes["storage_class"], queue=old.name)
            queues = [old.name]
        else:
            return []
        used = [queue for queue in queues if self._catalogue.in_use(queue)]
        if used:
            raise MQError(Reason.OBJECT_IN_USE, name=old.name, type=old.MQSC_TYPE, queues=used)
        return queues

    def _queues_of(self, storage_class: str) -> list[str]:
        return [queue.name for queue in self._catalogue.local_queues() if queue.storage_class == storage_class]

    @runs("DELETE", *DEFINED)
    def delete(self, command: Command, user: str) -> Iterable[Part]:
        kind, name = _kind(command), _name(command)
        if kind is StorageClass and (users := self._queues_of(name)):
            raise MQError(Reason.OBJECT_IN_USE, name=name, type=command.noun, queues=users)
        self._messages.delete(user, kind, name, purge=command.has("PURGE"))
        return ()

    # -- showing

    @runs("DISPLAY", *KINDS, QUEUE)
    def display(self, command: Command, _user: str) -> Iterator[Part]:
        _check_disposition(command)
        nouns = _nouns(command)
        found = self._found(command, nouns)
        if not found and command.name and not generic(command.name):
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, name=command.name, type=command.noun)
        key = name_keyword(command.noun)
        always = (key, "TYPE", "QSGDISP") if key == QUEUE else (key, "QSGDISP")
        shown = 0
        for definition in found:
            noun = definition.MQSC_TYPE
            besides = ("TYPE",) if command.noun == QUEUE else ()
            for row in selected(command, [self._row(definition)], always, besides):
                shown += 1
                yield Details(SHOWN_AS[noun], command.noun, row)
        if command.noun != "QMGR":
            yield Said("CSQM293I", f"{shown} {command.noun} FOUND MATCHING REQUEST CRITERIA")

    def _found(self, command: Command, nouns: tuple[str, ...]) -> list[MQObject]:
        if nouns == ("QMGR",):
            return [self._catalogue.qmgr]
        wanted = _DISPOSITIONS[command.value("QSGDISP", "ALL")]
        by_name = {
            one.name: one for one in self._catalogue.all() if one.MQSC_TYPE in nouns and _disposition(one) in wanted
        }
        return [by_name[name] for name in named(command, by_name)]

    def _row(self, definition: MQObject) -> Row:
        """Everything there is to show of an object."""
        row: Row = {name_keyword(definition.MQSC_TYPE): definition.name}
        if isinstance(definition, QUEUE_TYPES):
            row["TYPE"] = definition.MQSC_TYPE
        if not isinstance(definition, QueueManagerAttributes):
            row["QSGDISP"] = _disposition(definition)
        for field, attribute in attributes_of(type(definition)).items():
            row[attribute.keyword] = shown_value(
                attribute.written(getattr(definition, field)), getattr(definition, field)
            )
        if type(definition) is LocalQueue:
            state = self._catalogue.state(definition.name)
            row |= {keyword: live(state) for keyword, live in LIVE.items()}
            row["PSID"] = getattr(getattr(state.stored, "page_set", None), "number", definition.page_set)
        return row


def shown_value(written: tuple[str, ...], value: Any) -> Any:
    """A value as a reply has it: numbers as numbers, words and texts as written."""
    if isinstance(value, tuple):
        return value
    (text,) = written
    return int(text) if not isinstance(value, str) and text.lstrip("-").isdecimal() else text


def _kind(command: Command) -> type[MQObject]:
    _check_disposition(command)
    kind = command.kind
    if kind is None:
        raise MQSCError(f"{command.noun} is not an object", command.line, code=UNACCEPTABLE)
    return kind


def _name(command: Command) -> str:
    if not command.name:
        raise MQSCError(f"{command.noun} needs a name", command.line, code=NO_VALUE)
    return command.name


def _nouns(command: Command) -> tuple[str, ...]:
    if command.noun != QUEUE:
        return (command.noun,)
    kind = command.word("TYPE", "ALL", "ALL", *QUEUE_NOUNS)
    return QUEUE_NOUNS if kind == "ALL" else (kind,)


def _check_disposition(command: Command) -> None:
    """OB4."""
    choices = ("QMGR", "PRIVATE", *((SHARED,) if command.noun in {"QLOCAL", "QMODEL", QUEUE} else ()))
    command.word("QSGDISP", "QMGR", *(_DISPOSITIONS if command.verb == "DISPLAY" else choices))


def _disposition(definition: MQObject) -> str:
    return SHARED if isinstance(definition, LocalQueue) and definition.shared else "QMGR"


def _check_structure(command: Command, values: dict[str, Any]) -> None:
    """A shared queue names its structure, and no other does (OB4)."""
    shared = command.value("QSGDISP") == SHARED
    if shared and not values.get("structure"):
        raise MQSCError("QSGDISP(SHARED) needs CFSTRUCT", command.line, code=NO_VALUE)
    if values.get("structure") and not shared:
        raise MQSCError("CFSTRUCT is only for QSGDISP(SHARED)", command.line, code=UNACCEPTABLE)
