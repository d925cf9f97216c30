"""Time: TOD clock, packed dates, zones (rules C1 to C5)."""

import time
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


# --- the edges -------------------------------------------------------------------------------------------------------

LAST_MICROSECOND = datetime(2042, 9, 17, 23, 53, 47, 370_495, tzinfo=UTC)  # z/Architecture: the clock wraps after it


@pytest.mark.parametrize(
    ("tod", "utc"),
    [
        (0x0000000000001000, datetime(1900, 1, 1, 0, 0, 0, 1, tzinfo=UTC)),
        (0x0000000000000FFF, datetime(1900, 1, 1, tzinfo=UTC)),  # less than a microsecond
        (0x7D91048BCA000000, datetime(1970, 1, 1, tzinfo=UTC)),
        (0xFFFFFFFFFFFFF000, LAST_MICROSECOND),
        (0xFFFFFFFFFFFFFFFF, LAST_MICROSECOND),
    ],
)
def test_a_tod_value_names_its_microsecond(tod, utc):
    assert utc == clock.datetime_from_tod(tod)
    assert tod & ~0xFFF == clock.tod_from_datetime(utc)


@pytest.mark.parametrize("beyond", [LAST_MICROSECOND + timedelta(microseconds=1), datetime(1899, 12, 31, tzinfo=UTC)])
def test_the_clock_ends_where_it_wraps(beyond):
    with pytest.raises(ValueError, match=r"outside the TOD clock \(1900 to 2042\)"):
        clock.tod_from_datetime(beyond)


@given(st.integers(-(10**15), 10**15))
def test_microseconds_go_there_and_back(unix_us):
    """With the leap seconds that most installations keep, none (C3)."""
    assert unix_us == clock.us_from_tod(clock.tod_from_us(unix_us))


def test_leap_seconds_count_towards_the_end_of_the_clock():
    last = LAST_MICROSECOND - timedelta(seconds=27)
    assert 0xFFFFFFFFFFFFF000 == clock.tod_from_datetime(last, leap_seconds=27)
    with pytest.raises(ValueError, match="outside the TOD clock"):
        clock.tod_from_datetime(last, leap_seconds=28)


@pytest.mark.parametrize(
    ("ns", "units"), [(0, 0), (1, 4), (999, 4091), (1000, 4096), (1_000_000_000, 4_096_000_000), (250, 1024)]
)
def test_nanoseconds_in_tod_units_are_cut(ns, units):
    assert units == clock.tod_of_ns(ns)


@given(st.integers(0, 2**53))
def test_an_interval_is_exact_as_microseconds(units):
    """C4: there and back without a loss."""
    assert units == clock.tod_interval(clock.microseconds(units))


@pytest.mark.parametrize(
    ("moment", "hundredths"),
    [
        (datetime(2026, 3, 2), 0),
        (datetime(2026, 3, 2, 0, 0, 0, 9_999), 0),
        (datetime(2026, 3, 2, 0, 0, 0, 10_000), 1),
        (datetime(2026, 3, 2, 0, 0, 1), 100),
        (datetime(2026, 3, 2, 0, 1), 6_000),
        (datetime(2026, 3, 2, 1), 360_000),
        (datetime(2026, 3, 2, 12, 34, 56, 780_000), 4_529_678),
        (datetime(2026, 3, 2, 23, 59, 59, 999_999), 8_639_999),
    ],
)
def test_hundredths_of_a_day(moment, hundredths):
    assert hundredths == clock.hundredths(moment)
    kept = moment.replace(microsecond=moment.microsecond // 10_000 * 10_000)
    assert kept == clock.local_datetime(clock.packed_date(moment.date()), hundredths)


@pytest.mark.parametrize(
    ("day", "packed"),
    [
        (date(1900, 1, 1), 0x0000001F),
        (date(1999, 12, 31), 0x0099365F),
        (date(2000, 1, 1), 0x0100001F),
        (date(2000, 2, 29), 0x0100060F),
        (date(2024, 12, 31), 0x0124366F),
        (date(2100, 12, 31), 0x0200365F),  # no leap year
        (date(2899, 12, 31), 0x0999365F),
    ],
)
def test_the_century_counts_from_1900(day, packed):
    assert packed == clock.packed_date(day)
    assert day == clock.date_from_packed(packed)


@pytest.mark.parametrize("day", [date(1899, 12, 31), date(2900, 1, 1), date(1, 1, 1), date(9999, 12, 31)])
def test_a_date_that_does_not_pack_is_refused(day):
    with pytest.raises(ValueError, match=r"outside the packed SMF date \(1900 to 2899\)"):
        clock.packed_date(day)


@pytest.mark.parametrize(
    "packed",
    [
        0x0,
        0xFFFFFFFF,
        0x10116058F,  # nine digits
        0x0100367F,
        0x0101366F,
        0x0200366F,
        0x0999366F,
        0x0100999F,
        0x010A001F,
        0x0A00001F,
        0x01000A1F,
        0x0100001E,
        0x8100001F,
    ],
)
def test_digits_that_are_no_date(packed):
    assert clock.date_from_packed(packed) is None
    assert clock.local_datetime(packed, 0) is None


@given(st.integers(0, 0xFFFFFFFF))
def test_any_packed_word_is_a_date_or_none(packed):
    day = clock.date_from_packed(packed)
    assert day is None or packed == clock.packed_date(day)


@pytest.mark.parametrize(
    ("seconds", "minutes"),
    [(0, 0), (449, 0), (451, 15), (-449, 0), (-451, -15), (3600, 60), (-43_200, -720), (50_400, 840), (20_700, 345)],
)
def test_a_zone_is_rounded_to_the_nearest_quarter_of_an_hour(seconds, minutes):
    utc = datetime(2026, 3, 2, 12, tzinfo=UTC)
    local = (utc + timedelta(seconds=seconds)).replace(tzinfo=None)
    assert timedelta(minutes=minutes) == clock.zone_offset(local, utc)
    assert timedelta(seconds=60 * round(seconds / 60)) == clock.zone_offset(local, utc, step_minutes=1)


def test_a_fake_clock_begins_somewhere_and_counts_no_cpu_by_itself():
    fake = clock.FakeClock()
    before = fake.now_us()
    fake.advance(minutes=1, milliseconds=5, microseconds=7)
    assert (60_005_007, 0) == (fake.now_us() - before, fake.cpu_ns())
    fake.cpu += 5
    assert 5 == fake.cpu_ns()


def test_the_system_clock_counts_microseconds_since_1970():
    before, read, after = time.time(), clock.SystemClock().now_us(), time.time()
    assert before - 1e-3 <= read / 1e6 <= after + 1e-3
