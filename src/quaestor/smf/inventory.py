"""What is in a dump: records by kind, level, system and queue manager, sections by structure, the time they cover.

Rules
  M1  Every record is counted once: MQ records by kind, others by their type. Nothing is left out, and what could not
      be read is damage.
  M2  Sections are counted where the triplets say they are, by structure and length, so that levels can be told apart.
  M3  Times are those of the SMF header, local to the system that wrote the record; the zone offset stands beside them.
      A record whose date is none (the 366th day of a common year) is counted, and its time is left out.

Called by `quaestor smf info`.  Calls locate and record_columns, block by block, so memory does not grow with the dump.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from quaestor.layout import CP1047, CodePage
from quaestor.smf.blocks import Block, Damage
from quaestor.smf.catalog import CATALOG, SECTIONS
from quaestor.smf.cells import Reading
from quaestor.smf.framing import DumpReader
from quaestor.smf.locate import Located, locate
from quaestor.smf.record_columns import RecordColumns

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  local times have no zone
_KEY = ("record_type", "subtype", "system", "queue_manager", "release")


@dataclass(frozen=True, slots=True)
class Group:
    """Records of one kind, written by one queue manager at one level; only the type is known of other records."""

    record_type: int
    subtype: int | None = None
    system: str = ""
    queue_manager: str = ""
    release: str = ""

    @property
    def kind(self) -> str:
        return str(self.record_type) if self.subtype is None else f"{self.record_type}-{self.subtype}"

    @property
    def names(self) -> tuple[str, str, str]:
        return self.system, self.queue_manager, self.release

    @property
    def title(self) -> str:
        known = CATALOG.get((self.record_type, self.subtype)) if self.subtype is not None else None
        return known.title if known else "not MQ" if self.subtype is None else "unknown subtype"


@dataclass(slots=True)
class Tally:
    """What was counted of a group."""

    records: int = 0
    first: datetime | None = None
    last: datetime | None = None
    zone_minutes: set[int] = field(default_factory=set)

    def add(self, records: int, times: Iterable[datetime], zones: set[int]) -> None:
        """So many more records, the first and the last time among theirs, and their zone offsets."""
        self.records += records
        for time in times:
            self.first = time if self.first is None else min(self.first, time)
            self.last = time if self.last is None else max(self.last, time)
        self.zone_minutes |= zones


@dataclass(slots=True)
class Inventory:
    """The inventory of a dump, filled block by block."""

    groups: dict[Group, Tally] = field(default_factory=dict)
    sections: Counter[tuple[str, int]] = field(default_factory=Counter)
    bytes: int = 0
    records: int = 0
    damages: int = 0

    def add(self, block: Block, page: CodePage = CP1047) -> list[Damage]:
        """Count a block; returns its damage, of framing and of sections."""
        located = locate(block, SECTIONS)
        self.records += len(block.offsets)
        for record_type, count in located.others.items():
            self.groups.setdefault(Group(record_type), Tally()).records += count
        if len(located):
            self._add_groups(RecordColumns(located, Reading(page)))
        self._add_sections(located)
        damages = sorted([*block.damages, *located.damages], key=lambda damage: damage.offset)
        self.damages += len(damages)
        return damages

    def in_order(self) -> list[tuple[Group, Tally]]:
        """Groups by record type, subtype, system and queue manager."""
        return sorted(self.groups.items(), key=lambda item: (item[0].record_type, item[0].subtype or 0, *item[0].names))

    def _add_groups(self, columns: RecordColumns) -> None:
        keys = np.stack([columns.column(name).values.astype(np.int64) for name in _KEY], axis=1)
        groups, owner = np.unique(keys, axis=0, return_inverse=True)
        times, zones = columns.column("local_time"), columns.column("zone_minutes")
        for number, key in enumerate(groups.tolist()):
            mine = owner.reshape(-1) == number
            found = [columns.column(name).names for name in _KEY]
            named = [names[value] if names else value for names, value in zip(found, key, strict=True)]
            local, known = (each.values[mine if each.valid is None else mine & each.valid] for each in (times, zones))
            span = (_local(local.min()), _local(local.max())) if len(local) else ()
            tally = self.groups.setdefault(Group(*named), Tally())
            tally.add(int(mine.sum()), span, set(np.unique(known).tolist()))

    def _add_sections(self, located: Located) -> None:
        for structure, found in located.sections.items():
            lengths, counts = np.unique(found.length, return_counts=True)
            for length, count in zip(lengths.tolist(), counts.tolist(), strict=True):
                self.sections[structure, length] += count


def _local(us: Any) -> datetime:
    return _EPOCH + timedelta(microseconds=int(us))


def take_inventory(reader: DumpReader, page: CodePage = CP1047) -> Iterator[tuple[Inventory, list[Damage]]]:
    """The inventory so far and the damage just found, block by block; the last one is complete."""
    inventory = Inventory()
    for block in reader.blocks():
        damages = inventory.add(block, page)
        inventory.bytes = reader.bytes_read
        yield inventory, damages
