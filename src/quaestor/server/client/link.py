"""A link of a blocking client: one socket, the frames on it, and whoever waits for an answer.

Rules
  CL1 A call sends its frame, together with what has gathered before it, and reads until its answer comes. Whatever else
      comes meanwhile goes where it belongs: heartbeats back, messages read ahead to their conversation.
  CL2 Several threads may share a link, each with a conversation of its own. One of them reads for all; when it has its
      answer, another takes over.
  CL3 The server answers or sends heartbeats; a link on which nothing is heard for twice the heartbeat while somebody
      waits is broken (2009). From then on every call of it says so. Before the server has said what its heartbeat is,
      it has as long to answer as a connect has. One that takes nothing of what it is sent for that long is broken, too.
  CL4 Bytes that are no frame, and an answer that cannot be read, break the link as silence does (2009, with the
      reason); whoever waits on it is told at once. So does a call that is interrupted, whatever interrupts it: half a
      frame may have been sent, which the next one would complete, or an answer come that nobody would look at.

Called by connection.  Calls the operating system.
"""

import contextlib
import os
import socket
import ssl
import struct
from collections.abc import Callable
from threading import Condition, Lock
from typing import Any, TypeVar

from quaestor.mqi.reasons import MQError, Reason
from quaestor.readiness import Arrival
from quaestor.server import values
from quaestor.server.client.place import CONNECT_S, certificate_refused
from quaestor.server.client.request import Request
from quaestor.server.client.requests import failure, welcome
from quaestor.server.protocol import HEADER, HEADER_LENGTH, MAGIC, VERSION, Op, ProtocolError, frame

RECEIVE = 1 << 16
SEND_AT = 1 << 16
LONG = 1 << 17
_TIMEOUT = struct.Struct("ll")
_REPLY, _ERROR, _AHEAD, _HEARTBEAT = int(Op.REPLY), int(Op.ERROR), int(Op.AHEAD), int(Op.HEARTBEAT)
_pack_header, _unpack_header = HEADER.pack, HEADER.unpack_from
Answer = tuple[int, int, bytes]
"""operation, flags, payload"""

T = TypeVar("T")


