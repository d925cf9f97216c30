"""The engine latch as an accounted task takes it: it times the wait for it and says whose call is being served.

Rules
  LA1 While the latch is held, `served.task` is the task that holds it; nobody's when it is free. Waiting for the log
      (recovery) puts it aside and back.
  LA2 What the log has grown by between taking and giving back the latch is this task's doing; a force in between
      lets others write. So the latch remembers where the log ended when it was given up; if there are more records when
      it is taken again, others have written, and what is ours is counted up to where they began (`begin`). Whoever
      reads the task's figures counts the rest (`take_stock`). Numbers of records are compared, not RBAs: those are
      numbers of several digits to Python, and comparing them is half of what a put pays for this rule.
  LA3 Two method calls are dear beside the cheapest puts and gets. So accounted handles do what `__enter__` and
      `__exit__` do in their own words; what they need of the latch is public.

Called by accounted connections and handles in place of the latch itself.
"""

from _thread import LockType
from collections.abc import Callable
from types import TracebackType

from quaestor.qmgr.connection.accounting import TaskTally
from quaestor.qmgr.log import LogManager
from quaestor.qmgr.resource_manager import Served


class TimedLatch:
    """The engine latch in the hands of one task (LA1, LA2)."""

    __slots__ = ("_counted", "_counted_writes", "end", "free", "log", "served", "take", "task", "writes")

    def __init__(self, latch: LockType, served: Served, log: LogManager, task: TaskTally) -> None:
        self.take, self.free = latch.acquire, latch.release
        self.served, self.log, self.task = served, log, task
        self.end, self.writes = log.end, log.records  # when the latch was given up (LA2)
        self._counted, self._counted_writes = self.end, self.writes
        task.take_stock = self.take_stock

    def __enter__(self) -> None:
        if not self.take(False):
            self.wait()
        self.served.task = self
        if self.log.records != self.writes:
            self.begin()

    def begin(self) -> None:
        """What the log has grown by since the latch was given up is not ours (LA2)."""
        self.take_stock()
        self.end = self._counted = self.log.end
        self.writes = self._counted_writes = self.log.records

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end, self.writes = self.log.end, self.log.records
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

    def take_stock(self) -> None:
        """Count what the task has logged until it gave up the latch (LA2)."""
        self.task.log_bytes += self.end - self._counted
        self.task.log_writes += self.writes - self._counted_writes
        self._counted, self._counted_writes = self.end, self.writes

    # -- what the managers tell the task being served

    def page_read(self, ns: int) -> None:
        self.task.verb.page_read(ns)

    def pages_written(self, ns: int) -> None:
        self.task.verb.pages_written(ns)

    def log_forcing(self) -> None:
        self.end, self.writes = self.log.end, self.log.records

    def log_forced(self, ns: int) -> None:
        self.task.verb.forced(ns)
        if self.log.records != self.writes:
            self.begin()

    def waits_for_log(self) -> Callable[[int], None]:
        return self.task.verb.hardened

    def skipped(self, messages: int) -> None:
        self.task.skipped(messages)

    def repository_asked(self, thread_ns: int, server_ns: int) -> None:
        self.task.repository_asked(thread_ns, server_ns)

    def lists_called(self, ns: int, *, kind: int, multiple: bool, redrives: int = 0) -> None:
        self.task.lists_called(ns, kind=kind, multiple=multiple, redrives=redrives)
