"""Figures: Arrow tables of reports become plotly figures, as plain dictionaries.

Rules
  D1  A figure shows what its table has; nothing is computed here but shares of a whole and the order of bars.
  D2  Colours are told apart by people who see few of them (Okabe and Ito), and the meaning never hangs on colour
      alone: legends, labels and the table say the same. "Other" is grey.
  D3  Every axis has its unit. Too many series are cut to the ones that matter, and the title of the chart says so.
  D4  A period of one hour is drawn too: as a point between the hours around it. Where hours are few, points are large.
      A scale of powers of ten has two marks at least, or its figures could not be read.
  D5  Text and lines take their colour from the page, so that light, dark and paper need no second figure.
  D6  Names come from records. What has none is a dash (V1), and what plotly would take for markup is escaped.

Called by page.  Calls nothing of plotly: the page brings plotly.js, and a test checks the figures against its schema.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from html import escape
from math import log10
from typing import Any

from quaestor.reports.values import ABSENT, duration

Figure = dict[str, Any]
Rows = list[dict[str, Any]]

BLUE, ORANGE, GREEN, RED, SKY, PINK, YELLOW = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#B8A800",
)  # fmt: skip
GREY = "#8A8F98"
PALETTE = (BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
MOST_BARS = 14
_STAYS = [1, 100, 1e4, 1e6, 6e7, 3.6e9, 3.6e11]  # us to 100 hours, far enough apart for a phone
_ROW_PX = 26
_SPLIT = (
    ("cpu_s", "CPU", BLUE),
    ("log_s", "Log wait", ORANGE),
    ("page_set_s", "Page set I/O", GREEN),
    ("cf_s", "Coupling facility", PINK),
    ("db2_s", "Db2", SKY),
    ("other_s", "Other", GREY),
)


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


# --- bars -------------------------------------------------------------------------------------------------------------


def cpu_by_week(rows: Rows) -> list[Figure]:
    """Stacked weeks; one week alone is a bar for every application."""
    weeks = sorted({row["week"] for row in rows})
    totals = _totals(rows, "application", "cpu_s")
    if len(weeks) == 1:
        names = list(totals)[:MOST_BARS]
        return [_bars(names, [("CPU", [totals[name] for name in names], BLUE)], "CPU seconds")]
    main = list(totals)[: len(PALETTE)]
    series = {name: dict.fromkeys(weeks, 0.0) for name in [*main, "Other"]}
    for row in rows:
        name = _name(row["application"])
        series[name if name in main else "Other"][row["week"]] += row["cpu_s"] or 0.0
    if not any(series["Other"].values()):
        del series["Other"]
    labels = [f"{week:%d %b %Y}".lstrip("0") for week in weeks]
    data = [
        {
            "type": "bar",
            "name": name,
            "x": labels,
            "y": [round(value, 3) for value in values.values()],
            "marker": {"color": GREY if name == "Other" else PALETTE[place % len(PALETTE)]},
            "hovertemplate": "%{fullData.name}: %{y:,.1f} s<extra></extra>",
        }
        for place, (name, values) in enumerate(series.items())
    ]
    shape = layout(
        380,
        barmode="stack",
        bargap=0.45,
        hovermode="x",
        xaxis=axis("week beginning", type="category"),
        yaxis=axis("CPU seconds", rangemode="tozero"),
    )
    return [{"data": data, "layout": shape}]


def elapsed_split(rows: Rows) -> list[Figure]:
    """What share of each application's elapsed time went where; the label has the whole."""
    kept = [row for row in rows if (row["elapsed_s"] or 0) > 0][:MOST_BARS][::-1]
    labels = [f"{_name(row['application'])}  <b>{duration(row['elapsed_s'] * 1e6)}</b>" for row in kept]
    data = []
    for column, name, colour in _SPLIT:
        wholes = [sum(row[part] or 0.0 for part, *_ in _SPLIT) or 1.0 for row in kept]
        shares = [100 * (row[column] or 0.0) / whole for row, whole in zip(kept, wholes, strict=True)]
        if any(share >= 0.05 for share in shares):
            data.append(_bar(name, labels, [round(share, 2) for share in shares], colour, "%{x:.1f} %"))
    shape = layout(
        _height(len(kept)),
        barmode="stack",
        bargap=0.35,
        xaxis=axis("per cent of elapsed time", range=[0, 100]),
        yaxis=axis(type="category"),
    )
    return [{"data": data, "layout": shape}]


