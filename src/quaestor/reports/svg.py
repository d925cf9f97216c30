"""Small charts as SVG: bars about zero, one stacked bar, and a curve with a limit.

Rules
  V1  Figures stand beside their marks in words; the colours come from the page's styles, so light, dark and paper work.
  V2  All text is escaped.
  V3  No label is cut: long ones get room, and what is longer still is drawn closer together.
  V4  Who cannot see a drawing is told its figures: they are its name.

Called by plan_page.  Calls nothing.
"""

from collections.abc import Iterable, Sequence
from html import escape

WIDTH, NARROW = 900, 440
ROW = 24
LABEL, LABEL_MOST = 330, 560
LETTER = 7.6  # the width of a letter of queue names, 12 px high
VALUE = 64
SHADES = (1.0, 0.62, 0.34)


def bars(rows: Sequence[tuple[str, float, str]], low: float, high: float, *, narrow: bool = False) -> str:
    """Horizontal bars about zero: label, value, words; what is below zero is marked as over (V1).

    Labels stand to the left of their bars, where a window is narrow above them.
    """
    beside = min(LABEL_MOST, max(LABEL, int(LETTER * max((len(label) for label, *_ in rows), default=0)) + 10))  # V3
    width, left, row, begin = (NARROW, 0, 2 * ROW - 4, ROW - 4) if narrow else (WIDTH, beside, ROW, 0)
    right = width - VALUE
    zero = left + (0 - low) / (high - low) * (right - left) if any(value < 0 for _, value, _ in rows) else left
    made = []
    for place, (label, value, words) in enumerate(rows):
        top = place * row + begin
        scale = (right - zero) / high if value >= 0 else (zero - left) / -low
        length = max(2.0, abs(value) * scale)
        start = zero if value >= 0 else zero - length
        kind = "bar" if value >= 0 else "over"
        named = f'x="0" y="{top}"' if narrow else f'x="{left - 10}" y="{top + 16}" text-anchor="end"'
        named += _closer(label, width if narrow else left - 10)
        made.append(
            f"<text {named}>{escape(label)}</text>"
            f'<rect class="{kind}" x="{start:.1f}" y="{top + 4}" width="{length:.1f}" height="{ROW - 8}" rx="2"/>'
            f'<text x="{(zero + length if value >= 0 else zero) + 6:.1f}" y="{top + 16}">{escape(words)}</text>'
        )
    height = len(rows) * row + 4
    axis = f'<line class="axis" x1="{zero:.1f}" y1="0" x2="{zero:.1f}" y2="{height}"/>'
    return _svg(width, height, axis + "".join(made), "bars", (f"{label} {words}" for label, _, words in rows))


def _closer(label: str, room: int) -> str:
    """What makes a label fit that would be longer than its room (V3)."""
    return f' textLength="{room}" lengthAdjust="spacingAndGlyphs"' if LETTER * len(label) > room else ""


def stacked(parts: Sequence[tuple[str, float, str]]) -> str:
    """One bar of parts, each with its words below."""
    width, top, height = float(NARROW), 8, 34
    whole = sum(value for _, value, _ in parts) or 1.0
    made, start = [], 0.0
    for place, (label, value, words) in enumerate(parts):
        share = value / whole * width
        shade = SHADES[place % len(SHADES)]
        row = top + height + 22 + place * 20
        made.append(
            f'<rect class="bar" opacity="{shade}" x="{start:.1f}" y="{top}" width="{share:.1f}" height="{height}"/>'
            f'<rect class="bar" opacity="{shade}" x="0" y="{row - 10}" width="11" height="11"/>'
            f'<text x="18" y="{row}">{escape(label)}</text>'
            f'<text x="{width}" y="{row}" text-anchor="end">{escape(words)}</text>'
        )
        start += share
    return _svg(
        width,
        top + height + 10 + len(parts) * 20,
        "".join(made),
        "stacked bar",
        (f"{label} {words}" for label, _, words in parts),
    )


def curve(points: Sequence[tuple[float, float]], limit: float, x_title: str, y_title: str, limit_name: str) -> str:
    """A line through points, and the limit it should stay above."""
    width, height, left, bottom, top = float(NARROW), 230.0, 44.0, 44.0, 14.0
    x_low, x_high = points[0][0], points[-1][0]
    y_high = max(limit, *(y for _, y in points)) * 1.1

    def at(x: float, y: float) -> tuple[float, float]:
        across = left + (x - x_low) / (x_high - x_low) * (width - left - 12)
        return across, height - bottom - y / y_high * (height - bottom - top)

    placed = [at(x, y) for x, y in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
    _, level = at(x_low, limit)
    ticks = "".join(
        f'<text class="dim" x="{at(x, 0)[0]:.1f}" y="{height - bottom + 16}" text-anchor="middle">{x:g}</text>'
        for x in (0.5, 1, 2, 3, 4)
        if x_low <= x <= x_high
    )
    levels = "".join(
        f'<text class="dim" x="{left - 6}" y="{at(x_low, y)[1] + 4:.1f}" text-anchor="end">{y:.3g}</text>'
        for y in (0, y_high / 2, y_high)
    )
    dots = "".join(
        f'<circle class="{"over" if y < limit else "bar"}" cx="{px:.1f}" cy="{py:.1f}" r="{5 if x == 1 else 3}"/>'
        for (x, y), (px, py) in zip(points, placed, strict=True)
    )
    inside = (
        f'<line class="axis" x1="{left}" y1="{height - bottom}" x2="{width - 12}" y2="{height - bottom}"/>'
        f'<line class="mark" x1="{left}" y1="{level:.1f}" x2="{width - 12}" y2="{level:.1f}"/>'
        f'<text x="{width - 12}" y="{level - 6:.1f}" text-anchor="end">{escape(limit_name)}</text>'
        f'<polyline class="line" points="{line}"/>{dots}{ticks}{levels}'
        f'<text class="dim" x="{(left + width) / 2}" y="{height - 8}" text-anchor="middle">{escape(x_title)}</text>'
        f'<text class="dim" x="{left}" y="{top - 3}">{escape(y_title)}</text>'
    )
    told = (f"{y:.3g} {y_title} at {x:g} {x_title}" for x, y in points)
    return _svg(width, height, inside, "curve", (*told, f"limit {limit_name}"))


def _svg(width: float, height: float, inside: str, kind: str, told: Iterable[str]) -> str:
    name = escape(f"{kind}: {'; '.join(told)}")  # V4
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{name}">{inside}</svg>'
