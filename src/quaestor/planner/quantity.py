"""Quantities as people write them: `4k`, `1.5 MB`, `1GiB`, `500/s`, `9.11 MB/s`, `30 min`, `1h 30m`.

Rules
  U1  Sizes: k, M, G, T with or without B are powers of 1024 unless `Units.DECIMAL` is asked.  MP16 counts so almost
      everywhere (9,550,000 bytes/s are its 9.11 MB/s [679]); its restart example alone is decimal [1335-1449].
  U2  Sizes: Ki, Mi, Gi, Ti with or without B are powers of 1024 always.
  U3  Counts: k, M, G are powers of 1000 always, as in the page set table (125K messages [770]).
  U4  A size is whole bytes, rounded to the nearest; a count that is not whole is refused.
  U5  Digits may be grouped in threes by a comma, a blank or an underscore; the decimal point is a point.
  U6  What is shown says which it is: binary sizes as KiB, MiB, GiB; decimal ones as KB, MB, GB.
  U7  What cannot be read is refused with what was read, what was wrong with it and what can be written instead; so is a
      number of more than a hundred digits, which no figure of a plan has.

Called by whoever takes a figure from a person.  Calls nothing.  The formulas themselves see bytes, seconds and rates
per second only.
"""

import re
from enum import Enum
from fractions import Fraction

KIB, MIB, GIB = 1024, 1024**2, 1024**3
KB, MB, GB = 1000, 1000**2, 1000**3
MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400


class Units(Enum):
    """What k, M and G mean in a size (U1)."""

    BINARY = 1024
    DECIMAL = 1000


class QuantityError(ValueError):
    """A text that is not a quantity of the asked kind; the message says what is valid."""


NUMBER = r"(?:\d{1,3}(?:[ ,_]\d{3})+|\d+)(?:\.\d+)?|\.\d+"
QUANTITY = re.compile(rf"\s*(?P<number>{NUMBER})\s*(?P<unit>[A-Za-zµ]*)\s*")
DIGITS_MAX = 100
PREFIXES = "kmgt"
SIZE_UNIT = re.compile(rf"(?P<prefix>[{PREFIXES}]?)(?P<binary>i?)b?|bytes?", re.IGNORECASE)
SECONDS = {
    **dict.fromkeys(("us", "µs", "usec", "microsecond", "microseconds"), Fraction(1, 1_000_000)),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), Fraction(1, 1000)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), Fraction(1)),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), Fraction(MINUTE_S)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), Fraction(HOUR_S)),
    **dict.fromkeys(("d", "day", "days"), Fraction(DAY_S)),
}
SIZES_VALID = "a number and B, k, M, G or T (KiB, MiB, GiB are always binary), for example 4k, 1.5 MB, 1GiB"
COUNTS_VALID = "a whole number, with k, M or G for powers of 1000, for example 500, 450 000, 4M"
TIMES_VALID = "a number and us, ms, s, min, h or d, for example 200 ms, 30 min, 1h 30m"
RATES_VALID = "an amount, a slash and s, min, h or d, for example 500/s, 30k/min, 1.8M/h"
DATA_RATES_VALID = "an amount, a slash and s, min, h or d, for example 9.11 MB/s, 800 MB/h"


def size_bytes(text: str, units: Units = Units.BINARY) -> int:
    """Bytes of a size such as `4k`, `1.5 MB` or `1GiB` (U1, U2, U4)."""
    return _whole(_size(text, text, units, SIZES_VALID))


def count(text: str) -> int:
    """A count such as `500`, `450 000` or `4M` (U3, U4)."""
    value = _count(text, text, COUNTS_VALID)
    if value.denominator != 1:
        raise QuantityError(f"{text!r}: not a whole number; write {COUNTS_VALID}")
    return int(value)


def duration_s(text: str) -> float:
    """Seconds of a duration such as `200 ms`, `2h` or `8 min 15 s`; a unit is required."""
    parts = list(QUANTITY.finditer(text))
    if not parts or "".join(part.group() for part in parts) != text:
        raise QuantityError(f"{text!r}: not a duration; write {TIMES_VALID}")
    return float(sum(_number(part, text) * _seconds_of(part["unit"], text, TIMES_VALID) for part in parts))


