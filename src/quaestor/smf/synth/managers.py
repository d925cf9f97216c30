"""What the message, data, lock and storage managers count, and the queues: QMST, QIST, QLST, QSST, QQST, QSPH to QSRS.

Rules
  M1  QMST counts every MQI call of every task once: its sums are those of the queue records (MQI calls per verb).
  M2  QIST counts messages that moved; gets come from the buffer pool unless the task read its page set.
  M3  QQST of a queue is the sum over all tasks that used it; depth follows from rate and time on queue.

Called by statistics.  Calls ledger.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from quaestor.layout import Record
from quaestor.smf.sections.queue import QueueStatistics
from quaestor.smf.sections.storage import StorageGetmain, StoragePool
from quaestor.smf.synth.incidents import Conditions
from quaestor.smf.synth.ledger import Ledger
from quaestor.smf.synth.profile import Queue, QueueManager
from quaestor.smf.synth.sheet import Figures, tod

Counts = NDArray[np.int64]

_VERBS = ("opens", "closes", "gets", "puts", "put1s", "inquires", "sets")
_MB = 1 << 20
_SHARED_FLAG = 0x80000000
_POOLS = (("CSQLPOOL", 40), ("CSQMPOOL", 25), ("CSQRPOOL", 8), ("CSQPPOOL", 60))


def message_figures(ledger: Ledger) -> Figures:
    """QMST columns (M1)."""
    persistent = ledger.total("queue", "puts_persistent", "put1s_persistent")
    valid, put_bytes = ledger.total("queue", "valid_puts"), ledger.total("queue", "put_bytes")
    persistent_bytes = sum(
        (_persistent_bytes(ledger, name) for name in ledger.names("queue")), np.zeros(ledger.intervals, np.int64)
    )
    return {
        **{verb: ledger.total("queue", verb) for verb in _VERBS},
        "persistent_puts": persistent,
        "nonpersistent_puts": valid - persistent,
        "persistent_bytes_put": persistent_bytes,
        "nonpersistent_bytes_put": put_bytes - persistent_bytes,
    }


def _persistent_bytes(ledger: Ledger, queue: object) -> Counts:
    """Bytes put to a queue by persistent messages: their share of the messages."""
    valid = np.maximum(1, ledger.sum("queue", queue, "valid_puts"))
    persistent = ledger.sum("queue", queue, "puts_persistent", "put1s_persistent")
    return np.asarray(ledger.sum("queue", queue, "put_bytes") * persistent // valid)


def data_figures(ledger: Ledger) -> Figures:
    """QIST columns (M2)."""
    from_disk = ledger.total("pool", "gets_from_disk")
    valid = ledger.total("queue", "valid_gets")
    return {
        "message_gets": valid,
        "message_puts": ledger.total("queue", "valid_puts"),
        "browse_locks": ledger.total("queue", "browses"),
        "object_gets": ledger.total("queue", "opens"),
        "object_locates": ledger.total("queue", "opens"),
        "gets_from_disk": from_disk,
        "gets_from_buffer": valid - from_disk,
    }


def lock_figures(ledger: Ledger) -> Figures:
    moved = ledger.total("queue", "valid_puts", "valid_gets")
    units = ledger.total("task", "units")
    return {"lock_gets": 3 * moved + 2 * units, "already_held": moved // 8, "lock_releases": moved + units}


def storage_figures(ledger: Ledger) -> Figures:
    """QSST columns: what tasks obtain they give back."""
    tasks = ledger.total("all", "tasks")
    return {
        "variable_pools_allocated": tasks,
        "variable_pools_freed": tasks,
        "getmains": 2 * tasks + 12,
        "freemains": 2 * tasks + 12,
    }


def queue_template(queue: Queue, manager: QueueManager) -> Record:
    """QQST of one queue, as far as it never changes."""
    return QueueStatistics(
        queue=queue.name,
        flag_bits=_SHARED_FLAG if queue.shared else 0,
        page_set=-1 if queue.shared else queue.page_set,
        buffer_pool=-1 if queue.shared else manager.pool_of(queue.page_set),
        queue_sharing_group=manager.queue_sharing_group if queue.shared else "",
        structure=queue.structure,
    )


def queue_figures(queue: Queue, ledger: Ledger, end_us: Counts) -> Figures:
    """QQST columns of one queue (M3)."""

    def sums(*figures: str) -> Counts:
        return ledger.sum("queue", queue.name, *figures)

    length_us = int(end_us[1] - end_us[0]) if len(end_us) > 1 else 86_400_000_000
    puts, put1s, gets = sums("put_only"), sums("put1s"), sums("destructive")
    put_bytes, get_bytes, browsed = sums("put_bytes"), sums("get_bytes"), sums("browses")
    valid_puts, valid_gets = np.maximum(1, sums("valid_puts")), np.maximum(1, sums("valid_gets"))
    by_put1 = put_bytes * put1s // valid_puts
    by_browse = get_bytes * browsed // valid_gets
    persistent_gets = sums("gets_persistent")
    depth = np.ceil(puts * queue.on_queue_ms * 1000 / length_us).astype(np.int64)
    return {
        "depth": depth,
        "depth_high": 3 * depth + np.minimum(1, puts),
        "puts": puts,
        "put1s": put1s,
        "puts_persistent": sums("puts_persistent"),
        "puts_nonpersistent": puts - sums("puts_persistent"),
        "put1s_persistent": sums("put1s_persistent"),
        "put1s_nonpersistent": put1s - sums("put1s_persistent"),
        "put_bytes": put_bytes - by_put1,
        "put1_bytes": by_put1,
        "put_bytes_persistent": (put_bytes - by_put1) * sums("puts_persistent") // np.maximum(1, puts),
        "put_bytes_nonpersistent": (put_bytes - by_put1)
        - (put_bytes - by_put1) * sums("puts_persistent") // np.maximum(1, puts),
        "puts_failed": sums("refused"),
        "message_size_average": put_bytes // valid_puts,
        "gets": gets,
        "gets_persistent": persistent_gets,
        "gets_nonpersistent": gets - persistent_gets,
        "get_bytes": get_bytes - by_browse,
        "browses": browsed,
        "browse_bytes": by_browse,
        "gets_failed": sums("misses"),
        "gets_no_message": sums("misses"),
        "opens": sums("opens"),
        "closes": sums("closes"),
        "inquires": sums("inquires"),
        "sets": sums("sets"),
        "messages_expired": sums("messages_expired"),
        "last_put_at": np.where(puts + put1s > 0, tod(end_us - 400_000), np.uint64(0)),
        "last_get_at": np.where(gets > 0, tod(end_us - 300_000), np.uint64(0)),
    }


def storage_pools(conditions: Conditions) -> list[tuple[Callable[[], Record], Figures]]:
    """QSPH of some pools."""
    size = 4 if conditions.manager.queue_sharing_group else 3
    return [
        (
            partial(StoragePool, pool=name, pool_size=mb * _MB, pool_size_before=mb * _MB, pools=1, record_size=4096),
            {},
        )
        for name, mb in _POOLS[:size]
    ]


def getmains(conditions: Conditions) -> list[tuple[Callable[[], Record], Figures]]:
    """QSGM of some callers."""
    count = conditions.profile.intervals_per_day
    return [
        (
            partial(StorageGetmain, csect=csect, csect_offset=0x1A4, storage_class=2),
            {
                "held": np.full(count, held * _MB),
                "requests": np.full(count, 12),
                "request_high": np.full(count, 65_536),
                "request_low": np.full(count, 128),
            },
        )
        for csect, held in (("CSQMCMAI", 3), ("CSQRSTRT", 1))
    ]


def storage_summary(conditions: Conditions, rng: np.random.Generator) -> Figures:
    """QSRS columns: an address space with room to spare."""
    count = conditions.profile.intervals_per_day
    used_31 = 280 + rng.integers(0, 40, count)
    pools = sum(each.buffers for each in conditions.manager.buffer_pools) * 4096
    return {
        "region_31_size": np.full(count, 1600 * _MB),
        "region_31_limit": np.full(count, 1600 * _MB),
        "region_31_user_allocated": used_31 * _MB,
        "region_31_available": (1600 - used_31) * _MB,
        "region_31_cushion": np.full(count, 80 * _MB),
        "memlimit": np.full(count, 1 << 35),
        "objects_64_size": np.full(count, pools + 512 * _MB),
        "usable_64_high": np.full(count, pools + 640 * _MB),
        "objects_64": np.full(count, 12),
        "available_64": np.full(count, (1 << 35) - pools - 640 * _MB),
    }
