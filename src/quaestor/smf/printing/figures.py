"""One value as people read it: counts, averages, times, names, tokens.

Rules P1, P3 and P5 of the package are kept here.  Called by every form.  Calls clock and layout.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from quaestor.clock import TOD_UNITS_PER_MICROSECOND, datetime_from_tod
from quaestor.layout import CP1047, CodePage, Field

ABSENT = "-"
TOD_UNITS_PER_MILLISECOND = 1000 * TOD_UNITS_PER_MICROSECOND


def clock_time(when: datetime) -> str:
    """A time as hh:mm:ss.th, cut to hundredths as the SMF header has them."""
    return f"{when:%H:%M:%S}.{when.microsecond // 10_000:02d}"


def zone_text(zone: timedelta) -> str:
    """An offset from UTC such as +01:00 or -06:00."""
    minutes = zone // timedelta(minutes=1)
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


@dataclass(frozen=True, slots=True)
class View:
    """What a record brings to the reading of its figures: its zone offset and its code page."""

    zone: timedelta | None = None
    page: CodePage = CP1047

    def moment(self, tod: int | None) -> str:
        """A TOD stamp in UTC and in local time (P5); a stamp never set is absent."""
        utc = None if tod is None else datetime_from_tod(tod)
        return ABSENT if utc is None else f"{utc:%Y-%m-%d} {clock_time(utc)} UTC{self._local(utc)}"

    def day_and_time(self, tod: int | None) -> str:
        """A TOD stamp as MQ116S gives it, dd/mm/yyyy and time in UTC, with local time behind (P1, P5)."""
        utc = None if tod is None else datetime_from_tod(tod)
        return ABSENT if utc is None else f"{utc:%d/%m/%Y}, {clock_time(utc)} UTC{self._local(utc)}"

    def characters(self, token: bytes) -> str:
        """The text inside a token: what is no character of a name shows as a full stop."""
        decoded = token.translate(self.page.permutation).decode(self.page.codec)
        return "".join(each if " " <= each <= "~" else "." for each in decoded).rstrip(" .")

    def _local(self, utc: datetime) -> str:
        if self.zone is None:
            return ""
        local = utc + self.zone
        return f" ({local:%Y-%m-%d} {clock_time(local)} {zone_text(self.zone)})"


def number(value: int | None, unset: int | None = None) -> str:
    """A count as it stands (P3)."""
    return ABSENT if value is None or value == unset else str(value)


def average(total: int | None, count: int | None, units: int = 1) -> str:
    """Whole units of total / count, cut as MP1B cuts them. Nothing counted and nothing spent is 0."""
    if total is None or count is None:
        return ABSENT
    if count <= 0:
        return ABSENT if total else "0"
    return str(total // (units * count))


def average_us(tod_total: int | None, count: int | None) -> str:
    return average(tod_total, count, TOD_UNITS_PER_MICROSECOND)


def average_ms(tod_total: int | None, count: int | None) -> str:
    return average(tod_total, count, TOD_UNITS_PER_MILLISECOND)


def whole_us(tod_interval: int | None) -> str:
    return average_us(tod_interval, 1)


def whole_ms(tod_interval: int | None) -> str:
    return average_ms(tod_interval, 1)


def percent(part: int | None, whole: int | None) -> str:
    return average(None if part is None else 100 * part, whole)


def latency(tod_interval: int | None) -> str:
    """A time on queue as MQ116S gives it: yyddd h:mm:ss.ttt."""
    if tod_interval is None:
        return ABSENT
    seconds, milliseconds = divmod(tod_interval // TOD_UNITS_PER_MILLISECOND, 1000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    years, day = divmod(days, 365)
    return f"{years:02d}{day:03d} {hour}:{minute:02d}:{second:02d}.{milliseconds:03d}"


def token_hex(token: bytes | None) -> str:
    return ABSENT if token is None else token.hex().upper()


def names_of_bits(value: int, field: Field) -> str:
    """The declared names of the bits that are on; bits without a name as one hexadecimal figure."""
    named = {bit: name for bit, name in (field.bits or {}).items() if value & bit}
    left = value & ~sum(named)
    parts = [*named.values(), *([f"x{left:0{2 * field.element_size}X}"] if left else [])]
    return ", ".join(parts) or "none"


def leaf(value: Any, field: Field, view: View) -> str:
    """Any single value by the kind of its field."""
    if value is None or (field.unset is not None and value == field.unset):
        return ABSENT
    if field.is_tod_interval:
        return whole_us(value)
    match field.kind.name:
        case "stamp":
            return view.moment(value)
        case "token":
            return token_hex(value)
        case "flags":
            return names_of_bits(value, field)
        case "code":
            return (field.codes or {}).get(value, str(value))
        case _:
            return str(value)
