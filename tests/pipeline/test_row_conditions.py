"""Conditions and figures on rows in memory."""

import pyarrow as pa
import pytest

from quaestor.pipeline.row_conditions import figures, holding
from quaestor.pipeline.thresholds import LIMITS
from quaestor.pipeline.update_language import DefinitionError

ROWS = pa.table(
    {
        "QUEUE": ["A", "B", "C", "D", None],
        "GETS": pa.array([10, 3, 0, None, 8], pa.int64()),
        "CALLS": pa.array([4, 2, 0, 1, 4], pa.int32()),
        "ET_US": [2.0, 9.0, 1.0, 1.0, None],
    }
)


def queues(condition, **parameters):
    return holding(condition, ROWS, parameters)["QUEUE"].to_pylist()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("GETS > 3", ["A", None]),
        ("gets / calls > 2.4", ["A"]),  # not cut to 2; nothing divided by nothing is no value
        ("GETS > 0 AND NOT QUEUE IN ('A', 'D')", ["B"]),  # of a queue without a name neither is known
        ("(GETS - CALLS) / CALLS >= 1 OR QUEUE = 'C'", ["A", "C", None]),
        ("100 * ET_US <= @LIMIT * CALLS", ["A", "D"]),
        ("GETS BETWEEN 3 AND 8", ["B", None]),
        ("GETS IS NULL", ["D"]),
    ],
)
def test_a_condition_that_is_not_true_does_not_hold(condition, expected):
    assert queues(condition, limit=100) == expected


def test_figures_are_doubles_and_null_where_nothing_was_counted():
    assert figures("GETS / CALLS", ROWS, {}).to_pylist() == [2.5, 1.5, None, None, 2.0]
    assert figures("CALLS", ROWS, {}).type == pa.float64()
    assert figures("GETS / CALLS", ROWS.slice(0, 0), {}).to_pylist() == []


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("PUTS > 0", "row:1:1: no column PUTS"),
        ("GETS > @LIMIT", "row:1:8: no column @LIMIT"),
        ("QUEUE > 3", "row:1:1: cannot compare double with string|row:1:1: cannot compare integer with string"),
        ("GETS >", "something is missing at the end"),
    ],
)
def test_what_does_not_fit_is_refused_before_a_row_is_looked_at(condition, says):
    with pytest.raises(DefinitionError, match=says):
        queues(condition)


def test_names_of_limits_are_names_of_the_language():
    for each in LIMITS:
        assert len(holding(f"@{each.name} >= 0", ROWS, {each.name: each.default})) == len(ROWS)


def test_a_count_of_eight_bytes_that_has_run_over_is_the_nearest_double():
    """V2: W8 writes the most that a field holds; such a row is looked at like any other."""
    rows = pa.table({"GETS": pa.array([2**63 - 1, 2**53 + 1, 1], pa.int64())})
    assert [2.0**63, 2.0**53, 1.0] == figures("GETS", rows, {}).to_pylist()
    assert 2 == len(holding("GETS / 2 > @LIMIT", rows, {"limit": 10}))
