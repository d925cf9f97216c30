"""Small engine: an engine with one queue, and counting since a moment.

Called by tests and by anybody who wants to prove the same of their own programs.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any

from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD, NO_ID
from quaestor.mqi.messages import Message
from quaestor.mqi.objects import LocalQueue
from quaestor.qmgr.data.engine import Engine, EngineSettings
from quaestor.qmgr.data.queue import PrivateQueue
from quaestor.qmgr.recovery import UnitOfRecovery
from quaestor.qmgr.resource_manager import Task
from quaestor.testing.faulty_disk import FaultyDisk

SMALL = EngineSettings(
    logs=3,
    log_bytes=1 << 20,
    outbuff_kb=64,
    logload=1000,
    buffer_pools={0: 64, 1: 64},
    page_sets={0: 0, 1: 1},
    pages=64,
    expansion=256,
)


DESCRIPTOR = MQMD()


class SmallEngine:
    """An engine with one queue, used as the papers' examples do: put, get, commit, back out."""

    def __init__(
        self, disk: Any = None, settings: EngineSettings = SMALL, queue: str = "ORDERS", **definition: Any
    ) -> None:
        self.disk = disk if disk is not None else FaultyDisk()
        self.clock = FakeClock()
        self.engine = Engine(self.disk, self.clock, settings)
        self.restarted = self.engine.start()
        self.log, self.buffers, self.recovery = self.engine.log, self.engine.buffers, self.engine.recovery
        self.data, self.locks = self.engine.data, self.engine.locks
        definition.setdefault("page_set", max(settings.page_sets))
        self.recovery.latch.acquire()
        self.queue: PrivateQueue = self.data.queue(LocalQueue(queue, **definition))

    def begin(self) -> UnitOfRecovery:
        return self.recovery.begin()

    def put(
        self,
        unit: UnitOfRecovery | None,
        body: bytes,
        *,
        persistent: bool = True,
        priority: int = 0,
        correl_id: bytes = NO_ID,
        queue: PrivateQueue | None = None,
    ) -> None:
        message = self._message(body, priority, correl_id, persistent=persistent)
        self.data.put(unit, queue or self.queue, message, priority)

    def put_express(self, body: bytes, *, priority: int = 0) -> bool:
        """Put and commit a persistent message in one step; whether it went so."""
        body, envelope, msg_id, correl_id, *_ = self._message(body, priority)
        now_us = self.clock.now_us()
        put = self.engine.express(
            self.queue, body, envelope, msg_id, correl_id, priority, priority, now_us, 0, -1, lambda _: None
        )
        return put is not None

    def _message(self, body: bytes, priority: int, correl_id: bytes = NO_ID, *, persistent: bool = True) -> Message:
        msg_id = (self.data.sequence + 1).to_bytes(24, "big")
        return Message(body, MQMD(), msg_id, correl_id, priority, int(persistent), self.clock.now_us())

    def put_all(self, unit: UnitOfRecovery, bodies: Sequence[bytes], *, priority: int = 0) -> int:
        """Put persistent messages together; gives how many were."""
        now_us, ids = self.clock.now_us(), range(self.data.sequence + 1, self.data.sequence + 1 + len(bodies))
        messages = [
            Message(body, DESCRIPTOR, number.to_bytes(24, "big"), NO_ID, priority, 1, now_us)
            for number, body in zip(ids, bodies, strict=True)
        ]
        return self.data.put_run(unit, self.queue, messages, priority)

    def get(self, unit: UnitOfRecovery | None, queue: PrivateQueue | None = None, **wanted: Any) -> bytes | None:
        arrival = self.data.locate(queue or self.queue, **wanted)
        if arrival is None:
            return None
        message = self.data.read(arrival)
        self.data.take(unit, arrival)
        return message.body

    def commit(self, unit: UnitOfRecovery) -> None:
        self.recovery.commit(unit)

    def back_out(self, unit: UnitOfRecovery) -> None:
        self.recovery.back_out(unit)

    def bodies(self, queue: PrivateQueue | None = None) -> list[bytes]:
        """Every message that is there for anybody, in order."""
        return [self.data.read(arrival).body for arrival in self.data.browse(queue or self.queue)]

    def run_tasks(self) -> None:
        """One step of every background task."""
        for manager in (self.log, self.buffers, self.recovery, self.data):
            for task in manager.tasks():
                self._run(task)

    def _run(self, task: Task) -> None:
        if task.latched:
            task.step()
            return
        self.recovery.latch.release()
        try:
            task.step()
        finally:
            self.recovery.latch.acquire()

    def again(self, settings: EngineSettings | None = None) -> "SmallEngine":
        """What a restart on the same disk finds, without anything having been told to stop."""
        return SmallEngine(self.disk, settings or self.engine.settings, self.queue.name)


def since(before: Any, now: Any, *fields: str) -> tuple[int, ...]:
    """How much counters of a section have grown."""
    return tuple(getattr(now, name) - getattr(before, name) for name in fields)


def snapshot(section: Any) -> Any:
    """A section as it is now, to count from."""
    return copy(section)
