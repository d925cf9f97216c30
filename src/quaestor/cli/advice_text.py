"""Findings as a systems programmer reads them: what, where, when, how bad, the figures, what to do, why.

Called by advise.
"""

import textwrap
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from quaestor.cli.numbers import several
from quaestor.cli.terminal import columns

if TYPE_CHECKING:
    from quaestor.advisor.evaluate import Advice
    from quaestor.advisor.findings import Finding

WIDTH = 110
_MINUTES = timedelta(minutes=5)
_COLOURS = {"ALERT": "red", "WARNING": "yellow", "NOTE": "cyan"}


def show(found: "list[Finding]", advice: "Advice", *, verbose: bool) -> None:
    """All findings, then what could not be looked at."""
    homes = {(each.queue_manager, each.system) for each in found if each.system}
    several_homes = {name for name, count in Counter(name for name, _ in homes).items() if count > 1}
    for finding in found:
        for line in _lines(finding, several_homes):
            click.echo(line)
        click.echo()
    counts = [
        several(sum(f.severity.name == each for f in found), each.lower()) for each in ("ALERT", "WARNING", "NOTE")
    ]
    said = ", ".join(counts) if found else "nothing found"
    click.echo(f"{said}; {advice.rules_run} rules run, {len(advice.not_run)} could not be run")
    if verbose:
        for rule, reason in sorted(advice.not_run.items()):
            click.echo(f"  {rule:<20} {reason}")


def _where(finding: "Finding", several_homes: set[str]) -> str:
    """The queue manager and the object; the system too where queue managers of one name run on several."""
    if finding.queue_manager in ("", "all"):  # what the settings say of all
        return "all queue managers" if finding.subject == "queue manager" else f"all queue managers {finding.subject}"
    home = f"{finding.system} " if finding.queue_manager in several_homes and finding.system else ""
    return f"{home}{finding.queue_manager} {finding.subject}"


def _lines(finding: "Finding", several_homes: set[str]) -> Iterator[str]:
    name, where = finding.severity.name, _where(finding, several_homes)
    yield f"{click.style(f'{name:<8}', fg=_COLOURS[name])} {where}: {finding.rule.title}  [{finding.rule.id}]"
    if finding.first and finding.last:
        yield _wrapped("when", f"{_count(finding)}, {_span(finding.first, finding.last)}")
        if finding.worst_at and finding.intervals > 1:
            yield _wrapped("worst", f"{_span(finding.worst_from, finding.worst_at)}: what and figures are of it")
    yield _wrapped("what", finding.advice)
    yield _wrapped("figures", ", ".join(_figures(finding)))
    if finding.command:
        yield _wrapped("do", finding.command)
    if finding.effect:
        yield _wrapped("effect", finding.effect)
    yield _wrapped("source", _source(finding))


def _count(finding: "Finding") -> str:
    return f"{finding.intervals} of {several(finding.intervals_seen, 'interval')}"


def _span(begin: datetime | None, end: datetime) -> str:
    """From when to when; to the second where it is minutes, the day once where it is one."""
    if begin is None:
        return f"which ended at {end:%Y-%m-%d %H:%M}"
    time = "%H:%M:%S" if end - begin < _MINUTES else "%H:%M"
    day = "" if begin.date() == end.date() else "%Y-%m-%d "
    return f"{begin:%Y-%m-%d {time}} to {end:{day}{time}}"


def _figures(finding: "Finding") -> Iterator[str]:
    from quaestor.advisor.explain import official

    for name, value in finding.figures.items():
        yield f"{official(finding.rule, name)} {_number(value)}"


def _number(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 100 else f"{value:.3g}"


def _source(finding: "Finding") -> str:
    from quaestor.advisor.catalog import EXTRACTS

    also = f"; also {', '.join(finding.rule.also)}" if finding.rule.also else ""
    return f"{EXTRACTS[finding.rule.id.rpartition('/')[0]]}, lines {finding.rule.lines}{also}"


def _wrapped(label: str, text: str) -> str:
    head = f"  {label:<8} "
    return textwrap.fill(
        text, columns(WIDTH), initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False
    )
