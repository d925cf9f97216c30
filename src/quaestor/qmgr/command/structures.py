"""Structures: DEFINE, ALTER, DELETE, DISPLAY, BACKUP, RECOVER and RESET of CFSTRUCT.

Rules
  CU1 These commands need a queue-sharing group; without one they are refused (CSQM121I).
  CU2 A definition is for the whole group, kept in the shared repository. Two members that change it at once: the second
      is told so and has changed nothing.
  CU3 CFLEVEL is never lowered. A structure with queues, or in use, is not deleted.
  CU4 BACKUP needs RECOVER(YES). RECOVER needs a structure that has failed, or a data set of it that has; TYPE(PURGE)
      recovers it to empty. A generic name means those of which that is so; without any it is refused as well.
  CU5 RESET ACTION(FAIL) makes a structure of CFLEVEL(5) fail for all members, as if it had lost what is in it.

Called by the processor.  Calls the group part.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from quaestor.mqi.mqsc import Command, MQSCError
from quaestor.mqi.mqsc.syntax import NO_VALUE, UNACCEPTABLE
from quaestor.mqi.reasons import MQError, Reason
from quaestor.mqi.structures import ATTRIBUTES, OFFLOAD_LEVEL, RULE_SIZES, StructureDefinition
from quaestor.qmgr.command.family import runs
from quaestor.qmgr.command.group_part import SharingGroup
from quaestor.qmgr.command.parts import Parts
from quaestor.qmgr.command.reply import Details, Part, Row, Said
from quaestor.qmgr.command.selecting import generic, named, selected
from quaestor.storage.shared_tables import ChangedError, RepositoryAwayError, Structure

RESET_LEVEL = 5


class StructureCommands:
    """Structures of the group (CU1-CU5)."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @runs("DEFINE", "CFSTRUCT")
    def define(self, command: Command, _user: str) -> Iterable[Part]:
        group, name = the_group(self._parts, command), _name(command)
        old = group.tables.structures.read(name)
        if old is not None and not command.has("REPLACE"):
            raise MQError(Reason.OBJECT_ALREADY_EXISTS, type="CFSTRUCT", name=name)
        made = replace(self._like(group, command, name), **command.typed(ATTRIBUTES))
        if not command.value("LIKE"):
            made = made.without_rules([word for word in RULE_SIZES if command.has(word)])
        if old is not None:
            _check_level(old, made)
        row = Structure(name, made.row()) if old is None else replace(old, attributes=made.row())
        _keep(group, row)
        return ()

    def _like(self, group: SharingGroup, command: Command, name: str) -> StructureDefinition:
        like = command.value("LIKE")
        if not like:
            return StructureDefinition(name)
        return StructureDefinition.of(name, _found(group, like).attributes)

    @runs("ALTER", "CFSTRUCT")
    def alter(self, command: Command, _user: str) -> Iterable[Part]:
        group = the_group(self._parts, command)
        old = _found(group, _name(command))
        made = replace(StructureDefinition.of(old.name, old.attributes), **command.typed(ATTRIBUTES))
        _check_level(old, made)
        if command.has("SIZE"):
            group.resize(old.name, made.size_kb)
        _keep(group, replace(old, attributes=made.row()))
        return ()

    @runs("DELETE", "CFSTRUCT")
    def delete(self, command: Command, _user: str) -> Iterable[Part]:
        group = the_group(self._parts, command)
        old = _found(group, _name(command))
        queues = group.queues_on(old.name)
        if queues:
            raise MQError(Reason.OBJECT_IN_USE, type="CFSTRUCT", name=old.name, queues=queues)  # CU3
        with in_the_repository(old.name):
            group.tables.structures.delete(old)
        group.deleted(old.name)
        return ()

    @runs("DISPLAY", "CFSTRUCT")
    def display(self, command: Command, _user: str) -> Iterator[Part]:
        group = the_group(self._parts, command)
        rows = [_shown(each) for each in picked(group, command)]
        shown = 0
        for row in selected(command, rows, ("CFSTRUCT",)):
            shown += 1
            yield Details("CSQM430I", "CFSTRUCT", row)
        yield Said("CSQM293I", f"{shown} CFSTRUCT FOUND MATCHING REQUEST CRITERIA")

    # -- backup and recovery, rules CU4 and CU5

    @runs("RESET", "CFSTRUCT", latched=False)
    def reset(self, command: Command, _user: str) -> Iterable[Part]:
        group = the_group(self._parts, command)
        found = _found(group, _name(command))
        if not command.has("ACTION"):
            raise MQSCError("RESET CFSTRUCT needs ACTION(FAIL)", command.line, code=NO_VALUE)
        command.word("ACTION", "", "FAIL")
        if StructureDefinition.of(found.name, found.attributes).level < RESET_LEVEL:
            why = f"RESET needs CFLEVEL({RESET_LEVEL})"
            raise MQSCError(why, command.line, code=UNACCEPTABLE)
        group.fail(found.name)
        return (Said("CSQE034I", f"Structure {found.name} has failed"),)

    @runs("BACKUP", "CFSTRUCT", latched=False)
    def backup(self, command: Command, _user: str) -> Iterator[Part]:
        group = the_group(self._parts, command)
        for each in self._several(group, command, _refusal_of_backup, "CSQM169I"):
            yield Said("CSQE105I", f"BACKUP task initiated for structure {each.name}")
            group.backup(each.name)
            made = group.tables.backups.read(each.name)
            if made is not None:
                text = (
                    f"Backup of structure {each.name} completed at RBA={made.end_rba:012X} size {made.bytes >> 20} MB"
                )
                yield Said("CSQE121I", text)

    @runs("RECOVER", "CFSTRUCT", latched=False)
    def recover(self, command: Command, _user: str) -> Iterator[Part]:
        group = the_group(self._parts, command)
        purge = command.word("TYPE", "NORMAL", "NORMAL", "PURGE") == "PURGE"
        for each in self._several(group, command, partial(_refusal_of_recovery, group), "CSQE112E"):
            yield Said("CSQE104I", f"RECOVER task initiated for structure {each.name}")
            group.recover(each.name, purge=purge)
            yield Said("CSQE131I", f"Structure {each.name} recovered")

    def _several(
        self, group: SharingGroup, command: Command, refusal: Callable[[Structure], str], code: str
    ) -> list[Structure]:
        """The structures that a command names, one by one or by a generic name, and that it can be done with (CU4)."""
        _name(command)
        found = picked(group, command)
        refused = {each.name: why for each in found if (why := refusal(each))}
        if refused and (len(refused) == len(found) or not generic(command.name)):
            raise MQSCError(next(iter(refused.values())), command.line, code=code)
        return [each for each in found if each.name not in refused]


