"""The protocol both kinds of queue answer: private queues on page sets, shared queues on list structures.

Rules
  Q1  A store moves messages; it knows no handles, options or reasons of the MQI but these two: a page set that is
      full (2192) and a unit with too much in it (2024).
  Q2  Every message in a store is one `Arrival`: where it is, what it can be selected by, whose it is. The message
      itself (descriptor and body) is read only when somebody wants it.
  Q3  An arrival is *available* when nobody holds it. A put in syncpoint is held by its unit until commit, a get in
      syncpoint likewise; a browse with lock is held by its handle. Nobody waits for a held message (M-84): it is
      not there for others.
  Q4  Getting is three steps, so that the caller decides in between (buffer too small, expired, converted):
      `locate` finds the first available arrival that fits, `read` fetches the message, `take` removes it.
  Q5  Position is fixed at arrival: priority, then order of arrival; a backed-out get returns to its place.
  Q6  A call is made with the engine latch held; no call waits for anything but its own page I/O.
  Q7  On a shared queue an arrival may be gone when it is taken or held: `VanishedError`, and the caller looks again.
  Q8  Messages put together are to everybody else the same as put one by one.

Called by message.  Answered by data (private) and coupling_facility (shared).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol, TypeVar

from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.messages import Message
from quaestor.mqi.reasons import MQError


class Arrival:
    """A message on a queue: what only the store knows of it; never written as such (Q2).

    `holder` is the unit (or browse handle) that has it, None when it is available (Q3).
    """

    __slots__ = (
        "backout_count",
        "correl_id",
        "expires_us",
        "frame",
        "group_id",
        "holder",
        "later",
        "length",
        "msg_id",
        "page",
        "persistent",
        "priority",
        "put_us",
        "queue",
        "sequence",
        "slot",
        "sooner",
        "state",
        "text_pages",
    )

    queue: Any
    sequence: int  # order of arrival over the whole store
    priority: int  # of its position; the descriptor's own may differ (MSGDLVSQ FIFO)
    persistent: bool
    msg_id: bytes
    correl_id: bytes
    group_id: bytes
    length: int  # of the body
    put_us: int
    expires_us: int  # 0 never expires
    backout_count: int
    holder: object | None
    state: int  # one of the four below
    page: int  # where the store has it: page, place in the page, further pages
    slot: int
    text_pages: list[int] | None
    frame: Any  # of a non-persistent message: the buffer it was put into, where its page may be still
    sooner: "Arrival"  # neighbours on its chain
    later: "Arrival"


WAITING: Final = 0
AVAILABLE: Final = 1
TAKEN: Final = 2
GONE: Final = 3
"""States of an arrival: put and not committed; on its chain; got and not committed; no longer on the queue."""


class StoredQueue(Protocol):
    """A queue as its store sees it."""

    queue_id: int
    name: str
    depth: int
    """CURDEPTH: with uncommitted puts, without uncommitted gets (semantics 10)."""

    uncommitted: int
    """Puts and gets on it that have not ended."""

    with_expiry: int
    """Messages on it that expire some time."""

    @property
    def shared(self) -> bool:
        """Whether other queue managers work on it too."""

    @property
    def counted(self) -> "Counted":
        """Whose depth a put compares with MAXDEPTH: its own, unless the store refuses by itself what is too much."""


class Counted(Protocol):
    """Something that has a depth."""

    depth: int


class VanishedError(Exception):
    """Another queue manager was quicker; whoever wanted the message looks again (Q7)."""


Fits = Callable[[Arrival], bool]
"""A further test of an arrival (groups, logical order, expiry ...); must not change anything."""


def put_singly(put: Callable[..., object], unit: object, queue: object, messages: Sequence[Message], rank: int) -> int:
    """`put_run` of a store that has no better way."""
    for at, message in enumerate(messages):
        try:
            put(unit, queue, message, rank)
        except MQError:
            return at
    return len(messages)


UnitT_contra = TypeVar("UnitT_contra", contravariant=True)
QueueT_contra = TypeVar("QueueT_contra", contravariant=True)


class Express(Protocol):
    """Puts a persistent message on a queue for good, from its parts: the message is made while the disk writes."""

    def __call__(
        self,
        queue: Any,
        body: bytes,
        envelope: MQMD,
        msg_id: bytes,
        correl_id: bytes,
        priority: int,
        rank: int,
        put_us: int,
        expires_us: int,
        expiry: int,
        count: Callable[[int], None],
        /,
    ) -> tuple[Message, Arrival] | None:
        """None, and nothing done, where that wants a unit. `rank` is its place; its length is told to who counts it."""


class QueueStore(Protocol[UnitT_contra, QueueT_contra]):
    """What the message manager asks of a store (Q1-Q6). A store knows more of its units and queues than others do."""

    def put(self, unit: UnitT_contra | None, queue: QueueT_contra, message: Message, priority: int) -> Arrival:
        """Put a message at the end of its priority; without a unit it must be non-persistent and is available at once.

        `priority` is that of the position: the message's own, or the queue's default under MSGDLVSQ FIFO.
        """

    def put_run(
        self, unit: UnitT_contra | None, queue: QueueT_contra, messages: Sequence[Message], priority: int
    ) -> int:
        """Put messages that differ in body and identifier only (Q8); gives how many, all unless one is refused."""

    def locate(
        self,
        queue: QueueT_contra,
        msg_id: bytes | None = None,
        correl_id: bytes | None = None,
        group_id: bytes | None = None,
        after: Arrival | None = None,
        fits: Fits | None = None,
        holder: object | None = None,
    ) -> Arrival | None:
        """The first available arrival that fits, in order; `after` goes on from a browse cursor.

        `holder` names a browse handle whose own locked messages count as available to it.
        """

    def read(self, arrival: Arrival) -> Message:
        """Descriptor and body."""

    def take(self, unit: UnitT_contra | None, arrival: Arrival) -> None:
        """Remove it: at once without a unit (non-persistent only), else when the unit commits."""

    def browse(self, queue: QueueT_contra) -> Iterator[Arrival]:
        """Every available arrival in order, as it is now."""

    def still_there(self, arrival: Any) -> bool:
        """Whether an arrival that was found before is still on its queue and not taken."""

    def hold(self, arrival: Any, holder: object) -> None:
        """A browse with lock: the arrival is there for this handle only (Q3)."""

    def let_go(self, arrival: Any, holder: object) -> None:
        """The lock ends; the arrival is there for everybody again."""

    def unlocked(self, arrival: Any, holder: object) -> None:
        """The lock ends because its handle takes the arrival."""

    def count(self, queue: QueueT_contra, priority: int) -> int:
        """Messages of at least this priority, uncommitted puts included, uncommitted gets not."""
