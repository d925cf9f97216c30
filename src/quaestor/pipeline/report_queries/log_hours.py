"""The log's rows of five minutes by the hour, for the list of exceptions.

Rules
  J1  Checkpoints and reads from buffers are counted over the hour that ends with a row (A-37, A-43): rows are of any
      length, and five minutes are too short for a rate.
  J2  A task's record has the log's reads of the interval that it was cut in, as the advisor has it: the first one that
      ends in the record's five minutes or later, if it had begun by then. Where there is none they are not known.

Called by exceptions.  Calls hours, knows no Spark.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from quaestor.pipeline.hours import Floats, hourly

LOG_COUNTS = ("CHECKPOINTS", "READ_REQ_BUF")
_READS = "READ_REQ_BUF_AN_HOUR"
_SLOTS = 1 << 32  # more than the five minutes that there are


def an_hour(rows: pa.Table) -> pa.Table:
    """The log's rows with the counts of the hour that ends with each (J1)."""
    (owners,) = _owners((rows, "MQSERIES_SUB_ID"))
    ends, seconds = _times(rows), _numbers(rows["SECONDS"])
    for name in LOG_COUNTS:
        rates = hourly(_numbers(rows[name]), owners, ends, seconds)
        rows = rows.append_column(f"{name}_AN_HOUR", pa.array(rates, from_pandas=True))
    return rows


def with_log_reads(tasks: pa.Table, log: pa.Table) -> pa.Table:
    """The rows of tasks with the log's reads an hour (J2), where anything was backed out."""
    asked = np.flatnonzero(np.nan_to_num(_numbers(tasks["NBACKOUTS"])) > 0)
    reads = np.full(len(tasks), np.nan)
    reads[asked] = _reads(tasks.take(asked), log)
    return tasks.append_column(_READS, pa.array(reads, from_pandas=True))


def _reads(tasks: pa.Table, log: pa.Table) -> Floats:
    mine, theirs = _owners((tasks, "QMGR"), (log, "MQSERIES_SUB_ID"))
    moments, ends = _times(tasks), _times(log)
    begun = ends - (np.nan_to_num(_numbers(log["SECONDS"])) * 1e6).astype("timedelta64[us]")
    keys = theirs * _SLOTS + _slots(ends)
    order = np.argsort(keys, kind="stable")
    found = np.searchsorted(keys[order], mine * _SLOTS + _slots(moments))
    made = np.full(len(tasks), np.nan)
    there = np.flatnonzero(found < len(order))
    at = order[found[there]]
    of_it = (theirs[at] == mine[there]) & (begun[at] <= moments[there])
    made[there[of_it]] = _numbers(log[_READS])[at[of_it]]
    return made


def _owners(*several: tuple[pa.Table, str]) -> list[NDArray[np.int64]]:
    """A number for each row of some tables, the same where queue manager and system are the same (G8)."""
    homes = [
        pc.binary_join_element_wise(rows["MVS"], rows[qmgr], "\n", null_handling="replace") for rows, qmgr in several
    ]
    every = pa.chunked_array([chunk for each in homes for chunk in each.chunks], pa.string()).combine_chunks()
    numbers = every.dictionary_encode().indices.to_numpy().astype(np.int64)
    return np.split(numbers, np.cumsum([len(each) for each in homes])[:-1])


def _times(rows: pa.Table) -> NDArray[Any]:
    """The moment of each row, to the second."""
    days, times = pc.cast(rows["DATE"], pa.string()), pc.utf8_slice_codeunits(rows["TIME"], 0, 8)
    moments = pc.binary_join_element_wise(days, times, "T")
    return np.asarray(moments.to_numpy(zero_copy_only=False), dtype="datetime64[us]")


def _slots(moments: NDArray[Any]) -> NDArray[np.int64]:
    """The five minutes that moments lie in, which rows of the log are of."""
    made: NDArray[np.int64] = moments.astype("datetime64[m]").astype(np.int64) // 5
    return made


def _numbers(column: pa.ChunkedArray) -> Floats:
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
