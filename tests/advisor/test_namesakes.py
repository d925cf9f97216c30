"""Two systems may each have a QM01 (V4), and an interval may have many records (V5)."""

from datetime import timedelta

import numpy as np
import pytest

from advisor.given import NINE, table, task
from quaestor.advisor.accounting_views import application_days, page_set_hours, queue_hours, tasks
from quaestor.advisor.rows import is_known
from quaestor.advisor.shared_views import BASELINE_INTERVALS, cf_hours, channels, initiator_tasks, structures
from quaestor.advisor.view_catalog import BY_NAME

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
HERE, THERE = {"system": "SYSA"}, {"system": "SYSB"}


def view(name, **tables):
    return BY_NAME[name].make(tables)


def known(column):
    return [value if there else None for value, there in zip(column.tolist(), is_known(column), strict=True)]


# --- V4: namesakes ----------------------------------------------------------------------------------------------------


def pool(where, at=NINE, **values):
    return {**where, "buffer_pool": 3, "buffers": 1000, "stealable_low": 900, "local_time": at, **values}


def test_a_pool_is_not_compared_with_that_of_a_namesake():
    """Pool 3 of SYSB is small and was never large: nobody shrank it."""
    rows = [pool(HERE, buffers=5000), pool(THERE, NINE + HOUR / 2), pool(HERE, NINE + HOUR, buffers=5000)]
    log = [{**THERE, "checkpoints": 7, "local_time": NINE + HOUR}]
    made = view("QPST", QPST=table("QPST", *rows), QJST=table("QJST", *log))
    assert [None, None, 5000] == known(made.buffers_before)
    assert [None, None, None] == known(made.log_checkpoints)


def test_a_queue_manager_that_ran_elsewhere_was_started_here():
    rows = [pool(HERE), pool(HERE, NINE + HOUR), pool(THERE, NINE + 2 * HOUR), pool(THERE, NINE + 3 * HOUR)]
    assert [0, 0, 1, 0] == list(view("QPST", QPST=table("QPST", *rows)).after_gap)


def test_the_range_of_a_pool_is_its_own():
    made = view("pool_range", QPST=table("QPST", pool(HERE), pool(THERE, stealable_low=10), pool(HERE)))
    assert [("SYSA", 2, 0.9), ("SYSB", 1, 0.01)] == list(
        zip(made.system, made.intervals, made.stealable_low_share, strict=True)
    )


def test_the_queues_of_a_namesake_are_on_other_page_sets():
    queues = [{**where, "page_set": 4, "depth": depth} for where, depth in ((HERE, 10), (THERE, 300), (HERE, 5))]
    sets = [{**where, "page_set": 4} for where in (HERE, THERE)]
    assert [15, 300] == list(view("QIS1", QIS1=table("QIS1", *sets), QQST=table("QQST", *queues)).depth)


def test_tasks_and_queues_of_a_namesake_are_others():
    own = [task(**HERE, commits=1), task(**THERE, commits=1)]
    queues = [
        task(**where, base_name="A", page_set=4, valid_puts=puts, on_queue_elapsed_us=1e6, valid_destructive_gets=1)
        for where, puts in ((HERE, 3), (THERE, 500))
    ]
    log = {**THERE, "reads_from_buffer": 9}
    tables = {"WTAS": table("WTAS", *own), "WQST": table("WQST", *queues), "QJST": table("QJST", log)}
    made = tasks(tables)
    assert [3, 500] == list(made.valid_puts)
    assert [None, 9] == known(made.log_reads_from_buffer)
    assert [3, 500] == list(queue_hours(tables).valid_puts)
    assert ["SYSA", "SYSB"] == list(page_set_hours(tables).system)
    assert [3, 500] == list(application_days(tables).messages)


def test_a_day_is_compared_with_a_day_on_the_same_system():
    own = [task(**HERE, commits=1, log_bytes=10), task(**THERE, commits=1, log_bytes=900, local_time=NINE + DAY)]
    made = application_days({"WTAS": table("WTAS", *own), "WQST": table("WQST")})
    assert [None, None] == known(made.log_bytes_per_unit_before)


