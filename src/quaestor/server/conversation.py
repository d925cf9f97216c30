"""Conversation: one application at the other end of a link; in which order it is served, and when it is answered.

Rules
  CV1 Calls are carried out in the order in which they came. While one waits for the log the others stay in the backlog.
  CV2 The answer to a call that committed something is sent when the log has been forced (`hardened`), not before.
  CV3 A put without a number is answered by nobody; its first error is the answer to the next numbered call, which is
      not carried out. A back out forgets it, a disconnect answers it and backs out.
  CV5 A conversation ends once: by disconnecting, which commits, or with its link, which backs out. What is in the
      backlog then is not carried out: whoever has come back may have been told that it never will be (protocol W10).
      One whose connection an operator has ended counts no more, and is known to its link until it disconnects: what
      its client has sent and still sends is answered.
  CV7 A conversation that has ended holds nothing that holds it, nor does a wait that is over: nothing of either is
      left, without anybody looking for it (CO2).
  CV8 A call that is held up (GA3) is the first of the backlog until the service says that it may go on; a get that
      waits looks again then.

What the calls do is in `putting`, `getting` (`parked` has CV4) and `calls` (CV6).
Called by link and service.  Calls the connection and its handles, as any application of the process would.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from struct import error as StructError  # noqa: N812 - a class
from typing import TYPE_CHECKING, ClassVar

from quaestor.mqi.attributes import AttributeValueError
from quaestor.mqi.messages import Message
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.connection import Connection, Handle
from quaestor.qmgr.message.gate import HeldUpError
from quaestor.server import values, wire
from quaestor.server.calls import call
from quaestor.server.getting import get
from quaestor.server.open_handle import OpenHandle
from quaestor.server.parked import Parked, cancel
from quaestor.server.protocol import HEADER, HEADER_LENGTH, NUMBERED, WARNED, Op, ProtocolError, frame
from quaestor.server.putting import put

if TYPE_CHECKING:
    from quaestor.server.link import Link

_REPLY, _ERROR, _BACKOUT, _CALL = int(Op.REPLY), int(Op.ERROR), int(Op.BACKOUT), int(Op.CALL)
_DISCONNECT = values.pack(["disconnect"])
_OPERATIONS = 256
"""An operation is one byte."""


class Conversation:
    """One application (CV1-CV8)."""

    def __init__(self, link: "Link", number: int, connection: Connection) -> None:
        self.link, self.number, self.connection = link, number, connection
        self.thread = connection.thread
        self.service = link.service
        self.commits = self.service.commits
        limits = self.service.limits
        self.backlog_max, self._backlog_bytes_max = limits.backlog_requests, limits.backlog_bytes
        self.handles: dict[int, OpenHandle] = {}
        self._next_handle = 1
        self.backlog: deque[tuple[int, int, int, bytes]] = deque()
        self._backlog_bytes = 0
        self.busy = False
        self.parked: dict[int, Parked] = {}
        self.ending = False
        self._failed: MQError | None = None  # of an asynchronous put (CV3)

    # -- requests and answers

    def request(self, op: int, flags: int, number: int, packed: bytes, at: int, end: int) -> bytes:
        """Carry out a request, or keep it for later (CV1); gives its answer, if there is one and it may be sent."""
        if self.busy:
            self.backlog.append((op, flags, number, packed[at:end]))
            self._backlog_bytes += end - at
            if len(self.backlog) > self.backlog_max or self._backlog_bytes > self._backlog_bytes_max:
                self.link.want(reading=False)
            return b""
        commits = self.commits
        carry_out, before = self._carry_out[op], commits.count
        if self._failed is not None and number and op != _BACKOUT:
            carry_out = Conversation._async_failure if op != _CALL else Conversation._call_after_failure
        try:
            answer = carry_out(self, flags, number, packed, at, end)
        except ProtocolError:
            raise
        except HeldUpError:
            return self._held_up(op, flags, number, packed[at:end])
        except Exception as error:  # noqa: BLE001 - told apart where it is told
            answer = self.refusal(number, error)
            if self.service.failed:
                return b""  # SV6
        if commits.count != before:
            self.busy = True
            commits.deferred.append((self, answer))  # CV2
            return b""
        if answer and commits.overlaps:
            commits.others.add(self)
        if self.ending and not self.busy:
            self._disconnect()
        return answer

    def _held_up(self, op: int, flags: int, number: int, payload: bytes) -> bytes:
        """Nobody begins a unit now: the request comes first when that is over (CV8)."""
        self.busy = True
        self.backlog.appendleft((op, flags, number, payload))
        self._backlog_bytes += len(payload)
        self.service.held_up.append(self.resume)
        return b""

    def refusal(self, number: int, error: Exception) -> bytes:
        """The answer to a call that failed; what is the fault of neither engine nor application is raised."""
        if isinstance(error, MQError):
            return self.error(number, values.pack_error(error), error)
        if isinstance(error, AttributeValueError):
            return self.error(number, values.pack([error.keyword, error.value, error.valid]), error)
        if isinstance(error, StructError):
            raise ProtocolError(str(error)) from error
        if isinstance(error, TypeError | ValueError | AttributeError | KeyError):
            refused = MQError(Reason.ENVIRONMENT_ERROR, why=f"{type(error).__name__}: {error}")
            return self.error(number, values.pack_error(refused), error)
        raise error

    def _async_failure(self, _flags: int, _number: int, _packed: bytes, _at: int, _end: int) -> bytes:
        """What a call is answered with whose conversation has lost an asynchronous put (CV3)."""
        failed, self._failed = self._failed, None
        raise failed or MQError(Reason.UNEXPECTED_ERROR)

    def _call_after_failure(self, flags: int, number: int, packed: bytes, at: int, end: int) -> bytes:
        """The same for other calls: a disconnect ends the conversation all the same, its link may go on."""
        if packed[at:end] == _DISCONNECT:
            self.ending = True
            self.connection.backout()
        return self._async_failure(flags, number, packed, at, end)

    def error(self, number: int, payload: bytes, error: Exception) -> bytes:
        if number:
            return frame(_ERROR, 0, self.number, number, payload)
        if self._failed is None:
            told = error if isinstance(error, MQError) else MQError(Reason.MD_ERROR, why=str(error))
            self._failed = MQError(told.reason, **told.facts)  # one that was raised knows us, by its frames (CV7)
        return b""

    def reply(self, number: int, payload: bytes = b"") -> bytes:
        """The answer of a call that succeeded, with its warning if it has one."""
        warning = self.connection.warning
        if warning is None:
            return HEADER.pack(HEADER_LENGTH + len(payload), _REPLY, 0, self.number, number) + payload
        packed = values.pack_error(warning)
        return frame(_REPLY, WARNED, self.number, number, wire.LENGTH.pack(len(packed)) + packed + payload)

    def hardened(self, answer: bytes) -> None:
        """The log has been forced: answer, and go on (CV2)."""
        link = self.link
        if self.backlog or self.ending or link.shared or not link.reading:
            if answer:
                link.send(answer)
            self.resume()
        else:
            self.busy = False
            if answer:
                link.send_now(answer)

    def resume(self) -> None:
        """What was waited for has come: go on with the backlog (CV1), unless it goes with its link (CV5)."""
        self.busy, link = False, self.link
        if not link.open:
            return
        if self.ending:
            self._disconnect()
        until_ns = link.share_ends()
        try:
            while self.backlog and not self.busy and not link.held:  # LI3
                op, flags, number, payload = self.backlog.popleft()
                self._backlog_bytes -= len(payload)
                answer = self.request(op, flags, number, payload, 0, len(payload))
                if answer:
                    link.send(answer)
                link.had_share(until_ns)
        except ProtocolError as error:
            link.no_frame(error)
        if not link.reading and not self.backlog and not link.stuck:
            link.want(reading=True)

    def got(self, number: int, opened: OpenHandle, message: Message) -> bytes:
        return self.message_answer(number, message, message.body, opened.handle.token, opened.knows_got(message))

    def message_answer(self, number: int, message: Message, body: bytes, token: int, envelope: bytes) -> bytes:
        if self.thread.warning is None:
            return wire.pack_answer(_REPLY, self.number, number, message, body, token, envelope)
        return self.reply(number, wire.pack_message(message, token, envelope) + body)

    # -- units of work and the other calls

    def _commit(self, flags: int, number: int, packed: bytes, at: int, end: int) -> bytes:
        unit = None
        if flags & NUMBERED:
            (unit,) = wire.UNIT.unpack(packed[at:end])  # what stands behind its frame is not its number
        self.connection.commit(unit)
        return self.reply(number)

    def _backout(self, _flags: int, number: int, _packed: bytes, _at: int, _end: int) -> bytes:
        self._failed = None
        self.connection.backout()
        return self.reply(number)

    def _heartbeat(self, _flags: int, _number: int, _packed: bytes, _at: int, _end: int) -> bytes:
        return b""

    def _unknown(self, _flags: int, _number: int, _packed: bytes, _at: int, _end: int) -> bytes:
        raise ProtocolError("an unknown operation")

    # -- handles

    def add(self, handle: Handle) -> int:
        """A number for a new handle."""
        while self._next_handle in self.handles:
            self._next_handle = self._next_handle % 65_535 + 1
        number = self._next_handle
        self._next_handle = number % 65_535 + 1
        self.handles[number] = OpenHandle(handle)
        return number

    def opened(self, handle_id: int) -> OpenHandle:
        opened = self.handles.get(handle_id)
        if opened is None:
            raise MQError(Reason.HOBJ_ERROR, handle=handle_id)
        return opened

    def handle(self, handle_id: int) -> Handle:
        return self.opened(handle_id).handle

    # -- the end, rule CV5

    def _disconnect(self) -> None:
        self.ending = False
        self.give_up_waits()
        self.connection.disconnect()
        self.link.forget(self)

    def give_up_waits(self) -> None:
        """Nobody waits here any more (CV4)."""
        parked, self.parked = self.parked, {}
        for one in parked.values():
            with suppress(MQError):  # no room to put it back: it went to a client that is gone
                one.opened.handle.give_up(one.waiting)

    def abandon(self) -> None:
        """The link has ended: back out."""
        self.backlog.clear()
        self.connection.abandon()

    # -- operations, rule CV7

    _carry_out: ClassVar[list[Callable[["Conversation", int, int, bytes, int, int], bytes]]] = [_unknown] * _OPERATIONS
    _carry_out[Op.PUT] = put
    _carry_out[Op.GET] = get
    _carry_out[Op.COMMIT] = _commit
    _carry_out[Op.BACKOUT] = _backout
    _carry_out[Op.CALL] = call
    _carry_out[Op.CANCEL] = cancel
    _carry_out[Op.HEARTBEAT] = _heartbeat
