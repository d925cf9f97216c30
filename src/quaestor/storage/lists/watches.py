"""Watches: who is told that something has arrived in a range of a list.

Rules
  LM3 What is watched is told when the lock has been given back (LS4); whoever is told may ask at once. Whether a
      watched range had anything is looked at when a request first touches its list: a list that nobody watches costs
      nothing.

Called by memory, with its lock held.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Name = tuple[str, int]
"""A connector and its token."""

NOBODY: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Watch:
    """A range of a list; `each` is told of every arrival, others when there was nothing before."""

    list: int
    low: bytes
    high: bytes
    each: bool

    @property
    def range(self) -> tuple[int, bytes, bytes]:
        return self.list, self.low, self.high


class Watches:
    """The watches of a structure, and what a request has done to them so far (LM3)."""

    def __init__(self, anything_in: Callable[[int, bytes, bytes], bool]) -> None:
        self._anything_in = anything_in
        self._watches: dict[Name, Watch] = {}
        self.by_list: dict[int, dict[Name, None]] = {}
        """Who watches a list, in order."""

        self._before: dict[Name, bool] = {}  # whether what is watched had anything, where it was touched
        self._arrived: list[tuple[int, bytes]] = []  # list and key, where it is watched

    def replace(self, name: Name, watch: Watch | None) -> Watch | None:
        """Another watch under a name, or none; the one there was."""
        old = self._watches.pop(name, None)
        if old is not None:
            del self.by_list[old.list][name]
            if not self.by_list[old.list]:
                del self.by_list[old.list]
        if watch is not None:
            self._watches[name] = watch
            self.by_list.setdefault(watch.list, {})[name] = None
        return old

    def begun(self, name: Name) -> None:
        """Who begins to watch is not told of this request."""
        self._before[name] = True

    def items(self) -> Iterable[tuple[Name, Watch]]:
        return self._watches.items()

    def forget(self, connector: str) -> None:
        for name in [name for name in self._watches if name[0] == connector]:
            self.replace(name, None)

    def touch(self, number: int) -> None:
        """A list that is watched is about to change."""
        for name in self.by_list[number]:
            if name not in self._before:
                self._before[name] = self._anything_in(*self._watches[name].range)

    def arrives(self, number: int, key: bytes) -> None:
        """Something is about to be put on a list that is watched."""
        self.touch(number)
        self._arrived.append((number, key))

    def told(self) -> Sequence[Name]:
        """Who is to be told: what is watched is not empty, and was so before the request or is told of each arrival."""
        if not self._arrived:
            return NOBODY
        touched = [(name, self._watches[name], had) for name, had in self._before.items() if name in self._watches]
        due = [(name, watch) for name, watch, had in touched if watch.each or not had]
        return [name for name, watch in due if self._concerned(watch) and self._anything_in(*watch.range)]

    def _concerned(self, watch: Watch) -> bool:
        return any(number == watch.list and watch.low <= key <= watch.high for number, key in self._arrived)

    def request_ended(self) -> None:
        if self._before:
            self._before.clear()
            self._arrived.clear()
