"""The connection manager itself: who is connected, and how all of them end.

Rules
  CM1 A user is checked when connecting (2035). While the queue manager quiesces nobody connects (2161, 2162).
  CM2 Quiescing tells those who asked to be told; stopping ends every connection: its unit is backed out, its calls
      answer 2009.
  CM3 A failure that the engine cannot survive ends every connection at once (2009) without writing anything; from
      then on nobody connects (2059, with the cause). A call that waited for the latch meanwhile finds a log that
      confirms nothing any more (`on_failure`, J5).
  CM4 An application that is gone without disconnecting (its connection is no longer referred to by anybody) is backed
      out and its handles are closed, by a background step or when the next application connects.
  CM5 An operator may end one connection: its unit is backed out, its calls (waiting ones too) answer 2009.
  CM6 Who keeps accounts (`accounts`) is told of each connection when it begins and when it has ended, whichever way,
      with the latch held: traces and intervals begin and end before or after.
  CM7 A user's name is text of at most 255 bytes (2035): the descriptors of his messages and the log carry all of it.
  CM8 Recovery knows whether one application is connected `alone` and makes one call at a time, one of this process or
      the only client of a server, and whether it is one of this process (`single`, V13). The tasks of an asyncio
      application are not such a one. The queue manager's own command server is no company: it waits for requests, and
      answers one when there is one.

Called by queue_manager.  Calls session, message, security.
"""

from _thread import allocate_lock
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any
from weakref import ref

from quaestor.clock import Clock
from quaestor.mqi.reasons import MQError, Reason, said
from quaestor.qmgr.connection.accounting import Accounts, NoAccounts
from quaestor.qmgr.connection.failing import FAILURES, is_fatal
from quaestor.qmgr.connection.session import Connection
from quaestor.qmgr.connection.two_phase import Prepared
from quaestor.qmgr.message import ApplicationThread, MessageManager
from quaestor.qmgr.message.needs import Recovery
from quaestor.qmgr.queue_store import Express
from quaestor.qmgr.resource_manager import Task
from quaestor.qmgr.security import Access, Itself, Security
from quaestor.storage.log_record import USER_MAX

REAP_EVERY_MS = 1000


