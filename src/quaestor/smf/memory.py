"""Memory that was used once is kept for the next block.

Decoding asks for megabytes, block after block, and gives them back each time. The C library returns such memory to the
system and gets it again page by page, each page cleared: on dumps of any size that costs as much as a fifth of the
decoding. `keep_freed_memory` tells it to hold on to what it has; the process grows no larger than it was at its peak.

`unset_bytes` leaves out the clearing where everything is written over before it is read.

`keep_freed_memory` is called by whoever reads a dump from end to end: export and its processes, tasks of a load,
benchmarks.  Not by the library itself: how a process uses its memory is for the program to say.
"""

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # glibc's numbers
_KEPT_BYTES = 256 << 20
_FROM_HEAP_BYTES = 32 << 20  # the largest value that glibc takes


def keep_freed_memory() -> bool:
    """Ask the C library to keep freed memory; whether it does. Only glibc knows how."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    settings = ((_M_TRIM_THRESHOLD, _KEPT_BYTES), (_M_MMAP_THRESHOLD, _FROM_HEAP_BYTES))
    accepted = [mallopt(ctypes.c_int(option), ctypes.c_int(value)) for option, value in settings]
    return accepted == [1, 1]


def unset_bytes(size: int) -> bytearray:
    """A bytearray whose content nobody set: it must be written over, or cut off, before it is read."""
    if not _make_bytearray:
        return bytearray(size)
    made: bytearray = _make_bytearray(None, size)
    return made


_make_bytearray = getattr(getattr(ctypes, "pythonapi", None), "PyByteArray_FromStringAndSize", None)
if _make_bytearray:
    _make_bytearray.restype = ctypes.py_object
    _make_bytearray.argtypes = (ctypes.c_char_p, ctypes.c_ssize_t)
