"""Group commit: one force of the log for every commit that was started before it.

Rules
  GC1 To a conversation this is the recovery manager. Its `commit` logs the end of the unit and returns; the unit has
      committed when a force that began after that is over, and nobody is told before.
  GC2 One force serves all commits that were started before it; then their units end, in the order in which they were
      started, and their answers are `durable`. There is one force in flight at most: commits that are started meanwhile
      go with the next.
  GC3 A unit that logged nothing has nothing to wait for and ends at once.
  GC4 There is no timer and no thread. When everybody who has called since the last force waits for this one, the loop
      waits too (`harden`): nobody else is there to be served, and requests gather in the sockets for a force that
      serves them together. When `others` were served without the log meanwhile, the force is only begun (`depart`);
      the loop serves on, and the log says when it is over (`land`). Where the log cannot be forced in that way, or
      another thread is forcing it, the loop waits; so it does while processes look before they sleep (RD2), because
      they keep the kernel's workers from ending the write (`overlaps`).
  GC5 A task that is accounted for is charged with its own wait: from the end of its call until the force was over,
      whomever else that force served.
  GC6 While one client alone is connected there is no group: its commit is durable when the call returns, and answered
      at once. Only a put out of syncpoint has the disk begin first (EX3, ADR 57): who looks on until the disk has
      ended is a seventh faster and takes half as much processor time again.

Called by conversation (through the connection) and service.  Calls recovery and its log.
Why not always in flight: two forces of few cost more processor time than one of many, and gain nothing where all wait
(ADR 50).
"""

from collections.abc import Callable
from typing import Protocol

from quaestor.clock import Clock
from quaestor.qmgr.recovery import RecoveryManager, UnitOfRecovery
from quaestor.readiness import LOOK_NS


class Answered(Protocol):
    """Whoever is told when a unit has committed: a conversation."""

    @property
    def link(self) -> object: ...

    def hardened(self, answer: bytes) -> None: ...


Deferred = tuple[Answered, bytes]
Charged = tuple[Callable[[int], None], int]
Flight = tuple[list[UnitOfRecovery], list[Deferred], list[Charged]]


class GroupCommit:
    """Recovery as conversations see it (GC1)."""

    def __init__(self, recovery: RecoveryManager, clock: Clock) -> None:
        self._recovery, self._log, self._now_ns = recovery, recovery.log, clock.monotonic_ns
        self._start_commit, self.served = recovery.start_commit, recovery.served
        self.latch = recovery.latch
        self.outcomes = recovery.outcomes
        self.begin = recovery.begin
        self.back_out = recovery.back_out
        self.commit_unforced = recovery.commit_unforced
        self.prepare = recovery.prepare
        self.in_doubt = recovery.in_doubt
        self.resolve = recovery.resolve
        self.single = self.alone = False  # many may be served in one turn
        self.count = 0  # commits that were started and wait for the log, since the beginning
        self.started: list[UnitOfRecovery] = []
        self.deferred: list[Deferred] = []  # the answers of those
        self.durable: list[Deferred] = []  # answers that may be sent
        self.others: set[Answered] = set()  # who was served without the log since the last force, if it `overlaps`
        self.in_flight = False
        self.overlaps = not LOOK_NS
        self._rba = 0
        self._charged: list[Charged] = []
        self._flight: Flight = ([], [], [])

    @property
    def told_by(self) -> int | None:
        """Readable when a force is over; None where none can be in flight (GC4)."""
        return self._log.force_ready_fd

    def commit(self, unit: UnitOfRecovery) -> None:
        """Log the end of a unit (GC1, GC3, GC6). The latch is held."""
        if self._recovery.alone and not self.started and not self.in_flight:
            self._recovery.commit(unit)
            return
        rba = self._start_commit(unit)
        if rba:
            self._rba = rba
            self.count += 1
            self.started.append(unit)
            task = self.served.task
            if task is not None:
                self._charged.append((task.waits_for_log(), self._now_ns()))  # GC5
        else:
            self._recovery.end_commit(unit)

    def depart(self) -> bool:
        """Begin a force for what is started, if somebody is there to be served meanwhile and the log can (GC4)."""
        if not self.others:
            return False
        others = self.others.difference([one for one, _ in self.deferred])
        self.others.clear()
        if not others or not self._log.start_force(self._rba):
            return False
        self.in_flight = True
        self._flight = self._taken()
        return True

    def land(self) -> None:
        """The log says that a force is over: end its units (GC2). It may say so once too often. Raises Abend."""
        if self._log.finish_force(wait=False) and self.in_flight:
            self._end(*self._landed())

    def harden(self) -> None:
        """Wait until every commit that was started is durable, and end the units (GC4). Raises Abend."""
        if self.in_flight:
            self._log.finish_force(wait=True)
            self._end(*self._landed())
        if self.started:
            self._log.force(self._rba)
        self._end(*self._taken())

    def concerns(self, link: object) -> bool:
        """Whether a commit of one of a link's conversations is under way."""
        return any(one.link is link for one, _ in (*self.deferred, *self._flight[1]))

    def abandon(self) -> None:
        """The engine has failed: nobody is told any more."""
        self._landed()
        self._taken()

    def _landed(self) -> Flight:
        landed, self._flight, self.in_flight = self._flight, ([], [], []), False
        return landed

    def _taken(self) -> Flight:
        taken = self.started, self.deferred, self._charged
        self.started, self.deferred, self._charged = [], [], []
        return taken

    def _end(self, units: list[UnitOfRecovery], answers: list[Deferred], charged: list[Charged]) -> None:
        end_commit = self._recovery.end_commit
        with self.latch:
            for unit in units:
                end_commit(unit)
        self.durable += answers
        if charged:
            now_ns = self._now_ns()
            for waited, since_ns in charged:
                waited(now_ns - since_ns)
