"""Requests of a handle: its puts and gets as frames, and the messages that their answers are. No I/O.

Rules
  RQ2 A handle remembers the last descriptor it sent and the last envelopes it was sent; neither travels twice in a row.
  RQ3 A put with ASYNC_RESPONSE has no number. What it returns has no identifier: the queue manager gives it later.
  RQ4 A call for many messages goes in frames that are answered one after the other, so that nothing behind a message
      that is refused is put.
  RQ5 What is read ahead waits in the handle, in the order in which it came, for a get out of syncpoint that asks for
      nothing else: not for a browse, a selection or a group. How long it may be is asked of it as of any message. Its
      envelopes are told apart from those of answers: when it is got, answers have come that were sent behind it.
  RQ7 A handle whose context is to be passed is named where it is an open one of the same connection, else none is; the
      queue manager says what that means (HA8).

RQ1 and RQ6 are of `requests`.

Called by requests, connection and asynchronous.  Calls wire.
"""

import struct
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from quaestor.mqi import forms
from quaestor.mqi.descriptors import MQMD, NO_ID, identifier
from quaestor.mqi.late import shortened
from quaestor.mqi.messages import Message
from quaestor.mqi.objects import MESSAGE_MAX
from quaestor.mqi.options import WAIT_UNLIMITED, GetOptions, OpenOptions
from quaestor.mqi.reasons import MQError, Reason
from quaestor.server import wire
from quaestor.server.client.request import Request
from quaestor.server.protocol import (
    CONTEXT,
    CORREL,
    CREDIT,
    DESCRIPTOR,
    LIMITED,
    MANY,
    SAME_DESCRIPTOR,
    SELECTS,
    TEXT,
    WAITS,
    Op,
)
from quaestor.server.wire import new_message

FRAME_MESSAGES, FRAME_BYTES = 250, 1 << 20
"""How much of a call for many messages goes into one frame (RQ4)."""

_NO_SYNCPOINT = int(GetOptions.NO_SYNCPOINT)
_READ_AHEAD = int(OpenOptions.READ_AHEAD)
_TRUNCATES = int(GetOptions.ACCEPT_TRUNCATED_MSG)
_PLAIN_OUT = int(GetOptions.NO_SYNCPOINT | GetOptions.WAIT | GetOptions.FAIL_IF_QUIESCING) | _TRUNCATES
_WAIT_MAX = (1 << 31) - 1
_DEFAULT = MQMD()
_PUT, _GET = int(Op.PUT), int(Op.GET)
_NOTHING_ASKED = Request(_GET, 0, b"")


def body_of(body: Any) -> tuple[Any, int]:
    """A body that can be sent, and the flag that it is text (RQ1)."""
    if type(body) is bytes and len(body) <= MESSAGE_MAX:
        return body, 0
    forms.check_body(body)
    return (body, TEXT) if isinstance(body, str) else (bytes(body), 0)


