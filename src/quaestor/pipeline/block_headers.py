"""The SMF headers of all records of a block, as arrays: what records are sorted out by before anything is decoded.

Called by loading and by the data source.  Calls smf for blocks.
"""

from datetime import date
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from quaestor.clock import date_from_packed
from quaestor.layout import CP1047
from quaestor.smf.arrays import Ints, Mask
from quaestor.smf.blocks import Block
from quaestor.smf.gather import gather

_EPOCH = date(1970, 1, 1)
_DAY_US, _HUNDREDTH_US = 86_400_000_000, 10_000
_HEADER = 24  # up to and with the subtype


class BlockHeaders:
    """Type, subtype, names and local time of every record; each must have a whole header."""

    def __init__(self, block: Block) -> None:
        rows = gather(np.frombuffer(block.data, np.uint8), block.offsets, block.lengths, _HEADER)
        self._header = np.frombuffer(rows.data, np.uint8).reshape(-1, _HEADER)

    def _words(self, offset: int) -> NDArray[np.uint64]:
        packed = np.ascontiguousarray(self._header[:, offset : offset + 4])
        return packed.view(">u4").reshape(-1).astype(np.uint64)

    @cached_property
    def types(self) -> NDArray[np.int32]:
        made: NDArray[np.int32] = self._header[:, 5].astype(np.int32)
        return made

    @cached_property
    def subtypes(self) -> NDArray[np.int32]:
        made: NDArray[np.int32] = self._header[:, 22].astype(np.int32) << 8 | self._header[:, 23]
        return made

    @cached_property
    def dates(self) -> NDArray[np.uint64]:
        """Packed local dates."""
        return self._words(10)

    @cached_property
    def systems(self) -> NDArray[np.uint64]:
        """The four bytes of the system's name as a number."""
        return self._words(14)

    @cached_property
    def queue_managers(self) -> NDArray[np.uint64]:
        """The four bytes of the queue manager's name as a number."""
        return self._words(18)

    @cached_property
    def _local(self) -> tuple[Ints, Mask]:
        distinct, each = np.unique(self.dates, return_inverse=True)
        days = [date_from_packed(packed) for packed in distinct.tolist()]
        numbers = np.array([(day - _EPOCH).days if day else 0 for day in days], np.int64)
        exists = np.array([day is not None for day in days], np.bool_)
        return numbers[each] * _DAY_US + self._words(6).astype(np.int64) * _HUNDREDTH_US, exists[each]

    @property
    def local_us(self) -> Ints:
        """Local time in microseconds since 1970; without meaning where the date does not exist."""
        return self._local[0]

    @property
    def dated(self) -> Mask:
        """Which records have a date that exists."""
        return self._local[1]


def name_of(packed: int) -> str:
    """A name from its four bytes."""
    return CP1047.decode(packed.to_bytes(4, "big")).rstrip("\0 ")
