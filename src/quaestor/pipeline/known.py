"""Which records the lake holds already, asked by partition and time.

Rules
  Z1  Only RECORDS files of the partition whose local times overlap the question are opened; in the usual case, a dump
      that follows the one before it, there is none.
  Z2  A file's identities are read once for a task while they are asked for: the few files asked last are kept.

Called by loading.  Calls place and manifest.
"""

from collections import OrderedDict
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from quaestor.pipeline.manifest import FILES_SCHEMA, LakeFile, as_files, unpacked
from quaestor.pipeline.part_writer import Partition
from quaestor.pipeline.place import Place
from quaestor.pipeline.raw_tables import ID_TYPE, RECORD_ID, RECORDS
from quaestor.smf.arrays import Ints, Mask

_KEPT = 16
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  local times have no zone


class KnownRecords:
    """The records of a snapshot."""

    def __init__(self, place: Place, files: str | None) -> None:
        """`files` names the snapshot's list of live files; None when the lake is empty."""
        self._place = place
        self._list = files
        self._by_partition: dict[Partition, list[LakeFile]] | None = None
        self._identities: OrderedDict[str, pa.Array] = OrderedDict()

    def holds(self, partition: Partition, ids: NDArray[np.void], local_us: Ints) -> Mask:
        """Which of these records of a partition are in the lake (Z1)."""
        held = np.zeros(len(ids), np.bool_)
        first = _EPOCH + timedelta(microseconds=int(local_us.min()))
        last = _EPOCH + timedelta(microseconds=int(local_us.max()))
        asked = pa.Array.from_buffers(ID_TYPE, len(ids), [None, pa.py_buffer(np.ascontiguousarray(ids))])
        for each in self._files(partition):
            if each.first is not None and each.last is not None and each.first <= last and first <= each.last:
                held |= pc.is_in(asked, value_set=self._read(each.path)).to_numpy(zero_copy_only=False)
        return held

    def _files(self, partition: Partition) -> list[LakeFile]:
        if self._by_partition is None:
            self._by_partition = {}
            if self._list is not None:
                every = unpacked(self._place.read(self._list), FILES_SCHEMA)
                for each in as_files(every.filter(pc.equal(every["table"], RECORDS))):
                    self._by_partition.setdefault(Partition(each.day, each.queue_manager), []).append(each)
        return self._by_partition.get(partition, [])

    def _read(self, path: str) -> pa.Array:
        """The identities in a RECORDS file (Z2)."""
        if path not in self._identities:
            table = pq.read_table(
                self._place.path(path), columns=[RECORD_ID], filesystem=self._place.filesystem, partitioning=None
            )
            self._identities[path] = table[RECORD_ID].cast(ID_TYPE).combine_chunks()
            if len(self._identities) > _KEPT:
                self._identities.popitem(last=False)
        self._identities.move_to_end(path)
        return self._identities[path]
