"""Parked: a get that waits, and what is needed to look again for it (conversation CV4).

Called by conversation and service.  Calls nothing.
"""

from typing import TYPE_CHECKING, Any

from quaestor.qmgr.message import Waiting
from quaestor.server.open_handle import OpenHandle

if TYPE_CHECKING:
    from quaestor.server.conversation import Conversation


class Parked:
    """A get that waits (CV4)."""

    __slots__ = ("conversation", "max_length", "number", "opened", "options", "selecting", "wait_ms", "waiting")

    def __init__(
        self,
        conversation: "Conversation",
        number: int,
        opened: OpenHandle,
        options: int,
        wait_ms: int,
        max_length: int | None,
        selecting: dict[str, Any],
        waiting: Waiting,
    ) -> None:
        self.conversation, self.number, self.opened = conversation, number, opened
        self.options, self.wait_ms, self.max_length, self.selecting = options, wait_ms, max_length, selecting
        self.waiting = waiting
