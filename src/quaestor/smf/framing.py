"""Where records begin and end: RDW, BDW + RDW, spanned segments, RDW-stripped; plain or gzip; file or pipe.

Called by records and columns.
"""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray


class Framing(Enum):
    """How the records of a dump are held apart."""

    RDW = "RDW"
    BDW = "BDW+RDW"
    STRIPPED = "RDW-stripped"


@dataclass(frozen=True, slots=True)
class Damage:
    """A place in a dump that could not be read, and why."""

    offset: int
    reason: str


@dataclass(slots=True)
class Block:
    """Whole records in one buffer: unspanned ones in place, spanned ones joined behind them.

    `data[offsets[i]:offsets[i] + lengths[i]]` is record i, beginning with its RDW, so that triplet offsets apply as
    they are. `positions[i]` is where it began in the (uncompressed) dump.
    """

    data: bytearray
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    positions: NDArray[np.int64]
    damages: list[Damage] = field(default_factory=list)