class HandleRequests:
    """What a handle sends, and how it reads the answers (RQ2)."""

    def __init__(self, owner: object, number: int, name: str, options: int) -> None:
        self.owner, self.number, self.name = owner, number, name
        self.opened = True
        self.token = 0
        self._reads_ahead = bool(int(options) & _READ_AHEAD)
        self._ahead: deque[tuple[Message, int]] = deque()
        self.forget_sent()

    def forget_sent(self) -> None:
        """The other end knows nothing of us yet."""
        self._md: MQMD | None = None
        self._correl = self._md_correl = b""
        self._asked: tuple[int, int | None, int | None] | None = None
        self._get_request = _NOTHING_ASKED
        self._put_envelope: MQMD | None = None
        self._got_envelope: MQMD | None = None
        self._ahead_envelope: MQMD | None = None

    # -- put

    def put_request(
        self, body: Any, md: MQMD | None, options: int, correl_id: bytes | None, context: "HandleRequests | None"
    ) -> Request:
        flags = 0
        if type(body) is not bytes:
            body, flags = body_of(body)
            if flags:
                body = body.encode()
        elif len(body) > MESSAGE_MAX:
            forms.check_body(body)
        elif md is self._md and md is not None and not self._md_correl and correl_id is None and context is None:
            self._correl = b""
            try:
                return Request(_PUT, SAME_DESCRIPTOR, wire.PUT.pack(self.number, options) + body)  # RQ2
            except struct.error as error:
                raise MQError(Reason.OPTIONS_ERROR, options=options, why="not a number") from error
        more, head = self.put_head(md, options, correl_id, context)
        return Request(_PUT, flags | more, head + body)

    def put_head(
        self, md: MQMD | None, options: int, correl_id: bytes | None, context: "HandleRequests | None"
    ) -> tuple[int, bytes]:
        """Flags and payload of a put, as far as its body."""
        flags = 0
        try:
            head = wire.PUT.pack(self.number, options)
        except struct.error as error:
            raise MQError(Reason.OPTIONS_ERROR, options=options, why="not a number") from error
        if md is not None:
            flags, described = self._described(md, flags)
        else:
            described, self._correl = b"", b""
        correl = self._correl if correl_id is None else identifier(correl_id)
        if correl:
            flags |= CORREL
            head += correl
        if isinstance(context, HandleRequests) and context.opened and context.owner is self.owner:
            flags |= CONTEXT
            head += wire.COUNT.pack(context.number)
        return flags, head + described

    def _described(self, md: MQMD, flags: int) -> tuple[int, bytes]:
        if md is self._md:
            self._correl = self._md_correl
            return flags | SAME_DESCRIPTOR, b""
        packed = wire.pack_descriptor(md)
        self._correl = self._md_correl = b"" if md.correl_id == NO_ID else identifier(md.correl_id)
        self._md = md
        return flags | DESCRIPTOR, wire.COUNT.pack(len(packed)) + packed

    def put_answer(self, payload: bytes, body: Any) -> Message:
        sent = body if type(body) is bytes else body.encode() if isinstance(body, str) else bytes(body)
        message, _, self._put_envelope = wire.unpack_message(payload, 0, len(payload), self._put_envelope, sent)
        return message

    @staticmethod
    def put_frames(bodies: Iterable[Any]) -> Iterator[tuple[list[bytes], int]]:
        """The bodies of a call for many messages, many to a frame, each frame with the flag of text if they are (RQ4).

        A body that is refused is so behind the frame of those before it.
        """
        run, kind, size = list[bytes](), 0, 0
        for body in bodies:
            try:
                sent, text = body_of(body)
                sent = sent.encode() if text else sent
            except MQError:
                if run:
                    yield run, kind
                raise
            size += len(sent)
            if run and (text != kind or size > FRAME_BYTES or len(run) >= FRAME_MESSAGES):
                yield run, kind
                run, size = [], len(sent)
            kind = text
            run.append(sent)
        if run:
            yield run, kind

    def put_frame(self, bodies: list[bytes], kind: int, md: MQMD | None, options: int) -> Request:
        """Puts of one descriptor in one frame that is answered."""
        flags, head = self.put_head(md, options, None, None)
        parts = [part for body in bodies for part in (wire.LENGTH.pack(len(body)), body)]
        return Request(_PUT, flags | kind | MANY, b"".join((head, wire.COUNT.pack(len(bodies)), *parts)))

    def put_answers(self, payload: bytes, bodies: list[bytes]) -> list[Message]:
        """The messages of a frame of puts, from its answer."""
        messages, at, end = [], 0, len(payload)
        for body in bodies:
            message, _, self._put_envelope = wire.unpack_message(payload, at, end, self._put_envelope, body)
            messages.append(message)
            at = wire.message_end(payload, at)
        return messages

    @staticmethod
    def put_refused(error: MQError, put: list[Message], bodies: list[Any], md: MQMD | None, options: int) -> MQError:
        """What a call for many messages answers when one was refused, after the frames of these (FO2)."""
        before = len(put) + error.facts.get("put", 0)
        try:
            if error.reason not in (Reason.HOBJ_ERROR, Reason.HCONN_ERROR, Reason.CONNECTION_BROKEN):
                for body in bodies[before : before + 1]:
                    forms.check_put(body, md, options)
        except MQError as wrong:
            return wrong.having_put(before)
        return error.having_put(before)

    @staticmethod
    def put_unanswered(body: Any, md: MQMD | None) -> Message:
        """What is known of a message whose put is not answered (RQ3)."""
        md = md or _DEFAULT
        sent = body if type(body) is bytes else body.encode() if isinstance(body, str) else bytes(body)
        return Message(sent, md, md.msg_id, md.correl_id, max(md.priority, 0), md.persistence & 1, 0)

    # -- get

    def get_request(
        self, options: int, wait_ms: int | None, max_length: int | None, selecting: dict[str, Any]
    ) -> Request:
        asked = (options, wait_ms, max_length)
        if asked == self._asked and not selecting:
            return self._get_request
        flags, longest, selected = 0, 0, b""
        if wait_ms is not None:
            if wait_ms < WAIT_UNLIMITED:
                raise MQError(Reason.WAIT_INTERVAL_ERROR, wait_ms=wait_ms)
            flags = WAITS
        if max_length is not None:
            if max_length < 0:
                raise MQError(Reason.BUFFER_LENGTH_ERROR, max_length=max_length)
            flags |= LIMITED
            longest = max_length
        if selecting:
            flags |= SELECTS
            selected = wire.pack_selection(selecting)
        elif self._reads_ahead and is_plain_out(options) and max_length is None:
            flags |= CREDIT
        try:
            head = wire.GET.pack(self.number, options, min(wait_ms or 0, _WAIT_MAX), longest)
        except struct.error as error:
            raise MQError(Reason.OPTIONS_ERROR, options=options, why="not a number") from error
        request = Request(_GET, flags, head + selected)
        if not selecting:
            self._asked, self._get_request = asked, request
        return request

    def got(self, payload: bytes) -> Message:
        message, self.token, self._got_envelope = wire.unpack_message(payload, 0, len(payload), self._got_envelope)
        return message

    def read_ahead(self, payload: bytes) -> None:
        """A message has come that nobody has asked for yet (RQ5)."""
        message, token, envelope = wire.unpack_message(payload, 0, len(payload), self._ahead_envelope)
        self._ahead_envelope = envelope
        self._ahead.append((message, token))

    def got_ahead(self, options: int, max_length: int | None) -> tuple[Message, MQError | None]:
        """The next of them, and the warning of its get."""
        message, token = self._ahead[0]
        message, warning = shortened(message, options, max_length)
        self._ahead.popleft()
        self.token = token
        return message, warning


def is_plain_out(options: int) -> bool:
    """Whether a get is out of syncpoint and asks for nothing else (RQ5)."""
    return bool(options & _NO_SYNCPOINT) and not options & ~_PLAIN_OUT


class PutRun:
    """Asynchronous puts of one handle under one descriptor, gathered into one frame."""

    __slots__ = ("_flags", "_head", "_parts", "_unanswered", "handle", "md", "messages", "options", "size")

    def __init__(self, handle: HandleRequests, md: MQMD | None, options: int) -> None:
        self.handle, self.md, self.options = handle, md, options
        self._flags, self._head = handle.put_head(md, options, None, None)
        self._unanswered = HandleRequests.put_unanswered(b"", md)[1:]
        self._parts: list[bytes] = []
        self.messages = self.size = 0

    def add(self, body: bytes) -> Message:
        """One more; what is known of it (RQ3)."""
        length = len(body)
        self._parts += wire.LENGTH.pack(length), body
        self.messages += 1
        self.size += length
        return new_message(Message, (body, *self._unanswered))

    def request(self) -> Request:
        payload = b"".join((self._head, wire.COUNT.pack(self.messages), *self._parts))
        return Request(_PUT, self._flags | MANY, payload)
