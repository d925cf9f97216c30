"""Indexes, expiry, security and storage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.expiry import check_expryint, expiry_cpu_s_per_h, scan_cpu_us
from quaestor.planner.indexing import IndexBuild, index_bytes, indexed_messages_about, rebuild_s, startup_delay_s
from quaestor.planner.quantity import GIB, KIB, MIB
from quaestor.planner.release import Release
from quaestor.planner.security_costs import USER_REAL_BYTES, discarded_at_min, security_bytes
from quaestor.planner.source import OutOfRangeError
from quaestor.planner.storage_use import (
    HANDLES_PER_MCA_MAX,
    channels_at_once,
    cluster_cache_bytes,
    csa_bytes,
    csa_bytes_per_connection,
    group_common_bytes,
    group_private_bytes,
    handle_bytes,
)


@pytest.mark.oracle("mp16-ch1/66", kind="bench", lines="2048")
def test_rebuilding_the_index_of_8_million_messages():
    assert startup_delay_s([8_000_000]) == pytest.approx(280)
    assert startup_delay_s([8_000_000], IndexBuild.NOWAIT) == 0


def test_ten_indexes_are_rebuilt_side_by_side():
    assert rebuild_s([1_000_000] * 10) == rebuild_s([1_000_000]) == pytest.approx(35)
    assert rebuild_s([1_000_000] * 11) == pytest.approx(70)
    assert rebuild_s([1_000_000] * 3, parallel=1) == pytest.approx(105)
    assert rebuild_s([]) == 0


@given(st.lists(st.integers(0, 10**7), max_size=30), st.integers(1, 12))
def test_rebuild_takes_between_its_longest_queue_and_all_in_turn(queues, parallel):
    each, whole = [rebuild_s([n]) for n in queues], rebuild_s(queues, parallel=parallel)
    assert max(each, default=0) <= whole * (1 + 1e-9)
    assert sum(each) / parallel <= whole * (1 + 1e-9)
    assert whole <= sum(each) * (1 + 1e-9)


def test_index_storage():
    assert index_bytes(100_000_000, queues=0) / GIB == pytest.approx(25.3, abs=0.05)
    assert index_bytes(8_000_000, queues=0) / GIB == pytest.approx(2.03, abs=0.01)
    assert index_bytes(0, queues=1000) == 1000 * 47 * KIB
    assert (7_200_000, 100_000_000) == (indexed_messages_about(Release.V6_0), indexed_messages_about(Release.V7_0_1))


@pytest.mark.oracle("mp16-ch1/67", kind="bench", lines="2081-2083")
def test_scanning_a_shared_queue_for_expired_messages():
    assert scan_cpu_us(1) == (9, 12)
    assert scan_cpu_us(1, expired=1) == (10, 20)
    assert scan_cpu_us(1, offloaded=True) == (18, 24)


def test_expiry_by_the_hour():
    low, high = expiry_cpu_s_per_h(100_000, expryint_s=60)
    assert (54, 72) == (pytest.approx(low), pytest.approx(high))
    assert expiry_cpu_s_per_h(100_000, expryint_s=0) == (0, 0)


@given(st.integers(0, 10**6), st.integers(5, 10**6), st.booleans())
def test_expiry_costs_less_when_scans_are_rarer(depth, interval, offloaded):
    often = expiry_cpu_s_per_h(depth, interval, offloaded=offloaded)
    rarely = expiry_cpu_s_per_h(depth, interval + 1, offloaded=offloaded)
    assert often[0] <= often[1]
    assert rarely[0] <= often[0]
    assert rarely[1] <= often[1]


@pytest.mark.parametrize("interval", [-1, 1, 4, 100_000_000])
def test_expryint_range(interval):
    with pytest.raises(OutOfRangeError, match="is not valid: 0, or 5 to 99999999"):
        check_expryint(interval)


@pytest.mark.oracle("mp16-ch1/68", kind="exact", lines="2133-2139")
def test_an_idle_user_is_discarded_after_60_minutes():
    assert discarded_at_min(timeout_min=54, interval_min=12) == 60
    assert discarded_at_min(timeout_min=54, interval_min=12) - 54 == 6


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(1, 10_000))
def test_never_before_the_timeout_nor_an_interval_late(last_use, timeout, interval):
    at = discarded_at_min(last_use, timeout, interval)
    assert last_use + timeout <= at < last_use + timeout + interval
    assert at % interval == 0


@pytest.mark.oracle("mp16-ch1/69", kind="exact", lines="2160-2164")
def test_security_storage_of_one_user():
    assert security_bytes(1) / KIB == 8.8
    assert round(security_bytes(1, 50) / KIB, 1) == 28.2
    assert round((security_bytes(1, 50) - security_bytes(1)) / KIB, 1) == 19.4
    assert security_bytes(1) > USER_REAL_BYTES


@given(st.integers(0, 50_000), st.integers(1, 50))
def test_security_storage_follows_users_and_queues(users, queues):
    assert security_bytes(2 * users, queues) == pytest.approx(2 * security_bytes(users, queues))
    assert security_bytes(1, queues + 1) - security_bytes(1, queues) == pytest.approx(405)


@pytest.mark.oracle("mp16-ch1/70", kind="exact", lines="2259")
def test_handles_of_10_000_clients():
    """80 MB, of 1000 KB each."""
    assert handle_bytes(10_000, 2) / KIB / 1000 == 80


@pytest.mark.oracle("mp16-ch1/71", kind="exact", lines="2259")
def test_handles_of_1000_channels():
    assert handle_bytes(1000, HANDLES_PER_MCA_MAX) / handle_bytes(1, 1) == 30_000
    assert handle_bytes(1000, HANDLES_PER_MCA_MAX) / KIB / 1000 == 120


def test_common_storage_by_sharecnv():
    assert [2.45, 4.9, 2.9, 2.9] == [csa_bytes_per_connection(n) / KIB for n in (0, 1, 5, 10)]
    assert 2.9 < csa_bytes_per_connection(3) / KIB < 4.9
    assert csa_bytes({}) == 6 * MIB
    assert csa_bytes({0: 1000, 10: 1000}) == pytest.approx(6 * MIB + 1000 * 5.35 * KIB)
    with pytest.raises(OutOfRangeError, match="1 to 10"):
        csa_bytes_per_connection(11)
    with pytest.raises(OutOfRangeError, match="connections_sharecnv_1 -5 is not valid: 0 or more"):
        csa_bytes({1: -5})


def test_a_queue_sharing_group():
    assert group_private_bytes(0) == 27 * MIB
    assert group_private_bytes(10) == 27 * MIB + 8000 * KIB
    assert group_private_bytes(0, backs_up_structures=True) == 92 * MIB
    assert group_common_bytes(10) == 60 * KIB


def test_the_cluster_cache_is_held_twice():
    assert cluster_cache_bytes(0) == 4 * MIB
    assert cluster_cache_bytes(MIB) == 4 * MIB
    assert cluster_cache_bytes(MIB + 1) == 6 * MIB


def test_channels_with_very_large_messages():
    assert channels_at_once(100 * MIB) == 15
    assert channels_at_once(50 * MIB) == 30


@pytest.mark.parametrize(
    "impossible",
    [
        lambda: index_bytes(-1),
        lambda: rebuild_s([-1]),
        lambda: rebuild_s([1], parallel=0),
        lambda: scan_cpu_us(1, expired=2),
        lambda: discarded_at_min(interval_min=0),
        lambda: security_bytes(-1),
        lambda: security_bytes(1, 0),
        lambda: handle_bytes(-1, 1),
        lambda: group_private_bytes(-1),
        lambda: group_common_bytes(-1),
        lambda: cluster_cache_bytes(-1),
        lambda: channels_at_once(101 * MIB),
    ],
)
def test_impossible_values_name_what_is_valid(impossible):
    with pytest.raises(OutOfRangeError, match="is not valid: "):
        impossible()
