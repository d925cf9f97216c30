"""Block after block, column-wise: records of rare kinds wait for company.

A dump is mostly accounting: thousands of tasks in every window, between them one set of statistics per interval. A
table costs the same whether it has ten rows or ten thousand, and statistics make twenty tables. So statistics are set
aside, block after block, and decoded together when there are enough of them.

Rules
  F1  Rows of a structure come in the order of the dump: no structure occurs both in records that wait and in those
      that do not. Rows of different structures may come in different order.
  F2  Nothing waits longer than the blocks last, and never more than a few megabytes.
  F3  A block that is mostly of the kinds that wait is decoded as it is, after those that waited.

Called by export, by the pipeline's loads and by benchmarks.  Calls columns.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np

from quaestor.layout import CP1047, CodePage
from quaestor.smf.arrays import Ints, Mask
from quaestor.smf.arrow_schema import Names
from quaestor.smf.blocks import Block
from quaestor.smf.columns import Decoded, decode

_MOST_BYTES = 8 << 20  # that wait (F2)
_FREQUENT_SUBTYPES = 2  # of SMF 116: tasks, message manager accounting, queues
_SUBTYPE_END = 24


def decode_blocks(
    blocks: Iterable[Block],
    wanted: Collection[str] | None = None,
    page: CodePage = CP1047,
    names: Names = "human",
    leap_seconds: int = 0,
    *,
    columns: Mapping[str, Collection[str]] | None = None,
    dictionary: bool = False,
) -> Iterator[Decoded]:
    """Decode the blocks of a dump, or of a part of it; the options are those of `columns.decode`."""

    def decoded(block: Block) -> Decoded:
        return decode(block, wanted, page, names, leap_seconds, columns=columns, dictionary=dictionary)

    waiting = Waiting()
    for block in blocks:
        rare = rare_records(block)
        if mostly(block, rare):
            yield from map(decoded, waiting.leave())
            yield decoded(block)  # F3
            continue
        waiting.add(block, np.flatnonzero(rare))
        yield decoded(_only(block, ~rare))
        if waiting.is_full:
            yield from map(decoded, waiting.leave())
    yield from map(decoded, waiting.leave())


def rare_records(block: Block) -> Mask:
    """Which records are of a kind that waits: MQ records but those that account for tasks (F1)."""
    data = np.frombuffer(block.data, np.uint8)
    types = data[block.offsets + 5]
    rare: Mask = types == 115
    long = np.flatnonzero((types == 116) & (block.lengths >= _SUBTYPE_END))
    at = block.offsets[long] + 22
    rare[long] = (data[at] > 0) | (data[at + 1] > _FREQUENT_SUBTYPES)
    return rare


def mostly(block: Block, rare: Mask, of: Mask | None = None) -> bool:
    """Whether so much of a block, or of those records of it, is of kinds that wait that waiting does not pay (F3)."""
    whole = int((block.lengths if of is None else block.lengths[of]).sum())
    return 4 * int(block.lengths[rare].sum()) > whole


def _only(block: Block, chosen: Mask) -> Block:
    return Block(block.data, block.offsets[chosen], block.lengths[chosen], block.positions[chosen], block.damages)


class Waiting:
    """Records set aside, copied out of their blocks."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._parts: list[tuple[Ints, Ints, Ints]] = []

    @property
    def is_full(self) -> bool:
        """Whether so many wait that they are company enough (F2)."""
        return len(self._data) >= _MOST_BYTES

    def add(self, block: Block, records: Ints) -> None:
        """Copy the records; those that touch each other in one piece."""
        if not len(records):
            return
        begin, length = block.offsets[records], block.lengths[records]
        apart = np.flatnonzero(begin[1:] != begin[:-1] + length[:-1]) + 1
        offsets = len(self._data) + np.cumsum(length) - length
        for first, last in zip([0, *apart.tolist()], [*apart.tolist(), len(records)], strict=True):
            self._data += block.data[begin[first] : begin[last - 1] + length[last - 1]]
        self._parts.append((offsets, length, block.positions[records]))

    def leave(self) -> Iterator[Block]:
        """Those that waited as one block, if there are any; nobody waits any longer."""
        if self._parts:
            offsets, lengths, positions = (np.concatenate(each) for each in zip(*self._parts, strict=True))
            data, self._data, self._parts = self._data, bytearray(), []
            yield Block(data, offsets, lengths, positions)
