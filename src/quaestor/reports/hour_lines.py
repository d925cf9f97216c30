"""Lines over hours: one for each name, with the hours that it has.

Rules (D1 to D6 are those of `charts`)
  W1  A line has a gap where its table has no hour: because another line has that hour, or because none has it while
      others are closer together. No interval is longer than a day, so no line crosses one.
  W2  An hour between two gaps is a point. With many hours points are drawn there only.
  W3  Under the pointer an hour has its day, its year and its time; marks of the axis that are days have the year below.
  W4  A point at the edge of its chart, as at 0 or 100 %, is drawn whole.

Called by charts.  Calls chart_layout.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from quaestor.reports.chart_layout import PALETTE, Figure, Rows, axis, cut, layout, short

Points = list[tuple[datetime, float]]

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
MOST_LINES = 6
_FEW, _VERY_FEW = 60, 3
_DAY = timedelta(days=1)
_TICKS = [
    {"dtickrange": [None, 43_200_000], "value": "%H:%M\n%-d %b"},
    {"dtickrange": [43_200_000, None], "value": "%-d %b\n%Y"},
]


def series(rows: Rows, name: Callable[[dict[str, Any]], str], column: str) -> dict[str, Points]:
    """The hours and figures of each name; what is not known is left out."""
    made: dict[str, Points] = {}
    for row in rows:
        if row[column] is not None:
            made.setdefault(name(row), []).append((row["hour"], row[column]))
    return made


def highest(lines: Mapping[str, Points], title: str, height: int, shown: str) -> Figure:
    """The lines that reach highest (D3)."""
    kept = sorted(lines, key=lambda name: -max(value for _, value in lines[name]))[:MOST_LINES]
    made = line_figure({name: lines[name] for name in sorted(kept)}, title, height, shown)
    return cut(made, len(kept), len(lines), "highest")


def line_figure(lines: Mapping[str, Points], title: str, height: int, shown: str) -> Figure:
    """A figure of all these lines; `shown` says how plotly writes one of their values."""
    moments = list(_with_gaps(sorted({when for points in lines.values() for when, _ in points})))
    few = len(moments) <= _FEW
    dashes = DASHES if few else ("solid",)
    size = 4 if len(moments) > _VERY_FEW else 9
    data = []
    for place, (name, points) in enumerate(lines.items()):
        known = dict(points)
        values = [short(known[when]) if when in known else None for when in moments]
        alone = _alone(values)
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if few or any(alone) else "lines",
                "name": name,
                "x": [when.isoformat() for when in moments],
                "y": values,
                "line": {"color": PALETTE[place % len(PALETTE)], "width": 1.6, "dash": dashes[place % len(dashes)]},
                "marker": {"size": size} if few or not any(alone) else _points_at(alone, size),
                "hovertemplate": f"%{{fullData.name}}: {shown}<extra></extra>",
                "cliponaxis": False,  # W4
            }
        )
    shape = layout(
        height,
        hovermode="x unified",
        showlegend=len(data) > 1,
        xaxis=axis(type="date", tickformatstops=_TICKS, nticks=8, hoverformat="%-d %b %Y %H:%M"),  # W3
        yaxis=axis(title, rangemode="tozero"),
    )
    if len(moments) == 1:  # D4
        shape["xaxis"] |= {"range": _around(moments[0]), "dtick": 3_600_000}
    return {"data": data, "layout": shape}


def _with_gaps(moments: Sequence[datetime]) -> Iterator[datetime]:
    """The moments, and one more in each stretch that is longer than the usual step: no line has it (W1)."""
    step = min([_DAY, *(later - earlier for earlier, later in pairwise(moments))])
    for earlier, later in pairwise(moments):
        yield earlier
        if later - earlier > step:
            yield earlier + step
    yield from moments[-1:]


def _alone(values: Sequence[float | None]) -> list[bool]:
    """Which values stand between two gaps (W2)."""
    beside = [None, *values, None]
    return [
        value is not None and before is None and after is None
        for before, value, after in zip(beside, values, beside[2:], strict=False)
    ]


def _points_at(alone: Sequence[bool], size: int) -> dict[str, Any]:
    """Points in the colour of their line; plotly would pale and frame points of several sizes (W2)."""
    return {"size": [size + 1 if each else 0 for each in alone], "opacity": 1, "line": {"width": 0}}


def _around(hour: datetime) -> list[str]:
    return [(hour - timedelta(hours=1)).isoformat(), (hour + timedelta(hours=1)).isoformat()]
