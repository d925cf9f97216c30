"""Figures: Arrow tables of reports become plotly figures, as plain dictionaries.

Rules
  D1  A figure shows what its table has; nothing is computed here but shares of a whole and the order of bars.
  D2  Colours are told apart by people who see few of them (Okabe and Ito), and the meaning never hangs on colour
      alone: legends, labels and the table say the same. "Other" is grey.
  D3  Every axis has its unit, and so has a figure under the pointer. Too many series are cut to the ones that matter,
      and the title of the chart says so.
  D4  A period of one hour is drawn too: as a point between the hours around it. Where hours are few, points are large.
      A scale of powers of ten has two marks at least, or its figures could not be read.
  D5  Text and lines take their colour from the page, so that light, dark and paper need no second figure.
  D6  Names come from records. What has none is a dash (V1), and what plotly would take for markup is escaped.

Called by page.  Calls chart_layout, hour_lines; nothing of plotly: the page brings plotly.js, and a test checks the
figures against its schema.
"""

from collections.abc import Iterable, Sequence
from math import log10
from typing import Any

from quaestor.reports.chart_layout import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PALETTE,
    PINK,
    RED,
    SKY,
    Figure,
    Rows,
    axis,
    cut,
    layout,
    named,
    short,
)
from quaestor.reports.hour_lines import highest, line_figure, series
from quaestor.reports.values import duration

MOST_BARS = 14
_STAYS = [1, 100, 1e4, 1e6, 6e7, 3.6e9, 3.6e11]  # us to 100 hours, far enough apart for a phone
_ROW_PX = 26
_COUNTED, _MEASURED = "%{x:,d}", "%{x:,.4~r}"  # under the pointer: no powers of ten (D3)
_SPLIT = (
    ("cpu_s", "CPU", BLUE),
    ("log_s", "Log wait", ORANGE),
    ("page_set_s", "Page set I/O", GREEN),
    ("cf_s", "Coupling facility", PINK),
    ("db2_s", "Db2", SKY),
    ("other_s", "Other", GREY),
)


# --- bars -------------------------------------------------------------------------------------------------------------


