"""Lookout: seeing a write end without falling asleep over it.

Rules
  LO1 A write that the page cache has handed to the disk is over soon, and whoever waits for it in the kernel lets the
      processor sleep and is woken twice: for the write, and for the flush behind it. Who looks on until the write is
      over sleeps once. Between two looks the processor is offered to whoever wants it.
  LO2 Nobody looks on for longer than `LOOK_NS`. A look in vain says that this disk, or somebody who wants the
      processor, takes longer than looking is worth: the next write is slept over, and twice as many after each further
      look in vain, up to `RESTS_MAX`.
  LO3 Nothing depends on a look but when one sleeps: what is durable is the sync's to say.
  LO4 Where the kernel cannot be asked (`cachestat`, Linux 6.5) there is no look, nor with QUAESTOR_LOOK_US=0.

Called by disk.  Calls the kernel through the C library, which has no name for this call.
"""

import ctypes
import platform
from typing import Final

from quaestor.readiness import LOOK_NS, monotonic_ns, offer_processor

CACHESTAT: Final = 451
"""The number of the system call, the same on every machine."""

UNDER_WAY: Final = 2
"""Which of the five figures that it gives counts pages on their way to the disk."""

RESTS_MAX: Final = 256


class Lookout:
    """Looks on while writes of one file are under way (LO1-LO4); one thread at a time."""

    __slots__ = ("_ask", "_asked", "_found", "_in_vain", "_places", "_rests")

    def __init__(self) -> None:
        self._ask = ctypes.CDLL(None).syscall
        self._ask.argtypes = (ctypes.c_long, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
        self._asked, self._found = (ctypes.c_uint64 * 2)(), (ctypes.c_uint64 * 5)()
        self._places = ctypes.addressof(self._asked), ctypes.addressof(self._found)
        self._rests, self._in_vain = 0, 1  # writes to sleep over now, and after the next look in vain

    def look(self, fd: int, offset: int, length: int) -> bool:
        """Return when nothing of this range is on its way to the disk, or when looking is not worth it (LO2)."""
        if self._rests:
            self._rests -= 1
            return False
        asked, found, ask = self._asked, self._found, self._ask
        asked[0], asked[1] = offset, length
        range_at, found_at = self._places
        until_ns = monotonic_ns() + LOOK_NS
        while True:
            if ask(CACHESTAT, fd, range_at, found_at, 0):
                self._rests = 1 << 62  # LO4
                return False
            if not found[UNDER_WAY]:
                self._in_vain = 1
                return True
            offer_processor()
            if monotonic_ns() > until_ns:
                self._rests = self._in_vain
                self._in_vain = min(2 * self._in_vain, RESTS_MAX)
                return False


def lookout() -> Lookout | None:
    """For one file, where there is anything to look at (LO4)."""
    return Lookout() if LOOK_NS and platform.system() == "Linux" else None
