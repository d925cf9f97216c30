"""The same calls for asyncio: nothing here blocks the event loop, and nothing needs a thread.

Rules
  AC1 Answers are read in the order in which they come, whether or not somebody still waits for them: both ends then
      agree on what has been sent.
  AC2 Cancelling a get ends its wait at the queue manager. If its message was on its way already, or had come and was
      not returned yet, another get of the handle returns it (see `late`). A browse leaves nothing behind.
  AC3 A queue whose open was cancelled is closed again.

Called by applications.  Calls requests, late, place.
"""

import asyncio
import ssl
from collections.abc import Callable, Iterable
from functools import partial
from types import TracebackType
from typing import Any, Self

from quaestor.mqi.descriptors import MQMD, Target
from quaestor.mqi.matching import selection
from quaestor.mqi.messages import Message
from quaestor.mqi.objects import MQObject, QueueManagerAttributes
from quaestor.mqi.options import CloseOptions, GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import MQError, Reason
from quaestor.server import values, wire
from quaestor.server.client import requests
from quaestor.server.client.late import Asked, Late, may_be_late
from quaestor.server.client.place import Place
from quaestor.server.client.requests import ASYNC, HandleRequests, Request, failure, is_plain_out
from quaestor.server.listeners import ListenError
from quaestor.server.protocol import HEADER, HEADER_LENGTH, MAGIC, VERSION, WARNED, Op, ProtocolError, frame

Decode = Callable[[bytes], Any]
Began = Callable[["asyncio.Future[Any]", Callable[[], None]], None]


