"""Coupling facility, SCM and shared queues at the edges of their tables."""

import pytest

from quaestor.planner.page_set_usage import PageSetUsage
from quaestor.planner.quantity import QuantityError, count, rate_per_s, show_seconds
from quaestor.planner.queues import SingleGetter, single_getter_is_the_limit
from quaestor.planner.restart import forward_page_reads_s, page_read_rate_bytes_per_s
from quaestor.planner.shared_access import StructureUse
from quaestor.planner.source import OutOfRangeError
from quaestor.planner.storage_class_memory import (
    ScmSummary,
    messages_in_scm,
    offloaded_messages_in_scm,
    over_committed_mb,
    scm_exhausted_first,
)
from quaestor.planner.structure_backup import longest_log_share
from quaestor.planner.structure_choice import Outcome, admin_failure
from quaestor.planner.structures import elements_per_message, pool_exhausted_first
from quaestor.planner.utilities import staged_load

# --- storage class memory ---------------------------------------------------------------------------------------------


def summary(**more):
    about = {"entries_max": 1e6, "elements_max": 6e6, "entries_now": 1e5, "elements_now": 6e5}
    return ScmSummary(**{**dict.fromkeys(ScmSummary.__slots__, 0), **about, **more})


@pytest.mark.parametrize(
    ("entries", "elements", "first"),
    [(100_000, 600_000, "both"), (100_000, 600_006, "elements"), (100_001, 600_000, "entries"), (0, 0, "both")],
)
def test_what_of_scm_runs_out_first(entries, elements, first):
    """CF-R47 [3113]: a million entries and six million elements, so six elements to an entry use both up at once."""
    assert first == scm_exhausted_first(summary(entries_now=entries, elements_now=elements))


@pytest.mark.parametrize(("faults", "predictable"), [(0, True), (100, True), (100.1, False)])
def test_a_fault_for_each_request_is_the_most_that_pre_fetching_expects(faults, predictable):
    assert predictable == summary(faults_percent=faults).pattern_is_predictable


def test_bytes_of_one_operation():
    assert 4096 == summary(operations=1, bytes_moved=4096).bytes_per_operation
    with pytest.raises(OutOfRangeError, match="operations 0 is not valid"):
        _ = summary(operations=0).bytes_per_operation


@pytest.mark.parametrize(
    ("wanted", "over"), [([600, 400], 0), ([600, 401], 1), ([], 0), ([0.5, 0.25], 0), ([1_000, 0.5], 0.5)]
)
def test_structures_together_may_want_what_the_facility_has(wanted, over):
    """CF-R45 [3055]: 1,000 MB are assigned."""
    assert over == over_committed_mb(wanted, 1_000)


def test_messages_in_scm_are_whole():
    """V5, V6: one byte less than the last message needs, and it is not there."""
    offloaded = next(size for size in range(1, 10_000) if offloaded_messages_in_scm(size))
    assert [1, 1, 2] == [offloaded_messages_in_scm(size) for size in (offloaded, 2 * offloaded - 1, 2 * offloaded)]
    whole = next(size for size in range(1, 10_000) if messages_in_scm(size, 0))
    assert [0, 1, 7] == [messages_in_scm(size, 0) for size in (whole - 1, 2 * whole - 1, 7 * whole)]


# --- structures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ratio", "first"), [(5.9, "elements"), (6, "both"), (6.1, "entries")])
def test_which_pool_runs_out_of_messages_of_six_elements(ratio, first):
    """[2503-2505]."""
    six = next(size for size in range(10_000) if elements_per_message(size) == 6)
    assert first == pool_exhausted_first(six, ratio)


@pytest.mark.parametrize(
    ("version", "all_up", "outcome"),
    [
        ((5, 0, 0), True, Outcome.GROUP_FAILS),
        ((5, 3, 1), True, Outcome.GROUP_FAILS),
        ((6, 0, 0), True, Outcome.ADMIN_REBUILT),
        ((6, 0, 0), False, Outcome.ADMIN_REBUILT_BY_ALL),
        ((7, 0, 0), False, Outcome.ADMIN_REBUILT_BY_ALL),
        ((7, 0, 1), False, Outcome.ADMIN_REBUILT),
    ],
)
def test_the_loss_of_the_administration_structure_by_release(version, all_up, outcome):
    """CF-M18 [2598-2600, 2605]: from V6 it is rebuilt, from V7.0.1 by the others too."""
    assert outcome is admin_failure(duplexed=False, version=version, all_members_up=all_up)
    assert Outcome.DUPLEX_CONTINUES is admin_failure(duplexed=True, version=version, all_members_up=all_up)


