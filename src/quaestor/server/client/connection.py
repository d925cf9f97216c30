"""Connection of a client: the calls of the embedded API, over a link.

Rules
  CC1 The surface is that of `quaestor.qmgr.connection`: same names, parameters, reasons and warnings.
  CC2 Puts with ASYNC_RESPONSE in syncpoint gather here until something has to be answered; out of syncpoint they are
      sent at once. Their first error is raised by the next call that is answered; a commit that raises it has not
      committed.
  CC4 Disconnecting commits. A link that is lost backs out, whatever the reason. A connection lets go of its link once:
      when an operator has ended it, others may be on that link still (OL1).

Called by applications, handle and reconnecting.  Calls handle (CC3), link, requests.
"""

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Self

from quaestor.mqi import forms
from quaestor.mqi.calls import UnitOfWork
from quaestor.mqi.descriptors import MQMD, Target
from quaestor.mqi.messages import Message
from quaestor.mqi.objects import MQObject, QueueManagerAttributes, definition_of
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import MQError, Reason
from quaestor.server import values
from quaestor.server.client import requests
from quaestor.server.client.handle import Handle
from quaestor.server.client.handle_requests import PutRun
from quaestor.server.client.link import Link
from quaestor.server.client.request import Request
from quaestor.server.protocol import WARNED, ProtocolError

_NO_SYNCPOINT = int(PutOptions.NO_SYNCPOINT)
RUN_BYTES, RUN_MESSAGES = 60 << 10, 1000
"""A run of short bodies and what is around them is less than the server receives at once (64 KB): it need not wait for
the rest of a frame before it begins. A long body goes by itself: it is looked at (RQ1), and no frame is too long."""


