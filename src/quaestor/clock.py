"""Time: the clock that is passed in, and the TOD clock of the machine that wrote a record.

Rules
  C1  Nothing reads the time except through a `Clock` it was given.
  C2  A TOD value (STCK) is 64 bits; bit 51 is a microsecond, so microseconds = value >> 12.
      Its epoch is 1900-01-01T00:00:00; it wraps in 2042.
  C3  TOD counts atomic seconds on systems that keep leap seconds: a caller that knows the offset
      passes it, and UTC = TOD - leap_seconds. The default 0 is what most installations run.
  C4  An interval in TOD units is exact as a float of microseconds (value / 4096) up to 2**53 units.
  C5  The SMF header carries local time: hundredths since midnight and a packed date 0cyydddF.

Called by everything that needs the time.  Calls nothing.
"""

import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Protocol

TOD_UNITS_PER_MICROSECOND = 4096
TOD_EPOCH = datetime(1900, 1, 1, tzinfo=UTC)
UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNIX_EPOCH_IN_TOD_MICROSECONDS = (UNIX_EPOCH - TOD_EPOCH) // timedelta(microseconds=1)
TOD_MAX = 2**64 - 1


class Clock(Protocol):
    """What a manager may ask about time (C1)."""

    def now_us(self) -> int:
        """Microseconds since the UNIX epoch, UTC."""

    def now_s(self) -> float:
        """The same in seconds, to a quarter of a microsecond: what an operating system tells at the least cost."""

    def cpu_ns(self) -> int:
        """CPU time of the calling thread in nanoseconds."""

    def monotonic_ns(self) -> int:
        """Nanoseconds that never go back."""


class SystemClock:
    """The machine's own clock."""

    __slots__ = ()

    now_s = staticmethod(time.time)
    cpu_ns = staticmethod(time.thread_time_ns)
    monotonic_ns = staticmethod(time.monotonic_ns)

    def now_us(self) -> int:
        return time.time_ns() // 1000


@dataclass(slots=True)
class FakeClock:
    """A clock that moves only when told to: for tests and for simulated days."""

    us: int = 1_000_000_000_000_000
    cpu: int = 0

    def now_us(self) -> int:
        return self.us

    def now_s(self) -> float:
        return self.us / 1e6

    def cpu_ns(self) -> int:
        return self.cpu

    def monotonic_ns(self) -> int:
        return self.us * 1000

    def advance(self, **duration: float) -> None:
        """Move on by `timedelta(**duration)`."""
        self.us += timedelta(**duration) // timedelta(microseconds=1)


def tod_from_us(unix_us: int, leap_seconds: int = 0) -> int:
    """TOD value of a UNIX time in microseconds (C2, C3)."""
    tod = (unix_us + UNIX_EPOCH_IN_TOD_MICROSECONDS + leap_seconds * 1_000_000) << 12
    if not 0 <= tod <= TOD_MAX:
        raise ValueError(f"{unix_us} microseconds lies outside the TOD clock (1900 to 2042)")
    return tod


def us_from_tod(tod: int, leap_seconds: int = 0) -> int:
    """UNIX time in microseconds of a TOD value (C2, C3)."""
    return (tod >> 12) - UNIX_EPOCH_IN_TOD_MICROSECONDS - leap_seconds * 1_000_000


def tod_from_datetime(when: datetime, leap_seconds: int = 0) -> int:
    """TOD value of an aware datetime."""
    return tod_from_us((when - UNIX_EPOCH) // timedelta(microseconds=1), leap_seconds)


def datetime_from_tod(tod: int, leap_seconds: int = 0) -> datetime | None:
    """UTC datetime of a TOD value; a zero stamp was never set and gives None."""
    if tod == 0:
        return None
    return UNIX_EPOCH + timedelta(microseconds=us_from_tod(tod, leap_seconds))


def microseconds(tod_interval: int) -> float:
    """Microseconds of an interval in TOD units (C4)."""
    return tod_interval / TOD_UNITS_PER_MICROSECOND


def tod_interval(us: float) -> int:
    """TOD units of an interval in microseconds."""
    return round(us * TOD_UNITS_PER_MICROSECOND)


def tod_of_ns(ns: int) -> int:
    """TOD units of an interval in nanoseconds."""
    return ns * TOD_UNITS_PER_MICROSECOND // 1000


def packed_date(day: date) -> int:
    """A date as SMF packs it: 0cyydddF, c = centuries since 1900 (C5)."""
    century, year = divmod(day.year - 1900, 100)
    if not 0 <= century <= 9:
        raise ValueError(f"{day} lies outside the packed SMF date (1900 to 2899)")
    return int(f"0{century}{year:02d}{day.timetuple().tm_yday:03d}F", 16)


def date_from_packed(packed: int) -> date | None:
    """The date that SMF packed, or None when the digits are no date (C5)."""
    digits = f"{packed:08x}"
    if packed > 0xFFFFFFFF or digits[0] != "0" or digits[7] != "f" or not digits[1:7].isdigit():
        return None
    year, day_of_year = 1900 + 100 * int(digits[1]) + int(digits[2:4]), int(digits[4:7])
    if day_of_year == 0:
        return None
    day = date(year, 1, 1) + timedelta(days=day_of_year - 1)
    return day if day.year == year else None


def hundredths(local: datetime) -> int:
    """Hundredths of a second since midnight, as the SMF header counts them (C5)."""
    return ((local.hour * 60 + local.minute) * 60 + local.second) * 100 + local.microsecond // 10_000


def local_datetime(packed: int, hundredths_of_day: int) -> datetime | None:
    """The header's local date and time, without a zone; None when either is impossible (C5)."""
    day = date_from_packed(packed)
    if day is None or hundredths_of_day >= 8_640_000:
        return None
    return datetime(day.year, day.month, day.day) + timedelta(milliseconds=10 * hundredths_of_day)  # noqa: DTZ001


def zone_offset(local: datetime, utc: datetime, step_minutes: int = 15) -> timedelta:
    """The record's own zone offset: local minus UTC, to the nearest quarter of an hour."""
    step = timedelta(minutes=step_minutes)
    return round((local - utc.replace(tzinfo=None)) / step) * step
