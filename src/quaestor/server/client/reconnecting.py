"""Reconnecting: a connection that goes on after its link was lost, without losing or doubling a message.

Rules
  RC1 When the link is lost in a call it is made again, for up to `reconnect_s`; then handles are opened again. A queue
      that is dynamic is opened by the name it has; one that went with the link, as temporary ones do, is made again
      under that name. A queue that cannot be opened, or an alias that leads elsewhere, is 2548. Browse cursors begin
      anew. A link that is lost again before all that is done is made once more, in the same time.
  RC2 A unit that was open is backed out by the queue manager: the call answers 2003 and the application does its unit
      again. One that was being prepared may be in doubt instead, and so may one whose coordinator had decided: 2549,
      and `in_doubt` tells.
  RC3 Every commit is numbered under a name of the connection's own, behind those that were committed under it before:
      by a program that gave itself the name and has been started again. One whose answer was lost is looked up: it
      returns if the unit has committed, and answers 2003 if it was backed out.
  RC4 A call outside a unit that changes nothing, or whose change went with the link, is made again. A put out of
      syncpoint whose answer was lost is not known to have happened: 2549, and the application decides. Nor are those
      that ask for no answer, until a call behind them has succeeded: the call in which the loss is found says so,
      unless it has to say 2003. A link that is lost while disconnecting is not made again, nor is one for an
      application that gives its unit up. A disconnect whose commit is refused ends the connection all the same.

Called by the package door.  Calls connection, opening.
"""

import os
import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from quaestor.mqi.descriptors import MQMD, Target
from quaestor.mqi.messages import Message
from quaestor.mqi.options import GetOptions, PutOptions, has
from quaestor.mqi.reasons import MQError, Reason
from quaestor.server.client import requests
from quaestor.server.client.connection import Connection
from quaestor.server.client.handle import Handle
from quaestor.server.client.link import Link
from quaestor.server.client.request import Request
from quaestor.server.protocol import Op

T = TypeVar("T")
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0
OUT = int(PutOptions.NO_SYNCPOINT)
BROWSES = int(GetOptions.BROWSE_FIRST | GetOptions.BROWSE_NEXT | GetOptions.BROWSE_MSG_UNDER_CURSOR)
WAITED_FOR = frozenset(
    {
        Reason.Q_MGR_NOT_AVAILABLE,
        Reason.Q_MGR_QUIESCING,
        Reason.Q_MGR_STOPPING,
        Reason.CONNECTION_BROKEN,
        Reason.MAX_CONNS_LIMIT_REACHED,
    }
)
"""Why a link is not made at once, but may be soon (RC1): the links that were lost may still be counted, for one."""

REPEATABLE = frozenset(
    {"open", "inquire", "inquire object", "in doubt", "outcome", "status", "figures", "begin", "close"}
)
"""Calls that may be made twice (RC4)."""

TWO_PHASE = frozenset({"prepare", "commit prepared", "backout prepared"})
"""Calls after which a unit may be in doubt (RC2)."""


def client_name() -> bytes:
    """A name nobody else has (RC3)."""
    return os.urandom(16)


class Reconnected(Exception):  # noqa: N818 - what happened
    """The link was made again and the call may be made again."""


class ReconnectingHandle(Handle):
    """A handle that survives its link."""

    def __init__(
        self, connection: "ReconnectingConnection", number: int, name: str, target: Target, options: int
    ) -> None:
        super().__init__(connection, number, name, target, options)
        self._lasting = connection

    def put(
        self,
        body: bytes | bytearray | memoryview | str,
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
        **more: Any,
    ) -> Message:
        self._lasting.touch(in_unit=not has(options, OUT), repeatable=not has(options, OUT))
        return self._lasting.again(lambda: Handle.put(self, body, descriptor, options, **more))

    def put_some(self, bodies: list[bytes], kind: int, descriptor: MQMD | None, options: int) -> list[Message]:
        self._lasting.touch(in_unit=not has(options, OUT), repeatable=not has(options, OUT))
        return self._lasting.again(lambda: Handle.put_some(self, bodies, kind, descriptor, options))

    def get(self, options: int = GetOptions.NONE, **more: Any) -> Message:
        self._lasting.touch(in_unit=not has(options, OUT | BROWSES), repeatable=True)
        return self._lasting.again(lambda: Handle.get(self, options, **more))


