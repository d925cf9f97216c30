"""Task records or jobs added up in memory: the keys of an output, its sums and extremes, its order, its averages.

Rules
  S1  The program prints every task record. With `grain=job` the records of a job are taken together first: counts and
      times add up, sizes and times on queue keep their extremes.
  S2  A part is added up where it is read, and what comes of the parts once more (details, D1): sums, least and greatest
      of parts are those of the whole.
  S3  A figure that an older level lacks counts as none.
  S4  Rows come in the order of the records or of the jobs.

Called by accounting, verb_outputs and statistics.  Calls details, sums.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from quaestor.pipeline.report_queries.details import details
from quaestor.pipeline.report_queries.steps import Parameters, Tables
from quaestor.pipeline.sums import added

Array: TypeAlias = pa.ChunkedArray | pa.Array
Figures: TypeAlias = Callable[[pa.Table], Mapping[str, Array]]
"""What is made of the rows of a part before they are added up."""

_RECORD = ("moment", "record_id")
_LARGEST = float(1 << 63)
COLUMNS = {"moment": "local_time", "record_id": "record_id", "jobname": "task_connection_name", "queue": "base_name"}


def keys_of(asked: Parameters, *more: str) -> list[str]:
    """What tells the rows of an output apart (S1)."""
    return [*(_RECORD if asked["grain"] == "record" else ()), "jobname", *more]


def record_sums(
    tables: Tables,
    structure: str,
    asked: Parameters,
    keys: Sequence[str],
    reads: Sequence[str],
    figures: Figures,
    how: Mapping[str, str],
) -> pa.Table:
    """One row per value of the keys: of the columns that are read, the figures, each put together as `how` says."""
    columns = [*(COLUMNS[each] for each in keys if each in COLUMNS), *dict.fromkeys(reads)]
    rows = details(tables, structure, asked, columns, partial(_part_sums, keys, figures, how))
    return ordered(added(rows, keys, how), keys)


def _part_sums(keys: Sequence[str], figures: Figures, how: Mapping[str, str], rows: pa.Table) -> pa.Table:
    named = {each: rows[COLUMNS[each]] for each in keys if each in COLUMNS}
    return added(pa.table({**named, **figures(rows)}), keys, how)


def ordered(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    """The rows in the order of their keys (S4)."""
    by: list[Any] = [(each, "ascending", "at_start") for each in keys]
    return rows.take(pc.sort_indices(rows, sort_keys=by))


def count(column: Array) -> Array:
    """A column of counts or bytes (S3)."""
    made: Array = pc.fill_null(pc.cast(column, pa.int64()), 0)
    return made


def amount(column: Array) -> Array:
    """A column of times (S3)."""
    made: Array = pc.fill_null(pc.cast(column, pa.float64(), safe=False), 0.0)
    return made


def average(total: Array, calls: Array) -> Array:
    """Total over calls, cut to a whole number; 0 when nothing was counted (G4), null where no integer holds it."""
    some = pc.not_equal(calls, 0)
    divided = pc.floor(pc.divide(total, pc.if_else(some, pc.cast(calls, pa.float64()), 1.0)))
    held = pc.if_else(pc.less(pc.abs(divided), _LARGEST), divided, pa.scalar(None, pa.float64()))
    made: Array = pc.cast(pc.if_else(some, held, 0.0), pa.int64())
    return made


def percent(part: Array, of: Array) -> Array:
    """Part of a whole in per cent, cut; 0 when there is no whole (G4)."""
    return average(pc.multiply(amount(part), 100.0), of)


def whole(column: Array) -> Array:
    """A time cut to whole microseconds."""
    made: Array = pc.cast(pc.floor(pc.cast(column, pa.float64())), pa.int64())
    return made
