"""Completion: what may stand where the cursor is in an MQSC command.

Rules
  CO1 First a verb, then a noun of that verb, then keywords of both that do not stand there yet; inside the parentheses
      of a keyword its words, when it has any. What stands before may be abbreviated.
  CO2 Inside quotes, and where nothing can be known (a name, a number), nothing is offered.

Called by the prompt.  Calls words, objects.
"""

import re
from collections.abc import Collection, Iterable

from quaestor.mqi.mqsc.words import KINDS, OBJECTS_OF, QUEUE, keywords_of, meant
from quaestor.mqi.objects import QUEUE_TYPES, attributes_of

_PARTS = re.compile(r"[A-Za-z][A-Za-z0-9]*|\((?:'(?:[^']|'')*'|[^()'])*\)?")
WORDS: dict[str, tuple[str, ...]] = {
    "LOCATION": ("BELOW", "ABOVE"),
    "PAGECLAS": ("4KB", "FIXED4KB"),
    "EXPAND": ("USER", "SYSTEM", "NONE"),
    "ACTION": ("COMMIT", "BACKOUT"),
    "MODE": ("QUIESCE", "FORCE", "RESTART"),
    "DEST": ("SMF",),
    "TRACE": ("STAT", "ACCTG"),
}
TYPES = {
    QUEUE: ("ALL", *(kind.MQSC_TYPE for kind in QUEUE_TYPES)),
    "QSTATUS": ("QUEUE", "HANDLE"),
    "USAGE": ("PAGESET", "DATASET", "ALL"),
    "THREAD": ("ACTIVE", "INDOUBT", "*"),
    "CONN": ("CONN", "HANDLE", "ALL"),
    "QLOCAL": ("MOVE", "ADD"),
}


def completions(text: str, supported: Collection[tuple[str, str]] = ()) -> tuple[list[str], int]:
    """What may follow, and how many characters of it are there already (CO1); `supported` limits verbs and nouns."""
    begun = re.search(r"[A-Za-z0-9]*$", text)
    typed = begun[0].upper() if begun else ""
    before = text[: len(text) - len(typed)]
    if before.count("'") % 2:
        return [], 0  # CO2
    found = [choice for choice in _choices(before, supported) if choice.startswith(typed)]
    return found, len(typed)


def _choices(before: str, supported: Collection[tuple[str, str]]) -> Iterable[str]:
    verbs = [verb for verb in OBJECTS_OF if not supported or any(verb == known for known, _ in supported)]
    parts = _PARTS.findall(before)
    words = [part.upper() for part in parts if not part.startswith("(")]
    inside = bool(parts) and parts[-1].startswith("(") and not parts[-1].endswith(")")
    if not words:
        return sorted(verbs)
    verb = _one(words[0], verbs)
    nouns = [noun for noun in OBJECTS_OF.get(verb, ()) if not supported or (verb, noun) in supported]
    if len(words) == 1:
        return sorted(nouns)
    noun = _one(words[1], nouns)
    known = keywords_of(verb, noun) if noun else ()
    if inside:
        return _words_of(noun, _one(words[-1], known) if len(words) > 2 else noun)
    there = {_one(word, known) for word in words[2:]}
    return [keyword for keyword in known if keyword not in there]


def _one(word: str, choices: Iterable[str]) -> str:
    found = meant(word, choices)
    return found[0] if len(found) == 1 else ""


def _words_of(noun: str, keyword: str) -> tuple[str, ...]:
    """The words that a keyword of a noun takes."""
    if keyword == "TYPE":
        return TYPES.get(noun, ())
    kinds = QUEUE_TYPES if noun == QUEUE else (KINDS[noun],) if noun in KINDS else ()
    for kind in kinds:
        for attribute in attributes_of(kind).values():
            if attribute.keyword == keyword:
                return tuple(attribute.words or attribute.named or ())
    return WORDS.get(keyword, ())