class Link:
    """One socket to a queue manager (CL1-CL4)."""

    def __init__(self, sock: socket.socket, hello: dict[str, Any], *, shared: bool = False) -> None:
        self._sock, self._shared = sock, shared
        self._send_all, self._receive = sock.sendall, sock.recv
        self._arrival = Arrival(sock.fileno())
        self._rest = b""
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._number = 0
        self._conversations = 0
        self._sending, self._turn = Lock(), Condition(Lock())
        self._reader = False
        self._answers: dict[int, Answer] = {}
        self.read_ahead: dict[int, Callable[[int, bytes], None]] = {}
        self.why_broken: str | None = None
        self.users = 0
        self._said = {"versions": [VERSION], **hello}
        self.qmgr: dict[str, Any] = {}

    def introduce(self) -> None:
        """HELLO, and what the queue manager says of itself."""
        payload = MAGIC + values.pack(self._said)
        self._said = {}  # no password is kept
        self._patience(CONNECT_S)
        _, _, told = self.call(0, Request(int(Op.HELLO), 0, payload))
        self.qmgr = self.understood(welcome, told)
        self._patience(2 * float(self.qmgr["heartbeat_s"]))
        if self._sock.family == socket.AF_UNIX:
            self._arrival.patience_ms = int(2000 * float(self.qmgr["heartbeat_s"]))  # RD4

    def _patience(self, seconds: float) -> None:
        """On the socket itself: a Python timeout would cost a system call for each receive."""
        whole, part = divmod(max(seconds, 0.1), 1)
        for way in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._sock.setsockopt(socket.SOL_SOCKET, way, _TIMEOUT.pack(int(whole), int(part * 1e6)))

    def new_conversation(self) -> int:
        with self._sending:
            self._conversations += 1
            return self._conversations

    # -- calls

    def call(self, conversation: int, request: Request) -> Answer:
        """Send a request and wait for its answer; an ERROR is raised (CL1)."""
        number = self.send(conversation, request, answered=True)
        try:
            op, flags, payload = self._shared_answer(number) if self._shared else self._answer(number)
        except MQError:
            raise
        except BaseException:
            self.broke("a call was interrupted")  # CL4
            raise
        if op == _ERROR:
            raise self.understood(failure, payload)
        return op, flags, payload

    def understood(self, decode: Callable[[bytes], T], payload: bytes) -> T:
        """What an answer means; one that cannot be read breaks the link (CL4)."""
        try:
            return decode(payload)
        except (ProtocolError, struct.error) as error:
            raise self.broke(f"not a frame of this protocol: {error}") from error

    def send(self, conversation: int, request: Request, *, answered: bool, now: bool = True) -> int:
        """Send a request, or let it gather; its number, 0 for one without an answer."""
        op, flags, payload = request
        with self._sending:
            number = 0
            if answered:
                number = self._number = self._number % 0xFFFFFFFF + 1
            data = _pack_header(HEADER_LENGTH + len(payload), op, flags, conversation, number) + payload
            if self._gathered:
                self._gathered.append(data)
                self._gathered_bytes += len(data)
                if now or self._gathered_bytes >= SEND_AT:
                    data, self._gathered, self._gathered_bytes = b"".join(self._gathered), [], 0
                    self._send(data)
            elif now:
                self._send(data)
            else:
                self._gathered, self._gathered_bytes = [data], len(data)
        return number

    def _send(self, data: bytes) -> None:
        if self.why_broken is not None:
            raise self.broken_error()
        try:
            self._send_all(data)
        except (BlockingIOError, ssl.SSLWantWriteError) as error:
            raise self.broke("the queue manager has taken nothing for too long") from error
        except OSError as error:
            if not self.qmgr:
                self._read()  # nobody else reads yet: what the server said before it ended the link, if anything
            raise self.broke(str(error)) from error
        except BaseException:
            self.broke("a call was interrupted")  # CL4
            raise

    # -- answers, rule CL2

    def _answer(self, number: int) -> Answer:
        """The answer of a call on a link that nobody else reads."""
        while number not in self._answers:
            data = self._received()
            if not self._rest and len(data) >= HEADER_LENGTH:
                length, op, flags, _, answered = _unpack_header(data)
                if answered == number and length == len(data) and op in (_REPLY, _ERROR):
                    return op, flags, data[HEADER_LENGTH:]  # nothing else has come, as a rule
            self._take(data)
        return self._answers.pop(number)

    def _shared_answer(self, number: int) -> Answer:
        """The same where several threads wait: one reads for all (CL2)."""
        with self._turn:
            while number not in self._answers and self.why_broken is None:
                if self._reader:
                    self._turn.wait()
                    continue
                self._reader = True
                self._turn.release()
                try:
                    self._read()
                finally:
                    self._turn.acquire()
                    self._reader = False
                    self._turn.notify_all()
            if number in self._answers:
                return self._answers.pop(number)
        raise self.broken_error()

    def _read(self) -> None:
        """Take what has come and put every frame where it belongs (CL1)."""
        self._take(self._received())

    def _received(self, most: int = RECEIVE) -> bytes:
        if self.why_broken is not None:
            raise self.broken_error()
        try:
            data = self._arrival.receive(self._receive, most)
        except (BlockingIOError, ssl.SSLWantReadError, TimeoutError) as error:
            raise self.broke("the queue manager has not been heard of for too long") from error
        except OSError as error:
            raise self.broke(str(error), error) from error
        if not data:
            raise self.broke("the queue manager ended the link")
        return data

    def _take(self, data: bytes) -> None:
        self._rest = self._rest + data if self._rest else data
        try:
            self._split()
        except (ProtocolError, struct.error) as error:
            raise self.broke(f"not a frame of this protocol: {error}") from error

    def _split(self) -> None:
        """Every whole frame of what came."""
        data, at, end = self._rest, 0, len(self._rest)
        while end - at >= HEADER_LENGTH:
            length, op, flags, conversation, number = HEADER.unpack_from(data, at)
            if length < HEADER_LENGTH:
                raise ProtocolError(f"a frame of {length} bytes")
            if length > end - at:
                break
            payload = data[at + HEADER_LENGTH : at + length]
            at += length
            if op in (_REPLY, _ERROR):
                if not number:
                    raise failure(payload)
                self._answers[number] = (op, flags, payload)
            elif op == _AHEAD:
                if conversation not in self.read_ahead:
                    raise ProtocolError("a message for nobody")
                self.read_ahead[conversation](number, payload)
            elif op == _HEARTBEAT:
                with self._sending:
                    self._send(frame(_HEARTBEAT, 0, 0, 0))
            else:
                raise ProtocolError(f"operation {op}")
        self._rest = data[at:] if at < end else b""
        if len(self._rest) > LONG:
            self._receive_rest()

    def _receive_rest(self) -> None:
        """A long frame: read the rest of it without splitting again and again."""
        (length,) = struct.unpack_from(">I", self._rest)
        parts, have = [self._rest], len(self._rest)
        while have < length:
            part = self._received(min(length - have, 1 << 20))
            parts.append(part)
            have += len(part)
        self._rest = b"".join(parts)
        self._split()

    # -- the end

    def broke(self, why: str, error: OSError | None = None) -> MQError:
        """Nothing more comes or goes here (CL3)."""
        if self.why_broken is None:
            self.why_broken = why
        self._close_socket()
        with contextlib.suppress(RuntimeError), self._turn:
            self._turn.notify_all()
        return certificate_refused(error) or self.broken_error()

    def broken_error(self) -> MQError:
        return MQError(Reason.CONNECTION_BROKEN, why=self.why_broken or "the link was closed")

    def forsake(self) -> None:
        """Close our copy of a socket that is another process's, without a word on it."""
        self.why_broken = "the link belongs to the parent process"
        self._sending, self._turn = Lock(), Condition(Lock())  # a thread that is not here may have held them
        with contextlib.suppress(OSError):
            os.close(self._sock.detach())

    def close(self) -> None:
        if self.why_broken is None:
            self.why_broken = "the application closed the link"
        self._close_socket()

    def _close_socket(self) -> None:
        """Whoever reads from it wakes up (CL4)."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self._sock.close()
