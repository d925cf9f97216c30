"""Waiting: who waits for a message on a queue, and who is woken when one comes.

Rules
  Y1  A get that finds nothing and may wait leaves a waiter behind and says so (`Waiting`); it does not block here.
  Y2  A message that becomes available wakes one getter it fits; one that asked for identifiers before one that
      takes any; the longest waiting first. Only if no getter waits for it, every browser it fits is woken.
  Y3  A woken getter looks again. If it leaves the message where it was, the getter behind it is woken in its place,
      so no message lies beside a sleeping getter; behind the last the browsers are. Nobody is woken twice for a
      message: who stands in front has left it already, or looked when it was there.
  Y4  Out of syncpoint a message may go straight to a waiting getter that is out of syncpoint too, without
      ever being on the queue. It says what a get would say: all of its expiry is left.
  Y5  A shared queue tells when it is no longer empty, not of each message. So one getter that takes any is woken when
      it tells, each that gets something wakes the next, and the one that finds nothing ends the chain: the next
      message is told again. Who may leave a message (it asks for something, or browses) ends no chain: all of those
      look.
  Y6  A wait is posted once. When it is over it knows nobody any more, who may know it.
  Y7  Whoever was interrupted while he began or ended a wait leaves nothing that holds up telling the others.

Called by the parts of the message manager; `connection` blocks on a `Waiting`.  Calls matching, expiry.
"""

from collections.abc import Callable
from itertools import count
from operator import attrgetter

from quaestor.mqi import expiry
from quaestor.mqi.matching import Selection, matches
from quaestor.mqi.messages import Message
from quaestor.qmgr.queue_store import AVAILABLE, Arrival


class Waiting:
    """A get that has to wait (Y1). `post` is set by whoever blocks on it, and called when it is worth looking again."""

    __slots__ = (
        "browse",
        "direct_max",
        "message",
        "owner",
        "post",
        "posted",
        "posted_for",
        "selection",
        "since",
        "takes_any",
        "waiters",
    )

    def __init__(
        self,
        selection: Selection,
        waiters: "Waiters",
        owner: object,
        *,
        browse: bool,
        takes_any: bool,
        direct_max: int,
    ) -> None:
        self.selection = selection
        self.waiters = waiters
        self.owner = owner  # the way of the handle that waits
        self.browse = browse
        self.takes_any = takes_any  # whatever message it finds available
        self.direct_max = direct_max  # longest body that may be handed over (Y4); -1 for none
        self.post: Callable[[], object] = _nobody
        self.posted = False
        self.since = next(_TURNS)
        self.posted_for: Arrival | None = None
        self.message: Message | None = None  # handed over (Y4)

    def fits(self, arrival: Arrival) -> bool:
        asked = self.selection
        if asked.sequence is not None:
            asked = asked._replace(sequence=None)  # the number stands in the descriptor; the getter looks itself
        return matches(asked, arrival.msg_id, arrival.correl_id, arrival.group_id, 1, arrival.sequence)

    @property
    def turn(self) -> tuple[bool, int]:
        """When it is this getter's turn to be woken (Y2)."""
        return not self.selection.specific, self.since


_TURNS = count()
_FIRST_TURN = (False, -1)


def _nobody() -> None:
    """A waiter nobody blocks on yet."""


