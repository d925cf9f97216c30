"""Asked: what other threads want of the loop.

Rules
  SV3 What comes from other threads (a posted wait, a proven identity, a signal) is put on a list and wakes the loop.

Called by service.  Calls the operating system.
"""

import os
from collections import deque
from collections.abc import Callable

from quaestor.readiness import READ, Readiness


class Asked:
    """Things to be done by the loop's own thread, and a pipe that wakes it (SV3)."""

    def __init__(self, readiness: Readiness) -> None:
        self._asked: deque[Callable[[], None]] = deque()
        self._wake_in, self._wake_out = os.pipe()
        os.set_blocking(self._wake_in, False)
        os.set_blocking(self._wake_out, False)
        readiness.watch(self._wake_in, READ, self._woken)

    def ask(self, what: Callable[[], None]) -> None:
        """Have something done by the loop's own thread; safe to call from a signal handler."""
        self._asked.append(what)
        self.wake()

    def wake(self) -> None:
        try:
            os.write(self._wake_out, b"!")
        except (BlockingIOError, OSError):
            return  # it is awake already, or gone

    def _woken(self, _events: int) -> None:
        os.read(self._wake_in, 4096)
        while self._asked:
            self._asked.popleft()()

    def close(self) -> None:
        os.close(self._wake_in)
        wake_out, self._wake_out = self._wake_out, -1
        os.close(wake_out)
