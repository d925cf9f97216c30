"""Counts an hour, from intervals of any length.

A limit in times an hour says nothing about one minute: a single checkpoint in it would be sixty an hour.

Rules
  N1  What an hour had is counted over the hour that ends with the interval: its own count and those of the intervals
      of the same object before it that lie in that hour. An interval of an hour or more stands for itself.
  N2  What is less than half an hour counts as half an hour, so that no count is more than doubled.
  N3  An interval whose length or end is not known has no rate, and counts for no other.

Called by the list of exceptions and by the advisor's rules.  Calls nothing, knows no Spark.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

HOUR_S, LEAST_S = 3600.0, 1800.0
_APART_S = 60.0  # records of equal intervals are not built at equal distances


def hourly(counts: Floats, objects: NDArray[np.intp], ends: NDArray[Any], seconds: Floats) -> Floats:
    """Counts an hour of each row (N1); rows of equal `objects` are of one object."""
    if not len(counts):
        return np.empty(0)
    there = ~np.isnat(ends)
    if not there.all():  # N3
        told = np.full(len(counts), np.nan)
        told[there] = hourly(counts[there], objects[there], ends[there], seconds[there])
        return told
    end_s = (ends - ends.min()).astype("timedelta64[us]").astype(np.float64) / 1e6
    order = np.lexsort((end_s, objects))
    mine, at_s = objects[order], end_s[order]
    length_s = np.nan_to_num(seconds)[order]
    apart = mine * (at_s.max() + 2 * HOUR_S + length_s.max())  # so that one search serves all groups
    begun = at_s - HOUR_S + length_s - np.minimum(_APART_S, length_s / 2)
    first = np.minimum(np.searchsorted(apart + at_s, apart + begun), np.arange(len(order)))
    upto = np.concatenate([[0.0], np.cumsum(np.nan_to_num(counts)[order])])
    last = np.searchsorted(apart + at_s, apart + at_s, side="right")
    covered_s = at_s - at_s[first] + length_s[first]
    made = np.full(len(order), np.nan)
    made[order] = HOUR_S * (upto[last] - upto[first]) / np.maximum(LEAST_S, np.maximum(covered_s, length_s))
    return np.where(np.isnan(seconds) | np.isnan(counts) | (seconds <= 0), np.nan, made)
