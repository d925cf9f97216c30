"""Whose a queue's row is, which hour and day it counts for, and which rule a name means (T1, T2)."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from advisor.given import NINE, rule_of, table, task
from quaestor.advisor.accounting_views import application_days, page_set_hours, queue_hours, tasks
from quaestor.advisor.by_row import by_row
from quaestor.advisor.catalog import RULES
from quaestor.advisor.cutoffs import CutoffError, load
from quaestor.planner.batches import batchint_ms_for

LETTERS = "ABC"


def token(letter):
    return letter.encode() * 16


def at(hours=9, minutes=0, seconds=0):
    return datetime(2026, 3, 2, hours, minutes, seconds)


# --- T1: whose rows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, -1])
def test_a_task_is_known_by_its_queue_manager_and_its_token(order):
    """Three tokens on three queue managers are nine tasks: each finds its own queue's puts, in any order."""
    pairs = [(f"QM0{manager}", letter) for manager in range(1, 4) for letter in LETTERS]
    numbered = {pair: 10 ** (1 + place % 5) + place for place, pair in enumerate(pairs)}
    own = [task(token(letter), queue_manager=manager) for manager, letter in pairs]
    queues = [
        task(token(letter), queue_manager=manager, valid_puts=numbered[manager, letter]) for manager, letter in pairs
    ]
    made = tasks({"WTAS": table("WTAS", *own[::order]), "WQST": table("WQST", *queues)})
    found = dict(zip(zip(made.queue_manager, map(bytes, made.correlator), strict=True), made.valid_puts, strict=True))
    assert {(manager, token(letter)): count for (manager, letter), count in numbered.items()} == found


def test_a_queue_of_an_unknown_task_is_nobody_s():
    own = task(token("A"), queue_manager="QM01")
    strangers = [
        task(token("B"), queue_manager="QM01", valid_puts=5),
        task(token("A"), queue_manager="QM02", valid_puts=7),
    ]
    made = tasks({"WTAS": table("WTAS", own), "WQST": table("WQST", *strangers)})
    assert [0.0] == made.valid_puts.tolist()


def test_a_queue_belongs_to_the_last_record_of_its_task_before_it():
    """A long task writes a record each interval; its queues stand in the same record or behind it, never before."""
    own = [task(local_time=at(9)), task(local_time=at(10))]
    queues = [task(local_time=at(9), valid_puts=1), task(local_time=at(10), valid_puts=10)]
    late = [task(local_time=at(9, 59, 59), valid_puts=100), task(local_time=at(8, 59, 59), valid_puts=1_000)]
    made = tasks({"WTAS": table("WTAS", *own), "WQST": table("WQST", *queues, *late)})
    assert [101.0, 10.0] == made.valid_puts.tolist()


@pytest.mark.parametrize(("covered", "seconds"), [(0.5, 0.5), (1, 1.0), (0.000_001, 0.000_001)])
def test_a_task_of_less_than_a_second_covers_it(covered, seconds):
    own = task(wtas_interval_start=NINE, interval_end=NINE + timedelta(seconds=covered))
    made = tasks({"WTAS": table("WTAS", own), "WQST": table("WQST")})
    assert [pytest.approx(seconds)] == made.seconds.tolist()


def test_structures_are_counted_once_each():
    """Two queues in one structure and one in another are two; a private queue is in none."""
    queues = [task(structure=name) for name in ("APP1", "APP1", "APP2", "", None)]
    made = tasks({"WTAS": table("WTAS", task()), "WQST": table("WQST", *queues)})
    assert [2.0] == made.structures_used.tolist()


# --- T2: which hour and day -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cut", "ends"),
    [
        (at(9, 30), 10),
        (at(10), 10),  # the hour's last interval is cut as it ends
        (at(10, 0, 59), 10),
        (at(10, 1), 11),
        (at(10, 1, 30), 11),
        (at(9, 1), 10),
    ],
)
def test_the_hour_of_a_queue(cut, ends):
    made = queue_hours({"WQST": table("WQST", task(local_time=cut, base_name="A", valid_puts=3))})
    assert [at(ends)] == made.local_time.tolist()
    assert [3600.0] == made.seconds.tolist()


def test_a_queue_is_known_by_its_base_name():
    """An alias leads to the queue; where no base name was written, the object is the queue."""
    rows = [
        task(base_name="ORDERS", object_name="ORDERS.ALIAS", valid_puts=1),
        task(base_name="ORDERS", object_name="ORDERS", valid_puts=10),
        task(base_name="", object_name="OTHER", valid_puts=100),
        task(base_name=None, object_name="OTHER", valid_puts=1_000),
    ]
    made = queue_hours({"WQST": table("WQST", *rows)})
    assert {"ORDERS": 11.0, "OTHER": 1_100.0} == dict(zip(made.queue, made.valid_puts, strict=True))
    assert [2.0, 2.0] == made.tasks.tolist()


