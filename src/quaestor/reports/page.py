"""One HTML file: the exceptions first, then the pictures, each with the table behind it.

Rules
  M1  The file is whole: style, script and plotly.js stand inside it, nothing is fetched, and its own security policy
      forbids the browser to fetch anything. It opens from a disk, in a mail or without a network.
  M2  A section that has nothing to show says so in words. Without a script the tables are still there.
  M3  plotly.js is the largest part by far; it is packed with gzip and unpacked by the browser.
  M4  What recurs day after day is one line of the list, with its first and last day; the table has every day.
  M5  Where nothing was measured, nothing is said to be in line, and a figure of the head is a dash (V1).

Called by the door.  Calls charts, markup, namesakes.
"""

import base64
import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from importlib.resources import files
from typing import Any

import pyarrow as pa

from quaestor.reports import charts
from quaestor.reports.catalog import REPORTS
from quaestor.reports.catalog.model import Report, Unit
from quaestor.reports.chart_layout import Figure, Rows
from quaestor.reports.findings import condensed, findings_list
from quaestor.reports.markup import table
from quaestor.reports.namesakes import told_apart
from quaestor.reports.values import ABSENT, duration, figure, shown

_NO_FIGURE = '<p class="nodata">No record of this period has these figures.</p>'
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"  # M1


@dataclass(frozen=True, slots=True)
class Picture:
    """A section with charts: the report behind it, what to see in it, and a caption for every chart."""

    report: str
    title: str
    about: str
    draw: Callable[[Rows], list[Figure]]
    captions: tuple[str, ...] = ("",)
    columns: str = "wide"


PICTURES = (
    Picture(
        "cpu-by-week",
        "CPU by application",
        "CPU time of MQI calls and commits. Channels stand under their own names. Weeks count whole.",
        charts.cpu_by_week,
    ),
    Picture(
        "elapsed-split",
        "Where elapsed time goes",
        "Time inside MQ by what it was spent on; the figure beside a name is its elapsed time in the whole period.",
        charts.elapsed_split,
    ),
    Picture(
        "queue-traffic",
        "Bytes and messages by queue",
        "Successful puts and gets, under the base name of the queue.",
        charts.queue_traffic,
        ("Bytes", "Messages"),
        "two",
    ),
    Picture(
        "time-on-queue",
        "Time on queue",
        "How long messages lay before a destructive get. A long stay on a channel's sync queue is no fault.",
        charts.time_on_queue,
    ),
    Picture(
        "buffer-pools",
        "Buffer pools",
        "The least part of a pool that could be stolen in each hour, for the pools that came closest to full.",
        charts.buffer_pools,
    ),
    Picture(
        "log-activity",
        "Log",
        "Both copies together; forces are tasks that waited for a log write; checkpoints are those LOGLOAD caused.",
        charts.log_activity,
        ("Written", "Forces", "Checkpoints"),
        "three",
    ),
    Picture(
        "cf-activity",
        "Coupling facility structures",
        "Response of the structures to requests for a single entry, and how many requests of all kinds there were.",
        charts.cf_activity,
        ("Response", "Requests"),
        "two",
    ),
    Picture(
        "channel-traffic",
        "Channels",
        "Messages moved, and the batches that were achieved against the negotiated size.",
        charts.channel_traffic,
        ("Messages", "Batches"),
        "two",
    ),
)
NEEDED = ("exceptions", *(each.report for each in PICTURES))
"""The reports that the page is made of."""


def page(results: Mapping[str, pa.Table], title: str, written: str) -> str:
    """The whole file from the tables of `NEEDED`; `written` says when and from what."""
    sections = [_exceptions(REPORTS["exceptions"], results)]
    sections += [_picture(each, results[each.report]) for each in PICTURES]
    links = [("exceptions", "Exceptions"), *((each.report, each.title) for each in PICTURES)]
    places = "".join(f'<a href="#{name}">{escape(text)}</a>' for name, text in links)
    body = (
        f"<header><h1>{escape(title)}</h1><p class='lead'>{escape(_period(results))}</p><nav>{places}</nav>"
        f"{_figures(results)}</header>\n<main>\n{''.join(sections)}</main>\n"
        f"<footer><p>{escape(written)}</p></footer>\n"
    )
    scripts = f'<script type="text/plain" id="plotly">{_packed_plotly()}</script>\n<script>{_asset("page.js")}</script>'
    return _document(title, body, scripts)