def rate_per_s(text: str) -> float:
    """A rate of things per second from `500/s`, `30k/min` or `1.8M/h`."""
    amount, period_s = _per(text, RATES_VALID)
    return float(_count(amount, text, RATES_VALID) / period_s)


def rate_bytes_per_s(text: str, units: Units = Units.BINARY) -> float:
    """A data rate from `9.11 MB/s` or `800 MB/h`."""
    amount, period_s = _per(text, DATA_RATES_VALID)
    return float(_size(amount, text, units, DATA_RATES_VALID) / period_s)


def show_bytes(value: float, units: Units = Units.BINARY) -> str:
    """A size to read: three significant digits at least, and the unit says its convention (U6)."""
    if value < 0:
        return "-" + show_bytes(-value, units)
    names = ("B", "KiB", "MiB", "GiB", "TiB") if units is Units.BINARY else ("B", "KB", "MB", "GB", "TB")
    power = 0
    while value >= units.value and power < len(names) - 1:
        value, power = value / units.value, power + 1
    return f"{value:,.0f} {names[power]}" if power == 0 or value >= 1000 else f"{value:.4g} {names[power]}"


def show_seconds(value: float) -> str:
    """A duration to read: the two largest units that matter (`8 min 12 s`, `1 h 30 min`)."""
    if value < 0:
        return "-" + show_seconds(-value)
    if value < 1:
        return f"{_three(value * 1000)} ms" if value >= 0.001 or value == 0 else f"{_three(value * 1_000_000)} us"
    if round(value) < MINUTE_S:
        return f"{_three(value)} s"
    for large_s, large, small_s, small in (
        (DAY_S, "d", HOUR_S, "h"),
        (HOUR_S, "h", MINUTE_S, "min"),
        (MINUTE_S, "min", 1, "s"),
    ):
        smalls = round(value / small_s)
        whole, rest = divmod(smalls, large_s // small_s)
        if whole:
            return f"{whole} {large} {rest} {small}" if rest else f"{whole} {large}"
    raise AssertionError(f"no unit shows {value}")


def _per(text: str, valid: str) -> tuple[str, Fraction]:
    amount, slash, period = text.partition("/")
    if not slash or not amount.strip() or not period.strip():
        raise QuantityError(f"{text!r}: not a rate; write {valid}")
    return amount, _seconds_of(period.strip(), text, valid)


def _size(amount: str, text: str, units: Units, valid: str) -> Fraction:
    found = QUANTITY.fullmatch(amount)
    unit = found and SIZE_UNIT.fullmatch(found["unit"])
    if not found or not unit or (unit["binary"] and not unit["prefix"]):
        raise QuantityError(f"{text!r}: {_complaint(found, 'size')}; write {valid}")
    power = PREFIXES.index(unit["prefix"].lower()) + 1 if unit["prefix"] else 0
    base = Units.BINARY if unit["binary"] else units
    return _number(found, text) * Fraction(base.value) ** power


def _count(amount: str, text: str, valid: str) -> Fraction:
    found = QUANTITY.fullmatch(amount)
    prefix = found["unit"].lower() if found else "?"
    if not found or len(prefix) > 1 or prefix not in PREFIXES:
        raise QuantityError(f"{text!r}: {_complaint(found, 'count')}; write {valid}")
    return _number(found, text) * Fraction(1000) ** (PREFIXES.index(prefix) + 1 if prefix else 0)


def _complaint(found: re.Match[str] | None, kind: str) -> str:
    return f"{found['unit']!r} is no unit of a {kind}" if found else f"not a {kind}"


def _seconds_of(unit: str, text: str, valid: str) -> Fraction:
    seconds = SECONDS.get(unit.lower())
    if seconds is None:
        wrong = f"{unit!r} is no unit of time" if unit else "a time without its unit"
        raise QuantityError(f"{text!r}: {wrong}; write {valid}")
    return seconds


def _number(found: re.Match[str], text: str) -> Fraction:
    digits = re.sub(r"[ ,_]", "", found["number"])
    if len(digits) > DIGITS_MAX:
        raise QuantityError(f"{text!r}: {len(digits)} digits are not valid; write {DIGITS_MAX} at most")
    return Fraction(digits)


def _three(value: float) -> str:
    """Three significant digits, never in powers of ten."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _whole(value: Fraction) -> int:
    """To the nearest whole, halves up."""
    return int(value + Fraction(1, 2))
