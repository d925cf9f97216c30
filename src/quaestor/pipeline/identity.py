"""Who a record is, and who a dump is: digests of content.

Rules
  U1  A record's identity is the XXH3 128-bit digest of its bytes after the RDW, segments joined. Framing, spanning and
      compression are no part of a record, so its copies in two dumps have one identity.
  U2  MQ stamps every record with a TOD clock, so two records of equal bytes are copies of one. With 128 bits, two
      different ones that share a digest are not expected before some 10^17 records.
  U3  A dump's digest is made of the digests of its chunks of equal size, so that many tasks can share the work.

Called by ingest and by the data source.  Calls smf for blocks.
"""

from collections.abc import Iterable
from typing import BinaryIO

import numpy as np
import xxhash
from numpy.typing import NDArray

from quaestor.pipeline.raw_tables import ID_BYTES
from quaestor.smf.blocks import Block

CHUNK = 16 << 20
_READ = 1 << 20  # stays in the processor's cache from reading to digesting


def record_ids(block: Block) -> NDArray[np.void]:
    """The identity of every record of a block (U1)."""
    data = memoryview(block.data)
    digest = xxhash.xxh3_128_digest
    begins = (block.offsets + 4).tolist()
    ends = (block.offsets + block.lengths).tolist()
    made = b"".join([digest(data[begin:end]) for begin, end in zip(begins, ends, strict=True)])
    return np.frombuffer(made, dtype=f"V{ID_BYTES}")


def chunk_digests(stream: BinaryIO, first: int, count: int) -> list[bytes]:
    """The digests of `count` chunks, the one numbered `first` being the first (U3)."""
    stream.seek(first * CHUNK)
    made = []
    for _ in range(count):
        chunk = xxhash.xxh3_128()
        left = CHUNK
        while left and (content := stream.read(min(_READ, left))):
            chunk.update(content)
            left -= len(content)
        if left < CHUNK:
            made.append(chunk.digest())
    return made


def dump_digest(size: int, chunks: Iterable[bytes]) -> str:
    """The digest of a dump, from those of its chunks in order (U3)."""
    return xxhash.xxh3_128_hexdigest(size.to_bytes(8, "big") + b"".join(chunks))