def small_page(report: Report, rows: pa.Table) -> str:
    """One report as a page of its own, without charts."""
    body = (
        f"<header><h1>{escape(report.title)}</h1><p class='lead'>{escape(report.grain)}</p></header>\n"
        f"<main><section>{table(report, rows, most=None)}</section></main>\n"
    )
    return _document(report.title, body, "")


def _document(title: str, body: str, scripts: str) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_asset('page.css')}</style>\n</head>\n"
        f"<body>\n{body}{scripts}\n</body>\n</html>\n"
    )


# --- sections ---------------------------------------------------------------------------------------------------------


def _exceptions(report: Report, results: Mapping[str, pa.Table]) -> str:
    rows, kinds = results[report.name], _measured(results)
    if rows.num_rows == 0 and not kinds:
        inside = '<p class="nodata">Nothing was measured in this period, so no threshold was tried.</p>'  # M5
    elif rows.num_rows == 0:
        tried = "Every threshold of MP1B was tried." if len(kinds) > 1 else f"Only those on {kinds[0]} were tried."
        inside = f'<p class="empty">{escape(report.empty)} {tried}</p>'
    else:
        inside = findings_list(told_apart(report, rows)) + _details(report, rows)
    about = (
        "Thresholds of MP1B that were crossed; the same finding on several days is one line. "
        "Times are those at which intervals ended."
    )
    return _section(report.name, "Exceptions", about, inside)


def _measured(results: Mapping[str, pa.Table]) -> list[str]:
    """Which kinds of records the period has (M5)."""
    kinds = {"accounting": ("cpu-by-week", "queue-traffic"), "statistics": ("log-activity", "buffer-pools")}
    return [kind for kind, names in kinds.items() if any(results[name].num_rows for name in names)]


def _picture(picture: Picture, rows: pa.Table) -> str:
    report = REPORTS[picture.report]
    figures = picture.draw(told_apart(report, rows)) if rows.num_rows else []
    if not figures:
        inside = f'<p class="nodata">{escape(report.empty)}</p>'
        return _section(report.name, picture.title, picture.about, inside)
    parts = []
    for number, (made, caption) in enumerate(zip(figures, picture.captions, strict=False)):
        told = ": ".join(each for each in (caption, made["layout"].get("meta", "")) if each)  # D3
        heading = f"<h3>{escape(told[0].upper() + told[1:])}</h3>" if told else ""
        drawn = _chart(f"{report.name}-{number}", f"{picture.title} {told}".strip(), made)
        parts.append(f"<div>{heading}{drawn if _has_points(made) else _NO_FIGURE}</div>")
    inside = f'<div class="charts {picture.columns}">{"".join(parts)}</div>{_details(report, rows)}'
    return _section(report.name, picture.title, picture.about, inside)


def _section(name: str, title: str, about: str, inside: str) -> str:
    return f'<section id="{name}"><h2>{escape(title)}</h2><p class="about">{escape(about)}</p>{inside}</section>\n'


def _has_points(made: Figure) -> bool:
    """Whether there is anything to be seen: a figure of nothing would still have its axes (M2)."""
    points = (zip(trace["x"], trace["y"], strict=True) for trace in made["data"])
    return any(x is not None and y is not None for each in points for x, y in each)


def _chart(name: str, title: str, made: Figure) -> str:
    data = json.dumps(made, separators=(",", ":")).replace("<", "\\u003c")
    height = made["layout"]["height"]
    said = escape(f"Chart: {title}. The table below has its figures.")
    return (
        f'<div class="chart" role="img" aria-label="{said}" data-figure="figure-{name}" style="min-height:{height}px">'
        "<noscript><p class='nodata'>A chart needs a script; the table below has its figures.</p></noscript></div>"
        f'<script type="application/json" id="figure-{name}">{data}</script>'
    )


