"""What applications cost by the way they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner import applications as app
from quaestor.planner.applications import Conversion, LibraryLookaside
from quaestor.planner.source import OutOfRangeError

COST = st.floats(0, 1e5)


@pytest.mark.oracle("mp16-ch4-11/28", kind="measured", lines="4863-4867")
def test_library_lookaside():
    assert [17, 65, 300] == [setting.value for setting in LibraryLookaside]
    gain = app.lookaside_speed_up(LibraryLookaside.NONE, LibraryLookaside.LIBRARIES_AND_FREEZE)
    assert "17.6" == f"{gain:.1f}"


@pytest.mark.oracle("mp16-ch4-11/29", kind="measured", lines="4881")
def test_ims_connect_check_in_lookaside():
    assert 10 == app.IMS_CONNECT_CHECK_GAIN_PERCENT_MAX


@pytest.mark.oracle("mp16-ch4-11/30", kind="exact", lines="4906")
def test_a_get_against_100000_uncommitted_messages():
    assert 100 == app.failed_get_ms(100_000)


@pytest.mark.oracle("mp16-ch4-11/31", kind="exact", lines="4912")
def test_a_thousand_messages_in_one_unit_or_in_a_thousand():
    small, large = (app.commits_cost(1_000, each) for each in app.COMMIT_COSTS)
    assert (2_000, 7_000) == (small.cpu_us, small.elapsed_us)
    assert (4, 51) == (large.cpu_us, large.elapsed_us)


@pytest.mark.oracle("mp16-ch4-11/39", kind="measured", lines="5111")
def test_asynchronous_put():
    assert {100_000: 18, 1_000: 55} == app.ASYNC_PUT_SAVES_PERCENT
    assert (82, 45) == tuple(pytest.approx(app.async_put_us(100, p)) for p in app.ASYNC_PUT_SAVES_PERCENT.values())


@pytest.mark.oracle("mp16-ch4-11/40", kind="measured", lines="5115")
def test_read_ahead():
    assert 4 == app.READ_AHEAD_GET_RATE_FACTOR
    assert (12, 55) == app.READ_AHEAD_SAVES_PERCENT


@pytest.mark.oracle("mp16-ch4-11/50", kind="exact", lines="5418")
def test_five_waiters():
    assert 25 == app.get_with_waiters_us(20, 5)


def test_conversion_is_counted_in_gets():
    assert [20, 40, 100] == [app.get_with_conversion_us(20, c) for c in Conversion]


def test_events_and_triggers():
    costs = {"small_persistent_put_us": 30, "small_nonpersistent_put_us": 10}
    assert 20 == app.put_with_side_messages_us(20, **costs)
    assert 50 == app.put_with_side_messages_us(20, **costs, events_per_message=1)
    every = {"triggers_per_message": 1, "process_start_us": 500}
    assert 530 == app.put_with_side_messages_us(20, **costs, **every)
    assert 550 == app.put_with_side_messages_us(20, **costs, **every, queue_managers=3)


def test_units_of_work_above_200_messages_are_large():
    assert [False, False, True] == [app.unit_of_work_is_large(n) for n in (1, 200, 201)]


@given(st.integers(0, 10**6), COST, COST)
def test_waiters_add_up(waiters, get_us, more):
    assert app.get_with_waiters_us(get_us, waiters) == pytest.approx(get_us + waiters)
    assert app.get_with_waiters_us(get_us + more, waiters) >= app.get_with_waiters_us(get_us, waiters)


@given(st.integers(0, 10**7))
def test_larger_units_never_cost_more_commits(messages):
    small, large = (app.commits_cost(messages, each) for each in app.COMMIT_COSTS)
    assert messages == 0 or small.messages == large.messages == messages
    assert messages < 8 or large.elapsed_us <= small.elapsed_us


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: app.failed_get_ms(-1), "uncommitted_messages -1 is not valid: 0 or more"),
        (lambda: app.unit_of_work_is_large(10_001), "messages 10001 is not valid: 0 to 10000"),
        (lambda: app.async_put_us(1, 60), "saves_percent 60 is not valid: 18 to 55"),
        (lambda: app.get_with_waiters_us(1, -1), "waiters -1 is not valid: 0 or more"),
        (lambda: app.commits_cost(-1, app.COMMIT_COSTS[0]), "messages -1 is not valid: 0 or more"),
    ],
)
def test_impossible_values_name_the_range(call, says):
    with pytest.raises(OutOfRangeError, match=says):
        call()
