"""The channel initiator's buffer pools: which buffer serves a request, what stays free, what the scavenger releases.

Rules
  P1  Each dispatcher has pools of 4, 8, 16, 32 and 36 KB; all share pools of 64, 128, 256, 512 KB, 1 MB and larger.
  P2  A request takes a free buffer of the size that fits, else of the next size up, else a new one is allocated.
  P3  A stopped channel's buffers go back to the pools, not to the system: usage does not fall.
  P4  A pool keeps up to 50 free buffers, the one above 1 MB up to 5; buffers in use are not limited.
  P5  At 75% of the storage the scavenger releases every free buffer except one of 4 KB and one of 36 KB a dispatcher.
      What is in use it cannot release.
  P6  CSQX004I comes hourly, or when usage has changed by more than 2%; only after it does the scavenger run.

Called by the planner's answers; the same rules bind the channel initiator.  Calls bounds, channels, source.
"""

from dataclasses import dataclass, replace

from quaestor.planner.bounds import above, at_least
from quaestor.planner.channels import SCAVENGER_PERCENT, storage_percent
from quaestor.planner.source import OutOfRangeError, formula

EXTRACT = "mp16-ch2-3"

DISPATCHER_POOLS_KB = (4, 8, 16, 32, 36)
SHARED_POOLS_KB = (64, 128, 256, 512, 1024)
KEPT_KB = (4, 36)
FREE_BUFFERS_MAX = 50
FREE_BUFFERS_ABOVE_1_MB_MAX = 5
LARGEST_MESSAGE_MB = 100
BUFFERS_PER_SVRCONN = 3
BUFFERS_PER_MCA = 2
SHARED = -1  # the owner of a buffer that all dispatchers use
MESSAGE_INTERVAL_S = 3600
MESSAGE_CHANGE_PERCENT = 2


@dataclass(frozen=True, slots=True, order=True)
class Buffer:
    """One buffer: the dispatcher it belongs to, or SHARED, and its size."""

    owner: int
    size_kb: int


@dataclass(frozen=True, slots=True)
class BufferPools:
    """Every buffer of a channel initiator, in use or free."""

    in_use: tuple[Buffer, ...] = ()
    free: tuple[Buffer, ...] = ()

    @property
    def used_kb(self) -> int:
        """What CSQX004I counts: free buffers too (P3)."""
        return sum(buffer.size_kb for buffer in (*self.in_use, *self.free))


@formula(EXTRACT, "B2 buffer size (CH-M1)", "3345-3366")
def buffer_size_kb(request_kb: int) -> int:
    """The size that fits a request; above 1 MB the request's own (P1)."""
    above(0, request_kb=request_kb)
    return next((size for size in (*DISPATCHER_POOLS_KB, *SHARED_POOLS_KB) if size >= request_kb), request_kb)


@formula(EXTRACT, "B2 allocation (CH-M2)", "3357")
def take(pools: BufferPools, dispatcher: int, request_kb: int) -> tuple[BufferPools, Buffer]:
    """The pools after a dispatcher took a buffer for a request, and the buffer (P2)."""
    at_least(0, dispatcher=dispatcher)
    size = buffer_size_kb(request_kb)
    owner = dispatcher if size <= DISPATCHER_POOLS_KB[-1] else SHARED
    fitting = sorted(buffer for buffer in pools.free if buffer.owner == owner and buffer.size_kb >= size)
    if not fitting:
        new = Buffer(owner, size)
        return replace(pools, in_use=(*pools.in_use, new)), new
    taken = fitting[0]
    return BufferPools((*pools.in_use, taken), _without(pools.free, taken)), taken


@formula(EXTRACT, "B2 return to the pools (CH-M3, CH-M4)", "3368-3382")
def give_back(pools: BufferPools, buffer: Buffer) -> BufferPools:
    """The pools after a buffer came back: kept free up to the pool's limit, else released (P3, P4)."""
    if buffer not in pools.in_use:
        raise OutOfRangeError(f"{buffer} is not in use; valid are the {len(pools.in_use)} buffers that are")
    in_use = _without(pools.in_use, buffer)
    full = sum(_same_pool(buffer, other) for other in pools.free) >= _free_limit(buffer)
    return BufferPools(in_use, pools.free if full else (*pools.free, buffer))


