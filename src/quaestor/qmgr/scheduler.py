"""Scheduler: runs the managers' background steps, one at a time, with the engine latch held.

A step that waits for files outside the engine (`latched` False) runs without it, so that no call waits for those files.

Rules
  W1  A step does a bounded piece of work. One that says there is more runs again at the next turn, after others have
      had theirs.
  W2  In tests the steps run when asked (`run_due`); in service one thread asks, and a second one for steps that take as
      long as somebody else's work does (`apart`): those hold up no other. No other manager has a thread.
  W3  A step that fails stops all background work and is told to whoever asked to know (`on_failure`): an error that
      nobody hears is worse than none.
  W4  An urgent step runs at once when something outside says that there is work for it.
  W5  Nobody takes the latch for nothing: a step that can see from outside that it has nothing to do (`due`) is left
      out. Whoever waits for the latch of a busy application is woken at each of its calls, mostly in vain.
  W6  Steps are due at the clock's round numbers, so that those of one period run one after the other: a thread that
      wakes for each of them takes the interpreter from an application each time.

Called by queue_manager.  Calls the managers' tasks.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from quaestor.clock import Clock
from quaestor.qmgr.resource_manager import Served, Task

NS_PER_MS = 1_000_000


class HasTasks(Protocol):
    """A manager, as far as the scheduler is concerned."""

    def tasks(self) -> Sequence[Task]: ...


class _Lane:
    """Steps that run one after the other, on one thread in service."""

    def __init__(self, latch: threading.Lock, tasks: list[Task], clock: Clock, served: Served) -> None:
        self._latch, self._clock, self.tasks, self._served = latch, clock, tasks, served
        self._due_ns = dict.fromkeys(range(len(tasks)), 0)
        self._urgent = [number for number, task in enumerate(tasks) if task.urgent]
        self.woken = threading.Event()
        self.thread: threading.Thread | None = None

    def run_due(self) -> int:
        """Run every step that is due; gives the milliseconds until the next one is (W1)."""
        for number, task in enumerate(self.tasks):
            now = self._clock.monotonic_ns()
            if self._due_ns[number] <= now:
                more = self._run(task)
                if not task.urgent or not self.woken.is_set():
                    period = task.every_ms * NS_PER_MS
                    self._due_ns[number] = now if more else now - now % period + period  # W6
        now = self._clock.monotonic_ns()
        return max(1, -((now - min(self._due_ns.values(), default=now)) // NS_PER_MS))

    def _run(self, task: Task) -> bool:
        if task.due is not None and not task.due():
            return False  # W5
        if not task.latched:
            with self._served.aside():  # R5
                return task.step()
        with self._latch:
            return task.step()

    def nudge(self) -> None:
        for number in self._urgent:
            self._due_ns[number] = 0
        self.woken.set()


class Scheduler:
    """Background work of all managers (W1-W6)."""

    def __init__(
        self,
        latch: threading.Lock,
        managers: Iterable[HasTasks],
        clock: Clock,
        on_failure: Callable[[BaseException], None] = lambda _error: None,
        served: Served | None = None,
    ) -> None:
        self._on_failure = on_failure
        self.tasks: list[Task] = [task for manager in managers for task in manager.tasks()]
        kinds = ([task for task in self.tasks if task.apart is apart] for apart in (False, True))
        self._lanes = [_Lane(latch, tasks, clock, served or Served()) for tasks in kinds if tasks]
        self._stopping = threading.Event()
        self.failure: BaseException | None = None

    def run_due(self) -> int:
        """Run every step that is due; gives the milliseconds until the next one is (W1)."""
        return min([lane.run_due() for lane in self._lanes], default=1)

    def nudge(self) -> None:
        """Run the urgent steps now; called from any thread, latch or not (W4)."""
        for lane in self._lanes:
            lane.nudge()

    def start(self) -> None:
        """Run steps on threads of their own until `stop` (W2)."""
        for lane in self._lanes:
            lane.thread = threading.Thread(target=self._serve, args=(lane,), name="quaestor-scheduler", daemon=True)
            lane.thread.start()

    def stop(self) -> None:
        """Return when no step runs any more. The latch is not held."""
        self._stopping.set()
        for lane in self._lanes:
            lane.woken.set()
        for lane in self._lanes:
            if lane.thread is not None:
                lane.thread.join()
                lane.thread = None

    def _serve(self, lane: _Lane) -> None:
        wait_ms = 0
        try:
            while not self._stopping.is_set():
                lane.woken.wait(wait_ms / 1000)
                lane.woken.clear()
                if not self._stopping.is_set():
                    wait_ms = lane.run_due()
        except BaseException as error:  # noqa: BLE001 - told to whoever listens (W3)
            self.failure = error
            self._stopping.set()
            self._on_failure(error)
