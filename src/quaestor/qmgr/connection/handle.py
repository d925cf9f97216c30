"""Handle: an open queue in an application's hands.

Rules
  HA1 A handle knows what it may do: its way out, its way in, or none. A call it was not opened for is refused
      (2036 to 2040); a closed handle is 2019, one whose connection is gone 2018. A call that is refused for another
      reason, and wrong in its form, is refused for its form (FO2).
  HA2 A call holds the engine latch from beginning to end, except while it waits for a message or for the log.
  HA3 The unit of a call ends with it: a put that failed is backed out, anything else committed.
  HA4 A wait ends by a message, by its time, or by the queue or queue manager being closed to it; a woken
      getter that does not take the message passes the wake on; one that is interrupted, by whatever a signal raises,
      puts back what has come straight to it.
  HA5 What an engine cannot survive (an I/O error, a broken invariant, an interrupt in the middle of a change) ends
      the queue manager, not only the call: 2009 for everybody.
  HA6 A call for many messages (`put_all`) is as many puts (NA4). The latch is given to others every `RUN_MAX` messages;
      out of syncpoint so many share one unit of the call, which commits also if one of them was refused.
  HA7 A put or get that failed on an open handle has been a call, and the message manager's figures have it, also where
      it was refused before the message manager knew of it. A put that worked is counted by its way, and every get that
      came as far as that.

Called by applications.  Calls the message manager; session ends units.
"""

from _thread import LockType, allocate_lock
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from quaestor.mqi import forms
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.matching import ANY, Selection, selection
from quaestor.mqi.messages import Message
from quaestor.mqi.options import NEEDS_BROWSE, WAIT_UNLIMITED, CloseOptions, GetOptions, GetPlan, PutOptions, has
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.connection.accounting import QueueTally
from quaestor.qmgr.connection.failing import FATAL, InterruptedWait
from quaestor.qmgr.connection.latch import TimedLatch
from quaestor.qmgr.message.gate import HeldUpError
from quaestor.qmgr.message.getting import LENGTH_ANY, InputPath
from quaestor.qmgr.message.opening import OpenQueue
from quaestor.qmgr.message.putting import OutputPath
from quaestor.qmgr.message.waiting import Waiting

if TYPE_CHECKING:
    from quaestor.qmgr.connection.session import Connection

_WAIT = int(GetOptions.WAIT)
RUN_MAX = 256


