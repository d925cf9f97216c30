"""Counting log I/O: figures do not depend on when somebody reads them (LM3, LM4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.clock import FakeClock, tod_from_us
from quaestor.qmgr.log.meter import NOTES_MAX, LogMeter
from quaestor.smf.sections.log import LogStatistics
from quaestor.storage.log_files import CI

BUFFERS = 16
START = 3 * CI
LENGTHS = st.lists(st.integers(1, 9 * CI), max_size=30)


def a_meter(copies=1):
    stats = LogStatistics()
    meter = LogMeter(stats, copies, 4, BUFFERS, FakeClock())
    meter.begin(START)
    return meter, stats


def forces(meter, lengths, *, read=lambda: None):
    """Forces one after the other, each a microsecond longer than the one before; how often the BSDS was due."""
    at, now_ns, due = START, FakeClock().monotonic_ns(), 0
    for number, length in enumerate(lengths, 1):
        due += meter.wrote(at, at + length, now_ns, now_ns + 1000 * number)
        meter.suspended(now_ns)
        at += length
        read()
    return due


@given(LENGTHS, st.sampled_from([1, 2]))
def test_figures_are_the_same_however_often_they_are_read(lengths, copies):
    once, stats = a_meter(copies)
    often, read_often = a_meter(copies)
    assert forces(once, lengths) == forces(often, lengths, read=often.settle)
    once.settle()
    assert read_often == stats


@given(LENGTHS)
def test_every_ci_is_begun_once_and_written_again_where_it_was_left_part_filled(lengths):
    meter, stats = a_meter()
    forces(meter, lengths)
    meter.settle()
    end = START + sum(lengths)
    assert -(-end // CI) - START // CI == stats.buffers_filled
    assert stats.cis_written - stats.serial_rewrites == stats.buffers_filled
    assert len(lengths) == stats.suspensions


def test_the_longest_io_is_kept_with_its_time():
    meter, stats = a_meter()
    forces(meter, [100, 100, 100])
    meter.settle()
    single = stats.copies[0].kinds[0]
    assert (3, 3) == (single.ios, single.cis)
    assert 3 * 4096 == single.longest_io
    assert 6 * 4096 == single.io_elapsed
    assert single.longest_io_at


@given(LENGTHS)
def test_the_bootstrap_data_set_hears_when_all_buffers_have_been_used_once(lengths):
    meter, _ = a_meter()
    at, expected = START, 0
    for length in lengths:
        first, last = at // CI, (at + length - 1) // CI
        expected += (last + 1) // BUFFERS > first // BUFFERS
        at += length
    assert expected == forces(meter, lengths)


# -- worked examples


def figures(stats, copy=0):
    """Of one copy: (I/Os, CIs) of single and of several CIs."""
    return [(kind.ios, kind.cis) for kind in stats.copies[copy].kinds]


@pytest.mark.parametrize(
    ("start", "length", "single", "multiple", "rewrites"),
    [
        (0, 100, (1, 1), (0, 0), 0),  # a part of one CI
        (0, CI, (0, 0), (1, 1), 0),  # all of it
        (0, CI + 1, (1, 1), (1, 1), 0),
        (0, 4 * CI, (0, 0), (1, 4), 0),  # as many as go together
        (0, 5 * CI, (0, 0), (2, 5), 0),
        (0, 9 * CI + 1, (1, 1), (3, 9), 0),
        (-100, 50, (1, 1), (0, 0), 1),  # within a CI that was begun
        (-100, 100, (1, 1), (0, 0), 1),  # to its end
        (-100, 101, (2, 2), (0, 0), 1),  # and into the next
        (-100, 100 + 2 * CI, (1, 1), (1, 2), 1),
    ],
)
@pytest.mark.parametrize("copies", [1, 2])
def test_what_one_write_is(start, length, single, multiple, rewrites, copies):
    """LM1, LM2: each copy has the same; the totals are of both."""
    meter, stats = a_meter(copies)
    meter.wrote(START + start, START + start + length, 1000, 2000)
    meter.settle()
    for copy in range(copies):
        assert [single, multiple] == figures(stats, copy)
    if copies == 1:
        assert [(0, 0), (0, 0)] == figures(stats, 1)
    ios, cis = (one + two for one, two in zip(single, multiple, strict=True))
    assert (copies * ios, copies * cis) == (stats.log_ios, stats.cis_written)
    assert (copies * rewrites, cis - rewrites) == (stats.serial_rewrites, stats.buffers_filled)


def test_time_goes_to_the_kind_of_what_was_written():
    """LM3: so do a sync and a wait that come after it; nobody waited for some."""
    meter, stats = a_meter()
    clock_ns = FakeClock().monotonic_ns()
    meter.wrote(START, START + 2 * CI, clock_ns, clock_ns + 3000)
    meter.synced(clock_ns, clock_ns + 2000)
    meter.suspended(clock_ns - 5000, 0, clock_ns - 1000)
    meter.settle()
    single, multiple = stats.copies[0].kinds
    assert (5 * 4096, 3 * 4096) == (multiple.io_elapsed, multiple.longest_io)
    assert (6 * 4096, 5 * 4096) == (multiple.suspended, multiple.longest_suspension)
    assert (0, 0, 2) == (single.io_elapsed, single.suspended, stats.suspensions)
    assert multiple.longest_io_at == tod_from_us(FakeClock().now_us() + 3)
    assert multiple.longest_suspension_at == tod_from_us(FakeClock().now_us())


def test_a_sync_after_the_figures_were_read_is_of_the_kind_before():
    meter, stats = a_meter()
    meter.wrote(START, START + 2 * CI, 1000, 2000)
    meter.settle()
    meter.synced(1000, 3000)
    meter.settle()
    assert [0, 3 * 4096] == [kind.io_elapsed for kind in stats.copies[0].kinds]


def test_the_longest_of_all_is_kept_and_not_the_last():
    meter, stats = a_meter()
    for took_ns in (2000, 7000, 7000, 4000):
        meter.synced(1000, 1000 + took_ns)
        meter.settle()
    assert (7 * 4096, 20 * 4096) == (stats.copies[0].kinds[0].longest_io, stats.copies[0].kinds[0].io_elapsed)


def test_the_time_of_day_of_the_longest_is_when_it_ended():
    """However long ago that was when the figures are read."""
    clock, stats = FakeClock(), LogStatistics()
    meter, ended_us = LogMeter(stats, 1, 4, BUFFERS, clock), clock.now_us()
    meter.synced(1, clock.monotonic_ns())
    clock.advance(seconds=10)
    meter.settle()
    assert tod_from_us(ended_us) == stats.copies[0].kinds[0].longest_io_at


def test_notes_are_reckoned_up_when_there_are_many():
    """LM3: when somebody has waited, not while he waits."""
    meter, stats = a_meter()
    for _ in range(NOTES_MAX):
        meter.suspended(1)
    assert (NOTES_MAX, 0) == (len(meter.notes), stats.suspensions)
    meter.suspended(1)
    assert (0, NOTES_MAX + 1) == (len(meter.notes), stats.suspensions)


def test_records_are_counted_since_the_last_time():
    meter, stats = a_meter()
    seen = []
    for records in (5, 5, 9):
        meter.logged(records)
        seen.append(stats.writes_nowait)
    assert [5, 5, 9] == seen


def test_a_log_that_goes_on_within_a_ci_writes_that_one_again():
    stats = LogStatistics()
    meter = LogMeter(stats, 1, 4, BUFFERS, FakeClock())
    meter.begin(START + 1)
    meter.wrote(START + 1, START + 2, 1000, 2000)
    meter.settle()
    assert (1, 0) == (stats.serial_rewrites, stats.buffers_filled)


@pytest.mark.parametrize(
    ("written", "due"),
    [
        (0, 15 * CI),
        (15 * CI, 15 * CI),
        (16 * CI - 1, 15 * CI),
        (16 * CI, 31 * CI),
    ],
)
def test_the_bootstrap_data_set_is_due_before_the_last_buffer_is_full(written, due):
    meter, _ = a_meter()
    meter.set_bootstrap_at(written)
    assert due == meter.bootstrap_at
    assert [False, True] == [meter.wrote(0, due, 1, 2), meter.wrote(0, due + 1, 1, 2)]
