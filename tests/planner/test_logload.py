"""LOGLOAD and the longest restart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.logload import (
    LOGLOAD_MAX,
    LOGLOAD_MIN,
    RESTART_BY_OBJECTS,
    RESTART_BY_TRANSACTIONS,
    Shape,
    check_logload,
    logload_for_restart,
    recommended_logload,
    recovery_s,
    recovery_s_by_objects,
    restart_s_max,
    transactions_between_checkpoints,
)
from quaestor.planner.source import OutOfRangeError


@pytest.mark.oracle("mp16-ch1/52", kind="exact", lines="1617")
def test_logload_450_000():
    transactions = transactions_between_checkpoints(450_000, 31_000 / 1000)
    assert transactions == 14_516
    assert round(recovery_s(transactions)) == 85
    assert round(restart_s_max(450_000, 31)) == 92


def test_the_two_measured_restarts():
    for transactions, startup, recovery, finish in RESTART_BY_TRANSACTIONS.rows:
        assert recovery == pytest.approx(recovery_s(int(transactions)))
        assert (startup, finish) == (7, 0.2)


@pytest.mark.oracle("mp16-ch1/53", kind="bench", lines="1625-1630")
def test_restart_by_objects():
    assert [1, 3.6, 7.6] == [recovery_s_by_objects(int(n)) for n in RESTART_BY_OBJECTS.column("objects")]
    assert 3.6 < recovery_s_by_objects(10_000) < 7.6
    with pytest.raises(OutOfRangeError, match="140 to 14484"):
        recovery_s_by_objects(20_000)


@given(st.integers(LOGLOAD_MIN, LOGLOAD_MAX - 1), st.floats(1, 1000))
def test_a_higher_logload_never_shortens_the_longest_restart(logload, writes):
    assert restart_s_max(logload, writes) <= restart_s_max(logload + 1, writes)


@given(st.floats(10, 100_000), st.floats(1, 200))
def test_the_logload_for_a_limit_keeps_it(limit_s, writes):
    logload = logload_for_restart(limit_s, writes)
    assert LOGLOAD_MIN <= logload <= LOGLOAD_MAX
    assert restart_s_max(logload, writes) <= limit_s + 1e-6


def test_the_logload_for_the_papers_restart():
    assert logload_for_restart(7 + 85.2 + 0.2, 31) == pytest.approx(450_000, rel=0.001)


def test_a_thousand_transactions_above_the_fixed_part():
    assert logload_for_restart(7 + 1 + 0.2 + 5.8 + 1e-9, 31) == 31_000


def test_a_limit_below_startup_is_refused():
    with pytest.raises(OutOfRangeError, match=r"restart_limit_s 8 is not valid: 8\.\d+ or more"):
        logload_for_restart(8, 31)


@pytest.mark.parametrize("logload", [199, 16_000_001])
def test_logload_range(logload):
    with pytest.raises(OutOfRangeError, match="is not valid: 200 to 16000000"):
        check_logload(logload)


@pytest.mark.parametrize(
    ("shape", "message_bytes", "low", "high"),
    [
        (Shape.LOW_DEPTH, 1024, 200, 16_000_000),
        (Shape.LOW_DEPTH, 100 * 1024, 200, 16_000_000),
        (Shape.LOW_DEPTH, 100 * 1024 + 1, 1_000_000, 16_000_000),
        (Shape.HIGH_DEPTH, 1024, 4_000_000, 16_000_000),
        (Shape.HIGH_VARIANCE, 1024, 4_000_000, 16_000_000),
    ],
)
def test_recommended_by_shape(shape, message_bytes, low, high):
    advice = recommended_logload(shape, message_bytes)
    assert (low, high) == (advice.low, advice.high)
    check_logload(advice.low)
    check_logload(advice.high)


def test_ordered_replication_wants_100_000():
    for shape in Shape:
        assert recommended_logload(shape, 0, ordered_replication=True).low == 100_000


@pytest.mark.parametrize(
    "impossible",
    [
        lambda: transactions_between_checkpoints(450_000, 0),
        lambda: recovery_s(-1),
        lambda: logload_for_restart(100, 0),
        lambda: recommended_logload(Shape.LOW_DEPTH, -1),
        lambda: restart_s_max(450_000, 31, startup_s=-1),
    ],
)
def test_impossible_values_name_what_is_valid(impossible):
    with pytest.raises(OutOfRangeError, match=r"is not valid: (more than 0|0 or more)"):
        impossible()
