"""Automatic alter: a structure that fills up gives its room to what its messages need, and then grows (MP16 CF-M6).

Rules
  AA1 It is for structures with ALLOWAUTOALT(YES), once more than FULLTHRESHOLD percent of their entries or of their
      elements are in use.
  AA2 First the ratio: an entry and an element are 256 bytes each, and all room is divided as what is in use is.
      Neither falls below what is in use.
  AA3 If more than FULLTHRESHOLD percent would be in use then too, the structure grows by a tenth, or by more if that
      does not suffice, up to SIZE. It never shrinks by itself.
  AA4 Every member looks, once a second, at what the last answer of a structure said; only above the threshold it asks.
      Two that alter at once do nearly the same. What was taken into use meanwhile refuses the alter: the next look
      knows of it.

Called by the coupling facility manager.  Calls structures and the group's tables.
"""

from collections.abc import Callable, Mapping

from quaestor.mqi.reasons import MQError
from quaestor.mqi.structures import StructureDefinition
from quaestor.qmgr.coupling_facility.settings import Group
from quaestor.qmgr.coupling_facility.structures import SharedStructure
from quaestor.storage.lists.operations import Alter, ReadSpace, Space
from quaestor.storage.lists.structure import ENTRY_BYTES, StructureRefusal

UNITS_PER_KB = 1024 // ENTRY_BYTES


def altered(space: Space, definition: StructureDefinition) -> Space | None:
    """The structure as it should be; None when it may stay as it is (AA1-AA3)."""
    threshold = definition.full_threshold
    if not _above(space, threshold):
        return None
    used, units = space.entries + space.elements, space.entries_total + space.elements_total
    if used * 100 > units * threshold:
        grown = max(units * 11 // 10, -(-used * 100 // threshold))
        units = max(units, min(grown, definition.size_kb * UNITS_PER_KB))
    entries = max(space.entries, min(units * space.entries // used, units - space.elements))
    made = space._replace(entries_total=entries, elements_total=units - entries)
    return None if made == space else made


def _above(space: Space, threshold: int) -> bool:
    return (
        space.entries * 100 > space.entries_total * threshold or space.elements * 100 > space.elements_total * threshold
    )


class AutoAlter:
    """Alters the structures of a group while they fill up (AA1-AA4)."""

    def __init__(self, group: Group, structures: Mapping[str, SharedStructure], said: Callable[..., None]) -> None:
        self._group, self._structures, self._say = group, structures, said
        self._totals: dict[str, Space] = {}

    def step(self) -> bool:
        tables = self._group.tables if self._group.db2 is None else self._group.db2.known
        for row in tables.structures.all():
            structure = self._structures.get(row.name)
            if row.attributes.get("ALLOWAUTOALT") == "YES" and structure is not None and structure.failing is None:
                self._look_at(structure, StructureDefinition.of(row.name, row.attributes))
        return False

    def _look_at(self, structure: SharedStructure, definition: StructureDefinition) -> None:
        entries, elements = structure.used
        known = self._totals.get(structure.name)
        if known is not None and not _above(
            known._replace(entries=entries, elements=elements), definition.full_threshold
        ):
            return
        try:
            (space,) = structure.ask(ReadSpace())
            self._totals[structure.name] = space
            wanted = altered(space, definition)
            if wanted is None:
                return
            structure.ask(Alter(wanted.entries_total, wanted.elements_total))
        except (MQError, StructureRefusal):
            return  # lost, or more is in use than was told (AA4)
        self._totals[structure.name] = wanted
        facts = {"entries": wanted.entries_total, "elements": wanted.elements_total}
        self._say("CSQE008I", "a structure was altered: it is filling up", structure=structure.name, **facts)