def queue_traffic(rows: Rows) -> list[Figure]:
    """Bytes and messages by queue, two figures."""
    names = _labels(rows, "BASENAME")
    by_bytes = _largest(names, rows, "megabytes_put", "megabytes_got")
    by_count = _largest(names, rows, "messages_put", "messages_got")
    return [
        _two_bars(by_bytes, ("megabytes_put", "megabytes_got"), "million bytes"),
        _two_bars(by_count, ("messages_put", "messages_got"), "messages"),
    ]


def channel_traffic(rows: Rows) -> list[Figure]:
    """Messages by channel; and the batches achieved against BATCHSZ where there are batches."""
    names = _labels(rows, "CHANNEL")
    if len(set(names)) < len(names):  # one channel of two types: both bars would be drawn over each other
        names = [f"{name} {row['TYPE']}" for name, row in zip(names, rows, strict=True)]
    most = _largest(names, rows, "MESSAGES")
    figures = [_bars([n for n, _ in most], [("Messages", [row["MESSAGES"] for _, row in most], BLUE)], "messages")]
    batched = [(name, row) for name, row in zip(names, rows, strict=True) if row["batch_size"] and row["BATCHSZ"]]
    if batched:
        batched = batched[:MOST_BARS]
        made = _bars(
            [n for n, _ in batched],
            [("Messages a batch", [round(row["batch_size"], 1) for _, row in batched], GREEN)],
            "messages a batch",
        )
        made["data"].append(_mark("BATCHSZ", [n for n, _ in batched], [row["BATCHSZ"] for _, row in batched]))
        made["layout"]["showlegend"] = True
        figures.append(made)
    return figures


def _two_bars(named: Sequence[tuple[str, dict[str, Any]]], columns: tuple[str, str], title: str) -> Figure:
    put, got = columns
    labels = [name for name, _ in named]
    return _bars(
        labels,
        [("Put", [row[put] for _, row in named], BLUE), ("Got", [row[got] for _, row in named], ORANGE)],
        title,
    )


def _bars(labels: Sequence[str], series: Iterable[tuple[str, Sequence[Any], str]], title: str) -> Figure:
    """Horizontal bars, the largest on top."""
    upward = list(labels)[::-1]
    data = [_bar(name, upward, list(values)[::-1], colour, "%{x:,.4~g}") for name, values, colour in series]
    shape = layout(
        _height(len(upward) * (1.5 if len(data) > 1 else 1)),
        barmode="group",
        bargap=0.3,
        xaxis=axis(title, rangemode="tozero", nticks=6),
        yaxis=axis(type="category"),
    )
    shape["legend"]["traceorder"] = "reversed" if len(data) > 1 else "normal"
    return {"data": data[::-1], "layout": shape}


def _bar(name: str, labels: Sequence[str], values: Sequence[Any], colour: str, shown: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": list(labels),
        "x": list(values),
        "marker": {"color": colour},
        "hovertemplate": f"%{{y}}<br>%{{fullData.name}}: {shown}<extra></extra>",
    }


def _mark(name: str, labels: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "y": list(labels),
        "x": list(values),
        "marker": {"symbol": "line-ns-open", "size": 18, "color": RED, "line": {"width": 3}},
        "hovertemplate": "%{y}<br>%{fullData.name}: %{x}<extra></extra>",
    }


# --- ranges -----------------------------------------------------------------------------------------------------------


