"""Memory: a list structure in the memory of the process that holds it.

Rules
  LM1 A request runs under one lock, operation by operation; each says how it is undone, and a refusal undoes what was
      done, last first, so a refused request has changed nothing (LS1).
  LM2 An entry takes one of the structure's entries and as many elements as its data fills; when either runs out, FULL.
      A list's own maximum is for what is written; what moves is there already and is never refused.
  LM5 What is done most, a write and a claim, is written in one piece each and checks everything before it changes
      anything. Between two requests of one process others have the processor's caches, so what a request costs is how
      much code and how many objects it touches.

LM3 is of `watches`, LM4 of `places`.

Called by the coupling facility and tests.  Calls structure, operations, places, watches.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from threading import Lock as ThreadLock
from typing import Any

from sortedcontainers import SortedDict

from quaestor.storage.lists.operations import DELETED, FLAGGED, LEFT, MOVED, OPERATIONS, SHORT, Where
from quaestor.storage.lists.places import ARRIVAL, BEHIND_ALL, PlacedEntry, Places
from quaestor.storage.lists.structure import Shape, StructureRefusal
from quaestor.storage.lists.watches import Name, Watch, Watches

Undo = Callable[[], object]
ALL_FLAGS = 0xFF


class MemoryStructure(Places):
    """A structure and everything that is in it."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.entries_total, self.elements_total = shape.entries, shape.elements
        self.elements = 0
        self._element_bytes, self._elements_max = shape.element_bytes, shape.elements_max
        self._lock = ThreadLock()
        self._limits: dict[int, int] = {}
        self._locks: dict[int, str] = {}
        self._watches = Watches(self._any)
        self._watched = self._watches.by_list
        self._number = self._arrival = 0
        self._undo: list[Undo] = []
        self._do: dict[str, Callable[..., Any]] = {name: getattr(self, f"_do_{name}") for name in OPERATIONS}

    def run(self, request: Sequence[Sequence[Any]]) -> tuple[list[Any], Sequence[tuple[str, int]]]:
        """Do a request (LM1); what each operation answers, and who is to be told what (LM3)."""
        with self._lock:
            found: list[Any] = []
            numbers = self._number, self._arrival
            try:
                for operation in request:
                    found.append(self._do[operation[0]](*operation[1:]))  # noqa: PERF401 - its length names the refused
                return found, self._watches.told()
            except BaseException as error:
                for undo in reversed(self._undo):
                    undo()
                self._number, self._arrival = numbers
                if isinstance(error, StructureRefusal):
                    raise StructureRefusal(error.why, len(found)) from None
                raise
            finally:
                self._undo.clear()
                self._watches.request_ended()

    @property
    def used(self) -> tuple[int, int]:
        """Entries and elements in use."""
        return len(self.entries), self.elements

    # -- entries

    def _do_write(self, number: int, key: bytes, data: bytes, adjunct: bytes) -> int:
        elements = -(-len(data) // self._element_bytes)
        if elements > self._elements_max:
            raise StructureRefusal("TOO_LONG")
        entries, used, placed = self.entries, self.elements + elements, self._lists.get(number)
        if len(entries) >= self.entries_total or used > self.elements_total:
            raise StructureRefusal("FULL")  # LM2
        limit = self._limits.get(number)
        if limit and placed is not None and len(placed) >= limit:
            raise StructureRefusal("LIST_FULL")
        arrival = self._arrival + 1
        place = key + ARRIVAL(arrival)
        if number in self._watched:
            self._watches.arrives(number, key)
        self._number = name = self._number + 1
        entry = PlacedEntry(name, number, key, adjunct, 1, data, arrival, elements, place)
        if self._indexes:
            self._indexes.add(entry)
        if placed is None:
            placed = self._lists[number] = SortedDict()
        entries[name] = placed[place] = entry
        self._arrival, self.elements = arrival, used
        self._undo.append(partial(self._off, entry))
        return name

    def _do_rewrite(self, number: int, data: bytes | None, adjunct: bytes | None, version: int | None) -> int:
        entry = self._found(number)
        if version is not None and entry.version != version:
            raise StructureRefusal("CHANGED")
        old = (entry.data, entry.adjunct, entry.version, entry.elements)
        if data is not None:
            elements = self.shape.elements_of(data)
            if elements > self.shape.elements_max:
                raise StructureRefusal("TOO_LONG")
            if self.elements + elements - entry.elements > self.elements_total:
                raise StructureRefusal("FULL")
            self._use(elements - entry.elements)
            self._redata(entry, data, elements)
        if adjunct is not None:
            entry.adjunct = adjunct
        entry.version += 1
        self._undo.append(lambda: self._restore(entry, *old))
        return entry.version

    def _redata(self, entry: PlacedEntry, data: bytes, elements: int) -> None:
        """Other data, and with it another secondary key (LI1)."""
        self._indexes.remove(entry)
        entry.data, entry.elements = data, elements
        self._indexes.add(entry)

    def _restore(self, entry: PlacedEntry, data: bytes, adjunct: bytes, version: int, elements: int) -> None:
        self._redata(entry, data, elements)
        entry.adjunct, entry.version = adjunct, version

    def _do_read(self, number: int) -> list[Any] | None:
        entry = self.entries.get(number)
        return None if entry is None else entry.told()

    def _do_first(self, number: int, low: bytes, high: bytes, where: Where) -> list[Any] | None:
        entry = self._first_where(number, low, high, where)
        return None if entry is None else entry.told()

    def _do_list(self, number: int, low: bytes, high: bytes, most: int, arrival: int, where: Where) -> list[list[Any]]:
        found = self._fitting(number, low + ARRIVAL(arrival + 1 if arrival else 0), high, where)
        return [entry.told() for entry in islice(found, most)]

    def _do_move(self, number: int, source: int, target: int, key: bytes | None, adjunct: bytes | None) -> bool:
        self._moved(self._found(number, source), target, key, adjunct)
        return True

    def _do_take(
        self, number: int, low: bytes, high: bytes, target: int, key: bytes | None, adjunct: bytes | None
    ) -> list[Any] | None:
        entry = self._first(number, low, high)
        if entry is None:
            return None
        self._moved(entry, target, key, adjunct)
        return entry.told()

    def _do_claim(
        self,
        number: int,
        low: bytes,
        high: bytes,
        target: int,
        mark: bytes,
        keep: int,
        leave: int,
        most: int,
        where: Where,
        buffer: int,
    ) -> list[Any] | None:
        entry = self._first_where(number, low, high, where) if where else self._first(number, low, high)
        if entry is None:
            return None
        data, adjunct = entry.data, entry.adjunct
        told = [entry.number, number, entry.key, adjunct, entry.version, data, entry.arrival]
        if len(data) > buffer:
            told[5] = len(data).to_bytes(4, "big")  # LO7
            done = SHORT
        else:
            flagged = len(adjunct) >= FLAGGED
            flags, length = (adjunct[0], int.from_bytes(adjunct[1:FLAGGED], "big")) if flagged else (0, 0)
            if flags & leave or length > most:
                done = LEFT
            elif keep == ALL_FLAGS or flags & keep:
                self._moved(entry, target, None, adjunct[: max(len(adjunct) - len(mark), 0)] + mark)
                told, done = entry.told(), MOVED
            else:
                self._remove(entry)
                done = DELETED
        told.append(done)
        return told

    def _do_delete(self, number: int, where: int) -> bool:
        self._remove(self._found(number, where))
        return True

    def _remove(self, entry: PlacedEntry) -> None:
        if entry.where in self._watched:
            self._watches.touch(entry.where)
        self._off(entry)
        self._undo.append(partial(self._on, entry))

    def _off(self, entry: PlacedEntry) -> None:
        """An entry is no more."""
        self._take_off(entry)
        del self.entries[entry.number]
        self.elements -= entry.elements

    def _on(self, entry: PlacedEntry) -> None:
        """An entry is again where it was."""
        self.entries[entry.number] = entry
        self.elements += entry.elements
        self._put_at(entry, entry.where, entry.key, entry.arrival)

    def _moved(self, entry: PlacedEntry, target: int, key: bytes | None, adjunct: bytes | None) -> None:
        self._unplace(entry)
        self._place(entry, target, entry.key if key is None else key)
        old = entry.adjunct
        if adjunct is not None:
            entry.adjunct = adjunct
            self._undo.append(lambda: setattr(entry, "adjunct", old))

    # -- lists

    def _do_count(self, number: int, low: bytes, high: bytes) -> int:
        placed = self._lists.get(number)
        if placed is None:
            return 0
        return max(int(placed.bisect_right(high + BEHIND_ALL) - placed.bisect_left(low)), 0)

    def _do_controls(self, number: int) -> list[int]:
        return [len(self._lists.get(number, ())), self._limits.get(number, 0)]

    def _do_limit(self, number: int, entries_max: int) -> bool:
        old = self._limits.get(number, 0)
        self._limits[number] = entries_max
        self._undo.append(lambda: self._limits.__setitem__(number, old))
        return True

    def _do_index(self, number: int, at: int, length: int) -> bool:
        old = self._indexes.make(number, at, length, self._lists.get(number, {}).values())
        self._undo.append(lambda: self._indexes.restore(number, old))
        return True

    def _do_space(self) -> list[int]:
        return [len(self.entries), self.entries_total, self.elements, self.elements_total]

    def _do_alter(self, entries: int, elements: int) -> bool:
        if entries < len(self.entries) or elements < self.elements:
            raise StructureRefusal("IN_USE")
        old = (self.entries_total, self.elements_total)
        self.entries_total, self.elements_total = entries, elements
        self._undo.append(lambda: self._retotal(*old))
        return True

    def _retotal(self, entries: int, elements: int) -> None:
        self.entries_total, self.elements_total = entries, elements

    # -- locks and watches

    def _do_lock(self, lock: int, holder: str) -> str:
        if lock not in self._locks:
            self._locks[lock] = holder
            self._undo.append(lambda: self._locks.pop(lock))
        return self._locks[lock]

    def _do_unlock(self, lock: int, holder: str) -> bool:
        if self._locks.get(lock) != holder:
            return False
        del self._locks[lock]
        self._undo.append(lambda: self._locks.__setitem__(lock, holder))
        return True

    def _do_holding(self, lock: int, holder: str) -> bool:
        if self._locks.get(lock) != holder:
            raise StructureRefusal("LOCKED")
        return True

    def _do_watch(self, connector: str, token: int, number: int, low: bytes, high: bytes, each: bool) -> bool:
        self._rewatch((connector, token), Watch(number, low, high, each))
        self._watches.begun((connector, token))
        return self._any(number, low, high)

    def _do_unwatch(self, connector: str, token: int) -> bool:
        return self._rewatch((connector, token), None) is not None

    def _rewatch(self, name: Name, watch: Watch | None) -> Watch | None:
        """Another watch under a name, or none; the one there was."""
        old = self._watches.replace(name, watch)
        self._undo.append(lambda: self._watches.replace(name, old))
        return old

    def forget_watches(self, connector: str) -> None:
        """A connector is gone."""
        with self._lock:
            self._watches.forget(connector)

    # -- places

    def _place(self, entry: PlacedEntry, number: int, key: bytes) -> None:
        if number in self._watched:
            self._watches.arrives(number, key)
        self._arrival += 1
        self._put_at(entry, number, key, self._arrival)
        self._undo.append(lambda: self._take_off(entry))

    def _unplace(self, entry: PlacedEntry) -> None:
        if entry.where in self._watched:
            self._watches.touch(entry.where)
        place = (entry.where, entry.key, entry.arrival)
        self._take_off(entry)
        self._undo.append(lambda: self._put_at(entry, *place))

    def _use(self, elements: int) -> None:
        self.elements += elements
        self._undo.append(lambda: setattr(self, "elements", self.elements - elements))
