"""A plan as one page: self-contained, readable off line, printable, small.

Rules
  G1  One file: styles and charts are inside it, nothing is fetched.  Charts are SVG, drawn here.
  G2  Everything that came from a workload is escaped.
  G3  A chart never says more than the table under it; colour is never the only mark.
  G4  The page reads top down as a decision: what breaks, what there is to define, then every answer with its formula.
  G5  A chart is as readable in a narrow window as in a wide one: wide charts have a narrow form.

Called by the command.  Calls the planner's plan and svg.
"""

from collections.abc import Iterator
from html import escape
from itertools import groupby

from quaestor.planner.answer import Answer, plain
from quaestor.planner.answers import Plan
from quaestor.planner.definitions import Definitions
from quaestor.planner.logs import FILL_TIME_MIN_S
from quaestor.planner.quantity import show_seconds
from quaestor.planner.questions.load import Load
from quaestor.planner.whatif import Change, breaks_first, changed, fastest_per_s
from quaestor.planner.workload import RATE_MAX
from quaestor.reports.svg import bars, curve, stacked

LISTS = {
    "ch1": "Queue manager",
    "ch2": "Coupling facility and channels",
    "ch4": "Throughput, DASD and applications",
}
GROWTH = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0)
HEAD_ROOM_LEAST = -100.0


def plan_page(plan: Plan, definitions: Definitions) -> str:
    """The whole page (G1)."""
    title = f"Plan for {plan.workload.queue_manager.name}"
    parts = "\n".join((*_head(plan), *_charts(plan), *_definitions(definitions), *_answers(plan), *_unanswered(plan)))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{STYLE}</style></head>\n'
        f"<body><main>\n{parts}\n</main></body></html>\n"
    )


# --- the decision -----------------------------------------------------------------------------------------------------


def _head(plan: Plan) -> Iterator[str]:
    manager = plan.workload.queue_manager
    yield f"<header><h1>Plan for {escape(manager.name)}</h1><p>{escape(plan.workload.title)}</p></header>"
    passed = plan.passed
    tone, words = ("bad", f"limit{'s' if len(passed) > 1 else ''} passed") if passed else ("good", "every limit holds")
    yield f'<section class="cards"><div class="card {tone}"><b>{len(passed)}</b><span>{words}</span></div>'
    breaking = breaks_first(plan.workload)
    if breaking is not None:
        what = escape(breaking.head_room.what)
        yield (
            f'<div class="card"><b>&times;{breaking.factor:.3g}</b><span>the messages of today: then {what} is '
            f"{'also ' if passed else ''}passed</span></div>"
        )
    answered = len({each.number for each in plan.answers})
    yield f'<div class="card"><b>{answered}</b><span>of 100 questions answered</span></div></section>'
    if passed:
        yield '<section><h2>What is passed</h2><ul class="passed">'
        for answer, room in passed:
            about = f" ({escape(answer.about)})" if answer.about and answer.about not in room.what else ""
            label = escape(answer.what) or "needs"
            yield (
                f"<li><b>{escape(room.what)}</b>{about}: {label} <b>{escape(answer.shown)}</b>, "
                f'{_percent(-room.percent)} over the limit <span class="dim">{escape(str(answer.source))}</span></li>'
            )
        yield "</ul></section>"


# --- charts -----------------------------------------------------------------------------------------------------------


def _charts(plan: Plan) -> Iterator[str]:
    yield '<section class="charts">'
    if plan.limits:
        rows = [
            (_limit_name(answer, room.what), max(HEAD_ROOM_LEAST, room.percent), _percent(room.percent))
            for answer, room in plan.limits
        ]
        wide, narrow = (bars(rows, HEAD_ROOM_LEAST, 100.0, narrow=each) for each in (False, True))
        both = f'<div class="wide">{wide}</div><div class="narrow">{narrow}</div>'  # G5
        yield _figure("Head-room by limit", "percent of the limit that is left", both)
    phases = [each for each in plan.of("ch1-26") if each.what != "in all"]
    if phases:
        whole = next(each for each in plan.of("ch1-26") if each.what == "in all")
        target = plan.workload.targets.restart_s
        drawn = stacked([(each.what, float(each.value), each.shown) for each in phases])
        yield _figure("Restart by phase", f"in all {whole.shown}; the target is {show_seconds(target)}", drawn)
    if plan.of("ch1-4"):
        yield _fill_time(plan)
    yield "</section>"


def _percent(value: float) -> str:
    """Per cent of a limit; a limit that is just passed is not passed by 0."""
    return f"{value:.0f} %" if abs(value) >= 1 or value == 0 else f"{value:.1g} %"


def _limit_name(answer: Answer, what: str) -> str:
    return f"{what}, {answer.about}" if answer.about and answer.about not in what else what


def _fill_time(plan: Plan) -> str:
    """How long one log lasts as messages grow, against the 30 minutes asked for."""
    fastest = fastest_per_s(plan.workload)
    grown = [each for each in GROWTH if fastest * each <= RATE_MAX]  # no workload takes more
    times = [(each, Load(changed(plan.workload, Change(each))).fill_time_s / 60) for each in grown]
    drawn = curve(times, FILL_TIME_MIN_S / 60, "times the messages of today", "minutes", "30 minutes")
    today = next(minutes for each, minutes in times if each == 1.0)
    return _figure("One active log fills in", f"{today:.3g} minutes at today's peak", drawn)