class Connection:
    """A client's connection to a queue manager (CC1-CC4)."""

    def __init__(self, link: Link, let_go: Callable[[Link], None]) -> None:
        self._link, self._let_go = link, let_go
        self._conversation = link.new_conversation()
        self._handles: dict[int, Handle] = {}
        self._run: PutRun | None = None
        self.warning: MQError | None = None
        self.connected = False
        self._gone = Reason.HCONN_ERROR
        self._connect()

    def _connect(self) -> None:
        link = self._link
        link.read_ahead[self._conversation] = self._read_ahead
        _, _, payload = link.call(self._conversation, requests.call("connect"))
        link.understood(values.unpack, payload)
        self.connected = True

    # -- calls

    def call(self, request: Request, decode: Callable[[bytes], Any] = bytes) -> Any:
        """Send a request and give what its answer means; what gathered goes first."""
        if not self.connected:
            raise self.why_not_connected()
        if self._run is not None:
            self._send_run(now=False)
        self.warning = None
        try:
            link = self._link
            _, flags, payload = link.call(self._conversation, request)
            if flags & WARNED:
                self.warning, payload = link.understood(requests.warned, payload)
            return link.understood(decode, payload)
        except MQError as error:
            if error.reason is Reason.CONNECTION_BROKEN:
                self._broken()
            raise

    def ask(self, name: str, *args: Any) -> Any:
        return self.call(requests.call(name, *args), partial(requests.answer, name))

    def put_later(
        self,
        handle: Handle,
        body: Any,
        md: MQMD | None,
        options: int,
        correl_id: bytes | None,
        context: Handle | None,
    ) -> Message:
        """A put without an answer (CC2)."""
        run = self._run
        plain = correl_id is None and context is None and type(body) is bytes and len(body) < RUN_BYTES
        if run is not None:
            if plain and run.handle is handle and run.md is md and run.options == options:
                message = run.add(body)
                if run.size >= RUN_BYTES or run.messages >= RUN_MESSAGES:
                    self._send_run(now=True)
                return message
            self._send_run(now=False)
        if plain and not options & _NO_SYNCPOINT:
            run = self._run = PutRun(handle, md, options)
            return run.add(body)
        request = handle.put_request(body, md, options, correl_id, context)
        self._link.send(self._conversation, request, answered=False, now=bool(options & _NO_SYNCPOINT))
        return handle.put_unanswered(body, md)

    def _send_run(self, *, now: bool) -> None:
        run, self._run = self._run, None
        if run is not None:
            self._link.send(self._conversation, run.request(), answered=False, now=now)

    def _read_ahead(self, handle: int, payload: bytes) -> None:
        if handle not in self._handles:
            raise ProtocolError("a message for nobody")
        self._handles[handle].read_ahead(payload)

    # -- queues

    def open(
        self,
        target: str | Target,
        options: int = OpenOptions.INPUT_AS_Q_DEF | OpenOptions.OUTPUT,
        *,
        qmgr: str = "",
        dynamic_name: str = "CSQ.*",
    ) -> Handle:
        """MQOPEN: a handle for what `options` say; for input and output when they say nothing."""
        meant = Target.of(target, qmgr, dynamic_name)
        number, name = self.ask("open", *requests.open_arguments(meant, options))
        handle = self._handles[number] = self._new_handle(number, name, meant, options)
        return handle

    def _new_handle(self, number: int, name: str, target: Target, options: int) -> Handle:
        return Handle(self, number, name, target, options)

    def put1(
        self,
        target: str | Target,
        body: bytes | str,
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
        *,
        qmgr: str = "",
    ) -> Message:
        """MQPUT1: open, put and close in one call."""
        try:
            request = requests.put1(Target.of(target, qmgr, ""), body, descriptor, options)
            message: Message = self.call(request, partial(requests.answer, "put1"))
        except MQError:
            if self.connected:
                forms.check_put1(target, body, descriptor, options)
            raise
        return message

    def get(self, target: str | Target, options: int = GetOptions.NONE, **selecting: Any) -> Message:
        """Open for input, get one message and close."""
        with self.open(target, OpenOptions.INPUT_AS_Q_DEF) as queue:
            return queue.get(options, **selecting)

    put = put1

    # -- units of work

    def begin(self) -> UnitOfWork:
        """MQBEGIN; as a context manager it commits at the end and backs out when an exception leaves it."""
        self.ask("begin")
        return UnitOfWork(self)

    def commit(self, unit: int | None = None) -> None:
        """MQCMIT: what was put is there for others, what was got is gone. `unit` numbers it for `outcome`."""
        self.call(requests.commit(unit))

    def backout(self) -> None:
        """MQBACK: what was put is gone, what was got is there again."""
        self._run = None
        self.call(requests.BACKOUT)

    def outcome(self, unit: int) -> bool:
        """Whether the unit of this number, of a client of this name, has committed."""
        return bool(self.ask("outcome", unit))

    def prepare(self, xid: bytes) -> None:
        """Phase 1 of a commit that an outside coordinator decides."""
        self.ask("prepare", xid)

    def commit_prepared(self, xid: bytes) -> None:
        """Phase 2: the coordinator has decided to commit."""
        self.ask("commit prepared", xid)

    def backout_prepared(self, xid: bytes) -> None:
        """Phase 2: the coordinator has decided to back out."""
        self.ask("backout prepared", xid)

    def in_doubt(self) -> tuple[bytes, ...]:
        """The units that wait for a coordinator's decision."""
        return tuple(self.ask("in doubt"))

    # -- definitions

    def define(self, definition: MQObject, *, replace: bool = False) -> None:
        """DEFINE: `app.define(LocalQueue("ORDERS", max_depth=5000))`."""
        self.ask("define", definition_of(definition).pack(), replace)

    def alter(self, kind: type[MQObject], name: str = "", **changes: Any) -> None:
        """ALTER: `app.alter(LocalQueue, "ORDERS", get_allowed=False)`; the queue manager has no name."""
        self.ask("alter", kind.MQSC_TYPE, name, changes)

    def delete(self, kind: type[MQObject], name: str, *, purge: bool = False) -> None:
        """DELETE, with PURGE also when messages are on the queue."""
        self.ask("delete", kind.MQSC_TYPE, name, purge)

    def inquire(
        self,
        kind: type[MQObject] = QueueManagerAttributes,
        name: str = "",
        *keywords: str,
        alternate_user: str | None = None,
    ) -> dict[str, Any]:
        """MQINQ of the queue manager, a process, a namelist or a storage class, perhaps as another user may."""
        return requests.inquired(self.ask(*requests.inquire_object(kind, name, keywords, alternate_user)))

    # -- the server itself

    def mqsc(self, text: str) -> dict[str, Any]:
        """Run MQSC commands: `lines` as z/OS writes them, `rows` for programs, `ok`."""
        found: dict[str, Any] = self.ask("mqsc", text)
        return found

    def status(self) -> dict[str, Any]:
        """What the server says of itself."""
        found: dict[str, Any] = self.ask("status")
        return found

    def figures(self) -> list[bytes]:
        """What has been counted since the last interval ended, as SMF 115 records."""
        found: list[bytes] = self.ask("figures")
        return found

    # -- the end

    def disconnect(self) -> None:
        """MQDISC: commits (CC4); a second one is harmless."""
        if self.connected:
            try:
                self.ask("disconnect")
            finally:
                self._end()

    def abandon(self) -> None:
        """End without disconnecting: the queue manager backs out."""
        if self.connected:
            self._run = None
            try:
                self.call(requests.BACKOUT)
                self.ask("disconnect")
            except MQError as error:
                if error.reason is not Reason.CONNECTION_BROKEN:
                    raise
            finally:
                self._end()

    def _end(self, gone: Reason = Reason.HCONN_ERROR) -> None:
        """There is no connection any more (CC4); `gone` is what calls are told from now on."""
        if self.connected:
            self.connected, self._gone = False, gone
            self._close_handles()
            self._link.read_ahead.pop(self._conversation, None)
            self._let_go(self._link)

    def _broken(self) -> None:
        self._end(Reason.CONNECTION_BROKEN)

    def _close_handles(self) -> None:
        for handle in self._handles.values():
            handle.opened = False
        self._handles.clear()

    def forget(self, handle: Handle) -> None:
        self._handles.pop(handle.number, None)

    def why_not_connected(self) -> MQError:
        return MQError(self._gone)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.disconnect()
        else:
            self.abandon()
