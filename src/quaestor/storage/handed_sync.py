"""Handed sync: the kernel syncs a file while its writer works, and nobody falls asleep over it.

Rules
  HS1 `hand_over` asks the kernel to sync a file and returns; what was written before is in it. `take` returns when it
      is over, or raises what it failed with. There is one at a time: until it is taken, no other is handed over.
  HS2 Whoever takes it looks on until it is over, and sees that in memory which the kernel shares with the process.
      Between two looks the processor is offered to whoever wants it, the kernel's own worker first of all. A processor
      that is never without work does not halt: it is not late for the end of the write, nor for that of the flush
      behind it, and finds its caches as it left them (ADR 55, ADR 57).
  HS3 Nobody looks on for longer than `LOOK_NS`; the rest is slept over. A look in vain says that this disk, or somebody
      who wants the processor, takes longer than looking is worth: the next sync is not handed over, and twice as many
      after each further look in vain, up to `RESTS_MAX`.
  HS4 The kernel's ring may be seen in any order: a sync is over when its end stands in the ring and its result does,
      which was `NO_RESULT` before.
  HS5 Where the kernel does not offer it, and with QUAESTOR_LOOK_US=0, nothing is handed over: who wants a sync makes
      it.

Called by real_disk.  Calls the kernel as asynchronous_write does, on a queue of its own.
"""

import ctypes
import errno
import os
import platform
from typing import Final

from quaestor.readiness import LOOK_NS, monotonic_ns, offer_processor
from quaestor.storage.asynchronous_write import NUMBERS, KernelQueue, pack_request

SYNC_DATA: Final = 3
"""The operation: what fdatasync does."""

NO_RESULT: Final = 1
"""What no sync gives: it is 0, or a negative number."""

PLACES, HEAD, TAIL, MAGIC = 1, 2, 3, 4
RING_MAGIC: Final = 0xA10A10A1
RING_BYTES, END_WORDS, RESULT_WORD = 32, 4, 2
"""The kernel's ring: how many places there are, up to where they are taken and filled; then ends of 4 long words."""

RESTS_MAX: Final = 256


class HandedSync:
    """One sync at a time that the kernel makes (HS1-HS5); one thread at a time."""

    __slots__ = ("_asks_for", "_ends", "_in_vain", "_places", "_queue", "_rests", "_ring", "under_way")

    def __init__(self, queue: KernelQueue) -> None:
        self._queue = queue
        self._ring = _words(queue.number, RING_BYTES, "I")
        if self._ring[MAGIC] != RING_MAGIC:
            raise OSError(errno.ENOSYS, "the kernel's ring has a form of its own")
        self._places = self._ring[PLACES]
        self._ends = _words(queue.number + RING_BYTES, self._places * END_WORDS * 8, "q")
        self._rests, self._in_vain = 0, 1  # syncs not to hand over now, and after the next look in vain
        self._asks_for = -1  # the file that the request names
        self.under_way = -1
        """The file whose sync has not been taken."""

    def hand_over(self, file: int) -> bool:
        """Have the kernel sync a file; False where that is not to be had now (HS1, HS3)."""
        if self._rests:
            self._rests -= 1
            return False
        if self.under_way >= 0:
            return False
        queue = self._queue
        if self._asks_for != file:
            pack_request(queue.requests, 0, 0, 0, 0, SYNC_DATA, 0, file, 0, 0, 0, 0, 0, 0)
            self._asks_for = file
        self._ends[self._ring[HEAD] * END_WORDS + RESULT_WORD] = NO_RESULT
        try:
            queue.submit(0)
        except OSError:
            self._rests = 1 << 62  # HS5
            return False
        self.under_way = file
        return True

    def take(self) -> None:
        """Return when what was handed over is durable, or raise what it failed with (HS1)."""
        ring, ends = self._ring, self._ends
        head = ring[HEAD]
        at = head * END_WORDS + RESULT_WORD
        until_ns = monotonic_ns() + LOOK_NS
        while ring[TAIL] == head or ends[at] == NO_RESULT:  # HS2, HS4
            offer_processor()
            if monotonic_ns() > until_ns:
                self._rests = self._in_vain  # HS3
                self._in_vain = min(2 * self._in_vain, RESTS_MAX)
                result = self._sleep()
                break
        else:
            self._in_vain, result = 1, ends[at]
            ring[HEAD] = (head + 1) % self._places
        self.under_way = -1
        if result < 0:
            raise OSError(-result, os.strerror(-result))

    def _sleep(self) -> int:
        """Wait in the kernel; gives the result."""
        while not (ended := self._queue.ended(wait=True)):
            pass  # a signal came, and nobody was interrupted by it
        return ended[0][1]

    def close(self) -> None:
        """Give the queue back; the kernel waits for what is under way."""
        self._ring.release()
        self._ends.release()
        self._queue.close()


def _words(address: int, length: int, kind: str) -> memoryview:
    """Memory of the kernel's as words."""
    words: memoryview = memoryview((ctypes.c_char * length).from_address(address)).cast("B").cast(kind)  # type: ignore[call-overload]
    return words


def handed_sync() -> HandedSync | None:
    """For the files of one disk, where the kernel offers it (HS5)."""
    if not LOOK_NS or platform.system() != "Linux" or platform.machine() not in NUMBERS:
        return None
    try:
        return HandedSync(KernelQueue(1))
    except OSError:
        return None
