"""A socket to a queue manager for asyncio, with its frames, and the calls that wait for answers on it.

Rules
  AL1 Answers are read in the order in which they come, whether or not somebody still waits for them: both ends then
      agree on what has been sent. What an answer means is found out as it is read, before the next one is.
  AL2 An answer that comes when its call was cancelled, or that had come and was not seen yet, is told to the call's
      `late`.

Called by asynchronous.  Calls requests, place.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any, Protocol

from quaestor.mqi.reasons import MQError, Reason
from quaestor.server import values, wire
from quaestor.server.client.place import Place
from quaestor.server.client.requests import Request, failure
from quaestor.server.listeners import ListenError
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
                (length,) = wire.LENGTH.unpack_from(payload)
                self.on.warning = values.unpack_error(payload[4 : 4 + length])
                payload = payload[4 + length :]
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
        self._rest = b""
        self._number = self._conversations = 0
        self._pending: dict[int, Pending] = {}
        self.read_ahead: dict[int, Callable[[int, bytes], None]] = {}
        self.why_broken: str | None = None
        self.calls_in_unit = 0
        """Of a connection that reconnects: how many calls would be backed out."""

    # -- asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment] # of a stream

    def data_received(self, data: bytes) -> None:
        data = self._rest + data if self._rest else data
        at, end = 0, len(data)
        try:
            while end - at >= HEADER_LENGTH:
                length, op, flags, conversation, number = HEADER.unpack_from(data, at)
                if length < HEADER_LENGTH:
                    raise ProtocolError(f"a frame of {length} bytes")  # noqa: TRY301 - caught for all of them
                if length > end - at:
                    break
                self._frame(op, flags, conversation, number, data[at + HEADER_LENGTH : at + length])
                at += length
        except ProtocolError as error:
            self._broke(str(error))
            return
        self._rest = data[at:]

    def connection_lost(self, exc: Exception | None) -> None:
        self._broke(str(exc) if exc else "the queue manager ended the link")

    # -- frames

    def _frame(self, op: int, flags: int, conversation: int, number: int, payload: bytes) -> None:
        if op == Op.HEARTBEAT:
            self._write(frame(Op.HEARTBEAT, 0, 0, 0))
        elif op == Op.AHEAD:
            self.read_ahead[conversation](number, payload)
        else:
            pending = self._pending.pop(number, None)
            if pending is None:
                raise ProtocolError("an answer nobody asked for")
            pending.answered(op, flags, payload)

    def _write(self, data: bytes) -> None:
        if self._transport is None or self.why_broken is not None:
            raise MQError(Reason.CONNECTION_BROKEN, why=self.why_broken)
        self._transport.write(data)

    def _broke(self, why: str) -> None:
        if self.why_broken is None:
            self.why_broken = why
        pending, self._pending = self._pending, {}
        for one in pending.values():
            if not one.future.done():
                one.future.set_exception(MQError(Reason.CONNECTION_BROKEN, why=self.why_broken))
        self.close()

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
        future = asyncio.get_running_loop().create_future()
        number = self.send(conversation, request, Pending(on, decode, future, late))
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

    def _cancel(self, conversation: int, number: int) -> None:
        """End a wait at the queue manager."""
        if self.why_broken is None:
            self.send(conversation, Request(int(Op.CANCEL), 0, wire.LENGTH.pack(number)), None)

    def new_conversation(self) -> int:
        self._conversations += 1
        return self._conversations

    def close(self) -> None:
        if self.why_broken is None:
            self.why_broken = "the application closed the link"
        if self._transport is not None:
            self._transport.close()


async def new_link(place: Place, hello: dict[str, Any]) -> AsyncLink:
    """A link that is introduced."""
    loop = asyncio.get_running_loop()
    try:
        tls, name = (None, None) if place.tls is None else (place.tls.context(), place.server_name)
        sock = await asyncio.to_thread(place.reach_plain)
        sock.setblocking(False)
        _, link = await loop.create_connection(AsyncLink, sock=sock, ssl=tls, server_hostname=name)
        payload = MAGIC + values.pack({"versions": [VERSION], **hello})
        await link.call(None, 0, Request(int(Op.HELLO), 0, payload), values.unpack)
    except ssl.SSLError as error:
        raise place.refused(error) from error
    except (OSError, ListenError) as error:
        raise MQError(Reason.Q_MGR_NOT_AVAILABLE, qmgr=place.name, why=str(error)) from error
    except MQError as error:
        if error.reason is not Reason.CONNECTION_BROKEN:
            raise
        raise MQError(Reason.Q_MGR_NOT_AVAILABLE, qmgr=place.name, why=error.facts.get("why", "")) from error
    return link
