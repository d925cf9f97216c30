"""CFRM sizes and CSQ_ADMIN (MP16 chapter 2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.cfrm import (
    ADMIN_ENTRIES_SEEN,
    PolicySizes,
    admin_carries_unit,
    admin_init_size_kb,
    alter_allowed,
    extra_kb_for_upgrade,
    may_start,
    queue_managers_supported,
    recommended_sizes,
    sample_admin_supports,
    shrinking_is_disruptive,
    structure_name,
)
from quaestor.planner.source import OutOfRangeError


@pytest.mark.oracle("mp16-ch2-3/2", kind="exact", lines="2522-2525, 2338-2340, 2544")
def test_sizes_for_half_a_gigabyte():
    sizes = recommended_sizes(500_000)
    assert PolicySizes(init_kb=500_000, size_kb=1_000_000, min_kb=500_000) == sizes
    assert alter_allowed(sizes, 750_000)
    assert not alter_allowed(sizes, 1_000_001)
    assert not alter_allowed(sizes, 499_999)


@pytest.mark.oracle("mp16-ch2-3/3", kind="exact", lines="2352")
def test_entries_of_a_level_14_facility():
    assert 5189 == ADMIN_ENTRIES_SEEN.exactly(14, "entries_max")
    assert 5 == queue_managers_supported(5189)
    assert [may_start(5189, started) for started in (4, 5)] == [True, False]


@pytest.mark.oracle("mp16-ch2-3/4", kind="identity", lines="2352")
def test_entries_of_a_level_10_facility():
    assert 9 == queue_managers_supported(int(ADMIN_ENTRIES_SEEN.exactly(10, "entries_max")))
    assert 9362 == ADMIN_ENTRIES_SEEN.exactly(10, "entries_max")


@pytest.mark.oracle("mp16-ch2-3/5", kind="exact", lines="2350")
def test_the_sample_admin_structure():
    assert [7, 7] == [sample_admin_supports(level) for level in (14, 22)]
    assert 20_000 == admin_init_size_kb(7)
    with pytest.raises(OutOfRangeError, match="1 to 22"):
        sample_admin_supports(23)


@pytest.mark.oracle("mp16-ch2-3/6", kind="exact", lines="2354-2355")
@pytest.mark.parametrize(("maxumsgs", "carried"), [(10_000, True), (40_000, True), (40_001, False)])
def test_the_largest_unit_of_recovery(maxumsgs, carried):
    assert carried is admin_carries_unit(maxumsgs)
    assert admin_carries_unit()


def test_a_high_ratio_wastes_control_storage():
    assert not recommended_sizes(500_000).wastes_control_storage
    assert PolicySizes(init_kb=500_000, size_kb=1_000_001, min_kb=500_000).wastes_control_storage


def test_a_lower_minimum_may_be_taken_away():
    assert PolicySizes(init_kb=500_000, size_kb=1_000_000, min_kb=400_000).may_shrink
    assert not recommended_sizes(500_000).may_shrink


def test_the_name_in_the_policy():
    assert "PRF2APPLICATION1" == structure_name("PRF2", "APPLICATION1")


def test_an_upgrade_past_level_14_needs_five_megabytes():
    assert [5120, 5120, 0, 0] == [extra_kb_for_upgrade(*step) for step in ((14, 15), (12, 22), (15, 22), (12, 14))]


def test_shrinking_before_level_12():
    assert [True, False] == [shrinking_is_disruptive(level) for level in (11, 12)]


@given(queue_managers=st.integers(1, 32))
def test_the_admin_structure_grows_with_the_group(queue_managers):
    assert 20_000 <= admin_init_size_kb(queue_managers) <= admin_init_size_kb(queue_managers + 1)
    assert admin_init_size_kb(queue_managers) * 7 >= queue_managers * 20_000


@given(init_kb=st.integers(1, 10**9))
def test_recommended_sizes_obey_their_own_rules(init_kb):
    sizes = recommended_sizes(init_kb)
    assert not sizes.wastes_control_storage
    assert not sizes.may_shrink


@pytest.mark.parametrize(
    "sizes", [{"init_kb": 0, "size_kb": 0, "min_kb": 0}, {"init_kb": 2, "size_kb": 1, "min_kb": 1}]
)
def test_impossible_sizes_are_refused(sizes):
    with pytest.raises(OutOfRangeError, match="INITSIZE"):
        PolicySizes(**sizes)


def test_impossible_names_and_counts_are_refused():
    with pytest.raises(OutOfRangeError, match="4 to 4"):
        structure_name("PRF", "APPLICATION1")
    with pytest.raises(OutOfRangeError, match="1 to 12"):
        structure_name("PRF2", "APPLICATION12")
    with pytest.raises(OutOfRangeError, match="queue_managers 0 is not valid: 1 or more"):
        admin_init_size_kb(0)
