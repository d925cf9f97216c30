"""One load at a time: the lock of a lake.

Rules
  L1  Who changes a lake holds its lock; readers need none, for a snapshot never changes under them.
  L2  The lock dies with its process, however it ends: the operating system releases it.
  L3  Who finds it taken waits, and says for whom; or gives up at once when told not to wait.
  L4  Object stores have no such lock. There the one who schedules loads must keep them apart; a load that lost a race
      notices at its commit (see lake, K5).

Called by lake.  Calls nothing of the house.
"""

import fcntl
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from quaestor.pipeline.errors import BusyLakeError


@contextmanager
def locked(path: Path, *, wait: bool, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock file at `path` (L1, L3)."""
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"{path.parent}: busy, {_holder(path)} is changing this lake"
            if not wait:
                raise BusyLakeError(message) from None
            say(f"{message}; waiting")
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        yield


def _holder(path: Path) -> str:
    return path.read_text(encoding="utf-8") or "another process"