class ConnectionManager:
    """The front door."""

    name = "connection"

    def __init__(
        self,
        messages: MessageManager,
        recovery: Recovery,
        security: Security,
        clock: Clock,
        express: Express | None = None,
    ) -> None:
        self._messages = messages
        self._recovery = recovery
        self._express = express
        self._security = security
        self._clock = clock
        self.accounts: Accounts = NoAccounts()
        self.prepared = Prepared(recovery, security)
        self._numbers = count(1)
        self.failure: BaseException | None = None
        self.on_failure: Callable[[BaseException], None] = _nobody
        """Told of a failure before anybody else can go on."""

        self._connections: dict[ApplicationThread, tuple[ref[Connection], Callable[[], None] | None]] = {}
        self._lost: deque[ApplicationThread] = deque()
        self._counting = allocate_lock()

    def connect(
        self,
        user: str,
        appl_name: str = "",
        then: Callable[[], None] | None = None,
        *,
        channel: str = "",
        address: str = "",
        client: bytes = b"",
        recovery: Recovery | None = None,
    ) -> Connection:
        """MQCONN (CM1); `then` is called when the connection has ended, `recovery` ends its units in place of ours.

        A client has a channel and an address, and a name for `outcome`.
        """
        self._check_goes_on()
        if self._lost:
            self._reap_now()
        if not _is_name(user):
            raise MQError(Reason.NOT_AUTHORIZED, user=user[:USER_MAX], longest=USER_MAX)
        self._security.check(user, "connect", self._messages.catalogue.qmgr.name, Access.READ)
        ending = self._recovery if recovery is None else recovery
        express, number = self._express if recovery is None else self._express_alone, f"{next(self._numbers):08X}"
        thread = ApplicationThread(ending, user, appl_name, number, channel, address, express)
        thread.told = recovery is not None
        connection = Connection(
            self._messages, ending, self._clock, thread, self._ended, self.failed, self.prepared, client
        )
        with self._recovery.latch:
            self._check_goes_on()
            self._connections[thread] = (ref(connection, lambda _: self._lost.append(thread)), then)
            self.accounts.begin(connection, thread)
        self._count()
        return connection

    def _check_goes_on(self) -> None:
        """Nobody connects while it ends or after it has failed; neither who waited for the latch (CM1, CM3)."""
        if self.failure is not None:
            raise MQError(Reason.Q_MGR_NOT_AVAILABLE, why=said(self.failure))
        if self._messages.catalogue.ending is not None:
            raise MQError(self._messages.catalogue.ending)

    @property
    def connections(self) -> int:
        return len(self._connections)

    def threads(self) -> list[ApplicationThread]:
        """Every connected application."""
        return list(self._connections)

    def end(self, thread: ApplicationThread) -> None:
        """End one application's connection from outside, as if it were gone (CM5). The latch is not held."""
        known, _ = self._connections.get(thread, (None, None))
        connection = None if known is None else known()
        if connection is not None:
            connection.end_from_outside()
            with self._recovery.latch:
                self._messages.look_again()

    def quiesce(self) -> None:
        """Tell applications that the queue manager is ending (CM2)."""
        with self._recovery.latch:
            self._messages.quiesce(Reason.Q_MGR_QUIESCING)

    @property
    def ending(self) -> Reason | None:
        """How the queue manager is ending, if it is."""
        return self._messages.catalogue.ending

    @property
    def units_held(self) -> bool:
        """Whether nobody begins a unit of recovery."""
        return self._messages.catalogue.gate.closed

    def hold_units(self) -> None:
        """Let nobody begin a unit of recovery (GA1). The latch is held."""
        self._messages.catalogue.hold()

    def let_units_begin(self) -> None:
        """Let those go on who were held up."""
        self._messages.catalogue.gate.open()

    def stop(self) -> None:
        """End every connection (CM2)."""
        with self._recovery.latch:
            self._messages.events.stopping()
            self._messages.quiesce(Reason.Q_MGR_STOPPING)
            self.let_units_begin()
            self.reap()
        for connection in self.living():
            connection.end_from_outside()

    def abandon(self) -> None:
        """These connections are another process's: forget them without a trace."""
        for connection in self.living():
            connection.broken()
        self._connections = {}

    def failed(self, error: BaseException) -> None:
        """The queue manager cannot go on (CM3). The latch is held."""
        if self.failure is None:
            self.failure = error
        self.on_failure(error)
        self._messages.quiesce(Reason.Q_MGR_STOPPING)
        self.let_units_begin()
        for connection in self.living():
            connection.failed()
        self.abandon()

    def reap(self) -> bool:
        """End what applications left behind that are gone without disconnecting (CM4). The latch is held."""
        while self._lost:
            thread = self._lost.popleft()
            if self._connections.pop(thread, None) is not None:
                unit, thread.unit = thread.unit, None
                if unit is not None:
                    self._recovery.back_out(unit)
                self._messages.close_all(thread)
                self._count()
                self.accounts.end(thread)
        return False

    def _reap_now(self) -> None:
        with self._recovery.latch:
            try:
                self.reap()
            except BaseException as error:
                if is_fatal(error):
                    self.failed(error)
                if isinstance(error, FAILURES):
                    raise MQError(Reason.Q_MGR_NOT_AVAILABLE, why=said(error)) from error
                raise

    def _count(self) -> None:
        """Look who is connected (CM8); one at a time, or an older look would be the last."""
        with self._counting:
            threads = [thread for thread in list(self._connections) if not isinstance(thread.user, Itself)]
            self._recovery.alone = len(threads) == 1 and not threads[0].several
            self._recovery.single = self._recovery.alone and not threads[0].told

    def _express_alone(self, *message: Any) -> tuple[Any, Any] | None:
        """The express way of those whose commits are collected: while there is nobody to collect them with (X5)."""
        return self._express(*message) if self._recovery.alone and self._express is not None else None

    def tasks(self) -> Sequence[Task]:
        return (Task("reap lost connections", self.reap, REAP_EVERY_MS),)

    def living(self) -> list[Connection]:
        return [connection for connection, _ in self.living_threads()]

    def living_threads(self) -> list[tuple[Connection, ApplicationThread]]:
        """Every connection that somebody holds, and its thread."""
        found = [(known(), thread) for thread, (known, _) in tuple(self._connections.items())]
        return [(connection, thread) for connection, thread in found if connection is not None]

    def _ended(self, thread: ApplicationThread) -> None:
        with self._recovery.latch:
            _, then = self._connections.pop(thread, (None, None))
            self.accounts.end(thread)
        self._count()
        if then is not None:
            then()


def _nobody(_error: BaseException) -> None:
    """Told where nothing is kept."""


def _is_name(user: str) -> bool:
    """Whether messages and the log can carry a user's name (CM7)."""
    try:
        return len(user.encode()) <= USER_MAX
    except UnicodeEncodeError:
        return False
