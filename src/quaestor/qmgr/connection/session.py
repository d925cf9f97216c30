"""Session: one connected application, its handles and its units of recovery.

Rules
  SE1 Commit and back out end the application's unit; a handle survives both.
  SE2 Disconnecting commits what is open; ending in any other way backs it out.
  SE3 A connection has at most MAXHANDS handles (2017). After the end every call is 2018, after the queue manager
      stopped 2009.
  SE4 MQBEGIN: this queue manager coordinates nobody else, so it warns 2121. As a context manager a unit of
      work commits at the end and backs out when an exception leaves it.
  SE5 A call that succeeded with a warning leaves it in `warning` until the next call.
  SE6 A connection that has a client's name may number its commits; `outcome` tells, on a later connection too, whether
      a unit of that number has committed.

  SE7 A connection may be ended from outside while its open waits for the log (of a dynamic queue): what that has opened
      is closed again. One that is ended while a call waits for the latch has ended before it (2009): nothing is done in
      its name, and what was backed out is not said to have committed, by a later disconnect neither.
  SE8 Who makes calls while his connection ends, which waits for the log, is told that it has ended; a unit that he has
      begun meanwhile is backed out.

Called by applications.  Calls the message manager and recovery.
"""

from _thread import LockType
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from quaestor.clock import Clock
from quaestor.mqi import forms
from quaestor.mqi.calls import UnitOfWork
from quaestor.mqi.descriptors import MQMD, Target
from quaestor.mqi.messages import Message
from quaestor.mqi.objects import MQObject, QueueManagerAttributes, definition_of
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import MQError, Reason, said
from quaestor.qmgr.connection.accounting import TaskTally
from quaestor.qmgr.connection.failing import FAILURES, Guarded, InterruptedWait, is_fatal
from quaestor.qmgr.connection.handle import Handle
from quaestor.qmgr.connection.latch import TimedLatch
from quaestor.qmgr.connection.two_phase import Prepared
from quaestor.qmgr.message import ApplicationThread, MessageManager
from quaestor.qmgr.message.needs import Recovery, Unit
from quaestor.qmgr.message.opening import OpenQueue
from quaestor.qmgr.recovery.outcomes import label


