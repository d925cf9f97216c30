"""Browse locks: messages of shared queues that handles of this member have locked.

Rules
  CM5 A browse with lock moves the message to the member's own list as well, so it is hidden from all members; the
      handle that locked it still finds it in its place. A structure that has lost what was in it has lost the lock too
      (CS6).

Called by the shared store, which moves the entries.
"""

from typing import NamedTuple

from quaestor.qmgr.coupling_facility.shared_queue import SharedArrival
from quaestor.qmgr.coupling_facility.structures import SharedStructure


class _Locked(NamedTuple):
    """A message that a handle has locked, and in which incarnation of its structure (CM5)."""

    arrival: SharedArrival
    incarnation: bytes

    @property
    def gone(self) -> bool:
        """Whether the structure has lost it."""
        held_in: bytes = self.arrival.queue.structure.incarnation
        return self.incarnation != held_in


class BrowseLocks:
    """What each handle has locked, at most one message (CM5)."""

    def __init__(self) -> None:
        self._held: dict[object, _Locked] = {}

    def begin(self, arrival: SharedArrival, holder: object) -> None:
        """A handle has locked a message."""
        arrival.holder = holder
        self._held[holder] = _Locked(arrival, arrival.queue.structure.incarnation)

    def end(self, arrival: SharedArrival, holder: object) -> bool:
        """The lock of a handle ends; whether the structure had lost it before."""
        locked = self._held.pop(holder, None)
        arrival.holder = None
        return locked is not None and locked.gone

    def of(self, holder: object) -> SharedArrival | None:
        """What a handle has locked, if the structure still has it."""
        locked = self._held.get(holder)
        return None if locked is None or locked.gone else locked.arrival

    def __contains__(self, arrival: SharedArrival) -> bool:
        return any(each.arrival is arrival and not each.gone for each in self._held.values())

    def entries_in(self, structure: SharedStructure) -> set[int]:
        """The entries of a structure that are locked."""
        locked = (each.arrival for each in self._held.values() if not each.gone)
        return {arrival.entry.number for arrival in locked if arrival.queue.structure is structure}
