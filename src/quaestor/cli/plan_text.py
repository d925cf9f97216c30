"""A plan as text: limits first, then answers under their questions, definitions, and what is not answered.

What a line has no room for on a narrow terminal stands in the next one.

Called by the plan commands.  Calls nothing but what a plan has.
"""

import textwrap
from collections.abc import Iterable, Iterator

from quaestor.cli.terminal import columns
from quaestor.planner.answer import Answer, plain
from quaestor.planner.answers import Plan
from quaestor.planner.definitions import Definitions
from quaestor.planner.whatif import Breaking, WhatIf, growth_max

_WIDE = 46
_WIDEST = 1000


def plan_lines(made: Plan, given: Definitions, numbers: tuple[str, ...], *, inputs: bool) -> Iterator[str]:
    """The whole plan, or some of its questions."""
    if not numbers:
        yield f"Plan for {made.workload.queue_manager.name}: {made.workload.title or 'untitled'}"
        yield ""
        yield from limit_lines(made)
    kept = [each for each in made.answers if not numbers or each.number in numbers]
    yield from answer_lines(kept, inputs=inputs)
    if not numbers:
        yield "Definitions"
        yield ""
        yield given.as_text()
    without = [each for each in made.unanswered if not numbers or each.number in numbers]
    if without:
        yield "Not answered, or not in full"
        yield from (f"  {each.number:<7} {each.question} {each.said}" for each in without)


def limit_lines(made: Plan) -> Iterator[str]:
    """Head-room of every limit, the tightest first."""
    if made.limits:
        yield "Head-room, the tightest first"
    for answer, room in made.limits:
        mark = "  PASSED" if room.percent < 0 else ""
        about = f" ({answer.about})" if answer.about and answer.about not in room.what else ""
        yield f"  {room.percent:7.1f} %  {room.what}{about}{mark}"
    yield ""


def answer_lines(answers: Iterable[Answer], *, inputs: bool) -> Iterator[str]:
    """Answers under their questions."""
    asked = None
    for each in answers:
        if each.number != asked:
            if asked is not None:
                yield ""
            yield f"{each.number}  {each.question}"
            asked = each.number
        label = ", ".join(part for part in (each.about, each.what) if part)
        yield from _fitting(f"    {label:<{_WIDE}} {each.shown:<24}", f" {each.formula}  {each.source}")
        if inputs:
            yield from (f"        {name} = {plain(value)}" for name, value in each.inputs.items())
    yield ""


def whatif_lines(found: WhatIf, breaking: Breaking | None) -> Iterator[str]:
    """What changes, what is newly passed, and what breaks first as messages grow."""
    asked = None
    for each in found.differences:
        answer = each.either
        if answer.number != asked:
            yield f"{answer.number}  {answer.question}"
            asked = answer.number
        label = ", ".join(part for part in (answer.about, answer.what) if part)
        before, after = ("-" if side is None else side.shown for side in (each.before, each.after))
        yield from _fitting(f"    {label:<{_WIDE}}", f" {before:>20}  ->  {after}")
    yield ""
    for _, room in found.newly_passed:
        yield f"PASSED: {room.what}, {room.percent:.0f} % head-room"
    already = {room.what for _, room in found.before.passed}
    if already:
        yield f"Already passed before: {', '.join(sorted(already))}"
    if breaking is None:
        most = growth_max(found.before.workload)
        yield f"Nothing else breaks up to x{most:.4g} the messages of today"
    else:
        limit = breaking.head_room.what
        yield f"Breaks first as messages grow: {limit}, at x{breaking.factor:.3g} the messages of today"


def _fitting(line: str, rest: str) -> Iterator[str]:
    """One line where there is room for both parts, else one for each, or more."""
    width, indent = columns(_WIDEST), " " * 8
    if len(line + rest) <= width:
        yield line + rest
    else:
        yield line.rstrip()
        yield from textwrap.wrap(
            rest.strip(), width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        )
