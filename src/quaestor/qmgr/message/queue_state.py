"""Queue state: the working part of a local queue, which its definition does not have (V4).

Called by the parts of the message manager, commands.  Holds what the store and the waiters have of a queue.
"""

from typing import Any

from quaestor.mqi.objects import LocalQueue
from quaestor.qmgr.message.needs import AnyStore, StoredQueue
from quaestor.qmgr.message.waiting import Waiters


class QueueState:
    """The working part of a local queue (V4)."""

    __slots__ = (
        "creator",
        "definition",
        "deleted",
        "dropped",
        "exclusive",
        "handles",
        "input_handles",
        "last_trigger_ns",
        "moving",
        "output_handles",
        "store",
        "stored",
        "waiters",
    )

    def __init__(self, definition: LocalQueue, store: AnyStore, stored: StoredQueue, waiters: Waiters) -> None:
        self.definition = definition
        self.store = store
        self.stored = stored
        self.waiters = waiters
        self.handles = 0
        self.input_handles = 0
        self.output_handles = 0
        self.exclusive = False
        self.deleted = self.dropped = self.moving = False
        self.creator: object | None = None
        self.last_trigger_ns = 0

    @property
    def oldest_us(self) -> int | None:
        """When the oldest message that is there was put: the first of each priority is the oldest of it.

        0 for none; None for a shared queue, of which that is not known here.
        """
        chains: list[Any] | None = getattr(self.stored, "chains", None)
        if chains is None:
            return None
        return min((end.later.put_us for end in chains if end.later is not end), default=0)
