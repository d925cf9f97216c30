"""Links, service time, engines, and the size of the group (MP16 chapter 2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.coupling_facility import (
    IDLE_MEMBERS,
    LINK_KINDS,
    LINKS,
    SERVICE_TIME,
    busy_limit_percent,
    crossing_structures,
    engines_needed,
    fastest_link,
    group_log_mb_per_s,
    mean_call_us,
    mean_service_us,
    queue_managers_needed,
)
from quaestor.planner.measured import MeasuredChange, Range, percent_change
from quaestor.planner.source import OutOfRangeError, Source


@pytest.mark.oracle("mp16-ch2-3/1", kind="measured", lines="2332")
@pytest.mark.parametrize(("persistent", "cpu", "throughput"), [(False, 6, -5), (True, 12, -2)])
def test_a_unit_of_recovery_over_two_structures(persistent, cpu, throughput):
    change = crossing_structures(persistent)
    assert change.cpu_after(100).high == pytest.approx(100 + cpu)
    assert change.throughput_after(100).low == pytest.approx(100 + throughput)
    assert Range(100, 100) == crossing_structures(persistent, in_syncpoint=False).cpu_after(100)


@pytest.mark.oracle("mp16-ch2-3/22", kind="measured", lines="2709-2710")
def test_service_time_of_a_busier_facility():
    assert [4.4, 9.9] == [mean_service_us(busy) for busy in (20, 70)]
    assert 600 == mean_service_us(70, asynchronous_share=1)
    assert mean_service_us(70, asynchronous_share=0.1) > 6 * mean_service_us(70)


@pytest.mark.oracle("mp16-ch2-3/42", kind="measured", lines="3216")
def test_idle_queue_managers_cost_less_than_one_percent():
    two, twelve = (IDLE_MEMBERS.exactly(members, "transactions_per_s") for members in (2, 12))
    assert (1536, 1526) == (two, twelve)
    assert -0.65 == round(percent_change(two, twelve), 2)


def test_the_fastest_link_that_reaches():
    every = LINK_KINDS
    assert [("ICP", 8500), ("CS5", 6000), ("CS5", 6000), ("PSIFB 12x IFB3", 5000), ("CFP", 200)] == [
        (link.kind, link.mb_per_s) for link in (fastest_link(every, metres) for metres in (0, 1, 70, 71, 100_000))
    ]
    assert 3700 == fastest_link(["CS5", "CFP"], 150).mb_per_s


@pytest.mark.parametrize(
    ("kind", "from_m", "to_m", "mb_per_s"),
    [
        ("CFP", 0, 100_000, 200),
        ("CBP", 0, 7, 1500),
        ("PSIFB 12x IFB3", 0, 150, 5000),
        ("PSIFB 12x IFB", 0, 150, 1000),
        ("CS5", 0, 70, 6000),
        ("CS5", 70, 150, 3700),
        ("ICP", 0, 0, 8500),
    ],
)
def test_the_links(kind, from_m, to_m, mb_per_s):
    assert (kind, from_m, to_m, mb_per_s) in {(link.kind, link.from_m, link.to_m, link.mb_per_s) for link in LINKS}
    assert 7 == len(LINKS)


def test_the_order_of_three_links():
    rates = [fastest_link([kind], 0).mb_per_s for kind in ("ICP", "CBP", "CFP")]
    assert sorted(rates, reverse=True) == rates


@given(kinds=st.sets(st.sampled_from(LINK_KINDS)), distance_m=st.floats(0, 100_000))
def test_another_link_never_makes_it_slower(kinds, distance_m):
    slow = fastest_link({"CFP"}, distance_m).mb_per_s
    assert fastest_link(kinds | {"CFP"}, distance_m).mb_per_s >= slow


@pytest.mark.parametrize(
    ("engines", "busy", "needed"), [(1, 30, 1), (1, 31, 2), (2, 60, 2), (2, 61, 3), (4, 10, 2), (4, 7, 1), (3, 60, 3)]
)
def test_engines_needed(engines, busy, needed):
    assert needed == engines_needed(engines, busy)


@given(engines=st.integers(1, 16), busy=st.floats(0, 100))
def test_enough_engines_are_within_the_limit_and_one_fewer_is_not(engines, busy):
    needed = engines_needed(engines, busy)
    load = engines * busy
    assert load / needed <= busy_limit_percent(needed) * (1 + 1e-9)
    if needed > 1:
        assert load / (needed - 1) > busy_limit_percent(needed - 1)


@given(busy=st.floats(20, 70), share=st.floats(0, 1))
def test_service_time_grows_with_load_and_with_asynchronous_requests(busy, share):
    assert mean_service_us(20) <= mean_service_us(busy) <= mean_service_us(busy, share) + 1e-9


def test_queue_managers_for_log_and_channels():
    assert 1 == queue_managers_needed(0, 30)
    assert 4 == queue_managers_needed(100, 30)
    assert 5 == queue_managers_needed(100, 30, channels=40_000)
    assert 10 == queue_managers_needed(100, 30, channels=40_000, channels_each=4_000)
    assert 66 == group_log_mb_per_s([33, 33])


def test_mean_time_of_a_call():
    assert 4.4 == mean_call_us(440, calls=100)
    assert 0 == mean_call_us(0, calls=0)
    with pytest.raises(OutOfRangeError, match="elapsed_us -1 is not valid: 0 or more"):
        mean_call_us(-1, calls=1)


def test_what_was_not_measured_is_refused():
    change = MeasuredChange("a change", Source("x", "y", "1"), throughput_percent=Range(-10, 0))
    with pytest.raises(OutOfRangeError, match=r"a change: CPU cost was not measured \(x y \[1\]\)"):
        change.cpu_after(100)
    assert Range(90, 100) == change.throughput_after(100)


def test_impossible_values_are_refused():
    with pytest.raises(OutOfRangeError, match="outside the reach of every link: ICP 0 to 0"):
        fastest_link(["ICP"], 10)
    with pytest.raises(OutOfRangeError, match="no link is present"):
        fastest_link([], 10)
    with pytest.raises(OutOfRangeError, match="link_kind XYZ is not valid: ICP, CS5"):
        fastest_link(["XYZ"], 10)
    with pytest.raises(OutOfRangeError, match=f"{SERVICE_TIME.name}: busy_percent 80 is outside 20 to 70"):
        mean_service_us(80)
    with pytest.raises(OutOfRangeError, match="engines 0 is not valid: 1 or more"):
        engines_needed(0, 10)
    with pytest.raises(OutOfRangeError, match="before 0 is not valid: more than 0"):
        percent_change(0, 1)
