"""Bytes a persistent message leaves on the log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.log_space import (
    EIGHT_BYTE_RBA_GROWTH,
    MP16_CHARTS,
    STRUCTURE_BACKUP,
    Action,
    QueueKind,
    Scope,
    bytes_per_transaction,
    log_bytes_per_message,
    log_bytes_per_unit_of_work,
    log_bytes_with_8_byte_rba,
    rba_range_bytes,
    structure_backup_bytes,
    time_to_rba_reset_s,
)
from quaestor.planner.quantity import DAY_S, MIB
from quaestor.planner.source import OutOfRangeError, Source, Table

KINDS = st.sampled_from(QueueKind)
ACTIONS = st.sampled_from(Action)


@pytest.mark.oracle("mp16-ch1/5", kind="exact", lines="631")
def test_ten_puts_of_one_byte_in_a_unit_of_work():
    assert log_bytes_per_message(1, Action.PUT, scope=Scope.COMMIT_TEN) == 751
    assert log_bytes_per_unit_of_work(1, Action.PUT, messages=10) == 7510


@pytest.mark.parametrize(("queue", "action"), MP16_CHARTS)
def test_every_printed_cell_is_what_comes_out(queue, action):
    for size, *cells in MP16_CHARTS[queue, action].rows:
        for scope, printed in zip(Scope, cells, strict=True):
            assert printed == log_bytes_per_message(size, action, queue, scope)


def test_local_calls_out_of_syncpoint_are_units_of_their_own():
    for action in Action:
        chart = MP16_CHARTS[QueueKind.LOCAL, action]
        assert chart.column("out_of_syncpoint") == chart.column("commit_each")


def test_shared_calls_out_of_syncpoint_save_over_500_bytes():
    for action, least, most in ((Action.PUT, 547, 589), (Action.GET, 554, 600)):
        chart = MP16_CHARTS[QueueKind.SHARED, action]
        pairs = zip(chart.column("commit_each"), chart.column("out_of_syncpoint"), strict=True)
        saved = [each - out for each, out in pairs]
        assert (least, most) == (min(saved), max(saved))


@given(ACTIONS, KINDS, st.integers(0, 4096))
def test_a_unit_of_one_and_of_ten_are_the_charts(action, queue, size):
    one = log_bytes_per_message(size, action, queue, Scope.COMMIT_EACH)
    ten = log_bytes_per_message(size, action, queue, Scope.COMMIT_TEN)
    assert log_bytes_per_unit_of_work(size, action, queue, 1) == one
    assert log_bytes_per_unit_of_work(size, action, queue, 10) == pytest.approx(10 * ten, rel=1e-12)


@given(ACTIONS, KINDS, st.integers(0, 4096), st.integers(1, 1000))
def test_more_messages_to_a_commit_cost_more_in_all_and_less_each(action, queue, size, messages):
    fewer = log_bytes_per_unit_of_work(size, action, queue, messages)
    more = log_bytes_per_unit_of_work(size, action, queue, messages + 1)
    assert fewer < more
    assert more / (messages + 1) < fewer / messages


@given(KINDS, st.sampled_from(Scope), st.integers(0, 200_000), st.integers(0, 200_000))
def test_a_longer_put_never_logs_less(queue, scope, one, other):
    short, long = sorted((one, other))
    logged = [log_bytes_per_message(n, Action.PUT, queue, scope, extrapolate=True) for n in (short, long)]
    assert logged[0] <= logged[1]
    assert logged[1] > long


@given(KINDS, st.sampled_from(Scope), st.integers(4097, 10**8))
def test_beyond_the_chart_nothing_falls_below_its_last_row(queue, scope, size):
    last = log_bytes_per_message(4096, Action.GET, queue, scope)
    assert log_bytes_per_message(size, Action.GET, queue, scope, extrapolate=True) >= last


def test_beyond_the_chart_is_refused_unless_asked_for():
    with pytest.raises(OutOfRangeError, match="5120 is beyond the chart's 4096"):
        log_bytes_per_message(5120, Action.PUT)
    assert round(log_bytes_per_message(5120, Action.PUT, extrapolate=True)) == 6412  # 5120 + 1292
    assert round(log_bytes_per_message(5120, Action.GET, extrapolate=True)) == 539


@pytest.mark.parametrize(("size", "messages"), [(-1, 1), (0, 0)])
def test_impossible_units_of_work(size, messages):
    with pytest.raises(OutOfRangeError, match="is not valid"):
        log_bytes_per_unit_of_work(size, Action.PUT, messages=messages)


def test_a_queue_manager_brings_its_own_charts():
    own = Table(
        "own", Source("own", "-", "-"), ("message_bytes", *(s.value for s in Scope)), ((0, 5, 5, 3), (9, 9, 9, 7))
    )
    charts = {**MP16_CHARTS, (QueueKind.LOCAL, Action.PUT): own}
    assert log_bytes_per_message(9, Action.PUT, charts=charts) == 9


def test_measuring_by_display_log():
    assert bytes_per_transaction(0x1000, 0x1000 + 10_000 * 2088, 10_000) == 2088
    with pytest.raises(OutOfRangeError, match="rba_after"):
        bytes_per_transaction(10, 9, 1)
    with pytest.raises(OutOfRangeError, match="transactions 0 is not valid: 1 or more"):
        bytes_per_transaction(0, 9, 0)


@pytest.mark.oracle("mp16-ch1/7", kind="approx", lines="692-696")
def test_structure_backup_by_message_size():
    for size, depth, reported_mib, backup_bytes, _ in STRUCTURE_BACKUP.rows:
        log_bytes = structure_backup_bytes(int(depth), int(size))
        assert backup_bytes == log_bytes / depth
        assert log_bytes / MIB == pytest.approx(reported_mib, abs=3 if size == 4096 else 0.5)


@pytest.mark.oracle("mp16-ch1/8", kind="source-error", lines="698")
def test_structure_backup_of_200_000_messages():
    """Printed 855 MB; what follows from the inputs is 885.4."""
    log_bytes = structure_backup_bytes(200_000, 4096)
    assert log_bytes == 928_400_000
    assert round(log_bytes / MIB, 1) == 885.4


@given(st.integers(0, 10**6), st.integers(0, 4096))
def test_structure_backup_grows_with_depth_and_holds_every_message(depth, size):
    assert structure_backup_bytes(depth + 1, size) > structure_backup_bytes(depth, size) >= depth * size


def test_structure_backup_beyond_the_table_is_refused():
    with pytest.raises(OutOfRangeError, match="0 to 4096"):
        structure_backup_bytes(1, 4097)


@pytest.mark.oracle("mp16-ch1/4", kind="bench", lines="606")
def test_the_8_byte_rba_costs_7_percent_or_2():
    assert log_bytes_with_8_byte_rba(1000, 4096) == pytest.approx(1070)
    assert log_bytes_with_8_byte_rba(1000, 65536) == pytest.approx(1020)


@given(st.integers(0, 10**8))
def test_the_8_byte_rba_never_costs_more_or_less_than_measured(reply_bytes):
    low, high = min(EIGHT_BYTE_RBA_GROWTH.column("growth_percent")), max(EIGHT_BYTE_RBA_GROWTH.column("growth_percent"))
    grown = log_bytes_with_8_byte_rba(100.0, reply_bytes)
    assert 100 + low <= grown + 1e-9
    assert grown <= 100 + high + 1e-9


def test_an_8_byte_rba_lasts_over_64_000_times_as_long():
    assert rba_range_bytes(8) // rba_range_bytes(6) == 65_536
    assert time_to_rba_reset_s(100 * MIB, 6) / DAY_S == pytest.approx(31.07, abs=0.01)
    assert time_to_rba_reset_s(100 * MIB, 6, current_rba=2**48) == 0
    with pytest.raises(OutOfRangeError, match="rba_bytes 7 is not valid: 6 or 8"):
        rba_range_bytes(7)
    with pytest.raises(OutOfRangeError, match=r"current_rba .* is not valid: 0 to "):
        time_to_rba_reset_s(1, 6, current_rba=2**48 + 1)
