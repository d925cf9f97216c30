"""Claiming: the one request of a plain get from a shared queue, and what comes of it (CM2).

Rules
  CM6 A get offers a buffer of the size that its queue remembers; a message that does not fit is asked for again, which
      is a redrive (GB1).

Called by the shared store.  Calls structures.
"""

from dataclasses import replace

from quaestor.mqi.matching import Selection
from quaestor.qmgr.coupling_facility.keys import COMMITTED_RANGE, EXPIRES, GOT, MARK, OFFLOADED, PERSISTENT, where
from quaestor.qmgr.coupling_facility.shared_queue import SharedQueue
from quaestor.storage.lists.operations import LENGTH_MAX, SHORT, Claim, Claimed

IN_UNIT = 0xFF
"""Whatever its flags, it stays on this member's list until a unit ends."""

THOUGHT_OF = EXPIRES | OFFLOADED
"""Flags of an entry that a claim only tells (CM2): it may have expired, or its data is to be read first (CO5)."""


def claim_of(queue: SharedQueue, target: int, tag: bytes, asked: Selection, asks: tuple[bool, int, int]) -> Claim:
    """The claim that a get makes: `asks` is whether in a unit, the longest message and the size of the buffer."""
    in_unit, max_length, buffer = asks
    return Claim(
        queue.list,
        *COMMITTED_RANGE,
        target,
        MARK.pack(tag, queue.list, GOT),
        IN_UNIT if in_unit else PERSISTENT,
        THOUGHT_OF,
        min(max_length, LENGTH_MAX),
        where(asked.msg_id, asked.correl_id, asked.group_id),
        buffer,
    )


def claimed_by(queue: SharedQueue, claim: Claim) -> Claimed | None:
    """What a claim found, asked again with a larger buffer as long as that was too small (CM6)."""
    claimed: Claimed | None
    (claimed,) = queue.structure.ask(claim)
    while claimed is not None and claimed.done == SHORT:
        larger = queue.buffer.too_small(int.from_bytes(claimed.entry.data, "big"))
        (claimed,) = queue.structure.ask(replace(claim, buffer=larger), redriven=True)
    if claimed is not None:
        queue.buffer.fitted(len(claimed.entry.data))
    return claimed
