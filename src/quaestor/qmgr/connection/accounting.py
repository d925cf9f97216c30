"""Accounting of one task: the hook that each call of an application passes when accounting is on.

Rules
  AC1 A connection without an account pays nothing: its handles are of another class than accounted ones.
  AC2 Each call is told once, when it has ended, with its verb, queue, message, reason, elapsed and CPU time.

Called by connection.  Answered by statistics, which counts into the SMF 116 sections.
"""

from typing import Protocol

from quaestor.mqi.messages import Message


class TaskAccount(Protocol):
    """What a call tells (AC2)."""

    def call(
        self, verb: str, queue: str, message: Message | None, reason: int, elapsed_ns: int, cpu_ns: int
    ) -> None: ...
