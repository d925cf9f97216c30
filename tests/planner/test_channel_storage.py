"""What channels take of the channel initiator's storage (MP16 chapter 3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.channels import (
    CLUSTER_CACHE_KB,
    EPVT_KB,
    MCA_FOOTPRINT_KB,
    ChannelGroup,
    channels_max,
    earlier_footprint_kb,
    free_storage_kb,
    mca_footprint_kb,
    recommended_sharecnv,
    storage_needed_kb,
    storage_percent,
    svrconn_footprint_kb,
    task_storage_kb,
)
from quaestor.planner.source import OutOfRangeError


@pytest.mark.oracle("mp16-ch2-3/43", kind="measured", lines="3304-3306")
@pytest.mark.parametrize(("message_kb", "footprint_kb"), [(1, 90), (32, 99), (64, 109), (1024, 1125)])
def test_footprint_of_an_mca_channel(message_kb, footprint_kb):
    assert footprint_kb == mca_footprint_kb(message_kb)


@pytest.mark.oracle("mp16-ch2-3/43", kind="measured", lines="3304-3306")
def test_the_printed_differences_are_one_too_small():
    follows = [footprint - 90 for footprint in MCA_FOOTPRINT_KB.column("footprint_kb")]
    assert [0, 9, 19, 1035] == follows
    assert (0, 9, 18, 1034) == MCA_FOOTPRINT_KB.column("over_1_kb_printed")


@pytest.mark.oracle("mp16-ch2-3/44", kind="exact", lines="3310-3314")
def test_a_thousand_small_channels_and_fifty_larger():
    groups = [ChannelGroup(1000, mca_footprint_kb(1)), ChannelGroup(50, mca_footprint_kb(64))]
    assert 95_450 == storage_needed_kb(groups)


@pytest.mark.oracle("mp16-ch2-3/45", kind="measured", lines="3320-3325")
@pytest.mark.parametrize(
    ("sharecnv", "conversations", "footprints"),
    [(0, 1, (96, 166, 196)), (1, 1, (179, 291, 357)), (10, 10, (242, 685, 1031))],
)
def test_footprint_of_a_client_channel(sharecnv, conversations, footprints):
    assert footprints == tuple(svrconn_footprint_kb(kb, sharecnv, conversations) for kb in (1, 32, 64))


@pytest.mark.oracle("mp16-ch2-3/45", kind="measured", lines="3325")
def test_current_conversations_count_and_not_the_most_allowed():
    assert 242 == svrconn_footprint_kb(1, sharecnv=1000, conversations=10)
    assert svrconn_footprint_kb(1, sharecnv=1000, conversations=100) == pytest.approx(2420)
    assert 179 == svrconn_footprint_kb(1, sharecnv=10, conversations=1)


@pytest.mark.oracle("mp16-ch2-3/46", kind="approx", lines="3327-3331")
def test_most_client_channels_in_1_6_gigabytes():
    """The last two are printed rounded down to tens."""
    assert 9_999 == channels_max(svrconn_footprint_kb(1, 0))
    assert 17_476 == int(EPVT_KB / svrconn_footprint_kb(1, 0))
    assert 1747 == int(storage_needed_kb([ChannelGroup(9_999, svrconn_footprint_kb(1, 1))]) / 1024)
    one_each, ten_each = channels_max(svrconn_footprint_kb(1, 1)), channels_max(svrconn_footprint_kb(1, 10, 10))
    assert (9_372, 6_932) == (one_each, ten_each)
    assert (9_370, 6_930) == (one_each // 10 * 10, ten_each // 10 * 10)
    assert 69_300 == 10 * (ten_each // 10 * 10)


@pytest.mark.oracle("mp16-ch2-3/47", kind="measured", lines="3339, 3978")
def test_tls_takes_30_kb_more():
    plain, tls = (storage_needed_kb([ChannelGroup(100, 90, tls)]) for tls in (False, True))
    assert 3000 == tls - plain
    assert channels_max(179, tls=True) == int(EPVT_KB / 209)


@pytest.mark.oracle("mp16-ch2-3/65", kind="measured", lines="3725-3726")
def test_earlier_releases_have_their_own_footprints():
    assert [140, 170] == [earlier_footprint_kb(6, kind) for kind in ("channel", "tls channel")]
    assert 51 == int(earlier_footprint_kb(7, "sharecnv 10") / 10)
    with pytest.raises(OutOfRangeError, match="version 6 channel, version 6 tls channel, version 7 sharecnv 10"):
        earlier_footprint_kb(8, "channel")


def test_tasks_take_their_share():
    tasks = task_storage_kb(adapters=30, dispatchers=20, ssl_tasks=21)
    assert tasks == pytest.approx(30 * 223 + 20 * 248 + 21 * 1.3 * 1024)
    assert free_storage_kb(tasks, cluster_cache_kb=CLUSTER_CACHE_KB) == pytest.approx(EPVT_KB - tasks - 2048)
    assert channels_max(179, free_kb=free_storage_kb(tasks)) < channels_max(179)
    assert 0 == free_storage_kb(10**9)
    assert EPVT_KB == free_storage_kb(0)


def test_storage_in_use():
    assert 75 == storage_percent(75, 100)


@pytest.mark.parametrize(
    ("v7", "threads", "busy", "sharecnv"),
    [(False, "one", False, 0), (True, "one", False, 1), (True, "many", False, 10), (True, "many", True, 1)],
)
def test_which_sharecnv(v7, threads, busy, sharecnv):
    assert sharecnv == recommended_sharecnv(v7, threads, busy)


@given(st.floats(1, 1023), st.floats(0, 1))
def test_footprints_grow_with_the_message(message_kb, more):
    assert 90 <= mca_footprint_kb(message_kb) <= mca_footprint_kb(message_kb + more) <= 1125


@given(message_kb=st.floats(1, 64), conversations=st.integers(1, 999))
def test_footprints_grow_with_conversations(message_kb, conversations):
    fewer, more = (svrconn_footprint_kb(message_kb, 1000, count) for count in (conversations, conversations + 1))
    assert svrconn_footprint_kb(message_kb, 0) < svrconn_footprint_kb(message_kb, 1) <= fewer <= more


@given(footprint=st.floats(1, 2000), tls=st.booleans(), free_kb=st.floats(0, EPVT_KB))
def test_the_most_channels_fit_and_one_more_does_not(footprint, tls, free_kb):
    most = channels_max(footprint, tls, free_kb)
    assert storage_needed_kb([ChannelGroup(most, footprint, tls)]) <= free_kb * (1 + 1e-9)
    assert most == 9_999 or storage_needed_kb([ChannelGroup(most + 1, footprint, tls)]) > free_kb * (1 - 1e-9)


def test_impossible_values_are_refused():
    with pytest.raises(OutOfRangeError, match="message_kb 2000 is outside 1 to 1024"):
        mca_footprint_kb(2000)
    with pytest.raises(OutOfRangeError, match="sharecnv 5 has no figures; valid are 0, 1, and 10 and above"):
        svrconn_footprint_kb(1, 5)
    with pytest.raises(OutOfRangeError, match="conversations 11 is not valid: 1 to 10"):
        svrconn_footprint_kb(1, 10, 11)
    with pytest.raises(OutOfRangeError, match="footprint_kb 0 is not valid: more than 0"):
        channels_max(0)
    with pytest.raises(OutOfRangeError, match="is not valid: one, many"):
        recommended_sharecnv(True, "few")
