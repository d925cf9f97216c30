"""The structure: what a list structure answers, whichever engine holds it.

Rules
  LS1 A request of several operations is done as one: all of them, or none when one is refused. Nobody sees it half
      done.
  LS2 Refusals are named: FULL (no entry or no elements left), LIST_FULL, NOT_FOUND (the entry is not where it is said
      to be), CHANGED (it has another version), LOCKED, TOO_LONG (more elements than an entry may have), IN_USE (an
      alter below what is in use).
  LS3 A structure lives on when all connectors are gone. One that ended without disconnecting is seen to have failed,
      until it connects again or is forgotten.
  LS4 What is watched is told after the request that caused it, once for each change from empty to not empty.
  LS5 A connector has one connection: a new one, or a peer that fences it, ends the one before. What was sent on that
      and arrives late is not done: its sender may have been taken for dead and its work ended by others.

Called by the coupling facility manager and the common queue server.  Answered by memory, redis_engine and the client of
the coupling facility.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from quaestor.storage.lists.operations import ADJUNCT_MAX, KEY_LENGTH, Operation

ELEMENTS_PER_ENTRY = 6
ENTRY_BYTES = 256


class StructureRefusal(Exception):  # noqa: N818 - an answer, not a bug
    """A request that was refused as a whole (LS1, LS2)."""

    def __init__(self, why: str, at: int = 0) -> None:
        super().__init__(why, at)
        self.why, self.at = why, at

    def __str__(self) -> str:
        return f"{self.why}, operation {self.at} of the request"


class StructureLostError(Exception):
    """The structure or the way to it is gone."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How a structure is laid out."""

    name: str
    lists: int = 512
    locks: int = 64
    element_bytes: int = 256
    elements_max: int = 255
    """Elements of one entry: 64 KB of data less one."""

    entries: int = 10_000
    elements: int = 60_000

    @staticmethod
    def sized(name: str, kilobytes: int, ratio: float = ELEMENTS_PER_ENTRY, **more: Any) -> "Shape":
        """A structure of a size, divided between entries and elements at a ratio."""
        element = more.get("element_bytes", ENTRY_BYTES)
        entries = int(kilobytes * 1024 / (ENTRY_BYTES + ratio * element))
        return Shape(name, entries=entries, elements=int(entries * ratio), **more)

    def elements_of(self, data: bytes) -> int:
        return -(-len(data) // self.element_bytes)


Told = Callable[[int], None]


class ListStructure(Protocol):
    """A connection to a structure."""

    shape: Shape
    connector: str

    @property
    def used(self) -> tuple[int, int]:
        """Entries and elements in use after the last request: each answer says so."""

    def request(self, *operations: Operation) -> tuple[Any, ...]:
        """Do the operations as one; what each answers (LS1). Raises StructureRefusal."""

    def connectors(self) -> dict[str, bool]:
        """Who has connected and not disconnected: whether it is active or has failed (LS3)."""

    def forget(self, connector: str) -> None:
        """A failed connector has been recovered; one that has connected again is not forgotten (LS3)."""

    def fence(self, connector: str) -> None:
        """Nothing more of a connector that has failed is done, whatever is still under way (LS5)."""

    def disconnect(self) -> None:
        """Leave in good order."""

    def fail(self) -> None:
        """Be gone without a word: peers see a connector that has failed."""


def checked(key: bytes, adjunct: bytes | None = None) -> None:
    """Refuse what no engine could hold; our own error."""
    if len(key) != KEY_LENGTH:
        raise ValueError(f"a key has {KEY_LENGTH} bytes, not {len(key)}")
    if adjunct is not None and len(adjunct) > ADJUNCT_MAX:
        raise ValueError(f"adjunct data has at most {ADJUNCT_MAX} bytes, not {len(adjunct)}")
