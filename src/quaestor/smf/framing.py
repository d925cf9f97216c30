"""Where records begin and end: a dump becomes blocks of whole records, in bounded memory.

Rules
  R1  A dump is read in windows; what a window leaves over is carried into the next. Memory does not grow with the dump.
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
  R8  Damage has one line, however many windows it is long. Where a dump begins with damage, its first record is looked
      for in as many windows as `_LOOK_WINDOWS`: what goes on longer is no dump.
  R9  Where the medium gives no more (an I/O error), the dump ends with one damage, and what was read before is
      delivered; `failed` says why, for who would rather have all of it or nothing.
  R10 Where a record of a gzip stream is damaged, and the stream is not whole or nobody can see whether it is, what
      follows is left out (gzip_doubt).

R2 and R5 are of `blocks`.

Called by records, columns, splitting.  Calls detection, blocks, gzip_doubt.
"""

import gzip
import io
import struct
from collections.abc import Callable, Iterator
from typing import BinaryIO

from quaestor.smf import gzip_doubt, stripped
from quaestor.smf.blocks import NO_HEADER, Block, Damage, Found
from quaestor.smf.detection import (
    LARGEST_SEGMENT,
    SMALLEST_RECORD,
    Framing,
    UnusableDumpError,
    block_length,
    detect,
    end_of_records,
    is_block,
    is_header,
    is_record,
    next_record,
    reason_of,
)
from quaestor.smf.memory import unset_bytes

WINDOW = 16 << 20
_RDW = struct.Struct(">HBB")
_RDW_AND_SIGN = struct.Struct(">HH9xB")  # up to the last byte of the date, which ends in the sign of a packed number
_WHOLE, _FIRST, _LAST, _MIDDLE = range(4)
_MAX_SPANNED = 64 << 20
_OVERLAP = 32  # more than any header needs
_LOOK_WINDOWS = 64
_BLOCK_INSIDE = "block descriptor before the end that was told"


