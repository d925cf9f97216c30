"""Consumers: messages brought to a function instead of being asked for (MQCB, MQCTL).

Rules
  CO1 The consumers of a connection are called by one thread, one message at a time, in turn.
  CO2 A consumer is called while its connection is started: START begins, STOP and DISC end (and wait for the call that
      is under way), SUSPEND and RESUME pause one consumer or all. After SUSPEND or DEREGISTER has answered no message
      is got for it any more: the get and the call that are under way are waited for, too. What is started is not
      started again (2500, 2534); a function that has stopped its own connection may start it again before it returns.
  CO3 A get that fails is told to the consumer as the reason in its context; one that cannot be repeated (the queue or
      the connection is gone) suspends it. No message is told only to a consumer that waits for a limited time. A
      message that comes with a warning has come, unless it was too long (2080): that one is still on its queue, and the
      consumer is suspended until it resumes or is registered anew, with more room. The context says so (State).
  CO4 START, STOP, REGISTER and DEREGISTER are told to consumers that asked to be called for them.

Called by calls.  Calls get, as an application would; events.
"""

import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ibmmqc.events import Events
from ibmmqc.structures import CBC, GMO, MD
from quaestor.mqi.options import GetOptions
from quaestor.mqi.reasons import CompCode, MQError, Reason

OP_START, OP_START_WAIT, OP_STOP = 1, 2, 4
OP_REGISTER, OP_DEREGISTER, OP_SUSPEND, OP_RESUME = 256, 512, 65536, 131072
OF_CONSUMERS = OP_REGISTER | OP_DEREGISTER | OP_SUSPEND | OP_RESUME
CALL_START, CALL_STOP, CALL_REGISTER, CALL_DEREGISTER, CALL_REMOVED, CALL_KEPT = 1, 2, 3, 4, 6, 7
TOLD = {CALL_START: 1, CALL_STOP: 4, CALL_REGISTER: 256, CALL_DEREGISTER: 512}  # CO4: the option that asks for it
FAILED = int(CompCode.FAILED)
NO_MSG_AVAILABLE, GET_INHIBITED, TRUNCATED_MSG_FAILED = 2033, 2016, 2080
GOES_ON, FOR_A_WHILE, FOR_ITS_ACTION, FOR_GOOD = range(4)
"""MQCS: whether a consumer is suspended, and until when."""

LENGTH_ANY = -1
LONGEST = 100 << 20
_BROWSES = int(GetOptions.BROWSE_FIRST | GetOptions.BROWSE_NEXT | GetOptions.BROWSE_MSG_UNDER_CURSOR)
_ALONE_MS, _AMONG_OTHERS_MS = 200, 10

Get = Callable[[int, bytes, bytes, int], tuple[bytes, bytes, bytes, int, int, int]]
Call = Callable[[int, bytes, bytes, bytes | None, bytes], None]


@dataclass
class Consumer:
    """A function that wants the messages of a queue."""

    hobj: int
    md: bytes
    gmo: bytes
    options: int
    max_length: int
    suspended: bool = False
    waited_ms: int = 0
    turn: Any = field(default_factory=threading.RLock)
    """Held while it is served; its own function may change it."""


