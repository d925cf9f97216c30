"""Records that were read before: dumps overlap, and the same records come in several of them.

Rules
  K1  MQ stamps every record with a clock, so two MQ records of equal bytes are copies of one. What follows the RDW is
      compared, segments joined: framing and compression are no part of a record.
  K2  The first copy stays where it is; later ones are left out of their block, and counted.
  K3  A digest of 128 bits stands for a record, so that what was read is not kept. Records of other products are not
      looked at: nobody asks for them.

Called by who reads several dumps as one.  Calls framing for the block.
"""

from dataclasses import replace
from hashlib import blake2b

import numpy as np

from quaestor.smf.blocks import Block

_RDW, _TYPE, _MQ = 4, 5, (115, 116)
_DIGEST_BYTES = 16


class Copies:
    """What has been read, and how many copies of it came after (K2)."""

    __slots__ = ("_seen", "left_out")

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self.left_out = 0

    def without(self, block: Block) -> Block:
        """The block without the records that were read before, in it or in an earlier one."""
        data = memoryview(block.data)
        begins, ends = block.offsets.tolist(), (block.offsets + block.lengths).tolist()
        new = [self._is_new(data[begin:end]) for begin, end in zip(begins, ends, strict=True)]
        if all(new):
            return block
        kept = np.array(new, bool)
        self.left_out += int((~kept).sum())
        return replace(block, offsets=block.offsets[kept], lengths=block.lengths[kept], positions=block.positions[kept])

    def _is_new(self, record: memoryview) -> bool:
        if record[_TYPE] not in _MQ:
            return True  # K3
        digest = blake2b(record[_RDW:], digest_size=_DIGEST_BYTES).digest()  # K1
        if digest in self._seen:
            return False
        self._seen.add(digest)
        return True
