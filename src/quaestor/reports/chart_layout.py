"""What all figures share: colours, layout, axes and names.  Rules in `charts`.

Called by charts and hour_lines.  Calls nothing of plotly.
"""

from html import escape
from typing import Any

from quaestor.reports.values import ABSENT

Figure = dict[str, Any]
Rows = list[dict[str, Any]]

BLUE, ORANGE, GREEN, RED, SKY, PINK, YELLOW = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#B8A800",
)  # fmt: skip
GREY = "#8A8F98"
PALETTE = (BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW)
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


def layout(height: int, **more: Any) -> dict[str, Any]:
    """What all figures share."""
    made: dict[str, Any] = {
        "height": height,
        "margin": {"l": 8, "r": 12, "t": 8, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 12},
        "hoverlabel": {"bgcolor": "#1d2430", "bordercolor": "#1d2430", "font": {"color": "#fff"}},
        "legend": {"orientation": "h", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "traceorder": "normal"},
        "dragmode": False,
    }
    made.update(more)
    return made


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"automargin": True, "zeroline": False, "fixedrange": True, "ticklabelstandoff": 6}
    if title:
        made["title"] = {"text": title, "standoff": 8}
    made.update(more)
    return made


def cut(made: Figure, drawn: int, of: int, which: str) -> Figure:
    """The figure, which says how many of how many it shows if that is not all (D3)."""
    if drawn < of:
        made["layout"]["meta"] = f"the {drawn} {which} of {of:,}"
    return made


def named(value: str | None) -> str:
    """A name as plotly shows it (D6)."""
    return ABSENT if value is None else escape(value, quote=False)


def short(value: float) -> float:
    """A figure to six digits that count, whatever its size: no chart needs more (D1)."""
    return float(f"{value:.6g}")
