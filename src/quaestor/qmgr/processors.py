"""Processors: kept awake while the log is forced.

Rules
  PR1 A processor with nothing to do halts. A virtual one is slow to come back, and comes back without what it had in
      its caches; each force of the log lets it halt twice. As long as any process asks Linux for a latency of 0
      (`/dev/cpu_dma_latency`), processors wait without halting.
  PR2 It is asked for only when told (`awake`), because every processor of the machine is busy then, and only while it
      is of use: from the look that finds the log forced since the last one to the look that does not.
  PR3 Who may not ask tells the operator once (CSQY901W); nothing else changes.

Called by queue_manager and the scheduler.  Calls the operating system.
"""

import os
from collections.abc import Callable, Sequence
from typing import Final

from quaestor.qmgr.resource_manager import Task

DEVICE: Final = "/dev/cpu_dma_latency"
NO_LATENCY: Final = bytes(4)
LOOK_EVERY_MS: Final = 1000


class Processors:
    """The machine's processors, as far as a queue manager may ask something of them (PR1-PR3)."""

    device = DEVICE

    def __init__(self, hardened: Callable[[], int], say: Callable[..., None], *, awake: bool) -> None:
        self._hardened, self._say, self._awake = hardened, say, awake
        self._seen = hardened()
        self._request: int | None = None

    def tasks(self) -> Sequence[Task]:
        return (Task("processors", self.look, LOOK_EVERY_MS, latched=False),) if self._awake else ()

    def look(self) -> bool:
        """Ask that processors stay awake while the log is forced (PR2)."""
        hardened = self._hardened()
        forced, self._seen = hardened != self._seen, hardened
        if not forced:
            self.rest()
        elif self._awake and self._request is None:
            self._ask()
        return False

    def _ask(self) -> None:
        try:
            self._request = os.open(self.device, os.O_WRONLY | os.O_CLOEXEC)
            os.write(self._request, NO_LATENCY)
        except OSError as error:
            self.rest()
            self._awake = False  # PR3
            self._say("CSQY901W", "processors cannot be kept awake", error=str(error))

    def rest(self) -> None:
        """Processors may halt, for all that this queue manager asks."""
        if self._request is not None:
            os.close(self._request)
            self._request = None
