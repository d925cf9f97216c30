"""Counts an hour from intervals of any length (rules N1 to N3)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.pipeline.hours import hourly

NINE = np.datetime64("2026-03-02T09:00:00", "us")


def rates(counts, minutes, names=None):
    """Counts an hour of intervals of equal length, one after the other; those of one name are of one object."""
    size = len(counts)
    ends = NINE + np.arange(1, size + 1) * np.timedelta64(minutes, "m")
    objects = np.unique(names or ["QM01"] * size, return_inverse=True)[1]
    return hourly(np.array(counts, float), objects, ends, np.full(size, 60.0 * minutes)).tolist()


def test_hours_and_more_stand_for_themselves():
    assert [5, 11, 0] == rates([5, 11, 0], 60)
    assert [3] == rates([6], 120)


def test_half_hours_are_added_to_the_one_before():
    assert [12, 6, 0, 20] == rates([6, 0, 0, 20], 30)


def test_one_event_in_a_minute_is_not_sixty_an_hour():
    assert [2] == rates([1], 1)
    assert 1 == rates([1] + [0] * 59, 1)[-1]
    assert 60 == rates([1] * 120, 1)[-1]


def test_objects_are_counted_apart():
    """A's intervals end after 15 and 45 minutes, B's after 30 and 60: each has three quarters of an hour in the end."""
    assert pytest.approx([4, 2, 8 / 3, 4 / 3]) == rates([2, 1, 0, 0], 15, ["A", "B", "A", "B"])


def test_records_that_are_built_a_moment_early_do_not_join_their_neighbours():
    ends = NINE + np.array([0, 3_599_950_000], "timedelta64[us]")
    made = hourly(np.array([4.0, 6.0]), np.zeros(2, int), ends, np.full(2, 3600.0))
    assert [4, 6] == made.tolist()


def test_the_order_of_rows_does_not_matter():
    ends = NINE + np.array([45, 15, 30], "timedelta64[m]")
    made = hourly(np.array([3.0, 1.0, 2.0]), np.zeros(3, int), ends, np.full(3, 900.0))
    assert pytest.approx([8, 2, 6]) == made.tolist()


def test_what_is_not_known_has_no_rate():
    made = hourly(np.array([1.0]), np.zeros(1, int), np.array([NINE]), np.array([np.nan]))
    assert np.isnan(made).all()
    assert 0 == len(hourly(np.empty(0), np.empty(0, int), np.empty(0, "datetime64[us]"), np.empty(0)))


def test_an_end_that_is_not_known_moves_no_other():
    """A record with a damaged time: three an hour stay three."""
    ends = NINE + np.arange(4) * np.timedelta64(1, "h")
    ends[1] = np.datetime64("NaT")
    made = hourly(np.full(4, 3.0), np.zeros(4, int), ends, np.full(4, 3600.0))
    assert [3, None, 3, 3] == [None if np.isnan(each) else each for each in made]
    assert np.isnan(hourly(np.ones(1), np.zeros(1, int), ends[1:2], np.full(1, 3600.0))).all()


INTERVALS = st.lists(
    st.tuples(
        st.integers(0, 3),  # the object
        st.integers(0, 6 * 3600),  # when it ended
        st.sampled_from([60.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0]),
        st.integers(0, 100),
    ),
    min_size=1,
    max_size=12,
)


@given(INTERVALS)
def test_objects_have_the_rates_that_they_have_alone(intervals):
    objects, ends, seconds, counts = (np.array(each) for each in zip(*intervals, strict=True))
    ends = NINE + ends * np.timedelta64(1, "s")
    together = hourly(counts.astype(float), objects, ends, seconds)
    for each in set(objects.tolist()):
        mine = objects == each
        alone = hourly(counts[mine].astype(float), np.zeros(mine.sum(), int), ends[mine], seconds[mine])
        assert pytest.approx(alone.tolist()) == together[mine].tolist()


@pytest.mark.parametrize(
    ("ended_s", "length_s", "expected"),
    [
        (900, 900.0, 10 * 3600 / 3600),
        (840, 900.0, 10 * 3600 / 3660),  # it began a minute before the hour, which is still the hour
        (839, 900.0, 6 * 3600 / 2700),
        (30, 60.0, 10 * 3600 / 3630),  # of a minute's interval half may lie outside
        (29, 60.0, 6 * 3600 / 1860),
    ],
)
def test_an_interval_belongs_to_the_hour_when_it_began_within_it(ended_s, length_s, expected):
    """N1: 4 in the interval in question, then 1, 2 and 3, the last of which ends the hour."""
    ends = NINE + np.array([ended_s, 1800, 2700, 3600], "timedelta64[s]")
    made = hourly(np.array([4.0, 1.0, 2.0, 3.0]), np.zeros(4, int), ends, np.full(4, length_s))
    assert pytest.approx(expected) == made[-1]


@pytest.mark.parametrize(("count", "seconds"), [(np.nan, 3600.0), (1.0, 0.0), (1.0, -1.0), (1.0, np.nan)])
def test_a_row_without_count_or_length_has_no_rate(count, seconds):
    ends = np.array([NINE, NINE + np.timedelta64(1, "h")])
    made = hourly(np.array([count, 5.0]), np.zeros(2, int), ends, np.array([seconds, 3600.0]))
    assert np.isnan(made[0])
    assert 5 == made[1]
