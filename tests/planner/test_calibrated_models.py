"""A measured hour as a model of the simulator: what was counted, what was not, and how far formulas agree with it."""

from dataclasses import replace
from datetime import datetime

import pytest

from quaestor.planner.measured_workload import workload_tables
from quaestor.planner.measurement import MeasuredLog, MeasuredQueue, Measurement
from quaestor.planner.measurement_check import log_agreement
from quaestor.planner.questions.load import Load
from quaestor.planner.simulation_calibration import calibrated
from quaestor.planner.simulator import Model
from quaestor.planner.workload_file import workload_of

NINE = datetime(2026, 3, 2, 9)


def queue(name="A", puts=1_000, gets=1_000, persistent=1_000, **more):
    """Messages of 100 bytes."""
    about = {"put_bytes": 100 * puts, "get_bytes": 100 * gets, "persistent_puts": persistent, **more}
    return MeasuredQueue(queue=name, valid_puts=puts, valid_destructive_gets=gets, **about)


def hour(*queues, **more):
    return Measurement(queue_manager="QM1", hour=NINE, seconds=3600, queues=list(queues), **more)


def model_of(*queues, **more):
    return calibrated(hour(*queues, **more)).model


# --- C1: CPU ----------------------------------------------------------------------------------------------------------


def test_the_cpu_of_a_put_is_that_of_all_queues_over_the_puts_of_all():
    """1,000 puts of 30 us and 3,000 of 10 us: 15 us each."""
    slow = queue("A", put_cpu_us=30_000.0, get_cpu_us=5_000.0)
    fast = queue("B", puts=3_000, put_cpu_us=30_000.0, get_cpu_us=15_000.0)
    found = model_of(slow, fast)
    assert (15, 10) == (found.put_cpu_us, found.get_cpu_us)


def test_a_queue_whose_cpu_is_not_known_counts_neither_way():
    known = queue("A", put_cpu_us=30_000.0, get_cpu_us=5_000.0)
    found = model_of(known, queue("B", puts=9_000, gets=9_000))
    assert (30, 5) == (found.put_cpu_us, found.get_cpu_us)


def test_queues_that_nobody_got_from_say_nothing_of_a_get():
    """C4: the model's own figure stands, and is named."""
    found = calibrated(hour(queue(gets=0, put_cpu_us=30_000.0, get_cpu_us=0.0)))
    assert Model(message_bytes=0).get_cpu_us == found.model.get_cpu_us
    assert "get_cpu_us" in found.assumed
    assert "put_cpu_us" not in found.assumed


@pytest.mark.parametrize(
    ("tasks", "expected", "assumed"),
    [
        ({"commits": 500, "commit_cpu_us": 10_000.0}, 20, False),
        ({"commits": 500, "commit_cpu_us": 0.0}, 0, False),
        ({"commits": 500, "commit_cpu_us": None}, 0, True),
        ({"commits": 0, "commit_cpu_us": 0.0}, 0, True),
        ({"commits": None, "commit_cpu_us": 10_000.0}, 0, True),
        ({}, 0, True),
    ],
)
def test_the_cpu_of_a_commit(tasks, expected, assumed):
    found = calibrated(hour(queue(), tasks=tasks))
    assert expected == found.model.commit_cpu_us
    assert assumed == ("commit_cpu_us" in found.assumed)


# --- C2: log ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tasks", "log_bytes", "assumed"),
    [
        ({"log_bytes": 3_000_000}, 2_000, False),  # over 1,000 persistent puts and 500 persistent gets
        ({"log_bytes": 0}, 0, False),
        ({"log_bytes": None}, 0, True),
        ({}, 0, True),
    ],
)
def test_log_bytes_are_those_of_persistent_messages_put_and_got(tasks, log_bytes, assumed):
    found = calibrated(hour(queue("A", gets=500), queue("B", persistent=0), tasks=tasks))
    assert (log_bytes, log_bytes) == (found.model.put_log_bytes, found.model.get_log_bytes)
    assert assumed == ("put_log_bytes" in found.assumed) == ("get_log_bytes" in found.assumed)


