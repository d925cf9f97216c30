"""Accounting by hand: a task and its queues, a queue over an hour, a page set's queues, an application by the day."""

from datetime import timedelta

import numpy as np
import pytest

from advisor.given import NINE, table, task
from quaestor.advisor.accounting_views import application_days, page_set_hours, queue_hours, tasks
from quaestor.advisor.rows import Rows
from quaestor.layout import CP1047

TIMES = {  # microseconds of one task
    "commit_elapsed_us": 1_000,
    "backout_elapsed_us": 200,
    "other_elapsed_us": 30,
    "prepare_elapsed_us": 4,
    "log_force_elapsed_us": 600,
}


def one_task(own, *queues):
    made = tasks({"WTAS": table("WTAS", task(**own)), "WQST": table("WQST", *(task(**queue) for queue in queues))})
    assert 1 == len(made)
    return made


def figures(made, *names):
    return [float(getattr(made, name)[0]) for name in names]


def test_the_time_of_a_task_is_that_of_its_calls_and_its_units():
    """Seven verbs of one queue take 1 + 2 + .. + 7 us, commit, backout, prepare and other calls the rest."""
    verbs = ("open", "close", "get", "put", "put1", "inq", "set")
    queue = {f"{verb}_elapsed_us": 1 + place for place, verb in enumerate(verbs)}
    made = one_task({**TIMES, "commits": 2}, queue)
    assert [28, 1_262, 631] == figures(made, "verb_elapsed_us", "elapsed_us", "elapsed_us_per_unit")


def test_a_record_that_knows_no_prepare_has_none():
    made = one_task({**TIMES, "prepare_elapsed_us": None})
    assert [1_230] == figures(made, "elapsed_us")


def test_the_cpu_of_a_task_is_that_of_all_its_queues():
    made = one_task({}, {"get_cpu_us": 5, "put1_cpu_us": 7}, {"inq_cpu_us": 11})
    assert [23] == figures(made, "verb_cpu_us")


def test_waiting_for_the_log_is_forces_and_what_calls_waited_out_of_syncpoint():
    """600 us of forces, and 100 + 20 + 3 + 4 us in calls, of 1,234 us in all."""
    waits = {"get": 100, "put": 20, "put1": 3, "set": 4}
    made = one_task({**TIMES, "log_forces": 3}, {f"{verb}_log_write_elapsed_us": us for verb, us in waits.items()})
    assert [127, 200] == figures(made, "log_write_wait_us", "force_us")
    assert 727 / 1_234 == pytest.approx(made.log_wait_share[0])


def test_messages_are_those_put_and_those_got():
    made = one_task({"commits": 4}, {"valid_puts": 5, "valid_gets": 2}, {"valid_gets": 1, "get_page_set_elapsed_us": 9})
    assert [8, 2, 9] == figures(made, "messages", "messages_per_unit", "page_set_wait_us")


@pytest.mark.parametrize(
    ("browsing", "held"),
    [
        ({"valid_gets": 5_000, "valid_destructive_gets": 10}, 12),
        ({"valid_gets": 5_000, "valid_destructive_gets": 0}, 2),
        ({"valid_gets": 6, "valid_destructive_gets": None}, 8),  # a release that does not tell them apart
    ],
)
def test_a_unit_holds_what_it_put_and_what_it_took(browsing, held):
    """T5: three units were committed and one was backed out."""
    made = one_task({"commits": 3, "backouts": 1}, browsing, {"valid_puts": 2})
    assert [held, held / 4] == figures(made, "held", "held_per_unit")


def test_a_task_without_units_holds_nothing():
    made = one_task({"commits": 0, "backouts": 0}, {"valid_puts": 2})
    assert np.isnan(made.held_per_unit).all()


def test_a_task_without_queues_did_nothing_to_any():
    made = one_task({"commits": 1})
    assert [0, 0, 0, 0] == figures(made, "messages", "verb_elapsed_us", "structures_used", "opens")


@pytest.mark.parametrize(("covered", "seconds"), [(timedelta(seconds=90), 90.0), (timedelta(0), None)], ids=str)
def test_a_task_covers_what_its_record_says(covered, seconds):
    made = one_task({"wtas_interval_start": NINE, "interval_end": NINE + covered})
    assert [seconds] == [None if np.isnan(each) else each for each in made.seconds]


