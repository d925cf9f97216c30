"""Accounting of one task: plain numbers that its calls add to, for SMF 116.

Rules
  AC1 A connection that nobody accounts for pays nothing: its class, and that of its handles, know no account. When
      accounting starts or stops, connections and handles change their class (`accounted`), not their identity.
  AC2 A put or get that worked notes with the latch held what it has at hand: the message's length, and how long it was
      on the queue (`plain_calls`). What is not added up by then is so by whoever reads (`fold`, latch held), and by a
      call that is clocked and finds many notes. Numbers only grow, but for extremes, which the reader takes away.
  AC3 Elapsed time and CPU time are those of the call without the wait for a message: that is the application's wish,
      not the queue manager's work. Falling asleep and waking up take CPU too, often more than the call does otherwise.
  AC4 Not every call is clocked, and those that are stand for the others; what they wait for is clocked always (`verb`).
  AC5 Waits (page reads, the log, the latch) are counted with the verb that is being served, whoever measures them.
  AC6 A call that failed is counted with its time; sizes, bytes and time on queue are those of calls that worked. A call
      that belongs to no queue (an open that failed, a definition) is an "other" call of the task.

Called by connection, and by the managers that wait (`Waits`).  Read by statistics, which makes records of it.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from quaestor.clock import Clock
from quaestor.mqi.matching import ANY
from quaestor.mqi.messages import Message
from quaestor.mqi.options import GetOptions, has
from quaestor.qmgr.connection.shared_accounting import ListCalls, SharedTally
from quaestor.qmgr.connection.verb import Verb
from quaestor.qmgr.message.thread import ApplicationThread
from quaestor.qmgr.message.waiting import Waiting
from quaestor.qmgr.resource_manager import Logged

if TYPE_CHECKING:
    from quaestor.qmgr.connection.session import Connection

BANDS = (100, 1000, 10_000)
"""Where the second, third and fourth size band of SMF 116-0 begin."""

SIZE_UNSET = 0x0FFFFFFF
NOTES_MAX = 64
_UNLOCK = int(GetOptions.UNLOCK)
_BROWSE = int(GetOptions.BROWSE_FIRST | GetOptions.BROWSE_NEXT | GetOptions.BROWSE_MSG_UNDER_CURSOR)


class QueueTally:
    """What a task did to one queue."""

    __slots__ = (
        "base_name",
        "browses_any",
        "browses_specific",
        "close",
        "closed_us",
        "closes_without_lists",
        "disposition",
        "get",
        "get_bytes",
        "get_size_high",
        "get_size_low",
        "gets_any",
        "gets_specific",
        "gets_told",
        "handles",
        "index_type",
        "inq",
        "name",
        "now_browsing",
        "open",
        "opened_us",
        "opens_without_lists",
        "options_got",
        "options_seen",
        "put",
        "put1",
        "put_bytes",
        "put_size_high",
        "put_size_low",
        "puts_told",
        "queue_type",
        "set",
        "stored",
        "task",
        "valid_destructive_gets",
        "valid_gets",
        "valid_puts",
        "waits_told",
    )

    def __init__(self, task: "TaskTally", name: str, base_name: str, stored: Any) -> None:
        self.task, self.name, self.base_name = task, name, base_name
        self.stored = stored  # the queue as its store has it: depth and page set
        self.queue_type = self.index_type = 0
        self.disposition = ""
        self.opened_us = self.closed_us = 0
        self.handles = 0  # open now, and accounted for
        self.opens_without_lists = self.closes_without_lists = 0
        self.open, self.close, self.get, self.put = Verb(), Verb(), Verb(), Verb()
        self.put1, self.inq, self.set = Verb(), Verb(), Verb()
        self.browses_any = self.browses_specific = self.gets_any = self.gets_specific = 0
        self.put_bytes = self.get_bytes = 0
        self.valid_puts = self.valid_gets = self.valid_destructive_gets = 0
        self.options_seen: int | None = None
        self.options_got: int | None = None  # the same, if they are those of a get that takes a message
        self.now_browsing = False
        self.puts_told: list[tuple[int, int]] = []  # notes of calls that have been counted: length, persistence
        self.gets_told: list[tuple[int, int]] = []
        self.waits_told: list[float] = []  # of messages that these have got: microseconds on the queue
        self.get_size_high = self.put_size_high = 0
        self.get_size_low = self.put_size_low = SIZE_UNSET

    def take_extremes(self) -> tuple[int, int, int, int, int, int, int]:
        """Sizes got and put (high, low), time on queue (longest, shortest), depth; they begin anew (AC2)."""
        taken = (
            self.get_size_high,
            self.get_size_low,
            self.put_size_high,
            self.put_size_low,
            *self.get.take_extremes(),
            self.put.deepest,
        )
        self.get_size_high = self.put_size_high = self.put.deepest = 0
        self.get_size_low = self.put_size_low = SIZE_UNSET
        return taken

    def opening(self, verb: Verb) -> None:
        """An open turned out to be one of this queue: what it met on its way."""
        self.open.forces += verb.forces
        self.open.force_ns += verb.force_ns
        if verb.lists is not None:
            self.open.lists = self.open.lists or ListCalls()
            self.open.lists.take_over(verb.lists)
        elif self.stored.shared:
            self.opens_without_lists += 1

    def verbs(self) -> tuple[Verb, ...]:
        return self.open, self.close, self.get, self.put, self.put1, self.inq, self.set

    def fold(self) -> None:
        """Add up what calls have noted since the last time (AC2)."""
        number, length, lengths = self.put.taken()
        self.put.pass_unclocked(number + len(lengths))
        if number:
            self.put_worked((length,), number)
        lengths += _taken(self.put, self.puts_told)
        if lengths:
            self.put_worked(lengths)
        number, length, lengths = self.get.taken()
        unclocked = number + len(lengths)
        self.get.pass_unclocked(unclocked)
        self.gets_any += unclocked
        if number:
            self._get_worked((length,), number)
        lengths += _taken(self.get, self.gets_told)
        if lengths:
            self._get_worked(lengths)
        told = len(self.waits_told)
        for us in self.waits_told[:told]:
            self.get.was_on_queue(us)
        del self.waits_told[:told]
        self.valid_destructive_gets += unclocked + told

    def many_notes(self) -> bool:
        """Whether there are so many notes that they should be added up before there are more."""
        told = len(self.puts_told) + len(self.gets_told)
        return told + len(self.put.lengths) + len(self.get.lengths) > NOTES_MAX

    def put_worked(self, lengths: Sequence[int], times: int = 1) -> None:
        """MQPUTs or MQPUT1s that worked, so many of each length."""
        total, longest, shortest = _summed(lengths)
        self.valid_puts += len(lengths) * times
        self.put_bytes += total * times
        self.put_size_high = max(self.put_size_high, longest)
        self.put_size_low = min(self.put_size_low, shortest)
        _count_sizes(self.task.puts_by_size, lengths, times, shortest, longest)

    def _get_worked(self, lengths: Sequence[int], times: int = 1) -> None:
        """Gets and browses that brought a message, so many of each length."""
        total, longest, shortest = _summed(lengths)
        self.valid_gets += len(lengths) * times
        self.get_bytes += total * times
        self.get_size_high = max(self.get_size_high, longest)
        self.get_size_low = min(self.get_size_low, shortest)
        _count_sizes(self.task.gets_by_size, lengths, times, shortest, longest)

    def note_put(self, message: Message) -> None:
        """A put that worked and has been counted as a call (AC2)."""
        self.puts_told.append((len(message.body), message.persistence))
        self.put.deepest = max(self.put.deepest, self.stored.depth)

    def note_get(self, message: Message, options: int) -> None:
        """A get or browse that worked and has been counted as a call, and as what kind (AC2).

        What these options mean is not what was noted last: others have the queue open too. UNLOCK brings no message.
        """
        if has(options, _UNLOCK):
            return
        if not has(options, _BROWSE):
            self.waits_told.append(self.task.now_s() * 1e6 - message.put_us)
        self.gets_told.append((len(message.body), message.persistence))

    def note_options(self, options: int) -> None:
        """Remember what the options of a get mean; those of one that was refused may be no number at all."""
        self.options_seen = options
        self.now_browsing = has(options, _BROWSE)
        self.options_got = None if has(options, _BROWSE | _UNLOCK) else options

    def count_kind(self, *, browse: bool, specific: bool) -> None:
        """A get that has been counted is one of these four kinds."""
        if browse and specific:
            self.browses_specific += 1
        elif browse:
            self.browses_any += 1
        elif specific:
            self.gets_specific += 1
        else:
            self.gets_any += 1


def _taken(verb: Verb, told: list[tuple[int, int]]) -> list[int]:
    """Take what was told of messages: their lengths. What another thread tells meanwhile stays for the next time."""
    some = told[:]
    del told[: len(some)]
    verb.persistent += sum(persistence for _, persistence in some)
    return [length for length, _ in some]


def _summed(lengths: Sequence[int]) -> tuple[int, int, int]:
    """Sum, greatest and least of lengths, which are often all the same."""
    length = lengths[0]
    if lengths.count(length) == len(lengths):
        return length * len(lengths), length, length
    return sum(lengths), max(lengths), min(lengths)


def _count_sizes(counts: list[int], lengths: Sequence[int], times: int, shortest: int, longest: int) -> None:
    """Messages by the size bands of SMF 116-0, so many of each length; mostly they are all in one."""
    first, last = bisect_right(BANDS, shortest), bisect_right(BANDS, longest)
    if first == last:
        counts[first] += len(lengths) * times
        return
    for length in lengths:
        counts[bisect_right(BANDS, length)] += times


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
