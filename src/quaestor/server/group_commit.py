"""Group commit: one force of the log for every commit of a turn of the event loop.

Rules
  GC1 To a conversation this is the recovery manager. Its `commit` logs the end of the unit and returns; the unit has
      committed when `harden` has forced the log, and nobody is told before.
  GC2 `harden` forces once, up to the last of the units, then ends them in the order in which they were started.
  GC3 A unit that logged nothing has nothing to wait for and ends at once.
  GC4 There is no timer and no thread: while a force is under way requests gather in the sockets, and the next turn
      serves them together. So company comes by itself, and a commit without company waits for nobody.
  GC5 A task that is accounted for is charged with its own wait: from the end of its call until the force was over,
      whomever else that force served.

Called by conversation (through the connection) and service.  Calls recovery and its log.
"""

from collections.abc import Callable

from quaestor.clock import Clock
from quaestor.qmgr.recovery import RecoveryManager, UnitOfRecovery


class GroupCommit:
    """Recovery as conversations see it (GC1)."""

    def __init__(self, recovery: RecoveryManager, clock: Clock) -> None:
        self._recovery, self._now_ns = recovery, clock.monotonic_ns
        self.latch = recovery.latch
        self.outcomes = recovery.outcomes
        self.begin = recovery.begin
        self.back_out = recovery.back_out
        self.prepare = recovery.prepare
        self.in_doubt = recovery.in_doubt
        self.resolve = recovery.resolve
        self.started: list[UnitOfRecovery] = []
        self._rba = 0
        self._charged: list[tuple[Callable[[int], None], int]] = []

    def commit(self, unit: UnitOfRecovery) -> None:
        """Log the end of a unit (GC1, GC3). The latch is held."""
        rba = self._recovery.start_commit(unit)
        if rba:
            self._rba = rba
            self.started.append(unit)
            task = self._recovery.served.task
            if task is not None:
                self._charged.append((task.waits_for_log(), self._now_ns()))  # GC5
        else:
            self._recovery.end_commit(unit)

    def harden(self) -> None:
        """Make every commit that was started durable, then visible (GC2). Raises Abend when the log fails."""
        recovery = self._recovery
        if self.started:
            recovery.log.force(self._rba)
        units = self.started.copy()
        self.started.clear()
        with self.latch:
            for unit in units:
                recovery.end_commit(unit)
        if self._charged:
            self._charge()

    def _charge(self) -> None:
        charged, self._charged = self._charged, []
        now_ns = self._now_ns()
        for waited, since_ns in charged:
            waited(now_ns - since_ns)
