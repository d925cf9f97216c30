"""How fast a workload fills the log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.log_rate import (
    PUT_AND_GET,
    LoggedCall,
    Model,
    Path,
    batch_log_bytes,
    channel_log_bytes_per_message,
    estimate_put_and_get,
    get_log_bytes,
    log_bytes_per_transaction,
    log_rate_bytes_per_s,
    measured_log_bytes_per_message,
    mixed_log_rate_bytes_per_s,
    put_and_get_log_bytes,
    put_log_bytes,
)
from quaestor.planner.log_space import Action, Scope
from quaestor.planner.quantity import MIB
from quaestor.planner.source import OutOfRangeError

OUT, EACH = Scope.OUT_OF_SYNCPOINT, Scope.COMMIT_EACH
CHANNEL_ENDS = st.sampled_from([Path.SENDER, Path.RECEIVER])


@pytest.mark.oracle("mp16-ch1/6", kind="exact-if", lines="668-679")
def test_request_and_reply_at_1000_a_second():
    """With the overheads the paper gives for 5 KB, which its charts do not hold."""
    calls = [
        LoggedCall(Action.PUT, 1024, OUT),
        LoggedCall(Action.GET, 1024, EACH),
        LoggedCall(Action.PUT, 5120, EACH, log_bytes=5120 + 1300),
        LoggedCall(Action.GET, 5120, OUT, log_bytes=550),
    ]
    assert [2088, 492, 6420, 550] == [call.logged_bytes() for call in calls]
    assert log_bytes_per_transaction(calls) == 9550
    rate = log_rate_bytes_per_s(1000, calls)
    assert rate == 9_550_000
    assert round(rate / MIB, 2) == 9.11


@pytest.mark.oracle("mp16-ch1/6", kind="exact-if", lines="668-679")
def test_request_and_reply_by_the_charts_alone():
    """Extrapolated to 5 KB the charts stay within 0.3% of the paper."""
    calls = [
        LoggedCall(Action.PUT, 1024, OUT),
        LoggedCall(Action.GET, 1024, EACH),
        LoggedCall(Action.PUT, 5120, EACH),
        LoggedCall(Action.GET, 5120, OUT),
    ]
    assert round(log_bytes_per_transaction(calls)) == 9531
    assert log_rate_bytes_per_s(1000, calls) / MIB == pytest.approx(9.11, rel=0.003)


@pytest.mark.oracle("mp16-ch1/9", kind="exact", lines="719")
def test_a_message_of_1000_bytes():
    assert put_and_get_log_bytes(1000) == 2300


@pytest.mark.oracle("mp16-ch1/11", kind="exact", lines="725-727")
def test_a_message_of_10_000_bytes_takes_three_pages():
    assert put_and_get_log_bytes(10_000) == 11_750
    assert put_and_get_log_bytes(10_000) - (10_000 + 300 + 1000) == 3 * 150


@pytest.mark.oracle("mp16-ch1/12", kind="approx", lines="704-711")
def test_the_formula_meets_the_measured_table():
    sizes, measured = PUT_AND_GET.column("message_bytes"), PUT_AND_GET.column("local")
    by_formula = [put_and_get_log_bytes(int(size)) for size in sizes]
    assert [1_800, 2_300, 6_600, 11_750, 32_500, 105_050] == by_formula
    assert measured == pytest.approx(by_formula, rel=0.06)


def test_batches_of_the_sender_and_the_receiver():
    assert batch_log_bytes(Path.SENDER, 1) == 2.5 * 1024
    assert batch_log_bytes(Path.SENDER, 50) == 3.7 * 1024
    assert batch_log_bytes(Path.RECEIVER, 1) == batch_log_bytes(Path.RECEIVER, 50) == 1.3 * 1024
    assert batch_log_bytes(Path.SENDER, 7, all_fast_non_persistent=True) == 0


@given(CHANNEL_ENDS, st.integers(1, 49), st.integers(0, 100_000))
def test_a_larger_batch_logs_less_for_each_message(path, batch, size):
    smaller = channel_log_bytes_per_message(size, path, batch)
    larger = channel_log_bytes_per_message(size, path, batch + 1)
    assert put_and_get_log_bytes(size) < larger < smaller


def test_the_sender_formula_meets_the_measured_table():
    for size in PUT_AND_GET.column("message_bytes"):
        measured = measured_log_bytes_per_message(size, Path.SENDER)
        assert channel_log_bytes_per_message(int(size), Path.SENDER, 1) == pytest.approx(measured, rel=0.03)


def test_a_local_message_has_no_batch():
    assert channel_log_bytes_per_message(1000, Path.LOCAL, 1) == 2300
    with pytest.raises(OutOfRangeError, match="valid: sender, receiver"):
        batch_log_bytes(Path.LOCAL, 1)


@pytest.mark.parametrize("batch", [0, 0.5, 51])
def test_batches_that_were_not_measured(batch):
    with pytest.raises(OutOfRangeError, match="1 to 50"):
        batch_log_bytes(Path.SENDER, batch)


def test_the_measured_table_for_channels():
    assert measured_log_bytes_per_message(1000, Path.LOCAL) == 2300
    assert measured_log_bytes_per_message(1000, Path.SENDER, 1) == 4850
    assert measured_log_bytes_per_message(30_000, Path.RECEIVER, 50) == 32_550
    with pytest.raises(OutOfRangeError, match="achieved_batch 7 was not measured; valid: 1, 50"):
        measured_log_bytes_per_message(1000, Path.SENDER, 7)
    with pytest.raises(OutOfRangeError, match="500 to 100000"):
        measured_log_bytes_per_message(499, Path.LOCAL)


def test_batching_saves_the_sender_over_2000_bytes_a_message():
    for size, local, one, fifty, *_ in PUT_AND_GET.rows:
        assert 2_550 <= one - local <= 2_600, size
        assert 150 <= fifty - local <= 250, size


def test_the_get_share_rises_from_500_to_1300():
    assert [500, 500, 900, 1300] == [get_log_bytes(n) for n in (0, 10_000, 55_000, 100_000)]
    with pytest.raises(OutOfRangeError, match="0 to 100000"):
        get_log_bytes(100_001)
    assert get_log_bytes(190_000, hold_slope=True) == pytest.approx(2100)


@given(st.integers(0, 100_000))
def test_put_and_get_shares_are_the_whole(size):
    assert put_log_bytes(size) + get_log_bytes(size) == pytest.approx(put_and_get_log_bytes(size))
    assert put_log_bytes(size) > size


@given(st.integers(0, 100_000), st.integers(0, 300))
def test_more_user_data_or_headers_log_more(size, header):
    assert put_and_get_log_bytes(size + 1, header) > put_and_get_log_bytes(size, header)
    assert put_and_get_log_bytes(size, header + 1) > put_and_get_log_bytes(size, header)


def test_puts_by_day_and_gets_by_night():
    day = mixed_log_rate_bytes_per_s(1000, puts_per_s=100, gets_per_s=0)
    night = mixed_log_rate_bytes_per_s(1000, puts_per_s=0, gets_per_s=100)
    assert (180_000, 50_000) == (day, night)
    assert mixed_log_rate_bytes_per_s(1000, 100, 100) == day + night == 100 * put_and_get_log_bytes(1000)
    assert mixed_log_rate_bytes_per_s(200_000, 1, 0, hold_slope=True) > 200_000


def test_two_models_and_which_was_used():
    charts, by_formula = estimate_put_and_get(1024), estimate_put_and_get(1024, Model.FORMULA)
    assert (2580, Model.CHARTS) == (charts.log_bytes, charts.model)
    assert (2324, Model.FORMULA) == (by_formula.log_bytes, by_formula.model)
    assert charts.log_bytes / by_formula.log_bytes == pytest.approx(1.11, abs=0.001)


@pytest.mark.parametrize(
    "impossible",
    [
        lambda: put_and_get_log_bytes(-1),
        lambda: put_and_get_log_bytes(1, -300),
        lambda: log_rate_bytes_per_s(-1, []),
        lambda: mixed_log_rate_bytes_per_s(1000, -1, 0),
        lambda: log_rate_bytes_per_s(float("nan"), []),
    ],
)
def test_impossible_values_are_refused(impossible):
    with pytest.raises(OutOfRangeError, match="is not valid: 0 or more"):
        impossible()
