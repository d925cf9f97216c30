"""A dump: records one after the other, held apart the way the reader of the dump expects.

Rules
  D1  A record comes in whole, beginning with its RDW (length, segment code 0). What goes out depends on the framing:
      RDW        as it came
      BDW+RDW    in blocks of at most `block_bytes`, each led by a BDW
      stripped   without its RDW: the transfer programs drop it, and the record's own triplets must tell its length
  D2  Spanned records (VBS) are cut where a block is full: segment codes 1 first, 3 middle, 2 last. A first segment
      holds the SMF header at least. Spanning goes with or without BDWs; most dumps have lost theirs in transfer.
  D3  Bulk writing gives the same bytes as writing the records one by one.
  D4  gzip output depends on the content alone: no name, no time in its header.

Called by synth and by the queue manager's statistics.  Calls nothing but the stream it was given.
"""

import gzip
import struct
from typing import BinaryIO, Self, cast

import numpy as np
from numpy.typing import NDArray

from quaestor.smf.detection import Framing

SMALLEST_BLOCK_BYTES = 32
MAX_BLOCK_BYTES = 32_760
_RDW = struct.Struct(">HH")
_WHOLE, _FIRST, _LAST, _MIDDLE = 0, 1, 2, 3
_SMALLEST_FIRST = 28  # the SMF header
_SMALLEST_NEXT = _RDW.size + 1


class DumpWriter:
    """Writes records to a binary stream in one of the framings; close it, or use it in a with statement.

    The stream stays open: it belongs to the caller.
    """

    def __init__(
        self,
        stream: BinaryIO,
        framing: Framing = Framing.RDW,
        *,
        spanned: bool = False,
        block_bytes: int = MAX_BLOCK_BYTES,
        compress: bool = False,
    ) -> None:
        if spanned and framing is Framing.STRIPPED:
            raise ValueError("a spanned record cannot do without its RDWs")
        if not SMALLEST_BLOCK_BYTES <= block_bytes <= MAX_BLOCK_BYTES:
            raise ValueError(f"blocks of {block_bytes} bytes: {SMALLEST_BLOCK_BYTES} to {MAX_BLOCK_BYTES} are valid")
        self._gzip = gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0) if compress else None  # D4
        self._stream = cast("BinaryIO", self._gzip) if self._gzip else stream
        self._framing = framing
        self._spanned = spanned
        self._room = block_bytes - _RDW.size  # the BDW takes four bytes of a block, written or not
        self._block: list[bytes] = []
        self._held = 0
        self.records = 0
        self.bytes_in = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, record: bytes) -> None:
        """Write one record, RDW included (D1, D2)."""
        length, segment = _RDW.unpack_from(record)
        if length != len(record) or segment:
            raise ValueError(f"the RDW says {length} bytes, segment {segment:04x}; the record has {len(record)} bytes")
        self.records += 1
        self.bytes_in += length
        if self._framing is Framing.STRIPPED:
            self._stream.write(memoryview(record)[_RDW.size :])
        elif self._spanned:
            self._write_segments(record)
        elif self._framing is Framing.BDW:
            self._write_blocked(record)
        else:
            self._stream.write(record)

    def write_many(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        """Write the records that begin at `offsets` and follow each other in `data` without a gap (D3)."""
        if self._framing is Framing.RDW and not self._spanned:
            self.records += len(offsets)
            self.bytes_in += data.nbytes
            self._stream.write(data.data)
        elif self._framing is Framing.STRIPPED:
            self.records += len(offsets)
            self.bytes_in += data.nbytes
            keep = np.ones(data.size, bool)
            keep[(offsets[:, None] + np.arange(_RDW.size)).ravel()] = False
            self._stream.write(data[keep].data)
        else:
            ends = [*offsets[1:].tolist(), data.size]
            for begin, end in zip(offsets.tolist(), ends, strict=True):
                self.write(data[begin:end].tobytes())

    def close(self) -> None:
        """Write the last block and the end of the gzip stream; the stream itself stays open."""
        self._end_block()
        if self._gzip:
            self._gzip.close()

    def _write_blocked(self, record: bytes) -> None:
        if len(record) > self._room:
            raise ValueError(f"a record of {len(record)} bytes does not fit in a block of {self._room + _RDW.size}")
        if self._held + len(record) > self._room:
            self._end_block()
        self._hold(record)

    def _write_segments(self, record: bytes) -> None:
        """Fill the block, go on in the next one (D2)."""
        left = memoryview(record)[_RDW.size :]
        first = True
        while left:
            smallest = min(_SMALLEST_FIRST, len(record)) if first else _SMALLEST_NEXT
            if self._room - self._held < smallest:
                self._end_block()
            taken = min(len(left), self._room - self._held - _RDW.size)
            last = taken == len(left)
            code = (_WHOLE if last else _FIRST) if first else (_LAST if last else _MIDDLE)
            self._hold(_RDW.pack(taken + _RDW.size, code << 8) + bytes(left[:taken]))
            left, first = left[taken:], False

    def _hold(self, part: bytes) -> None:
        self._block.append(part)
        self._held += len(part)

    def _end_block(self) -> None:
        if self._held:
            if self._framing is Framing.BDW:
                self._stream.write(_RDW.pack(self._held + _RDW.size, 0))
            self._stream.write(b"".join(self._block))
        self._block, self._held = [], 0