def _refusal_of_backup(structure: Structure) -> str:
    return "" if structure.attributes.get("RECOVER") == "YES" else f"CFSTRUCT({structure.name}) has RECOVER(NO)"


def _refusal_of_recovery(group: SharingGroup, structure: Structure) -> str:
    if group.look(structure.name).status == "FAILED" or _has_failed_data_sets(group, structure.name):
        return ""
    return f"CFSTRUCT({structure.name}) has not failed: there is nothing to recover"


def the_group(parts: Parts, command: Command) -> SharingGroup:
    """The group that this queue manager belongs to (CU1)."""
    if parts.group is None:
        why = f"{command.verb} {command.noun} is not allowed: this queue manager is not in a queue-sharing group"
        raise MQSCError(why, command.line, code="CSQM121I")
    return parts.group


def picked(group: SharingGroup, command: Command) -> list[Structure]:
    """Definitions that the command's name picks; one that is not generic must be there."""
    known = {each.name: each for each in group.tables.structures.all()}
    names = named(command, known)
    if not names and command.name and not generic(command.name):
        raise MQError(Reason.UNKNOWN_OBJECT_NAME, type="CFSTRUCT", name=command.name)
    return [known[name] for name in names]


@contextmanager
def in_the_repository(name: str) -> Iterator[None]:
    """What the repository refuses is an answer to the command (CU2)."""
    try:
        yield
    except ChangedError as error:
        raise MQError(Reason.OBJECT_CHANGED, name=name, why=str(error)) from error
    except RepositoryAwayError as error:
        raise MQError(Reason.DB2_NOT_AVAILABLE, name=name, why=str(error)) from error


def _keep(group: SharingGroup, row: Structure) -> None:
    with in_the_repository(row.name):
        if row.version:
            group.tables.structures.update(row)
        else:
            group.tables.structures.insert(row)
    group.defined(row.name)


def _shown(row: Structure) -> Row:
    """As it is defined; OFFLOAD says something from CFLEVEL(5) on."""
    definition = StructureDefinition.of(row.name, row.attributes)
    shown = {"CFSTRUCT": row.name, **definition.row()}
    return shown if definition.level >= OFFLOAD_LEVEL else shown | {"OFFLOAD": "NONE"}


def _check_level(old: Structure, made: StructureDefinition) -> None:
    level = StructureDefinition.of(old.name, old.attributes).level
    if made.level < level:
        raise MQSCError(f"CFLEVEL({made.level}) is lower than the level of now, {level}", 1, code=UNACCEPTABLE)


def _found(group: SharingGroup, name: str) -> Structure:
    found = group.tables.structures.read(name)
    if found is None:
        raise MQError(Reason.UNKNOWN_OBJECT_NAME, type="CFSTRUCT", name=name)
    return found


def _has_failed_data_sets(group: SharingGroup, structure: str) -> bool:
    return any(each.structure == structure and each.status == "FAILED" for each in group.tables.data_sets.all())


def _name(command: Command) -> str:
    if not command.name:
        raise MQSCError("CFSTRUCT needs a name", command.line, code=NO_VALUE)
    return command.name
