"""Data sets: DISPLAY, ALTER and RESET of SMDS; DISPLAY, START and STOP of SMDSCONN.

Rules
  CD1 A data set is named by the member that owns it and by its structure; `*` is every member's.
  CD2 SMDS is the data set itself, for the whole group: enabled or disabled (ACCESS), failed or recovered (STATUS), its
      buffers and whether it expands where they differ from its structure's. One that has not failed is not recovered;
      of several that are named none is then.
  CD3 SMDSCONN is the connection of the queue manager that runs the command to a data set; other members go on.
  CD4 What a command changes is acted on before it answers, here; other members follow the tables.

Called by the processor.  Calls the group part.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from quaestor.mqi.mqsc import Command, MQSCError
from quaestor.mqi.mqsc.syntax import NO_VALUE
from quaestor.mqi.names import picks
from quaestor.mqi.reasons import MQError, Reason
from quaestor.mqi.structures import StructureDefinition
from quaestor.qmgr.command.family import runs
from quaestor.qmgr.command.group_part import SharingGroup
from quaestor.qmgr.command.parts import Parts
from quaestor.qmgr.command.reply import Details, Part, Row, Said
from quaestor.qmgr.command.selecting import selected
from quaestor.qmgr.command.structures import in_the_repository, the_group
from quaestor.storage.shared_tables import DataSet

FAILED = "FAILED"


class DataSetCommands:
    """Shared message data sets and the connections to them (CD1-CD4)."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    # -- data sets, rule CD2

    @runs("DISPLAY", "SMDS")
    def display(self, command: Command, _user: str) -> Iterator[Part]:
        group = the_group(self._parts, command)
        rows = [_row(group, each) for each in _picked(group, command)]
        return _shown(command, rows, "SMDS")

    @runs("ALTER", "SMDS")
    def alter(self, command: Command, _user: str) -> Iterable[Part]:
        group = the_group(self._parts, command)
        for each in _named(group, command):
            buffers = command.value("DSBUFS", each.buffers)
            if buffers != "DEFAULT":
                buffers = str(command.number("DSBUFS", 0, 1, 9999)) if command.has("DSBUFS") else buffers
            expand = command.word("DSEXPAND", each.expand, "DEFAULT", "YES", "NO")
            _keep(group, replace(each, buffers=buffers, expand=expand))
        group.data_sets_changed()
        return ()

    @runs("RESET", "SMDS")
    def reset(self, command: Command, _user: str) -> Iterable[Part]:
        group = the_group(self._parts, command)
        status = command.word("STATUS", "", "", FAILED, "RECOVERED")
        found = _named(group, command)
        for each in found:
            if status == "RECOVERED" and each.status != FAILED:
                why = f"SMDS({each.member}) CFSTRUCT({each.structure}) has not failed"
                raise MQSCError(why, command.line, code="CSQE218E")
        for each in found:
            access = command.word("ACCESS", each.access, "ENABLED", "DISABLED")
            _keep(group, replace(each, access=access, status=status or each.status))
        group.data_sets_changed()
        return ()

    # -- connections, rule CD3

    @runs("DISPLAY", "SMDSCONN")
    def connections(self, command: Command, _user: str) -> Iterator[Part]:
        group = the_group(self._parts, command)
        rows = [_connection(group, each) for each in _picked(group, command)]
        return _shown(command, rows, "SMDSCONN")

    @runs("START", "SMDSCONN")
    def start(self, command: Command, _user: str) -> Iterable[Part]:
        group = the_group(self._parts, command)
        for each in _named(group, command):
            group.start_data_set(each.structure, each.member)
        return ()

    @runs("STOP", "SMDSCONN")
    def stop(self, command: Command, _user: str) -> Iterable[Part]:
        group = the_group(self._parts, command)
        for each in _named(group, command):
            group.stop_data_set(each.structure, each.member)
        return ()


def _shown(command: Command, rows: list[Row], noun: str) -> Iterator[Part]:
    shown = 0
    for row in selected(command, rows, (noun, "CFSTRUCT"), ("CFSTRUCT",)):
        shown += 1
        yield Details("CSQM433I" if noun == "SMDS" else "CSQM434I", noun, row)
    yield Said("CSQM293I", f"{shown} {noun} FOUND MATCHING REQUEST CRITERIA")


def _row(group: SharingGroup, each: DataSet) -> Row:
    found = group.tables.structures.read(each.structure)
    definition = StructureDefinition.of(each.structure, {} if found is None else found.attributes)
    return {
        "SMDS": each.member,
        "CFSTRUCT": each.structure,
        "DSBUFS": definition.data_set_buffers if each.buffers == "DEFAULT" else int(each.buffers),
        "DSEXPAND": definition.data_set_expand if each.expand == "DEFAULT" else each.expand,
        "STATUS": each.status,
        "ACCESS": each.access,
        "DSN": each.path,
    }


def _connection(group: SharingGroup, each: DataSet) -> Row:
    found = group.data_set_connection(each.structure, each.member)
    return {
        "SMDSCONN": each.member,
        "CFSTRUCT": each.structure,
        "AVAIL": found.available,
        "EXPANDST": found.expanding,
        "OPENMODE": found.mode,
        "STATUS": found.status,
    }


def _picked(group: SharingGroup, command: Command) -> list[DataSet]:
    structure, member = command.value("CFSTRUCT", "*"), command.name or "*"
    known = group.tables.data_sets.all()
    return [each for each in known if picks(structure, each.structure) and picks(member, each.member)]


def _named(group: SharingGroup, command: Command) -> list[DataSet]:
    """The data sets that a command names, by member or `*`, and structure (CD1)."""
    if not command.name or not command.value("CFSTRUCT"):
        raise MQSCError(f"{command.noun} needs a name and CFSTRUCT", command.line, code=NO_VALUE)
    found = _picked(group, command)
    if not found:
        raise MQError(Reason.UNKNOWN_OBJECT_NAME, type=command.noun, name=command.name)
    return found


def _keep(group: SharingGroup, made: DataSet) -> None:
    with in_the_repository(made.structure):
        group.tables.data_sets.update(made)
