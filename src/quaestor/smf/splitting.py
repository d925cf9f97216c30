"""Parts of a dump that can be read independently: every part begins at a record, and landing on its end proves it.

Rules
  Y1  A part begins where a whole record or a first segment can begin (D1), so a spanned record never crosses a split.
      The place is found by reading a little around the wish, independent of the size of the dump.
  Y2  Proof, not trust: the first part begins on the true chain of records. A part that is read to its very end without
      damage there has landed on the next part's beginning, which is thereby proven; and so on to the last.
  Y3  A part that does not land is read again together with the parts behind it. What comes out is therefore the same
      as from one sequential reading, damaged dump or not.
  Y4  What cannot be cut is one part: compressed dumps, pipes, small dumps, and wherever no record can be found.
  Y5  Where parts begin depends on the dump alone, never on how many processes will read them.

Called by export and by the pipeline's data source.  Calls detection.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from quaestor.smf.detection import (
    LARGEST_SEGMENT,
    Framing,
    UnusableDumpError,
    block_length,
    detect,
    is_rdw,
    is_record,
    next_record,
    next_stripped,
)

PART_BYTES = 128 << 20
_LOOK_BYTES = 8 * LARGEST_SEGMENT  # how far behind a wish a beginning is looked for
_LOOK_BLOCKS = 16 * _LOOK_BYTES  # the same in blocks: few begin with a record when records are spanned
_HOPS = 4  # records that must follow a beginning in good order
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Part:
    """The bytes of a dump from `start` up to `stop`; None means to its end, and None framing to detect it."""

    start: int = 0
    stop: int | None = None
    framing: Framing | None = None

    @property
    def size(self) -> int | None:
        return None if self.stop is None else self.stop - self.start


WHOLE = Part()


def split(path: Path, part_bytes: int = PART_BYTES) -> list[Part]:
    """The parts of a dump, in order; they follow each other without a gap (Y1, Y4)."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        head = stream.read(_LOOK_BYTES)
        if size <= part_bytes or head[:2] == _GZIP:
            return [WHOLE]
        try:
            framing, _ = detect(head)
        except UnusableDumpError:
            return [WHOLE]
        wishes = range(part_bytes, size, part_bytes)
        starts = [0, *(found for wish in wishes if (found := _beginning(stream, wish, framing)) is not None)]
    starts = sorted({*starts})
    return [Part(start, stop, framing) for start, stop in zip(starts, [*starts[1:], None], strict=True)]


def together(parts: list[Part]) -> Part:
    """Neighbouring parts as one (Y3)."""
    return Part(parts[0].start, parts[-1].stop, parts[0].framing)


def _beginning(stream: BinaryIO, wish: int, framing: Framing) -> int | None:
    """The first place from `wish` on where a part may begin; None when none is in sight."""
    stream.seek(wish)
    data = stream.read(_LOOK_BLOCKS if framing is Framing.BDW else _LOOK_BYTES)
    at = 0
    while at < len(data):
        if framing is Framing.STRIPPED:
            at = next_stripped(data, at, len(data))
            return None if at < 0 else wish + at
        at = next_record(data, at, len(data))
        if at < 0:
            return None
        if framing is Framing.RDW and _followed(data, at):
            return wish + at
        if framing is Framing.BDW and at >= 4 and _blocks_follow(data, at - 4):
            return wish + at - 4
        at += 1
    return None


def _followed(data: bytes, at: int) -> bool:
    """Whether records or segments in good order follow the record at `at`, as far as the data shows."""
    for _ in range(_HOPS):
        at += int.from_bytes(data[at : at + 2], "big")
        if at + 18 > len(data):
            return True
        if not is_rdw(data, at) or (data[at + 2] < 2 and not is_record(data, at)):
            return False
    return True


def _blocks_follow(data: bytes, at: int) -> bool:
    """Whether blocks in good order follow the block descriptor at `at`."""
    for _ in range(_HOPS):
        length = block_length(data, at)
        if not length:
            return False
        at += length
        if at + 8 > len(data):
            return True
        if not is_rdw(data, at + 4):
            return False
    return True
