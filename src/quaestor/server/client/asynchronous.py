"""The same calls for asyncio: nothing here blocks the event loop, and nothing needs a thread.

Rules
  AC1 Cancelling a get ends its wait at the queue manager. If its message was on its way already, or had come and was
      not returned yet, another get of the handle returns it (see `late`). A browse leaves nothing behind.
  AC2 A queue whose open was cancelled is closed again.

Called by applications.  Calls asynchronous_link, requests, late.
"""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from types import TracebackType
from typing import Any, Self

from quaestor.mqi import forms
from quaestor.mqi.descriptors import MQMD, Target
from quaestor.mqi.late import Late, asked_by, takes
from quaestor.mqi.messages import Message
from quaestor.mqi.objects import MQObject, QueueManagerAttributes, definition_of
from quaestor.mqi.options import CloseOptions, GetOptions, OpenOptions, PutOptions, has
from quaestor.mqi.reasons import MQError, Reason
from quaestor.server.client import requests
from quaestor.server.client.asynchronous_link import AsyncLink, Began, Decode, Pending, dropped, new_link
from quaestor.server.client.handle_requests import HandleRequests, is_plain_out
from quaestor.server.client.place import Place
from quaestor.server.client.request import Request
from quaestor.server.client.requests import ASYNC
from quaestor.server.protocol import ProtocolError


class AsyncHandle(HandleRequests):
    """An open queue for asyncio."""

    def __init__(self, connection: "AsyncConnection", number: int, name: str, target: Target, options: int) -> None:
        super().__init__(connection, number, name, options)
        self._connection, self.target, self.options = connection, target, options
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
        try:
            request = self.put_request(body, descriptor, options, correl_id, context)
            if options & ASYNC:
                connection.send(request)
                await connection.taken()
                return self.put_unanswered(body, descriptor)
            message: Message = await connection.call(request, lambda payload: self.put_answer(payload, body))
        except (MQError, TypeError):
            forms.check_put(body, descriptor, options, correl_id)
            raise
        return message

    async def put_all(
        self,
        bodies: Iterable[bytes | bytearray | memoryview | str],
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
    ) -> list[Message]:
        """MQPUT for each of the bodies, under one descriptor, in one call (NA4)."""
        every = forms.several(bodies)
        put: list[Message] = []
        try:
            connection = self._usable()
            connection.warning = None  # where there is nothing to put, too
            if has(options, ASYNC):
                return [await self.put(body, descriptor, options) for body in every]
            for some, kind in self.put_frames(every):
                request = self.put_frame(some, kind, descriptor, options)
                put += await connection.call(request, partial(self.put_answers, bodies=some))
        except MQError as error:
            raise self.put_refused(error, put, every, descriptor, options) from error
        return put

    async def get(
        self,
        options: int = GetOptions.NONE,
        *,
        wait_ms: int | None = None,
        max_length: int | None = None,
        **selecting: Any,
    ) -> Message:
        """MQGET; cancelling it ends the wait (AC1)."""
        connection = self._usable()
        try:
            late, asked = self.late, asked_by(options, max_length, selecting)
            if late and asked is not None:
                kept = late.take(asked)
                if kept is not None:
                    connection.warning = late.warning
                    return kept
            if self._ahead and not selecting and is_plain_out(options):
                message, connection.warning = self.got_ahead(options, max_length)
                return message
            request = self.get_request(options, wait_ms, max_length, selecting)
            keep: Callable[[Any], None] = partial(late.keep, options) if takes(options) else dropped
            began: Began | None = None
            if asked is not None and wait_ms is not None:
                began = partial(late.waits, asked)
            got: Message = await connection.call(request, self.got, keep, began)
        except (MQError, TypeError) as error:
            if forms.counts(error):
                forms.check_get(options, wait_ms, max_length, **selecting)
            raise
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
        self._link.read_ahead[self._conversation] = self._read_ahead
        self.connected = True
        await self.ask("connect")
        return self

    def _read_ahead(self, handle: int, payload: bytes) -> None:
        if handle not in self._handles:
            raise ProtocolError("a message for nobody")
        self._handles[handle].read_ahead(payload)

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

    async def taken(self) -> None:
        await self._link.taken()

    async def ask(self, name: str, *args: Any, late: Callable[[Any], None] = dropped) -> Any:
        return await self.call(requests.call(name, *args), partial(requests.answer, name), late)

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
        """A queue was opened for a call that was cancelled (AC2)."""
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
        try:
            request = requests.put1(Target.of(target, qmgr, ""), body, descriptor, options)
            message: Message = await self.call(request, partial(requests.answer, "put1"))
        except MQError:
            if self.connected:
                forms.check_put1(target, body, descriptor, options)
            raise
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
        self._backed_out(over=False)
        await self.call(requests.BACKOUT, self._backed_out)

    def _backed_out(self, _answer: bytes = b"", *, over: bool = True) -> None:
        for handle in self._handles.values():
            handle.late.backed_out(over=over)

    async def outcome(self, unit: int) -> bool:
        return bool(await self.ask("outcome", unit))

    async def define(self, definition: MQObject, *, replace: bool = False) -> None:
        await self.ask("define", definition_of(definition).pack(), replace)

    async def alter(self, kind: type[MQObject], name: str = "", **changes: Any) -> None:
        await self.ask("alter", kind.MQSC_TYPE, name, changes)

    async def delete(self, kind: type[MQObject], name: str, *, purge: bool = False) -> None:
        await self.ask("delete", kind.MQSC_TYPE, name, purge)

    async def inquire(
        self,
        kind: type[MQObject] = QueueManagerAttributes,
        name: str = "",
        *keywords: str,
        alternate_user: str | None = None,
    ) -> dict[str, Any]:
        return requests.inquired(await self.ask(*requests.inquire_object(kind, name, keywords, alternate_user)))

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
