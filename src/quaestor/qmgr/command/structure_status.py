"""Structure status: DISPLAY CFSTATUS and DISPLAY GROUP.

Rules
  CT1 CFSTATUS has four types: SUMMARY what it is and how full, CONNECT who uses it, BACKUP the last backup, SMDS the
      data sets. What is not known is shown as blanks, never as 0.

Called by the processor.  Calls the group part.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime

from quaestor.mqi.mqsc import Command
from quaestor.mqi.names import picks
from quaestor.qmgr.command.family import runs
from quaestor.qmgr.command.group_part import CSQ_ADMIN, SharingGroup
from quaestor.qmgr.command.parts import Parts
from quaestor.qmgr.command.reply import Details, Part, Row, Said
from quaestor.qmgr.command.selecting import selected
from quaestor.qmgr.command.structures import picked, the_group
from quaestor.storage.shared_tables import Member, Structure

GROUP_HEADING = ("Queue manager  Number  Status", "-------------  ------  --------")
_NOW = {True: "ACTIVE", False: "FAILED", None: "INACTIVE"}
"""What a member is, by whether it is connected to CSQ_ADMIN; None is not at all."""


class StructureStatusCommands:
    """What has become of structures, data sets and members (CT1)."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @runs("DISPLAY", "CFSTATUS")
    def status(self, command: Command, _user: str) -> Iterator[Part]:
        group = the_group(self._parts, command)
        kind = command.word("TYPE", "SUMMARY", "SUMMARY", "CONNECT", "BACKUP", "SMDS")
        rows_of: dict[str, Callable[[SharingGroup, Structure], Iterable[Row]]] = {
            "SUMMARY": _summary,
            "CONNECT": _connects,
            "BACKUP": _backup,
            "SMDS": _data_set_rows,
        }
        structures = [each for each in _with_admin(group) if picks(command.name or "*", each.name)]
        if not structures:
            picked(group, command)  # which says that it is not there
        found = [row for each in structures for row in rows_of[kind](group, each)]
        shown = 0
        for row in selected(command, found, ("CFSTATUS", "TYPE"), ("TYPE",), status=True):
            shown += 1
            yield Details("CSQM431I", "CFSTATUS", row)
        yield Said("CSQM293I", f"{shown} CFSTATUS FOUND MATCHING REQUEST CRITERIA")

    @runs("DISPLAY", "GROUP")
    def group(self, command: Command, _user: str) -> Iterator[Part]:
        group = the_group(self._parts, command)
        members = group.tables.members.all()
        connected = group.look(CSQ_ADMIN).connectors
        rows = tuple(_member(each, connected) for each in members)
        lines = (
            *GROUP_HEADING,
            *(f"{row['QMNAME']:<13}  {row['NUMBER']:6d}  {row['STATUS']}" for row in rows),
            "End of queue manager report",
        )
        yield Said("CSQ5007I", f"Queue managers in group {group.name}", lines, rows)


def _with_admin(group: SharingGroup) -> list[Structure]:
    return [Structure(CSQ_ADMIN, {}), *group.tables.structures.all()]


def _summary(group: SharingGroup, structure: Structure) -> Iterator[Row]:
    view = group.look(structure.name)
    row: Row = {
        "CFSTATUS": structure.name,
        "TYPE": "SUMMARY",
        "CFTYPE": "ADMIN" if structure.name == CSQ_ADMIN else "APPL",
        "STATUS": structure.status if structure.status == "INRECOVER" else view.status,
        "SIZEMAX": view.size_kb,
        "OFFLDUSE": group.offloaded_to(structure.name),
    }
    if view.space is None:
        row |= {"SIZEUSED": "", "ENTSMAX": "", "ENTSUSED": "", "ELEMMAX": "", "ELEMUSED": ""}
    else:
        entries, entries_max, elements, elements_max = view.space
        used = max(entries * 100 // entries_max, elements * 100 // elements_max)
        row |= {"SIZEUSED": used, "ENTSMAX": entries_max, "ENTSUSED": entries}
        row |= {"ELEMMAX": elements_max, "ELEMUSED": elements}
    yield row | _when("FAIL", structure.failed_us)


def _connects(group: SharingGroup, structure: Structure) -> Iterator[Row]:
    for member, active in sorted(group.look(structure.name).connectors.items()):
        status = "ACTIVE" if active else "FAILED"
        yield {"CFSTATUS": structure.name, "TYPE": "CONNECT", "QMNAME": member, "STATUS": status}


def _backup(group: SharingGroup, structure: Structure) -> Iterator[Row]:
    row: Row = {"CFSTATUS": structure.name, "TYPE": "BACKUP", "STATUS": group.look(structure.name).status}
    made = group.tables.backups.read(structure.name)
    if made is None:
        blank = ("BKUPSIZE", "BKUPSRBA", "BKUPERBA", "QMNAME")
        yield row | _when("BKUP", 0) | dict.fromkeys(blank, "")
        return
    yield (
        row
        | _when("BKUP", made.taken_us)
        | {
            "BKUPSIZE": -(-made.bytes >> 20),
            "BKUPSRBA": f"{made.start_rba:012X}",
            "BKUPERBA": f"{made.end_rba:012X}",
            "QMNAME": made.member,
        }
    )


def _data_set_rows(group: SharingGroup, structure: Structure) -> Iterator[Row]:
    for each in group.tables.data_sets.all():
        if each.structure == structure.name:
            yield {
                "CFSTATUS": each.structure,
                "TYPE": "SMDS",
                "SMDS": each.member,
                "STATUS": each.status,
                "ACCESS": each.access,
            }


def _member(each: Member, connected: Mapping[str, bool]) -> Row:
    """A member is what CSQ_ADMIN says of it now: a peer that has recovered a failed one makes it forget it (GP1)."""
    status = _NOW[connected.get(each.name)]
    return {"QMNAME": each.name, "NUMBER": each.number, "STATUS": status}


def _when(what: str, us: int) -> Row:
    """A date and a time, blank when it never was."""
    if not us:
        return {f"{what}DATE": "", f"{what}TIME": ""}
    when = datetime.fromtimestamp(us / 1e6, UTC)
    return {f"{what}DATE": f"{when:%Y-%m-%d}", f"{what}TIME": f"{when:%H.%M.%S}"}
