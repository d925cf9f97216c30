"""docs/mqsc.md: every MQSC command that the queue manager runs, with its keywords, from the marks and declarations."""

from collections.abc import Iterator

from quaestor.mqi.attributes import Attribute
from quaestor.mqi.mqsc.words import ABBREVIATIONS, CONTROL, KINDS, WITH_ATTRIBUTES, keywords_of
from quaestor.mqi.objects import attributes_of
from quaestor.qmgr.command import FAMILIES
from quaestor.qmgr.command.family import Mark, marks_of

GUIDE = """\
# MQSC commands

What `quaestor mqsc` and the command server run; [the guide](guides/mqsc.md) shows how.

- A word may be shortened as far as it is unique among those that can stand in its place; customary short forms always
  mean the same.
- `+` at the end of a line goes on with the next line's first character that is no blank, `-` with its first column. A
  line that begins with `*` is a comment.
- Words and values are separated by blanks or commas. Empty lines say nothing.
- Text without quotes folds to upper case. Quotes keep it, and are needed around blanks; a quote inside is doubled.
- A name that ends in `*` is generic: it picks all that begin with what stands before.
- `WHERE(keyword operator value)` compares with `LT GT EQ NE LE GE`; `LK NL` by a generic name, `CT EX` in lists.
  Words are equal or not (`EQ NE`).
- *Early* commands also run in `CSQINP1`, before restart.
- Authority is that of the profile class `command`, name `VERB.NOUN`: read for DISPLAY and PING, control for the rest.
"""


def page() -> str:
    """The whole page."""
    marks = [mark for family in FAMILIES for _, mark in marks_of(family)]
    parts = [GUIDE, "## Commands\n", *_table(marks), "\n## Keywords\n", *_keywords(marks)]
    parts += ["\n## Attributes\n", *(line for noun in KINDS for line in _attributes(noun))]
    return "\n".join(parts) + "\n"


def _table(marks: list[Mark]) -> Iterator[str]:
    """One row per noun."""
    short = {full: word for word, full in ABBREVIATIONS.items()}
    yield "| Object | Short | Verbs | Early |"
    yield "|---|---|---|---|"
    for noun in sorted({mark.noun for mark in marks}):
        own = [mark for mark in marks if mark.noun == noun]
        verbs, early = (" ".join(mark.verb for mark in chosen) for chosen in (own, [m for m in own if m.early]))
        yield f"| {noun} | {short.get(noun, '')} | {verbs} | {early} |"


def _keywords(marks: list[Mark]) -> Iterator[str]:
    """One row per command; attributes of objects stand in tables of their own."""
    yield "| Command | Keywords |"
    yield "|---|---|"
    for mark in sorted(marks, key=lambda each: (each.noun, each.verb)):
        own = {word for a in _declared(mark.noun) for word in (a.bare or (a.keyword,))}
        whole = mark.noun in KINDS and mark.verb in WITH_ATTRIBUTES
        known = keywords_of(mark.verb, mark.noun)
        shown = [word for word in known if not whole or word not in own or word in CONTROL.get(mark.verb, ())]
        more = f"attributes of {mark.noun}, " if whole else ""
        yield f"| {mark.verb} {mark.noun} | {more}{' '.join(shown)} |"


def _declared(noun: str) -> list[Attribute]:
    return list(attributes_of(KINDS[noun]).values()) if noun in KINDS else []


def _attributes(noun: str) -> Iterator[str]:
    yield f"### {noun}\n"
    yield "| Keyword | Values | Default |"
    yield "|---|---|---|"
    for attribute in _declared(noun):
        word = " / ".join(attribute.bare) if attribute.bare else attribute.keyword
        default = "" if attribute.bare is None and not attribute.default and attribute.length else _default(attribute)
        yield f"| {word} | {_values(attribute)} | {default} |"
    yield ""


def _default(attribute: Attribute) -> str:
    if attribute.bare is not None:
        return attribute.bare[0 if attribute.default else 1]
    return ",".join(attribute.written(attribute.default))


def _values(attribute: Attribute) -> str:
    if attribute.fixed:
        return "shown, not set"
    if attribute.bare is not None:
        return ""
    if attribute.words is not None:
        return " ".join(attribute.words)
    if attribute.length:
        what = "names" if isinstance(attribute.default, tuple) else "text"
        return f"{what} of at most {attribute.length}"
    named = f", or {' '.join(attribute.named)}" if attribute.named else ""
    return f"{attribute.low} to {attribute.high}{named}"
