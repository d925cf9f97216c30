"""Where records begin and end: a dump becomes blocks of whole records, in bounded memory.

Rules
  R1  A dump is read in windows; what a window leaves over is carried into the next. Memory does not grow with the dump.
  R8  Damage has one line, however many windows it is long. Where a dump begins with damage, its first record is looked
      for in as many windows as `_LOOK_WINDOWS`: what goes on longer is no dump.
  R9  Where the medium gives no more (an I/O error), the dump ends with one damage, and what was read before is
      delivered; `failed` says why, for who would rather have all of it or nothing.
  R10 Where a record of a gzip stream is damaged, and the stream is not whole or nobody can see whether it is, what
      follows is left out (gzip_doubt).

R2 and R5 are of `blocks`, R3, R4, R6 and R7 of `chain`.

Called by records, columns, splitting.  Calls detection, chain, gzip_doubt.
"""

import gzip
import io
from collections.abc import Callable, Iterator
from typing import BinaryIO

from quaestor.smf import gzip_doubt, stripped
from quaestor.smf.blocks import Block, Damage
from quaestor.smf.chain import OVERLAP, RDW, Chain, bad_rdw
from quaestor.smf.detection import Framing, UnusableDumpError, detect, reason_of
from quaestor.smf.memory import unset_bytes

WINDOW = 16 << 20
_LOOK_WINDOWS = 64


class DumpReader:
    """Reads one dump. After the first block, `framing` and `compressed` say what was found."""

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
        self.bytes_read = 0
        self.failed = ""  # why the medium gave no more (R9)
        self._stream = stream
        self._take: Callable[[memoryview], int] = stream.readinto  # type: ignore[attr-defined]
        self._window = window
        self._base = position
        self._left = limit
        self._chain = Chain()
        self._at_end = False
        self._ended_early = ""
        self._gzip: gzip.GzipFile | None = None
        self._doubtful = False  # whether what was unpacked may be wrong (R10)

    def blocks(self) -> Iterator[Block]:
        """Every block of the dump. Raises `UnusableDumpError` when nothing in it can be a record."""
        data = self._begin()
        while True:
            size, last = len(data), self._at_end  # the block has joined records behind (R2)
            found, rest = self._chain.walk(data, self._base, last=last, cut=bool(self._ended_early))
            if last and self._ended_early:
                doubt = "; any of its records may be wrong" if self._doubtful else ""
                found.damages.append(Damage(self._base + size, f"{self._ended_early}{doubt}"))
            block = found.block(data)
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

    @property
    def spanned(self) -> int:
        """Records so far that were joined of segments (R4)."""
        return self._chain.spanned

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
        first, lost = 0, None
        if self.framing is None:
            begin, descriptor = self._base, bytes(head[:4]).ljust(4, b"\0")
            self.framing, first, head = self._find_first(head)
            if self._base + first > begin:
                stripped_dump = self.framing is Framing.STRIPPED
                reason = stripped.NO_HEADER if stripped_dump else bad_rdw(*RDW.unpack(descriptor)[:2])
                lost = Damage(begin, reason)
        self._chain.begin(self.framing, self._base + first, lost)
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
            keep = max(0, min(first, len(head) - OVERLAP) - 5)
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
        return [each.offset for each in (*lines, *filter(None, [self._chain.lost]))]

    def _doubt(self) -> str:
        """Why what follows a damaged record of a gzip stream is not believed; empty when it is (R10)."""
        stream, self._gzip = self._gzip, None  # once is enough
        if self._ended_early or stream is None:
            return self._ended_early if self._doubtful else ""
        if not self._stream.seekable():
            return "damage in a gzip stream that cannot be read twice, to see whether it is whole"
        return gzip_doubt.of_the_rest(stream)
