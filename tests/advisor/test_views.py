"""Views: what one row is, and what is put beside what."""

from datetime import timedelta

import numpy as np
import pytest

from advisor.given import NINE, table, task
from quaestor.advisor.accounting_views import application_days, queue_hours, tasks
from quaestor.advisor.evaluate import empty_rows
from quaestor.advisor.rows import as_of
from quaestor.advisor.shared_views import BASELINE_INTERVALS, cf_hours, channels, initiator_tasks, structures
from quaestor.advisor.view_catalog import VIEWS
from quaestor.advisor.views import RECORD
from quaestor.layout import CP1047
from quaestor.smf.arrow_schema import schema
from quaestor.smf.catalog import SECTIONS


def test_every_view_says_what_a_row_is_and_can_be_empty():
    for view in VIEWS:
        assert view.grain
        rows = empty_rows(view)
        assert 0 == len(rows)
        assert {"system", "queue_manager", "release", "local_time", "seconds"} <= set(rows)


def test_what_a_view_needs_is_in_the_schema():
    for view in VIEWS:
        for structure, columns in view.needs.items():
            assert set(columns) <= set(schema(SECTIONS[structure]).names), view.name
            assert set(RECORD) <= set(columns)


def test_many_keys_over_a_long_time_find_each_other():
    """Some millions of tasks in a month: key and microsecond together passed 64 bits. Here a million over centuries."""
    keys = np.arange(1_000_000)
    times = np.datetime64("2026-03-01", "us") + keys * np.timedelta64(9_000, "s")
    found = as_of(keys, times, keys, times, tolerance_us=0, earlier=True)
    assert (found == keys).all()


def test_a_queue_belongs_to_the_last_record_of_its_task():
    """Two intervals of one task: each queue's row goes to the record it was built with, continuations included."""
    made = tasks(
        {
            "WTAS": table("WTAS", task(commits=2), task(commits=5, local_time=NINE + timedelta(hours=1))),
            "WQST": table(
                "WQST",
                task(valid_puts=4, base_name="A"),
                task(valid_puts=6, base_name="B", local_time=NINE + timedelta(milliseconds=300), subtype=2),
                task(valid_puts=50, base_name="A", local_time=NINE + timedelta(hours=1)),
                task(valid_puts=99, base_name="A", correlator=b"2" * 16),  # of a task whose record is not there
            ),
        }
    )
    assert [10, 50] == list(made.messages)
    assert [5, 10] == list(made.messages_per_unit)


def test_a_task_without_commits_has_no_figure_per_unit():
    made = tasks({"WTAS": table("WTAS", task(commits=0)), "WQST": table("WQST", task(valid_puts=4))})
    assert np.isnan(made.messages_per_unit[0])
    assert 4 == made.messages[0]


def test_structures_a_task_used():
    queues = [task(structure=name, base_name=name) for name in ("APP1", "APP1", "APP2", "")]
    made = tasks({"WTAS": table("WTAS", task()), "WQST": table("WQST", *queues)})
    assert [2] == list(made.structures_used)


def test_applications_are_called_by_job_transaction_or_channel():
    cics = bytes(4) + CP1047.encode("ORDR", 4) + bytes(4)
    ims = bytes(4) + CP1047.encode("PSB1", 8)
    made = tasks(
        {
            "WTAS": table(
                "WTAS",
                task(task_connection_type=1, task_connection_name="CICS1", task_correlation=cics),
                task(task_connection_type=4, task_connection_name="IMSP", task_correlation=ims),
                task(task_connection_type=6, task_connection_name="QM01CHIN", task_channel="TO.QM2"),
                task(task_correlation=bytes(12)),
            )
        }
    )
    assert ["CICS1 ORDR", "IMSP PSB1", "channel TO.QM2", "JOB1"] == list(made.application)


def test_backouts_stand_beside_the_log_reads_of_their_interval():
    log = table("QJST", {"reads_from_buffer": 7}, {"reads_from_buffer": 90, "local_time": NINE + timedelta(hours=1)})
    inside = NINE + timedelta(minutes=20)
    made = tasks({"WTAS": table("WTAS", task(backouts=1, local_time=inside), task()), "QJST": log})
    assert [90, 7] == list(made.log_reads_from_buffer)


def test_log_reads_of_short_intervals_are_counted_over_an_hour():
    """Two reads in each quarter of an hour are eight an hour, whichever quarter the task ended in."""
    quarters = [NINE + timedelta(minutes=15 * n) for n in range(1, 5)]
    log = table("QJST", *({"reads_from_buffer": 2, "interval_us": 9e8, "local_time": each} for each in quarters))
    made = tasks({"WTAS": table("WTAS", task(backouts=1, local_time=quarters[-1])), "QJST": log})
    assert ([2], [8]) == (list(made.log_reads_from_buffer), list(made.log_reads_per_hour))


