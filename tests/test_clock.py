"""Time: TOD clock, packed dates, zones (rules C1 to C5)."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor import clock

MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2042, 9, 17), timezones=st.just(UTC))


def test_tod_epoch_is_1900():
    assert 0 == clock.tod_from_datetime(datetime(1900, 1, 1, tzinfo=UTC))
    assert None is clock.datetime_from_tod(0)


def test_known_tod_value_of_the_unix_epoch():
    """1970-01-01 is the TOD value 7D91048BCA000000, printed in many manuals."""
    assert 0x7D91048BCA000000 == clock.tod_from_us(0)


@pytest.mark.oracle("mp1b/4", kind="exact", lines="1205-1216")
def test_two_sets_add_up():
    """Two MQSETs of 10 ms elapsed, 1 and 3 ms CPU: 81,920,000 and 16,384,000 TOD units; averages 10 and 2 ms."""
    elapsed = clock.tod_interval(10_000) + clock.tod_interval(10_000)
    cpu = clock.tod_interval(1_000) + clock.tod_interval(3_000)
    assert (81_920_000, 16_384_000) == (elapsed, cpu)
    assert (10_000, 2_000) == (clock.microseconds(elapsed) / 2, clock.microseconds(cpu) / 2)


@given(MOMENTS.filter(lambda m: m > datetime(1900, 1, 2, tzinfo=UTC)), st.integers(0, 40))
def test_tod_round_trip(moment, leap_seconds):
    if moment > datetime(2042, 9, 16, tzinfo=UTC):
        leap_seconds = 0
    assert moment == clock.datetime_from_tod(clock.tod_from_datetime(moment, leap_seconds), leap_seconds)


def test_leap_seconds_move_utc_back():
    tod = clock.tod_from_datetime(datetime(2016, 2, 27, tzinfo=UTC))
    assert timedelta(seconds=26) == clock.datetime_from_tod(tod) - clock.datetime_from_tod(tod, leap_seconds=26)


def test_tod_refuses_times_it_cannot_hold():
    with pytest.raises(ValueError, match="outside the TOD clock"):
        clock.tod_from_datetime(datetime(2043, 1, 1, tzinfo=UTC))


@given(st.dates(date(1900, 1, 1), date(2899, 12, 31)))
def test_packed_date_round_trip(day):
    assert day == clock.date_from_packed(clock.packed_date(day))


@pytest.mark.parametrize(
    ("packed", "day"),
    [
        (0x0116058F, date(2016, 2, 27)),
        (0x0100297F, date(2000, 10, 23)),
        (0x0099001F, date(1999, 1, 1)),
        (0x0100366F, date(2000, 12, 31)),
        (0x0101366F, None),  # 2001 has no day 366
        (0x0100000F, None),
        (0x01002A7F, None),
        (0x0116058C, None),
        (0x1116058F, None),
    ],
)
def test_packed_dates(packed, day):
    assert day == clock.date_from_packed(packed)


def test_header_time_is_local_and_has_no_zone():
    local = clock.local_datetime(0x0116058F, 3_600_050)
    assert datetime(2016, 2, 27, 10, 0, 0, 500_000) == local
    assert 3_600_050 == clock.hundredths(local)
    assert None is clock.local_datetime(0x0116058F, 8_640_000)


@pytest.mark.parametrize(("minutes", "lag_ms"), [(-360, 20), (-240, 900), (60, 1500), (345, 5)])
def test_zone_offset_is_what_the_record_carries(minutes, lag_ms):
    """Header minus QWHSSTCK; the record reaches SMF a moment after it was built."""
    utc = datetime(2016, 2, 27, 17, 0, tzinfo=UTC)
    local = (utc + timedelta(minutes=minutes, milliseconds=lag_ms)).replace(tzinfo=None)
    assert timedelta(minutes=minutes) == clock.zone_offset(local, utc)


def test_fake_clock_moves_when_told():
    fake = clock.FakeClock(us=1_000)
    fake.advance(seconds=2)
    assert (2_001_000, 2_001_000_000) == (fake.now_us(), fake.monotonic_ns())


def test_system_clock_reads_the_machine():
    real = clock.SystemClock()
    first, second = real.monotonic_ns(), real.monotonic_ns()
    assert second >= first
    assert real.now_us() > 1_600_000_000_000_000
    assert real.cpu_ns() > 0
