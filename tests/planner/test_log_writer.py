"""Two applications put a message of 16 log buffers each and commit; which buffers go out when.

One I/O is the unit of time. The commit records are less than a page and more than half of one, so that the first lies
in buffer 33 and the second ends in buffer 34.
"""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.log_flow import PAGE_BYTES
from quaestor.planner.log_writer import LogSettings, Record, play
from quaestor.planner.source import OutOfRangeError

MESSAGE = 16 * PAGE_BYTES
COMMIT = 3_000
EXAMPLE = LogSettings(write_threshold_pages=20, pages_per_io_max=15)

# Buffers fill slowly enough for two of them to be full while the first I/O lasts; commits come long after.
LONG = [
    Record(0, MESSAGE, fill_ms_per_page=0.4),
    Record(0, MESSAGE, fill_ms_per_page=0.4),
    Record(100, COMMIT, forces=True),
    Record(200, COMMIT, forces=True),
]
# Everything, the commits too, is in the buffers before the first I/O ends.
SHORT = [
    Record(0, MESSAGE),
    Record(0, MESSAGE),
    Record(0.1, COMMIT, forces=True),
    Record(0.2, COMMIT, forces=True),
]


def settings(**changed):
    known = {"write_threshold_pages": 20, "pages_per_io_max": 15}
    return LogSettings(**known | changed)


@pytest.mark.oracle("mp16-ch4-11/19", kind="scenario", lines="4730-4737")
def test_two_gets_and_a_commit():
    run = play([Record(0, 200), Record(0, 200), Record(0, 100, forces=True)])
    assert (3, 1, 1, 1) == (run.writes_nowait, run.buffers_filled, run.logger_calls, run.log_ios)


@pytest.mark.oracle("mp16-ch4-11/21", kind="scenario", lines="4741-4787")
def test_long_interval_between_put_and_commit():
    """The table prints B23...B30 where the text, and the count of buffers, have B23...B32."""
    run = play(LONG, EXAMPLE)
    assert [
        "B1...B15 in parallel",
        "B16...B20 in parallel",
        "B21...B22 in parallel",
        "B23...B32 in parallel",
        "B33 in parallel",
        "B33 in series",
        "B34 in parallel",
    ] == [str(io) for io in run.ios]
    assert 8 == run.io_times
    commit_1, commit_2 = run.ios[3:5], run.ios[5:]
    assert (2, 3) == (sum(io.io_times for io in commit_1), sum(io.io_times for io in commit_2))
    assert 5 == run.logger_calls  # B20, B21, B22 and the two commits
    assert "B34 in series" == str(play([*LONG, Record(300, 100, forces=True)], EXAMPLE).ios[-1])


@pytest.mark.oracle("mp16-ch4-11/22", kind="scenario", lines="4773-4787")
def test_short_interval_between_put_and_commit():
    run = play(SHORT, EXAMPLE)
    assert [
        "B1...B15 in parallel",
        "B16...B20 in parallel",
        "B21...B33 in parallel",
        "B34 in parallel",
    ] == [str(io) for io in run.ios]
    assert 4 == run.io_times
    assert "B34 in series" == str(play([*SHORT, Record(300, 100, forces=True)], EXAMPLE).ios[-1])


@pytest.mark.parametrize(
    ("changed", "long", "short"),
    [
        ({"serial_rewrite": False}, 7, 4),
        ({"dual": False}, 7, 4),
        ({"pages_per_io_max": 128}, 7, 3),
        ({"pages_per_io_max": 128, "serial_rewrite": False}, 6, 3),
    ],
)
def test_the_same_load_on_other_dasd(changed, long, short):
    assert (long, short) == (play(LONG, settings(**changed)).io_times, play(SHORT, settings(**changed)).io_times)


