"""Buffer pools: the badly tuned production pool, thresholds, life of a page."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner import buffer_flow as pool
from quaestor.planner.buffer_flow import NEXT_STATE, Life, PageState, PoolInterval, Request
from quaestor.planner.source import OutOfRangeError

BEFORE = PoolInterval(
    seconds=1_800,
    buffers=1_050,
    stealable_low=300,
    stealable_now=308,
    get_pages=1_800_000,
    get_new_pages=16_000,
    read_ios=0,
    set_writes=508_000,
    pages_written=940,
    write_ios=59,
    synchronous_writes=29,
    deferred_write_starts=0,
    synchronous_thresholds=0,
    steals=84,
    steal_contentions=0,
    short_on_storage=0,
)
PROBLEM = PoolInterval(
    seconds=1_800,
    buffers=1_050,
    stealable_low=154,
    stealable_now=225,
    get_pages=23_000_000,
    get_new_pages=13_000,
    read_ios=310_000,
    set_writes=432_000,
    pages_written=1_938,
    write_ios=107,
    synchronous_writes=47,
    deferred_write_starts=11,
    synchronous_thresholds=0,
    steals=732_000,
    steal_contentions=421_000,
    short_on_storage=0,
)
QUIET = replace(BEFORE, pages_written=0, write_ios=0, synchronous_writes=0, steals=0)


def rules(interval, life=Life.SHORT, **options):
    return [finding.rule for finding in pool.findings(interval, life, **options)]


@pytest.mark.oracle("mp16-ch4-11/17", kind="exact", lines="4609-4658")
def test_the_badly_tuned_pool():
    assert "57.5" == f"{PROBLEM.steal_contention_percent:.1f}"
    assert (172, "172.3") == (int(PROBLEM.reads_per_sec), f"{PROBLEM.ios_per_sec:.1f}")
    assert 146 == int(10 * PROBLEM.stealable_low_percent)  # printed 14.6, cut and not rounded
    assert 160 == round(PROBLEM.reads_per_page_written)
    assert ["BP-1", "BP-2", "BP-4", "BP-9", "BP-5"] == rules(PROBLEM)
    first = pool.findings(PROBLEM, Life.SHORT)[0]
    assert "STLA 421000 (57.5 % of steals)" == first.because  # neither SOS nor DMC
    assert not any("index" in finding.because for finding in pool.findings(PROBLEM, Life.SHORT))


@pytest.mark.oracle("mp16-ch4-11/17", kind="exact", lines="4609-4658")
def test_the_interval_before_it_raises_no_alarm():
    assert ["BP-3", "BP-5"] == rules(BEFORE)
    assert not any(finding.alarm for finding in pool.findings(BEFORE, Life.SHORT))
    assert "28.6" == f"{BEFORE.stealable_low_percent:.1f}"


@pytest.mark.oracle("mp16-ch4-11/17", kind="exact", lines="4640-4643")
def test_operators_browsed_more_and_changed_less():
    shift = pool.access_shift(BEFORE, PROBLEM)
    assert "12.8" == f"{shift.get_pages_ratio:.1f}"
    assert (112, 1_769) == tuple(int(ratio) for ratio in shift.gets_per_new_page)
    assert ("0.28", "0.019") == tuple(f"{share:.2g}" for share in shift.set_writes_per_get)
    assert shift.more_browsing
    assert not pool.access_shift(PROBLEM, BEFORE).more_browsing


def test_relations_between_the_counters_of_both_intervals():
    assert ("15.9", "18.1") == tuple(f"{i.pages_per_write_io:.1f}" for i in (BEFORE, PROBLEM))
    assert (84, 1_000) == (BEFORE.new_page_steals, PROBLEM.new_page_steals)


@pytest.mark.oracle("mp16-ch4-11/18", kind="exact", lines="4571-4573")
def test_thresholds_of_1050_buffers():
    at = pool.pool_thresholds(1_050)
    assert (157, 263) == (at.deferred_write_starts_at_stealable, at.deferred_write_stops_at_stealable)
    assert (52, 998) == (at.synchronous_at_stealable, at.synchronous_at_changed)
    assert 893 == at.deferred_write_starts_at_changed
    assert PROBLEM.stealable_low <= at.deferred_write_starts_at_stealable
    assert at.deferred_write_starts_at_stealable < PROBLEM.stealable_now < at.deferred_write_stops_at_stealable


@pytest.mark.oracle("mp16-ch4-11/15", kind="scenario", lines="4502-4504")
def test_a_pool_sized_for_its_peak_shows_checkpoint_writes_only():
    """Deferred write does not start at the peak, and such counters raise no alarm."""
    buffers = pool.buffers_that_keep_messages(8_500)
    assert 10_000 == buffers
    assert buffers - 8_500 > pool.pool_thresholds(buffers).deferred_write_starts_at_stealable
    kept = replace(QUIET, buffers=buffers, stealable_low=1_501, stealable_now=2_000, pages_written=120, write_ios=8)
    assert ["BP-3"] == rules(kept)
    assert ["BP-3"] == rules(replace(kept, read_ios=50), restarted=True)
    assert "BP-4" in rules(replace(kept, read_ios=50))


@pytest.mark.oracle("mp16-ch4-11/16", kind="scenario", lines="4506")
def test_long_lived_messages_are_written_twice():
    assert 2_000 == pool.page_writes(1_000, checkpoints_before_get=3, checkpoints_after_get=2)
    assert 1_000 == pool.page_writes(1_000, checkpoints_before_get=3, checkpoints_after_get=2, reused=True)
    assert 1_000 == pool.page_writes(1_000, checkpoints_before_get=3, checkpoints_after_get=1)
    assert 0 == pool.page_writes(1_000, checkpoints_before_get=0, checkpoints_after_get=1)
    assert 1_000 == pool.page_writes(1_000, checkpoints_before_get=1, checkpoints_after_get=1)


def test_one_read_for_each_page_written_is_healthy():
    """Long-lived messages that do not fit: about as many pages read as written (BP-8), so only the I/O rate shows."""
    steady = replace(QUIET, read_ios=5_000, pages_written=5_000, write_ios=320)
    assert ["BP-7"] == rules(steady, Life.LONG)
    again = replace(steady, read_ios=10_001)
    assert ["BP-9", "BP-7"] == rules(again, Life.LONG)
    assert ["BP-7"] == rules(replace(steady, read_ios=10_000), Life.LONG)
    assert ["BP-7"] == rules(again, Life.LONG, reads_per_write_high=3)
    assert [] == rules(QUIET, Life.LONG)


def test_reads_without_any_write_are_repeated_reads():
    assert "BP-9" in rules(replace(QUIET, read_ios=1), Life.LONG)


@given(st.integers(1, 2_000_000))
def test_thresholds_lie_on_the_right_side_of_their_share(buffers):
    at = pool.pool_thresholds(buffers)
    assert 100 * at.deferred_write_starts_at_stealable < 15 * buffers
    assert 100 * (at.deferred_write_starts_at_stealable + 1) >= 15 * buffers
    assert 100 * at.deferred_write_starts_at_changed > 85 * buffers >= 100 * (at.deferred_write_starts_at_changed - 1)
    assert 100 * at.deferred_write_stops_at_stealable >= 25 * buffers
    assert 100 * at.synchronous_at_stealable < 5 * buffers <= 100 * (at.synchronous_at_stealable + 1)
    assert 100 * at.synchronous_at_changed > 95 * buffers >= 100 * (at.synchronous_at_changed - 1)


@given(st.integers(1, 10**7))
def test_a_sized_pool_never_starts_deferred_write(peak_pages):
    buffers = pool.buffers_that_keep_messages(peak_pages)
    at = pool.pool_thresholds(buffers)
    assert buffers - peak_pages > at.deferred_write_starts_at_stealable
    assert peak_pages < at.deferred_write_starts_at_changed
    smaller = pool.pool_thresholds(buffers - 1) if buffers > 1 else None
    assert smaller is None or buffers - 1 - peak_pages <= smaller.deferred_write_starts_at_stealable


@given(st.lists(st.sampled_from(list(Request)), max_size=40))
def test_a_page_in_use_is_never_written_or_stolen(requests):
    """Walk the table at random; what it refuses is skipped."""
    state = PageState.UNUSED
    for request in requests:
        if (state, request) not in NEXT_STATE:
            with pytest.raises(OutOfRangeError, match=f"takes no {request.value}; it takes"):
                pool.next_state(state, request)
            continue
        if request is Request.WRITTEN:
            assert state.writable
        if request is Request.STEAL:
            assert state.stealable
        state = pool.next_state(state, request)


def test_every_state_can_be_reached_and_left():
    reached = {PageState.UNUSED} | set(NEXT_STATE.values())
    assert set(PageState) == reached == {state for state, _ in NEXT_STATE}


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: pool.pool_thresholds(0), "buffers 0 is not valid: 1 or more"),
        (lambda: replace(PROBLEM, stealable_now=1_051), "stealable_now 1051 is not valid: 0 to 1050"),
        (lambda: replace(PROBLEM, stealable_low=-1), "stealable_low -1 is not valid: 0 to 1050"),
        (lambda: replace(PROBLEM, seconds=0), "seconds 0 is not valid: more than 0"),
        (lambda: pool.buffers_that_keep_messages(-1), "peak_pages -1 is not valid: 0 or more"),
        (lambda: pool.access_shift(replace(BEFORE, get_pages=0), PROBLEM), "get_pages 0 is not valid: more than 0"),
        (
            lambda: pool.page_writes(-1, checkpoints_before_get=0, checkpoints_after_get=0),
            "pages -1 is not valid: 0 or more",
        ),
    ],
)
def test_impossible_values_name_the_range(call, says):
    with pytest.raises(OutOfRangeError, match=says):
        call()


# --- the counters of one interval, one rule at a time -----------------------------------------------------------------

QUIET = PoolInterval(3600.0, 1000, 500, 500, *[0] * 12)


def said(life=Life.SHORT, **counts):
    return [(each.rule, each.alarm, each.because) for each in pool.findings(replace(QUIET, **counts), life)]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, []),
        ({"short_on_storage": 1}, [("BP-1", True, "SOS 1")]),
        ({"synchronous_thresholds": 3}, [("BP-1", True, "DMC 3")]),
        ({"stealable_low": 150}, [("BP-2", True, "DWT 0, lowest stealable 150 of 1000")]),  # 15 % or less
        ({"stealable_low": 151}, []),
        ({"deferred_write_starts": 2}, [("BP-2", True, "DWT 2, lowest stealable 500 of 1000")]),
        ({"pages_written": 7}, [("BP-3", False, "TPW 7 with DWT 0: written by checkpoints")]),
        ({"pages_written": 7, "deferred_write_starts": 1}, [("BP-2", True, "DWT 1, lowest stealable 500 of 1000")]),
        ({"steals": 4}, [("BP-5", False, "STL 4: buffers not used before are being taken")]),
        (
            {"steals": 4, "steal_contentions": 1},
            [
                ("BP-1", True, "STLA 1 (25.0 % of steals)"),
                ("BP-5", False, "STL 4: buffers not used before are being taken"),
            ],
        ),
    ],
    ids=str,
)
def test_one_count_of_a_short_lived_pool(counts, expected):
    assert expected == said(**counts)


def test_reads_are_repeated_above_the_cut_off_only():
    """BP-9: two reads to a page written are still usual."""
    thrashing = ("BP-9", True, "RIO 201 over TPW 100: 2 times")
    assert [thrashing[0]] == [rule for rule, *_ in said(read_ios=201, pages_written=100) if rule == "BP-9"]
    assert thrashing in said(read_ios=201, pages_written=100)
    assert "BP-9" not in [rule for rule, *_ in said(read_ios=200, pages_written=100)]
    assert ("BP-9", True, "RIO 1 over TPW 0: with no page written") in said(read_ios=1)


def test_a_long_lived_pool_may_read_and_write():
    assert [] == said(Life.LONG)
    assert [("BP-7", False, "0.5 page set I/Os a second")] == said(
        Life.LONG, read_ios=900, write_ios=900, pages_written=900
    )
    assert ["BP-4"] == [rule for rule, alarm, _ in said(read_ios=900, pages_written=900) if alarm]


@pytest.mark.parametrize(
    ("counts", "name", "value"),
    [
        ({}, "reads_per_page_written", 0.0),
        ({"read_ios": 3}, "reads_per_page_written", float("inf")),
        ({"read_ios": 3, "pages_written": 2}, "reads_per_page_written", 1.5),
        ({}, "pages_per_write_io", 0.0),
        ({"pages_written": 8, "write_ios": 2}, "pages_per_write_io", 4.0),
        ({"steals": 9, "read_ios": 4, "steal_contentions": 2}, "new_page_steals", 3),
        ({"steals": 1, "read_ios": 4}, "new_page_steals", 0),
        ({"read_ios": 7200}, "reads_per_sec", 2.0),
        ({"read_ios": 3600, "write_ios": 7200}, "ios_per_sec", 3.0),
    ],
    ids=str,
)
def test_a_figure_of_an_interval(counts, name, value):
    assert value == getattr(replace(QUIET, **counts), name)


@pytest.mark.parametrize(
    ("before", "after", "browsing"),
    [
        ((100, 50), (200, 60), True),
        ((100, 50), (200, 100), False),  # as large a share is changed
        ((100, 50), (100, 10), False),  # no more pages are looked at
        ((100, 50), (50, 10), False),
    ],
)
def test_more_looking_and_less_changing_is_browsing(before, after, browsing):
    intervals = [
        replace(QUIET, get_pages=got, set_writes=changed, get_new_pages=10) for got, changed in (before, after)
    ]
    shift = pool.access_shift(*intervals)
    assert browsing is shift.more_browsing
    assert after[0] / before[0] == shift.get_pages_ratio
    assert (before[0] / 10, after[0] / 10) == shift.gets_per_new_page
