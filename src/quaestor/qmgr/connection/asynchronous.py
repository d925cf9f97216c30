"""The same calls for asyncio: nothing here blocks the event loop.

Rules
  AS1 A call that cannot wait is made at once; one that waits for the log (commit, work out of syncpoint) is made on
      a thread of the loop's executor. A get out of syncpoint looks there each time, whether or not it waits: a
      message that it finds is gone when the log says so.
  AS2 A get that waits leaves its waiter on the queue and a future in the loop; cancelling the task takes the waiter
      away again and, if it had just been woken, wakes the next. One that was woken in time looks, however late.
  AS3 A thread goes on when its task is cancelled. What it has got out of syncpoint is returned by another get of the
      handle, one that waits already or the next (see `mqi.late`); what it has opened is closed again, what it has
      connected disconnected; a waiter that it has left on the queue is taken away.
  AS4 Other tasks make their calls while a thread waits for the log: the latch is not kept meanwhile (V13).
  AS5 A call that was cancelled has been made before any that follows on its connection (TH2). So a unit is ended by no
      commit that was asked for before the unit began.

Called by applications.  Calls session, handle, threads and the rules of late messages.
"""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

from quaestor.mqi.descriptors import MQMD, Target
from quaestor.mqi.late import Asked, Late, asked_by, takes
from quaestor.mqi.messages import Message
from quaestor.mqi.options import CloseOptions, GetOptions, OpenOptions, PutOptions, has
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.connection.handle import Handle
from quaestor.qmgr.connection.session import Connection
from quaestor.qmgr.connection.threads import Threads, nothing
from quaestor.qmgr.message.waiting import Waiting

_NO_SYNCPOINT = int(PutOptions.NO_SYNCPOINT)


