"""One processor: threads that commit together share it, where that is asked for.

Rules
  OC1 Python runs one thread at a time, and threads that commit together hand it on at every commit. On several
      processors each of them finds it where its caches are cold, behind a processor that has to be woken: that takes a
      third of a commit. On one processor the next thread simply runs.
  OC2 It is done only when told (`one_processor`). The first thread that waits for a force which another leads names the
      processor it is on; it and those that wait after it are kept there.
  OC3 A thread has its own processors back when it has not waited from one look to the next, and when the queue manager
      stops: what it computes meanwhile is its own matter. One that has ended is forgotten.
  OC4 A thread that may run on one processor only, or not on the one that was named, is left as it is.
  OC5 Threads and processes that such a thread starts while it is kept there inherit that from the system. That is why
      nobody is kept anywhere unless told.
  OC6 Where the system has no such thing, or refuses, the operator is told once (CSQY902W); nothing else changes.

Called by the log, for each thread that waits, queue_manager and the scheduler.  Calls the operating system.
"""

import os
from _thread import allocate_lock, get_native_id
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from quaestor.qmgr.resource_manager import Task

THREADS: Final = Path("/proc/self/task")
PROCESSOR_FIELD: Final = 36
"""Where the processor of a thread stands in its `stat`, counted from behind its name."""

LOOK_EVERY_MS: Final = 50


class Kept:
    """A thread on the processor that was named: its own ones, and whether it has waited since the last look."""

    __slots__ = ("lately", "own")

    def __init__(self, own: set[int]) -> None:
        self.own, self.lately = own, True


class OneProcessor:
    """The threads that are kept on one processor, by their number (OC1-OC6)."""

    def __init__(self, say: Callable[..., None], *, asked: bool) -> None:
        self._say, self.asked = say, asked
        self._guard = allocate_lock()
        self._kept: dict[int, Kept] = {}
        self._named = -1

    def tasks(self) -> Sequence[Task]:
        if not self.asked:
            return ()
        return (Task("one processor", self.look, LOOK_EVERY_MS, latched=False, due=lambda: bool(self._kept)),)

    def join(self) -> None:
        """The calling thread waits for others (OC2)."""
        thread = get_native_id()
        kept = self._kept.get(thread)
        if kept is not None:
            kept.lately = True
        elif self.asked:
            with self._guard:
                try:
                    self._keep(thread)
                except (OSError, AttributeError) as error:
                    self._give_up(error)

    def _keep(self, thread: int) -> None:
        own = os.sched_getaffinity(thread)
        if not self._kept:
            self._named = processor_of(thread)
        if len(own) > 1 and self._named in own:  # OC4
            os.sched_setaffinity(thread, {self._named})
            self._kept[thread] = Kept(own)

    def look(self) -> bool:
        """Those who have not waited since the last look have their own processors back (OC3)."""
        with self._guard:
            for thread, kept in list(self._kept.items()):
                if not kept.lately:
                    self._give_back(thread)
                kept.lately = False
        return False

    def rest(self) -> None:
        """All have their own processors back, and nobody is kept any more."""
        with self._guard:
            self.asked = False
            for thread in list(self._kept):
                self._give_back(thread)

    def _give_back(self, thread: int) -> None:
        own = self._kept.pop(thread).own
        try:
            if (THREADS / str(thread)).exists():  # another process may have its number
                os.sched_setaffinity(thread, own)
        except ProcessLookupError:
            return  # it has just ended
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Nobody is kept anywhere from now on (OC6)."""
        if self.asked:
            self.asked = False
            self._say("CSQY902W", "threads cannot be kept on one processor", error=str(error))


def processor_of(thread: int) -> int:
    """The processor that a thread of this process runs on, or last did."""
    stat = (THREADS / str(thread) / "stat").read_bytes()
    return int(stat.rpartition(b")")[2].split()[PROCESSOR_FIELD])
