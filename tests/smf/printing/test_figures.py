"""One value as people read it (rules P1, P3, P5)."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.smf.printing import figures
from quaestor.smf.printing.figures import View
from smf.printing.given import ms, us, utc


@pytest.mark.oracle("mp1b/39", kind="exact", lines="1985")
def test_averages_are_cut_not_rounded():
    """4000 x 218 us over 3000 calls is 290.67; MP1B prints 290."""
    assert "290" == figures.average_us(us(218, 4000), 3000)


@pytest.mark.parametrize(
    ("total", "count", "printed"),
    [(0, 0, "0"), (5, 0, "-"), (None, 3, "-"), (3, None, "-"), (7, 2, "3"), (7, -1, "-")],
)
def test_an_average_needs_something_counted(total, count, printed):
    assert printed == figures.average(total, count)


@given(st.integers(0, 2**63), st.integers(1, 2**31))
def test_an_average_times_its_count_never_exceeds_the_total(total, count):
    average = int(figures.average(total, count))
    assert average * count <= total < (average + 1) * count


def test_units():
    assert "12345" == figures.whole_us(us(12_345))
    assert "12" == figures.whole_ms(us(12_345))
    assert "3" == figures.average_ms(ms(10), 3)
    assert "33" == figures.percent(1, 3)
    assert "-" == figures.percent(1, 0)


@pytest.mark.parametrize(
    ("microseconds", "printed"),
    [
        (940_000, "00000 0:00:00.940"),
        (8_600_000_000, "00000 2:23:20.000"),
        (86_400_000_000, "00001 0:00:00.000"),
        (366 * 86_400_000_000, "01001 0:00:00.000"),
    ],
)
def test_time_on_queue_counts_years_days_and_hours(microseconds, printed):
    assert printed == figures.latency(us(microseconds))


@pytest.mark.parametrize(
    ("hours", "text"), [(1, "+01:00"), (-6, "-06:00"), (5.5, "+05:30"), (-3.5, "-03:30"), (0, "+00:00")]
)
def test_zone_offsets(hours, text):
    assert text == figures.zone_text(timedelta(hours=hours))


def test_a_moment_shows_utc_then_local_time():
    view = View(timedelta(hours=-6))
    assert "2000-10-23 03:05:09.07 UTC (2000-10-22 21:05:09.07 -06:00)" == view.moment(utc(3, 5, 9, 7))
    assert "23/10/2000, 03:05:09.07 UTC (2000-10-22 21:05:09.07 -06:00)" == view.day_and_time(utc(3, 5, 9, 7))
    assert "2000-10-23 03:05:09.07 UTC" == View().moment(utc(3, 5, 9, 7))


@pytest.mark.parametrize("never", [None, 0])
def test_a_stamp_never_set_is_absent(never):
    assert "-" == View().moment(never)
    assert "-" == View().day_and_time(never)


def test_an_absent_time_on_queue_is_a_dash():
    assert "-" == figures.latency(None)


def test_a_token_shows_its_characters():
    assert "A.B" == View().characters("A\x01B  ".encode("cp037"))
    assert "-" == figures.token_hex(None)
