"""Link: one socket of a client, its frames in and its answers out.

Rules
  LI1 Bytes become frames; a frame goes to its conversation. What is no frame ends the link with one line (protocol W8).
  LI2 Nothing but HELLO is looked at before the client has proved who it is.
  LI3 The answer to a request that came alone is sent at once: its client works on while others are served. Answers to
      requests that came together, and to commits of several conversations, gather and are sent once per turn, or when
      others have been carried out for `GATHER_NS`: none waits for a long run of commits behind it. A client
      that does not take them is not read from until it does, nor is anything else of it carried out, and it is cut off
      when it takes none for long. So is one that stops in the middle of a frame. A long answer is not copied again for
      each piece of it that is taken.
  LI4 The end of a link is handled at the end of a turn, the first after which no commit of its conversations is under
      way. Its gets that wait do so no more from the moment it is known.

Called by arrivals, service and conversation.  Calls introduction, conversation.  `tls_link` is the same over TLS.
"""

import socket
from collections.abc import Callable
from struct import error as StructError  # noqa: N812 - a class
from typing import TYPE_CHECKING

from quaestor.readiness import WRITE
from quaestor.server import values
from quaestor.server.conversation import Conversation
from quaestor.server.introduction import connect, hello
from quaestor.server.protocol import HEADER, HEADER_LENGTH, HELLO_MAX, Op, ProtocolError

if TYPE_CHECKING:
    from quaestor.server.service import Service

RECEIVE = 1 << 16
LONG = 1 << 20
SHARE_NS, GATHER_NS = 50_000_000, 2_000_000
_AGAIN = (BlockingIOError, InterruptedError)
_unpack_header = HEADER.unpack_from
_CALL, _HEARTBEAT = int(Op.CALL), int(Op.HEARTBEAT)