def time_on_queue(rows: Rows) -> list[Figure]:
    """From the shortest to the longest stay of a message, with the mean, on a scale of powers of ten."""
    pairs = zip(_labels(rows, "BASENAME"), rows, strict=True)
    kept = [(name, row) for name, row in pairs if (row["MAXTOQ"] or 0) > 0][:MOST_BARS][::-1]
    xs: list[Any] = []
    ys: list[Any] = []
    for name, row in kept:
        xs += [max(row["MINTOQ"] or 0, 1), max(row["MAXTOQ"], 1), None]  # a scale of powers of ten begins at 1 us
        ys += [name, name, None]
    span = {
        "type": "scatter", "mode": "lines+markers", "name": "shortest to longest", "x": xs, "y": ys,
        "line": {"color": SKY, "width": 7}, "marker": {"color": SKY, "size": 7, "symbol": "square"},
        "hoverinfo": "skip",
    }  # fmt: skip
    known = [(name, row) for name, row in kept if row["AVGTOQ"] is not None]
    mean = {
        "type": "scatter", "mode": "markers", "name": "mean", "x": [max(row["AVGTOQ"], 1) for _, row in known],
        "y": [name for name, _ in known], "marker": {"color": BLUE, "size": 11},
        "customdata": [[duration(row[each] or 0) for each in ("MINTOQ", "AVGTOQ", "MAXTOQ")] for _, row in known],
        "hovertemplate": "%{y}<br>shortest %{customdata[0]}, mean %{customdata[1]}, longest %{customdata[2]}"
        "<extra></extra>",
    }  # fmt: skip
    stays = axis("time on queue", type="log", tickvals=_STAYS, ticktext=[duration(each) for each in _STAYS])
    if kept:  # D4
        shortest, longest = min(x for x in xs if x is not None), max(x for x in xs if x is not None)
        below = max(each for each in _STAYS if each <= shortest)
        above = min((each for each in _STAYS if each >= longest), default=longest)
        stays["range"] = [log10(below) - 0.1, log10(above) + 0.1]
    shape = layout(
        _height(len(kept)),
        xaxis=stays,
        yaxis=axis(type="category", range=[-0.6, len(kept) - 0.4]),
    )
    return [{"data": [span, mean], "layout": shape}]


# --- lines over time --------------------------------------------------------------------------------------------------


def buffer_pools(rows: Rows) -> list[Figure]:
    """The four pools that came closest to full, against the line below which pages are written out."""
    lines = _series(rows, lambda row: f"{_qmgr(row)} pool {row['BUFFER_POOL']}", "low_percent")
    lowest = sorted(lines, key=lambda name: min(value for _, value in lines[name]))[:4]
    made = _lines({name: lines[name] for name in lowest}, "lowest stealable, %", 340, "%{y:.0f} %")
    made["layout"]["yaxis"]["range"] = [0, 100]
    if not lowest:
        return [made]
    moments = made["layout"]["xaxis"].get("range", made["data"][0]["x"])
    made["data"].append(
        {
            "type": "scatter", "mode": "lines", "name": "15 %: deferred writes begin", "x": [moments[0], moments[-1]],
            "y": [15, 15], "line": {"color": RED, "width": 1.5, "dash": "dash"}, "hoverinfo": "skip",
        }
    )  # fmt: skip
    made["layout"]["showlegend"] = True
    return [made]


def log_activity(rows: Rows) -> list[Figure]:
    """Rate of writing, forces and checkpoints, one figure each."""
    rate = _lines(_series(rows, _qmgr, "megabytes_per_s"), "MB/s, all copies", 250, "%{y:.3~g} MB/s")
    forces = _lines(_series(rows, _qmgr, "forces_per_s"), "forces a second", 250, "%{y:.3~g} a second")
    checkpoints = _lines(_series(rows, _qmgr, "CHECKPOINTS"), "checkpoints an hour", 250, "%{y:.0f} an hour")
    if max((row["CHECKPOINTS"] or 0 for row in rows), default=0) <= 5:
        checkpoints["layout"]["yaxis"] |= {"dtick": 1, "range": [0, 5]}
    return [rate, forces, checkpoints]