def test_a_baseline_is_of_one_system():
    def slots(where, us):
        slot = {"structure": "APP1", "single_calls": 1, "single_elapsed_us": us}
        return [{**where, "structures": [slot]}] * BASELINE_INTERVALS

    made = structures({"QEST": table("QEST", *slots(HERE, 30.0), *slots(THERE, 70.0))})
    assert [30] * 6 + [70] * 6 == list(made.single_us_usual)


def test_hours_of_the_coupling_facility_are_of_one_system():
    def hours(where, asynchronous):
        calls = {"kinds": [{"requests": 100, "async_": asynchronous}]}
        return [task(**where, commit_cf_calls=calls, local_time=NINE + n * HOUR) for n in range(BASELINE_INTERVALS)]

    made = cf_hours({"WTAS": table("WTAS", *hours(HERE, 10), *hours(THERE, 80))})
    assert {("SYSA", 0.1, 0.1), ("SYSB", 0.8, 0.8)} == set(
        zip(made.system, made.asynchronous_share, made.asynchronous_share_usual, strict=True)
    )


def test_a_channel_initiator_has_its_own_tasks():
    dispatchers = table("QCT_DSP", {**HERE, "requests": 5}, {**THERE, "requests": 7}, {**THERE, "requests": 9})
    made = initiator_tasks({"QCCT": table("QCCT", HERE, THERE), "QCT_DSP": dispatchers})
    assert [1, 2] == list(made.dispatchers)
    assert [5, 16] == list(made.dispatcher_requests)


# --- V5: many records -------------------------------------------------------------------------------------------------


def channel(number, dispatcher, messages, *, late=0.0, minutes=60, **values):
    named = {"channel": f"TO.QM{number}", "channel_type": 1, "dispatcher": dispatcher, "messages": messages}
    when = {"local_time": NINE + timedelta(seconds=late), "interval_us": minutes * 60e6}
    return {**named, **when, **values}


def test_a_dispatcher_moves_its_share_of_all_records():
    """A hundred channels fill a record; the rest of the interval stands in the next, hundredths of a second later."""
    rows = [channel(1, 1, 90), channel(2, 1, 10, late=0.02), channel(3, 2, 100, late=0.03)]
    made = channels({"QCST": table("QCST", *rows)})
    assert [0.5, 0.5, 0.5] == list(made.dispatcher_messages_share)
    assert [2, 2, 1] == list(made.channels_on_dispatcher)
    assert [2, 2, 2] == list(made.dispatchers_used)


@pytest.mark.parametrize(("late", "instances"), [(0.0, 2), (5.0, 2), (5.01, 1), (3600, 1)])
def test_instances_of_one_interval(late, instances):
    rows = [channel(1, 1, 5), channel(1, 1, 5, late=late)]
    assert [instances] * 2 == list(channels({"QCST": table("QCST", *rows)}).instances)


@pytest.mark.parametrize("other", [{"system": "SYSB"}, {"queue_manager": "QM02"}])
def test_channels_of_another_queue_manager_are_no_company(other):
    rows = [channel(1, 1, 5), channel(1, 1, 5, **other)]
    made = channels({"QCST": table("QCST", *rows)})
    assert ([1, 1], [1, 1]) == (list(made.instances), list(made.channels_on_dispatcher))


def test_very_short_intervals_are_told_apart():
    """Statistics of every four seconds: what is half an interval apart is of another."""
    rows = [channel(1, 1, 5, late=4.0 * n, minutes=4 / 60) for n in range(3)]
    assert [1, 1, 1] == list(channels({"QCST": table("QCST", *rows)}).instances)


def test_the_depth_of_queues_in_several_records():
    queues = [{"page_set": 4, "depth": n, "local_time": NINE + timedelta(seconds=n / 100)} for n in (1, 20, 300)]
    made = view("QIS1", QIS1=table("QIS1", {"page_set": 4}), QQST=table("QQST", *queues))
    assert [321] == list(made.depth)


def test_a_record_without_a_time_is_of_some_interval():
    rows = [channel(1, 1, 5), channel(2, 1, 5, local_time=None), channel(3, 1, 5, late=3600)]
    made = channels({"QCST": table("QCST", *rows)})
    assert 3 == len(made.instances)
    assert not np.isnan(made.channels_on_dispatcher).any()
