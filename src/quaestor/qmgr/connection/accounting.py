"""Accounting of one task: plain numbers that its calls add to, for SMF 116.

Rules
  AC1 A connection that nobody accounts for pays nothing: its class, and that of its handles, know no account. When
      accounting starts or stops, connections and handles change their class (`accounted`), not their identity.
  AC3 Elapsed time and CPU time are those of the call without the wait for a message: that is the application's wish,
      not the queue manager's work. Falling asleep and waking up take CPU too, often more than the call does otherwise.
  AC4 Not every call is clocked, and those that are stand for the others; what they wait for is clocked always (`verb`).
  AC5 Waits (page reads, the log, the latch) are counted with the verb that is being served, whoever measures them.
  AC6 A call that failed is counted with its time; sizes, bytes and time on queue are those of calls that worked. A call
      that belongs to no queue (an open that failed, a definition) is an "other" call of the task.

AC2 is of `queue_tally`.

Called by connection, and by the managers that wait (`Waits`).  Read by statistics, which makes records of it.
"""

from typing import TYPE_CHECKING, Any, Protocol

from quaestor.clock import Clock
from quaestor.mqi.matching import ANY
from quaestor.qmgr.connection.queue_tally import QueueTally
from quaestor.qmgr.connection.shared_accounting import SharedTally
from quaestor.qmgr.connection.verb import Verb
from quaestor.qmgr.message.thread import ApplicationThread
from quaestor.qmgr.message.waiting import Waiting
from quaestor.qmgr.resource_manager import Logged

if TYPE_CHECKING:
    from quaestor.qmgr.connection.session import Connection


class TaskTally:
    """What a task did: the verbs that belong to no queue, its queues, its waits. The managers tell it (`Waits`)."""

    __slots__ = (
        "backout",
        "commit",
        "cpu_ns",
        "forgotten",
        "gets_by_size",
        "latch_longest_ns",
        "latch_ns",
        "latch_waits",
        "logged",
        "now_ns",
        "now_s",
        "now_us",
        "other",
        "prepare",
        "puts_by_size",
        "queues",
        "shared",
        "started_us",
        "thread",
        "verb",
        "waited_cpu_ns",
        "waited_ns",
        "waits_at",
    )

    def __init__(self, thread: ApplicationThread, clock: Clock) -> None:
        self.thread = thread
        self.now_ns, self.cpu_ns = clock.monotonic_ns, clock.cpu_ns
        self.now_us, self.now_s = clock.now_us, clock.now_s
        self.started_us = clock.now_us()
        self.commit, self.backout, self.prepare, self.other = Verb(), Verb(), Verb(), Verb()
        self.verb = self.other  # being served (AC5)
        self.forgotten = Verb()
        self.queues: dict[tuple[str, str], QueueTally] = {}
        self.shared = SharedTally()
        self.latch_waits = self.latch_ns = self.latch_longest_ns = 0
        self.logged = Logged()
        self.waited_ns = self.waited_cpu_ns = 0  # for a message, by the call in progress (AC3)
        self.waits_at: tuple[QueueTally, Waiting] | None = None  # whose get waits for a message now, and how
        self.puts_by_size, self.gets_by_size = [0, 0, 0, 0], [0, 0, 0, 0]

    def end(self) -> None:
        """The task's last figures have been taken: let go of all that knows it (AH5)."""
        self.thread.tally = self.waits_at = None
        self.queues.clear()

    def queue(self, name: str, base_name: str, stored: Any) -> QueueTally:
        """The tally of a queue under the name it was opened by."""
        found = self.queues.get((name, base_name))
        if found is None:
            found = self.queues[name, base_name] = QueueTally(self, name, base_name, stored)
        return found

    def forget(self, queue: QueueTally) -> None:
        """A queue that the task has closed; its part in the task's own figures stays."""
        del self.queues[queue.name, queue.base_name]
        for verb in queue.verbs():
            self.forgotten.take_over(verb)

    def began(self, verb: Verb) -> tuple[int, int]:
        """A call begins: monotonic time, and CPU time if that is due, else -1."""
        self.verb = verb
        verb.entered()
        if verb.left > 0:
            verb.counted()
            return self.now_ns(), -1
        cpu_ns = self.cpu_ns()
        return self.now_ns(), cpu_ns

    def ended(self, verb: Verb, began_ns: int, cpu_ns: int, calls: int = 1) -> None:
        """A call, or one that stands for so many, has ended, well or not."""
        elapsed_ns = self.now_ns() - began_ns - self.waited_ns
        work_ns = verb.took(elapsed_ns, calls)
        if cpu_ns >= 0:
            verb.clocked(min(self.cpu_ns() - cpu_ns - self.waited_cpu_ns, elapsed_ns), work_ns, calls)  # VE5
        self.waited_ns = self.waited_cpu_ns = 0
        self.verb = self.other

    def passed(self, calls: int = 1) -> None:
        """A call that was not clocked has ended, and nobody has noted it (AC6)."""
        self.verb.pass_unclocked(calls)
        self.waited_ns = self.waited_cpu_ns = 0
        self.verb = self.other

    def break_off(self) -> None:
        """The task is ended from outside; the get that waits has been one, as the queue manager has counted it."""
        if self.waits_at is not None:
            tally, waiting = self.waits_at
            tally.count_kind(browse=waiting.browse, specific=waiting.selection != ANY)
            tally.get.pass_unclocked(1)

    # -- what the managers tell (AC5)

    def skipped(self, messages: int) -> None:
        self.verb.skipped += messages

    def repository_asked(self, thread_ns: int, server_ns: int) -> None:
        self.shared.repository_asked(thread_ns, server_ns)
        self.verb.waited(thread_ns)

    def lists_called(self, ns: int, *, kind: int, multiple: bool, redrives: int = 0) -> None:
        self.shared.lists_called(ns, multiple=multiple, redrives=redrives)
        self.verb.list_called(kind, ns)

    def expired(self) -> None:
        self.verb.expired += 1

    def handed_over(self) -> None:
        self.verb.to_waiter += 1

    def generated(self) -> None:
        self.verb.generated += 1

    def latch_waited(self, ns: int) -> None:
        self.verb.waited(ns)
        self.latch_waits += 1
        self.latch_ns += ns
        self.latch_longest_ns = max(self.latch_longest_ns, ns)


class Accounts(Protocol):
    """Who keeps the accounts of all tasks; answered by statistics."""

    def begin(self, connection: "Connection", thread: ApplicationThread) -> None:
        """A task has connected."""

    def end(self, thread: ApplicationThread) -> None:
        """The task is over; its tally, if it has one, is complete."""


class NoAccounts:
    """Nobody accounts for anybody."""

    def begin(self, connection: "Connection", thread: ApplicationThread) -> None:
        """Not wanted."""

    def end(self, thread: ApplicationThread) -> None:
        """Nothing was begun."""
