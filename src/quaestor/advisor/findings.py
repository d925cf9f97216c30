"""Findings: what a rule met on one object, merged over time, with the figures of the worst interval.

Rules
  D1  All intervals in which one object meets one rule are one finding: how many of how many, from when to when. An
      interval whose record has no time is counted and moves neither end.
  D2  The worst interval is the one with the highest measure (the lowest, where low is worse); its figures word the
      advice, the command and the effect. From when to when it was is told with them.
  D3  A finding is as severe as its gravest interval, and an alert is worded by the worst of those that make it one.
  D4  Findings are ranked by severity, then by how many intervals they cover, then by queue manager and object.
  D5  A command can be given as it stands: names with small letters are in quotation marks.

Called by evaluate.  Calls rule, rows; the planner, through the rules' effects.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import numpy as np

from quaestor.advisor.rows import Array, Groups, Mask, Rows
from quaestor.advisor.rule import Rule, Severity, names_in, worded, worded_if_known
from quaestor.advisor.views import View
from quaestor.planner.source import OutOfRangeError

IsOurs = Callable[[str, str], bool]
"""Whether the queue manager of a name on a system is of this product (settings, E5)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that one object met (D1); times are local to the system, None for settings."""

    rule: Rule
    severity: Severity
    system: str
    queue_manager: str
    subject: str
    intervals: int
    intervals_seen: int
    first: datetime | None
    last: datetime | None
    worst_from: datetime | None
    worst_at: datetime | None
    figures: Mapping[str, Any]
    advice: str
    command: str
    effect: str


def merged(
    rule: Rule,
    cut: SimpleNamespace,
    view: View,
    rows: Rows,
    met: Mask,
    grave: Mask,
    shown: tuple[str, ...],
    is_ours: IsOurs,
) -> list[Finding]:
    """One finding for each object that met the rule (D1)."""
    keys = sorted(names_in(view.subject))
    groups = Groups([rows.system, rows.queue_manager, *(getattr(rows, key) for key in keys)])
    seen = groups.counts
    fired = np.flatnonzero(met)
    fired = fired[np.argsort(groups.of_row[fired], kind="stable")]
    found, begins = np.unique(groups.of_row[fired], return_index=True)
    made = []
    for group, mine in zip(found, np.split(fired, begins[1:]), strict=True):
        gravest = mine[grave[mine]] if grave[mine].any() else mine  # D3
        worst = gravest[_worst(rule, getattr(rows, rule.measure)[gravest])]
        severity = Severity.ALERT if grave[mine].any() else rule.severity
        made.append(_finding(rule, cut, view, rows, mine, int(worst), int(seen[group]), severity, shown, is_ours))
    return made


def _worst(rule: Rule, measure: Array) -> int:
    """Which of these rows is the worst (D2)."""
    if rule.low_is_worse:
        return int(np.argmin(np.where(np.isnan(measure), np.inf, measure)))
    return int(np.argmax(np.where(np.isnan(measure), -np.inf, measure)))


def _finding(
    rule: Rule,
    cut: SimpleNamespace,
    view: View,
    rows: Rows,
    mine: Array,
    worst: int,
    seen: int,
    severity: Severity,
    shown: tuple[str, ...],
    is_ours: IsOurs,
) -> Finding:
    row = rows.row(worst)
    command = rule.command_for(ours=is_ours(row["queue_manager"] or "", row["system"] or ""))
    begins = rows.local_time[mine] - _length(np.nan_to_num(rows.seconds[mine]))
    figures = {name: row[name] for name in shown if row[name] is not None}
    words = {**vars(cut), **row}
    return Finding(
        rule=rule,
        severity=severity,
        system=row["system"] or "",
        queue_manager=row["queue_manager"] or "",
        subject=worded(view.subject, row),
        intervals=len(mine),
        intervals_seen=seen,
        first=_moment(np.fmin.reduce(begins)),
        last=_moment(np.fmax.reduce(rows.local_time[mine])),
        worst_from=_moment(rows.local_time[worst] - _length(rows.seconds[worst])),
        worst_at=row["local_time"],
        figures=figures,
        advice=worded(rule.advice, words),
        command=worded_if_known(command, {name: _as_typed(value) for name, value in words.items()}),
        effect=_effect(rule, words),
    )


def _as_typed(value: Any) -> Any:
    """A name as a command takes it: what is not in quotation marks is folded to capitals (D5)."""
    return f"'{value}'" if isinstance(value, str) and value != value.upper() else value


def _length(seconds: Any) -> Any:
    """As much time; none that is known where that is not."""
    return np.where(np.isnan(seconds), np.timedelta64("NaT"), (np.nan_to_num(seconds) * 1e6).astype("timedelta64[us]"))


def _moment(value: np.datetime64) -> datetime | None:
    return None if np.isnat(value) else value.astype("datetime64[us]").item()


def _effect(rule: Rule, words: Mapping[str, Any]) -> str:
    """What the change would bring; nothing where a figure is not known or lies outside the papers' tables."""
    if rule.effect is None or any(words.get(name) is None for name in rule.shows):
        return ""
    try:
        return rule.effect(SimpleNamespace(**words))
    except OutOfRangeError:
        return ""


def ranked(found: Iterable[Finding]) -> list[Finding]:
    """Worst first (D4)."""
    return sorted(
        found,
        key=lambda each: (-each.severity, -each.intervals, each.queue_manager, each.subject, each.rule.id),
    )


def at_least(found: Iterable[Finding], severity: Severity) -> list[Finding]:
    """Those of a severity or above."""
    return [each for each in found if each.severity >= severity]


def as_records(found: Iterable[Finding]) -> list[dict[str, Any]]:
    """Findings as plain values: for JSON, for a report, for a table."""
    return [
        {
            "rule": each.rule.id,
            "also": list(each.rule.also),
            "title": each.rule.title,
            "severity": each.severity.name.lower(),
            "system": each.system,
            "queue_manager": each.queue_manager,
            "subject": each.subject,
            "intervals": each.intervals,
            "intervals_seen": each.intervals_seen,
            "first": _iso(each.first),
            "last": _iso(each.last),
            "worst_from": _iso(each.worst_from),
            "worst_at": _iso(each.worst_at),
            "figures": {name: _json(value) for name, value in each.figures.items()},
            "advice": each.advice,
            "command": each.command,
            "effect": each.effect,
            "lines": each.rule.lines,
        }
        for each in found
    ]


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat(sep=" ", timespec="seconds") if moment else None


def _json(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value == int(value) else round(value, 4) if abs(value) >= 1 else float(f"{value:.4g}")
    return value if isinstance(value, (int, str)) else str(value)
