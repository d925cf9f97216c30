"""Connections and handles whose calls are tallied; the same objects as before, of another class (AC1).

Rules
  AH1 Each method makes the call of its parent class and tallies what it took; it decides nothing. Plain puts and gets
      are in `noting`.
  AH2 `account_for` and `stop_accounting` may come whenever the latch is free, also while the application waits for a
      message: a call in progress ends with the latch it began with and is not tallied. It knows its tally by then, not
      by its handle; one that finds none there any more is its parent's.
  AH3 A get that waits by being asked again (`look`) is one get: what is asked again adds time, not a call.
  AH4 A call for many messages is tallied as so many calls that took its time together.
  AH5 A handle that was closed, and a task that is over, are held by nothing that they hold.
  AH6 A call that has failed looks whether it still has the latch (LA3), before anything else takes it.
  AH7 A queue is open for the call that closes it, and for an MQPUT1, until that has been counted (AK3).

Called by the connection manager.  Calls session and handle.
"""

from _thread import LockType
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar

from quaestor.mqi.descriptors import MQMD, Target
from quaestor.mqi.messages import Message
from quaestor.mqi.options import CloseOptions, GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import MQError
from quaestor.mqi.resolution import Resolution
from quaestor.qmgr.connection.accounting import TaskTally
from quaestor.qmgr.connection.handle import Handle
from quaestor.qmgr.connection.latch import TimedLatch
from quaestor.qmgr.connection.noting import NotingHandle, note_no_more
from quaestor.qmgr.connection.queue_tally import QueueTally
from quaestor.qmgr.connection.session import Connection
from quaestor.qmgr.connection.verb import Verb
from quaestor.qmgr.message.gate import HeldUpError
from quaestor.qmgr.message.opening import OpenQueue
from quaestor.qmgr.message.queue_state import QueueState
from quaestor.qmgr.message.waiting import Waiting

T = TypeVar("T")
_body, _persistence = attrgetter("body"), attrgetter("persistence")
_SPECIFIC = frozenset({"msg_id", "correl_id", "group_id", "sequence", "token"})


