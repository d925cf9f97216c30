"""The engine latch as an accounted task takes it: it times the wait for it and says whose call is being served.

Rules
  LA1 While the latch is held, `served.task` is the task that holds it; nobody's when it is free. Waiting for the log
      (recovery) puts it aside and back.
  LA2 Two method calls are dear beside the cheapest puts and gets. So accounted handles take the latch itself and do the
      rest in their own words; what they need of it is public.
  LA3 A wait is one for a latch that was seen to be held. Whatever a signal raises while the latch is taken, it is given
      back (R7). What it raises at the very moment at which `__exit__` begins comes before the function's first
      statement: so a call that has failed looks whether its thread still has the latch (`left`).

Called by accounted connections and handles in place of the latch itself.
"""

from _thread import LockType, get_ident
from collections.abc import Callable
from types import TracebackType

from quaestor.qmgr.connection.accounting import TaskTally
from quaestor.qmgr.resource_manager import Found, Served, without

_WAITING = (True,)
_NOBODY = 0


class TimedLatch:
    """The engine latch in the hands of one task (LA1)."""

    __slots__ = ("busy", "holder", "itself", "logged", "served", "task")

    def __init__(self, latch: LockType, served: Served, task: TaskTally) -> None:
        self.itself, self.busy = latch, latch.locked
        self.served, self.task, self.logged = served, task, task.logged
        self.holder = _NOBODY  # the thread that has it by `with` (LA3)

    def __enter__(self) -> None:
        held: list[bool] = []
        try:
            began_ns = self.task.now_ns() if self.busy() else 0
            held.extend(map(self.itself.acquire, _WAITING))
            self.served.task, self.holder = self, get_ident()
            if began_ns:
                self.waited(began_ns)
        except BaseException:
            if held:
                self._release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.holder, self.served.task = _NOBODY, None
        self.itself.release()

    def left(self) -> None:
        """A call has failed: give back what its `with` has not (LA3)."""
        if self.holder == get_ident():
            self._release()

    def _release(self) -> None:
        self.holder, self.served.task = _NOBODY, None
        self.itself.release()

    def without(self, call: Callable[[], Found]) -> Found:
        """Make a call without it (R7); for a call that began when nobody accounted for it, nothing is timed."""
        if self.served.task is not self:
            return without(self.itself, call)
        began_ns, self.served.task = 0, None
        holder, self.holder = self.holder, _NOBODY

        def timed() -> Found:
            nonlocal began_ns
            try:
                return call()
            finally:
                began_ns = self.task.now_ns() if self.busy() else 0

        try:
            return without(self.itself, timed)
        finally:
            self.served.task, self.holder = self, holder
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