@pytest.mark.oracle("mp16-ch4-11/23", kind="scenario", lines="4791")
def test_outbuff_80_makes_the_second_put_wait():
    """Twenty buffers: put 2 stops before B21 and goes on when B1-B15 are written, one I/O time later."""
    run = play(SHORT, settings(outbuff_kb=80))
    assert 21 == run.waited_before[0]
    assert run.buffer_waits >= 1
    assert 34 == run.buffers_filled
    assert 0 == play(SHORT, EXAMPLE).buffer_waits


def test_a_message_of_25_buffers_goes_out_as_15_and_9_and_the_current_one():
    """Where the logger looks for the highest RBA after each I/O, as the figures for large messages imply."""
    put = [Record(0, 24 * PAGE_BYTES + 100), Record(0, 100, forces=True)]
    run = play(put, settings(looks_after_each_io=True))
    assert [15, 9, 1] == [io.last - io.first + 1 for io in run.ios]


def test_one_application_alone_writes_its_page_again_for_each_commit():
    gets = [Record(0, 600, forces=True, waits=True) for _ in range(20)]
    run = play(gets, EXAMPLE)
    assert 20 == run.logger_calls
    assert math.ceil(20 * 600 / PAGE_BYTES) == run.buffers_filled
    assert run.log_ios > run.logger_calls  # a commit that crosses into a new page writes two
    assert run.end_ms == run.io_times


RECORDS = st.lists(
    st.builds(
        Record,
        at_ms=st.just(0.0),
        length_bytes=st.integers(1, 40 * PAGE_BYTES),
        forces=st.booleans(),
        fill_ms_per_page=st.sampled_from([0.0, 0.1, 0.7]),
    ),
    min_size=1,
    max_size=12,
)
SETTINGS = st.builds(
    LogSettings,
    outbuff_kb=st.integers(4, 200),
    write_threshold_pages=st.integers(1, 30),
    pages_per_io_max=st.integers(1, 128),
    dual=st.booleans(),
    serial_rewrite=st.booleans(),
    looks_after_each_io=st.booleans(),
)


@given(RECORDS, SETTINGS)
def test_whatever_is_forced_is_written(records, defined):
    """Every page up to the last forced byte is written, in order and without gaps; I/Os never overlap."""
    run = play(records, defined)
    forced = [sum(r.length_bytes for r in records[: n + 1]) for n, r in enumerate(records) if r.forces]
    pages = [page for io in run.ios for page in range(io.first, io.last + 1)]
    if forced:
        assert math.ceil(forced[-1] / PAGE_BYTES) <= pages[-1]
    assert pages == sorted(pages)
    assert set(pages) == set(range(1, pages[-1] + 1)) if pages else not forced
    assert all(before.start_ms + before.io_times <= after.start_ms for before, after in pairwise(run.ios))
    assert all(io.last - io.first < defined.pages_per_io_max for io in run.ios)
    assert len(records) == run.writes_nowait
    assert math.ceil(sum(r.length_bytes for r in records) / PAGE_BYTES) == run.buffers_filled


@given(RECORDS)
def test_only_a_page_written_before_is_written_in_series(records):
    run = play(records, EXAMPLE)
    seen = set()
    for io in run.ios:
        assert io.series == (io.first in seen)
        seen.update(range(io.first, io.last + 1))


def test_refusals_name_what_is_valid():
    with pytest.raises(OutOfRangeError, match="at least the one before"):
        play([Record(1, 1), Record(0, 1)])
    with pytest.raises(OutOfRangeError, match="length_bytes 0 is not valid: 1 or more"):
        Record(0, 0)
    with pytest.raises(OutOfRangeError, match="only a record that forces"):
        Record(0, 1, waits=True)
    with pytest.raises(OutOfRangeError, match="io_ms 0 is not valid: more than 0"):
        LogSettings(io_ms=0)
    with pytest.raises(OutOfRangeError, match="outbuff_kb 3 is not valid: 4 or more"):
        play([Record(0, 1)], LogSettings(outbuff_kb=3))