def _figure(title: str, caption: str, drawn: str) -> str:
    return f"<figure><h2>{escape(title)}</h2><p>{escape(caption)}</p>{drawn}</figure>"


# --- the rest ---------------------------------------------------------------------------------------------------------


def _definitions(made: Definitions) -> Iterator[str]:
    yield "<section><h2>Definitions</h2>"
    if made.notes:
        yield "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in made.notes) + "</ul>"
    for title, lines in (
        ("MQSC", made.mqsc),
        ("System parameters", made.parameters),
        ("CFRM policy", made.cfrm),
    ):
        if lines:
            yield f"<h3>{title}</h3><pre>{escape(chr(10).join(lines))}</pre>"
    yield "</section>"


def _answers(plan: Plan) -> Iterator[str]:
    for chapter, title in LISTS.items():
        kept = [each for each in plan.answers if each.number.startswith(f"{chapter}-")]
        if kept:
            yield f"<section><h2>{title}</h2>"
            for _, group in groupby(kept, key=lambda each: each.number):
                yield _question(list(group))
            yield "</section>"


def _question(answers: list[Answer]) -> str:
    first = answers[0]
    rows = "".join(
        f"<tr><td>{escape(each.about)}</td><td>{escape(each.what)}</td><td class=n>{escape(each.shown)}</td></tr>"
        for each in answers
    )
    sources = {(each.formula, str(each.source)) for each in answers}
    formulas = "".join(f"<li><code>{escape(name)}</code> {escape(source)}</li>" for name, source in sorted(sources))
    inputs = "".join(
        f"<li>{escape(', '.join(part for part in (each.about, each.what) if part))} <code>"
        f"{escape(', '.join(f'{name}={plain(value)}' for name, value in each.inputs.items()))}</code></li>"
        for each in answers
    )
    return (
        f"<article><h3>{escape(first.question)} <span class=dim>{first.number}</span></h3><table>{rows}</table>"
        f"<details><summary>formula, source, inputs</summary><ul>{formulas}</ul><ul>{inputs}</ul></details></article>"
    )


def _unanswered(plan: Plan) -> Iterator[str]:
    if plan.unanswered:
        yield "<section><h2>Not answered, or not in full</h2><table>"
        for each in plan.unanswered:
            yield f"<tr><td>{each.number}</td><td>{escape(each.question)}</td><td>{escape(each.said)}</td></tr>"
        yield "</table></section>"


STYLE = """
:root{--ink:#1b2430;--dim:#667085;--line:#d8dde5;--paper:#fff;--tint:#f4f6f9;--bad:#b3390b;--good:#00704f;--bar:#0072b2}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--dim:#98a2b3;--line:#384252;--paper:#151b24;--tint:#1e2632;
--bad:#ff8a5c;--good:#3fd0a4;--bar:#56b4e9}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1080px;margin:0 auto;padding:24px}h1{font-size:28px;margin:0}h2{font-size:19px;margin:0 0 6px}
h3{font-size:15px;margin:14px 0 4px}header p,figure p{color:var(--dim);margin:2px 0 10px}section{margin:26px 0}
.cards{display:flex;gap:14px;flex-wrap:wrap}
.card{flex:1 1 200px;background:var(--tint);border-radius:8px;padding:12px 16px}
.card b{display:block;font-size:26px}.card span{color:var(--dim)}.bad b{color:var(--bad)}.good b{color:var(--good)}
.passed li{margin:4px 0}.dim{color:var(--dim);font-weight:normal;font-size:13px}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:20px}
figure{margin:0;min-width:0;border:1px solid var(--line);border-radius:8px;padding:14px}
figure:first-child{grid-column:1/-1}
svg{width:100%;height:auto;display:block}.narrow{display:none}.narrow svg,figure>svg{max-width:560px}
svg text{fill:var(--ink);font:12px system-ui,sans-serif}
svg .dim{fill:var(--dim)}svg .axis{stroke:var(--line)}svg .bar{fill:var(--bar)}svg .over{fill:var(--bad)}
svg .mark{stroke:var(--bad);stroke-dasharray:5 4}svg .line{stroke:var(--bar);fill:none;stroke-width:2}
pre{background:var(--tint);padding:12px;border-radius:8px;overflow-x:auto;font-size:12.5px}
table{border-collapse:collapse;width:100%;table-layout:fixed}
td{border-bottom:1px solid var(--line);padding:3px 10px 3px 0;
vertical-align:top;overflow-wrap:anywhere}td.n{text-align:right;font-variant-numeric:tabular-nums}
details{color:var(--dim);font-size:13px}summary{cursor:pointer}code{font-size:12px;overflow-wrap:anywhere}
@media(max-width:760px){.wide{display:none}.narrow{display:block}}
@media(max-width:560px){main{padding:12px}.charts{grid-template-columns:minmax(0,1fr)}}
@media print{details{display:none}article,figure{break-inside:avoid}}
"""