@pytest.mark.parametrize(("kind", "is_channel"), [(6, 1), (1, 0), (2, 0)])
def test_a_channel_is_known_by_its_connection(kind, is_channel):
    made = one_task({"task_connection_type": kind})
    assert [is_channel] == figures(made, "is_channel")


@pytest.mark.parametrize(
    ("kind", "channel", "correlation", "called"),
    [
        (6, "TO.QM2", None, "channel TO.QM2"),
        (6, "", None, "JOB1"),  # the channel initiator itself
        (2, "TO.QM2", None, "JOB1"),  # a batch job has no channel, whatever stands there
        (1, "", bytes(4) + CP1047.encode("PAY1", 4) + CP1047.encode("REST", 4), "JOB1 PAY1"),
        (3, "", bytes(4) + CP1047.encode("PSBNAME1", 8), "JOB1 PSBNAME1"),
        (4, "", bytes(4) + CP1047.encode("PSBNAME1", 8), "JOB1 PSBNAME1"),
        (2, "", bytes(4) + CP1047.encode("PAY1", 4) + bytes(4), "JOB1"),  # batch has no transaction
        (1, "", bytes(12), "JOB1"),  # the adapter's own task
        (1, "", bytes(4) + b"\x01\x02\x03\x04" + bytes(4), "JOB1"),
        (1, "", None, "JOB1"),
    ],
)
def test_what_an_application_is_called(kind, channel, correlation, called):
    """T3."""
    made = one_task({"task_connection_type": kind, "task_channel": channel, "task_correlation": correlation})
    assert [called] == made.application.tolist()


def test_tasks_of_two_queue_managers_with_one_correlator_are_two():
    own = [task(queue_manager=name) for name in ("QM01", "QM02")]
    queues = [task(queue_manager=name, valid_puts=puts) for name, puts in (("QM02", 7), ("QM01", 1), ("QM02", 20))]
    made = tasks({"WTAS": table("WTAS", *own), "WQST": table("WQST", *queues)})
    assert [1, 27] == made.messages.tolist()


# --- queues by the hour -----------------------------------------------------------------------------------------------


def one_hour(*rows):
    return queue_hours({"WQST": table("WQST", *(task(base_name="Q", **row) for row in rows))})


def test_an_hour_adds_up_over_its_tasks():
    made = one_hour(
        {"gets_specific": 3, "browses_specific": 4, "get_page_set_reads": 5, "put_page_set_reads": 6, "valid_gets": 2},
        {"gets_specific": 10, "put1_page_set_reads": 7, "valid_gets": 1, "task_connection_type": 6, "opens": 9},
    )
    assert [2, 13, 17, 18, 3] == figures(
        made, "tasks", "gets_specific", "by_identifier", "page_set_reads", "valid_gets"
    )
    assert [1, 9, 3600, 0] == figures(made, "channel_gets", "client_calls", "seconds", "is_shared")


def test_time_on_queue_is_the_mean_over_destructive_gets():
    made = one_hour({"on_queue_elapsed_us": 5e6, "valid_destructive_gets": 2, "valid_gets": 9})
    assert [2.5] == figures(made, "on_queue_s")
    assert np.isnan(one_hour({"on_queue_elapsed_us": 0, "valid_destructive_gets": 0}).on_queue_s[0])


def test_sizes_count_where_something_was_got():
    """A task that got nothing has the size fields' start values, not sizes (F-7)."""
    made = one_hour(
        {"valid_gets": 1, "get_size_high": 50, "get_size_low": 20, "put_size_high": 3, "depth_high": 8},
        {"valid_gets": 0, "get_size_high": 999, "get_size_low": 0, "put_size_high": 4, "depth_high": 9},
    )
    assert [50, 20, 4, 9] == figures(made, "get_size_high", "get_size_low", "put_size_high", "depth_high")


def test_a_queue_whose_index_changed_has_two_rows():
    made = one_hour(
        {"index_type": 0, "gets_any": 1}, {"index_type": 2, "gets_any": 5}, {"index_type": 0, "gets_any": 7}
    )
    assert [(0, 8), (2, 5)] == list(zip(made.index_type, made.gets_any, strict=True))


