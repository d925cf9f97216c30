"""The chain of records: each tells where the next begins, and damage breaks it.

Rules
  R3  Damage is reported with its offset in the (uncompressed) dump and its reason; reading goes on with the next
      record that can be true (D1, D3). What was readable is delivered.
  R4  A spanned record ends with its last segment. A first segment that meets another first, or a continuation without
      a beginning, is damage.
  R6  An RDW-stripped record ends where its last section ends, for nothing else tells its length.
  R7  Lengths may be damaged, too. The end that a block descriptor tells is proven when another block begins there;
      until it is, every record of the block is looked at, so that no block is taken for a record. A record behind which
      the chain is lost, or leads to what can be no record, ends where a true chain begins inside it. So that this is
      seen in time, a record is delivered together with the beginning of what follows it. Either way damage costs the
      record that it is in.

R1 and R8 to R10 are of `framing`, R2 and R5 of `blocks`.

Called by framing, window by window.  Calls detection, blocks, stripped.
"""

import struct

from quaestor.smf import stripped
from quaestor.smf.blocks import NO_HEADER, Damage, Found
from quaestor.smf.detection import (
    LARGEST_SEGMENT,
    SMALLEST_RECORD,
    Framing,
    block_length,
    end_of_records,
    is_block,
    is_header,
    is_record,
    next_record,
)

OVERLAP = 32
"""More than any header needs."""

RDW = struct.Struct(">HBB")
_RDW_AND_SIGN = struct.Struct(">HH9xB")  # up to the last byte of the date, which ends in the sign of a packed number
_WHOLE, _FIRST, _LAST, _MIDDLE = range(4)
_MAX_SPANNED = 64 << 20
_BLOCK_INSIDE = "block descriptor before the end that was told"


