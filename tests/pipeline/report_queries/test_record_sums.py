"""The arithmetic of the outputs on Arrow rows: cut averages, parts that add up, medians and patterns (S1 to S4, M3)."""

from fnmatch import fnmatchcase
from statistics import median_low

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quaestor.pipeline.arrow_expressions import like
from quaestor.pipeline.report_queries.record_sums import (
    added,
    amount,
    average,
    count,
    keys_of,
    ordered,
    percent,
    whole,
)
from quaestor.pipeline.report_queries.steps import sql_pattern
from quaestor.pipeline.report_queries.summary_rows import medians


def arrays(*values):
    return [pa.array(each) for each in values]


def test_what_tells_rows_apart():
    """S1."""
    assert ["moment", "record_id", "jobname", "queue"] == keys_of({"grain": "record"}, "queue")
    assert ["jobname"] == keys_of({"grain": "job"})


@pytest.mark.parametrize(
    ("total", "calls", "expected"),
    [(10.0, 4, 2), (11.9, 4, 2), (12.0, 4, 3), (0.0, 4, 0), (10.0, 0, 0), (0.0, 0, 0), (-1.0, 2, -1)],
)
def test_an_average_is_cut_to_a_whole_number(total, calls, expected):
    """G4: 0 where nothing was counted, as the paper's program prints."""
    assert [expected] == average(*arrays([total], [calls])).to_pylist()


@pytest.mark.parametrize(
    ("part", "of", "expected"), [(1, 3, 33), (2, 3, 66), (3, 3, 100), (1, 0, 0), (None, 5, 0), (5.5, 2, 275)]
)
def test_a_percentage_is_cut_too(part, of, expected):
    assert [expected] == percent(pa.array([part], pa.float64()), pa.array([of], pa.int64())).to_pylist()


def test_what_an_older_level_lacks_counts_as_none():
    """S3."""
    assert [0, 7] == count(pa.array([None, 7], pa.int32())).to_pylist()
    assert [0.0, 7.5] == amount(pa.array([None, 7.5])).to_pylist()
    assert [None, 7] == whole(pa.array([None, 7.9])).to_pylist()
    assert (pa.int64(), pa.float64()) == (count(pa.array([1], pa.int32())).type, amount(pa.array([1])).type)


def test_rows_come_in_the_order_of_their_keys_and_null_first():
    rows = pa.table({"a": ["y", None, "x", "x"], "b": [1, 2, 4, 3]})
    assert [2, 3, 4, 1] == ordered(rows, ("a", "b"))["b"].to_pylist()


ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 99)), min_size=1, max_size=12)
HOW = {"n": "sum", "m": "max", "l": "min"}


def table(rows):
    figures = pa.array([figure for _, figure in rows], pa.int64())
    return pa.table({"k": pa.array([key for key, _ in rows], pa.string()), "n": figures, "m": figures, "l": figures})


@settings(max_examples=60)
@given(ROWS, st.integers(0, 12))
def test_sums_and_extremes_of_parts_are_those_of_the_whole(rows, cut):
    """S2."""
    parts = [added(table(some), ["k"], HOW) for some in (rows[:cut], rows[cut:])]
    twice = ordered(added(pa.concat_tables(parts), ["k"], HOW), ["k"])
    assert ordered(added(table(rows), ["k"], HOW), ["k"]) == twice
    known = {key: [figure for name, figure in rows if name == key and figure is not None] for key, _ in rows}
    expected = [
        (key, sum(held) if held else None, max(held, default=None), min(held, default=None))
        for key, held in sorted(known.items())
    ]
    assert expected == [tuple(row.values()) for row in twice.to_pylist()]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from("12"), st.none() | st.integers(0, 9)), max_size=12))
def test_the_median_of_a_group_is_its_lower_one(rows):
    """M3: one of its figures; null where it has none."""
    given_rows = pa.table({"q": pa.array([a for a, _, _ in rows], pa.string()), "s": [b for _, b, _ in rows]})
    if not rows:
        given_rows = given_rows.set_column(1, "s", pa.array([], pa.string()))
    values = pa.array([float(c) if c is not None else None for *_, c in rows], pa.float64())
    held = {}
    for a, b, c in rows:
        held.setdefault((a, b), []).extend([] if c is None else [float(c)])
    expected = [median_low(held[a, b]) if held[a, b] else None for a, b, _ in rows]
    assert expected == medians(values, given_rows, ["q", "s"]).to_pylist()


@example("*\\", "\\")
@settings(max_examples=100)
@given(st.text("AB*?%_\\.", max_size=6), st.text("AB%_\\.", max_size=6))
def test_a_pattern_means_the_same_to_sql(pattern, name):
    """G2: * and ? alone stand for others; what SQL has a meaning for is itself."""
    matched = like(pa.array([name]), sql_pattern(pattern)).to_pylist()
    assert [fnmatchcase(name, pattern)] == matched


def test_a_time_that_has_run_over_is_the_nearest_double():
    assert [2.0**63, 0.0] == amount(pa.array([2**63 - 1, None], pa.int64())).to_pylist()