class AccountedHandle(NotingHandle):
    """An open queue whose calls are tallied (AH1)."""

    __slots__ = ()
    _latch: TimedLatch

    def forget(self) -> OpenQueue | None:
        if self.tally is not None:
            self.tally.handles -= 1
        note_no_more(self)
        return Handle.forget(self)

    def put_with_care(
        self, body: Any, descriptor: MQMD | None, options: int, correl_id: bytes | None, context: Handle | None
    ) -> Message:
        tally, latch = self.tally, self._latch
        if tally is None:
            return Handle.put(self, body, descriptor, options, correl_id=correl_id, context=context)
        (began_ns, cpu_ns), calls = _began(latch, tally, tally.put), 1
        try:
            message = Handle.put(self, body, descriptor, options, correl_id=correl_id, context=context)
        except BaseException as error:
            calls = _failed(latch, error)
            raise
        finally:
            tally.task.ended(tally.put, began_ns, cpu_ns, calls)
        tally.note_put(message)
        return message

    def _put_all(self, bodies: list[Any], descriptor: MQMD | None, options: int, put: list[Message]) -> None:
        tally, latch = self.tally, self._latch
        if tally is None:
            Handle._put_all(self, bodies, descriptor, options, put)  # noqa: SLF001 - its own parent
            return
        verb, task = tally.put, tally.task
        began_ns, cpu_ns = task.began(verb)
        refused = 0
        try:
            Handle._put_all(self, bodies, descriptor, options, put)  # noqa: SLF001 - its own parent
        except BaseException as error:
            refused = _failed(latch, error)
            raise
        finally:
            task.ended(verb, began_ns, cpu_ns, len(put) + refused)
            if put:
                with latch.itself:
                    verb.persistent += sum(map(_persistence, put))
                    verb.deepest = max(verb.deepest, tally.stored.depth)
                    tally.put_worked(list(map(len, map(_body, put))))

    def get_with_care(self, options: int, named: dict[str, Any]) -> Message:
        tally, latch = self.tally, self._latch
        if tally is None:
            return Handle.get(self, options, **named)
        (began_ns, cpu_ns), calls = _began(latch, tally, tally.get), 1
        try:
            message = Handle.get(self, options, **named)
        except BaseException as error:
            calls = _failed(latch, error)
            raise
        finally:
            if calls:
                _tally_kind(tally, options, named)
            tally.task.ended(tally.get, began_ns, cpu_ns, calls)
        tally.note_get(message, options)
        return message

    def look(
        self, options: int, wait_ms: int, after: Waiting | None, max_length: int | None = None, **selecting: Any
    ) -> Message | Waiting:
        tally, latch = self.tally, self._latch
        if tally is None:
            return Handle.look(self, options, wait_ms, after, max_length, **selecting)
        verb, task = tally.get, tally.task
        began_ns, cpu_ns = _began(latch, tally, verb)
        calls = after is None
        try:
            result = Handle.look(self, options, wait_ms, after, max_length, **selecting)
        except BaseException as error:
            calls = bool(_failed(latch, error)) and calls
            raise
        finally:
            if calls:
                _tally_kind(tally, options, selecting)
            task.ended(verb, began_ns, cpu_ns, calls)
        if not isinstance(result, Waiting):
            tally.note_get(result, options)
        return result

    def handed_over(self, waiting: Waiting) -> Message | None:
        message, tally = Handle.handed_over(self, waiting), self.tally
        if message is not None and tally is not None:
            tally.note_get(message, GetOptions.NONE)
        return message

    def _block(self, waiting: Waiting, seconds: float) -> bool:
        tally, latch = self.tally, self._latch
        if tally is None or latch.served.task is not latch:  # a call that began without a tally
            return Handle._block(self, waiting, seconds)  # noqa: SLF001 - its own parent
        task, verb = tally.task, tally.get
        cpu_ns, began_ns, waited_ns, task.waits_at = task.cpu_ns(), task.now_ns(), verb.waited_ns, (tally, waiting)
        try:
            return Handle._block(self, waiting, seconds)  # noqa: SLF001 - its own parent
        finally:
            inside_ns = verb.waited_ns - waited_ns  # for the latch, when the message was there
            task.waited_ns, task.waits_at = task.waited_ns + task.now_ns() - began_ns - inside_ns, None  # AC3
            task.waited_cpu_ns += task.cpu_ns() - cpu_ns

    def inquire(self, *keywords: str) -> dict[str, Any]:
        tally, latch = self.tally, self._latch
        if tally is None:
            return Handle.inquire(self, *keywords)
        found: dict[str, Any] = _tallied(tally.task, tally.inq, latch, Handle.inquire, self, *keywords)
        return found

    def set(self, **values: Any) -> None:
        tally, latch = self.tally, self._latch
        if tally is None:
            Handle.set(self, **values)
        else:
            _tallied(tally.task, tally.set, latch, Handle.set, self, **values)

    def on_post(self, waiting: Waiting, post: Callable[[], object]) -> None:
        _giving_back(self._latch, Handle.on_post, self, waiting, post)

    def give_up(self, waiting: Waiting) -> None:
        _giving_back(self._latch, Handle.give_up, self, waiting)

    def get_nonpersistent(self, max_length: int) -> Message | None:
        return _giving_back(self._latch, Handle.get_nonpersistent, self, max_length)

    def close(self, options: int = CloseOptions.NONE) -> None:
        if self.opened is None:
            return
        tally, latch = self.tally, self._latch
        if tally is None:
            Handle.close(self, options)
            return
        tally.handles += 1  # AH7
        before = tally.close.lists_made
        began_ns, cpu_ns = tally.task.began(tally.close)
        try:
            Handle.close(self, options)
        except BaseException:
            latch.left()
            raise
        finally:
            tally.task.ended(tally.close, began_ns, cpu_ns)
            tally.closes_without_lists += tally.stored.shared and tally.close.lists_made == before
            tally.closed_us = tally.task.now_us()
            tally.handles -= 1