class Link:
    """One client (LI1-LI4)."""

    again: tuple[type[OSError], ...] = _AGAIN
    """What a socket raises that has nothing for us, or no room, at the moment."""

    def __init__(self, service: "Service", sock: socket.socket, peer: str, now: float) -> None:
        self.service, self.sock, self.peer = service, sock, peer
        self._receive = sock.recv
        self._send: Callable[[bytes | memoryview], int] = sock.send
        self.fd = sock.fileno()
        self.user = ""
        self.client = b""
        self.application = ""
        self.conversations: dict[int, Conversation] = {}
        self.shared = False  # by several conversations
        self.open = True
        self.authenticated = False
        self._frame_max = HELLO_MAX
        self.identifying = False
        self._rest = bytearray()
        self._need = HEADER_LENGTH
        self._out: list[bytes] = []
        self._out_bytes, self.held = 0, False
        self._gathers_until_ns = 0
        self._output_max = service.limits.output_bytes
        self._talks = service.talking.append
        self._unsent: bytes | memoryview = b""
        self.since = self.heard = self.took = now
        self.partial_since = 0.0
        self.reading, self.writing = True, False

    # -- in

    def ready(self, events: int) -> bool:
        """The socket has something for us, or room: carry out what has come (LI1), send what has gathered (LI3).

        Whether something had come.
        """
        try:
            if events != WRITE:
                data = self._receive(RECEIVE)
                if data:
                    self.heard = self.service.now
                    if self._rest or self.identifying or self.held:
                        self._received(data)
                    else:
                        self._split(data)
                else:
                    self.end(None if not self._rest else "ended in the middle of a frame")
            if events & WRITE and self.open:
                self.flush()
        except self.again:
            return False
        except (ProtocolError, StructError) as error:
            self.no_frame(error)
        except OSError as error:
            self.end(self.why_failed(error))
        return events != WRITE

    def no_frame(self, error: Exception) -> None:
        """What came is not of this protocol (LI1)."""
        self.end(f"not a frame of this protocol: {error}")

    def why_failed(self, error: OSError) -> str | None:
        """What there is to say of a socket that fails."""
        return None if isinstance(error, ConnectionError) else str(error)

    def _received(self, data: bytes) -> None:
        """More of a frame that has begun, or something to look at later."""
        self._rest += data
        if len(self._rest) < self._need or self.identifying or self.held:
            if len(self._rest) > max(HELLO_MAX, self._need):
                self.want(reading=False)
            return
        data = bytes(self._rest)
        self._rest.clear()
        self._split(data)

    def _split(self, data: bytes) -> None:
        """Every whole frame of what came; the rest waits for more."""
        at, end = 0, len(data)
        if end >= HEADER_LENGTH and not self.partial_since:
            length, op, flags, conversation, number = _unpack_header(data)
            known = self.conversations.get(conversation)
            if known is not None and length == end <= self._frame_max:
                answer = known.request(op, flags, number, data, HEADER_LENGTH, end)  # as a rule there is nothing else
                if answer:
                    self.send_now(answer)
                return
        until_ns = self.share_ends()
        while end - at >= HEADER_LENGTH and self.open and not (self.identifying or self.held):
            length, op, flags, conversation, number = _unpack_header(data, at)
            if not HEADER_LENGTH <= length <= self._frame_max:
                raise ProtocolError(f"a frame of {length} bytes")
            if length > end - at:
                self._need = length
                break
            known = self.conversations.get(conversation)  # LI2: there are none before the client is authenticated
            if known is not None:
                answer = known.request(op, flags, number, data, at + HEADER_LENGTH, at + length)
                if answer:
                    self.send(answer)
                self.had_share(until_ns)
            else:
                self._frame(op, conversation, number, data[at + HEADER_LENGTH : at + length])
            at += length
        else:
            self._need = HEADER_LENGTH
        if at < end and self.open:
            self._rest += data[at:]
            self.partial_since = 0.0 if self.identifying or self.held else self.service.now
        elif self.partial_since:
            self.partial_since = 0.0

    def share_ends(self) -> int:
        """When what this client has sent ahead makes room for others, if carried out from now on (SV1)."""
        now_ns = self.service.monotonic_ns()
        self._gathers_until_ns = now_ns + GATHER_NS
        return now_ns + SHARE_NS

    def had_share(self, until_ns: int) -> None:
        """Go on in the next turn if the time is over; answers that have waited for a while are sent (LI3)."""
        if self.held:
            return
        now_ns = self.service.monotonic_ns()
        if now_ns > until_ns:
            self.held = True
            self._talks(self)
        elif now_ns > self._gathers_until_ns:
            self._gathers_until_ns = now_ns + GATHER_NS
            self.flush()

    def _frame(self, op: int, conversation: int, number: int, payload: bytes) -> None:
        """A frame that belongs to no conversation."""
        if not self.authenticated:
            hello(self, op, number, payload)  # LI2
        elif op == _CALL:
            connect(self, conversation, number, values.unpack(payload, values.REQUEST_VALUES))
        elif op != _HEARTBEAT:
            raise ProtocolError(f"operation {op} on a conversation that is not there")

    @property
    def applications(self) -> int:
        """Its conversations, without those that an operator has ended (CV5)."""
        return sum(one.connection.connected for one in self.conversations.values())

    def let_in(self) -> None:
        """The client is who it says it is, and one of the clients (LI2)."""
        self.authenticated, self._frame_max = True, self.service.limits.frame_bytes

    # -- out

    def send(self, answer: bytes) -> None:
        """An answer that is sent with others at the end of the turn (LI3)."""
        out = self._out
        if not out:
            self._talks(self)
        out.append(answer)
        self._out_bytes += len(answer)
        if self._out_bytes > self._output_max:
            self.held = True  # LI3

    def flush(self) -> None:
        """Send what has gathered; what the client does not take now waits (LI3)."""
        out, unsent = self._out, self._unsent
        if len(unsent) > LONG:
            self._hand_over(unsent)
            if not self._unsent:
                self.flush()
            return
        data = out[0] if len(out) == 1 and not unsent else b"".join((unsent, *out))
        out.clear()
        self._unsent = b""
        self._out_bytes = 0
        if data:
            self._hand_over(data)
        elif self.held:
            self._partly_taken(b"", 0)

    def send_now(self, data: bytes) -> None:
        """Send this at once, behind what has gathered (LI3)."""
        if self._out or self._unsent:
            self.send(data)
        else:
            self._hand_over(data)

    def _hand_over(self, data: bytes | memoryview) -> None:
        if not self.open:
            return
        try:
            sent = self._send(data)
        except self.again:
            sent = 0
        except OSError:
            self.end(None)
            return
        if sent:
            self.took = self.service.now
        if sent < len(data) or self.writing or self.held:
            self._partly_taken(data, sent)

    def _partly_taken(self, data: bytes | memoryview, sent: int) -> None:
        """The client has not taken all of it, or has now taken what it had not (LI3)."""
        self._unsent = memoryview(data)[sent:] if sent < len(data) else b""
        self._out_bytes = len(self._unsent) + sum(map(len, self._out))
        if self._unsent:
            self.held |= self._out_bytes > self._output_max
            self.want(writing=True, reading=not self.held)
            return
        self.want(writing=False, reading=True)
        if self.held:
            self.held = False
            self.service.ask(self.go_on)

    def go_on(self) -> None:
        """The client has taken its answers, or has been let in: look at what it sent meanwhile, the oldest first."""
        for conversation in tuple(self.conversations.values()):
            if conversation.backlog and not conversation.busy:
                conversation.resume()
        data = bytes(self._rest)
        self._rest.clear()
        try:
            self._split(data)
        except (ProtocolError, StructError) as error:
            self.no_frame(error)

    @property
    def stuck(self) -> bool:
        """Whether answers wait that the client does not take."""
        return bool(self._unsent)

    def want(self, *, reading: bool | None = None, writing: bool | None = None) -> None:
        reading = self.reading if reading is None else reading
        writing = self.writing if writing is None else writing
        if (reading, writing) != (self.reading, self.writing) and self.open:
            self.reading, self.writing = reading, writing
            self.service.watch(self)

    # -- the end

    def forget(self, conversation: Conversation) -> None:
        self.conversations.pop(conversation.number, None)

    def end(self, why: str | None) -> None:
        """No more of this link (LI4); `why` when somebody should know."""
        if self.open:
            self.open = False
            for conversation in self.conversations.values():
                conversation.give_up_waits()
            self.service.ended(self, why)

    def abandon(self) -> None:
        """Back out what its conversations left, and let go of the socket."""
        for conversation in tuple(self.conversations.values()):
            conversation.abandon()
        self.conversations.clear()
        self.sock.close()
