"""Buffer pools and the deferred write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.buffer_pools import (
    SUPPLIED_SIZES,
    USAGE_CLASSES,
    PoolInterval,
    Usage,
    Verdict,
    buffer_pool_highest,
    judge,
    lowest_free_percent,
    may_be_page_fixed,
    may_lie_above_the_bar,
    object_pages_crude,
    queue_object_pages,
    start_pages,
    supplied_buffers,
    useful_pages_max,
)
from quaestor.planner.deferred_write import (
    WriteRate,
    Writing,
    burst_s,
    checkpoint_pages_max,
    checkpoint_pages_max_31_bit,
    checkpoint_write_bytes,
    pages_in_flight_max,
    writing_at,
)
from quaestor.planner.geometry import PAGE_BYTES
from quaestor.planner.log_space import Action, Scope, log_bytes_per_message
from quaestor.planner.quantity import GIB, MIB
from quaestor.planner.release import Release
from quaestor.planner.source import OutOfRangeError


def test_the_supplied_sizes_are_where_the_classes_begin():
    production = [supplied_buffers(pool) for pool in range(4)]
    assert [50_000, 20_000, 50_000, 20_000] == production == [USAGE_CLASSES[usage].start_pages for usage in Usage]
    assert {1050} == {supplied_buffers(pool, production=False) for pool in range(4)}
    with pytest.raises(OutOfRangeError, match="no row buffer_pool = 4; rows are 0, 1, 2, 3"):
        supplied_buffers(4)
    assert len(SUPPLIED_SIZES.rows) == 4


def test_long_lived_messages_stay_within_50_000_pages_below_the_bar():
    assert start_pages(Usage.LONG_LIVED) == 20_000
    assert start_pages(Usage.LONG_LIVED, Release.V7_1, wanted_pages=80_000) == 50_000
    assert start_pages(Usage.LONG_LIVED, Release.V8_0, wanted_pages=80_000) == 80_000
    assert start_pages(Usage.SHORT_LIVED, Release.V7_1, wanted_pages=80_000) == 80_000


def test_pools_by_release():
    assert (15, 99) == (buffer_pool_highest(Release.V7_1), buffer_pool_highest(Release.V8_0))
    assert not may_lie_above_the_bar(Release.V7_1)
    assert may_lie_above_the_bar(Release.V8_0)


def test_pages_for_objects():
    assert object_pages_crude(14_484) == 7242
    assert queue_object_pages(14_484) == 9407  # 9406.1 pages
    assert queue_object_pages(10_000, active_queues=1000) == 780  # 1000 and 20%
    with pytest.raises(OutOfRangeError, match="active_queues 11 is not valid: 0 to 10"):
        queue_object_pages(10, active_queues=11)


@given(st.integers(0, 100_000))
def test_active_queues_never_need_more_than_a_fifth_on_top(queues):
    assert queue_object_pages(queues, active_queues=queues) <= queue_object_pages(queues) * 1.2 + 1
    assert queue_object_pages(queues) <= queue_object_pages(queues + 1)


def reading(free_percent, **counts):
    return PoolInterval(buffers=1000, stealable_lowest=free_percent * 10, **counts)


@pytest.mark.parametrize(
    ("usage", "verdict"),
    [
        (Usage.SYSTEM, Verdict.TOO_SMALL),
        (Usage.LONG_LIVED, Verdict.TOO_SMALL),
        (Usage.SHORT_LIVED, Verdict.TOO_SMALL),
        (Usage.EVERYTHING_ELSE, Verdict.RIGHT),
    ],
)
def test_below_15_percent_free(usage, verdict):
    assert lowest_free_percent(reading(14)) == 14
    assert judge([reading(80), reading(14)], usage) is verdict
    assert judge([reading(80), reading(15)], usage) is Verdict.RIGHT


@pytest.mark.parametrize("counter", ["no_stealable", "stealable_waits", "synchronous_writes"])
def test_one_count_of_want_is_enough_in_any_class(counter):
    for usage in Usage:
        assert judge([reading(80), reading(80, **{counter: 1})], usage) is Verdict.TOO_SMALL


def test_a_pool_of_one_buffer_and_one_with_none_free():
    assert lowest_free_percent(PoolInterval(1, 0)) == 0
    assert lowest_free_percent(PoolInterval(1, 1)) == 100


def test_half_empty_in_all_intervals_is_wasteful():
    assert judge([reading(51), reading(90)], Usage.SYSTEM) is Verdict.WASTEFUL
    assert judge([reading(50), reading(90)], Usage.SYSTEM) is Verdict.RIGHT


@pytest.mark.parametrize(
    "impossible",
    [
        lambda: judge([], Usage.SYSTEM),
        lambda: lowest_free_percent(PoolInterval(0, 0)),
        lambda: lowest_free_percent(PoolInterval(10, 11)),
        lambda: object_pages_crude(-1),
        lambda: start_pages(Usage.SYSTEM, wanted_pages=0),
        lambda: may_be_page_fixed(0, 1),
        lambda: writing_at(101),
        lambda: burst_s(1, 0),
        lambda: checkpoint_pages_max(1, 0),
        lambda: checkpoint_pages_max_31_bit(-1),
    ],
)
def test_impossible_values_name_what_is_valid(impossible):
    with pytest.raises(OutOfRangeError, match="is not valid: "):
        impossible()


def test_no_pool_beyond_its_page_sets():
    assert useful_pages_max([4 * GIB, 64 * GIB]) == 17 * 1_048_576


def test_page_fixed_only_within_free_real_storage():
    assert may_be_page_fixed(50_000, 50_000 * PAGE_BYTES)
    assert not may_be_page_fixed(50_000, 50_000 * PAGE_BYTES - 1)


@pytest.mark.oracle("mp16-ch1/19", kind="exact", lines="1022")
def test_1024_pages_in_flight():
    assert pages_in_flight_max(Release.V8_0) == 1024
    assert pages_in_flight_max(Release.V8_0) * PAGE_BYTES == 4 * MIB
    assert pages_in_flight_max(Release.V7_1) == 4


@pytest.mark.oracle("mp16-ch1/20", kind="approx", lines="1034")
def test_85_percent_of_1_gb_of_pools():
    assert checkpoint_pages_max_31_bit(GIB) == 222_822
    assert checkpoint_pages_max_31_bit(GIB) == pytest.approx(220_000, rel=0.02)


@pytest.mark.oracle("mp16-ch1/21", kind="exact", lines="1042")
def test_empty_messages_of_one_log_fill_12_gb():
    logged = log_bytes_per_message(0, Action.PUT)
    assert logged == 1057
    assert checkpoint_pages_max(4 * GIB, logged) * PAGE_BYTES == 12 * GIB


@pytest.mark.oracle("mp16-ch1/22", kind="exact", lines="1044")
def test_ten_to_a_commit_fill_20_gb():
    logged = log_bytes_per_message(0, Action.PUT, scope=Scope.COMMIT_TEN)
    assert logged == 751
    assert checkpoint_pages_max(4 * GIB, logged) * PAGE_BYTES == 20 * GIB


@pytest.mark.oracle("mp16-ch1/23", kind="approx", lines="1048-1050")
def test_a_burst_of_4_gb():
    assert burst_s(4 * GIB, WriteRate.V8_0_DS8870_HIGH.value) == pytest.approx(7, abs=1)
    assert burst_s(4 * GIB, WriteRate.V8_0_DS8870_LOW.value) == pytest.approx(13, abs=1)
    assert burst_s(4 * GIB, WriteRate.SLOW_DASD.value) == pytest.approx(41, abs=1)


@given(st.floats(1, 1e6), st.integers(0, 4 * GIB))
def test_never_more_messages_than_have_their_records_in_the_log(logged, log_bytes):
    assert checkpoint_pages_max(log_bytes, logged) * logged <= log_bytes * (1 + 1e-12)


def test_whole_pages_are_written():
    assert checkpoint_write_bytes(1000, 1) == 1000 * PAGE_BYTES
    assert checkpoint_write_bytes(1000, 3636) == 2000 * PAGE_BYTES


@pytest.mark.parametrize(
    ("stealable", "from_idle", "while_writing"),
    [
        (30, Writing.IDLE, Writing.IDLE),
        (25, Writing.IDLE, Writing.IDLE),
        (24, Writing.IDLE, Writing.DEFERRED),
        (15, Writing.IDLE, Writing.DEFERRED),
        (14, Writing.DEFERRED, Writing.DEFERRED),
        (5, Writing.DEFERRED, Writing.DEFERRED),
        (4, Writing.SYNCHRONOUS, Writing.SYNCHRONOUS),
    ],
)
def test_when_pages_are_written(stealable, from_idle, while_writing):
    assert (from_idle, while_writing) == (writing_at(stealable), writing_at(stealable, already_writing=True))
