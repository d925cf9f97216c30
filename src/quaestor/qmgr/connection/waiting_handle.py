"""Waiting handle: what an open handle may do, and how a get on it waits, blocked or not.

Rules
  HA1 A handle knows what it may do: its way out, its way in, or none. A call it was not opened for is refused
      (2036 to 2040); a closed handle is 2019, one whose connection is gone 2018. A call that is refused for another
      reason, and wrong in its form, is refused for its form (FO2).
  HA4 A wait ends by a message, by its time, or by the queue or queue manager being closed to it; a woken
      getter that does not take the message passes the wake on; one that is interrupted, by whatever a signal raises,
      puts back what has come straight to it.

Called by handle, whose `Handle` is a `WaitingHandle`, and by what must not block: asyncio, the service.  Calls the
message manager's way in; session ends units.
"""

from _thread import LockType, allocate_lock
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from quaestor.mqi import forms
from quaestor.mqi.matching import ANY, Selection, selection
from quaestor.mqi.messages import Message
from quaestor.mqi.options import NEEDS_BROWSE, WAIT_UNLIMITED, GetOptions, GetPlan, has
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.connection.failing import InterruptedWait, is_fatal
from quaestor.qmgr.connection.latch import TimedLatch
from quaestor.qmgr.connection.queue_tally import QueueTally
from quaestor.qmgr.message.getting import LENGTH_ANY, InputPath
from quaestor.qmgr.message.opening import OpenQueue
from quaestor.qmgr.message.putting import OutputPath
from quaestor.qmgr.message.waiting import Waiting
from quaestor.qmgr.resource_manager import without

if TYPE_CHECKING:
    from quaestor.qmgr.connection.session import Connection

_WAIT = int(GetOptions.WAIT)