class Connection:
    """An application's connection to the queue manager."""

    def __init__(
        self,
        messages: MessageManager,
        recovery: Recovery,
        clock: Clock,
        thread: ApplicationThread,
        ended: Callable[[ApplicationThread], None],
        failed: Callable[[BaseException], None],
        prepared: Prepared,
        client: bytes = b"",
    ) -> None:
        self.client = client
        self.messages = messages
        self.clock = clock
        self.latch: LockType | TimedLatch = recovery.latch
        self.connected = True
        self._recovery = recovery
        self._thread = thread
        self._ended = ended
        self._failed = failed
        self._prepared = prepared
        self.task: TaskTally | None = None  # of an accounted connection
        self._handles: set[Handle] = set()
        self._gone = Reason.HCONN_ERROR
        self._backed_out = False  # by somebody else, and the application has not been told (SE7)

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
        self._check_connected()
        if len(self._handles) >= self.messages.catalogue.qmgr.max_handles:
            raise MQError(Reason.HANDLE_NOT_AVAILABLE, handles=len(self._handles))  # SE3
        with self.latch, Guarded(self):
            opened = self.messages.open(self._thread, Target.of(target, qmgr, dynamic_name), options)
            if not self.connected:  # SE7
                self.messages.close_all(self._thread)
                raise self.why_not_connected()
            return self._new_handle(opened)

    def _new_handle(self, opened: OpenQueue) -> Handle:
        """A handle for what was opened. The latch is held: accounting starts and stops before or after."""
        handle = Handle(self, opened)
        self._handles.add(handle)
        return handle

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
        self._check_connected()
        with self.latch, Guarded(self):
            try:
                message = self.messages.put1(self._thread, Target.of(target, qmgr, ""), body, descriptor, options)
            except BaseException as error:
                if is_fatal(error):
                    raise
                self.end_call(commit=False)
                if isinstance(error, MQError):
                    forms.check_put1(target, body, descriptor, options)
                raise
            self.end_call(commit=True)
        return message

    def get(self, target: str | Target, options: int = GetOptions.NONE, **selecting: Any) -> Message:
        """Open for input, get one message and close."""
        with self.open(target, OpenOptions.INPUT_AS_Q_DEF) as queue:
            return queue.get(options, **selecting)

    put = put1

    # -- units of work

    def begin(self) -> UnitOfWork:
        """MQBEGIN (SE4)."""
        self._check_connected()
        if self._thread.unit is not None:
            raise MQError(Reason.UOW_IN_PROGRESS)
        self._thread.warning = MQError(Reason.NO_EXTERNAL_PARTICIPANTS)
        return UnitOfWork(self)

    def commit(self, unit: int | None = None) -> None:
        """MQCMIT: what was put is there for others, what was got is gone. `unit` numbers it (SE6)."""
        if not self.connected:
            raise self.why_not_connected()
        named = b"" if unit is None else label(self.client, unit)  # a bad number is refused while the unit is as it was
        with self.latch:  # as `Guarded` does; every message put by itself comes here
            thread = self._thread
            ending, thread.unit, thread.warning = thread.unit, None, None
            if ending is None and not self.connected:
                raise self.why_not_connected()  # SE7
            try:
                if ending is not None:
                    if named:
                        ending.label = named
                    self._recovery.commit(ending)
                    self.messages.catalogue.unit_ended()
            except MQError as error:
                self._refused(error, ending)
                raise
            except BaseException as error:
                if is_fatal(error):
                    raise self.fatal(error) from error
                raise

    def outcome(self, unit: int) -> bool:
        """Whether the unit of this number has committed (SE6)."""
        self._check_connected()
        with self.latch, Guarded(self):
            return self._recovery.outcomes.committed(self.client, unit)

    def backout(self) -> None:
        """MQBACK: what was put is gone, what was got is there again."""
        self._check_connected()
        with self.latch, Guarded(self):
            unit = self._thread.unit
            self._end_unit(self._recovery.back_out)
            self._thread.resume_groups(unit)
            if unit is not None and self._thread.marked is not None:
                self._thread.take_marked(unit, self.messages.catalogue.qmgr.max_uncommitted)

    def prepare(self, xid: bytes) -> None:
        """Phase 1 of a commit that an outside coordinator decides (see `two_phase`)."""
        self._check_connected()
        with self.latch, Guarded(self):
            unit, self._thread.unit = self._thread.unit, None  # the latch is given up: who ends the connection has none
            if unit is None:
                raise MQError(Reason.UOW_NOT_AVAILABLE, xid=xid)
            try:
                self._prepared.prepare(unit, xid)
            except (MQError, TypeError) as error:
                if isinstance(error, MQError) and error.reason is Reason.BACKED_OUT:
                    self._refused(error, unit)
                else:
                    self._thread.unit = unit
                raise

    def _refused(self, error: MQError, unit: Unit | None) -> None:
        """A unit was not committed; it may have been backed out instead."""
        if error.reason is Reason.BACKED_OUT:
            self._thread.resume_groups(unit)

    def commit_prepared(self, xid: bytes) -> None:
        """Phase 2: the coordinator has decided to commit."""
        self._check_connected()
        with self.latch, Guarded(self):
            self._prepared.decide(xid, self._thread.user, commit=True)

    def backout_prepared(self, xid: bytes) -> None:
        """Phase 2: the coordinator has decided to back out."""
        self._check_connected()
        with self.latch, Guarded(self):
            self._prepared.decide(xid, self._thread.user, commit=False)

    def in_doubt(self) -> tuple[bytes, ...]:
        """The units that wait for a coordinator's decision, as far as they are this user's to decide."""
        self._check_connected()
        with self.latch, Guarded(self):
            return self._prepared.in_doubt(self._thread.user)

    def fatal(self, error: BaseException) -> BaseException:
        """The queue manager cannot go on: tell everybody, and say how this call ends. The latch is held."""
        self._failed(error)
        return MQError(Reason.CONNECTION_BROKEN, why=said(error)) if isinstance(error, FAILURES) else error

    def end_call(self, *, commit: bool) -> None:
        """End the unit of the call, if there is one. The latch is held."""
        unit, self._thread.call_unit = self._thread.call_unit, None
        if unit is not None:
            if commit:
                self._recovery.commit(unit)
            else:
                self._recovery.back_out(unit)

    def end_failed(self, error: BaseException, *, commit: bool) -> BaseException | None:
        """End the unit of a call that has failed, if the engine survives that (FA5). The latch is held.

        Gives what the call raises in the error's place; nothing where that is the error itself, which would be kept.
        """
        if is_fatal(error):
            answer = self.fatal(error)
            return None if answer is error else answer
        try:
            self.end_call(commit=commit)
        except BaseException as failure:
            if not is_fatal(failure):
                raise
            return self.fatal(failure)
        if isinstance(error, InterruptedWait):
            return error.by
        return None if self.connected or not isinstance(error, MQError) else self.why_not_connected()  # SE7

    def _end_unit(self, end: Callable[[Unit], None]) -> None:
        unit, self._thread.unit = self._thread.unit, None
        self._thread.warning = None
        if unit is not None:
            end(unit)
            self.messages.catalogue.unit_ended()

    def be_shared(self) -> None:
        """Several tasks make calls by this connection: none holds up the others while it waits for the log (CM8)."""
        self._thread.several = True
        self._recovery.single = self._recovery.alone = False

    def account(self, task: TaskTally | None, latch: LockType | TimedLatch) -> None:
        """From the next call on, take this latch and tell this task."""
        self.task = self._thread.tally = task
        self.latch = latch

    @property
    def thread(self) -> ApplicationThread:
        """The application as the managers know it."""
        return self._thread

    @property
    def handles(self) -> tuple[Handle, ...]:
        return tuple(self._handles)

    # -- definitions

    def define(self, definition: MQObject, *, replace: bool = False) -> None:
        """DEFINE: `app.define(LocalQueue("ORDERS", max_depth=5000))`."""
        self._check_connected()
        wanted = definition_of(definition)
        with self.latch, Guarded(self):
            self.messages.define(self._thread.user, wanted, replace=replace)

    def alter(self, kind: type[MQObject], name: str = "", **changes: Any) -> None:
        """ALTER: `app.alter(LocalQueue, "ORDERS", get_allowed=False)`; the queue manager has no name."""
        self._check_connected()
        with self.latch, Guarded(self):
            self.messages.alter(self._thread.user, kind, name, **changes)

    def delete(self, kind: type[MQObject], name: str, *, purge: bool = False) -> None:
        """DELETE, with PURGE also when messages are on the queue."""
        self._check_connected()
        with self.latch, Guarded(self):
            self.messages.delete(self._thread.user, kind, name, purge=purge)

    def inquire(
        self,
        kind: type[MQObject] = QueueManagerAttributes,
        name: str = "",
        *keywords: str,
        alternate_user: str | None = None,
    ) -> dict[str, Any]:
        """MQINQ of the queue manager, a process, a namelist or a storage class, perhaps as another user may."""
        self._check_connected()
        with self.latch, Guarded(self):
            return self.messages.inquire_object(self._thread.user, kind, name, keywords, alternate_user)

    # -- the end

    @property
    def warning(self) -> MQError | None:
        """What the last call warned of (SE5)."""
        return self._thread.warning

    def disconnect(self) -> None:
        """MQDISC: commits (SE2); a second one is harmless."""
        if self.connected:
            self._end(self._recovery.commit)
        if self._backed_out:
            self._backed_out = False
            raise self.why_not_connected()  # SE7

    def abandon(self) -> None:
        """The application ended without disconnecting: back out (SE2)."""
        if self.connected:
            self._end(self._recovery.back_out)

    def end_from_outside(self) -> None:
        """Its unit is backed out, its calls answer 2009 (CM2, CM5)."""
        self._gone = Reason.CONNECTION_BROKEN
        if self.connected:
            self._end(self._take_back)
        self.broken()

    def _take_back(self, unit: Unit) -> None:
        self._backed_out = True
        self._recovery.back_out(unit)

    def failed(self) -> None:
        """The queue manager cannot go on; the latch is held."""
        self._backed_out = self._thread.unit is not None
        self.broken()

    def broken(self) -> None:
        """The queue manager is gone: its restart backs out what is in flight."""
        self._gone = Reason.CONNECTION_BROKEN
        self.connected = False
        for handle in self.handles:
            handle.forget()

    def forget(self, handle: Handle) -> None:
        self._handles.discard(handle)

    def _end(self, end: Callable[[Unit], None]) -> None:
        try:
            self._end_work(end)
        finally:
            self._ended(self._thread)

    def _end_work(self, end: Callable[[Unit], None]) -> None:
        with self.latch, Guarded(self, over=True):
            try:
                self._end_unit(end)
            finally:
                self.connected = False
                self._close_handles()
                self._end_unit(self._recovery.back_out)  # SE8

    def _close_handles(self) -> None:
        handles, self._handles = self._handles, set()
        for handle in handles:
            handle.forget()
        self.messages.close_all(self._thread)

    def _check_connected(self) -> None:
        if not self.connected:
            raise self.why_not_connected()

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
