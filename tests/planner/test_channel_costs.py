"""Moving messages, starting and stopping channels, tracing (MP16 chapter 3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.channel_costs import (
    SOFTWARE_TO_ZEDC,
    START_STOP,
    connection_cost,
    move_cpu_us,
    move_cpu_us_at_one_end,
    restart_s,
    start_stop_cpu_ms,
    stop_s,
    trace_change,
)
from quaestor.planner.measured import Range
from quaestor.planner.source import OutOfRangeError


@pytest.mark.oracle("mp16-ch2-3/76", kind="exact", lines="4110-4116")
def test_moving_a_non_persistent_message():
    assert 231 == move_cpu_us(10_000, persistent=False, batchsz=1)
    assert 115 == int(move_cpu_us_at_one_end(10_000, persistent=False, batchsz=1))


@pytest.mark.oracle("mp16-ch2-3/77", kind="source-error", lines="4122-4127")
def test_moving_a_non_persistent_message_in_a_full_batch():
    """Printed 138 and 69; 105 + 3.7 * 10 is 142, 71 at each end."""
    total = move_cpu_us(10_000, persistent=False, batchsz=50)
    assert 142 == total
    assert 71 == move_cpu_us_at_one_end(10_000, persistent=False, batchsz=50)
    assert total == pytest.approx(138, rel=0.03)


@pytest.mark.oracle("mp16-ch2-3/78", kind="exact", lines="4155-4160")
def test_moving_a_persistent_message():
    assert 1010 == move_cpu_us(10_000, persistent=True)
    assert 500 == pytest.approx(move_cpu_us_at_one_end(10_000, persistent=True), rel=0.01)


@pytest.mark.oracle("mp16-ch2-3/64", kind="measured", lines="3709-3715")
def test_tracing_costs():
    assert Range(125, 155) == trace_change(busy=True).cpu_after(100)
    assert Range(103, 103) == trace_change(busy=False).cpu_after(100)
    assert Range(101, 102) == trace_change(busy=True, class_4_only=True).cpu_after(100)


@pytest.mark.oracle("mp16-ch2-3/66", kind="measured", lines="3733")
def test_connecting_to_a_shared_channel():
    assert [100, 120, 120] == [connection_cost(100, sharecnv) for sharecnv in (0, 1, 10)]


@pytest.mark.oracle("mp16-ch2-3/67", kind="measured", lines="3749-3753")
@pytest.mark.parametrize(
    ("pairs", "starts", "start_ms", "stops", "stop_ms"),
    [(1000, 250, 0.58, 730, 0.45), (2000, 285, 0.76, 660, 0.55), (4000, 360, 1.15, 570, 0.79)],
)
def test_starting_and_stopping(pairs, starts, start_ms, stops, stop_ms):
    assert restart_s(pairs) == pairs / starts
    assert stop_s(pairs) == pairs / stops
    assert start_stop_cpu_ms(pairs) == start_ms + stop_ms


@pytest.mark.oracle("mp16-ch2-3/67", kind="measured", lines="3749-3753")
def test_restarting_four_thousand_senders():
    assert 11 == int(restart_s(4000))
    assert restart_s(100, pairs_known=4000) == pytest.approx(100 / 360)
    assert stop_s(100, pairs_known=4000) == pytest.approx(100 / 570)


def test_no_channel_takes_no_time():
    assert 0 == restart_s(0, pairs_known=1000) == stop_s(0, pairs_known=1000)


def test_hardware_compression_saves_four_fifths():
    assert SOFTWARE_TO_ZEDC.cpu_after(100).low == pytest.approx(20)


@given(size=st.floats(0, 1e6), more=st.floats(0, 1e6))
def test_costs_grow_with_size_and_persistence_and_fall_with_batches(size, more):
    assert move_cpu_us(size, persistent=False, batchsz=50) < move_cpu_us(size, persistent=False)
    assert move_cpu_us(size, persistent=False) < move_cpu_us(size, persistent=True)
    assert move_cpu_us(size, persistent=True) <= move_cpu_us(size + more, persistent=True)


@given(st.floats(1000, 3999))
def test_more_channels_known_cost_more_to_start_and_stop(pairs):
    assert start_stop_cpu_ms(pairs) <= start_stop_cpu_ms(pairs + 1)
    assert START_STOP.between(pairs, "stops_per_s") >= START_STOP.between(pairs + 1, "stops_per_s")


def test_impossible_values_are_refused():
    with pytest.raises(OutOfRangeError, match="batchsz 50 has no line for persistent messages; valid are 1"):
        move_cpu_us(1000, persistent=True, batchsz=50)
    with pytest.raises(OutOfRangeError, match="batchsz 10 has no line for non-persistent messages; valid are 1, 50"):
        move_cpu_us(1000, persistent=False, batchsz=10)
    with pytest.raises(OutOfRangeError, match="pairs_known 5000 is outside 1000 to 4000"):
        restart_s(5000)
    with pytest.raises(OutOfRangeError, match="message_bytes -1 is not valid: 0 or more"):
        move_cpu_us(-1, persistent=True)