class Chain:
    """What is known of the chain where a window ends. `spanned` counts the records that were joined of segments."""

    def __init__(self) -> None:
        self.spanned = 0
        self.lost: Damage | None = None  # damage whose end is not found yet
        self._framing: Framing | None = None
        self._base = 0  # offset of the window in the dump
        self._segments: list[bytes] = []
        self._spanned_at = 0
        self._block_end = 0  # absolute offset at which the next block descriptor stands
        self._told = True  # whether a descriptor says so
        self._proven = True  # whether that was seen to be true (R7)

    def begin(self, framing: Framing, first: int, lost: Damage | None) -> None:
        """The first record, or block, is at `first`; what is before it may be damage."""
        self._framing, self._block_end, self.lost = framing, first, lost

    def walk(self, data: bytearray, base: int, *, last: bool, cut: bool) -> tuple[Found, int]:
        """What is found in the window `data`, and the offset from which the rest must be carried over (R1).

        `cut` says that the medium ended before the dump did.
        """
        self._base = base
        found = Found(base)
        if self._framing is Framing.STRIPPED:
            rest = self._walk_stripped(data, found, last=last)
        else:
            rest = self._walk_rdws(data, found, last=last, cut=cut)
        if last:
            self._drop_segments(found)
        return found, rest

    def _walk_stripped(self, data: bytearray, found: Found, *, last: bool) -> int:
        def damaged(position: int, reason: str) -> None:
            found.damages.append(Damage(position, reason))

        lost_at = self.lost.offset if self.lost else None
        rest, lost_at = stripped.walk(data, self._base, found.record, damaged, last=last, lost_at=lost_at)
        self.lost = None if lost_at is None else Damage(lost_at, stripped.NO_HEADER)
        return rest

    def _walk_rdws(self, data: bytearray, found: Found, *, last: bool, cut: bool) -> int:
        at, size, base = 0, len(data), self._base
        limit = size if last else size - OVERLAP  # what stands behind a record is seen before it is delivered (R7)
        blocked = self._framing is Framing.BDW
        while at + 4 <= size:
            if self.lost is not None:
                at = self._resync(self.lost, data, at, size, found, last=last)
                if self.lost is not None:
                    return at
                continue
            if blocked and base + at >= self._block_end:
                if at + 8 > size and not last:
                    break
                at = self._begin_block(data, at, found)
                continue
            if self._proven and not self._segments:
                at = _run_of_records(data, at, min(limit, self._block_end - base) if blocked else limit, found.whole)
                if at + 4 > size or (blocked and base + at >= self._block_end):
                    continue
            length, segment, zero = RDW.unpack_from(data, at)
            if length < 4 or segment > _MIDDLE or zero or length > LARGEST_SEGMENT:
                self.lost = Damage(base + at, bad_rdw(length, segment))
                continue
            if at + length > limit:
                inner = -1 if self._can_follow(data, at, segment) else self._cut_before(data, at, found)
                if inner < 0 and last:
                    inner = self._cut_at_next(data, at, length, found)
                if inner < 0:
                    break
                at = inner
                continue
            if not self._proven and segment == _WHOLE and not is_header(data, at):
                self.lost = Damage(base + at, _BLOCK_INSIDE if is_block(data, at) else NO_HEADER)
                continue
            inner = -1 if self._can_follow(data, at, segment) else self._cut_before(data, at, found)
            if inner < 0:
                self._segment(data, at, length, segment, found)
            at = at + length if inner < 0 else inner
        if last and at == size and blocked and self._told and base + at < self._block_end and not cut:
            missing = self._block_end - base - at
            found.damages.append(Damage(base + at, f"block cut short: {missing} bytes are missing"))
        if not last or at == size:
            return at
        if self.lost is not None:
            return self._resync(self.lost, data, at, size, found, last=last)
        self._cut_short(data, at, size, found)
        return size

    def _begin_block(self, data: bytearray, at: int, found: Found) -> int:
        """Where the first record of the block at `at` stands (R7)."""
        if self._told and self._base + at > self._block_end:  # a record leads out of its block
            inner = self._cut_before(data, at, found)
            if inner >= 0:
                return inner
        length = block_length(data, at)
        if is_block(data, at) or (length and at + 4 == len(data)):
            self._block_end, self._told = self._base + at + length, True
            self._proven = is_block(data, at + length)
            return at + 4
        if self._told or not is_record(data, at):
            self.lost = Damage(self._base + at, "not a block descriptor")
        else:
            self._block_end = self._base + end_of_records(data, at)  # a block whose end nobody has told goes on
        return at

    def _resync(self, lost: Damage, data: bytearray, at: int, size: int, found: Found, *, last: bool) -> int:
        """Skip to the next record that can be true (R3); while none is in sight, keep what might begin one."""
        inner = self._cut_before(data, lost.offset - self._base, found)
        if inner >= 0:
            self.lost = None
            return inner
        skip_to = next_record(data, at, size)
        if skip_to < 0 and not last:
            return max(at, size - OVERLAP)
        skip_to = size if skip_to < 0 else self._block_of(data, skip_to, lost.offset)
        skipped = self._base + skip_to - lost.offset
        found.damages.append(Damage(lost.offset, f"{lost.reason}; {skipped} bytes skipped"))
        self._drop_segments(found)
        self.lost = None
        return skip_to

    def _block_of(self, data: bytearray, at: int, begin: int) -> int:
        """Where to go on with the record at `at`: at its block's descriptor, if that stands at `begin` or behind."""
        if self._framing is not Framing.BDW:
            return at
        self._block_end, self._told, self._proven = self._base + end_of_records(data, at), False, True
        if self._base + at - 4 >= begin and block_length(data, at - 4):
            at -= 4
            self._block_end = self._base + at
        return at

    def _can_follow(self, data: bytearray, at: int, segment: int) -> bool:
        """Whether the record or segment at `at` can be next in the chain."""
        return is_header(data, at) if segment in (_WHOLE, _FIRST) else bool(self._segments)

    def _cut_before(self, data: bytearray, end: int, found: Found) -> int:
        """Where another record begins inside the one that ends at `end`, which is then cut; -1 for nowhere (R7)."""
        before = found.whole_before(data, end)
        inner = -1 if before is None else self._cut_at_next(data, before, end - before, found)
        if inner >= 0:
            found.whole.pop()
        return inner

    def _cut_at_next(self, data: bytearray, begin: int, length: int, found: Found) -> int:
        """Where another record begins inside that at `begin`, which then ends there; -1 for nowhere (R7)."""
        end, size = begin + length, len(data)
        inner = next_record(data, begin + SMALLEST_RECORD, min(end, size))
        if inner < 0:
            return -1
        chain = end_of_records(data, inner)
        if chain <= min(end, size - 1) and not (self._framing is Framing.BDW and is_block(data, chain)):
            return -1
        position = self._base + begin
        at = self._block_of(data, inner, position + SMALLEST_RECORD)
        found.record(begin, at - begin, position)
        found.damages.append(Damage(position, f"record of {length} bytes: another begins after {at - begin}"))
        return at

    def _drop_segments(self, found: Found) -> None:
        if self._segments:
            found.damages.append(Damage(self._spanned_at, "spanned record lost its last segment"))
            self._segments = []

    def _segment(self, data: bytearray, at: int, length: int, segment: int, found: Found) -> None:
        """Join segments (R4). Joined records come behind `data` when all of it was walked over (R2)."""
        position = self._base + at
        if segment in (_WHOLE, _FIRST):
            self._drop_segments(found)
            if segment == _WHOLE:
                found.whole.append(at)
                return
            self._segments, self._spanned_at = [bytes(data[at : at + length])], position
            return
        if not self._segments:
            found.damages.append(Damage(position, "segment of a spanned record without its first segment"))
            return
        self._segments.append(bytes(data[at + 4 : at + length]))
        if segment == _LAST:
            joined = b"".join(self._segments)
            joined = min(len(joined), 0xFFFF).to_bytes(2, "big") + b"\0\0" + joined[4:]
            found.record(len(data) + len(found.joined), len(joined), self._spanned_at)
            found.joined += joined
            self._segments = []
            self.spanned += 1
        elif sum(map(len, self._segments)) > _MAX_SPANNED:
            found.damages.append(Damage(self._spanned_at, "spanned record has no end"))
            self._segments = []

    def _cut_short(self, data: bytearray, at: int, size: int, found: Found) -> None:
        left = size - at
        length = int.from_bytes(data[at : at + 2], "big")
        reason = (
            f"record cut short: {length} bytes long, {left} are left" if left >= 4 else f"{left} stray bytes at the end"
        )
        found.damages.append(Damage(self._base + at, reason))


def _run_of_records(data: bytearray, at: int, stop: int, whole: list[int]) -> int:
    """Add the whole records that follow each other from `at` on, up to `stop`; returns where they end."""
    unpack, add = _RDW_AND_SIGN.unpack_from, whole.append
    while at + SMALLEST_RECORD <= stop:
        length, code, last_of_date = unpack(data, at)
        end = at + length
        if code or last_of_date & 0x0F != 0x0F or not SMALLEST_RECORD <= length <= LARGEST_SEGMENT or end > stop:
            break
        add(at)
        at = end
    return at


def bad_rdw(length: int, segment: int) -> str:
    """Why a record or segment of this length and code cannot be."""
    if length == 0:
        return "zero bytes where a record should begin"
    if length < 4:
        return f"record length {length} is shorter than its descriptor"
    if segment > _MIDDLE:
        return f"segment code {segment} is none of 0 to 3"
    return "not a record descriptor"
