"""Rows: one way to say that a value is not known, and figures by group as a plain loop would give them."""

from datetime import UTC, datetime
from math import isnan
from statistics import median

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.advisor.rows import (
    Groups,
    Rows,
    as_of,
    begins_with,
    codes,
    is_known,
    is_number,
    looked_up,
    of_column,
    of_table,
    ratio,
    unknown,
)

NINE = datetime(2026, 3, 2, 9)
FLOATS = st.none() | st.integers(-3, 3).map(float)
TEXTS = st.none() | st.sampled_from(("A", "B", "C"))


def floats(values):
    return np.array([np.nan if value is None else value for value in values], np.float64)


def texts(values):
    made = np.empty(len(values), object)
    made[:] = values
    return made


def plain(column):
    return [None if isinstance(value, float) and isnan(value) else value for value in column.tolist()]


# --- rows -------------------------------------------------------------------------------------------------------------


def test_rows_are_values():
    """R3: what adds columns or picks rows leaves the rows as they were."""
    rows = Rows({"depth": floats([1, 2, 3]), "queue": texts(["A", "B", None])})
    more = rows.plus(size=floats([7, 8, 9]))
    assert (3, ["depth", "queue"], ["depth", "queue", "size"]) == (len(rows), list(rows), list(more))
    assert ("size" in more, "size" in rows) == (True, False)
    assert [2, 3] == rows.take(np.array([False, True, True])).depth.tolist()
    assert [3, 1] == rows.take(np.array([2, 0])).depth.tolist()
    assert (2, 2) == (len(rows.take(np.array([False, True, True]))), len(rows.take(np.array([2, 0]))))
    assert [1, 2, 3] == rows.depth.tolist()


def test_a_row_is_plain_and_what_is_not_known_is_none():
    moments = np.array([NINE, "NaT"], "datetime64[us]")
    rows = Rows({"depth": floats([1, None]), "queue": texts(["A", None]), "at": moments})
    assert {"depth": 1.0, "queue": "A", "at": NINE} == rows.row(0)
    assert {"depth": None, "queue": None, "at": None} == rows.row(1)
    assert (float, datetime) == (type(rows.row(0)["depth"]), type(rows.row(0)["at"]))


def test_a_column_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(AttributeError, match="no column dpeth; there are depth, queue"):
        _ = Rows({"depth": floats([]), "queue": texts([])}).dpeth


def test_rows_without_columns_have_the_size_they_are_given():
    assert 5 == len(Rows({}, 5))


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1, None, 3], pa.int64()), [1.0, None, 3.0]),
        (pa.array([1.5, None], pa.float32()), [1.5, None]),
        (pa.array([True, None, False]), [1.0, None, 0.0]),
        (pa.array(["A", None]), ["A", None]),
        (pa.array([b"\x01", None]), [b"\x01", None]),
        (pa.array(["A", "B", "A", None]).dictionary_encode(), ["A", "B", "A", None]),
        (pa.array([], pa.int32()), []),
        (pa.array([], pa.string()), []),
    ],
    ids=str,
)
def test_a_column_of_arrow_becomes_an_array(column, expected):
    """R1: numbers are floats with NaN, the rest are objects with None."""
    for each in (column, pa.chunked_array([column])):
        made = of_column(each)
        assert expected == plain(made)
        assert (np.float64 if made.dtype != object else object) == made.dtype


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_instants_are_microseconds_whatever_they_came_in(unit, zone):
    moment = NINE.replace(tzinfo=UTC) if zone else NINE
    made = of_column(pa.array([moment, None], pa.timestamp(unit, zone)))
    assert "datetime64[us]" == made.dtype
    assert [NINE, None] == made.tolist()
    assert [True, False] == is_known(made).tolist()


def test_lists_and_structs_are_left_to_who_asks_for_them():
    table = pa.table({"depth": [1, 2], "slots": [[1], [2, 3]], "name": pa.array(["A", "A"]).dictionary_encode()})
    assert ["depth", "name"] == list(of_table(table))
    assert ["name"] == list(of_table(table, ("name", "slots", "other")))
    assert 2 == len(of_table(table, ()))


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        ([6], [3], [2]),
        ([6], [0], [None]),
        ([0], [0], [None]),
        ([0], [5], [0]),
        ([None], [5], [None]),
        ([5], [None], [None]),
    ],
)
def test_a_ratio_of_nothing_is_not_known(part, whole, expected):
    """R2."""
    assert expected == plain(ratio(floats(part), floats(whole)))


def test_a_ratio_takes_a_single_number_on_either_side():
    assert [1, 2] == ratio(floats([5, 10]), 5).tolist()
    assert [4, 2] == ratio(20, floats([5, 10])).tolist()


