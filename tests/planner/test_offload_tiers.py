"""CFLEVEL(5): tiered offload to shared message data sets (MP16 chapter 2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.offload import (
    DEFAULT_TIERS,
    NO_TIERS,
    Tier,
    data_kept_bytes,
    is_offloaded,
    offload_threshold_percent,
    percent_full,
    smds_bytes_needed,
    smds_capacity_tb,
    tiered_capacity,
)
from quaestor.planner.source import OutOfRangeError
from quaestor.planner.structures import Pools, elements_per_message, messages_at_settled_ratio, pools_allocated

KB_16 = 16 * 1024
HALF_GB_KB = 524_288


@pytest.mark.oracle("mp16-ch2-3/12", kind="exact-if", lines="2459-2471")
@pytest.mark.parametrize("elements", [1_410_796, 1_410_797])
def test_16_kb_messages_in_half_a_gigabyte(elements):
    """Both printed counts follow, if the structure of that example had 1,410,796 or 1,410,797 elements."""
    capacity = tiered_capacity(Pools(entries=elements // 6, elements=elements), KB_16)
    assert 66 == elements_per_message(KB_16)
    assert (17_101, 158_166) == (capacity.whole, capacity.total)
    assert 141_065 == capacity.offloaded
    assert capacity.smds_bytes / 2**30 == pytest.approx(2.15, abs=0.005)


@pytest.mark.oracle("mp16-ch2-3/12", kind="exact-if", lines="2459-2471")
@pytest.mark.parametrize("elements", [1_410_795, 1_410_798])
def test_no_other_structure_gives_both_counts(elements):
    capacity = tiered_capacity(Pools(entries=elements // 6, elements=elements), KB_16)
    assert (17_101, 158_166) != (capacity.whole, capacity.total)


@pytest.mark.oracle("mp16-ch2-3/12", kind="exact-if", lines="2459-2471")
def test_16_kb_messages_without_offload():
    messages = messages_at_settled_ratio(pools_allocated(HALF_GB_KB, 22), KB_16)
    assert 24_029 == messages
    assert messages == pytest.approx(24_000, rel=0.002)


@pytest.mark.oracle("mp16-ch2-3/13", kind="exact", lines="3138")
def test_the_data_sets_of_one_structure():
    assert 496 == smds_capacity_tb(31)


@pytest.mark.oracle("mp16-ch2-3/14", kind="exact", lines="3146-3150")
@pytest.mark.parametrize("full_percent", [0, 70, 80, 90, 99.9])
def test_the_third_rule_disabled(full_percent):
    tiers = (*DEFAULT_TIERS[:2], Tier(90, 64 * 1024))
    under_4_kb = 4 * 1024 - 372 - 1
    assert not is_offloaded(under_4_kb, full_percent, tiers)
    assert (full_percent >= 80) is is_offloaded(4 * 1024, full_percent, tiers)
    assert (full_percent >= 70) is is_offloaded(40 * 1024, full_percent, tiers)


@pytest.mark.parametrize(
    ("message_bytes", "threshold"),
    [(0, 90), (3724, 90), (3725, 80), (32_396, 80), (32_397, 70), (64_512, 70), (64_513, 0)],
)
def test_sizes_count_their_headers(message_bytes, threshold):
    assert threshold == offload_threshold_percent(message_bytes)


def test_no_tier_left_but_large_messages_go():
    assert offload_threshold_percent(64_512, NO_TIERS) is None
    assert not is_offloaded(64_512, 100, NO_TIERS)
    assert is_offloaded(64_513, 0, NO_TIERS)
    assert 0 == tiered_capacity(Pools(1000, 6000), KB_16, NO_TIERS).offloaded


def test_fullness_is_that_of_the_fuller_pool():
    assert 50 == percent_full(Pools(10, 300), Pools(100, 600))
    assert 29 == percent_full(Pools(29, 0), Pools(100, 600))  # not 28.999...


ALL_OR_NONE = (DEFAULT_TIERS, NO_TIERS)


def test_small_messages_gain_nothing_while_entries_bind():
    pools = Pools(1000, 6000)
    assert 1000 == tiered_capacity(pools, 100).total == tiered_capacity(pools, 100, NO_TIERS).total


@pytest.mark.parametrize(
    ("message_bytes", "total"),
    [
        (100, 7000 // 3),  # two elements and an entry, in the structure or out of it
        (1000, 900 + 700 // 3),  # six and an entry until the structure is 90 % full
        (64_513, 7000 // 3),
        (KB_16, 73 + 591),  # as many as without: elements bind, and there are entries enough
    ],
)
def test_small_messages_gain_where_the_ratio_may_change(message_bytes, total):
    """O6."""
    assert total == tiered_capacity(Pools(1000, 6000), message_bytes, auto_alter=True).total


@given(entries=st.integers(1, 10**6), message_bytes=st.integers(0, 200_000), tiers=st.sampled_from(ALL_OR_NONE))
def test_a_ratio_that_may_change_never_holds_fewer(entries, message_bytes, tiers):
    pools = Pools(entries, 6 * entries)
    capacity = tiered_capacity(pools, message_bytes, tiers, auto_alter=True)
    assert capacity.total >= messages_at_settled_ratio(pools, message_bytes)
    assert capacity.total >= tiered_capacity(pools, message_bytes, tiers).total


def test_data_kept_in_the_structure():
    assert 140 == data_kept_bytes()


def fill(pools, message_bytes, tiers):
    """Put messages one after the other until one is refused, as a structure would."""
    whole = offloaded = entries = elements = 0
    while True:
        away = is_offloaded(message_bytes, percent_full(Pools(entries, elements), pools), tiers)
        takes = 2 if away else elements_per_message(message_bytes)
        if entries + 1 > pools.entries or elements + takes > pools.elements:
            return whole, offloaded
        entries, elements = entries + 1, elements + takes
        whole, offloaded = whole + (not away), offloaded + away


TIERS = st.lists(st.builds(Tier, st.integers(0, 100), st.integers(0, 65_536)), max_size=3)


@given(
    entries=st.integers(1, 300),
    ratio=st.integers(1, 40),
    message_bytes=st.integers(0, 70_000),
    tiers=TIERS | st.just(DEFAULT_TIERS),
)
def test_the_formula_is_what_filling_a_structure_gives(entries, ratio, message_bytes, tiers):
    pools = Pools(entries, entries * ratio)
    capacity = tiered_capacity(pools, message_bytes, tiers)
    assert fill(pools, message_bytes, tiers) == (capacity.whole, capacity.offloaded)


@given(entries=st.integers(1, 10**6), message_bytes=st.integers(0, 200_000))
def test_offload_never_holds_fewer(entries, message_bytes):
    pools = Pools(entries, 6 * entries)
    assert tiered_capacity(pools, message_bytes).total >= tiered_capacity(pools, message_bytes, NO_TIERS).total


def test_impossible_values_are_refused():
    with pytest.raises(OutOfRangeError, match="queue_managers 32 is not valid: 0 to 31"):
        smds_capacity_tb(32)
    with pytest.raises(OutOfRangeError, match="threshold_percent 101 is not valid: 0 to 100"):
        Tier(101, 0)
    with pytest.raises(OutOfRangeError, match="over_bytes"):
        Tier(70, 65_537)
    with pytest.raises(OutOfRangeError, match="offloaded_messages"):
        smds_bytes_needed(-1, 10)
