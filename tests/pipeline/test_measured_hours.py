"""Measured hours against the synthesiser's own ledger: what was planted is what a plan is made from."""

from datetime import date, datetime

import numpy as np
import pytest

from pipeline.lakes import HOUR_US, MONDAY_US, dump, identity, load_raw
from pipeline.planted import Truth, growing, lake_of
from quaestor.cli.plan_lake import _filled
from quaestor.pipeline.measured_hours import (
    busiest_hour,
    daily_figures,
    measured_hour,
    message_hours,
    queue_managers,
)
from quaestor.planner.measurement import MeasuredQueue
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification
from quaestor.smf.synth.profile_file import load_profile
from quaestor.smf.writer import task_records


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    profile = load_profile("small")
    return profile, *lake_of(tmp_path_factory.mktemp("small"), profile)


@pytest.fixture
def tables(small, spark):
    return lambda name: small[1].table(spark, name)


@pytest.fixture(scope="module")
def truth(small):
    return Truth(small[0], "QM01")


def test_the_queue_managers_of_a_lake(tables):
    assert [("QM01", "SYSA"), ("QM02", "SYSB")] == queue_managers(tables)


def test_the_busiest_hour_is_the_one_that_was_planted(tables, truth):
    hours = message_hours(tables, "QM01")
    assert 24 == len(hours)
    assert {3600.0} == {each["seconds"] for each in hours}
    calls = truth.ledger.total("queue", "gets", "puts", "put1s")
    assert calls.tolist() == [each["calls"] for each in hours]
    assert truth.hour(np.flatnonzero(calls == calls.max())[-1]) == busiest_hour(hours)


def test_a_range_narrows_the_hours(tables):
    """An hour is written when it ends: that from 8 to 9 is not in the range, nor is any from 12 on."""
    found = message_hours(tables, "QM01", datetime(2026, 3, 2, 9), datetime(2026, 3, 2, 12))
    assert [9, 10, 11] == [each["hour"].hour for each in found]


def test_an_hour_with_little_statistics_is_not_the_busiest():
    short = {"hour": datetime(2026, 1, 1, 1), "seconds": 60.0, "calls": 6000}
    long = {"hour": datetime(2026, 1, 1, 2), "seconds": 3600.0, "calls": 3600}
    assert long["hour"] == busiest_hour([short, long])
    assert busiest_hour([short]) is None
    assert busiest_hour([]) is None


@pytest.mark.parametrize("hour", [1, 9, 15])
def test_every_queue_of_an_hour_adds_up_to_the_ledger(tables, truth, hour):
    rows = {each["queue"]: each for each in measured_hour(tables, "QM01", truth.hour(hour))["queues"]}
    for name, row in rows.items():
        for figure, planted in {
            "valid_puts": ("puts", "put1s"),
            "put_bytes": ("put_bytes",),
            "valid_destructive_gets": ("destructive",),
            "persistent_puts": ("puts_persistent", "put1s_persistent"),
        }.items():
            expected = truth.of_queue(name, *planted)[hour] - (
                truth.of_queue(name, "refused")[hour] if figure == "valid_puts" else 0
            )
            assert expected == row[figure], (name, figure)
    used = {
        name for name in truth.ledger.names("queue") if truth.of_queue(name, "puts", "put1s", "destructive")[hour] > 0
    }
    assert used == set(rows)


def test_statistics_of_the_hour(tables, truth):
    found = measured_hour(tables, "QM01", truth.hour(10))
    (log,) = found["log"]
    planted = truth.ledger.total("task", "log_bytes")[10] + 60_000
    assert -(-planted // 4096) == log["buffers_filled"]
    assert 2 == log["copies"]
    assert 0 < log["single_io_us"] / log["single_ios"] < 2_000
    assert {truth.hour(9), truth.hour(10)} == {each["hour"] for each in found["buffer_pools"]}
    assert {each["buffer_pool"]: each["buffers"] for each in found["buffer_pools"]} == {
        pool.number: pool.buffers for pool in truth.manager.buffer_pools
    }
    (tasks,) = found["tasks"]
    assert truth.ledger.total("task", "commits")[10] == tasks["commits"]


def test_shared_queues_are_added_up_over_the_group(tables, small):
    """QM02 does not use the structure: the shared queue has one member, and its figures are QM01's."""
    found = measured_hour(tables, "QM01", datetime(2026, 3, 2, 10))["queues"]
    (shared,) = [each for each in found if each["structure"]]
    assert ("STOCK.SHARED", 1) == (shared["queue"], shared["members"])


def test_a_member_whose_level_does_not_tell_destructive_gets_counts_with_its_valid_ones(spark, tmp_path):
    """H5: QM02 at 5.2 empties the shared queue that QM01 fills, and another one alone."""

    def task(queue_manager, level, name, **figures):
        queue = QueueAccounting(base_name=name, object_name=name, structure="APPL1", **figures)
        who = TaskIdentification(connection_name="JOB1", connection_type=2)
        return task_records(
            who, TaskAccounting(commits=1), [queue], identity(queue_manager, level=level), MONDAY_US + HOUR_US // 2
        )[0]

    records = [
        task("QM01", "8.0", "SHARED", puts=5, valid_puts=5, put_bytes=500),
        task("QM02", "5.2", "SHARED", gets=4, valid_gets=4, get_bytes=400),
        task("QM02", "5.2", "OLD", gets=3, valid_gets=3, get_bytes=300),
    ]
    lake, _ = load_raw(tmp_path / "lake", [dump(tmp_path / "dump", records)])
    rows = measured_hour(lambda name: lake.table(spark, name), "QM01", datetime(2026, 1, 5))["queues"]
    found = {each["queue"]: _filled(MeasuredQueue, each) for each in rows}
    assert (5, 4, 500, 400) == tuple(
        getattr(found["SHARED"], each) for each in ("valid_puts", "valid_destructive_gets", "put_bytes", "get_bytes")
    )
    assert (0, 3, 100) == (found["OLD"].valid_puts, found["OLD"].valid_destructive_gets, found["OLD"].message_bytes)


def test_daily_peaks_follow_the_growth_that_was_planted(tmp_path_factory, spark):
    profile = growing(tmp_path_factory.mktemp("growing"), 28, 5.0)
    folder = tmp_path_factory.mktemp("grown")
    lake, _ = lake_of(folder, profile)
    found = daily_figures(lambda name: lake.table(spark, name), "QM1")
    rates = found["messages_per_s"]
    assert 28 == len(rates)
    assert date(2026, 1, 5) == min(rates)
    for day in (0, 9, 20, 27):
        calls = Truth(profile, "QM1", day).ledger.total("queue", "gets", "puts", "put1s")
        assert calls.max() / 3600 == pytest.approx(rates[profile.date_of(day)])
    weeks = [sum(rates[profile.date_of(day)] for day in range(first, first + 7)) for first in (0, 7, 14, 21)]
    assert weeks == sorted(weeks)
    assert 1.05**3 == pytest.approx(weeks[3] / weeks[0], rel=0.05)
    shares = [value for name, daily in found.items() if name.endswith("percent") for value in daily.values()]
    assert all(0 <= value <= 100 for value in shares)
    begin, end = datetime(2026, 1, 12), datetime(2026, 1, 25)
    narrowed = daily_figures(lambda name: lake.table(spark, name), "QM1", begin, end)
    for name, daily in found.items():
        assert {day: value for day, value in daily.items() if begin.date() <= day <= end.date()} == narrowed[name]
