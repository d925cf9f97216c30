"""Handle: an open queue in an application's hands.

Rules
  HA2 A call holds the engine latch from beginning to end, except while it waits for a message or for the log.
  HA3 The unit of a call ends with it: a put that failed is backed out, anything else committed.
  HA5 What an engine cannot survive (an I/O error, a broken invariant, an interrupt in the middle of a change) ends
      the queue manager, not only the call: 2009 for everybody.
  HA6 A call for many messages (`put_all`) is as many puts (NA4). The latch is given to others every `RUN_MAX` messages;
      out of syncpoint so many share one unit of the call, which commits also if one of them was refused.
  HA7 A put or get that failed on an open handle has been a call, and the message manager's figures have it, also where
      it was refused before the message manager knew of it. A put that worked is counted by its way, and every get that
      came as far as that.
  HA8 A put that passes context is given an open input handle of its own connection (2097). Any other put does not look
      at what it is given.

HA1 and HA4 are of `waiting_handle`.

Called by applications.  Calls the message manager; session ends units.
"""

from _thread import LockType
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from quaestor.mqi import forms
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.matching import ANY, selection
from quaestor.mqi.messages import Message
from quaestor.mqi.options import CloseOptions, GetOptions, PutOptions
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.connection.failing import Guarded
from quaestor.qmgr.connection.latch import TimedLatch
from quaestor.qmgr.connection.queue_tally import QueueTally
from quaestor.qmgr.connection.waiting_handle import WaitingHandle, wait_options
from quaestor.qmgr.message.gate import HeldUpError
from quaestor.qmgr.message.getting import LENGTH_ANY, InputPath
from quaestor.qmgr.message.opening import OpenQueue
from quaestor.qmgr.message.waiting import Waiting

RUN_MAX = 256


class Handle(WaitingHandle):
    """An open queue."""

    __slots__ = ()

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
                        body, descriptor, options, correl_id, None if context is None else self._way_in_of(context)
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
        every = forms.several(bodies)
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
        with self._connection.latch, Guarded(self._connection):
            return self._connection.messages.inquire(opened, keywords)

    def set(self, **values: Any) -> None:
        """MQSET: `set(PUT="DISABLED", TRIGDPTH=10)`."""
        opened = self._still_open()
        with self._connection.latch, Guarded(self._connection):
            self._connection.messages.set(opened, values)

    def close(self, options: int = CloseOptions.NONE) -> None:
        """MQCLOSE; a second close is harmless."""
        if self._opened is None:
            return
        self._thread.warning = None
        with self._connection.latch, Guarded(self._connection, over=True):
            if self._opened is not None:  # nobody else has closed it meanwhile
                self._connection.messages.close(self._opened, options)
            self.forget()
        self._connection.forget(self)

    @property
    def token(self) -> int:
        """Names the message last got or browsed, 0 for none; `get(token=...)` gets that very message."""
        return 0 if self._input is None else self._input.token

    def _way_in_of(self, context: object) -> InputPath | None:
        """Whose context a put passes: that of an open handle of this connection, else nobody's (HA8)."""
        opened = context.opened if isinstance(context, Handle) else None
        return None if opened is None or opened.thread is not self._thread else opened.input

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

    def warn(self, warning: MQError | None) -> None:
        """The call has this warning, or none: it returned what another had got."""
        self._thread.warning = warning

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

    # -- accounting

    def put_with_care(
        self, body: Any, descriptor: MQMD | None, options: int, correl_id: bytes | None, context: "Handle | None"
    ) -> Message:
        """A put that is not plain, or is clocked (AC4); of a handle that nobody accounts for, a put (NO4)."""
        return Handle.put(self, body, descriptor, options, correl_id=correl_id, context=context)

    def get_with_care(self, options: int, named: dict[str, Any]) -> Message:
        """A get that is not plain, or is clocked (AC4); of a handle that nobody accounts for, a get (NO4)."""
        return Handle.get(self, options, **named)

    def use_latch(self, latch: LockType | TimedLatch, tally: QueueTally | None) -> None:
        """From the next call on, take this latch and tell this tally."""
        self._latch, self.tally = latch, tally

    @property
    def opened(self) -> OpenQueue | None:
        """What the message manager has open for it."""
        return self._opened