def cpu_by_week(rows: Rows) -> list[Figure]:
    """Stacked weeks; one week alone is a bar for every application."""
    weeks = sorted({row["week"] for row in rows})
    totals = _totals(rows, "application", "cpu_s")
    if len(weeks) == 1:
        names = list(totals)[:MOST_BARS]
        made = _bars(names, [("CPU", [totals[name] for name in names], BLUE)], "CPU seconds", f"{_MEASURED} s")
        return [cut(made, len(names), len(totals), "largest")]
    main = list(totals)[: len(PALETTE)]
    sums: dict[str | None, dict[Any, float]] = {name: dict.fromkeys(weeks, 0.0) for name in [*main, None]}
    for row in rows:
        name = named(row["application"])
        sums[name if name in main else None][row["week"]] += row["cpu_s"] or 0.0
    if not any(sums[None].values()):
        del sums[None]
    labels = [f"{week:%d %b %Y}".lstrip("0") for week in weeks]
    data = [
        {
            "type": "bar",
            "name": name or "Other",
            "x": labels,
            "y": [short(value) for value in values.values()],
            "marker": {"color": GREY if name is None else PALETTE[place % len(PALETTE)]},
            "hovertemplate": "%{fullData.name}: %{y:,.4~r} s<extra></extra>",
        }
        for place, (name, values) in enumerate(sums.items())
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
    spent = [row for row in rows if (row["elapsed_s"] or 0) > 0]
    kept = spent[:MOST_BARS][::-1]
    labels = [f"{named(row['application'])}  <b>{duration(row['elapsed_s'] * 1e6)}</b>" for row in kept]
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
    return [cut({"data": data, "layout": shape}, len(kept), len(spent), "largest")]


def queue_traffic(rows: Rows) -> list[Figure]:
    """Bytes and messages by queue, two figures."""
    names = _labels(rows, "BASENAME")
    by_bytes = _largest(names, rows, "megabytes_put", "megabytes_got")
    by_count = _largest(names, rows, "messages_put", "messages_got")
    figures = [
        _two_bars(by_bytes, ("megabytes_put", "megabytes_got"), "million bytes", f"{_MEASURED} MB"),
        _two_bars(by_count, ("messages_put", "messages_got"), "messages", _COUNTED),
    ]
    return [cut(each, min(len(rows), MOST_BARS), len(rows), "largest") for each in figures]


def channel_traffic(rows: Rows) -> list[Figure]:
    """Messages by channel; and the batches achieved against BATCHSZ where there are batches."""
    names = _labels(rows, "CHANNEL")
    if len(set(names)) < len(names):  # one channel of two types: both bars would be drawn over each other
        names = [f"{name} {row['TYPE']}" for name, row in zip(names, rows, strict=True)]
    most = _largest(names, rows, "MESSAGES")
    messages = [("Messages", [row["MESSAGES"] for _, row in most], BLUE)]
    made = _bars([n for n, _ in most], messages, "messages", _COUNTED)
    figures = [cut(made, len(most), len(rows), "largest")]
    batched = [(name, row) for name, row in zip(names, rows, strict=True) if row["batch_size"] and row["BATCHSZ"]]
    if batched:
        several, batched = len(batched), batched[:MOST_BARS]
        made = _bars(
            [n for n, _ in batched],
            [("Messages a batch", [round(row["batch_size"], 1) for _, row in batched], GREEN)],
            "messages a batch",
            _MEASURED,
        )
        made["data"].append(_mark("BATCHSZ", [n for n, _ in batched], [row["BATCHSZ"] for _, row in batched]))
        made["layout"]["showlegend"] = True
        figures.append(cut(made, len(batched), several, "busiest"))
    return figures


def _two_bars(
    largest: Sequence[tuple[str, dict[str, Any]]], columns: tuple[str, str], title: str, shown: str
) -> Figure:
    put, got = columns
    labels = [name for name, _ in largest]
    both = [("Put", [row[put] for _, row in largest], BLUE), ("Got", [row[got] for _, row in largest], ORANGE)]
    return _bars(labels, both, title, shown)


def _bars(labels: Sequence[str], bars: Iterable[tuple[str, Sequence[Any], str]], title: str, shown: str) -> Figure:
    """Horizontal bars, the largest on top."""
    upward = list(labels)[::-1]
    data = [_bar(name, upward, list(values)[::-1], colour, shown) for name, values, colour in bars]
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
    stayed = [(name, row) for name, row in pairs if (row["MAXTOQ"] or 0) > 0]
    kept = stayed[:MOST_BARS][::-1]
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
    return [cut({"data": [span, mean], "layout": shape}, len(kept), len(stayed), "longest")]


# --- lines over time --------------------------------------------------------------------------------------------------


def buffer_pools(rows: Rows) -> list[Figure]:
    """The four pools that came closest to full, against the line below which pages are written out."""
    lines = series(rows, lambda row: f"{_qmgr(row)} pool {row['BUFFER_POOL']}", "low_percent")
    lowest = sorted(lines, key=lambda name: min(value for _, value in lines[name]))[:4]
    made = line_figure({name: lines[name] for name in lowest}, "lowest stealable, %", 340, "%{y:.3~r} %")
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
    return [cut(made, len(lowest), len(lines), "lowest")]


def log_activity(rows: Rows) -> list[Figure]:
    """Rate of writing, forces and checkpoints, one figure each."""
    rate = highest(series(rows, _qmgr, "megabytes_per_s"), "MB/s, all copies", 250, "%{y:,.4~r} MB/s")
    forces = highest(series(rows, _qmgr, "forces_per_s"), "forces a second", 250, "%{y:,.4~r} a second")
    checkpoints = highest(series(rows, _qmgr, "CHECKPOINTS"), "checkpoints", 250, "%{y:,d} checkpoints")
    if max((row["CHECKPOINTS"] or 0 for row in rows), default=0) <= 5:
        checkpoints["layout"]["yaxis"] |= {"dtick": 1, "range": [0, 5]}
    return [rate, forces, checkpoints]


def cf_activity(rows: Rows) -> list[Figure]:
    """Response to single requests, and how many requests there were, by structure."""
    for row in rows:
        row["requests"] = (row["QESTCSEC"] or 0) + (row["QESTCMEC"] or 0)
    return [
        highest(series(rows, _structure, "single_avg_us"), "us a single request", 280, "%{y:,.4~r} us"),
        highest(series(rows, _structure, "requests"), "requests", 280, "%{y:,d} requests"),
    ]


# --- names and order --------------------------------------------------------------------------------------------------


def _labels(rows: Rows, column: str) -> list[str]:
    """Names for rows, with the queue manager in front when there are several."""
    several = len({row["QMGR"] for row in rows}) > 1
    return [f"{_qmgr(row)} {named(row[column])}" if several else named(row[column]) for row in rows]


def _largest(names: Sequence[str], rows: Rows, *columns: str) -> list[tuple[str, dict[str, Any]]]:
    pairs = sorted(zip(names, rows, strict=True), key=lambda pair: -sum(pair[1][each] or 0 for each in columns))
    return pairs[:MOST_BARS]


def _totals(rows: Rows, key: str, column: str) -> dict[str, float]:
    """Sums by key, the largest first."""
    sums: dict[str, float] = {}
    for row in rows:
        name = named(row[key])
        sums[name] = sums.get(name, 0.0) + (row[column] or 0.0)
    return dict(sorted(sums.items(), key=lambda pair: (-pair[1], pair[0])))


def _height(bars: float) -> int:
    return int(90 + _ROW_PX * max(bars, 2))


def _qmgr(row: dict[str, Any]) -> str:
    return named(row["QMGR"])


def _structure(row: dict[str, Any]) -> str:
    return f"{_qmgr(row)} {named(row['STRUCTURE'])}"
