"""The put and the get of an accounted handle, as functions made for it with everything they need at hand.

Rules
  NO1 A plain put or get is the statements of `Handle.put` and `Handle.get` with the latch taken in their midst (LA3)
      and a note at the end (AC2). Whatever else there is to it (another queue's context, a selection, a browse,
      options not seen before, a CPU clock to be read) goes to the handle's `put_with_care` or `get_with_care`.
  NO2 What does not change while a handle is accounted for is looked up when the function is made, not with each call:
      looking it up was most of what an account cost. What may change, its way in or out, is asked each time.
  NO3 A message's fields are taken by their place (body 0, persistence 5, put 6): by name they cost three times that.

Called by applications, through the handle (`AccountedHandle`).  Calls the handle's ways and the task's tally.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.matching import ANY
from quaestor.mqi.messages import Message
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.qmgr.connection.accounting import QueueTally
from quaestor.qmgr.connection.failing import FATAL
from quaestor.qmgr.connection.latch import TimedLatch
from quaestor.qmgr.message.getting import LENGTH_ANY
from quaestor.qmgr.message.waiting import Waiting

if TYPE_CHECKING:
    from quaestor.qmgr.connection.accounted import AccountedHandle
    from quaestor.qmgr.connection.session import Connection


def noting_put(
    handle: "AccountedHandle", connection: "Connection", tally: QueueTally, latch: TimedLatch
) -> Callable[..., Message]:
    """`put` of one handle."""
    task, verb, notes, stored = tally.task, tally.put, tally.put_notes, tally.stored
    note, now_ns, thread = notes.extend, task.now_ns, task.thread
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
        if output is None or context is not None or len(notes) >= verb.room:
            return handle.put_with_care(body, descriptor, options, correl_id, context)
        task.verb, thread.warning = verb, None
        began_ns = now_ns()
        if not take(False):
            latch.wait()
        served.task = latch
        if log.end != latch.end:
            latch.begin()
        try:
            message = output.put(body, descriptor, options, correl_id)
            if thread.call_unit is not None:
                connection.end_call(commit=True)
        except BaseException as error:  # noqa: BLE001 - raised again
            task.ended(verb, began_ns, -1)
            raise _failed(connection, latch, error, commit=False)  # noqa: B904 - the error itself, or one that has it
        if log.end != latch.end:
            latch.end, latch.writes = log.end, log.records
        served.task = None
        free()
        note((now_ns() - began_ns, len(message[0]), message[5], stored.depth))
        return message

    return put


def noting_get(
    handle: "AccountedHandle", connection: "Connection", tally: QueueTally, latch: TimedLatch
) -> Callable[..., Message]:
    """`get` of one handle."""
    task, verb, notes = tally.task, tally.get, tally.get_notes
    note, now_ns, thread = notes.extend, task.now_ns, task.thread
    take, free, log, served = latch.take, latch.free, latch.log, latch.served

    def get(options: int = GetOptions.NONE, **named: Any) -> Message:
        way = handle._input  # noqa: SLF001 - as above
        if named or way is None or options is not tally.options_got or len(notes) >= verb.room:
            return handle.get_with_care(options, named)
        task.verb, thread.warning = verb, None
        began_ns = now_ns()
        if not take(False):
            latch.wait()
        served.task = latch
        if log.end != latch.end:
            latch.begin()
        try:
            plan = way.plan(options)
            message: Any = way.get(plan, ANY, LENGTH_ANY)
            if type(message) is Waiting:
                message = handle.wait_with_care(message, plan)
                began_ns += task.take_waited()
            if thread.call_unit is not None:
                connection.end_call(commit=True)
        except BaseException as error:  # noqa: BLE001 - raised again
            tally.gets_any += 1
            task.ended(verb, began_ns, -1)
            raise _failed(connection, latch, error, commit=True)  # noqa: B904 - the error itself, or one that has it
        if log.end != latch.end:
            latch.end, latch.writes = log.end, log.records
        served.task = None
        free()
        ended_ns = now_ns()
        note((ended_ns - began_ns, len(message[0]), message[5], ended_ns - message[6] * 1000))
        return message  # type: ignore[no-any-return] # a Waiting was waited for

    return get


def _failed(connection: "Connection", latch: TimedLatch, error: BaseException, *, commit: bool) -> BaseException:
    """A call has failed: end its unit, as `Handle` does, and give the latch back; gives what the call raises."""
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