def test_texts_that_begin_with_a_prefix():
    names = texts(["SYSTEM.ADMIN.X", "SYSTEM", None, "MYSYSTEM.ADMIN."])
    assert [True, False, False, False] == begins_with(names, "SYSTEM.ADMIN.", "SYSTEM.COMMAND.").tolist()
    assert [] == begins_with(texts([]), "A").tolist()


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        *((value, True) for value in (0, -1, 1.5, 1e308, -1e308, 10**308)),
        *(
            (value, False)
            for value in (True, False, None, "1", [1], float("nan"), float("inf"), float("-inf"), 10**309)
        ),
    ],
)
def test_what_a_person_may_write_for_a_number(value, is_one):
    assert is_one is is_number(value)


def test_nothing_is_known_of_an_unknown_column():
    assert [False, False] == is_known(unknown(2)).tolist()
    assert 0 == len(unknown(0))


# --- groups -----------------------------------------------------------------------------------------------------------


@given(st.lists(TEXTS), st.lists(FLOATS))
def test_equal_values_have_equal_codes(names, numbers):
    for column in (texts(names), floats(numbers)):
        values, made = plain(column), codes(column)
        assert len(made) == len(values)
        assert all((values[i] == values[j]) == (made[i] == made[j]) for i in range(len(values)) for j in range(i))


ROWS = st.lists(st.tuples(TEXTS, FLOATS, FLOATS, TEXTS), max_size=12)


@given(ROWS)
def test_groups_are_those_of_a_plain_loop(rows):
    """Keys of text and of numbers, values that may not be known: figures in the order in which groups first appear."""
    model = {}
    for index, (name, number, value, other) in enumerate(rows):
        model.setdefault((name, number), []).append((index, value, other))
    names, numbers, values, others = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
    groups = Groups([texts(names), floats(numbers)])
    known = [[value for _, value, _ in members if value is not None] for members in model.values()]
    assert len(model) == len(groups)
    assert [members[0][0] for members in model.values()] == groups.first.tolist()
    assert [list(model).index(row[:2]) for row in rows] == groups.of_row.tolist()
    assert [len(members) for members in model.values()] == groups.counts.tolist()
    column = floats(values)
    assert [sum(each) if each else None for each in known] == plain(groups.sum(column))
    assert [max(each, default=None) for each in known] == plain(groups.highest(column))
    assert [min(each, default=None) for each in known] == plain(groups.lowest(column))
    assert [median(each) if each else None for each in known] == plain(groups.median(column))
    distinct = [len({other for _, _, other in members} - {None}) for members in model.values()]
    assert distinct == groups.distinct(texts(others)).tolist()
    assert [len(set(each)) for each in known] == groups.distinct(column).tolist()


# --- as of ------------------------------------------------------------------------------------------------------------

MOMENTS = st.lists(st.tuples(st.sampled_from("AB"), st.integers(0, 20)), max_size=8)


def moments(pairs):
    start = np.datetime64(NINE, "us")
    return texts([key for key, _ in pairs]), np.array([start + np.timedelta64(at, "us") for _, at in pairs], "M8[us]")


@given(MOMENTS, MOMENTS, st.integers(0, 5), st.booleans())
def test_the_nearest_row_of_the_key_is_found(mine, others, tolerance, earlier):
    """The last one up to the tolerance after the row, or the first one from the tolerance before it."""
    found = as_of(*moments(mine), *moments(others), tolerance_us=tolerance, earlier=earlier)
    for (key, at), index in zip(mine, found.tolist(), strict=True):
        if earlier:
            reach = [time for other, time in others if other == key and time <= at + tolerance]
            expected = max(reach, default=None)
        else:
            reach = [time for other, time in others if other == key and time >= at - tolerance]
            expected = min(reach, default=None)
        assert (None if index < 0 else others[index]) == (None if expected is None else (key, expected))


def test_values_are_looked_up_where_there_is_a_row():
    column = floats([10, 20])
    assert [20, None, 10] == plain(looked_up(column, np.array([1, -1, 0])))
    assert [None, None] == plain(looked_up(floats([]), np.array([-1, -1])))


@pytest.mark.parametrize("value", [2**53, 2**53 + 1, 2**63 - 1, -(2**63), -(2**53) - 1])
def test_a_count_beyond_what_a_float_tells_apart_is_the_nearest(value):
    """R1: a figure that has run over, or a damaged one, stops no rule from looking at the others."""
    known, absent = of_column(pa.array([value, None], pa.int64())).tolist()
    assert float(value) == known
    assert isnan(absent)
