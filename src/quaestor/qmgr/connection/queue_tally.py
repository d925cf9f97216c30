"""Accounting of one queue by one task: what its calls did there, for SMF 116.

Rules
  AC2 A put or get that worked notes with the latch held what it has at hand: the message's length, and how long it was
      on the queue (`plain_calls`). What is not added up by then is so by whoever reads (`fold`, latch held), and by a
      call that is clocked and finds many notes. Numbers only grow, but for extremes, which the reader takes away.

The other rules are of `accounting`.

Called by connection, which tells it of calls.  Read by statistics, which makes records of it.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quaestor.mqi.messages import Message
from quaestor.mqi.options import GetOptions, has
from quaestor.qmgr.connection.shared_accounting import ListCalls
from quaestor.qmgr.connection.verb import Verb

if TYPE_CHECKING:
    from quaestor.qmgr.connection.accounting import TaskTally

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
