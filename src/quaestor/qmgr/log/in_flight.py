"""What stands while a force of the log is under way: a write in flight, and the threads that wait (J3, J10)."""

from _thread import LockType, allocate_lock

from quaestor.storage.disk import Started


class Flight:
    """A write that was started, from one RBA up to another, and since when in nanoseconds (J10)."""

    __slots__ = ("force", "since_ns", "start", "started", "upto")

    def __init__(self, started: Started, start: int, upto: int, since_ns: int, force: bool) -> None:
        self.started, self.start, self.upto, self.since_ns, self.force = started, start, upto, since_ns, force


class Waiter:
    """A thread in `force` that another leads (J3)."""

    __slots__ = ("gate", "leads", "rba", "since_ns")

    def __init__(self, rba: int, since_ns: int) -> None:
        self.rba, self.since_ns, self.leads = rba, since_ns, False
        self.gate: LockType = allocate_lock()
        self.gate.acquire()
