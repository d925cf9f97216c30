"""Group commit: one force of the log for every commit of a turn of the event loop.

Rules
  GC1 To a conversation this is the recovery manager. Its `commit` logs the end of the unit and returns; the unit has
      committed when `harden` has forced the log, and nobody is told before.
  GC2 `harden` forces once, up to the last of the units, then ends them in the order in which they were started.
  GC3 A unit that logged nothing has nothing to wait for and ends at once.
  GC4 There is no timer and no thread: while a force is under way requests gather in the sockets, and the next turn
      serves them together. So company comes by itself, and a commit without company waits for nobody.

Called by conversation (through the connection) and service.  Calls recovery and its log.
"""

from quaestor.qmgr.recovery import RecoveryManager, UnitOfRecovery


class GroupCommit:
    """Recovery as conversations see it (GC1)."""

    def __init__(self, recovery: RecoveryManager) -> None:
        self._recovery = recovery
        self.latch = recovery.latch
        self.outcomes = recovery.outcomes
        self.begin = recovery.begin
        self.back_out = recovery.back_out
        self.prepare = recovery.prepare
        self.in_doubt = recovery.in_doubt
        self.resolve = recovery.resolve
        self.started: list[UnitOfRecovery] = []
        self._rba = 0

    def commit(self, unit: UnitOfRecovery) -> None:
        """Log the end of a unit (GC1, GC3). The latch is held."""
        rba = self._recovery.start_commit(unit)
        if rba:
            self._rba = rba
            self.started.append(unit)
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