def test_releases_without_shared_queues_are_refused():
    with pytest.raises(OutOfRangeError, match="earlier ones have no shared queues"):
        admin_failure(duplexed=True, version=(4, 9, 9))


@pytest.mark.parametrize(
    ("rates", "share"), [([1, 1, 1], 1), ([3, 0, 0], 3), ([0.5, 0.25, 0.25], 1.5), ([10, 5], 4 / 3), ([0.1], 1)]
)
def test_the_busiest_log_against_an_even_spread(rates, share):
    """CF-R26 [2566-2568]."""
    assert share == pytest.approx(longest_log_share(rates))


@pytest.mark.parametrize("wrong", [[1, -1, 5], [0, 0], []])
def test_logs_that_write_nothing_have_no_spread(wrong):
    with pytest.raises(OutOfRangeError, match="log_mb_per_s"):
        longest_log_share(wrong)


def test_structure_times_are_clock_units():
    """4,096 units to the microsecond: 4,096,000,000 are a second."""
    use = StructureUse(1_000, 4_096_000_000, 10, 8_192_000_000, 0)
    assert (1.0, 2.0) == (use.single_elapsed_sec, use.multiple_elapsed_sec)


# --- utilities, queues, restart ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("records", "loads", "copies"),
    [(0, 0, 0), (1, 1, 1), (50, 1, 1), (51, 1, 2), (1_001, 2, 21), (100_000, 100, 2_000)],
)
def test_commits_of_a_load_by_a_temporary_queue(records, loads, copies):
    """F-47 [1778-1782]: MAXUMSGS 1,000 for the load, 50 gets and 50 puts to a commit for the copy; whole commits."""
    found = staged_load(records, 1_000)
    assert (loads, copies) == tuple(getattr(found, name) for name in found.__slots__)
    assert all(isinstance(getattr(found, name), int) for name in found.__slots__)


def test_page_set_use_in_percent():
    """ORACLE 17 [870-878]: of 268,542 pages 102,704 are unused."""
    usage = PageSetUsage(1, 1, 268_542, 102_704, 29, 165_809)
    assert 61.7549 == pytest.approx(usage.used_percent, abs=1e-4)


@pytest.mark.parametrize(
    ("per_s", "commit_us", "limit"), [(950, 500, True), (949, 500, False), (950, 499, False), (1_000, 900, True)]
)
def test_one_getter_that_is_used_up_and_waits_for_the_log(per_s, commit_us, limit):
    """ORACLE 43 [5255-5267]: of 1,000 us a transaction, 95 % used and half in commit are enough."""
    getter = SingleGetter(get_us=1_000 - commit_us, put_us=0, commit_us=commit_us)
    assert 1_000 == getter.transactions_per_sec_max
    assert limit == single_getter_is_the_limit(getter, per_s)


def test_a_million_pages_of_a_microsecond_are_a_second():
    """F-37 [1295-1303]."""
    assert 1 == forward_page_reads_s(1_000_000, page_read_us=1)
    assert 4_096_000_000 == page_read_rate_bytes_per_s(1)


# --- quantities -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(1, "1 s"), (0.9994, "999 ms"), (0.001, "1 ms"), (0.000_999_4, "999 us"), (0.1, "100 ms"), (0.1006, "101 ms")],
)
def test_a_duration_at_the_edge_of_its_unit(seconds, shown):
    assert shown == show_seconds(seconds)


@pytest.mark.parametrize("text", ["5 km", "5 mk", "5 kM", "5 gt"])
def test_two_letters_of_a_count_are_no_unit(text):
    """U3: k, M, G and T stand alone."""
    with pytest.raises(QuantityError, match="is no unit of a count"):
        count(text)
    with pytest.raises(QuantityError, match="is no unit of a count"):
        rate_per_s(f"{text}/s")
