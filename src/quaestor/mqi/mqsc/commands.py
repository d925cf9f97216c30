"""MQSC commands: what a statement means, checked against vocabulary and attributes.

Rules
  K1  Verb, noun and keywords are written out in full here, whatever was abbreviated; an unknown or ambiguous word
      is refused with what it could be. A keyword stands once, and not with its opposite (SHARE NOSHARE).
  K2  Values of object attributes are typed by their declaration: numbers in range, words, texts, lists of names.
      One that is written as a bare word takes no value; any other keyword needs one, save in DISPLAY, which asks for
      it.
  K3  WHERE compares one attribute: LT GT EQ NE LE GE for values, LK NL for generic names, CT EX for lists. Blanks at
      the end of a text do not count, nor does the case of a word. What could hold of no object is refused: another
      operator than an attribute of its kind has (words are equal or not), a value that it cannot have. A
      number that is not known, which is shown as blanks, is neither less nor greater than any.
  K4  `text` writes a command, and `definition` an object, so that reading it back gives the same.

Called by the command manager.  Calls syntax, words, objects.
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from quaestor.mqi.attributes import Attribute, AttributeValueError, whole_number
from quaestor.mqi.mqsc import syntax
from quaestor.mqi.mqsc.syntax import Item, MQSCError, Statement, quoted, statements
from quaestor.mqi.mqsc.words import KINDS, LIVE, MEANINGLESS, NOT_ALWAYS_KNOWN, OBJECTS_OF, QUEUE, keywords_of, meant
from quaestor.mqi.names import picks
from quaestor.mqi.objects import QUEUE_TYPES, MQObject, QueueManagerAttributes, attributes_of

OPERATORS = ("LT", "GT", "EQ", "NE", "LE", "GE", "LK", "NL", "CT", "EX")
VALUES, EQUAL, LISTS = OPERATORS[:6], ("EQ", "NE"), ("CT", "EX")
TEXTS = (*VALUES, "LK", "NL")
LISTED = ("NAMES", "CLASS", "TNO")
OF_USERS = "RVERIFY"
"""The verb that takes several names at once."""

NO_VALUES = ("ALL", "REPLACE", "NOREPLACE", "PURGE", "NOPURGE", "FORCE", "CANCEL", "OFFLOAD")


@dataclass(frozen=True, slots=True)
class Where:
    """WHERE(keyword operator value) (K3)."""

    keyword: str
    operator: str
    value: str

    def holds(self, found: object) -> bool:
        """Whether an object whose attribute is `found` (as DISPLAY shows it) passes."""
        if isinstance(found, tuple):
            contains = any(picks(self.value, name) for name in found)
            return contains if self.operator in {"CT", "EQ"} else not contains
        if self.operator in {"LK", "NL", "CT", "EX"}:
            return picks(self.value, str(found)) is (self.operator in {"LK", "CT"})
        if found == "" and self.keyword in NOT_ALWAYS_KNOWN and whole_number(self.value) is not None:
            return self.operator == "NE"
        left, right = _comparable(found, self.value)
        return bool(_COMPARES[self.operator](left, right))


_COMPARES: dict[str, Callable[[Any, Any], Any]] = {
    "LT": operator.lt,
    "GT": operator.gt,
    "EQ": operator.eq,
    "NE": operator.ne,
    "LE": operator.le,
    "GE": operator.ge,
}


def _comparable(found: object, value: str) -> tuple[Any, Any]:
    number = whole_number(value) if isinstance(found, int) else None
    if number is not None:
        return found, number
    return str(found).rstrip(), value.rstrip()


@dataclass(frozen=True, slots=True)
class Command:
    """A command written out (K1): keywords with their values; None for a keyword without parentheses."""

    verb: str
    noun: str
    name: str = ""
    parameters: tuple[tuple[str, tuple[str, ...] | None], ...] = ()
    where: Where | None = None
    line: int = 1

    def has(self, keyword: str) -> bool:
        return any(keyword == word for word, _ in self.parameters)

    def number(self, keyword: str, otherwise: int, low: int, high: int) -> int:
        """The one value of a keyword, as a number in a range (K2)."""
        written = self.value(keyword, str(otherwise))
        number = whole_number(written)
        if number is None or not low <= number <= high:
            why = f"{keyword}({written}) is not valid: a number from {low} to {high}"
            raise MQSCError(why, self.line, code=syntax.UNACCEPTABLE)
        return number

    def word(self, keyword: str, otherwise: str, *choices: str) -> str:
        """The one value of a keyword, as one of some words (K2)."""
        written = self.value(keyword, otherwise)
        if written not in choices:
            why = f"{keyword}({written}) is not valid: one of {', '.join(choices)}"
            raise MQSCError(why, self.line, code=syntax.UNACCEPTABLE)
        return written

    def value(self, keyword: str, otherwise: str = "") -> str:
        """The one value of a keyword, or what is meant where it does not stand (K2)."""
        for word, values in self.parameters:
            if word == keyword and values:
                return values[0]
            if word == keyword and self.verb != "DISPLAY":
                raise MQSCError(f"{keyword} needs a value", self.line, code=syntax.NO_VALUE)
        return otherwise

    @property
    def kind(self) -> type[MQObject] | None:
        return KINDS.get(self.noun)

    def attributes(self) -> dict[str, Any]:
        """Field values that a DEFINE or ALTER gives its object (K2)."""
        return {} if self.kind is None else self.typed(attributes_of(self.kind))

    def typed(self, attributes: Mapping[str, Attribute]) -> dict[str, Any]:
        """Field values that the command gives, of these attributes (K2)."""
        return dict(_typed(self, attributes))

    def text(self) -> str:
        """The command as MQSC (K4)."""
        words = [self.verb, _with_values(self.noun, (self.name,) if self.name else None)]
        words += [_with_values(keyword, values) for keyword, values in self.parameters]
        if self.where is not None:
            words.append(f"WHERE({self.where.keyword} {self.where.operator} {quoted(self.where.value)})")
        return " ".join(words)


def parse(text: str) -> Iterator[Command]:
    """Every command of a text."""
    return (command(statement) for statement in statements(text))


def command(statement: Statement) -> Command:
    """A statement written out and checked (K1)."""
    verb = _the_one(statement.verb, OBJECTS_OF, "verb", statement.line, 1)
    if not statement.items:
        nouns = ", ".join(sorted(OBJECTS_OF[verb]))
        raise MQSCError(f"{verb} what? One of {nouns}", statement.line, code=syntax.UNKNOWN_COMMAND)
    first, *rest = statement.items
    noun = _the_one(first.word, OBJECTS_OF[verb], "object", statement.line, first.column)
    parameters: list[tuple[str, tuple[str, ...] | None]] = []
    where = None
    known = keywords_of(verb, noun)
    for item in rest:
        keyword = _keyword(item, verb, noun, known, statement.line)
        twice = {keyword, f"NO{keyword}", keyword.removeprefix("NO")}
        if any(word in twice for word, _ in parameters) or (keyword == "WHERE" and where is not None):
            raise MQSCError(f"{keyword} stands twice", statement.line, item.column, syntax.TWICE)
        if keyword == "WHERE":
            where = _where(item, noun, known, statement.line)
        else:
            parameters.append((keyword, _values(keyword, item, statement.line)))
    name = _users(first) if verb == OF_USERS else _name(first, statement.line)
    return Command(verb, noun, name, tuple(parameters), where, statement.line)


def _the_one(word: str, choices: Any, what: str, line: int, column: int) -> str:
    found = meant(word, choices)
    if len(found) == 1:
        return found[0]
    if found:
        raise MQSCError(f"{word} is ambiguous: {', '.join(sorted(found))}", line, column, syntax.AMBIGUOUS)
    code = syntax.UNKNOWN_KEYWORD if what == "keyword" else syntax.UNKNOWN_COMMAND
    raise MQSCError(f"{word} is not a known {what} here", line, column, code)


def _keyword(item: Item, verb: str, noun: str, known: tuple[str, ...], line: int) -> str:
    """The keyword that is meant; one without meaning here is refused by its name (K1, W3)."""
    without = meant(item.word, MEANINGLESS.get((verb, noun), ()))
    if without and not meant(item.word, known):
        why = f"{' or '.join(without)} of {verb} {noun} has no meaning for this queue manager"
        raise MQSCError(why, line, item.column, syntax.UNKNOWN_KEYWORD)
    return _the_one(item.word, known, "keyword", line, item.column)


def _users(item: Item) -> str:
    """Users, with commas between them; none has one in his name."""
    return ",".join(item.values or ())


def _name(item: Item, line: int) -> str:
    if item.values is None:
        return ""
    if len(item.values) != 1:
        raise MQSCError(f"{item.word} takes one name", line, item.column)
    return item.values[0]


def _values(keyword: str, item: Item, line: int) -> tuple[str, ...] | None:
    if item.values is None:
        return None
    if keyword in NO_VALUES and keyword != "OFFLOAD":
        raise MQSCError(f"{keyword} takes no value", line, item.column)
    if keyword not in LISTED and len(item.values) > 1:
        raise MQSCError(f"{keyword} takes one value; text with blanks must be quoted", line, item.column)
    return item.values


def _where(item: Item, noun: str, known: tuple[str, ...], line: int) -> Where:
    if item.values is None or len(item.values) != 3:
        raise MQSCError("WHERE takes keyword, operator and value", line, item.column)
    word, compare, value = item.values
    if compare not in OPERATORS:
        raise MQSCError(f"{compare} is not one of {', '.join(OPERATORS)}", line, item.column, syntax.UNACCEPTABLE)
    return comparison(noun, _the_one(word, known, "keyword", line, item.column), compare, value, line, item.column)


class OperatorError(MQSCError):
    """An operator that the attribute does not have with a value that it can have (K3)."""


def comparison(noun: str, keyword: str, compare: str, value: str, line: int = 1, column: int = 1) -> Where:
    """What compares an attribute of the objects of a noun; refused when it could hold of none (K3)."""
    attribute = compared(noun, keyword)
    fit, valid = _comparisons(attribute, keyword, value)
    if compare not in fit:
        why = f"WHERE({keyword} {compare} {value}) is not valid: {valid}"
        raise (OperatorError if fit else MQSCError)(why, line, column, syntax.UNACCEPTABLE)
    return Where(keyword, compare, value if attribute is None else _shown(attribute, value))


def compared(noun: str, keyword: str) -> Attribute | None:
    """The declaration of what WHERE compares, None when it is no attribute of an object."""
    kinds = QUEUE_TYPES if noun == QUEUE else (KINDS[noun],) if noun in KINDS else ()
    declared = (attribute for kind in kinds for attribute in attributes_of(kind).values())
    return next((each for each in declared if keyword in (each.bare or (each.keyword,))), None)


def _shown(attribute: Attribute, value: str) -> str:
    """A value as DISPLAY shows it: a word in upper case, and one of two that mean the same (K3)."""
    known = attribute.words or attribute.named or {}
    return attribute.written(known[value.upper()])[0] if value.upper() in known else value


def _comparisons(attribute: Attribute | None, keyword: str, value: str) -> tuple[tuple[str, ...], str]:
    """The operators that an attribute has with this value, and what is valid when another was given (K3)."""
    number = whole_number(value) is not None
    if attribute is None:
        return (VALUES if number else (), "a number") if keyword in LIVE else (OPERATORS, "")
    if attribute.bare is not None and keyword != attribute.keyword:
        return (), f"compare {attribute.keyword}"
    if attribute.words is not None:
        return EQUAL if value.upper() in attribute.words else (), f"EQ or NE and one of {', '.join(attribute.words)}"
    if isinstance(attribute.default, tuple):
        return LISTS, "CT or EX and a name"
    if attribute.length:
        return TEXTS, f"one of {', '.join(TEXTS)}"
    named = attribute.named or {}
    valid = f"one of {', '.join(VALUES)} and a number{''.join(f', or EQ or NE and {word}' for word in named)}"
    return VALUES if number else EQUAL if value.upper() in named else (), valid


def _typed(given: Command, attributes: Mapping[str, Attribute]) -> Iterator[tuple[str, Any]]:
    by_word: dict[str, tuple[Attribute, bool | None]] = {}
    for attribute in attributes.values():
        if attribute.bare is None:
            by_word[attribute.keyword] = (attribute, None)
        else:
            by_word |= {attribute.bare[0]: (attribute, True), attribute.bare[1]: (attribute, False)}
    for keyword, values in given.parameters:
        if keyword not in by_word:
            continue
        attribute, bare = by_word[keyword]
        if bare is not None and values is not None:
            raise MQSCError(f"{keyword} takes no value", given.line)
        if bare is None and values is None:
            raise MQSCError(f"{keyword} needs a value", given.line, code=syntax.NO_VALUE)
        yield attribute.field, bare if bare is not None else _typed_value(attribute, values or (), given.line)


def _typed_value(attribute: Attribute, values: tuple[str, ...], line: int) -> Any:
    try:
        return attribute.parse(values)
    except AttributeValueError as error:
        raise MQSCError(str(error), line, code=syntax.UNACCEPTABLE) from error


def _with_values(keyword: str, values: tuple[str, ...] | None) -> str:
    return keyword if values is None else f"{keyword}({','.join(quoted(value) for value in values)})"


def definition(obj: MQObject, *, replace: bool = False) -> Command:
    """The command that defines an object as it is (K4)."""
    parameters: list[tuple[str, tuple[str, ...] | None]] = []
    for field, attribute in attributes_of(type(obj)).items():
        value = getattr(obj, field)
        if value == attribute.default or attribute.fixed:
            continue
        if attribute.bare is not None:
            parameters.append((attribute.bare[0 if value else 1], None))
        else:
            parameters.append((attribute.keyword, attribute.written(value)))
    if replace:
        parameters.append(("REPLACE", None))
    verb = "ALTER" if isinstance(obj, QueueManagerAttributes) else "DEFINE"
    return Command(verb, obj.MQSC_TYPE, "" if verb == "ALTER" else obj.name, tuple(parameters))
