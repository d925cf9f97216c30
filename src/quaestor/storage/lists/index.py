"""Index: the secondary key of a list in memory, so that entries are found by it without reading through the list.

Rules
  LI1 The secondary key of an entry is a part of its data: so many bytes at a place, the same for the whole list. A list
      has one or none.
  LI2 Entries of one secondary key are in the order of the list. So the first of a thousand equal ones is found as fast
      as one that is alone.
  LI3 An index changes nothing of what is answered: what it cannot answer is read through the list.

Called by memory and places.  Calls nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from sortedcontainers import SortedDict

from quaestor.storage.lists.operations import Where


class Indexed(Protocol):
    """An entry as an index needs it."""

    where: int
    data: bytes
    place: bytes


class ListIndex:
    """Places of a list by secondary key (LI1-LI3)."""

    __slots__ = ("_entries", "at", "length")

    def __init__(self, at: int, length: int) -> None:
        self.at, self.length = at, length
        self._entries: Any = SortedDict()  # secondary key and place -> entry

    def add(self, entry: Indexed) -> None:
        self._entries[self._key(entry.data) + entry.place] = entry

    def remove(self, entry: Indexed) -> None:
        del self._entries[self._key(entry.data) + entry.place]

    def _key(self, data: bytes) -> bytes:
        return data[self.at : self.at + self.length].ljust(self.length, b"\0")

    def asked(self, where: Where) -> bytes | None:
        """The secondary key that is asked for; None when it is not (LI3)."""
        for at, wanted in where:
            if at == self.at and len(wanted) == self.length:
                return wanted
        return None

    def fitting(self, second: bytes, low: bytes, high: bytes) -> Iterator[Any]:
        """Entries that may have a secondary key, from a place to a place, in order (LI2)."""
        return (self._entries[each] for each in self._entries.irange(second + low, second + high))


class Indexes:
    """The lists of a structure that have a secondary key."""

    def __init__(self) -> None:
        self._lists: dict[int, ListIndex] = {}

    def __bool__(self) -> bool:
        return bool(self._lists)

    def make(self, number: int, at: int, length: int, entries: Iterable[Indexed]) -> ListIndex | None:
        """Give a list a secondary key, or none; what it had."""
        old = self._lists.pop(number, None)
        if length:
            made = self._lists[number] = ListIndex(at, length)
            for entry in entries:
                made.add(entry)
        return old

    def places(self) -> dict[int, tuple[int, int]]:
        """{list: where its secondary key is in the data, how long it is}."""
        return {number: (index.at, index.length) for number, index in self._lists.items()}

    def restore(self, number: int, index: ListIndex | None) -> None:
        self._lists.pop(number, None)
        if index is not None:
            self._lists[number] = index

    def add(self, entry: Indexed) -> None:
        index = self._lists.get(entry.where)
        if index is not None:
            index.add(entry)

    def remove(self, entry: Indexed) -> None:
        index = self._lists.get(entry.where)
        if index is not None:
            index.remove(entry)

    def fitting(self, number: int, where: Where, low: bytes, high: bytes) -> Iterator[Any] | None:
        """Entries of a list that may fit, by its secondary key; None when that is not asked for (LI3)."""
        index = self._lists.get(number)
        second = None if index is None else index.asked(where)
        return None if index is None or second is None else index.fitting(second, low, high)