class AsyncHandle:
    """An open queue for asyncio."""

    def __init__(self, handle: Handle, threads: Threads) -> None:
        self._handle = handle
        self.name = handle.name
        self._threads, self.late = threads, Late()  # AS3

    async def put(
        self,
        body: bytes | bytearray | memoryview | str,
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
        *,
        context: "AsyncHandle | None" = None,
        **more: Any,
    ) -> Message:
        """MQPUT (AS1)."""
        if context is not None:
            more["context"] = context._handle if isinstance(context, AsyncHandle) else context  # noqa: SLF001 - its own class
        if has(options, _NO_SYNCPOINT):
            return await self._threads.call(nothing, self._handle.put, body, descriptor, options, **more)
        await self._threads.over()
        return self._handle.put(body, descriptor, options, **more)

    async def put_all(
        self,
        bodies: Iterable[bytes | bytearray | memoryview | str],
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
    ) -> list[Message]:
        """MQPUT for each of the bodies (AS1)."""
        if has(options, _NO_SYNCPOINT):
            return await self._threads.call(nothing, self._handle.put_all, bodies, descriptor, options)
        await self._threads.over()
        return self._handle.put_all(bodies, descriptor, options)

    async def get(self, options: int = GetOptions.NONE, *, wait_ms: int | None = None, **selecting: Any) -> Message:
        """MQGET (AS1, AS2, AS3)."""
        await self._threads.over()
        asked = self._asked(options, **selecting)
        kept = None if asked is None else self.late.take(asked)
        if kept is not None:
            self._handle.warn(self.late.warning)
            return kept
        if wait_ms is not None:
            return await self._wait(options, wait_ms, asked, selecting)
        if has(options, _NO_SYNCPOINT):
            return await self._threads.call(self._keeper(options), self._handle.get, options, **selecting)
        return self._handle.get(options, **selecting)

    @staticmethod
    def _asked(options: int, max_length: int | None = None, **selecting: Any) -> Asked | None:
        """What a get asks for, if others may return what comes for it."""
        return asked_by(options, max_length, selecting)

    def _keeper(self, options: int) -> Callable[[Message], None]:
        """What becomes of a message that nobody waits for any more (AS3)."""
        return partial(self.late.keep, options) if takes(options) else nothing

    async def browse(self, options: int = GetOptions.BROWSE_NEXT, **selecting: Any) -> Message:
        return await self.get(options, **selecting)

    async def inquire(self, *keywords: str) -> dict[str, Any]:
        await self._threads.over()
        return self._handle.inquire(*keywords)

    async def set(self, **values: Any) -> None:
        await self._threads.call(nothing, self._handle.set, **values)

    async def close(self, options: int = CloseOptions.NONE) -> None:
        await self._threads.call(nothing, self._handle.close, options)

    async def _wait(self, options: int, wait_ms: int, asked: Asked | None, selecting: dict[str, Any]) -> Message:
        loop = asyncio.get_running_loop()
        began_s, waited = loop.time(), None
        while True:
            result = await self._look(options, wait_ms, waited, selecting)
            if not isinstance(result, Waiting):
                return result
            limit = None if wait_ms < 0 else began_s + wait_ms / 1000
            waited = result
            try:
                late = await self._posted(waited, loop, limit, asked)
            except TimeoutError:
                raise MQError(Reason.NO_MSG_AVAILABLE, queue=self.name, waited_ms=wait_ms) from None
            if late is not None:
                self._handle.warn(self.late.warning)
                return late

    async def _look(
        self, options: int, wait_ms: int, waited: Waiting | None, selecting: dict[str, Any]
    ) -> Message | Waiting:
        """Get, or be put on the queue as a waiter; where that may wait for the log, on a thread (AS1)."""
        if not has(options, _NO_SYNCPOINT):
            return self._handle.look(options, wait_ms, waited, **selecting)
        keep = self._keeper(options)

        def late(result: Message | Waiting) -> None:
            if isinstance(result, Waiting):
                self._handle.give_up(result)
            else:
                keep(result)

        return await self._threads.call(late, self._handle.look, options, wait_ms, waited, **selecting)

    async def _posted(
        self, waiting: Waiting, loop: asyncio.AbstractEventLoop, limit: float | None, asked: Asked | None
    ) -> Message | None:
        """Wait until posted, or until a message that came for another is returned instead (AS2, AS3)."""
        future: asyncio.Future[Message | None] = loop.create_future()

        def wake() -> None:
            if not future.done():
                future.set_result(None)

        self._handle.on_post(waiting, lambda: loop.call_soon_threadsafe(wake))
        if asked is not None:
            self.late.waits(asked, future, partial(self._handle.give_up, waiting))
        try:
            async with asyncio.timeout_at(limit):
                return await future
        except (TimeoutError, asyncio.CancelledError) as over:
            come = future.done() and not future.cancelled() and future.exception() is None
            late = future.result() if come else None
            if late is None and waiting.posted and isinstance(over, TimeoutError):
                return None  # it was worth looking in time, and the loop was busy (AS2)
            self._handle.give_up(waiting)
            if late is None or asked is None:
                raise
            if isinstance(over, TimeoutError):
                return late
            self.late.keep(asked.options, late)  # it had come, and nobody has seen it (AS3)
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncConnection:
    """A connection for asyncio."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._threads = connection, Threads()
        connection.be_shared()  # AS4
        self._handles: WeakSet[AsyncHandle] = WeakSet()

    async def open(
        self, target: str | Target, options: int = OpenOptions.INPUT_AS_Q_DEF | OpenOptions.OUTPUT, **more: Any
    ) -> AsyncHandle:
        loop = asyncio.get_running_loop()
        opened = await self._threads.call(
            lambda unseen: loop.run_in_executor(None, unseen.close), self._connection.open, target, options, **more
        )
        handle = AsyncHandle(opened, self._threads)
        self._handles.add(handle)
        return handle

    async def put1(
        self,
        target: str | Target,
        body: bytes | str,
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
        **more: Any,
    ) -> Message:
        return await self._threads.call(nothing, self._connection.put1, target, body, descriptor, options, **more)

    async def commit(self) -> None:
        try:
            await self._threads.call(self._committed, self._connection.commit)
        except MQError as error:
            if error.reason is Reason.BACKED_OUT:
                self._backed_out()
            raise
        self._committed()

    async def backout(self) -> None:
        await self._threads.call(self._backed_out, self._connection.backout)
        self._backed_out()

    def _committed(self, _: None = None) -> None:
        for handle in self._handles:
            handle.late.committed()

    def _backed_out(self, _: None = None) -> None:
        for handle in self._handles:
            handle.late.backed_out()

    async def define(self, definition: Any, *, replace: bool = False) -> None:
        await self._threads.call(nothing, self._connection.define, definition, replace=replace)

    @property
    def warning(self) -> MQError | None:
        return self._connection.warning

    async def disconnect(self) -> None:
        await self._threads.call(nothing, self._connection.disconnect)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end = self._connection.disconnect if kind is None else self._connection.abandon
        await self._threads.call(nothing, end)
