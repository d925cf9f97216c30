"""Batch sizes, intervals and speed of non-persistent messages (MP16 chapter 3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.batches import (
    BatchSettings,
    ChannelEnd,
    Speed,
    Traffic,
    achieved_batch_size,
    advised_batchsz_max,
    batches_per_s,
    batchint_ms_for,
    bytes_with_compressed_header,
    effective_batchsz,
    effective_npmspeed,
    measured_batch_size,
    moved_in_syncpoint,
    recommended_settings,
    synchronous_per_s,
)
from quaestor.planner.channel_costs import ACHIEVED_4_SMALL, ACHIEVED_50_FAST, BATCHSZ_1_PERSISTENT, move_cpu_us
from quaestor.planner.measured import percent_change
from quaestor.planner.source import OutOfRangeError


@pytest.mark.oracle("mp16-ch2-3/58", kind="identity", lines="3534-3539")
@pytest.mark.parametrize(
    ("sender", "receiver", "effective"),
    [
        (ChannelEnd(50, 10_000), ChannelEnd(100, 10_000), 50),
        (ChannelEnd(50, 40), ChannelEnd(100), 37),
        (ChannelEnd(50, 40, zos=False), ChannelEnd(100), 40),
        (ChannelEnd(50, 3), ChannelEnd(100), 1),
        (ChannelEnd(50), ChannelEnd(100, 3), 1),
    ],
)
def test_the_batch_size_in_effect(sender, receiver, effective):
    assert effective == effective_batchsz(sender, receiver)


@pytest.mark.oracle("mp16-ch2-3/59", kind="approx", lines="3547-3548")
def test_a_compressed_header_saves_300_bytes():
    large = 4 * 1024 * 1024
    assert 300 == large + 480 - bytes_with_compressed_header(large)
    assert 280 == bytes_with_compressed_header(100)
    assert percent_change(580, 280) == pytest.approx(-50, abs=2)


@pytest.mark.oracle("mp16-ch2-3/60", kind="exact", lines="3683")
def test_thirty_messages_a_second_in_two_seconds():
    assert 50 == achieved_batch_size(30, batchsz=50, batchint_ms=2000)
    assert 60 == achieved_batch_size(30, batchsz=100, batchint_ms=2000)


@pytest.mark.oracle("mp16-ch2-3/61", kind="exact", lines="3701-3704")
@pytest.mark.parametrize("batchsz", [20, 50])
def test_twenty_messages_a_minute(batchsz):
    per_s = 20 / 60
    one_batch, many = (achieved_batch_size(per_s, batchsz, interval) for interval in (60_000, 0))
    assert (20, 1) == (one_batch, many)
    assert [1, 20] == [round(60 * batches_per_s(per_s, achieved), 9) for achieved in (one_batch, many)]


@pytest.mark.oracle("mp16-ch2-3/62", kind="measured", lines="3679, 3684")
def test_what_batching_saves():
    assert 80 == BATCHSZ_1_PERSISTENT.cpu_after(100).low
    assert 50 == ACHIEVED_50_FAST.cpu_after(100).high
    assert (50, 200) == (ACHIEVED_4_SMALL.cpu_after(100).high, ACHIEVED_4_SMALL.throughput_after(100).low)
    one, fifty = (move_cpu_us(1000, persistent=False, batchsz=size) for size in (1, 50))
    assert percent_change(one, fifty) == pytest.approx(-50, abs=10)


@pytest.mark.oracle("mp16-ch2-3/63", kind="measured", lines="4099-4102")
def test_a_requester_waits_for_the_batch_to_end():
    assert 1 == synchronous_per_s(batchint_ms=1000)
    assert 800 == synchronous_per_s(batchint_ms=0)


@pytest.mark.parametrize(
    ("traffic", "batchsz", "batchint_ms"),
    [
        (Traffic.REQUEST_REPLY, 1, 0),
        (Traffic.REQUEST_REPLY_NON_PERSISTENT, 50, 10_000),
        (Traffic.REQUEST_REPLY_DELAYED, 50, 100),
        (Traffic.BULK, 50, 0),
        (Traffic.TRICKLE, 50, 5_000),
    ],
)
def test_recommended_settings(traffic, batchsz, batchint_ms):
    assert BatchSettings(batchsz, batchint_ms, Speed.FAST) == recommended_settings(traffic)
    assert min(10, batchsz) == recommended_settings(traffic, message_bytes=100_001).batchsz
    assert 1 == recommended_settings(traffic, message_bytes=2**20).batchsz


def test_advised_limits_by_message_size():
    assert [100, 100, 10, 1] == [advised_batchsz_max(size) for size in (5000, 100_000, 100_001, 2**20)]


def test_a_batch_ends_at_its_limit_of_kilobytes():
    assert 5 == achieved_batch_size(1000, 50, 1000, message_bytes=1_024_000)
    assert 6 == achieved_batch_size(1000, 50, 1000, message_bytes=1_023_999)
    assert 1 == achieved_batch_size(1000, 50, 1000, message_bytes=6_144_000)
    assert 50 == achieved_batch_size(0, preloaded=True)
    assert 200 == achieved_batch_size(0, batchsz=200, preloaded=True)
    assert 1 == achieved_batch_size(1_000_000)


def test_the_interval_that_fills_a_batch():
    assert 1667 == batchint_ms_for(30)
    assert 50 == achieved_batch_size(30, 50, batchint_ms_for(30))
    with pytest.raises(OutOfRangeError, match=r"must be above 0.166667 for BATCHSZ 50"):
        batchint_ms_for(0.1)


def test_the_batch_size_a_channel_achieved():
    assert 1.5 == measured_batch_size(messages=150, batches=100)
    assert 0 == measured_batch_size(messages=0, batches=0)


def test_both_ends_must_be_fast():
    fast, normal = Speed.FAST, Speed.NORMAL
    assert [fast, normal, normal, normal] == [
        effective_npmspeed(*ends) for ends in ((fast, fast), (fast, normal), (normal, fast), (fast, None))
    ]


def test_only_fast_messages_leave_the_batch():
    assert [False, True, True, True] == [
        moved_in_syncpoint(persistent, speed) for persistent in (False, True) for speed in (Speed.FAST, Speed.NORMAL)
    ]


ENDS = st.builds(ChannelEnd, st.integers(1, 9_999), st.integers(0, 20_000), st.booleans())


@given(ENDS, ENDS)
def test_the_size_in_effect_suits_both_ends(sender, receiver):
    effective = effective_batchsz(sender, receiver)
    assert effective == effective_batchsz(receiver, sender)
    assert 1 <= effective <= min(sender.batchsz, receiver.batchsz)


@given(
    rate=st.floats(0, 1e4),
    batchsz=st.integers(1, 100),
    interval=st.floats(0, 3e5),
    size=st.floats(1, 1e8),
    more=st.floats(0, 1e4),
)
def test_achieved_batches_stay_within_bounds_and_grow_with_the_interval(rate, batchsz, interval, size, more):
    achieved = achieved_batch_size(rate, batchsz, interval, size)
    assert 1 <= achieved <= batchsz
    assert achieved <= achieved_batch_size(rate, batchsz, interval + more, size)


def test_impossible_values_are_refused():
    with pytest.raises(OutOfRangeError, match="batchsz 0 is not valid: 1 or more"):
        effective_batchsz(ChannelEnd(0), ChannelEnd())
    with pytest.raises(OutOfRangeError, match="batchint_ms -1 is not valid: 0 or more"):
        achieved_batch_size(1, batchint_ms=-1)
    with pytest.raises(OutOfRangeError, match="header_bytes 299 is not valid: 300 or more"):
        bytes_with_compressed_header(100, header_bytes=299)


def test_a_batch_interval_stays_below_five_minutes():
    """One message in 5,999 ms fills a batch of 50 in 299,950 ms; one in six seconds would take five minutes."""
    assert 299_950 == batchint_ms_for(1000 / 5_999)
    with pytest.raises(OutOfRangeError, match=r"messages_per_s 0.166667 must be above 0.166667 for BATCHSZ 50"):
        batchint_ms_for(1 / 6)
