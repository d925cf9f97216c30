"""The engine latch as an accounted task takes it: it times the wait for it and says whose call is being served.

Rules
  LA1 While the latch is held, `served.task` is the task that holds it; nobody's when it is free. Waiting for the log
      (recovery) puts it aside and back.
  LA2 Two method calls are dear beside the cheapest puts and gets. So accounted handles do what `__enter__` and
      `__exit__` do in their own words; what they need of the latch is public.

Called by accounted connections and handles in place of the latch itself.
"""

from _thread import LockType
from collections.abc import Callable
from types import TracebackType

from quaestor.qmgr.connection.accounting import TaskTally
from quaestor.qmgr.resource_manager import Served


class TimedLatch:
    """The engine latch in the hands of one task (LA1)."""

    __slots__ = ("free", "logged", "served", "take", "task")

    def __init__(self, latch: LockType, served: Served, task: TaskTally) -> None:
        self.take, self.free = latch.acquire, latch.release
        self.served, self.task, self.logged = served, task, task.logged

    def __enter__(self) -> None:
        if not self.take(False):
            self.wait()
        self.served.task = self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.served.task = None
        self.free()

    def acquire(self) -> None:
        self.__enter__()

    def release(self) -> None:
        self.__exit__(None, None, None)

    def wait(self) -> None:
        """Somebody else has the latch."""
        began_ns = self.task.now_ns()
        self.take()
        self.task.latch_waited(self.task.now_ns() - began_ns)

    # -- what the managers tell the task being served

    def page_read(self, ns: int) -> None:
        self.task.verb.page_read(ns)

    def pages_written(self, ns: int) -> None:
        self.task.verb.pages_written(ns)

    def log_forced(self, ns: int) -> None:
        self.task.verb.forced(ns)

    def waits_for_log(self) -> Callable[[int], None]:
        return self.task.verb.hardened

    def skipped(self, messages: int) -> None:
        self.task.skipped(messages)

    def repository_asked(self, thread_ns: int, server_ns: int) -> None:
        self.task.repository_asked(thread_ns, server_ns)

    def lists_called(self, ns: int, *, kind: int, multiple: bool, redrives: int = 0) -> None:
        self.task.lists_called(ns, kind=kind, multiple=multiple, redrives=redrives)
