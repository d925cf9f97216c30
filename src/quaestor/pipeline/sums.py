"""Rows in memory added up by their keys.

Rules
  A1  A sum that an integer does not hold has no value (expressions, E2): Arrow alone would go on from the other end,
      and tell of bytes below zero. Spark is asked for the same with `try_sum`.
  A2  Sums that cannot come near that, all but those over damaged records, are found out by their least and greatest
      values and cost nothing more.

Called by day_part, daily_parts and report_queries.  Calls Arrow.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_LARGEST = float(1 << 63)
_NEAR = float(1 << 62)


def added(rows: pa.Table, keys: Sequence[str], how: Mapping[str, str]) -> pa.Table:
    """One row per value of the keys, every figure put together as `how` says, under its own name."""
    made = grouped(rows, keys, list(how.items()))
    return made.select([*keys, *(f"{name}_{each}" for name, each in how.items())]).rename_columns([*keys, *how])


def grouped(rows: pa.Table, keys: Sequence[str], figures: Sequence[tuple[Any, str]]) -> pa.Table:
    """One row per value of the keys, with columns as Arrow calls them (A1)."""
    made = rows.group_by(list(keys), use_threads=False).aggregate(list(figures))
    large = [name for name, how in figures if how == "sum" and _may_be_too_large(rows[name])]
    if not large:
        return made
    doubles = [rows[name].cast(pa.float64(), safe=False) for name in large]
    alike = pa.table([*(rows[each] for each in keys), *doubles], names=[*keys, *large])
    exact = alike.group_by(list(keys), use_threads=False).aggregate([(name, "sum") for name in large])
    for name in (f"{each}_sum" for each in large):
        apart = pc.abs(pc.subtract(made[name].cast(pa.float64(), safe=False), exact[name]))
        kept = pc.if_else(pc.less(apart, _NEAR), made[name], pa.scalar(None, made[name].type))
        made = made.set_column(made.schema.get_field_index(name), name, kept)
    return made


def _may_be_too_large(column: pa.ChunkedArray) -> bool:
    """Whether the sum of these values could be one that an integer does not hold (A2)."""
    if not pa.types.is_integer(column.type):
        return False
    ends = pc.min_max(column).as_py()
    return any(each is not None and abs(each) * len(column) >= _LARGEST for each in ends.values())