class AccountedConnection(Connection):
    """A connection whose calls are tallied (AH1)."""

    latch: TimedLatch

    def open(
        self,
        target: str | Target,
        options: int = OpenOptions.INPUT_AS_Q_DEF | OpenOptions.OUTPUT,
        *,
        qmgr: str = "",
        dynamic_name: str = "CSQ.*",
    ) -> Handle:
        task, latch = self.task, self.latch
        if task is None:
            return Connection.open(self, target, options, qmgr=qmgr, dynamic_name=dynamic_name)
        verb = Verb()  # whose it is, is known when it has worked
        began_ns, cpu_ns = task.began(verb)
        try:
            handle = Connection.open(self, target, options, qmgr=qmgr, dynamic_name=dynamic_name)
        except BaseException:
            latch.left()
            task.ended(task.other, began_ns, cpu_ns)  # AC6
            raise
        tally = handle.tally
        if tally is not None and tally.task is task:
            tally.opening(verb)
            tally.opened_us = tally.opened_us or task.now_us()
            task.ended(tally.open, began_ns, cpu_ns)
        return handle

    def _new_handle(self, opened: OpenQueue) -> Handle:
        handle = Connection._new_handle(self, opened)  # noqa: SLF001 - its own parent
        if self.task is not None:
            _account_handle(handle, opened, self.task, self.latch)
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
        task, latch = self.task, self.latch
        if task is None:
            return Connection.put1(self, target, body, descriptor, options, qmgr=qmgr)
        tally = _tally_of_target(self, task, latch, target, qmgr)
        verb = task.other if tally is None else tally.put1
        began_ns, cpu_ns = task.began(verb)
        message, calls = None, 1
        try:
            message = Connection.put1(self, target, body, descriptor, options, qmgr=qmgr)
        except BaseException as error:
            calls = _failed(latch, error)
            raise
        finally:
            task.ended(verb, began_ns, cpu_ns, calls)
            if tally is not None:
                with latch.itself:
                    tally.handles -= 1
                    if message is not None:
                        tally.put1.persistent += message.persistence
                        tally.put_worked((len(message.body),))
                        tally.put.deepest = max(tally.put.deepest, tally.stored.depth)
        return message

    put = put1

    def commit(self, unit: int | None = None) -> None:
        task, latch = self.task, self.latch
        if task is None:
            Connection.commit(self, unit)
            return
        verb = task.commit
        if verb.left < 1:
            _tallied(task, verb, latch, Connection.commit, self, unit)
            return
        task.verb = verb
        try:
            Connection.commit(self, unit)
        except BaseException:
            latch.left()
            raise
        finally:
            verb.passed()
            task.verb = task.other

    def backout(self) -> None:
        _tallied_by("backout", Connection.backout, self)

    def prepare(self, xid: bytes) -> None:
        _tallied_by("prepare", Connection.prepare, self, xid)

    def commit_prepared(self, xid: bytes) -> None:
        _tallied_by("commit", Connection.commit_prepared, self, xid)

    def backout_prepared(self, xid: bytes) -> None:
        _tallied_by("backout", Connection.backout_prepared, self, xid)

    def define(self, *args: Any, **named: Any) -> None:
        _tallied_by("other", Connection.define, self, *args, **named)

    def alter(self, *args: Any, **named: Any) -> None:
        _tallied_by("other", Connection.alter, self, *args, **named)

    def delete(self, *args: Any, **named: Any) -> None:
        _tallied_by("other", Connection.delete, self, *args, **named)

    def inquire(self, *args: Any, **named: Any) -> dict[str, Any]:
        found: dict[str, Any] = _tallied_by("other", Connection.inquire, self, *args, **named)
        return found

    def outcome(self, unit: int) -> bool:
        return _giving_back(self.latch, Connection.outcome, self, unit)

    def in_doubt(self) -> tuple[bytes, ...]:
        return _giving_back(self.latch, Connection.in_doubt, self)

    def _end_work(self, end: Callable[[Any], None]) -> None:
        _giving_back(self.latch, Connection._end_work, self, end)  # noqa: SLF001 - its own parent


