"""Shared queues as a member sees them: a list of a structure, and the messages that were read from it.

Rules
  SQ1 A queue is a list header. Its depth is the number of entries on it less the queue's own one: uncommitted puts
      count, uncommitted gets are on another list and do not (M-85, M-88).
  SQ2 An arrival is what one request has told of a message. It may be gone when it is asked for next: another member
      works on the same list. Only what this member has moved to its own list of gets is surely its own.
  SQ3 MAXDEPTH is held by the list's own maximum, so that a put needs no question before it.

Called by the shared store.  Calls keys.
"""

from itertools import count

from quaestor.mqi.messages import Message
from quaestor.mqi.objects import LocalQueue
from quaestor.qmgr.coupling_facility.get_buffer import GetBuffer
from quaestor.qmgr.coupling_facility.interest import NOT_READ, READ_ALONE, READ_SHARED, Interest
from quaestor.qmgr.coupling_facility.keys import (
    COMMITTED_RANGE,
    MEMBERS_MAX,
    PRIORITY_TOP,
    UNCOMMITTED,
    Beside,
    as_committed,
    beside,
    described,
    got_list,
    message_in,
    open_puts,
)
from quaestor.qmgr.coupling_facility.structures import SharedStructure
from quaestor.qmgr.queue_store import AVAILABLE, Arrival
from quaestor.storage.lists.operations import Claim, Count, Entry, ReadControls, ReadList, Watch

OWN_ENTRIES = 1
"""Of a queue itself (SQ1)."""

GETS_MAX = 1 << 20
CLAIMED, REMOVED = 8, 9
"""States of an arrival that one request has found and taken: on this member's list of gets, or gone for good."""

NOT_TOLD, TOLD_FIRST, TOLD_EACH = range(3)
"""What this member is told of a queue: nothing, that it is no longer empty, each message."""

_IDS = count(1)


class NotCounted:
    """What stands for the depth where the structure counts and refuses by itself (SQ3)."""

    depth = 0


class SharedQueue:
    """One shared queue (SQ1)."""

    __slots__ = (
        "_told_by",
        "buffer",
        "claim",
        "definition",
        "interest",
        "list",
        "name",
        "queue_id",
        "structure",
        "told",
    )

    counted = NotCounted()
    with_expiry = 1  # not known without asking
    shared = True

    def __init__(self, definition: LocalQueue, structure: SharedStructure, number: int) -> None:
        self.definition, self.name = definition, definition.name
        self.structure = structure
        self.list = number
        self.queue_id = -next(_IDS)  # those of private queues are positive
        self.told = NOT_TOLD
        self._told_by: object = None
        """The connection that was asked to tell."""

        self.buffer = GetBuffer()
        self.claim: tuple[tuple[bool, int, int], Claim] | None = None
        """How the last plain get asked (in a unit, longest, buffer), and what, if its mark is still free (CM7)."""

        self.interest: Interest | None = None
        """Who is told that this member has it open (IR1)."""

    def opened(self, *, reads: bool, alone: bool) -> None:
        """This member's first handle, or its first that reads; 2042 when that cannot be (IR2, IR5)."""
        if self.interest is not None:
            self.interest.opened(self, READ_ALONE if alone else READ_SHARED if reads else NOT_READ)

    def read_no_more(self) -> None:
        """This member's last input handle is closed."""
        if self.interest is not None:
            self.interest.read_no_more(self)

    def closed(self) -> None:
        """This member's last handle is closed."""
        if self.interest is not None:
            self.interest.closed(self)

    @property
    def depth(self) -> int:
        """CURDEPTH, from the list header (READ LCONTROLS)."""
        (controls,) = self.structure.ask(ReadControls(self.list))
        return max(int(controls.entries) - OWN_ENTRIES, 0)

    @property
    def uncommitted(self) -> int:
        """Puts on it that have not ended, of any member, and gets from it that have not."""
        lists = (ReadList(got_list(member), most=GETS_MAX) for member in range(1, MEMBERS_MAX + 1))
        puts, *got = self.structure.ask_heads(Count(self.list, *open_puts()), *lists)
        return int(puts) + sum(beside(entry.adjunct).origin == self.list for each in got for entry in each)

    def be_told(self, *, each: bool) -> bool:
        """Tell this member when a message comes to the empty queue, or of each (M-89); whether that is new."""
        wanted = TOLD_EACH if each else TOLD_FIRST
        if self.told >= wanted and self._told_by is self.structure.link:
            return False
        wanted = max(wanted, self.told)
        each = wanted == TOLD_EACH
        self.structure.ask(Watch(self.structure.member, self.list, self.list, *COMMITTED_RANGE, each))
        self.told, self._told_by = wanted, self.structure.link
        return True

    def be_told_again(self) -> bool:
        """A structure that was connected to again tells nobody yet: have it tell what it told; whether that is new."""
        return self.told != NOT_TOLD and self.be_told(each=self.told == TOLD_EACH)


class SharedArrival(Arrival):
    """A message as a request told it (SQ2)."""

    __slots__ = ("about", "entry")

    def __init__(self, queue: SharedQueue, entry: Entry) -> None:
        data, adjunct = entry.data, entry.adjunct
        self.queue, self.entry = queue, entry
        self.about = about = described(data)
        self.group_id, self.msg_id, self.correl_id, _, persistence, self.put_us, self.expires_us, _, _ = about
        self.sequence = entry.number
        self.priority = PRIORITY_TOP - entry.key[1]  # of its place; the descriptor's own may differ
        self.persistent = persistence == 1
        self.length = int.from_bytes(adjunct[1:5], "big")
        self.backout_count = adjunct[5]
        self.holder = None
        self.state = AVAILABLE

    @property
    def beside(self) -> Beside:
        """What stands beside the message."""
        return beside(self.entry.adjunct)

    def message(self) -> Message:
        message = message_in(self.entry.data, self.about)
        return message._replace(backout_count=self.backout_count) if self.backout_count else message


def just_put(queue: SharedQueue, entry: Entry, message: Message, priority: int) -> SharedArrival:
    """The arrival of a message that this member has put: known without reading, and its entry without its data."""
    arrival = SharedArrival.__new__(SharedArrival)
    arrival.queue, arrival.entry = queue, entry
    arrival.sequence, arrival.priority = entry.number, priority
    arrival.persistent = message.persistence == 1
    arrival.msg_id, arrival.correl_id, arrival.group_id = message.msg_id, message.correl_id, message.envelope.group_id
    arrival.length, arrival.put_us, arrival.expires_us = len(message.body), message.put_us, message.expires_us
    arrival.backout_count, arrival.holder, arrival.state = 0, None, AVAILABLE
    return arrival


def place_of(arrival: Arrival) -> bytes:
    """The committed key of a message, whether it still stands under it or was put by this member just now."""
    key: bytes = arrival.entry.key  # type: ignore[attr-defined] # of a shared queue
    return as_committed(key) if key[0] == UNCOMMITTED else key


def fits_asked(arrival: SharedArrival, asked: tuple[tuple[int, bytes], ...]) -> bool:
    """Whether its data begins as is asked for, at each place."""
    return all(arrival.entry.data.startswith(wanted, at) for at, wanted in asked)
