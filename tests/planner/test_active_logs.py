"""Active logs and archives: how large, how many, where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.answer import HeadRoom
from quaestor.planner.archive import (
    STRIPED_ARCHIVES,
    ArchiveQuantities,
    cartridge_use,
    needs_large_format,
    striped_quantities,
)
from quaestor.planner.geometry import CYLINDER_BYTES, TRACK_BYTES
from quaestor.planner.logs import (
    LOG_BYTES_MAX,
    Medium,
    active_log_bytes_for_a_day,
    active_log_size,
    active_logs_needed,
    check_log_size,
    enough_active_logs,
    fill_time_s,
    highest_rate_for_30_minutes_bytes_per_s,
    largest_active_log_bytes,
    log_bytes_for_period,
    log_volumes,
    longest_unit_of_work_s,
    single_logging_rate_bytes_per_s,
    unformatted_log,
    volume_of_each_log,
)
from quaestor.planner.quantity import GIB, MIB
from quaestor.planner.release import Release
from quaestor.planner.source import OutOfRangeError

RATES = st.floats(1, 1e9)


@pytest.mark.oracle("mp16-ch1/1", kind="exact", lines="568")
def test_three_dual_logs_need_six_volumes():
    assert log_volumes(3, copies=2) == 6


@pytest.mark.oracle("mp16-ch1/2", kind="exact", lines="568")
def test_four_dual_logs_need_four_volumes():
    assert volume_of_each_log(4) == (1, 2, 1, 2)
    assert log_volumes(4, copies=2) == 4


@given(st.integers(3, 310))
def test_no_two_neighbours_of_the_ring_share_a_volume(active_logs):
    ring = volume_of_each_log(active_logs)
    assert active_logs == len(ring)
    assert all(ring[n] != ring[n - 1] for n in range(active_logs))
    assert len(set(ring)) == (3 if active_logs % 2 else 2)


def test_with_pav_a_copy_may_share_one_volume():
    assert log_volumes(5, copies=2, pav=True) == 2
    assert log_volumes(5, copies=1) == 3


@pytest.mark.parametrize(("active_logs", "copies"), [(2, 1), (4, 0), (4, 3)])
def test_rings_that_cannot_be(active_logs, copies):
    with pytest.raises(OutOfRangeError, match=r"is not valid: (3 or more|1 to 2)"):
        log_volumes(active_logs, copies)


@pytest.mark.oracle("mp16-ch1/3", kind="exact", lines="584-588")
def test_four_stripes_take_a_quarter_each():
    one, four = (ArchiveQuantities(int(first), int(next_)) for _, first, next_ in STRIPED_ARCHIVES.rows)
    assert striped_quantities(one, 1) == one == ArchiveQuantities(5600, 100)
    assert striped_quantities(one, 4) == four == ArchiveQuantities(1400, 25)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 59))
def test_stripes_together_hold_what_was_asked_for(primary, secondary, stripes):
    each = striped_quantities(ArchiveQuantities(primary, secondary), stripes)
    assert primary <= each.primary * stripes < primary + stripes
    assert secondary <= each.secondary * stripes < secondary + stripes


def test_cartridges_of_a_log():
    assert (1, 1.0) == (
        cartridge_use(3 * GIB, 300 * GIB).cartridges,
        cartridge_use(3 * GIB, 300 * GIB).last_fill_percent,
    )
    whole = cartridge_use(4 * GIB, 2 * GIB)
    assert (2, 100) == (whole.cartridges, whole.last_fill_percent)
    assert cartridge_use(4 * GIB + 1, 2 * GIB).cartridges == 3
    with pytest.raises(OutOfRangeError, match="cartridge_bytes 0 is not valid: 1 or more"):
        cartridge_use(1, 0)


def test_an_archive_beyond_65_535_tracks_needs_large_format():
    assert not needs_large_format(65_535 * TRACK_BYTES)
    assert needs_large_format(65_535 * TRACK_BYTES + 1)


def test_the_largest_log_by_release_and_medium():
    assert largest_active_log_bytes(Release.V7_1, Medium.DASD) == 3_221_176_320
    assert {LOG_BYTES_MAX} == {largest_active_log_bytes(release, Medium.TAPE) for release in Release} | {
        largest_active_log_bytes(Release.V8_0, Medium.DASD)
    }


def test_a_log_the_release_cannot_archive_is_refused():
    check_log_size(LOG_BYTES_MAX, Release.V8_0, Medium.DASD)
    check_log_size(65_535 * TRACK_BYTES, Release.V7_1, Medium.DASD)
    with pytest.raises(OutOfRangeError, match=r"V7_1 with archives on DASD: at most 3221176320 .65535 tracks"):
        check_log_size(65_535 * TRACK_BYTES + 1, Release.V7_1, Medium.DASD)
    with pytest.raises(OutOfRangeError, match="at most 4294967296"):
        check_log_size(LOG_BYTES_MAX + 1, Release.V9_0, Medium.TAPE)
    with pytest.raises(OutOfRangeError, match="log_bytes 0 is not valid: 1 or more"):
        check_log_size(0, Release.V9_0, Medium.TAPE)


def test_one_log_lasts_30_minutes_up_to_2_276_mib_a_second():
    limit = highest_rate_for_30_minutes_bytes_per_s()
    assert round(limit / MIB, 3) == 2.276
    assert active_log_size(limit * 0.999).lasts_30_minutes
    assert not active_log_size(limit * 1.001).lasts_30_minutes


def test_the_request_and_reply_of_the_paper_outgrows_one_log():
    size = active_log_size(9_550_000)
    assert not size.lasts_30_minutes
    assert size.log_bytes == LOG_BYTES_MAX
    assert round(size.wanted_bytes / GIB, 1) == 16.0
    assert size.fill_time_s == pytest.approx(449.7, abs=0.1)


@given(RATES, st.sampled_from(Release), st.sampled_from(Medium))
def test_a_proposed_log_is_always_legal(rate, release, archive):
    size = active_log_size(rate, release, archive)
    check_log_size(size.log_bytes, release, archive)
    assert size.lasts_30_minutes == (fill_time_s(size.log_bytes, rate) >= 1800 * (1 - 1e-12))


def test_a_day_of_log():
    assert active_log_bytes_for_a_day(MIB) == 86_400 * MIB
    assert log_bytes_for_period(MIB) == 1800 * MIB


def test_active_logs_by_each_of_three_reasons():
    fill_s = fill_time_s(GIB, MIB)
    assert fill_s == 1024
    assert active_logs_needed(GIB, MIB, archive_time_s=100) == 4  # the least
    assert active_logs_needed(GIB, MIB, 100, day_bytes=84.375 * GIB) == 85  # a day of data
    assert active_logs_needed(GIB, MIB, 5 * fill_s, archive_delay_s=fill_s) == 7  # slow archiving and mounts
    assert [False, True] == [enough_active_logs(n) for n in (3, 4)]


@given(RATES, st.floats(0, 1e5), st.floats(0, 1e5))
def test_offload_ends_before_its_log_is_needed_again(rate, archive_s, delay_s):
    logs = active_logs_needed(GIB, rate, archive_s, delay_s)
    assert (logs - 1) * fill_time_s(GIB, rate) >= (archive_s + delay_s) * (1 - 1e-9)
    assert active_logs_needed(GIB, rate * 2, archive_s, delay_s) >= logs


def test_a_unit_of_work_within_two_logs():
    assert longest_unit_of_work_s(GIB, MIB) == fill_time_s(GIB, MIB)


def test_single_logging_gains_6_to_10_percent():
    assert single_logging_rate_bytes_per_s(100) == pytest.approx((106, 110))


def test_first_use_of_an_unformatted_log():
    worse = unformatted_log(100 * MIB, 0.003, 300)
    assert (50 * MIB, 225) == (worse.data_rate_bytes_per_s, worse.throughput_per_s)
    assert worse.response_time_s == pytest.approx(0.004, rel=0.01)
    assert worse.response_time_s * worse.throughput_per_s == pytest.approx(0.003 * 300, rel=0.01)  # one at a time


def test_an_idle_system_loses_nothing():
    assert unformatted_log(0, 0, 0).throughput_per_s == 0


def test_a_small_log_is_ten_cylinders():
    assert 10 * CYLINDER_BYTES == 7_372_800


@pytest.mark.parametrize(
    "impossible",
    [
        lambda: fill_time_s(0, 1),
        lambda: fill_time_s(1, 0),
        lambda: active_log_size(0),
        lambda: active_log_size(float("inf")),
        lambda: active_logs_needed(GIB, MIB, -1),
        lambda: log_bytes_for_period(-1),
        lambda: single_logging_rate_bytes_per_s(-1),
        lambda: unformatted_log(-1, 0, 0),
        lambda: striped_quantities(ArchiveQuantities(1, 1), 0),
        lambda: enough_active_logs(0),
    ],
)
def test_impossible_values_name_what_is_valid(impossible):
    with pytest.raises(OutOfRangeError, match=r"is not valid: (more than 0|[01] or more)"):
        impossible()


@pytest.mark.parametrize(("primary", "secondary", "name"), [(-1, 0, "primary"), (0, -1, "secondary")])
def test_no_archive_has_a_negative_quantity(primary, secondary, name):
    assert ArchiveQuantities(0, 0) == striped_quantities(ArchiveQuantities(0, 0), 4)
    with pytest.raises(OutOfRangeError, match=f"{name} -1 is not valid: 0 or more"):
        striped_quantities(ArchiveQuantities(primary, secondary), 4)


@given(st.floats(1, 2_000_000))
def test_the_recommended_log_lasts_30_minutes_whatever_the_rate(rate):
    """F-5 and F-4: a log of 30 minutes is not passed by 30 minutes, and 48 of them hold a day."""
    log = active_log_size(rate)
    assert HeadRoom("30 minutes", 1800, log.fill_time_s).percent >= 0
    assert 48 == active_logs_needed(log.log_bytes, rate, 600, day_bytes=rate * 86_400)


@pytest.mark.parametrize(("day_logs", "needed"), [(47.999, 48), (48, 48), (48 + 1e-13, 48), (48.001, 49)])
def test_a_log_more_for_a_byte_more_but_not_for_a_rounding(day_logs, needed):
    assert needed == active_logs_needed(GIB, 1000, 0, day_bytes=day_logs * GIB)