def test_a_shared_queue_is_known_by_its_structure():
    made = queue_hours(
        {"WQST": table("WQST", task(base_name="S", structure="APP1"), task(base_name="P", structure=""))}
    )
    assert [("S", 1), ("P", 0)] == list(zip(made.queue, made.is_shared, strict=True))


def test_a_page_set_has_the_shortest_and_the_longest_stay_of_its_private_queues():
    stays = {"A": 2, "B": 90, "SHARED": 5_000, "ELSEWHERE": 7_000}
    rows = [
        task(
            base_name=name,
            on_queue_elapsed_us=seconds * 1e6,
            valid_destructive_gets=1,
            page_set=4 if name == "ELSEWHERE" else 3,
            structure="APP1" if name == "SHARED" else "",
        )
        for name, seconds in stays.items()
    ]
    made = page_set_hours({"WQST": table("WQST", *rows)})
    shown = zip(made.page_set, made.queues, made.on_queue_s_shortest, made.on_queue_s_longest, strict=True)
    assert [(3, 2, 2, 90), (4, 1, 7_000, 7_000)] == list(shown)


def test_a_page_set_with_shared_queues_alone_has_no_row():
    assert 0 == len(page_set_hours({"WQST": table("WQST", task(base_name="S", structure="APP1"))}))


# --- applications by the day ------------------------------------------------------------------------------------------


def test_a_day_ends_a_minute_after_midnight():
    """T2: what is built in the first minute belongs to the day before: it was cut at the broadcast that ended it."""
    midnight = NINE.replace(hour=0)
    built = [midnight - timedelta(hours=2), midnight + timedelta(seconds=59), midnight + timedelta(seconds=61)]
    rows = [task(commits=commits, local_time=at) for commits, at in zip((1, 2, 4), built, strict=True)]
    made = application_days({"WTAS": table("WTAS", *rows)})
    assert [(midnight, 3), (midnight + timedelta(days=1), 4)] == list(
        zip(made.local_time.astype(object), made.commits, strict=True)
    )
    assert [86_400, 86_400] == made.seconds.tolist()


def test_a_unit_of_recovery_has_its_part_of_the_day():
    own = [
        task(commits=2, commit_cpu_us=30, log_bytes=500),
        task(b"2" * 16, commits=3, commit_cpu_us=20, log_bytes=1_000),
    ]
    queues = [task(get_cpu_us=50, valid_gets=6), task(b"2" * 16, put_cpu_us=100, valid_puts=4, opens=8)]
    made = application_days({"WTAS": table("WTAS", *own), "WQST": table("WQST", *queues)})
    assert [5, 40, 300] == figures(made, "commits", "cpu_us_per_unit", "log_bytes_per_unit")
    assert [2, 10, 5, 8] == figures(made, "connections", "messages", "messages_per_connection", "opens")


def test_a_task_that_runs_all_day_is_one_connection():
    """T6: it has a record for each interval; another that came and went has one."""
    hours = [task(local_time=NINE + timedelta(hours=hour)) for hour in range(8)]
    queues = [task(local_time=NINE + timedelta(hours=hour), valid_puts=3) for hour in range(8)]
    made = application_days({"WTAS": table("WTAS", *hours, task(b"2" * 16)), "WQST": table("WQST", *queues)})
    assert [2, 12] == figures(made, "connections", "messages_per_connection")


def test_no_tasks_make_no_days():
    made = application_days({})
    assert isinstance(made, Rows)
    assert (0, 0) == (len(made), len(made.cpu_us_per_unit_before))


def test_a_day_stands_beside_the_one_before_that_the_application_ran_on():
    days = [(0, 1, 100, 1_000), (2, 2, 500, 6_000)]  # the day between it did not run
    rows = [
        task(commits=commits, commit_cpu_us=cpu, log_bytes=log, local_time=NINE + timedelta(days=day))
        for day, commits, cpu, log in days
    ]
    made = application_days({"WTAS": table("WTAS", *rows)})
    assert [100, 250] == made.cpu_us_per_unit.tolist()
    assert [1_000, 3_000] == made.log_bytes_per_unit.tolist()
    assert [True, False] == np.isnan(made.cpu_us_per_unit_before).tolist()
    assert (100, 1_000) == (made.cpu_us_per_unit_before[1], made.log_bytes_per_unit_before[1])
    assert 1 == made.commits_before[1]
