"""Redrives, late deletes and signals of shared queues (MP16 chapter 2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.shared_gets import (
    BUFFER_CLASSES_BYTES,
    REDRIVE_COST,
    buffer_class_bytes,
    crosses_buffer_class,
    redrive_ratio,
    redrives_of_a_run,
    signals_wasted,
    undeleted_bytes,
)
from quaestor.planner.source import OutOfRangeError

KB = 1024
SIZES = st.lists(st.integers(1, 64_512), max_size=60)


@pytest.mark.oracle("mp16-ch2-3/23", kind="exact", lines="2749-2758")
@pytest.mark.parametrize("version", [6, 7])
def test_five_messages_of_varying_size(version):
    seen = redrives_of_a_run([5 * KB, 6 * KB, 8 * KB, 10 * KB, 1 * KB], version)
    assert 2 == seen.count
    assert (1, 4) == seen.messages
    assert (8 * KB, 8 * KB, 8 * KB, 12 * KB) == seen.buffers_bytes[:4]


@pytest.mark.oracle("mp16-ch2-3/24", kind="exact", lines="2760-2774")
def test_version_6_shrinks_at_once():
    seen = redrives_of_a_run([1 * KB, 0.5 * KB, 1 * KB, 4 * KB], version=6)
    assert (3, 4) == seen.messages
    assert (1 * KB, 512, 1 * KB, 4 * KB) == seen.buffers_bytes


@pytest.mark.oracle("mp16-ch2-3/25", kind="exact", lines="2776")
def test_version_7_waits():
    assert 0 == redrives_of_a_run([1 * KB, 0.5 * KB, 1 * KB, 4 * KB], version=7).count


@pytest.mark.oracle("mp16-ch2-3/26", kind="measured", lines="2786-2801")
def test_mixed_sizes_cost_more_than_the_larger_alone():
    """3 of 5 messages of 2 KB and 2 of 5 of 4 KB, whose headers put them into different classes."""
    rows = {int(case): rest for case, *rest in REDRIVE_COST.rows}
    assert [2048, 9758, 291, 0] == rows[1]
    assert [4096, 9405, 302, 1] == rows[2]
    assert [4096, 9117, 313, 457_825] == rows[3]
    with_headers = [2048 + 372, 4096 + 372]
    assert crosses_buffer_class(with_headers)
    assert redrives_of_a_run(with_headers * 20, version=6).count == 20
    assert redrives_of_a_run(with_headers * 20, version=7).count == 1


@pytest.mark.oracle("mp16-ch2-3/27", kind="exact", lines="2817-2819")
def test_got_messages_not_yet_deleted():
    mb = 1024 * KB
    assert 21.25 == undeleted_bytes(64 * KB, queue_managers=1) / mb
    assert 637.5 == undeleted_bytes(64 * KB, queue_managers=30) / mb
    assert 0 == undeleted_bytes(64 * KB, queue_managers=30, cflevel=5)


@pytest.mark.oracle("mp16-ch2-3/41", kind="exact", lines="3182")
def test_ten_queue_managers_are_signalled_and_one_finds_the_message():
    assert (10, 9) == signals_wasted(depth_before_put=0, queue_managers_open_for_input=10)
    assert (0, 0) == signals_wasted(depth_before_put=1, queue_managers_open_for_input=10)
    assert (0, 0) == signals_wasted(depth_before_put=0, queue_managers_open_for_input=0)


def test_buffer_classes():
    assert (256, 512, 1024, 2048, 4096, 8192) == BUFFER_CLASSES_BYTES[:6]
    assert 64_512 == BUFFER_CLASSES_BYTES[-1]
    assert [256, 4096, 8192, 64_512] == [buffer_class_bytes(size) for size in (1, 4080, 4100, 62_000)]
    assert crosses_buffer_class([4080, 4100])
    assert not crosses_buffer_class([4000, 4080])


def test_version_7_shrinks_after_ten_to_what_they_needed():
    seen = redrives_of_a_run([60_000] + [600, 300] * 5 + [1024, 1025], version=7)
    assert 61_440 == seen.buffers_bytes[9]
    assert 1024 == seen.buffers_bytes[10]
    assert (1, 13) == seen.messages


@given(SIZES)
def test_a_message_is_redriven_at_most_once_and_always_fits_after(sizes):
    for version in (6, 7):
        seen = redrives_of_a_run(sizes, version)
        assert len(seen.buffers_bytes) == len(sizes)
        assert len(set(seen.messages)) == seen.count <= len(sizes)
        if version == 6:
            assert [buffer_class_bytes(size) for size in sizes] == list(seen.buffers_bytes)


@given(SIZES.filter(lambda sizes: len(sizes) < 10))
def test_version_7_never_redrives_more_in_a_short_run(sizes):
    assert redrives_of_a_run(sizes, 7).count <= redrives_of_a_run(sizes, 6).count


@given(st.integers(1, 64_512), st.integers(1, 40))
def test_one_size_is_redriven_once_at_most(size, count):
    assert redrives_of_a_run([size] * count, 7).count == (1 if size > 4096 else 0)


def test_redrives_per_call():
    assert 0.25 == redrive_ratio(50, calls=200)
    assert 0 == redrive_ratio(0, calls=0)
    with pytest.raises(OutOfRangeError, match="calls -1 is not valid: 0 or more"):
        redrive_ratio(0, calls=-1)


def test_impossible_values_are_refused():
    with pytest.raises(OutOfRangeError, match="message_bytes 64513 is not valid: 0 to 64512"):
        redrives_of_a_run([64_513])
    with pytest.raises(OutOfRangeError, match="version 5 is not valid: 6 or more"):
        redrives_of_a_run([1], version=5)
    with pytest.raises(OutOfRangeError, match="cflevel 6 is not valid: 1, 2, 3, 4, 5"):
        undeleted_bytes(1, 1, cflevel=6)
