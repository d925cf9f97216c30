"""Whose DISPLAY output is: what a text itself says about the queue managers it came from.

Rules
  W1  A message bears the command prefix of its queue manager (`CSQ9022I !QM01 ...`), by custom a special character and
      the name. What follows is of the same one, until a message says otherwise: a text may hold answers of several.
  W2  What DISPLAY QMGR answers (an object that begins with QMNAME) is the name itself: of all that bears the prefix it
      stands under, or, in a text without prefixes, of what follows it. QMNAME among the attributes of something else, a
      client's channel say, is that thing's.
  W3  What stands before the first sign belongs to it too: operators type the commands, then comes the first answer.
  W4  A prefix without a name (`@#`) says nothing.

Called by settings.  Calls nothing.
"""

import re
from collections.abc import Iterable

Section = tuple[str | None, str]
"""A queue manager, or None where nothing tells whose it is, and its lines."""

_PREFIX = re.compile(r"""\bCSQ[0-9A-Z]\d{3}[A-Z]\s+([+!\-/*.<|&;^,%_>?:#@"=$]([A-Za-z][\w.%/@#$]{0,47}))(?=\s|$)""")
_ATTRIBUTE = re.compile(r"\b([A-Z][A-Z0-9]*)\(\s*([^()]*?)\s*\)")


def by_owner(text: str) -> list[Section]:
    """The text in sections, one for each queue manager that it names, in the order they come up."""
    lines = text.splitlines()
    marks = [(found[1], found[2]) if (found := _PREFIX.search(line)) else None for line in lines]
    names = _names(lines)
    if any(marks):
        return _of_prefixes(lines, marks, names)
    return _gathered(zip(_onward(names), lines, strict=True))


def _of_prefixes(lines: list[str], marks: list[tuple[str, str] | None], names: list[str | None]) -> list[Section]:
    """Lines by the prefix they stand under (W1), which QMNAME gives its true name (W2)."""
    under = _onward([mark and mark[0] for mark in marks])
    owners = dict(mark for mark in reversed(marks) if mark)
    owners |= {prefix: name for prefix, name in zip(reversed(under), reversed(names), strict=True) if prefix and name}
    return _gathered((owners[prefix] if prefix else None, line) for prefix, line in zip(under, lines, strict=True))


def _names(lines: Iterable[str]) -> list[str | None]:
    """The queue manager that each line is the answer to DISPLAY QMGR of; None for all other lines (W2)."""
    made: list[str | None] = []
    within = False
    for line in lines:
        message = _PREFIX.search(line)
        attribute = _ATTRIBUTE.match(line[message.end() :].lstrip()) if message else _ATTRIBUTE.search(line)
        opens = attribute is not None and (message is not None or not within)
        made.append(attribute[2].strip("'") or None if attribute and opens and attribute[1] == "QMNAME" else None)
        within = attribute is not None
    return made


def _onward(signs: Iterable[str | None]) -> list[str | None]:
    """For each line the sign that it stands under: the last one, or the first for the lines before it (W3)."""
    given = list(signs)
    current = next(filter(None, given), None)
    made = []
    for sign in given:
        current = sign or current
        made.append(current)
    return made


def _gathered(owned: Iterable[tuple[str | None, str]]) -> list[Section]:
    held: dict[str | None, list[str]] = {}
    for owner, line in owned:
        held.setdefault(owner, []).append(line)
    return [(owner, "\n".join(lines)) for owner, lines in held.items()]
