"""Late: messages that came for gets of a handle that were cancelled, and who returns them instead.

Rules
  LA1 A message that has come for a cancelled get goes to the get of the handle that has waited longest for such a one,
      else to the next that asks for such a one. A browse, a group, a cursor or a mark asks for none of them; but for a
      browse, what has come for them is kept for others, too (`takes`): it is off its queue.
  LA2 A get that was given one waits no more at the queue manager; what was on its way to it already is late in turn.
  LA3 One that was got in syncpoint is for gets in syncpoint only, until its unit has ended: a back out gives it up (it
      is on its queue again), a commit makes it the application's. A back out leaves one that was marked in the next
      unit, and so it stays here.
  LA4 One that is the application's, and is returned by a get in syncpoint, comes back here when that is backed out. It
      is lost with the handle, or with its link, as any message that was got out of syncpoint.

Called by both faces for asyncio, of a queue manager in this process and of a server.  Calls matching.
"""

from asyncio import Future
from collections.abc import Callable
from typing import Any, NamedTuple

from quaestor.mqi.matching import ANY, Selection, matches, selection
from quaestor.mqi.messages import Message
from quaestor.mqi.options import GetOptions
from quaestor.mqi.reasons import MQError, Reason

_NO_SYNCPOINT, _IF_PERSISTENT = int(GetOptions.NO_SYNCPOINT), int(GetOptions.SYNCPOINT_IF_PERSISTENT)
_TRUNCATES = int(GetOptions.ACCEPT_TRUNCATED_MSG)
_PLAIN = (
    _NO_SYNCPOINT
    | _IF_PERSISTENT
    | int(GetOptions.WAIT | GetOptions.SYNCPOINT | GetOptions.FAIL_IF_QUIESCING)
    | _TRUNCATES
)
_MARKS = int(GetOptions.MARK_SKIP_BACKOUT)
_LEAVES = int(GetOptions.BROWSE_FIRST | GetOptions.BROWSE_NEXT | GetOptions.BROWSE_MSG_UNDER_CURSOR | GetOptions.UNLOCK)
BACKOUT_COUNT_MAX = 255


def _in_unit(options: int, message: Message) -> bool:
    return not options & _NO_SYNCPOINT and (message.persistent or not options & _IF_PERSISTENT)


def takes(options: int) -> bool:
    """Whether a get takes the message that it returns off its queue (LA1)."""
    return not options & _LEAVES


class Kept(NamedTuple):
    """A message nobody has returned yet."""

    in_unit: bool
    message: Message
    marked: bool = False


class Asked(NamedTuple):
    """What a get asks for."""

    options: int
    selection: Selection
    max_length: int | None

    def takes(self, kept: Kept) -> bool:
        message, envelope = kept.message, kept.message.envelope
        if kept.in_unit and not _in_unit(self.options, message):
            return False  # LA3
        return matches(self.selection, message.msg_id, message.correl_id, envelope.group_id, envelope.msg_seq_number)


def asked_by(options: int, max_length: int | None, selecting: dict[str, Any]) -> Asked | None:
    """What a get asks for; None if no other may return what comes for it (LA1), or it is refused anyway."""
    if not isinstance(options, int) or options & ~_PLAIN:
        return None
    try:
        return Asked(options, selection(**selecting) if selecting else ANY, max_length)
    except (MQError, TypeError):
        return None


def shortened(message: Message, options: int, max_length: int | None) -> tuple[Message, MQError | None]:
    """A message that is here already as a get of at most this length returns it, and with which warning."""
    length = len(message.body)
    if max_length is None or length <= max_length:
        return message, None
    if max_length < 0:
        raise MQError(Reason.BUFFER_LENGTH_ERROR, max_length=max_length)
    short = message._replace(body=message.body[:max_length], original_length=length)
    if not options & _TRUNCATES:
        raise MQError(Reason.TRUNCATED_MSG_FAILED, message=short, length=length)
    return short, MQError(Reason.TRUNCATED_MSG_ACCEPTED, message=short, length=length)


class Late:
    """What cancelled gets of one handle have left (LA1-LA4)."""

    def __init__(self) -> None:
        self._kept: list[Kept] = []
        self._returned: list[Message] = []  # to gets in syncpoint, before their unit has ended (LA4)
        self._waiting: dict[Future[Any], tuple[Asked, Callable[[], None]]] = {}
        self.warning: MQError | None = None
        """Of the get that was last returned one."""

    def __len__(self) -> int:
        return len(self._kept)

    def waits(self, asked: Asked, future: "Future[Any]", withdraw: Callable[[], None]) -> None:
        """A get waits for a message; `withdraw` ends its wait at the queue manager."""
        self._waiting[future] = asked, withdraw
        future.add_done_callback(self._waiting.pop)

    def keep(self, options: int, message: Message) -> None:
        """A message has come for a get that was cancelled."""
        in_unit = _in_unit(options, message)
        kept = Kept(in_unit, message, in_unit and bool(options & _MARKS))
        for future, (asked, withdraw) in tuple(self._waiting.items()):
            if future.done() or not asked.takes(kept):
                continue
            withdraw()  # LA2
            try:
                future.set_result(self._return(kept, asked))
            except MQError as error:
                future.set_exception(error)  # too long for it: it is the next one's
            else:
                return
        self._kept.append(kept)

    def take(self, asked: Asked) -> Message | None:
        """The first of them that a get asks for, if there is one."""
        for kept in self._kept:
            if asked.takes(kept):
                message = self._return(kept, asked)
                self._kept.remove(kept)
                return message
        return None

    def _return(self, kept: Kept, asked: Asked) -> Message:
        message, self.warning = shortened(kept.message, asked.options, asked.max_length)
        if not kept.in_unit and _in_unit(asked.options, kept.message):
            self._returned.append(kept.message)
        return message

    def backed_out(self, *, over: bool = True) -> None:
        """The unit has ended: what it had got is on its queue, what was the application's is so again (LA3, LA4).

        It may be said before that is `over`, so that nobody is given what goes with the unit.
        """
        again = [one._replace(backout_count=min(one.backout_count + 1, BACKOUT_COUNT_MAX)) for one in self._returned]
        marked = [kept._replace(marked=not over) for kept in self._kept if kept.marked]
        self._kept = [*(Kept(in_unit=False, message=one) for one in again), *self._own(), *marked]
        self._returned = []

    def committed(self) -> None:
        """The unit has ended: what it had got is the application's (LA3)."""
        self._kept = [kept._replace(in_unit=False, marked=False) for kept in self._kept]
        self._returned = []

    def link_lost(self) -> None:
        """Whatever became of the unit, nothing of it is here."""
        self._kept, self._returned = self._own(), []

    def _own(self) -> list[Kept]:
        return [kept for kept in self._kept if not kept.in_unit]