def test_without_persistent_messages_nothing_says_what_one_logs():
    found = calibrated(hour(queue(persistent=0), tasks={"log_bytes": 5_000}))
    assert not found.model.persistent
    assert "put_log_bytes" in found.assumed


@pytest.mark.parametrize(
    ("persistent", "gets", "as_persistent"), [(500, 1_000, False), (501, 1_000, True), (501, 0, True), (500, 0, False)]
)
def test_a_model_is_persistent_when_more_than_half_of_its_calls_are(persistent, gets, as_persistent):
    assert as_persistent == model_of(queue(persistent=persistent, gets=gets)).persistent


@pytest.mark.parametrize("copies", [1, 2])
def test_copies_of_the_log_are_io_times(copies):
    log = MeasuredLog(seconds=3600, buffers_filled=10, single_ios=4_000, single_io_us=2_000_000, copies=copies)
    found = calibrated(hour(queue(), log=log))
    assert (0.5, copies) == (found.model.log_io_ms, found.model.current_io_times)
    assert not {"log_io_ms", "current_io_times"} & set(found.assumed)


def test_an_hour_without_log_statistics_assumes_them():
    assert {"log_io_ms", "current_io_times"} <= set(calibrated(hour(queue())).assumed)


# --- C3: arrivals and units of work -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("commits", "expected"),
    [((100, 100), 10), ((100, None), 10), ((1_000, 1_000), 1), ((4_000, None), 1), ((None, None), 1), ((400, None), 2)],
)
def test_messages_of_a_unit_of_work(commits, expected):
    """Puts over the commits of those who put; a queue whose commits are not known counts neither way."""
    found = model_of(*(queue(name, put_commits=each) for name, each in zip("AB", commits, strict=True)))
    assert expected == found.messages_per_commit


def test_arrivals_and_size_are_those_of_the_hour():
    """7,200 puts in 3,600 s; 1,800 of 100 bytes and 5,400 of 500 are 400 on average."""
    found = model_of(queue("A", puts=1_800), queue("B", puts=5_400, put_bytes=5_400 * 500))
    assert (2, 400) == (found.arrivals_per_s, found.message_bytes)


def test_of_a_shared_queue_a_member_has_its_part():
    """C5: 3,600 puts and gets by two members; this one's tasks logged 1,000 bytes for each of its own 3,600 calls."""
    both = queue("S", puts=3_600, gets=3_600, persistent=3_600, structure="APP1", members=2)
    found = model_of(both, tasks={"log_bytes": 3_600_000})
    assert (0.5, 1_000) == (found.arrivals_per_s, found.put_log_bytes)
    with_own = model_of(both, queue("A", puts=1_800, gets=1_800, persistent=0, put_bytes=1_800 * 500))
    assert (1, 300) == (with_own.arrivals_per_s, with_own.message_bytes)


# --- pools ------------------------------------------------------------------------------------------------------------


def test_the_largest_pool_and_the_mean_page_read():
    """4,000 pages in a second of reading: a quarter of a millisecond each."""
    pools = [{"buffer_pool": number, "buffers": count} for number, count in ((0, 5_000), (3, 20_000), (4, 0))]
    found = calibrated(hour(queue(), buffer_pools=pools, page_reads=(4_000, 1_000_000)))
    assert (20_000, 0.25) == (found.model.buffers, found.model.page_read_ms)
    assert not {"buffers", "page_read_ms"} & set(found.assumed)


# --- formulas beside counters (V1, V2) --------------------------------------------------------------------------------


@pytest.mark.parametrize(("times", "percent"), [(1, "+0 %"), (2, "-50 %"), (0.5, "+100 %"), (0.8, "+25 %")])
def test_the_difference_is_in_percent_of_what_was_counted(times, percent):
    """V2: counters at so many times the formulas' rate; the log manager counts whole buffers of 4 KB."""
    measured = hour(queue(puts=1_000_000, gets=1_000_000, persistent=1_000_000), hours=[(NINE, 1.0)])
    workload = workload_of(workload_tables(measured)[0], "lake")
    planned = Load(workload).peak_log_rate
    log = MeasuredLog(seconds=3600, buffers_filled=round(times * planned * 3600 / 4096))
    (line,) = log_agreement(replace(measured, log=log), workload)
    assert line.endswith(f"by the formulas ({percent})")
