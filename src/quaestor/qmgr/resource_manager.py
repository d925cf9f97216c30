"""What every manager answers, so that recovery and the scheduler need not know which manager it is.

Rules
  R1  A manager counts into its own SMF section (`stats`) as it works; there is no second counter.
  R2  Background work is a `Task`: a step that does a bounded piece and says whether more is left.
      The scheduler runs steps; a manager never sleeps and never starts a thread.
  R3  A manager that takes part in units of recovery is told how each ended (`committed`, `backed_out`).
      It is told after the log has decided, so it must not fail: what it needs was reserved before.
  R4  An invariant that does not hold is an `Abend` (mqi.reasons): nothing is answered any more, restart repairs
      from the log.
  R5  The engine latch is held while a call is served, so at most one task is served at a time. Where a manager waits
      (a page read, the log), it tells that task how long, if anybody accounts for it (`Served`).
      What a step does beside it, without the latch, is nobody's: the scheduler says so (`aside`).
  R6  What is logged while a task is served is that task's doing. So the log manager counts it there (`Logged`), and
      nobody has to compare where the log ended before and after a call.
  R7  Who gives up the latch (`without`) has it again before anything else happens, whatever a signal raises meanwhile:
      that is raised when it is held. Else he would give back, on his way out, the latch that another has, and two would
      be in the engine. Python may raise when a function begins and when one of C has ended: so only what one call of C
      code has left behind says whether a lock was had. The beginning of a `with` is such a call.

Called by recovery and the scheduler, which know managers only by this protocol.  Calls nothing.
"""

from _thread import LockType, get_ident
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

Found = TypeVar("Found")
_WAITING = (True,)


@dataclass(frozen=True, slots=True)
class Task:
    """Background work of one manager (R2): `step` does a bounded piece and returns True while more is left."""

    name: str
    step: Callable[[], bool]
    every_ms: int = 1000
    latched: bool = True
    """Whether the engine latch is held during a step; one that only waits for files does without."""

    urgent: bool = False
    """Whether the step runs at once when the scheduler is nudged."""

    due: Callable[[], bool] | None = None
    """Whether there is anything to do, looked at without the latch; None for a step that finds out itself."""

    apart: bool = False
    """Whether the step takes as long as what others ask for does, and must hold up no other (never `latched`)."""


class Logged:
    """What a task has logged (R6)."""

    __slots__ = ("octets", "records")

    def __init__(self) -> None:
        self.records = self.octets = 0


class Waits(Protocol):
    """What a task that is accounted for is told of its waits, in nanoseconds (R5)."""

    logged: Logged
    """Counted by the log manager, with every record."""

    def without(self, call: Callable[[], Found]) -> Found:
        """Make a call without the engine latch, in the middle of its own (R7)."""

    def page_read(self, ns: int) -> None:
        """A page had to be read."""

    def pages_written(self, ns: int) -> None:
        """It had to write pages of others, because the pool was full of changed ones."""

    def log_forced(self, ns: int) -> None:
        """It waited until the log was on disk."""

    def waits_for_log(self) -> Callable[[int], None]:
        """Its call has ended but for the log; gives whom to tell how long that took."""

    def skipped(self, messages: int) -> None:
        """So many messages were looked at and passed over."""

    def repository_asked(self, thread_ns: int, server_ns: int) -> None:
        """It waited for a request to the shared repository, of which the database took the second."""

    def lists_called(self, ns: int, *, kind: int, multiple: bool, redrives: int = 0) -> None:
        """It called the coupling facility, for what (of CFSTAT): for one entry or for several, so often again."""


def without(latch: LockType, call: Callable[..., Found], *args: Any) -> Found:
    """Make a call without the latch (R7)."""
    held, came = list[bool](), None
    try:
        latch.release()
        return call(*args)
    finally:
        while not held:
            try:
                held.extend(map(latch.acquire, _WAITING))
            except BaseException as error:  # noqa: BLE001 - raised when the latch is held
                came = came or error
        if came is not None:
            raise came


class Served:
    """The task whose call is being made; None when nobody accounts for it (R5)."""

    __slots__ = ("_aside", "task")

    def __init__(self) -> None:
        self.task: Waits | None = None
        self._aside = set[int]()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What this thread does here is no part of the call that is being made meanwhile."""
        thread = get_ident()
        self._aside.add(thread)
        try:
            yield
        finally:
            self._aside.discard(thread)

    @property
    def asking(self) -> Waits | None:
        """The task whose call this thread makes: another may serve one meanwhile, and end it at any moment."""
        task = self.task
        return None if task is None or get_ident() in self._aside else task


class Unit(Protocol):
    """What a manager may know of a unit of recovery; the recovery manager owns the rest."""

    urid: int
    """RBA of the unit's first log record, 0 while it has logged nothing."""

    puts: list[Any]
    """Arrivals this unit put, in order."""

    gets: list[Any]
    """Arrivals this unit got, in order."""

    other: list[Callable[[], None]]
    """What else is to be done when the unit has committed."""

    shared: Any
    """Its part in the structures of a queue-sharing group, None when it has none."""

    triggers: int
    """How many trigger messages wait for its end."""

    alone: bool
    """Whether it makes one change only, in the call that commits it."""

    label: bytes
    """Client and number, when the client wants to be able to ask for the outcome."""


class ResourceManager(Protocol):
    """The protocol of a manager (R1-R3)."""

    name: str

    def tasks(self) -> Sequence[Task]:
        """Background work this manager wants done."""

    def committed(self, unit: Unit) -> None:
        """The unit's end is on the log: make its work visible. Must not fail."""

    def backed_out(self, unit: Unit) -> None:
        """The unit's page changes are undone: take back what was only in memory. Must not fail."""
