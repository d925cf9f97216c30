"""Memory: what tests leave in circles is given back when there is much of it.

A disk in memory is large where Python sees a few objects: its own search for garbage begins when there are gigabytes of
them, and what is then free stays with the process.
"""

import ctypes
import gc
from pathlib import Path

GROWN_PAGES = 50_000
"""200 MB."""


class Memory:
    """How much memory this process has had since it was last given back."""

    def __init__(self):
        self._least = _resident_pages()

    def give_back(self):
        """Look for garbage if the process has grown by much."""
        now = _resident_pages()
        self._least = min(self._least, now)
        if now > self._least + GROWN_PAGES:
            gc.collect()
            ctypes.CDLL(None).malloc_trim(0)
            self._least = _resident_pages()


def _resident_pages():
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])


MEMORY = Memory()