class DumpReader:
    """Reads one dump. After the first block, `framing`, `compressed` and `spanned` say what was found."""

    def __init__(
        self,
        stream: BinaryIO,
        *,
        window: int = WINDOW,
        framing: Framing | None = None,
        position: int = 0,
        limit: int | None = None,
    ) -> None:
        """Read `stream` to its end, or `limit` bytes of it; its first byte is at `position` of the dump.

        A caller that knows the framing (a later part of a dump that was split) gives it; otherwise it is detected.
        """
        self.framing = framing
        self.compressed = False
        self.spanned = 0
        self.bytes_read = 0
        self.failed = ""  # why the medium gave no more (R9)
        self._stream = stream
        self._take: Callable[[memoryview], int] = stream.readinto  # type: ignore[attr-defined]
        self._window = window
        self._base = position
        self._left = limit
        self._segments: list[bytes] = []
        self._spanned_at = 0
        self._block_end = 0  # absolute offset at which the next block descriptor stands
        self._told = True  # whether a descriptor says so
        self._proven = True  # whether that was seen to be true (R7)
        self._at_end = False
        self._ended_early = ""
        self._gzip: gzip.GzipFile | None = None
        self._doubtful = False  # whether what was unpacked may be wrong (R10)
        self._lost: Damage | None = None  # damage whose end is not found yet

    def blocks(self) -> Iterator[Block]:
        """Every block of the dump. Raises `UnusableDumpError` when nothing in it can be a record."""
        data = self._begin()
        while True:
            size, last = len(data), self._at_end  # the block has joined records behind (R2)
            block, rest = self._walk(data, last=last)
            tail = data[rest:size]
            self._base += rest
            if self._gzip and (damaged := self._damaged(block, last=last)) and (doubt := self._doubt()):
                yield gzip_doubt.before(damaged, block, doubt)
                return
            if len(block.offsets) or block.damages:
                yield block
            if last:
                return
            data = self._read(tail)

    # --- reading -----------------------------------------------------------------------------------------------------

    def _begin(self) -> bytearray:
        """The first window, once compression and framing are known."""
        if self.framing is None:
            stream = self._stream if isinstance(self._stream, io.BufferedReader) else io.BufferedReader(self._stream)  # type: ignore[type-var]
            try:
                self.compressed = stream.peek(2)[:2] == b"\x1f\x8b"
            except OSError as error:  # R9
                self.failed = reason_of(error)
                raise UnusableDumpError(self.failed) from None
            self._gzip = gzip.GzipFile(fileobj=stream) if self.compressed else None
            self._take = (self._gzip or stream).readinto1
        head = self._read(bytearray())
        if not head and self._ended_early:
            raise UnusableDumpError(self.failed or self._ended_early)
        first = 0
        if self.framing is None:
            begin, descriptor = self._base, bytes(head[:4]).ljust(4, b"\0")
            self.framing, first, head = self._find_first(head)
            if self._base + first > begin:
                stripped_dump = self.framing is Framing.STRIPPED
                reason = stripped.NO_HEADER if stripped_dump else _bad_rdw(*_RDW.unpack(descriptor)[:2])
                self._lost = Damage(begin, reason)
        self._block_end = self._base + first
        return head

    def _find_first(self, head: bytearray) -> tuple[Framing, int, bytearray]:
        """The framing, where the first record is in the window that shows it, and that window (R8)."""
        refused = ""
        for _ in range(_LOOK_WINDOWS):
            first = len(head)
            try:
                framing, first = detect(head)
                if self._at_end or 2 * first <= len(head):
                    return framing, first, head
            except UnusableDumpError as error:
                refused = refused or str(error)
                if self._at_end:
                    break
            # blocks are told by what follows and by their descriptor, unless it is the first thing that is seen
            keep = max(0, min(first, len(head) - _OVERLAP) - 5)
            self._base += keep
            head = self._read(head[keep:])
        raise UnusableDumpError("; ".join(filter(None, (refused, self._ended_early))))

    def _read(self, head: bytearray) -> bytearray:
        """A window more behind `head`; a broken stream or medium ends the dump early and is remembered as damage."""
        at = len(head)
        data = unset_bytes(at + self._window)
        data[:at] = head
        while at < len(data) and not self._ended_early:
            try:
                got = self._read_into(data, at)
            except gzip_doubt.ERRORS as error:
                self._ended_early, self._doubtful = gzip_doubt.told(error), gzip_doubt.is_wrong(error)
                break
            except OSError as error:  # R9
                self.failed = reason_of(error)
                self._ended_early = f"cannot be read any further: {self.failed}"
                break
            if not got:
                break
            at += got
        self._at_end = at < len(data)
        del data[at:]
        return data

    def _read_into(self, data: bytearray, at: int) -> int:
        """Read into its final place: fresh memory and copies cost more than the reading."""
        end = len(data) if self._left is None else min(len(data), at + self._left)
        with memoryview(data) as whole, whole[at:end] as place:
            got = self._take(place)
        if self._left is not None:
            self._left -= got
        self.bytes_read += got
        return got

    def _damaged(self, block: Block, *, last: bool) -> list[int]:
        """Where records of a block are damaged, or begin to be; the line of the stream itself is left out."""
        lines = block.damages[:-1] if last and self._ended_early else block.damages
        return [each.offset for each in (*lines, *filter(None, [self._lost]))]

    def _doubt(self) -> str:
        """Why what follows a damaged record of a gzip stream is not believed; empty when it is (R10)."""
        stream, self._gzip = self._gzip, None  # once is enough
        if self._ended_early or stream is None:
            return self._ended_early if self._doubtful else ""
        if not self._stream.seekable():
            return "damage in a gzip stream that cannot be read twice, to see whether it is whole"
        return gzip_doubt.of_the_rest(stream)

    # --- walking -----------------------------------------------------------------------------------------------------

    def _walk(self, data: bytearray, *, last: bool) -> tuple[Block, int]:
        """The block in `data`, and the offset from which the rest must be carried over (R1)."""
        found = Found(self._base)
        if self.framing is Framing.STRIPPED:
            rest = self._walk_stripped(data, found, last=last)
        else:
            rest = self._walk_rdws(data, found, last=last)
        if last:
            self._close(found, len(data))
        return found.block(data), rest

    def _walk_stripped(self, data: bytearray, found: Found, *, last: bool) -> int:
        def damaged(position: int, reason: str) -> None:
            found.damages.append(Damage(position, reason))

        lost_at = self._lost.offset if self._lost else None
        rest, lost_at = stripped.walk(data, self._base, found.record, damaged, last=last, lost_at=lost_at)
        self._lost = None if lost_at is None else Damage(lost_at, stripped.NO_HEADER)
        return rest

    def _close(self, found: Found, size: int) -> None:
        self._drop_segments(found)
        if self._ended_early:
            doubt = "; any of its records may be wrong" if self._doubtful else ""
            found.damages.append(Damage(self._base + size, f"{self._ended_early}{doubt}"))

    def _walk_rdws(self, data: bytearray, found: Found, *, last: bool) -> int:
        at, size, base = 0, len(data), self._base
        limit = size if last else size - _OVERLAP  # what stands behind a record is seen before it is delivered (R7)
        blocked = self.framing is Framing.BDW
        while at + 4 <= size:
            if self._lost is not None:
                at = self._resync(self._lost, data, at, size, found, last=last)
                if self._lost is not None:
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
            length, segment, zero = _RDW.unpack_from(data, at)
            if length < 4 or segment > _MIDDLE or zero or length > LARGEST_SEGMENT:
                self._lost = Damage(base + at, _bad_rdw(length, segment))
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
                self._lost = Damage(base + at, _BLOCK_INSIDE if is_block(data, at) else NO_HEADER)
                continue
            inner = -1 if self._can_follow(data, at, segment) else self._cut_before(data, at, found)
            if inner < 0:
                self._segment(data, at, length, segment, found)
            at = at + length if inner < 0 else inner
        if last and at == size and blocked and self._told and base + at < self._block_end and not self._ended_early:
            missing = self._block_end - base - at
            found.damages.append(Damage(base + at, f"block cut short: {missing} bytes are missing"))
        if not last or at == size:
            return at
        if self._lost is not None:
            return self._resync(self._lost, data, at, size, found, last=last)
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
            self._lost = Damage(self._base + at, "not a block descriptor")
        else:
            self._block_end = self._base + end_of_records(data, at)  # a block whose end nobody has told goes on
        return at

    def _resync(self, lost: Damage, data: bytearray, at: int, size: int, found: Found, *, last: bool) -> int:
        """Skip to the next record that can be true (R3); while none is in sight, keep what might begin one."""
        inner = self._cut_before(data, lost.offset - self._base, found)
        if inner >= 0:
            self._lost = None
            return inner
        skip_to = next_record(data, at, size)
        if skip_to < 0 and not last:
            return max(at, size - _OVERLAP)
        skip_to = size if skip_to < 0 else self._block_of(data, skip_to, lost.offset)
        skipped = self._base + skip_to - lost.offset
        found.damages.append(Damage(lost.offset, f"{lost.reason}; {skipped} bytes skipped"))
        self._drop_segments(found)
        self._lost = None
        return skip_to

    def _block_of(self, data: bytearray, at: int, begin: int) -> int:
        """Where to go on with the record at `at`: at its block's descriptor, if that stands at `begin` or behind."""
        if self.framing is not Framing.BDW:
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
        if chain <= min(end, size - 1) and not (self.framing is Framing.BDW and is_block(data, chain)):
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


def _bad_rdw(length: int, segment: int) -> str:
    if length == 0:
        return "zero bytes where a record should begin"
    if length < 4:
        return f"record length {length} is shorter than its descriptor"
    if segment > _MIDDLE:
        return f"segment code {segment} is none of 0 to 3"
    return "not a record descriptor"


__all__ = ["Block", "Damage", "DumpReader", "Framing", "UnusableDumpError"]
