"""Layers: what each manager costs per message, by leaving the ones above it out."""

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from engine.contestants import BODY, Quaestor
from quaestor.mqi.descriptors import MQMD, NO_ID
from quaestor.mqi.messages import Message, id_maker
from quaestor.qmgr.data.stored import short_beginning
from quaestor.qmgr.lock import LockManager
from quaestor.qmgr.queue_store import Arrival
from quaestor.storage.log_record import Kind

MEMORY = Path("/dev/shm")
MESSAGES = 6000


def layers() -> None:
    """Microseconds of processor per persistent message of 1 KB, in memory, so that no disk is waited for."""
    if not MEMORY.is_dir():
        print("\nlayers: not measured, because there is no file system in memory")
        return
    directory = Path(tempfile.mkdtemp(dir=MEMORY))
    try:
        for what, cost in _costs(Quaestor(directory)).items():
            print(f"  {what:58} {cost:6.1f} us")
    finally:
        shutil.rmtree(directory)


def _costs(ours: Quaestor) -> dict[str, float]:
    """Every layer with those below it; the difference of two lines is what the upper one adds."""
    print("\nprocessor time per persistent message (in memory), each line with what is below it")
    data = ours.app._recovery.managers[0]  # noqa: SLF001 - the managers under a connection, for measuring only
    recovery, queue = data.recovery, data.queues[max(data.queues)]
    next_id, envelope = id_maker("LAYERS", time.time_ns() // 1000), MQMD(persistence=1)
    message = Message(BODY, envelope, next_id(), NO_ID, 0, 1, 1)
    change, locks, arrival = short_beginning(1, 10, message, 1) + BODY, LockManager(), Arrival()
    arrival.holder = None
    put_many, get_many = (lambda: ours.put((BODY,) * 100)), (lambda: ours.get(100))
    put_many()

    def log_record() -> None:
        with recovery.latch:
            recovery.log.append(Kind.IMAGE, 0, 0, 0, 1, 5, change)

    def lock() -> None:
        locks.lock(arrival, ours)
        locks.unlock(arrival, ours)

    def put_in_store() -> None:
        with recovery.latch:
            unit = recovery.begin()
            for _ in range(100):
                data.put(unit, queue, Message(BODY, envelope, next_id(), NO_ID, 0, 1, 1), 0)
            recovery.commit(unit)

    return {
        "log: one record of 1.2 KB in the buffers": _cost(log_record, 1),
        "locks: taken and released": _cost(lock, 1),
        "pages, recovery, log, locks: put, 100 per commit": _cost(put_in_store, 100, lambda: ours.get(100)),
        "all of it through the MQI: put, 100 per commit": _cost(put_many, 100, get_many),
        "all of it through the MQI: get, 100 per commit": _cost(get_many, 100, put_many),
        "all of it through the MQI: put and commit, one": _cost(lambda: ours.put((BODY,)), 1, lambda: ours.get(1)),
    }


def _cost(work: Callable[[], None], messages: int, undo: Callable[[], None] | None = None) -> float:
    """Microseconds per message, the median of rounds."""
    took, turns = [], MESSAGES // messages
    for _ in range(turns):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
        if undo is not None:
            undo()
    return statistics.median(took) / messages * 1e6
