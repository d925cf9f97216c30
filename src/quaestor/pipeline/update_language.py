"""Update definitions as people write them, and as a tree.

    DEFINE UPDATE name FROM SMF_116_01 [SECTION QUEUE_BLOCK] TO table [WHERE ...] GROUP BY (key = expr, ...)
    SET (column = SUM(expr), ...);

Rules
  G1  The grammar stands in `update_language.lark`; names are case-insensitive and kept in upper case.
  G2  `--` begins a comment; a single dash is always minus.
  G3  Every node knows its line and column, so that later checks can name the place.
  G4  What does not fit the grammar is refused with line, column and what was expected; nothing is guessed.

Called by compilation and the doors.  Calls lark.  Knows no field and no Spark.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken, VisitError


class DefinitionError(Exception):
    """A definition that cannot be used; the text names file, line, column and reason."""

    def __init__(self, reason: str, place: "Place", source: str = "") -> None:
        self.reason, self.place, self.source = reason, place, source
        super().__init__(f"{source or 'definition'}:{place.line}:{place.column}: {reason}")


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in a definition file."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class FieldName:
    """A field of the record or section, under its official name."""

    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class Literal:
    """A number or a string."""

    value: int | float | str
    place: Place


@dataclass(frozen=True, slots=True)
class Duration:
    """So many days, hours or minutes."""

    amount: int
    unit: str
    place: Place


@dataclass(frozen=True, slots=True)
class Operation:
    """Two operands and what is done with them: + - * / ||."""

    operator: str
    left: "Expression"
    right: "Expression"
    place: Place


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the language."""

    function: str
    arguments: "tuple[Expression, ...]"
    place: Place


@dataclass(frozen=True, slots=True)
class Case:
    """The first branch whose condition holds, else the last value, else null."""

    branches: "tuple[tuple[Condition, Expression], ...]"
    otherwise: "Expression | None"
    place: Place


@dataclass(frozen=True, slots=True)
class Condition:
    """A test: compare, null test, membership, or conditions joined by AND, OR, NOT."""

    kind: str
    parts: tuple[Any, ...]
    place: Place


Expression = FieldName | Literal | Duration | Operation | Call | Case


@dataclass(frozen=True, slots=True)
class Key:
    """A column that tells rows apart."""

    column: str
    value: Expression
    place: Place


@dataclass(frozen=True, slots=True)
class Assignment:
    """A column that adds up: SUM, MIN, MAX, COUNT or AVG of an expression; None stands for COUNT(*)."""

    column: str
    aggregate: str
    value: Expression | None
    place: Place


@dataclass(frozen=True, slots=True)
class Update:
    """One update definition."""

    name: str
    record: str
    section: str | None
    table: str
    where: Condition | None
    keys: tuple[Key, ...]
    assignments: tuple[Assignment, ...]
    place: Place
    source: str = ""


def parse(text: str, source: str = "") -> list[Update]:
    """Every update in `text`; `source` names the file in errors (G4)."""
    updates: list[Update] = _parsed(text, source, "start")
    return updates


def parse_condition(text: str, source: str = "") -> Condition:
    """A condition that stands alone."""
    condition: Condition = _parsed(text, source, "condition")
    return condition


def parse_expression(text: str, source: str = "") -> Expression:
    """An expression that stands alone."""
    expression: Expression = _parsed(text, source, "expr")
    return expression


def _parsed(text: str, source: str, what: str) -> Any:
    try:
        return _Tree(source).transform(_grammar().parse(text, start=what))
    except UnexpectedInput as error:
        missing = "the definition ends before its ';'" if what == "start" else "something is missing at the end"
        raise _unexpected(error, text, source, missing) from None
    except VisitError as error:
        if isinstance(error.orig_exc, DefinitionError):
            raise error.orig_exc from None
        raise


@cache
def _grammar() -> Lark:
    text = files("quaestor.pipeline").joinpath("update_language.lark").read_text(encoding="utf-8")
    starts = ["start", "condition", "expr"]
    return Lark(text, start=starts, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def _unexpected(error: UnexpectedInput, text: str, source: str, missing: str) -> DefinitionError:
    place = Place(error.line, error.column)
    if isinstance(error, UnexpectedEOF) or (isinstance(error, UnexpectedToken) and error.token.type == "$END"):
        lines = text.rstrip().splitlines() or [""]
        return DefinitionError(missing, Place(len(lines), len(lines[-1]) + 1), source)
    if isinstance(error, UnexpectedToken):
        expected = ", ".join(sorted(_spelled(name) for name in error.accepts or error.expected))
        return DefinitionError(f"'{error.token}' is not expected here; expected {expected}", place, source)
    if isinstance(error, UnexpectedCharacters):
        return DefinitionError(f"'{error.char}' does not belong to the language", place, source)
    return DefinitionError("not understood", place, source)


_SPELLINGS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a string",
    "COMMA": "','",
    "LPAR": "'('",
    "RPAR": "')'",
    "SEMICOLON": "';'",
    "COMPARE": "a comparison",
    "AGGREGATE": "SUM, MIN, MAX, COUNT or AVG",
    "PLUS": "'+'",
    "MINUS": "'-'",
    "STAR": "'*'",
    "SLASH": "'/'",
    "CONCAT": "'||'",
    "DOT": "'.'",
    "_EQUAL": "'='",
    "$END": "the end",
    "UNIT": "DAYS, HOURS or MINUTES",
}


