"""Counts an hour from intervals of any length (rules N1 to N3)."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from advisor.given import rule_of
from advisor.test_views import table
from quaestor.advisor.cutoffs import Chosen
from quaestor.advisor.evaluate import run
from quaestor.advisor.hours import hourly
from quaestor.advisor.settings import Settings
from quaestor.advisor.view_catalog import BY_NAME

NINE = np.datetime64("2026-03-02T09:00:00", "us")


def rates(counts, minutes, names=None):
    """Counts an hour of intervals of equal length, one after the other; those of one name are of one object."""
    size = len(counts)
    ends = NINE + np.arange(1, size + 1) * np.timedelta64(minutes, "m")
    objects = np.array(names or ["QM01"] * size, object)
    return hourly(np.array(counts, float), [objects], ends, np.full(size, 60.0 * minutes)).tolist()


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
    made = hourly(np.array([4.0, 6.0]), [np.array(["QM01"] * 2, object)], ends, np.full(2, 3600.0))
    assert [4, 6] == made.tolist()


def test_the_order_of_rows_does_not_matter():
    ends = NINE + np.array([45, 15, 30], "timedelta64[m]")
    made = hourly(np.array([3.0, 1.0, 2.0]), [np.array(["Q"] * 3, object)], ends, np.full(3, 900.0))
    assert pytest.approx([8, 2, 6]) == made.tolist()


def test_what_is_not_known_has_no_rate():
    made = hourly(np.array([1.0]), [np.array(["Q"], object)], np.array([NINE]), np.array([np.nan]))
    assert np.isnan(made).all()
    assert 0 == len(hourly(np.empty(0), [np.empty(0, object)], np.empty(0, "datetime64[us]"), np.empty(0)))


def minutes_of_log(checkpoints):
    """One-minute intervals of the log manager."""
    rows = [
        {
            "local_time": datetime(2026, 3, 2, 9) + timedelta(minutes=number),
            "interval_us": 6e7,
            "checkpoints": each,
            "writes_nowait": 1000,
        }
        for number, each in enumerate(checkpoints, 1)
    ]
    return {"QJST": table("QJST", *rows)}


def findings(tables):
    rule = rule_of("mp1b/A-43")
    view = BY_NAME[rule.table]
    return run(Chosen(rule, rule.defaults), view, view.make(tables), Settings())


def test_a_checkpoint_in_a_short_interval_is_no_finding():
    assert [] == findings(minutes_of_log([0] * 30 + [1] + [0] * 29))


def test_checkpoints_of_short_intervals_add_up():
    """One in five minutes, twelve an hour: the rule is met also in the minutes between."""
    (found,) = findings(minutes_of_log(([0] * 4 + [1]) * 24))
    assert "12.0 checkpoints an hour" in found.advice
    assert "every 4,000 minutes at this load, now it is 5.0" in found.effect
