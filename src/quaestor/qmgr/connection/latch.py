"""The engine latch as an accounted task takes it: it times the wait for it and says whose call is being served.

Rules
  LA1 While the latch is held, `served.task` is the task that holds it; nobody's when it is free. Waiting for the log
      (recovery) puts it aside and back.
  LA2 Two method calls are dear beside the cheapest puts and gets. So accounted handles take the latch itself and do the
      rest in their own words; what they need of it is public.
  LA3 A wait is one for a latch that was seen to be held. Whatever a signal raises while the latch is taken, it is given
      back (R7). Not so, as yet, what it raises at the very moment at which `__exit__` begins: Python looks before the
      function's first statement.

Called by accounted connections and handles in place of the latch itself.
"""

from _thread import LockType
from collections.abc import Callable
from types import TracebackType

from quaestor.qmgr.connection.accounting import TaskTally
from quaestor.qmgr.resource_manager import Found, Served, without

_WAITING = (True,)


class TimedLatch:
    """The engine latch in the hands of one task (LA1)."""

    __slots__ = ("busy", "itself", "logged", "served", "task")

    def __init__(self, latch: LockType, served: Served, task: TaskTally) -> None:
        self.itself, self.busy = latch, latch.locked
        self.served, self.task, self.logged = served, task, task.logged

    def __enter__(self) -> None:
        held = list[bool]()
        try:
            began_ns = self.task.now_ns() if self.busy() else 0
            held.extend(map(self.itself.acquire, _WAITING))
            self.served.task = self
            if began_ns:
                self.waited(began_ns)
        except BaseException:
            if held:
                self.served.task = None
                self.itself.release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.served.task = None
        self.itself.release()

    def without(self, call: Callable[[], Found]) -> Found:
        """Make a call without it (R7)."""
        began_ns, self.served.task = 0, None

        def timed() -> Found:
            nonlocal began_ns
            try:
                return call()
            finally:
                began_ns = self.task.now_ns() if self.busy() else 0

        try:
            return without(self.itself, timed)
        finally:
            self.served.task = self
            if began_ns:
                self.waited(began_ns)

    def waited(self, began_ns: int) -> None:
        """Somebody else had the latch."""
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
