"""Objects: DEFINE, ALTER, DELETE and DISPLAY of what is kept on page set 0.

Rules
  OB1 DEFINE begins with the object that LIKE names, else with the default object of its kind (SYSTEM.DEFAULT.*) when
      there is one, else with the declared defaults; what the command says goes over that.
  OB2 ALTER changes what the command says and nothing else. USAGE of a queue that is open changes only with FORCE.
  OB3 A storage class goes to another page set only while no queue of it is open or holds messages; those queues go
      with it, to a page set that is open (2105). The same holds for a queue that is given another storage class. A
      class that a queue names is not deleted. A shared queue is on no page set and stays where it is.
  OB4 A local queue with QSGDISP(SHARED) is on the structure that CFSTRUCT names, for all members of the group. A model
      queue names one for its shared dynamic queues; no other object does. Neither is altered to name none.
  OB5 A definition with QSGDISP(GROUP) is kept for the members to copy. The command that makes or deletes the copy is
      generated at once here, and by every other member when it sees the change (`copies`). The group's definition
      holds whatever becomes of the copies; what keeps the copy of here from being made is said.
  OB6 QSGDISP(COPY) is made from the group's definition of that name, and what the command says goes over it. It can be
      altered like any object, until the group's definition changes or the queue manager starts.

Called by the processor.  Calls the message manager and its catalogue, the group's objects.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from quaestor.mqi.mqsc import Command, MQSCError
from quaestor.mqi.mqsc.syntax import NO_VALUE, UNACCEPTABLE
from quaestor.mqi.mqsc.words import KINDS, QUEUE
from quaestor.mqi.objects import (
    QUEUE_TYPES,
    DefinitionType,
    LocalQueue,
    MQObject,
    QueueManagerAttributes,
    StorageClass,
    attributes_of,
)
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.command.dispositions import COPY, GROUP, ORDER, PICKS, SHARED, disposition_of
from quaestor.qmgr.command.family import runs
from quaestor.qmgr.command.group_objects import GroupObjects
from quaestor.qmgr.command.parts import Parts
from quaestor.qmgr.command.refusals import met
from quaestor.qmgr.command.reply import Details, Part, Row, Said
from quaestor.qmgr.command.selecting import generic, name_keyword, named, selected
from quaestor.qmgr.message import MessageManager
from quaestor.qmgr.message.catalogue import Catalogue
from quaestor.qmgr.message.inquiring import LIVE
from quaestor.qmgr.security import Itself

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
QUEUE_NOUNS = tuple(kind.MQSC_TYPE for kind in QUEUE_TYPES)


class ObjectCommands:
    """Objects of page set 0, of structures and of the group (OB1-OB6)."""

    def __init__(self, messages: MessageManager, parts: Parts) -> None:
        self._messages, self._parts = messages, parts

    @property
    def _catalogue(self) -> Catalogue:
        return self._messages.catalogue

    def _disposition(self, command: Command) -> str:
        return disposition_of(command, in_group=self._parts.group is not None)

    # -- changing

    @runs("DEFINE", *DEFINED)
    def define(self, command: Command, user: str) -> Iterable[Part]:
        kind, name, disposition = _kind(command), _name(command), self._disposition(command)
        base = self._group.find(kind, name) if disposition == COPY else self._like(command, kind)
        values = _values(base, disposition) | command.attributes()
        _check_structure(command, kind, disposition, values)
        made, again = kind(name, copied=disposition == COPY, **values), command.has("REPLACE")
        if disposition != GROUP:
            self._defined(made, user, replace=again)
            return ()
        self._messages.administer(user, kind, name)
        self._group.define(made, replace=again)
        return self._copied(command, Command("DEFINE", command.noun, name, (("REPLACE", None), ("QSGDISP", (COPY,)))))

    def _defined(self, made: MQObject, user: str, *, replace: bool) -> None:
        old = self._catalogue.find(type(made), made.name) if replace else None
        moving = []
        if old is not None and old.disposition == made.disposition:
            changes = {field: getattr(made, field) for field in attributes_of(type(made))}
            moving = self._moving(old, changes)
            if type(old) is LocalQueue:
                self._check_usage(old.name, changes)
        with self._catalogue.moving(moving):
            self._messages.define(user, made, replace=replace)
            for queue in moving:
                self._catalogue.rehome(queue)

    def _like(self, command: Command, kind: type[MQObject]) -> MQObject | None:
        """OB1."""
        like = command.value("LIKE")
        found = self._catalogue.find(kind, like or DEFAULT_OBJECTS.get(command.noun, ""))
        if found is None and like:
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, name=like, type=command.noun)
        return found

    @runs("ALTER", *KINDS)
    def alter(self, command: Command, user: str) -> Iterable[Part]:
        kind, changes = _kind(command), command.attributes()
        if kind is QueueManagerAttributes:
            self._messages.alter(user, kind, self._catalogue.qmgr.name, **changes)
            return ()
        name, disposition = _name(command), self._disposition(command)
        if disposition == GROUP:
            self._messages.administer(user, kind, name)
            kept = self._group.find(kind, name)
            made = kept.altered(**changes)
            _check_structure(command, kind, GROUP, _values(kept, SHARED) | changes)
            self._group.define(made, replace=True)
            return self._copied(
                command, Command("DEFINE", command.noun, name, (("REPLACE", None), ("QSGDISP", (COPY,))))
            )
        old = self._picked(kind, name, disposition)
        _check_structure(command, kind, old.disposition, _values(old, SHARED) | changes)
        moving = self._moving(old, changes)
        if kind is LocalQueue and not command.has("FORCE"):
            self._check_usage(name, changes)
        with self._catalogue.moving(moving):
            self._messages.alter(user, kind, name, **changes)
            for queue in moving:
                self._catalogue.rehome(queue)
        return ()

    def _picked(self, kind: type[MQObject], name: str, disposition: str) -> MQObject:
        """The object here that a name and a disposition pick."""
        self._catalogue.follow_group()
        found = self._catalogue.find(kind, name)
        if disposition == SHARED and isinstance(found, LocalQueue) and not self._catalogue.in_force(found):
            raise MQError(Reason.OBJECT_NOT_UNIQUE, name=name, type=kind.MQSC_TYPE)
        if found is None or found.disposition not in PICKS[disposition]:
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, name=name, type=kind.MQSC_TYPE, disposition=disposition)
        return found

    def _check_usage(self, name: str, changes: dict[str, Any]) -> None:
        """OB2."""
        state = self._catalogue.state(name)
        if state.handles and changes.get("xmit", state.definition.xmit) != state.definition.xmit:
            raise MQError(Reason.OBJECT_IN_USE, name=name, type="QLOCAL", handles=state.handles)

    def _moving(self, old: MQObject, changes: dict[str, Any]) -> list[str]:
        """The queues that go to another page set with this change (OB3)."""
        if isinstance(old, StorageClass) and changes.get("page_set", old.page_set) != old.page_set:
            queues, page_set = self._private(self._catalogue.queues_of(old.name)), changes["page_set"]
        elif (
            old.disposition != SHARED
            and type(old) is LocalQueue
            and changes.get("storage_class", old.storage_class) != old.storage_class
        ):
            found = self._catalogue.find(StorageClass, changes["storage_class"])
            if found is None:
                raise MQError(Reason.STORAGE_CLASS_ERROR, storage_class=changes["storage_class"], queue=old.name)
            queues, page_set = [old.name], found.page_set
        else:
            return []
        used = [queue for queue in queues if self._catalogue.in_use(queue)]
        if used:
            raise MQError(Reason.OBJECT_IN_USE, name=old.name, type=old.MQSC_TYPE, queues=used)
        if queues and not self._catalogue.has_page_set(page_set):
            raise MQError(Reason.STORAGE_CLASS_ERROR, name=old.name, type=old.MQSC_TYPE, page_set=page_set)
        return queues

    def _private(self, queues: list[str]) -> list[str]:
        """Those that are on a page set (OB3)."""
        return [queue for queue in queues if not self._catalogue.state(queue).definition.shared]

    @runs("DELETE", *DEFINED)
    def delete(self, command: Command, user: str) -> Iterable[Part]:
        kind, name, disposition = _kind(command), _name(command), self._disposition(command)
        if disposition == GROUP:
            self._messages.administer(user, kind, name)
            self._group.delete(kind, name)
            return self._copied(command, Command("DELETE", command.noun, name, (("QSGDISP", (COPY,)),)))
        self._picked(kind, name, disposition)
        self._messages.delete(user, kind, name, purge=command.has("PURGE"))
        return ()

    # -- the group's, rule OB5

    @property
    def _group(self) -> GroupObjects:
        group = self._parts.group
        if group is None:  # `disposition_of` has refused it
            raise MQError(Reason.CF_NOT_AVAILABLE, why="no queue-sharing group")
        return GroupObjects(group)

    def _copied(self, command: Command, generated: Command) -> Iterator[Part]:
        """The copy of here follows the group's definition at once, those of other members when they see it."""
        said, me = f"'{generated.verb} {generated.noun}'", self._catalogue.qmgr.name
        self._group.followed(_kind(generated), generated.name)
        yield Said("CSQM122I", f"'{command.verb} {command.noun}' COMPLETED FOR QSGDISP(GROUP)")
        yield Said("CSQN138I", f"{said} command generated for CMDSCOPE(*), sent to {self._group.active()}")
        try:
            run = self.define if generated.verb == "DEFINE" else self.delete
            tuple(run(generated, Itself(me)))
        except MQError as error:
            yield Said("CSQN121I", f"{said} command responses from {me}")
            yield met(generated, error)

    # -- showing

    @runs("DISPLAY", *KINDS, QUEUE)
    def display(self, command: Command, _user: str) -> Iterator[Part]:
        nouns = _nouns(command)
        found = self._found(command, nouns)
        if not found and command.name and not generic(command.name):
            asked = command.value("QSGDISP")
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, name=command.name, type=command.noun, disposition=asked)
        key = name_keyword(command.noun)
        always = (key, "TYPE", "QSGDISP") if key == QUEUE else (key, "QSGDISP")
        shown = 0
        for disposition, definition in found:
            noun = definition.MQSC_TYPE
            besides = ("TYPE",) if command.noun == QUEUE else ()
            for row in selected(command, [self._row(disposition, definition)], always, besides):
                shown += 1
                yield Details(SHOWN_AS[noun], command.noun, row)
        if command.noun != "QMGR":
            yield Said("CSQM293I", f"{shown} {command.noun} FOUND MATCHING REQUEST CRITERIA")

    def _found(self, command: Command, nouns: tuple[str, ...]) -> list[tuple[str, MQObject]]:
        """What a DISPLAY is about, each with its disposition, in the order of names."""
        if nouns == ("QMGR",):
            return [("", self._catalogue.qmgr)]
        wanted = PICKS[self._disposition(command)]
        self._catalogue.follow_group()
        found = [(one.disposition, one) for one in self._catalogue.all() if one.MQSC_TYPE in nouns]
        if GROUP in wanted and self._parts.group is not None:
            found += [(GROUP, one) for one in self._group.all(nouns)]
        names = set(named(command, {one.name for _, one in found}))
        picked = [each for each in found if each[0] in wanted and each[1].name in names]
        return sorted(picked, key=lambda each: (each[1].name, ORDER.index(each[0])))

    def _row(self, disposition: str, definition: MQObject) -> Row:
        """Everything there is to show of an object."""
        row: Row = {name_keyword(definition.MQSC_TYPE): definition.name}
        if isinstance(definition, QUEUE_TYPES):
            row["TYPE"] = definition.MQSC_TYPE
        if disposition:
            row["QSGDISP"] = disposition
        for field, attribute in attributes_of(type(definition)).items():
            row[attribute.keyword] = shown_value(
                attribute.written(getattr(definition, field)), getattr(definition, field)
            )
        if type(definition) is LocalQueue and disposition != GROUP and self._catalogue.in_force(definition):
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


def _values(base: MQObject | None, disposition: str) -> dict[str, Any]:
    """What a definition takes over from another; the structure of a queue is said anew (OB1, OB4)."""
    if base is None:
        return {}
    values = {field: getattr(base, field) for field, each in attributes_of(type(base)).items() if not each.fixed}
    if type(base) is LocalQueue and disposition != SHARED:
        values.pop("structure", None)
    return values


def _check_structure(command: Command, kind: type[MQObject], disposition: str, values: dict[str, Any]) -> None:
    """A shared queue names its structure, and no other does but a model (OB4)."""
    structure, said = values.get("structure"), command.verb == "DEFINE" or command.has("CFSTRUCT")
    if values.get("definition") is DefinitionType.SHAREDYN and not structure and (said or command.has("DEFTYPE")):
        raise MQSCError("DEFTYPE(SHAREDYN) needs CFSTRUCT", command.line, code=NO_VALUE)
    if said and disposition == SHARED and not structure:
        raise MQSCError("QSGDISP(SHARED) needs CFSTRUCT", command.line, code=NO_VALUE)
    if structure and kind is LocalQueue and disposition != SHARED:
        raise MQSCError("CFSTRUCT is only for QSGDISP(SHARED)", command.line, code=UNACCEPTABLE)
