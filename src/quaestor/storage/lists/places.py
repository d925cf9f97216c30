"""Places: the entries of a list structure in memory, and where on which list each stands.

Rules
  LM4 An entry's place on its list is its key and its arrival as bytes: one comparison orders both.

Called by memory, whose `MemoryStructure` is one of these.  Calls index.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sortedcontainers import SortedDict

from quaestor.storage.lists.index import Indexes
from quaestor.storage.lists.operations import Where
from quaestor.storage.lists.structure import StructureRefusal

ARRIVAL = struct.Struct(">Q").pack
BEHIND_ALL = b"\xff" * 8


@dataclass(slots=True)
class PlacedEntry:
    """An entry as it is held."""

    number: int
    where: int
    key: bytes
    adjunct: bytes
    version: int
    data: bytes
    arrival: int
    elements: int
    place: bytes = b""

    def told(self) -> list[Any]:
        return [self.number, self.where, self.key, self.adjunct, self.version, self.data, self.arrival]


class Places:
    """Entries, lists and indexes (LM4)."""

    def __init__(self) -> None:
        self.entries: dict[int, PlacedEntry] = {}
        self._lists: dict[int, Any] = {}  # list -> SortedDict of places -> entry
        self._indexes = Indexes()

    def _found(self, number: int, where: int | None = None) -> PlacedEntry:
        entry = self.entries.get(number)
        if entry is None or (where is not None and entry.where != where):
            raise StructureRefusal("NOT_FOUND")
        return entry

    def _first(self, number: int, low: bytes, high: bytes) -> PlacedEntry | None:
        placed = self._lists.get(number)
        if placed is None:
            return None
        entry: PlacedEntry
        place, entry = placed.peekitem(0)  # no list is empty
        if place < low:
            place = next(placed.irange(low), None)
            if place is None:
                return None
            entry = placed[place]
        return entry if entry.key <= high else None

    def _first_where(self, number: int, low: bytes, high: bytes, where: Where) -> PlacedEntry | None:
        return next(self._fitting(number, low, high, where), None) if where else self._first(number, low, high)

    def _fitting(self, number: int, low: bytes, high: bytes, where: Where) -> Iterator[PlacedEntry]:
        """Entries from a place on whose keys are not behind `high`, and that fit."""
        placed = self._lists.get(number)
        if placed is None:
            return
        found = self._indexes.fitting(number, where, low, high + BEHIND_ALL) if where else None
        if found is None:
            found = map(placed.__getitem__, placed.irange(low, high + BEHIND_ALL))
        for entry in found:
            if not where or _fits(entry, where):
                yield entry

    def _any(self, number: int, low: bytes, high: bytes) -> bool:
        return self._first(number, low, high) is not None

    def _put_at(self, entry: PlacedEntry, number: int, key: bytes, arrival: int) -> None:
        entry.where, entry.key, entry.arrival = number, key, arrival
        entry.place = key + ARRIVAL(arrival)
        placed = self._lists.get(number)
        if placed is None:
            placed = self._lists[number] = SortedDict()
        placed[entry.place] = entry
        if self._indexes:
            self._indexes.add(entry)

    def _take_off(self, entry: PlacedEntry) -> None:
        placed = self._lists[entry.where]
        del placed[entry.place]
        if self._indexes:
            self._indexes.remove(entry)
        if not placed:
            del self._lists[entry.where]


def _fits(entry: PlacedEntry, where: Where) -> bool:
    return all(entry.data.startswith(wanted, at) for at, wanted in where)