def cf_activity(rows: Rows) -> list[Figure]:
    """Response to single requests, and how many requests there were, by structure."""
    for row in rows:
        row["requests"] = (row["QESTCSEC"] or 0) + (row["QESTCMEC"] or 0)
    times = _busiest(_series(rows, _structure, "single_avg_us"))
    counts = _busiest(_series(rows, _structure, "requests"))
    return [
        _lines(times, "us a single request", 280, "%{y:.3~g} us"),
        _lines(counts, "requests an hour", 280, "%{y:,.0f} an hour"),
    ]


Points = list[tuple[Any, float]]


def _series(rows: Rows, name: Any, column: str) -> dict[str, Points]:
    made: dict[str, Points] = {}
    for row in rows:
        if row[column] is not None:
            made.setdefault(name(row), []).append((row["hour"], row[column]))
    return made


def _busiest(lines: dict[str, Points]) -> dict[str, Points]:
    """The six lines that reach highest."""
    kept = sorted(lines, key=lambda name: -max(value for _, value in lines[name]))[:6]
    return {name: lines[name] for name in sorted(kept)}


def _lines(lines: dict[str, Points], title: str, height: int, shown: str) -> Figure:
    moments = sorted({when for points in lines.values() for when, _ in points})
    few = len(moments) <= 60
    dashes = DASHES if few else ("solid",)
    data = []
    for place, (name, points) in enumerate(lines.items()):
        values = dict(points)
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if few else "lines",
                "name": name,
                "x": [when.isoformat() for when in moments],
                "y": [round(values[when], 4) if when in values else None for when in moments],
                "line": {"color": PALETTE[place % len(PALETTE)], "width": 1.6, "dash": dashes[place % len(dashes)]},
                "marker": {"size": 4 if len(moments) > 3 else 9},
                "hovertemplate": f"%{{fullData.name}}: {shown}<extra></extra>",
            }
        )
    shape = layout(
        height,
        hovermode="x unified",
        showlegend=len(data) > 1,
        xaxis=axis(type="date", tickformatstops=_TICKS, nticks=8),
        yaxis=axis(title, rangemode="tozero"),
    )
    if len(moments) == 1:  # D4
        shape["xaxis"] |= {"range": _around(moments[0]), "dtick": 3_600_000}
    return {"data": data, "layout": shape}


def _around(hour: datetime) -> list[str]:
    return [(hour - timedelta(hours=1)).isoformat(), (hour + timedelta(hours=1)).isoformat()]


_TICKS = [
    {"dtickrange": [None, 43_200_000], "value": "%H:%M\n%-d %b"},
    {"dtickrange": [43_200_000, None], "value": "%-d %b"},
]


# --- names and order --------------------------------------------------------------------------------------------------


def _labels(rows: Rows, column: str) -> list[str]:
    """Names for rows, with the queue manager in front when there are several."""
    several = len({row["QMGR"] for row in rows}) > 1
    return [f"{_qmgr(row)} {_name(row[column])}" if several else _name(row[column]) for row in rows]


def _largest(names: Sequence[str], rows: Rows, *columns: str) -> list[tuple[str, dict[str, Any]]]:
    pairs = sorted(zip(names, rows, strict=True), key=lambda pair: -sum(pair[1][each] or 0 for each in columns))
    return pairs[:MOST_BARS]


def _totals(rows: Rows, key: str, column: str) -> dict[str, float]:
    """Sums by key, the largest first."""
    sums: dict[str, float] = {}
    for row in rows:
        name = _name(row[key])
        sums[name] = sums.get(name, 0.0) + (row[column] or 0.0)
    return dict(sorted(sums.items(), key=lambda pair: (-pair[1], pair[0])))


def _height(bars: float) -> int:
    return int(90 + _ROW_PX * max(bars, 2))


def _name(value: str | None) -> str:
    """A name as plotly shows it (D6)."""
    return ABSENT if value is None else escape(value, quote=False)


def _qmgr(row: dict[str, Any]) -> str:
    return _name(row["QMGR"])


def _structure(row: dict[str, Any]) -> str:
    return f"{_qmgr(row)} {_name(row['STRUCTURE'])}"
