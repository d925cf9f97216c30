"""The calls of one verb, on one queue or of a task: how many there were, how long they took, what they waited for.

Rules
  VE1 Clocks are dear beside the cheapest calls: two looks at the time are a twentieth of a put, two at the CPU time a
      fifth. Both are looked at for the first `CLOCKED_ALWAYS` calls and for each `CLOCKED_EVERY`-th after that; `left`
      says how many calls may pass until the next. Plain puts and gets (`noting`) and commits pass without any clock;
      other calls pass without that of the CPU. A call that is clocked after many that were not meets code that has left
      the caches, and takes ten times as long for it as one of several in a row.
  VE2 Calls that were clocked stand for those that were not, but for the first `COLD`, which meet every page and every
      line of code for the first time: they count for themselves.
  VE3 What a call waits for inside (the log, pages, the latch, list structures) is clocked by whoever waits, each time.
      So the elapsed time of calls that were not clocked is what they waited, to the nanosecond, and the work between
      their waits, which is that of calls that were.
  VE4 Numbers only grow.
  VE5 A call has no more CPU time than elapsed time: looking at the clock of the CPU takes CPU, and the few calls whose
      CPU is known may be dearer than the many they stand for.
  VE6 Calls of several asyncio tasks overlap on one connection, and what one waits for is taken for the others', too: no
      call has waited for longer than it lasted, or those that it stands for would take time away.

Called by the tallies of a task and its queues (`accounting`).  Read by statistics, which makes records of it.
"""

from quaestor.qmgr.connection.plain_calls import PlainCalls
from quaestor.qmgr.connection.shared_accounting import ListCalls

CLOCKED_ALWAYS = 32
CLOCKED_EVERY = 4096
COLD = 8


class Verb(PlainCalls):
    """The calls of one verb, on one queue or of the task."""

    __slots__ = (
        "_clocked",
        "_clocked_cpu_ns",
        "_clocked_waits_ns",
        "_entered_ns",
        "_standing",
        "_standing_cpu_ns",
        "_standing_ns",
        "calls",
        "elapsed_ns",
        "expired",
        "force_ns",
        "forces",
        "generated",
        "lists",
        "read_ns",
        "reads",
        "skipped",
        "suspend_ns",
        "suspends",
        "to_waiter",
        "unclocked",
        "waited_ns",
    )

    def __init__(self) -> None:
        super().__init__()
        self.calls = self.elapsed_ns = 0  # the latter of calls whose time was looked at
        self.unclocked = 0  # calls whose time was not
        self.waited_ns = self._clocked_waits_ns = self._entered_ns = 0
        self._clocked = self._clocked_cpu_ns = 0  # calls that were due
        self._standing = self._standing_cpu_ns = self._standing_ns = 0  # those of them that stand for others (VE2)
        self.forces = self.force_ns = self.reads = self.read_ns = self.suspends = self.suspend_ns = 0
        self.skipped = self.expired = self.to_waiter = self.generated = 0
        self.lists: ListCalls | None = None

    def entered(self) -> None:
        """A call begins whose time is looked at."""
        self._entered_ns = self.waited_ns

    def took(self, elapsed_ns: int, calls: int = 1) -> int:
        """It has ended, or so many made as one have; gives how long it was at work."""
        waited_ns = min(self.waited_ns - self._entered_ns, elapsed_ns)  # VE6
        self.calls += calls
        self.elapsed_ns += elapsed_ns
        self._clocked_waits_ns += waited_ns
        return elapsed_ns - waited_ns

    def clocked(self, cpu_ns: int, work_ns: int, calls: int = 1) -> None:
        """It was due: its CPU time, and how long it was at work (VE1)."""
        self._clocked += calls
        self._clocked_cpu_ns += cpu_ns
        if self._clocked > COLD:
            self._standing += calls
            self._standing_cpu_ns += cpu_ns
            self._standing_ns += work_ns
        self.allow(0 if self._clocked < CLOCKED_ALWAYS else CLOCKED_EVERY - 1)

    def pass_unclocked(self, calls: int) -> None:
        """So many calls have ended that nobody looked at the clock for (VE1)."""
        self.calls += calls
        self.unclocked += calls

    def passed(self) -> None:
        """One of those that may pass has ended (VE1)."""
        self.left -= 1
        self.allowed -= 1
        self.calls += 1
        self.unclocked += 1

    def waited(self, ns: int) -> None:
        """A call waits inside (VE3)."""
        self.waited_ns += ns

    def forced(self, ns: int) -> None:
        """It waited for the log."""
        self.forces += 1
        self.force_ns += ns
        self.waited_ns += ns

    def hardened(self, ns: int) -> None:
        """A call is over at last: its commit was forced together with others, after it had returned to a server."""
        self.forces += 1
        self.force_ns += ns
        self.elapsed_ns += ns

    def page_read(self, ns: int) -> None:
        self.reads += 1
        self.read_ns += ns
        self.waited_ns += ns

    def pages_written(self, ns: int) -> None:
        self.suspends += 1
        self.suspend_ns += ns
        self.waited_ns += ns

    def list_called(self, kind: int, ns: int) -> None:
        """It called the coupling facility."""
        if self.lists is None:
            self.lists = ListCalls()
        self.lists.called(kind, ns)
        self.waited_ns += ns

    @property
    def lists_made(self) -> int:
        """How often it has called the coupling facility."""
        return 0 if self.lists is None else sum(self.lists.numbers)

    def take_over(self, other: "Verb") -> None:
        """Count the waits and times of a verb whose queue is forgotten."""
        self.calls = self._clocked = 1
        self.elapsed_ns += other.elapsed_total_ns()
        self._clocked_cpu_ns += other.cpu_total_ns()
        self.forces += other.forces
        self.force_ns += other.force_ns
        self.reads += other.reads
        self.read_ns += other.read_ns
        self.suspends += other.suspends
        self.suspend_ns += other.suspend_ns

    def elapsed_total_ns(self) -> int:
        """Elapsed time of all calls (VE2, VE3)."""
        if not (self.unclocked and self._standing):
            return self.elapsed_ns
        work_ns = self.unclocked * self._standing_ns // self._standing
        return self.elapsed_ns + work_ns + self.waited_ns - self._clocked_waits_ns

    def cpu_total_ns(self) -> int:
        """CPU time of all calls (VE2, VE5)."""
        others = self.calls - self._clocked
        others_ns = others * self._standing_cpu_ns // self._standing if self._standing else 0
        return min(self._clocked_cpu_ns + others_ns, self.elapsed_total_ns())
