"""Conversation: one application at the other end of a link, and its calls.

Rules
  CV1 Calls are carried out in the order in which they came. While one waits for the log the others stay in the backlog.
  CV2 The answer to a call that committed something is sent when the log has been forced (`hardened`), not before.
  CV3 A put without a number is answered by nobody; its first error is the answer to the next numbered call, which is
      not carried out. A back out forgets it, a disconnect answers it and backs out.
  CV4 A get that has to wait is `Parked` with a waiter on the queue; posting it puts it on the service's list, and the
      turn looks again. A message may be handed over to it directly. Its wait ends with its link, at once: nothing is
      got for a client that is known to be gone, and what was handed over is put back. No two wait under one number,
      and no more of them than requests may (`backlog_requests`; 2102).
  CV5 A conversation ends once: by disconnecting, which commits, or with its link, which backs out. What is in the
      backlog then is not carried out: whoever has come back may have been told that it never will be (protocol W10).
  CV6 A call that waits for another queue manager (MQSC with CMDSCOPE) is carried out beside the loop; meanwhile the
      conversation's other calls stay in the backlog, and other conversations go on.
  CV7 A conversation that has ended holds nothing that holds it, nor does a wait that is over: nothing of either is
      left, without anybody looking for it (CO2).
  CV8 A call that is held up (GA3) is the first of the backlog until the service says that it may go on; a get that
      waits looks again then.

Called by link and service.  Calls the connection and its handles, as any application of the process would.
"""

import dataclasses
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from struct import error as StructError  # noqa: N812 - a class
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar

from quaestor.mqi.attributes import AttributeValueError
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.messages import Message
from quaestor.mqi.options import GetOptions
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.connection import Connection, Handle
from quaestor.qmgr.message import Waiting
from quaestor.qmgr.message.gate import HeldUpError
from quaestor.server import values, wire
from quaestor.server.calls import CALLS, Later
from quaestor.server.open_handle import OpenHandle
from quaestor.server.parked import Parked
from quaestor.server.protocol import (
    CONTEXT,
    CORREL,
    CREDIT,
    DESCRIPTOR,
    HEADER,
    HEADER_LENGTH,
    LIMITED,
    MANY,
    NUMBERED,
    READ_AHEAD_BYTES,
    READ_AHEAD_MESSAGES,
    SAME_DESCRIPTOR,
    SELECTS,
    TEXT,
    WAITS,
    WARNED,
    Op,
    ProtocolError,
    frame,
)

if TYPE_CHECKING:
    from quaestor.server.link import Link

_REPLY, _ERROR, _AHEAD, _BACKOUT, _CALL = int(Op.REPLY), int(Op.ERROR), int(Op.AHEAD), int(Op.BACKOUT), int(Op.CALL)
_DISCONNECT = values.pack(["disconnect"])
_OPERATIONS = 256
"""An operation is one byte."""

_NO_SYNCPOINT = int(GetOptions.NO_SYNCPOINT)
_NOTHING: dict[str, Any] = {}
_unpack_put, _PUT_LENGTH = wire.PUT.unpack_from, wire.PUT.size
_unpack_get, _GET_LENGTH = wire.GET.unpack_from, wire.GET.size
_pack_answer, _ANSWER_LENGTH = wire.ANSWER.pack, wire.ANSWER_LENGTH
_SMALL = 256
"""Integers up to here are one object each, as the message manager wants to see the options of like calls."""


