"""Threads: the calls of one asyncio connection that may wait for the log.

Rules
  TH1 A call goes on when its task is cancelled, also one whose thread has not begun: it is made all the same, and
      somebody (`late`) is told what it gave.
  TH2 What nobody waits for any more is over before the next call of the connection is made: else a commit could end the
      unit that was begun after it.

Called by the connection and the handles for asyncio.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


class Threads:
    """Calls on threads, some of which nobody waits for any more."""

    def __init__(self) -> None:
        self._left: set[asyncio.Future[Any]] = set()

    async def call(self, late: Callable[[T], object], call: Callable[..., T], *args: Any, **named: Any) -> T:
        """Make a call that may wait for the log; `late` is told what it gave if nobody waits for it any more (TH1)."""
        calling = asyncio.ensure_future(self._make(frozenset(self._left), partial(call, *args, **named)))

        def over(done: asyncio.Future[T]) -> None:
            self._left.discard(done)
            if not done.cancelled() and done.exception() is None:
                late(done.result())

        try:
            return await asyncio.shield(calling)
        except asyncio.CancelledError:
            self._left.add(calling)
            calling.add_done_callback(over)
            raise

    async def over(self) -> None:
        """The calls that nobody waits for are (TH2)."""
        if self._left:
            await asyncio.wait(self._left)

    @staticmethod
    async def _make(before: frozenset[asyncio.Future[Any]], call: Callable[[], T]) -> T:
        if before:
            await asyncio.wait(before)
        return await asyncio.to_thread(call)


def nothing(_result: object) -> None:
    """What has come of a call that nobody waits for does not matter."""
