"""Blocks: whole records of a dump in one buffer, and what could not be read of it.

Rules
  R2  A block holds whole records only. Unspanned records stay where they were read; the segments of a spanned one are
      joined behind them under one RDW, so that triplet offsets apply as they are.
  R5  Only records with a header that can be true, and MQ's with the whole of it, reach a reader.

Called by framing, which fills them, and by every reader.  Calls detection.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from quaestor.smf.catalog import HEADER_SIZE
from quaestor.smf.detection import SMALLEST_RECORD, true_headers

NO_HEADER = "record without a true SMF header"
_SHORT_HEADER = "record is shorter than its SMF header"


@dataclass(frozen=True, slots=True)
class Damage:
    """A place in a dump that could not be read, and why."""

    offset: int
    reason: str

    def __str__(self) -> str:
        return f"offset {self.offset}: {self.reason}"


@dataclass(slots=True)
class Block:
    """Whole records in one buffer (R2).

    `data[offsets[i]:offsets[i] + lengths[i]]` is record i, beginning with its RDW; `positions[i]` is where it began
    in the dump.
    """

    data: bytearray
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    positions: NDArray[np.int64]
    damages: list[Damage] = field(default_factory=list)


@dataclass(slots=True)
class Found:
    """What a walk over a window has found so far.

    Of a record that lies whole behind its RDW the offset tells all; that is nearly every one, and one list is quicker
    to fill than three.
    """

    base: int
    whole: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    joined: bytearray = field(default_factory=bytearray)
    damages: list[Damage] = field(default_factory=list)

    def record(self, offset: int, length: int, position: int) -> None:
        """A record that was joined from segments, or has no RDW."""
        self.offsets.append(offset)
        self.lengths.append(length)
        self.positions.append(position)

    def whole_before(self, data: bytearray, end: int) -> int | None:
        """Where the last record begins, if it lies whole behind its RDW and ends at `end`."""
        begin = self.whole[-1] if self.whole else end
        return begin if begin + int.from_bytes(data[begin : begin + 2], "big") == end > begin else None

    def block(self, data: bytearray) -> Block:
        """The block of what was found; records without a true header are damage (R5)."""
        data += self.joined
        offsets, lengths, positions = self._records(data)
        good = lengths >= SMALLEST_RECORD
        good[good] = true_headers(data, offsets[good])
        self.damages += [Damage(position, NO_HEADER) for position in positions[~good].tolist()]
        short = np.flatnonzero(good & (lengths < HEADER_SIZE))
        short = short[np.isin(np.frombuffer(data, np.uint8)[offsets[short] + 5], (115, 116))]
        self.damages += [Damage(position, _SHORT_HEADER) for position in positions[short].tolist()]
        good[short] = False
        self.damages.sort(key=lambda damage: damage.offset)
        if not good.all():
            offsets, lengths, positions = offsets[good], lengths[good], positions[good]
        return Block(data, offsets, lengths, positions, self.damages)

    def _records(self, data: bytearray) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Offsets, lengths and positions of all records, in the order of the dump."""
        whole = np.array(self.whole, np.int64)
        window = np.frombuffer(data, np.uint8)
        found = whole, window[whole].astype(np.int64) << 8 | window[whole + 1], whole + self.base
        if not self.offsets:
            return found
        others = (np.array(each, np.int64) for each in (self.offsets, self.lengths, self.positions))
        joined = [np.concatenate(each) for each in zip(found, others, strict=True)]
        order = np.argsort(joined[2], kind="stable")
        return joined[0][order], joined[1][order], joined[2][order]
