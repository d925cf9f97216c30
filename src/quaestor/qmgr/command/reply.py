"""Replies: what a command answers, for the console, for programs, and as rows.

Rules
  RP1 A reply is made of parts: messages (`Said`) and objects that are shown (`Details`). The same parts are written in
      three ways, so no way can say more than another.
  RP2 On the console (`lines`) an object is a heading, CSQM201I, and one line for each attribute. For a program
      (`messages`) it is one message, CSQM4nnI, with values padded: numbers to the right in 10, words to the left in
      10 (TYPE in 8), names and texts to their full length; CSQN205I goes before with the number of messages, return
      and reason code. As rows an object is {keyword: value}.
  RP3 The last message is CSQ9022I, or CSQ9023E when the command failed. That of a command for other members of the
      group is CSQN122I or CSQN123E, and the reply of each member stands behind its CSQN121I; its rows say in CMDSCOPE
      whose they are.

Called by every family of commands.  Calls nothing but the declarations of attributes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from quaestor.mqi.objects import OBJECT_TYPES, attributes_of
from quaestor.mqi.reasons import Reason

Row = dict[str, Any]
_ATTRIBUTES = [attribute for kind in OBJECT_TYPES.values() for attribute in attributes_of(kind).values()]
BARE = {attribute.keyword: attribute.bare for attribute in _ATTRIBUTES if attribute.bare is not None}
LENGTHS = {attribute.keyword: attribute.length for attribute in _ATTRIBUTES if attribute.length}
NAME_LENGTHS = {"QUEUE": 48, "PROCESS": 48, "NAMELIST": 48, "STGCLASS": 8, "QMNAME": 48, "TYPE": 8}
WORD = 10
FAILED = 0x0C
DETAILS = "CSQM201I"


@dataclass(frozen=True, slots=True)
class Said:
    """One message; further lines of a report follow its first. `rows` are the same for a program."""

    message: str
    text: str
    more: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()

    @property
    def failed(self) -> bool:
        return self.message.endswith("E")


@dataclass(frozen=True, slots=True)
class Details:
    """One object that is shown; `message` is its CSQM4nnI."""

    message: str
    noun: str
    row: Row


@dataclass(frozen=True, slots=True)
class FromMember:
    """What a member of the group answered."""

    member: str
    reply: "Reply"

    @property
    def failed(self) -> bool:
        return not self.reply.ok

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row | {"CMDSCOPE": self.member} for row in self.reply.rows)


Part = Said | Details | FromMember


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command answered (RP1)."""

    command: str
    prefix: str
    module: str
    parts: tuple[Part, ...] = ()
    ok: bool = True
    reason: Reason | None = None
    """Why it failed, when that has a reason code."""

    scope: str = ""
    """CMDSCOPE, of a command for other members."""

    @property
    def members(self) -> list[dict[str, Any]]:
        """The reply of each member, of a command for other members."""
        found = (part for part in self.parts if isinstance(part, FromMember))
        return [{"qmgr": p.member, "ok": p.reply.ok, "rows": p.reply.rows, "lines": p.reply.lines} for p in found]

    @property
    def rows(self) -> list[Row]:
        """Objects as {keyword: value}."""
        rows = [row for part in self.parts for row in ([part.row] if isinstance(part, Details) else part.rows)]
        return [{key: list(v) if isinstance(v, tuple) else v for key, v in row.items()} for row in rows]

    @property
    def lines(self) -> list[str]:
        """As an operator sees it (RP2)."""
        return [line for part in self.parts for line in self._on_console(part)] + [self._end()]

    @property
    def messages(self) -> list[str]:
        """As a program gets it, one text for each message (RP2)."""
        said = [message for part in self.parts for message in self._for_program(part)] + [self._end()]
        result, reason = (0, 0) if self.ok else (FAILED, 8)
        return [f"CSQN205I   COUNT={len(said) + 1:8d}, RETURN={result:08X}, REASON={reason:08X}", *said]

    def _on_console(self, part: Part) -> Iterable[str]:
        if isinstance(part, Said):
            return [f"{part.message} {self.prefix} {part.text}".rstrip(), *part.more]
        if isinstance(part, FromMember):
            return [self._responses(part.member), *part.reply.lines]
        heading = f"{DETAILS} {self.prefix} {self.module} {self.command} DETAILS"
        return [heading, *(_shown(key, value) for key, value in part.row.items()), f" END {part.noun} DETAILS"]

    def _for_program(self, part: Part) -> list[str]:
        if isinstance(part, Said):
            return ["\n".join((f"{part.message} {self.prefix} {part.text}".rstrip(), *part.more))]
        if isinstance(part, FromMember):
            return [self._responses(part.member), *part.reply.messages[1:]]
        words = " ".join(_padded(key, value) for key, value in part.row.items())
        return [f"{part.message} {self.prefix} {words}"]

    def _responses(self, member: str) -> str:
        return f"CSQN121I {self.prefix} '{self.command}' command responses from {member}"

    def _end(self) -> str:
        """RP3."""
        if self.scope:
            message, how = ("CSQN122I", "normal") if self.ok else ("CSQN123E", "abnormal")
            return f"{message} {self.prefix} '{self.command}' command for CMDSCOPE({self.scope}) {how} completion"
        message, how = ("CSQ9022I", "NORMAL") if self.ok else ("CSQ9023E", "ABNORMAL")
        return f"{message} {self.prefix} {self.module} ' {self.command}' {how} COMPLETION"


def _shown(keyword: str, value: Any) -> str:
    if keyword in BARE and value in {"YES", "NO"}:
        return BARE[keyword][0 if value == "YES" else 1]
    return f"{keyword}({_text(value)})"


def _padded(keyword: str, value: Any) -> str:
    if keyword in BARE and value in {"YES", "NO"}:
        return BARE[keyword][0 if value == "YES" else 1]
    if isinstance(value, int):
        return f"{keyword}({value:>{WORD}})"
    width = NAME_LENGTHS.get(keyword, LENGTHS.get(keyword, WORD))
    return f"{keyword}({_text(value):<{width}})"


def _text(value: Any) -> str:
    return ",".join(value) if isinstance(value, tuple) else str(value)
