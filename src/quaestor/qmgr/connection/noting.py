"""The put and the get of an accounted handle, with everything they need at hand.

Rules
  NO1 A plain put or get is the statements of `Handle.put` and `Handle.get` with the latch taken in their midst (LA2)
      and notes at the end (AC2). Whatever else there is to it (another queue's context, a selection, a browse,
      options not seen before, clocks to be looked at) goes to the handle's `put_with_care` or `get_with_care`.
  NO2 What does not change while a handle is accounted for stands in one tuple, in the order in which it is unpacked;
      likewise what the options of gets mean, as long as they are the same. Looking it up one by one, or in cells of a
      function each of which is a line of the cache, was most of what an account cost. A handle that is closed has
      other tuples, of no calls at all: so a way that is there needs no question.
  NO3 What a call logs is counted where it is logged (R6).
  NO4 An application may hold on to such a method (`put = queue.put`) when its handle is closed or nobody accounts for
      it any more: then it does what the handle does.
  NO5 A message's fields are taken by their place (body 0, persistence 5, put 6): by name they cost three times that.
  NO6 Arguments that have to be named cost a put more than all notes together: here they may be named. What a get waits
      or selects by comes as a dictionary; a plain get leaves it empty, and asks that in one question.

Called by applications.  Calls the handle's ways and the task's tally.
"""

from typing import TYPE_CHECKING, Any

from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.matching import ANY
from quaestor.mqi.messages import Message
from quaestor.mqi.options import GetOptions, PutOptions, get_plan
from quaestor.qmgr.connection.handle import Handle
from quaestor.qmgr.connection.latch import TimedLatch
from quaestor.qmgr.connection.plain_calls import PlainCalls
from quaestor.qmgr.connection.queue_tally import QueueTally
from quaestor.qmgr.message.gate import HeldUpError
from quaestor.qmgr.message.getting import LENGTH_ANY
from quaestor.qmgr.message.waiting import Waiting

if TYPE_CHECKING:
    from quaestor.qmgr.connection.session import Connection

_NO_CALLS = PlainCalls()
_PUT_NOWHERE = (None, _NO_CALLS, *(None,) * 7)
_GET_NOWHERE = (None, None, None, None, _NO_CALLS, *(None,) * 7)


class NotingHandle(Handle):
    """An open queue that notes its plain puts and gets (NO1)."""

    __slots__ = ()

    def begin_notes(self, tally: QueueTally, latch: TimedLatch) -> None:
        """Tell this tally from the next call on."""
        self.use_latch(latch, tally)
        task, held = tally.task, (latch, latch.itself, latch.busy, latch.served)
        put = _NO_CALLS if self._output is None else tally.put
        get = _NO_CALLS if self._input is None else tally.get
        self.noted_put = (self._output, put, task, task.thread, tally.stored, *held)
        plan = get_plan(GetOptions.NONE)
        self.noted_get = (self._input, None, plan, tally, get, task, task.thread, *held, task.now_s)

    def put(
        self,
        body: bytes | bytearray | memoryview | str,
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
        correl_id: bytes | None = None,
        context: Handle | None = None,
    ) -> Message:
        output, verb, task, thread, stored, latch, itself, busy, served = self.noted_put
        if context is not None or verb.left < 1:
            return self.put_with_care(body, descriptor, options, correl_id, context)
        task.verb = verb
        thread.warning = None
        began_ns = task.now_ns() if busy() else 0
        with itself:
            served.task = latch
            try:
                if began_ns:
                    latch.waited(began_ns)
                try:
                    message: Message = output.put(body, descriptor, options, correl_id)
                except BaseException as error:
                    self._put_failed(error)
                    raise
                if thread.call_unit is not None:
                    self._connection.end_call(commit=True)
            except BaseException as error:  # noqa: BLE001 - raised again
                raise _failed(self._connection, latch, error, commit=False)  # noqa: B904 - the error itself, or one that has it
            verb.left -= 1
            if message[5]:
                verb.persistent += 1
            if len(message[0]) != verb.length:
                verb.lengths.append(len(message[0]))
            if stored.depth > verb.deepest:  # noqa: PLR1730 - cheaper than a call
                verb.deepest = stored.depth
            served.task = None
        return message

    def get(self, options: int = GetOptions.NONE, **named: Any) -> Message:
        way, seen, plan, tally, verb, task, thread, latch, itself, busy, served, now_s = self.noted_get
        if named or options is not seen or verb.left < 1:
            return NotingHandle._get_otherwise(self, options, **named)
        task.verb = verb
        thread.warning = None
        began_ns = task.now_ns() if busy() else 0
        with itself:
            served.task = latch
            try:
                if began_ns:
                    latch.waited(began_ns)
                message: Any = way.get(plan, ANY, LENGTH_ANY)
                if type(message) is Waiting:
                    message = self._wait(message, plan, ANY, LENGTH_ANY, 0)
                    task.waited_ns = task.waited_cpu_ns = 0  # AC3
                if thread.call_unit is not None:
                    self._connection.end_call(commit=True)
            except BaseException as error:  # noqa: BLE001 - raised again
                tally.gets_any += not isinstance(error, HeldUpError)
                raise _failed(self._connection, latch, error, commit=True)  # noqa: B904 - the error itself, or one that has it
            verb.left -= 1
            if message[5]:
                verb.persistent += 1
            if len(message[0]) != verb.length:
                verb.lengths.append(len(message[0]))
            us = now_s() * 1e6 - message[6]
            verb.on_queue_us += us
            if us > verb.longest_us:  # noqa: PLR1730 - as above
                verb.longest_us = us
            if us < verb.shortest_us:  # noqa: PLR1730 - as above
                verb.shortest_us = us
            served.task = None
        return message  # type: ignore[no-any-return] # a Waiting was waited for

    def _get_otherwise(self, options: int, **named: Any) -> Message:
        """A get that is not plain, or not as the one before."""
        tally, way = self.tally, self._input
        message = self.get_with_care(options, named)
        if tally is not None and options is tally.options_got and way is not None:
            self.noted_get = (way, options, way.plan(options), *self.noted_get[3:])
        return message


def _failed(connection: "Connection", latch: TimedLatch, error: BaseException, *, commit: bool) -> BaseException:
    """A call has failed: end its unit, as `Handle` does; gives what the call raises."""
    latch.task.passed(calls=not isinstance(error, HeldUpError))
    try:
        answer = connection.end_failed(error, commit=commit)
    finally:
        latch.served.task = None
    if answer is None:
        return error
    answer.__cause__ = error
    return answer


def note_no_more(handle: Handle) -> None:
    """A handle is a plain one again, and holds nothing of what noted its calls (AH5)."""
    handle.noted_put, handle.noted_get = _PUT_NOWHERE, _GET_NOWHERE
    handle.__class__ = Handle
