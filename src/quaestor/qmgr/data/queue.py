"""A private queue in memory: its arrivals in order, and the index that finds one by an identifier.

Rules
  E1  Available arrivals stand on one chain per priority in order of arrival; a put that commits late and a get that
      is backed out go to their place, not to the end.
  E2  `high` is never below the highest priority that has an available arrival.
  E3  An arrival that leaves a chain keeps pointing onwards, so a browse cursor that stands on it finds its way: onwards
      to what is still there, then back to what has come in between since.
  E4  An index holds every available arrival whose identifier is not null; null means "any" and selects nothing. One
      that is alone with its identifier stands there itself, several by their order of arrival.

Called by the data manager.  Calls nothing.
"""

from collections.abc import Iterator
from typing import Final

from quaestor.mqi.descriptors import NO_ID
from quaestor.mqi.objects import IndexType
from quaestor.qmgr.queue_store import AVAILABLE, Arrival
from quaestor.storage.page_set import PageSet

PRIORITIES = 10
_FIELD = {IndexType.MSGID: "msg_id", IndexType.CORRELID: "correl_id", IndexType.GROUPID: "group_id"}


class PrivateQueue:
    """One private queue (E1-E4)."""

    __slots__ = (
        "by_priority",
        "chains",
        "depth",
        "harden_backout",
        "high",
        "index",
        "index_field",
        "last_pages",
        "name",
        "page_set",
        "queue_id",
        "uncommitted",
        "with_expiry",
    )

    shared = False

    def __init__(self, queue_id: int, name: str, page_set: PageSet, index_type: int = 0) -> None:
        self.queue_id, self.name, self.page_set = queue_id, name, page_set
        self.depth = self.uncommitted = self.with_expiry = 0
        self.high = 0
        self.harden_backout = False
        self.by_priority = [0] * PRIORITIES
        self.chains = [_chain() for _ in range(PRIORITIES)]
        self.last_pages = [0] * (2 * PRIORITIES)
        self.index: dict[bytes, Arrival | dict[int, Arrival]] | None = None
        self.index_field = ""
        self.set_index(index_type)

    @property
    def counted(self) -> "PrivateQueue":
        """Whose depth a put compares with MAXDEPTH."""
        return self

    def set_index(self, index_type: int) -> None:
        """Index by another identifier, or by none."""
        self.index_field = _FIELD.get(IndexType(index_type), "")
        self.index = {} if self.index_field else None
        if self.index is not None:
            for arrival in self.available():
                self._index(arrival)

    def add(self, arrival: Arrival) -> None:
        """An arrival becomes available at its place (E1)."""
        priority = arrival.priority
        after = self.chains[priority]
        before = after.sooner
        if before.sequence > arrival.sequence:  # an empty chain's end has 0
            after, before = self._place(after, before, arrival.sequence)
        arrival.sooner = before
        arrival.later = after
        before.later = after.sooner = arrival
        arrival.state = AVAILABLE
        if priority > self.high:  # noqa: PLR1730 - a comparison is cheaper than a call, and this is hot
            self.high = priority
        if self.index is not None:
            self._index(arrival)

    @staticmethod
    def _place(end: Arrival, before: Arrival, sequence: int) -> tuple[Arrival, Arrival]:
        """Between which two an arrival stands that is not the last of its chain (E1)."""
        while before is not end and before.sequence > sequence:
            before = before.sooner
        return before.later, before

    def remove(self, arrival: Arrival) -> None:
        """An arrival is no longer available; it keeps pointing onwards (E3)."""
        arrival.sooner.later = arrival.later
        arrival.later.sooner = arrival.sooner
        if self.index is not None:
            self._unindex(arrival)

    def first(self) -> Arrival | None:
        """The first available arrival that nobody holds."""
        priority = self.high
        while True:
            end = self.chains[priority]
            arrival = end.later
            while arrival is not end:
                if arrival.holder is None:
                    return arrival
                arrival = arrival.later
            if priority == 0:
                return None
            priority -= 1
            if end.later is end and self.high == priority + 1:
                self.high = priority

    def following(self, arrival: Arrival) -> Arrival | None:
        """The next available arrival after one that may itself have left the queue (E3)."""
        priority = arrival.priority
        following = self._place_after(arrival) if arrival.state != AVAILABLE else arrival.later
        while True:
            end = self.chains[priority]
            if following is not end:
                return following
            if priority == 0:
                return None
            priority -= 1
            following = self.chains[priority].later

    def _place_after(self, gone: Arrival) -> Arrival:
        """Where an arrival that left the chain would stand before: its pointers are as old as its leaving (E3).

        Others may have left since, and others may have come in between or behind it.
        """
        end, place = self.chains[gone.priority], gone.later
        while place is not end and place.state != AVAILABLE:
            place = place.later
        while place.sooner is not end and place.sooner.sequence > gone.sequence:
            place = place.sooner
        return place

    def top(self) -> Arrival | None:
        """The first available arrival, held or not."""
        for priority in range(self.high, -1, -1):
            end = self.chains[priority]
            if end.later is not end:
                return end.later
        return None

    def walk(self, after: Arrival | None) -> Iterator[Arrival]:
        """Every available arrival behind one, or all of them; those that come or go meanwhile are seen or not."""
        arrival = self.top() if after is None else self.following(after)
        while arrival is not None:
            following = self.following(arrival)
            yield arrival
            arrival = following

    def available(self) -> "list[Arrival]":
        """Every available arrival in order."""
        found = []
        for priority in range(PRIORITIES - 1, -1, -1):
            end = self.chains[priority]
            arrival = end.later
            while arrival is not end:
                found.append(arrival)
                arrival = arrival.later
        return found

    def with_key(self, key: bytes) -> "list[Arrival]":
        """The available arrivals with this identifier, in order of delivery."""
        there = (self.index or {}).get(key)
        if isinstance(there, dict):
            return sorted(there.values(), key=lambda arrival: (-arrival.priority, arrival.sequence))
        return [] if there is None else [there]

    def end(self) -> None:
        """The queue is no more: cut its chains open, which are circles and would stay for ever."""
        for end in self.chains:
            end.sooner = end.later = _NOWHERE

    def _index(self, arrival: Arrival) -> None:
        key = getattr(arrival, self.index_field)
        if key != NO_ID and self.index is not None:
            there = self.index.setdefault(key, arrival)
            if isinstance(there, dict):
                there[arrival.sequence] = arrival
            elif there is not arrival:
                self.index[key] = {there.sequence: there, arrival.sequence: arrival}

    def _unindex(self, arrival: Arrival) -> None:
        key = getattr(arrival, self.index_field)
        if key != NO_ID and self.index is not None:
            there = self.index[key]
            if not isinstance(there, dict):
                del self.index[key]
                return
            del there[arrival.sequence]
            if len(there) == 1:
                (self.index[key],) = there.values()


def _chain() -> Arrival:
    """An empty chain: its end, pointing to itself."""
    end = Arrival()
    end.sooner = end.later = end
    end.sequence = 0
    end.state = -1
    return end


_NOWHERE: Final = _chain()
"""Where the ends of a queue's chains point when the queue is no more."""