class Handle:
    """An open queue."""

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

    def put(
        self,
        body: bytes | bytearray | memoryview | str,
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
        *,
        correl_id: bytes | None = None,
        context: "Handle | None" = None,
    ) -> Message:
        """MQPUT. Without an option it is in syncpoint; what was put comes back, with its identifiers."""
        output, thread = self._output, self._thread
        if output is None:
            refusal = self._not_open(Reason.NOT_OPEN_FOR_OUTPUT)
            if self._form_counts(refusal):
                self._put_failed(refusal)
                forms.check_put(body, descriptor, options, correl_id)
            raise refusal
        thread.warning = None
        with self._latch:
            try:
                try:
                    message = output.put(
                        body, descriptor, options, correl_id, context if context is None else context.input_path()
                    )
                except BaseException as error:
                    self._put_failed(error)
                    raise
                if thread.call_unit is not None:
                    self._connection.end_call(commit=True)
            except BaseException as error:
                answer = self._connection.end_failed(error, commit=False)  # HA3
                if answer is None:
                    raise
                raise answer from error
        return message

    def _put_failed(self, error: BaseException) -> None:
        """HA7, GA5."""
        self._connection.messages.stats.puts += not isinstance(error, HeldUpError)

    def put_all(
        self,
        bodies: Iterable[bytes | bytearray | memoryview | str],
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
    ) -> list[Message]:
        """MQPUT for each of the bodies, under one descriptor, in one call: what was put comes back (HA6)."""
        put: list[Message] = []
        every = list(bodies)
        try:
            if self._output is None:
                refusal = self._not_open(Reason.NOT_OPEN_FOR_OUTPUT)
                if every and self._form_counts(refusal):
                    forms.check_put(every[0], descriptor, options)
                raise refusal
            self._put_all(every, descriptor, options, put)
        except MQError as error:
            raise error.having_put(len(put)) from error
        return put

    def _put_all(self, bodies: list[Any], descriptor: MQMD | None, options: int, put: list[Message]) -> None:
        """Put all bodies; what is put stands in `put`, also when one is refused."""
        thread = self._thread
        thread.warning, begun = None, thread.begun
        for at in range(0, len(bodies), RUN_MAX):
            with self._latch:
                thread.many, thread.begun = len(bodies) > 1, begun or at > 0
                try:
                    self._put_some(bodies[at : at + RUN_MAX], descriptor, options, put)
                finally:
                    thread.many, thread.begun = False, begun

    def _put_some(self, bodies: list[Any], descriptor: MQMD | None, options: int, put: list[Message]) -> None:
        """What is put under one hold of the latch (HA6)."""
        output = self._output
        if output is None:
            raise self._not_open(Reason.NOT_OPEN_FOR_OUTPUT)
        before = len(put)
        try:
            try:
                while (at := len(put) - before) < len(bodies):
                    more = output.put_more(bodies, at, descriptor, options)
                    put += more or (output.put(bodies[at], descriptor, options),)
            except BaseException as error:
                self._put_failed(error)
                raise
            self._connection.end_call(commit=True)
        except BaseException as error:
            answer = self._connection.end_failed(error, commit=isinstance(error, MQError))
            if answer is None:
                raise
            raise answer from error

    def get(
        self,
        options: int = GetOptions.NONE,
        *,
        wait_ms: int | None = None,
        max_length: int | None = None,
        msg_id: bytes | None = None,
        correl_id: bytes | None = None,
        group_id: bytes | None = None,
        sequence: int | None = None,
        token: int | None = None,
        match: int | None = None,
    ) -> Message:
        """MQGET. Without an option it is in syncpoint; with `wait_ms` it waits so long (-1: without end)."""
        way, thread, asked = self._input, self._thread, None
        try:
            if way is None:
                raise self._no_way_in(options)
            if wait_ms is not None:
                options = wait_options(options, wait_ms)
            if max_length is None:
                max_length = LENGTH_ANY
            elif max_length < 0:
                raise MQError(Reason.BUFFER_LENGTH_ERROR, max_length=max_length)  # noqa: TRY301 - as any refusal
            thread.warning = None
            with self._latch:
                try:
                    plan = way.plan(options)
                    if (
                        msg_id is None and correl_id is None and group_id is None and sequence is None
                        and token is None and match is None
                    ):  # fmt: skip
                        asked = ANY
                    else:
                        asked = selection(msg_id, correl_id, group_id, sequence, token, match)
                    result = way.get(plan, asked, max_length)
                    if type(result) is Waiting:
                        result = self._wait(result, plan, asked, max_length, wait_ms or 0)
                    if thread.call_unit is not None:
                        self._connection.end_call(commit=True)
                except BaseException as error:
                    answer = self._connection.end_failed(error, commit=True)  # HA3: what had expired is gone anyhow
                    if answer is None:
                        raise
                    raise answer from error
        except (MQError, TypeError, ValueError) as error:
            if self._form_counts(error):
                self._connection.messages.stats.gets += asked is None  # HA7
                forms.check_get(
                    options, wait_ms, max_length, msg_id, correl_id, group_id, sequence, token, match
                )  # fmt: skip
            raise
        return result  # type: ignore[return-value] # a Waiting was waited for

    def browse(self, options: int = GetOptions.BROWSE_NEXT, **selecting: Any) -> Message:
        """MQGET with a browse: the next message by default; it stays on the queue."""
        return self.get(options, **selecting)

    def inquire(self, *keywords: str) -> dict[str, Any]:
        """MQINQ: attribute values by MQSC keyword, all of them when none is named."""
        opened = self._still_open()
        with self._connection.calling():
            return self._connection.messages.inquire(opened, keywords)

    def set(self, **values: Any) -> None:
        """MQSET: `set(PUT="DISABLED", TRIGDPTH=10)`."""
        opened = self._still_open()
        with self._connection.calling():
            self._connection.messages.set(opened, values)

    def close(self, options: int = CloseOptions.NONE) -> None:
        """MQCLOSE; a second close is harmless."""
        if self._opened is None:
            return
        self._thread.warning = None
        with self._connection.calling():
            if self._opened is not None:  # nobody else has closed it meanwhile
                self._connection.messages.close(self._opened, options)
            self.forget()
        self._connection.forget(self)

    @property
    def token(self) -> int:
        """Names the message last got or browsed, 0 for none; `get(token=...)` gets that very message."""
        return 0 if self._input is None else self._input.token

    def input_path(self) -> InputPath:
        """The handle's way in, for a put that passes its context."""
        if self._input is None:
            raise MQError(Reason.CONTEXT_HANDLE_ERROR, queue=self.name)
        return self._input

    def forget(self) -> OpenQueue | None:
        """The handle is closed, or its connection is gone; what it had open."""
        opened, self._opened = self._opened, None
        self._output = self._input = None
        return opened

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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
        posted, latch = allocate_lock(), self._latch
        posted.acquire()
        waiting.post = posted.release
        if self._thread.call_unit is not None:
            self._connection.end_call(commit=True)  # what had expired goes now, not when the wait is over
        latch.release()
        try:
            in_time = posted.acquire(timeout=seconds)
        except BaseException as error:  # noqa: BLE001 - whatever a signal raises; the call raises it again
            raise InterruptedWait(error) from None
        finally:
            latch.acquire()
            waiting.waiters.remove(waiting)
        return in_time

    def _put_back(self, waiting: Waiting) -> None:
        """A wait is interrupted: what has come straight to it is not lost (HA4)."""
        if waiting.message is not None and self._input is not None:
            self._input.put_back(waiting.message)

    # -- waiting for asyncio, which must not block

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

    def warn(self, warning: MQError | None) -> None:
        """The call has this warning, or none: it returned what another had got."""
        self._thread.warning = warning

    def handed_over(self, waiting: Waiting) -> Message | None:
        """The message that came straight to a wait (`direct`), if one did."""
        return None if waiting.message is None else self._got_straight(waiting.message)

    def get_nonpersistent(self, max_length: int) -> Message | None:
        """Take the next message out of syncpoint if there is one, it is not persistent and not longer than this."""
        way = self._input
        if way is None:
            raise self._not_open(Reason.NOT_OPEN_FOR_INPUT)
        with self._latch:
            following = way.following()
        if following is None or following.persistent or following.length > max_length:
            return None
        return self.get(GetOptions.NO_SYNCPOINT, token=following.sequence)

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
            except FATAL as error:
                raise self._connection.fatal(error) from error

    # -- accounting

    def use_latch(self, latch: LockType | TimedLatch, tally: QueueTally | None) -> None:
        """From the next call on, take this latch and tell this tally."""
        self._latch, self.tally = latch, tally

    @property
    def opened(self) -> OpenQueue | None:
        """What the message manager has open for it."""
        return self._opened

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


def wait_options(options: int, wait_ms: int) -> int:
    """The options with WAIT, as a wait interval means (2090 when it is negative but not unlimited)."""
    if wait_ms < WAIT_UNLIMITED:
        raise MQError(Reason.WAIT_INTERVAL_ERROR, wait_ms=wait_ms)
    return int(options) | _WAIT
