"""Selecting: which objects a DISPLAY shows, and what of them.

Rules
  SL1 A name picks one object, a generic name (trailing `*`) all that begin with it. One that is not generic and is not
      there is an error; a generic name that picks nothing is not.
  SL2 WHERE is asked of the whole object, whatever is shown of it.
  SL3 Shown are the keywords that are asked for, and the one that WHERE compares. With ALL, or when nothing is asked for
      and there is a WHERE or a name that is not generic, everything is. Of a status everything is shown unless
      something is asked for.

Called by the families that display.  Calls names.
"""

from collections.abc import Iterable, Iterator, Sequence

from quaestor.mqi.mqsc import Command
from quaestor.mqi.mqsc.words import QUEUE
from quaestor.mqi.names import picks
from quaestor.qmgr.command.reply import BARE, Row

NOT_SHOWN = frozenset({"ALL", "QSGDISP", "CMDSCOPE"})
_BARE_OF = {word: keyword for keyword, pair in BARE.items() for word in pair}


def generic(name: str) -> bool:
    return name.endswith("*")


def named(command: Command, names: Iterable[str]) -> list[str]:
    """The names that the command's name picks, in order; everything when it has none (SL1)."""
    return sorted(name for name in names if picks(command.name or "*", name))


def selected(
    command: Command, rows: Iterable[Row], always: Sequence[str], besides: Iterable[str] = (), *, status: bool = False
) -> Iterator[Row]:
    """Rows that pass WHERE, with what is asked for of each (SL2, SL3); `always` names what identifies a row."""
    asked = [_BARE_OF.get(word, word) for word, _ in command.parameters if word not in {*NOT_SHOWN, *besides}]
    one = status or command.noun == "QMGR" or not generic(command.name or "*")
    whole = command.has("ALL") or (not asked and (one or command.where is not None))
    for row in rows:
        compared: tuple[str, ...] = ()
        if command.where is not None:
            keyword = _BARE_OF.get(command.where.keyword, command.where.keyword)
            if keyword not in row or not command.where.holds(row[keyword]):
                continue
            compared = (keyword,)
        keep = row if whole else dict.fromkeys((*always, *asked, *compared))
        yield {keyword: row[keyword] for keyword in keep if keyword in row}


def name_keyword(noun: str) -> str:
    """The keyword that names an object of this noun in a reply."""
    if noun in {"QLOCAL", "QALIAS", "QREMOTE", "QMODEL", QUEUE}:
        return QUEUE
    return "QMNAME" if noun == "QMGR" else noun
