"""Shared messages over 63 KB in Db2 and in data sets (MP16 chapter 2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.large_messages import (
    CF_CPU_MS,
    CPU_MS,
    TRANSITION,
    bytes_over_step,
    cf_cpu_ms_per_message,
    cpu_ms_per_message,
    data_sharing_share,
    db2_messages_per_s,
    lob_segments,
    lob_space_mb,
    partition_mb,
    smds_saves_ms,
)
from quaestor.planner.source import OutOfRangeError

KB = 1024


@pytest.mark.oracle("mp16-ch2-3/28", kind="exact", lines="2846")
def test_ten_thousand_messages_of_100_kb():
    assert 1280 == lob_space_mb(100 * KB, 10_000)


@pytest.mark.oracle("mp16-ch2-3/29", kind="exact", lines="2852")
def test_four_partitions():
    assert 352 == partition_mb(1280)


@pytest.mark.oracle("mp16-ch2-3/30", kind="exact", lines="2892")
def test_data_sharing_of_clones():
    assert [0, 0.5] == [data_sharing_share(members) for members in (1, 2)]
    assert 66.6 == int(1000 * data_sharing_share(3)) / 10
    assert 1 == data_sharing_share(2, putter_and_getter_apart=True)


@pytest.mark.oracle("mp16-ch2-3/31", kind="identity", lines="2883, 2947-2949")
def test_segments():
    assert [1, 2, 3] == [lob_segments(size) for size in (523_264, 524_000, 1_048_576)]


@pytest.mark.oracle("mp16-ch2-3/32", kind="measured", lines="2906")
def test_the_rate_falls_at_63_kb_and_halves_with_every_doubling():
    assert (1970, 672) == TRANSITION.column("messages_per_s")
    assert db2_messages_per_s(64_513) == pytest.approx(672, rel=1e-4)
    assert db2_messages_per_s(400_000) == pytest.approx(db2_messages_per_s(200_000) / 2)


PRINTED_CPU = [
    (2048, 0.12, 0.12),
    (8192, 0.13, 0.13),
    (32768, 0.19, 0.19),
    (64512, 0.28, 0.27),
    (65536, 1.45, 0.26),
    (102400, 1.47, 0.32),
    (523264, 3.24, 1.16),
    (524000, 5.55, 1.16),
    (1048576, 10.6, 2.49),
]
PRINTED_CF = [
    (2048, 0.36, 0.36),
    (8192, 0.41, 0.41),
    (32768, 0.53, 0.53),
    (64512, 0.76, 0.73),
    (65536, 1.54, 0.21),
    (102400, 1.64, 0.43),
    (523264, 2.58, 0.3),
    (524000, 5.85, 0.3),
    (1048576, 14.23, 0.6),
]


@pytest.mark.oracle("mp16-ch2-3/33", kind="measured", lines="2939-2949")
@pytest.mark.parametrize(("size", "db2", "smds"), PRINTED_CPU)
def test_cpu_of_a_shared_message(size, db2, smds):
    assert (db2, smds) == (cpu_ms_per_message(size, "db2"), cpu_ms_per_message(size, "smds"))


@pytest.mark.oracle("mp16-ch2-3/34", kind="measured", lines="2955-2965")
@pytest.mark.parametrize(("size", "db2", "smds"), PRINTED_CF)
def test_cf_cpu_of_a_shared_message(size, db2, smds):
    assert (db2, smds) == (cf_cpu_ms_per_message(size, "db2"), cf_cpu_ms_per_message(size, "smds"))


def test_a_byte_over_63_kb_costs_the_step():
    assert 1.45 == cpu_ms_per_message(64_513, "db2")
    assert 5.55 == cpu_ms_per_message(523_265, "db2")
    assert cpu_ms_per_message(5120, "db2") == pytest.approx(0.125)


def test_pages_of_32_kb():
    assert [0.032, 0.064] == [lob_space_mb(size, 1) for size in (32 * KB, 32 * KB + 1)]
    assert 110 == partition_mb(100, partitions=1)
    assert 0 == lob_space_mb(1, 0) == partition_mb(0) == db2_messages_per_s(70_000, at_63_kb_per_s=0)


def test_how_far_over_the_last_step():
    assert [0, 0, 1, 1024, 1, 523_264 - 64_512] == [
        bytes_over_step(size) for size in (0, 64_512, 64_513, 65_536, 523_265, 523_264)
    ]
    assert 1 == bytes_over_step(2 * 523_264 + 1)


@given(st.integers(2048, 1_048_576))
def test_data_sets_never_cost_more_than_db2(size):
    cpu, cf = smds_saves_ms(size)
    assert cpu >= 0
    assert cf >= 0


@given(st.integers(2048, 1_048_575))
def test_cpu_with_db2_never_falls_with_size(size):
    assert cpu_ms_per_message(size, "db2") <= cpu_ms_per_message(size + 1, "db2") + 1e-12
    assert cf_cpu_ms_per_message(size, "db2") <= cf_cpu_ms_per_message(size + 1, "db2") + 1e-12


@given(size=st.integers(1, 10**8), messages=st.integers(0, 10**6))
def test_lob_space_covers_the_data_with_less_than_a_page_to_spare(size, messages):
    space = lob_space_mb(size, messages) * 1000 * KB
    assert size * messages <= space + 1
    assert space <= (size + 32 * KB) * messages + 1


@given(st.integers(1, 64))
def test_more_clones_share_more(members):
    assert data_sharing_share(members) < data_sharing_share(members + 1) < 1


def test_impossible_values_are_refused():
    with pytest.raises(OutOfRangeError, match="message_bytes 2047 is not valid: 2048 to 1048576"):
        cpu_ms_per_message(2047)
    with pytest.raises(OutOfRangeError, match="offload tape is not valid: db2, smds"):
        cf_cpu_ms_per_message(2048, "tape")
    with pytest.raises(OutOfRangeError, match="db2_members 1 is not valid: 2 or more"):
        data_sharing_share(1, putter_and_getter_apart=True)
    with pytest.raises(OutOfRangeError, match="message_bytes 64512 is not valid: 64513 or more"):
        db2_messages_per_s(64_512)


def test_both_tables_have_the_same_sizes():
    assert CPU_MS.column("message_bytes") == CF_CPU_MS.column("message_bytes")
