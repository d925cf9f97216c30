"""Asynchronous writes: durable writes that are handed to the kernel and are over some time later.

Rules
  AW1 `submit` hands one write over and returns; `take` says how many bytes it wrote, or what it failed with, once.
      Between the two the kernel may read the memory at any time: who submitted keeps it where it is.
  AW2 Several writes may be under way; each is taken by its own number, in any order, by any thread. One thread at a
      time waits in the kernel, and keeps for the others what it was told of theirs.
  AW3 Whoever cannot wait has an `Announcement`: a descriptor that is readable when any write has ended. It is cleared
      before a write is looked at, so that no end is missed; it may be readable once too often.
  AW4 Where the kernel has no such interface, or no room for another queue, nothing is offered (`kernel_writes`), and
      the caller writes and waits.
  AW5 A process that ends, or closes its queue, with a write under way waits in the kernel until it is over. A child
      that was forked has no part in its parent's writes: what it closes is its own copy of the descriptor.

Called by real_file, handed_sync and the disk of the tests.  Calls the kernel (io_submit and its like) through the C
library.
Why system calls by number: the C library has no names for them, and what is packaged cannot take memory as it lies
(ADR 18).
"""

import ctypes
import errno
import os
import platform
from _thread import allocate_lock
from struct import Struct
from typing import Final

NUMBERS: Final = {"x86_64": (206, 207, 208, 209), "aarch64": (0, 1, 4, 2)}
"""{machine: numbers of io_setup, io_destroy, io_getevents, io_submit}"""

SLOTS: Final = 8
WRITE: Final = 1
ANNOUNCES: Final = 1
DURABLE: Final = getattr(os, "RWF_DSYNC", 0)
pack_request: Final = Struct("=QIiHhIQQqQII").pack_into
"""iocb: data, key, flags of a write, operation, priority, file, memory, length, offset, -, flags, eventfd."""

_unpack_event: Final = Struct("=QQqq").unpack_from
REQUEST_BYTES: Final = 64
EVENT_BYTES: Final = 32
UNDER_WAY: Final = object()
_address = ctypes.addressof
_memory = ctypes.c_char.from_buffer


class Announcement:
    """A descriptor that is readable when a write has ended (AW3)."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def clear(self) -> None:
        """What ended so far is going to be looked at."""
        try:
            os.eventfd_read(self.fd)
        except BlockingIOError:
            return

    def ring(self) -> None:
        """Say that a write has ended, where the kernel does not."""
        os.eventfd_write(self.fd, 1)

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    __del__ = close


class KernelQueue:
    """A queue of the kernel for so many requests at a time, each in a slot of its own.

    Its number is the address of a ring in which the kernel notes what has ended.
    """

    def __init__(self, slots: int) -> None:
        self.number = 0
        setup, destroy, getevents, submit = NUMBERS[platform.machine()]
        library = ctypes.CDLL(None, use_errno=True)
        self._submit, self._take, self._destroy = library["syscall"], library["syscall"], library["syscall"]
        self._submit.argtypes = (ctypes.c_long, ctypes.c_ulong, ctypes.c_long, ctypes.c_void_p)
        self._take.argtypes = (*self._submit.argtypes[:3], ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
        self._destroy.argtypes = (ctypes.c_long, ctypes.c_ulong)
        self._numbers = (submit, getevents, destroy)
        number = ctypes.c_ulong(0)
        if library.syscall(ctypes.c_long(setup), ctypes.c_long(slots), ctypes.byref(number)) != 0:
            raise _error()
        self.number, self._slots = number.value, slots
        self.requests = ctypes.create_string_buffer(slots * REQUEST_BYTES)
        places = [_address(self.requests) + slot * REQUEST_BYTES for slot in range(slots)]
        self._pointers = [(ctypes.c_void_p * 1)(place) for place in places]
        self._pointer_at = [_address(pointer) for pointer in self._pointers]
        self._events = ctypes.create_string_buffer(slots * EVENT_BYTES)
        self._events_at = _address(self._events)
        self._now = ctypes.create_string_buffer(16)  # a wait of no seconds
        self._now_at = _address(self._now)

    def submit(self, slot: int) -> None:
        """Hand over the request that stands in a slot; raises why it was not taken."""
        if self._submit(self._numbers[0], self.number, 1, self._pointer_at[slot]) != 1:
            raise _error()

    def ended(self, *, wait: bool) -> list[tuple[int, int]]:
        """The data that requests were given and what became of them: of one at least that has ended, if one waits.

        None where a signal came.
        """
        timeout = None if wait else self._now_at
        number = self._take(self._numbers[1], self.number, int(wait), self._slots, self._events_at, timeout)
        if number < 0 and ctypes.get_errno() != errno.EINTR:
            raise _error()
        return [_unpack_event(self._events, at * EVENT_BYTES)[:3:2] for at in range(max(number, 0))]

    def close(self) -> None:
        """Give the queue back; the kernel waits for what is under way (AW5)."""
        number, self.number = self.number, 0
        if number:
            self._destroy(self._numbers[2], number)

    __del__ = close


class KernelWrites:
    """A few durable writes at a time (AW1-AW3)."""

    def __init__(self) -> None:
        self.announcement: Announcement | None = None
        self._queue = KernelQueue(SLOTS)
        self._free = list(range(SLOTS))
        self._results: list[object] = [UNDER_WAY] * SLOTS
        self._taking = allocate_lock()

    def announce(self) -> Announcement:
        """From now on the end of every write is announced (AW3)."""
        if self.announcement is None:
            self.announcement = Announcement()
        return self.announcement

    def submit(self, file: int, offset: int, data: memoryview) -> int:
        """Hand over a durable write; gives its number (AW1)."""
        try:
            slot = self._free.pop()
        except IndexError:
            raise BlockingIOError(errno.EAGAIN, "every place for a write is taken") from None
        told = self.announcement
        flags, fd = (0, 0) if told is None else (ANNOUNCES, told.fd)
        self._results[slot] = UNDER_WAY
        place, memory = slot * REQUEST_BYTES, _address(_memory(data))
        queue = self._queue
        pack_request(queue.requests, place, slot, 0, DURABLE, WRITE, 0, file, memory, len(data), offset, 0, flags, fd)
        try:
            queue.submit(slot)
        except OSError:
            self._free.append(slot)
            raise
        return slot

    def take(self, slot: int, *, wait: bool) -> int | None:
        """How many bytes a write has written; None while it is under way, unless one waits (AW1, AW2)."""
        with self._taking:
            while self._results[slot] is UNDER_WAY:
                ended = self._queue.ended(wait=wait)
                for told, result in ended:
                    self._results[told] = result
                if not ended and not wait:
                    return None
            found = self._results[slot]
            self._free.append(slot)
        written: int = found  # type: ignore[assignment] # not UNDER_WAY any more
        if written < 0:
            raise failure(written)
        return written

    def close(self) -> None:
        """No more writes (AW5)."""
        self._queue.close()
        if self.announcement is not None:
            self.announcement.close()
            self.announcement = None


def kernel_writes() -> KernelWrites | None:
    """A queue for writes, if this kernel offers one (AW4)."""
    if platform.system() != "Linux" or platform.machine() not in NUMBERS or not DURABLE:
        return None
    try:
        return KernelWrites()
    except OSError:
        return None


def failure(result: int) -> OSError:
    """What a request failed with, by its result."""
    return OSError(-result, os.strerror(-result))


def _error() -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code))
