"""One value of a report as people read it, by its unit (L2).

Rules
  V1  What is not known is a dash, never 0.
  V2  Whole numbers stand whole. Measured ones get three figures that count, large ones none after the point, small ones
      six decimals at most: a million bytes has single ones.
  V3  `grouped` puts commas between thousands, for pages; plain text has none, for other programs read it too.
  V4  A character that cannot be printed is a point, so a row stays one line.

Called by text, markup and charts.  Calls the catalog for units.
"""

from datetime import date, datetime
from math import floor, log10
from typing import Any

from quaestor.layout import printable
from quaestor.reports.catalog.model import Unit

ABSENT = "-"
_NEARLY = 0.9995  # what would be rounded up to a whole of the next unit is told in it


def shown(value: Any, unit: Unit, *, grouped: bool = False) -> str:
    """The value in words and figures (V1)."""
    if value is None:
        return ABSENT
    match unit:
        case Unit.JULIAN if isinstance(value, date):
            return f"{value:%Y%j}"
        case Unit.MOMENT if isinstance(value, datetime):
            return f"{value:%Y-%m-%d %H:%M}"
        case Unit.DATE if isinstance(value, date):
            return value.isoformat()
        case Unit.TIME:
            return str(value)[:5] if grouped else str(value)
        case Unit.MICROSECONDS_E:
            return duration(float(value)) if grouped else f"{float(value):.1E}"
        case Unit.MONEY:
            return f"{value:,.2f}" if grouped else f"{value:.2f}"
        case _ if unit.is_number:
            return figure(value, grouped=grouped)
        case _:
            return printable(str(value))


def figure(value: float, *, grouped: bool = False) -> str:
    """A number with as many decimals as its size deserves (V2)."""
    comma = "," if grouped else ""
    if float(value).is_integer():
        return f"{int(value):{comma}d}"
    size = abs(value)
    decimals = 0 if size >= 99.95 else 1 if size >= 9.995 else 2 if size >= 0.9995 else 3
    if 0.5e-6 <= size < 0.09995:
        decimals = min(6, 2 - floor(log10(size * 1.0005)))
    return f"{value:z{comma}.{decimals}f}"  # z: what is rounded to 0 is not below it


def duration(us: float) -> str:
    """A time in the unit that suits it: 250 us, 4.1 ms, 8.6 s, 2.4 h."""
    for size, unit in ((3_600e6, "h"), (60e6, "min"), (1e6, "s"), (1e3, "ms")):
        if us >= size * _NEARLY:
            return f"{figure(us / size)} {unit}"
    return f"{figure(us)} us"