class Waiters:
    """The waiters of one queue, longest waiting first; among the `waited`, by the queue's number, while it has any."""

    __slots__ = ("_queue_id", "_waited", "waiting")

    def __init__(self, waited: "dict[int, Waiters]", queue_id: int) -> None:
        self._waited, self._queue_id = waited, queue_id
        self.waiting: list[Waiting] = []

    def __len__(self) -> int:
        return len(self.waiting)

    def add(self, waiting: Waiting) -> None:
        self._waited[self._queue_id] = self
        self.waiting.append(waiting)

    def remove(self, waiting: Waiting) -> None:
        if waiting in self.waiting:
            self.waiting.remove(waiting)
            if not self.waiting:
                self._waited.pop(self._queue_id, None)

    def keep_place(self, waiting: Waiting, before: Waiting) -> None:
        """A getter that looked in vain waits on in the place it had."""
        waiting.since = before.since
        self.waiting.sort(key=attrgetter("since"))

    def wake(self, arrival: Arrival) -> None:
        """A message has become available (Y2)."""
        self._wake_behind(arrival, _FIRST_TURN)

    def _wake_behind(self, arrival: Arrival, turn: tuple[bool, int]) -> None:
        """Wake the getter whose turn is next, or the browsers when there is none (Y2, Y3)."""
        fitting = [w for w in self.waiting if w.fits(arrival)]
        getters = [w for w in fitting if not w.browse and w.turn > turn]
        if getters:
            self._post(min(getters, key=attrgetter("turn")), arrival)
        else:
            for browser in fitting:
                if browser.browse:
                    self._post(browser, arrival)

    def pass_on(self, waiting: Waiting) -> None:
        """A woken getter left the message where it was (Y3)."""
        arrival, waiting.posted_for = waiting.posted_for, None
        if arrival is not None and not waiting.browse and arrival.state == AVAILABLE and arrival.holder is None:
            self._wake_behind(arrival, waiting.turn)

    def handle_closed(self, owner: object) -> None:
        """A handle is closed: its waits end, each finds out for itself."""
        for waiting in [w for w in self.waiting if w.owner is owner]:
            self._post(waiting, None)

    def hand_over(self, message: Message) -> bool:
        """Give a message straight to the getter that `wake` would choose, if it may have it so (Y4)."""
        envelope = message.envelope
        fitting = [
            w
            for w in self.waiting
            if not w.browse
            and matches(w.selection, message.msg_id, message.correl_id, envelope.group_id, envelope.msg_seq_number)
        ]
        chosen = next((w for w in fitting if w.selection.specific), fitting[0] if fitting else None)
        if chosen is None or len(message.body) > chosen.direct_max or chosen.selection.token is not None:
            return False
        if message.expires_us:
            message = message._replace(expiry=expiry.remaining(message.expires_us, message.put_us))
        chosen.message = message
        self._post(chosen, None)
        return True

    def look_again(self) -> None:
        """Something other than a message changed that waiters may depend on; each finds out for itself."""
        for waiting in tuple(self.waiting):
            self._post(waiting, None)

    def arrived(self) -> None:
        """Something has come that nobody here has seen: on a private queue that does not happen."""

    def next_one(self) -> None:
        """A getter has got something: a message of a private queue wakes by itself."""

    def given_up(self, waiting: Waiting) -> None:
        """Somebody waits no more; a wake that came too late goes to the next."""
        self.remove(waiting)
        waiting.post = _nobody  # Y6
        self.pass_on(waiting)

    def _post(self, waiting: Waiting, arrival: Arrival | None) -> None:
        self.remove(waiting)
        waiting.posted_for = arrival
        waiting.posted = True
        post, waiting.post = waiting.post, _nobody  # Y6
        post()


class SharedWaiters(Waiters):
    """The waiters of a shared queue: messages come from other queue managers too, and go to them (Y5)."""

    __slots__ = ()

    def wake(self, arrival: Arrival) -> None:
        """A message was put here; it may be another's before the getter looks, so nothing is passed on."""
        fitting = [w for w in self.waiting if w.fits(arrival)]
        specific = any(w.selection.specific and not w.browse for w in fitting)
        self._let_look(fitting, takers_max=0 if specific else 1)

    def arrived(self) -> None:
        """Something has come that nobody here has seen."""
        self._let_look(self.waiting, takers_max=1)

    def _let_look(self, waiting: list[Waiting], takers_max: int) -> None:
        """So many of those that take any look, and all others do (Y5)."""
        takers = [w for w in waiting if w.takes_any]
        for each in [*(w for w in waiting if not w.takes_any), *takers[:takers_max]]:
            self._post(each, None)

    def next_one(self) -> None:
        """A getter has got something; there may be more, of which nobody was told (Y5)."""
        waiting = next((w for w in self.waiting if w.takes_any), None)
        if waiting is not None:
            self._post(waiting, None)

    def pass_on(self, waiting: Waiting) -> None:
        """Whoever looked in vain found the queue empty for it: there is nothing to pass on."""
        waiting.posted_for = None

    def given_up(self, waiting: Waiting) -> None:
        self.remove(waiting)
        waiting.post = _nobody  # Y6
        if waiting.posted and waiting.message is None:
            self.next_one()

    def hand_over(self, message: Message) -> bool:  # noqa: ARG002 - as in the base
        """Never: the message's place is in the structure, where others may be before it."""
        return False
