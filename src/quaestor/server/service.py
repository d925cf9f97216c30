"""Service: the event loop that serves every client of one queue manager.

Rules
  SV1 One thread reads all sockets and calls the engine directly. A turn takes what the sockets have, carries it out,
      sends the answers that need no log, takes in who has come meanwhile, forces the log once for all commits, ends
      those units and sends the rest. The force is waited for, or in flight while further turns serve those who need no
      log, and its end comes like a request (`group_commit`). Nothing else happens between its end and the answers.
      What one client has sent ahead takes no more than `link.SHARE_NS` of a turn: then it is the turn of others.
  SV2 A get that waits costs a waiter on its queue and an entry among the deadlines, no thread. Entries of waits that
      are over are removed when they may be half of all.
  SV5 Quiescing takes no new connection and ends when the last application has, or when its time is over. Stopping backs
      out everybody at once.
  SV6 When the engine fails nothing is answered any more: every link ends, and so does the service. Commits in flight
      have then committed or not, as restart will find.
  SV10 What is to be looked at now and then (`at_sweeps`) is looked at by this thread, in the sweep of each second. Each
      look knows itself when it is time.

What other threads ask for is in `asked` (SV3), who is cut off in `overdue` (SV4), who comes in `arrivals` (SV7-SV9).
Why a loop of our own: turns are what group commit needs (ADR 50), and asyncio's cost per event is as large as a put.
Called by process, link and conversation.  Calls those, group_commit, the queue manager.
"""

import os
import socket
from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from threading import get_ident
from typing import Any

from quaestor.clock import Clock
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.connection import Connection
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.qmgr.recovery.outcomes import owned
from quaestor.qmgr.security import Access
from quaestor.readiness import READ, WRITE, Readiness
from quaestor.server.arrivals import Arrivals
from quaestor.server.asked import Asked
from quaestor.server.calls import Commands
from quaestor.server.group_commit import GroupCommit
from quaestor.server.identity import Identity
from quaestor.server.journal import Journal
from quaestor.server.limits import Limits
from quaestor.server.link import Link
from quaestor.server.overdue import why_cut_off
from quaestor.server.parked import Parked

SWEEP_S = 1.0
CHANNEL = "SYSTEM.DEF.SVRCONN"
DEADLINES_MAX = 4096
GATHER = 8


