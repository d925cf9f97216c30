"""MQSC as text: lines, comments, continuation, quotes.

Rules
  Y1  A line that begins with `*` is a comment; an empty line says nothing, also between lines that are continued.
  Y2  `+` at the end of a line continues with the first character of the next that is no blank, `-` with its first
      column. A semicolon at the end of a command is allowed.
  Y3  Unquoted text folds to upper case; quoted text is kept, and a quote inside is written twice.
  Y4  What cannot be read is an `MQSCError` with its line and column, what was expected, and the z/OS message for it.
  Y5  Words and values are separated by blanks and commas, any number of either.
  Y6  A line ends with a line feed, a carriage return or both; nothing else in a text ends a command.

Called by commands.  Calls lark.
"""

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

CONTINUES = ("+", "-")
LINE_END = re.compile("\r\n|\r|\n")
TWICE, UNKNOWN_KEYWORD, PARENTHESES, NO_VALUE, UNACCEPTABLE, UNKNOWN_COMMAND, AMBIGUOUS, APOSTROPHES, SYNTAX = (
    f"CSQ90{number:02d}E" for number in (0, 1, 2, 10, 15, 19, 28, 30, 31)
)
"""The message that z/OS gives for each kind of mistake (Y4)."""


class MQSCError(ValueError):
    """A command that cannot be read or does not make sense (Y4)."""

    def __init__(self, why: str, line: int, column: int = 1, code: str = SYNTAX) -> None:
        super().__init__(f"line {line}, column {column}: {why}")
        self.why, self.line, self.column, self.code = why, line, column, code


class Item(NamedTuple):
    """A word of a command and its values; None when it has no parentheses."""

    word: str
    values: tuple[str, ...] | None
    column: int


class Statement(NamedTuple):
    """A command as written: verb and items."""

    verb: str
    items: tuple[Item, ...]
    line: int


_GRAMMAR = Lark(files("quaestor.mqi.mqsc").joinpath("mqsc.lark").read_text(encoding="utf-8"), parser="lalr")
_EXPECTED = {"WORD": "a keyword", "LPAR": "(", "RPAR": ")", "BARE": "a value", "QUOTED": "a value"}


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Commands with the number of their first line (Y1, Y2, Y6)."""
    begun, parts, at_first_word = 0, "", False
    for number, line in enumerate(LINE_END.split(text), 1):
        if line.startswith("*") or not line.strip():
            continue
        begun = begun or number
        body = line.strip() if at_first_word else line.rstrip()
        if body.endswith(CONTINUES):
            parts, at_first_word = parts + body[:-1], body.endswith("+")
            continue
        whole = parts + body
        if whole.strip(" ;"):
            yield begun, whole.rstrip(" ;")
        begun, parts, at_first_word = 0, "", False
    if begun:
        raise MQSCError("the last line is continued, but nothing follows", begun)


def parse_line(line: str, number: int = 1) -> Statement:
    """One command (Y3, Y4)."""
    try:
        tree = _GRAMMAR.parse(line)
    except UnexpectedInput as error:
        raise _unreadable(error, line, number) from error
    verb, *items = tree.children
    return Statement(str(verb).upper(), tuple(_item(item) for item in items if isinstance(item, Tree)), number)


def statements(text: str) -> Iterator[Statement]:
    """Every command of a text."""
    for number, line in logical_lines(text):
        yield parse_line(line, number)


def _item(tree: "Tree[Token]") -> Item:
    word, values = tree.children
    column = word.column if isinstance(word, Token) and word.column is not None else 1
    if not isinstance(values, Tree):
        return Item(str(word).upper(), None, column)
    found = tuple(_text(atom) for atom in values.children if isinstance(atom, Token))
    return Item(str(word).upper(), found, column)


def _text(atom: Token) -> str:
    if atom.type == "QUOTED":
        return str(atom)[1:-1].replace("''", "'")
    return str(atom).upper()


def _unreadable(error: UnexpectedInput, line: str, number: int) -> MQSCError:
    ended = isinstance(error, UnexpectedEOF) or (isinstance(error, UnexpectedToken) and error.token.type == "$END")
    column = len(line) + 1 if ended else error.column
    if isinstance(error, UnexpectedCharacters):
        names = set(error.allowed or ())
    else:
        names = set(error.accepts or error.expected) if isinstance(error, UnexpectedToken) else set()
    expected = " or ".join(dict.fromkeys(_EXPECTED[name] for name in sorted(names) if name in _EXPECTED))
    found = "the end of the command" if ended else repr(line[column - 1])
    code = (
        APOSTROPHES if line.count("'") % 2 else PARENTHESES if ended and line.count("(") > line.count(")") else SYNTAX
    )
    return MQSCError(f"found {found}, expected {expected or 'the end of the command'}", number, column, code)


def quoted(text: str) -> str:
    """Text as MQSC keeps it unchanged (Y3)."""
    return "'" + text.replace("'", "''") + "'"
