"""Filters of a query that can be answered from SMF headers alone.

Rules
  C1  Record type, subtype, system, queue manager and local time stand in the SMF header; tests of them by equality, by
      membership and by comparison select records before they are decoded.
  C2  Every filter is given back to Spark too: ours may let too much through, never too little. So names are compared as
      rows show them, whatever bytes pad them in the header.

Called by source.  Calls nothing but Spark's filter classes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
from pyspark.sql import datasource

from quaestor.pipeline.block_headers import BlockHeaders, name_of
from quaestor.smf.arrays import Mask

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBERS = ("record_type", "subtype")
_NAMES = {"system": "systems", "queue_manager": "queue_managers"}
_COMPARE = {
    "GreaterThan": np.greater,
    "GreaterThanOrEqual": np.greater_equal,
    "LessThan": np.less,
    "LessThanOrEqual": np.less_equal,
    "EqualTo": np.equal,
}


@dataclass(frozen=True, slots=True)
class Test:
    """A header field, how it is compared, and with what."""

    column: str
    comparison: str
    values: tuple[Any, ...]


@dataclass(slots=True)
class Selection:
    """Tests that must all hold."""

    tests: list[Test] = field(default_factory=list)

    def take(self, filters: Iterable[Any]) -> None:
        """Remember the filters that headers can answer (C1)."""
        for each in filters:
            made = _test(each)
            if made is not None:
                self.tests.append(made)

    def mask(self, headers: BlockHeaders) -> Mask:
        """Which records pass."""
        wanted = np.ones(len(headers.types), np.bool_)
        for test in self.tests:
            wanted &= _holds(test, headers)
        return wanted


def _test(given: Any) -> Test | None:
    column = ".".join(given.attribute) if hasattr(given, "attribute") else ""
    if isinstance(given, datasource.In) and column != "local_time":
        values, comparison = tuple(given.value), "EqualTo"
    elif type(given).__name__ in _COMPARE:
        values, comparison = (given.value,), type(given).__name__
    else:
        return None
    if column in _NAMES:
        fits = comparison == "EqualTo" and all(isinstance(each, str) for each in values)
    elif column in _NUMBERS:
        fits = all(isinstance(each, int) for each in values)
    else:
        fits = column == "local_time" and all(isinstance(each, datetime) for each in values)
    return Test(column, comparison, values) if fits else None


def _holds(test: Test, headers: BlockHeaders) -> Mask:
    if test.column in _NAMES:
        distinct, each = np.unique(getattr(headers, _NAMES[test.column]), return_inverse=True)
        fits: Mask = np.array([name_of(packed) in test.values for packed in distinct.tolist()], np.bool_)
        return fits[each]
    if test.column in _NUMBERS:
        held = headers.types if test.column == "record_type" else headers.subtypes
        if test.comparison == "EqualTo":
            return np.isin(held, test.values)
        made: Mask = _COMPARE[test.comparison](held, test.values[0])
        return made
    moment = test.values[0]
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    found: Mask = _COMPARE[test.comparison](headers.local_us, round((moment - _EPOCH).total_seconds() * 1_000_000))
    return found & headers.dated
