"""Work list: requests to the shared repository, done by server tasks.

Rules
  DW1 A thread puts its request on the work list and waits; a server task takes the first one and runs it on its own
      connection. Thread time is from the posting to the waking, server time is that of the database alone (MP1B M-8).
      Each is counted into Q5ST by the kind of request: number, sum, longest.
  DW2 DHIGMAX is the longest the list was, the request just posted included.
  DW3 A server task that meets an error of its own counts as an abend, gives the error to the thread and goes on with
      the next request: one bad request does not end the service of the others.
  DW4 Without server tasks (not started, or stopped) the thread that asks does the work itself, with the same counts.

The server tasks are threads, the exception to the rule that managers have none: a database client waits in the
library, and the engine must not wait with it.

Called by the db2 manager.  Calls the tables it was given.
"""

from collections import deque
from collections.abc import Callable
from threading import Condition, Event, Thread
from typing import Any

from quaestor.clock import Clock, tod_of_ns
from quaestor.smf.sections.db2 import Db2Statistics
from quaestor.storage.shared_tables import ChangedError, Repository, RepositoryAwayError

ANSWERS = (ChangedError, RepositoryAwayError)
"""Errors that are answers, not abends (DW3)."""

Work = Callable[[Repository], Any]


class _Request:
    """One request on the list."""

    __slots__ = ("answer", "done", "error", "kind", "server_ns", "work")

    def __init__(self, kind: str, work: Work) -> None:
        self.kind, self.work = kind, work
        self.done = Event()
        self.answer: Any = None
        self.error: BaseException | None = None
        self.server_ns = 0


class WorkList:
    """The list and its server tasks (DW1 to DW4)."""

    def __init__(self, connect: Callable[[], Repository], clock: Clock, stats: Db2Statistics) -> None:
        self._connect, self._clock, self.stats = connect, clock, stats
        self._waiting: deque[_Request] = deque()
        self._posted = Condition()
        self._ending = False
        self._servers: list[Thread] = []
        self._own: Repository | None = None

    def start(self, servers: int) -> None:
        """So many server tasks, and the one that follows changes beside them (MP1B M-9)."""
        self._ending = False
        self.stats.tasks, self.stats.tasks_active = servers, servers + 1
        self._servers = [
            Thread(target=self._serve, name=f"db2 server {number}", daemon=True) for number in range(1, servers + 2)
        ]
        for server in self._servers:
            server.start()

    def stop(self) -> None:
        """Do what is on the list, then end."""
        with self._posted:
            self._ending = True
            self._posted.notify_all()
        for server in self._servers:
            server.join()
        self._servers = []
        self.stats.tasks_active = 0
        if self._own is not None:
            self._own.close()
            self._own = None

    def ask(self, kind: str, work: Work) -> tuple[Any, int, int]:
        """The answer to a request, its thread time and its server time; raises what the work raised (DW1)."""
        request = _Request(kind, work)
        before_ns = self._clock.monotonic_ns()
        if self._servers:
            self._post(request)
            request.done.wait()
        else:
            self._alone(request)
        thread_ns = self._clock.monotonic_ns() - before_ns
        with self._posted:
            _count_time(self.stats, kind, "thread", thread_ns)
        if request.error is not None:
            raise request.error
        return request.answer, thread_ns, request.server_ns

    def _post(self, request: _Request) -> None:
        with self._posted:
            self._waiting.append(request)
            self._note_depth(len(self._waiting))
            self._posted.notify()

    def _alone(self, request: _Request) -> None:
        with self._posted:
            self._note_depth(1)
            if self._own is None:
                self._own = self._connected()
            own = self._own
        self._run(own, request)

    def _note_depth(self, depth: int) -> None:
        self.stats.queue_depth_high = max(self.stats.queue_depth_high, depth)  # DW2

    def _serve(self) -> None:
        """A server task: one connection, one request after the other."""
        with self._posted:
            tables = self._connected()
        while (request := self._next()) is not None:
            self._run(tables, request)
        tables.close()
        with self._posted:
            self.stats.disconnects += 1

    def _connected(self) -> Repository:
        self.stats.connects += 1
        return self._connect()

    def _next(self) -> _Request | None:
        with self._posted:
            self._posted.wait_for(lambda: self._waiting or self._ending)
            return self._waiting.popleft() if self._waiting else None

    def _run(self, tables: Repository, request: _Request) -> None:
        before_ns = self._clock.monotonic_ns()
        try:
            request.answer = request.work(tables)
        except BaseException as error:  # noqa: BLE001 - given to the thread that waits (DW3)
            request.error = error
        request.server_ns = self._clock.monotonic_ns() - before_ns
        with self._posted:
            self._count(request)
        request.done.set()

    def _count(self, request: _Request) -> None:
        if request.error is not None and not isinstance(request.error, ANSWERS):
            self.stats.abends += 1
        counter = f"{request.kind}s"
        setattr(self.stats, counter, getattr(self.stats, counter) + 1)
        _count_time(self.stats, request.kind, "server", request.server_ns)


def _count_time(stats: Db2Statistics, kind: str, who: str, took_ns: int) -> None:
    took = tod_of_ns(took_ns)
    total, longest = f"{kind}_{who}_elapsed", f"{kind}_{who}_longest"
    setattr(stats, total, getattr(stats, total) + took)
    setattr(stats, longest, max(getattr(stats, longest), took))
