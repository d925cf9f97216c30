"""Counting log I/O: figures do not depend on when somebody reads them (LM3, LM4)."""

from hypothesis import given
from hypothesis import strategies as st

from quaestor.clock import FakeClock
from quaestor.qmgr.log.meter import LogMeter
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
