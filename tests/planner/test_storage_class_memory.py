"""Storage class memory (MP16 chapter 2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.offload import smds_bytes_needed, smds_capacity_tb
from quaestor.planner.source import OutOfRangeError
from quaestor.planner.storage_class_memory import (
    DELAYED_PERCENT_AT_62_KB,
    PEAK_MB_PER_S,
    ScmSummary,
    augmented_mb,
    messages_in_scm,
    offloaded_messages_in_scm,
    over_committed_mb,
    random_access,
    rate_is_absorbed,
    ratio_can_settle,
    scm_exhausted_first,
    usable_scm_mb,
)

KB, TB = 1024, 2**40
MB_PER_TB = 1_048_576
PRF1APPLICATION1 = ScmSummary(
    entries_max=613_417e3,
    elements_max=3_681e6,
    entries_now=4_034e3,
    elements_now=40_343e3,
    operations=32_339,
    bytes_moved=33_910e6,
    faults_percent=498,
)


@pytest.mark.oracle("mp16-ch2-3/35", kind="approx", lines="3033-3043")
def test_a_terabyte_needs_77_gigabytes_of_augmented_space():
    assert 77_455 == augmented_mb(MB_PER_TB)
    assert 7.387 == round(100 * augmented_mb(1), 3)
    assert usable_scm_mb(MB_PER_TB, cf_free_mb=77_455) == pytest.approx(MB_PER_TB)
    assert usable_scm_mb(MB_PER_TB, cf_free_mb=7_745.5) == pytest.approx(MB_PER_TB / 10)


@pytest.mark.oracle("mp16-ch2-3/36", kind="measured", lines="3064-3068")
@pytest.mark.parametrize(("size_kb", "write", "read"), [(2, 228, 177), (8, 463, 382), (16, 460, 357), (62, 868, 608)])
def test_peak_rates(size_kb, write, read):
    for direction, peak in (("write", write), ("read", read)):
        assert peak == PEAK_MB_PER_S.exactly(size_kb * KB, direction)
        assert rate_is_absorbed(peak - 1, size_kb * KB, direction)
        assert not rate_is_absorbed(peak, size_kb * KB, direction)
    assert 3 == DELAYED_PERCENT_AT_62_KB


@pytest.mark.oracle("mp16-ch2-3/37", kind="measured", lines="3087-3093")
def test_random_access_from_scm_is_a_hundred_times_slower():
    cf, z13, z14 = (random_access(medium) for medium in ("cf", "scm z13", "scm z14"))
    assert (8, 8, 19, 19) == (cf.put_elapsed_us, cf.put_cpu_us, cf.get_elapsed_us, cf.get_cpu_us)
    assert (1700, 25, 3600, 80) == (z13.put_elapsed_us, z13.put_cpu_us, z13.get_elapsed_us, z13.get_cpu_us)
    assert (8, 8, 1210, 53) == (z14.put_elapsed_us, z14.put_cpu_us, z14.get_elapsed_us, z14.get_cpu_us)
    assert [0, 5195, 1157] == [access.cf_us for access in (cf, z13, z14)]


@pytest.mark.oracle("mp16-ch2-3/38", kind="parse", lines="3103-3118")
def test_the_scm_structure_summary_adds_up():
    summary = PRF1APPLICATION1
    assert 6 == round(summary.elements_max / summary.entries_max)
    assert 10 == round(summary.elements_now / summary.entries_now)
    assert "elements" == scm_exhausted_first(summary)
    assert summary.bytes_per_operation == pytest.approx(2**20, rel=1e-5)
    assert summary.bytes_max == pytest.approx(TB, rel=1e-3)
    assert not summary.pattern_is_predictable


@pytest.mark.oracle("mp16-ch2-3/39", kind="approx", lines="3132")
def test_62_kb_messages_in_a_terabyte():
    """The printed 16.7 million count 64 KB a message; counting units of 256 bytes gives 2.5% more."""
    assert 16.7 == int(TB / (64 * KB) / 1e5) / 10
    assert messages_in_scm(TB, 62 * KB) == pytest.approx(16.7e6, rel=0.03)
    assert 17.1 == round(messages_in_scm(TB, 62 * KB) / 1e6, 1)


@pytest.mark.oracle("mp16-ch2-3/40", kind="source-error", lines="3140")
def test_offloaded_messages_in_a_terabyte():
    """Printed 14,310 million; three units of 256 bytes each give a tenth of it, and only that fits the data sets."""
    messages = offloaded_messages_in_scm(TB)
    assert 1431 == messages // 10**6
    room = smds_capacity_tb(31) * TB
    assert smds_bytes_needed(messages, 62 * KB) < room < smds_bytes_needed(14_310 * 10**6, 62 * KB)


def test_no_memory_holds_nothing():
    assert 0 == messages_in_scm(0, 1000) == offloaded_messages_in_scm(0) == augmented_mb(0) == usable_scm_mb(0, 0)
    assert "both" == scm_exhausted_first(ScmSummary(1, 1, 0, 0, 1, 1, 0))


def test_over_commitment():
    assert 0 == over_committed_mb([100, 200], 300)
    assert 50 == over_committed_mb([100, 250], 300)


def test_alter_must_come_before_the_freeze():
    assert [True, True, False] == [ratio_can_settle(percent) for percent in (80, 89, 90)]


@given(scm_mb=st.floats(0, 1e7), free_mb=st.floats(0, 1e6))
def test_usable_scm_never_needs_more_than_there_is(scm_mb, free_mb):
    usable = usable_scm_mb(scm_mb, free_mb)
    assert usable <= scm_mb
    assert augmented_mb(usable) <= free_mb * (1 + 1e-9)


@given(message_bytes=st.integers(0, 64_511))
def test_larger_messages_never_fit_more_often(message_bytes):
    assert messages_in_scm(TB, message_bytes) >= messages_in_scm(TB, message_bytes + 1)
    assert offloaded_messages_in_scm(TB) >= messages_in_scm(TB, message_bytes) or message_bytes <= 140


@given(st.floats(1, 1e9), st.floats(1, 1e9))
def test_what_runs_out_first_turns_with_the_ratio(entries, elements):
    full = ScmSummary(1e9, 1e9, entries, elements, 1, 1, 0)
    expected = "both" if entries == elements else "elements" if elements > entries else "entries"
    assert expected == scm_exhausted_first(full)


def test_impossible_values_are_refused():
    with pytest.raises(OutOfRangeError, match="message_bytes 64513 is not valid: 0 to 64512"):
        messages_in_scm(TB, 64_513)
    with pytest.raises(OutOfRangeError, match="direction up is not valid: write, read"):
        rate_is_absorbed(1, 2048, "up")
    with pytest.raises(OutOfRangeError, match="message_bytes 1024 is outside 2048 to 63488"):
        rate_is_absorbed(1, 1024, "read")
    with pytest.raises(OutOfRangeError, match="is not valid: cf, scm z13, scm z14"):
        random_access("tape")
    with pytest.raises(OutOfRangeError, match="full_threshold_percent 101 is not valid: 0 to 100"):
        ratio_can_settle(101)
