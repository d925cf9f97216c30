"""A socket to a queue manager for asyncio, with its frames, and the calls that wait for answers on it.

Rules
  AL1 Answers are read in the order in which they come, whether or not somebody still waits for them: both ends then
      agree on what has been sent. What an answer means is found out as it is read, before the next one is. The pieces
      of a long one are put together once, when all have come: meanwhile the loop is for others.
  AL2 An answer that comes when its call was cancelled, or that had come and was not seen yet, is told to the call's
      `late`.
  AL3 A link that is closed is gone with the loop's next turn: by then its calls are answered, and TLS's farewell is not
      waited for. One that is refused, or whose introduction was cancelled, is closed; so is a socket that comes when
      nobody waits for it any more.
  AL4 Bytes that are no frame, and an answer that cannot be read, break the link; the call it was for is told, too. An
      error that is no call's is why the queue manager ends the link, and whoever calls is told that one: 2025.
  AL5 A link on which nothing is heard for twice the heartbeat while somebody waits is broken, as that of a blocking
      client is (CL3). Until the queue manager has said what its heartbeat is, the time is that of a connect.
  AL6 A call that asks for no answer waits while much of what was sent has not been taken; if nothing of it is taken for
      as long as nothing may be heard (AL5), the link is broken.
  AL7 A child made by fork has none of its parent's links, as with a blocking client (OL2): what it has in place of the
      socket is nothing, so that the queue manager hears the end when the parent's end has come.

Called by asynchronous.  Calls requests, place.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from struct import error as StructError  # noqa: N812 - a class
from typing import Any, Protocol
from weakref import WeakSet

from quaestor.mqi.reasons import MQError, Reason
from quaestor.server import values, wire
from quaestor.server.client.place import CONNECT_S, Place, certificate_refused
from quaestor.server.client.request import Request
from quaestor.server.client.requests import failure, warned, welcome
from quaestor.server.protocol import HEADER, HEADER_LENGTH, MAGIC, VERSION, WARNED, Op, ProtocolError, frame

Decode = Callable[[bytes], Any]
Began = Callable[["asyncio.Future[Any]", Callable[[], None]], None]


class Warned(Protocol):
    """Whoever is told of warnings: a connection."""

    warning: MQError | None


class Pending:
    """A call that waits for its answer (AL1)."""

    __slots__ = ("decode", "future", "late", "on")

    def __init__(
        self, on: "Warned | None", decode: Decode, future: "asyncio.Future[Any]", late: Callable[[Any], None]
    ) -> None:
        self.on, self.decode, self.future, self.late = on, decode, future, late

    def answered(self, op: int, flags: int, payload: bytes) -> None:
        try:
            if op == Op.ERROR:
                raise failure(payload)
            if flags & WARNED and self.on is not None:
                self.on.warning, payload = warned(payload)
            result = self.decode(payload)
        except (MQError, ValueError) as error:
            if not self.future.done():
                self.future.set_exception(error)
            return
        if self.future.done():
            self.late(result)  # AL2
        else:
            self.future.set_result(result)


def dropped(_result: Any) -> None:
    """Nobody wants this answer any more."""


class AsyncLink(asyncio.Protocol):
    """One socket to a queue manager, for asyncio."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._rest, self._need = bytearray(), HEADER_LENGTH
        self._number = self._conversations = 0
        self._pending: dict[int, Pending] = {}
        self.read_ahead: dict[int, Callable[[int, bytes], None]] = {}
        self.why_broken: str | None = None
        self._refusal: Exception | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._patience_s = CONNECT_S
        self._heard_s = 0.0
        self._watch: asyncio.TimerHandle | None = None
        self.unit = 0
        """The last that was committed under the client's name (RC3)."""

        self.unanswered = self.proved = 0
        """Of such a one: how many puts out of syncpoint asked for no answer, and how many of them came about (RC4)."""

        self.calls_in_unit = 0
        """Of a connection that reconnects: how many calls would be backed out."""

    # -- asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment] # of a stream
        _LINKS.add(self)

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def data_received(self, data: bytes) -> None:
        self._heard_s = asyncio.get_running_loop().time()
        if self._rest:
            self._rest += data
            if len(self._rest) < self._need:
                return
            data = bytes(self._rest)
            self._rest.clear()
        at, end = 0, len(data)
        try:
            while end - at >= HEADER_LENGTH:
                length, op, flags, conversation, number = HEADER.unpack_from(data, at)
                if length < HEADER_LENGTH:
                    raise ProtocolError(f"a frame of {length} bytes")  # noqa: TRY301 - caught for all of them
                if length > end - at:
                    self._need = length
                    break
                self._frame(op, flags, conversation, number, data[at + HEADER_LENGTH : at + length])
                at += length
            else:
                self._need = HEADER_LENGTH
        except (ProtocolError, StructError) as error:
            self._broke(f"not a frame of this protocol: {error}")  # AL4
            return
        self._rest += data[at:]

    def connection_lost(self, exc: Exception | None) -> None:
        self._refusal = self._refusal or certificate_refused(exc)
        self._broke(str(exc) if exc else "the queue manager ended the link")

    # -- frames

    def _frame(self, op: int, flags: int, conversation: int, number: int, payload: bytes) -> None:
        if op == Op.HEARTBEAT:
            self._write(frame(Op.HEARTBEAT, 0, 0, 0))
        elif op == Op.AHEAD:
            if conversation not in self.read_ahead:
                raise ProtocolError("a message for nobody")
            self.read_ahead[conversation](number, payload)
        else:
            if op not in (Op.REPLY, Op.ERROR):
                raise ProtocolError(f"operation {op}")
            if op == Op.ERROR and not number:
                self._refusal = failure(payload)
                self._broke("the queue manager refused the link")
                return
            pending = self._pending.get(number)
            if pending is None:
                raise ProtocolError("an answer nobody asked for")
            pending.answered(op, flags, payload)
            del self._pending[number]

    def _write(self, data: bytes) -> None:
        if self._transport is None or self.why_broken is not None:
            raise self._broken_error()
        self._transport.write(data)

    def _broken_error(self) -> Exception:
        return self._refusal or MQError(Reason.CONNECTION_BROKEN, why=self.why_broken)

    def _broke(self, why: str) -> None:
        if self.why_broken is None:
            self.why_broken = why
        self._room.set()
        pending, self._pending = self._pending, {}
        for one in pending.values():
            if not one.future.done():
                one.future.set_exception(self._broken_error())
        self.close()

    async def taken(self) -> None:
        """Return when there is room for more to be sent (AL6)."""
        while self._transport is not None and not self._room.is_set():
            left = self._transport.get_write_buffer_size()
            try:
                async with asyncio.timeout(self._patience_s):
                    await self._room.wait()
            except TimeoutError:
                if self._transport.get_write_buffer_size() >= left:
                    self._broke("the queue manager has taken nothing for too long")
                    raise self._broken_error() from None

    def forsake(self) -> None:
        """Let go of a socket that is another process's, without a word on it (AL7)."""
        self.why_broken = "the link belongs to the parent process"
        sock = None if self._transport is None else self._transport.get_extra_info("socket")
        if sock is not None and sock.fileno() >= 0:
            nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            os.dup2(nothing, sock.fileno(), inheritable=False)
            os.close(nothing)

    def send(self, conversation: int, request: Request, pending: Pending | None) -> int:
        number = 0
        if pending is not None:
            number = self._number = self._number % 0xFFFFFFFF + 1
        self._write(frame(request.op, request.flags, conversation, number, request.payload))
        if pending is not None:
            self._pending[number] = pending
        return number

    async def call(
        self,
        on: "Warned | None",
        conversation: int,
        request: Request,
        decode: Decode,
        late: Callable[[Any], None] = dropped,
        began: Began | None = None,
    ) -> Any:
        """Send a request and wait for what its answer means; `began` may bring that about earlier, and end the wait."""
        loop = asyncio.get_running_loop()
        if not self._pending:
            self._heard_s = loop.time()
        future = loop.create_future()
        number = self.send(conversation, request, Pending(on, decode, future, late))
        if self._watch is None:
            self._watch = loop.call_later(self._patience_s, self._look_after)
        if began is not None:
            began(future, lambda: self._cancel(conversation, number))
        try:
            return await future
        except asyncio.CancelledError:
            if future.cancelled():
                self._cancel(conversation, number)
            elif future.exception() is None:
                late(future.result())  # it had come, and nobody has seen it (AL2)
            raise

    def _look_after(self) -> None:
        """Whether anything has been heard while somebody waited (AL5)."""
        self._watch = None
        if not self._pending:
            return
        loop = asyncio.get_running_loop()
        until_s = self._heard_s + self._patience_s
        if loop.time() < until_s:
            self._watch = loop.call_at(until_s, self._look_after)
        else:
            self._broke("the queue manager has not been heard of for too long")

    def _watch_no_more(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.cancel()

    def _cancel(self, conversation: int, number: int) -> None:
        """End a wait at the queue manager; HELLO, which is of no conversation, ends with its link."""
        if self.why_broken is None and conversation:
            self.send(conversation, Request(int(Op.CANCEL), 0, wire.LENGTH.pack(number)), None)

    def new_conversation(self) -> int:
        self._conversations += 1
        return self._conversations

    def close(self) -> None:
        if self.why_broken is None:
            self.why_broken = "the application closed the link"
        if self._transport is not None:
            self._transport.abort()  # AL3
        self._watch_no_more()

    async def introduce(self, hello: dict[str, Any]) -> None:
        """HELLO; a link that is not welcome is closed (AL3)."""
        payload = MAGIC + values.pack({"versions": [VERSION], **hello})
        try:
            told = await self.call(None, 0, Request(int(Op.HELLO), 0, payload), welcome)
        except BaseException:
            self.close()
            raise
        self._patience_s, self.unit = 2 * float(told["heartbeat_s"]), int(told.get("unit", 0))
        self._watch_no_more()


_LINKS: WeakSet[AsyncLink] = WeakSet()


def _forsake_all() -> None:
    for link in tuple(_LINKS):
        link.forsake()


os.register_at_fork(after_in_child=_forsake_all)


async def _reach(place: Place) -> socket.socket:
    """A connected socket, before TLS; one that comes too late is closed (AL3)."""
    reaching = asyncio.get_running_loop().run_in_executor(None, place.reach_plain)
    try:
        return await asyncio.shield(reaching)
    except asyncio.CancelledError:
        reaching.add_done_callback(_close_late)
        raise


def _close_late(reached: "asyncio.Future[socket.socket]") -> None:
    if not reached.cancelled() and reached.exception() is None:
        reached.result().close()


async def new_link(place: Place, hello: dict[str, Any]) -> AsyncLink:
    """A link that is introduced."""
    loop = asyncio.get_running_loop()
    try:
        tls, name = (None, None) if place.tls is None else (place.tls.context(), place.server_name)
        sock = await _reach(place)
        sock.setblocking(False)
        _, link = await loop.create_connection(AsyncLink, sock=sock, ssl=tls, server_hostname=name)
        await asyncio.sleep(0)  # if it has been refused already, that is heard before anything is said (AL4)
        await link.introduce(hello)
    except ssl.SSLError as error:
        raise place.refused(error) from error
    except (OSError, ValueError) as error:
        raise place.unreachable(error) from error
    except MQError as error:
        if error.reason is not Reason.CONNECTION_BROKEN:
            raise
        raise MQError(Reason.Q_MGR_NOT_AVAILABLE, qmgr=place.name, why=error.facts.get("why", "")) from error
    return link