@formula(EXTRACT, "B2 scavenger (CH-M5)", "3400-3406")
def scavenge(pools: BufferPools) -> BufferPools:
    """The pools after the scavenger: of the free buffers only one of 4 KB and one of 36 KB a dispatcher stay (P5)."""
    kept = {buffer for buffer in pools.free if buffer.size_kb in KEPT_KB}
    return replace(pools, free=tuple(sorted(kept)))


@formula(EXTRACT, "B2 what the scavenger leaves (ORACLE 50)", "3406")
def scavenged_kb(dispatchers: int) -> int:
    """Storage of the buffers that stay when nothing is in use."""
    at_least(1, dispatchers=dispatchers)
    return dispatchers * sum(KEPT_KB)


@formula(EXTRACT, "B2 scavenger due", "3400-3404")
def scavenger_due(used_kb: float, available_kb: float) -> bool:
    """Whether usage is such that the scavenger runs after the next CSQX004I (P5, P6)."""
    return storage_percent(used_kb, available_kb) >= SCAVENGER_PERCENT


@formula(EXTRACT, "B2 CSQX004I due", "3404")
def storage_message_due(seconds_since_last: float, used_kb_at_last: float, used_kb: float) -> bool:
    """Whether CSQX004I is due (P6)."""
    above(0, used_kb_at_last=used_kb_at_last)
    at_least(0, seconds_since_last=seconds_since_last, used_kb=used_kb)
    changed = abs(used_kb - used_kb_at_last) * 100 > MESSAGE_CHANGE_PERCENT * used_kb_at_last
    return changed or seconds_since_last >= MESSAGE_INTERVAL_S


@formula(EXTRACT, "B2 buffers of running channels (CH-M4)", "3372")
def buffers_in_use(mca_channels: int, svrconn_channels: int = 0) -> int:
    """Buffers that running channels typically hold: one for the message and one for the network, clients one more."""
    at_least(0, svrconn_channels=svrconn_channels, mca_channels=mca_channels)
    clients = BUFFERS_PER_SVRCONN * svrconn_channels
    return BUFFERS_PER_MCA * mca_channels + clients


@formula(EXTRACT, "B2 most free storage [D]", "3368")
def free_buffers_kb_max(dispatchers: int, largest_message_mb: int = LARGEST_MESSAGE_MB) -> int:
    """What may lie free in the pools at most, until the scavenger comes (P4)."""
    at_least(1, dispatchers=dispatchers)
    own = FREE_BUFFERS_MAX * sum(DISPATCHER_POOLS_KB) * dispatchers
    return own + FREE_BUFFERS_MAX * sum(SHARED_POOLS_KB) + largest_free_kb(largest_message_mb)


@formula(EXTRACT, "B2 free buffers above 1 MB", "3368, 3380")
def largest_free_kb(largest_message_mb: int = LARGEST_MESSAGE_MB) -> int:
    """What may lie free above 1 MB."""
    at_least(1, largest_message_mb=largest_message_mb)
    return FREE_BUFFERS_ABOVE_1_MB_MAX * largest_message_mb * 1024


def _without(buffers: tuple[Buffer, ...], gone: Buffer) -> tuple[Buffer, ...]:
    at = buffers.index(gone)
    return buffers[:at] + buffers[at + 1 :]


def _is_above_1_mb(buffer: Buffer) -> bool:
    return buffer.size_kb > SHARED_POOLS_KB[-1]


def _same_pool(one: Buffer, other: Buffer) -> bool:
    """All buffers above 1 MB are one pool; below it, one for each owner and size."""
    return one == other or (_is_above_1_mb(one) and _is_above_1_mb(other))


def _free_limit(buffer: Buffer) -> int:
    return FREE_BUFFERS_ABOVE_1_MB_MAX if _is_above_1_mb(buffer) else FREE_BUFFERS_MAX