def _spelled(terminal: str) -> str:
    return _SPELLINGS.get(terminal, terminal.removeprefix("_"))


class _Tree(Transformer[Token, list[Update]]):
    """From lark's tree to ours."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self._source = source

    def start(self, updates: list[Any]) -> list[Update]:
        return updates

    def name(self, tokens: list[Token]) -> Token:
        return tokens[0].update(value=str(tokens[0]).upper())

    def table(self, parts: list[Token]) -> str:
        return ".".join(str(part) for part in parts if part is not None)

    def aggregate(self, tokens: list[Token]) -> Token:
        return tokens[0].update(value=str(tokens[0]).upper())

    def where(self, parts: list[Condition]) -> Condition:
        return parts[0]

    def group(self, keys: list[Key]) -> tuple[Key, ...]:
        return tuple(keys)

    def set(self, assigns: list[Assignment]) -> tuple[Assignment, ...]:
        return tuple(assigns)

    def update(self, parts: list[Any]) -> Update:
        name, record, section, table, where, keys, assigns = parts
        return Update(
            str(name),
            str(record),
            None if section is None else str(section),
            table,
            where,
            keys,
            assigns,
            _place(name),
            self._source,
        )

    def key(self, parts: list[Any]) -> Key:
        return Key(str(parts[0]), parts[1], _place(parts[0]))

    def assign(self, parts: list[Any]) -> Assignment:
        column, aggregate, value = parts
        if isinstance(value, Token):
            if aggregate != "COUNT":
                raise DefinitionError(f"only COUNT takes '*', not {aggregate}", _place(value), self._source)
            value = None
        return Assignment(str(column), str(aggregate), value, _place(column))

    def when(self, parts: list[Any]) -> tuple[Condition, Expression]:
        return parts[0], parts[1]

    # conditions

    @v_args(meta=True)
    def any_of(self, meta: Any, parts: list[Any]) -> Condition:
        return Condition("or", tuple(parts), Place(meta.line, meta.column))

    @v_args(meta=True)
    def all_of(self, meta: Any, parts: list[Any]) -> Condition:
        return Condition("and", tuple(parts), Place(meta.line, meta.column))

    @v_args(meta=True)
    def negate(self, meta: Any, parts: list[Any]) -> Condition:
        return Condition("not", tuple(parts), Place(meta.line, meta.column))

    @v_args(meta=True)
    def compare(self, meta: Any, parts: list[Any]) -> Condition:
        left, operator, right = parts
        return Condition(str(operator), (left, right), Place(meta.line, meta.column))

    def other(self, parts: list[Token]) -> str:
        return str(parts[0])

    def equal(self, _parts: list[Token]) -> str:
        return "="

    @v_args(meta=True)
    def is_null(self, meta: Any, parts: list[Any]) -> Condition:
        return Condition("null", tuple(parts), Place(meta.line, meta.column))

    @v_args(meta=True)
    def is_not_null(self, meta: Any, parts: list[Any]) -> Condition:
        return Condition("not null", tuple(parts), Place(meta.line, meta.column))

    @v_args(meta=True)
    def is_in(self, meta: Any, parts: list[Any]) -> Condition:
        return Condition("in", tuple(parts), Place(meta.line, meta.column))

    @v_args(meta=True)
    def between(self, meta: Any, parts: list[Any]) -> Condition:
        return Condition("between", tuple(parts), Place(meta.line, meta.column))

    # expressions

    def chain(self, parts: list[Any]) -> Expression:
        value: Expression = parts[0]
        for operator, right in zip(parts[1::2], parts[2::2], strict=True):
            value = Operation(str(operator), value, right, _place(operator))
        return value

    def minus(self, parts: list[Any]) -> Expression:
        return Operation("-", Literal(0, _place(parts[0])), parts[1], _place(parts[0]))

    def duration(self, parts: list[Token]) -> Duration:
        return Duration(int(parts[0]), str(parts[1]).upper().rstrip("S"), _place(parts[0]))

    def number(self, parts: list[Token]) -> Literal:
        text = str(parts[0])
        return Literal(float(text) if "." in text else int(text), _place(parts[0]))

    def string(self, parts: list[Token]) -> Literal:
        return Literal(str(parts[0])[1:-1].replace("''", "'"), _place(parts[0]))

    def field(self, parts: list[Token]) -> FieldName:
        return FieldName(str(parts[0]), _place(parts[0]))

    def call(self, parts: list[Any]) -> Call:
        return Call(str(parts[0]), tuple(parts[1:]), _place(parts[0]))

    @v_args(meta=True)
    def case(self, meta: Any, parts: list[Any]) -> Case:
        *branches, otherwise = parts
        return Case(tuple(branches), otherwise, Place(meta.line, meta.column))


def _place(token: Token) -> Place:
    return Place(token.line or 0, token.column or 0)