class Pending:
    """A call that waits for its answer (AC1)."""

    __slots__ = ("decode", "future", "late", "on")

    def __init__(
        self, on: "AsyncConnection | None", decode: Decode, future: "asyncio.Future[Any]", late: Callable[[Any], None]
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
            self.late(result)  # AC2
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
        on: "AsyncConnection | None",
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
                late(future.result())  # it had come, and nobody has seen it (AC2)
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


class AsyncHandle(HandleRequests):
    """An open queue for asyncio."""

    def __init__(self, connection: "AsyncConnection", number: int, name: str, target: Target, options: int) -> None:
        super().__init__(number, name, options)
        self._connection, self.target, self.options = connection, target, options
        self.opened = True
        self.late = Late()

    async def put(
        self,
        body: bytes | bytearray | memoryview | str,
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
        *,
        correl_id: bytes | None = None,
        context: "AsyncHandle | None" = None,
    ) -> Message:
        """MQPUT."""
        connection = self._usable()
        request = self.put_request(body, descriptor, options, correl_id, context)
        if options & ASYNC:
            connection.send(request)
            return self.put_unanswered(body, descriptor)
        message: Message = await connection.call(request, lambda payload: self.put_answer(payload, body))
        return message

    async def put_all(
        self,
        bodies: Iterable[bytes | bytearray | memoryview | str],
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
    ) -> list[Message]:
        """MQPUT for each of the bodies, under one descriptor, in one call (NA4)."""
        connection, options = self._usable(), int(options)
        put: list[Message] = []
        try:
            if options & ASYNC:
                return [await self.put(body, descriptor, options) for body in bodies]
            for some, kind in self.put_frames(bodies):
                request = self.put_frame(some, kind, descriptor, options)
                put += await connection.call(request, partial(self.put_answers, bodies=some))
        except MQError as error:
            raise error.having_put(len(put) + error.facts.get("put", 0)) from error
        return put

    async def get(
        self,
        options: int = GetOptions.NONE,
        *,
        wait_ms: int | None = None,
        max_length: int | None = None,
        **selecting: Any,
    ) -> Message:
        """MQGET; cancelling it ends the wait (AC2)."""
        connection = self._usable()
        late, is_plain = self.late, may_be_late(options)
        if late and is_plain:
            kept = late.take(Asked(options, selection(**selecting), max_length))
            if kept is not None:
                connection.warning = late.warning
                return kept
        if self._ahead and not selecting and is_plain_out(options):
            message, connection.warning = self.got_ahead(options, max_length)
            return message
        request = self.get_request(options, wait_ms, max_length, selecting)
        began: Began | None = None
        if is_plain and wait_ms is not None:
            began = partial(late.waits, Asked(options, selection(**selecting), max_length))
        got: Message = await connection.call(
            request, self.got, partial(late.keep, options) if is_plain else dropped, began
        )
        return got

    async def browse(self, options: int = GetOptions.BROWSE_NEXT, **selecting: Any) -> Message:
        return await self.get(options, **selecting)

    async def inquire(self, *keywords: str) -> dict[str, Any]:
        return requests.inquired(await self._usable().ask("inquire", self, list(keywords)))

    async def set(self, **values: Any) -> None:
        await self._usable().ask("set", self, values)

    async def close(self, options: int = CloseOptions.NONE) -> None:
        if self.opened and self._connection.connected:
            await self._connection.ask("close", self, int(options))
            self._connection.forget(self)
        self.opened = False

    def begin_anew(self, number: int) -> None:
        """The handle was opened on another link; what was on its way to it is gone."""
        self.number = number
        self.forget_sent()
        self.late.link_lost()

    def _usable(self) -> "AsyncConnection":
        if not self._connection.connected:
            raise MQError(Reason.HCONN_ERROR)
        if not self.opened:
            raise MQError(Reason.HOBJ_ERROR, queue=self.name)
        return self._connection

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncConnection:
    """A client's connection for asyncio."""

    def __init__(self, link: AsyncLink, let_go: Callable[[AsyncLink], None]) -> None:
        self._link, self._let_go = link, let_go
        self._conversation = link.new_conversation()
        self._handles: dict[int, AsyncHandle] = {}
        self.warning: MQError | None = None
        self.connected = False

    async def connect(self) -> Self:
        self._link.read_ahead[self._conversation] = lambda handle, payload: self._handles[handle].read_ahead(payload)
        self.connected = True
        await self.ask("connect")
        return self

    async def call(
        self,
        request: Request,
        decode: Decode,
        late: Callable[[Any], None] = dropped,
        began: Began | None = None,
    ) -> Any:
        if not self.connected:
            raise MQError(Reason.HCONN_ERROR)
        self.warning = None
        return await self._link.call(self, self._conversation, request, decode, late, began)

    def send(self, request: Request, pending: Pending | None = None) -> None:
        self._link.send(self._conversation, request, pending)

    async def ask(self, name: str, *args: Any, late: Callable[[Any], None] = dropped) -> Any:
        return await self.call(requests.call(name, *args), values.unpack, late)

    async def open(
        self,
        target: str | Target,
        options: int = OpenOptions.INPUT_AS_Q_DEF | OpenOptions.OUTPUT,
        *,
        qmgr: str = "",
        dynamic_name: str = "CSQ.*",
    ) -> AsyncHandle:
        meant = Target.of(target, qmgr, dynamic_name)
        number, name = await self.ask("open", *requests.open_arguments(meant, options), late=self._close_unseen)
        handle = self._handles[number] = self._new_handle(number, name, meant, options)
        return handle

    def _close_unseen(self, opened: list[Any]) -> None:
        """A queue was opened for a call that was cancelled (AC3)."""
        nobody = asyncio.get_running_loop().create_future()
        nobody.cancel()
        self.send(requests.call("close", opened[0], 0), Pending(None, bytes, nobody, dropped))

    def _new_handle(self, number: int, name: str, target: Target, options: int) -> AsyncHandle:
        return AsyncHandle(self, number, name, target, options)

    async def put1(
        self,
        target: str | Target,
        body: bytes | str,
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
        *,
        qmgr: str = "",
    ) -> Message:
        request = requests.put1(Target.of(target, qmgr, ""), body, descriptor, options)
        message: Message = await self.call(request, values.unpack)
        return message

    async def commit(self, unit: int | None = None) -> None:
        try:
            await self.call(requests.commit(unit), self._committed)
        except MQError as error:
            self._refused(error)
            raise

    def _refused(self, error: MQError) -> None:
        """A unit was not committed; it may have been backed out instead."""
        if error.reason is Reason.BACKED_OUT:
            self._backed_out()

    def _committed(self, _answer: bytes = b"") -> None:
        for handle in self._handles.values():
            handle.late.committed()

    async def backout(self) -> None:
        self._backed_out()
        await self.call(requests.BACKOUT, self._backed_out)

    def _backed_out(self, _answer: bytes = b"") -> None:
        for handle in self._handles.values():
            handle.late.backed_out()

    async def outcome(self, unit: int) -> bool:
        return bool(await self.ask("outcome", unit))

    async def define(self, definition: MQObject, *, replace: bool = False) -> None:
        await self.ask("define", definition.pack(), replace)

    async def alter(self, kind: type[MQObject], name: str = "", **changes: Any) -> None:
        await self.ask("alter", kind.MQSC_TYPE, name, changes)

    async def delete(self, kind: type[MQObject], name: str, *, purge: bool = False) -> None:
        await self.ask("delete", kind.MQSC_TYPE, name, purge)

    async def inquire(
        self, kind: type[MQObject] = QueueManagerAttributes, name: str = "", *keywords: str
    ) -> dict[str, Any]:
        return requests.inquired(await self.ask("inquire object", kind.MQSC_TYPE, name, list(keywords)))

    async def disconnect(self) -> None:
        if self.connected:
            try:
                await self.ask("disconnect")
            finally:
                self._end()

    async def abandon(self) -> None:
        """End without disconnecting: the queue manager backs out."""
        if self.connected:
            try:
                await self.backout()
                await self.ask("disconnect")
            except MQError as error:
                if error.reason is not Reason.CONNECTION_BROKEN:
                    raise
            finally:
                self._end()

    def _end(self) -> None:
        self.connected = False
        for handle in self._handles.values():
            handle.opened = False
        self._handles.clear()
        self._link.read_ahead.pop(self._conversation, None)
        self._let_go(self._link)

    def forget(self, handle: AsyncHandle) -> None:
        self._handles.pop(handle.number, None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.disconnect()
        else:
            await self.abandon()


async def connect(place: Place, hello: dict[str, Any]) -> AsyncConnection:
    """A connection on a link of its own."""
    link = await new_link(place, hello)
    try:
        return await AsyncConnection(link, AsyncLink.close).connect()
    except BaseException:
        link.close()
        raise
