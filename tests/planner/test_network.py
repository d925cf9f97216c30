"""Bisecting a slow path, and what a link suits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.network import Run, Traffic, next_change, suspects, traffic_that_suits
from quaestor.planner.source import OutOfRangeError


def run(name, parts, *, healthy):
    return Run(name, frozenset(parts.split()), healthy)


# A and B share an adapter, C has its own; the switch stands between. Part names carry the direction of the data.
TO_C = "software-C adapter-AB-out switch-out sfp-out cable-out adapter-C-in"
FROM_C = "software-C adapter-C-out cable-in sfp-in switch-in adapter-AB-in"
A_TO_C = run("A to C", "software-A " + TO_C, healthy=False)
B_TO_C = run("B to C", "software-B " + TO_C, healthy=False)
A_TO_B = run("A to B", "software-A software-B adapter-AB-out adapter-AB-in", healthy=True)
C_TO_A = run("C to A", "software-A " + FROM_C, healthy=True)
NO_SWITCH = run("no switch", "software-A software-C adapter-AB-out adapter-C-in direct-cable", healthy=True)
NEW_CABLE = run("other cable", "software-A " + TO_C.replace("cable-out", "other-cable-out"), healthy=True)


@pytest.mark.oracle("mp16-ch4-11/7", kind="scenario", lines="4277-4285")
def test_it_was_the_cable():
    seen = [A_TO_C, B_TO_C, A_TO_B, C_TO_A]
    assert {"switch-out", "sfp-out", "cable-out", "adapter-C-in"} == suspects(seen)
    assert {"switch-out", "sfp-out", "cable-out"} == suspects([*seen, NO_SWITCH])
    assert "cable-out" == next_change([*seen, NO_SWITCH])
    assert {"cable-out"} == suspects([*seen, NO_SWITCH, NEW_CABLE])
    assert next_change([*seen, NO_SWITCH, NEW_CABLE]) is None


def test_two_faults_leave_no_single_suspect():
    assert frozenset() == suspects([run("one", "a b", healthy=False), run("two", "c d", healthy=False)])


def test_without_a_slow_run_there_is_nothing_to_suspect():
    with pytest.raises(OutOfRangeError, match="at least 1 slow run"):
        suspects([A_TO_B])


PARTS = st.frozensets(st.sampled_from("abcdefgh"), min_size=1)


@given(st.lists(PARTS, min_size=1, max_size=12), st.sampled_from("abcdefgh"))
def test_the_one_bad_part_is_never_cleared(paths, bad):
    """Whatever is measured, a single bad part stays among the suspects."""
    runs = [Run(str(n), parts, healthy=bad not in parts) for n, parts in enumerate(paths)]
    if any(not one.healthy for one in runs):
        assert bad in suspects(runs)


@pytest.mark.parametrize(
    ("bandwidth", "latency", "suits"),
    [
        (1_000, 0.2, Traffic.REQUEST_REPLY),
        (1_000, 80, Traffic.LARGE_BATCHES),
        (100, 10, Traffic.LARGE_BATCHES),
        (1, 80, Traffic.COMPRESSED),
        (1, 0.2, Traffic.SMALL_VOLUME),
    ],
)
def test_what_a_link_suits(bandwidth, latency, suits):
    assert suits is traffic_that_suits(
        bandwidth_mb_per_sec=bandwidth, latency_ms=latency, high_bandwidth_mb_per_sec=100, high_latency_ms=10
    )


def test_a_link_without_bandwidth_is_refused():
    with pytest.raises(OutOfRangeError, match="bandwidth_mb_per_sec 0 is not valid: more than 0"):
        traffic_that_suits(bandwidth_mb_per_sec=0, latency_ms=1, high_bandwidth_mb_per_sec=1, high_latency_ms=1)
