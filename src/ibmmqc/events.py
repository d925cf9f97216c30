"""Events: the function of a connection that is told what becomes of the connection itself (MQCB, event handler).

Rules
  EV1 A connection has one. Nothing is got for it, and the object handle it is registered with does not count: what it
      is told names none (MQHO_NONE). Of control it is told REGISTER and DEREGISTER, if it asked for them.
  EV2 It is told that the connection is broken (2009) or that the queue manager ends (2161, 2162), each once, whether or
      not the connection is started: a broken one soon by itself, the others when a consumer's get is refused for them.
      What is of one consumer only (2016) it is not told.
  EV3 What happens while it is suspended it is not told later either.

Called by calls and consumers.  Calls the application's function.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from quaestor.mqi.reasons import CompCode, Reason

if TYPE_CHECKING:
    from ibmmqc.consumers import Consumer

CALL_EVENT = 5
OF_THE_CONNECTION = frozenset(map(int, (Reason.CONNECTION_BROKEN, Reason.Q_MGR_QUIESCING, Reason.Q_MGR_STOPPING)))
_LOOK_S = 0.2


class Events:
    """The event handler of one connection, and the thread that looks whether there still is one."""

    def __init__(self, connected: Callable[[], bool], invoke: Callable[..., None]) -> None:
        self._connected, self._invoke = connected, invoke
        self._handler: Consumer | None = None
        self._told: set[int] = set()
        self._telling = threading.Lock()
        self._over = threading.Event()

    def register(self, handler: "Consumer") -> None:
        self._over.set()  # who looks for the one before
        self._over, self._handler, self._told = threading.Event(), handler, set()
        threading.Thread(target=self._watch, args=(self._over,), name="events", daemon=True).start()

    def deregister(self) -> "Consumer | None":
        """Tell it no more; gives who it was."""
        self._over.set()
        handler, self._handler = self._handler, None
        return handler

    def suspend(self, *, suspended: bool) -> bool:
        """EV3."""
        handler = self._handler
        if handler is not None:
            handler.suspended = suspended
        return handler is not None

    def happened(self, reason: int) -> None:
        """A call was refused for this (EV2)."""
        with self._telling:
            handler = self._handler
            if handler is None or reason not in OF_THE_CONNECTION or reason in self._told:
                return
            self._told.add(reason)
        if not handler.suspended:
            self._invoke(handler, CALL_EVENT, None, CompCode=int(CompCode.FAILED), Reason=reason)

    def _watch(self, over: threading.Event) -> None:
        while not over.wait(_LOOK_S):
            if not self._connected():
                self.happened(int(Reason.CONNECTION_BROKEN))
                return
