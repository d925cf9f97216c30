"""Parked: a get that waits, without a thread.

Rules
  CV4 A get that has to wait is `Parked` with a waiter on the queue; posting it puts it on the service's list, and the
      turn looks again. A message may be handed over to it directly. Its wait ends with its link, at once: nothing is
      got for a client that is known to be gone, and what was handed over is put back. No two wait under one number,
      and no more of them than requests may (`backlog_requests`; 2102).

Called by getting, conversation and service.  Calls the handle, the conversation.
"""

from typing import TYPE_CHECKING, Any

from quaestor.mqi.messages import Message
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.message import Waiting
from quaestor.qmgr.message.gate import HeldUpError
from quaestor.server import values, wire
from quaestor.server.open_handle import OpenHandle
from quaestor.server.protocol import Op, ProtocolError, frame

if TYPE_CHECKING:
    from quaestor.server.conversation import Conversation

_ERROR = int(Op.ERROR)


class Parked:
    """A get that waits (CV4)."""

    __slots__ = ("conversation", "max_length", "number", "opened", "options", "selecting", "wait_ms", "waiting")

    def __init__(
        self,
        conversation: "Conversation",
        number: int,
        opened: OpenHandle,
        options: int,
        wait_ms: int,
        max_length: int | None,
        selecting: dict[str, Any],
        waiting: Waiting,
    ) -> None:
        self.conversation, self.number, self.opened = conversation, number, opened
        self.options, self.wait_ms, self.max_length, self.selecting = options, wait_ms, max_length, selecting
        self.waiting = waiting

    def wait(self) -> None:
        """Until it is posted."""
        on = self.conversation
        on.parked[self.number] = self
        post = on.service.post
        self.opened.handle.on_post(self.waiting, lambda: post(self))

    @property
    def waits(self) -> bool:
        """Whether anybody waits for it still."""
        return self.conversation.parked.get(self.number) is self

    def look_again(self) -> None:
        """It was posted: it has a message, or goes on waiting."""
        on = self.conversation
        if on.parked.get(self.number) is not self:
            return
        handle, commits = self.opened.handle, on.commits
        before = commits.count
        try:
            result: Message | Waiting | None = handle.handed_over(self.waiting)
            if result is None:
                result = handle.look(
                    self.options, self.wait_ms, self.waiting, self.max_length, direct=True, **self.selecting
                )
            if isinstance(result, Waiting):
                self.waiting = result
                self.wait()
                return
            answer = on.got(self.number, self.opened, result)
        except HeldUpError:
            on.service.held_up.append(self.look_again)  # CV8
            return
        except MQError as error:
            answer = on.error(self.number, values.pack_error(error), error)
        del on.parked[self.number]
        if commits.count != before:
            on.busy = True
            commits.deferred.append((on, answer))
        else:
            on.link.send(answer)

    def time_is_over(self) -> None:
        """It has waited for as long as it was to."""
        if self.waits and self.waiting.message is None:
            on, handle = self.conversation, self.opened.handle
            del on.parked[self.number]
            handle.give_up(self.waiting)
            over = MQError(Reason.NO_MSG_AVAILABLE, queue=handle.name, waited_ms=self.wait_ms)
            on.link.send(frame(_ERROR, 0, on.number, self.number, values.pack_error(over)))


def may_wait(on: "Conversation", number: int, opened: OpenHandle, waiting: Waiting) -> None:
    """Refuse a wait that nobody could tell from another, and one too many (CV4)."""
    if number in on.parked:
        opened.handle.give_up(waiting)
        raise ProtocolError(f"two gets that wait under number {number}")
    if len(on.parked) >= on.backlog_max:
        opened.handle.give_up(waiting)
        raise MQError(Reason.RESOURCE_PROBLEM, waiting_gets=len(on.parked))


def cancel(on: "Conversation", _flags: int, _number: int, packed: bytes, at: int, end: int) -> bytes:
    """CANCEL: the client waits no more for one of its gets."""
    parked = on.parked.get(wire.LENGTH.unpack(packed[at:end])[0])
    if parked is not None:
        parked.time_is_over()
    return b""
