"""Gate: where applications wait that would begin a unit of recovery while the log is about to be switched.

Rules
  GA1 While the gate is closed, a put and a get that takes a message off its queue wait, at the beginning of the call,
      unless their application has a unit already: that goes on until it has ended. Everything else goes on.
  GA2 An open gate costs nothing: closing it raises the version of the catalogue, so that every way looks again (V1),
      and while it is closed no way takes what it has seen for the last word.
  GA3 An application of this process waits, without the latch. A server has one thread for all of its applications: it
      is told (`HeldUpError`) before anything has happened, and makes the call again when the gate is open.
  GA4 A call that has put some of its messages puts the others.
  GA5 A call that is to be made again has not been one: nobody counts it.

Called by the ways in and out of queues; closed and opened by commands.  Calls nothing.
"""

from collections.abc import Callable
from threading import Event, Lock
from typing import TYPE_CHECKING

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.resource_manager import Served, without

if TYPE_CHECKING:
    from quaestor.qmgr.message.thread import ApplicationThread


class HeldUpError(Exception):
    """The gate is closed: make the call again when it is open (GA3)."""


class Gate:
    """Holds up whoever would begin a unit (GA1-GA5)."""

    def __init__(self, latch: Lock, served: Served) -> None:
        self._latch, self._served = latch, served
        self._open = Event()
        self.closed = False
        self.on_open: Callable[[], None] = lambda: None
        """Told when the gate has been opened; it may not wait."""

    def close(self) -> None:
        """Hold up who comes from now on. The latch is held."""
        self._open.clear()
        self.closed = True

    def open(self) -> None:
        """Let everybody go on."""
        self.closed = False
        self._open.set()
        self.on_open()

    def enter(self, thread: "ApplicationThread") -> None:
        """A put or a get begins; the latch is held before and after (GA1)."""
        if not self.closed or thread.unit is not None or thread.begun:
            return
        if thread.told:
            raise HeldUpError
        task = self._served.task
        while self.closed:
            if task is None:
                without(self._latch, self._open.wait)
            else:
                task.without(self._open.wait)
        if not thread.opened:
            raise MQError(Reason.CONNECTION_BROKEN, why="it was ended while it was held up")