# -- whose tally


def _account_handle(handle: Handle, opened: OpenQueue, task: TaskTally, latch: TimedLatch) -> None:
    """Let a handle tell the tally of its queue from now on."""
    tally = _tally_of(task, opened.resolution, opened.state)
    tally.handles += 1
    AccountedHandle.begin_notes(handle, tally, latch)  # type: ignore[arg-type] # its class in a moment
    handle.__class__ = AccountedHandle


def _tally_of(task: TaskTally, resolution: Resolution, state: QueueState) -> QueueTally:
    first, base = resolution.path[0], state.definition
    tally = task.queue(first.name, base.name, state.stored)
    tally.queue_type = int(first.queue_type)
    tally.index_type = int(base.index_type)
    tally.disposition = base.disposition
    return tally


def _tally_of_target(
    connection: Connection, task: TaskTally, latch: TimedLatch, target: str | Target, qmgr: str
) -> QueueTally | None:
    """The tally for an MQPUT1, with one handle more (AH7); None when the name leads to no queue, as the call finds."""
    catalogue = connection.messages.catalogue
    try:
        with latch.itself:
            resolution = catalogue.resolver().resolve(Target.of(target, qmgr, ""))
            if resolution.model is not None:
                return None
            tally = _tally_of(task, resolution, catalogue.state(resolution.queue.name))
            tally.handles += 1
    except MQError:
        return None
    return tally


def account_for(connection: Connection, task: TaskTally, latch: TimedLatch) -> None:
    """Tally the calls of a connection from now on (AH2)."""
    connection.account(task, latch)
    connection.__class__ = AccountedConnection
    for handle in connection.handles:
        if handle.opened is not None:
            _account_handle(handle, handle.opened, task, latch)


def stop_accounting(connection: Connection, latch: LockType) -> None:
    """Tally no more (AH2)."""
    connection.__class__ = Connection
    connection.account(None, latch)
    for handle in connection.handles:
        handle.use_latch(latch, None)
        note_no_more(handle)


def _began(latch: TimedLatch, tally: QueueTally, verb: Verb) -> tuple[int, int]:
    """A put or get begins; when one is due, what those before it have noted is added up, if it is much (AC2)."""
    if verb.left < 1 and tally.many_notes():
        with latch.itself:
            tally.fold()
    return tally.task.began(verb)


def _tallied(task: TaskTally, verb: Verb, latch: TimedLatch, call: Callable[..., T], *args: Any, **named: Any) -> T:
    began_ns, cpu_ns = task.began(verb)
    try:
        return call(*args, **named)
    except BaseException:
        latch.left()
        raise
    finally:
        task.ended(verb, began_ns, cpu_ns)


def _tallied_by(verb: str, call: Callable[..., T], connection: AccountedConnection, *args: Any, **named: Any) -> T:
    """Make a call whose verb belongs to no queue."""
    task, latch = connection.task, connection.latch
    if task is None:
        return call(connection, *args, **named)
    return _tallied(task, getattr(task, verb), latch, call, connection, *args, **named)


def _giving_back(latch: LockType | TimedLatch, call: Callable[..., T], *args: Any) -> T:
    """Make a call that is not tallied (AH6)."""
    try:
        return call(*args)
    except BaseException:
        if isinstance(latch, TimedLatch):
            latch.left()
        raise


def _failed(latch: TimedLatch, error: BaseException) -> int:
    """A put or get has failed (AH6): whether it has been a call (GA5)."""
    latch.left()
    return 0 if isinstance(error, HeldUpError) else 1


def _tally_kind(tally: QueueTally, options: int, named: dict[str, Any]) -> None:
    """Which of the four kinds of get it is."""
    if options is not tally.options_seen:
        tally.note_options(options)
    specific = any(named.get(name) is not None for name in _SPECIFIC) if named else False
    tally.count_kind(browse=tally.now_browsing, specific=specific)
