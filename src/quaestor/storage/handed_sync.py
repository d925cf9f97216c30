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
  HS5 Each has a number, and the end of another proves nothing: whoever is interrupted between handing one over and
      knowing of it leaves an end behind. If that one failed, the next to take one is told.
  HS6 Where the kernel does not offer it, and with QUAESTOR_LOOK_US=0, nothing is handed over: who wants a sync makes
      it.

Called by real_file.  Calls the kernel as asynchronous_write does, on a queue of its own.
"""

import ctypes
import errno
import platform
from struct import Struct
from typing import Final

from quaestor.readiness import LOOK_NS, monotonic_ns, offer_processor
from quaestor.storage.asynchronous_write import NUMBERS, KernelQueue, failure, pack_request

SYNC_DATA: Final = 3
"""The operation: what fdatasync does."""

NO_RESULT: Final = 1
"""What no sync gives: it is 0, or a negative number."""

PLACES, HEAD, TAIL, MAGIC = 1, 2, 3, 4
RING_MAGIC: Final = 0xA10A10A1
RING_BYTES, END_WORDS, RESULT_WORD = 32, 4, 2
"""The kernel's ring: how many places there are, up to where they are taken and filled; then ends of 4 long words, the
number of the request first."""

_pack_number: Final = Struct("=Q").pack_into
RESTS_MAX: Final = 256


class HandedSync:
    """One sync at a time that the kernel makes (HS1-HS6); one thread at a time."""

    __slots__ = ("_asks_for", "_ends", "_in_vain", "_number", "_places", "_queue", "_rests", "_ring", "under_way")

    def __init__(self, queue: KernelQueue) -> None:
        self._queue = queue
        self._ring = _words(queue.number, RING_BYTES, "I")
        if self._ring[MAGIC] != RING_MAGIC:
            raise OSError(errno.ENOSYS, "the kernel's ring has a form of its own")
        self._places = self._ring[PLACES]
        self._ends = _words(queue.number + RING_BYTES, self._places * END_WORDS * 8, "q")
        for place in range(self._places):
            self._ends[place * END_WORDS + RESULT_WORD] = NO_RESULT
        self._rests, self._in_vain = 0, 1  # syncs not to hand over now, and after the next look in vain
        self._asks_for, self._number = -1, 0  # the file that the request names, and its number
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
        self._number += 1
        _pack_number(queue.requests, 0, self._number)
        try:
            queue.submit(0)
        except OSError:
            self._rests = 1 << 62  # HS6
            return False
        self.under_way = file
        return True

    def take(self) -> None:
        """Return when what was handed over is durable, or raise what it failed with (HS1)."""
        ring, ends, until_ns = self._ring, self._ends, monotonic_ns() + LOOK_NS
        head = ring[HEAD]
        at = head * END_WORDS
        while ring[TAIL] == head or ends[at + RESULT_WORD] == NO_RESULT:  # HS2, HS4
            offer_processor()
            if monotonic_ns() > until_ns:
                self._rests = self._in_vain  # HS3
                self._in_vain = min(2 * self._in_vain, RESTS_MAX)
                self._sleep()
                return
        number, result = ends[at], ends[at + RESULT_WORD]
        ends[at + RESULT_WORD] = NO_RESULT
        ring[HEAD] = (head + 1) % self._places
        if number != self._number:
            self._left_behind(result)
            return
        self._in_vain, self.under_way = 1, -1
        if result < 0:
            raise failure(result)

    def _sleep(self) -> None:
        """Wait in the kernel (HS3)."""
        head, taken = self._ring[HEAD], list[tuple[int, int]]()
        while self._number not in dict(taken):
            taken += self._queue.ended(wait=True)  # of none when a signal came
        for place in range(head, head + len(taken)):
            self._ends[place % self._places * END_WORDS + RESULT_WORD] = NO_RESULT
        self.under_way = -1
        for _, result in taken:
            if result < 0:
                raise failure(result)

    def _left_behind(self, result: int) -> None:
        """The end of one that nobody knew of: there is another to take behind it (HS5)."""
        try:
            self.take()
        finally:
            if result < 0:
                raise failure(result)

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
    """For the files of one disk, where the kernel offers it (HS6)."""
    if not LOOK_NS or platform.system() != "Linux" or platform.machine() not in NUMBERS:
        return None
    try:
        return HandedSync(KernelQueue(1))
    except OSError:
        return None
