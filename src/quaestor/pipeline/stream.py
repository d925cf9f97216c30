"""A folder of dumps as a stream: every whole record of every dump, once.

Rules
  S8  The offset says how far each dump has been read, in bytes, always at the end of a whole record. Spark keeps it in
      its checkpoint before a batch is read, so a batch that is read again reads the same bytes.
  S9  A dump may grow (RDW framing): what is whole is read now, the rest when it has become whole. Compressed, blocked
      and stripped dumps are read as they are when they are first seen; they must be moved into the folder in one step.
  S10 One look at the folder fixes a batch, whatever the trigger; `availableNow` reads all that is there and ends.

Called by source.  Calls dump_ranges.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from quaestor.pipeline.dump_ranges import Range, batches, dumps_at, grows, ranges, whole_records_end
from quaestor.pipeline.place import dump_size
from quaestor.pipeline.selection import Selection
from quaestor.smf.detection import Framing


class SmfStreamReader(DataSourceStreamReader):
    """Reads a structure from dumps as they arrive."""

    def __init__(self, structure: str, columns: list[str], paths: list[str]) -> None:
        self._structure = structure
        self._columns = columns
        self._paths = paths

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  Spark's name
        return {}

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:  # noqa: N802, ARG002
        """How far every dump can be read now (S8, S9)."""
        known = dict(start or {})
        for path in dumps_at(self._paths):
            size, begin = _size(path), known.get(path, 0)
            if size > begin:
                known[path] = max(begin, whole_records_end(path, begin, size))
        return {path: end for path, end in known.items() if end}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        made: list[Range] = []
        for path, stop in sorted(end.items()):
            begin = start.get(path, 0)
            if stop > begin:
                made += _between(path, begin, stop)
        return made

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Range)  # noqa: S101  ours come back
        yield from batches(partition, self._structure, self._columns, Selection(), strict=False)

    def commit(self, end: dict[str, int]) -> None:
        """Nothing to do: dumps are not ours to remove."""


def _size(path: str) -> int:
    try:
        return dump_size(path)
    except FileNotFoundError:
        return 0


def _between(path: str, begin: int, stop: int) -> list[Range]:
    """The ranges of a dump clipped to the bytes of a batch, whatever is added to it meanwhile (S8, S9)."""
    parts = ranges(path)
    if begin == 0 and not grows(path):
        return parts
    cuts = [begin, *(part.start for part in parts if begin < part.start < stop), stop]
    return [Range(path, first, last, Framing.RDW, whole=last == stop) for first, last in pairwise(cuts)]