class Conversation:
    """One application (CV1-CV7)."""

    def __init__(self, link: "Link", number: int, connection: Connection) -> None:
        self.link, self.number, self.connection = link, number, connection
        self._thread = connection.thread
        self.service = link.service
        self._commits = self.service.commits
        limits = self.service.limits
        self._backlog_max, self._backlog_bytes_max = limits.backlog_requests, limits.backlog_bytes
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
            if len(self.backlog) > self._backlog_max or self._backlog_bytes > self._backlog_bytes_max:
                self.link.want(reading=False)
            return b""
        commits = self._commits
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
            answer = self._refusal(number, error)
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

    def _refusal(self, number: int, error: Exception) -> bytes:
        """The answer to a call that failed; what is the fault of neither engine nor application is raised."""
        if isinstance(error, MQError):
            return self._error(number, values.pack_error(error), error)
        if isinstance(error, AttributeValueError):
            return self._error(number, values.pack([error.keyword, error.value, error.valid]), error)
        if isinstance(error, StructError):
            raise ProtocolError(str(error)) from error
        if isinstance(error, TypeError | ValueError | AttributeError | KeyError):
            refused = MQError(Reason.ENVIRONMENT_ERROR, why=f"{type(error).__name__}: {error}")
            return self._error(number, values.pack_error(refused), error)
        raise error

    def _async_failure(self, _flags: int, _number: int, _packed: bytes, _at: int, _end: int) -> bytes:
        """What a call is answered with whose conversation has lost an asynchronous put (CV3)."""
        failed, self._failed = self._failed, None
        raise failed or MQError(Reason.UNEXPECTED_ERROR)

    def _call_after_failure(self, flags: int, number: int, packed: bytes, at: int, end: int) -> bytes:
        """The same for other calls: a disconnect ends the conversation all the same, its link may go on."""
        if packed[at:end] == _DISCONNECT:
            self.connection.backout()
            self.ending = True
        return self._async_failure(flags, number, packed, at, end)

    def _error(self, number: int, payload: bytes, error: Exception) -> bytes:
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

    # -- put

    def _put(self, flags: int, number: int, packed: bytes, at: int, end: int) -> bytes:
        handle_id, options = _unpack_put(packed, at)
        opened = self.handles.get(handle_id) or self._opened(handle_id)
        if options > _SMALL:
            options = opened.known_options(options)
        at += _PUT_LENGTH
        if flags == SAME_DESCRIPTOR and number and at <= end:
            message = opened.handle.put(packed[at:end], opened.md, options)
            if message[1] is opened.put_envelope and self._thread.warning is None:  # as with the put before, as a rule
                return _pack_answer(_ANSWER_LENGTH, _REPLY, 0, self.number, number, *message[2:], 0, 0)
            return self._message_answer(number, message, b"", 0, opened.knows_put(message))
        correl_id = context = md = None
        if flags:
            if flags & CORREL:
                correl_id = packed[at : at + 24]
                at += 24
            if flags & CONTEXT:
                (context_id,) = wire.COUNT.unpack_from(packed, at)
                context, at = self._opened(context_id).handle, at + 2
            if flags & SAME_DESCRIPTOR:
                md = opened.md
            elif flags & DESCRIPTOR:
                (length,) = wire.COUNT.unpack_from(packed, at)
                at += 2
                md = opened.md = wire.unpack_descriptor(packed[at : at + length])
                at += length
        if at > end:
            raise ProtocolError("a put that ends before its body")
        if flags & MANY:
            if correl_id is not None:
                md = dataclasses.replace(md or MQMD(), correl_id=correl_id)
            bodies: list[Any] = wire.unpack_bodies(packed, at, end)
            if flags & TEXT:
                bodies = [_text(body) for body in bodies]
            if not number:
                self._put_unanswered(opened.handle, bodies, md, options)
                return b""
            messages = opened.handle.put_all(bodies, md, options)
            return self.reply(number, b"".join(wire.pack_message(one, 0, opened.knows_put(one)) for one in messages))
        body: bytes | str = packed[at:end]
        if flags & TEXT:
            body = _text(packed[at:end])
        message = opened.handle.put(body, md, options, correl_id=correl_id, context=context)
        return self._message_answer(number, message, b"", 0, opened.knows_put(message)) if number else b""

    def _put_unanswered(self, handle: Handle, bodies: list[Any], md: MQMD | None, options: int) -> None:
        """Asynchronous puts of one descriptor; each stands for itself, the first error is kept (CV3)."""
        at, thread = 0, self._thread
        try:
            while at < len(bodies):
                try:
                    at += len(handle.put_all(bodies[at:], md, options))
                except MQError as error:
                    self._error(0, b"", error)
                    at += error.facts["put"] + 1
                thread.begun = True  # GA4
        finally:
            thread.begun = False

    # -- get

    def _get(self, flags: int, number: int, packed: bytes, at: int, end: int) -> bytes:
        handle_id, options, wait_ms, longest = _unpack_get(packed, at)
        opened = self.handles.get(handle_id) or self._opened(handle_id)
        if options > _SMALL:
            options = opened.known_options(options)
        at += _GET_LENGTH
        if not flags and at == end:
            handle = opened.handle
            message = handle.get(options)
            if message[1] is opened.got_envelope and self._thread.warning is None:
                body, token = message[0], handle.token
                length = _ANSWER_LENGTH + len(body)
                return _pack_answer(length, _REPLY, 0, self.number, number, *message[2:], token, 0) + body
            return self._got(number, opened, message)
        max_length = longest if flags & LIMITED else None
        selecting = _NOTHING
        if flags & SELECTS:
            selecting = wire.unpack_selection(packed, at, end)
        elif at != end:
            raise ProtocolError("a get that does not fill its frame")
        if not flags & WAITS:
            message = opened.handle.get(options, max_length=max_length, **selecting)
        else:
            result = opened.handle.look(options, wait_ms, None, max_length, direct=True, **selecting)
            if isinstance(result, Waiting):
                self._may_wait(number, opened, result)
                parked = Parked(self, number, opened, options, wait_ms, max_length, selecting, result)
                self._park(parked)
                self.service.wait_until(parked)
                return b""
            message = result
        answer = self._got(number, opened, message)
        if flags & CREDIT and options & _NO_SYNCPOINT and not message.persistence:
            answer += self._ahead(handle_id, opened)
        return answer

    def _got(self, number: int, opened: OpenHandle, message: Message) -> bytes:
        return self._message_answer(number, message, message.body, opened.handle.token, opened.knows_got(message))

    def _message_answer(self, number: int, message: Message, body: bytes, token: int, envelope: bytes) -> bytes:
        if self._thread.warning is None:
            return wire.pack_answer(_REPLY, self.number, number, message, body, token, envelope)
        return self.reply(number, wire.pack_message(message, token, envelope) + body)

    def _ahead(self, handle_id: int, opened: OpenHandle) -> bytes:
        """Further messages that may be sent before they are asked for (protocol W6)."""
        frames, room = [], READ_AHEAD_BYTES
        for _ in range(READ_AHEAD_MESSAGES):
            try:
                message = opened.handle.get_nonpersistent(room)
            except (MQError, HeldUpError):
                break  # whoever asks for it is told; what was asked for is off the queue and must be sent
            if message is None:
                break
            room -= len(message.body)
            token, envelope = opened.handle.token, opened.knows_ahead(message)
            frames.append(wire.pack_answer(_AHEAD, self.number, handle_id, message, message.body, token, envelope))
        return b"".join(frames)

    # -- waiting, rule CV4

    def _may_wait(self, number: int, opened: OpenHandle, waiting: Waiting) -> None:
        if number in self.parked:
            opened.handle.give_up(waiting)
            raise ProtocolError(f"two gets that wait under number {number}")
        if len(self.parked) >= self._backlog_max:
            opened.handle.give_up(waiting)
            raise MQError(Reason.RESOURCE_PROBLEM, waiting_gets=len(self.parked))

    def _park(self, parked: Parked) -> None:
        self.parked[parked.number] = parked
        post = self.service.post
        parked.opened.handle.on_post(parked.waiting, lambda: post(parked))

    def look_again(self, parked: Parked) -> None:
        """A parked get was posted: it has a message, or goes on waiting."""
        if not self.waits(parked):
            return
        opened, commits = parked.opened, self._commits
        before = commits.count
        try:
            result: Message | Waiting | None = opened.handle.handed_over(parked.waiting)
            if result is None:
                result = opened.handle.look(
                    parked.options, parked.wait_ms, parked.waiting, parked.max_length, direct=True, **parked.selecting
                )
            if isinstance(result, Waiting):
                parked.waiting = result
                self._park(parked)
                return
            answer = self._got(parked.number, opened, result)
        except HeldUpError:
            self.service.held_up.append(lambda: self.look_again(parked))  # CV8
            return
        except MQError as error:
            answer = self._error(parked.number, values.pack_error(error), error)
        del self.parked[parked.number]
        if commits.count != before:
            self.busy = True
            commits.deferred.append((self, answer))
        else:
            self.link.send(answer)

    def time_is_over(self, parked: Parked) -> None:
        """A parked get has waited for as long as it was to."""
        if self.waits(parked) and parked.waiting.message is None:
            del self.parked[parked.number]
            parked.opened.handle.give_up(parked.waiting)
            over = MQError(Reason.NO_MSG_AVAILABLE, queue=parked.opened.handle.name, waited_ms=parked.wait_ms)
            self.link.send(frame(_ERROR, 0, self.number, parked.number, values.pack_error(over)))

    def waits(self, parked: Parked) -> bool:
        return self.parked.get(parked.number) is parked

    def _cancel(self, _flags: int, _number: int, packed: bytes, at: int, _end: int) -> bytes:
        parked = self.parked.get(wire.LENGTH.unpack_from(packed, at)[0])
        if parked is not None:
            self.time_is_over(parked)
        return b""

    # -- units of work and the other calls

    def _commit(self, flags: int, number: int, packed: bytes, at: int, _end: int) -> bytes:
        self.connection.commit(wire.UNIT.unpack_from(packed, at)[0] if flags & NUMBERED else None)
        return self.reply(number)

    def _backout(self, _flags: int, number: int, _packed: bytes, _at: int, _end: int) -> bytes:
        self._failed = None
        self.connection.backout()
        return self.reply(number)

    def _call(self, _flags: int, number: int, packed: bytes, at: int, end: int) -> bytes:
        asked = values.unpack(packed[at:end], values.REQUEST_VALUES)
        call = CALLS.get(asked[0]) if isinstance(asked, list) and asked and isinstance(asked[0], str) else None
        if call is None:
            raise ProtocolError("a call of no known name")
        done = call(self, *asked[1:])
        if isinstance(done, Later):
            self.busy = True  # CV6
            Thread(target=self._beside, args=(number, done), name="quaestor-later", daemon=True).start()
            return b""
        return self.reply(number, values.pack(done))

    def _beside(self, number: int, call: Later) -> None:
        """Carry a call out on a thread of its own; the loop answers it (CV6)."""
        try:
            done = call.carry_out()
        except Exception as error:  # noqa: BLE001 - told apart where it is told
            failed = error
            self.service.ask(lambda: self._carried_out(self._refusal(number, failed)))
        else:
            self.service.ask(lambda: self._carried_out(self.reply(number, values.pack(done))))

    def _carried_out(self, answer: bytes) -> None:
        if self.link.open:
            self.link.send(answer)
            self.resume()

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

    def _opened(self, handle_id: int) -> OpenHandle:
        opened = self.handles.get(handle_id)
        if opened is None:
            raise MQError(Reason.HOBJ_ERROR, handle=handle_id)
        return opened

    def handle(self, handle_id: int) -> Handle:
        return self._opened(handle_id).handle

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
    _carry_out[Op.PUT] = _put
    _carry_out[Op.GET] = _get
    _carry_out[Op.COMMIT] = _commit
    _carry_out[Op.BACKOUT] = _backout
    _carry_out[Op.CALL] = _call
    _carry_out[Op.CANCEL] = _cancel
    _carry_out[Op.HEARTBEAT] = _heartbeat


def _text(packed: bytes) -> str:
    try:
        return packed.decode()
    except UnicodeDecodeError as error:
        raise ProtocolError("a text that is not UTF-8") from error
