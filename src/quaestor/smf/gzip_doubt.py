"""What may be believed of a gzip stream that is not whole.

Rules
  W1  A gzip stream says at its end whether it is whole. Where a record is damaged the rest is looked at for that first.
      If its sum is wrong, or it cannot be unpacked, what follows is left out: what a wrong bit sets free may look like
      records. So is the record before, behind which the damage came up.
  W2  A stream that only ends early was right up to there; so was one that something else stands behind.
  W3  A wrong bit may leave all records in their places: that any of them may be wrong is all there is to say.

Called by framing (R10).  Calls blocks.
"""

import gzip
import zlib

from quaestor.smf.blocks import Block, Damage

ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)
_PIECE = 16 << 20
_WRONG = ("CRC check failed", "Incorrect length of data produced")  # as the gzip module says it


def told(error: Exception) -> str:
    return f"gzip stream is damaged: {error}"


def is_wrong(error: Exception) -> bool:
    """Whether what was unpacked may be wrong (W2)."""
    return isinstance(error, zlib.error) or str(error).startswith(_WRONG)


def of_the_rest(stream: gzip.GzipFile) -> str:
    """Why what is left of a stream is not believed; empty when it is (W1). It is read from the same place again."""
    at = stream.tell()
    try:
        while stream.read(_PIECE):
            pass
    except ERRORS as error:
        return told(error) if is_wrong(error) else ""
    except OSError:  # of the medium: it is told when it is read
        return ""
    finally:
        stream.seek(at)
    return ""


def before(damaged: list[int], block: Block, reason: str) -> Block:
    """What stands before the first damage of a block and the record behind which it came up (W1)."""
    earlier = block.positions[block.positions < min(damaged)]
    first = int(earlier.max()) if len(earlier) else min(damaged)
    left = block.positions < first
    damages = [Damage(first, f"{reason}; from here on it is left out")]
    return Block(block.data, block.offsets[left], block.lengths[left], block.positions[left], damages)
