"""Shared accounting: what a task asked of the coupling facility and of the shared repository.

Rules
  SA1 Calls to list structures are counted for the task by how many entries they are for (WTAS), and for the verb that
      made them by kind (CFSTAT): a lock, a read, a new entry, a move. Calls that are made again count each time (MP1B
      F-36).
  SA2 Whoever calls waits for the answer: all of them are synchronous.
  SA3 A verb that never called has nothing: most queues are private.

Called by accounting.  Read by statistics.
"""

KINDS = 20
WORDS = 5
"""Of each kind in CFSTAT: requests, synchronous ones and their microseconds, asynchronous ones and theirs."""


class ListCalls:
    """The calls of one verb by kind (SA1)."""

    __slots__ = ("numbers", "times_ns")

    def __init__(self) -> None:
        self.numbers, self.times_ns = [0] * KINDS, [0] * KINDS

    def called(self, kind: int, ns: int) -> None:
        self.numbers[kind] += 1
        self.times_ns[kind] += ns

    def take_over(self, other: "ListCalls") -> None:
        for kind in range(KINDS):
            self.numbers[kind] += other.numbers[kind]
            self.times_ns[kind] += other.times_ns[kind]


def words(calls: ListCalls | None) -> list[int]:
    """The calls as CFSTAT has them; nothing for a verb that made none (SA2, SA3)."""
    if calls is None:
        return [0] * (KINDS * WORDS)
    found: list[int] = []
    for number, ns in zip(calls.numbers, calls.times_ns, strict=True):
        found += (number, number, ns // 1000, 0, 0)
    return found


class SharedTally:
    """What a task asked of the shared repository and of the coupling facility."""

    __slots__ = (
        "multiple_calls",
        "multiple_ns",
        "multiple_redrives",
        "requests",
        "server_longest_ns",
        "server_ns",
        "single_calls",
        "single_ns",
        "single_redrives",
        "thread_longest_ns",
        "thread_ns",
    )

    def __init__(self) -> None:
        self.requests = self.thread_ns = self.server_ns = self.thread_longest_ns = self.server_longest_ns = 0
        self.single_calls = self.single_ns = self.single_redrives = 0
        self.multiple_calls = self.multiple_ns = self.multiple_redrives = 0

    def repository_asked(self, thread_ns: int, server_ns: int) -> None:
        self.requests += 1
        self.thread_ns += thread_ns
        self.server_ns += server_ns
        self.thread_longest_ns = max(self.thread_longest_ns, thread_ns)
        self.server_longest_ns = max(self.server_longest_ns, server_ns)

    def lists_called(self, ns: int, *, multiple: bool, redrives: int) -> None:
        if multiple:
            self.multiple_calls += 1
            self.multiple_ns += ns
            self.multiple_redrives += redrives
        else:
            self.single_calls += 1
            self.single_ns += ns
            self.single_redrives += redrives

    def take_longest(self) -> tuple[int, int]:
        """The longest requests to the repository since the last time: thread and server time."""
        longest = self.thread_longest_ns, self.server_longest_ns
        self.thread_longest_ns = self.server_longest_ns = 0
        return longest