class WaitingHandle:
    """An open queue from which gets may wait (HA1, HA4)."""

    __slots__ = (
        "_connection",
        "_input",
        "_latch",
        "_opened",
        "_output",
        "_thread",
        "name",
        "noted_get",
        "noted_put",
        "tally",
    )

    def __init__(self, connection: "Connection", opened: OpenQueue) -> None:
        self.name = opened.name
        self._connection = connection
        self._latch: LockType | TimedLatch = connection.latch
        self._thread = opened.thread
        self._opened: OpenQueue | None = opened
        self._output: OutputPath | None = opened.output
        self._input: InputPath | None = opened.input
        self.tally: QueueTally | None = None  # of an accounted handle, as is what its put and get have at hand
        self.noted_put: tuple[Any, ...] = ()
        self.noted_get: tuple[Any, ...] = ()

    # -- refusals, rule HA1

    def _still_open(self) -> OpenQueue:
        if self._opened is None:
            raise self._not_open(Reason.HOBJ_ERROR)
        return self._opened

    def _form_counts(self, error: Exception) -> bool:
        """Whether a call that was refused may be wrong in its form (FO2, FO3)."""
        return self._opened is not None and self._connection.connected and forms.counts(error)

    def _no_way_in(self, options: object) -> MQError:
        """What a get or a browse is told on a handle that is open for neither."""
        return self._not_open(Reason.NOT_OPEN_FOR_BROWSE if has(options, NEEDS_BROWSE) else Reason.NOT_OPEN_FOR_INPUT)

    def _not_open(self, otherwise: Reason) -> MQError:
        if not self._connection.connected:
            return self._connection.why_not_connected()
        return MQError(Reason.HOBJ_ERROR if self._opened is None else otherwise, queue=self.name)

    # -- waiting, rule HA4

    def _wait(self, waiting: Waiting, plan: GetPlan, asked: Selection, max_length: int, wait_ms: int) -> Message:
        """Block until there is a message or the time is over. The latch is held on entry and on return."""
        clock = self._connection.clock
        deadline_ns = clock.monotonic_ns() + wait_ms * 1_000_000
        while True:
            left_s = -1.0 if wait_ms == WAIT_UNLIMITED else max((deadline_ns - clock.monotonic_ns()) / 1e9, 0)
            try:
                try:
                    posted = self._block(waiting, left_s)
                except InterruptedWait:
                    self._put_back(waiting)
                    raise
                if waiting.message is not None:
                    return self._got_straight(waiting.message)
                result = self._look_again(waiting, plan, asked, max_length)
                if type(result) is Waiting:
                    result.waiters.keep_place(result, waiting)
            finally:
                waiting.waiters.pass_on(waiting)
            if type(result) is not Waiting:
                return result  # type: ignore[return-value] # not a Waiting, so a message
            waiting = result
            if not posted:
                waiting.waiters.remove(waiting)
                raise MQError(Reason.NO_MSG_AVAILABLE, queue=self.name, waited_ms=wait_ms)

    def _got_straight(self, message: Message) -> Message:
        """A message that was never on the queue: no token names it."""
        if self._input is not None:
            self._input.token = 0
        return message

    def _look_again(self, after: Waiting, plan: GetPlan, asked: Selection, max_length: int) -> Message | Waiting:
        if self._input is None:
            after.waiters.given_up(after)
            raise self._not_open(Reason.NOT_OPEN_FOR_INPUT)
        return self._input.look(plan, asked, max_length)

    def _block(self, waiting: Waiting, seconds: float) -> bool:
        """Give up the latch until posted; whether that came in time."""
        posted = allocate_lock()
        posted.acquire()
        waiting.post = posted.release
        if self._thread.call_unit is not None:
            self._connection.end_call(commit=True)  # what had expired goes now, not when the wait is over
        try:
            latch, wait = self._latch, partial(posted.acquire, timeout=seconds)
            return latch.without(wait) if isinstance(latch, TimedLatch) else without(latch, wait)
        except BaseException as error:  # noqa: BLE001 - whatever a signal raises; the call raises it again
            raise InterruptedWait(error) from None
        finally:
            waiting.waiters.remove(waiting)

    def _put_back(self, waiting: Waiting) -> None:
        """A wait is interrupted: what has come straight to it is not lost (HA4)."""
        if waiting.message is not None and self._input is not None:
            self._input.put_back(waiting.message)

    # -- waiting for who must not block

    def look(
        self,
        options: int,
        wait_ms: int,
        after: Waiting | None,
        max_length: int | None = None,
        *,
        direct: bool = False,
        **selecting: Any,
    ) -> Message | Waiting:
        """A get that answers `Waiting` instead of blocking; `after` is the wait that was posted before.

        With `direct` a message may be handed over to the wait: the caller must then look at its `message` when posted.
        """
        thread = self._thread
        thread.warning = None
        with self._latch:
            try:
                try:
                    result = self._found(options, wait_ms, after, max_length, selecting)
                    if type(result) is Waiting:
                        if after is not None:
                            result.waiters.keep_place(result, after)
                        if not direct:
                            result.direct_max = -1  # a cancelled task must not have a message in its hands
                finally:
                    if after is not None:
                        after.waiters.pass_on(after)
                if thread.call_unit is not None:
                    self._connection.end_call(commit=True)
            except BaseException as error:
                answer = self._connection.end_failed(error, commit=True)
                if answer is not None:
                    raise answer from error
                if isinstance(error, (MQError, TypeError, ValueError)) and self._form_counts(error):
                    forms.check_get(options, wait_ms, max_length, **selecting)
                raise
        return result

    def _found(
        self, options: int, wait_ms: int, after: Waiting | None, max_length: int | None, selecting: dict[str, Any]
    ) -> Message | Waiting:
        """What a get that does not block finds; one that is refused before has been a call all the same (HA7)."""
        way = self._input
        try:
            if way is None:
                if after is not None:
                    after.waiters.given_up(after)  # it was closed since then
                raise self._no_way_in(options)
            plan = way.plan(wait_options(options, wait_ms))
            asked = selection(**selecting) if selecting else ANY
            longest = LENGTH_ANY if max_length is None else max_length
            if longest < 0:
                raise MQError(Reason.BUFFER_LENGTH_ERROR, max_length=max_length)  # noqa: TRY301 - counted below
        except (MQError, TypeError, ValueError) as error:
            self._connection.messages.stats.gets += after is None and self._form_counts(error)
            raise
        return way.get(plan, asked, longest) if after is None else way.look(plan, asked, longest)

    def handed_over(self, waiting: Waiting) -> Message | None:
        """The message that came straight to a wait (`direct`), if one did."""
        return None if waiting.message is None else self._got_straight(waiting.message)

    def on_post(self, waiting: Waiting, post: Callable[[], object]) -> None:
        """Call `post` when it is worth looking again; at once if that has happened already."""
        with self._latch:
            if waiting.posted:
                post()
            else:
                waiting.post = post

    def give_up(self, waiting: Waiting) -> None:
        """Stop waiting; a wake that came too late goes to the next, and a message back to its queue (HA4)."""
        with self._latch:
            waiting.waiters.given_up(waiting)
            if waiting.message is None:
                return
            try:
                self._put_back(waiting)
                self._connection.end_call(commit=True)
            except BaseException as error:
                if is_fatal(error):
                    raise self._connection.fatal(error) from error
                raise


def wait_options(options: int, wait_ms: int) -> int:
    """The options with WAIT, as a wait interval means (2090 when it is negative but not unlimited)."""
    if wait_ms < WAIT_UNLIMITED:
        raise MQError(Reason.WAIT_INTERVAL_ERROR, wait_ms=wait_ms)
    return int(options) | _WAIT