class Service:
    """Serves the clients of one queue manager (SV1-SV6, SV10)."""

    def __init__(
        self,
        manager: QueueManager,
        identity: Identity,
        journal: Journal,
        clock: Clock,
        limits: Limits | None = None,
        commands: Commands | None = None,
    ) -> None:
        self.name = manager.name
        self.identity, self.journal, self.limits = identity, journal, limits or Limits()
        self.commits = GroupCommit(manager.engine.recovery, clock)
        self.posted: deque[Parked] = deque()
        self.held_up: list[Callable[[], None]] = []
        manager.messages.catalogue.gate.on_open = lambda: self.ask(self._let_in)
        self.talking: list[Link] = []
        self.links: set[Link] = set()
        self._manager, self._clock, self.commands = manager, clock, commands
        self.monotonic_ns = clock.monotonic_ns
        self._ended: list[tuple[Link, str | None]] = []
        self._deadlines: list[tuple[float, int, Parked]] = []
        self._deadlines_max = DEADLINES_MAX
        self._turns = count()
        self._readiness = Readiness()
        self.arrivals = Arrivals(self, self._readiness)
        self._asked = Asked(self._readiness)
        self.ask, self._wake = self._asked.ask, self._asked.wake
        if self.commits.told_by is not None:
            self._readiness.watch(self.commits.told_by, READ, lambda _: self.commits.land())
        self._thread = 0
        self._stopping = False
        self._quiesce_until = 0.0
        self.started_us = clock.now_us()
        self.now = self._time()
        self._sweep_s = min(SWEEP_S, self.limits.heartbeat_s / 4)
        self._next_sweep = self.now + self._sweep_s
        self.at_sweeps: list[Callable[[], None]] = []
        self.turns = 0

    def _time(self) -> float:
        return self.monotonic_ns() / 1e9

    # -- sockets

    def watch(self, link: Link) -> None:
        """A link's wishes have changed."""
        self._readiness.watch(link.fd, (READ if link.reading else 0) | (WRITE if link.writing else 0), link.ready)

    def ended(self, link: Link, why: str | None) -> None:
        """A link has ended; it is let go of at the end of the turn, or of its commits."""
        self._readiness.watch(link.fd, 0, link.ready)
        self._ended.append((link, why))

    # -- the loop, rule SV1

    def run(self) -> None:
        """Serve until told to stop, or until the engine fails (SV6)."""
        self._thread = get_ident()
        try:
            while not self._stopping:
                self.turn(self._readiness.now() or self._wait())
        except Abend as error:
            with self._manager.engine.recovery.latch:
                self._manager.connections.failed(error)
        finally:
            self._close()

    def turn(self, events: list[tuple[int, int]]) -> None:
        self.turns += 1
        self.now = self.monotonic_ns() / 1e9
        self._take(events)
        commits = self.commits
        if commits.started or commits.durable:
            self._commit(commits)
        if self.talking:
            self._flush()
        if self._deadlines and self._deadlines[0][0] <= self.now:
            self._end_waits()
        if self.now >= self._next_sweep:
            self._sweep()
        if self._ended:
            self.let_go()
        if self._manager.connections.failure is not None:
            self._stopping = True

    def _take(self, events: list[tuple[int, int]]) -> None:
        """Carry out what these sockets have, and what that makes possible."""
        told = self._readiness.told
        for fd, found in events:
            ready = told.get(fd)
            if ready is not None:  # a link may have gone in this very turn
                ready(found)
        if self.posted:
            self._look_again()

    def _commit(self, commits: GroupCommit) -> None:
        """Answer those whose commits are durable, and make the others durable (GC2, GC4)."""
        while True:
            if commits.durable:
                durable, commits.durable = commits.durable, []
                self._manager.messages.catalogue.unit_ended()
                for conversation, answer in durable:
                    conversation.hardened(answer)
                if self.posted:
                    self._look_again()
            if not commits.started or commits.in_flight:
                return
            if len(self.links) > 1:
                self._gather()
            elif self.talking:
                self._flush()
            if commits.depart():
                return
            commits.harden()

    def _gather(self) -> None:
        """Before the log is forced: whoever has come meanwhile goes along (GC4)."""
        for _ in range(GATHER):
            if self.talking:
                self._flush()
            company = self._readiness.now()
            if not company:
                return
            self._take(company)
        self._flush()

    def _look_again(self) -> None:
        posted = self.posted
        while posted:
            parked = posted.popleft()
            parked.look_again()

    def _flush(self) -> None:
        talking = self.talking.copy()
        self.talking.clear()
        for link in talking:
            link.flush()

    def _wait(self) -> list[tuple[int, int]]:
        return self._readiness.ready(self._patience(), look=not self.commits.in_flight)  # RD5

    def _patience(self) -> float:
        """How long there is nothing to do but to wait for sockets."""
        waits = self._ended or self.commits.started
        if self.posted or self.talking or (waits and not self.commits.in_flight):
            return 0
        until = self._next_sweep if not self._deadlines else min(self._next_sweep, self._deadlines[0][0])
        return max(until - self._time(), 0)

    # -- waits, rule SV2

    def wait_until(self, parked: Parked) -> None:
        """A get waits; remember when its time is over."""
        if parked.wait_ms < 0:
            return
        if len(self._deadlines) >= self._deadlines_max:
            self._deadlines = [entry for entry in self._deadlines if entry[2].waits]
            heapify(self._deadlines)
            self._deadlines_max = max(DEADLINES_MAX, 2 * len(self._deadlines))
        heappush(self._deadlines, (self.now + parked.wait_ms / 1000, next(self._turns), parked))

    def post(self, parked: Parked) -> None:
        """A parked get is worth looking at again (SV3)."""
        self.posted.append(parked)
        if get_ident() != self._thread:
            self._wake()

    def _end_waits(self) -> None:
        while self._deadlines and self._deadlines[0][0] <= self.now:
            parked = heappop(self._deadlines)[2]
            parked.time_is_over()

    # -- other threads, rule SV3

    def _let_in(self) -> None:
        """Units of recovery begin again: those who were held up go on (CV8)."""
        held_up, self.held_up = self.held_up, []
        for go_on in held_up:
            go_on()

    # -- links

    def connect(self, link: Link) -> Connection:
        """A connection for one of a link's conversations; its task is accounted for under channel and address."""
        local = link.sock.family == socket.AF_UNIX
        return self._manager.connections.connect(
            link.user,
            link.application,
            client=owned(link.client, link.user),
            recovery=self.commits,
            channel="" if local else CHANNEL,
            address="" if local else link.peer,
        )

    def _sweep(self) -> None:
        """Look the links over (SV4), and what else there is to look at (SV10)."""
        self._next_sweep = self.now + self._sweep_s
        self.commits.others.clear()
        self.arrivals.look_over()
        for link in tuple(self.links):
            why = why_cut_off(link, self.limits, self.now)
            if why:
                link.end(why)
        for look in self.at_sweeps:
            look()
        if self._quiesce_until:
            self._go_on_quiescing()

    def let_go(self) -> None:
        """End the links that have ended: their units are backed out (LI4)."""
        ended, self._ended = self._ended, []
        for link, why in ended:
            if self.commits.concerns(link):
                self._ended.append((link, why))
                continue
            if why is not None:
                self.journal.tell("QSV010W", peer=link.peer, user=link.user, why=why)
            self.links.discard(link)
            self.arrivals.strangers.pop(link, None)
            link.abandon()

    # -- status

    def status(self) -> dict[str, Any]:
        log = self._manager.engine.log
        return {
            "qmgr": self.name,
            "state": "quiescing" if self._quiesce_until else "running",
            "pid": os.getpid(),
            "uptime_s": (self._clock.now_us() - self.started_us) // 1_000_000,
            "links": len(self.links),
            "conversations": sum(link.applications for link in self.links),
            "waiting_gets": sum(len(one.parked) for link in self.links for one in link.conversations.values()),
            "security": self._manager.security.active,
            "log_rba": f"{log.end:012X}",
        }

    def figures(self, user: str) -> list[bytes]:
        """What has been counted since the last record, as SMF (SM5); for whoever may see the traces."""
        self._manager.security.check(user, "command", "DISPLAY.TRACE", Access.READ)
        return self._manager.statistics.so_far()

    # -- the end, rules SV5 and SV6

    @property
    def failed(self) -> bool:
        return self._manager.connections.failure is not None

    @property
    def quiescing(self) -> bool:
        return bool(self._quiesce_until)

    def quiesce(self) -> None:
        """Take no new connection; end with the last application, or when time is over."""
        if not self._quiesce_until:
            self.journal.tell("QSV003I", qmgr=self.name, conversations=self.status()["conversations"])
            self._quiesce_until = self._time() + self.limits.quiesce_s
            self._manager.connections.quiesce()
            self._next_sweep = 0.0

    def _go_on_quiescing(self) -> None:
        left = sum(link.applications for link in self.links)
        if not left:
            self._stopping = True
        elif self.now >= self._quiesce_until:
            self.journal.tell("QSV012W", conversations=left)
            self._stopping = True
        else:
            self._next_sweep = self.now + 0.1

    def stop(self) -> None:
        """End at once."""
        self._stopping = True

    def _close(self) -> None:
        for link in tuple(self.links):
            link.end(None)
        if self._manager.connections.failure is None:
            self.commits.harden()
        else:
            self.commits.abandon()
        self.let_go()
        self.arrivals.close()
        self._readiness.close()
        self._asked.close()
        self.identity.close()
