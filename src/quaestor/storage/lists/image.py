"""Image: a structure in memory as it is copied to another coupling facility.

Rules
  LG1 An image is everything that a structure answers by: shape and totals, entries with their numbers and places,
      limits, secondary keys, locks, watches, and the counters that number what comes next. Whoever asks the copy is
      answered as the original would have.
  LG2 It is made in pieces, the head first, so that none is longer than a frame may be. Nobody asks the structure
      between the pieces.
  LG3 Connectors come as failed: each is there again when it connects to the copy, and one that never does is recovered
      by its peers.

Called by the coupling facility.  Calls facility, memory.
"""
# ruff: noqa: SLF001 - an image is a structure's inside; the structure itself has no use for it

from collections.abc import Iterator
from dataclasses import astuple
from typing import Any

from quaestor.storage.lists.facility import MemoryFacility
from quaestor.storage.lists.memory import MemoryStructure
from quaestor.storage.lists.places import PlacedEntry
from quaestor.storage.lists.structure import Shape, StructureRefusal
from quaestor.storage.lists.watches import Watch

PIECE_BYTES = 4 << 20


def head_of(facility: MemoryFacility, name: str) -> list[Any]:
    """Everything of a structure but its entries (LG1)."""
    of = _found(facility, name)
    watches = [[*known, *astuple(watch)] for known, watch in of._watches.items()]
    return [
        list(astuple(of.shape)),
        [of.entries_total, of.elements_total],
        [of._number, of._arrival],
        list(of._limits.items()),
        list(of._indexes.places().items()),
        list(of._locks.items()),
        watches,
        sorted(facility.connectors(name)),
    ]


def pieces_of(facility: MemoryFacility, name: str) -> Iterator[list[list[Any]]]:
    """Its entries, so many at a time (LG2)."""
    piece, length = list[list[Any]](), 0
    for entry in _found(facility, name).entries.values():
        piece.append([*entry.told(), entry.elements])
        length += len(entry.data) + len(entry.key)
        if length >= PIECE_BYTES:
            yield piece
            piece, length = [], 0
    yield piece


class Incoming:
    """A structure that comes from another facility, and is not yet in use."""

    def __init__(self, head: list[Any]) -> None:
        shape, totals, counters, limits, indexes, locks, watches, self._connectors = head
        made = self._structure = MemoryStructure(Shape(*shape))
        made.entries_total, made.elements_total = totals
        made._number, made._arrival = counters
        made._limits, made._locks = dict(limits), dict(locks)
        for number, (at, length) in indexes:
            made._indexes.make(number, at, length, ())
        for connector, token, *watched in watches:
            made._watches.replace((connector, token), Watch(*watched))

    def take(self, entries: list[list[Any]]) -> None:
        made = self._structure
        for number, where, key, adjunct, version, data, arrival, elements in entries:
            entry = PlacedEntry(number, where, key, adjunct, version, data, arrival, elements)
            made.entries[number] = entry
            made.elements += elements
            made._put_at(entry, where, key, arrival)

    def complete(self, facility: MemoryFacility) -> None:
        """It is in use from now on (LG3)."""
        name = self._structure.shape.name
        facility._structures[name] = self._structure
        facility._connectors[name] = dict.fromkeys(self._connectors, False)


def _found(facility: MemoryFacility, name: str) -> MemoryStructure:
    found = facility._structures.get(name)
    if found is None:
        raise StructureRefusal("NOT_FOUND")
    return found