class ReconnectingConnection(Connection):
    """A connection that survives its link (RC1-RC4)."""

    def __init__(
        self,
        link: Link,
        let_go: Callable[[Link], None],
        new_link: Callable[[], Link],
        reconnect_s: float,
    ) -> None:
        self._new_link, self._reconnect_s = new_link, reconnect_s
        self._unit = int(link.qmgr.get("unit", 0))
        self._in_unit = self._was_in_unit = self._joins_unit = False
        self._repeatable = self._unanswered = self._two_phase = False
        self._reconnecting = False
        super().__init__(link, let_go)

    def touch(self, *, in_unit: bool, repeatable: bool) -> None:
        """What the call that follows means, should the link be lost in it."""
        self._was_in_unit, self._joins_unit = self._in_unit, in_unit
        self._in_unit = self._in_unit or in_unit
        self._repeatable, self._two_phase = repeatable, False

    def again(self, call: Callable[[], T]) -> T:
        """Make a call, and once more each time the link had to be made again (RC4)."""
        while True:
            try:
                return call()
            except Reconnected:
                continue

    def call(self, request: Request, decode: Callable[[bytes], Any] = bytes) -> Any:
        if not self.connected:
            raise self.why_not_connected()
        try:
            found = super().call(request, decode)
        except MQError as error:
            if error.reason is not Reason.CONNECTION_BROKEN or self._reconnecting:
                raise
        else:
            self._unanswered = self._unanswered and self._reconnecting
            return found
        self._reconnect()
        if request.op == Op.COMMIT:
            return b""  # looked up by `commit`
        if request.op == Op.BACKOUT and not self._unanswered:
            self._in_unit = False
            return b""
        raise self._lost()

    def put_later(self, handle: Handle, body: Any, md: MQMD | None, options: int, *more: Any) -> Message:
        try:
            message = super().put_later(handle, body, md, options, *more)
        except MQError as error:
            if error.reason is not Reason.CONNECTION_BROKEN or self._reconnecting:
                raise
        else:
            self._unanswered = self._unanswered or bool(options & OUT)
            return message
        self._reconnect()
        raise self._lost()

    def _lost(self) -> Exception:
        """What becomes of a call whose link was lost and made again (RC2, RC4)."""
        in_unit, self._in_unit = self._was_in_unit, False
        known, self._unanswered = not self._unanswered, False
        if in_unit and not self._two_phase:
            return MQError(Reason.BACKED_OUT, why="the link was lost")
        if not (known and self._repeatable):
            return MQError(Reason.CALL_INTERRUPTED)
        self._in_unit = self._joins_unit  # the call that is made again begins the unit anew
        return Reconnected()

    def ask(self, name: str, *args: Any) -> Any:
        if self._reconnecting:
            return super().ask(name, *args)
        self.touch(in_unit=False, repeatable=name in REPEATABLE)
        self._two_phase = name in TWO_PHASE
        return self.again(lambda: Connection.ask(self, name, *args))

    def put1(
        self,
        target: str | Target,
        body: bytes | str,
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
        **more: Any,
    ) -> Message:
        out = has(options, OUT)
        self.touch(in_unit=not out, repeatable=not out)
        return self.again(lambda: Connection.put1(self, target, body, descriptor, options, **more))

    put = put1

    def _new_handle(self, number: int, name: str, target: Target, options: int) -> Handle:
        return ReconnectingHandle(self, number, name, target, options)

    def commit(self, unit: int | None = None) -> None:
        """MQCMIT; when the answer was lost, the outcome is looked up (RC3)."""
        self._unit = self._unit + 1 if unit is None else unit
        link, in_unit = self._link, self._in_unit
        self._in_unit = self._was_in_unit = False
        super().commit(self._unit)
        if self._link is not link:
            known, self._unanswered = not self._unanswered, False
            if in_unit and not self.outcome(self._unit):
                raise MQError(Reason.BACKED_OUT, unit=self._unit, why="the link was lost before the commit")
            if not (in_unit or known):
                raise MQError(Reason.CALL_INTERRUPTED)

    def backout(self) -> None:
        self._in_unit = self._was_in_unit = False
        super().backout()

    def disconnect(self) -> None:
        """MQDISC: commits first, so that its outcome is known."""
        if self.connected and self._in_unit:
            try:
                self.commit()
            except BaseException:
                self.abandon()
                raise
        self._reconnecting = True  # never again (RC4)
        try:
            super().disconnect()
        except MQError as error:
            if error.reason is not Reason.CONNECTION_BROKEN:
                raise
            if self._unanswered:
                raise MQError(Reason.CALL_INTERRUPTED) from error

    def abandon(self) -> None:
        self._reconnecting = True  # never again (RC4)
        super().abandon()

    # -- the link, rule RC1

    def _broken(self) -> None:
        """Nothing ends yet."""

    def _reconnect(self) -> None:
        """Trying goes on for `reconnect_s`, with pauses that grow and differ."""
        until, pause = time.monotonic() + self._reconnect_s, FIRST_PAUSE_S
        self._reconnecting = True
        try:
            while not self._begun_anew(last=time.monotonic() + pause > until):
                time.sleep(pause * (0.5 + random.random()))  # noqa: S311, TID251 - a client waits for its server
                pause = min(2 * pause, LONGEST_PAUSE_S)
        except MQError:
            self._end_for_good()
            raise
        finally:
            self._reconnecting = False

    def _begun_anew(self, *, last: bool) -> bool:
        """Whether there is a new link with everything on it; why not is told when it was the `last` try."""
        try:
            link = self._new_link()
            link.users += 1
            self._let_go(self._link)
            self._link, self._run = link, None
            self._conversation = link.new_conversation()
            self._connect()
            self._open_again()
        except MQError as error:
            if last or error.reason not in WAITED_FOR:
                raise
            return False
        return True

    def _open_again(self) -> None:
        handles: dict[int, Handle] = {}
        for handle in self._handles.values():
            try:
                number, name = self._opened_again(handle)
            except MQError as error:
                if error.reason is Reason.CONNECTION_BROKEN:
                    raise
                raise MQError(Reason.RECONNECT_FAILED, queue=handle.name, why=str(error)) from error
            if name != handle.name:
                raise MQError(Reason.RECONNECT_FAILED, queue=handle.name, why=f"{handle.target.name} leads to {name}")
            handles[number] = handle
        for number, handle in handles.items():
            handle.number = number
            handle.forget_sent()
        self._handles = handles

    def _opened_again(self, handle: Handle) -> tuple[int, str]:
        """A dynamic queue by its own name: made again under it, or still there (RC1)."""
        target = replace(handle.target, dynamic_name=handle.name)
        try:
            number, name = self.ask("open", *requests.open_arguments(target, handle.options))
        except MQError as error:
            if error.reason is not Reason.OBJECT_ALREADY_EXISTS:
                raise
            target = replace(handle.target, name=handle.name)
            number, name = self.ask("open", *requests.open_arguments(target, handle.options))
        return number, name

    def _end_for_good(self) -> None:
        self._end(Reason.CONNECTION_BROKEN)
