"""Page set backup: how long, how often; and the CSQUTIL functions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.backup import (
    CopyMethod,
    active_log_hours,
    backup_in_hours,
    backup_interval,
    backup_interval_h,
    copy_time_s,
    log_bytes_per_h_local,
    log_bytes_per_h_request_reply,
    measured_log_bytes_per_h,
    recovery_log_bytes,
    recovery_time_s,
    restart_time_allowed_s,
    whole_days_between_backups,
)
from quaestor.planner.geometry import CYLINDER_BYTES
from quaestor.planner.quantity import GIB, KIB, MIB, duration_s
from quaestor.planner.source import OutOfRangeError
from quaestor.planner.utilities import (
    Utility,
    is_small_unit_of_work,
    maxumsgs_for_one_unit_of_work,
    resetpage_cpu_percent_of_force,
    staged_load,
    utility_cost,
)

POSITIVE = st.floats(1e-3, 1e9)


@pytest.mark.oracle("mp16-ch1/24", kind="approx", lines="1066-1073")
def test_an_hour_of_100_local_messages_a_second():
    log_bytes = log_bytes_per_h_local(100, 1 * KIB)
    assert log_bytes / KIB == pytest.approx(828_000, rel=1e-12)
    assert log_bytes / MIB == pytest.approx(800, rel=0.011)


@pytest.mark.oracle("mp16-ch1/25", kind="exact", lines="1075-1079")
def test_75_minutes_to_recover_at_36_mb_a_second():
    allowed_s = restart_time_allowed_s(75 * 60, reaction_s=10 * 60, restore_s=5 * 60)
    assert allowed_s == 3600
    interval_h = backup_interval_h(allowed_s, 36 * MIB, 800 * MIB)
    assert interval_h == 162
    assert int(interval_h * 800 * MIB / GIB) == 126


@pytest.mark.oracle("mp16-ch1/26", kind="exact", lines="1081-1083")
def test_ten_active_logs_of_2_gb_hold_25_6_hours():
    assert active_log_hours(10 * 2 * GIB, 800 * MIB) == 25.6
    both = backup_interval(3600, 36 * MIB, 800 * MIB, 20 * GIB)
    assert (162, 25.6) == (both.by_recovery_target_h, both.by_active_logs_h)
    assert both.interval_h == 25.6


@pytest.mark.oracle("mp16-ch1/27", kind="exact", lines="1085-1087")
def test_a_slow_log_reader():
    assert backup_interval_h(3600, 0.5 * MIB, 800 * MIB) == 2.25


@pytest.mark.oracle("mp16-ch1/28", kind="rule", lines="1089")
def test_backups_by_the_application_day():
    interval_h = active_log_hours(20 * GIB, 800 * MIB)
    assert whole_days_between_backups(interval_h, application_hours_per_day=12) == 2
    assert whole_days_between_backups(interval_h, application_hours_per_day=24) == 1
    assert whole_days_between_backups(2.25, application_hours_per_day=12) == 0


@pytest.mark.oracle("mp16-ch1/29", kind="approx", lines="1091-1102")
def test_an_hour_of_50_request_replies_a_second():
    log_bytes = log_bytes_per_h_request_reply(50, 1 * KIB, achieved_batch=1)
    assert log_bytes / KIB == pytest.approx(1_530_000, rel=1e-12)
    assert log_bytes / MIB == pytest.approx(1500, rel=0.005)


@pytest.mark.oracle("mp16-ch1/30", kind="exact", lines="1104-1106")
def test_30_minutes_to_recover_at_2_7_mb_a_second():
    assert backup_interval_h(1800, 2.7 * MIB, 1500 * MIB) == pytest.approx(3.24, abs=1e-12)


@pytest.mark.oracle("mp16-ch1/16", kind="bench", lines="831, 1323")
def test_a_copy_of_1600_cylinders():
    assert copy_time_s(1600 * CYLINDER_BYTES, CopyMethod.DFDSS) == pytest.approx(15, rel=0.04)
    assert copy_time_s(1600 * CYLINDER_BYTES, CopyMethod.REPRO) == pytest.approx(26, rel=0.04)
    assert CopyMethod.REPRO.value / MIB == pytest.approx(43.4, abs=0.05)
    assert CopyMethod.DFDSS.value / MIB == pytest.approx(72.7, abs=0.05)


def test_repro_short_of_cpu_takes_five_times_as_long():
    slow, normal = (copy_time_s(GIB, each) for each in (CopyMethod.REPRO_SHORT_OF_CPU, CopyMethod.REPRO))
    assert slow / normal == pytest.approx(43 / 8.5, rel=0.02)


def test_page_set_zero_and_persistent_messages_ask_for_hours():
    assert backup_in_hours(0, holds_persistent_messages=False)
    assert backup_in_hours(3, holds_persistent_messages=True)
    assert not backup_in_hours(3, holds_persistent_messages=False)


def test_recovery_is_reaction_restore_and_restart():
    assert recovery_time_s(600, 300, 3600) == 75 * 60
    with pytest.raises(OutOfRangeError, match="target_s 900 is not valid: more than 900"):
        restart_time_allowed_s(900, 600, 300)


def test_nothing_takes_no_time():
    assert recovery_time_s(0, 0, 0) == 0
    assert staged_load(0, 1).copy_commits == 0


def test_a_fuzzy_backup_may_need_three_checkpoints_more():
    assert recovery_log_bytes(1000, 100) == 1300
    assert recovery_log_bytes(1000, 100, fuzzy=False) == 1000


@given(POSITIVE, POSITIVE, POSITIVE)
def test_what_formula_a_allows_is_read_back_in_time(allowed_s, read_rate, write_rate):
    hours = backup_interval_h(allowed_s, read_rate, write_rate)
    assert hours * write_rate / read_rate == pytest.approx(allowed_s)


@given(POSITIVE, st.integers(0, 10**6), st.integers(1, 50))
def test_batching_lowers_and_channels_raise_the_hourly_log(pairs, size, batch):
    over_channels = log_bytes_per_h_request_reply(pairs, size, batch)
    assert log_bytes_per_h_local(2 * pairs, size) < over_channels
    assert over_channels <= log_bytes_per_h_request_reply(pairs, size)


def test_the_measured_rate_corrects_the_plan():
    assert measured_log_bytes_per_h(2 * GIB, fill_time_h=2.56) == pytest.approx(800 * MIB)


@pytest.mark.parametrize(
    "impossible",
    [
        lambda: backup_interval_h(3600, 1, 0),
        lambda: backup_interval_h(-1, 1, 1),
        lambda: active_log_hours(1, 0),
        lambda: log_bytes_per_h_request_reply(1, 1, 0),
        lambda: measured_log_bytes_per_h(1, 0),
        lambda: copy_time_s(-1),
        lambda: whole_days_between_backups(1, 0),
        lambda: recovery_log_bytes(-1),
        lambda: backup_in_hours(-1, holds_persistent_messages=True),
        lambda: utility_cost(Utility.FORMAT, -1),
        lambda: is_small_unit_of_work(0),
        lambda: staged_load(1, 1, 0),
    ],
)
def test_impossible_values_name_what_is_valid(impossible):
    with pytest.raises(OutOfRangeError, match=r"is not valid: (more than 0|[01] or more)"):
        impossible()


@pytest.mark.oracle("mp16-ch1/55", kind="exact", lines="1801")
def test_format_of_4_gb():
    cost = utility_cost(Utility.FORMAT, 4 * GIB)
    assert (2.9, duration_s("3 min")) == (cost.cpu_s, cost.elapsed_s)


@pytest.mark.oracle("mp16-ch1/56", kind="exact", lines="1814")
def test_copypage_of_4_gb():
    cost = utility_cost(Utility.COPYPAGE, 4 * GIB)
    assert (10.12, duration_s("2 min")) == (cost.cpu_s, cost.elapsed_s)


@pytest.mark.oracle("mp16-ch1/57", kind="exact", lines="1832")
def test_resetpage_of_4_gb():
    cost = utility_cost(Utility.RESETPAGE, 4 * GIB)
    assert (8.5, duration_s("2 min 20 s")) == (round(cost.cpu_s, 1), cost.elapsed_s)


@pytest.mark.oracle("mp16-ch1/58", kind="approx", lines="1845")
def test_resetpage_force_of_4_gb():
    cost = utility_cost(Utility.RESETPAGE_FORCE, 4 * GIB)
    assert round(cost.cpu_s, 1) == 17.2
    assert cost.elapsed_s == pytest.approx(duration_s("8 min 15 s"), rel=0.01)


@given(st.sampled_from(Utility), st.integers(0, 64 * GIB))
def test_cost_follows_the_size(utility, size):
    one, two = utility_cost(utility, size), utility_cost(utility, 2 * size)
    assert (two.cpu_s, two.elapsed_s) == pytest.approx((2 * one.cpu_s, 2 * one.elapsed_s))


def test_resetpage_takes_half_the_cpu_of_force():
    assert round(resetpage_cpu_percent_of_force(), 1) == 49.4


def test_a_load_of_100_000_records():
    stages = staged_load(100_000, maxumsgs=1000)
    assert (100, 2000) == (stages.load_commits, stages.copy_commits)
    with pytest.raises(OutOfRangeError, match="maxumsgs 0 is not valid: 1 to"):
        staged_load(1, 0)


def test_units_of_work_small_and_whole():
    assert [True, False] == [is_small_unit_of_work(n) for n in (100, 101)]
    assert maxumsgs_for_one_unit_of_work([5, 70_000, 12]) == 70_001
    assert maxumsgs_for_one_unit_of_work([]) == 1
    with pytest.raises(OutOfRangeError, match="MAXUMSGS is 999999999 at most"):
        maxumsgs_for_one_unit_of_work([999_999_999])
