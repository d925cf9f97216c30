"""The put and the get of an accounted handle, as functions made for it with everything they need at hand.

Rules
  NO1 A plain put or get is the statements of `Handle.put` and `Handle.get` with the latch taken in their midst (LA3)
      and notes at the end (AC2). Whatever else there is to it (another queue's context, a selection, a browse,
      options not seen before, clocks to be looked at) goes to the handle's `put_with_care` or `get_with_care`.
  NO2 What does not change while a handle is accounted for is looked up when the function is made, not with each call:
      looking it up was most of what an account cost; likewise what the options of gets mean, as long as they are the
      same. What may change, its way in or out, is asked each time.
  NO3 A call logs nothing unless its message is persistent or it had a unit of its own: only then is it noted where the
      log ends (LA2).
  NO4 An application may hold on to such a function (`put = queue.put`) when its handle is closed or nobody accounts for
      it any more: then it does what the handle does.
  NO5 A message's fields are taken by their place (body 0, persistence 5, put 6): by name they cost three times that.

Called by applications, through the handle (`AccountedHandle`).  Calls the handle's ways and the task's tally.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.matching import ANY
from quaestor.mqi.messages import Message
from quaestor.mqi.options import GetOptions, PutOptions, get_plan
from quaestor.qmgr.connection.accounting import QueueTally
from quaestor.qmgr.connection.failing import FATAL
from quaestor.qmgr.connection.handle import Handle, not_accounted
from quaestor.qmgr.connection.latch import TimedLatch
from quaestor.qmgr.message.gate import HeldUpError
from quaestor.qmgr.message.getting import LENGTH_ANY
from quaestor.qmgr.message.waiting import Waiting

if TYPE_CHECKING:
    from quaestor.qmgr.connection.accounted import AccountedHandle
    from quaestor.qmgr.connection.session import Connection


def noting_put(
    handle: "AccountedHandle", connection: "Connection", tally: QueueTally, latch: TimedLatch
) -> Callable[..., Message]:
    """`put` of one handle."""
    task, verb, stored = tally.task, tally.put, tally.stored
    note, note_persistent, thread = tally.put_lengths.append, tally.put_lengths_persistent.append, task.thread
    take, free, log, served = latch.take, latch.free, latch.log, latch.served

    def put(
        body: bytes | bytearray | memoryview | str,
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
        *,
        correl_id: bytes | None = None,
        context: Any = None,
    ) -> Message:
        output = handle._output  # noqa: SLF001 - part of the handle, but for where it stands (NO2)
        if output is None or context is not None or not verb.left:
            if handle.noted_put is not_accounted:
                return Handle.put(handle, body, descriptor, options, correl_id=correl_id, context=context)
            return handle.put_with_care(body, descriptor, options, correl_id, context)
        verb.left -= 1
        task.verb, thread.warning = verb, None
        if not take(False):
            latch.wait()
        served.task = latch
        if log.records != latch.writes:
            latch.begin()
        try:
            message = output.put(body, descriptor, options, correl_id)
            if thread.call_unit is not None:
                connection.end_call(commit=True)
                latch.log_forcing()
        except BaseException as error:  # noqa: BLE001 - raised again
            raise _failed(connection, latch, error, commit=False)  # noqa: B904 - the error itself, or one that has it
        if message[5]:
            note_persistent(len(message[0]))
            latch.end, latch.writes = log.end, log.records
        else:
            note(len(message[0]))
        if stored.depth > tally.depth_high:  # noqa: PLR1730 - cheaper than a call
            tally.depth_high = stored.depth
        served.task = None
        free()
        return message

    return put


def noting_get(
    handle: "AccountedHandle", connection: "Connection", tally: QueueTally, latch: TimedLatch
) -> Callable[..., Message]:
    """`get` of one handle."""
    task, verb = tally.task, tally.get
    note, note_persistent, note_wait = (
        tally.get_lengths.append,
        tally.get_lengths_persistent.append,
        tally.waits_ns.append,
    )
    now_ns, thread = task.now_ns, task.thread
    take, free, log, served = latch.take, latch.free, latch.log, latch.served
    seen: object = None  # the options of the last get, unless it was a browse
    plan = get_plan(GetOptions.NONE)  # and what they mean

    def get(options: int = GetOptions.NONE, **named: Any) -> Message:
        nonlocal seen, plan
        way = handle._input  # noqa: SLF001 - as above
        if options is not seen or named or way is None or not verb.left:
            if handle.noted_get is not_accounted:
                return Handle.get(handle, options, **named)
            message: Any = handle.get_with_care(options, named)
            if options is tally.options_got and way is not None:
                seen, plan = options, way.plan(options)
            return message  # type: ignore[no-any-return] # what a get with care gives
        verb.left -= 1
        task.verb, thread.warning = verb, None
        if not take(False):
            latch.wait()
        served.task = latch
        if log.records != latch.writes:
            latch.begin()
        try:
            message = way.get(plan, ANY, LENGTH_ANY)
            if type(message) is Waiting:
                message = handle.wait_with_care(message, plan)
                task.waited_ns = task.waited_cpu_ns = 0  # AC3
            if thread.call_unit is not None:
                connection.end_call(commit=True)
                latch.log_forcing()
        except BaseException as error:  # noqa: BLE001 - raised again
            tally.gets_any += not isinstance(error, HeldUpError)
            raise _failed(connection, latch, error, commit=True)  # noqa: B904 - the error itself, or one that has it
        if message[5]:
            note_persistent(len(message[0]))
            latch.end, latch.writes = log.end, log.records
        else:
            note(len(message[0]))
        note_wait(now_ns() - message[6] * 1000)
        served.task = None
        free()
        return message  # type: ignore[no-any-return] # a Waiting was waited for

    return get


def _failed(connection: "Connection", latch: TimedLatch, error: BaseException, *, commit: bool) -> BaseException:
    """A call has failed: end its unit, as `Handle` does, and give the latch back; gives what the call raises."""
    latch.task.passed(calls=not isinstance(error, HeldUpError))
    try:
        if isinstance(error, FATAL):
            fatal = connection.fatal(error)
            if fatal is not error:
                fatal.__cause__ = error
            return fatal
        connection.end_call(commit=commit)
    finally:
        latch.release()
    return error
