"""The list of exceptions on the page: one line for what recurs, the worst first (M4).

Called by page.  Calls values.
"""

import re
from collections.abc import Sequence
from datetime import date
from html import escape
from typing import Any

from quaestor.reports.values import duration, figure

MOST_LINES, MOST_NAMES = 40, 12
_ORDER = {"alert": 0, "warning": 1, "note": 2}


def condensed(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry per rule and queue manager: its objects, days, times and worst figure, the worst first."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        name = row["object"]
        kind = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.])", "%s", row["message"]) if name else row["message"]
        found.setdefault((_ORDER[row["severity"]], row["rule"], row["qmgr"], kind), []).append(row)
    groups = sorted(found.items(), key=lambda pair: (pair[0][0], -len(pair[1]), str(pair[0])))
    return [_entry(group) for _, group in groups]


def _entry(group: Sequence[dict[str, Any]]) -> dict[str, Any]:
    lowest = group[0]["unit"] == "% left"
    known = [row for row in group if row["worst"] is not None] or list(group)
    worst = (min if lowest else max)(known, key=lambda row: row["worst"] or 0)
    return {
        **{name: worst[name] for name in ("severity", "rule", "qmgr", "message", "unit", "advice", "worst")},
        "others": sorted({row["object"] or "?" for row in group} - {worst["object"] or "?"}),
        "days": sorted({row["date"] for row in group}),
        "times": (min(row["first_time"] for row in group), max(row["last_time"] for row in group)),
        "intervals": sum(row["intervals"] for row in group),
    }


def findings_list(rows: Sequence[dict[str, Any]]) -> str:
    entries = condensed(rows)
    lines = "\n".join(_line(each) for each in entries[:MOST_LINES])
    left = len(entries) - MOST_LINES
    more = f'<p class="more">{left} more in the table.</p>' if left > 0 else ""
    return f'<ul class="findings">{lines}</ul>{more}'


def _line(entry: dict[str, Any]) -> str:
    also = f" Also {_names(entry['others'])}." if entry["others"] else ""
    return (
        f'<li><span class="tag {entry["severity"]}">{entry["severity"]}</span>'
        f'<span class="what">{escape(entry["message"])}</span><span class="worst">{escape(_worst(entry))}</span>'
        f'<span class="where"><b>{escape(entry["qmgr"] or "?")}</b>, {_when(entry["days"], entry["times"])}.'
        f"{escape(also)} {escape(entry['advice'])} <i>{escape(entry['rule'])}</i></span></li>"
    )


def _names(names: Sequence[str]) -> str:
    """Some names, and how many more there are: a thousand queues are no line."""
    left = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {left:,} more" if left > 0 else "")


def _worst(entry: dict[str, Any]) -> str:
    """The worst figure with its unit; times in the unit that suits them."""
    if entry["worst"] is None:
        return ""
    unit = str(entry["unit"])
    if unit.startswith("us"):
        return duration(entry["worst"]) + unit.removeprefix("us")
    return f"{figure(entry['worst'], grouped=True)} {unit}"


def _when(days: Sequence[date], times: tuple[str, str]) -> str:
    """The day and hours, or the first and last of several days."""
    first, last = days[0], days[-1]
    if len(days) == 1:
        begin, end = times[0][:5], times[1][:5]
        return f"{first:%-d %b %Y} {begin}" + (f" to {end}" if end != begin else "")
    begin = f"{first:%-d %b}" if first.year == last.year else f"{first:%-d %b %Y}"
    return f"{len(days)} days, {begin} to {last:%-d %b %Y}"