def _details(report: Report, rows: pa.Table) -> str:
    many = f"{rows.num_rows:,} row{'s' if rows.num_rows != 1 else ''}"
    return f"<details><summary>Table: {escape(report.grain)} ({many})</summary>{table(report, rows)}</details>"


# --- the head ---------------------------------------------------------------------------------------------------------


def _period(results: Mapping[str, pa.Table]) -> str:
    """Which days and queue managers the page is about."""
    measured = next((name for name in ("log-activity", "buffer-pools") if results[name].num_rows), "log-activity")
    rows = told_apart(REPORTS[measured], results[measured])
    if not rows:
        return "No statistics in this period."
    first, last = min(row["hour"] for row in rows), max(row["hour"] for row in rows)
    managers = sorted({shown(row["QMGR"], Unit.TEXT) for row in rows})
    begin = f"{first:%-d %B}" if first.year == last.year else f"{first:%-d %B %Y}"
    days = f"{first:%-d %B %Y}" if first.date() == last.date() else f"{begin} to {last:%-d %B %Y}"
    plural = "s" if len(managers) > 1 else ""
    return f"{days}, queue manager{plural} {', '.join(managers)}"


def _figures(results: Mapping[str, pa.Table]) -> str:
    """The few figures that say how large the installation is."""
    weeks, queues = results["cpu-by-week"].to_pylist(), results["queue-traffic"].to_pylist()
    bad = told_apart(REPORTS["exceptions"], results["exceptions"])
    made = {"Exceptions": (str(len(condensed(bad))), _on_days(len({row["date"] for row in bad})))}
    if not bad and not _measured(results):
        made["Exceptions"] = (ABSENT, "")
    whole = _in_weeks(len({row["week"] for row in weeks}))
    made |= {
        "CPU": (duration(1e6 * _sum(weeks, "cpu_s")), whole),
        "Commits": (_large(_sum(weeks, "commits")), whole),
        "Messages put": (_large(_sum(queues, "messages_put")), ""),
        "Bytes put": (_bytes(1e6 * _sum(queues, "megabytes_put")), ""),
    }
    if not weeks and not queues:
        made |= dict.fromkeys(("CPU", "Commits", "Messages put", "Bytes put"), (ABSENT, ""))  # M5
    kinds = {"Exceptions": ' class="bad"' if bad else ' class="good"' if _measured(results) else ""}
    cells = (
        f"<div{kinds.get(name, '')}><dt>{name}</dt><dd>{value} <small>{more}</small></dd></div>"
        for name, (value, more) in made.items()
    )
    return f'<dl class="figures">{"".join(cells)}</dl>'


def _on_days(days: int) -> str:
    return f"on {days} day{'s' if days != 1 else ''}" if days else ""


def _in_weeks(weeks: int) -> str:
    """That these are sums of whole weeks, whatever days were asked for."""
    return f"in {weeks} whole week{'s' if weeks != 1 else ''}"


def _sum(rows: list[dict[str, Any]], column: str) -> float:
    return float(sum(row[column] or 0 for row in rows))


def _bytes(value: float) -> str:
    told = _large(value)
    return f"{told}B" if told[-1].isalpha() else f"{told} B"


def _large(value: float) -> str:
    """A large number in few characters."""
    for least, size, unit in ((1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if value >= least * 0.9995:
            return f"{figure(value / size)} {unit}"
    return figure(round(value), grouped=True)


# --- what the file brings along ---------------------------------------------------------------------------------------


def _asset(name: str) -> str:
    return files("quaestor.reports").joinpath("assets", name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _packed_plotly() -> str:
    """plotly.js as the package of that name ships it, packed for `page.js` to unpack (M3)."""
    source = files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    return base64.b64encode(gzip.compress(source, 9, mtime=0)).decode("ascii")
