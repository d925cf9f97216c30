"""Readiness: which sockets have something for us, and how to wait for them without falling asleep too early.

Rules
  RD1 A file descriptor is watched for reading, writing or both, and stands for whoever is to be told.
  RD2 Waking a thread whose processor sleeps costs more than serving a request. So a thread that did not wait long the
      last time looks again and again before it sleeps, and between two looks offers its processor to whoever wants it:
      it has the processor only while nobody else does, and for no longer than a force of the log takes (`LOOK_NS`).
      When it comes back late (`TAKEN_NS`), somebody has long work for the processor, and it sleeps, this time and for a
      while (`REST_NS`): who looks on while others work is served behind them when it has work itself.
  RD3 Whoever waited long the last time sleeps at once: an idle server, or a client whose message comes in a minute,
      costs nothing. `QUAESTOR_LOOK_US=0` in the environment makes everybody sleep at once.
  RD4 A thread that sleeps in the receive of a local socket is woken for nothing when the other end takes what it was
      sent: Linux tells it that there is room to write, and does not ask whether it waits for that. One that sleeps in a
      poll for something to read sleeps on. So clients on a local socket do.
  RD5 Who waits for a write that the kernel has in hand, and for sockets besides, sleeps at once: workers of the kernel
      end it, and whoever looks on is in their way. (One that waits for nothing else looks for its end alone, HS2.)

Called by the server, its clients, the coupling facility and its connectors.  Calls the operating system.
"""

import os
import select
import time
from collections.abc import Callable
from typing import Any, TypeVar

READ, WRITE = select.POLLIN, select.POLLOUT
LOOK_NS = int(os.environ.get("QUAESTOR_LOOK_US", "400")) * 1000
BRISK_NS = LOOK_NS * 3 // 2
"""Waits shorter than this are worth looking out for."""

TAKEN_NS, REST_NS = 200_000, 20_000_000
SOCKETS_AT_ONCE = 256
offer_processor = os.sched_yield
Room = TypeVar("Room")
Received = TypeVar("Received")
monotonic_ns = time.monotonic_ns  # the machine's own: nothing is decided by it but when to sleep


class Readiness:
    """Sockets and who is to be told of them (RD1)."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._look = self._epoll.poll
        self.told: dict[int, Any] = {}
        self._brisk = False
        self._rests_until_ns = 0

    def watch(self, fd: int, events: int, told: Any) -> None:
        """Tell `told` of these events from now on; none of them: no more (RD1)."""
        if not events:
            if self.told.pop(fd, None) is not None:
                self._epoll.unregister(fd)
        elif fd in self.told:
            self._epoll.modify(fd, events)
        else:
            self._epoll.register(fd, events)
            self.told[fd] = told

    def now(self) -> list[tuple[int, int]]:
        """File descriptors and their events at this moment."""
        return self._look(0, SOCKETS_AT_ONCE)

    def ready(self, seconds: float, *, look: bool = True) -> list[tuple[int, int]]:
        """File descriptors and their events; waits so long for the first, and may `look` for it (RD2, RD5)."""
        if seconds <= 0:
            return self.now()
        poll, began_ns = self._look, monotonic_ns()
        if look and self._brisk and began_ns >= self._rests_until_ns:
            looked_ns, until_ns = began_ns, began_ns + LOOK_NS
            while looked_ns < until_ns:
                found = poll(0, SOCKETS_AT_ONCE)
                if found:
                    return found
                offer_processor()
                before_ns, looked_ns = looked_ns, monotonic_ns()
                if looked_ns - before_ns > TAKEN_NS:
                    self._rests_until_ns = looked_ns + REST_NS
                    break
        found = poll(seconds, SOCKETS_AT_ONCE)
        self._brisk = monotonic_ns() - began_ns < BRISK_NS
        return found

    def close(self) -> None:
        self.told.clear()
        self._epoll.close()


class Arrival:
    """The same for a thread that waits for one socket and then receives from it, blocking (RD2, RD3).

    With `patience_ms` it sleeps in a poll for no longer than that (RD4).
    """

    __slots__ = ("_brisk", "_look", "_rests_until_ns", "patience_ms")

    def __init__(self, fd: int) -> None:
        poll = select.poll()
        poll.register(fd, READ)
        self._look = poll.poll
        self._brisk = True
        self._rests_until_ns = 0
        self.patience_ms: int | None = None

    def receive(self, receive: Callable[[Room], Received], room: Room) -> Received:
        """What `receive` gives for so many bytes or this room, looked out for first when that paid the last time."""
        began_ns = monotonic_ns()
        if self._brisk and began_ns >= self._rests_until_ns:
            look, looked_ns, until_ns = self._look, began_ns, began_ns + LOOK_NS
            while looked_ns < until_ns and not look(0):
                offer_processor()
                before_ns, looked_ns = looked_ns, monotonic_ns()
                if looked_ns - before_ns > TAKEN_NS:
                    self._rests_until_ns = looked_ns + REST_NS
                    break
        if self.patience_ms is not None and not self._look(self.patience_ms):
            raise TimeoutError("nothing has come")
        data = receive(room)
        self._brisk = monotonic_ns() - began_ns < BRISK_NS
        return data
