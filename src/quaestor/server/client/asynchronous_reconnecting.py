"""Reconnecting for asyncio: the rules RC1 to RC4 of `reconnecting`, for a connection that many tasks may call at once.

Rules
  AR1 One of the tasks whose calls were lost makes the link again; the others wait for it.
  AR2 The unit is the connection's. When one was open and the link is lost, every call of the unit that was under way
      answers 2003; if none was, the next one or the commit does. A unit's first call may be made again instead: nothing
      else was backed out with it. Calls outside the unit do not speak of it.
  AR3 Messages on their way, read ahead or to a cancelled get, went with the link. Those that had come stay, but for
      those that were got in the unit.

Called by the package door.  Calls asynchronous.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

from quaestor.mqi import forms
from quaestor.mqi.descriptors import MQMD, Target
from quaestor.mqi.messages import Message
from quaestor.mqi.options import GetOptions, PutOptions, has
from quaestor.mqi.reasons import MQError, Reason
from quaestor.server.client import requests
from quaestor.server.client.asynchronous import AsyncConnection, AsyncHandle
from quaestor.server.client.asynchronous_link import AsyncLink, Decode, dropped
from quaestor.server.client.reconnecting import BROWSES, FIRST_PAUSE_S, LONGEST_PAUSE_S, OUT, REPEATABLE, WAITED_FOR
from quaestor.server.client.request import Request
from quaestor.server.client.requests import ASYNC

NewLink = Callable[[], Awaitable[AsyncLink]]


class AsyncReconnectingHandle(AsyncHandle):
    """A handle that survives its link."""

    def __init__(
        self, connection: "AsyncReconnectingConnection", number: int, name: str, target: Target, options: int
    ) -> None:
        super().__init__(connection, number, name, target, options)
        self._lasting = connection

    async def put(
        self,
        body: bytes | bytearray | memoryview | str,
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
        **more: Any,
    ) -> Message:
        call = super().put
        message: Message = await self._lasting.lasting(
            lambda: call(body, descriptor, options, **more),
            in_unit=not has(options, OUT),
            answered=not has(options, ASYNC),
        )
        return message

    async def put_all(
        self,
        bodies: Iterable[bytes | bytearray | memoryview | str],
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
    ) -> list[Message]:
        call, every = super().put_all, forms.several(bodies)
        put: list[Message] = await self._lasting.lasting(
            lambda: call(every, descriptor, options), in_unit=not has(options, OUT), answered=not has(options, ASYNC)
        )
        return put

    async def get(self, options: int = GetOptions.NONE, **more: Any) -> Message:
        call, in_unit = super().get, not has(options, OUT | BROWSES)
        message: Message = await self._lasting.lasting(lambda: call(options, **more), in_unit=in_unit, repeatable=True)
        return message


class AsyncReconnectingConnection(AsyncConnection):
    """A connection for asyncio that survives its link (AR1-AR3)."""

    def __init__(self, link: AsyncLink, new_link: NewLink, reconnect_s: float) -> None:
        super().__init__(link, AsyncLink.close)
        self._new_link, self._reconnect_s = new_link, reconnect_s
        self._unit, self._unit_lost = link.unit, False
        self._lock, self._maker = asyncio.Lock(), asyncio.current_task()

    # -- calls

    async def lasting(
        self,
        call: Callable[[], Awaitable[Any]],
        *,
        in_unit: bool = False,
        repeatable: bool = False,
        answered: bool = True,
    ) -> Any:
        """Make a call, and once more each time the link had to be made again (RC4)."""
        while True:
            if in_unit:
                self._tell_of_lost_unit()
            link = self._link
            link.calls_in_unit += in_unit
            link.unanswered += not (answered or in_unit)
            before = link.unanswered
            try:
                found = await call()
                link.proved = max(link.proved, before) if answered else link.proved
            except MQError as error:
                if error.reason is not Reason.CONNECTION_BROKEN or self._maker is asyncio.current_task():
                    raise
            else:
                return found
            await self._made_again(link)
            known, link.proved = link.proved == link.unanswered, link.unanswered  # once is enough
            if in_unit:
                self._unit_lost = link.calls_in_unit > 1
                self._tell_of_lost_unit()
            if not known or not (in_unit or repeatable):
                raise MQError(Reason.CALL_INTERRUPTED)

    def _tell_of_lost_unit(self) -> None:
        """AR2: once is enough."""
        lost, self._unit_lost = self._unit_lost, False
        if lost:
            raise MQError(Reason.BACKED_OUT, why="the link was lost")

    async def ask(self, name: str, *args: Any, late: Callable[[Any], None] = dropped) -> Any:
        call = super().ask
        return await self.lasting(lambda: call(name, *args, late=late), repeatable=name in REPEATABLE)

    def _new_handle(self, number: int, name: str, target: Target, options: int) -> AsyncHandle:
        return AsyncReconnectingHandle(self, number, name, target, options)

    async def put1(
        self,
        target: str | Target,
        body: bytes | str,
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
        **more: Any,
    ) -> Message:
        call = super().put1
        message: Message = await self.lasting(
            lambda: call(target, body, descriptor, options, **more), in_unit=not has(options, OUT)
        )
        return message

    # -- units

    async def commit(self, unit: int | None = None) -> None:
        """MQCMIT; when the answer was lost, the outcome is looked up (RC3)."""
        self._tell_of_lost_unit()
        self._unit = number = self._unit + 1 if unit is None else unit
        link, calls = self._link, self._link.calls_in_unit
        lost = await self._ended(requests.commit(number), self._committed)
        if lost and calls and not await self.outcome(number):
            raise MQError(Reason.BACKED_OUT, unit=number, why="the link was lost before the commit")
        if lost and not calls and link.proved < link.unanswered:
            raise MQError(Reason.CALL_INTERRUPTED)

    async def backout(self) -> None:
        self._unit_lost = False
        self._backed_out(over=False)
        await self._ended(requests.BACKOUT, self._backed_out)

    async def _ended(self, request: Request, ended: Decode) -> bool:
        """End the unit; whether the link was lost in it, and is there again."""
        link = self._link
        link.calls_in_unit = 0
        try:
            await self.call(request, ended)
        except MQError as error:
            if error.reason is not Reason.CONNECTION_BROKEN or self._maker is asyncio.current_task():
                self._refused(error)
                raise
            await self._made_again(link)
            return True
        return False

    async def disconnect(self) -> None:
        """MQDISC: commits first, so that its outcome is known."""
        if self.connected and (self._link.calls_in_unit or self._unit_lost):
            try:
                await self.commit()
            except BaseException:
                if self.connected:
                    self._end()
                raise
        self._maker = asyncio.current_task()  # a link that is lost now is not made again (RC4)
        try:
            await super().disconnect()
        except MQError as error:
            if error.reason is not Reason.CONNECTION_BROKEN:
                raise

    async def abandon(self) -> None:
        self._maker = asyncio.current_task()  # nor is it now
        await super().abandon()

    # -- the link, rules RC1 and AR1

    async def connect(self) -> "AsyncReconnectingConnection":
        await super().connect()
        self._maker = None
        return self

    async def _made_again(self, lost: AsyncLink) -> None:
        """Return when there is another link than the one that was lost."""
        async with self._lock:
            if self._link is not lost or not self.connected:
                return
            self._unit_lost = bool(lost.calls_in_unit)
            self._maker = asyncio.current_task()
            try:
                await self._begin_anew()
            except MQError:
                self._end()
                raise
            except asyncio.CancelledError:
                self._link.close()
                self._link = lost  # the next call tries again
                raise
            finally:
                self._maker = None

    async def _begin_anew(self) -> None:
        """Trying goes on for `reconnect_s`, with pauses that grow and differ."""
        time = asyncio.get_running_loop().time
        until, pause = time() + self._reconnect_s, FIRST_PAUSE_S
        while not await self._begun_anew(last=time() + pause > until):
            await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311 - so that clients do not come all at once
            pause = min(2 * pause, LONGEST_PAUSE_S)

    async def _begun_anew(self, *, last: bool) -> bool:
        """Whether there is a new link with everything on it; why not is told when it was the `last` try."""
        try:
            self._link = await self._new_link()
            self._conversation = self._link.new_conversation()
            await AsyncConnection.connect(self)
            await self._open_again()
        except MQError as error:
            if last or error.reason not in WAITED_FOR:
                raise
            self._link.close()
            return False
        return True

    async def _open_again(self) -> None:
        handles: dict[int, AsyncHandle] = {}
        for handle in self._handles.values():
            try:
                number, name = await self._opened_again(handle)
            except MQError as error:
                if error.reason is Reason.CONNECTION_BROKEN:
                    raise
                raise MQError(Reason.RECONNECT_FAILED, queue=handle.name, why=str(error)) from error
            if name != handle.name:
                raise MQError(Reason.RECONNECT_FAILED, queue=handle.name, why=f"{handle.target.name} leads to {name}")
            handles[number] = handle
        for number, handle in handles.items():
            handle.begin_anew(number)
        self._handles = handles

    async def _opened_again(self, handle: AsyncHandle) -> tuple[int, str]:
        """A dynamic queue by its own name: made again under it, or still there (RC1)."""
        target = replace(handle.target, dynamic_name=handle.name)
        try:
            number, name = await self.ask("open", *requests.open_arguments(target, handle.options))
        except MQError as error:
            if error.reason is not Reason.OBJECT_ALREADY_EXISTS:
                raise
            target = replace(handle.target, name=handle.name)
            number, name = await self.ask("open", *requests.open_arguments(target, handle.options))
        return number, name


async def connect(new_link: NewLink, reconnect_s: float) -> AsyncReconnectingConnection:
    """A connection on a link of its own that is made again when it is lost."""
    link = await new_link()
    try:
        return await AsyncReconnectingConnection(link, new_link, reconnect_s).connect()
    except BaseException:
        link.close()
        raise
