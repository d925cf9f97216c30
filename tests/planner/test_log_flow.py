"""The log manager's worked examples: 100,000 byte messages, put and got, one for each commit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner import log_flow as log
from quaestor.planner.log_flow import LogCounters
from quaestor.planner.source import OutOfRangeError

PUTS = LogCounters(messages=100, writes_nowait=215, buffers_filled=2_550, logger_calls=200)
GETS = LogCounters(messages=100, writes_nowait=110, buffers_filled=29, logger_calls=102)


@pytest.mark.oracle("mp16-ch4-11/20", kind="exact", lines="4708")
def test_129_buffers_need_two_ios():
    assert [1, 2, 2, 3] == [log.full_page_ios(pages) for pages in (128, 129, 256, 257)]


@pytest.mark.oracle("mp16-ch4-11/24", kind="exact", lines="4793-4802")
def test_put_and_commit_of_100_messages():
    assert "25.5" == f"{PUTS.pages_per_message:g}"
    assert 102_400 == PUTS.whole_pages_bytes_per_message
    assert 2 == PUTS.logger_calls_per_message == log.logger_calls(24)
    assert PUTS.reaches_write_threshold(20)
    assert 4 == log.unit_of_work_io_times(24, pages_per_io_max=15)


@pytest.mark.oracle("mp16-ch4-11/25", kind="exact", lines="4804-4814")
def test_get_and_commit_of_100_messages():
    assert "0.29" == f"{GETS.pages_per_message:g}"
    assert 1 == round(GETS.logger_calls_per_message) == log.logger_calls(0)
    assert GETS.writes_per_page > 3  # the same page again and again
    assert PUTS.writes_per_page < 0.1
    assert not GETS.reaches_write_threshold(20)
    assert 2 == log.unit_of_work_io_times(0, pages_per_io_max=15)


@pytest.mark.oracle("mp16-ch4-11/26", kind="approx", lines="4816-4822")
def test_elapsed_time_is_log_io():
    """Measured 8 ms against 2 I/O times of 3-4 ms, and 67 ms against 4 of 16-17 ms."""
    get, put = log.unit_of_work_io_times(0), log.unit_of_work_io_times(24, pages_per_io_max=15)
    assert log.elapsed_ms(get, 3) <= 8 <= log.elapsed_ms(get, 4)
    assert (64, 68) == (log.elapsed_ms(put, 16), log.elapsed_ms(put, 17))
    assert log.is_log_bound(67, put, 16.5)
    assert not log.is_log_bound(670, put, 16.5)


def large_messages(**changed):
    known = {"pages": 2_550, "put_commits": 100, "get_commits": 100, "many_pages_io_ms": 20, "current_io_ms": 4}
    return log.log_time(100, **known | {"pages_per_io_max": 15} | changed)


@pytest.mark.oracle("mp16-ch4-11/27", kind="exact", lines="4824-4843")
def test_maximum_rate_of_large_messages():
    time = large_messages()
    assert (2_450, 164) == (time.parallel_pages, time.parallel_ios)
    assert (3_280, 1_600, 4_880) == (time.parallel_ms, time.current_ms, time.total_ms)
    assert "20.5" == f"{time.messages_per_sec_max:.1f}"


def test_the_same_with_cached_dasd_and_with_longer_ios():
    cached = large_messages(current_io_times=1)
    assert (4_080, "24.5") == (cached.total_ms, f"{cached.messages_per_sec_max:.1f}")
    longer = large_messages(pages_per_io_max=128)
    assert (20, 2_000, 50) == (longer.parallel_ios, longer.total_ms, longer.messages_per_sec_max)
    assert 3_280 + 2 * 1_600 == large_messages(log_checks_per_commit=2).total_ms


def test_current_buffer_in_series_only_where_it_is_a_rewrite_of_dual_logs():
    assert 2 == log.current_buffer_io_times()
    assert 1 == log.current_buffer_io_times(dual=False)
    assert 1 == log.current_buffer_io_times(rewrite=False)
    assert 1 == log.current_buffer_io_times(serial_rewrite=False)


@given(st.integers(0, 10_000))
def test_outbuff_and_buffers_agree(pages):
    """OUTBUFF for n waiting pages holds them and the page being filled, and not one more."""
    assert pages + 1 == log.log_buffers(log.outbuff_kb_for(pages))


@given(st.integers(0, 5_000), st.integers(0, 5_000), st.integers(1, 128))
def test_one_long_request_needs_no_more_ios_than_two_short_ones(one, other, limit):
    together = log.full_page_ios(one + other, pages_per_io_max=limit)
    apart = log.full_page_ios(one, pages_per_io_max=limit) + log.full_page_ios(other, pages_per_io_max=limit)
    assert apart - 1 <= together <= apart


@given(st.integers(1, 500), st.integers(0, 500), st.integers(0, 500), st.integers(0, 9_999))
def test_more_work_never_takes_less_time(messages, put_commits, get_commits, extra_pages):
    def ms(pages, commits):
        return log.log_time(
            messages,
            pages=pages,
            put_commits=put_commits,
            get_commits=commits,
            many_pages_io_ms=20,
            current_io_ms=4,
        ).total_ms

    pages = put_commits + extra_pages
    assert ms(pages, get_commits) <= ms(pages + 1, get_commits)
    assert 8 == ms(pages, get_commits + 1) - ms(pages, get_commits)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: log.log_buffers(3), "outbuff_kb 3 is not valid: 4 or more"),
        (lambda: log.full_page_ios(-1), "pages -1 is not valid: 0 or more"),
        (lambda: log.full_page_ios(1, pages_per_io_max=0), "pages_per_io_max 0 is not valid: 1 or more"),
        (lambda: log.unit_of_work_io_times(1, current_io_times=3), "current_io_times 3 is not valid: 1 to 2"),
        (lambda: large_messages(pages=99), "pages 99 is not valid: 100 or more"),
        (lambda: large_messages(current_io_ms=0), "current_io_ms 0 is not valid: more than 0"),
        (lambda: LogCounters(0, 0, 0, 0), "messages 0 is not valid: 1 or more"),
        (lambda: LogCounters(1, 0, 0, 0).writes_per_page, "buffers_filled 0 is not valid: more than 0"),
        (lambda: log.logger_calls(1, write_threshold_pages=0), "write_threshold_pages 0 is not valid: 1 or more"),
    ],
)
def test_impossible_values_name_the_range(call, says):
    with pytest.raises(OutOfRangeError, match=says):
        call()
