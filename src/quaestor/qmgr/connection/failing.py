"""Failing: what ends a queue manager, and how applications are told.

Rules
  FA1 An `Abend`, an I/O error, no memory, a page that is not whole, or an interrupt while pages are being changed
      leaves memory in a state that nobody vouches for. Nothing is written any more; restart repairs from the log. An
      interrupt is Ctrl-C, whatever else is no `Exception` (`sys.exit`), and what a handler of a signal raises, as a
      program does that gives a call so many seconds: no other code of the application runs in the middle of a call.
  FA2 Everybody's calls then answer 2009; what a commit that was under way decided is known after restart.
  FA3 The process keeps the files until it ends, because a force of the log may still be under way in it.
  FA4 A message that cannot be read because its page is not whole, or by an I/O error, is an answer to the one who asked
      for it (2193), because nothing was being changed; the page set needs media recovery.
  FA5 Ending the unit of a call that was refused may fail as the call itself may: that is no answer either.

Called by handle and session.
"""

import signal
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from quaestor.mqi.reasons import Abend, MQError
from quaestor.qmgr.buffer import TornPageError

if TYPE_CHECKING:
    from quaestor.qmgr.connection.session import Connection

FAILURES = (Abend, OSError, MemoryError, TornPageError)


class InterruptedWait(BaseException):
    """A wait for a message was interrupted by something: nothing was being changed (HA4)."""

    def __init__(self, by: BaseException) -> None:
        super().__init__(str(by))
        self.by = by


def is_fatal(error: BaseException) -> bool:
    """Whether the queue manager cannot survive it: a failure, or an interrupt, which is raised as it is (FA1)."""
    if isinstance(error, (MQError, InterruptedWait)):
        return False
    return isinstance(error, FAILURES) or not isinstance(error, Exception) or _is_of_a_handler(error)


def _is_of_a_handler(error: Exception) -> bool:
    handlers = {_code_of(signal.getsignal(number)) for number in signal.valid_signals()}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in handlers:
            return True
        trace = trace.tb_next
    return False


def _code_of(handler: Any) -> Any:
    """Of a function, a method, a part of one, or an object that is called; None of what is not Python's."""
    if isinstance(handler, partial):
        return _code_of(handler.func)
    called = handler if hasattr(handler, "__code__") else getattr(type(handler), "__call__", None)  # noqa: B004 - which
    return getattr(called, "__code__", None)


class Guarded:
    """Around what a call does with the latch: what the engine cannot survive ends the queue manager.

    The latch is taken outside of it, and by nothing that Python could be interrupted in before it is given back (R7).
    Whose connection has ended while he waited for it is told so; not who only closes or ends (`over`).
    """

    __slots__ = ("_connection", "_over")

    def __init__(self, connection: "Connection", *, over: bool = False) -> None:
        self._connection, self._over = connection, over

    def __enter__(self) -> None:
        if not (self._connection.connected or self._over):
            raise self._connection.why_not_connected()
        self._connection.thread.warning = None  # SE5

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and is_fatal(error):
            answer = self._connection.fatal(error)
            if answer is not error:
                raise answer from error
