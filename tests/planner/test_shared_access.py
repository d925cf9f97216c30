"""Shared queues: a common key on a deep queue, undefined queues, first opens."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner import shared_access as shared
from quaestor.planner.shared_access import StructureUse, VerbTime
from quaestor.planner.source import OutOfRangeError

# The first elapsed time is printed with 15 digits; the digits themselves make the average of a single call plausible.
COMMON_CORRELID = StructureUse(
    single_calls=150_000,
    single_elapsed_stck=0x0000000B53077E2,
    multiple_calls=384_235,
    multiple_elapsed_stck=0x00000035C37D8F66,
    multiple_retries=284_235,
)


@pytest.mark.oracle("mp16-ch4-11/32", kind="exact", lines="4963-4972")
def test_fifty_thousand_messages_with_one_correlid():
    assert 284_235 == shared.redrives_to_drain(50_000)
    assert "5.685" == f"{shared.retries_per_message(COMMON_CORRELID, 50_000):.3f}"
    assert 3 * 50_000 == COMMON_CORRELID.single_calls
    assert 2 * 50_000 == COMMON_CORRELID.first_multiple_calls
    assert ("56.38", "146.7") == (
        f"{COMMON_CORRELID.multiple_elapsed_sec:.2f}",
        f"{COMMON_CORRELID.multiple_us_avg:.1f}",
    )


@pytest.mark.oracle("mp16-ch4-11/32", kind="source-error", lines="4966")
def test_the_elapsed_time_that_lost_a_digit():
    """Eight significant digits read as they stand give 0.742 s and 4.95 us for a call."""
    assert ("0.742", "4.95") == (
        f"{COMMON_CORRELID.single_elapsed_sec:.3f}",
        f"{COMMON_CORRELID.single_us_avg:.2f}",
    )


def test_where_the_steps_are():
    starts = [n for n in range(1, 6_000) if shared.redrives_of_one_get(n) > shared.redrives_of_one_get(n - 1)]
    assert [51, 1_082, 2_113, 3_144, 4_175, 5_206] == starts
    assert 6 == shared.redrives_of_one_get(5_206) == shared.redrives_of_one_get(10**6)
    assert (1, None, None, 15) == tuple(shared.common_key_cost_factor(n) for n in (49, 50, 6_000, 6_001))


@given(st.integers(0, 20_000), st.integers(1, 3_000))
def test_draining_is_the_sum_of_its_gets(messages, step):
    each = sum(shared.redrives_of_one_get(n, step=step) for n in range(1, messages + 1))
    assert each == shared.redrives_to_drain(messages, step=step)


@pytest.mark.oracle("mp16-ch4-11/33", kind="measured", lines="4980")
def test_opening_an_undefined_queue():
    assert "113.8" == f"{shared.undefined_open_us():g}"
    assert "113.8" == f"{shared.undefined_open_us(1_000_000) / 1e6:g}"
    assert (8, 10) == shared.UNDEFINED_OPEN_FACTOR


@pytest.mark.oracle("mp16-ch4-11/34", kind="exact", lines="4988-5004")
def test_totals_of_the_other_requests():
    other = VerbTime(count=2, elapsed_us_avg=201, cpu_us_avg=31)
    assert ("0.000402", "0.000062") == (f"{other.elapsed_sec:.6f}", f"{other.cpu_sec:.6f}")


@pytest.mark.oracle("mp16-ch4-11/34", kind="source-error", lines="4988-5004")
def test_the_maximum_of_one_request_is_its_average():
    """One Db2 request, average 321 us: its longest thread time cannot be the printed 344."""
    db2 = VerbTime(count=1, elapsed_us_avg=321, cpu_us_avg=0)
    assert "0.000321" == f"{db2.elapsed_sec:.6f}"
    assert 344 / 1e6 > db2.elapsed_sec


@pytest.mark.oracle("mp16-ch4-11/35", kind="measured", lines="5012")
def test_defining_a_shared_dynamic_queue():
    assert 8 == shared.SHAREDYN_DEFINE_MS


@pytest.mark.oracle("mp16-ch4-11/36", kind="exact", lines="5046-5059")
def test_first_open_with_more_queue_managers():
    cpu, wait = shared.FIRST_OPEN.column("cpu_us"), [shared.first_open_wait_us(n) for n in (1, 2, 3)]
    assert (24, 34, 51) == cpu
    assert [6, 104, 439] == wait
    assert ("41.7", "50.0") == tuple(f"{100 * (b / a - 1):.1f}" for a, b in pairwise(cpu))
    assert (98, 335) == (wait[1] - wait[0], wait[2] - wait[1])
    assert (9, 24) == shared.FIRST_OPEN_LATCH_US


@pytest.mark.oracle("mp16-ch4-11/37", kind="scenario", lines="5066-5074")
def test_every_open_is_a_first_open():
    assert 100 == shared.first_open_percent(73_490, 0)
    assert 0 == shared.first_open_percent(0, 73_490)
    assert 25 == shared.first_open_percent(1, 3)


def test_one_call_has_an_average():
    once = StructureUse(1, 4096, 1, 8192, 0)
    assert (1.0, 2.0) == (once.single_us_avg, once.multiple_us_avg)


@pytest.mark.oracle("mp16-ch4-11/38", kind="measured", lines="5082-5088")
def test_an_application_that_holds_the_queue_open():
    assert (108.9, 150.1, 290.6) == shared.HOLDER.column("baseline_cpu_sec")
    assert (17, 17, 17) == shared.HOLDER.column("held_open_cpu_sec")
    assert [84, 89, 94] == [round(shared.holder_saves_percent(n)) for n in (1, 2, 3)]
    assert 2 == shared.HELD_OPEN_US


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: shared.redrives_of_one_get(-1), "messages_with_key -1 is not valid: 0 or more"),
        (lambda: shared.redrives_to_drain(-1), "messages_with_key -1 is not valid: 0 or more"),
        (lambda: shared.first_open_wait_us(4), "no row queue_managers = 4; rows are 1, 2, 3"),
        (lambda: shared.first_open_percent(0, 0), "opens 0 is not valid: more than 0"),
        (lambda: StructureUse(0, 0, 5, 0, 6), "multiple_retries 6 is not valid: 0 to 5"),
        (lambda: StructureUse(0, 0, 0, 0, 0).multiple_us_avg, "multiple_calls 0 is not valid: more than 0"),
        (lambda: shared.retries_per_message(COMMON_CORRELID, 0), "messages 0 is not valid: 1 or more"),
    ],
)
def test_impossible_values_name_the_range(call, says):
    with pytest.raises(OutOfRangeError, match=says):
        call()