class Consumers:
    """The consumers of one connection, and the thread that calls them (CO1)."""

    def __init__(self, hconn: int, get: Get, call: Callable[[], Call | None], connected: Callable[[], bool]) -> None:
        self.events = Events(connected, self._invoke)
        self._hconn = hconn
        self._get = get
        self._call = call
        self._consumers: dict[int, Consumer] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._here: threading.Thread | None = None
        """The thread that is called from START_WAIT until somebody stops it."""
        self._running = False
        self._paused = False

    def register(self, consumer: Consumer) -> None:
        with self._changed:
            self._consumers[consumer.hobj] = consumer
            self._changed.notify_all()
        self._tell(consumer, CALL_REGISTER)

    def register_handler(self, handler: Consumer) -> None:
        """The event handler takes the place of the one before (EV1)."""
        self.events.register(handler)
        self._tell(handler, CALL_REGISTER)

    def deregister_handler(self) -> bool:
        handler = self.events.deregister()
        if handler is not None:
            self._tell(handler, CALL_DEREGISTER)
        return handler is not None

    def deregister(self, hobj: int) -> bool:
        with self._changed:
            consumer = self._consumers.pop(hobj, None)
        if consumer is not None:
            _settled(consumer)
            self._tell(consumer, CALL_DEREGISTER)
        return consumer is not None

    def suspend(self, hobj: int, *, suspended: bool) -> bool:
        """Pause or resume one consumer (CO2)."""
        with self._changed:
            consumer = self._consumers.get(hobj)
            if consumer is not None:
                consumer.suspended = suspended
            self._changed.notify_all()
        if consumer is not None:
            _settled(consumer)
        return consumer is not None

    def pause(self, *, paused: bool) -> None:
        """Pause or resume them all (CO2)."""
        with self._changed:
            self._paused = paused
            self._changed.notify_all()
        for consumer in list(self._consumers.values()):
            _settled(consumer)

    def start(self, *, here: bool = False) -> None:
        """Begin to call; `here` calls on this thread until somebody stops it (CO2)."""
        current = threading.current_thread()
        with self._changed:
            if self._running:
                raise MQError(Reason.OPERATION_NOT_ALLOWED if here else Reason.HCONN_ASYNC_ACTIVE)
            self._running, before = True, self._thread
        self._tell_all(CALL_START)
        if current in (before, self._here):
            return  # its own stop is taken back
        if here:
            self._here = current
            self._serve(before)
            self._here = None
            return
        self._thread = threading.Thread(
            target=self._serve, args=(before,), name=f"consumers {self._hconn}", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the calling; the call under way is waited for, unless it is what stops us (CO2)."""
        with self._changed:
            was_running, self._running = self._running, False
            self._changed.notify_all()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            self._thread = None
            thread.join()
        if was_running:
            self._tell_all(CALL_STOP)

    @property
    def running(self) -> bool:
        return self._running

    # -- the thread

    def _serve(self, before: threading.Thread | None) -> None:
        """Call while the connection is started; one that served `before` may still be in its last call (CO1)."""
        if before is not None:
            before.join()
        while self._running:
            with self._changed:
                active = [] if self._paused else [each for each in self._consumers.values() if not each.suspended]
                if not active:
                    self._changed.wait(_ALONE_MS / 1000)
                    continue
            for consumer in active:
                with consumer.turn:
                    if self._wants(consumer):
                        self._serve_one(consumer, _ALONE_MS if len(active) == 1 else _AMONG_OTHERS_MS)

    def _wants(self, consumer: Consumer) -> bool:
        there = self._consumers.get(consumer.hobj) is consumer
        return self._running and there and not self._paused and not consumer.suspended

    def _serve_one(self, consumer: Consumer, slice_ms: int) -> None:
        """Get a message, waiting a little, and call the consumer with it."""
        asked = GMO.read(consumer.gmo)
        limited = bool(asked["Options"] & GetOptions.WAIT) and asked["WaitInterval"] >= 0
        gmo = GMO.write(consumer.gmo, Options=asked["Options"] | int(GetOptions.WAIT), WaitInterval=slice_ms)
        room = LONGEST if consumer.max_length == LENGTH_ANY else consumer.max_length
        body, md, gmo, length, comp_code, reason = self._get(consumer.hobj, consumer.md, gmo, room)
        if reason == NO_MSG_AVAILABLE:
            consumer.waited_ms += slice_ms
            if not limited or consumer.waited_ms < asked["WaitInterval"]:
                return  # CO3
        consumer.waited_ms = 0
        if comp_code == FAILED:
            self.events.happened(reason)
        state = _state(comp_code, reason)
        consumer.suspended = consumer.suspended or state >= FOR_ITS_ACTION
        kept = comp_code == FAILED or reason == TRUNCATED_MSG_FAILED or asked["Options"] & _BROWSES
        self._invoke(
            consumer, CALL_KEPT if kept else CALL_REMOVED, (md, gmo, None if comp_code == FAILED else body),
            CompCode=comp_code, Reason=reason, State=state, DataLength=length, BufferLength=len(body),
        )  # fmt: skip

    def _tell_all(self, call_type: int) -> None:
        for consumer in list(self._consumers.values()):
            self._tell(consumer, call_type)

    def _tell(self, consumer: Consumer, call_type: int) -> None:
        if consumer.options & TOLD[call_type]:
            self._invoke(consumer, call_type, None)

    def _invoke(
        self, consumer: Consumer, call_type: int, given: tuple[bytes, bytes, bytes | None] | None, **context: Any
    ) -> None:
        call = self._call()
        if call is None:
            return
        md, gmo, body = given or (MD.blank(), GMO.blank(), None)
        packed = CBC.write(CBC.blank(), StrucId="CBC ", Version=2, CallType=call_type, Hobj=consumer.hobj, **context)
        try:
            call(self._hconn, md, gmo, body, packed)
        except Exception:  # noqa: BLE001 - whatever the application's function raises is its own, and is shown
            traceback.print_exc(file=sys.stderr)


def _state(comp_code: int, reason: int) -> int:
    """What becomes of a consumer whose get ended so (CO3)."""
    if reason == TRUNCATED_MSG_FAILED:
        return FOR_ITS_ACTION
    if comp_code != FAILED or reason == NO_MSG_AVAILABLE:
        return GOES_ON
    return FOR_A_WHILE if reason == GET_INHIBITED else FOR_GOOD


def _settled(consumer: Consumer) -> None:
    """Wait until nothing is under way for a consumer, unless it is its own function that waits (CO2)."""
    with consumer.turn:
        pass
