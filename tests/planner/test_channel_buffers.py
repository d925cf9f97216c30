"""The channel initiator's buffer pools and their scavenger (MP16 chapter 3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.channel_buffers import (
    SHARED,
    Buffer,
    BufferPools,
    buffer_size_kb,
    buffers_in_use,
    free_buffers_kb_max,
    give_back,
    largest_free_kb,
    scavenge,
    scavenged_kb,
    scavenger_due,
    storage_message_due,
    take,
)
from quaestor.planner.source import OutOfRangeError

MB = 1024


@pytest.mark.oracle("mp16-ch2-3/48", kind="exact", lines="3368, 3380")
def test_five_free_buffers_of_100_megabytes():
    assert 500 * MB == largest_free_kb()
    pools = BufferPools(in_use=tuple(Buffer(SHARED, 100 * MB) for _ in range(7)))
    for buffer in pools.in_use:
        pools = give_back(pools, buffer)
    assert 500 * MB == pools.used_kb


@pytest.mark.oracle("mp16-ch2-3/49", kind="exact", lines="3378")
def test_a_stopped_channel_leaves_its_buffers_behind():
    """A channel for 100 MB messages starts and stops; its two buffers stay until 75% is reached."""
    idle = BufferPools()
    pools, first = take(idle, dispatcher=0, request_kb=100 * MB)
    pools, second = take(pools, dispatcher=0, request_kb=100 * MB)
    stopped = give_back(give_back(pools, first), second)

    assert pools.used_kb == stopped.used_kb == 200 * MB
    assert not scavenger_due(stopped.used_kb, available_kb=300 * MB)
    assert scavenger_due(stopped.used_kb + 25 * MB, available_kb=300 * MB)
    assert 0 == scavenge(stopped).used_kb


@pytest.mark.oracle("mp16-ch2-3/50", kind="exact", lines="3406")
@pytest.mark.parametrize("dispatchers", [1, 5, 20])
def test_what_the_scavenger_leaves(dispatchers):
    pools = BufferPools()
    for dispatcher in range(dispatchers):
        for request_kb in (1, 4, 8, 16, 32, 33, 36, 64, 1024, 2048):
            pools, _ = take(pools, dispatcher, request_kb)
    for buffer in pools.in_use:
        pools = give_back(pools, buffer)
    assert pools.used_kb > scavenge(pools).used_kb == scavenged_kb(dispatchers) == dispatchers * (4 + 36)


def test_buffers_in_use_are_not_released():
    pools, _ = take(BufferPools(), 0, 100 * MB)
    assert pools == scavenge(pools)


@pytest.mark.parametrize(("request_kb", "size"), [(1, 4), (5, 8), (33, 36), (37, 64), (1024, 1024), (1025, 1025)])
def test_the_size_that_fits(request_kb, size):
    assert size == buffer_size_kb(request_kb)


def test_the_next_size_up_is_taken_before_a_new_buffer():
    pools = BufferPools(free=(Buffer(0, 36), Buffer(0, 16), Buffer(1, 8)))
    pools, taken = take(pools, dispatcher=0, request_kb=6)
    assert Buffer(0, 16) == taken
    pools, taken = take(pools, dispatcher=0, request_kb=6)
    assert Buffer(0, 36) == taken
    pools, taken = take(pools, dispatcher=0, request_kb=6)
    assert Buffer(0, 8) == taken  # new: the free one belongs to another dispatcher
    assert (Buffer(1, 8),) == pools.free


def test_a_pool_keeps_fifty_free_buffers():
    pools = BufferPools(in_use=(Buffer(0, 4),) * 51)
    for buffer in pools.in_use:
        pools = give_back(pools, buffer)
    assert 50 == len(pools.free)


def test_buffers_of_running_channels():
    assert 2 * 100 + 3 * 10 == buffers_in_use(mca_channels=100, svrconn_channels=10)
    assert 0 == buffers_in_use(0)


def test_a_buffer_of_all_dispatchers_belongs_to_none():
    assert SHARED < 0


def test_most_free_storage():
    assert 4_800 + 99_200 + 500 * MB == free_buffers_kb_max(dispatchers=1)
    assert 4_800 == free_buffers_kb_max(2) - free_buffers_kb_max(1)


def test_when_csqx004i_comes():
    assert storage_message_due(3600, 1000, 1000)
    assert not storage_message_due(3599, 1000, 1020)
    assert storage_message_due(1, 1000, 1021)
    assert storage_message_due(1, 1000, 979)


STEPS = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3000), st.booleans()), max_size=60)


@given(STEPS)
def test_taking_and_giving_back_keeps_every_buffer_accounted(steps):
    pools = BufferPools()
    for dispatcher, request_kb, back in steps:
        if back and pools.in_use:
            pools = give_back(pools, pools.in_use[0])
            continue
        before = pools.used_kb
        pools, taken = take(pools, dispatcher, request_kb)
        assert taken.size_kb >= request_kb
        assert pools.used_kb - before in {0, taken.size_kb}
    assert scavenge(scavenge(pools)) == scavenge(pools)
    assert sum(b.size_kb for b in pools.in_use) <= scavenge(pools).used_kb <= pools.used_kb


def test_impossible_values_are_refused():
    with pytest.raises(OutOfRangeError, match="request_kb 0 is not valid: more than 0"):
        buffer_size_kb(0)
    with pytest.raises(OutOfRangeError, match="not in use"):
        give_back(BufferPools(), Buffer(0, 4))
    with pytest.raises(OutOfRangeError, match="available_kb 0 is not valid: more than 0"):
        scavenger_due(1, 0)


@pytest.mark.parametrize("size", [4, 36, 64, 1024])
def test_a_request_of_a_buffers_size_takes_that_buffer(size):
    pools, taken = take(BufferPools(), dispatcher=3, request_kb=size)
    assert size == taken.size_kb == buffer_size_kb(size)
    again, second = take(give_back(pools, taken), dispatcher=3, request_kb=size)
    assert taken == second
    assert () == again.free


def test_a_dispatchers_buffer_is_not_taken_by_another():
    pools, mine = take(BufferPools(), dispatcher=1, request_kb=4)
    pools, other = take(give_back(pools, mine), dispatcher=2, request_kb=4)
    assert (1, 2) == (mine.owner, other.owner)
    assert (mine,) == pools.free


def test_buffers_above_36_kb_are_of_all_dispatchers():
    pools, first = take(BufferPools(), dispatcher=1, request_kb=37)
    _, second = take(give_back(pools, first), dispatcher=2, request_kb=37)
    assert first == second


def test_no_dispatcher_has_a_negative_number():
    with pytest.raises(OutOfRangeError, match="dispatcher -1 is not valid: 0 or more"):
        take(BufferPools(), dispatcher=-1, request_kb=4)