@pytest.mark.parametrize(
    ("minutes", "reads"),
    [(1, 90), (0, 90), (60, 90), (-1, None)],
)
def test_log_reads_of_a_later_interval_are_not_beside_a_backout(minutes, reads):
    """The log's record of ten o'clock covers the hour from nine; the one before is not there."""
    log = table("QJST", {"reads_from_buffer": 90, "local_time": NINE + timedelta(hours=1)})
    made = tasks({"WTAS": table("WTAS", task(backouts=1, local_time=NINE + timedelta(minutes=minutes))), "QJST": log})
    assert [reads] == [None if np.isnan(each) else each for each in made.log_reads_from_buffer]


def test_what_is_built_right_after_the_hour_belongs_to_the_hour():
    rows = [
        task(base_name="Q", gets_any=3, local_time=NINE + timedelta(seconds=1)),
        task(base_name="Q", gets_any=4, local_time=NINE - timedelta(minutes=30)),
        task(base_name="Q", gets_any=5, local_time=NINE + timedelta(minutes=30)),
    ]
    made = queue_hours({"WQST": table("WQST", *rows)})
    assert [(NINE, 7), (NINE + timedelta(hours=1), 5)] == list(
        zip(made.local_time.astype(object), made.gets_any, strict=True)
    )


def test_a_queue_is_known_by_its_base_name():
    rows = [task(base_name="BASE", object_name="ALIAS"), task(base_name="", object_name="REMOTE")]
    assert ["BASE", "REMOTE"] == list(queue_hours({"WQST": table("WQST", *rows)}).queue)


def test_an_application_is_compared_with_the_day_before():
    days = [
        task(commits=100, log_bytes=bytes_, local_time=NINE + timedelta(days=day))
        for day, bytes_ in enumerate((1000, 4000))
    ]
    made = application_days({"WTAS": table("WTAS", *days)})
    assert [10, 40] == list(made.log_bytes_per_unit)
    assert np.isnan(made.log_bytes_per_unit_before[0])
    assert 10 == made.log_bytes_per_unit_before[1]


def slot(name, calls, elapsed_us):
    return {"structure": name, "single_calls": calls, "single_elapsed_us": elapsed_us, "multiple_calls": 0}


def test_a_structure_has_a_baseline_once_there_are_intervals_enough():
    def rows(count):
        usual = [{"structures": [slot("APP1", 10, 100.0), slot("APP2", 0, 0.0)]} for _ in range(count - 1)]
        return structures({"QEST": table("QEST", *usual, {"structures": [slot("APP1", 10, 720.0)]})})

    few, many = rows(BASELINE_INTERVALS - 1), rows(BASELINE_INTERVALS)
    assert np.isnan(few.single_us_usual).all()
    slow = many.single_us == 72
    assert [10] == list(many.single_us_usual[slow])
    assert np.isnan(many.single_us[many.structure == "APP2"]).all()


def test_tasks_of_the_channel_initiator_are_judged_together():
    dispatchers = [
        {"requests": 10, "request_elapsed_us": 3.5e9, "cpu_us": 1e6},
        {"requests": 0, "request_elapsed_us": 0.0},
    ]
    made = initiator_tasks({"QCCT": table("QCCT", {"channels_high": 8}), "QCT_DSP": table("QCT_DSP", *dispatchers)})
    assert (2, 1) == (made.dispatchers[0], made.dispatchers_idle[0])
    assert 0.97 == pytest.approx(made.dispatcher_busy_high[0], abs=0.01)
    assert np.isnan(made.adapters[0])


def test_channels_have_company_on_their_dispatcher():
    rows = [
        {"channel": "A", "channel_type": 1, "dispatcher": 1, "messages": 90, "batches": 9},
        {"channel": "B", "channel_type": 1, "dispatcher": 1, "messages": 5, "batches": 0},
        {"channel": "C", "channel_type": 1, "dispatcher": 2, "messages": 5, "batches": 5},
    ]
    made = channels({"QCST": table("QCST", *rows)})
    assert [2, 2, 1] == list(made.channels_on_dispatcher)
    assert [0.95, 0.95, 0.05] == pytest.approx(list(made.dispatcher_messages_share))
    assert 10 == made.achieved_batch[0]
    assert np.isnan(made.achieved_batch[1])


def test_asynchronous_requests_at_commit_by_the_hour():
    kinds = [{"requests": 4, "async_": 1}, {"requests": 6, "async_": 4}]
    made = cf_hours({"WTAS": table("WTAS", task(commit_cf_calls={"kinds": kinds}), task(commit_cf_calls=None))})
    assert ([10], [5], [0.5]) == tuple(
        list(each) for each in (made.requests, made.asynchronous, made.asynchronous_share)
    )


# --- arrays ----------------------------------------------------------------------------------------------------------


def test_channels_know_the_type_they_are_altered_under():
    made = channels({"QCST": table("QCST", *({"channel": "C", "channel_type": each} for each in (1, 2, 3, 7, 8, 9)))})
    assert ["SDR", "SVR", None, None, "CLUSRCVR", "CLUSSDR"] == made.chltype.tolist()