def test_channels_are_counted_apart():
    """Connection type 6 is the channel initiator: what it got, and what its clients opened."""
    rows = [
        task(base_name="A", valid_gets=5, opens=2, task_connection_type=6),
        task(base_name="A", valid_gets=7, opens=3, task_connection_type=2),
    ]
    made = queue_hours({"WQST": table("WQST", *rows)})
    assert [12.0, 5.0, 2.0] == [made.valid_gets[0], made.channel_gets[0], made.client_calls[0]]


def test_sizes_got_are_those_of_tasks_that_got():
    """A task that got nothing has a lowest size of 0, which is no size."""
    rows = [
        task(base_name="A", valid_gets=1, get_size_low=100, get_size_high=500),
        task(base_name="A", valid_gets=0, get_size_low=0, get_size_high=9_999),
        task(base_name="A", valid_gets=1, get_size_low=200, get_size_high=600),
    ]
    made = queue_hours({"WQST": table("WQST", *rows)})
    assert [100.0, 600.0] == [made.get_size_low[0], made.get_size_high[0]]


def test_time_on_queue_is_over_destructive_gets():
    rows = [
        task(base_name="A", on_queue_elapsed_us=6_000_000, valid_destructive_gets=2),
        task(base_name="A", on_queue_elapsed_us=2_000_000, valid_destructive_gets=2),
        task(base_name="B", on_queue_elapsed_us=9_000_000, valid_destructive_gets=0),
    ]
    made = queue_hours({"WQST": table("WQST", *rows)})
    assert 2.0 == made.on_queue_s[0]
    assert np.isnan(made.on_queue_s[1])


def test_the_queues_of_a_page_set():
    """Private queues only: the shortest and the longest mean of them."""
    rows = [
        task(base_name=name, page_set=3, structure=structure, on_queue_elapsed_us=us, valid_destructive_gets=1)
        for name, structure, us in (("A", "", 2e6), ("B", "", 5e6), ("S", "APP1", 60e6))
    ]
    made = page_set_hours({"WQST": table("WQST", *rows)})
    assert [2.0, 2.0, 5.0] == [made.queues[0], made.on_queue_s_shortest[0], made.on_queue_s_longest[0]]


def test_a_day_is_compared_with_the_last_day_before_it():
    """Monday, Tuesday and Friday of one application: each with the one before, wherever that was; CPU of a unit."""
    days = {2: (10, 1_000), 3: (10, 2_000), 6: (20, 2_000)}
    own = [
        task(token(letter), local_time=datetime(2026, 3, day, 12), commits=commits, commit_cpu_us=cpu)
        for letter, (day, (commits, cpu)) in zip("XYZ", days.items(), strict=True)
    ]
    made = application_days({"WTAS": table("WTAS", *own), "WQST": table("WQST")})
    assert [100.0, 200.0, 100.0] == made.cpu_us_per_unit.tolist()
    assert np.isnan(made.cpu_us_per_unit_before[0])
    assert [100.0, 200.0] == made.cpu_us_per_unit_before[1:].tolist()


@pytest.mark.parametrize(("cut", "day"), [((0, 0, 0), 2), ((0, 0, 59), 2), ((0, 1, 0), 3), ((23, 59, 59), 3)])
def test_the_interval_that_midnight_closes_is_of_the_day_before(cut, day):
    own = task(local_time=datetime(2026, 3, 3, *cut), commits=1)
    made = application_days({"WTAS": table("WTAS", own), "WQST": table("WQST")})
    assert np.datetime64(f"2026-03-{day + 1:02d}", "us") == made.local_time[0]


# --- formulas and names -----------------------------------------------------------------------------------------------


def test_what_is_not_known_is_nan_and_not_none():
    """W1: a column of floats stays one."""
    made = by_row(batchint_ms_for, np.array([np.nan, 0.0]), np.array([50.0, 50.0]))
    assert np.float64 == made.dtype
    assert np.isnan(made).all()


def test_a_full_name_is_meant_even_where_it_is_somebody_s_short_one():
    """An id names its rule; short names must be the only one."""
    first, second = rule_of("mp1b/A-1"), rule_of("mp16-ch1/A-1")
    (changed,) = [
        each for each in load('["mp1b/A-1"]\nseverity = "note"\n', [first, second]) if each.rule.id == first.id
    ]
    assert "NOTE" == changed.rule.severity.name
    with pytest.raises(CutoffError, match="A-1 names mp1b/A-1, mp16-ch1/A-1; one rule is wanted"):
        load("[A-1]\n", [first, second])


def test_a_rule_that_is_switched_off_can_be_named_once_more_only_as_an_error():
    text = '["mp1b/A-10"]\nenabled = false\n["MP1B/A-10"]\nenabled = true\n'
    with pytest.raises(CutoffError, match="are one rule"):
        load(text, RULES)
